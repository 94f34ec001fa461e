package pawl

import (
	"cmp"
	"time"
)

// The events of a run as a whole.

// Outcome is how a run ended. The zero value means it has not.
type Outcome string

// The outcomes. All but complete, unverified, cancelled and invalidated can be resumed.
const (
	OutcomeComplete   Outcome = "complete"    // every gate passed, and something shows that the work was done
	OutcomeUnverified Outcome = "unverified"  // nothing failed, but nothing shows that the goal is reached either
	OutcomeIncomplete Outcome = "incomplete"  // the limit on iterations was reached
	OutcomeBlocked    Outcome = "blocked"     // the ladder is used up
	OutcomeHalted     Outcome = "halted"      // a halt condition held: security, budget, no model, the machine
	OutcomeCancelled  Outcome = "cancelled"   // a user ended it
	OutcomeFailed     Outcome = "failed"      // our own fault, or where the recipe's ladder says so
	OutcomeRefused    Outcome = "refused"     // something it needs is not installed: nothing was begun
	OutcomeInvalid    Outcome = "invalidated" // of a loop only: its parent began anew
)

// Resumable reports whether a run that ended so can go on.
func (o Outcome) Resumable() bool {
	switch o {
	case OutcomeIncomplete, OutcomeBlocked, OutcomeHalted, OutcomeFailed, OutcomeRefused:
		return true
	}
	return false
}

// Succeeded reports an end that is no failure: all that was asked for is done, and
// nothing objected, even if no command gate could prove it.
func (o Outcome) Succeeded() bool { return o == OutcomeComplete || o == OutcomeUnverified }

// RunStarted is a run's first event. It freezes everything later decisions
// depend on, so that an old log means the same under a newer Pawl.
type RunStarted struct {
	Task     int    `json:"task"`  // the task's number in the project, NNN
	Title    string `json:"title"` // the goal's first line, at most 120 bytes
	Goal     Hash   `json:"goal"`
	Criteria Hash   `json:"criteria"` // a JSON list of Criterion
	Count    int    `json:"criteria_count"`
	// CriteriaGiven reports that the user gave the criteria; else they are the default one.
	CriteriaGiven bool       `json:"criteria_given,omitempty"`
	Base          CommitHash `json:"base"`
	// Begin is where the run's branch begins, if that is not Base: a merge that is to be judged
	// against it.
	Begin CommitHash `json:"begin,omitempty"`
	// BaseTrusted reports that when the run started a branch outside pawl/ had Base.
	BaseTrusted bool   `json:"base_trusted,omitempty"`
	Branch      string `json:"branch"`
	// Attempts is the ref that attempts are made on; empty = they are made on Branch.
	Attempts string `json:"attempts,omitempty"`
	// Author is whom the commits on Branch name where Attempts is set; zero = Pawl.
	Author   Identity `json:"author,omitzero"`
	Seed     uint64   `json:"seed"` // of ids and of jitter
	Sandbox  string   `json:"sandbox"`
	Confined bool     `json:"confined"`
	// Notes are sentences about the run and the repository that the user should read.
	Notes []string `json:"notes,omitempty"`
	// Version is the pawl that started the run.
	Version string `json:"version"`
	// Prompts are the recipe's templates by file name, Script the scripted
	// model's file when a tier uses it.
	Prompts []Input `json:"prompts,omitempty"`
	Script  Hash    `json:"script,omitzero"`
	// HeldOut are the held-out checks, which the gate of [GateHeldOut] runs: see internal/heldout.
	// Zero = there are none.
	HeldOut Hash `json:"held_out,omitzero"`
	// Tasks is the list of tasks the user gave; the step that would make one does
	// not run. Signs are what the harness sees in the goal, for a recipe's check.
	Tasks Hash     `json:"tasks,omitzero"`
	Signs []string `json:"signs,omitempty"`
	// Learnings is how many learnings earlier runs of the task have numbered.
	Learnings int `json:"learnings,omitempty"`
	// Answered is a JSON list of texts: what people answered in earlier runs of the repository, as
	// decisions. Zero = nothing.
	Answered Hash `json:"answered,omitzero"`
	// ForkOf is the run this one was forked from, ForkAt the last event they have in
	// common, ForkEvents the hash of these events as they are encoded there. Empty =
	// it was not forked.
	ForkOf     RunID `json:"fork_of,omitempty"`
	ForkAt     Seq   `json:"fork_at,omitempty"`
	ForkEvents Hash  `json:"fork_events,omitzero"`
	// Instructions are what the repository tells whoever works on it, as Base has it;
	// MoreInstructions counts the files of this kind that are not listed.
	Instructions     []InstructionFile `json:"instructions,omitempty"`
	MoreInstructions int               `json:"more_instructions,omitempty"`
	// RecipeFiles are the files of the repository that the recipe is made of, none where it is
	// built in; RecipeReplaces are the built-in recipes in whose place such a file stands.
	RecipeFiles    []string `json:"recipe_files,omitempty"`
	RecipeReplaces []string `json:"recipe_replaces,omitempty"`
	// Recipe and Settings are the frozen JSON of a Recipe and of Settings. They
	// are the only texts that live in an event, because every decision needs them.
	Recipe   JSON `json:"recipe"`
	Settings JSON `json:"settings"`
}

