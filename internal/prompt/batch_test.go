package prompt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
	"pawl/internal/tool"
	"pawl/internal/tool/submit"
)

// recorded is what a task with batches remembers: its learnings have numbers.
var recorded = []pawl.MemoryEntry{
	{N: 1, Kind: pawl.MemoryDecision, Learning: 1, Text: "Tokens that expire\n\n**Context:** Sessions must end.\n\n**Choice:** JWT, one hour: no table is needed.\n\n" +
		"**Alternatives Rejected:**\n- a table of sessions: a query for each request\n\n**Depends On:** none\n\n**Invalidated If:** tokens must be revoked\n"},
	{N: 2, Kind: pawl.MemoryLearning, Task: "1.1", Text: "Auth routes are in apps/auth/routes.py"},
	{N: 3, Kind: pawl.MemoryAntiPattern, Task: "1.2", Learning: 2, Text: "Do not mock the clock in auth tests: it hides expiry."},
	{N: 4, Kind: pawl.MemoryAntiPattern, Learning: 3, Text: "# Anti-Pattern: the pass rate fell twice\nStatus: ANTI-PATTERN\n\n**Context:** rollback to checkpoint batch-1; undone and open again: 1.2, 1.3.\n\n" +
		"**What went wrong:** the pass rate fell twice\n"},
	{N: 5, Kind: pawl.MemoryDiscovery, Task: "1.1", Text: "There are two user tables."},
	{N: 6, Kind: pawl.MemoryInstruction, Text: "Keep the old sessions working."},
}

var subtasks = []pawl.TaskSpec{
	{ID: "1.1", Title: "Interfaces of authentication", Description: "Add apps/auth/api.py with the routes' signatures.", Criteria: []string{"It compiles"}, Scaffold: true},
	{ID: "1.2", Title: "Password reset", Description: "Fill in POST /auth/reset.", Criteria: []string{"Tokens expire in 1 hour", "Tests pass"}, DependsOn: []string{"1.1"}},
	{ID: "1.3", Title: "Sessions", Description: "Create and end sessions.\n\nSee the RFC.", Criteria: []string{"Tests pass"}, DependsOn: []string{"1.1"}},
}

const plannedBatches = `{"subtasks": [{"id": "1.1", "description": "d", "depends_on": [], "scaffold": true}], "status": "DRAFT",
	"decisions": [{"title": "Tokens that expire", "choice": "JWT"}, {"title": "One table", "choice": "users\nwith a flag",
	"alternatives_rejected": [{"alternative": "two tables", "reason": "joins"}]}]}`

// coherent is what every prompt of a session with batches is told: of the parent,
// or with task from 1 of one of its subtasks.
func (w *world) coherent(tb testing.TB, template string, task int) *pawl.AssemblePrompt {
	do := w.request(tb, template)
	do.Goal = w.MustKeep(tb, "Implement user authentication with password reset and session management")
	do.Plan, do.States = w.MustKeep(tb, map[string]any{"subtasks": subtasks}), "arp"
	do.Memory = &pawl.Memory{Select: "all", MaxTokens: 4000}
	if task > 0 {
		do.Task, do.Number, do.Count = w.MustKeep(tb, subtasks[task-1]), task, len(subtasks)
	}
	return do
}

