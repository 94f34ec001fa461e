package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/delegate/exchange"
	"pawl/internal/model/wire"
)

// Agent implements [pawl.Agent].
type Agent struct {
	// Argv is the program with its arguments, which must make it speak the protocol.
	Argv []string
	// Env are further variables, NAME=value.
	Env []string
	// Login is the id of the authentication method to use if the agent asks for one; it may be empty.
	Login string
	// Meta is the _meta field of requests that open a session; it may be empty.
	Meta json.RawMessage
	// Modes are the ids of the session modes to set, by access. Without one, or if the agent does not
	// offer it, the agent stays in its default mode.
	Modes map[pawl.AgentAccess]string
}

// Turn implements [pawl.Agent].
func (a *Agent) Turn(ctx context.Context, room pawl.Room, turn pawl.AgentTurn, tell func(pawl.AgentUpdate)) (pawl.AgentReply, error) {
	s := &session{agent: a, turn: &turn, dir: room.Dir()}
	ended, err := exchange.Run(ctx, room, exchange.Program{Argv: a.Argv, Env: a.Env}, turn.Limits, tell, s.speak)
	return s.end(ended, err)
}

// session is the state of a turn.
type session struct {
	agent *Agent
	turn  *pawl.AgentTurn
	dir   string
	x     *exchange.Exchange
	conn  *conn

	mu     sync.Mutex // guards what follows
	reply  pawl.AgentReply
	text   strings.Builder // the message that is being streamed
	saying pawl.UpdateKind
	begun  bool // updates before the prompt replay an older session
	calls  map[string]*toolCall
	stop   string // why the turn ended
	usage  pawl.Usage
	cost   pawl.Micros // of the session
	priced bool
}

// speak opens the session, sends the prompt and waits until the turn has ended.
func (s *session) speak(x *exchange.Exchange) error {
	s.x, s.conn, s.calls = x, newConn(x), make(map[string]*toolCall)
	s.conn.notify, s.conn.answer = s.hear, s.answer
	go s.conn.listen() // until speak returns
	err := s.converse()
	s.flush()
	return err
}

// converse makes the requests of a turn, one after the other.
func (s *session) converse() error {
	var hello initialized
	err := s.conn.call("initialize", map[string]any{
		"protocolVersion":    1,
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false},
		"clientInfo":         map[string]string{"name": "pawl", "title": "Pawl", "version": "1"},
	}, &hello)
	if err != nil {
		return s.typed("initialize", err)
	}
	if hello.Version != 1 {
		return &pawl.ModelError{Kind: pawl.ModelBadRequest, Unsent: true, Message: fmt.Sprintf("the agent speaks version %d of the Agent Client Protocol, and Pawl speaks version 1", hello.Version)}
	}
	s.set(func(r *pawl.AgentReply) { r.Version = hello.Info.Version })
	if err := s.open(&hello); err != nil {
		return err
	}
	s.begin()
	prompt := s.turn.Prompt
	if s.turn.System != "" && s.turn.Session == "" {
		prompt = s.turn.System + "\n\n" + prompt
	}
	var done prompted
	if err := s.conn.call("session/prompt", map[string]any{"sessionId": s.name(), "prompt": []any{map[string]string{"type": "text", "text": prompt}}}, &done); err != nil {
		return s.typed("session/prompt", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = done.Stop
	switch tokens := done.Meta.Quota.Tokens; {
	case s.usage != (pawl.Usage{}): // the sum of its model calls
	case tokens.Input > 0:
		s.usage = pawl.Usage{Input: tokens.Input, Output: tokens.Output}
	case done.Usage != nil:
		s.usage = done.Usage.counted()
	}
	return nil
}

// open opens or resumes a session and sets its model and mode.
func (s *session) open(hello *initialized) error {
	params := map[string]any{"cwd": s.dir, "mcpServers": servers(s.turn.Servers)}
	if len(s.agent.Meta) > 0 {
		params["_meta"] = s.agent.Meta
	}
	method := "session/new"
	if s.turn.Session != "" {
		params["sessionId"] = s.turn.Session
		switch {
		case hello.Agent.Session.Resume != nil:
			method = "session/resume"
		case hello.Agent.Load:
			method = "session/load"
		default:
			return &pawl.ModelError{Kind: pawl.ModelNoSession, Unsent: true, Message: "the agent cannot continue a session"}
		}
	}
	var opened opened
	err := s.conn.call(method, params, &opened)
	if e, ok := errors.AsType[*rpcError](err); ok && e.Code == codeAuth && s.login(hello) != "" {
		if err = s.conn.call("authenticate", map[string]any{"methodId": s.login(hello)}, nil); err == nil {
			err = s.conn.call(method, params, &opened)
		}
	}
	if err != nil {
		return s.typed(method, err)
	}
	s.set(func(r *pawl.AgentReply) {
		r.Session, r.Model = cmp.Or(opened.Session, s.turn.Session), opened.Models.Current
	})
	if hello.continues() {
		s.x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateSession, Text: s.name()})
	}
	if err := s.choose(&opened); err != nil {
		return err
	}
	mode := s.agent.Modes[s.turn.Access]
	for _, m := range opened.Modes.Available {
		if mode != "" && m.ID == mode {
			return s.typed("session/set_mode", s.conn.call("session/set_mode", map[string]any{"sessionId": s.name(), "modeId": mode}, nil))
		}
	}
	return nil
}

