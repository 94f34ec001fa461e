package script_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/model/script"
)

func mustParse(tb testing.TB, yaml string) *script.Script {
	tb.Helper()
	s, err := script.Parse("demo.yaml", []byte(yaml))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// session is a transcript that grows as a runner's does.
type session struct {
	tb    testing.TB
	model pawl.Model
	req   pawl.ModelRequest
}

func newSession(tb testing.TB, m pawl.Model, place pawl.Place) *session {
	place.Turn = 1
	return &session{tb, m, pawl.ModelRequest{
		Model: "scripted", MaxOutput: 100, Place: place,
		Messages: []pawl.Message{{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "prompt"}}}},
	}}
}

// say asks for the next reply.
func (s *session) say() pawl.ModelReply {
	s.tb.Helper()
	reply, err := s.model.Call(s.tb.Context(), s.req, nil)
	if err != nil {
		s.tb.Fatalf("Call: %v", err)
	}
	return reply
}

// answer appends a reply and the results of its calls: the last result for the
// last call, the first for all others.
func (s *session) answer(reply pawl.ModelReply, results ...pawl.Block) {
	message := pawl.Message{Role: pawl.RoleUser}
	for i, b := range reply.Message.Blocks {
		if b.Kind == pawl.BlockToolUse {
			result := results[0]
			if i == len(reply.Message.Blocks)-1 {
				result = results[len(results)-1]
			}
			result.Kind, result.CallID = pawl.BlockToolResult, b.CallID
			message.Blocks = append(message.Blocks, result)
		}
	}
	message.Blocks = append(message.Blocks, pawl.Block{Kind: pawl.BlockText, Text: "a reminder"})
	s.req.Messages = append(s.req.Messages, reply.Message, message)
	s.req.Place.Turn++
}

var (
	worked      = pawl.Block{Text: "fine"}
	failed      = pawl.Block{Text: "no such file", IsError: true}
	interrupted = pawl.Block{Text: "interrupted: check the state", IsError: true}
)

func said(r pawl.ModelReply) string {
	for _, b := range r.Message.Blocks {
		if b.Kind == pawl.BlockText {
			return b.Text
		}
	}
	return ""
}

func TestReply(t *testing.T) {
	s := mustParse(t, `
answers:
  - when: {turn: 1}
    say: |
      I write the file.
      Then I run it.
    calls:
      - write:
          path: a.go
          content: |
            package a
          mode: 420
          tags: [x, 2, true, null, {deep: 1.5}]
      - list:
      - read: '{"path": oops'
  - when: {turn: 2}
    say: Done.
    usage: {input: 1200, output: 300, cache_read: 5, cache_write: 6}
  - when: {turn: 3}
    calls: [read: {path: b}]
    stop: max_output
`)
	x := newSession(t, s, pawl.Place{})
	var deltas []pawl.ModelDelta
	reply, err := s.Call(t.Context(), x.req, func(d pawl.ModelDelta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatal(err)
	}
	want := pawl.ModelReply{
		Message: pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{
			{Kind: pawl.BlockText, Text: "I write the file.\nThen I run it.\n"},
			{Kind: pawl.BlockToolUse, CallID: "call-1-1", Tool: "write", Args: json.RawMessage(`{"content":"package a\n","mode":420,"path":"a.go","tags":["x",2,true,null,{"deep":1.5}]}`)},
			{Kind: pawl.BlockToolUse, CallID: "call-1-2", Tool: "list", Args: json.RawMessage(`{}`)},
			{Kind: pawl.BlockToolUse, CallID: "call-1-3", Tool: "read", Args: json.RawMessage(`"{\"path\": oops"`)},
		}},
		Stop:  pawl.StopToolUse,
		Model: "scripted",
		Usage: reply.Usage,
	}
	if d := cmp.Diff(want, reply); d != "" {
		t.Errorf("reply (-want +got):\n%s", d)
	}
	if reply.Usage.Input != 2 || reply.Usage.Output < 30 {
		t.Errorf("usage is %+v, want a token per four bytes", reply.Usage)
	}
	wantDeltas := []pawl.ModelDelta{{Text: "I write the file.\n"}, {Text: "Then I run it.\n"}, {Tool: "write"}, {Tool: "list"}, {Tool: "read"}}
	if d := cmp.Diff(wantDeltas, deltas); d != "" {
		t.Errorf("deltas (-want +got):\n%s", d)
	}

	x.answer(reply, worked)
	reply = x.say()
	if d := cmp.Diff(pawl.Usage{Input: 1200, Output: 300, CacheRead: 5, CacheWrite: 6}, reply.Usage); d != "" || reply.Stop != pawl.StopEnd {
		t.Errorf("the second reply is %+v", reply)
	}
	x.answer(reply)
	if reply = x.say(); reply.Stop != pawl.StopMaxOutput || reply.Message.Blocks[0].CallID != "call-3-1" {
		t.Errorf("the third reply is %+v", reply)
	}
}

