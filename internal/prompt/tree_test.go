package prompt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

var tasks = []pawl.TaskSpec{
	{ID: "TASK-001", Title: "Set up OAuth provider integration", Description: "Configure OAuth2 with Google provider, add callback routes, store tokens",
		Criteria: []string{"OAuth config in .env.example", "Tests pass"}, Priority: 1},
	{ID: "TASK-002", Title: "Implement password reset flow", Description: "Email-based password reset with secure tokens",
		Criteria: []string{"POST /auth/forgot-password sends email", "Reset token expires in 1 hour", "POST /auth/reset-password validates token", "Tests pass"},
		Priority: 2, Intent: "edit", Mode: "code"},
	{ID: "TASK-003", Title: "Add session management", Description: "Session creation, validation, and cleanup\n\nSee the RFC.", Criteria: []string{"Tests pass"},
		Priority: 3, DependsOn: []string{"TASK-001"}, Notes: "Sessions live in the database."},
}

var remembered = []pawl.MemoryEntry{
	{N: 1, Kind: pawl.MemoryDecision, Text: "OAuth first: the rest needs users."},
	{N: 2, Kind: pawl.MemoryLearning, Task: "TASK-001", Text: "OAuth uses passport.js with Google strategy"},
	{N: 3, Kind: pawl.MemoryLearning, Task: "TASK-001", Text: "Auth routes in apps/auth/routes.py"},
	{N: 4, Kind: pawl.MemoryError, Task: "TASK-001", Text: "npm test needs a running database", Failed: true},
	{N: 5, Kind: pawl.MemoryLearning, Task: "TASK-004", Text: "It cannot be done with cookies", Failed: true},
	{N: 7, Kind: pawl.MemoryInstruction, Text: "Keep the old sessions working."},
	{N: 6, Kind: pawl.MemoryDiscovery, Task: "TASK-001", Text: "There are two user tables."},
}

// remember lets the store answer with these entries, and returns what it was asked.
func (w *world) remember(entries []pawl.MemoryEntry) *pawl.MemoryQuery {
	asked := &pawl.MemoryQuery{}
	w.assembler.Recall = func(_ context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
		*asked = q
		return entries, nil
	}
	return asked
}

// child is what every prompt of the second of the three tasks is told.
func (w *world) child(tb testing.TB, template string) *pawl.AssemblePrompt {
	do := w.request(tb, template)
	do.Goal = w.MustKeep(tb, "Implement user authentication with OAuth, password reset, and session management")
	do.Task, do.Number, do.Count = w.MustKeep(tb, tasks[1]), 2, 3
	do.Plan, do.States = w.MustKeep(tb, map[string]any{"decision": "PANDORA_LOOP", "tasks": tasks}), "arp"
	return do
}

// The context of a task is built for that task alone (P-50), has exactly this text, and
// contains the learnings of earlier tasks (P-81).
func TestPandoraContext(t *testing.T) {
	w := MustWorldOf(t, "pandora")
	w.remember(remembered)
	w.at(pawl.Place{Loop: "task", Task: "TASK-002", Iteration: 1, Step: "decide", Role: "planner", Tier: 2, Round: 1})
	do := w.child(t, "decide.md")
	do.Memory = &pawl.Memory{Select: "all", MaxTokens: 2000}
	p := w.MustAssemble(t, do)
	golden(t, "pandora_decide", p)
	want := "## 0. User Query\n\n" + // P-55
		"**Original Request:** Implement user authentication with OAuth, password reset, and session management\n\n---\n\n" + // P-56
		"**PANDORA LOOP - Task 2 of 3**\n\n" + // P-57
		"| Field | Value |\n|-------|-------|\n| Task ID | TASK-002 |\n| Title | Implement password reset flow |\n" + // P-58
		"| Description | Email-based password reset with secure tokens |\n| Priority | 2 |\n" +
		"| Dependencies | None |\n\n" + // P-59
		"**Acceptance Criteria:**\n1. POST /auth/forgot-password sends email\n2. Reset token expires in 1 hour\n" + // P-60
		"3. POST /auth/reset-password validates token\n4. Tests pass\n\n" +
		"**Prior Task Learnings:**\n- [TASK-001] OAuth uses passport.js with Google strategy\n" + // P-61 P-62: TASK-002 does not depend on TASK-001
		"- [TASK-001] Auth routes in apps/auth/routes.py\n\n---\n\n" + // P-63
		"**Intent:** edit\n**Mode:** code\n" // P-64
	wants(t, p, "## What a person said", "- Keep the old sessions working.")
	_, got, _ := strings.Cut(p.User, "\n\n")
	got, _, _ = strings.Cut(got, "\n## Scope")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// P-59: the ids of what it depends on.
	do.Task, do.Number = w.MustKeep(t, tasks[2]), 3
	wants(t, w.MustAssemble(t, do), "Task 3 of 3", "| Description | Session creation, validation, and cleanup See the RFC. |", "| Dependencies | TASK-001 |")
}