// Each template of Coherence produces the expected prompt. V-07: some templates receive the
// context. V-38 V-52 V-55: some receive decisions and anti-patterns, with their numbers and
// reasons (V-02).
func TestCoherencePrompts(t *testing.T) {
	gathered := `{"phase": "EXECUTE", "current_state": ["apps/auth/api.py has the routes"], "patterns": ["make test"], "decisions": ["001: JWT, no table"], "anti_patterns": ["002: no mocked clock"]}`
	known := []string{"- 001 Tokens that expire. Context: Sessions must end. Choice: JWT, one hour: no table is needed. Alternatives Rejected: a table of sessions: a query for each request. Depends On: none. Invalidated If: tokens must be revoked.\n",
		"- 002 [1.2] Do not mock the clock", "- 003 the pass rate fell twice. Context: rollback to checkpoint batch-1"}
	told := func(before []string, after ...string) []string { return slices.Concat(before, known, after) }
	for _, test := range []struct {
		step string
		task int
		fill func(w *world, do *pawl.AssemblePrompt)
		says []string
	}{
		{"gather", 0, func(w *world, do *pawl.AssemblePrompt) {
			do.Cause = "STALLED: batch 2 and 3 approved nothing"
			do.Inputs = []pawl.Input{{Name: "context", Blob: w.MustKeep(t, gathered)}}
		}, told([]string{"Keep the old sessions working.", "scaffold: true", "status: running"}, // V-26 V-62: the plan and the learnings
			"learning [1.1]", "It may be out of date.", `"STALLED: batch 2 and 3 approved nothing"`, "submit_context")}, // V-41
		{"plan", 0, func(w *world, do *pawl.AssemblePrompt) { // a revision: V-28 V-31
			do.Answers = []pawl.Hash{w.MustKeep(t, "SQLite, please."), w.MustKeep(t, "Until\nMay.")}
			do.Inputs = []pawl.Input{{Name: "context", Blob: w.MustKeep(t, gathered)}, {Name: "plan", Blob: w.MustKeep(t, plannedBatches)},
				{Name: "review", Blob: w.MustKeep(t, `{"decision": "NEEDS_REVISION", "issues": [{"severity": "Major", "text": "1.1 has no test"}]}`)}}
		}, told([]string{"002: no mocked clock"}, "What a person answered", "SQLite, please.", "Until\nMay.", "## The plan so far", "title: Tokens that expire", "1.1 has no test", "submit_plan")},
		{"decide", 0, func(w *world, do *pawl.AssemblePrompt) { // V-29 V-64: one decision, and what is recorded
			do.Item, do.ItemOf, do.ItemField = 2, w.MustKeep(t, plannedBatches), "decisions"
		}, told(nil, "title: One table", "users\n  with a flag", "two tables", "submit_decision")},
		{"plan-review", 0, func(w *world, do *pawl.AssemblePrompt) { // V-30 V-66
			do.Answers = []pawl.Hash{w.MustKeep(t, "SQLite, please.")}
			do.Inputs = []pawl.Input{{Name: "context", Blob: w.MustKeep(t, gathered)}, {Name: "plan", Blob: w.MustKeep(t, plannedBatches)}}
		}, told([]string{"002: no mocked clock"}, "SQLite, please.", "## The plan", "status: DRAFT", "submit_review")},
		{"scaffold", 1, func(w *world, do *pawl.AssemblePrompt) {
			do.Inputs = []pawl.Input{{Name: "context", Blob: w.MustKeep(t, gathered)}}
		}, told([]string{"1.1: Interfaces of authentication", "AC-001: It compiles", "apps/auth/api.py has the routes"}, "There are two user tables.", "attempt 1 of 10")}, // V-67
		{"implement", 2, func(w *world, do *pawl.AssemblePrompt) {
			w.patch(patch)
			w.at(pawl.Place{Loop: "subtask", Task: "1.2", Iteration: 2, Step: "implement", Tier: 2})
			do.Commit, do.Base, do.History = "head", "base", history[:1]
			do.Inputs = []pawl.Input{{Name: "context", Blob: w.MustKeep(t, gathered)}}
			do.Feedback = []pawl.Feedback{{From: "review", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, "Expire them.\n\nCritical: contradicts 001\n")}}
		}, told([]string{"1.2: Password reset", "002: no mocked clock"}, "attempt 1: tests", "http.StatusForbidden", "### review: fail", "Critical: contradicts 001", "attempt 2 of 10")}, // V-68
		{"review", 0, func(w *world, do *pawl.AssemblePrompt) { // V-38 V-69
			w.patch(patch)
			do.Commit, do.Base, do.Memory = "head", "base", nil // the recipe cannot say it for a review
			do.Inputs = []pawl.Input{{Name: "context", Blob: w.MustKeep(t, gathered)}}
			do.Batch = []pawl.Member{{Task: w.MustKeep(t, subtasks[1]), Result: w.MustKeep(t, result), Paths: w.MustKeep(t, "apps/auth/reset.py\n")},
				{Task: w.MustKeep(t, subtasks[2])}}
		}, told([]string{"002: no mocked clock"}, "- Subtask 1.2: Password reset", "AC-001: Tokens expire in 1 hour", "I reject empty passwords", "apps/auth/reset.py",
			"- Subtask 1.3: Sessions", "See the RFC.", "AC-001: Tests pass", "http.StatusForbidden", "submit_batch")},
		{"report", 0, func(w *world, do *pawl.AssemblePrompt) { // V-78
			do.States, do.Feedback = "aaf", []pawl.Feedback{{From: "tests", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, failedTests)}}
		}, told([]string{"status: failed"}, "status 403, want 400", "submit_report")},
		{"replan", 0, func(_ *world, do *pawl.AssemblePrompt) { do.Cause = "health: STALLED" },
			told([]string{"## The plan so far", "title: Password reset", "status: running"}, "There are two user tables.", `"health: STALLED"`, "submit_plan")}, // V-41
	} {
		t.Run(test.step, func(t *testing.T) {
			w := MustWorldOf(t, "coherence")
			w.remember(recorded)
			w.at(pawl.Place{Loop: "task", Iteration: 1, Step: test.step, Tier: 2})
			do := w.coherent(t, test.step+".md", test.task)
			test.fill(w, do)
			p := w.MustAssemble(t, do)
			golden(t, "coherence_"+test.step, p)
			wants(t, p, test.says...)
			if len(p.Cut) > 0 {
				t.Errorf("cut: %v", p.Cut)
			}
		})
	}
}

