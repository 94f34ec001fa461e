package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/recorded"
)

// transcript is everything that was said in a run, for people and for programs.
func transcript(tb testing.TB, r *Run, blobs Blobs) string {
	tb.Helper()
	t, err := Transcribe(r, "", blobs)
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	for _, lines := range []int{0, 3} {
		if err := t.Write(&b, false, TranscriptOptions{Lines: lines, More: "--lines 0 shows all"}); err != nil {
			tb.Fatal(err)
		}
	}
	for e := range t.ByEvent(0) {
		b.WriteString(indented(tb, e))
	}
	return b.String()
}

// talk is a session with all that can happen in one.
func talk(tb testing.TB) *story {
	s := begin(tb, 2, 1, nil)
	s.iterate(1, "")
	x := s.start(pawl.ForStep, s.place("implement", "developer", s.tier), 1, 1)
	reply := func(turn int, text string, calls ...pawl.ToolUse) {
		s.wait(time.Second)
		id := s.ask(x.Session, at(x, turn), &pawl.CallModel{Tier: 1, Try: 1})
		s.add(s.ref, &pawl.ModelReplied{Effect: id, Text: s.blob(text), Model: "haiku", Calls: calls, Usage: pawl.Usage{Input: 900, CacheRead: 100, Output: 40}, Cost: 1200})
	}
	run := func(turn, call int, tool, args, output string, isError bool) {
		s.wait(time.Second)
		id := s.ask(x.Session, at(x, turn), &pawl.CallTool{Tool: tool, Args: s.blob(args), Call: call})
		s.add(s.ref, &pawl.ToolReturned{Effect: id, Output: s.blob(output), Bytes: int64(len(output)), IsError: isError})
	}
	write := `{"path":"login.go","content":"package login\n\nfunc In() {}\n","mode":420,"tags":["a","b"]}`
	reply(1, "I look first,\n\nthen I write.", pawl.ToolUse{Tool: "read", Args: s.blob(`{"path":"a<b>.go"}`)}, pawl.ToolUse{Tool: "write", Args: s.blob(write)})
	run(1, 0, "read", `{"path":"a<b>.go"}`, "there is no \x1b[31ma<b>.go\x1b[m", true)
	run(1, 1, "write", write, "made login.go", false)
	s.add(s.ref, &pawl.NoteAdded{Session: x.Session, Text: "Reminder: the task is still: Add login. " + strings.Repeat("Do it. ", 30)})
	id := s.ask(x.Session, at(x, 2), &pawl.CallModel{Tier: 1, Try: 1})
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "overloaded", Message: "too many\nrequests"}, Charged: 300, ChargedTokens: 10})
	reply(2, "", pawl.ToolUse{Tool: "run", Args: s.blob(`{"command":"go test ./..."}`)})
	var long strings.Builder
	for i := range 50 {
		fmt.Fprintf(&long, "ok %d\n", i)
	}
	long.WriteString("\n" + strings.Repeat("é", 700) + "\n\n")
	run(2, 0, "run", `{"command":"go test ./..."}`, long.String(), false)
	reply(3, "", pawl.ToolUse{Tool: "submit_result", Args: s.blob(`{"summary":"It is in."}`), Submit: true})
	s.add(s.ref, &pawl.NoteAdded{Session: x.Session, Text: "Accepted.", Call: 1})
	s.says(x, pawl.SessionDone, `{"summary":"It is in."}`)
	return s
}

// A conversation has the prompt, the texts, the calls with their arguments and outputs, tokens and
// cost, and nothing that a terminal would obey. F-46
func TestTranscript(t *testing.T) {
	s := talk(t)
	r := fold(s.events)
	x, err := Transcribe(r, "implement", s.read)
	if err != nil {
		t.Fatal(err)
	}
	var text, all strings.Builder
	if err := x.Write(&text, false, TranscriptOptions{Lines: 6, More: "--lines 0 shows all"}); err != nil {
		t.Fatal(err)
	}
	if err := x.Write(&all, true, TranscriptOptions{}); err != nil {
		t.Fatal(err)
	}
	a := &txtar.Archive{Files: []txtar.File{{Name: "transcript.txt", Data: []byte(text.String())}, {Name: "transcript.json", Data: []byte(indented(t, slices.Collect(x.ByEvent(0))))}}}
	mustBeSafe(t, string(txtar.Format(a)))
	golden(t, "transcript.txtar", txtar.Format(a))

	if strings.Contains(all.String(), "left out") || !strings.Contains(all.String(), "ok 25\n") && !strings.Contains(all.String(), "ok 25\x1b") || !strings.Contains(all.String(), strings.Repeat("é", 700)) {
		t.Errorf("not all of it is shown:\n%s", all.String())
	}
	if !strings.Contains(all.String(), "\x1b[31m") || strings.Contains(text.String(), "\x1b") {
		t.Error("what is coloured is not what is to be")
	}
}

