package recipe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
)

// whole returns a recipe that sets everything that Explain describes. Beside each such field,
// another part of the recipe leaves it out.
func whole() pawl.Recipe {
	scaffold, rest := true, false
	return pawl.Recipe{
		Name: "whole", Description: "Everything.\nAnd more.", Start: "top", Loops: 1, Records: true, Cancel: pawl.DrainFinish,
		Kinds: []pawl.LoopKind{{
			Name: "top", Iterations: 1, Concurrent: 1, Priority: 1,
			Complexity: &pawl.Bands{From: "assess", Unknown: 5, Tiers: []pawl.Band{{Max: 4, Tier: 1, Name: "easy"}, {Max: 14, Tier: 3}}},
			Steps: []pawl.Step{
				{Name: "assess", Role: "assess", First: true, Output: "assessment", Required: true},
				{Name: "talk", When: &pawl.When{Decision: []string{"TALK", "ASK"}}, Repeat: &pawl.Repeat{Max: 1, Until: []string{"DONE", "ENOUGH"}, OnMax: "ask", Steps: []pawl.Step{
					{Name: "ask", Role: "asker", Tier: 1, Turns: 7, Timeout: time.Minute, Cap: pawl.SessionCap{Money: 500_000, Tokens: 300_000}, Output: "decision", Questions: true, Append: true},
					{Name: "note", Role: "note", ForEach: "ask.decisions", Parallel: 4, Memory: &pawl.Memory{Select: "relevant"}},
					{Name: "one", Role: "one", ForEach: "ask.decisions", When: &pawl.When{Tier: []int{1, 2}}},
				}}},
				{Name: "plan", Role: "plan", Tier: 3, Tools: []string{"read", "grep"}, Limits: []pawl.ToolLimit{{Tool: "read", Max: 1}, {Tool: "grep", Max: 2}},
					Output: "plan", Required: true, Keep: true, Check: &pawl.Check{Name: "many_steps", Demands: "SPLIT"}},
			},
			Gates: []pawl.Stage{
				{Name: "quick", Commands: []string{"lint", "types"}, Timeout: 2 * time.Second},
				{Name: "form", Builtin: "tool_results", When: &pawl.When{Verification: []int{1, 3}}},
				{Name: "person", Human: true},
				{Name: "vote", Review: &pawl.Review{Role: "judge", Tier: 2, Votes: 2, Tools: []string{"read", "run"}},
					On: map[pawl.Verdict]pawl.Route{"retry": {From: "start", Max: 1, Then: "fail"}, "revise": {From: "plan", Max: 2, Then: "ask"}}},
				{Name: "look", Review: &pawl.Review{Role: "judge", Tier: 1, Votes: 1}},
			},
			Approval: &pawl.Approval{By: "confidence_threshold", Threshold: 70},
			Children: &pawl.Children{
				From: "plan", Kind: "leaf", Order: "list", Parallel: 2, Limit: 1, Group: 12, ScaffoldFirst: true, Checkpoint: true,
				When:        &pawl.When{Decision: []string{"SPLIT"}},
				BeforeBatch: []pawl.Step{{Name: "gather", Role: "gather"}}, Judge: &pawl.Review{Role: "reviewer", Tier: 3},
				AfterBatch: []pawl.Step{{Name: "record", Role: "record"}},
				Monitor:    map[string][]string{"STALLED": {"gather", "revise"}, "BLOCKED": {"ask"}}, Recoveries: 1,
				Replan: &pawl.Replan{On: []string{"failure", "discovery"}, Every: 2, MaxVersions: 3}, OnFailure: "block",
			},
			FinalGates: []pawl.Stage{{Name: "all", Commands: []string{"*"}}},
			FinalSteps: []pawl.Step{{Name: "report", Role: "report"}},
			Extract:    &pawl.Step{Name: "learn", Role: "learn", Output: "learnings", When: &pawl.When{Verdict: []pawl.Verdict{"pass", "fail"}}},
			Ladder: pawl.Ladder{Rungs: []pawl.Rung{{Tier: 1, Failures: 1}, {Tier: 2, Failures: 2}}, Stuck: 3,
				Council: &pawl.Council{Tier: 3, Attempts: 2, Lenses: []pawl.Lens{{Name: "one"}, {Name: "two"}}}, Then: "ask"},
		}, {
			Name:  "leaf",
			Steps: []pawl.Step{{Name: "ground", Role: "ground", TierFrom: "model_tier", When: &pawl.When{Scaffold: &scaffold}}, {Name: "work", Role: "work", When: &pawl.When{Scaffold: &rest}}},
			Children: &pawl.Children{From: "work", Kind: "tip", Order: "score", Parallel: 1, Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent,
				Monitor: map[string][]string{"BLOCKED": {"ask"}}, Replan: &pawl.Replan{MaxVersions: 2}},
		}, {Name: "tip", Steps: []pawl.Step{{Name: "do", Role: "do"}},
			Monitor: map[string][]string{"REGRESSING": {"rollback", "escalate"}, "FLIP-FLOPPING": {"escalate"}}, Recoveries: 1}},
	}
}

