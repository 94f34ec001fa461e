package prompt_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/model/anthropic"
	"pawl/internal/model/modeltest"
	"pawl/internal/model/openai"
	"pawl/internal/recipe"
	"pawl/internal/runner"
	"pawl/internal/tool"
	"pawl/internal/tool/submit"
)

// sender turns requests into bytes as a vendor's SDK does.
type sender struct {
	wire  modeltest.Wire
	model func(baseURL string) pawl.Model
}

func senders() map[string]sender {
	return map[string]sender{
		"anthropic": {modeltest.Anthropic, func(url string) pawl.Model { return anthropic.New(anthropic.Config{BaseURL: url, APIKey: "key"}) }},
		"responses": {modeltest.Responses, func(url string) pawl.Model { return openai.NewResponses(openai.Config{BaseURL: url, APIKey: "key"}) }},
		"chat":      {modeltest.Chat, func(url string) pawl.Model { return openai.NewChat(openai.Config{BaseURL: url, APIKey: "key"}) }},
	}
}

// MustSend sends requests and returns the bodies that arrived.
func (s sender) MustSend(tb testing.TB, requests []pawl.ModelRequest) [][]byte {
	tb.Helper()
	server := modeltest.NewServer(s.wire, func(pawl.ModelRequest) modeltest.Reply { return modeltest.Text("ok") })
	defer server.Close()
	model := s.model(server.BaseURL)
	for _, req := range requests {
		if _, err := model.Call(tb.Context(), req, nil); err != nil {
			tb.Fatal(err)
		}
	}
	var bodies [][]byte
	for _, r := range server.Received() {
		bodies = append(bodies, r.Body)
	}
	return bodies
}

// share is how much of all requests but the first, in bytes, begins like the
// request before, in percent.
func share(bodies [][]byte) float64 {
	same, all := 0, 0
	for i, body := range bodies[1:] {
		n := 0
		for n < min(len(body), len(bodies[i])) && body[n] == bodies[i][n] {
			n++
		}
		same, all = same+n, all+len(body)
	}
	return 100 * float64(same) / float64(all)
}

// begin is the first request of a session of this step.
func begin(tb testing.TB, p runner.Prompt, step *pawl.Step) pawl.ModelRequest {
	tb.Helper()
	req := pawl.ModelRequest{Model: "test", MaxOutput: 8000, System: p.System, Messages: []pawl.Message{
		{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: p.User}}}}}
	known := tool.New(tool.Builtin()...)
	for _, name := range step.Tools {
		t, ok := known.Lookup(name)
		if !ok {
			tb.Fatalf("there is no tool %s", name)
		}
		req.Tools = append(req.Tools, t.Spec())
	}
	if spec, ok := (submit.Results{}).Spec(step.Output); ok {
		req.Tools = append(req.Tools, spec)
	}
	return req
}

// session is a session of so many turns: each reads, edits or runs something,
// and is reminded of the task. The reminders stay.
func session(first pawl.ModelRequest, turns int) []pawl.ModelRequest {
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same every time
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "\tvalue%d := compute(%d) // %x\n", rnd.IntN(1000), rnd.IntN(1000), rnd.Uint64())
		}
		return b.String()
	}
	requests := []pawl.ModelRequest{first}
	messages := first.Messages
	for turn := 1; turn < turns; turn++ {
		id := fmt.Sprintf("call_%d", turn)
		name, args, result := "read", map[string]string{"path": "internal/shop/basket.go"}, text(2500)
		switch turn % 3 {
		case 1:
			name, args, result = "edit", map[string]string{"path": "internal/shop/basket.go", "old": text(200), "new": text(400)}, "1 place changed"
		case 2:
			name, args, result = "run", map[string]string{"command": "go test ./..."}, text(900)
		}
		data, _ := json.Marshal(args) // strings can be written
		messages = append(messages[:len(messages):len(messages)],
			pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "I look further."},
				{Kind: pawl.BlockToolUse, CallID: id, Tool: name, Args: data}}},
			pawl.Message{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockToolResult, CallID: id, Tool: name, Text: result},
				{Kind: pawl.BlockText, Text: "CURRENT TASK STATE:\nGoal: Reject empty passwords.\nDo NOT move to the next subtask; complete ONLY this one."}}})
		next := first
		next.Messages = messages
		requests = append(requests, next)
	}
	return requests
}

