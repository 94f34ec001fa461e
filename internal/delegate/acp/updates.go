package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
)

// initialized is the result of initialize.
type initialized struct {
	Version int `json:"protocolVersion"`
	Agent   struct {
		Load    bool `json:"loadSession"`
		Session struct {
			Resume json.RawMessage `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Logins []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"authMethods"`
}

// continues reports whether the agent can continue a session.
func (i *initialized) continues() bool { return i.Agent.Load || i.Agent.Session.Resume != nil }

// opened is the result of session/new, session/load and session/resume.
type opened struct {
	Session string `json:"sessionId"`
	Modes   struct {
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Current   string `json:"currentModelId"`
		Available []struct {
			ID string `json:"modelId"`
		} `json:"availableModels"`
	} `json:"models"`
	Options []struct {
		ID       string `json:"id"`
		Category string `json:"category"`
		Current  any    `json:"currentValue"`
	} `json:"configOptions"`
}

// acpUsage is the usage of a turn or of a model call.
type acpUsage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cachedReadTokens"`
	CacheWrite int64 `json:"cachedWriteTokens"`
	Thought    int64 `json:"thoughtTokens"`
}

func (u *acpUsage) counted() pawl.Usage {
	return pawl.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output + u.Thought}
}

// update is a session/update notification. It has only the fields that are used here.
type update struct {
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"` // a block, or a list for tool calls
	Call    string          `json:"toolCallId"`
	Title   string          `json:"title"`
	Does    string          `json:"kind"`
	Status  string          `json:"status"`
	Input   json.RawMessage `json:"rawInput"`
	Output  json.RawMessage `json:"rawOutput"`
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	Meta struct {
		Claude struct {
			Tool string `json:"toolName"`
		} `json:"claudeCode"`
		Tool  string    `json:"toolName"`
		Usage *acpUsage `json:"usage"` // of one model call
	} `json:"_meta"`
}

// prompted is the result of session/prompt. Gemini CLI reports its usage in _meta.
type prompted struct {
	Stop  string    `json:"stopReason"`
	Usage *acpUsage `json:"usage"`
	Meta  struct {
		Quota struct {
			Tokens struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

// toolCall is a tool call that has begun.
type toolCall struct {
	title string
	tool  string
	does  pawl.ToolDoes
	args  json.RawMessage
	diffs []pawl.AgentDiff
	text  string
	told  bool // its beginning was reported
}

// hear handles a notification.
func (s *session) hear(method string, params json.RawMessage) {
	var n struct {
		Session string `json:"sessionId"`
		Update  update `json:"update"`
	}
	if method != "session/update" || json.Unmarshal(params, &n) != nil {
		s.x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateAlive})
		return
	}
	for _, u := range s.see(&n.Update) {
		s.x.Tell(u)
	}
}

// see returns the updates for a notification. It returns none before the prompt: session/load replays
// the messages of the older session.
func (s *session) see(u *update) (out []pawl.AgentUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		return nil
	}
	if u.Meta.Usage != nil {
		s.usage = s.usage.Add(u.Meta.Usage.counted())
		out = append(out, pawl.AgentUpdate{Kind: pawl.UpdateUsage, Usage: s.usage, Cost: s.spent()})
	}
	if kind := chunks[u.Kind]; kind != "" {
		var block struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(u.Content, &block) // what cannot be read says nothing
		if block.Text == "" {
			return out
		}
		if s.saying != kind {
			out = append(out, s.whole()...)
		}
		s.saying = kind
		s.text.WriteString(block.Text)
		return append(out, pawl.AgentUpdate{Kind: kind, Text: block.Text, Partial: true})
	}
	switch u.Kind {
	case "tool_call", "tool_call_update":
		return append(append(out, s.whole()...), s.call(u)...)
	case "plan":
		plan := pawl.AgentUpdate{Kind: pawl.UpdatePlan}
		for _, e := range u.Entries {
			plan.Plan = append(plan.Plan, pawl.AgentPlanEntry{Text: e.Content, Status: e.Status})
		}
		return append(s.whole(), plan)
	case "usage_update":
		if u.Cost != nil && cmp.Or(u.Cost.Currency, "USD") == "USD" {
			s.cost, s.priced = pawl.Micros(u.Cost.Amount*float64(pawl.Dollars)+0.5), true
			return append(out, pawl.AgentUpdate{Kind: pawl.UpdateUsage, Usage: s.usage, Cost: s.spent()})
		}
	}
	return append(out, pawl.AgentUpdate{Kind: pawl.UpdateAlive})
}

// spent returns the cost of the turn so far. The agent reports that of the session.
func (s *session) spent() pawl.Micros { return max(s.cost-s.turn.Spent, 0) }

// chunks maps updates with a piece of a text to their kinds.
var chunks = map[string]pawl.UpdateKind{"agent_message_chunk": pawl.UpdateText, "agent_thought_chunk": pawl.UpdateThought}

// whole returns the update for a text that is complete, if there is one.
func (s *session) whole() []pawl.AgentUpdate {
	text, kind := s.text.String(), s.saying
	s.text.Reset()
	if s.saying = ""; strings.TrimSpace(text) == "" {
		return nil
	}
	if kind == pawl.UpdateText {
		s.reply.Text = text
	}
	return []pawl.AgentUpdate{{Kind: kind, Text: text}}
}

