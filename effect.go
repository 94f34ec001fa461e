package pawl

import (
	"encoding/json"
	"fmt"
	"time"
)

// CrashClass says what recovery does with an effect that was requested and not
// answered when the process died. Every effect has one.
type CrashClass uint8

// The crash classes.
const (
	// CrashRepeat is run again: reads, prompt assembly, gates, timers.
	CrashRepeat CrashClass = iota + 1
	// CrashProbe looks whether it happened (writes, edits, commits, worktrees,
	// refs): done, redo, or conflict.
	CrashProbe
	// CrashCharge is run again, and the lost attempt is paid for at its
	// reservation: model calls.
	CrashCharge
	// CrashOnce is never run again: shell commands. It is answered "interrupted".
	CrashOnce
)

var crashClasses = [...]string{"", "repeat", "probe", "charge", "once"}

func (c CrashClass) String() string {
	if int(c) < len(crashClasses) {
		return crashClasses[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// MarshalText writes the class as its word.
func (c CrashClass) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (c *CrashClass) UnmarshalText(text []byte) error {
	for i, w := range crashClasses {
		if w == string(text) {
			*c = CrashClass(i)
			return nil
		}
	}
	return fmt.Errorf("unknown crash class %q", text)
}

// Effect is something the world must do: a request that is made and not yet
// answered or withdrawn. Its ID is the number of the event that requested it;
// its parameters never change under that ID.
type Effect struct {
	ID      Seq        `json:"id"`
	Loop    LoopRef    `json:"loop"`
	Session int        `json:"session,omitempty"` // the agent session it belongs to; 0 = none
	Class   CrashClass `json:"class"`
	Place   Place      `json:"place"`
	Do      Do         `json:"do"`
	// Timeout is how long the effect may take; zero means no limit of its own.
	// Reaching it is an answer: a failure with [FailTimeout].
	Timeout time.Duration `json:"timeout,omitempty"`
	// First is the first in a row of failed effects that this one repeats. That one may have
	// succeeded in spite of its failure: this one then asks for what it made, such as a commit.
	// Zero means that this effect repeats none.
	First Seq `json:"first,omitempty"`
	// Transcript is what a model call sends, oldest first. It is part of the
	// session in the state, not of the event, and only ever grows behind it.
	Transcript []Item `json:"-"`
}

// Do says what an effect does. Implementations are the imperative types below.
type Do interface {
	Verb() Verb
	fields(*coder)
}

// Verb numbers the kinds of effect in the log. Numbers are never used again.
type Verb uint8

// The verbs.
const (
	VerbOpenWorkspace Verb = iota + 1
	VerbAssemblePrompt
	VerbCallModel
	VerbCallTool
	VerbRunGate
	VerbCommit
	VerbInspectWorkspace
	VerbResetWorkspace
	VerbCloseWorkspace
	VerbWait
	VerbReadTasks
	VerbMerge
	VerbAdvanceBranch
	VerbProbeConflicts
	VerbNotify
	VerbMarkCheckpoint
	VerbRestore
	VerbWriteRecords
	VerbAnnounce
	VerbPrepare
)

var verbs = [...]string{"", "open_workspace", "assemble_prompt", "call_model", "call_tool", "run_gate", "commit",
	"inspect_workspace", "reset_workspace", "close_workspace", "wait",
	"read_tasks", "merge", "advance_branch", "probe_conflicts", "notify",
	"mark_checkpoint", "restore", "write_records", "announce", "prepare"}

func (v Verb) String() string {
	if int(v) < len(verbs) {
		return verbs[v]
	}
	return fmt.Sprintf("verb %d", uint8(v))
}

func newDo(v Verb) Do {
	switch v {
	case VerbOpenWorkspace:
		return &OpenWorkspace{}
	case VerbAssemblePrompt:
		return &AssemblePrompt{}
	case VerbCallModel:
		return &CallModel{}
	case VerbCallTool:
		return &CallTool{}
	case VerbRunGate:
		return &RunGate{}
	case VerbCommit:
		return &Commit{}
	case VerbInspectWorkspace:
		return &InspectWorkspace{}
	case VerbResetWorkspace:
		return &ResetWorkspace{}
	case VerbCloseWorkspace:
		return &CloseWorkspace{}
	case VerbWait:
		return &Wait{}
	case VerbReadTasks:
		return &ReadTasks{}
	case VerbMerge:
		return &Merge{}
	case VerbAdvanceBranch:
		return &AdvanceBranch{}
	case VerbProbeConflicts:
		return &ProbeConflicts{}
	case VerbNotify:
		return &Notify{}
	case VerbMarkCheckpoint:
		return &MarkCheckpoint{}
	case VerbRestore:
		return &Restore{}
	case VerbWriteRecords:
		return &WriteRecords{}
	case VerbAnnounce:
		return &Announce{}
	case VerbPrepare:
		return &Prepare{}
	}
	return nil
}

// OpenWorkspace makes the loop's worktree and branch, or finds them.
// Answered by [WorkspaceOpened].
type OpenWorkspace struct {
	Name   string     `json:"name"`
	Branch string     `json:"branch"`
	Base   CommitHash `json:"base"`
}

// AssemblePrompt writes what a session begins with. Answered by [PromptAssembled].
type AssemblePrompt struct {
	Template string `json:"template"` // the recipe's name for the prompt file
	// Tools are the names of the tools the session may call, in order.
	Tools []string `json:"tools,omitempty"`
	// Output is the submit tool the session answers with; empty means none.
	Output string `json:"output,omitempty"`
	// Goal and Criteria are blobs; Criteria is a JSON list of {id, text}.
	Goal     Hash `json:"goal"`
	Criteria Hash `json:"criteria,omitzero"`
	// Feedback is why the previous attempt failed, in the order it was found.
	Feedback []Feedback `json:"feedback,omitempty"`
	// Inputs are named texts the template may show: outputs of earlier steps, a
	// council's advice, proposals to rank.
	Inputs []Input `json:"inputs,omitempty"`
	// Commit and Base let the template show what has changed so far.
	Commit CommitHash `json:"commit,omitempty"`
	Base   CommitHash `json:"base,omitempty"`
	// Max is the limit on iterations, to be told beside the present one.
	Max int `json:"max,omitempty"`
	// History tells the attempts so far, one short line each, oldest first.
	History []string `json:"history,omitempty"`
	// RedAtBase is the evidence of the gates that did not pass on the base.
	RedAtBase []Input `json:"red_at_base,omitempty"`
	// Focus is what a council member's lens looks at.
	Focus string `json:"focus,omitempty"`
	// Task is the loop's own entry in its parent's list, a JSON TaskSpec; Number
	// of Count is its place in the order tasks were begun.
	Task   Hash `json:"task,omitzero"`
	Number int  `json:"number,omitempty"`
	Count  int  `json:"count,omitempty"`
	// Plan is the loop's list of tasks as it was handed in, States where each of
	// them stands: a letter of [TaskLetters] a task.
	Plan   Hash   `json:"plan,omitzero"`
	States string `json:"states,omitempty"`
	// Memory says what of the memory is shown; nil = nothing.
	Memory *Memory `json:"memory,omitempty"`
	// Signs are what the harness sees in the goal: see the recipe's check.
	Signs []string `json:"signs,omitempty"`
	// Cause is why a plan is made anew.
	Cause string `json:"cause,omitempty"`
	// Item is the entry of a list that the session is about, from 1: of the field
	// ItemField of the result ItemOf.
	Item      int    `json:"item,omitempty"`
	ItemOf    Hash   `json:"item_of,omitzero"`
	ItemField string `json:"item_field,omitempty"`
	// Answers are what persons answered to the loop's questions, oldest first.
	Answers []Hash `json:"answers,omitempty"`
	// Batch are the tasks that a review of a batch judges.
	Batch []Member `json:"batch,omitempty"`
}

// Member is a task of a batch that is to be judged.
type Member struct {
	Task   Hash `json:"task"`            // a JSON TaskSpec
	Result Hash `json:"result,omitzero"` // what its session handed in
	Paths  Hash `json:"paths,omitzero"`  // what it changed, a path a line
	// Commit lets the template show what it changed, since Base of the prompt. It is empty where
	// the prompt's own Commit holds the work of all.
	Commit CommitHash `json:"commit,omitempty"`
}

// Feedback is one gate's objection to the previous attempt, or a step's failure.
type Feedback struct {
	From    string  `json:"from"` // the gate's or step's name
	Verdict Verdict `json:"verdict"`
	// Summary says it in at most 120 bytes when there is no evidence to read.
	Summary  string `json:"summary,omitempty"`
	Evidence Hash   `json:"evidence,omitzero"` // the whole report
}

// Input is a named text.
type Input struct {
	Name string `json:"name"`
	Blob Hash   `json:"blob"`
}

// CallModel sends the session's transcript to a model. Answered by [ModelReplied].
type CallModel struct {
	Tier      int  `json:"tier"`
	MaxOutput int  `json:"max_output"`
	System    Hash `json:"system,omitzero"`
	Tools     Hash `json:"tools,omitzero"` // a JSON list of ToolSpec
	// Items is how much of the session's transcript is sent.
	Items int `json:"items"`
	// Try counts the dispatches of this turn from 1; Reserved is what this one may cost at most.
	Try            int    `json:"try"`
	Reserved       Micros `json:"reserved"`
	ReservedTokens int64  `json:"reserved_tokens"`
}

// CallTool runs one tool call of a reply. Answered by [ToolReturned].
type CallTool struct {
	Tool string `json:"tool"`
	Args Hash   `json:"args"`
	// Call is the call's position in the reply, from 0.
	Call int `json:"call"`
	// Before is the worktree's tree before the call; recovery compares with it.
	Before TreeHash `json:"before,omitempty"`
}

// RunGate judges a commit with a command gate. Answered by [GateJudged].
type RunGate struct {
	// Gate is the name of one of the run's configured gates, or, where Task is given,
	// of the gate that runs that task's own validation command.
	Gate   string     `json:"gate"`
	Commit CommitHash `json:"commit"`
	// OnBase reports that this is the run's base commit being looked at;
	// otherwise Base is the evidence of the same gate there.
	OnBase bool `json:"on_base,omitempty"`
	Base   Hash `json:"base,omitzero"`
	// Start is the commit that the candidate is compared with for changed files.
	Start CommitHash `json:"start,omitempty"`
	// Before is an earlier report of the same gate, on what the candidate builds on:
	// what broke and what was mended is told against it.
	Before Hash `json:"before,omitzero"`
	// Doubt is a report of the same gate on this very commit: tests that fail in one
	// of the two and pass in the other are flaky, and do not fail the gate.
	Doubt Hash `json:"doubt,omitzero"`
	// Task is a JSON TaskSpec whose ValidationCommand is what is run.
	Task Hash `json:"task,omitzero"`
	// Prepared is the key of what was prepared for the commit; see [Prepared].
	Prepared string `json:"prepared,omitempty"`
}

// Prepare runs the commands of [Settings.Prepare] for a commit, unless what they left for
// a commit with the same inputs is still there. Answered by [Prepared].
type Prepare struct {
	Commit CommitHash `json:"commit"`
	// Furnish puts what they left into the loop's worktree, which is at the commit.
	Furnish bool `json:"furnish,omitempty"`
}

// Commit records the worktree as a candidate. Answered by [Committed].
type Commit struct {
	Branch  string     `json:"branch"`
	Parent  CommitHash `json:"parent"`
	Base    CommitHash `json:"base"`
	Message string     `json:"message"`
	Time    time.Time  `json:"time"`
}

// InspectWorkspace looks what the worktree holds. Answered by [WorkspaceInspected].
type InspectWorkspace struct{}

// ResetWorkspace sets the worktree's content aside and returns it to a commit.
// Answered by [WorkspaceReset].
type ResetWorkspace struct {
	Commit  CommitHash `json:"commit"`
	Salvage string     `json:"salvage"` // the ref that keeps what was there
	// Detached leaves the branch where it is: the worktree only shows the commit.
	Detached bool `json:"detached,omitempty"`
}

// CloseWorkspace removes the worktree, its work saved. Answered by [WorkspaceClosed].
type CloseWorkspace struct {
	Salvage string `json:"salvage"`
}

// Wait does nothing for a while, as a back-off does. Answered by [WaitEnded].
type Wait struct {
	For    time.Duration `json:"for"`
	Reason string        `json:"reason"`
	// Account is the one whose provider lets no model call through until then, and Why what it
	// said, in at most 120 bytes; zero = another reason, or an older log.
	Account Account `json:"account,omitzero"`
	Why     string  `json:"why,omitempty"`
}

// Verb implements [Do].
func (*OpenWorkspace) Verb() Verb { return VerbOpenWorkspace }

// Verb implements [Do].
func (*AssemblePrompt) Verb() Verb { return VerbAssemblePrompt }

// Verb implements [Do].
func (*CallModel) Verb() Verb { return VerbCallModel }

// Verb implements [Do].
func (*CallTool) Verb() Verb { return VerbCallTool }

// Verb implements [Do].
func (*RunGate) Verb() Verb { return VerbRunGate }

// Verb implements [Do].
func (*Prepare) Verb() Verb { return VerbPrepare }

// Verb implements [Do].
func (*Commit) Verb() Verb { return VerbCommit }

// Verb implements [Do].
func (*InspectWorkspace) Verb() Verb { return VerbInspectWorkspace }

// Verb implements [Do].
func (*ResetWorkspace) Verb() Verb { return VerbResetWorkspace }

// Verb implements [Do].
func (*CloseWorkspace) Verb() Verb { return VerbCloseWorkspace }

// Verb implements [Do].
func (*Wait) Verb() Verb { return VerbWait }

// FailureCode classes why an effect gave no fact. Besides these it may be a
// [ModelErrorKind].
type FailureCode string

// The failure codes that are not a model's.
const (
	FailTimeout  FailureCode = "effect_timeout" // the effect's own Timeout was reached
	FailConflict FailureCode = "conflict"       // the world is not as the request says it was
	FailMachine  FailureCode = "machine"        // a disk, a process or git failed
	FailDefect   FailureCode = "defect"         // our own fault; never tried again
	// FailSpace means that a disk was full. A driver performs the effect again when there is
	// space; no log has this code.
	FailSpace FailureCode = "space"
)

// Failure is why an effect gave no fact.
type Failure struct {
	Code    FailureCode   `json:"code"`
	Message string        `json:"message"`        // at most 300 bytes
	Wait    time.Duration `json:"wait,omitempty"` // how long a provider asked to wait
	// Unsent reports a model call that cannot have reached the provider.
	Unsent bool `json:"unsent,omitempty"`
	// Free, Used and Estimated are as in [ModelError].
	Free      bool  `json:"free,omitempty"`
	Used      Usage `json:"used,omitzero"`
	Estimated bool  `json:"estimated,omitempty"`
}

// Limited reports that a provider lets no model call of the account through for a while: a
// rate limit, or a refusal by another name whose end the provider told.
func (f Failure) Limited() bool {
	switch ModelErrorKind(f.Code) {
	case ModelRateLimit:
		return true
	case ModelQuota, ModelAuth:
		return f.Wait > 0
	}
	return false
}

// ItemKind says what an [Item] of a transcript is.
type ItemKind uint8

// The kinds of item.
const (
	ItemUser      ItemKind = iota + 1 // the prompt
	ItemAssistant                     // a reply; Blob is a JSON Message
	ItemResult                        // a tool result for call number Call of the reply before it
	ItemNote                          // a sentence of the harness: the reminder, or what was missing
)

// Item is one entry of a session's transcript: text by blob, or, for the few
// sentences the harness itself speaks, by value.
type Item struct {
	Kind    ItemKind
	IsError bool
	Call    uint16
	Blob    Hash
	Text    string
}

type effectAlias Effect // without methods

type effectJSON struct {
	*effectAlias
	Verb string          `json:"verb"`
	Do   json.RawMessage `json:"do"`
}

// MarshalJSON writes the effect with its verb.
func (e Effect) MarshalJSON() ([]byte, error) {
	do, err := json.Marshal(e.Do)
	if err != nil {
		return nil, err
	}
	return json.Marshal(effectJSON{(*effectAlias)(&e), e.Do.Verb().String(), do})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Effect) UnmarshalJSON(data []byte) error {
	in := effectJSON{effectAlias: (*effectAlias)(e)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	for v := VerbOpenWorkspace; int(v) < len(verbs); v++ {
		if v.String() == in.Verb {
			e.Do = newDo(v)
			return json.Unmarshal(in.Do, e.Do)
		}
	}
	return fmt.Errorf("unknown effect %q", in.Verb)
}
