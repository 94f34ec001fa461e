package openai_test

import (
	"encoding/json"
	"testing"

	"pawl"
	"pawl/internal/model/modeltest"
	"pawl/internal/model/openai"
)

func newChat(e modeltest.Endpoint) pawl.Model {
	return openai.NewChat(openai.Config{BaseURL: e.BaseURL, APIKey: e.Key, HTTPClient: e.Client})
}

func newResponses(e modeltest.Endpoint) pawl.Model {
	return openai.NewResponses(openai.Config{BaseURL: e.BaseURL, APIKey: e.Key, HTTPClient: e.Client})
}

func TestChat(t *testing.T) {
	reasoning := pawl.Block{
		Kind:     pawl.BlockOpaque,
		Provider: openai.ChatProvider,
		Opaque:   json.RawMessage(`{"reasoning_content":"First I read, then I write."}`),
	}
	modeltest.Run(t, modeltest.Chat, reasoning, newChat)
}

func TestResponses(t *testing.T) {
	reasoning := pawl.Block{
		Kind:     pawl.BlockOpaque,
		Provider: openai.ResponsesProvider,
		Opaque:   json.RawMessage(`{"encrypted_content":"ZW5jcnlwdGVk","id":"rs_1","summary":[{"text":"First I read, then I write.","type":"summary_text"}],"type":"reasoning"}`),
	}
	modeltest.Run(t, modeltest.Responses, reasoning, newResponses)
}