// flush reports the last text, and calls that have no result as failed.
func (s *session) flush() {
	s.mu.Lock()
	out := s.whole()
	for id, c := range s.calls { // no result follows
		if c.told {
			out = append(out, pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: id, Text: c.text, Failed: true})
		}
	}
	s.mu.Unlock()
	for _, u := range out {
		s.x.Tell(u)
	}
}

// call returns the updates for a change of a tool call.
func (s *session) call(u *update) (out []pawl.AgentUpdate) {
	c := s.calls[u.Call]
	if c == nil {
		c = &toolCall{}
		s.calls[u.Call] = c
	}
	c.title, c.does = cmp.Or(u.Title, c.title), cmp.Or(kinds[u.Does], c.does)
	c.tool = cmp.Or(u.Meta.Claude.Tool, u.Meta.Tool, c.tool)
	if len(u.Input) > 0 && string(u.Input) != "{}" && string(u.Input) != "null" {
		c.args = u.Input
	}
	c.content(u.Content)
	ends := u.Status == "completed" || u.Status == "failed"
	if !c.told && (ends || u.Status == "in_progress" || c.args != nil || c.diffs != nil) { // a pending call may have no arguments yet
		c.told = true
		out = append(out, pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: u.Call, Tool: cmp.Or(c.tool, c.title), Does: cmp.Or(c.does, pawl.DoesOther), Title: c.title, Args: c.args, Diffs: c.diffs})
	}
	if ends {
		out = append(out, pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: u.Call, Text: cmp.Or(c.text, outputText(u.Output)), Failed: u.Status == "failed", Diffs: c.diffs})
		delete(s.calls, u.Call)
	}
	return out
}

// content replaces the texts and diffs of a call, unless raw has none.
func (c *toolCall) content(raw json.RawMessage) {
	var list []struct {
		Type    string `json:"type"`
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
		Path string `json:"path"`
		Old  string `json:"oldText"`
		New  string `json:"newText"`
	}
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return
	}
	c.text, c.diffs = "", nil
	for _, part := range list {
		switch part.Type {
		case "diff":
			c.diffs = append(c.diffs, pawl.AgentDiff{Path: part.Path, Old: part.Old, New: part.New})
		case "content":
			c.text += part.Content.Text
		}
	}
}

// outputText returns the text in the raw output of a call.
func outputText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	for _, name := range []string{"output", "stdout", "aggregated_output", "error", "message"} {
		if text, ok := fields[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// kinds maps the protocol's kinds of tool to ours.
var kinds = map[string]pawl.ToolDoes{
	"read": pawl.DoesRead, "edit": pawl.DoesEdit, "delete": pawl.DoesEdit, "move": pawl.DoesEdit, "execute": pawl.DoesExecute,
	"search": pawl.DoesSearch, "fetch": pawl.DoesFetch, "think": pawl.DoesOther, "switch_mode": pawl.DoesOther, "other": pawl.DoesOther,
}

// answer handles a request of the agent.
func (s *session) answer(method string, params json.RawMessage) (any, *rpcError) {
	if method != "session/request_permission" {
		s.x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateAlive})
		return nil, &rpcError{Code: codeNoMethod, Message: fmt.Sprintf("there is no method %q here", method)}
	}
	var ask struct {
		Call    update `json:"toolCall"`
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	_ = json.Unmarshal(params, &ask) // what cannot be read is not allowed
	allowed := s.allows(&ask.Call)
	want := []string{"reject_once", "reject_always"}
	if allowed {
		want = []string{"allow_once", "allow_always"}
	}
	s.x.Tell(pawl.AgentUpdate{Kind: pawl.UpdatePermission, Call: ask.Call.Call, Tool: ask.Call.Meta.Claude.Tool, Does: kinds[ask.Call.Does], Title: ask.Call.Title, Failed: !allowed})
	for _, kind := range want {
		for _, o := range ask.Options {
			if o.Kind == kind {
				return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": o.ID}}, nil
			}
		}
	}
	return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}, nil
}

// allows reports whether the agent may make a call. Tools of our servers are always allowed, edits and
// commands if the agent may write. In a room that confines commands it may also run them with read
// access, because it cannot change the work tree there.
func (s *session) allows(u *update) bool {
	s.mu.Lock()
	does := kinds[u.Does]
	if c := s.calls[u.Call]; c != nil {
		does = cmp.Or(does, c.does)
	}
	s.mu.Unlock()
	switch does {
	case pawl.DoesRead, pawl.DoesSearch:
		return true
	case pawl.DoesExecute:
		return s.turn.Confined || s.turn.Access == pawl.AgentWrites
	case pawl.DoesEdit:
		return s.turn.Access == pawl.AgentWrites
	case pawl.DoesFetch:
		return s.turn.Confined // the room lets it reach only its provider
	}
	return s.turn.Confined || s.isOurs(u)
}

// isOurs reports whether a call is to a tool of our servers. Agents differ in how they name such tools.
func (s *session) isOurs(u *update) bool {
	for _, server := range s.turn.Servers {
		for _, tool := range server.Tools {
			switch u.Title {
			case tool, server.Name + "_" + tool, server.Name + "." + tool, "mcp__" + server.Name + "__" + tool, tool + " (" + server.Name + " MCP Server)":
				return true
			}
		}
	}
	return false
}
