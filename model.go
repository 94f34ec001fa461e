package pawl

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Model answers one request of an agent session. Implementations live in
// internal/model: one per wire protocol, and script, which answers from a file.
//
// Call returns when the reply is complete or has failed. Text and reasoning
// that arrive on the way go to sink, in order, from the calling goroutine;
// they are for people who watch and are never durable, so a sink may drop
// them. sink may be nil. A reply that was cut off is an error, never a short
// reply: a half-received tool call must not be run.
//
// Call does not retry: one Call is one dispatch. Every error it returns is a
// *[ModelError] or the context's own error.
type Model interface {
	Call(ctx context.Context, req ModelRequest, sink func(ModelDelta)) (ModelReply, error)
}

// ModelRequest is everything one model call depends on.
type ModelRequest struct {
	// Model is the provider's name of the model, such as "claude-haiku-4-5".
	Model string
	// System is the system prompt; empty means none.
	System string
	// Messages alternate between user and assistant, the first from the user.
	Messages []Message
	// Tools are the tools the model may call, in a stable order so that
	// providers' prompt caches hit.
	Tools []ToolSpec
	// MaxOutput is the most tokens the reply may have; it is always positive.
	MaxOutput int
	// Idle is how long the stream may be silent before the call fails with
	// [ModelTimeout]. Zero means [DefaultModelIdle].
	Idle time.Duration
	// Place says where in a run this call belongs. Adapters do not send it;
	// the scripted model matches on it.
	Place Place
}

// DefaultModelIdle is how long a model's stream may be silent. Models that
// reason without streaming it are silent for minutes.
const DefaultModelIdle = 5 * time.Minute

// Place is a position in a run: which session of which iteration is speaking.
// It labels effects for people and keys the scripted model's answers.
type Place struct {
	Run       RunID  `json:"run,omitempty"`
	Loop      string `json:"loop,omitempty"`      // the loop's kind, such as "task"
	Task      string `json:"task,omitempty"`      // the id of the loop's task; empty = the run's goal
	Iteration int    `json:"iteration,omitempty"` // from 1
	Attempt   int    `json:"attempt,omitempty"`   // of the iteration, from 1
	Step      string `json:"step,omitempty"`      // the step's or gate's name
	Round     int    `json:"round,omitempty"`     // of the step's group, from 1; 0 = it is in none
	Role      string `json:"role,omitempty"`
	Lens      string `json:"lens,omitempty"` // a council member's point of view; else empty
	Tier      int    `json:"tier,omitempty"`
	Turn      int    `json:"turn,omitempty"` // from 1
}

// String returns the place as a path, such as "task/2/implement/turn-3", or
// "subtask:parser/1/executor/turn-3" for a loop with a task of its own, or
// "task/1/decide.2" for a step in its group's second round.
func (p Place) String() string {
	loop := p.Loop
	if p.Task != "" {
		loop += ":" + p.Task
	}
	s := fmt.Sprintf("%s/%d/%s", loop, p.Iteration, p.Step)
	if p.Round > 1 {
		s += fmt.Sprintf(".%d", p.Round)
	}
	if p.Lens != "" {
		s += "/" + p.Lens
	}
	if p.Turn > 0 {
		s += fmt.Sprintf("/turn-%d", p.Turn)
	}
	return s
}

// Words returns the place for people, without the turn: "implement in iteration 2", or "decide,
// round 2, in iteration 1 of parser" for a loop with a task of its own.
func (p Place) Words() string {
	s := p.Step
	if p.Lens != "" {
		s += " (" + p.Lens + ")"
	}
	if p.Round > 1 {
		s += fmt.Sprintf(", round %d,", p.Round)
	}
	if p.Iteration > 0 {
		s += fmt.Sprintf(" in iteration %d", p.Iteration)
	}
	if p.Task != "" {
		s += " of " + p.Task
	}
	return s
}

// MessageRole says who speaks in a message.
type MessageRole string

// The two speakers. Tool results are spoken by the user, as all providers have it.
const (
	RoleUser      MessageRole = "user"
	RoleAssistant MessageRole = "assistant"
)

// Message is one message of a transcript. Its JSON form is what is stored.
type Message struct {
	Role   MessageRole `json:"role"`
	Blocks []Block     `json:"blocks"`
}

// BlockKind says which fields of a [Block] are set.
type BlockKind string

// The kinds of block.
const (
	BlockText       BlockKind = "text"        // Text
	BlockToolUse    BlockKind = "tool_use"    // CallID, Tool, Args
	BlockToolResult BlockKind = "tool_result" // CallID, Text, IsError
	BlockOpaque     BlockKind = "opaque"      // Opaque: a provider's own block (reasoning, signatures) to hand back unchanged
)

