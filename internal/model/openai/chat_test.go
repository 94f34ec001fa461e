package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/model/openai"
)

// stub is a server that sends fixed events whatever it is asked.
type stub struct {
	*httptest.Server
	header http.Header
	body   map[string]any
}

func mustStub(t *testing.T, events ...string) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.header = r.Header.Clone()
		if err := json.NewDecoder(r.Body).Decode(&s.body); err != nil {
			t.Errorf("the request's body: %v", err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func ask(messages ...pawl.Message) pawl.ModelRequest {
	if len(messages) == 0 {
		messages = []pawl.Message{{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "go"}}}}
	}
	return pawl.ModelRequest{Model: "local", MaxOutput: 100, Messages: messages}
}

// mustChat asks a compatible server that needs no key.
func mustChat(t *testing.T, s *stub, req pawl.ModelRequest) pawl.ModelReply {
	t.Helper()
	reply, err := openai.NewChat(openai.Config{BaseURL: s.URL + "/v1", HTTPClient: s.Client()}).Call(t.Context(), req, nil)
	if err != nil {
		t.Fatalf("Call: %v", err)
	}
	return reply
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func call(id, tool, args string) pawl.Block {
	return pawl.Block{Kind: pawl.BlockToolUse, CallID: id, Tool: tool, Args: json.RawMessage(args)}
}

func text(s string) pawl.Block { return pawl.Block{Kind: pawl.BlockText, Text: s} }

const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func TestChatTolerates(t *testing.T) {
	tests := []struct {
		name   string
		events []string
		want   []pawl.Block
		stop   pawl.StopReason
	}{
		{
			name:   "a null error in every chunk",
			events: []string{`{"error":null,"choices":[{"index":0,"delta":{"content":"fine"}}]}`, stop, "[DONE]"},
			want:   []pawl.Block{text("fine")},
			stop:   pawl.StopEnd,
		},
		{
			name:   "no [DONE]",
			events: []string{`{"choices":[{"index":0,"delta":{"content":"fine"}}]}`, stop},
			want:   []pawl.Block{text("fine")},
			stop:   pawl.StopEnd,
		},
		{
			name: "calls that share an index, whole in one chunk each, and stop as the reason",
			events: []string{
				`{"choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"call_a","index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"call_b","index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"b\"}"}}]},"finish_reason":null}]}`,
				stop, "[DONE]",
			},
			want: []pawl.Block{call("call_a", "read", `{"path":"a"}`), call("call_b", "read", `{"path":"b"}`)},
			stop: pawl.StopToolUse,
		},
		{
			name: "calls without ids and without indexes",
			events: []string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"read","arguments":"{\"path\":"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"\"a\"}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"list","arguments":""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]",
			},
			want: []pawl.Block{call("call-1", "read", `{"path":"a"}`), call("call-2", "list", `{}`)},
			stop: pawl.StopToolUse,
		},
		{
			name: "a name that comes again with each piece",
			events: []string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{\"path\""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":":\"a\"}"}}]}}]}`,
				stop, "[DONE]",
			},
			want: []pawl.Block{call("c", "read", `{"path":"a"}`)},
			stop: pawl.StopToolUse,
		},
		{
			name:   "arguments that are an object",
			events: []string{`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":{"path": "a"}}}]}}]}`, stop, "[DONE]"},
			want:   []pawl.Block{call("c", "read", `{"path": "a"}`)},
			stop:   pawl.StopToolUse,
		},
		{
			name:   "arguments that are null",
			events: []string{`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"list","arguments":null}}]}}]}`, stop, "[DONE]"},
			want:   []pawl.Block{call("c", "list", `{}`)},
			stop:   pawl.StopToolUse,
		},
		{
			name:   "an id for two calls",
			events: []string{`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"list"}},{"index":1,"id":"c","function":{"name":"list"}}]}}]}`, stop, "[DONE]"},
			want:   []pawl.Block{call("c", "list", `{}`), call("call-2", "list", `{}`)},
			stop:   pawl.StopToolUse,
		},
		{
			name: "reasoning in either field, also in both",
			events: []string{
				`{"choices":[{"index":0,"delta":{"reasoning":"Let me ","reasoning_content":null}}]}`,
				`{"choices":[{"index":0,"delta":{"reasoning":"think."}}]}`,
				`{"choices":[{"index":0,"delta":{"content":"Done."}}]}`, stop, "[DONE]",
			},
			want: []pawl.Block{
				{Kind: pawl.BlockOpaque, Provider: openai.ChatProvider, Opaque: json.RawMessage(`{"reasoning":"Let me think."}`)},
				text("Done."),
			},
			stop: pawl.StopEnd,
		},
		{
			name:   "bytes that are not UTF-8",
			events: []string{"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xffb\"}}]}", stop, "[DONE]"},
			want:   []pawl.Block{text("a\uFFFDb")},
			stop:   pawl.StopEnd,
		},
		{
			name:   "chunks without choices, and comments",
			events: []string{`{"choices":[]}`, `{"choices":null}`, "\n: PROCESSING\n", `{"choices":[{"index":0,"delta":{"content":"fine"}}]}`, stop, "[DONE]"},
			want:   []pawl.Block{text("fine")},
			stop:   pawl.StopEnd,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reply := mustChat(t, mustStub(t, tt.events...), ask())
			diff(t, "blocks", tt.want, reply.Message.Blocks)
			diff(t, "stop", tt.stop, reply.Stop)
			diff(t, "model", "local", reply.Model)
			if reply.Usage.Input == 0 || reply.Usage.Output == 0 {
				t.Errorf("usage that was not told must be estimated, got %+v", reply.Usage)
			}
		})
	}
}

