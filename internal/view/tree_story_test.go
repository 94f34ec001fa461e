package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

var pandora = pawl.Recipe{
	Name: "pandora", Start: "request",
	Kinds: []pawl.LoopKind{
		{Name: "request", Iterations: 1, Steps: []pawl.Step{{Name: "plan", Role: "planner", Output: "tasks"}},
			Children: &pawl.Children{From: "plan", Kind: "task", Order: "priority", Parallel: 1, Limit: 10}},
		{Name: "task", Iterations: 2, Steps: []pawl.Step{
			{Name: "work", Repeat: &pawl.Repeat{Max: 5, Until: []string{"COMPLETE"}, Steps: []pawl.Step{{Name: "decide", Role: "planner"}, {Name: "execute", Role: "coordinator"}}}},
			{Name: "synthesis", Role: "synthesis"}}},
	},
}

var loom = pawl.Recipe{
	Name: "loom", Start: "task",
	Kinds: []pawl.LoopKind{
		{Name: "task", Steps: []pawl.Step{{Name: "plan", Role: "planner", Output: "plan"}},
			Children: &pawl.Children{From: "plan", Kind: "subtask", Order: "list", Parallel: 3}},
		{Name: "subtask", Iterations: 4, Steps: []pawl.Step{{Name: "execute", Role: "executor"}}},
	},
}

// auth are the tasks of Pandora's document.
var auth = []pawl.TaskSpec{
	{ID: "TASK-001", Title: "OAuth integration", Description: "Configure OAuth2", Priority: 1, Criteria: []string{"OAuth config in .env.example", "Callback route at /auth/callback", "Tests pass"}},
	{ID: "TASK-002", Title: "Password reset", Description: "By mail", Priority: 2, Criteria: []string{"Forgot password endpoint works", "Reset token expires correctly", "Tests pass"}},
	{ID: "TASK-003", Title: "Session management", Priority: 3, DependsOn: []string{"TASK-001"}, Criteria: []string{"Sessions stored in database", "Auto-expire works", "Tests pass"}},
}

// grow starts a run whose root loop makes a plan.
func grow(tb testing.TB, recipe pawl.Recipe, goal string, set pawl.Settings) *story {
	root := &thread{ref: 1, kind: recipe.Start, head: "base5e1fbeefcafe"}
	s := &story{tb: tb, blobs: map[pawl.Hash][]byte{}, now: time.Date(2025, 1, 30, 10, 0, 0, 0, time.UTC), thread: root, threads: map[pawl.LoopRef]*thread{1: root}}
	s.add(0, &pawl.RunStarted{Task: 1, Title: goal, Goal: s.blob(goal), Base: s.head, Branch: "pawl/001-add-login", Sandbox: "bubblewrap", Confined: true,
		Criteria: s.blob("[]"), Version: "1.0.0", Recipe: pawl.JSON(s.json(recipe)), Settings: pawl.JSON(s.json(set))})
	s.add(1, &pawl.LoopStarted{ID: "20250130-100000-1a2b", Kind: recipe.Start})
	open := s.ask(0, s.place("open", "", 0), &pawl.OpenWorkspace{Name: "001-add-login", Branch: "pawl/001-add-login", Base: s.head})
	s.add(1, &pawl.WorkspaceOpened{Effect: open, Head: s.head, Tree: "tree0"})
	s.n = 1
	s.tier = 3
	s.add(1, &pawl.IterationStarted{N: 1, Max: 1, Tier: 3, From: s.head})
	return s
}

// plan is a planner's session, and its list becoming the plan of this version.
func (s *story) plan(version int, purpose pawl.SessionPurpose, decision, changed string, specs ...pawl.TaskSpec) {
	x := s.start(purpose, s.place("plan", "planner", 3), 0, 1)
	s.turn(x, "I plan.", 9_000, 3_000)
	out := s.blob(s.json(map[string]any{"decision": decision, "reasoning": "Complex multi-step feature with 3+ tasks and dependencies", "tasks": specs}))
	s.add(1, &pawl.SessionEnded{Session: x.Session, Result: pawl.SessionDone, Output: out, Facts: pawl.Facts{{Name: "decision", Value: decision}}})
	s.list(out, version, changed, specs...)
}

