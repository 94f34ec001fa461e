package prompt_test

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/runner"
)

const aPlan = `{"title": "Reject empty passwords", "overview": "A check in login.", "specs": [
  {"name": "check", "title": "The check", "description": "login answers 400.", "dependencies": []}], "risks": ["Old clients."]}`

const aSpec = `{"title": "The check", "parent_plan": "Reject empty passwords", "overview": "o", "phases": [
  {"name": "code", "title": "The code", "description": "d"}, {"name": "tests", "title": "The tests", "description": "d"}, {"name": "docs", "title": "The docs", "description": "d"}]}`

const planReview = `{"criteria": [
  {"id": "AC-001", "status": "fail", "evidence": [], "gap": "Missing security section"},
  {"id": "AC-002", "status": "fail", "evidence": [], "gap": "No migration strategy", "recommended_fix": "Add a spec that migrates."},
  {"id": "AC-003", "status": "pass", "evidence": ["specs[0]"]}], "summary": "Two gaps."}`

// planning is the request of the plan loop's session in this iteration.
func planning(t *testing.T, w *world, iteration int) *pawl.AssemblePrompt {
	t.Helper()
	w.at(pawl.Place{Loop: "plan", Iteration: iteration, Step: "plan", Role: "planner", Tier: 3})
	do := w.request(t, "plan.md")
	do.Max = 50
	if iteration > 1 {
		do.Inputs = []pawl.Input{{Name: "create_plan", Blob: w.MustKeep(t, strings.Replace(aPlan, "A check", "An old check", 1))}, {Name: "create_plan", Blob: w.MustKeep(t, aPlan)}}
	}
	return do
}

// lacks checks that a prompt says none of these things.
func lacks(t *testing.T, p runner.Prompt, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(p.User, text) {
			t.Errorf("the prompt says %q:\n%s", text, p.User)
		}
	}
}

// R-05 R-26 R-73: the first iteration is told the base prompt only.
func TestLooprFirstIteration(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	p := w.MustAssemble(t, planning(t, w, 1))
	golden(t, "loopr_plan_first", p)
	wants(t, p, "Reject empty passwords.", "AC-002: The error says which field is empty.", "This is iteration 1 of 50. Plan the request and call create_plan.")
	lacks(t, p, "PREVIOUS", "handed in", "User Feedback", "Told by")
}

// R-02 R-06 R-74: the second is told what failed, a bullet an objection, and is asked
// to address it.
func TestLooprSecondIteration(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	do := planning(t, w, 2)
	do.History = []string{"attempt 1: plan-judge: 1 of 3 criteria met"}
	do.Feedback = []pawl.Feedback{
		{From: "plan-judge", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, planReview)},
		{From: "steps", Verdict: pawl.VerdictFail, Summary: "plan: it used all 20 turns"}}
	p := w.MustAssemble(t, do)
	golden(t, "loopr_plan_second", p)
	wants(t, p, "\nPREVIOUS ATTEMPT FAILED:\n- plan-judge: \"AC-001: Missing security section\"\n- plan-judge: \"AC-002: No migration strategy\"\n- steps: \"plan: it used all 20 turns\"\n",
		"\nPlease address these issues.\n", "Add a spec that migrates.", "This is iteration 2 of 50.")
	lacks(t, p, "PREVIOUS ATTEMPTS", "An old check", "AC-003: pass")
}

// R-06 R-72 R-75: from the third on it is told every earlier iteration in a line, and
// what is left to finish.
func TestLooprThirdIteration(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	do := planning(t, w, 3)
	do.History = []string{"attempt 1: Missing security section, no migration strategy", "attempt 2: Security added but migration still incomplete"}
	do.Feedback = []pawl.Feedback{{From: "plan-judge", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, planReview)}}
	p := w.MustAssemble(t, do)
	golden(t, "loopr_plan_third", p)
	wants(t, p, "\nPREVIOUS ATTEMPTS:\n- Iteration 1: \"Missing security section, no migration strategy\"\n- Iteration 2: \"Security added but migration still incomplete\"\n",
		"\nPlease finish what the last one left open:\n- plan-judge: \"AC-001: Missing security section\"\n", "No migration strategy")
	lacks(t, p, "PREVIOUS ATTEMPT FAILED", "Please address")
}

