package pawl

// How each body is stored. The number of a field never changes its meaning.

func (b *RunStarted) fields(c *coder) {
	num(c, 1, &b.Task)
	str(c, 2, &b.Title)
	sum(c, 3, &b.Goal)
	sum(c, 4, &b.Criteria)
	num(c, 5, &b.Count)
	str(c, 6, &b.Base)
	str(c, 7, &b.Branch)
	num(c, 8, &b.Seed)
	str(c, 9, &b.Sandbox)
	flag(c, 10, &b.Confined)
	words(c, 11, &b.Notes)
	str(c, 12, &b.Version)
	raw(c, 13, &b.Recipe)
	raw(c, 14, &b.Settings)
	list(c, 15, &b.Prompts, func(c *coder, in *Input) {
		str(c, 1, &in.Name)
		sum(c, 2, &in.Blob)
	})
	sum(c, 16, &b.Script)
	sum(c, 17, &b.Tasks)
	words(c, 18, &b.Signs)
	num(c, 19, &b.Learnings)
	str(c, 20, &b.ForkOf)
	num(c, 21, &b.ForkAt)
	sum(c, 22, &b.ForkEvents)
	flag(c, 23, &b.BaseTrusted)
	list(c, 24, &b.Instructions, func(c *coder, f *InstructionFile) {
		str(c, 1, &f.Path)
		str(c, 2, &f.Folder)
		num(c, 3, &f.Bytes)
		num(c, 4, &f.Cut)
		sum(c, 5, &f.Blob)
	})
	num(c, 25, &b.MoreInstructions)
}

// Kind implements [Body].
func (*RunStarted) EventKind() Kind { return KindRunStarted }

func (b *RunPaused) fields(c *coder) {
	str(c, 1, &b.Reason)
}

// Kind implements [Body].
func (*RunPaused) EventKind() Kind { return KindRunPaused }

func (b *RunResumed) fields(c *coder) {
	str(c, 1, &b.From)
	str(c, 2, &b.Reason)
	num(c, 3, &b.Max)
}

// Kind implements [Body].
func (*RunResumed) EventKind() Kind { return KindRunResumed }

func (b *CancelRequested) fields(c *coder) {
	str(c, 1, &b.Running)
	str(c, 2, &b.Reason)
}

// Kind implements [Body].
func (*CancelRequested) EventKind() Kind { return KindCancelRequested }

func (b *AccountChanged) fields(c *coder) {
	str(c, 1, &b.To.Provider)
	str(c, 2, &b.From.Address)
	str(c, 3, &b.From.Key)
	str(c, 4, &b.To.Address)
	str(c, 5, &b.To.Key)
	b.From.Provider = b.To.Provider
}

// Kind implements [Body].
func (*AccountChanged) EventKind() Kind { return KindAccountChanged }

func (b *ClockJumped) fields(c *coder) { num(c, 1, &b.By) }

// Kind implements [Body].
func (*ClockJumped) EventKind() Kind { return KindClockJumped }

func (b *LimitsChanged) fields(c *coder) {
	sub(c, 1, b.Limits.fields)
	num(c, 2, &b.Max)
}

// Kind implements [Body].
func (*LimitsChanged) EventKind() Kind { return KindLimitsChanged }

func (b *LimitReached) fields(c *coder) {
	str(c, 1, &b.Scope)
	str(c, 2, &b.Limit)
	num(c, 3, &b.Max)
	num(c, 4, &b.Value)
}

// Kind implements [Body].
func (*LimitReached) EventKind() Kind { return KindLimitReached }

func (b *BudgetWarned) fields(c *coder) {
	str(c, 1, &b.Limit)
	num(c, 2, &b.Max)
	num(c, 3, &b.Value)
}

// Kind implements [Body].
func (*BudgetWarned) EventKind() Kind { return KindBudgetWarned }

func (b *Recovered) fields(c *coder) {
	num(c, 1, &b.Pid)
}

// Kind implements [Body].
func (*Recovered) EventKind() Kind { return KindRecovered }

func (b *RunEnded) fields(c *coder) {
	str(c, 1, &b.Outcome)
	str(c, 2, &b.Reason)
	str(c, 3, &b.Head)
}

// Kind implements [Body].
func (*RunEnded) EventKind() Kind { return KindRunEnded }

func (b *RunStopping) fields(c *coder) {
	str(c, 1, &b.Outcome)
	str(c, 2, &b.Reason)
}

// EventKind implements [Body].
func (*RunStopping) EventKind() Kind { return KindRunStopping }

