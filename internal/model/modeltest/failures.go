package modeltest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pawl"
)

// status is an HTTP error answer and what it must be taken for.
type status struct {
	name   string
	status int
	header http.Header
	body   string
	kind   pawl.ModelErrorKind
	wait   time.Duration
}

func (s *suite) statuses() []status {
	says := s.wire.protocol().problem
	return []status{
		{name: "rate limit in seconds", status: 429, header: http.Header{"Retry-After": {"7"}}, body: says("rate_limit_error", "slow down, "+key), kind: pawl.ModelRateLimit, wait: 7 * time.Second},
		{name: "rate limit in milliseconds", status: 429, header: http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"2"}}, body: says("rate_limit_error", "slow down"), kind: pawl.ModelRateLimit, wait: 1500 * time.Millisecond},
		{name: "rate limit without a time", status: 429, body: says("rate_limit_error", "slow down"), kind: pawl.ModelRateLimit},
		{name: "no quota", status: 429, header: http.Header{"Retry-After": {"7"}}, body: says("insufficient_quota", "You exceeded your current quota."), kind: pawl.ModelQuota, wait: 7 * time.Second}, // F-44
		{name: "no quota, and nobody knows for how long", status: 429, header: http.Header{"X-Ratelimit-Remaining-Requests": {"99"}, "X-Ratelimit-Reset-Requests": {"1s"}},
			body: says("insufficient_quota", "You exceeded your current quota."), kind: pawl.ModelQuota},
		{name: "no credit until a reset", status: 402, header: http.Header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"6m0s"}},
			body: says("billing_error", "Pay first."), kind: pawl.ModelQuota, wait: 6 * time.Minute}, // F-44
		{name: "locked out for a time", status: 403, header: http.Header{"Retry-After": {"60"}}, body: says("permission_error", "Not now."), kind: pawl.ModelAuth, wait: time.Minute},
		{name: "no credit", status: 400, body: says("invalid_request_error", "Your credit balance is too low to access the API."), kind: pawl.ModelQuota},
		{name: "payment required", status: 402, body: says("billing_error", "Pay first."), kind: pawl.ModelQuota},
		{name: "server error", status: 500, body: says("api_error", "Internal server error"), kind: pawl.ModelOverloaded},
		{name: "server error that wants a retry", status: 500, header: http.Header{"X-Should-Retry": {"true"}}, body: says("api_error", "Internal server error"), kind: pawl.ModelOverloaded},
		{name: "bad gateway with a page", status: 502, body: page, kind: pawl.ModelOverloaded},
		{name: "unavailable with a time", status: 503, header: http.Header{"Retry-After": {"3"}}, kind: pawl.ModelOverloaded, wait: 3 * time.Second},
		{name: "overloaded", status: 529, kind: pawl.ModelOverloaded},
		{name: "a gateway's timeout", status: 504, body: page, kind: pawl.ModelTimeout}, // the model behind it may have answered: F-38
		{name: "unauthorized", status: 401, body: says("authentication_error", "Incorrect API key provided: "+key+" or sk-abc*****xyz."), kind: pawl.ModelAuth},
		{name: "forbidden", status: 403, body: says("permission_error", "Not for you."), kind: pawl.ModelAuth},
		{name: "bad request", status: 400, body: says("invalid_request_error", "What?"), kind: pawl.ModelBadRequest},
		{name: "no such model", status: 404, body: says("not_found_error", "model: test-model"), kind: pawl.ModelUnknown},
		{name: "too large", status: 413, body: page, kind: pawl.ModelBadRequest},
		{name: "unprocessable", status: 422, body: `{"detail":"tools are not supported"}`, kind: pawl.ModelBadRequest},
		{name: "no body", status: 400, body: " ", kind: pawl.ModelBadRequest},
		{name: "prompt too long", status: 400, body: says("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), kind: pawl.ModelContextLong},
		{name: "context length exceeded", status: 400, body: `{"error":{"message":"Too much.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, kind: pawl.ModelContextLong},
		{name: "context of a local server", status: 400, body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}`, kind: pawl.ModelContextLong},
		{name: "content policy", status: 400, body: says("content_policy_violation", "No."), kind: pawl.ModelRefused},
		{name: "redirect", status: 307, header: http.Header{"Location": {"http://127.0.0.1:1/elsewhere"}}, body: " ", kind: pawl.ModelBadRequest},
		{name: "a long and dirty message", status: 400, body: says("invalid_request_error", "\x1b[2J\u202e"+strings.Repeat("long\n", 500)+key), kind: pawl.ModelBadRequest},
	}
}