// Each template of Pandora and Loom, as it is sent.
func TestTreePrompts(t *testing.T) {
	account := `{"summary": "Reset works: apps/auth/reset.py:12."}`
	next := `{"decision": "EXECUTE", "instructions": "Add the route.\nRun npm test."}`
	for _, test := range []struct {
		recipe, step string
		fill         func(w *world, do *pawl.AssemblePrompt)
		says         []string
	}{
		{"pandora", "plan", func(w *world, do *pawl.AssemblePrompt) {
			do.Task, do.Plan, do.Signs = pawl.Hash{}, pawl.Hash{}, []string{"3 steps in a sequence", "the word implement"}
			do.Memory = &pawl.Memory{Select: "relevant", MaxTokens: 2000}
		}, []string{"AC-001: An empty password", "learning [TASK-001]: OAuth uses", "(from an attempt that failed)", `"3 steps in a sequence"`, "submit_tasks"}},
		{"pandora", "next", func(w *world, do *pawl.AssemblePrompt) {
			do.Task, do.Plan = pawl.Hash{}, pawl.Hash{}
			do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(t, result)}}
		}, []string{"I reject empty passwords", "submit_next"}},
		{"pandora", "coordinate", func(w *world, do *pawl.AssemblePrompt) {
			do.Task, do.Plan = pawl.Hash{}, pawl.Hash{}
			do.Inputs = []pawl.Input{{Name: "next", Blob: w.MustKeep(t, next)}, {Name: "result", Blob: w.MustKeep(t, result)}}
		}, []string{"I reject empty passwords", "instructions:\n  Add the route.\n  Run npm test.", "submit_result"}},
		{"pandora", "answer", func(w *world, do *pawl.AssemblePrompt) {
			do.Task, do.Plan = pawl.Hash{}, pawl.Hash{}
			do.Inputs = []pawl.Input{{Name: "tasks", Blob: w.MustKeep(t, `{"decision": "COMPLETE", "reasoning": "It is there."}`)}}
		}, []string{"reasoning: It is there.", "submit_summary"}},
		{"pandora", "close", func(w *world, do *pawl.AssemblePrompt) {
			do.Task, do.States = pawl.Hash{}, "apf"
			do.Feedback = feedback(w, t)
		}, []string{"status: passed", "status: pending", "status: failed", "status 403, want 400", "submit_summary"}},
		{"pandora", "execute", func(w *world, do *pawl.AssemblePrompt) {
			do.Inputs = []pawl.Input{{Name: "next", Blob: w.MustKeep(t, next)}, {Name: "result", Blob: w.MustKeep(t, result)}}
			do.Feedback = feedback(w, t)
		}, []string{"Implement user authentication", "TASK-002", "AC-004: Tests pass", "I reject empty passwords", "status 403, want 400", "Add the route.", "submit_result"}},
		{"pandora", "synthesis", func(w *world, do *pawl.AssemblePrompt) {
			do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(t, result)}, {Name: "changed", Blob: w.MustKeep(t, "apps/auth/reset.py\n")}, {Name: "summary", Blob: w.MustKeep(t, account)}}
			do.Feedback = feedback(w, t)[1:]
		}, []string{"AC-001: POST /auth/forgot-password sends email", "apps/auth/reset.py", "I reject empty passwords", "Reset works", "Name the field", "submit_summary"}},
		{"pandora", "validation", func(w *world, do *pawl.AssemblePrompt) {
			w.patch(patch)
			do.Commit, do.Base = "head", "base"
			do.Inputs = []pawl.Input{{Name: "changed", Blob: w.MustKeep(t, "apps/auth/reset.py\n")}, {Name: "summary", Blob: w.MustKeep(t, account)}}
		}, []string{"AC-001: POST /auth/forgot-password sends email", "AC-004: Tests pass", "apps/auth/reset.py", "http.StatusForbidden", "Reset works", "submit_verdict"}}, // P-77
		{"pandora", "learn", func(w *world, do *pawl.AssemblePrompt) {
			do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(t, result)}, {Name: "summary", Blob: w.MustKeep(t, account)}}
		}, []string{"TASK-002", "I reject empty passwords", "Reset works", "submit_learnings"}},

		{"loom", "planner", func(w *world, do *pawl.AssemblePrompt) {
			do.Task, do.Plan = pawl.Hash{}, pawl.Hash{}
			do.Memory = &pawl.Memory{Select: "all", MaxTokens: 1500}
		}, []string{"# Goal", "AC-001: An empty password", "learning [TASK-001]: OAuth uses", "submit_plan"}}, // L-04 L-05
		{"loom", "replan", func(w *world, do *pawl.AssemblePrompt) {
			do.Task, do.States, do.Cause = pawl.Hash{}, "apf", "TASK-003 failed for good: 2 of 9 tests fail"
			do.Memory, do.Bare = &pawl.Memory{Select: "all", MaxTokens: 1500}, true
			do.Feedback = feedback(w, t)
		}, []string{"# Goal", "title: Set up OAuth provider", "status: failed", "There are two user tables.", "npm test needs a running database", "status 403, want 400", "submit_plan"}},
		{"loom", "executor", func(w *world, do *pawl.AssemblePrompt) {
			w.patch(patch)
			w.at(pawl.Place{Loop: "subtask", Task: "TASK-002", Iteration: 2, Step: "executor", Tier: 2})
			do.Commit, do.Base, do.Max = "head", "base", 4
			do.Memory = &pawl.Memory{Select: "relevant", MaxTokens: 1500}
			do.Feedback, do.History = feedback(w, t), history
		}, []string{"Implement user authentication", "TASK-002: Implement password reset flow", "AC-002: Reset token expires", "status: running", "There are two user tables",
			"attempt 1: tests", "http.StatusForbidden", "status 403, want 400", "attempt 2 of 4"}},
		{"loom", "verify", func(w *world, do *pawl.AssemblePrompt) {
			w.patch(patch)
			do.Commit, do.Base = "head", "base"
			do.Inputs = []pawl.Input{{Name: "changed", Blob: w.MustKeep(t, "apps/auth/reset.py\n")}, {Name: "result", Blob: w.MustKeep(t, result)}}
		}, []string{"AC-002: Reset token expires", "apps/auth/reset.py", "http.StatusForbidden", "I reject empty passwords", "submit_verdict"}}, // L-56
		{"loom", "final-validation", func(w *world, do *pawl.AssemblePrompt) {
			w.patch(patch)
			do.Task, do.States, do.Commit, do.Base = pawl.Hash{}, "aas", "head", "base"
		}, []string{"AC-001: An empty password", "status: skipped", "http.StatusForbidden", "submit_verdict"}},
		{"loom", "summary", func(w *world, do *pawl.AssemblePrompt) { do.Task, do.States = pawl.Hash{}, "afb" },
			[]string{"status: passed", "status: failed", "status: blocked", "submit_summary"}},
		{"loom", "extract", func(w *world, do *pawl.AssemblePrompt) {
			do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(t, result)}}
			do.Feedback = feedback(w, t)
		}, []string{"TASK-002", "I reject empty passwords", "status 403, want 400", "submit_learnings"}}, // L-57
	} {
		t.Run(test.recipe+"_"+test.step, func(t *testing.T) {
			w := MustWorldOf(t, test.recipe)
			w.remember(remembered)
			w.at(pawl.Place{Loop: "task", Task: "TASK-002", Iteration: 1, Step: test.step, Tier: 2})
			do := w.child(t, test.step+".md")
			test.fill(w, do)
			p := w.MustAssemble(t, do)
			golden(t, test.recipe+"_"+test.step, p)
			wants(t, p, test.says...)
			if len(p.Cut) > 0 {
				t.Errorf("cut: %v", p.Cut)
			}
		})
	}
}

