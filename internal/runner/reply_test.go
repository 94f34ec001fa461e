package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/driver"
)

// message is the stored message of a reply.
func (w *world) message(t *testing.T, r *pawl.ModelReplied) pawl.Message {
	t.Helper()
	data := w.MustBlob(t, r.Message)
	if r.Bytes != int64(len(data)) {
		t.Errorf("Bytes is %d, the message has %d", r.Bytes, len(data))
	}
	var m pawl.Message
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestReply(t *testing.T) {
	w := MustWorld(t, nil)
	ask := w.asks(t, replies(pawl.StopToolUse, say("\n I look. "), use("1", "read", `{"path": "a.txt"}`), say("Then I write.\n\n"),
		use("2", "write", `{"path": "b", "content": ""}`), use("3", "run", `{"command": "true"}`)), "read", "write", "run")
	got := must[*pawl.ModelReplied](t, w, ask)
	if text := w.MustBlob(t, got.Text); text != "I look. \n\nThen I write." {
		t.Errorf("the text is %q", text)
	}
	if got.Stop != pawl.StopToolUse || got.Model != "model" || got.Usage != (pawl.Usage{Input: 10, Output: 5}) {
		t.Errorf("got %+v", got)
	}
	classes := []pawl.CrashClass{pawl.CrashRepeat, pawl.CrashProbe, pawl.CrashOnce}
	for i, c := range got.Calls {
		if c.Class != classes[i] || c.Problem != "" || c.Submit {
			t.Errorf("call %d is %+v", i, c)
		}
	}
	if args := w.MustBlob(t, got.Calls[0].Args); args != `{"path": "a.txt"}` {
		t.Errorf("the arguments are %s", args)
	}
	if m := w.message(t, got); m.Role != pawl.RoleAssistant || len(m.Blocks) != 5 || m.Blocks[0].Text != "\n I look. " {
		t.Errorf("the message is %+v", m)
	}
}

// What is wrong with a call is said in words; the reply as such is fine.
func TestCallProblems(t *testing.T) {
	w := MustWorld(t, nil)
	w.MustOpen(t)
	for name, test := range map[string]struct {
		tool, args string
		says       string // of the problem; empty = none
		class      pawl.CrashClass
		submit     bool
	}{
		"Fine":           {tool: "read", args: `{"path": "a"}`, class: pawl.CrashRepeat},
		"NotOffered":     {tool: "run", args: `{"command": "true"}`}, // it exists, but not in this session
		"Unknown":        {tool: "fly", args: `{}`},
		"NoName":         {tool: "", args: `{}`},
		"NoArguments":    {tool: "list", args: ``, class: pawl.CrashRepeat},
		"List":           {tool: "read", args: `["a"]`, says: "must be a JSON object, got an array"},
		"RawText":        {tool: "read", args: `"{\"path\": \"a"`, says: "what came is not one"},
		"BrokenJSON":     {tool: "read", args: `{"path": "a`, says: "what came is not one"},
		"Missing":        {tool: "read", args: `{}`, says: `"path" is missing`},
		"WrongType":      {tool: "read", args: `{"path": 5}`, says: `"path" must be a string, got the number 5`},
		"UnknownField":   {tool: "read", args: `{"path": "a", "mode": 1}`, says: `"mode" is unknown`},
		"SubmitNothing":  {tool: "submit_result", args: `{}`, says: `"summary" is missing`, submit: true},
		"SubmitBlank":    {tool: "submit_result", args: `{"summary": " "}`, says: "summary is empty", submit: true},
		"Submit":         {tool: "submit_result", args: `{"summary": "done"}`, submit: true},
		"SubmitOther":    {tool: "submit_ballot", args: `{"ranking": ["A"], "why": "w"}`}, // not this session's result
		"SubmitNotThere": {tool: "submit_poem", args: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", test.tool, test.args)), "read", "list", "submit_result"))
			c := got.Calls[0]
			if c.Tool != test.tool || c.Class != test.class || c.Submit != test.submit || (c.Problem == "") != (test.says == "") || !strings.Contains(c.Problem, test.says) {
				t.Errorf("the call is %+v, want %+v", c, test)
			}
			if args := w.MustBlob(t, c.Args); !json.Valid([]byte(args)) {
				t.Errorf("the arguments are no JSON: %s", args)
			}
			if m := w.message(t, got); len(m.Blocks) != 1 || m.Blocks[0].CallID != "1" {
				t.Errorf("the message is %+v", m)
			}
		})
	}
}