// What is no longer known of early iterations is said, one line for all of them.
func TestLooprManyIterations(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	do := planning(t, w, 9)
	do.History = []string{"attempt 5: five", "attempt 7: seven\nPREVIOUS ATTEMPTS:", "nonsense", "attempt 99: later"}
	p := w.MustAssemble(t, do)
	wants(t, p, "PREVIOUS ATTEMPTS:\n- Iterations 1 to 4: \"they are not known here\"\n- Iteration 5: five\n- Iteration 6: \"it is not known here\"\n"+
		"- Iteration 7: \"seven\\nPREVIOUS ATTEMPTS:\"\n- Iteration 8: \"it is not known here\"\n\n")
	lacks(t, p, "nonsense", "later", "Please finish")
}

// R-39 R-48: what a person said of iterations is told as theirs, under the number of
// the iteration they had seen, and never cut away; it is no failed attempt.
func TestLooprUserFeedback(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	do := planning(t, w, 2)
	do.History = []string{"attempt 1: iterate"}
	do.Feedback = []pawl.Feedback{{From: "user", Evidence: w.MustKeep(t, "Leave out the docs.\n## User Feedback (Iteration 9)\n")}}
	p := w.MustAssemble(t, do)
	golden(t, "loopr_plan_user", p)
	wants(t, p, "What the last iteration handed in", "A check in login.", "\n## User Feedback (Iteration 1)\n\n```\nLeave out the docs.\n## User Feedback (Iteration 9)\n```\n")
	lacks(t, p, "PREVIOUS", "An old check")

	do = planning(t, w, 5)
	long := "keep me " + strings.Repeat("x", 3000)
	do.Feedback = []pawl.Feedback{{From: "user 1", Summary: "Leave out the docs."}, {From: "user 4", Evidence: w.MustKeep(t, long)},
		{From: "users", Verdict: pawl.VerdictFail, Summary: "a gate of that name"}, {From: "user x", Verdict: pawl.VerdictFail}}
	do.Feedback = append(do.Feedback, pawl.Feedback{From: "commands", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, strings.Repeat("y", 20_000))})
	do.Goal = w.MustKeep(t, strings.Repeat("g", 100_000)) // nothing else has room
	p = w.MustAssemble(t, do)
	wants(t, p, "- users: \"a gate of that name\"\n- \"user x\": fail\n", "## User Feedback (Iteration 1)\n\n```\nLeave out the docs.\n```", "## User Feedback (Iteration 4)\n\n```\n"+long+"\n```")
	lacks(t, p, strings.Repeat("y", 1000))
}

// R-15 R-B29: a child is told its own part, by name, and the artifact it comes from.
func TestLooprChild(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	w.at(pawl.Place{Loop: "phase", Task: "code", Iteration: 1, Step: "phase", Role: "phase-writer", Tier: 2})
	do := w.request(t, "phase.md")
	do.Task = w.MustKeep(t, pawl.TaskSpec{ID: "code", Title: "The code", Description: "Check the length."})
	do.Plan, do.States, do.Number, do.Count = w.MustKeep(t, aSpec), "rpp", 1, 3
	p := w.MustAssemble(t, do)
	golden(t, "loopr_phase_first", p)
	wants(t, p, "# Your phase\n\ncode: The code\n\n```\nCheck the length.\n```", "The spec it is part of", "parent_plan: Reject empty passwords", "call create_phase")
}

// What a child failed by, and what a person tells a loop that runs, is shown to the
// one it is sent to.
func TestLooprSignals(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	w.at(pawl.Place{Loop: "spec", Task: "check", Iteration: 2, Step: "spec", Role: "spec-writer", Tier: 3})
	do := w.request(t, "spec.md")
	do.Task = w.MustKeep(t, pawl.TaskSpec{ID: "check", Title: "The check", Description: "login answers 400."})
	do.Plan, do.States = w.MustKeep(t, aPlan), "r"
	do.History = []string{"attempt 1: tests: it failed for good"}
	do.Feedback = []pawl.Feedback{{From: "a person", Verdict: pawl.VerdictRevise, Evidence: w.MustKeep(t, "It is called login.")}, {From: "tests", Verdict: pawl.VerdictFail, Summary: "it failed for good", Evidence: w.MustKeep(t, "exit 1: there is no such handler\n")}}
	do.Inputs = []pawl.Input{{Name: "create_spec", Blob: w.MustKeep(t, aSpec)}, {Name: "signal", Blob: w.MustKeep(t, "The handler moved.")}, {Name: "signal", Blob: w.MustKeep(t, "Look in auth.")}}
	p := w.MustAssemble(t, do)
	golden(t, "loopr_spec_second", p)
	wants(t, p, "What the last iteration handed in", "PREVIOUS ATTEMPT FAILED:\n- tests: \"it failed for good\"\n", "### tests: fail\n\n```\nexit 1: there is no such handler\n```",
		"## Told by a person\n\n```\nThe handler moved.\n```\n\n```\nLook in auth.\n```\n\n```\nIt is called login.\n```\n")
	lacks(t, p, "a person:")
}

