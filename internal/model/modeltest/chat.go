package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"

	"pawl"
)

func chatProtocol() protocol {
	return protocol{
		path:    "/v1/chat/completions",
		key:     bearer,
		decode:  decodeChat,
		render:  renderChat,
		problem: openaiProblem,
		errors:  event{data: openaiProblem("server_error", "The server is overloaded.")},
	}
}

type chatRequest struct {
	Model               string `json:"model"`
	MaxTokens           int    `json:"max_tokens"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	Stream              bool   `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []chatMessage `json:"messages"`
	Tools    []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role       string `json:"role"`
	Content    parts  `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	Reasoning  string `json:"reasoning_content"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func decodeChat(body []byte, foreign bool) (pawl.ModelRequest, error) {
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return pawl.ModelRequest{}, err
	}
	req := pawl.ModelRequest{Model: in.Model, MaxOutput: in.MaxTokens + in.MaxCompletionTokens}
	if !foreign && (!in.Stream || !in.StreamOptions.IncludeUsage || in.Model == "" || (in.MaxTokens > 0) == (in.MaxCompletionTokens > 0)) {
		return req, errors.New("stream, stream_options.include_usage, model and one output limit must be set")
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, pawl.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	for i, m := range in.Messages {
		if m.Role == "system" && i == 0 {
			req.System = m.Content.text()
			continue
		}
		if foreign && (m.Role == "system" || m.Role == "developer") {
			m.Role = "user"
		}
		role, blocks, err := m.blocks()
		if err != nil {
			return req, fmt.Errorf("message %d: %w", i+1, err)
		}
		// Each result is a message here: neighbours of one role are one.
		if n := len(req.Messages); n == 0 || req.Messages[n-1].Role != role {
			req.Messages = append(req.Messages, pawl.Message{Role: role})
		}
		last := &req.Messages[len(req.Messages)-1]
		last.Blocks = append(last.Blocks, blocks...)
	}
	if foreign {
		return req, nil
	}
	return req, errors.Join(checkTools(req.Tools), checkConversation(req.Messages))
}

func (m chatMessage) blocks() (role pawl.MessageRole, blocks []pawl.Block, err error) {
	if m.Role == "tool" {
		return pawl.RoleUser, []pawl.Block{result(m.ToolCallID, m.Content.text())}, nil
	}
	if m.Role != "user" && m.Role != "assistant" {
		return "", nil, fmt.Errorf("unknown role %q", m.Role)
	}
	if m.Reasoning != "" {
		raw := json.RawMessage(mustJSON(map[string]string{"reasoning_content": m.Reasoning}))
		blocks = append(blocks, pawl.Block{Kind: pawl.BlockOpaque, Opaque: raw, Provider: "openai-chat"})
	}
	if text := m.Content.text(); text != "" {
		blocks = append(blocks, pawl.Block{Kind: pawl.BlockText, Text: text})
	}
	for _, c := range m.ToolCalls {
		if c.Type != "function" {
			return "", nil, fmt.Errorf("the call %q is no function", c.ID)
		}
		blocks = append(blocks, pawl.Block{Kind: pawl.BlockToolUse, CallID: c.ID, Tool: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
	}
	return pawl.MessageRole(m.Role), blocks, nil
}

func renderChat(req pawl.ModelRequest, r Reply) []event {
	model := r.Model
	if model == "" {
		model = req.Model
	}
	chunk := func(delta map[string]any, finish any) map[string]any {
		return map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "usage": nil,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	piece := func(point Point, delta map[string]any) event {
		return event{data: mustJSON(chunk(delta, nil)), point: point}
	}
	events := []event{piece("", map[string]any{"role": "assistant", "content": ""})}
	calls := 0
	for _, b := range r.Blocks {
		switch b.Kind {
		case pawl.BlockText:
			for _, p := range pieces(b.Text) {
				events = append(events, piece(AtText, map[string]any{"content": p}))
			}
		case pawl.BlockToolUse:
			head := map[string]any{"index": calls, "id": b.CallID, "type": "function", "function": map[string]any{"name": b.Tool, "arguments": ""}}
			events = append(events, piece("", map[string]any{"tool_calls": []any{head}}))
			for _, p := range pieces(string(b.Args)) {
				more := map[string]any{"index": calls, "function": map[string]any{"arguments": p}}
				events = append(events, piece(AtArguments, map[string]any{"tool_calls": []any{more}}))
			}
			calls++
		case pawl.BlockOpaque:
			var fields map[string]string
			if json.Unmarshal(b.Opaque, &fields) == nil {
				for _, p := range pieces(fields["reasoning_content"]) {
					events = append(events, piece("", map[string]any{"reasoning_content": p}))
				}
			}
		}
	}
	for _, p := range pieces(r.Refusal) {
		events = append(events, piece("", map[string]any{"refusal": p}))
	}
	events[len(events)-1].last = true
	events = append(events, event{data: mustJSON(chunk(map[string]any{}, chatFinish(r.stop())))})
	if r.Usage.Total() > 0 {
		last := chunk(nil, nil)
		last["choices"] = []any{}
		last["usage"] = map[string]any{
			"prompt_tokens":         r.Usage.Input + r.Usage.CacheRead + r.Usage.CacheWrite,
			"prompt_tokens_details": map[string]any{"cached_tokens": r.Usage.CacheRead, "cache_write_tokens": r.Usage.CacheWrite},
			"completion_tokens":     r.Usage.Output, "total_tokens": r.Usage.Total(),
		}
		events = append(events, event{data: mustJSON(last)})
	}
	return append(events, event{data: "[DONE]"})
}

func chatFinish(stop pawl.StopReason) string {
	switch stop {
	case pawl.StopToolUse:
		return "tool_calls"
	case pawl.StopMaxOutput:
		return "length"
	}
	return "stop"
}
