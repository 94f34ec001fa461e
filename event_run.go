package pawl

import "time"

// Outcome is how a run ended. The zero value means it has not.
type Outcome string

// The outcomes. All but complete, unverified, cancelled and invalidated can be resumed.
const (
	OutcomeComplete   Outcome = "complete"    // every gate passed, at least one of them a command
	OutcomeUnverified Outcome = "unverified"  // nothing failed, but no command gate passed either
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
	Task     int        `json:"task"`  // the task's number in the project, NNN
	Title    string     `json:"title"` // the goal's first line, at most 120 bytes
	Goal     Hash       `json:"goal"`
	Criteria Hash       `json:"criteria"` // a JSON list of Criterion
	Count    int        `json:"criteria_count"`
	Base     CommitHash `json:"base"`
	// BaseTrusted reports that when the run started a branch outside pawl/ had Base.
	BaseTrusted bool   `json:"base_trusted,omitempty"`
	Branch      string `json:"branch"`
	Seed        uint64 `json:"seed"` // of ids and of jitter
	Sandbox     string `json:"sandbox"`
	Confined    bool   `json:"confined"`
	// Notes are sentences about the repository that the user should read.
	Notes []string `json:"notes,omitempty"`
	// Version is the pawl that started the run.
	Version string `json:"version"`
	// Prompts are the recipe's templates by file name, Script the scripted
	// model's file when a tier uses it.
	Prompts []Input `json:"prompts,omitempty"`
	Script  Hash    `json:"script,omitzero"`
	// Tasks is the list of tasks the user gave; the step that would make one does
	// not run. Signs are what the harness sees in the goal, for a recipe's check.
	Tasks Hash     `json:"tasks,omitzero"`
	Signs []string `json:"signs,omitempty"`
	// Learnings is how many learnings earlier runs of the task have numbered.
	Learnings int `json:"learnings,omitempty"`
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
	// Recipe and Settings are the frozen JSON of a Recipe and of Settings. They
	// are the only texts that live in an event, because every decision needs them.
	Recipe   JSON `json:"recipe"`
	Settings JSON `json:"settings"`
}

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

// RunResumed says that a paused or ended run goes on.
type RunResumed struct {
	From   Outcome `json:"from,omitempty"` // the outcome it had; empty when it was paused
	Reason string  `json:"reason,omitempty"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
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

// AccountChanged says that the run has another account with a provider from now on: that of
// whoever resumed or forked it. The provider is the same.
type AccountChanged struct {
	From Account `json:"from"`
	To   Account `json:"to"`
}

// ClockJumped says that the time of day is another one than it would be if only time had
// passed since the event before: somebody set the clock, or the machine slept. The difference
// is no time of the run.
type ClockJumped struct {
	By time.Duration `json:"by"` // negative = back
}

// LimitsChanged replaces the run's limits.
type LimitsChanged struct {
	Limits Limits `json:"limits"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
}

// MaxSaid returns the limit on the root's iterations as an event says it: 0 for none. An event says
// it as a positive number, and -1 for none; ok is false for 0, which says nothing. The limit
// includes iterations that do not count.
func MaxSaid(said int) (limit int, ok bool) { return max(0, said), said != 0 }

// SayMax returns a limit as an event says it.
func SayMax(limit int) int {
	if limit == 0 {
		return -1
	}
	return limit
}

// LimitName names a limit.
type LimitName string