func TestChatGivesCallsTheSameIDsAgain(t *testing.T) {
	s := mustStub(t, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"list"}}]}}]}`, stop)
	req := ask()
	var seen []string
	for turn := range 3 {
		first, again := mustChat(t, s, req), mustChat(t, s, req)
		diff(t, fmt.Sprintf("turn %d", turn+1), first, again)
		id := first.Message.Blocks[0].CallID
		seen = append(seen, id)
		req.Messages = append(req.Messages, first.Message, pawl.Message{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockToolResult, CallID: id, Text: "a.go"}}})
	}
	diff(t, "ids", []string{"call-1", "call-2", "call-3"}, seen)
}

func TestChatUsage(t *testing.T) {
	// Some servers tell usage with every chunk; the last counts.
	s := mustStub(t,
		`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":50,"completion_tokens":1}}`,
		stop,
		`{"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":30}}}`, "[DONE]")
	diff(t, "usage", pawl.Usage{Input: 20, CacheRead: 30, Output: 7}, mustChat(t, s, ask()).Usage)
}

func TestChatErrors(t *testing.T) {
	tests := []struct {
		name   string
		events []string
		kind   pawl.ModelErrorKind
	}{
		{"the content filter", []string{`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"content_filter"}]}`, "[DONE]"}, pawl.ModelRefused},
		{"[DONE] without a reason", []string{`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, "[DONE]"}, pawl.ModelNetwork},
		{"a gateway's error with a status", []string{`{"error":{"code":429,"message":"Provider is busy"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`}, pawl.ModelRateLimit},
		{"a gateway's error as a text", []string{`{"error":"out of memory"}`}, pawl.ModelOverloaded},
		{"the reason error alone", []string{`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`, "[DONE]"}, pawl.ModelOverloaded},
		{"an event that is no object", []string{`"hello"`}, pawl.ModelNetwork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustStub(t, tt.events...)
			_, err := openai.NewChat(openai.Config{BaseURL: s.URL, HTTPClient: s.Client()}).Call(t.Context(), ask(), nil)
			typed, ok := err.(*pawl.ModelError)
			if !ok || typed.Kind != tt.kind {
				t.Errorf("Call returned %v, want %s", err, tt.kind)
			}
		})
	}
}

func TestChatRequest(t *testing.T) {
	t.Run("a compatible server", func(t *testing.T) {
		s := mustStub(t, stop)
		mustChat(t, s, ask())
		diff(t, "max_tokens", any(100.0), s.body["max_tokens"])
		diff(t, "max_completion_tokens", nil, s.body["max_completion_tokens"])
		if _, ok := s.header["Authorization"]; ok {
			t.Error("a server that needs no key was sent an Authorization header")
		}
	})
	t.Run("a server that wants the new name of the limit", func(t *testing.T) {
		s := mustStub(t, stop)
		m := openai.NewChat(openai.Config{BaseURL: s.URL, HTTPClient: s.Client(), MaxCompletionTokens: true})
		if _, err := m.Call(t.Context(), ask(), nil); err != nil {
			t.Fatal(err)
		}
		diff(t, "max_tokens", nil, s.body["max_tokens"])
		diff(t, "max_completion_tokens", any(100.0), s.body["max_completion_tokens"])
	})
	t.Run("reasoning goes back in its field", func(t *testing.T) {
		s := mustStub(t, stop)
		mustChat(t, s, ask(
			pawl.Message{Role: pawl.RoleUser, Blocks: []pawl.Block{text("go")}},
			pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{
				{Kind: pawl.BlockOpaque, Provider: openai.ChatProvider, Opaque: json.RawMessage(`{"reasoning":"Hm."}`)},
				call("c", "list", "{}"),
			}},
			pawl.Message{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockToolResult, CallID: "c", Text: ""}}},
		))
		assistant := s.body["messages"].([]any)[1].(map[string]any)
		diff(t, "reasoning", any("Hm."), assistant["reasoning"])
		diff(t, "content", nil, assistant["content"])
	})
}

// OpenAI itself needs a key, and is never asked without one.
func TestNoKey(t *testing.T) {
	never := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("a request went to %s", r.URL)
		return nil, io.EOF
	})}
	for name, m := range map[string]pawl.Model{
		"chat":      openai.NewChat(openai.Config{HTTPClient: never, APIKey: " \n"}),
		"responses": openai.NewResponses(openai.Config{HTTPClient: never}),
	} {
		_, err := m.Call(t.Context(), ask(), nil)
		typed, ok := err.(*pawl.ModelError)
		if !ok || typed.Kind != pawl.ModelAuth || !strings.Contains(typed.Message, "OPENAI_API_KEY") {
			t.Errorf("%s: Call returned %v, want an auth error that names OPENAI_API_KEY", name, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The SDK's own client would take its settings from these.
func TestEnvironmentIsNotRead(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_BASE_URL": "http://127.0.0.1:1/wrong", "OPENAI_API_KEY": "wrong-key", "OPENAI_ADMIN_KEY": "wrong-admin-key",
		"OPENAI_ORG_ID": "wrong-org", "OPENAI_PROJECT_ID": "wrong-project", "OPENAI_CUSTOM_HEADERS": "X-Wrong: wrong",
	} {
		t.Setenv(name, value)
	}
	for _, defaults := range []bool{false, true} {
		var got *http.Request
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r
			return nil, io.EOF
		})}
		cfg := openai.Config{BaseURL: "http://localhost:11434/v1", HTTPClient: client}
		wantURL, wantKey := "http://localhost:11434/v1", ""
		if defaults {
			cfg = openai.Config{APIKey: "right-key\n", HTTPClient: client}
			wantURL, wantKey = "https://api.openai.com/v1", "Bearer right-key"
		}
		for path, m := range map[string]pawl.Model{"/chat/completions": openai.NewChat(cfg), "/responses": openai.NewResponses(cfg)} {
			_, err := m.Call(t.Context(), ask(), nil)
			if err == nil || got == nil {
				t.Fatalf("no request was sent: %v", err)
			}
			diff(t, "URL", wantURL+path, got.URL.String())
			diff(t, "authorization", wantKey, got.Header.Get("Authorization"))
			for name, values := range got.Header {
				if strings.Contains(strings.Join(values, " "), "wrong") {
					t.Errorf("the header %s is %q", name, values)
				}
			}
		}
	}
}
