package drivertest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"pawl"
	"pawl/internal/driver"
)

// World is a performer without a world: every effect is answered by rule, the
// same request always alike, so that a run ends the same however often it was
// interrupted. The zero World answers that everything went well.
type World struct {
	// Before is called as each effect is performed, with the log's word on it
	// still to be asked; it may block or end ctx's caller. It may be nil.
	Before func(ctx context.Context, job driver.Job)
	// GateVerdict judges a candidate of an iteration; nil passes everything.
	GateVerdict func(iteration int, gate string) pawl.Verdict
	// Calls is how many tool calls a step makes before it hands in its result.
	Calls int

	mu        sync.Mutex // guards performed
	performed map[pawl.RunID]map[pawl.Seq]int
}

// Performed is how often each effect of a run was begun.
func (w *World) Performed(run pawl.RunID) map[pawl.Seq]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[pawl.Seq]int)
	for id, n := range w.performed[run] {
		out[id] = n
	}
	return out
}

// Perform implements [driver.Performer].
func (w *World) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	w.mu.Lock()
	if w.performed == nil {
		w.performed = make(map[pawl.RunID]map[pawl.Seq]int)
	}
	if w.performed[job.Run] == nil {
		w.performed[job.Run] = make(map[pawl.Seq]int)
	}
	w.performed[job.Run][job.Effect.ID]++
	w.mu.Unlock()
	if w.Before != nil {
		w.Before(ctx, job)
	}
	id := job.Effect.ID
	place := job.Effect.Place
	switch do := job.Effect.Do.(type) {
	case *pawl.OpenWorkspace:
		return &pawl.WorkspaceOpened{Effect: id, Head: do.Base, Tree: "tree-0"}, nil
	case *pawl.AssemblePrompt:
		b := pawl.NewBlob([]byte("prompt of " + place.String()))
		return &pawl.PromptAssembled{Effect: id, Prompt: b.Hash(), Bytes: int64(len(b.Data()))}, []pawl.Blob{b}
	case *pawl.CallModel:
		return w.reply(id, place)
	case *pawl.CallTool:
		b := pawl.NewBlob([]byte("done: " + place.String()))
		return &pawl.ToolReturned{Effect: id, Output: b.Hash(), Bytes: 5, Tree: tree(place)}, []pawl.Blob{b}
	case *pawl.RunGate:
		v := pawl.VerdictPass
		if w.GateVerdict != nil && !do.OnBase {
			v = w.GateVerdict(place.Iteration, do.Gate)
		}
		return &pawl.GateJudged{Effect: id, Gate: do.Gate, Kind: pawl.GateTests, Verdict: v, Reason: string(v), OnBase: do.OnBase, Passed: 1, Total: 1, Kept: 1}, nil
	case *pawl.Prepare:
		return &pawl.Prepared{Effect: id, Key: "key of " + string(do.Commit)}, nil
	case *pawl.Commit:
		c := pawl.CommitHash(fmt.Sprintf("commit-%d", place.Iteration))
		return &pawl.Committed{Effect: id, Commit: c, Tree: pawl.TreeHash("of-" + c), Files: 1, Total: 1, FileSet: uint64(place.Iteration)}, nil
	case *pawl.InspectWorkspace:
		return &pawl.WorkspaceInspected{Effect: id, Tree: tree(place)}, nil
	case *pawl.ResetWorkspace:
		return &pawl.WorkspaceReset{Effect: id, Head: do.Commit, Tree: "tree-0"}, nil
	case *pawl.CloseWorkspace:
		return &pawl.WorkspaceClosed{Effect: id}, nil
	}
	return &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: pawl.FailDefect, Message: "unknown effect"}}, nil
}

func tree(p pawl.Place) pawl.TreeHash {
	return pawl.TreeHash(fmt.Sprintf("tree-%d-%d", p.Iteration, p.Turn))
}

// reply calls a shell tool for the first turns and then hands in the result.
func (w *World) reply(id pawl.Seq, p pawl.Place) (pawl.Answer, []pawl.Blob) {
	message := pawl.NewBlob([]byte("message of " + p.String()))
	args := pawl.NewBlob([]byte(`{"at":"` + p.String() + `"}`))
	r := &pawl.ModelReplied{Effect: id, Message: message.Hash(), Bytes: 20, Stop: pawl.StopToolUse, Model: "none",
		Usage: pawl.Usage{Input: 100, Output: 10}}
	use := pawl.ToolUse{Tool: "run", Args: args.Hash(), Class: pawl.CrashOnce}
	if p.Turn > w.Calls || p.Role != "implementation" {
		use = pawl.ToolUse{Tool: "submit", Args: args.Hash(), Submit: true, Facts: pawl.Facts{{Name: "decision", Value: "pass"}}}
	}
	r.Calls = []pawl.ToolUse{use}
	return r, []pawl.Blob{message, args}
}

// Recipe is a small loop: one step, one stage of gates, one review, two tiers.
func Recipe() pawl.Recipe {
	return pawl.Recipe{
		Name: "small", Start: "task", Tiers: []string{"fast", "medium", "large"},
		Kinds: []pawl.LoopKind{{
			Name:  "task",
			Steps: []pawl.Step{{Name: "implement", Role: "implementation", Prompt: "p", Output: "result", Tools: []string{"run"}}},
			Gates: []pawl.Stage{{Name: "quality", Commands: []string{"*"}},
				{Name: "requirements", Review: &pawl.Review{Role: "reviewer", Prompt: "p", Output: "verdict", Tier: 2}}},
			Ladder:     pawl.Ladder{Rungs: []pawl.Rung{{Tier: 1, Failures: 2}, {Tier: 2, Failures: 2}}, Then: "blocked"},
			Iterations: 10,
		}},
	}
}

// Started is the beginning of a run of [Recipe] with two gates and free models.
func Started() *pawl.RunStarted { return started(Recipe()) }

// Asking is like [Started], but a person is asked when the ladder is used up.
func Asking() *pawl.RunStarted {
	r := Recipe()
	r.Kinds[0].Ladder.Then = "ask"
	return started(r)
}

func started(r pawl.Recipe) *pawl.RunStarted {
	recipe, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	m := pawl.ModelChoice{Provider: "none", Name: "none", MaxOutput: 1000}
	settings, err := json.Marshal(pawl.Settings{
		Limits: pawl.DefaultLimits, Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100,
		HaltOn: []pawl.HaltCondition{pawl.HaltSecurity, pawl.HaltIterations, pawl.HaltBudget},
		Gates:  []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests}, {Name: "lint", Kind: pawl.GateLint}},
	})
	if err != nil {
		panic(err)
	}
	return &pawl.RunStarted{Task: 1, Title: "a small thing", Base: "base", Branch: "pawl/001-small", Seed: 42, Count: 1, Recipe: recipe, Settings: settings}
}