// L-67: a new plan is made from the goal, the state, what was discovered, what
// went wrong and the plan before: no history, no results, no learnings.
func TestReplanIsFresh(t *testing.T) {
	w := MustWorldOf(t, "loom")
	w.remember(remembered)
	w.assembler.Diff = func(context.Context, pawl.CommitHash, pawl.CommitHash) ([]byte, error) {
		return nil, fmt.Errorf("nobody asked for the change")
	}
	do := w.child(t, "replan.md")
	do.Task, do.Commit, do.Base, do.History = pawl.Hash{}, "head", "base", history
	do.Memory = &pawl.Memory{Select: "all", MaxTokens: 1500}
	do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(t, result)}}
	do.States, do.Cause, do.Bare, do.Feedback = "apf", "schedule: 3 tasks passed", true, feedback(w, t)
	w.job.Started.Instructions = []pawl.InstructionFile{{Path: "AGENTS.md", Blob: w.MustKeep(t, "Use tabs.")}}
	p := w.MustAssemble(t, do)
	for _, text := range []string{"attempt 1", "I reject empty passwords", "http.Status", "passport.js", "OAuth first", "AGENTS.md", "Use tabs.", string(runID), "3 tasks passed"} {
		if strings.Contains(p.User, text) {
			t.Errorf("it is told %q:\n%s", text, p.User)
		}
	}
	var headings []string
	for _, line := range strings.Split(p.User, "\n") {
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ") {
			headings = append(headings, line)
		}
	}
	if want := []string{"# Goal", "## Acceptance criteria", "## The plan so far", "## Where it stands", "## Discoveries", "## Errors"}; !slices.Equal(headings, want) {
		t.Errorf("it has the sections %q, want %q", headings, want)
	}
	_, errors, _ := strings.Cut(p.User, "## Errors") // with what the gates said
	for _, text := range []string{"npm test needs a running database", "### tests: fail", "status 403, want 400"} {
		if !strings.Contains(errors, text) {
			t.Errorf("the errors do not have %q:\n%s", text, errors)
		}
	}
}

