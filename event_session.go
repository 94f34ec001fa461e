package pawl

import "time"

// The events of agent sessions: prompts, replies and tool calls.

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
	// Cap is what the recipe lets a session of a coding agent use.
	Cap SessionCap `json:"session_limit,omitzero"`
}

// EventKind implements [Body].
func (*SessionStarted) EventKind() Kind { return KindSessionStarted }

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
	sub(c, 10, b.Cap.fields)
}

func (l *SessionCap) fields(c *coder) {
	num(c, 1, &l.Money)
	num(c, 2, &l.Tokens)
}

// PromptAssembled answers [AssemblePrompt].
type PromptAssembled struct {
	Effect Seq  `json:"effect"`
	System Hash `json:"system,omitzero"`
	Prompt Hash `json:"prompt"`
	Tools  Hash `json:"tools,omitzero"`
	// Bytes is the size of all three together; a token is at least 3 bytes on average.
	Bytes int64 `json:"bytes"`
	// Cut names what was left out to fit, in the order it was cut.
	Cut []string `json:"cut,omitempty"`
	// Reminder repeats goal and task after tool calls, whole, and ReminderBytes is its size; zero =
	// the session is reminded in a few words, as in logs of earlier versions.
	Reminder      Hash  `json:"reminder,omitzero"`
	ReminderBytes int64 `json:"reminder_bytes,omitempty"`
}

// EventKind implements [Body].
func (*PromptAssembled) EventKind() Kind { return KindPromptAssembled }

func (b *PromptAssembled) fields(c *coder) {
	num(c, 1, &b.Effect)
	sum(c, 2, &b.System)
	sum(c, 3, &b.Prompt)
	sum(c, 4, &b.Tools)
	num(c, 5, &b.Bytes)
	words(c, 6, &b.Cut)
	sum(c, 7, &b.Reminder)
	num(c, 8, &b.ReminderBytes)
}

// Answers implements [Answer].
func (b *PromptAssembled) Answers() Seq { return b.Effect }

// ModelReplied answers [CallModel].
type ModelReplied struct {
	Effect  Seq        `json:"effect"`
	Message Hash       `json:"message"`       // a JSON Message
	Text    Hash       `json:"text,omitzero"` // what it said besides its calls; zero = nothing
	Bytes   int64      `json:"bytes"`         // the message's size
	Stop    StopReason `json:"stop"`
	Model   string     `json:"model"`
	Usage   Usage      `json:"usage"`
	Calls   []ToolUse  `json:"calls,omitempty"`
	// Cost is decided from Usage and the frozen prices.
	Cost Micros `json:"cost"`
	// Waited is how long it waited for places of the machine, which is not the session's
	// time; 0 = it had them at once.
	Waited time.Duration `json:"waited,omitempty"`
	// Agent is set if a coding agent has ended a turn. Calls then are those of our own tools, and
	// Text is the agent's last message.
	Agent *AgentTurned `json:"agent,omitempty"`
}

// AgentTurned says how a turn of a coding agent ended.
type AgentTurned struct {
	Stop AgentStop `json:"stop"` // it is not empty
	// Session is the agent's id of the session; empty = it cannot be continued.
	Session string `json:"session,omitempty"`
	// Transcript has each [AgentUpdate] of the turn as a line of JSON; zero = there were none.
	Transcript Hash `json:"transcript,omitzero"`
	// Tree is the worktree's tree afterwards, and LeftOut what of the worktree it does not have.
	Tree    TreeHash   `json:"tree"`
	LeftOut []LimitMet `json:"left_out,omitempty"`
	// Changed reports that the agent changed a worktree that it may only read.
	Changed bool `json:"changed,omitempty"`
	// Worth is what the turn cost at list prices, even if a plan paid for it.
	Worth Micros `json:"worth,omitempty"`
	// Version is the agent's version; empty if it did not say. Tools is how many tool calls of its own
	// the agent made; Failed is how many of these failed.
	Version string `json:"version,omitempty"`
	Tools   int    `json:"tools,omitempty"`
	Failed  int    `json:"failed,omitempty"`
	// Commands is how many of the calls ran commands; CommandFailed reports whether the last of these
	// failed.
	Commands      int  `json:"commands,omitempty"`
	CommandFailed bool `json:"command_failed,omitempty"`
	// Heard is how many of the infos that were sent during the turn the agent has received: the first
	// ones. The others are in the next prompt.
	Heard int `json:"heard,omitempty"`
}