func (b *EffectRequested) fields(c *coder) {
	sub(c, 1, b.Effect.fields)
}

// Kind implements [Body].
func (*EffectRequested) EventKind() Kind { return KindEffectRequested }

func (b *EffectFailed) fields(c *coder) {
	num(c, 1, &b.Effect)
	sub(c, 2, b.Failure.fields)
	num(c, 3, &b.Charged)
	num(c, 4, &b.ChargedTokens)
	num(c, 5, &b.Waited)
}

// Kind implements [Body].
func (*EffectFailed) EventKind() Kind { return KindEffectFailed }

func (b *EffectLost) fields(c *coder) {
	num(c, 1, &b.Effect)
	num(c, 2, &b.Charged)
	num(c, 3, &b.ChargedTokens)
}

// Kind implements [Body].
func (*EffectLost) EventKind() Kind { return KindEffectLost }

func (b *EffectWithdrawn) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Reason)
	num(c, 3, &b.Charged)
	num(c, 4, &b.ChargedTokens)
}

// Kind implements [Body].
func (*EffectWithdrawn) EventKind() Kind { return KindEffectWithdrawn }

func (b *AnswerIgnored) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.What)
}

// Kind implements [Body].
func (*AnswerIgnored) EventKind() Kind { return KindAnswerIgnored }

func (b *LoopStarted) fields(c *coder) {
	str(c, 1, &b.ID)
	str(c, 2, &b.Kind)
	num(c, 3, &b.Parent)
	str(c, 4, &b.Task)
	num(c, 5, &b.Entry)
	num(c, 6, &b.Version)
	str(c, 7, &b.Branch)
	str(c, 8, &b.Base)
	flag(c, 9, &b.Pending)
	num(c, 10, &b.ParentIteration)
	num(c, 11, &b.ParentGeneration)
	num(c, 12, &b.Max)
}

// Kind implements [Body].
func (*LoopStarted) EventKind() Kind { return KindLoopStarted }

func (b *ComplexityScored) fields(c *coder) {
	num(c, 1, &b.Score)
	num(c, 2, &b.Tier)
	str(c, 3, &b.Why)
}

// Kind implements [Body].
func (*ComplexityScored) EventKind() Kind { return KindComplexityScored }

func (b *IterationStarted) fields(c *coder) {
	num(c, 1, &b.N)
	num(c, 2, &b.Max)
	num(c, 3, &b.Tier)
	str(c, 4, &b.Reason)
	str(c, 5, &b.From)
}

// Kind implements [Body].
func (*IterationStarted) EventKind() Kind { return KindIterationStarted }

func (b *IterationRestarted) fields(c *coder) {
	num(c, 1, &b.Attempt)
	str(c, 2, &b.Reason)
}

// Kind implements [Body].
func (*IterationRestarted) EventKind() Kind { return KindIterationRestarted }

func (b *SessionStarted) fields(c *coder) {
	num(c, 1, &b.Session)
	str(c, 2, &b.Purpose)
	sub(c, 3, b.Place.fields)
	num(c, 4, &b.Index)
	num(c, 5, &b.Turns)
	num(c, 6, &b.Timeout)
	num(c, 7, &b.Try)
	num(c, 8, &b.Vote)
	num(c, 9, &b.Item)
}

// Kind implements [Body].
func (*SessionStarted) EventKind() Kind { return KindSessionStarted }

func (b *NoteAdded) fields(c *coder) {
	num(c, 1, &b.Session)
	str(c, 2, &b.Text)
	num(c, 3, &b.Call)
	flag(c, 4, &b.IsError)
}

// Kind implements [Body].
func (*NoteAdded) EventKind() Kind { return KindNoteAdded }

func (b *SessionEnded) fields(c *coder) {
	num(c, 1, &b.Session)
	str(c, 2, &b.Result)
	str(c, 3, &b.Reason)
	sum(c, 4, &b.Output)
	facts(c, 5, &b.Facts)
}

// Kind implements [Body].
func (*SessionEnded) EventKind() Kind { return KindSessionEnded }

func (b *GatesReused) fields(c *coder) {
	num(c, 1, &b.From)
}

// Kind implements [Body].
func (*GatesReused) EventKind() Kind { return KindGatesReused }

