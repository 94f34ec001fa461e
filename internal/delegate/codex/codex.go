package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/delegate/exchange"
	"pawl/internal/model/wire"
)

// Agent implements [pawl.Agent].
type Agent struct {
	// Argv is the program, and arguments that precede those of a turn.
	Argv []string
	// Env are further variables, NAME=value.
	Env []string
	// Settings are further settings for the option -c, such as model_provider=NAME.
	Settings []string
}

// settings turn off traffic to anyone but the provider, endless retries, subagents, hooks, plugins and
// the instruction files of the repository.
var settings = []string{
	"check_for_update_on_startup=false", `web_search="disabled"`, "analytics.enabled=false", "feedback.enabled=false", `otel.exporter="none"`,
	"features.plugins=false", "features.remote_plugin=false", "features.unbounded_connection_retries=false", "features.multi_agent=false",
	"features.hooks=false", "features.apps=false", "features.skill_search=false", "features.goals=false", "features.image_generation=false",
	"features.browser_use=false", "features.computer_use=false", "features.tool_suggest=false", "features.shell_snapshot=false", "project_doc_max_bytes=0",
	"agents.enabled=false", // some models have subagents whatever features.multi_agent says
	`history.persistence="none"`,
}

// Turn implements [pawl.Agent].
func (a *Agent) Turn(ctx context.Context, room pawl.Room, turn pawl.AgentTurn, tell func(pawl.AgentUpdate)) (pawl.AgentReply, error) {
	s := &session{turn: &turn}
	s.reply.Session = turn.Session
	p := exchange.Program{Argv: slices.Concat(a.Argv, options(&turn, a.Settings)), Env: a.Env}
	ended, err := exchange.Run(ctx, room, p, turn.Limits, tell, s.speak)
	return s.end(ended, err)
}

// options returns the command-line options for a turn. The prompt is read from standard input.
func options(turn *pawl.AgentTurn, more []string) []string {
	out := []string{"exec"}
	if turn.Session != "" {
		out = append(out, "resume")
	}
	out = append(out, "--json", "--skip-git-repo-check", "--ignore-user-config")
	switch {
	case turn.Confined:
		out = append(out, "--dangerously-bypass-approvals-and-sandbox")
	case turn.Access == pawl.AgentReads:
		out = append(out, "-c", `sandbox_mode="read-only"`, "-c", `approval_policy="never"`)
	default:
		out = append(out, "-c", `sandbox_mode="workspace-write"`, "-c", `approval_policy="never"`)
	}
	if turn.Model != "" {
		out = append(out, "-m", turn.Model)
	}
	for _, s := range settings {
		out = append(out, "-c", s)
	}
	if turn.System != "" {
		out = append(out, "-c", "developer_instructions="+quote(turn.System))
	}
	for _, s := range turn.Servers {
		at := "mcp_servers." + s.Name + "."
		args := make([]string, 0, len(s.Argv))
		for _, w := range s.Argv[1:] {
			args = append(args, quote(w))
		}
		out = append(out, "-c", at+"command="+quote(s.Argv[0]), "-c", at+"args=["+strings.Join(args, ",")+"]",
			"-c", at+`default_tools_approval_mode="approve"`, "-c", at+"required=true", "-c", at+"tool_timeout_sec=600")
	}
	for _, s := range more {
		out = append(out, "-c", s)
	}
	if turn.Session != "" {
		out = append(out, turn.Session)
	}
	return append(out, "-")
}

