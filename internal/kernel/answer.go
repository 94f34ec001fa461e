package kernel

import (
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/budget"
	"pawl/internal/kernel/plan"
)

// answer records the answer to an open effect. An answer that fits no open effect, such
// as a duplicate, is recorded as ignored.
func (d *draft) answer(a pawl.Answer) {
	f := d.s.Find(a.Answers())
	if f == nil || !fits(f, a) {
		d.emit(0, &pawl.AnswerIgnored{Effect: a.Answers(), What: a.EventKind().String(), Transcript: transcriptOf(a)})
		return
	}
	if b, ok := a.(*pawl.TasksRead); ok {
		d.emitTasks(f.Loop, b.Entries)
	}
	if b, ok := a.(*pawl.Examined); ok {
		a = d.raise(f.Loop, b)
	}
	d.emit(f.Loop, d.s.loggedAnswer(f, a))
	if l := d.s.Loop(f.Loop); f.Do.Verb() == pawl.VerbAdvanceBranch && l.merge().IsDone() {
		d.tellSiblings(l)
	}
	d.warn()
	if budget.Of(f) != (budget.Purse{}) && d.s.live > 1 {
		d.markIdleDirty()
	}
}

// transcriptOf returns the transcript of a turn of a coding agent; zero = there is none.
func transcriptOf(a pawl.Answer) pawl.Hash {
	switch b := a.(type) {
	case *pawl.EffectFailed:
		return b.Transcript
	case *pawl.ModelReplied:
		if b.Agent != nil {
			return b.Agent.Transcript
		}
	}
	return pawl.Hash{}
}

// progressed records how far a turn has come. What is told of any other effect is recorded as ignored.
func (d *draft) progressed(b *pawl.AgentProgressed) {
	f := d.s.Find(b.Effect)
	if f != nil && isTurn(f) && len(b.Session) <= pawl.MaxAgentSession {
		d.emit(f.Loop, b)
		return
	}
	d.emit(0, &pawl.AnswerIgnored{Effect: b.Effect, What: b.EventKind().String()})
}

// isTurn reports whether an effect is a turn of a coding agent.
func isTurn(f *pawl.Effect) bool {
	do, ok := f.Do.(*pawl.CallModel)
	return ok && do.Agent != nil
}

// fits reports whether an answer is of a kind that the effect can have.
func fits(f *pawl.Effect, a pawl.Answer) bool {
	var ok bool
	switch a.(type) {
	case *pawl.EffectFailed:
		return true
	case *pawl.WorkspaceOpened:
		_, ok = f.Do.(*pawl.OpenWorkspace)
	case *pawl.PromptAssembled:
		_, ok = f.Do.(*pawl.AssemblePrompt)
	case *pawl.ModelReplied:
		do, calls := f.Do.(*pawl.CallModel)
		ok = calls && (do.Agent != nil) == (a.(*pawl.ModelReplied).Agent != nil)
	case *pawl.ToolReturned:
		_, ok = f.Do.(*pawl.CallTool)
	case *pawl.GateJudged:
		_, ok = f.Do.(*pawl.RunGate)
	case *pawl.Prepared:
		_, ok = f.Do.(*pawl.Prepare)
	case *pawl.Examined:
		_, ok = f.Do.(*pawl.Examine)
	case *pawl.GoalsWeighed:
		_, ok = f.Do.(*pawl.WeighGoals)
	case *pawl.Committed:
		_, ok = f.Do.(*pawl.Commit)
	case *pawl.WorkspaceInspected:
		_, ok = f.Do.(*pawl.InspectWorkspace)
	case *pawl.WorkspaceReset:
		_, ok = f.Do.(*pawl.ResetWorkspace)
	case *pawl.WorkspaceClosed:
		_, ok = f.Do.(*pawl.CloseWorkspace)
	case *pawl.WaitEnded:
		_, ok = f.Do.(*pawl.Wait)
	case *pawl.TasksRead:
		_, ok = f.Do.(*pawl.ReadTasks)
	case *pawl.Merged:
		_, ok = f.Do.(*pawl.Merge)
	case *pawl.BranchAdvanced:
		_, ok = f.Do.(*pawl.AdvanceBranch)
	case *pawl.ConflictsProbed:
		_, ok = f.Do.(*pawl.ProbeConflicts)
	case *pawl.CheckpointMarked:
		_, ok = f.Do.(*pawl.MarkCheckpoint)
	case *pawl.Restored:
		_, ok = f.Do.(*pawl.Restore)
	case *pawl.Recorded:
		_, ok = f.Do.(*pawl.WriteRecords)
	case *pawl.Published:
		_, ok = f.Do.(*pawl.Publish)
	case *pawl.Notified:
		ok = f.Do.Verb() == pawl.VerbNotify || f.Do.Verb() == pawl.VerbAnnounce
	}
	return ok
}