// EventKind implements [Body].
func (*RunStarted) EventKind() Kind { return KindRunStarted }

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
	str(c, 26, &b.Attempts)
	str(c, 27, &b.Author.Name)
	str(c, 28, &b.Author.Email)
	str(c, 29, &b.Begin)
	words(c, 30, &b.RecipeFiles)
	words(c, 31, &b.RecipeReplaces)
	sum(c, 32, &b.HeldOut)
	flag(c, 33, &b.CriteriaGiven)
	sum(c, 34, &b.Answered)
}

// WorkRef returns the branch or ref that the run's first loop works on.
func (b *RunStarted) WorkRef() string { return cmp.Or(b.Attempts, b.Branch) }

// InstructionFile is a file of the repository that tells whoever works on it how, such
// as AGENTS.md.
type InstructionFile struct {
	Path   string `json:"path"`
	Folder string `json:"folder,omitempty"` // it holds for the files below it; empty = for all
	Bytes  int64  `json:"bytes"`            // its size in the commit
	// Cut is how many of its first bytes are shown, where not all are; 0 = all.
	Cut int64 `json:"cut,omitempty"`
	// Blob is the text that is shown; zero = none: there is too much already, or it is
	// no text, or a link to nothing that could be shown.
	Blob Hash `json:"blob,omitzero"`
}

// Instructions are the instructions of a repository and their texts.
type Instructions struct {
	Files []InstructionFile
	More  int // files that are not listed
	Texts []Blob
}

// RunPaused says that nothing new is begun until RunResumed; what is under way ends.
type RunPaused struct {
	Reason string `json:"reason,omitempty"`
}

// EventKind implements [Body].
func (*RunPaused) EventKind() Kind { return KindRunPaused }

func (b *RunPaused) fields(c *coder) {
	str(c, 1, &b.Reason)
}

// RunResumed says that a paused or ended run goes on.
type RunResumed struct {
	From   Outcome `json:"from,omitempty"` // the outcome it had; empty when it was paused, or halted for want of an answer
	Reason string  `json:"reason,omitempty"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
	// PlanAnew says that a person had rejected the root's plan, so that another iteration makes a new
	// one. In logs of earlier versions the same plan was asked about again.
	PlanAnew bool `json:"plan_anew,omitempty"`
	// Timeouts are the time limits of gates that could not judge the base, as the settings of that
	// moment have them.
	Timeouts []GateTimeout `json:"timeouts,omitempty"`
}

// GateTimeout is the time limit of a gate.
type GateTimeout struct {
	Gate    string        `json:"gate"`
	Timeout time.Duration `json:"timeout"`
}

// EventKind implements [Body].
func (*RunResumed) EventKind() Kind { return KindRunResumed }

func (b *RunResumed) fields(c *coder) {
	str(c, 1, &b.From)
	str(c, 2, &b.Reason)
	num(c, 3, &b.Max)
	flag(c, 4, &b.PlanAnew)
	list(c, 5, &b.Timeouts, func(c *coder, t *GateTimeout) {
		str(c, 1, &t.Gate)
		num(c, 2, &t.Timeout)
	})
}

// Forked is the first event of a forked run after those it has in common with the
// run it was forked from. Nothing is under way any more; what was spent is the
// other run's; questions and consents are not inherited.
type Forked struct {
	// Commit is the newest commit of the run's branch at that event; Lost counts the
	// events after it, whose work in worktrees is not part of the fork.
	Commit CommitHash `json:"commit"`
	Lost   int        `json:"lost,omitempty"`
	// Cost and Tokens are what the other run had spent.
	Cost   Micros `json:"cost,omitempty"`
	Tokens int64  `json:"tokens,omitempty"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
}

// EventKind implements [Body].
func (*Forked) EventKind() Kind { return KindForked }