// hunks is a change of so many hunks, about 400 bytes each.
func hunks(n int) string {
	out := "diff --git a/auth/login.go b/auth/login.go\n--- a/auth/login.go\n+++ b/auth/login.go\n"
	for i := range n {
		out += fmt.Sprintf("@@ -%d,2 +%d,9 @@\n", 40*i, 47*i) + strings.Repeat(fmt.Sprintf("+\tcheck(%d, password, request)\n", i), 12)
	}
	return out
}

// implementers are the steps that change code, with the prompts of two attempts
// in a row on the same tier.
func implementers(tb testing.TB) map[string][2]pawl.ModelRequest {
	tb.Helper()
	out := make(map[string][2]pawl.ModelRequest)
	for name, step := range map[string]string{"taskloop": "implement", "loom": "executor", "pandora": "execute", "coherence": "implement"} {
		r, err := recipe.Load(name)
		if err != nil {
			tb.Fatal(err)
		}
		var requests [2]pawl.ModelRequest
		for n := range 2 {
			w := MustWorldOf(tb, name)
			w.remember(remembered)
			w.patch(hunks(3 + 2*n))
			w.at(pawl.Place{Loop: "task", Task: "TASK-002", Iteration: n + 2, Step: step, Tier: 2})
			do := w.request(tb, step+".md")
			do.RedAtBase = []pawl.Input{{Name: "tests", Blob: w.MustKeep(tb, redTests)}}
			do.History = history[:n+1]
			do.Commit, do.Base = "head", "base"
			do.Feedback = []pawl.Feedback{{From: "tests", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(tb, pawl.GateReport{Verdict: pawl.VerdictFail, Reason: fmt.Sprintf("%d tests fail", n+1),
				Tests: []pawl.TestResult{{Name: "TestEmpty", Status: pawl.TestFail, Output: strings.Repeat(fmt.Sprintf("login_test.go:%d: status 403, want 400\n", n), 40)}}})}}
			if name != "taskloop" {
				do.Task, do.Plan, do.States = w.MustKeep(tb, tasks[1]), w.MustKeep(tb, map[string]any{"tasks": tasks}), "arp"
				do.Memory = &pawl.Memory{Select: "relevant", MaxTokens: 1500}
			}
			if name == "pandora" {
				do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(tb, result)}, {Name: "next", Blob: w.MustKeep(tb, fmt.Sprintf(`{"instructions": "Round %d."}`, n))}}
			}
			requests[n] = begin(tb, w.MustAssemble(tb, do), find(tb, &r, step))
		}
		out[name] = requests
	}
	return out
}

func find(tb testing.TB, r *pawl.Recipe, name string) *pawl.Step {
	tb.Helper()
	for i := range r.Kinds {
		for j := range r.Kinds[i].Steps {
			s := &r.Kinds[i].Steps[j]
			if s.Name == name {
				return s
			}
			if s.Repeat == nil {
				continue
			}
			for k := range s.Repeat.Steps {
				if s.Repeat.Steps[k].Name == name {
					return &s.Repeat.Steps[k]
				}
			}
		}
	}
	tb.Fatalf("recipe %s has no step %s", r.Name, name)
	return nil
}

// How much of a request is the same as the beginning of the one before it, in
// bytes as they are sent: of twenty turns of a session, and of the first request
// of the next attempt.
func TestShareOfPrefix(t *testing.T) {
	for name, requests := range implementers(t) {
		for wire, s := range senders() {
			if turns := share(s.MustSend(t, session(requests[0], 20))); turns < 90 {
				t.Errorf("%s over %s: %.1f %% of 20 turns", name, wire, turns)
			}
			if attempts := share(s.MustSend(t, requests[:])); attempts < 60 {
				t.Errorf("%s over %s: %.1f %% of the next attempt", name, wire, attempts)
			}
		}
	}
}

// BenchmarkShareOfPrefix reports the shares: go test -bench Share -benchtime 1x
func BenchmarkShareOfPrefix(b *testing.B) {
	for name, requests := range implementers(b) {
		for wire, s := range senders() {
			b.Run(name+"/"+wire, func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(share(s.MustSend(b, session(requests[0], 20))), "%turns")
					b.ReportMetric(share(s.MustSend(b, requests[:])), "%attempt")
				}
			})
		}
	}
}
