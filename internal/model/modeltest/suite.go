package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"pawl"
)

// Endpoint is where the model under test finds its server.
type Endpoint struct {
	BaseURL string
	Key     string
	Client  *http.Client // its idle connections are closed at the end of the test
}

// key is the API key of the suite. No error may hold it.
const key = "test-key-0123456789abcdef"

// quiet is the idle limit of tests in which the server falls silent, and
// patient that of all others: nothing waits for it.
const (
	quiet   = 50 * time.Millisecond
	patient = 30 * time.Second
)

// Run runs the suite against the models newModel makes. opaque is a block of
// reasoning in the protocol's own form, with the provider's name.
func Run(t *testing.T, w Wire, opaque pawl.Block, newModel func(Endpoint) pawl.Model) {
	s := &suite{wire: w, opaque: opaque, newModel: newModel}
	t.Run("replies", s.replies)
	t.Run("tool calls", s.calls)
	t.Run("requests", s.requests)
	t.Run("errors", s.failures)
	t.Run("broken streams", s.brokenStreams)
	t.Run("silence", s.silence)
	t.Run("cancellation", s.cancellation)
	t.Run("concurrent calls", s.concurrency)
}

type suite struct {
	wire     Wire
	opaque   pawl.Block
	newModel func(Endpoint) pawl.Model
}

// fixture is a server and a model that calls it.
type fixture struct {
	*Server
	model pawl.Model
}

// serve starts a fixture whose server answers with answer. At the end of the
// test nothing of it may be left running.
func (s *suite) serve(t *testing.T, answer func(pawl.ModelRequest) Reply) *fixture {
	t.Helper()
	before := goleak.IgnoreCurrent()
	server := NewServer(s.wire, answer)
	server.Key = key
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
		if err := goleak.Find(before); err != nil {
			t.Errorf("goroutines are left: %v", err)
		}
		for _, r := range server.Received() {
			if r.Problem != nil {
				t.Errorf("the server received a malformed request: %v\n%s", r.Problem, r.Body)
			}
		}
	})
	return &fixture{Server: server, model: s.newModel(Endpoint{BaseURL: server.BaseURL, Key: key, Client: client})}
}

func (s *suite) says(t *testing.T, r Reply) *fixture {
	t.Helper()
	return s.serve(t, func(pawl.ModelRequest) Reply { return r })
}

// ask is a request with one message of the user.
func ask(text string) pawl.ModelRequest {
	return pawl.ModelRequest{
		Model:     "test-model",
		MaxOutput: 1000,
		Idle:      patient,
		Messages:  []pawl.Message{{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: text}}}},
	}
}

func call(id, tool, args string) pawl.Block {
	return pawl.Block{Kind: pawl.BlockToolUse, CallID: id, Tool: tool, Args: json.RawMessage(args)}
}

func text(s string) pawl.Block { return pawl.Block{Kind: pawl.BlockText, Text: s} }

// mustCall returns the reply and what went to the sink and is shown.
func mustCall(t *testing.T, f *fixture, req pawl.ModelRequest) (pawl.ModelReply, []pawl.ModelDelta) {
	t.Helper()
	var deltas []pawl.ModelDelta
	reply, err := f.model.Call(t.Context(), req, func(d pawl.ModelDelta) {
		if d != (pawl.ModelDelta{}) {
			deltas = append(deltas, d)
		}
	})
	if err != nil {
		t.Fatalf("Call: %v", err)
	}
	return reply, deltas
}

