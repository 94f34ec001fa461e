package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/model/script"
)

func assistant(blocks ...pawl.Block) pawl.Message {
	return pawl.Message{Role: pawl.RoleAssistant, Blocks: blocks}
}

func user(blocks ...pawl.Block) pawl.Message {
	return pawl.Message{Role: pawl.RoleUser, Blocks: blocks}
}

func answered(id, tool, text string, isError bool) pawl.Block {
	return pawl.Block{Kind: pawl.BlockToolResult, CallID: id, Tool: tool, Text: text, IsError: isError}
}

// sends performs a model call with this transcript and returns what is sent.
func (w *world) sends(t *testing.T, items ...pawl.Item) pawl.ModelRequest {
	t.Helper()
	var sent pawl.ModelRequest
	ask := w.asks(t, func(_ context.Context, req pawl.ModelRequest, _ func(pawl.ModelDelta)) (pawl.ModelReply, error) {
		sent = req
		return pawl.ModelReply{Message: assistant(say("ok")), Stop: pawl.StopEnd}, nil
	}, "read", "submit_result")
	ask.System, ask.MaxOutput, ask.Tier = w.MustKeep(t, "You work."), 321, 2
	must[*pawl.ModelReplied](t, w, ask, transcript(items...))
	return sent
}

func TestRequest(t *testing.T) {
	w := MustWorld(t, nil)
	w.job.Settings.Models[1].Idle = 99
	req := w.sends(t, pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")})
	if req.Model != "model-2" || req.System != "You work." || req.MaxOutput != 321 || req.Idle != 99 {
		t.Errorf("sent %+v", req)
	}
	if req.Place.Run != runID || req.Place.Step != "implement" || req.Place.Turn != 1 {
		t.Errorf("the place is %+v", req.Place)
	}
	if len(req.Tools) != 2 || req.Tools[0].Name != "read" || req.Tools[1].Name != "submit_result" || !json.Valid(req.Tools[1].Schema) {
		t.Errorf("the tools are %+v", req.Tools)
	}
}

// A model that takes the place of another one is told what that one said as text, and what follows as
// messages of its own.
func TestForeignTranscript(t *testing.T) {
	w := MustWorld(t, nil)
	w.job.Settings.Fallbacks[1] = []pawl.ModelChoice{{Provider: "script", Name: "second", MaxOutput: 1000}}
	items := []pawl.Item{
		{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")},
		{Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, assistant(say("I look."), use("c1", "read", `{"path":"a"}`)))},
		{Kind: pawl.ItemResult, Text: "content of a"},
		{Kind: pawl.ItemNote, Text: "Hurry."},
		{Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, assistant(use("c1", "read", `{"path":"b"}`)))},
		{Kind: pawl.ItemResult, Text: "content of b"},
	}
	for _, n := range []int{4, 6} {
		var sent pawl.ModelRequest
		ask := w.asks(t, func(_ context.Context, req pawl.ModelRequest, _ func(pawl.ModelDelta)) (pawl.ModelReply, error) {
			sent = req
			return pawl.ModelReply{Message: assistant(say("ok")), Stop: pawl.StopEnd}, nil
		}, "read")
		ask.Tier, ask.Choice, ask.Foreign = 2, 1, 4
		must[*pawl.ModelReplied](t, w, ask, transcript(items[:n]...))
		if sent.Model != "second" || len(sent.Messages) != n-3 {
			t.Fatalf("sent %d messages to %s: %+v", len(sent.Messages), sent.Model, sent.Messages)
		}
		text := sent.Messages[0].Blocks[0].Text
		at := -1
		for _, want := range []string{"Do it.", "I look.", `read with {"path":"a"}`, "content of a", "Hurry.", "Continue from there."} {
			i := strings.Index(text, want)
			if i <= at || sent.Messages[0].Role != pawl.RoleUser {
				t.Errorf("%q is not in its place in %s", want, text)
			}
			at = i
		}
		if n == 6 {
			if diff := cmp.Diff([]pawl.Message{assistant(use("c1", "read", `{"path":"b"}`)), user(answered("c1", "read", "content of b", false))}, sent.Messages[1:]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
	}
}

// What an agent did in a turn that failed is told to the model that takes its place, at its end if it is
// long.
func TestCutOffTurn(t *testing.T) {
	w := MustWorld(t, nil)
	turn := `{"kind":"text","text":"I look."}
{"kind":"thought","text":"hm"}
{"kind":"call","call":"1","tool":"Bash","title":"go test"}
{"kind":"result","call":"1","text":"exit 1","failed":true}
{"kind":"call","call":"2","tool":"mcp__pawl__remember","args":{"text":"x"}}
`
	sent := func(turn string) string {
		var text string
		ask := w.asks(t, func(_ context.Context, req pawl.ModelRequest, _ func(pawl.ModelDelta)) (pawl.ModelReply, error) {
			text = req.Messages[0].Blocks[0].Text
			return pawl.ModelReply{Message: assistant(say("ok")), Stop: pawl.StopEnd}, nil
		}, "read")
		ask.Foreign = 2
		must[*pawl.ModelReplied](t, w, ask, transcript(pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")},
			pawl.Item{Kind: pawl.ItemCutOff, Blob: w.MustKeep(t, turn)}))
		return text
	}
	want := "Do it.\n\n--- What you said ---\n\nI look.\n\n(You called Bash: go test.)\n\n(That call failed: exit 1.)\n\n" +
		"(You called mcp__pawl__remember: {\"text\":\"x\"}.)\n\n(This turn was cut off before its end.)\n\n--- Now ---\n\n"
	if got := sent(turn); !strings.HasPrefix(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	long := strings.Repeat(`{"kind":"text","text":"`+strings.Repeat("x", 1000)+`"}`+"\n", 100) + turn
	if got := sent(long); len(got) > pawl.MaxCutOff+500 || !strings.Contains(got, "go test") {
		t.Errorf("%d bytes were sent of a long turn", len(got))
	}
}

// Results, notes and the reminder after a reply are one message of the user, in
// order; every result has the id of its own call.
func TestTranscript(t *testing.T) {
	w := MustWorld(t, nil)
	opaque := pawl.Block{Kind: pawl.BlockOpaque, Provider: "anthropic", Opaque: json.RawMessage(`{"type":"thinking","signature":"a<b>&c","n":1.0}`)}
	first := assistant(opaque, say("I look."), use("x", "read", `{"path": "a"}`), say("and"), use("y", "read", `{"path": "b"}`), use("z", "submit_result", `{}`))
	second := assistant(use("x", "run", `{"command": "true"}`)) // some providers count anew in every reply
	req := w.sends(t,
		pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")},
		pawl.Item{Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, first)},
		pawl.Item{Kind: pawl.ItemResult, Call: 0, Blob: w.MustKeep(t, "content of a")},
		pawl.Item{Kind: pawl.ItemResult, Call: 1, Blob: w.MustKeep(t, "b does not exist"), IsError: true},
		pawl.Item{Kind: pawl.ItemResult, Call: 2, Text: `field "summary" is missing`, IsError: true},
		pawl.Item{Kind: pawl.ItemNote, Text: "Reminder: the task."},
		pawl.Item{Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, second)},
		pawl.Item{Kind: pawl.ItemResult, Call: 0, Text: "interrupted: look", IsError: true},
		pawl.Item{Kind: pawl.ItemNote, Text: "Reminder: the task."},
		pawl.Item{Kind: pawl.ItemNote, Blob: w.MustKeep(t, "The task, whole."), Text: " One turn is left."}, // L-54
		pawl.Item{Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, assistant(say("Done.")))},
		pawl.Item{Kind: pawl.ItemNote, Text: "Call submit_result now."},
	)
	want := []pawl.Message{
		user(say("Do it.")),
		first,
		user(answered("x", "read", "content of a", false), answered("y", "read", "b does not exist", true),
			answered("z", "submit_result", `field "summary" is missing`, true), say("Reminder: the task.")),
		second,
		user(answered("x", "run", "interrupted: look", true), say("Reminder: the task."), say("The task, whole. One turn is left.")),
		assistant(say("Done.")),
		user(say("Call submit_result now.")),
	}
	if diff := cmp.Diff(want, req.Messages, cmp.Transformer("compact", compact)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// compact is a JSON document without the blanks between its words, which storing takes out.
func compact(raw json.RawMessage) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(raw)
	return out.String()
}

// A reply with nothing in it is no message: providers refuse it, and speakers
// have to alternate.
func TestEmptyReply(t *testing.T) {
	w := MustWorld(t, nil)
	ask := w.asks(t, replies(pawl.StopEnd, say(" \n ")))
	got := must[*pawl.ModelReplied](t, w, ask)
	if !got.Text.IsZero() || len(got.Calls) != 0 {
		t.Errorf("got %+v", got)
	}
	req := w.sends(t,
		pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")},
		pawl.Item{Kind: pawl.ItemAssistant, Blob: got.Message},
		pawl.Item{Kind: pawl.ItemNote, Text: "Call submit_result now."})
	if diff := cmp.Diff([]pawl.Message{user(say("Do it."), say("Call submit_result now."))}, req.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A transcript that cannot be right is not sent.
func TestDamagedTranscript(t *testing.T) {
	w := MustWorld(t, nil)
	prompt := pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")}
	reply := pawl.Item{Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, assistant(use("x", "read", "{}")))}
	for name, test := range map[string]struct {
		items []pawl.Item
		says  string
	}{
		"PromptGone":       {[]pawl.Item{{Kind: pawl.ItemUser, Blob: pawl.HashOf([]byte("gone"))}}, "read the transcript"},
		"ReplyGone":        {[]pawl.Item{prompt, {Kind: pawl.ItemAssistant, Blob: pawl.HashOf([]byte("gone"))}}, "read a reply of the transcript"},
		"ReplyZero":        {[]pawl.Item{prompt, {Kind: pawl.ItemAssistant}}, "read a reply of the transcript"},
		"ReplyNoJSON":      {[]pawl.Item{prompt, {Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, "hello")}}, "read a reply of the transcript"},
		"ReplyCut":         {[]pawl.Item{prompt, {Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, `{"role": "assistant", "blo`)}}, "read a reply of the transcript"},
		"ResultOfNoCall":   {[]pawl.Item{prompt, reply, {Kind: pawl.ItemResult, Call: 1, Text: "x"}}, "a result for call 2 of 1"},
		"ResultBeforeAny":  {[]pawl.Item{prompt, {Kind: pawl.ItemResult, Text: "x"}}, "a result for call 1 of 0"},
		"ResultOfOldReply": {[]pawl.Item{prompt, reply, {Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, assistant(say("x")))}, {Kind: pawl.ItemResult, Text: "x"}}, "a result for call 1 of 0"},
		"NoPrompt":         {[]pawl.Item{reply}, "does not begin with the prompt"},
		"UnknownKind":      {[]pawl.Item{prompt, {Kind: 99}}, "an item of kind 99"},
	} {
		t.Run(name, func(t *testing.T) {
			ask := w.asks(t, func(context.Context, pawl.ModelRequest, func(pawl.ModelDelta)) (pawl.ModelReply, error) {
				t.Error("it was sent")
				return pawl.ModelReply{}, nil
			})
			if f := w.fails(t, ask, transcript(test.items...)); f.Code != pawl.FailDefect || !strings.Contains(f.Message, test.says) {
				t.Errorf("failed with %+v, want a defect that says %q", f, test.says)
			}
		})
	}
	t.Run("StoreDamaged", func(t *testing.T) {
		broken := reads(pawl.Errorf(pawl.CodeDamaged, "blob 12ab has other content than its name"))
		if f := w.fails(t, &pawl.CallModel{Tier: 1}, transcript(prompt), broken); f.Code != pawl.FailDefect || !strings.Contains(f.Message, "12ab") {
			t.Errorf("failed with %+v", f)
		}
	})
	t.Run("StoreBusy", func(t *testing.T) {
		busy := reads(pawl.Errorf(pawl.CodeUnavailable, "too many open files"))
		if f := w.fails(t, &pawl.CallModel{Tier: 1}, transcript(prompt), busy); f.Code != pawl.FailMachine {
			t.Errorf("failed with %+v", f)
		}
	})
}

