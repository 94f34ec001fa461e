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

// Do says what an effect does. Implementations are the types of the effect_*.go files, and [Wait].
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
	VerbPublish
	VerbExamine
	VerbWeighGoals
)

var verbs = [...]string{"", "open_workspace", "assemble_prompt", "call_model", "call_tool", "run_gate", "commit",
	"inspect_workspace", "reset_workspace", "close_workspace", "wait",
	"read_tasks", "merge", "advance_branch", "probe_conflicts", "notify",
	"mark_checkpoint", "restore", "write_records", "announce", "prepare", "publish", "examine", "weigh_goals"}

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
	case VerbPublish:
		return &Publish{}
	case VerbExamine:
		return &Examine{}
	case VerbWeighGoals:
		return &WeighGoals{}
	}
	return nil
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
func (*Wait) Verb() Verb { return VerbWait }

func (d *Wait) fields(c *coder) {
	num(c, 1, &d.For)
	str(c, 2, &d.Reason)
	str(c, 3, &d.Account.Provider)
	str(c, 4, &d.Account.Address)
	str(c, 5, &d.Account.Key)
	str(c, 6, &d.Why)
}

// FailureCode classes why an effect gave no fact. Besides these it may be a
// [ModelErrorKind].
type FailureCode string

// The failure codes that are not a model's.
const (
	FailTimeout  FailureCode = "effect_timeout" // the effect's own Timeout was reached
	FailConflict FailureCode = "conflict"       // the world is not as the request says it was
	FailMachine  FailureCode = "machine"        // a disk, a process or git failed
	FailSetting  FailureCode = "setting"        // what the user configured does not work, such as an address; never tried again
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
	// Fix is as in [ModelError], at most 200 bytes.
	Fix string `json:"fix,omitempty"`
}

// Text returns the failure in a sentence: "access is refused (HTTP 401: invalid key)".
func (f Failure) Text() string {
	words, known := failureWords[f.Code]
	switch {
	case !known && f.Message == "":
		return string(f.Code)
	case !known:
		return string(f.Code) + ": " + f.Message
	case f.Message == "":
		return words
	}
	return words + " (" + f.Message + ")"
}

// failureWords are what the codes mean.
var failureWords = map[FailureCode]string{
	FailTimeout: "its time is up", FailConflict: "something else changed meanwhile", FailMachine: "the machine failed",
	FailSetting: "a setting does not work", FailDefect: "pawl has a defect", FailSpace: "a disk is full",
	FailureCode(ModelRateLimit): "the provider limits the rate", FailureCode(ModelOverloaded): "the provider cannot answer",
	FailureCode(ModelNetwork): "the connection failed", FailureCode(ModelNoServer): "no server answers",
	FailureCode(ModelNoStart): "the coding agent does not start",
	FailureCode(ModelTimeout): "the model fell silent", FailureCode(ModelAuth): "access is refused",
	FailureCode(ModelBadRequest): "the provider refuses the request", FailureCode(ModelContextLong): "the prompt is too long for the model",
	FailureCode(ModelRefused): "the model refuses to answer", FailureCode(ModelQuota): "the account's credit or quota is used up",
	FailureCode(ModelUnknown): "there is no such model, or the account may not use it", FailureCode(ModelNoSession): "the agent does not have its session any more",
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

func (f *Failure) fields(c *coder) {
	str(c, 1, &f.Code)
	str(c, 2, &f.Message)
	num(c, 3, &f.Wait)
	flag(c, 4, &f.Unsent)
	flag(c, 5, &f.Free)
	sub(c, 6, f.Used.fields)
	flag(c, 7, &f.Estimated)
	str(c, 8, &f.Fix)
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

func (e *Effect) fields(c *coder) {
	num(c, 1, &e.Session)
	num(c, 2, &e.Class)
	sub(c, 3, e.Place.fields)
	num(c, 4, &e.Timeout)
	verb := Verb(0)
	if e.Do != nil {
		verb = e.Do.Verb()
	}
	num(c, 5, &verb)
	if e.Do == nil {
		if e.Do = newDo(verb); e.Do == nil {
			c.fail("unknown effect %d; a newer pawl may have written it", verb)
			return
		}
	}
	sub(c, 6, e.Do.fields)
	num(c, 7, &e.First)
}

func (p *Place) fields(c *coder) {
	str(c, 1, &p.Loop)
	num(c, 2, &p.Iteration)
	num(c, 3, &p.Attempt)
	str(c, 4, &p.Step)
	str(c, 5, &p.Role)
	str(c, 6, &p.Lens)
	num(c, 7, &p.Tier)
	num(c, 8, &p.Turn)
	str(c, 9, &p.Task)
	num(c, 10, &p.Round)
}
