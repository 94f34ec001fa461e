package openai_test

import (
	"encoding/json"
	"testing"

	"pawl"
	"pawl/internal/model/openai"
)

func callResponses(t *testing.T, s *stub, req pawl.ModelRequest) (pawl.ModelReply, error) {
	t.Helper()
	return openai.NewResponses(openai.Config{BaseURL: s.URL, HTTPClient: s.Client()}).Call(t.Context(), req, nil)
}

const completed = `{"type":"response.completed","response":{"model":"gpt-x","status":"completed","output":[],"usage":{"input_tokens":5,"output_tokens":3}}}`

func opaque(raw string) pawl.Block {
	return pawl.Block{Kind: pawl.BlockOpaque, Provider: openai.ResponsesProvider, Opaque: json.RawMessage(raw)}
}

func TestResponsesReply(t *testing.T) {
	t.Run("a phase comes before its text and goes back with it", func(t *testing.T) {
		s := mustStub(t, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}}`, completed)
		reply, err := callResponses(t, s, ask())
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "blocks", []pawl.Block{opaque(`{"type":"phase","phase":"commentary"}`), text("I look.")}, reply.Message.Blocks)

		req := ask()
		req.Messages = append(req.Messages, reply.Message, req.Messages[0])
		if _, err := callResponses(t, s, req); err != nil {
			t.Fatal(err)
		}
		diff(t, "item", any(map[string]any{"role": "assistant", "content": "I look.", "phase": "commentary"}), s.body["input"].([]any)[1])
	})
	t.Run("items that only the last event has", func(t *testing.T) {
		s := mustStub(t, `{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","call_id":"c","name":"list","arguments":""}]}}`)
		reply, err := callResponses(t, s, ask())
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "reply", pawl.ModelReply{
			Message: pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{call("c", "list", "{}")}},
			Stop:    pawl.StopToolUse, Model: "local", Usage: pawl.Usage{Input: 1, Output: 2},
		}, reply)
	})
	for name, tt := range map[string]struct {
		event string
		kind  pawl.ModelErrorKind
	}{
		"content filter":   {`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`, pawl.ModelRefused},
		"failed":           {`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Oh."}}}`, pawl.ModelOverloaded},
		"failed by limit":  {`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Oh."}}}`, pawl.ModelRateLimit},
		"failed by policy": {`{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"Oh."}}}`, pawl.ModelRefused},
		"context":          {`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Too long."}}`, pawl.ModelContextLong},
		"old error event":  {`{"type":"error","code":"insufficient_quota","message":"No money."}`, pawl.ModelQuota},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := callResponses(t, mustStub(t, tt.event), ask())
			typed, ok := err.(*pawl.ModelError)
			if !ok || typed.Kind != tt.kind || typed.Message == "" {
				t.Errorf("Call returned %v, want %s", err, tt.kind)
			}
		})
	}
}

func TestResponsesRequest(t *testing.T) {
	t.Run("reasoning is asked for of models that may reason", func(t *testing.T) {
		for model, want := range map[string]any{"gpt-5.4-mini": []any{"reasoning.encrypted_content"}, "o3": []any{"reasoning.encrypted_content"}, "gpt-4.1": nil} {
			s := mustStub(t, completed)
			req := ask()
			req.Model = model
			if _, err := callResponses(t, s, req); err != nil {
				t.Fatal(err)
			}
			diff(t, model, want, s.body["include"])
			diff(t, "store", any(false), s.body["store"])
		}
	})
	t.Run("reasoning without content stays here", func(t *testing.T) {
		s := mustStub(t, completed)
		req := ask()
		req.Messages = append(req.Messages, pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{
			opaque(`{"type":"reasoning","id":"rs_1","summary":[]}`),
			opaque(`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"ZQ=="}`),
			text("Done."),
		}}, req.Messages[0])
		if _, err := callResponses(t, s, req); err != nil {
			t.Fatal(err)
		}
		input := s.body["input"].([]any)
		if len(input) != 4 || input[1].(map[string]any)["id"] != "rs_2" {
			t.Errorf("the items are %v", input)
		}
	})
}
