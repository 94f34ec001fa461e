package cli_test

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/answer"
	"pawl/internal/cli/cancel"
	"pawl/internal/cli/checkpoints"
	"pawl/internal/cli/continues"
	"pawl/internal/cli/fork"
	"pawl/internal/cli/inbox"
	"pawl/internal/cli/rollback"
	"pawl/internal/view"
)

// add appends an event to the run, a minute after the one before.
func (p *planned) add(loop pawl.LoopRef, body pawl.Body) {
	n := len(p.events)
	p.events = append(p.events, pawl.Event{Run: plannedRun, Seq: pawl.Seq(n + 1), Loop: loop, Time: p.events[n-1].Time.Add(time.Minute), Body: body})
}

// checkpoint makes one.
func (p *planned) checkpoint(k pawl.Checkpoint) {
	id := pawl.Seq(len(p.events) + 1)
	p.add(1, &pawl.EffectRequested{Effect: pawl.Effect{ID: id, Loop: 1, Do: &pawl.MarkCheckpoint{Checkpoint: k, Ref: "refs/pawl/checkpoints/x"}}})
	p.add(1, &pawl.CheckpointMarked{Effect: id})
}

func checkpointed(t *testing.T) (*bed, *planned) {
	b, p := plannedBed(t)
	p.checkpoint(pawl.Checkpoint{N: 1, Commit: "1111111111111111", Label: "scaffold", Batch: 1, Plan: 1, Good: true, Approved: 1, Passing: 4})
	p.checkpoint(pawl.Checkpoint{N: 2, Commit: "2222222222222222", Label: "batch-2", Batch: 2, Plan: 1, Approved: 1, Passing: 3})
	return b, p
}

// V-77: one inbox for whatever waits for a person.
func TestInbox(t *testing.T) {
	b, p := plannedBed(t)
	p.add(1, &pawl.QuestionAsked{N: 2, Kind: pawl.AskClarify, Text: "Which currency?\x1b[2J", Choices: []string{"answer", "decide"}})
	for _, args := range [][]string{{}, {"7"}} {
		if err := b.execute(t, inbox.New(b.app, clock), args...); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Run 007-parser, question 1 (start) about task lexer, open for 54s", "May the task lexer start?", "pawl answer 007-parser 1 approve (or reject)",
			"Run 007-parser, question 2 (clarify)\n", `pawl answer 007-parser 2 answer --text "…" (or decide)`} {
			if !strings.Contains(b.out.String(), want) || strings.ContainsRune(b.out.String(), 0x1b) {
				t.Errorf("%v: no %q in\n%s", args, want, b.out.String())
			}
		}
	}
	b.app.JSON = true
	if err := b.execute(t, inbox.New(b.app, clock)); err != nil {
		t.Fatal(err)
	}
	var got []view.OpenQuestion
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil || len(got) != 2 || got[0].Run != plannedRun || got[0].N != 1 || got[1].Kind != pawl.AskClarify || got[0].How == "" {
		t.Errorf("%v: %s", err, b.out.String())
	}
	p.add(2, &pawl.QuestionAnswered{N: 1, Choice: "approve"})
	p.add(1, &pawl.QuestionWithdrawn{N: 2, Reason: "rolled back"})
	if err := b.execute(t, inbox.New(b.app, clock)); err != nil || strings.TrimSpace(b.out.String()) != "[]" {
		t.Errorf("%v: %s", err, b.out.String())
	}
	b.app.JSON = false
	if err := b.execute(t, inbox.New(b.app, clock)); err != nil || !strings.Contains(b.err.String(), "nothing waits for you") {
		t.Errorf("%v: %s", err, b.err.String())
	}
	if err := b.execute(t, inbox.New(b.app, clock), "9"); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("%v", err)
	}
}