// choose sets the model, unless the agent offers no choice: such an agent gets its model from its
// arguments.
func (s *session) choose(o *opened) error {
	want := s.turn.Model
	if want == "" {
		return nil
	}
	for _, option := range o.Options {
		if option.Category != "model" && option.ID != "model" {
			continue
		}
		if option.Current == want {
			return nil
		}
		return s.typed("choose the model "+want, s.conn.call("session/set_config_option", map[string]any{"sessionId": s.name(), "configId": option.ID, "value": want}, nil))
	}
	if len(o.Models.Available) == 0 || o.Models.Current == want {
		return nil
	}
	return s.typed("choose the model "+want, s.conn.call("session/set_model", map[string]any{"sessionId": s.name(), "modelId": want}, nil))
}

// login returns the id of the configured authentication method if the agent offers it, or "".
func (s *session) login(hello *initialized) string {
	for _, m := range hello.Logins {
		if m.ID == s.agent.Login {
			return m.ID
		}
	}
	return ""
}

// servers returns the mcpServers field for MCP servers.
func servers(list []pawl.AgentServer) []any {
	out := []any{}
	for _, s := range list {
		out = append(out, map[string]any{"name": s.Name, "command": s.Argv[0], "args": append([]string{}, s.Argv[1:]...), "env": []any{}})
	}
	return out
}

// typed returns the error of a turn for the error of a request.
func (s *session) typed(what string, err error) error {
	if err == nil || errors.Is(err, errGone) { // end finds out why
		return err
	}
	e, ok := errors.AsType[*rpcError](err)
	if !ok {
		return &pawl.ModelError{Kind: pawl.ModelNetwork, Message: what + ": " + err.Error()}
	}
	text := e.Error()
	typed := wire.Told(statusOf(e), text)
	switch {
	case e.Code == codeAuth:
		typed.Kind = pawl.ModelAuth
	case what != "session/prompt" && typed.Kind == pawl.ModelOverloaded: // nothing was sent to a model
		typed.Kind = pawl.ModelBadRequest
	}
	if (what == "session/load" || what == "session/resume") && typed.Kind == pawl.ModelBadRequest {
		typed.Kind = pawl.ModelNoSession
	}
	typed.Unsent = what != "session/prompt"
	return typed
}

// statusOf returns the HTTP status that an error of the agent mentions, or 0.
func statusOf(e *rpcError) int {
	if e.Code >= 400 && e.Code < 600 {
		return e.Code
	}
	var data struct {
		Status any `json:"status"`
		Code   any `json:"code"`
	}
	_ = json.Unmarshal(e.Data, &data) // what cannot be read says nothing
	for _, v := range []any{data.Status, data.Code} {
		if n, ok := v.(float64); ok && n >= 400 && n < 600 {
			return int(n)
		}
	}
	for _, w := range strings.FieldsFunc(e.Message, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(w); err == nil && len(w) == 3 && n >= 400 && n < 600 {
			return n
		}
	}
	return 0
}

// end returns the result of the turn.
func (s *session) end(ended exchange.Ended, err error) (pawl.AgentReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply.Usage, s.reply.Priced = s.usage, s.priced
	s.reply.Cost = s.spent()
	if errors.Is(err, errGone) {
		err = ended.Failure(s.agent.Argv[0])
	}
	switch {
	case err != nil:
		return s.reply, exchange.WithUsage(err, s.usage, true)
	case ended.Capped:
		s.reply.Stop = pawl.AgentCapped
	case s.stop == "refusal":
		s.reply.Stop = pawl.AgentRefused
	case s.stop == "max_tokens" || s.stop == "max_turn_requests":
		s.reply.Stop = pawl.AgentTurns
	case s.stop == "":
		return s.reply, ended.Failure(s.agent.Argv[0])
	default:
		s.reply.Stop = pawl.AgentEnded
	}
	return s.reply, nil
}

func (s *session) set(change func(*pawl.AgentReply)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.reply)
}

func (s *session) name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reply.Session
}

func (s *session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}
