package modeltest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"pawl"
)

func responsesProtocol() protocol {
	return protocol{
		path:    "/v1/responses",
		key:     bearer,
		decode:  decodeResponse,
		render:  renderResponse,
		problem: openaiProblem,
		errors: event{name: "error", data: mustJSON(map[string]any{
			"type": "error", "sequence_number": 9, "code": "server_error", "message": "The server is overloaded.", "param": nil,
		})},
	}
}

func bearer(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") }

func openaiProblem(kind, message string) string {
	return mustJSON(map[string]any{"error": map[string]any{"type": kind, "code": nil, "param": nil, "message": message}})
}

type responseRequest struct {
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	MaxOutput    int               `json:"max_output_tokens"`
	Stream       bool              `json:"stream"`
	Store        *bool             `json:"store"`
	Input        []json.RawMessage `json:"input"`
	Tools        []responseTool    `json:"tools"`
}

type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	Tools       []responseTool  `json:"tools"` // of a namespace
}

// inNamespace joins a namespace and the name of a tool in it. A reply that calls such a tool has both.
const inNamespace = "/"

type responseItem struct {
	Type      string           `json:"type"`
	Role      pawl.MessageRole `json:"role"`
	Content   parts            `json:"content"`
	CallID    string           `json:"call_id"`
	Name      string           `json:"name"`
	Space     string           `json:"namespace"`
	Arguments string           `json:"arguments"`
	Output    parts            `json:"output"`
}