// list is a list of tasks becoming the plan, in parts.
func (s *story) list(out pawl.Hash, version int, changed string, specs ...pawl.TaskSpec) {
	id := s.ask(0, s.place("plan", "", 0), &pawl.ReadTasks{List: out})
	for i := 0; i < len(specs); i += 2 {
		part := &pawl.TasksListed{}
		for _, spec := range specs[i:min(i+2, len(specs))] {
			part.Entries = append(part.Entries, s.entry(spec))
		}
		s.add(1, part)
	}
	s.add(1, &pawl.TasksRead{Effect: id, Count: len(specs)})
	s.add(1, &pawl.PlanAccepted{Version: version, Count: len(specs), List: out, Changed: changed})
}

func (s *story) entry(spec pawl.TaskSpec) pawl.TaskEntry {
	return pawl.TaskEntry{ID: spec.ID, Title: spec.Title, Spec: s.blob(s.json(spec)), DependsOn: slices.Clone(spec.DependsOn), Priority: spec.Priority,
		Tier: spec.ModelTier, Verify: spec.VerificationTier, Critical: spec.Critical, Done: spec.Done}
}

// spawn starts a loop for a task, and its first attempt.
func (s *story) spawn(ref pawl.LoopRef, task string, entry, version int) {
	s.wait(time.Second)
	kind := s.threads[1].kind
	kind = map[string]string{"request": "task", "task": "subtask"}[kind]
	s.threads[ref] = &thread{ref: ref, kind: kind, task: task, head: s.threads[1].head, tier: 1}
	s.in(ref)
	s.add(ref, &pawl.LoopStarted{ID: fmt.Sprintf("20250130-10000%d-ffff", ref), Kind: kind, Parent: 1, Task: task, Entry: entry, Version: version,
		Branch: "pawl/001-add-login." + strings.ToLower(task), Base: s.head})
	s.attempt(1, "")
}

func (s *story) attempt(tier int, reason string) {
	s.iterate(tier, reason)
	s.events[len(s.events)-1].Body.(*pawl.IterationStarted).Max = 4
}

// round is a planner and a coordinator in turn.
func (s *story) round(n int, summary string) {
	place := s.place("decide", "planner", s.tier)
	place.Round = n
	x := s.start(pawl.ForStep, place, 0, 1)
	s.turn(x, "Next.", 1_000, 500)
	s.add(s.ref, &pawl.SessionEnded{Session: x.Session, Result: pawl.SessionDone, Output: s.blob(`{"decision":"EXECUTE"}`)})
	if summary == "" {
		return
	}
	place.Step, place.Role = "execute", "coordinator"
	x = s.start(pawl.ForStep, place, 1, 1)
	s.turn(x, "I edit.", 4_000, 900, "auth.go")
	s.add(s.ref, &pawl.SessionEnded{Session: x.Session, Result: pawl.SessionDone, Output: s.blob(s.json(map[string]string{"summary": summary}))})
}

// work is a session that does the task in one go.
func (s *story) work(step, role, summary string, files ...string) {
	x := s.start(pawl.ForStep, s.place(step, role, s.tier), 0, 1)
	s.turn(x, "I work.", 5_000, 1_500, files...)
	s.add(s.ref, &pawl.SessionEnded{Session: x.Session, Result: pawl.SessionDone, Output: s.blob(s.json(map[string]string{"summary": summary}))})
}

// candidate commits a loop's work on its own branch.
func (s *story) candidate(paths ...string) {
	id := s.ask(0, s.place("commit", "", s.tier), &pawl.Commit{Branch: "pawl/001-add-login." + strings.ToLower(s.task), Parent: s.head})
	s.head = pawl.CommitHash(fmt.Sprintf("c%d0ffee%02d00112233", s.ref, s.n))
	s.add(s.ref, &pawl.Committed{Effect: id, Commit: s.head, Tree: "tree2", Files: len(paths), Total: len(paths), FileSet: 7, Paths: s.blob(strings.Join(paths, "\n") + "\n")})
}