// V-28 V-77: what only a person knows is said in words, and not left out.
func TestAnswerInWords(t *testing.T) {
	b, p := plannedBed(t)
	p.add(1, &pawl.QuestionAsked{N: 2, Kind: pawl.AskClarify, Text: "Which currency?", Choices: []string{"answer", "decide"}})
	for _, args := range [][]string{{"7", "2", "--text", "Cents."}, {"7", "2", "answer", "--text", "Cents."}} {
		if err := b.execute(t, answer.New(b.app), args...); err != nil || !strings.Contains(b.out.String(), "Question 2 of run 007-parser is answered: answer") {
			t.Errorf("%v: %v: %s", args, err, b.out.String())
		}
	}
	if err := b.execute(t, answer.New(b.app), "7", "2", "decide"); err != nil {
		t.Errorf("its other choices need no words: %v", err)
	}
	for i, want := range []pawl.Reply{{Question: 2, Choice: "answer", Text: "Cents.", By: "ada"}, {Question: 2, Choice: "answer", Text: "Cents.", By: "ada"}, {Question: 2, Choice: "decide", By: "ada"}} {
		if got := *p.steered[i].Answer; got != want {
			t.Errorf("steered to %+v", got)
		}
	}
	if err := b.execute(t, answer.New(b.app), "7", "2"); err != nil || !strings.Contains(b.out.String(), `CHOICE --text "…"`) {
		t.Errorf("%v: %s", err, b.out.String())
	}
	for _, args := range [][]string{{"7", "2", "answer"}, {"7", "2", "answer", "--text", " "}, {"7", "1", "--text", "yes"}} {
		if err := b.execute(t, answer.New(b.app), args...); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%v: %v", args, err)
		}
	}
	if len(p.steered) != 3 {
		t.Errorf("steered %d times", len(p.steered))
	}
}

func TestCheckpoints(t *testing.T) { // V-49
	b, _ := checkpointed(t)
	if err := b.execute(t, checkpoints.New(b.app), "7"); err != nil || !strings.Contains(b.out.String(), "scaffold") || !strings.Contains(b.out.String(), "last good") {
		t.Errorf("%v: %s", err, b.out.String())
	}
	b.app.JSON = true
	var got view.CheckpointList
	if err := b.execute(t, checkpoints.New(b.app)); err != nil || json.Unmarshal(b.out.Bytes(), &got) != nil || got.LastGood != 1 || len(got.Checkpoints) != 2 {
		t.Errorf("%v: %s", err, b.out.String())
	}
}

func TestRollback(t *testing.T) { // V-50
	b, p := checkpointed(t)
	for _, test := range []struct {
		args []string
		want pawl.Steering
		says string
	}{
		{[]string{"7"}, pawl.Steering{Verb: pawl.SteerRollback, Checkpoint: 1, By: "ada"}, "goes back to checkpoint 1 (scaffold)"},
		{[]string{"7", "2", "--reason", "a mistake"}, pawl.Steering{Verb: pawl.SteerRollback, Checkpoint: 2, By: "ada", Reason: "a mistake"}, "goes back to checkpoint 2 (after batch 2)"},
	} {
		p.steered = nil
		if err := b.execute(t, rollback.New(b.app), test.args...); err != nil || !strings.Contains(b.out.String(), test.says) || len(p.steered) != 1 || !reflect.DeepEqual(p.steered[0], test.want) {
			t.Errorf("%v: %v, steered %+v\n%s", test.args, err, p.steered, b.out.String())
		}
	}
	p.steered = nil
	for _, c := range []struct {
		code pawl.Code
		args []string
	}{{pawl.CodeInvalid, []string{"7", "first"}}, {pawl.CodeInvalid, []string{"7", "0"}}, {pawl.CodeInvalid, nil}, {pawl.CodeNotFound, []string{"7", "3"}}, {pawl.CodeNotFound, []string{"8"}}} {
		if err := b.execute(t, rollback.New(b.app), c.args...); pawl.CodeOf(err) != c.code {
			t.Errorf("%v: %v", c.args, err)
		}
	}
	p.events = p.events[:len(p.events)-4]
	if err := b.execute(t, rollback.New(b.app), "7"); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("a run without checkpoints: %v", err)
	}
	if len(p.steered) > 0 {
		t.Errorf("steered %+v", p.steered)
	}
}