// The limits.
const (
	LimitMoney      LimitName = "money"       // micro-dollars
	LimitTokens     LimitName = "tokens"      // tokens
	LimitTime       LimitName = "time"        // nanoseconds the driver was alive
	LimitIterations LimitName = "iterations"  // attempts of a loop
	LimitTurns      LimitName = "turns"       // model calls of a session
	LimitRetries    LimitName = "retries"     // dispatches of one model call
	LimitTasks      LimitName = "tasks"       // children a loop has started
	LimitPlans      LimitName = "plans"       // versions of a loop's plan
	LimitRounds     LimitName = "rounds"      // of a group of steps
	LimitRoutes     LimitName = "routes"      // returns to a step by one verdict of a gate
	LimitCalls      LimitName = "calls"       // of one tool in a session
	LimitConflicts  LimitName = "conflicts"   // merges in a row that conflicted
	LimitQuestions  LimitName = "questions"   // rounds of questions of one step
	LimitRecoveries LimitName = "recoveries"  // from one health since the last good checkpoint
	LimitSize       LimitName = "size"        // tokens of a structured result that must be short
	LimitLoops      LimitName = "loops"       // at work side by side, of a kind or in the whole run
	LimitSignal     LimitName = "signal"      // nanoseconds until a signal is acknowledged
	LimitFile       LimitName = "file"        // bytes of a file that a recording may have
	LimitNewFiles   LimitName = "new_files"   // files of a recording that its worktree's commit does not have
	LimitNewBytes   LimitName = "new_bytes"   // bytes of a recording's new and changed files
	LimitGitName    LimitName = "git_name"    // names that git takes
	LimitGitContent LimitName = "git_content" // contents that git can store
)

// LimitReached says that a limit stops something. Limits are inclusive: the
// last allowed use is allowed.
type LimitReached struct {
	Scope string    `json:"scope"` // "run", or the label of a loop or session
	Limit LimitName `json:"limit"`
	Max   int64     `json:"max"`
	Value int64     `json:"value"` // what there is, or what was asked for
}

// BudgetWarned says once per limit that four fifths of it are spent.
type BudgetWarned struct {
	Limit LimitName `json:"limit"`
	Max   int64     `json:"max"`
	Value int64     `json:"value"`
}

// Recovered says that a driver took the run over after the one before it died.
// The time between the two does not count as time the run was alive.
type Recovered struct {
	Pid int `json:"pid,omitempty"`
}

// RunStopping says that the harness ends the run: nothing new is begun, what
// is in flight finishes.
type RunStopping struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"`
}

// RunEnded says that nothing of the run is under way or wanted any more.
type RunEnded struct {
	Outcome Outcome    `json:"outcome"`
	Reason  string     `json:"reason"`
	Head    CommitHash `json:"head,omitempty"` // the last commit of the branch
}

// EffectRequested says that an effect is wanted from now on; its ID is this
// event's number.
type EffectRequested struct {
	Effect Effect `json:"effect"`
}

// EffectFailed answers an effect that gave no fact.
type EffectFailed struct {
	Effect  Seq     `json:"effect"`
	Failure Failure `json:"failure"`
	// Charged is what a failed model call is taken to have cost: what it had used, if that
	// is known, else its reservation, unless it certainly cost nothing.
	Charged       Micros `json:"charged,omitempty"`
	ChargedTokens int64  `json:"charged_tokens,omitempty"`
	// Waited is as in [ModelReplied].
	Waited time.Duration `json:"waited,omitempty"`
}

// Lost reports that nobody knows what the call that failed has cost, so that it was charged its
// reservation.
func (b *EffectFailed) Lost() bool { return b.Failure.Used == Usage{} }

// EffectLost says that a crash took an effect with it that is not run again
// under its id. A model call is paid for at its reservation.
type EffectLost struct {
	Effect        Seq    `json:"effect"`
	Charged       Micros `json:"charged,omitempty"`
	ChargedTokens int64  `json:"charged_tokens,omitempty"`
}

// EffectWithdrawn says that an effect is not wanted any more.
type EffectWithdrawn struct {
	Effect        Seq    `json:"effect"`
	Reason        string `json:"reason"`
	Charged       Micros `json:"charged,omitempty"` // of a model call: its reservation
	ChargedTokens int64  `json:"charged_tokens,omitempty"`
}

// AnswerIgnored records an answer that matched no open request: a duplicate, or
// one that came after the effect was withdrawn or lost. It changes nothing.
type AnswerIgnored struct {
	Effect Seq    `json:"effect"`
	What   string `json:"what"` // the kind of answer
}