// EventKind implements [Body].
func (*ModelReplied) EventKind() Kind { return KindModelReplied }

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
	agent := AgentTurned{}
	if b.Agent != nil {
		agent = *b.Agent
	}
	sub(c, 11, agent.fields)
	if c.reading && agent.Stop != "" {
		b.Agent = &agent
	}
}

func (b *AgentTurned) fields(c *coder) {
	str(c, 1, &b.Stop)
	str(c, 2, &b.Session)
	sum(c, 3, &b.Transcript)
	str(c, 4, &b.Tree)
	list(c, 5, &b.LeftOut, (*coder).limitMet)
	flag(c, 6, &b.Changed)
	num(c, 7, &b.Worth)
	str(c, 8, &b.Version)
	num(c, 9, &b.Tools)
	num(c, 10, &b.Failed)
	num(c, 11, &b.Heard)
	num(c, 12, &b.Commands)
	flag(c, 13, &b.CommandFailed)
}

// Answers implements [Answer].
func (b *ModelReplied) Answers() Seq { return b.Effect }

// MaxAgentSession bounds a coding agent's id of its session, in bytes. A session with a longer one is
// not continued.
const MaxAgentSession = 200

// ProgressSteps is into how many steps the reservation of a turn of a coding agent is divided: its
// progress is recorded when it first tells what it has used, and when it has used another of them.
const ProgressSteps = 10

// AgentProgressed says how far a turn of a coding agent has come. The effect stays open. If a driver
// dies during the turn, the session can be continued, and what it has used until then is known.
type AgentProgressed struct {
	Effect  Seq    `json:"effect"`
	Session string `json:"session,omitempty"` // the agent's id of it; empty = it is not known, or cannot be continued
	// Used and Worth are what the turn has used so far. Worth is at list prices.
	Used  Usage  `json:"used,omitzero"`
	Worth Micros `json:"worth,omitempty"`
}

// EventKind implements [Body].
func (*AgentProgressed) EventKind() Kind { return KindAgentProgressed }

func (b *AgentProgressed) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Session)
	sub(c, 3, b.Used.fields)
	num(c, 4, &b.Worth)
}

// ModelSwitched says that a tier, or only a session, uses another of its tier's models from now on. If
// the session whose call failed has had replies, it starts again with the transcript as text.
type ModelSwitched struct {
	Tier int `json:"tier"`
	From int `json:"from,omitempty"` // as in [CallModel]
	To   int `json:"to,omitempty"`
	// Session is the session of the loop whose call failed; 0 = none: the wait for To is over.
	Session int `json:"session,omitempty"`
	// SessionOnly reports that only this session uses another model. The tier's stays, or had been
	// switched before.
	SessionOnly bool `json:"session_only,omitempty"`
	// For is how long the tier uses To before its own model is tried again; 0 = for the rest of the run.
	For time.Duration `json:"for,omitempty"`
	// Reason is why, for people.
	Reason string `json:"reason,omitempty"`
}

// EventKind implements [Body].
func (*ModelSwitched) EventKind() Kind { return KindModelSwitched }

func (b *ModelSwitched) fields(c *coder) {
	num(c, 1, &b.Tier)
	num(c, 2, &b.From)
	num(c, 3, &b.To)
	num(c, 4, &b.Session)
	flag(c, 5, &b.SessionOnly)
	num(c, 6, &b.For)
	str(c, 7, &b.Reason)
}