// wantError checks that err is a ModelError of the kind, fit to be shown.
func wantError(t *testing.T, err error, kind pawl.ModelErrorKind) *pawl.ModelError {
	t.Helper()
	typed, ok := errors.AsType[*pawl.ModelError](err)
	if !ok {
		t.Fatalf("Call returned %v (%T), want a *pawl.ModelError", err, err)
	}
	if typed.Kind != kind {
		t.Errorf("kind is %s, want %s (%v)", typed.Kind, kind, err)
	}
	if strings.Contains(err.Error(), key) {
		t.Errorf("the error holds the API key: %v", err)
	}
	if len(typed.Message) > 300 || strings.ContainsFunc(typed.Message, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("the message is not clean: %q", typed.Message)
	}
	return typed
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func (s *suite) replies(t *testing.T) {
	t.Run("text", func(t *testing.T) {
		const said = "I read the file, and it is fine. Ünïcödé ✓ too."
		f := s.says(t, Reply{
			Blocks: []pawl.Block{text(said)},
			Usage:  pawl.Usage{Input: 100, CacheRead: 2000, CacheWrite: 300, Output: 40},
			Model:  "test-model-2026",
		})
		reply, deltas := mustCall(t, f, ask("hello"))
		diff(t, "reply", pawl.ModelReply{
			Message: pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{text(said)}},
			Stop:    pawl.StopEnd,
			Usage:   pawl.Usage{Input: 100, CacheRead: 2000, CacheWrite: 300, Output: 40},
			Model:   "test-model-2026",
		}, reply)
		shown := ""
		for _, d := range deltas {
			shown += d.Text
		}
		if shown != said || len(deltas) < 2 {
			t.Errorf("the sink got %d pieces, together %q", len(deltas), shown)
		}
	})
	t.Run("without a sink", func(t *testing.T) {
		f := s.says(t, Text("fine"))
		if _, err := f.model.Call(t.Context(), ask("hello"), nil); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("usage that is not told is estimated", func(t *testing.T) {
		f := s.says(t, Text("four"))
		reply, _ := mustCall(t, f, ask("eight by"))
		diff(t, "usage", pawl.Usage{Input: 2, Output: 1}, reply.Usage)
	})
	t.Run("an empty reply", func(t *testing.T) {
		f := s.says(t, Reply{Usage: pawl.Usage{Input: 10, Output: 1}})
		reply, _ := mustCall(t, f, ask("anything?"))
		diff(t, "reply", pawl.ModelReply{Message: pawl.Message{Role: pawl.RoleAssistant}, Stop: pawl.StopEnd, Model: "test-model", Usage: pawl.Usage{Input: 10, Output: 1}}, reply)
	})
	t.Run("a slow stream", func(t *testing.T) {
		r := Reply{Blocks: []pawl.Block{text("Slowly."), call("call_1", "read", `{"path":"a"}`)}, Pace: time.Millisecond}
		reply, _ := mustCall(t, s.says(t, r), ask("go"))
		diff(t, "blocks", r.Blocks, reply.Message.Blocks)
	})
}

func (s *suite) calls(t *testing.T) {
	t.Run("one call in pieces", func(t *testing.T) {
		const args = `{"path":"a/b.go","content":"package b\n\n// <&> ✓\n","mode":420}`
		f := s.says(t, Reply{Blocks: []pawl.Block{call("call_1", "write", args)}})
		reply, deltas := mustCall(t, f, ask("write it"))
		diff(t, "blocks", []pawl.Block{call("call_1", "write", args)}, reply.Message.Blocks)
		diff(t, "stop", pawl.StopToolUse, reply.Stop)
		diff(t, "deltas", []pawl.ModelDelta{{Tool: "write"}}, deltas)

		// Heard is called for what is not shown, too: each piece of the arguments.
		heard := 0
		if _, err := f.model.Call(t.Context(), ask("write it"), func(d pawl.ModelDelta) {
			if d == (pawl.ModelDelta{}) {
				heard++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if least := len(pieces(args)); heard < least {
			t.Errorf("%d events were heard, want at least %d", heard, least)
		}
	})
	t.Run("several calls after a text", func(t *testing.T) {
		blocks := []pawl.Block{text("Three at once."), call("call_1", "read", `{"path":"a"}`), call("call_2", "read", `{"path":"b"}`), call("call_3", "list", `{}`)}
		f := s.says(t, Reply{Blocks: blocks})
		reply, _ := mustCall(t, f, ask("go"))
		diff(t, "blocks", blocks, reply.Message.Blocks)
		diff(t, "stop", pawl.StopToolUse, reply.Stop)
	})
	t.Run("a call without arguments", func(t *testing.T) {
		f := s.says(t, Reply{Blocks: []pawl.Block{call("call_1", "list", "")}})
		reply, _ := mustCall(t, f, ask("list"))
		diff(t, "blocks", []pawl.Block{call("call_1", "list", `{}`)}, reply.Message.Blocks)
	})
	t.Run("arguments that are not JSON come as a string", func(t *testing.T) {
		f := s.says(t, Reply{Blocks: []pawl.Block{call("call_1", "write", `{"path": oops}`)}})
		reply, _ := mustCall(t, f, ask("write"))
		diff(t, "blocks", []pawl.Block{call("call_1", "write", `"{\"path\": oops}"`)}, reply.Message.Blocks)
	})
	t.Run("a call cut off by the output limit", func(t *testing.T) {
		f := s.says(t, Reply{
			Blocks: []pawl.Block{text("Writing."), call("call_1", "read", `{"path":"a"}`), call("call_2", "write", `{"path":"a","cont`)},
			Stop:   pawl.StopMaxOutput,
		})
		reply, _ := mustCall(t, f, ask("write"))
		diff(t, "stop", pawl.StopMaxOutput, reply.Stop)
		diff(t, "blocks", []pawl.Block{text("Writing."), call("call_1", "read", `{"path":"a"}`), call("call_2", "write", `{}`)}, reply.Message.Blocks)
	})
}

// conversation is a transcript with everything a transcript can hold. Results
// come first and one text follows, as every protocol can carry it.
func (s *suite) conversation() pawl.ModelRequest {
	req := ask("Add a function.")
	req.System = "You are careful.\nYou write Go."
	req.Tools = []pawl.ToolSpec{
		{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`)},
		{Name: "list", Description: "Lists files.", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	req.Messages = append(req.Messages,
		pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{s.opaque, text("I look."), call("call_1", "read", `{"path":"a.go"}`), call("call_2", "list", `{}`)}},
		pawl.Message{Role: pawl.RoleUser, Blocks: []pawl.Block{
			{Kind: pawl.BlockToolResult, CallID: "call_1", Text: "package a"},
			{Kind: pawl.BlockToolResult, CallID: "call_2", Text: "no such folder", IsError: true},
			text("Remember to test."),
		}},
		pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{text("It is there already.")}},
		pawl.Message{Role: pawl.RoleUser, Blocks: []pawl.Block{text("Then say so.")}},
	)
	return req
}

// sent is a request as the server understood it.
func (s *suite) sent(t *testing.T, req pawl.ModelRequest) pawl.ModelRequest {
	t.Helper()
	f := s.says(t, Text("ok"))
	mustCall(t, f, req)
	got := f.Received()
	if len(got) != 1 {
		t.Fatalf("the server received %d requests, want 1", len(got))
	}
	return got[0].Request
}

func (s *suite) requests(t *testing.T) {
	t.Run("a conversation arrives whole", func(t *testing.T) {
		req := s.conversation()
		got := s.sent(t, req)
		got.Idle = req.Idle // is not sent
		diff(t, "request", req, got)
	})
	t.Run("two turns with a tool", func(t *testing.T) {
		first := Reply{Blocks: []pawl.Block{s.opaque, call("call_1", "read", `{"path":"a.go"}`)}}
		f := s.serve(t, func(req pawl.ModelRequest) Reply {
			if len(req.Messages) == 1 {
				return first
			}
			return Text("It is " + req.Messages[2].Blocks[0].Text + ".")
		})
		req := ask("What is a.go?")
		reply, deltas := mustCall(t, f, req)
		diff(t, "first reply", first.Blocks, reply.Message.Blocks)
		if len(deltas) == 0 || deltas[0].Reasoning == "" {
			t.Errorf("the sink got no reasoning first: %+v", deltas)
		}
		result := pawl.Block{Kind: pawl.BlockToolResult, CallID: "call_1", Text: "a package"}
		req.Messages = append(req.Messages, reply.Message, pawl.Message{Role: pawl.RoleUser, Blocks: []pawl.Block{result}})
		reply, _ = mustCall(t, f, req)
		diff(t, "second reply", []pawl.Block{text("It is a package.")}, reply.Message.Blocks)
		diff(t, "reasoning that went back", first.Blocks, f.Received()[1].Request.Messages[1].Blocks)
	})
	t.Run("results go before a text that stood first", func(t *testing.T) {
		req := s.conversation()
		want := req.Messages[2].Blocks
		req.Messages[2].Blocks = []pawl.Block{want[2], want[0], want[1]}
		diff(t, "blocks", want, s.sent(t, req).Messages[2].Blocks)
	})
	t.Run("what providers refuse is left out", func(t *testing.T) {
		req := s.conversation()
		want := req.Messages[1].Blocks
		foreign := s.opaque
		foreign.Provider = "another"
		req.Messages[1].Blocks = append([]pawl.Block{foreign, text("  \n")}, want...)
		req.Messages[3].Blocks = append(req.Messages[3].Blocks, s.opaque)
		got := s.sent(t, req)
		diff(t, "blocks", want, got.Messages[1].Blocks)
		diff(t, "last assistant message", []pawl.Block{text("It is there already.")}, got.Messages[3].Blocks)
	})
	t.Run("arguments that were no object go back as one", func(t *testing.T) {
		req := s.conversation()
		req.Messages[1].Blocks[2].Args = json.RawMessage(`"{oops"`)
		diff(t, "arguments", `{"invalid_arguments":"{oops"}`, string(s.sent(t, req).Messages[1].Blocks[2].Args))
	})
	t.Run("that cannot be made", s.impossible)
}

func (s *suite) impossible(t *testing.T) {
	t.Run("a schema that is not JSON", func(t *testing.T) {
		f := s.says(t, Text("never"))
		req := ask("x")
		req.Tools = []pawl.ToolSpec{{Name: "read", Schema: json.RawMessage(`{`)}}
		_, err := f.model.Call(t.Context(), req, nil)
		wantError(t, err, pawl.ModelBadRequest)
	})
	t.Run("an unknown block or role", func(t *testing.T) {
		f := s.says(t, Text("never"))
		req := ask("x")
		req.Messages[0].Blocks[0].Kind = "picture"
		_, err := f.model.Call(t.Context(), req, nil)
		wantError(t, err, pawl.ModelBadRequest)
		req = ask("x")
		req.Messages[0].Role = "system"
		_, err = f.model.Call(t.Context(), req, nil)
		wantError(t, err, pawl.ModelBadRequest)
	})
}

func (s *suite) cancellation(t *testing.T) {
	hang := Fault{Kind: FaultHang, At: AtText}
	t.Run("in the middle of a reply", func(t *testing.T) {
		f := s.says(t, Reply{Blocks: []pawl.Block{text("This never ends.")}, Fault: hang})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := f.model.Call(ctx, ask("go"), func(pawl.ModelDelta) { cancel() })
		if err != context.Canceled {
			t.Errorf("Call returned %v, want the context's error", err)
		}
	})
	t.Run("before the first byte", func(t *testing.T) {
		arrived := make(chan struct{})
		f := s.serve(t, func(pawl.ModelRequest) Reply {
			close(arrived)
			return Reply{Fault: Fault{Kind: FaultHang, At: AtHeaders}}
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-arrived
			cancel()
		}()
		if _, err := f.model.Call(ctx, ask("go"), nil); err != context.Canceled {
			t.Errorf("Call returned %v, want the context's error", err)
		}
	})
	t.Run("a deadline", func(t *testing.T) {
		f := s.says(t, Reply{Blocks: []pawl.Block{text("This never ends.")}, Fault: hang})
		ctx, cancel := context.WithTimeout(t.Context(), quiet)
		defer cancel()
		if _, err := f.model.Call(ctx, ask("go"), nil); err != context.DeadlineExceeded {
			t.Errorf("Call returned %v, want the context's error", err)
		}
	})
	t.Run("before the call", func(t *testing.T) {
		f := s.says(t, Text("never"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.model.Call(ctx, ask("go"), nil); err != context.Canceled {
			t.Errorf("Call returned %v, want the context's error", err)
		}
	})
}

func (s *suite) concurrency(t *testing.T) {
	f := s.serve(t, func(req pawl.ModelRequest) Reply {
		return Text("You said: " + req.Messages[0].Blocks[0].Text)
	})
	const calls = 8
	errs := make(chan error, calls)
	for i := range calls {
		go func() {
			said := fmt.Sprintf("number %d", i)
			reply, err := f.model.Call(t.Context(), ask(said), nil)
			if err == nil && reply.Message.Blocks[0].Text != "You said: "+said {
				err = fmt.Errorf("call %d got %q", i, reply.Message.Blocks[0].Text)
			}
			errs <- err
		}()
	}
	for range calls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