// L-48: an executor is told its role, where the plan stands, its subtask, what
// fits from the memory, its tools, what to hand in, its limits; nothing of
// subtasks before it.
func TestExecutorSections(t *testing.T) {
	w := MustWorldOf(t, "loom")
	asked := w.remember(remembered)
	do := w.child(t, "executor.md")
	do.Memory = &pawl.Memory{Select: "relevant", MaxTokens: 1500}
	p := w.MustAssemble(t, do)
	all := p.System + p.User
	for _, section := range []string{"# Role", "# Tools", "# Output", "# Constraints", "# Your subtask", "## Where the plan stands", "## Remembered"} {
		if strings.Count(all, "\n"+section+"\n") != 1 && !strings.HasPrefix(all, section+"\n") {
			t.Errorf("there is no section %s", section)
		}
	}
	want := pawl.MemoryQuery{Run: runID, Project: true, Before: 9, Text: "Implement password reset flow\nEmail-based password reset with secure tokens", Limit: 5000}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Errorf("the memory is asked for (-want +got)\n%s", diff)
	}
	do.Memory.Select = "all"
	w.MustAssemble(t, do)
	if diff := cmp.Diff(pawl.MemoryQuery{Run: runID, Before: 9, Limit: 5000}, *asked); diff != "" {
		t.Errorf("the memory is asked for (-want +got)\n%s", diff)
	}
}

// Whole entries are left out, the oldest or the least fitting first, never what
// a person said.
func TestMemoryIsCut(t *testing.T) {
	var entries []pawl.MemoryEntry
	for i := range 10 {
		entries = append(entries, pawl.MemoryEntry{Kind: pawl.MemoryLearning, Task: "T", Text: fmt.Sprintf("entry %d %s", i, strings.Repeat("x", 400))})
	}
	entries[4].Kind = pawl.MemoryInstruction
	for choice, want := range map[string][]string{"all": {"4", "8", "9"}, "relevant": {"0", "1", "4"}} {
		t.Run(choice, func(t *testing.T) {
			w := MustWorldOf(t, "loom")
			w.remember(entries)
			do := w.child(t, "planner.md")
			do.Task, do.Memory = pawl.Hash{}, &pawl.Memory{Select: choice, MaxTokens: 350}
			p := w.MustAssemble(t, do)
			var got []string
			for i := range 10 {
				if n := fmt.Sprint(i); strings.Contains(p.User, "entry "+n+" ") {
					got = append(got, n)
				}
			}
			if !slices.Equal(got, want) || !slices.Equal(p.Cut, []string{"memory: 7 entries"}) {
				t.Errorf("told %v and cut %v, want %v", got, p.Cut, want)
			}
			if strings.Count(p.User, strings.Repeat("x", 400)) != 3 {
				t.Error("an entry is not whole")
			}
		})
	}
}