// validate is the review of a task's criteria: each is met unless it is in unmet.
func (s *story) validate(v pawl.Verdict, spec pawl.TaskSpec, unmet ...string) {
	x := s.start(pawl.ForReview, s.place("validation", "validator", 2), 0, 1)
	s.turn(x, "I looked.", 6_000, 1_200)
	s.done(x, pawl.SessionDone, "")
	var found []map[string]any
	for _, c := range spec.CriteriaList() {
		state, gap := "pass", ""
		for _, u := range unmet {
			if u == c.ID {
				state, gap = "fail", "there is no test"
			}
		}
		found = append(found, map[string]any{"id": c.ID, "status": state, "evidence": []string{"Route added in §4, test passes"}, "gap": gap})
	}
	s.add(s.ref, &pawl.GateJudged{Gate: "validation", Verdict: v, Reason: "judged", Passed: len(found) - len(unmet), Total: len(found),
		Evidence: s.blob(s.json(map[string]any{"criteria": found, "summary": "judged"}))})
}

// merge is a loop's turn in the merge queue.
func (s *story) merge(conflicts int) {
	s.add(s.ref, &pawl.MergeQueued{Commit: s.head, Confidence: 90})
	id := s.ask(0, s.place("merge", "", s.tier), &pawl.Merge{Ours: s.threads[1].head, Theirs: s.head})
	merged := pawl.CommitHash(fmt.Sprintf("3e6ed%02d%02d00112233", s.ref, s.n))
	m := &pawl.Merged{Effect: id, Commit: merged, Tree: "tree3", Conflicts: conflicts}
	if conflicts > 0 {
		m.Hunks, m.Paths = s.blob("<<<<<<< auth.go"), s.blob("auth.go\nweb/my page.html\n")
		s.add(s.ref, m)
		s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictPass, Decision: pawl.DecideIterate, Conflict: true,
			Reason: "merge: conflicts in 2 paths", Errors: []string{"merge: conflicts in auth.go"}})
		return
	}
	s.add(s.ref, m)
	id = s.ask(0, s.place("merge", "", s.tier), &pawl.AdvanceBranch{Branch: "pawl/001-add-login", From: s.threads[1].head, To: merged})
	s.add(s.ref, &pawl.BranchAdvanced{Effect: id, Commit: merged})
	s.threads[1].head = merged
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictPass, Decision: pawl.DecideComplete, Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
}

// finish ends a loop that is not the root.
func (s *story) finish(o pawl.Outcome, reason string) {
	s.add(s.ref, &pawl.LoopEnded{Outcome: o, Reason: reason})
	s.in(1)
}

func (s *story) learned(n int, text string) {
	s.add(s.ref, &pawl.MemoryAdded{N: n, Kind: pawl.MemoryLearning, Scope: pawl.ScopeProject, Task: s.task, Text: s.blob(text)})
}

func (s *story) closeRun(o pawl.Outcome, reason string) {
	s.in(1)
	s.end(pawl.IterationEnded{Decision: map[bool]pawl.Decision{true: pawl.DecideComplete, false: pawl.DecideHalt}[o == pawl.OutcomeComplete], Reason: reason, Outcome: o})
	s.close(o, reason)
}

// pandoraTask is a task that passes with so many rounds.
func (s *story) pandoraTask(ref pawl.LoopRef, spec pawl.TaskSpec, entry int, summaries ...string) {
	s.spawn(ref, spec.ID, entry, 1)
	for i, text := range summaries {
		s.round(i+1, text)
	}
	s.round(len(summaries)+1, "")
	s.work("synthesis", "synthesis", "it is done")
	s.candidate("auth.go")
	s.tests(4, 4)
	s.validate(pawl.VerdictPass, spec)
	s.merge(0)
}

// pandoraDone is the example of Pandora's document.
func pandoraDone(tb testing.TB) *story {
	s := grow(tb, pandora, "Implement user authentication with OAuth, password reset, and sessions", settings())
	s.plan(1, pawl.ForStep, "PANDORA_LOOP", "", auth...)
	s.pandoraTask(2, auth[0], 1, "Read existing auth code", "Add OAuth routes")
	s.learned(1, "Uses passport.js, routes in apps/auth/")
	s.learned(2, "Callbacks are tested with a fake provider")
	s.finish(pawl.OutcomeComplete, "every gate passed")
	s.pandoraTask(3, auth[1], 2, "Add reset routes")
	s.learned(3, "Token model uses expires_at field")
	s.finish(pawl.OutcomeComplete, "every gate passed")
	s.pandoraTask(4, auth[2], 3, "Add session model", "Add middleware")
	s.finish(pawl.OutcomeComplete, "every gate passed")
	s.closeRun(pawl.OutcomeComplete, "3 of 3 tasks passed")
	return s
}