// A run that is followed tells every entry when it happens, each once, and the tokens and costs of all
// entries are those that the run was charged. F-46
func TestTranscriptLive(t *testing.T) {
	for name := range recorded.Names(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := recorded.Read(t, name)
			r := New()
			var live []string
			var cost pawl.Micros
			withdrawn := pawl.Micros(0)
			for _, e := range l.Events {
				r.Apply(e)
				if b, ok := e.Body.(*pawl.EffectWithdrawn); ok {
					withdrawn += b.Charged
				}
				if entry, ok := EntryOf(e, r, l.Blob); ok {
					if entry.Event != e.Seq || entry.Session == 0 || entry.Place == "" {
						t.Errorf("event %d adds %+v", e.Seq, entry)
					}
					cost += entry.Cost
					live = append(live, indented(t, entry))
				}
			}
			x, err := Transcribe(r, "", l.Blob)
			if err != nil {
				t.Fatal(err)
			}
			var whole []string
			for e := range x.ByEvent(0) {
				whole = append(whole, indented(t, e))
			}
			if !slices.Equal(live, whole) {
				t.Errorf("%d entries as it happened, %d at the end", len(live), len(whole))
			}
			if cost != r.Cost-withdrawn {
				t.Errorf("the entries cost %s, the run %s", cost, r.Cost)
			}
			var back []string
			for e := range x.Backward() {
				back = append(back, indented(t, e))
			}
			if slices.Reverse(back); !slices.Equal(back, whole) {
				t.Error("backward it is another one")
			}
			n := 0
			for range x.BySession {
				n++
			}
			if n != len(whole) {
				t.Errorf("session by session there are %d entries of %d", n, len(whole))
			}
			if len(whole) > 1 && len(slices.Collect(x.ByEvent(r.Seq))) != 0 {
				t.Error("there are entries after the last event")
			}
		})
	}
}

// What is followed has the entries among the other lines, and does not tell calls twice.
func TestTranscriptInProgress(t *testing.T) {
	s := talk(t)
	var b strings.Builder
	p := NewProgress(New(), ProgressOptions{Out: &b, Least: Normal, Blobs: s.read, Transcript: &TranscriptOptions{Lines: 4, More: "--lines 0 shows all", Place: true}})
	for _, e := range s.events {
		mustProgress(t, p.Write(pawl.Update{Event: &e}))
	}
	got := b.String()
	for _, want := range []string{"Starting iteration 1/10 (haiku)\n", "\ntask/1/implement: turn 1 · haiku · 1,000 tokens in, 40 out, $0.0012\n    I look first,\n\n    then I write.\n    → read {\"path\":\"a<b>.go\"}\n",
		"\ntask/1/implement: read a<b>.go · error, 27 bytes\n    │ there is no a<b>.go\n", "\n    → run {\"command\":\"go test ./...\"}\ntask/1/implement: run go test ./... · 1,693 bytes\n    │ ok 0\n",
		"\ntask/1/implement: model call task/1/implement/turn-2 failed: overloaded: too many requests ($0.0003)\n", "\ntask/1/implement: submit_result: Accepted.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "1/implement/turn-1: read") {
		t.Errorf("calls are told when they begin, too:\n%s", got)
	}
}

