package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"pawl"
)

// geminiProtocol is streamGenerateContent of Google's Gemini API, as server-sent events. No adapter of
// ours uses it.
func geminiProtocol() protocol {
	return protocol{
		path:    "/v1beta/models/…:streamGenerateContent",
		key:     func(h http.Header) string { return h.Get("X-Goog-Api-Key") },
		decode:  decodeGemini,
		render:  renderGemini,
		problem: geminiProblem,
		errors:  event{data: geminiProblem("UNAVAILABLE", "The model is overloaded.")},
	}
}

func geminiProblem(kind, message string) string {
	return mustJSON(map[string]any{"error": map[string]any{"code": http.StatusServiceUnavailable, "status": kind, "message": message}})
}

type geminiPart struct {
	Text     string `json:"text"`
	Function *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string         `json:"id"`
		Name     string         `json:"name"`
		Response map[string]any `json:"response"`
	} `json:"functionResponse"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

func decodeGemini(body []byte, _ bool) (pawl.ModelRequest, error) {
	var in struct {
		System   geminiContent   `json:"systemInstruction"`
		Contents []geminiContent `json:"contents"`
		Tools    []struct {
			Functions []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Schema      json.RawMessage `json:"parametersJsonSchema"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			MaxOutput int `json:"maxOutputTokens"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return pawl.ModelRequest{}, err
	}
	req := pawl.ModelRequest{MaxOutput: in.Config.MaxOutput}
	for _, p := range in.System.Parts {
		req.System += p.Text
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			schema := f.Schema
			if schema == nil {
				schema = f.Parameters
			}
			req.Tools = append(req.Tools, pawl.ToolSpec{Name: f.Name, Description: f.Description, Schema: schema})
		}
	}
	for _, c := range in.Contents {
		m := pawl.Message{Role: pawl.RoleUser}
		if c.Role == "model" {
			m.Role = pawl.RoleAssistant
		}
		for _, p := range c.Parts {
			m.Blocks = append(m.Blocks, p.block())
		}
		req.Messages = append(req.Messages, m)
	}
	return req, nil
}

func (p geminiPart) block() pawl.Block {
	switch {
	case p.Function != nil:
		return pawl.Block{Kind: pawl.BlockToolUse, CallID: p.Function.ID, Tool: p.Function.Name, Args: p.Function.Args}
	case p.Response != nil:
		text, failed := p.Response.Response["output"], false
		if text == nil {
			text, failed = p.Response.Response["error"], true
		}
		return pawl.Block{Kind: pawl.BlockToolResult, CallID: p.Response.ID, Tool: p.Response.Name, Text: fmt.Sprint(text), IsError: failed}
	}
	return pawl.Block{Kind: pawl.BlockText, Text: p.Text}
}

func renderGemini(req pawl.ModelRequest, r Reply) []event {
	model := r.Model
	if model == "" {
		model = req.Model
	}
	chunk := func(finish any, parts ...any) map[string]any {
		return map[string]any{
			"modelVersion": model, "responseId": "response-1",
			"candidates": []any{map[string]any{"index": 0, "finishReason": finish, "content": map[string]any{"role": "model", "parts": parts}}},
		}
	}
	var events []event
	for _, b := range r.Blocks {
		switch b.Kind {
		case pawl.BlockText:
			for _, p := range pieces(b.Text) {
				events = append(events, event{data: mustJSON(chunk(nil, map[string]any{"text": p})), point: AtText})
			}
		case pawl.BlockToolUse: // Gemini sends calls whole
			call := map[string]any{"functionCall": map[string]any{"id": b.CallID, "name": b.Tool, "args": b.Args}}
			events = append(events, event{data: mustJSON(chunk(nil, call)), point: AtArguments})
		}
	}
	if len(events) == 0 {
		events = append(events, event{data: mustJSON(chunk(nil, map[string]any{"text": ""}))})
	}
	events[len(events)-1].last = true
	finish := "STOP"
	if r.stop() == pawl.StopMaxOutput {
		finish = "MAX_TOKENS"
	}
	last := chunk(finish, map[string]any{"text": ""})
	last["usageMetadata"] = map[string]any{
		"promptTokenCount": r.Usage.Input + r.Usage.CacheRead, "cachedContentTokenCount": r.Usage.CacheRead,
		"candidatesTokenCount": r.Usage.Output, "totalTokenCount": r.Usage.Total(),
	}
	return append(events, event{data: mustJSON(last)})
}