// LoopStarted says that a loop exists.
type LoopStarted struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"` // of the recipe
	Parent LoopRef `json:"parent,omitempty"`
	// Task is its entry in the parent's plan of this version: the id, and the
	// position plus one. Empty for the root.
	Task    string `json:"task,omitempty"`
	Entry   int    `json:"entry,omitempty"`
	Version int    `json:"version,omitempty"`
	// Branch and Base are where its work goes and starts; empty = the run's.
	Branch string     `json:"branch,omitempty"`
	Base   CommitHash `json:"base,omitempty"`
	// Pending reports that it waits for a [LoopAdmitted] before it begins.
	Pending bool `json:"pending,omitempty"`
	// ParentIteration and ParentGeneration say which of the parent's artifacts it
	// was spawned from, where the parent may begin anew; zero elsewhere.
	ParentIteration  int `json:"parent_iteration,omitempty"`
	ParentGeneration int `json:"parent_generation,omitempty"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
}

// ComplexityScored says how hard the task looks, from 0 to 14, and where the
// ladder therefore starts.
type ComplexityScored struct {
	Score int    `json:"score"`
	Tier  int    `json:"tier"`
	Why   string `json:"why"` // how the score came about
}

// IterationStarted says that an attempt begins.
type IterationStarted struct {
	N      int        `json:"n"`
	Max    int        `json:"max"` // 0 = no limit
	Tier   int        `json:"tier"`
	Reason string     `json:"reason,omitempty"` // why this tier, when it is not the one before
	From   CommitHash `json:"from"`
}

// IterationRestarted says that the iteration's steps start again as a further
// attempt, because a crash left the worktree different from what is recorded.
type IterationRestarted struct {
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
}

// SessionPurpose says what a session is for.
type SessionPurpose string

// The purposes.
const (
	ForStep     SessionPurpose = "step"
	ForReview   SessionPurpose = "review"
	ForProposal SessionPurpose = "proposal"
	ForBallot   SessionPurpose = "ballot"
	ForReplan   SessionPurpose = "replan"  // makes the plan anew
	ForExtract  SessionPurpose = "extract" // takes from an attempt what is worth remembering
	ForBatch    SessionPurpose = "batch"   // judges a whole batch
)

// SessionStarted says that an agent session begins.
type SessionStarted struct {
	Session int            `json:"session"` // its number in the loop, from 1
	Purpose SessionPurpose `json:"purpose"`
	Place   Place          `json:"place"`
	// Index is the step or stage in the recipe, or the council member.
	Index   int           `json:"index"`
	Turns   int           `json:"turns"`          // the most model calls
	Timeout time.Duration `json:"timeout"`        // of the whole session; zero = none
	Try     int           `json:"try"`            // of the step, from 1
	Vote    int           `json:"vote,omitempty"` // of a review with several, from 1
	Item    int           `json:"item,omitempty"` // of a step that runs for each entry of a list, from 1
}

// NoteAdded says that the harness itself spoke in a session.
type NoteAdded struct {
	Session int    `json:"session"`
	Text    string `json:"text"` // at most 400 bytes
	// Call is set when the note is the answer to tool call number Call-1.
	Call    int  `json:"call,omitempty"`
	IsError bool `json:"is_error,omitempty"`
}

// SessionResult says how a session ended.
type SessionResult string

// The ends of a session.
const (
	SessionDone      SessionResult = "done"
	SessionTurns     SessionResult = "turn_cap"  // the cap on turns was reached
	SessionTimeout   SessionResult = "timeout"   // the session's time was up
	SessionNoResult  SessionResult = "no_result" // it ended without the structured result it owes
	SessionFailed    SessionResult = "failed"    // the model refused, or the prompt did not fit
	SessionAbandoned SessionResult = "abandoned" // the run stopped, or the iteration started again
)

// SessionEnded says how an agent session ended.
type SessionEnded struct {
	Session int           `json:"session"`
	Result  SessionResult `json:"result"`
	Reason  string        `json:"reason,omitempty"`
	// Output is what it leaves: the arguments of its submit call, or its last text.
	Output Hash `json:"output,omitzero"`
	// Facts are what decisions need of the output.
	Facts Facts `json:"facts,omitempty"`
}

// GatesReused says that the candidate's tree is the one judged before, so that
// the verdicts of that iteration stand.
type GatesReused struct {
	From int `json:"from"` // the iteration
}

// Decision is what the loop does after an iteration.
type Decision string

// The decisions.
const (
	DecideComplete Decision = "complete"
	DecideIterate  Decision = "iterate"
	DecideEscalate Decision = "escalate"
	DecideCouncil  Decision = "council"
	DecideHalt     Decision = "halt"
)

// IterationEnded records an attempt and what follows from it.
type IterationEnded struct {
	N            int        `json:"n"`
	Tier         int        `json:"tier"`
	Quality      Verdict    `json:"quality,omitempty"`      // of the command gates together; empty = none ran
	Requirements Verdict    `json:"requirements,omitempty"` // of the reviews; empty = none ran
	Decision     Decision   `json:"decision"`
	Reason       string     `json:"reason"`
	Outcome      Outcome    `json:"outcome,omitempty"` // set when the loop ends with this iteration
	Commit       CommitHash `json:"commit,omitempty"`
	// Errors are the objections in short, at most 3 of at most 160 bytes.
	Errors []string `json:"errors,omitempty"`
	// Files, Tests and Error are fingerprints of the sets of modified files and
	// failing tests and of the error message; 0 = empty.
	Files uint64 `json:"files,omitempty"`
	Tests uint64 `json:"tests,omitempty"`
	Error uint64 `json:"error,omitempty"`
	// Conflict reports that the attempt failed because it conflicts with what was
	// merged in the meantime.
	Conflict bool `json:"conflict,omitempty"`
	// Cost and Tokens are what the iteration was charged, all its sessions together.
	Cost   Micros `json:"cost"`
	Tokens int64  `json:"tokens"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
}