// failures checks every kind of error answer, and that each is asked for once.
func (s *suite) failures(t *testing.T) {
	for _, tt := range s.statuses() {
		t.Run(tt.name, func(t *testing.T) {
			f := s.says(t, Reply{Fault: Fault{Kind: FaultStatus, Status: tt.status, Header: tt.header, Body: tt.body}})
			_, err := f.model.Call(t.Context(), ask("go"), nil)
			typed := wantError(t, err, tt.kind)
			if typed.Status != tt.status || typed.Wait != tt.wait || typed.Message == "" {
				t.Errorf("status %d, wait %v, message %q; want status %d, wait %v and some message", typed.Status, typed.Wait, typed.Message, tt.status, tt.wait)
			}
			if n := len(f.Received()); n != 1 {
				t.Errorf("the server was asked %d times, want once", n)
			}
		})
	}
	t.Run("rate limit until a date", func(t *testing.T) {
		until := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
		f := s.says(t, Reply{Fault: Fault{Kind: FaultStatus, Status: 429, Header: http.Header{"Retry-After": {until}}}})
		_, err := f.model.Call(t.Context(), ask("go"), nil)
		typed := wantError(t, err, pawl.ModelRateLimit)
		if typed.Wait < 50*time.Minute || typed.Wait > time.Hour {
			t.Errorf("wait is %v, want about an hour", typed.Wait)
		}
	})
	t.Run("a wrong key", func(t *testing.T) {
		f := s.says(t, Text("never"))
		f.Key = "another key"
		_, err := f.model.Call(t.Context(), ask("go"), nil)
		wantError(t, err, pawl.ModelAuth)
	})
	t.Run("a refusal", func(t *testing.T) {
		_, err := s.says(t, Reply{Refusal: "I will not do that.", Usage: pawl.Usage{Input: 90, Output: 8}}).model.Call(t.Context(), ask("go"), nil)
		typed := wantError(t, err, pawl.ModelRefused)
		if !strings.Contains(typed.Message, "I will not do that.") {
			t.Errorf("the message %q does not say what the model said", typed.Message)
		}
		if want := (pawl.Usage{Input: 90, Output: 8}); typed.Used != want || typed.Estimated { // F-38
			t.Errorf("it used %+v, estimated %t, want %+v as the provider told", typed.Used, typed.Estimated, want)
		}
	})
	t.Run("of a model behind the server", s.behind)
	t.Run("connecting", s.connecting)
}

// connecting checks what keeps a request from reaching the model at all.
func (s *suite) connecting(t *testing.T) {
	t.Run("no server", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		listener.Close()
		model := s.newModel(Endpoint{BaseURL: fmt.Sprintf("http://%s/v1", address), Key: key, Client: &http.Client{Transport: &http.Transport{}}})
		_, err = model.Call(t.Context(), ask("go"), nil)
		typed := wantError(t, err, pawl.ModelNoServer) // F-28
		if !typed.Unsent {
			t.Error("a request that nobody took counts as sent")
		}
		if want := "nothing listens at " + address; typed.Message != want {
			t.Errorf("the error says %q, want %q", typed.Message, want)
		}
	})
	t.Run("a base URL that is none", func(t *testing.T) {
		for _, base := range []string{"localhost:11434/v1", "http://", "::"} {
			model := s.newModel(Endpoint{BaseURL: base, Key: key, Client: &http.Client{Transport: &http.Transport{}}})
			_, err := model.Call(t.Context(), ask("go"), nil)
			wantError(t, err, pawl.ModelBadRequest)
		}
	})
}

// behind checks that the errors of a model that speaks for the server arrive as they are.
func (s *suite) behind(t *testing.T) {
	for _, kind := range []pawl.ModelErrorKind{
		pawl.ModelRateLimit, pawl.ModelOverloaded, pawl.ModelNetwork, pawl.ModelTimeout, pawl.ModelAuth,
		pawl.ModelBadRequest, pawl.ModelContextLong, pawl.ModelRefused, pawl.ModelQuota,
	} {
		t.Run(string(kind), func(t *testing.T) {
			f := s.serve(t, AnswerWith(failingModel{&pawl.ModelError{Kind: kind, Wait: time.Second}}))
			req := ask("go")
			if kind == pawl.ModelTimeout {
				req.Idle = quiet
			}
			_, err := f.model.Call(t.Context(), req, nil)
			wantError(t, err, kind)
		})
	}
}

// failingModel is a model that always fails alike.
type failingModel struct{ err error }

