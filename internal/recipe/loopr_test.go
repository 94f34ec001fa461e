package recipe_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
)

// Loopr is exactly what its document asks for.
func TestLoopr(t *testing.T) {
	writer := func(name, role string, tier int) []pawl.Step {
		return []pawl.Step{{Name: name, Role: role, Prompt: name + ".md", Tier: tier, Tools: reading, Output: "create_" + name, Required: true, Keep: true, Turns: 20}} // R-15 R-B20
	}
	format := func(name string) pawl.Stage { return pawl.Stage{Name: name + "-format", Builtin: "well_formed"} }
	judge := func(name string, tier int) pawl.Stage {
		return pawl.Stage{Name: name + "-judge", Review: &pawl.Review{Role: "judge", Prompt: name + "-judge.md", Tier: tier, Tools: reading, Output: "verdict", Unfilled: pawl.UnfilledAsk, Turns: 20}}
	}
	children := func(from, kind string, parallel int) *pawl.Children {
		return &pawl.Children{From: from, Kind: kind, Order: "score", Parallel: parallel, Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}
	}
	together := []pawl.Stage{{Name: "together", Commands: []string{"*"}}}
	want := []pawl.LoopKind{
		{Name: "plan", Iterations: 50, Priority: 40, Concurrent: 2, Steps: writer("plan", "planner", 3), Gates: []pawl.Stage{format("plan"), judge("plan", 3)},
			Approval: &pawl.Approval{By: "human"}, Children: children("plan", "spec", 10), FinalGates: together, Ladder: pawl.Ladder{Then: "fail"}}, // R-08 R-10 R-37
		{Name: "spec", Iterations: 30, Priority: 60, Concurrent: 5, Steps: writer("spec", "spec-writer", 3), Gates: []pawl.Stage{format("spec"), judge("spec", 2)},
			Children: children("spec", "phase", 7), FinalGates: together, Ladder: pawl.Ladder{Then: "fail"}}, // R-11 R-12
		{Name: "phase", Iterations: 20, Priority: 80, Concurrent: 20, Steps: writer("phase", "phase-writer", 2), Gates: []pawl.Stage{format("phase")},
			Children: children("phase", "code", 1), Ladder: pawl.Ladder{Then: "fail"}},
		{Name: "code", Iterations: 100, Priority: 100, Concurrent: 50, Unjudged: pawl.UnjudgedOnce,
			Steps: []pawl.Step{{Name: "code", Role: "implementer", Prompt: "code.md", Tools: working, Output: "result", Turns: 20, TurnCap: pawl.TurnCapJudge}},
			Gates: []pawl.Stage{{Name: "validation", Builtin: "validation_command", Timeout: 10 * time.Minute}, // R-07 R-29
				{Name: "quality", Commands: []string{"*"}, Timeout: 10 * time.Minute}},
			Ladder: pawl.Ladder{Rungs: []pawl.Rung{{Tier: 1, Failures: 3}, {Tier: 2, Failures: 7}, {Tier: 3, Failures: 90}}, Then: "fail"}},
	}
	got := MustLoad(t, "loopr")
	if diff := cmp.Diff(want, got.Kinds); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.Loops != 50 || got.Start != "plan" || got.Agent != "loopr" {
		t.Errorf("got %+v", got)
	}
}

// R-37 R-38 R-51: a person is asked for the plan's approval, and nothing else of the
// recipe can ask: everything fails upward.
func TestLooprAsksOnce(t *testing.T) {
	r := MustLoad(t, "loopr")
	asked := 0
	for _, k := range r.Kinds {
		if k.Approval != nil && k.Approval.By != "auto" {
			asked++
		}
		for _, g := range slices.Concat(k.Gates, k.FinalGates) {
			if g.Human || len(g.On) > 0 || g.Review != nil && g.Review.Votes > 1 {
				t.Errorf("gate %s of %s can ask", g.Name, k.Name)
			}
		}
		if k.Ladder.Then != "fail" || k.Ladder.Council != nil {
			t.Errorf("the ladder of %s ends in %q", k.Name, k.Ladder.Then)
		}
		if code := k.Name == "code"; code == (k.Children != nil) {
			t.Errorf("%s has the children %+v", k.Name, k.Children)
		}
	}
	recipe.Walk(&r, func(s *pawl.Step) {
		if s.Questions || s.Repeat != nil {
			t.Errorf("step %s can ask", s.Name)
		}
	}, func(*pawl.Review) {})
	if asked != 1 || r.Kinds[0].Approval == nil {
		t.Errorf("%d kinds are approved by a person", asked)
	}
}

// each kind has the tools of its own, and planners and judges change nothing.
func TestLooprTools(t *testing.T) {
	r := MustLoad(t, "loopr")
	recipe.Walk(&r, func(s *pawl.Step) {
		if s.Name != "code" && !slices.Equal(s.Tools, reading) {
			t.Errorf("step %s has the tools %q", s.Name, s.Tools)
		}
	}, func(v *pawl.Review) {
		if !slices.Equal(v.Tools, reading) {
			t.Errorf("judge %s has the tools %q", v.Prompt, v.Tools)
		}
	})
}

