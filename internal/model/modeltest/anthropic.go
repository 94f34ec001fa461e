package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"pawl"
)

func anthropicProtocol() protocol {
	return protocol{
		path:    "/v1/messages",
		key:     func(h http.Header) string { return h.Get("X-Api-Key") },
		decode:  decodeMessages,
		render:  renderMessages,
		problem: anthropicProblem,
		errors:  event{name: "error", data: anthropicProblem("overloaded_error", "Overloaded")},
	}
}

func anthropicProblem(kind, message string) string {
	return mustJSON(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

type anthropicRequest struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Stream    bool   `json:"stream"`
	System    parts  `json:"system"`
	Messages  []struct {
		Role    pawl.MessageRole `json:"role"`
		Content parts            `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"input_schema"`
		CacheControl *cacheControl   `json:"cache_control"`
	} `json:"tools"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type anthropicBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      parts           `json:"content"`
	IsError      bool            `json:"is_error"`
	CacheControl *cacheControl   `json:"cache_control"`
}

func decodeMessages(body []byte, foreign bool) (pawl.ModelRequest, error) {
	var in anthropicRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return pawl.ModelRequest{}, err
	}
	req := pawl.ModelRequest{Model: in.Model, MaxOutput: in.MaxTokens}
	if !foreign && !in.Stream || in.Model == "" || in.MaxTokens <= 0 {
		return req, errors.New("stream, model and max_tokens must be set")
	}
	marks := 0
	mark := func(c *cacheControl) {
		if c != nil && c.Type == "ephemeral" {
			marks++
		}
	}
	for _, raw := range in.System {
		var b anthropicBlock
		if err := json.Unmarshal(raw, &b); err != nil {
			return req, err
		}
		req.System += b.Text
		mark(b.CacheControl)
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, pawl.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
		mark(t.CacheControl)
	}
	for _, m := range in.Messages {
		message := pawl.Message{Role: m.Role}
		for i, raw := range m.Content {
			var b anthropicBlock
			if err := json.Unmarshal(raw, &b); err != nil {
				return req, err
			}
			mark(b.CacheControl)
			block := b.block(raw)
			if block.Kind == pawl.BlockOpaque && i == len(m.Content)-1 && !foreign {
				return req, errors.New("the final block in an assistant message cannot be thinking")
			}
			message.Blocks = append(message.Blocks, block)
		}
		req.Messages = append(req.Messages, message)
	}
	if marks > 4 {
		return req, fmt.Errorf("%d blocks have cache_control, 4 at most may", marks)
	}
	if foreign {
		return req, nil
	}
	return req, errors.Join(checkTools(req.Tools), checkConversation(req.Messages))
}

func (b anthropicBlock) block(raw json.RawMessage) pawl.Block {
	switch b.Type {
	case "text":
		return pawl.Block{Kind: pawl.BlockText, Text: b.Text}
	case "tool_use":
		return pawl.Block{Kind: pawl.BlockToolUse, CallID: b.ID, Tool: b.Name, Args: b.Input}
	case "tool_result":
		return pawl.Block{Kind: pawl.BlockToolResult, CallID: b.ToolUseID, Text: b.Content.text(), IsError: b.IsError}
	}
	return pawl.Block{Kind: pawl.BlockOpaque, Opaque: raw, Provider: "anthropic"}
}

func renderMessages(req pawl.ModelRequest, r Reply) []event {
	named := func(name string, point Point, fields map[string]any) event {
		fields["type"] = name
		return event{name: name, data: mustJSON(fields), point: point}
	}
	model := r.Model
	if model == "" {
		model = req.Model
	}
	events := []event{
		named("message_start", "", map[string]any{"message": map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []any{},
			"stop_reason": nil, "stop_sequence": nil,
			"usage": map[string]any{
				"input_tokens": r.Usage.Input, "cache_read_input_tokens": r.Usage.CacheRead,
				"cache_creation_input_tokens": r.Usage.CacheWrite, "output_tokens": min(r.Usage.Output, 1),
			},
		}}),
		named("ping", "", map[string]any{}),
	}
	for i, b := range r.Blocks {
		start, deltas, point := anthropicDeltas(b)
		events = append(events, named("content_block_start", "", map[string]any{"index": i, "content_block": start}))
		for _, d := range deltas {
			events = append(events, named("content_block_delta", point, map[string]any{"index": i, "delta": d}))
		}
		events = append(events, named("content_block_stop", "", map[string]any{"index": i}))
	}
	stop, details := any(anthropicStop(r.stop())), any(nil)
	if r.Refusal != "" {
		stop, details = "refusal", map[string]any{"type": "refusal", "category": nil, "explanation": r.Refusal}
	}
	events[len(events)-1].last = true
	return append(events,
		named("message_delta", "", map[string]any{
			"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil, "stop_details": details},
			"usage": map[string]any{"output_tokens": r.Usage.Output},
		}),
		named("message_stop", "", map[string]any{}))
}

func anthropicStop(stop pawl.StopReason) string {
	switch stop {
	case pawl.StopToolUse:
		return "tool_use"
	case pawl.StopMaxOutput:
		return "max_tokens"
	}
	return "end_turn"
}

// anthropicDeltas are the start of a block and the pieces that fill it.
func anthropicDeltas(b pawl.Block) (start any, deltas []any, point Point) {
	switch b.Kind {
	case pawl.BlockText:
		for _, piece := range pieces(b.Text) {
			deltas = append(deltas, map[string]any{"type": "text_delta", "text": piece})
		}
		return map[string]any{"type": "text", "text": ""}, deltas, AtText
	case pawl.BlockToolUse:
		for _, piece := range pieces(string(b.Args)) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": piece})
		}
		return map[string]any{"type": "tool_use", "id": b.CallID, "name": b.Tool, "input": map[string]any{}}, deltas, AtArguments
	}
	var opaque map[string]any
	if json.Unmarshal(b.Opaque, &opaque) != nil || opaque["type"] != "thinking" {
		return b.Opaque, nil, ""
	}
	for _, piece := range pieces(fmt.Sprint(opaque["thinking"])) {
		deltas = append(deltas, map[string]any{"type": "thinking_delta", "thinking": piece})
	}
	deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": opaque["signature"]})
	return map[string]any{"type": "thinking", "thinking": "", "signature": ""}, deltas, ""
}
