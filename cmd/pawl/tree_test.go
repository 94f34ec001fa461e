//go:build unix

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/testsize"
)

// shop is a Go package to which three tasks add something, two of them in the
// same place.
var shop = map[string]string{
	"go.mod":       "module shop\n\ngo 1.24\n",
	"shop.go":      "package shop\n\n// Names lists the shop's parts.\nfunc Names() []string {\n\treturn []string{\n\t\t\"base\",\n\t}\n}\n",
	"shop_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestNames(t *testing.T) {\n\tif len(Names()) == 0 {\n\t\tt.Fatal(\"no names\")\n\t}\n}\n",
}

// shopScript plays Loom on the shop. What a subtask does in its later attempts is
// the caller's: nothing ignores a conflict, writing the whole file resolves it.
func shopScript(later string) string {
	plan := `
          subtasks:
            - {id: add-cart, title: Add cart, description: Add the name cart to the list of names, acceptance_criteria: [cart is listed], depends_on: [], model_tier: 1, verification_tier: 1, is_critical_path: false}
            - {id: add-till, title: Add till, description: Add the name till to the list of names, acceptance_criteria: [till is listed], depends_on: [], model_tier: 1, verification_tier: 2, is_critical_path: false}
            - {id: add-doc, title: Add doc, description: Describe the names in a file doc.go, acceptance_criteria: [doc.go is there], depends_on: [add-cart, add-till], model_tier: 2, verification_tier: 3, is_critical_path: false}
`
	edit := func(task, name string) string {
		return fmt.Sprintf(`
  - when: {step: executor, task: %s, iteration: 1, turn: 1}
    delay_ms: 4
    calls: [{edit: {path: shop.go, old: "\t\t\"base\",\n", new: "\t\t\"base\",\n\t\t\"%s\",\n"}}]`, task, name)
	}
	return `
answers:
  - when: {step: [planner, replan]}
    calls:
      - submit_plan:` + plan + edit("add-cart", "cart") + edit("add-till", "till") + later + `
  - when: {step: executor, task: add-doc, turn: 1}
    calls: [{write: {path: doc.go, content: "// Package shop has a base, a cart and a till.\npackage shop\n"}}]
  - when: {step: executor, turn: 2}
    calls: [{blackboard: {op: set, key: names, value: they are in shop.go}}, {remember: {kind: learning, text: names are a list in shop.go}}]
  - when: {step: executor}
    say: The name is there.
  - when: {role: verifier}
    delay_ms: 4
    calls: [{submit_verdict: {criteria: [{id: AC-001, status: pass, evidence: ["shop.go:3"]}], summary: fine, decision: approve, confidence: 95}}]
  - when: {step: extract}
    calls: [{submit_learnings: {entries: [{kind: learning, text: one line a name}]}}]
  - when: {step: summary}
    calls: [{submit_summary: {summary: cart and till are listed and described}}]
`
}

const resolves = `
  - when: {step: executor, task: [add-cart, add-till], turn: 1}
    delay_ms: 4
    calls: [{write: {path: shop.go, content: "package shop\n\n// Names lists the shop's parts.\nfunc Names() []string {\n\treturn []string{\n\t\t\"base\",\n\t\t\"cart\",\n\t\t\"till\",\n\t}\n}\n"}}]`

// fine is a gate that costs nothing: two tasks that begin together from the same
// commit conflict whatever it says.
const fine = `echo 1..1; echo "ok 1 it works"`

