//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/kernel"
)

// listScript plays coherence on lists, five tasks two at a time: the second batch is
// half approved and the third not at all, so that the branch goes back to the last checkpoint;
// what was approved stays.
func listScript() string {
	var tasks, verdicts strings.Builder
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		fmt.Fprintf(&tasks, "            - {id: %s, title: Add %s, description: Write %s.txt, acceptance_criteria: [%s.txt is there], depends_on: [], model_tier: 1, verification_tier: 1, is_critical_path: false}\n", id, id, id, id)
	}
	for i, batch := range []string{"a+ b+", "c+ d-", "d- e-", "d+ e+"} {
		var of []string
		for word := range strings.FieldsSeq(batch) {
			v := "verdict: APPROVED"
			if word[1] == '-' {
				v = "verdict: CHANGES, feedback: look again"
			}
			of = append(of, fmt.Sprintf("{task: %s, %s, issues: [], decisions: []}", word[:1], v))
		}
		fmt.Fprintf(&verdicts, "  - when: {step: batch-review, round: %d}\n    delay_ms: 4\n    calls: [{submit_batch: {verdicts: [%s], anti_patterns: []}}]\n", i+1, strings.Join(of, ", "))
	}
	return `
answers:
  - when: {step: [gather, refresh]}
    calls: [{submit_context: {phase: EXECUTE, current_state: [], patterns: [], decisions: [], anti_patterns: []}}]
  - when: {step: plan}
    calls:
      - submit_plan:
          subtasks:
` + tasks.String() + `          decisions: [{title: One file a list, context: lists, choice: files, alternatives_rejected: [{alternative: one file, reason: conflicts}], depends_on: [], invalidated_if: never}]
  - when: {step: decide}
    calls: [{submit_decision: {title: One file a list, context: lists, choice: files, alternatives_rejected: [{alternative: one file, reason: conflicts}], depends_on: [], invalidated_if: never}}]
  - when: {step: plan-review}
    calls: [{submit_review: {decision: APPROVED, issues: []}}]
` + writes("a", "b", "c", "d", "e") + `
  - when: {step: implement}
    delay_ms: 4
    calls: [{submit_result: {summary: made}}]
` + verdicts.String() + `
  - when: {step: report}
    calls: [{submit_report: {goal: lists, completed: [all], verification: green, decision_adherence: yes, summary: made}}]
`
}

func writes(ids ...string) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "  - when: {step: implement, task: %s, turn: 1}\n    delay_ms: 4\n    calls: [{write: {path: %s.txt, content: \"%s\\n\"}}]\n", id, id, id)
	}
	return b.String()
}

// A run in batches that is killed at any moment and resumed ends the same, through
// merges, checkpoints and a rollback: the same tasks in the same tree, what was
// learned once, and nothing is lost. V-49 V-50 V-51 V-B12
func TestBatchesKilledAnywhereEndTheSame(t *testing.T) {
	t.Parallel()
	killAnywhere(t, 1, 20, subjectOf("coherence").killing())
}

// batchSound checks what must hold of every run in batches, however it went.
func (v *victim) batchSound(t *testing.T) {
	t.Helper()
	v.nothingLost(t)
	if left := leftWorktrees(v.home); len(left) > 0 {
		t.Errorf("worktrees are left: %s", left)
	}
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.BranchAdvanced:
			v.git(t, "merge-base", "--is-ancestor", string(b.Commit), v.runBranch(t))
		case *pawl.Committed:
			v.git(t, "cat-file", "-e", string(b.Commit))
		}
	}
}

// batchEnding is what must not depend on kills, nor on which child was faster.
func (v *victim) batchEnding(t *testing.T) string {
	t.Helper()
	s := v.state(t)
	info := kernel.Info(s)
	counts := map[string]int{}
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.RolledBack, *pawl.BatchEnded, *pawl.CheckpointMarked:
			counts[e.Body.EventKind().String()]++
		case *pawl.MemoryAdded:
			counts[fmt.Sprintf("%s %03d", b.Kind, b.Learning)]++
		}
	}
	var kept, learned []string
	for line := range strings.Lines(v.git(t, "ls-tree", "-r", v.runBranch(t))) {
		switch _, path, _ := strings.Cut(line, "\t"); {
		case strings.Contains(path, "/learnings/"):
			learned = append(learned, filepath.Base(strings.TrimSpace(path)))
		case !strings.HasPrefix(path, ".pawl/"):
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	slices.Sort(learned)
	return fmt.Sprintf("%s, %d of %d tasks, %v, %v\n%s", s.Outcome, info.Passed, info.Tasks, counts, learned, strings.Join(kept, "\n"))
}
