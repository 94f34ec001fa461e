package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/tool"
)

// longTool is a tool with a name as long as providers allow.
type longTool struct{ tool.Read }

const longName = "mcp__a_server_with_a_long_name__a_tool_with_an_even_longer_name_"

func (longTool) Spec() pawl.ToolSpec {
	spec := tool.Read{}.Spec()
	spec.Name = longName
	return spec
}

// nasty draws words that models, tools and gates could say: short, long and broken ones.
func nasty() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		word := rapid.SampledFrom([]string{"", "x", "read", "é", "\xff", "\"\\\n", "<&>", "\u2028", "AC-001", "😀"}).Draw(t, "word")
		return strings.Repeat(word, rapid.SampledFrom([]int{1, 1, 7, 60, 300, 5000}).Draw(t, "times"))
	})
}

// hostileCall draws a tool call, of known tools and of none, with arguments of all kinds.
func hostileCall(criteria []pawl.Criterion) *rapid.Generator[pawl.Block] {
	return rapid.Custom(func(t *rapid.T) pawl.Block {
		name := rapid.SampledFrom([]string{"read", "run", longName, "submit_verdict", "submit_assessment", "submit_ballot", "submit_learnings", "submit_result", "remember", "blackboard", "fly", ""}).Draw(t, "tool")
		if rapid.Bool().Draw(t, "odd name") {
			name = nasty().Draw(t, "name")
		}
		args := rapid.SampledFrom([]string{`{"path": "x"}`, `{}`, ``, `null`, `[1]`, `"text"`, `{"path": `, `{"path": 5}`, `{"command": "true"}`,
			`{"ranking": ["A","B","C","D","E","F","G","H","I","J","K","L","M","N","O","P","Q","R","S","T","U","V","W","X","Y","Z"], "why": "w"}`,
			`{"files": 9223372036854775807, "lines": 1, "new_dependencies": 0, "type": "test", "risks": ["breaking_change","security_sensitive","external_integration"], "why": "w"}`,
			"nasty", "verdict", "unknown", "learnings", "note", "artifacts"}).Draw(t, "args")
		text := nasty().Draw(t, "text")
		switch args {
		case "nasty":
			args = text
		case "learnings":
			entries := make([]map[string]string, rapid.IntRange(0, 12).Draw(t, "entries"))
			for i := range entries {
				entries[i] = map[string]string{"kind": "anti-pattern", "text": "t" + text}
			}
			args = quoted(map[string]any{"entries": entries})
		case "note":
			args = quoted(map[string]any{"op": "set", "key": "k", "value": "v" + text})
		case "artifacts":
			args = quoted(map[string]any{"summary": "s", "status": "blocked", "reason": "r" + text, "artifacts": []string{text}})
		case "unknown":
			args = quoted(map[string]any{text: text, "path": []string{text}})
		case "verdict":
			var judged []map[string]any
			for i, c := range criteria {
				status := rapid.SampledFrom([]string{"pass", "fail"}).Draw(t, fmt.Sprint(i))
				judged = append(judged, map[string]any{"id": c.ID, "status": status, "evidence": []string{rapid.SampledFrom([]string{"README:1", text}).Draw(t, fmt.Sprint("evidence ", i))}, "gap": "gap " + text})
			}
			args = quoted(map[string]any{"criteria": judged, "summary": "s" + text})
		}
		return pawl.Block{Kind: pawl.BlockToolUse, CallID: nasty().Draw(t, "id"), Tool: name, Args: json.RawMessage(args)}
	})
}