// pandoraBlocked has a task that fails for good, and one that depends on it.
func pandoraBlocked(tb testing.TB) *story {
	s := grow(tb, pandora, "Implement user authentication", settings())
	s.plan(1, pawl.ForStep, "PANDORA_LOOP", "", auth...)
	s.spawn(2, "TASK-001", 1, 1)
	s.round(1, "Add OAuth routes")
	s.work("synthesis", "synthesis", "half of it is done")
	s.candidate("auth.go")
	s.validate(pawl.VerdictRetry, auth[0], "AC-003")
	s.add(2, &pawl.Rerouted{Gate: "validation", Verdict: pawl.VerdictRetry, Step: 0, N: 1, Max: 1})
	s.round(1, "Tried | again")
	s.add(2, &pawl.RoundsEnded{Group: "work", Max: 5, Then: "continue"})
	s.candidate("auth.go")
	s.validate(pawl.VerdictFail, auth[0], "AC-002", "AC-003")
	s.add(2, &pawl.MemoryAdded{N: 1, Kind: pawl.MemoryLearning, Scope: pawl.ScopeRun, Task: "TASK-001", Text: s.blob("it was wrong"), Failed: true})
	const why = "validation: AC-002 is not met"
	s.end(pawl.IterationEnded{Requirements: pawl.VerdictFail, Decision: pawl.DecideHalt, Reason: why, Outcome: pawl.OutcomeFailed, Errors: []string{why}})
	s.finish(pawl.OutcomeFailed, why)
	s.add(1, &pawl.TasksBlocked{Cause: "TASK-001", Tasks: []int{2}})
	s.pandoraTask(3, auth[1], 2, "Add reset routes")
	s.finish(pawl.OutcomeComplete, "every gate passed")
	s.closeRun(pawl.OutcomeBlocked, "TASK-003 is blocked by TASK-001")
	return s
}

var parser = []pawl.TaskSpec{
	{ID: "install-deps", Title: "Install what is needed", Critical: true, ModelTier: 1},
	{ID: "lexer", Title: "A lexer", Description: "Split the text into tokens", DependsOn: []string{"install-deps"}, VerificationTier: 2, ModelTier: 2},
	{ID: "grammar", Title: "A grammar", DependsOn: []string{"install-deps"}},
	{ID: "parser", Title: "A parser", DependsOn: []string{"lexer", "grammar"}},
	{ID: "docs", Title: "Its documentation", DependsOn: []string{"parser"}},
}

// loomParallel has two subtasks side by side, one of which conflicts.
func loomParallel(tb testing.TB) *story {
	set := settings()
	set.Approval, set.Callback, set.Scope = "confidence_threshold", &pawl.Callback{URL: "https://ci.example/hook"}, []string{"Only below lang/"}
	s := grow(tb, loom, "Write a parser", set)
	s.plan(1, pawl.ForStep, "", "", parser...)
	s.spawn(2, "install-deps", 1, 1)
	s.work("execute", "executor", "All is installed", "go.mod")
	s.candidate("go.mod")
	s.tests(3, 3)
	s.merge(0)
	s.finish(pawl.OutcomeComplete, "every gate passed")
	s.spawn(3, "lexer", 2, 1)
	s.work("execute", "executor", "The lexer is there", "lex.go")
	s.spawn(4, "grammar", 3, 1)
	s.add(4, &pawl.NotePosted{Key: "token-names", Value: "upper case"})
	s.work("execute", "executor", "The grammar is there", "grammar.go", "tokens.go")
	s.candidate("grammar.go", "tokens.go")
	s.in(3)
	s.candidate("lex.go", "tokens.go")
	id := s.ask(0, s.place("probe", "", 1), &pawl.ProbeConflicts{Commit: s.head, Others: []pawl.Sibling{{Loop: 4, Task: "grammar", Commit: "c4"}}})
	s.add(3, &pawl.ConflictsProbed{Effect: id, With: []pawl.LoopRef{4}, Hunks: s.blob("<<<")})
	s.in(4)
	s.tests(5, 5)
	s.merge(0)
	s.finish(pawl.OutcomeComplete, "every gate passed")
	s.in(3)
	s.tests(4, 4)
	s.merge(2)
	s.attempt(1, "")
	s.implementing()
	return s
}