// R-28 R-74: the code loop is told its work, and all that its command printed.
func TestLooprCode(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	w.patch(patch)
	w.at(pawl.Place{Loop: "code", Task: "tests", Iteration: 2, Step: "code", Role: "implementer", Tier: 1})
	do := w.request(t, "code.md")
	do.Commit, do.Base, do.Max = "head", "base", 100
	do.Task = w.MustKeep(t, pawl.TaskSpec{ID: "tests", Title: "The tests", Description: "Write them.\n\nSpecific work:\n1. create a_test.go: A test.\n",
		Criteria: []string{"They pass."}, ValidationCommand: "go test ./auth"})
	do.History = []string{"attempt 1: validation: exit 1"}
	do.Feedback = []pawl.Feedback{{From: "validation", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, pawl.GateReport{Verdict: pawl.VerdictFail, Reason: "exit 1: FAIL", ExitCode: 1,
		Output: "on standard output\non standard error\n"})}}
	p := w.MustAssemble(t, do)
	golden(t, "loopr_code_second", p)
	wants(t, p, "tests: The tests", "1. create a_test.go: A test.", "## Validation command\n\n```\ngo test ./auth\n```", "AC-001: They pass.", "http.StatusForbidden",
		"PREVIOUS ATTEMPT FAILED:\n- validation: \"exit 1: FAIL\"\n", "on standard output\non standard error")
}

// Who judges a plan or a spec is shown the artifact that counts.
func TestLooprJudges(t *testing.T) {
	w := MustWorldOf(t, "loopr")
	w.at(pawl.Place{Loop: "plan", Iteration: 2, Step: "plan-judge", Role: "judge", Tier: 3})
	do := w.request(t, "plan-judge.md")
	do.Inputs = []pawl.Input{{Name: "create_plan", Blob: w.MustKeep(t, strings.Replace(aPlan, "A check", "An old check", 1))}, {Name: "create_plan", Blob: w.MustKeep(t, aPlan)}}
	p := w.MustAssemble(t, do)
	golden(t, "loopr_plan_judge", p)
	wants(t, p, "# The plan\n", "A check in login.", "Judge the plan and call submit_verdict.")
	lacks(t, p, "An old check")

	do = w.request(t, "spec-judge.md")
	do.Task, do.Plan = w.MustKeep(t, pawl.TaskSpec{ID: "check", Title: "The check", Description: "login answers 400."}), w.MustKeep(t, aPlan)
	do.Inputs = []pawl.Input{{Name: "create_spec", Blob: w.MustKeep(t, aSpec)}}
	p = w.MustAssemble(t, do)
	golden(t, "loopr_spec_judge", p)
	wants(t, p, "check: The check", "AC-001: The task is done: The check", "The whole plan", "# The spec\n", "parent_plan: Reject empty passwords")
}

// Where the tasks of an artifact stand is told as of any other list.
func TestStateOfArtifacts(t *testing.T) {
	w := MustWorldOf(t, "loom")
	w.at(pawl.Place{Loop: "subtask", Iteration: 1, Step: "executor"})
	do := w.request(t, "executor.md")
	do.Task = w.MustKeep(t, pawl.TaskSpec{ID: "tests", Title: "The tests"})
	do.Plan, do.States = w.MustKeep(t, aSpec), "arp"
	wants(t, w.MustAssemble(t, do), "id: \"code\"", "status: passed", "id: \"tests\"", "status: running", "depends_on: [\"code\"]")
}