// reads lets every blob give this error.
func reads(err error) effect {
	return func(j *driver.Job) {
		j.Blob = func(context.Context, pawl.Hash) ([]byte, error) { return nil, err }
	}
}

// With the scripted model, the real tools and real transcripts: what one turn
// leaves is what the next one is asked with.
func TestTurns(t *testing.T) {
	w := MustWorld(t, map[string]string{"a.txt": "content of a\n"})
	tree := w.MustOpen(t)
	model, err := script.Parse("script", []byte(`
answers:
  - when: {turn: 1}
    say: I look.
    calls: [{read: {path: a.txt}}, {read: {path: gone.txt}}]
  - when: {turn: 2, last: error}
    calls: [{write: {path: b.txt, content: "b\n"}}]
  - when: {turn: 3, last: ok}
    calls: [{submit_result: {summary: done}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	ask := w.asks(t, model.Call, "read", "write", "submit_result")
	items := []pawl.Item{{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")}}
	var last *pawl.ModelReplied
	for turn := 1; turn <= 3; turn++ {
		last = must[*pawl.ModelReplied](t, w, ask, transcript(items...), func(j *driver.Job) { j.Effect.Place.Turn = turn })
		items = append(items, pawl.Item{Kind: pawl.ItemAssistant, Blob: last.Message})
		for i, c := range last.Calls {
			if c.Submit {
				continue
			}
			ret := must[*pawl.ToolReturned](t, w, &pawl.CallTool{Tool: c.Tool, Args: c.Args, Call: i, Before: tree})
			items = append(items, pawl.Item{Kind: pawl.ItemResult, Call: uint16(i), Blob: ret.Output, IsError: ret.IsError})
		}
		items = append(items, pawl.Item{Kind: pawl.ItemNote, Text: "Reminder."})
	}
	if len(last.Calls) != 1 || !last.Calls[0].Submit || last.Calls[0].Problem != "" {
		t.Errorf("the third turn called %+v", last.Calls)
	}
	if got := MustRead(t, w.dir("b.txt")); got != "b\n" {
		t.Errorf("b.txt is %q", got)
	}
}