func decodeResponse(body []byte, foreign bool) (pawl.ModelRequest, error) {
	var in responseRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return pawl.ModelRequest{}, err
	}
	req := pawl.ModelRequest{Model: in.Model, System: in.Instructions, MaxOutput: in.MaxOutput}
	if !foreign && (!in.Stream || in.Model == "" || in.MaxOutput <= 0 || in.Store == nil || *in.Store) {
		return req, errors.New("stream, model and max_output_tokens must be set, and store be false")
	}
	for _, t := range in.Tools {
		if !foreign && (t.Type != "function" || t.Strict == nil || *t.Strict) {
			return req, errors.New("a tool is no function, or strict")
		}
		if t.Type == "namespace" {
			for _, of := range t.Tools {
				req.Tools = append(req.Tools, pawl.ToolSpec{Name: t.Name + inNamespace + of.Name, Description: of.Description, Schema: of.Parameters})
			}
			continue
		}
		req.Tools = append(req.Tools, pawl.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	for _, raw := range in.Input {
		role, block, err := decodeItem(raw)
		if foreign && role != pawl.RoleAssistant { // such as "developer"
			role = pawl.RoleUser
		}
		if err != nil {
			return req, err
		}
		// Items carry no messages: neighbours of one role are one.
		if n := len(req.Messages); n == 0 || req.Messages[n-1].Role != role {
			req.Messages = append(req.Messages, pawl.Message{Role: role})
		}
		last := &req.Messages[len(req.Messages)-1]
		last.Blocks = append(last.Blocks, block)
	}
	if foreign {
		return req, nil
	}
	return req, errors.Join(checkTools(req.Tools), checkConversation(req.Messages))
}

func decodeItem(raw json.RawMessage) (pawl.MessageRole, pawl.Block, error) {
	var item responseItem
	if err := json.Unmarshal(raw, &item); err != nil {
		return "", pawl.Block{}, err
	}
	switch item.Type {
	case "", "message":
		return item.Role, pawl.Block{Kind: pawl.BlockText, Text: item.Content.text()}, nil
	case "function_call":
		if item.Space != "" {
			item.Name = item.Space + inNamespace + item.Name
		}
		return pawl.RoleAssistant, pawl.Block{Kind: pawl.BlockToolUse, CallID: item.CallID, Tool: item.Name, Args: json.RawMessage(item.Arguments)}, nil
	case "function_call_output":
		return pawl.RoleUser, result(item.CallID, item.Output.text()), nil
	}
	return pawl.RoleAssistant, pawl.Block{Kind: pawl.BlockOpaque, Opaque: raw, Provider: "openai-responses"}, nil
}

// result is a tool result in a protocol that marks failures in the text only.
func result(id, text string) pawl.Block {
	text, failed := strings.CutPrefix(text, "The call failed: ")
	return pawl.Block{Kind: pawl.BlockToolResult, CallID: id, Text: text, IsError: failed}
}

func renderResponse(req pawl.ModelRequest, r Reply) []event {
	model := r.Model
	if model == "" {
		model = req.Model
	}
	named := func(name string, point Point, fields map[string]any) event {
		fields["type"] = name
		return event{name: name, data: mustJSON(fields), point: point}
	}
	response := func(status string, output []any) map[string]any {
		return map[string]any{"id": "resp_1", "object": "response", "model": model, "status": status, "output": output, "error": nil, "incomplete_details": nil}
	}
	events := []event{named("response.created", "", map[string]any{"response": response("in_progress", []any{})})}
	output := []any{}
	for i, b := range append(r.Blocks, refusalBlocks(r)...) {
		item, deltas, name, point := responseDeltas(b, r.Refusal != "")
		events = append(events, named("response.output_item.added", "", map[string]any{"output_index": i, "item": item}))
		for _, d := range deltas {
			events = append(events, named(name, point, map[string]any{"output_index": i, "item_id": "item_1", "delta": d}))
		}
		done := named("response.output_item.done", "", map[string]any{"output_index": i, "item": item})
		events, output = append(events, done), append(output, item)
	}
	events[len(events)-1].last = true
	final := response("completed", output)
	final["usage"] = map[string]any{
		"input_tokens":         r.Usage.Input + r.Usage.CacheRead + r.Usage.CacheWrite,
		"input_tokens_details": map[string]any{"cached_tokens": r.Usage.CacheRead, "cache_write_tokens": r.Usage.CacheWrite},
		"output_tokens":        r.Usage.Output, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		"total_tokens": r.Usage.Total(),
	}
	if r.stop() == pawl.StopMaxOutput {
		final["status"], final["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
		return append(events, named("response.incomplete", "", map[string]any{"response": final}))
	}
	return append(events, named("response.completed", "", map[string]any{"response": final}))
}

// refusalBlocks is the refusal as one more block, if there is one.
func refusalBlocks(r Reply) []pawl.Block {
	if r.Refusal == "" {
		return nil
	}
	return []pawl.Block{{Kind: pawl.BlockText, Text: r.Refusal}}
}

// responseDeltas are an item and the pieces that announce it.
func responseDeltas(b pawl.Block, refusal bool) (item any, deltas []string, name string, point Point) {
	switch b.Kind {
	case pawl.BlockText:
		part, name := map[string]any{"type": "output_text", "text": b.Text, "annotations": []any{}}, "response.output_text.delta"
		if refusal {
			part, name = map[string]any{"type": "refusal", "refusal": b.Text}, "response.refusal.delta"
		}
		item := map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{part}}
		return item, pieces(b.Text), name, AtText
	case pawl.BlockToolUse:
		item := map[string]any{"type": "function_call", "id": "fc_1", "status": "completed", "call_id": b.CallID, "name": b.Tool, "arguments": string(b.Args)}
		if space, name, ok := strings.Cut(b.Tool, inNamespace); ok {
			item["namespace"], item["name"] = space, name
		}
		return item, pieces(string(b.Args)), "response.function_call_arguments.delta", AtArguments
	}
	var reasoning struct {
		Summary []struct {
			Text string `json:"text"`
		} `json:"summary"`
	}
	if json.Unmarshal(b.Opaque, &reasoning) == nil {
		for _, part := range reasoning.Summary {
			deltas = append(deltas, pieces(part.Text)...)
		}
	}
	return b.Opaque, deltas, "response.reasoning_summary_text.delta", ""
}
