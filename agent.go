package pawl

import (
	"context"
	"encoding/json"
	"time"
)

// Agent is a coding agent that the user has installed, such as Claude Code. It makes its own model
// calls, edits files and runs commands in the work tree of a room. Implementations live in
// internal/delegate, one per protocol.
//
// Turn sends the agent a prompt and returns when the agent has ended its turn. It calls tell for
// each update, in order and never concurrently, and not after it has returned; the agent waits while
// tell blocks. An agent's claim to have done something is no evidence: the work tree is.
//
// Turn does not retry. Every error it returns is a *[ModelError] or the context's error. The work
// tree then holds what the agent had done by that time.
type Agent interface {
	Turn(ctx context.Context, room Room, turn AgentTurn, tell func(AgentUpdate)) (AgentReply, error)
}

// AgentTurn describes one turn of an agent.
type AgentTurn struct {
	// Model is the agent's name of the model, such as "sonnet".
	Model string
	// System holds for all turns of the session. Prompt is the message that begins this turn.
	System, Prompt string
	// Session is the agent's id of the session to continue; empty means a new session. Used and
	// Spent are the totals of its earlier turns, because some agents report only running totals.
	Session string
	Used    Usage
	Spent   Micros
	// Access says what the agent may do in the work tree.
	Access AgentAccess
	// Confined reports whether the room confines commands. If it does, the agent's own sandbox is
	// turned off.
	Confined bool
	// Servers are the only MCP servers that the agent may use.
	Servers []AgentServer
	// Info delivers messages to the agent while it works; nil means that there are none. See
	// [AgentReply.Heard].
	Info <-chan string
	// Limits bound the turn.
	Limits AgentLimits
}

// AgentAccess says what an agent may do in a work tree.
type AgentAccess string

// What an agent may do.
const (
	AgentReads  AgentAccess = "read"  // read the work tree, but not change it
	AgentWrites AgentAccess = "write" // edit files and run commands
)

// AgentServer is an MCP server that an agent starts in its room and talks to over standard input
// and output.
type AgentServer struct {
	Name string
	Argv []string
	// Tools are the names of its tools. The agent needs no permission to call them.
	Tools []string
}

// AgentLimits bound a turn. Zero means that there is no limit.
type AgentLimits struct {
	// Money and Tokens bound what the turn may use. They are checked after each of the agent's model
	// calls, so a turn can exceed them by one call.
	Money  Micros
	Tokens int64
	// Price is used to compute the cost for as long as the agent reports only tokens.
	Price Price
	// Silence is how long the agent may send nothing while none of its tool calls is open. ToolTime
	// is how long it may send nothing while one is, or before it has sent anything.
	Silence, ToolTime time.Duration
}

// AgentReply is how a turn ended.
type AgentReply struct {
	// Text is the agent's last message.
	Text string
	Stop AgentStop
	// Session is the agent's id of the session; empty if it has none.
	Session string
	// Model is the model that the agent reports; empty if it reports none.
	Model string
	// Usage is what this turn used. Cost is what the agent says it cost, at list prices even if a
	// plan pays for it. Priced reports whether the agent said so.
	Usage  Usage
	Cost   Micros
	Priced bool
	// Heard is the number of messages from Info that the agent has received.
	Heard int
	// Version is the agent's version; empty if it does not say.
	Version string
}

// AgentStop says why a turn ended.
type AgentStop string

// Why a turn ends.
const (
	AgentEnded   AgentStop = "end"     // the agent ended it
	AgentCapped  AgentStop = "cap"     // its limit on money or tokens was reached
	AgentTurns   AgentStop = "turns"   // the agent reached its own limit on model calls or tokens
	AgentRefused AgentStop = "refused" // the agent's model refused
)

// AgentUpdate is one thing that an agent says or does during a turn, in a form that is the same for
// all agents. Transcripts are stored as lines of its JSON.
type AgentUpdate struct {
	Kind UpdateKind `json:"kind"`
	// Text is the message, the thought, the result of a call, the note, or the session's id.
	Text string `json:"text,omitempty"`
	// Partial marks a piece of a text that is sent again in full. Pieces are shown, but not stored.
	Partial bool `json:"partial,omitempty"`
	// Call joins the updates of one tool call.
	Call string `json:"call,omitempty"`
	// Tool is the agent's name of the tool, such as "Bash". Does says what kind of tool it is.
	Tool string   `json:"tool,omitempty"`
	Does ToolDoes `json:"does,omitempty"`
	// Title describes the call in a few words, such as the command that it runs.
	Title string          `json:"title,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
	// Failed reports that the call failed, or that permission was refused.
	Failed bool `json:"failed,omitempty"`
	// Diffs are the changes that a call makes, as the agent reports them.
	Diffs []AgentDiff `json:"diffs,omitempty"`
	// Plan is the agent's current plan. It replaces the one before.
	Plan []AgentPlanEntry `json:"plan,omitempty"`
	// Usage and Cost are the turn's totals so far. A zero Cost means that the agent reports none.
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
	UpdatePermission UpdateKind = "permission" // it asked for permission to make a call: Call, Tool, Does, Title, Failed
	UpdatePlan       UpdateKind = "plan"       // Plan
	UpdateUsage      UpdateKind = "usage"      // Usage, Cost
	UpdateNote       UpdateKind = "note"       // Text: a warning, or output that is not part of the protocol
	UpdateAlive      UpdateKind = "alive"      // the agent sent something that has no other kind
	UpdateSession    UpdateKind = "session"    // Text: the agent's id of the session, which can be continued from now on
)

// ToolDoes is the kind of a tool. The kinds are a subset of those of the Agent Client Protocol.
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

// AgentDiff is a change to one file, as the agent reports it. Old is empty for a new file.
type AgentDiff struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new"`
}

// AgentPlanEntry is one entry of an agent's plan.
type AgentPlanEntry struct {
	Text   string `json:"text"`
	Status string `json:"status,omitempty"` // pending, in_progress or completed
}