// A long plan is told by counts, what runs, what failed and what is next.
func TestLongPlan(t *testing.T) {
	w := MustWorldOf(t, "loom")
	var list []pawl.TaskSpec
	for i := range 40 {
		list = append(list, pawl.TaskSpec{ID: fmt.Sprintf("t%02d", i), Title: fmt.Sprintf("Task %d %s", i, strings.Repeat("é", 100))})
	}
	do := w.child(t, "executor.md")
	do.Plan, do.States = w.MustKeep(t, list), strings.Repeat("a", 20)+"fbrr"+strings.Repeat("p", 14)+"s"
	p := w.MustAssemble(t, do)
	wants(t, p, "pending: 14\nrunning: 2\npassed: 20\nfailed: 1\nblocked: 1\nskipped: 1\nothers: 1\ntasks:\n", `"t20"`, "status: failed", `"t22"`, "running", `"t23"`, `"t24"`, "pending", `"t25"`, `"t26"`)
	for _, id := range []string{`"t00"`, `"t21"`, `"t27"`, `"t39"`} {
		if strings.Contains(p.User, id) {
			t.Errorf("it names %s", id)
		}
	}
	if len(p.Cut) > 0 || p.User != strings.ToValidUTF8(p.User, "") {
		t.Errorf("cut: %v", p.Cut)
	}
}

// Memory gives way first, then the state of the plan, outputs, the diff and
// evidence; never the goal, the criteria and the task.
func TestOrderOfCuts(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a line of text\n", n/15) }
	for name, test := range map[string]struct {
		goal int
		want []string
	}{
		"memory":   {41000, []string{"memory: 1 entries"}},
		"state":    {46500, []string{"state", "memory: 2 entries"}},
		"outputs":  {51000, []string{"state", "result", "memory: 2 entries"}},
		"diff":     {65000, []string{"state", "result", "diff", "memory: 2 entries"}},
		"evidence": {120000, []string{"state", "result", "diff", "tests", "memory: 2 entries"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := MustWorldOf(t, "loom")
			w.remember([]pawl.MemoryEntry{{Kind: pawl.MemoryDecision, Text: long(3_000)}, {Kind: pawl.MemoryDecision, Text: long(3_000)}})
			w.patch(long(20_000))
			do := w.child(t, "executor.md")
			do.Commit, do.Base = "head", "base"
			spec := tasks[1]
			spec.Description = long(10_000)
			var list []pawl.TaskSpec
			for i := range 15 {
				list = append(list, pawl.TaskSpec{ID: fmt.Sprintf("t%02d", i), Title: strings.Repeat("t", 80), Description: long(500)})
			}
			do.Goal, do.Task, do.Plan = w.MustKeep(t, long(test.goal)), w.MustKeep(t, spec), w.MustKeep(t, list)
			do.States = strings.Repeat("p", 15)
			do.Memory = &pawl.Memory{Select: "all", MaxTokens: 2000}
			do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(t, long(11_000))}}
			do.Feedback = []pawl.Feedback{{From: "tests", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, long(11_000))}}
			p := w.MustAssemble(t, do)
			if diff := cmp.Diff(test.want, p.Cut); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !strings.Contains(p.User, strings.TrimSpace(long(test.goal))) || !strings.Contains(p.User, strings.TrimSpace(long(10_000))) || !strings.Contains(p.User, "AC-004") {
				t.Error("the goal, a criterion or the task is cut")
			}
		})
	}
}

// A list that cannot be read, or a memory that cannot be asked, is an error.
func TestTreeErrors(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(w *world, do *pawl.AssemblePrompt)
		code  pawl.Code
		says  string
	}{
		"Task":   {func(w *world, do *pawl.AssemblePrompt) { do.Task = w.MustKeep(t, "{") }, pawl.CodeDamaged, "read the task: "},
		"Spec":   {func(w *world, do *pawl.AssemblePrompt) { do.Plan = w.MustKeep(t, `{"phases":{}}`) }, pawl.CodeDamaged, "read the plan: the spec does not fit"},
		"Plan":   {func(w *world, do *pawl.AssemblePrompt) { do.Plan = w.MustKeep(t, "no list") }, pawl.CodeDamaged, "read the plan: "},
		"Memory": {func(w *world, do *pawl.AssemblePrompt) { do.Memory = &pawl.Memory{Select: "all"} }, pawl.CodeInternal, "what is remembered: no disk"},
	} {
		t.Run(name, func(t *testing.T) {
			w := MustWorldOf(t, "pandora")
			w.assembler.Recall = func(context.Context, pawl.MemoryQuery) ([]pawl.MemoryEntry, error) { return nil, fmt.Errorf("no disk") }
			do := w.child(t, "decide.md")
			test.spoil(w, do)
			if err := w.assembleError(t, do); pawl.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v", pawl.CodeOf(err), err)
			}
		})
	}
}