func TestExplainWhole(t *testing.T) {
	want := `whole
  Everything.
  And more.
  when cancelled: finish
  records: the task's folder is committed to the run's branch
  tiers: fast, medium, large

top (the root loop, at most 1 iteration, at most 1 active at once, priority 1)
  starts on: easy (0–4) → fast, (5–14) → large, scored by assess; unknown counts as 5
  steps:
    1. assess: on the loop's tier, in the first iteration only, must submit assessment, 20 turns
    2. talk: at most 1 round until DONE or ENOUGH, then ask a person, only after TALK or ASK
      1. ask: asker, on fast, submits decision, collected over rounds, may ask a person, 7 turns, at most 1m0s, at most $0.50 and 300000 tokens for a coding agent
      2. note: on the loop's tier, for each of ask.decisions, 4 at a time, relevant memory, 20 turns
      3. one: on the loop's tier, only on fast or medium, for each of ask.decisions, 1 at a time, 20 turns
    3. plan: on large, tools read grep, read at most 1 time, grep at most 2 times, must submit plan, which must decide SPLIT if the harness sees many steps, kept over iterations, 20 turns
  gates:
    1. quick: command gates in parallel: lint types, at most 2s
    2. form: checked by the harness: tool results, only if the task's verification tier is 1 or 3
    3. person: a person decides
    4. vote: review by judge on medium, 2 votes, tools read run, revise goes back to plan at most 2 times, then ask, retry goes back to start at most 1 time, then fail
    5. look: review by judge on fast
  approval: by a person when confidence is below 70%
  children: leaf loops from plan, by list, 2 at a time, at most 1, in groups of at most 2, as many as are worked on at a time (12 where parallel is higher), scaffold first, a checkpoint after each group, only after SPLIT
    before each group:
      1. gather: on the loop's tier, 20 turns
    each group: review by reviewer on large
    after each group:
      1. record: on the loop's tier, 20 turns
    STALLED: gather, then revise
    BLOCKED: ask
    after 1 recovery from one health: ask a person
    planned again: on failure or discovery, every 2 completed, up to version 3
    a child that failed: what depends on it is blocked
  final gates:
    1. all: all command gates, in parallel
  final steps:
    1. report: on the loop's tier, 20 turns
  after each verdict: learn: on the loop's tier, only on pass or fail, submits learnings, 20 turns
  after failures: 1 failure on fast, then 2 failures on medium, then a council of 2 on large (one, two), then 2 more iterations, then ask
  stuck: 3 failures in a row that are alike

leaf (no limit on iterations of its own)
  steps:
    1. ground: on the loop's tier, which starts at the entry's model_tier, only if the task is a scaffold, 20 turns
    2. work: on the loop's tier, only if the task is not a scaffold, 20 turns
  children: tip loops from work, by score, 1 at a time
    once it is accepted: all of them exist and wait for their turn
    a child that failed: tried again if the machine caused it, otherwise the leaf starts over and is told why
    when the leaf starts over: they and all below them no longer count, their branches stay, its next work gives others
    BLOCKED: ask
    after 2 recoveries from one health: ask a person
    planned again: when a monitor or a ladder causes it, up to version 2

tip (no limit on iterations of its own)
  steps:
    1. do: on the loop's tier, 20 turns
  attempts that are REGRESSING: rollback, then escalate, at most 1 time
  attempts that are FLIP-FLOPPING: escalate, at most 1 time
`
	if diff := cmp.Diff(want, recipe.Explain(whole())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Explain returns even if a recipe's kinds are among their own descendants.
func TestExplainCircle(t *testing.T) {
	kind := func(name, child string) pawl.LoopKind {
		return pawl.LoopKind{Name: name, Children: &pawl.Children{Kind: child, Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}}
	}
	text := recipe.Explain(pawl.Recipe{Name: "circle", Start: "a", Kinds: []pawl.LoopKind{kind("a", "b"), kind("b", "a")}})
	if !strings.Contains(text, "  tree: a → b → a, at most ") {
		t.Errorf("got\n%s", text)
	}
}

// F-79: groups are explained as large as they are.
func TestExplainGroups(t *testing.T) {
	for text, want := range map[string]string{
		"parallel: 8, group: 12": "in groups of at most 8, as many as are worked on at a time (12 where parallel is higher), ",
		"parallel: 8, group: 4":  "in groups of at most 4, ",
		"parallel: 1, group: 3":  "in groups of at most 1, as many as are worked on at a time (3 where parallel is higher), ",
	} {
		r, err := recipe.Load("x", files("x.yaml", "extends: coherence\nkinds:\n  task:\n    children: {"+text+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := recipe.Explain(r); !strings.Contains(got, want) {
			t.Errorf("%s: want %q in\n%s", text, want, got)
		}
	}
}