// ToolUse is one tool call of a reply, as far as decisions need it.
type ToolUse struct {
	Tool  string     `json:"tool"`
	Args  Hash       `json:"args"`
	Class CrashClass `json:"class,omitempty"` // of the tool; zero = unknown tool or a submit tool
	// Problem says what is wrong with the call, for the model; empty = fine.
	Problem string `json:"problem,omitempty"`
	// Submit reports a call that hands in the session's result; Facts is what it says.
	Submit bool  `json:"submit,omitempty"`
	Facts  Facts `json:"facts,omitempty"`
	// Harness reports a call that the harness answers itself from the run's
	// state: the blackboard, the memory. Facts is what it asks for.
	Harness bool `json:"harness,omitempty"`
	// Trimmed is the result as the harness takes it, if that is not as it came: without what
	// nobody asked for or, when its problem is only that it is too long, as the harness would
	// cut it, which is taken after two refusals.
	Trimmed Hash `json:"trimmed,omitzero"`
	// Told reports whether a coding agent got its answer during the turn. Unless the answer is an
	// error, the call needs no further turn.
	Told bool `json:"told,omitempty"`
}

func (c *coder) toolUse(b *ToolUse) {
	str(c, 1, &b.Tool)
	sum(c, 2, &b.Args)
	num(c, 3, &b.Class)
	str(c, 4, &b.Problem)
	flag(c, 5, &b.Submit)
	facts(c, 6, &b.Facts)
	flag(c, 7, &b.Harness)
	sum(c, 8, &b.Trimmed)
	flag(c, 9, &b.Told)
}

// ToolReturned answers [CallTool].
type ToolReturned struct {
	Effect  Seq   `json:"effect"`
	Output  Hash  `json:"output"`
	Bytes   int64 `json:"bytes"`
	IsError bool  `json:"is_error,omitempty"`
	// Interrupted reports a call that a crash cut off and that is not run again.
	Interrupted bool `json:"interrupted,omitempty"`
	// Tree is the worktree's tree afterwards; empty when the tool cannot write.
	Tree TreeHash `json:"tree,omitempty"`
	// Conflict reports that recovery found the worktree neither before nor after the call.
	Conflict bool `json:"conflict,omitempty"`
	// Waited is as in [ModelReplied].
	Waited time.Duration `json:"waited,omitempty"`
	// LeftOut says which files of the worktree Tree does not have, by the limits they meet.
	LeftOut []LimitMet `json:"left_out,omitempty"`
	// Met are the limits of its room that a command met.
	Met []ResourceMet `json:"met,omitempty"`
	// Prepared is the key of the dependencies that the tool put into the worktree; empty =
	// those that were there are still there. See [Prepared].
	Prepared string `json:"prepared,omitempty"`
}

// EventKind implements [Body].
func (*ToolReturned) EventKind() Kind { return KindToolReturned }

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

// Answers implements [Answer].
func (b *ToolReturned) Answers() Seq { return b.Effect }

func (c *coder) resourceMet(b *ResourceMet) {
	str(c, 1, &b.Resource)
	num(c, 2, &b.Max)
}

func (c *coder) limitMet(b *LimitMet) {
	str(c, 1, &b.Limit)
	num(c, 2, &b.Max)
	num(c, 3, &b.Files)
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

// EventKind implements [Body].
func (*SessionEnded) EventKind() Kind { return KindSessionEnded }

func (b *SessionEnded) fields(c *coder) {
	num(c, 1, &b.Session)
	str(c, 2, &b.Result)
	str(c, 3, &b.Reason)
	sum(c, 4, &b.Output)
	facts(c, 5, &b.Facts)
}

// Facts are the few words of a structured result that decisions need, in a
// stable order: names may repeat.
type Facts []Fact

// Get returns the first value with this name, or the empty string.
func (f Facts) Get(name string) string {
	for _, x := range f {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

// All returns the values with this name.
func (f Facts) All(name string) []string {
	var out []string
	for _, x := range f {
		if x.Name == name {
			out = append(out, x.Value)
		}
	}
	return out
}

// Fact is one named word.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// FactGoalTests is the name of a fact that says how many goal tests an assessment picked.
const FactGoalTests = "goal_tests"

// FactSurplus is the name of a fact that says what of a result was ignored, because nobody asked for it.
const FactSurplus = "surplus"

// FactRead is the name of a fact that says what of a result was read as what, because it came in another form than the
// one that was asked for.
const FactRead = "read"

func facts(c *coder, tag uint64, v *Facts) {
	list(c, tag, (*[]Fact)(v), func(c *coder, f *Fact) {
		str(c, 1, &f.Name)
		str(c, 2, &f.Value)
	})
}
