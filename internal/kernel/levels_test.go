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