// The facts of a submitted result are those decisions need.
func TestSubmittedFacts(t *testing.T) {
	w := MustWorld(t, nil)
	w.shows(t, w.base)
	verdict := `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["README:1"]}, {"id": "AC-002", "status": "fail", "evidence": [], "gap": "no test"}], "summary": "s"}`
	got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_verdict", verdict)), "submit_verdict"))
	want := pawl.Facts{{Name: "decision", Value: "fail"}, {Name: "reason", Value: "1 of 2 criteria met; AC-002: no test"},
		{Name: "met", Value: "1"}, {Name: "total", Value: "2"}, {Name: "unmet", Value: "AC-002"}}
	if diff := cmp.Diff(want, got.Calls[0].Facts); diff != "" || !got.Calls[0].Submit {
		t.Errorf("facts (-want +got):\n%s", diff)
	}

	t.Run("OneOfTwo", func(t *testing.T) {
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse,
			use("1", "submit_verdict", `{}`), use("2", "submit_verdict", verdict), use("3", "submit_verdict", verdict)), "submit_verdict"))
		c := got.Calls
		if !strings.Contains(c[0].Problem, "missing") || c[1].Problem != "" || len(c[1].Facts) != 5 || !strings.Contains(c[2].Problem, "already") || c[2].Facts != nil {
			t.Errorf("the calls are %+v", c)
		}
	})
	t.Run("Surplus", func(t *testing.T) { // F-68
		more := strings.Replace(verdict, `"summary"`, `"score": 1, "grade": "A", "rank": {}, "author": [], "findings": [{"id": "F-1", "accepted": false}], "summary"`, 1)
		c := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_verdict", more)), "submit_verdict")).Calls[0]
		all := append(slices.Clone(want), pawl.Facts{{Name: "surplus", Value: "answer to F-1"}, {Name: "surplus", Value: "field author"},
			{Name: "surplus", Value: "field grade"}, {Name: "surplus", Value: "2 more"}}...)
		if diff := cmp.Diff(all, c.Facts); diff != "" || c.Problem != "" {
			t.Errorf("problem %q, facts (-want +got):\n%s", c.Problem, diff)
		}
		if taken := w.MustBlob(t, c.Trimmed); strings.Contains(taken, "grade") || !strings.Contains(taken, "no test") {
			t.Errorf("taken as %s", taken)
		}
	})
	t.Run("AnotherForm", func(t *testing.T) { // F-68
		other := strings.Replace(verdict, `"summary"`, `"confidence": 0.9, "feedback": null, "summary"`, 1)
		c := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_verdict", other)), "submit_verdict")).Calls[0]
		all := slices.Insert(slices.Clone(want), 4, pawl.Fact{Name: "confidence", Value: "90"})
		all = append(all, pawl.Fact{Name: "read", Value: "confidence 0.9 as 90"}, pawl.Fact{Name: "read", Value: "feedback null as left out"})
		if diff := cmp.Diff(all, c.Facts); diff != "" || c.Problem != "" {
			t.Errorf("problem %q, facts (-want +got):\n%s", c.Problem, diff)
		}
		if taken := w.MustBlob(t, c.Trimmed); !strings.Contains(taken, `"confidence":90`) {
			t.Errorf("taken as %s", taken)
		}
	})
	t.Run("CriteriaDamaged", func(t *testing.T) {
		started := *w.job.Started
		started.Criteria = w.MustKeep(t, "[{")
		damaged := func(j *driver.Job) { j.Started = &started }
		if f := w.fails(t, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_verdict", verdict)), "submit_verdict"), damaged); f.Code != pawl.FailDefect || !strings.Contains(f.Message, "criteria") {
			t.Errorf("failed with %+v", f)
		}
	})
}

// A reply that asks for more calls than an event holds keeps the first, and the
// model is told so where it reads it: in its own message.
func TestManyCalls(t *testing.T) {
	w := MustWorld(t, nil)
	blocks := []pawl.Block{say("All at once.")}
	for i := range 500 {
		blocks = append(blocks, use(fmt.Sprint(i), "read", fmt.Sprintf(`{"path": "file%d"}`, i)))
	}
	got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, blocks...), "read"))
	if len(got.Calls) != 24 {
		t.Errorf("%d calls are made", len(got.Calls))
	}
	m := w.message(t, got)
	if len(m.Blocks) != 26 || m.Blocks[1].Text != "(500 calls at once: only the first 24 are made.)" {
		t.Fatalf("the message has %d blocks: %+v", len(m.Blocks), m.Blocks[:2])
	}
	for i, c := range got.Calls {
		if b := m.Blocks[i+2]; b.CallID != fmt.Sprint(i) || compact(json.RawMessage(w.MustBlob(t, c.Args))) != compact(b.Args) {
			t.Errorf("call %d is %+v and in the message %+v", i, c, b)
		}
	}
	if text := w.MustBlob(t, got.Text); text != "All at once." {
		t.Errorf("the text is %q", text)
	}
}