// Block is one part of a message.
type Block struct {
	Kind   BlockKind `json:"kind"`
	Text   string    `json:"text,omitempty"`
	CallID string    `json:"call_id,omitempty"` // the provider's id that joins a use to its result
	Tool   string    `json:"tool,omitempty"`
	// Args is always valid JSON: {} when the model sent nothing, a string with the
	// raw text when it sent no JSON. Whoever runs the call refuses all but objects.
	Args    json.RawMessage `json:"args,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Opaque  json.RawMessage `json:"opaque,omitempty"`
	// Provider names the adapter an opaque block belongs to; other adapters leave it out.
	Provider string `json:"provider,omitempty"`
}

// StopReason says why a model stopped speaking.
type StopReason string

// Why a reply ended. A refusal and a too long context are errors, not reasons.
const (
	StopEnd       StopReason = "end"        // it had said what it wanted
	StopToolUse   StopReason = "tool_use"   // it waits for tool results
	StopMaxOutput StopReason = "max_output" // MaxOutput was reached; tool calls in such a reply are not run
)

// ModelReply is a complete reply.
type ModelReply struct {
	Message Message // Role is RoleAssistant
	Stop    StopReason
	Usage   Usage
	// Model is the name the provider says answered; it may differ from the one asked.
	Model string
}

// Usage counts tokens as every adapter must normalise them: Input excludes
// cached tokens, so the four counts never overlap and sum to what was processed.
type Usage struct {
	Input      int64 `json:"input"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Output     int64 `json:"output"`
}

func (u *Usage) fields(c *coder) {
	num(c, 1, &u.Input)
	num(c, 2, &u.CacheRead)
	num(c, 3, &u.CacheWrite)
	num(c, 4, &u.Output)
}

// Total returns the number of tokens processed.
func (u Usage) Total() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite, Output: u.Output + v.Output}
}

// Less returns u minus v. No count becomes negative.
func (u Usage) Less(v Usage) Usage {
	return Usage{
		Input: max(u.Input-v.Input, 0), CacheRead: max(u.CacheRead-v.CacheRead, 0),
		CacheWrite: max(u.CacheWrite-v.CacheWrite, 0), Output: max(u.Output-v.Output, 0),
	}
}

// ModelDelta is a piece of a reply on its way. At most one field is set. With none it says that the
// model has sent something that is not shown, such as a piece of a call's arguments.
type ModelDelta struct {
	Text      string
	Reasoning string
	Tool      string // a tool call has begun; its arguments are not shown before they are whole
}

// ModelErrorKind classes what a provider can answer besides a reply. Only
// adapters look at providers' texts and statuses; everyone else looks at this.
type ModelErrorKind string

// The kinds of model error.
const (
	ModelRateLimit   ModelErrorKind = "rate_limit"       // 429: try again after Wait
	ModelOverloaded  ModelErrorKind = "overloaded"       // 5xx, 529, overloaded_error: try again
	ModelNetwork     ModelErrorKind = "network"          // no connection, cut stream, malformed stream: try again
	ModelNoServer    ModelErrorKind = "no_server"        // nothing listens at an address of this machine: do not try again
	ModelTimeout     ModelErrorKind = "timeout"          // the stream was silent for longer than Idle, or a gateway gave the model up: try again
	ModelAuth        ModelErrorKind = "auth"             // 401, 403, no key: do not try again
	ModelBadRequest  ModelErrorKind = "bad_request"      // 400, 404, 413, 422: do not try again
	ModelContextLong ModelErrorKind = "context_too_long" // the prompt does not fit: do not try again
	ModelRefused     ModelErrorKind = "refused"          // the model or a filter refused: do not try again
	ModelQuota       ModelErrorKind = "quota"            // credit or plan exhausted: try again after Wait, if there is one
	ModelUnknown     ModelErrorKind = "unknown_model"    // there is no such model, or the account may not use it: do not try again
	ModelNoStart     ModelErrorKind = "no_start"         // the program of a coding agent is missing, or ends before it says anything: do not try again
	ModelNoSession   ModelErrorKind = "no_session"       // a coding agent does not have the session to continue: begin another
)

// Retryable reports whether the same request may succeed later, even if the provider told no
// time to wait.
func (k ModelErrorKind) Retryable() bool {
	switch k {
	case ModelRateLimit, ModelOverloaded, ModelNetwork, ModelTimeout:
		return true
	}
	return false
}

// IsFree reports whether a call that failed so has cost nothing, unless it is known what it used.
func (k ModelErrorKind) IsFree() bool {
	switch k {
	case ModelRateLimit, ModelOverloaded, ModelNoServer, ModelNoStart, ModelAuth, ModelBadRequest, ModelContextLong, ModelQuota, ModelUnknown, ModelNoSession:
		return true
	}
	return false
}

// ModelError is every failure of a model call.
type ModelError struct {
	Kind ModelErrorKind
	// Wait is how long the provider asks to wait, whatever the kind; zero means it did not say.
	Wait time.Duration
	// Status is the HTTP status; zero when there was none.
	Status int
	// Unsent reports that the request cannot have reached the provider, so that
	// it has cost nothing.
	Unsent bool
	// Free reports that the answer was certainly no reply of a model, such as a page of
	// a proxy, so that it has cost nothing.
	Free bool
	// Used is what a reply that was cut off had used as far as it came; zero means that nobody
	// knows. Estimated reports that the provider did not tell all of it.
	Used      Usage
	Estimated bool
	// Message is what the provider said, without secrets, at most a few hundred bytes.
	Message string
	// Fix is what the user can do about it, such as "set OPENAI_API_KEY to a valid key"; empty = nothing
	// that is known.
	Fix string
}

func (e *ModelError) Error() string {
	s := "model: " + string(e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}