func quoted(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// manyCriteria draws criteria, up to hundreds with long ids.
func manyCriteria(t *rapid.T) []pawl.Criterion {
	n := rapid.SampledFrom([]int{0, 1, 3, 40, 400}).Draw(t, "criteria")
	long := rapid.SampledFrom([]int{0, 50, 3000}).Draw(t, "id length")
	var out []pawl.Criterion
	for i := range n {
		out = append(out, pawl.Criterion{ID: fmt.Sprintf("AC-%03d%s", i, strings.Repeat("x", long)), Text: "x"})
	}
	return out
}

// Whatever a model answers, the event is small (which is checked of every
// answer), calls and messages belong together, and a submitted objection stays one.
func TestHostileReplies(t *testing.T) {
	w := MustWorld(t, nil)
	w.r.Tools = tool.New(append(tool.Builtin(), longTool{})...)
	w.shows(t, w.base)
	rapid.Check(t, func(rt *rapid.T) {
		criteria := manyCriteria(rt)
		started := *w.job.Started
		started.Criteria = w.MustKeep(rt, criteria)
		w.job.Started = &started
		blocks := rapid.SliceOfN(hostileCall(criteria), 0, rapid.SampledFrom([]int{1, 5, 24, 60}).Draw(rt, "most")).Draw(rt, "calls")
		blocks = append(blocks, say(nasty().Draw(rt, "said")), pawl.Block{Kind: pawl.BlockOpaque, Opaque: json.RawMessage(nasty().Draw(rt, "opaque"))})
		model := func(context.Context, pawl.ModelRequest, func(pawl.ModelDelta)) (pawl.ModelReply, error) {
			return pawl.ModelReply{Message: pawl.Message{Blocks: blocks}, Stop: pawl.StopReason(nasty().Draw(rt, "stop")), Model: nasty().Draw(rt, "model"),
				Usage: pawl.Usage{Input: rapid.Int64().Draw(rt, "in"), Output: rapid.Int64().Draw(rt, "out"), CacheRead: rapid.Int64().Draw(rt, "read"), CacheWrite: rapid.Int64().Draw(rt, "write")}}, nil
		}
		got := must[*pawl.ModelReplied](rt, w, w.asks(rt, model, "read", "run", longName, "submit_verdict", "submit_assessment", "submit_ballot",
			"submit_learnings", "submit_result", "remember", "blackboard"))
		var m pawl.Message
		if err := json.Unmarshal([]byte(w.MustBlob(rt, got.Message)), &m); err != nil {
			rt.Fatal(err)
		}
		var calls []pawl.Block
		for _, b := range m.Blocks {
			if b.Kind == pawl.BlockToolUse {
				calls = append(calls, b)
			}
		}
		if len(calls) != len(got.Calls) || len(calls) == 0 && len(blocks) > 2 {
			rt.Fatalf("%d calls in the message, %d in the event, %d were asked for", len(calls), len(got.Calls), len(blocks)-2)
		}
		submitted := 0
		for i, c := range got.Calls {
			if args := w.MustBlob(rt, c.Args); compact(json.RawMessage(args)) != compact(calls[i].Args) {
				rt.Fatalf("call %d has the arguments %q, in the message %q", i, args, calls[i].Args)
			}
			if (c.Class != 0 || c.Submit) && c.Tool != calls[i].Tool {
				rt.Fatalf("call %d of %q is recorded as one of %q", i, calls[i].Tool, c.Tool)
			}
			if c.Submit && c.Problem == "" {
				submitted++
			}
			if c.Facts.Get("decision") == "fail" && len(c.Facts.All("unmet")) == 0 {
				rt.Fatalf("nothing is unmet in %v", c.Facts)
			}
		}
		if submitted > 1 {
			rt.Fatalf("%d results were handed in", submitted)
		}
	})
}

// What is not met stays told apart, however much it is.
func TestUnmetStaysDifferent(t *testing.T) {
	w := MustWorld(t, nil)
	w.shows(t, w.base)
	var criteria []pawl.Criterion
	for i := range 300 {
		criteria = append(criteria, pawl.Criterion{ID: fmt.Sprintf("%s-%03d", strings.Repeat("long", 30), i)})
	}
	w.job.Started.Criteria = w.MustKeep(t, criteria)
	unmet := func(met ...int) []string {
		var judged []map[string]any
		for i, c := range criteria {
			status := "fail"
			if slices.Contains(met, i) {
				status = "pass"
			}
			judged = append(judged, map[string]any{"id": c.ID, "status": status, "evidence": []string{"README:1"}, "gap": "g"})
		}
		args := quoted(map[string]any{"criteria": judged, "summary": "s"})
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_verdict", args)), "submit_verdict"))
		facts := got.Calls[0].Facts
		if facts.Get("decision") != "fail" || facts.Get("met") != fmt.Sprint(len(met)) || facts.Get("total") != "300" {
			t.Errorf("the facts are %v", facts)
		}
		return facts.All("unmet")
	}
	if a, b := unmet(7), unmet(7); !slices.Equal(a, b) || len(a) < 2 {
		t.Errorf("the same is %v and %v", a, b)
	}
	for _, other := range []int{0, 1, 150, 299} {
		if slices.Equal(unmet(7), unmet(other)) {
			t.Errorf("without 7 and without %d is the same", other)
		}
	}
}

// Whatever a gate reports, the event is small.
func TestHostileReports(t *testing.T) {
	w := MustWorld(t, nil)
	w.gates(pawl.GateSpec{Name: strings.Repeat("n", 64), Kind: pawl.GateTests, Command: "true"})
	var rep pawl.GateReport
	w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) { return rep, nil })
	rapid.Check(t, func(rt *rapid.T) {
		text := func(name string) string { return nasty().Draw(rt, name) }
		rep = pawl.GateReport{
			Verdict: pawl.Verdict(text("verdict")), Reason: strings.Repeat(text("reason"), 10), Error: text("error"), Output: text("output"),
			Passed: rapid.Int().Draw(rt, "passed"), Failed: rapid.Int().Draw(rt, "failed"), Skipped: rapid.Int().Draw(rt, "skipped"),
			Lost: []pawl.LostTest{{Name: text("lost")}}, Unlisted: []string{text("unlisted")}, Notes: []string{text("note")},
		}
		for i := range rapid.SampledFrom([]int{0, 1, 500}).Draw(rt, "tests") {
			rep.Tests = append(rep.Tests, pawl.TestResult{Name: fmt.Sprint(i, text("test")), Status: pawl.TestFail})
		}
		for i := range rapid.SampledFrom([]int{0, 1, 100}).Draw(rt, "findings") {
			rep.Diagnostics = append(rep.Diagnostics, pawl.Diagnostic{Severity: "high", Message: fmt.Sprint(i, text("message")), Rule: text("rule")})
		}
		got := must[*pawl.GateJudged](rt, w, &pawl.RunGate{Gate: w.job.Settings.Gates[0].Name, Commit: w.base})
		if got.Verdict != pawl.VerdictFail || (got.Failing == 0) != (len(rep.Tests) == 0) || got.High != len(rep.Diagnostics) {
			rt.Fatalf("judged %+v", got)
		}
	})
	rep = pawl.GateReport{Verdict: pawl.VerdictFail, Reason: strings.Repeat("a reason ", 1<<17)}
	must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: w.job.Settings.Gates[0].Name, Commit: w.base})
}