// loggedAnswer returns the answer as it goes into the log: the kernel fills in what it
// decides, and cuts texts to their bounds.
func (s *State) loggedAnswer(f *pawl.Effect, a pawl.Answer) pawl.Body {
	switch b := a.(type) {
	case *pawl.ModelReplied:
		c := *b
		c.Cost = s.price(f).Cost(b.Usage)
		if b.Agent != nil {
			turned, cost := s.turned(f, b)
			c.Agent, c.Cost = &turned, cost
		}
		c.Model, c.Calls = brief.Cut(b.Model, 100), boundCalls(b.Calls)
		return &c
	case *pawl.EffectFailed:
		c := *b
		p := budget.OfFailure(f, s.price(f), &b.Failure)
		if p == budget.Of(f) {
			p = s.lostBy(f)
		}
		c.Charged, c.ChargedTokens = p.Money, p.Tokens
		c.Failure.Message, c.Failure.Fix = brief.Cut(b.Failure.Message, 300), brief.Cut(b.Failure.Fix, 200)
		return &c
	case *pawl.GateJudged:
		return s.loggedVerdict(f, b)
	case *pawl.Prepared:
		c := *b
		c.Failed, c.Said = brief.Cut(b.Failed, 400), brief.Cut(b.Said, 160)
		return &c
	case *pawl.TasksRead:
		c := *b
		c.Entries, c.Count, c.Problem = nil, len(b.Entries), brief.Cut(b.Problem, 300)
		return &c
	}
	return a
}

// emitTasks emits the tasks that were read, in parts so that each event stays small. A list
// with too many tasks is cut, which shows because TasksRead has the full count. A task
// with too many dependencies loses them and is marked as incomplete.
func (d *draft) emitTasks(ref pawl.LoopRef, entries []pawl.TaskEntry) {
	const most = 1500 // bytes of an event, approximately
	var part []pawl.TaskEntry
	size := 0
	flush := func() {
		if len(part) > 0 {
			d.emit(ref, &pawl.TasksListed{Entries: part})
		}
		part, size = nil, 0
	}
	for _, e := range entries[:min(len(entries), plan.MaxTasks+1)] {
		e.ID, e.Title, e.Incomplete = brief.Cut(e.ID, plan.MaxID+4), brief.Cut(e.Title, 80), brief.Cut(e.Incomplete, 80)
		n := len(e.ID) + len(e.Title) + len(e.Incomplete) + 60
		for _, id := range e.DependsOn {
			n += len(id) + 4
		}
		if n > most {
			e.Incomplete, e.DependsOn = "it depends on more than an entry can hold", nil
		}
		if size += n; size > most {
			flush()
			size = n
		}
		part = append(part, e)
	}
	flush()
}

// boundCalls returns the calls of a reply with their texts cut, so that many calls fit
// into one event.
func boundCalls(calls []pawl.ToolUse) []pawl.ToolUse {
	out := slices.Clone(calls)
	for i := range out {
		out[i].Tool = brief.Cut(out[i].Tool, 60)
		out[i].Problem = brief.Cut(out[i].Problem, min(400, max(60, 1000/len(out))))
	}
	return out
}

// loggedVerdict returns a command gate's verdict as it goes into the log. The gate's name and
// kind are taken from the request and the settings, and a skip by a gate that is not
// optional becomes a failure.
func (s *State) loggedVerdict(f *pawl.Effect, b *pawl.GateJudged) *pawl.GateJudged {
	do := f.Do.(*pawl.RunGate)
	l := s.Loop(f.Loop)
	spec := s.gateSpec(l, s.gateOf(l, do.Gate))
	c := *b
	c.Gate, c.Kind, c.Optional, c.OnBase, c.On = spec.Name, spec.Kind, spec.Optional, do.OnBase, do.On
	c.Reason, c.Missing, c.Lacks = brief.Cut(b.Reason, 300), brief.Cut(b.Missing, 100), brief.Cut(b.Lacks, 100)
	if c.Verdict == pawl.VerdictSkip && !spec.Optional {
		c.Verdict, c.Reason = pawl.VerdictFail, brief.Cut("it was skipped and is not optional: "+b.Reason, 300)
	}
	return &c
}