// Escalated says that later attempts use a stronger tier.
type Escalated struct {
	From      int    `json:"from"`
	To        int    `json:"to"`
	Reason    string `json:"reason"`
	Iteration int    `json:"iteration"` // the first that runs on the new tier
	// Stuck reports that stuck detection caused it, which starts its window anew.
	Stuck bool `json:"stuck,omitempty"`
}

// CouncilCalled says that a council convenes.
type CouncilCalled struct {
	Members int    `json:"members"`
	Reason  string `json:"reason"`
	Stuck   bool   `json:"stuck,omitempty"`
}

// CouncilDecided says which proposal a council's ballots chose.
type CouncilDecided struct {
	Winner     string `json:"winner"` // the proposal's letter; empty = there was none
	Lens       string `json:"lens,omitempty"`
	Proposal   Hash   `json:"proposal,omitzero"`
	Confidence int    `json:"confidence"` // percent
	// Rounds tells the count: "A2 B1 C2 | A3 C2".
	Rounds string `json:"rounds"`
}

// LoopEnded says that a loop is done.
type LoopEnded struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"`
	// Stopped reports that it ended because the run did, before it had an end of its own.
	Stopped bool `json:"stopped,omitempty"`
	// Task is the status of the loop's task from then on, such as "pending" when it is to be worked
	// on anew; empty for the root, and in older logs.
	Task string `json:"task,omitempty"`
}

// GateLeftOut says that a gate of the settings is not part of this run: its program is not
// installed, and somebody allowed the run to go on without it. It judges nothing.
type GateLeftOut struct {
	Gate    string `json:"gate"`
	Missing string `json:"missing"` // the program
	// By is the person who allowed it; empty = the settings did, before the run began.
	By string `json:"by,omitempty"`
}
