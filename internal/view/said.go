package view

import (
	"time"

	"pawl"
)

// Role says whose words an entry of a conversation has.
type Role string

// The roles.
const (
	RolePrompt    Role = "prompt"    // what the session was sent at its beginning
	RoleAssistant Role = "assistant" // what the model replied
	RoleTool      Role = "tool"      // what a tool call gave
	RoleHarness   Role = "harness"   // what the harness told the model, or what failed
	RoleResult    Role = "result"    // how the session ended
)

// Said is what one event adds to a session's conversation. Texts are blobs, except the few
// words of the harness.
type Said struct {
	Seq     pawl.Seq
	Time    time.Time
	Session int
	Turn    int // the replies of the session so far, this one included; 0 before the first
	Role    Role
	// Text is the prompt, the reply's text, the tool's output or what a note begins with, Bytes its size where the event
	// tells it. System is the system prompt.
	Text, System pawl.Hash
	Bytes        int64
	Cut          []string // what was left out of the prompt to fit
	// Of a reply: its model, its tool calls, and what it was charged.
	Model string
	Calls []pawl.ToolUse
	Usage pawl.Usage
	Cost  pawl.Micros
	// Of a turn of a coding agent: how it ended, if it ended well, and what it said and did.
	Agent      *pawl.AgentTurned
	Transcript pawl.Hash
	// Of a tool's output, and of a note that answers a call: which call of the last reply it
	// answers, from 1, with the tool and its arguments.
	Call    int
	Tool    string
	Args    pawl.Hash
	IsError bool
	// Failed is what failed, such as "tool run"; Note then says why. Otherwise Note is what the
	// harness told the model, or why the session ended as it did.
	Failed string
	Note   string
	// Switched is set when the session continues with another model.
	Switched *pawl.ModelSwitched
	Result   pawl.SessionResult // of the end
	Output   pawl.Hash          // what the session left at its end
}

// Words returns what the harness says, for a reader.
func (x *Said) Words() string {
	switch {
	case x.Failed != "":
		return x.Failed + " failed: " + x.Note
	case x.Role == RoleResult:
		return string(x.Result) + because(x.Note)
	}
	return x.Note
}

// SaidBy returns what an event adds to the conversation of a session, and whether it adds
// anything. f is the effect that the event ends; nil if it ends none. The turn is left out, which
// no event tells.
func SaidBy(e pawl.Event, f *pawl.Effect) (Said, bool) {
	x := Said{Seq: e.Seq, Time: e.Time}
	if f != nil {
		x.Session = f.Session
	}
	switch b := e.Body.(type) {
	case *pawl.NoteAdded:
		x.Role, x.Session, x.Text, x.Note, x.Call, x.IsError = RoleHarness, b.Session, b.Blob, b.Text, b.Call, b.IsError
	case *pawl.SessionEnded:
		x.Role, x.Session, x.Result, x.Note, x.Output = RoleResult, b.Session, b.Result, b.Reason, b.Output
	case *pawl.ModelSwitched:
		if b.Session > 0 {
			x.Role, x.Session, x.Switched, x.Note = RoleHarness, b.Session, b, "another model takes over: "+b.Reason
		}
	case *pawl.PromptAssembled:
		x.Role, x.Text, x.System, x.Bytes, x.Cut = RolePrompt, b.Prompt, b.System, b.Bytes, b.Cut
	case *pawl.ModelReplied:
		x.Role, x.Text, x.Model, x.Calls, x.Usage, x.Cost = RoleAssistant, b.Text, b.Model, b.Calls, b.Usage, b.Cost
		if x.Agent = b.Agent; b.Agent != nil {
			x.Transcript = b.Agent.Transcript
		}
	case *pawl.ToolReturned:
		x.Role, x.Text, x.Bytes, x.IsError = RoleTool, b.Output, b.Bytes, b.IsError
		if do, ok := doOf[*pawl.CallTool](f); ok {
			x.Tool, x.Args, x.Call = do.Tool, do.Args, do.Call+1
		}
	case *pawl.EffectFailed:
		x.fail(f, string(b.Failure.Code)+": "+b.Failure.Message, b.Charged)
		x.Transcript = b.Transcript
	case *pawl.AnswerIgnored:
		if f != nil && f.ID == b.Effect && !b.Transcript.IsZero() {
			x.fail(f, "it was withdrawn", 0)
			x.Transcript = b.Transcript
		}
	case *pawl.EffectLost:
		x.fail(f, "lost when the process died", b.Charged)
	}
	return x, x.Role != "" && x.Session > 0
}

// fail says that an effect of a session gave nothing.
func (x *Said) fail(f *pawl.Effect, why string, charged pawl.Micros) {
	if f == nil {
		return
	}
	switch do := f.Do.(type) {
	case *pawl.CallTool:
		x.Failed, x.Tool, x.Args, x.Call = "tool "+do.Tool, do.Tool, do.Args, do.Call+1
	case *pawl.CallModel:
		x.Failed = "model call " + f.Place.String()
	case *pawl.AssemblePrompt:
		x.Failed = "prompt of " + f.Place.String()
	default:
		return
	}
	x.Role, x.Note, x.Cost, x.IsError = RoleHarness, why, charged, true
}

// hear adds what was said to the session's conversation.
func (s *Session) hear(x Said) {
	x.Turn = s.Turn
	if x.Role == RoleHarness && x.Call > 0 && x.Tool == "" { // an answer to a call that no tool ran for
		if n := len(s.reply().Calls); x.Call <= n {
			use := s.reply().Calls[x.Call-1]
			x.Tool, x.Args = use.Tool, use.Args
		}
	}
	s.Said = append(s.Said, x)
}

// reply returns the last reply of the session; the zero value if there is none.
func (s *Session) reply() Said {
	for i := len(s.Said) - 1; i >= 0; i-- {
		if s.Said[i].Role == RoleAssistant {
			return s.Said[i]
		}
	}
	return Said{}
}
