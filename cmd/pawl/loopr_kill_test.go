//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// smallLoopr is loopr with few iterations, so that what cannot be done goes up.
const smallLoopr = `extends: loopr
kinds:
  phase: {iterations: 1}
  code: {iterations: 2, ladder: {rungs: [{tier: 1, failures: 2}], then: fail}}
`

// looprScript has two specs of three phases. One phase of the second cannot be done, so
// that its spec is divided anew.
func looprScript() string {
	var b strings.Builder
	b.WriteString(`
answers:
  - when: {step: plan}
    calls:
      - create_plan:
          title: Two parts
          overview: Two parts.
          specs:
            - {name: alpha, title: The first part, description: Files a1 to a3., dependencies: []}
            - {name: beta, title: The second part, description: Files b1 to b3., dependencies: []}
          success_criteria: [Every file is there.]
          non_goals: [More.]
          risks: [None.]
  - when: {step: [plan-judge, spec-judge]}
    delay_ms: 4
    calls: [{submit_verdict: {criteria: [{id: AC-001, status: pass, evidence: [specs, phases]}], summary: It covers the request., decision: approve}}]
`)
	spec := func(name, when string, phases ...string) {
		fmt.Fprintf(&b, "  - when: {step: spec, task: %s%s}\n    calls:\n      - create_spec:\n          title: Spec %s\n          parent_plan: Two parts\n          overview: One file a phase.\n          phases:\n", name, when, name)
		for _, p := range phases {
			fmt.Fprintf(&b, "            - {name: %s, title: The file %s, description: Write %s.txt., depends_on: []}\n", p, p, p)
		}
	}
	spec("alpha", "", "a1", "a2", "a3")
	spec("beta", ", iteration: 1", "b1", "b2", "b3")
	spec("beta", "", "b1", "b4", "b5")
	for _, p := range []string{"a1", "a2", "a3", "b1", "b2", "b3", "b4", "b5"} {
		fmt.Fprintf(&b, "  - when: {step: phase, task: %s}\n    delay_ms: 4\n    calls: [{create_phase: {title: The file %s, task: Write %s.txt., tasks: [{description: Its only line says made., file: %s.txt, action: create}], success_criteria: [It says made.], validation_command: grep -q made %s.txt}}]\n", p, p, p, p, p)
		text := "made"
		if p == "b2" {
			text = "wrong"
		}
		fmt.Fprintf(&b, "  - when: {step: code, task: %s, turn: 1}\n    delay_ms: 4\n    calls: [{write: {path: %s.txt, content: \"%s\\n\"}}]\n", p, p, text)
	}
	b.WriteString("  - when: {step: code}\n    calls: [{submit_result: {summary: The file is written.}}]\n")
	return b.String()
}

// A tree of loops that is killed at any moment and resumed ends the same, through a
// cascade: every loop that does not count is archived once with its branches kept, none
// is at work twice at once, and nothing is lost.
func TestLooprKilledAnywhereEndsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("each kill needs a whole tree; make test-all runs them, and TestLooprInTheDaemon interrupts and continues one tree")
	}
	t.Parallel()
	killAnywhere(t, 0, 20, subjectOf("loopr").killing())
}

// approved starts the run and approves its plan. Both processes are killed as soon as
// they have said what they have done.
func (v *victim) approved(t *testing.T) {
	t.Helper()
	v.says(t, v.command(), "Question 1")
	v.started = true
	show := exec.Command(v.bin, "plan", "show", "1", "--json")
	show.Dir, show.Env = v.repo, v.env
	out, err := show.Output()
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		About string `json:"about"`
	}
	if err := json.Unmarshal(out, &plan); err != nil {
		t.Fatal(err)
	}
	approve := exec.Command(v.bin, "plan", "approve", "1", "--about", plan.About)
	approve.Dir, approve.Env = v.repo, v.env
	v.says(t, approve, "is approved")
}

// says lets a command work until it prints a text, and kills it.
func (v *victim) says(t *testing.T, cmd *exec.Cmd, text string) {
	t.Helper()
	cmd.Stdout, cmd.Stderr = nil, &v.out
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen, said := false, "" // what goes to stderr is written meanwhile
	for in := bufio.NewScanner(out); !seen && in.Scan(); {
		seen = strings.Contains(in.Text(), text)
		said += in.Text() + "\n"
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	v.out.WriteString(said)
	if !seen {
		t.Fatalf("%v has not said %q:\n%s", cmd.Args, text, v.out.String())
	}
	v.nothingRuns(t)
}

// looprEnding is what must not depend on kills, nor on which child was faster: what
// became of each loop, by its place in the tree, and the tree of the branch. How far
// those that are archived had come depends on both, so of them only the phases count,
// which came to be at once.
func (v *victim) looprEnding(t *testing.T) string {
	t.Helper()
	s := v.state(t)
	paths, lines := map[pawl.LoopRef]string{}, map[pawl.LoopRef]string{}
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.LoopStarted:
			paths[e.Loop] = paths[b.Parent] + "/" + b.Kind + ":" + b.Task
		case *pawl.GenerationStarted:
			lines[e.Loop] += fmt.Sprintf(" g%d", b.N)
		case *pawl.LoopEnded:
			lines[e.Loop] += " " + string(b.Outcome)
		case *pawl.Archived:
			lines[e.Loop] = " archived"
		}
	}
	var out []string
	for ref, path := range paths {
		if strings.Contains(path, "code:") && lines[ref] == " archived" {
			continue
		}
		out = append(out, path+lines[ref])
	}
	slices.Sort(out)
	return fmt.Sprintf("%s, tree %s\n%s", s.Outcome, v.git(t, "rev-parse", v.runBranch(t)+"^{tree}"), strings.Join(out, "\n"))
}

func (v *victim) looprSound(t *testing.T) {
	t.Helper()
	v.nothingLost(t)
	if left := leftWorktrees(v.home); len(left) > 0 {
		t.Errorf("worktrees are left: %s", left)
	}
	iteration, archived := map[pawl.LoopRef]int{}, map[pawl.LoopRef]int{}
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.IterationStarted:
			if n, open := iteration[e.Loop]; open {
				t.Errorf("event %d: loop %d begins iteration %d while it is at iteration %d", e.Seq, e.Loop, b.N, n)
			}
			if archived[e.Loop] > 0 {
				t.Errorf("event %d: loop %d is archived and begins iteration %d", e.Seq, e.Loop, b.N)
			}
			iteration[e.Loop] = b.N
		case *pawl.IterationEnded, *pawl.LoopEnded:
			delete(iteration, e.Loop)
		case *pawl.Archived:
			if archived[e.Loop]++; archived[e.Loop] > 1 {
				t.Errorf("event %d: loop %d is archived again", e.Seq, e.Loop)
			}
		case *pawl.Committed:
			v.git(t, "cat-file", "-e", string(b.Commit))
		case *pawl.LoopStarted:
			if b.Branch != "" && archived[e.Loop] == 0 {
				defer v.git(t, "rev-parse", "--verify", "-q", b.Branch)
			}
		}
	}
}