func (b *IterationEnded) fields(c *coder) {
	num(c, 1, &b.N)
	num(c, 2, &b.Tier)
	str(c, 3, &b.Quality)
	str(c, 4, &b.Requirements)
	str(c, 5, &b.Decision)
	str(c, 6, &b.Reason)
	str(c, 7, &b.Outcome)
	str(c, 8, &b.Commit)
	words(c, 9, &b.Errors)
	num(c, 10, &b.Files)
	num(c, 11, &b.Tests)
	num(c, 12, &b.Error)
	num(c, 13, &b.Cost)
	num(c, 14, &b.Tokens)
	flag(c, 15, &b.Conflict)
	num(c, 16, &b.Max)
}

// Kind implements [Body].
func (*IterationEnded) EventKind() Kind { return KindIterationEnded }

func (b *Escalated) fields(c *coder) {
	num(c, 1, &b.From)
	num(c, 2, &b.To)
	str(c, 3, &b.Reason)
	num(c, 4, &b.Iteration)
	flag(c, 5, &b.Stuck)
}

// Kind implements [Body].
func (*Escalated) EventKind() Kind { return KindEscalated }

func (b *CouncilCalled) fields(c *coder) {
	num(c, 1, &b.Members)
	str(c, 2, &b.Reason)
	flag(c, 3, &b.Stuck)
}

// Kind implements [Body].
func (*CouncilCalled) EventKind() Kind { return KindCouncilCalled }

func (b *CouncilDecided) fields(c *coder) {
	str(c, 1, &b.Winner)
	str(c, 2, &b.Lens)
	sum(c, 3, &b.Proposal)
	num(c, 4, &b.Confidence)
	str(c, 5, &b.Rounds)
}

// Kind implements [Body].
func (*CouncilDecided) EventKind() Kind { return KindCouncilDecided }

func (b *LoopEnded) fields(c *coder) {
	str(c, 1, &b.Outcome)
	str(c, 2, &b.Reason)
	flag(c, 3, &b.Stopped)
	str(c, 4, &b.Task)
}

// Kind implements [Body].
func (*LoopEnded) EventKind() Kind { return KindLoopEnded }

func (b *GateLeftOut) fields(c *coder) {
	str(c, 1, &b.Gate)
	str(c, 2, &b.Missing)
	str(c, 3, &b.By)
}

// EventKind implements [Body].
func (*GateLeftOut) EventKind() Kind { return KindGateLeftOut }

func (b *WorkspaceOpened) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Head)
	str(c, 3, &b.Tree)
	str(c, 4, &b.Salvage)
	str(c, 5, &b.Note)
}

// Kind implements [Body].
func (*WorkspaceOpened) EventKind() Kind { return KindWorkspaceOpened }

func (b *PromptAssembled) fields(c *coder) {
	num(c, 1, &b.Effect)
	sum(c, 2, &b.System)
	sum(c, 3, &b.Prompt)
	sum(c, 4, &b.Tools)
	num(c, 5, &b.Bytes)
	words(c, 6, &b.Cut)
}

// Kind implements [Body].
func (*PromptAssembled) EventKind() Kind { return KindPromptAssembled }

func (b *ModelReplied) fields(c *coder) {
	num(c, 1, &b.Effect)
	sum(c, 2, &b.Message)
	sum(c, 3, &b.Text)
	num(c, 4, &b.Bytes)
	str(c, 5, &b.Stop)
	str(c, 6, &b.Model)
	sub(c, 7, b.Usage.fields)
	list(c, 8, &b.Calls, (*coder).toolUse)
	num(c, 9, &b.Cost)
	num(c, 10, &b.Waited)
}

// Kind implements [Body].
func (*ModelReplied) EventKind() Kind { return KindModelReplied }

func (c *coder) toolUse(b *ToolUse) {
	str(c, 1, &b.Tool)
	sum(c, 2, &b.Args)
	num(c, 3, &b.Class)
	str(c, 4, &b.Problem)
	flag(c, 5, &b.Submit)
	facts(c, 6, &b.Facts)
	flag(c, 7, &b.Harness)
	sum(c, 8, &b.Trimmed)
}

func (b *ToolReturned) fields(c *coder) {
	num(c, 1, &b.Effect)
	sum(c, 2, &b.Output)
	num(c, 3, &b.Bytes)
	flag(c, 4, &b.IsError)
	flag(c, 5, &b.Interrupted)
	str(c, 6, &b.Tree)
	flag(c, 7, &b.Conflict)
	num(c, 8, &b.Waited)
	list(c, 9, &b.LeftOut, (*coder).limitMet)
	list(c, 10, &b.Met, (*coder).resourceMet)
	str(c, 11, &b.Prepared)
}

