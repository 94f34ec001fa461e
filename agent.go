package pawl

import (
	"context"
	"encoding/json"
	"time"
)

// Agent is a coding agent that the user has installed, such as Claude Code. It does by itself what
// a session of ours does call by call: it reads, writes and runs commands in the work tree of a
// room. Implementations live in internal/delegate, one per protocol.
//
// Turn tells the agent something and returns when it ends its turn. What it does on the way goes to
// tell, in order and one at a time; tell may block the agent but must return. What the agent claims
// to have done counts for nothing: the work tree and the gates decide.
//
// Turn does not retry. Every error it returns is a *[ModelError], or the context's own error; the
// work tree then has what the agent did until there.
type Agent interface {
	Turn(ctx context.Context, room Room, turn AgentTurn, tell func(AgentUpdate)) (AgentReply, error)
}

// AgentTurn is everything one turn of an agent depends on, besides its room.
type AgentTurn struct {
	// Model is the agent's name of the model, such as "sonnet".
	Model string
	// System is what the session is about and holds for all its turns; Prompt is what is said now.
	System, Prompt string
	// Session is the agent's own name of the session to continue; empty means a new one. Used and
	// Spent are what its earlier turns have used: some agents tell only the sum.
	Session string
	Used    Usage
	Spent   Micros
	// Access says what the agent may do in the work tree.
	Access AgentAccess
	// Confined reports that the room confines commands, so that the agent's own sandbox is off.
	Confined bool
	// Servers are the MCP servers that it has, and no others.
	Servers []AgentServer
	// Info are messages for the agent while it works; nil means that there are none. Which of them
	// it has heard the reply says.
	Info <-chan string
	// Limits bound the turn.
	Limits AgentLimits
}

// AgentAccess says what an agent may do in a work tree.
type AgentAccess string

// What an agent may do.
const (
	AgentReads  AgentAccess = "read"  // nothing can be written in the work tree
	AgentWrites AgentAccess = "write" // edit files and run commands
)

// AgentServer is an MCP server that an agent starts in its room, and speaks to on the server's
// standard input and output.
type AgentServer struct {
	Name string
	Argv []string
	// Tools are the names of its tools, which the agent may call without being asked about.
	Tools []string
}

// AgentLimits bound a turn. Zero means that there is no limit.
type AgentLimits struct {
	// Money and Tokens are what it may use. They are checked after each of the agent's model calls,
	// so it may use one call more.
	Money  Micros
	Tokens int64
	// Price turns the tokens that the agent reports into money until it reports that itself.
	Price Price
	// Silence is how long the agent may say nothing while no tool call of its is open, and ToolTime
	// how long while one is.
	Silence, ToolTime time.Duration
}

// AgentReply is how a turn ended.
type AgentReply struct {
	// Text is the last that the agent said.
	Text string
	Stop AgentStop
	// Session is the agent's own name of the session, to continue it; empty = it has none.
	Session string
	// Model is the model that the agent says it used; empty = it did not say.
	Model string
	// Usage is what this turn used, and Cost what the agent says that costs; Priced reports that
	// it said so. Cost is at list prices, also where a plan pays.
	Usage  Usage
	Cost   Micros
	Priced bool
	// Heard is how many messages of Info the agent has received.
	Heard int
	// Version is what the agent says of itself; empty = nothing.
	Version string
}

// AgentStop says why a turn ended.
type AgentStop string

// The ends of a turn.
const (
	AgentEnded   AgentStop = "end"     // the agent ended it
	AgentCapped  AgentStop = "cap"     // its limit on money or tokens was reached
	AgentTurns   AgentStop = "turns"   // the agent reached a limit of its own
	AgentRefused AgentStop = "refused" // the agent's model refused
)

// AgentUpdate is one thing that an agent says or does during a turn, in the same words for all
// agents. Its JSON form is a line of the session's stored transcript.
type AgentUpdate struct {
	Kind UpdateKind `json:"kind"`
	// Text is what was said or thought, what a call returned, or what is worth telling.
	Text string `json:"text,omitempty"`
	// Partial reports that more of the same text follows. Partial updates are shown and not stored.
	Partial bool `json:"partial,omitempty"`
	// Call joins the updates of one tool call.
	Call string `json:"call,omitempty"`
	// Tool is the agent's own name of the tool, such as "Bash", and Does what kind of thing it does.
	Tool string   `json:"tool,omitempty"`
	Does ToolDoes `json:"does,omitempty"`
	// Title says in a few words what the call is for, such as the command that it runs.
	Title string          `json:"title,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
	// Failed reports a call that returned an error, or a permission that was refused.
	Failed bool `json:"failed,omitempty"`
	// Diffs are what a call changes, as the agent shows it.
	Diffs []AgentDiff `json:"diffs,omitempty"`
	// Plan is the agent's plan as it is now.
	Plan []AgentPlanEntry `json:"plan,omitempty"`
	// Usage is what the turn has used so far, and Cost what it has cost by the agent's own count;
	// zero = it does not say.
	Usage Usage  `json:"usage,omitzero"`
	Cost  Micros `json:"cost,omitempty"`
}

// UpdateKind says which fields of an [AgentUpdate] are set.
type UpdateKind string

// The kinds of update.
const (
	UpdateText       UpdateKind = "text"       // Text: the agent speaks
	UpdateThought    UpdateKind = "thought"    // Text: it thinks
	UpdateCall       UpdateKind = "call"       // a tool call begins: Call, Tool, Does, Title, Args, Diffs
	UpdateResult     UpdateKind = "result"     // a tool call ends: Call, Text, Failed, Diffs
	UpdatePermission UpdateKind = "permission" // it asked whether it may make a call: Call, Tool, Title, Failed
	UpdatePlan       UpdateKind = "plan"       // Plan
	UpdateUsage      UpdateKind = "usage"      // Usage, Cost
	UpdateNote       UpdateKind = "note"       // Text: something of its protocol that is worth telling
	UpdateAlive      UpdateKind = "alive"      // nothing but that it is not silent
)

// ToolDoes says what kind of thing a tool of an agent does. The words are those of the Agent Client
// Protocol.
type ToolDoes string

// The kinds of tool.
const (
	DoesRead    ToolDoes = "read"
	DoesEdit    ToolDoes = "edit"
	DoesExecute ToolDoes = "execute"
	DoesSearch  ToolDoes = "search"
	DoesFetch   ToolDoes = "fetch"
	DoesOther   ToolDoes = "other"
)

// AgentDiff is a change of one file as an agent shows it; Old is empty for a new one.
type AgentDiff struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new"`
}

// AgentPlanEntry is one entry of an agent's own plan.
type AgentPlanEntry struct {
	Text   string `json:"text"`
	Status string `json:"status,omitempty"` // pending, in_progress or completed
}