// V-56 V-79: the reviewers are told that work that contradicts a decision is
// worse than none, and the others that they have to keep to them.
func TestContradictionsAreTold(t *testing.T) {
	w := MustWorldOf(t, "coherence")
	for template, text := range map[string]string{
		"review.md":      "Work that contradicts one has a Critical issue, even if it runs: working code that contradicts the design counts as worse than slower, right code.",
		"plan-review.md": "A plan that contradicts a recorded decision without replacing it has a Critical issue, even if it would work.",
		"gather.md":      "so that nobody builds something that works and contradicts it",
		"plan.md":        "Whatever is not obvious is a decision", // V-33
		"implement.md":   "Work that runs and contradicts one is rejected.",
		"scaffold.md":    "Work that runs and contradicts one is rejected.",
	} {
		do := w.coherent(t, template, 0)
		do.Inputs = []pawl.Input{{Name: "plan", Blob: w.MustKeep(t, plannedBatches)}}
		if p := w.MustAssemble(t, do); !strings.Contains(p.System, text) {
			t.Errorf("%s does not say %q", template, text)
		}
	}
}

// What is recorded for the task comes before all else that is remembered, the
// anti-patterns first.
func TestRecordsAreKept(t *testing.T) {
	entry := func(kind pawl.MemoryKind, learning int, name string) pawl.MemoryEntry {
		return pawl.MemoryEntry{Kind: kind, Learning: learning, Text: "entry-" + name + " " + strings.Repeat("x", 400)}
	}
	w := MustWorldOf(t, "coherence")
	w.remember([]pawl.MemoryEntry{entry(pawl.MemoryAntiPattern, 1, "a"), entry(pawl.MemoryDecision, 2, "b"), entry(pawl.MemoryDecision, 3, "c"),
		entry(pawl.MemoryDiscovery, 0, "d"), entry(pawl.MemoryDecision, 0, "e")})
	do := w.coherent(t, "implement.md", 2)
	for tokens, want := range map[int]string{120: "a", 250: "ac", 350: "abc", 460: "abce", 1000: "abcde"} {
		do.Memory.MaxTokens = tokens
		p := w.MustAssemble(t, do)
		got := ""
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if strings.Contains(p.User, "entry-"+name+".") || strings.Contains(p.User, "entry-"+name+" ") {
				got += name
			}
		}
		if got != want {
			t.Errorf("with %d tokens it is told %q, want %q", tokens, got, want)
		}
	}
}

// What earlier runs of the task recorded is told before what this one did.
func TestEarlierRuns(t *testing.T) {
	w := MustWorldOf(t, "coherence")
	w.job.Run = "007-reject-r3"
	var asked []pawl.MemoryQuery
	w.assembler.Recall = func(_ context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
		asked = append(asked, q)
		return []pawl.MemoryEntry{{Kind: pawl.MemoryDecision, Learning: 1, Text: "of " + string(q.Run)}, {Kind: pawl.MemoryDiscovery, Text: "seen in " + string(q.Run)}}, nil
	}
	w.at(pawl.Place{Loop: "subtask", Iteration: 1, Step: "implement", Tier: 1})
	do := w.coherent(t, "implement.md", 2)
	p, err := w.assembler.Assemble(t.Context(), w.job, do)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, p, "- 001 of 007-reject.\n", "- 001 of 007-reject-r2.\n", "- 001 of 007-reject-r3.\n", "seen in 007-reject-r3")
	if strings.Contains(p.User, "seen in 007-reject-r2") {
		t.Error("it is told what was not recorded for the task")
	}
	if len(asked) != 3 || asked[0].Before != 0 || asked[2].Before != 9 {
		t.Errorf("asked %+v", asked)
	}
	w.assembler.Recall = func(_ context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
		if q.Run == "007-reject" {
			return nil, fmt.Errorf("no disk")
		}
		return nil, nil
	}
	if _, err := w.assembler.Assemble(t.Context(), w.job, do); err == nil || !strings.Contains(err.Error(), "what run 007-reject has recorded: no disk") {
		t.Error(err)
	}
}

