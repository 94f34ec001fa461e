package recipe_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
)

func MustLoad(tb testing.TB, name string) pawl.Recipe {
	tb.Helper()
	r, err := recipe.Load(name)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestBuiltin(t *testing.T) {
	want := []string{"coherence", "loom", "loopr", "merge-check", "pandora", "pawl", "taskloop"}
	if diff := cmp.Diff(want, recipe.Builtin()); diff != "" {
		t.Error(diff)
	}
}

// The task loop is exactly what its document asks for.
func TestTaskLoop(t *testing.T) {
	want := pawl.Recipe{
		Name: "taskloop",
		Description: "Works on one task until every gate passes. Failures raise the tier, then\n" +
			"convene a council; a security finding stops the run.",
		Agent:  "orchestration:task-loop",                                         // D-01
		Report: pawl.ReportStyle{Heading: "TASK LOOP", Live: pawl.LiveIterations}, // D-47
		Tiers:  []string{"haiku", "sonnet", "opus"},                               // D-13 D-14 D-15
		Start:  "task",
		Kinds: []pawl.LoopKind{{
			Name:       "task",
			Iterations: 10,                // D-30 D-B06
			Unjudged:   pawl.UnjudgedFail, // D-B07 D-B12
			Complexity: &pawl.Bands{From: "assess", Unknown: 5, Tiers: []pawl.Band{ // D-12 D-B14
				{Max: 4, Tier: 1, Name: "simple"},   // D-13
				{Max: 8, Tier: 2, Name: "moderate"}, // D-14
				{Max: 14, Tier: 3, Name: "complex"}, // D-15
			}},
			Steps: []pawl.Step{
				{Name: "assess", Role: "assess", Prompt: "assess.md", Tier: 1, First: true, Output: "assessment", Required: true,
					Tools: []string{"read", "list", "glob", "grep"}},
				{Name: "implement", Role: "implementation", Prompt: "implement.md", Output: "result", Turns: 20, // D-06 D-34
					Tools: []string{"read", "write", "edit", "list", "glob", "grep", "run"}, Timeout: 300 * time.Second, TimeCap: pawl.TurnCapJudge}, // D-55 D-59
			},
			Gates: []pawl.Stage{
				{Name: "quality", Commands: []string{"*"}, Timeout: 120 * time.Second}, // D-07 D-35 D-56
				{Name: "requirements", Timeout: 60 * time.Second, Review: &pawl.Review{ // D-08 D-36 D-57
					Role: "requirements-validator", Prompt: "requirements.md", Tier: 2, Output: "verdict",
					Tools: []string{"read", "list", "glob", "grep"}, Unfilled: pawl.UnfilledFail}},
			},
			Ladder: pawl.Ladder{
				Rungs: []pawl.Rung{{Tier: 1, Failures: 2}, {Tier: 2, Failures: 2}, {Tier: 3, Failures: 3}}, // D-16 D-17 D-18 D-B01
				Stuck: 3,                                                                                   // D-22 D-23
				Then:  "blocked",                                                                           // D-B13
				Council: &pawl.Council{Tier: 3, Attempts: 1, Propose: "propose.md", Ballot: "ballot.md", // D-40 D-B13
					Tools: []string{"read", "list", "glob", "grep"}},
			},
		}},
	}
	got := MustLoad(t, "taskloop")
	lenses := got.Kinds[0].Ladder.Council.Lenses
	got.Kinds[0].Ladder.Council.Lenses, got.Deviations = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var names []string
	for _, l := range lenses {
		names = append(names, l.Name)
	}
	if diff := cmp.Diff([]string{"root cause analyst", "code archaeologist", "pattern matcher", "systems thinker", "adversarial tester"}, names); diff != "" {
		t.Error(diff)
	}
}

// The default recipe is the task loop under plain names, with no limit of its own on the
// time of commands, lets an agent change the dependencies, and looks at how attempts develop. F-27 F-43
func TestDefault(t *testing.T) {
	got, base := MustLoad(t, recipe.Default), MustLoad(t, "taskloop")
	if got.Agent != "pawl" || !slices.Equal(got.Tiers, []string{"fast", "medium", "large"}) {
		t.Errorf("got agent %q, tiers %q", got.Agent, got.Tiers)
	}
	if got.Kinds[0].Gates[0].Timeout != 0 {
		t.Errorf("gates may take %s; want no limit, so that what they took on the base decides", got.Kinds[0].Gates[0].Timeout)
	}
	base.Kinds[0].Gates[0].Timeout = 0
	base.Kinds[0].Gates[1].Review.Unfilled = pawl.UnfilledAsk // F-34
	base.Kinds[0].Steps[1].Tools = append(base.Kinds[0].Steps[1].Tools, "update_dependencies")
	base.Kinds[0].Monitor = map[string][]string{"REGRESSING": {"rollback"}, "FLIP-FLOPPING": {"escalate"}}
	base.Kinds[0].Proof, base.Kinds[0].Unjudged = pawl.ProofFeedback, pawl.UnjudgedAgain
	if diff := cmp.Diff(base.Kinds, got.Kinds); diff != "" {
		t.Error(diff)
	}
}

// Every built-in recipe can be explained.
func TestExplain(t *testing.T) {
	for _, name := range recipe.Builtin() {
		r := MustLoad(t, name)
		text := recipe.Explain(r)
		for _, k := range r.Kinds {
			if !strings.Contains(text, "\n"+k.Name+" (") {
				t.Errorf("%s: kind %s is not explained", name, k.Name)
			}
			for _, s := range slices.Concat(k.Steps, k.FinalSteps) {
				if !strings.Contains(text, ". "+s.Name+": ") {
					t.Errorf("%s: step %s is not explained", name, s.Name)
				}
			}
			for _, g := range slices.Concat(k.Gates, k.FinalGates) {
				if !strings.Contains(text, ". "+g.Name+": ") {
					t.Errorf("%s: gate %s is not explained", name, g.Name)
				}
			}
		}
		if strings.Contains(text, ", ,") || strings.Contains(text, "%!") {
			t.Errorf("%s: badly put:\n%s", name, text)
		}
	}
}

func TestExplainTaskLoop(t *testing.T) {
	want := `taskloop
  Works on one task until every gate passes. Failures raise the tier, then
  convene a council; a security finding stops the run.
  agent: orchestration:task-loop
  tiers: haiku, sonnet, opus
  reports headed TASK LOOP, logs show the report of each iteration

task (the root loop, at most 10 iterations)
  starts on: simple (0–4) → haiku, moderate (5–8) → sonnet, complex (9–14) → opus, scored by assess; unknown counts as 5
  steps:
    1. assess: on haiku, in the first iteration only, tools read list glob grep, must submit assessment, 20 turns
    2. implement: implementation, on the loop's tier, tools read write edit list glob grep run, submits result, 20 turns, at most 5m0s, judged when twice the time is used up
  gates:
    1. quality: all command gates, in parallel, at most 2m0s
    2. requirements: review by requirements-validator on sonnet, tools read list glob grep, at most 1m0s
  after failures: 2 failures on haiku, then 2 failures on sonnet, then 3 failures on opus, then a council of 5 on opus (root cause analyst, code archaeologist, pattern matcher, systems thinker, adversarial tester), then 1 more iteration, then blocked
  stuck: 3 failures in a row that are alike
  otherwise than the document it follows:
    No agent enforces the quality gates; Pawl runs their commands itself, because what a model says of a test is no evidence.
    A council is told the errors of all attempts, but only the last attempt's own account of what it did.
    A gate that took longer on the base than its two minutes has ten on candidates, or three times what it took there, because it could never pass with less.
    The times of sessions are meant for models. A coding agent has what limits.session gives it if that is more, and at its end one short turn to hand in what it has.
`
	if diff := cmp.Diff(want, recipe.Explain(MustLoad(t, "taskloop"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