// quote returns text as a basic string of TOML, which has the same escapes as JSON.
func quote(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // strings can always be encoded
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// session is the state of a turn.
type session struct {
	turn  *pawl.AgentTurn
	reply pawl.AgentReply
	all   pawl.Usage // total of all turns of the session
	ended bool
	wrong string // why the turn failed
	last  string // the last error that Codex reported
}

// line is a line of output. It has only the fields that are used here.
type line struct {
	Type   string `json:"type"`
	Thread string `json:"thread_id"`
	Item   item   `json:"item"`
	Usage  struct {
		Input      int64 `json:"input_tokens"`
		CacheRead  int64 `json:"cached_input_tokens"`
		CacheWrite int64 `json:"cache_write_input_tokens"`
		Output     int64 `json:"output_tokens"`
	} `json:"usage"`
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

type item struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Message string          `json:"message"`
	Command string          `json:"command"`
	Output  string          `json:"aggregated_output"`
	Code    *int            `json:"exit_code"`
	Status  string          `json:"status"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Query   string          `json:"query"`
	Args    json.RawMessage `json:"arguments"`
	Result  struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	Changes []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Items []struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	} `json:"items"`
}

// speak sends the prompt and reads lines until the program has ended.
func (s *session) speak(x *exchange.Exchange) error {
	if err := x.Say(s.turn.Prompt); err != nil {
		return err
	}
	x.EndInput()
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
		s.hear(x, &l)
	}
}

// hear handles a line.
func (s *session) hear(x *exchange.Exchange, l *line) {
	switch l.Type {
	case "thread.started":
		s.reply.Session = cmp.Or(l.Thread, s.reply.Session)
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateSession, Text: s.reply.Session})
	case "item.started", "item.updated", "item.completed":
		s.hearItem(x, &l.Item, l.Type)
	case "turn.completed":
		s.ended = true
		s.all = pawl.Usage{Input: max(l.Usage.Input-l.Usage.CacheRead-l.Usage.CacheWrite, 0), CacheRead: l.Usage.CacheRead, CacheWrite: l.Usage.CacheWrite, Output: l.Usage.Output}
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateUsage, Usage: s.used()})
	case "turn.failed":
		s.wrong = cmp.Or(l.Error.Message, "the turn failed")
	case "error": // it may be about a reconnect, which is not fatal
		s.last = l.Message
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: l.Message})
	}
}

// hearItem handles an item that begins, changes or ends.
func (s *session) hearItem(x *exchange.Exchange, i *item, event string) {
	begins, ends := event == "item.started", event == "item.completed"
	switch i.Type {
	case "agent_message":
		if ends {
			s.reply.Text = i.Text
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: i.Text})
		}
	case "reasoning":
		if ends {
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateThought, Text: i.Text})
		}
	case "todo_list":
		u := pawl.AgentUpdate{Kind: pawl.UpdatePlan}
		for _, t := range i.Items {
			u.Plan = append(u.Plan, pawl.AgentPlanEntry{Text: t.Text, Status: map[bool]string{true: "completed", false: "pending"}[t.Completed]})
		}
		x.Tell(u)
	case "error":
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: i.Message})
	case "command_execution", "file_change", "mcp_tool_call", "web_search":
		switch {
		case begins:
			x.Tell(i.call())
		case ends:
			x.Tell(i.returned())
		}
	}
}

// call returns the update for a tool call that begins.
func (i *item) call() pawl.AgentUpdate {
	u := pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: i.ID, Tool: i.Type}
	switch i.Type {
	case "command_execution":
		u.Does, u.Title = pawl.DoesExecute, i.Command
	case "file_change":
		u.Does, u.Title = pawl.DoesEdit, i.paths()
	case "mcp_tool_call":
		u.Does, u.Tool, u.Title, u.Args = pawl.DoesOther, i.Tool, i.Server+" "+i.Tool, i.Args
	default:
		u.Does, u.Title = pawl.DoesFetch, i.Query
	}
	return u
}

func (i *item) paths() string {
	var names []string
	for _, c := range i.Changes {
		names = append(names, c.Kind+" "+c.Path)
	}
	return strings.Join(names, ", ")
}

// returned returns the update for a tool call that has ended.
func (i *item) returned() pawl.AgentUpdate {
	u := pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: i.ID, Text: i.Output, Failed: i.Status == "failed" || i.Status == "declined" || i.Code != nil && *i.Code != 0}
	switch {
	case i.Type == "file_change":
		u.Text = i.paths()
	case i.Error != nil:
		u.Text = i.Error.Message
	case i.Type == "mcp_tool_call":
		for _, c := range i.Result.Content {
			u.Text += c.Text
		}
	}
	return u
}

// used returns the usage of the turn. Codex reports the total of the session.
func (s *session) used() pawl.Usage { return s.all.Less(s.turn.Used) }

// end returns the result of the turn.
func (s *session) end(ended exchange.Ended, err error) (pawl.AgentReply, error) {
	s.reply.Usage, s.reply.Stop = s.used(), pawl.AgentEnded
	switch {
	case err != nil:
		return s.reply, exchange.WithUsage(err, s.reply.Usage, !s.ended)
	case ended.Capped:
		s.reply.Stop = pawl.AgentCapped
	case !s.ended:
		return s.reply, exchange.WithUsage(failure(cmp.Or(s.wrong, s.last), ended), s.reply.Usage, !s.ended)
	}
	return s.reply, nil
}

// failure returns the error for a failed turn.
func failure(told string, ended exchange.Ended) *pawl.ModelError {
	if told != "" {
		return wire.Told(statusIn(told), told)
	}
	e := ended.Failure("codex")
	if strings.Contains(ended.Errors, "no rollout found") {
		e.Kind, e.Unsent = pawl.ModelNoSession, true
	}
	return e
}

// statusIn returns the HTTP status in a text such as "unexpected status 401 Unauthorized: …", or 0.
func statusIn(text string) int {
	_, after, ok := strings.Cut(text, "status")
	after = strings.TrimLeft(after, ": ")
	if !ok || len(after) < 3 {
		return 0
	}
	n, err := strconv.Atoi(after[:3])
	if err != nil || n < 300 || n > 599 {
		return 0
	}
	return n
}
