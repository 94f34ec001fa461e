package kernel

import (
	"testing"

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
			Children: &pawl.Children{From: name, Kind: child, Order: "score", Parallel: 1, Cascade: true}}
		return k
	}
	plan, spec, phase := level("plan", "spec", 40, 2, 3), level("spec", "phase", 60, 5, 3), level("phase", "code", 80, 20, 3)
	plan.Approval, plan.Children.Parallel = &pawl.Approval{By: "human"}, 5
	spec.Children.Order, phase.Children.Limit = "list", 1
	code := pawl.LoopKind{Name: "code", Priority: 100, Concurrent: 50, Iterations: 3, Ladder: pawl.Ladder{Then: "fail"},
		Steps: []pawl.Step{{Name: "code", Prompt: "code.md", Output: "result", Tools: []string{"read", "write"}}},
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

// Of many who approve one plan at once, one does, and its children exist once; the others
// are told. R-53, R-B03, R-B25
func TestOneOfManyApproves(t *testing.T) {
	w := newWorld(t)
	s := &script{w: w}
	w.happens = s.happens
	s.list(t, "list: A, B, C")
	w.start(levels(), settings())
	for w.openQuestion() == nil && w.land() {
		continue
	}
	q := w.openQuestion()
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
