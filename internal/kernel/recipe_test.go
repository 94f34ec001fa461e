package kernel

import (
	"time"

	"pawl"
)

// taskLoop is the recipe of the tests: one task, worked on by one session per
// attempt, judged by commands and a review, with a ladder of three tiers and a
// council of five.
func taskLoop() *pawl.Recipe {
	lens := func(name string) pawl.Lens {
		return pawl.Lens{Name: name, Focus: "Look at it as the " + name + " does."}
	}
	return &pawl.Recipe{
		Name: "taskloop", Start: "task", Tiers: []string{"haiku", "sonnet", "opus"},
		Kinds: []pawl.LoopKind{{
			Name: "task", Iterations: 10,
			Complexity: &pawl.Bands{From: "assess", Unknown: 5, Tiers: []pawl.Band{
				{Max: 4, Tier: 1, Name: "simple"}, {Max: 8, Tier: 2, Name: "moderate"}, {Max: 14, Tier: 3, Name: "complex"}}},
			Steps: []pawl.Step{
				{Name: "assess", Role: "assessor", Prompt: "assess.md", Tier: 1, First: true, Output: "assessment", Required: true,
					Tools: []string{"read", "list"}},
				{Name: "implement", Role: "implementer", Prompt: "implement.md", Output: "result", Required: true,
					Tools: []string{"read", "write", "edit", "list", "glob", "grep", "run"}, Turns: 20, Timeout: 5 * time.Minute},
			},
			Gates: []pawl.Stage{
				{Name: "quality", Commands: []string{"*"}, Timeout: 2 * time.Minute},
				{Name: "requirements", Timeout: time.Minute, Review: &pawl.Review{
					Role: "validator", Prompt: "requirements.md", Tier: 2, Output: "verdict", Tools: []string{"read"}}},
			},
			Ladder: pawl.Ladder{
				Rungs: []pawl.Rung{{Tier: 1, Failures: 2}, {Tier: 2, Failures: 2}, {Tier: 3, Failures: 3}}, Stuck: 3, Then: "blocked",
				Council: &pawl.Council{Tier: 3, Propose: "propose.md", Ballot: "ballot.md", Attempts: 1, Tools: []string{"read"},
					Lenses: []pawl.Lens{lens("analyst"), lens("archaeologist"), lens("matcher"), lens("thinker"), lens("tester")}},
			},
		}},
	}
}

// treeLoop is a recipe with children: a plan whose tasks are worked side by side
// and merged, each as the task loop works, without its complexity and its review.
func treeLoop() *pawl.Recipe {
	r := taskLoop()
	task := r.Kinds[0]
	task.Complexity, task.Steps, task.Gates = nil, task.Steps[1:], task.Gates[:1]
	r.Name, r.Start = "tree", "request"
	r.Kinds = []pawl.LoopKind{{
		Name: "request", Iterations: 1,
		Steps:    []pawl.Step{{Name: "plan", Role: "planner", Prompt: "plan.md", Tier: 3, Output: "plan", Required: true, Tools: []string{"read"}}},
		Children: &pawl.Children{From: "plan", Kind: "task", Order: "list", Parallel: 1},
		Ladder:   pawl.Ladder{Then: "blocked"},
	}, task}
	return r
}

// settings are those of the tests: three models that cost $1, $3 and $5 for a
// million tokens in and five times that out, the default limits, and no gates.
func settings() *pawl.Settings {
	model := func(name string, dollars pawl.Micros) pawl.ModelChoice {
		return pawl.ModelChoice{Provider: "script", Name: name, MaxOutput: 8000,
			Price: pawl.Price{Input: dollars * pawl.Dollars, Output: 5 * dollars * pawl.Dollars}}
	}
	return &pawl.Settings{
		Limits: pawl.DefaultLimits, Retry: pawl.DefaultRetry, OutputFloor: 1000,
		Models: [3]pawl.ModelChoice{model("haiku", 1), model("sonnet", 3), model("opus", 5)},
		HaltOn: []pawl.HaltCondition{pawl.HaltSecurity, pawl.HaltIterations, pawl.HaltBudget},
	}
}

// gate is a command gate by name. Its kind is its name, or tests when there is
// no such kind.
func gate(name string) pawl.GateSpec {
	g := pawl.GateSpec{Name: name, Kind: pawl.GateKind(name), Command: "make " + name}
	switch g.Kind {
	case pawl.GateTests, pawl.GateTypes, pawl.GateLint, pawl.GateSecurity, pawl.GateFormat:
	default:
		g.Kind = pawl.GateTests
	}
	if name == pawl.HeldOutGate {
		g.Kind = pawl.GateHeldOut
	}
	return g
}