// What may end before a cancelled run does is the recipe's to say, unless a flag does. L-78 F-88
func TestCancel(t *testing.T) {
	for _, test := range []struct {
		recipe, flag string
		want         pawl.Draining
		says         string
	}{
		{"", "", "", "calls and commands in progress finish first"},
		{`"cancel":"finish"`, "", "", "iterations in progress finish first"},
		{`"cancel":"now"`, "", "", "are interrupted"},
		{`"cancel":"finish"`, "--soon", pawl.DrainBoundary, "calls and commands in progress finish first"},
		{`"cancel":"now"`, "--finish", pawl.DrainFinish, "iterations in progress finish first"},
		{"", "--now", pawl.DrainNow, "are interrupted"},
	} {
		b, p := plannedBed(t)
		began := p.events[0].Body.(*pawl.RunStarted)
		if test.recipe != "" {
			began.Recipe = pawl.JSON(strings.Replace(string(began.Recipe), "{", "{"+test.recipe+",", 1))
		}
		args := []string{"7"}
		if test.flag != "" {
			args = append(args, test.flag)
		}
		err := b.execute(t, cancel.New(b.app), args...)
		if want := (pawl.Steering{Verb: pawl.SteerCancel, Running: test.want}); err != nil || len(p.steered) != 1 || !reflect.DeepEqual(p.steered[0], want) || !strings.Contains(b.out.String(), test.says) {
			t.Errorf("%s %s: %v, steered %+v\n%s", test.recipe, test.flag, err, p.steered, b.out.String())
		}
	}
}

func TestOverride(t *testing.T) {
	b, p := plannedBed(t)
	if err := b.execute(t, continues.New(b.app), "7", "--reason", "it only looks stalled"); err != nil || !strings.Contains(b.out.String(), "continues despite its health") {
		t.Errorf("%v: %s", err, b.out.String())
	}
	if want := (pawl.Steering{Verb: pawl.SteerContinue, Reason: "it only looks stalled", By: "ada"}); len(p.steered) != 1 || !reflect.DeepEqual(p.steered[0], want) {
		t.Errorf("steered %+v", p.steered)
	}
}

// forking is a service whose run has been forked.
type forking struct {
	*planned
	at pawl.Seq
}

func (f *forking) Fork(_ context.Context, run pawl.RunID, at pawl.Seq) (pawl.RunInfo, error) {
	if f.refuse != nil {
		return pawl.RunInfo{}, f.refuse
	}
	f.at = at
	f.events = append(f.events[:at:at],
		pawl.Event{Run: run, Seq: at + 1, Loop: 0, Time: noon, Body: &pawl.Forked{Commit: "abcdef0123456789", Lost: 3, Cost: 1_500_000, Tokens: 700}},
		pawl.Event{Run: run, Seq: at + 2, Time: noon, Body: &pawl.RunEnded{Outcome: pawl.OutcomeCancelled}})
	return view.Info(f.events), nil
}

func (f *forking) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		for e, err := range f.Events(ctx, run, after) {
			if !yield(pawl.Update{Event: &e}, err) {
				return
			}
		}
	}
}

func TestFork(t *testing.T) {
	b, p := plannedBed(t)
	f := &forking{planned: p}
	b.app.Open = func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: f, Close: func() error { return nil }}, nil
	}
	if err := b.execute(t, fork.New(b.app), "7"); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("without an event: %v", err)
	}
	f.refuse = pawl.Errorf(pawl.CodeState, "it is at work")
	if err := b.execute(t, fork.New(b.app), "7", "--at", "5"); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("%v", err)
	}
	f.refuse = nil
	err := b.execute(t, fork.New(b.app), "7", "--at", "5")
	if b.app.Report(err) != 14 || f.at != 5 {
		t.Errorf("%v, forked at %d", err, f.at)
	}
	for _, want := range []string{"continues from event 5 of run 007-parser", "commit   abcdef012345, 3 events before", "spent    $1.50 and 700 tokens by run 007-parser, which are not charged here"} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("no %q in\n%s", want, b.out.String())
		}
	}
}