// loomReplanned fails a subtask for good, is planned anew and asks a person.
func loomReplanned(tb testing.TB) *story {
	s := loomParallel(tb)
	call := &pawl.SessionStarted{Session: s.session, Place: s.place("implement", "developer", 1)}
	s.turn(call, "No.", 1_000, 400)
	s.done(call, pawl.SessionTurns, "it used all 20 turns")
	const why = "subtask iteration limit: it used all 20 turns"
	s.end(pawl.IterationEnded{Decision: pawl.DecideHalt, Reason: why, Outcome: pawl.OutcomeBlocked, Errors: []string{why}})
	s.finish(pawl.OutcomeBlocked, why)
	s.add(1, &pawl.ReplanCalled{Cause: pawl.ReplanFailure, Reason: "lexer failed"})
	id := s.ask(0, s.place("plan", "", 0), &pawl.ReadTasks{List: s.blob("bad")})
	s.add(1, &pawl.TasksRead{Effect: id, Problem: "not JSON"})
	s.add(1, &pawl.PlanRefused{Reason: "task parser depends on yacc, which is not in the list"})
	s.add(1, &pawl.ReplanCalled{Cause: pawl.ReplanFailure, Reason: "lexer failed"})
	s.plan(2, pawl.ForReplan, "", "lexer is split into lexer and tokens; docs is gone", parser[0], pawl.TaskSpec{ID: "tokens", Title: "Tokens", DependsOn: []string{"install-deps"}},
		pawl.TaskSpec{ID: "lexer", Title: "A simpler lexer", DependsOn: []string{"tokens"}}, parser[2], parser[3])
	s.add(1, &pawl.QuestionAsked{N: 1, Kind: pawl.AskPlan, Text: "May these 5 tasks be worked on?", Choices: []string{"approve", "reject"}, About: s.blob("the plan\nas text")})
	return s
}

// loomCancelled is answered, and cancelled while a subtask runs.
func loomCancelled(tb testing.TB) *story {
	s := loomReplanned(tb)
	s.wait(time.Hour)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "approve", By: "ada", Text: "go on"})
	s.spawn(5, "tokens", 2, 2)
	s.add(0, &pawl.CancelRequested{Running: pawl.DrainFinish, Reason: "enough"})
	s.in(1)
	s.add(1, &pawl.TasksSkipped{Tasks: []int{2, 4}, Reason: "the run is cancelled"})
	s.in(5)
	s.work("execute", "executor", "Tokens are there", "tok.go")
	s.candidate("tok.go")
	s.tests(4, 4)
	s.merge(0)
	s.finish(pawl.OutcomeComplete, "every gate passed")
	s.add(0, &pawl.RunStopping{Outcome: pawl.OutcomeCancelled, Reason: "enough"})
	s.close(pawl.OutcomeCancelled, "enough")
	notify := s.ask(0, s.place("notify", "", 0), &pawl.Notify{Outcome: pawl.OutcomeCancelled, Try: 1})
	s.add(1, &pawl.Notified{Effect: notify, Status: 204})
	return s
}

// F-87: that a check of the recipe decided something else than the planner is told as it happens, and is why.
func TestOverruledDecision(t *testing.T) {
	s := grow(t, pandora, "Build all of it", settings())
	s.events[0].Body.(*pawl.RunStarted).Signs = []string{"it lists 5 steps"}
	x := s.start(pawl.ForStep, s.place("plan", "planner", 3), 0, 1)
	s.turn(x, "I plan.", 9_000, 3_000)
	s.add(1, &pawl.SessionEnded{Session: x.Session, Result: pawl.SessionDone, Output: s.blob("{}"),
		Facts: pawl.Facts{{Name: "decision", Value: "PANDORA_LOOP"}, {Name: "overruled", Value: "EXECUTE"}}})
	const said = "decided EXECUTE, and the harness decides PANDORA_LOOP: it lists 5 steps"
	last := s.events[len(s.events)-1]
	r := fold(s.events)
	if got := Line(last, r, s.read); !strings.Contains(got, "it "+said) || LookOf(last).Level != Important {
		t.Errorf("the line is %q", got)
	}
	if got := WhyText(r); !strings.Contains(got, "plan "+said) {
		t.Errorf("why says\n%s", got)
	}
}