func (m failingModel) Call(context.Context, pawl.ModelRequest, func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	return pawl.ModelReply{}, m.err
}

// full is a reply that has every place a fault can strike at.
func (s *suite) full(f Fault) Reply {
	return Reply{
		Blocks: []pawl.Block{s.opaque, text("I write the file now."), call("call_1", "write", `{"path":"a.go","content":"package a"}`)},
		Usage:  pawl.Usage{Input: 10, Output: 10},
		Fault:  f,
	}
}

func (s *suite) brokenStreams(t *testing.T) {
	everywhere := []Point{AtHeaders, AtStart, AtText, AtArguments, AtLast}
	inside := everywhere[1:]
	tests := []struct {
		fault  FaultKind
		points []Point
		kind   pawl.ModelErrorKind
	}{
		{FaultCut, everywhere, pawl.ModelNetwork},
		{FaultEnd, inside, pawl.ModelNetwork},
		{FaultGarbage, inside, pawl.ModelNetwork},
		{FaultHTML, everywhere, pawl.ModelNetwork},
		{FaultError, inside, pawl.ModelOverloaded},
	}
	for _, tt := range tests {
		for _, point := range tt.points {
			t.Run(fmt.Sprintf("%s at %q", tt.fault, point), func(t *testing.T) {
				f := s.says(t, s.full(Fault{Kind: tt.fault, At: point}))
				reply, err := f.model.Call(t.Context(), ask("go"), nil)
				typed := wantError(t, err, tt.kind)
				diff(t, "reply", pawl.ModelReply{}, reply)
				if free := tt.fault == FaultHTML && point == AtHeaders; typed.Free != free {
					t.Errorf("free is %t, want %t", typed.Free, free)
				}
				s.used(t, typed, point != AtHeaders && point != AtStart)
				if n := len(f.Received()); n != 1 {
					t.Errorf("the server was asked %d times, want once", n)
				}
			})
		}
	}
	events := []struct {
		name, kind, message string
		want                pawl.ModelErrorKind
	}{
		{"rate limit", "rate_limit_error", "Slow down.", pawl.ModelRateLimit},
		{"overloaded", "overloaded_error", "Overloaded, " + key, pawl.ModelOverloaded},
		{"quota", "insufficient_quota", "No money.", pawl.ModelQuota},
		{"context", "invalid_request_error", "Your input exceeds the context window of this model.", pawl.ModelContextLong},
		{"bad request", "invalid_request_error", "What?", pawl.ModelBadRequest},
		{"something new", "quantum_error", "The cat is both.", pawl.ModelOverloaded},
	}
	for _, tt := range events {
		t.Run("error event: "+tt.name, func(t *testing.T) {
			body := s.wire.protocol().problem(tt.kind, tt.message)
			f := s.says(t, s.full(Fault{Kind: FaultError, At: AtText, Body: body}))
			_, err := f.model.Call(t.Context(), ask("go"), nil)
			wantError(t, err, tt.want)
		})
	}
}

// used checks what a reply that was cut off is said to have used, if something had come: what the
// server told of it, and an estimate of the rest. F-38
func (s *suite) used(t *testing.T, e *pawl.ModelError, came bool) {
	t.Helper()
	if !came {
		if e.Used != (pawl.Usage{}) || e.Estimated {
			t.Errorf("it used %+v, but nothing came", e.Used)
		}
		return
	}
	input := int64(1) // "go", as estimated
	if s.wire == Anthropic {
		input = 10 // it begins with that
	}
	if e.Used.Input != input || e.Used.Output < 1 || e.Used.Output > 40 || e.Used.Output == 10 == e.Estimated {
		t.Errorf("it used %+v, estimated %t", e.Used, e.Estimated)
	}
}

// silence checks that a server that says nothing more ends the call, wherever
// it falls silent. How soon is checked where the clock is. What the model did then,
// nobody knows.
func (s *suite) silence(t *testing.T) {
	for _, point := range []Point{AtHeaders, AtStart, AtText, AtArguments, AtLast} {
		t.Run(fmt.Sprintf("at %q", point), func(t *testing.T) {
			f := s.says(t, s.full(Fault{Kind: FaultHang, At: point}))
			req := ask("go")
			req.Idle = quiet
			reply, err := f.model.Call(t.Context(), req, nil)
			typed := wantError(t, err, pawl.ModelTimeout)
			diff(t, "reply", pawl.ModelReply{}, reply)
			if s.used(t, typed, false); typed.Unsent || typed.Free {
				t.Errorf("unsent %t, free %t: it may have cost something", typed.Unsent, typed.Free)
			}
		})
	}
}
