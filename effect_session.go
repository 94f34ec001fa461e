package pawl

// The effects of agent sessions.

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
	// of Count is its place there.
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
	// Second is the verdict of which a reviewer takes a second look at the same tree, and Reply what
	// its author says to that; nil = it is the first look.
	Second *Feedback `json:"second,omitempty"`
	Reply  Hash      `json:"reply,omitzero"`
	// Bare has the prompt show nothing but its template: see [Replan].
	Bare bool `json:"bare,omitempty"`
	// Remind asks for the text that repeats the loop's task after tool calls: see [PromptAssembled].
	Remind bool `json:"remind,omitempty"`
	// Evidence is a JSON [EvidenceReport] of the candidate, and Findings those in it that the
	// reviewer has to answer for.
	Evidence Hash          `json:"evidence,omitzero"`
	Findings []OpenFinding `json:"findings,omitempty"`
	// Tried has the prompt tell what was tried of the loop's open tasks, and what was said of that all
	// the time, not only of the last attempt.
	Tried bool `json:"tried,omitempty"`
}

// OpenFinding is a finding that nobody has accepted.
type OpenFinding struct {
	ID    string `json:"id"`
	Print uint64 `json:"print"` // as in [Finding]
	// Refused reports that a reviewer did not accept it before.
	Refused bool `json:"refused,omitempty"`
	// Why says why a reviewer or a person did not accept it, or how to undo it; at most 160 bytes.
	Why string `json:"why,omitempty"`
}

// Verb implements [Do].
func (*AssemblePrompt) Verb() Verb { return VerbAssemblePrompt }

func (d *AssemblePrompt) fields(c *coder) {
	str(c, 1, &d.Template)
	words(c, 2, &d.Tools)
	str(c, 3, &d.Output)
	sum(c, 4, &d.Goal)
	sum(c, 5, &d.Criteria)
	list(c, 6, &d.Feedback, (*coder).feedback)
	list(c, 7, &d.Inputs, func(c *coder, in *Input) {
		str(c, 1, &in.Name)
		sum(c, 2, &in.Blob)
	})
	str(c, 8, &d.Commit)
	str(c, 9, &d.Base)
	num(c, 10, &d.Max)
	words(c, 11, &d.History)
	list(c, 12, &d.RedAtBase, func(c *coder, in *Input) {
		str(c, 1, &in.Name)
		sum(c, 2, &in.Blob)
	})
	str(c, 13, &d.Focus)
	sum(c, 14, &d.Task)
	num(c, 15, &d.Number)
	num(c, 16, &d.Count)
	sum(c, 17, &d.Plan)
	str(c, 18, &d.States)
	memory := Memory{}
	if d.Memory != nil {
		memory = *d.Memory
	}
	sub(c, 19, func(c *coder) {
		str(c, 1, &memory.Select)
		num(c, 2, &memory.MaxTokens)
	})
	if c.reading && memory != (Memory{}) {
		d.Memory = &memory
	}
	words(c, 20, &d.Signs)
	str(c, 21, &d.Cause)
	num(c, 22, &d.Item)
	sum(c, 23, &d.ItemOf)
	str(c, 24, &d.ItemField)
	sums(c, 25, &d.Answers)
	list(c, 26, &d.Batch, func(c *coder, m *Member) {
		sum(c, 1, &m.Task)
		sum(c, 2, &m.Result)
		sum(c, 3, &m.Paths)
		str(c, 4, &m.Commit)
	})
	second := Feedback{}
	if d.Second != nil {
		second = *d.Second
	}
	sub(c, 27, func(c *coder) { c.feedback(&second) })
	if c.reading && second.From != "" {
		d.Second = &second
	}
	sum(c, 28, &d.Reply)
	flag(c, 29, &d.Bare)
	flag(c, 30, &d.Remind)
	sum(c, 31, &d.Evidence)
	list(c, 32, &d.Findings, (*coder).openFinding)
	flag(c, 33, &d.Tried)
}

