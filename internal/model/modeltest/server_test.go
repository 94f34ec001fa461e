package modeltest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/model/modeltest"
)

func mustPost(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestServerSpeaksTheProtocol(t *testing.T) {
	tests := []struct {
		wire       modeltest.Wire
		path, body string
		want       []string // in this order
	}{
		{
			modeltest.Anthropic, "/v1/messages",
			`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
			[]string{"event: message_start\ndata: {", `"model":"m"`, "event: content_block_start", `"text":"hello t"`, `"text":"here"`, "event: content_block_stop", `"stop_reason":"end_turn"`, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
		},
		{
			modeltest.Responses, "/responses",
			`{"model":"m","max_output_tokens":9,"stream":true,"store":false,"input":[{"role":"user","content":"hi"}]}`,
			[]string{"event: response.created\ndata: {", "event: response.output_item.added", `"delta":"hello t"`, `"delta":"here"`, "event: response.output_item.done", "event: response.completed", `"status":"completed"`},
		},
		{
			modeltest.Chat, "/chat/completions",
			`{"model":"m","max_tokens":9,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`,
			[]string{`data: {`, `"role":"assistant"`, `"content":"hello t"`, `"content":"here"`, `"finish_reason":"stop"`, "data: [DONE]\n\n"},
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.wire), func(t *testing.T) {
			var got pawl.ModelRequest
			server := modeltest.NewServer(tt.wire, func(req pawl.ModelRequest) modeltest.Reply {
				got = req
				return modeltest.Text("hello there")
			})
			defer server.Close()
			status, answer := mustPost(t, server.BaseURL+tt.path, tt.body)
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, answer)
			}
			rest := answer
			for _, want := range tt.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("the stream lacks %q after what came before:\n%s", want, answer)
				}
				rest = after
			}
			if got.Model != "m" || got.MaxOutput != 9 || got.Messages[0].Blocks[0].Text != "hi" {
				t.Errorf("the request was understood as %+v", got)
			}
		})
	}
}

func TestServerRefusesMalformedRequests(t *testing.T) {
	const path, head = "/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[`
	const user = `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	const call = `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"list","input":{}}]}`
	server := modeltest.NewServer(modeltest.Anthropic, func(pawl.ModelRequest) modeltest.Reply {
		t.Error("a malformed request was answered")
		return modeltest.Reply{}
	})
	defer server.Close()
	for name, tt := range map[string]struct{ path, body, want string }{
		"another address":         {"/v1/complete", `{}`, "is not POST /v1/messages"},
		"no JSON":                 {path, `{`, "unexpected end"},
		"no stream":               {path, `{"model":"m","max_tokens":9,"messages":[` + user + `]}`, "must be set"},
		"no messages":             {path, head + `]}`, "no messages"},
		"the assistant first":     {path, head + call + `]}`, "not from the user"},
		"one role twice":          {path, head + user + `,` + user + `]}`, "the same role"},
		"a call without result":   {path, head + user + `,` + call + `]}`, "no result"},
		"words before the result": {path, head + user + `,` + call + `,` + user + `]}`, "before every call is answered"},
		"a result without call":   {path, head + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}`, "answers no call"},
		"arguments as a text":     {path, head + user + `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":"x"}]}]}`, "arguments of the call"},
		"an empty text":           {path, head + `{"role":"user","content":[{"type":"text","text":""}]}]}`, "a text is empty"},
		"thinking at the end":     {path, head + user + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"}]}]}`, "cannot be thinking"},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := mustPost(t, server.BaseURL+tt.path, tt.body)
			if status != http.StatusBadRequest || !strings.Contains(answer, tt.want) {
				t.Errorf("status %d, %s; want 400 with %q", status, answer, tt.want)
			}
		})
	}
}