func (c *coder) resourceMet(b *ResourceMet) {
	str(c, 1, &b.Resource)
	num(c, 2, &b.Max)
}

func (c *coder) limitMet(b *LimitMet) {
	str(c, 1, &b.Limit)
	num(c, 2, &b.Max)
	num(c, 3, &b.Files)
}

// Kind implements [Body].
func (*ToolReturned) EventKind() Kind { return KindToolReturned }

func (b *GateJudged) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Gate)
	str(c, 3, &b.Kind)
	str(c, 4, &b.Verdict)
	str(c, 5, &b.Reason)
	flag(c, 6, &b.Partial)
	flag(c, 7, &b.OnBase)
	flag(c, 8, &b.RedAtBase)
	flag(c, 9, &b.Optional)
	num(c, 10, &b.Passed)
	num(c, 11, &b.Total)
	num(c, 12, &b.Critical)
	num(c, 13, &b.High)
	num(c, 14, &b.Medium)
	num(c, 15, &b.Low)
	num(c, 16, &b.Failing)
	num(c, 17, &b.Found)
	num(c, 18, &b.Error)
	sum(c, 19, &b.Evidence)
	num(c, 20, &b.Confidence)
	str(c, 21, &b.By)
	words(c, 22, &b.Broke)
	words(c, 23, &b.Mended)
	words(c, 24, &b.Flaky)
	list(c, 25, &b.Met, (*coder).resourceMet)
	num(c, 26, &b.Duration)
	str(c, 27, &b.Missing)
	str(c, 28, &b.Lacks)
	str(c, 29, &b.Judge)
}

// Kind implements [Body].
func (*GateJudged) EventKind() Kind { return KindGateJudged }

func (b *Prepared) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Key)
	flag(c, 3, &b.Reused)
	num(c, 4, &b.Duration)
	num(c, 5, &b.Bytes)
	str(c, 6, &b.Failed)
	sum(c, 8, &b.Evidence)
	num(c, 9, &b.Requests)
	num(c, 10, &b.Refused)
	num(c, 11, &b.Received)
	words(c, 12, &b.Hosts)
	words(c, 13, &b.RefusedHosts)
	str(c, 14, &b.Said)
}

// Kind implements [Body].
func (*Prepared) EventKind() Kind { return KindPrepared }

func (b *Committed) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
	str(c, 3, &b.Tree)
	num(c, 4, &b.Files)
	num(c, 5, &b.Total)
	num(c, 6, &b.FileSet)
	sum(c, 7, &b.Paths)
	str(c, 8, &b.PatchID)
	ints(c, 9, &b.Hunks)
	num(c, 10, &b.Kept)
	list(c, 11, &b.LeftOut, (*coder).limitMet)
	sum(c, 12, &b.Report)
}

// Kind implements [Body].
func (*Committed) EventKind() Kind { return KindCommitted }

func (b *WorkspaceInspected) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Tree)
}

// Kind implements [Body].
func (*WorkspaceInspected) EventKind() Kind { return KindWorkspaceInspected }

func (b *WorkspaceReset) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Head)
	str(c, 3, &b.Tree)
	str(c, 4, &b.Salvage)
}

// Kind implements [Body].
func (*WorkspaceReset) EventKind() Kind { return KindWorkspaceReset }

func (b *WorkspaceClosed) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Salvage)
}

// Kind implements [Body].
func (*WorkspaceClosed) EventKind() Kind { return KindWorkspaceClosed }

func (b *WaitEnded) fields(c *coder) {
	num(c, 1, &b.Effect)
}

// Kind implements [Body].
func (*WaitEnded) EventKind() Kind { return KindWaitEnded }

func facts(c *coder, tag uint64, v *Facts) {
	list(c, tag, (*[]Fact)(v), func(c *coder, f *Fact) {
		str(c, 1, &f.Name)
		str(c, 2, &f.Value)
	})
}

func (f *Failure) fields(c *coder) {
	str(c, 1, &f.Code)
	str(c, 2, &f.Message)
	num(c, 3, &f.Wait)
	flag(c, 4, &f.Unsent)
	flag(c, 5, &f.Free)
	sub(c, 6, f.Used.fields)
	flag(c, 7, &f.Estimated)
}

func (u *Usage) fields(c *coder) {
	num(c, 1, &u.Input)
	num(c, 2, &u.CacheRead)
	num(c, 3, &u.CacheWrite)
	num(c, 4, &u.Output)
}
