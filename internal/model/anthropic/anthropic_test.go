package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/model/anthropic"
	"pawl/internal/model/modeltest"
)

func newModel(e modeltest.Endpoint) pawl.Model {
	return anthropic.New(anthropic.Config{BaseURL: e.BaseURL, APIKey: e.Key, HTTPClient: e.Client})
}

func TestModel(t *testing.T) {
	thinking := pawl.Block{
		Kind:     pawl.BlockOpaque,
		Provider: anthropic.Provider,
		Opaque:   json.RawMessage(`{"signature":"c2lnbmVk","thinking":"First I read, then I write.","type":"thinking"}`),
	}
	modeltest.Run(t, modeltest.Anthropic, thinking, newModel)
}

func ask() pawl.ModelRequest {
	return pawl.ModelRequest{
		Model:     "claude-test",
		MaxOutput: 100,
		System:    "You are careful.",
		Tools:     []pawl.ToolSpec{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "list", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages:  []pawl.Message{{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "first"}, {Kind: pawl.BlockText, Text: "second"}}}},
	}
}

// The marks must stand on what does not change from turn to turn, or the cache never hits.
func TestCacheMarks(t *testing.T) {
	server := modeltest.NewServer(modeltest.Anthropic, func(pawl.ModelRequest) modeltest.Reply { return modeltest.Text("ok") })
	defer server.Close()
	model := anthropic.New(anthropic.Config{BaseURL: server.BaseURL, APIKey: "key"})
	req := ask()
	marks := func() []string {
		t.Helper()
		if _, err := model.Call(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		received := server.Received()
		var body any
		if err := json.Unmarshal(received[len(received)-1].Body, &body); err != nil {
			t.Fatal(err)
		}
		var found []string
		find(body, "", &found)
		return found
	}
	want := []string{"/messages/0/content/1", "/system/0", "/tools/1"}
	if d := cmp.Diff(want, marks()); d != "" {
		t.Errorf("first turn (-want +got):\n%s", d)
	}
	req.Messages = append(req.Messages,
		pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{{Kind: pawl.BlockToolUse, CallID: "c", Tool: "list", Args: json.RawMessage(`{}`)}}},
		pawl.Message{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockToolResult, CallID: "c"}}})
	want[0] = "/messages/2/content/0"
	if d := cmp.Diff(want, marks()); d != "" {
		t.Errorf("second turn (-want +got):\n%s", d)
	}
}

// find lists, sorted, the paths of what is marked for the cache.
func find(v any, path string, found *[]string) {
	switch v := v.(type) {
	case []any:
		for i, element := range v {
			find(element, fmt.Sprintf("%s/%d", path, i), found)
		}
	case map[string]any:
		if v["cache_control"] != nil {
			*found = append(*found, path)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			find(v[name], path+"/"+name, found)
		}
	}
}

func TestNoKey(t *testing.T) {
	_, err := anthropic.New(anthropic.Config{APIKey: " \n"}).Call(t.Context(), ask(), nil)
	typed, ok := err.(*pawl.ModelError)
	if !ok || typed.Kind != pawl.ModelAuth || !strings.Contains(typed.Message, "ANTHROPIC_API_KEY") {
		t.Errorf("Call returned %v, want an auth error that names ANTHROPIC_API_KEY", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The SDK's own client would take its settings from these.
func TestEnvironmentIsNotRead(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_BASE_URL": "http://127.0.0.1:1/wrong", "ANTHROPIC_API_KEY": "wrong-key", "ANTHROPIC_AUTH_TOKEN": "wrong-token",
		"ANTHROPIC_PROFILE": "wrong-profile", "ANTHROPIC_CUSTOM_HEADERS": "X-Wrong: wrong",
	} {
		t.Setenv(name, value)
	}
	for base, want := range map[string]string{"": "https://api.anthropic.com/v1/messages", "http://localhost:1234/proxy": "http://localhost:1234/proxy/v1/messages"} {
		var got *http.Request
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r
			return nil, io.EOF
		})}
		_, err := anthropic.New(anthropic.Config{BaseURL: base, APIKey: "right-key\n", HTTPClient: client}).Call(t.Context(), ask(), nil)
		if err == nil || got == nil {
			t.Fatalf("no request was sent: %v", err)
		}
		if got.URL.String() != want || got.Header.Get("X-Api-Key") != "right-key" {
			t.Errorf("the request went to %s with the key %q, want %s", got.URL, got.Header.Get("X-Api-Key"), want)
		}
		for name, values := range got.Header {
			if strings.Contains(strings.Join(values, " "), "wrong") {
				t.Errorf("the header %s is %q", name, values)
			}
		}
	}
}

func TestStopReasons(t *testing.T) {
	const start = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-test","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`
	reply := func(t *testing.T, stop string, blocks ...string) (pawl.ModelReply, error) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			events := append([]string{start}, blocks...)
			events = append(events, `{"type":"message_delta","delta":{"stop_reason":`+stop+`},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`)
			for _, e := range events {
				kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, e)
			}
		}))
		defer server.Close()
		return anthropic.New(anthropic.Config{BaseURL: server.URL, APIKey: "key", HTTPClient: server.Client()}).Call(t.Context(), ask(), nil)
	}
	const whole = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"read","input":{"path":"a"}}}`
	for name, tt := range map[string]struct {
		stop string
		kind pawl.ModelErrorKind
	}{
		"a full context window":         {`"model_context_window_exceeded"`, pawl.ModelContextLong},
		"a refusal without explanation": {`"refusal","stop_details":null`, pawl.ModelRefused},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reply(t, tt.stop)
			if typed, ok := err.(*pawl.ModelError); !ok || typed.Kind != tt.kind || typed.Message == "" {
				t.Errorf("Call returned %v, want %s", err, tt.kind)
			}
		})
	}
	t.Run("arguments that come whole, under a wrong reason", func(t *testing.T) {
		got, err := reply(t, `"end_turn"`, whole)
		if err != nil {
			t.Fatal(err)
		}
		want := pawl.ModelReply{
			Message: pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{{Kind: pawl.BlockToolUse, CallID: "c", Tool: "read", Args: json.RawMessage(`{"path":"a"}`)}}},
			Stop:    pawl.StopToolUse, Usage: pawl.Usage{Input: 5, Output: 9}, Model: "claude-test",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("reply (-want +got):\n%s", d)
		}
	})
	t.Run("an event twice", func(t *testing.T) {
		_, err := reply(t, `"tool_use"`, whole, whole)
		if typed, ok := err.(*pawl.ModelError); !ok || typed.Kind != pawl.ModelNetwork {
			t.Errorf("Call returned %v, want a network error", err)
		}
	})
}