// A selector names a task, an iteration, a step, a session, a loop, or an event. F-46
func TestTranscriptOf(t *testing.T) {
	l := recorded.Read(t, "pandora-1")
	r := fold(l.Events)
	id := r.Loops[1].ID
	for selector, want := range map[string][]string{
		"plan":             {"request/1/plan"},
		"TASK-002":         {"task:TASK-002/1/decide", "task:TASK-002/1/execute", "task:TASK-002/1/decide.2", "task:TASK-002/1/synthesis", "task:TASK-002/1/validation", "task:TASK-002/1/learn"},
		"task:TASK-002":    {"task:TASK-002/1/decide", "task:TASK-002/1/execute", "task:TASK-002/1/decide.2", "task:TASK-002/1/synthesis", "task:TASK-002/1/validation", "task:TASK-002/1/learn"},
		"request/1":        {"request/1/plan", "request/1/close"},
		"request":          {"request/1/plan", "request/1/close"},
		"loop-1":           {"request/1/plan", "request/1/close"},
		"TASK-002/1":       {"task:TASK-002/1/decide", "task:TASK-002/1/execute", "task:TASK-002/1/decide.2", "task:TASK-002/1/synthesis", "task:TASK-002/1/validation", "task:TASK-002/1/learn"},
		"TASK-002/1/learn": {"task:TASK-002/1/learn"},
		"TASK-002/decide":  nil,
		"loop-3/decide":    {"task:TASK-002/1/decide", "task:TASK-002/1/decide.2"}, // of all rounds
		"loop-3/decide.2":  {"task:TASK-002/1/decide.2"},
		"session-2":        {"request/1/close"},
		"loop-3/session-2": {"task:TASK-002/1/execute"},
		"TASK":             nil,
		"request/2":        nil,
		"/":                nil,
	} {
		x, err := Transcribe(r, selector, l.Blob)
		if (want == nil) != (pawl.CodeOf(err) == pawl.CodeNotFound && err != nil) {
			t.Errorf("%s: %v", selector, err)
		}
		if want == nil || err != nil {
			continue
		}
		var got []string
		for _, s := range x.sessions {
			got = append(got, s.Place.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s names %q, want %q", selector, got, want)
		}
	}
	first := r.sessions(func(s *Session) bool { return s.loop == 2 })[0]
	for _, selector := range []string{id, id[strings.LastIndexByte(id, '-')+1:], fmt.Sprintf("event-%d", first.Said[1].Seq)} {
		x, err := Transcribe(r, selector, l.Blob)
		if err != nil || x.sessions[0] != first {
			t.Errorf("%s: %v, %v", selector, x, err)
		}
	}
	if sent, err := Prompt(r, "TASK-002/1/decide"); err != nil || sent.Place.Round > 1 { // it names the first round alone
		t.Errorf("the prompt is %v, %v", sent, err)
	}
	if x, err := Transcribe(New(), "", nil); err != nil || len(x.sessions) != 0 {
		t.Errorf("before the first event: %v, %v", x, err)
	}
	if _, err := Transcribe(New(), "plan", nil); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("before the first event: %v", err)
	}
}

func TestExcerpt(t *testing.T) {
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint(i))
		}
		return out
	}
	for _, test := range []struct {
		lines int
		in    []string
		want  string
	}{
		{0, many(5), "0 1 2 3 4"},
		{6, nil, ""},
		{6, many(6), "0 1 2 3 4 5"},
		{6, many(7), "0 1 2 3 … 1 line left out, 2 bytes: MORE 5 6"},
		{6, many(107), "0 1 2 3 … 101 lines left out, 302 bytes: MORE 105 106"},
		{1, many(3), "0 … 2 lines left out, 4 bytes: MORE"},
		{2, many(3), "0 1 … 1 line left out, 2 bytes: MORE"},
		{6, []string{strings.Repeat("x", maxTranscriptLine)}, strings.Repeat("x", maxTranscriptLine)},
		{6, []string{"x" + strings.Repeat("é", maxTranscriptLine/2)}, "x" + strings.Repeat("é", maxTranscriptLine/2-1) + "… 2 bytes left out: MORE"},
	} {
		o := TranscriptOptions{Lines: test.lines, More: "MORE"}
		if got := strings.Join(o.excerpt(test.in), " "); got != test.want {
			t.Errorf("%d lines of %d: %q, want %q", test.lines, len(test.in), got, test.want)
		}
	}
}