// saying is a tool that says what it is told, or fails with it.
type saying struct {
	tool.Read
	result pawl.ToolResult
	err    error
}

func (s *saying) Call(context.Context, pawl.ToolEnv, json.RawMessage) (pawl.ToolResult, error) {
	return s.result, s.err
}

// Whatever a tool says, the event is small and the text is kept.
func TestHostileResults(t *testing.T) {
	w := MustWorld(t, nil)
	s := &saying{}
	w.r.Tools = tool.New(s)
	rapid.Check(t, func(rt *rapid.T) {
		s.result, s.err = pawl.ToolResult{Text: nasty().Draw(rt, "text"), IsError: rapid.Bool().Draw(rt, "error")}, nil
		if rapid.Bool().Draw(rt, "fails") {
			s.err = errors.New("x" + s.result.Text)
			w.fails(rt, w.call(rt, "read", "{}"))
			return
		}
		got := must[*pawl.ToolReturned](rt, w, w.call(rt, "read", "{}"))
		if text := strings.ToValidUTF8(s.result.Text, "\uFFFD"); text == "" && !got.Output.IsZero() || text != "" && w.MustBlob(rt, got.Output) != text {
			rt.Fatalf("the output of %q is %+v", text, got)
		}
		if got.IsError != s.result.IsError || !got.Output.IsZero() && got.Bytes != int64(len(w.MustBlob(rt, got.Output))) {
			rt.Fatalf("returned %+v", got)
		}
	})
}
