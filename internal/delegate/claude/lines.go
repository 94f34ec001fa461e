package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/delegate/exchange"
)

// line is a line of output. It has only the fields that are used here.
type line struct {
	Type    string  `json:"type"`
	Subtype string  `json:"subtype"`
	Session string  `json:"session_id"`
	Parent  string  `json:"parent_tool_use_id"` // set in lines of subagents
	Replay  bool    `json:"isReplay"`
	Model   string  `json:"model"`
	Version string  `json:"claude_code_version"`
	Message message `json:"message"`
	Event   struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
		Usage   usage   `json:"usage"`
		Delta   struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
		} `json:"delta"`
	} `json:"event"`
	Servers []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`
	Limit struct {
		Status  string `json:"status"`
		Resets  int64  `json:"resetsAt"`
		Kind    string `json:"rateLimitType"`
		Overage string `json:"overageStatus"`
	} `json:"rate_limit_info"`
}

type message struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"` // a string or a list of blocks
	Usage   usage           `json:"usage"`
}

type usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

func (u usage) counted() pawl.Usage {
	return pawl.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Call     string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
}

// result is the last line of a turn.
type result struct {
	Subtype    string           `json:"subtype"`
	IsError    bool             `json:"is_error"`
	Result     string           `json:"result"`
	Errors     []string         `json:"errors"`
	APIStatus  int              `json:"api_error_status"`
	StopReason string           `json:"stop_reason"`
	Denials    []denial         `json:"permission_denials"`
	Cost       float64          `json:"total_cost_usd"`
	Models     map[string]spent `json:"modelUsage"`
}

type denial struct {
	Tool string `json:"tool_name"`
	Call string `json:"tool_use_id"`
}

// spent is the usage of one model in all turns of the session.
type spent struct {
	Input      int64   `json:"inputTokens"`
	Output     int64   `json:"outputTokens"`
	CacheRead  int64   `json:"cacheReadInputTokens"`
	CacheWrite int64   `json:"cacheCreationInputTokens"`
	Cost       float64 `json:"costUSD"`
}

// words returns the error message of a failed turn.
func (r *result) words() string {
	return cmp.Or(r.Result, strings.Join(r.Errors, "; "), r.Subtype)
}

// hear handles a line.
func (s *session) hear(x *exchange.Exchange, l *line, raw json.RawMessage) {
	if l.Session != "" && l.Parent == "" && l.Session != s.reply.Session {
		s.reply.Session = l.Session
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateSession, Text: l.Session})
	}
	switch l.Type {
	case "system":
		s.hearSystem(x, l, raw)
	case "stream_event":
		s.hearEvent(x, l)
	case "assistant":
		s.hearMessage(x, &l.Message)
	case "user":
		if !l.Replay {
			hearResults(x, &l.Message)
		}
	case "rate_limit_event":
		s.isOut, s.resets = l.Limit.Status == "rejected", time.Time{}
		if l.Limit.Resets > 0 {
			s.resets = time.Unix(l.Limit.Resets, 0)
		}
		if l.Limit.Status != "" && l.Limit.Status != "allowed" {
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: fmt.Sprintf("the plan's %s limit: %s", strings.ReplaceAll(l.Limit.Kind, "_", " "), strings.ReplaceAll(l.Limit.Status, "_", " "))})
		}
	case "result":
		s.last = &result{}
		_ = json.Unmarshal(raw, s.last) // what cannot be read stays empty
		for _, d := range s.last.Denials {
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdatePermission, Call: d.Call, Tool: d.Tool, Failed: true})
		}
	}
}

func (s *session) hearSystem(x *exchange.Exchange, l *line, raw json.RawMessage) {
	switch l.Subtype {
	case "init":
		s.reply.Model, s.reply.Version = l.Model, l.Version
		for _, server := range l.Servers {
			if server.Status == "failed" {
				x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: fmt.Sprintf("the MCP server %s did not start", server.Name)})
			}
		}
	case "api_retry":
		var retry struct {
			Status int    `json:"error_status"`
			Error  string `json:"error"`
		}
		_ = json.Unmarshal(raw, &retry) // what cannot be read stays empty
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: strings.TrimSpace(fmt.Sprintf("it calls its model again: %d %s", retry.Status, retry.Error))})
	}
}

