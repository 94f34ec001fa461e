package answers_test

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/delegate/answers"
)

// agent is an agent that gets answers during its turn. It then succeeds, or fails with err, or waits for
// its end if err is nil.
type agent struct {
	watch    *answers.Watch
	gets     []pawl.GatewayAnswer
	err      error
	succeeds bool
	ended    bool // its turn was ended during the answers
}

func (a *agent) Turn(ctx context.Context, _ pawl.Room, _ pawl.AgentTurn, _ func(pawl.AgentUpdate)) (pawl.AgentReply, error) {
	for _, x := range a.gets {
		a.watch.Answered(x)
	}
	a.ended = ctx.Err() != nil
	reply := pawl.AgentReply{Usage: pawl.Usage{Input: 7}}
	if a.err != nil || a.succeeds {
		return reply, a.err
	}
	<-ctx.Done()
	return reply, ctx.Err()
}

func TestTurn(t *testing.T) {
	answer := func(status int, body string, header ...string) pawl.GatewayAnswer {
		a := pawl.GatewayAnswer{Status: status, Body: []byte(body), Header: map[string][]string{}}
		for i := 0; i < len(header); i += 2 {
			a.Header[header[i]] = []string{header[i+1]}
		}
		return a
	}
	refused := pawl.GatewayAnswer{Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	fine := answer(200, "")
	slow := answer(429, `{"error":{"type":"rate_limit_error","message":"slow down"}}`, "Retry-After", "2")
	vague := &pawl.ModelError{Kind: pawl.ModelOverloaded, Message: "Internal error"}
	for name, tt := range map[string]struct {
		gets []pawl.GatewayAnswer
		err  error
		want pawl.ModelError
	}{
		"Quota":      {[]pawl.GatewayAnswer{answer(429, `{"error":{"code":"insufficient_quota","message":"no"}}`)}, nil, pawl.ModelError{Kind: pawl.ModelQuota}},
		"LongWait":   {[]pawl.GatewayAnswer{answer(429, "", "Retry-After", "7200")}, nil, pawl.ModelError{Kind: pawl.ModelRateLimit, Wait: 2 * time.Hour}},
		"Google":     {[]pawl.GatewayAnswer{answer(429, `{"error":{"status":"RESOURCE_EXHAUSTED","message":"quota exceeded","details":[{"retryDelay":"3600s"}]}}`)}, nil, pawl.ModelError{Kind: pawl.ModelQuota, Wait: time.Hour}},
		"NoServer":   {[]pawl.GatewayAnswer{refused}, nil, pawl.ModelError{Kind: pawl.ModelNoServer, Unsent: true}},
		"ServerLost": {[]pawl.GatewayAnswer{fine, refused}, nil, pawl.ModelError{Kind: pawl.ModelNoServer}},
		"ManyTimes":  {[]pawl.GatewayAnswer{slow, slow, slow, slow, slow, slow}, nil, pawl.ModelError{Kind: pawl.ModelRateLimit, Wait: 2 * time.Second}},
		"FiveTimes":  {[]pawl.GatewayAnswer{slow, slow, slow, slow, slow}, vague, pawl.ModelError{Kind: pawl.ModelRateLimit, Wait: 2 * time.Second}},
		"NotInARow":  {[]pawl.GatewayAnswer{slow, slow, slow, slow, slow, fine, slow}, vague, pawl.ModelError{Kind: pawl.ModelRateLimit, Wait: 2 * time.Second}},
		"ShortWait":  {[]pawl.GatewayAnswer{answer(429, "", "Retry-After", "60")}, vague, pawl.ModelError{Kind: pawl.ModelRateLimit, Wait: time.Minute}},
		"NoProgram":  {[]pawl.GatewayAnswer{slow}, &pawl.ModelError{Kind: pawl.ModelNoStart, Unsent: true}, pawl.ModelError{Kind: pawl.ModelNoStart, Unsent: true}},
		"Unknown":    {[]pawl.GatewayAnswer{answer(404, `{"error":{"type":"not_found_error","message":"model: nope"}}`)}, vague, pawl.ModelError{Kind: pawl.ModelUnknown}},
		"Context":    {[]pawl.GatewayAnswer{answer(400, `{"error":{"code":"context_length_exceeded","message":"no"}}`)}, vague, pawl.ModelError{Kind: pawl.ModelContextLong}},
		"Recovered":  {[]pawl.GatewayAnswer{slow, fine}, vague, pawl.ModelError{Kind: pawl.ModelOverloaded}},
		"NoSession":  {[]pawl.GatewayAnswer{slow}, &pawl.ModelError{Kind: pawl.ModelNoSession}, pawl.ModelError{Kind: pawl.ModelNoSession}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &answers.Watch{Host: "127.0.0.1:9"}
			done := false
			inner := &agent{watch: w, gets: tt.gets, err: tt.err}
			a := &answers.Agent{Agent: inner, Watch: w, Done: func() { done = true }}
			_, err := a.Turn(t.Context(), nil, pawl.AgentTurn{}, nil)
			e, ok := errors.AsType[*pawl.ModelError](err)
			if !ok || e.Kind != tt.want.Kind || e.Wait != tt.want.Wait || e.Unsent != tt.want.Unsent || !done {
				t.Fatalf("got %+v, want %+v", err, tt.want)
			}
			if inner.ended != (tt.err == nil) {
				t.Errorf("the turn was ended: %t", inner.ended)
			}
			if err != tt.err && !e.Unsent && (e.Used.Input != 7 || !e.Estimated) {
				t.Errorf("the turn used %+v, estimated: %t", e.Used, e.Estimated)
			}
		})
	}
	t.Run("Success", func(t *testing.T) {
		w := &answers.Watch{}
		a := &answers.Agent{Agent: &agent{watch: w, gets: []pawl.GatewayAnswer{slow}, succeeds: true}, Watch: w, Done: func() {}}
		if reply, err := a.Turn(t.Context(), nil, pawl.AgentTurn{}, nil); err != nil || reply.Usage.Input != 7 {
			t.Errorf("got %+v, %v", reply, err)
		}
	})
	t.Run("Cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := &answers.Watch{}
		a := &answers.Agent{Agent: &agent{watch: w, gets: []pawl.GatewayAnswer{slow}}, Watch: w, Done: func() {}}
		if _, err := a.Turn(ctx, nil, pawl.AgentTurn{}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
	})
}