// blob reads a blob of the victim's run.
func (v *victim) blob(t *testing.T, h pawl.Hash) string {
	t.Helper()
	l := v.log(t)
	defer l.Close()
	data, err := l.Blob(context.Background(), v.state(t).Run, h)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// events are those of the victim's run.
func (v *victim) events(t *testing.T) []pawl.Event {
	t.Helper()
	l := v.log(t)
	defer l.Close()
	var out []pawl.Event
	for e, err := range l.Events(context.Background(), v.state(t).Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// runBranch is the branch of the run itself.
func (v *victim) runBranch(t *testing.T) string {
	t.Helper()
	return "pawl/" + string(v.state(t).Run)
}

// sound checks what must hold of every run with children, however it went: tasks
// that have passed are in the branch, each merged once, and nothing was reset.
func (v *victim) sound(t *testing.T) {
	t.Helper()
	v.nothingLost(t)
	merges := strings.Split(v.git(t, "log", "--first-parent", "--format=%s", v.runBranch(t)), "\n")
	for _, e := range v.events(t) {
		if b, ok := e.Body.(*pawl.BranchAdvanced); ok {
			v.git(t, "merge-base", "--is-ancestor", string(b.Commit), v.runBranch(t))
		}
	}
	for _, id := range []string{"add-cart", "add-till", "add-doc"} {
		n := 0
		for _, m := range merges {
			if strings.HasSuffix(m, ": "+id) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s was merged %d times:\n%s", id, n, strings.Join(merges, "\n"))
		}
	}
}

// A three-task feature on a real Go repository, side by side: the second of two
// that change the same lines is told what conflicts, and resolves it. L-76 L-10
func TestConflictIsResolved(t *testing.T) {
	t.Parallel()
	var v *victim
	if testing.Short() {
		v = subjectOf("loom").undisturbed(t).ended
	} else {
		gate := "gofmt -e *.go >/dev/null && { " + fine + "; }" // fails on conflict markers
		if testsize.Case(0, 0) {
			gate = "go test -json ./..." // compiles every commit without a cache
		}
		for _, program := range []string{"go", "gofmt"} {
			if _, err := exec.LookPath(program); err != nil && strings.Contains(gate, program) {
				t.Skipf("no %s", program)
			}
		}
		v = newVictim(t, pawlProgram(t), shopScript(resolves), shop, "List a cart and a till", "--recipe", "loom", "--parallel", "3",
			"--unsandboxed", "--gate", "tests="+gate)
		v.finish(t)
	}
	s := v.state(t)
	if s.Outcome != pawl.OutcomeComplete {
		t.Fatalf("%s: %s\n%s", s.Outcome, s.Reason, v.out.String())
	}
	v.sound(t)
	if got := v.git(t, "show", v.runBranch(t)+":shop.go"); !strings.Contains(got, "\"cart\",\n\t\t\"till\"") || strings.Contains(got, "<<<<") {
		t.Errorf("shop.go is\n%s", got)
	}
	var second pawl.LoopRef
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.IterationEnded:
			if b.Conflict {
				second = e.Loop
			}
		case *pawl.PromptAssembled:
			if e.Loop != second || second == 0 {
				continue
			}
			prompt := v.blob(t, b.Prompt)
			for _, want := range []string{"merge", "shop.go", "<<<<<<<", `"cart"`, `"till"`, ">>>>>>>"} {
				if !strings.Contains(prompt, want) {
					t.Errorf("the next prompt after the conflict does not say %s:\n%s", want, prompt)
				}
			}
			return
		}
	}
	t.Errorf("nothing conflicted:\n%s", v.out.String())
}

// With a script that ignores the conflict, three tries end in the ladder: the
// tier rises, and the task fails for good and is planned anew.
func TestConflictIsIgnored(t *testing.T) {
	t.Parallel()
	v := newVictim(t, pawlProgram(t), shopScript(""), shop, "List a cart and a till", "--recipe", "loom", "--parallel", "3", "--unsandboxed", "--gate", "tests="+fine)
	v.finish(t)
	if s := v.state(t); s.Outcome != pawl.OutcomeComplete { // the new plan's loop begins from what was merged
		t.Fatalf("%s: %s\n%s", s.Outcome, s.Reason, v.out.String())
	}
	v.sound(t)
	conflicts, free, limit, replanned := 0, 0, false, false
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.IterationEnded:
			if b.Conflict {
				if conflicts++; b.Decision == pawl.DecideIterate && b.Tier == 1 {
					free++
				}
			}
		case *pawl.LimitReached:
			limit = limit || b.Limit == pawl.LimitConflicts && b.Max == 3
		case *pawl.ReplanCalled:
			replanned = replanned || b.Cause == pawl.ReplanFailure
		}
	}
	if conflicts != 6 || free < 2 || !limit || !replanned {
		t.Errorf("%d conflicts, %d of them on the first tier, limit %v, planned anew %v:\n%s", conflicts, free, limit, replanned, v.out.String())
	}
}

// A run with children that is killed at any moment and resumed ends the same:
// every task passed and merged once, in the same tree; nothing is lost. L-AC11 P-B16
func TestTreeKilledAnywhereEndsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it; TestBatchesKilledAnywhereEndTheSame also kills runs with children")
	}
	t.Parallel()
	killAnywhere(t, 0, 40, subjectOf("loom").killing())
}

// treeSound checks a run with children that has ended, and that no worktree is left.
func (v *victim) treeSound(t *testing.T) {
	t.Helper()
	v.sound(t)
	if left := leftWorktrees(v.home); len(left) > 0 {
		t.Errorf("worktrees are left: %s", left)
	}
}

// treeEnding is what must not depend on kills, nor on which child was faster.
func (v *victim) treeEnding(t *testing.T) string {
	t.Helper()
	s := v.state(t)
	var passed []string
	for _, l := range s.Loops() {
		if l.Parent != 0 && l.Outcome == pawl.OutcomeComplete {
			passed = append(passed, v.taskOf(t, l.Ref))
		}
	}
	slices.Sort(passed)
	info := kernel.Info(s)
	return fmt.Sprintf("%s, %d of %d tasks, %s, tree %s", s.Outcome, info.Passed, info.Tasks, strings.Join(passed, " "), v.git(t, "rev-parse", v.runBranch(t)+"^{tree}"))
}

// taskOf is the id of a child's task.
func (v *victim) taskOf(t *testing.T, ref pawl.LoopRef) string {
	t.Helper()
	for _, e := range v.events(t) {
		if b, ok := e.Body.(*pawl.LoopStarted); ok && e.Loop == ref {
			return b.Task
		}
	}
	return ""
}

// leftWorktrees returns the folders of worktrees of both kinds below a user's home.
func leftWorktrees(home string) []string {
	var left []string
	for _, kind := range []string{"worktrees", "layered"} {
		found, _ := filepath.Glob(filepath.Join(home, "state", "pawl", "*", kind, "*"))
		left = append(left, found...)
	}
	return left
}