// hearEvent handles an event of the model's stream.
func (s *session) hearEvent(x *exchange.Exchange, l *line) {
	switch e := &l.Event; e.Type {
	case "message_start":
		s.now = e.Message.Usage.counted()
		s.tellUsage(x)
	case "message_delta":
		s.now.Output = max(s.now.Output, e.Usage.Output)
		s.tellUsage(x)
	case "message_stop":
		s.before, s.now = s.used(), pawl.Usage{}
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: e.Delta.Text, Partial: true})
		case "thinking_delta":
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateThought, Text: e.Delta.Thinking, Partial: true})
		}
	}
}

func (s *session) used() pawl.Usage { return s.before.Add(s.now) }

func (s *session) tellUsage(x *exchange.Exchange) {
	x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateUsage, Usage: s.used()})
}

// total computes the usage and cost of the turn from the totals of the session.
func (s *session) total() {
	s.reply.Usage = s.used()
	if s.last == nil || len(s.last.Models) == 0 {
		return
	}
	var all pawl.Usage
	for _, m := range s.last.Models {
		all = all.Add(pawl.Usage{Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite})
	}
	s.reply.Usage = all.Less(s.turn.Used)
	s.reply.Cost, s.reply.Priced = max(pawl.Micros(s.last.Cost*float64(pawl.Dollars)+0.5)-s.turn.Spent, 0), true
}

// hearMessage handles complete blocks of the model's reply.
func (s *session) hearMessage(x *exchange.Exchange, m *message) {
	s.reply.Model = cmp.Or(m.Model, s.reply.Model)
	for _, b := range blocks(m.Content) {
		switch b.Type {
		case "text":
			s.reply.Text = b.Text
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: b.Text})
		case "thinking":
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateThought, Text: b.Thinking})
		case "tool_use":
			x.Tell(call(&b))
		}
	}
}

// hearResults handles the results of tool calls.
func hearResults(x *exchange.Exchange, m *message) {
	for _, b := range blocks(m.Content) {
		if b.Type != "tool_result" {
			continue
		}
		var text strings.Builder
		for _, part := range blocks(b.Content) {
			text.WriteString(part.Text)
		}
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: b.Call, Text: text.String(), Failed: b.IsError})
	}
}

// blocks returns the blocks of a content, which may also be a string.
func blocks(content json.RawMessage) []block {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var list []block
	_ = json.Unmarshal(content, &list) // what cannot be read says nothing
	return list
}

// does maps the names of built-in tools to their kinds.
var does = map[string]pawl.ToolDoes{
	"Bash": pawl.DoesExecute, "BashOutput": pawl.DoesExecute, "KillShell": pawl.DoesExecute,
	"Read": pawl.DoesRead, "Glob": pawl.DoesSearch, "Grep": pawl.DoesSearch,
	"Edit": pawl.DoesEdit, "Write": pawl.DoesEdit, "NotebookEdit": pawl.DoesEdit,
}

// call returns the update for a tool call.
func call(b *block) pawl.AgentUpdate {
	var args struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
		Pattern string `json:"pattern"`
		Content string `json:"content"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
	}
	_ = json.Unmarshal(b.Input, &args) // what cannot be read stays empty
	u := pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: b.ID, Tool: b.Name, Does: cmp.Or(does[b.Name], pawl.DoesOther),
		Title: cmp.Or(args.Command, args.Path, args.Pattern), Args: b.Input}
	switch b.Name {
	case "Edit":
		u.Diffs = []pawl.AgentDiff{{Path: args.Path, Old: args.Old, New: args.New}}
	case "Write":
		u.Diffs = []pawl.AgentDiff{{Path: args.Path, New: args.Content}}
	}
	return u
}
