package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl"
)

// talk is a session that a test drives as the kernel does.
type talk struct {
	*testing.T
	x     *Session
	spec  Spec
	alive time.Duration
	id    pawl.Seq
}

// begin starts a session of 20 turns without a timeout. The recipe wants no reminders.
func begin(t *testing.T, b pawl.SessionStarted) *talk {
	b.Session, b.Place = 1, pawl.Place{Loop: "task", Iteration: 1, Step: "code"}
	if b.Turns == 0 {
		b.Turns = DefaultTurns
	}
	k := &talk{T: t, alive: time.Hour}
	k.x = Start(&b, k.alive)
	k.spec = Spec{Goal: "tidy", Task: &pawl.TaskEntry{}, NoReminder: true, Retry: &pawl.RetryPolicy{Tries: 2, First: 8 * time.Second, Cap: time.Minute},
		Objection: func(pawl.Facts, bool) string { return "" }}
	return k
}

// prompted starts a session that has its prompt.
func prompted(t *testing.T, b pawl.SessionStarted) *talk {
	k := begin(t, b)
	k.expect("assemble")
	k.x.Closed()
	k.x.Prompt(&pawl.PromptAssembled{Bytes: 100})
	return k
}

// next returns what the session does next as text: first the limit that was reached, then the
// act with what it needs.
func (k *talk) next() (Next, string) {
	n := k.x.Next(&k.spec, k.alive)
	text := ""
	if n.Limit != nil {
		text = fmt.Sprintf("[%s: %s %d of %d] ", n.Limit.Scope, n.Limit.Limit, n.Limit.Value, n.Limit.Max)
	}
	switch n.Act {
	case Nothing:
		text += "nothing"
	case Assemble:
		text += "assemble"
	case Speak:
		text += "speak"
	case CallTool:
		text += fmt.Sprintf("call %d", n.Call)
	case Harness:
		text += fmt.Sprintf("harness %d", n.Call)
	case Note:
		if text += "note: " + n.Text; n.ToCall {
			text = strings.Replace(text, "note", fmt.Sprintf("note %d", n.Call), 1)
		}
		if n.IsError {
			text = strings.Replace(text, "note", "error", 1)
		}
	case Wait:
		text += fmt.Sprintf("wait %s: %s", n.For, n.Text)
	case GiveUp:
		text += "give up: " + n.Text
	case End:
		text += fmt.Sprintf("end %s", n.Result)
		if n.Text != "" {
			text += ": " + n.Text
		}
	}
	return n, text
}

// expect lets the session do what is next until it waits for something or ends, and compares it
// with these acts.
func (k *talk) expect(want ...string) Next {
	k.Helper()
	var got []string
	for {
		n, text := k.next()
		if n.Act == Nothing {
			k.compare(got, want)
			return n
		}
		got = append(got, text)
		if err := k.act(n); err != nil {
			k.Fatal(err)
		}
		if n.Act == GiveUp || n.Act == End {
			k.compare(got, want)
			return n
		}
		if len(got) > 30 {
			k.Fatalf("there is no end of it: %q", got)
		}
	}
}

func (k *talk) compare(got, want []string) {
	k.Helper()
	if len(got) != len(want) {
		k.Fatalf("got  %q\nwant %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			k.Fatalf("act %d:\ngot  %q\nwant %q", i, got[i], want[i])
		}
	}
}

// act records an act as the kernel does.
func (k *talk) act(n Next) error {
	k.id++
	f := &pawl.Effect{ID: k.id}
	switch n.Act {
	case Assemble:
		f.Do = &pawl.AssemblePrompt{}
	case Speak:
		f.Do = k.x.CallModel(0)
	case CallTool:
		f.Do = &pawl.CallTool{Call: n.Call, Tool: k.x.Use(n.Call).Tool}
	case Wait:
		f.Do = &pawl.Wait{For: n.For}
	case Harness:
		return k.x.Note(&pawl.NoteAdded{Call: n.Call + 1, Text: "known"}, k.alive)
	case Note:
		b := &pawl.NoteAdded{Blob: n.Blob, Text: n.Text, IsError: n.IsError}
		if n.ToCall {
			b.Call = n.Call + 1
		}
		return k.x.Note(b, k.alive)
	default:
		return nil
	}
	return k.x.Request(f)
}

// reply records a reply of the model with these calls, each a word of [uses].
func (k *talk) reply(calls string) { k.replied(pawl.StopToolUse, calls) }

func (k *talk) replied(stop pawl.StopReason, calls string) {
	b := &pawl.ModelReplied{Stop: stop, Text: text(k.x.Turn() + 1), Bytes: 10}
	for _, w := range strings.Fields(calls) {
		use, known := uses[w]
		if !known {
			k.Fatalf("there is no call %q", w)
		}
		b.Calls = append(b.Calls, use)
	}
	k.x.Closed()
	k.x.Reply(b)
}

// text is the hash of the text of a reply.
func text(turn int) pawl.Hash { return pawl.Hash{byte(turn)} }

// uses are calls of tools, by a word.
var uses = map[string]pawl.ToolUse{
	"read":    {Tool: "read", Class: pawl.CrashRepeat},
	"grep":    {Tool: "grep", Class: pawl.CrashRepeat},
	"write":   {Tool: "write", Class: pawl.CrashProbe},
	"run":     {Tool: "run", Class: pawl.CrashOnce},
	"board":   {Tool: "board", Harness: true},
	"memory":  {Tool: "memory", Harness: true, Class: pawl.CrashRepeat},
	"unknown": {Tool: "fly"},
	"bad":     {Tool: "read", Class: pawl.CrashRepeat, Problem: "path is missing"},
	"submit":  {Tool: "submit_report", Submit: true, Args: pawl.Hash{1}, Facts: pawl.Facts{{Name: "decision", Value: "PASS"}}},
	"wrong":   {Tool: "submit_report", Submit: true, Problem: "summary is missing"},
	"fits":    {Tool: "submit_report", Submit: true, Args: pawl.Hash{1}, Trimmed: pawl.Hash{2}},
	"odd":     {Tool: "read", Class: pawl.CrashRepeat, Problem: "too long", Trimmed: pawl.Hash{2}},
	"long":    {Tool: "submit_report", Submit: true, Problem: "too long", Args: pawl.Hash{1}, Trimmed: pawl.Hash{2}, Facts: pawl.Facts{{Name: "cut", Value: "yes"}}},
}

// returns records the results of calls that were requested.
func (k *talk) returns(calls ...int) {
	for _, i := range calls {
		k.x.Closed()
		k.x.Answer(i, pawl.Item{Blob: pawl.Hash{byte(i + 1)}}, 5)
	}
}

// fails records the failure of the last dispatch.
func (k *talk) fails(why *pawl.Failure) {
	k.x.Closed()
	k.x.Fail(why, pawl.Hash{})
}