func (b *Forked) fields(c *coder) {
	str(c, 1, &b.Commit)
	num(c, 2, &b.Lost)
	num(c, 3, &b.Cost)
	num(c, 4, &b.Tokens)
	num(c, 5, &b.Max)
}

// Draining says what a cancelled run does with what is under way.
type Draining string

// The ways to drain.
const (
	DrainFinish   Draining = "finish"   // the iteration ends first
	DrainBoundary Draining = "boundary" // the effects in flight end first
	DrainNow      Draining = "now"      // the effects in flight are withdrawn
)

// CancelRequested says that a user wants the run to end.
type CancelRequested struct {
	Running Draining `json:"running"`
	Reason  string   `json:"reason,omitempty"`
}

// EventKind implements [Body].
func (*CancelRequested) EventKind() Kind { return KindCancelRequested }

func (b *CancelRequested) fields(c *coder) {
	str(c, 1, &b.Running)
	str(c, 2, &b.Reason)
}

// Recovered says that a driver took the run over after the one before it died.
// The time between the two does not count as time the run was alive.
type Recovered struct {
	Pid int `json:"pid,omitempty"`
}

// EventKind implements [Body].
func (*Recovered) EventKind() Kind { return KindRecovered }

func (b *Recovered) fields(c *coder) {
	num(c, 1, &b.Pid)
}

// AccountChanged says that the run has another account with a provider from now on: that of
// whoever resumed or forked it. The provider is the same.
type AccountChanged struct {
	From Account `json:"from"`
	To   Account `json:"to"`
}

// EventKind implements [Body].
func (*AccountChanged) EventKind() Kind { return KindAccountChanged }

func (b *AccountChanged) fields(c *coder) {
	str(c, 1, &b.To.Provider)
	str(c, 2, &b.From.Address)
	str(c, 3, &b.From.Key)
	str(c, 4, &b.To.Address)
	str(c, 5, &b.To.Key)
	b.From.Provider = b.To.Provider
}

// ClockJumped says that the time of day is another one than it would be if only time had
// passed since the event before: somebody set the clock, or the machine slept. The difference
// is no time of the run.
type ClockJumped struct {
	By time.Duration `json:"by"` // negative = back
}

// EventKind implements [Body].
func (*ClockJumped) EventKind() Kind { return KindClockJumped }

func (b *ClockJumped) fields(c *coder) { num(c, 1, &b.By) }

// RunStopping says that the harness ends the run: nothing new is begun, what
// is in flight finishes.
type RunStopping struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"`
}

// EventKind implements [Body].
func (*RunStopping) EventKind() Kind { return KindRunStopping }

func (b *RunStopping) fields(c *coder) {
	str(c, 1, &b.Outcome)
	str(c, 2, &b.Reason)
}

// RunEnded says that nothing of the run is under way or wanted any more.
type RunEnded struct {
	Outcome Outcome    `json:"outcome"`
	Reason  string     `json:"reason"`
	Head    CommitHash `json:"head,omitempty"` // the last commit of the branch
	// RedAtBase are the gates that let the run end well only because they are no worse than at the
	// base; older logs do not have them.
	RedAtBase []string `json:"red_at_base,omitempty"`
	// Findings counts those of the result that nobody accepted.
	Findings int `json:"findings,omitempty"`
	// Proof is what shows that the result is what was asked for, where the run ended well; older
	// logs do not have it.
	Proof Proof `json:"proof,omitzero"`
	// Failing are the first goal tests that are red in the result, at most [MaxGoalsNamed] of at most
	// 80 bytes.
	Failing []string `json:"failing,omitempty"`
	// RefusedPlan reports that what was carried out is a plan that its review refused and a person let
	// pass.
	RefusedPlan bool `json:"refused_plan,omitempty"`
	// Question is the one that nobody answered in time: the run's loops stay as they are, and whoever
	// answers it lets them continue. 0 = the run ended for another reason.
	Question int `json:"question,omitempty"`
}

// EventKind implements [Body].
func (*RunEnded) EventKind() Kind { return KindRunEnded }

func (b *RunEnded) fields(c *coder) {
	str(c, 1, &b.Outcome)
	str(c, 2, &b.Reason)
	str(c, 3, &b.Head)
	words(c, 4, &b.RedAtBase)
	num(c, 5, &b.Findings)
	sub(c, 6, func(c *coder) { c.proof(&b.Proof) })
	words(c, 7, &b.Failing)
	flag(c, 8, &b.RefusedPlan)
	num(c, 9, &b.Question)
}
