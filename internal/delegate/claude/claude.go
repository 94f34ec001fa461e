package claude

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/delegate/exchange"
	"pawl/internal/model/wire"
)

// Agent implements [pawl.Agent].
type Agent struct {
	// Argv is the program, and arguments that precede those of a turn.
	Argv []string
	// Env are further variables, NAME=value, such as ANTHROPIC_BASE_URL.
	Env []string
}

// variables turn off traffic to anyone but the provider, and bound retries: the run retries by itself
// and can choose another model.
var variables = []string{
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
	"DISABLE_BUG_COMMAND=1", "CLAUDE_CODE_MAX_RETRIES=2", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	"ENABLE_TOOL_SEARCH=false", // so that our tools are listed from the start
}

// The built-in tools of a session. Subagents, web tools, schedules and skills are left out.
const (
	toolsToRead  = "Bash,Read,Glob,Grep"
	toolsToWrite = "Bash,Read,Glob,Grep,Edit,Write,NotebookEdit,TodoWrite"
)

// Turn implements [pawl.Agent].
func (a *Agent) Turn(ctx context.Context, room pawl.Room, turn pawl.AgentTurn, tell func(pawl.AgentUpdate)) (pawl.AgentReply, error) {
	s := &session{turn: &turn}
	p := exchange.Program{Argv: slices.Concat(a.Argv, options(&turn)), Env: slices.Concat(variables, a.Env)}
	ended, err := exchange.Run(ctx, room, p, turn.Limits, tell, s.speak)
	return s.end(ended, err)
}

// options returns the command-line options for a turn.
func options(turn *pawl.AgentTurn) []string {
	out := []string{
		"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose", "--include-partial-messages", "--replay-user-messages",
		"--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands", "--no-chrome", "--permission-prompts", "none",
	}
	tools := toolsToWrite
	if turn.Access == pawl.AgentReads {
		tools = toolsToRead
	}
	switch {
	case turn.Confined:
		out = append(out, "--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions")
	case turn.Access == pawl.AgentReads:
		tools = "Read,Glob,Grep"
		out = append(out, "--permission-mode", "dontAsk")
	default:
		out = append(out, "--permission-mode", "acceptEdits", "--settings", `{"sandbox":{"enabled":true,"failIfUnavailable":true,"autoAllowBashIfSandboxed":true,"allowUnsandboxedCommands":false}}`)
	}
	out = append(out, "--tools", tools)
	if turn.Model != "" {
		out = append(out, "--model", turn.Model)
	}
	if turn.Session != "" {
		out = append(out, "--resume", turn.Session)
	}
	if turn.System != "" {
		out = append(out, "--append-system-prompt", turn.System)
	}
	if turn.Limits.Money > 0 {
		out = append(out, "--max-budget-usd", strconv.FormatFloat(float64(turn.Limits.Money)/float64(pawl.Dollars), 'f', 6, 64))
	}
	servers, allowed := servers(turn.Servers)
	if servers != "" {
		out = append(out, "--mcp-config", servers, "--allowedTools", allowed)
	}
	return out
}

// servers returns the values of --mcp-config and --allowedTools for MCP servers.
func servers(list []pawl.AgentServer) (config, allowed string) {
	if len(list) == 0 {
		return "", ""
	}
	type server struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	all := map[string]server{}
	var names []string
	for _, s := range list {
		all[s.Name] = server{"stdio", s.Argv[0], append([]string{}, s.Argv[1:]...)}
		for _, t := range s.Tools {
			names = append(names, toolName(s.Name, t))
		}
	}
	text, _ := json.Marshal(map[string]any{"mcpServers": all}) // strings can always be encoded
	return string(text), strings.Join(names, ",")
}

// toolName returns Claude Code's name of a tool of an MCP server.
func toolName(server, tool string) string { return "mcp__" + server + "__" + tool }

// session is the state of a turn.
type session struct {
	turn  *pawl.AgentTurn
	reply pawl.AgentReply
	// before is what completed model calls of the turn have used, and now what the current one has.
	before, now pawl.Usage

	mu   sync.Mutex // guards sent
	sent int        // number of messages from Info

	last *result
	// isOut reports that the user's plan refuses calls, and resets until when; zero if that is not known.
	isOut  bool
	resets time.Time
}

// speak sends the prompt and reads lines until the turn has ended.
func (s *session) speak(x *exchange.Exchange) error {
	if err := x.Send(say(s.turn.Prompt)); err != nil {
		return err
	}
	over := make(chan struct{})
	var passing sync.WaitGroup
	defer passing.Wait()
	defer close(over)
	passing.Go(func() { s.pass(x, over) })
	replayed := 0
	for {
		raw, ok := x.Line()
		if !ok {
			return nil // end finds out why
		}
		var l line
		if json.Unmarshal(raw, &l) != nil {
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateAlive})
			continue
		}
		if l.Replay {
			replayed++
			s.reply.Heard = max(replayed-1, 0)
		}
		s.hear(x, &l, raw)
		if l.Type == "result" && s.hasHeardAll() {
			return nil
		}
	}
}

// pass sends the messages from Info until over is closed.
func (s *session) pass(x *exchange.Exchange, over <-chan struct{}) {
	for {
		select {
		case text, ok := <-s.turn.Info:
			if !ok {
				return
			}
			s.mu.Lock()
			s.sent++
			s.mu.Unlock()
			if x.Send(say(text)) != nil {
				return
			}
		case <-over:
			return
		case <-x.Done():
			return
		}
	}
}

func (s *session) hasHeardAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reply.Heard >= s.sent
}

// say returns a user message.
func say(text string) any {
	return map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": text}}
}

// end returns the result of the turn.
func (s *session) end(ended exchange.Ended, err error) (pawl.AgentReply, error) {
	s.total()
	switch {
	case err != nil:
		return s.reply, exchange.WithUsage(err, s.reply.Usage, s.last == nil)
	case ended.Capped:
		s.reply.Stop = pawl.AgentCapped
		return s.reply, nil
	case s.last == nil:
		return s.reply, exchange.WithUsage(unfinished(ended), s.reply.Usage, s.last == nil)
	}
	switch r := s.last; {
	case r.Subtype == "error_max_budget_usd":
		s.reply.Stop = pawl.AgentCapped
	case r.Subtype == "error_max_turns":
		s.reply.Stop = pawl.AgentTurns
	case r.StopReason == "refusal":
		s.reply.Stop = pawl.AgentRefused
	case r.IsError:
		return s.reply, exchange.WithUsage(s.failure(time.Now()), s.reply.Usage, s.last == nil)
	default:
		s.reply.Stop = pawl.AgentEnded
	}
	return s.reply, nil
}

// failure returns the error for a turn whose result is an error.
func (s *session) failure(now time.Time) *pawl.ModelError {
	e := wire.Told(s.last.APIStatus, s.last.words())
	if s.isOut && (e.Kind == pawl.ModelRateLimit || e.Kind == pawl.ModelQuota) {
		e.Kind = pawl.ModelQuota
		if !s.resets.IsZero() {
			e.Wait = max(s.resets.Sub(now), 0)
		}
	}
	return e
}

// unfinished returns the error for a turn without a result.
func unfinished(ended exchange.Ended) *pawl.ModelError {
	e := ended.Failure("claude")
	if strings.Contains(ended.Errors, "No conversation found") {
		e.Kind, e.Unsent = pawl.ModelNoSession, true
	}
	return e
}
