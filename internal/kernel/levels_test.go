package kernel

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"pawl"
)

// levels is a recipe of four levels, each of which stands on an artifact of the one
// above: plan, spec, phase and code, with the scores and limits of Loopr.
func levels() *pawl.Recipe {
	level := func(name, child string, priority, concurrent, iterations int) pawl.LoopKind {
		k := pawl.LoopKind{Name: name, Priority: priority, Concurrent: concurrent, Iterations: iterations, Ladder: pawl.Ladder{Then: "fail"},
			Steps:    []pawl.Step{{Name: name, Prompt: name + ".md", Output: "plan", Required: true, Tools: []string{"read"}}},
			Gates:    []pawl.Stage{{Name: name + "-format", Builtin: wellFormed}},
			Children: &pawl.Children{From: name, Kind: child, Order: "score", Parallel: 1, Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}}
		return k
	}
	plan, spec, phase := level("plan", "spec", 40, 2, 3), level("spec", "phase", 60, 5, 3), level("phase", "code", 80, 20, 3)
	plan.Approval, plan.Children.Parallel = &pawl.Approval{By: "human"}, 5
	spec.Children.Order, phase.Children.Limit = "list", 1
	code := pawl.LoopKind{Name: "code", Priority: 100, Concurrent: 50, Iterations: 3, Ladder: pawl.Ladder{Then: "fail"},
		Steps: []pawl.Step{{Name: "code", Prompt: "code.md", Output: "result", TurnCap: pawl.TurnCapJudge, Tools: []string{"read", "write"}}},
		Gates: []pawl.Stage{{Name: "validation", Builtin: validationCommand}, {Name: "quality", Commands: []string{"*"}}}}
	return &pawl.Recipe{Name: "levels", Start: "plan", Kinds: []pawl.LoopKind{plan, spec, phase, code}}
}

// levelsOption changes the recipe of a story's run: loops=N, approve=nobody,
// concurrent=KIND,N, parallel-of=KIND,N, iterations=KIND,N, order=KIND,ORDER.
func levelsOption(t *testing.T, r *pawl.Recipe, a datadriven.CmdArg) {
	k := r.Kind(a.Vals[0])
	switch a.Key {
	case "loops":
		r.Loops = atoi(t, a.Vals[0])
	case "approve":
		r.Kinds[0].Approval = nil
	case "concurrent":
		k.Concurrent = atoi(t, a.Vals[1])
	case "parallel-of":
		k.Children.Parallel = atoi(t, a.Vals[1])
	case "iterations":
		k.Iterations = atoi(t, a.Vals[1])
	case "order":
		k.Children.Order = a.Vals[1]
	}
}

// awaits is a tree whose plan waits for a person.
func awaits(t *testing.T) (*world, *question) {
	t.Helper()
	w := newWorld(t)
	s := &script{w: w}
	w.happens = s.happens
	s.list(t, "list: A, B, C")
	w.start(levels(), settings())
	for w.openQuestion() == nil && w.land() {
		continue
	}
	return w, w.openQuestion()
}

// While a plan waits for a person nothing is under way, nothing stands on it, and the
// run's time does not pass. R-51
func TestAPlanThatWaitsCostsNothing(t *testing.T) {
	w, _ := awaits(t)
	spent, before := w.state.Spent, w.state.alive(w.state.Last)
	if w.land() {
		t.Error("something is under way")
	}
	if w.state.Spent != spent || len(w.state.Loops()) != 1 {
		t.Errorf("it has spent %v and %v, and there are %d loops", spent, w.state.Spent, len(w.state.Loops()))
	}
	if after := w.state.alive(w.state.Last.Add(7 * 24 * time.Hour)); after != before {
		t.Errorf("the run was %s old, and is %s a week later", before, after)
	}
}

// Who decides about another plan than the one that waits is told where to look. R-53
func TestAnotherPlanIsNotApproved(t *testing.T) {
	w, q := awaits(t)
	err := w.steer(pawl.Steering{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: q.n, Choice: choiceApprove}})
	want := "pawl plan show 001-add-login " + w.state.Loop(1).ID
	if e, is := errors.AsType[*pawl.Error](err); !is || e.Code != pawl.CodeConflict || e.Hint != want || w.openQuestion() == nil {
		t.Errorf("%v (%+v)", err, e)
	}
}

// What a person says of a plan is heard whole, or refused: nothing is cut away. R-48
func TestAnswersAreHeardWhole(t *testing.T) {
	w, q := awaits(t)
	say := func(text string) error {
		return w.steer(pawl.Steering{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: q.n, Choice: choiceIterate, About: q.about, Text: text}})
	}
	if err := say(strings.Repeat("x", maxAnswer+1)); pawl.CodeOf(err) != pawl.CodeInvalid || w.openQuestion() == nil {
		t.Errorf("too long an answer: %v", err)
	}
	text := strings.Repeat("é", maxAnswer/2)
	if err := say(text); err != nil {
		t.Fatal(err)
	}
	if b := all[*pawl.QuestionAnswered](w); len(b) != 1 || b[0].Text != text || b[0].Said != pawl.HashOf([]byte(text)) {
		t.Errorf("answered %+v", b)
	}
}

// Of many who approve one plan at once, one does, and its children exist once; the others
// are told. R-53, R-B03, R-B25
func TestOneOfManyApproves(t *testing.T) {
	w, q := awaits(t)
	done := 0
	for i := range 50 {
		err := w.steer(pawl.Steering{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: q.n, Choice: []string{choiceApprove, choiceReject}[i%2], About: q.about}})
		if err == nil {
			done++
		} else if pawl.CodeOf(err) != pawl.CodeConflict {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	if n := len(all[*pawl.LoopStarted](w)); done != 1 || n != 4 {
		t.Errorf("%d answers count, and there are %d loops", done, n)
	}
}