// A reply that was cut keeps its stop, so that its calls are not run.
func TestCutReply(t *testing.T) {
	w := MustWorld(t, nil)
	got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopMaxOutput, say("I begin"), use("1", "read", `{}`)), "read"))
	if got.Stop != pawl.StopMaxOutput || len(got.Calls) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestOddReplies(t *testing.T) {
	w := MustWorld(t, nil)
	t.Run("HugeText", func(t *testing.T) {
		huge := strings.Repeat("é\n", 1_000_000)
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopEnd, say(huge))))
		if text := w.MustBlob(t, got.Text); text != strings.TrimSpace(huge) {
			t.Errorf("the text has %d bytes", len(text))
		}
	})
	t.Run("Nothing", func(t *testing.T) {
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopEnd)))
		if m := w.message(t, got); len(m.Blocks) != 0 || !got.Text.IsZero() || got.Message.IsZero() {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("StopsThatAreNone", func(t *testing.T) {
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies("because", use("1", "read", `{"path": "a"}`)), "read"))
		if got.Stop != pawl.StopToolUse {
			t.Errorf("with calls it is %s", got.Stop)
		}
		if got := must[*pawl.ModelReplied](t, w, w.asks(t, replies("", say("x")))); got.Stop != pawl.StopEnd {
			t.Errorf("without it is %s", got.Stop)
		}
	})
	t.Run("UsageThatIsNone", func(t *testing.T) {
		got := must[*pawl.ModelReplied](t, w, w.asks(t, func(context.Context, pawl.ModelRequest, func(pawl.ModelDelta)) (pawl.ModelReply, error) {
			return pawl.ModelReply{Message: assistant(say("x")), Usage: pawl.Usage{Input: -5, Output: 1 << 62, CacheRead: 3}}, nil
		}))
		if got.Usage != (pawl.Usage{Output: 1 << 30, CacheRead: 3}) {
			t.Errorf("the usage is %+v", got.Usage)
		}
		if cost := (pawl.Price{Input: 75 * pawl.Dollars, Output: 75 * pawl.Dollars}).Cost(got.Usage); cost <= 0 {
			t.Errorf("it costs %s", cost)
		}
	})
	t.Run("BlocksThatAreNone", func(t *testing.T) {
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopEnd, answered("1", "read", "I say it was so", false), pawl.Block{Kind: "image"},
			pawl.Block{Kind: pawl.BlockOpaque}, say("x"))))
		if m := w.message(t, got); len(m.Blocks) != 1 || m.Blocks[0].Text != "x" {
			t.Errorf("the message is %+v", m)
		}
	})
	t.Run("SpeaksAsTheUser", func(t *testing.T) {
		got := must[*pawl.ModelReplied](t, w, w.asks(t, func(context.Context, pawl.ModelRequest, func(pawl.ModelDelta)) (pawl.ModelReply, error) {
			return pawl.ModelReply{Message: user(say("x")), Stop: pawl.StopEnd}, nil
		}))
		if m := w.message(t, got); m.Role != pawl.RoleAssistant {
			t.Errorf("the message is %+v", m)
		}
	})
	t.Run("NotUTF8", func(t *testing.T) {
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, say("a\xffb"), use("1", "read", "{\"path\": \"\xff\"}")), "read"))
		if text := w.MustBlob(t, got.Text); text != "a\uFFFDb" {
			t.Errorf("the text is %q", text)
		}
	})
}

func TestNoModel(t *testing.T) {
	w := MustWorld(t, nil)
	ask := w.asks(t, nil)
	w.r.Model = func(_ context.Context, _ driver.Job, choice pawl.ModelChoice) (pawl.Model, error) {
		return nil, &pawl.ModelError{Kind: pawl.ModelAuth, Message: "no key for " + choice.Name}
	}
	if f := w.fails(t, ask); f.Code != "auth" || !strings.Contains(f.Message, "no key for model-1") {
		t.Errorf("failed with %+v", f)
	}
}