func (c *coder) feedback(f *Feedback) {
	str(c, 1, &f.From)
	str(c, 2, &f.Verdict)
	str(c, 3, &f.Summary)
	sum(c, 4, &f.Evidence)
	list(c, 5, &f.Findings, (*coder).openFinding)
}

func (c *coder) openFinding(f *OpenFinding) {
	str(c, 1, &f.ID)
	num(c, 2, &f.Print)
	flag(c, 3, &f.Refused)
	str(c, 4, &f.Why)
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
	// Summary says it in at most 120 bytes when there is no evidence to read; what somebody wants of
	// a new plan has at most 300.
	Summary  string `json:"summary,omitempty"`
	Evidence Hash   `json:"evidence,omitzero"` // the whole report
	// Findings are those in the evidence, an [EvidenceReport], that nobody accepted.
	Findings []OpenFinding `json:"findings,omitempty"`
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
	// Choice is which of the tier's models is called: 0 is its own, 1 its first fallback.
	Choice int `json:"choice,omitempty"`
	// Foreign is how much of the transcript is told as text, because another model wrote it. A
	// coding agent that begins a session is told the whole transcript as text.
	Foreign int `json:"foreign,omitempty"`
	// Agent is set if the model is a coding agent. The call is then a turn of the agent, and
	// MaxOutput is not used.
	Agent *AgentCall `json:"agent,omitempty"`
}

// AgentCall holds what a turn of a coding agent depends on besides the transcript.
type AgentCall struct {
	// Session is the agent's id of the session to continue; empty means a new one, which is told the
	// whole transcript. A session that continues is told the transcript from item From on.
	Session string `json:"session,omitempty"`
	From    int    `json:"from,omitempty"`
	// Used and Spent are the totals of the session's earlier turns. Spent is at list prices.
	Used  Usage  `json:"used,omitzero"`
	Spent Micros `json:"spent,omitempty"`
	// Before is the worktree's tree before the turn; it is not empty.
	Before TreeHash `json:"before"`
}

// Verb implements [Do].
func (*CallModel) Verb() Verb { return VerbCallModel }

func (d *CallModel) fields(c *coder) {
	num(c, 1, &d.Tier)
	num(c, 2, &d.MaxOutput)
	sum(c, 3, &d.System)
	sum(c, 4, &d.Tools)
	num(c, 5, &d.Items)
	num(c, 6, &d.Try)
	num(c, 7, &d.Reserved)
	num(c, 8, &d.ReservedTokens)
	agent := AgentCall{}
	if d.Agent != nil {
		agent = *d.Agent
	}
	sub(c, 9, func(c *coder) {
		str(c, 1, &agent.Session)
		num(c, 2, &agent.From)
		sub(c, 3, agent.Used.fields)
		num(c, 4, &agent.Spent)
		str(c, 5, &agent.Before)
	})
	if c.reading && agent != (AgentCall{}) {
		d.Agent = &agent
	}
	num(c, 10, &d.Choice)
	num(c, 11, &d.Foreign)
}

// ItemKind says what an [Item] of a transcript is.
type ItemKind uint8

// The kinds of item.
const (
	ItemUser      ItemKind = iota + 1 // the prompt
	ItemAssistant                     // a reply; Blob is a JSON Message
	ItemResult                        // a tool result for call number Call of the reply before it
	ItemNote                          // a sentence of the harness: the reminder, or what was missing
	ItemCutOff                        // a turn of a coding agent that failed; Blob is its transcript, as in [EffectFailed]
)

// MaxCutOff is how many bytes a model is told at most of an [ItemCutOff].
const MaxCutOff = 16 << 10

// Item is one entry of a session's transcript: text by blob, or, for the few
// sentences the harness itself speaks, by value. A note may have both: the blob comes first.
type Item struct {
	Kind    ItemKind
	IsError bool
	Call    uint16
	Blob    Hash
	Text    string
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

// Verb implements [Do].
func (*CallTool) Verb() Verb { return VerbCallTool }

func (d *CallTool) fields(c *coder) {
	str(c, 1, &d.Tool)
	sum(c, 2, &d.Args)
	num(c, 3, &d.Call)
	str(c, 4, &d.Before)
}