// A person understands the tree from what is explained.
func TestExplainLoopr(t *testing.T) {
	got := recipe.Explain(MustLoad(t, "loopr"))
	file := filepath.Join("testdata", "loopr.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What does not combine with children that stand on an artifact is refused, with the reason.
func TestTreeMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		change func(plan, spec *pawl.LoopKind)
		says   string
	}{
		"limit":  {func(p, _ *pawl.LoopKind) { p.Children.Limit = 3 }, "kinds.plan.children.limit: does not combine with on_failure: restart_parent: every child"},
		"replan": {func(p, _ *pawl.LoopKind) { p.Children.Replan = &pawl.Replan{MaxVersions: 2, Prompt: "x.md"} }, "kinds.plan.children.replan: does not combine with on_failure: restart_parent: the parent starts over"},
		"replan eager": {func(p, _ *pawl.LoopKind) {
			p.Children.OnFailure, p.Children.Replan = "", &pawl.Replan{MaxVersions: 2, Prompt: "x.md"}
		}, "kinds.plan.children.replan: does not combine with admit: eager: all children exist already"},
		"approval":           {func(p, _ *pawl.LoopKind) { p.Approval.By = "auto" }, "kinds.plan.approval.by: auto does not combine with on_failure: restart_parent"},
		"best alone":         {func(p, _ *pawl.LoopKind) { p.Children.Group, p.Children.Land = 3, pawl.LandBest }, "kinds.plan.children.land: best needs someone who picks it: give judge"},
		"best or none":       {func(p, _ *pawl.LoopKind) { p.Children.Group, p.Children.Land = 3, pawl.LandBest }, "kinds.plan.children.on_failure: restart_parent does not combine with land: best"},
		"artifact of a leaf": {func(p, s *pawl.LoopKind) { p.Children, p.Approval, p.FinalGates = nil, nil, nil }, "kinds.plan.gates[0].builtin: looks at the artifact that children come from, and the kind has none"},
		"order":              {func(p, _ *pawl.LoopKind) { p.Children.Order = "" }, `kinds.plan.children.order: there is no order ""; known here: list, priority, score`},
		"child replans":      {func(_, s *pawl.LoopKind) { s.Ladder.Then = "replan" }, "kinds.spec.ladder.then: replan does not combine with on_failure: restart_parent of plan"},
		"priority":           {func(p, _ *pawl.LoopKind) { p.Priority = 1001 }, "kinds.plan.priority: want a whole number from 0 to 1000, got 1001"},
		"concurrent":         {func(p, _ *pawl.LoopKind) { p.Concurrent = -1 }, "kinds.plan.concurrent: want a whole number from 0 to 500, got -1"},
		"no artifact":        {func(p, _ *pawl.LoopKind) { p.Steps[0].Output = "plan" }, "kinds.plan.gates[0].builtin: no step hands in a plan, a spec or a phase"},
		"no task":            {func(p, _ *pawl.LoopKind) { p.Gates[0].Builtin = "validation_command" }, "kinds.plan.gates[0].builtin: no kind has this one as children"},
		"not a tool":         {func(p, _ *pawl.LoopKind) { p.Steps[0].Output = "spec" }, `kinds.plan.steps[0].output: there is no output "spec"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := MustLoad(t, "loopr")
			test.change(&r.Kinds[0], &r.Kinds[1])
			if err := recipe.Validate(r); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
	r := MustLoad(t, "loopr")
	r.Loops = 501
	if err := recipe.Validate(r); err == nil || !strings.Contains(err.Error(), "loops: want a whole number from 0 to 500, got 501") {
		t.Errorf("got %v", err)
	}
}

// The same words are checked where they are written.
func TestTreeInYAML(t *testing.T) {
	text := "loops: 7\nstart: a\nkinds:\n  a:\n    priority: 3\n    concurrent: 2\n    steps: [{name: work, output: create_plan}]\n" +
		"    children: {from: work, kind: b, order: list, parallel: 1, admit: eager, on_failure: restart_parent, limit: 3}\n  b:\n    steps: [{name: leaf}]\n"
	_, err := recipe.Parse("x", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "x.yaml:8:112: kinds.a.children.limit: does not combine with") {
		t.Errorf("got %v", err)
	}
	r, err := recipe.Parse("x", []byte(strings.Replace(text, ", limit: 3", "", 1)))
	if err != nil || r.Loops != 7 || r.Kinds[0].Priority != 3 || r.Kinds[0].Concurrent != 2 || !r.Kinds[0].Children.IsEager() || !r.Kinds[0].Children.RestartsParent() {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, bad := range []string{"loops: 0", "loops: 501", "priority: -1", "concurrent: 0"} {
		key, _, _ := strings.Cut(bad, ":")
		if _, err := recipe.Parse("x", []byte(regexp.MustCompile(key+`: \d+`).ReplaceAllString(text, bad))); err == nil || !strings.Contains(err.Error(), key+": want a whole number") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

// R-73 R-74 R-75 R-48: how earlier iterations are told is the same in every template
// of the tree that writes something.
func TestLooprTemplatesTellTheSame(t *testing.T) {
	prompts, err := recipe.Prompts("loopr")
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(prompts)); !slices.Equal(got, []string{"code.md", "phase.md", "plan-judge.md", "plan.md", "spec-judge.md", "spec.md"}) {
		t.Errorf("the templates are %q", got)
	}
	part := func(file string) string {
		_, rest, _ := strings.Cut(prompts[file], "{{if .Attempts}}")
		text, _, _ := strings.Cut(rest, "This is iteration")
		return text
	}
	for _, file := range []string{"spec.md", "phase.md", "code.md"} {
		if diff := cmp.Diff(part("plan.md"), part(file)); diff != "" {
			t.Errorf("%s tells it in another way than plan.md (-plan +%s)\n%s", file, file, diff)
		}
	}
}