func TestWhen(t *testing.T) {
	s := mustParse(t, `
answers:
  - {when: {role: judge, lens: [security, speed]}, say: lens}
  - {when: {role: judge}, say: judge}
  - {when: {loop: task, step: fix, tier: 3}, say: top tier}
  - {when: {iteration: [2, 3], attempt: 2}, say: second attempt}
  - {when: {last: error}, say: something failed}
  - {when: {last: ok}, say: all went well}
  - {say: otherwise, calls: [list: {}]}
`)
	for _, tt := range []struct {
		place pawl.Place
		want  string
	}{
		{pawl.Place{Role: "judge", Lens: "speed"}, "lens"},
		{pawl.Place{Role: "judge", Lens: "style"}, "judge"},
		{pawl.Place{Loop: "task", Step: "fix", Tier: 3}, "top tier"},
		{pawl.Place{Loop: "task", Step: "fix", Tier: 2}, "otherwise"},
		{pawl.Place{Iteration: 3, Attempt: 2}, "second attempt"},
		{pawl.Place{Iteration: 1, Attempt: 2}, "otherwise"},
	} {
		if got := said(newSession(t, s, tt.place).say()); got != tt.want {
			t.Errorf("at %+v the script says %q, want %q", tt.place, got, tt.want)
		}
	}
	x := newSession(t, s, pawl.Place{})
	x.answer(x.say(), worked)
	if got := said(x.say()); got != "all went well" {
		t.Errorf("after a result the script says %q", got)
	}
	y := newSession(t, s, pawl.Place{})
	y.answer(y.say(), failed)
	if got := said(y.say()); got != "something failed" {
		t.Errorf("after a failure the script says %q", got)
	}
}

const threeTurns = `
answers:
  - {when: {turn: 1}, say: one, calls: [run: {command: a}, run: {command: b}]}
  - {when: {turn: 2, last: ok}, say: two, calls: [run: {command: c}]}
  - {when: {turn: 3, last: ok}, say: three, calls: [run: {command: d}]}
  - {when: {turn: 4}, say: end}
`

// A run that is killed in any of its turns, any number of times, hears the
// same answers in the same order as one that is not.
func TestInterruptedTurnsAreRepeated(t *testing.T) {
	for _, results := range [][]pawl.Block{
		{interrupted},         // everything was lost
		{worked, interrupted}, // one of several calls was lost
	} {
		rapid.Check(t, func(rt *rapid.T) {
			x := newSession(t, mustParse(t, threeTurns), pawl.Place{Role: "implementation"})
			ids := map[string]bool{}
			for _, want := range []string{"one", "two", "three", "end"} {
				for range rapid.IntRange(0, 3).Draw(rt, "kills in "+want) {
					reply := x.say()
					noteIDs(rt, reply, ids)
					if said(reply) != want {
						rt.Fatalf("the script says %q, want %q again", said(reply), want)
					}
					if want == "end" {
						break // it calls nothing that could be interrupted
					}
					x.answer(reply, results...)
				}
				reply := x.say()
				noteIDs(rt, reply, ids)
				if said(reply) != want {
					rt.Fatalf("the script says %q, want %q", said(reply), want)
				}
				x.answer(reply, worked)
			}
		})
	}
}

// noteIDs checks that no call has the id of an earlier one, unless the reply was not taken.
func noteIDs(rt *rapid.T, reply pawl.ModelReply, ids map[string]bool) {
	for _, b := range reply.Message.Blocks {
		if b.Kind == pawl.BlockToolUse {
			if ids[b.CallID] {
				rt.Fatalf("the id %s is given twice", b.CallID)
			}
			ids[b.CallID] = true
		}
	}
}