// Entries of lists are shown as results are, or as the text they are; one that is
// not there is damage.
func TestItems(t *testing.T) {
	w := MustWorldOf(t, "coherence")
	do := w.coherent(t, "decide.md", 0)
	do.ItemOf, do.ItemField = w.MustKeep(t, `{"decisions": [{"title": "a\nb", "n": 2}, "a text\nin lines", 7], "none": {}}`), "decisions"
	for n, want := range map[int]string{1: "```\ntitle:\n  a\n  b\nn: 2\n```", 2: "```\na text\nin lines\n```", 3: "```\n7\n```"} {
		do.Item = n
		wants(t, w.MustAssemble(t, do), want)
	}
	for _, bad := range []struct {
		n     int
		field string
		says  string
	}{{4, "decisions", "read entry 4 of decisions: it has 3"}, {1, "none", "read entry 1 of none"}, {1, "missing", "read entry 1 of missing"}} {
		do.Item, do.ItemField = bad.n, bad.field
		if err := w.assembleError(t, do); pawl.CodeOf(err) != pawl.CodeDamaged || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%s: %v", pawl.CodeOf(err), err)
		}
	}
}

// A batch of twelve large tasks fits into one prompt: what was handed in gives
// way, what was to be done is there.
func TestLargeBatch(t *testing.T) {
	w := MustWorldOf(t, "coherence")
	w.remember(recorded)
	w.patch(strings.Repeat("a line of the diff\n", 4000))
	do := w.coherent(t, "review.md", 0)
	do.Commit, do.Base = "head", "base"
	for i := range 12 {
		spec := pawl.TaskSpec{ID: fmt.Sprintf("2.%d", i), Title: "t", Description: strings.Repeat("what to do ", 300), Criteria: []string{strings.Repeat("c", 900)}}
		do.Batch = append(do.Batch, pawl.Member{Task: w.MustKeep(t, spec), Result: w.MustKeep(t, strings.Repeat("I did it. ", 2000)), Paths: w.MustKeep(t, strings.Repeat("apps/auth/reset.py\n", 200))})
	}
	p := w.MustAssemble(t, do)
	if len(p.User) > 115_000 || !slices.Contains(p.Cut, "result of 2.0") || !slices.Contains(p.Cut, "paths of 2.11") || !slices.Contains(p.Cut, "diff") {
		t.Errorf("%d bytes, cut %v", len(p.User), p.Cut)
	}
	if n := strings.Count(p.User, strings.Repeat("c", 900)); n != 12 {
		t.Errorf("%d of 12 criteria are told", n)
	}
}

// What a plan says is told in full to whoever judges it, far beyond what other
// outputs may take.
func TestWholePlanIsTold(t *testing.T) {
	w := MustWorldOf(t, "coherence")
	do := w.coherent(t, "plan-review.md", 0)
	do.Inputs = []pawl.Input{{Name: "plan", Blob: w.MustKeep(t, "old")}, {Name: "plan", Blob: w.MustKeep(t, strings.Repeat("x", 30_000))}}
	p := w.MustAssemble(t, do)
	if diff := cmp.Diff([]string(nil), p.Cut); diff != "" || !strings.Contains(p.User, strings.Repeat("x", 30_000)) || strings.Contains(p.User, "old\n") {
		t.Errorf("cut: %s", diff)
	}
}

// Whatever a recipe lets a session hand in, there is a tool for it, and every tool
// a session is given exists.
func TestOutputsAndToolsExist(t *testing.T) {
	known := tool.New(tool.Builtin()...)
	for _, name := range recipe.Builtin() {
		r, err := recipe.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		check := func(output string, tools []string) {
			if _, ok := submit.Spec(output); output != "" && !ok {
				t.Errorf("%s: there is no tool %s", name, pawl.SubmitTool(output))
			}
			if _, err := known.Specs(tools); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		recipe.Walk(&r, func(s *pawl.Step) { check(s.Output, s.Tools) }, func(v *pawl.Review) { check(v.Output, v.Tools) })
	}
}