func TestAnswersToInterruption(t *testing.T) {
	s := mustParse(t, `
answers:
  - {when: {last: interrupted}, say: I look first., calls: [list: {}]}
  - {when: {turn: 1}, say: one, calls: [run: {command: a}]}
  - {when: {turn: 2}, say: two}
`)
	x := newSession(t, s, pawl.Place{})
	x.answer(x.say(), interrupted)
	reply := x.say()
	if said(reply) != "I look first." {
		t.Fatalf("after an interruption the script says %q", said(reply))
	}
	x.answer(reply, worked)
	if got := said(x.say()); got != "two" {
		t.Errorf("after the look the script says %q: the look takes the place of the lost turn", got)
	}
}

func TestTurnIsCountedWithoutAPlace(t *testing.T) {
	x := newSession(t, mustParse(t, threeTurns), pawl.Place{})
	for _, want := range []string{"one", "two", "three", "end"} {
		x.req.Place.Turn = 0
		reply := x.say()
		if said(reply) != want {
			t.Fatalf("the script says %q, want %q", said(reply), want)
		}
		x.answer(reply, worked)
	}
}

func TestErrors(t *testing.T) {
	s := mustParse(t, `
answers:
  - when: {turn: 1, role: a}
    error: {kind: rate_limit, wait_ms: 1500, status: 429, message: Slow down., times: 2}
    say: at last
  - when: {turn: 1, role: b}
    error: {kind: network, times: 1}
  - {when: {turn: 1, role: b}, say: the next one}
  - {when: {role: c}, error: {kind: auth}}
`)
	failure := func(x *session) *pawl.ModelError {
		t.Helper()
		_, err := s.Call(t.Context(), x.req, nil)
		typed, _ := err.(*pawl.ModelError)
		return typed
	}
	slow := &pawl.ModelError{Kind: pawl.ModelRateLimit, Wait: 1500 * time.Millisecond, Status: 429, Message: "Slow down."}
	for _, run := range []pawl.RunID{"001-x", "002-y"} { // each place has its own count
		x := newSession(t, s, pawl.Place{Run: run, Role: "a"})
		for range 2 {
			if d := cmp.Diff(slow, failure(x)); d != "" {
				t.Errorf("error (-want +got):\n%s", d)
			}
		}
		if got := said(x.say()); got != "at last" {
			t.Errorf("after its errors the script says %q", got)
		}
	}
	x := newSession(t, s, pawl.Place{Role: "b"})
	if got := failure(x); got == nil || got.Kind != pawl.ModelNetwork {
		t.Errorf("the first try gives %v", got)
	}
	if got := said(x.say()); got != "the next one" {
		t.Errorf("an answer that only fails gives way to %q", got)
	}
	x = newSession(t, s, pawl.Place{Role: "c"})
	for range 5 {
		if got := failure(x); got == nil || got.Kind != pawl.ModelAuth {
			t.Errorf("an error without times gives %v", got)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	s := mustParse(t, `
answers:
  - when: {role: judge}
    say: no
  - when: {role: implementation, iteration: 1}
    say: first
  - when: {role: implementation, iteration: 2, turn: [1, 2]}
    say: second
`)
	x := newSession(t, s, pawl.Place{Role: "implementation", Loop: "task", Step: "implement", Lens: "speed", Iteration: 3, Attempt: 1, Tier: 2})
	_, err := s.Call(t.Context(), x.req, nil)
	typed, ok := err.(*pawl.ModelError)
	if !ok || typed.Kind != pawl.ModelBadRequest {
		t.Fatalf("Call returned %v, want a bad request", err)
	}
	want := "demo.yaml has no answer for role implementation, loop task, step implement, lens speed, " +
		"iteration 3, attempt 1, tier 2, turn 1; " +
		"nearest: line 3 (not its role); line 5 (not its iteration); line 7 (not its iteration)"
	if typed.Message != want {
		t.Errorf("the message is\n%s\nwant\n%s", typed.Message, want)
	}
	x.req.Place.Role = strings.Repeat("long", 200)
	if _, err := s.Call(t.Context(), x.req, nil); len(err.(*pawl.ModelError).Message) > 300 {
		t.Errorf("the message has %d bytes", len(err.(*pawl.ModelError).Message))
	}
}

func TestDelay(t *testing.T) {
	s := mustParse(t, "answers:\n  - {say: hm, delay_ms: 5000}\n")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, err := s.Call(t.Context(), pawl.ModelRequest{}, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the answer took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Call(ctx, pawl.ModelRequest{}, nil); err != context.DeadlineExceeded {
			t.Errorf("Call returned %v, want the context's error", err)
		}
		if _, err := s.Call(ctx, pawl.ModelRequest{}, nil); err != context.DeadlineExceeded {
			t.Errorf("Call returned %v, want the context's error", err)
		}
	})
}
