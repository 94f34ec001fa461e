package view

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pawl"
)

// loopr is the recipe of a tree in short.
var loopr = pawl.Recipe{
	Name: "loopr", Start: "plan", Tiers: []string{"fast", "medium", "large"},
	Kinds: []pawl.LoopKind{
		{Name: "plan", Iterations: 50, Steps: []pawl.Step{{Name: "draft", Role: "planner", Prompt: "plan.md", Output: "create_plan"}},
			Gates:    []pawl.Stage{{Name: "plan-review", Review: &pawl.Review{Role: "judge"}}},
			Approval: &pawl.Approval{By: "human"}, Children: &pawl.Children{From: "draft", Kind: "spec", Order: "score", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}},
		{Name: "spec", Iterations: 30, Steps: []pawl.Step{{Name: "draft", Role: "planner", Prompt: "spec.md", Output: "create_spec"}},
			Children: &pawl.Children{From: "draft", Kind: "phase", Order: "score", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}},
		{Name: "phase", Iterations: 20, Steps: []pawl.Step{{Name: "draft", Role: "planner", Prompt: "phase.md", Output: "create_phase"}},
			Children: &pawl.Children{From: "draft", Kind: "code", Order: "score", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}},
		{Name: "code", Iterations: 100, Steps: []pawl.Step{{Name: "implement", Role: "developer", Prompt: "code.md"}}, Gates: []pawl.Stage{{Name: "tests", Commands: []string{"tests"}}}},
	},
}

// specs are the entries of a small plan.
var specs = []pawl.TaskSpec{
	{ID: "auth", Title: "Who is it", Description: "Login with a password.", Criteria: []string{"a user can log in"}},
	{ID: "api", Title: "What may they", Description: "The endpoints.", DependsOn: []string{"auth"}},
}

// planted begins a run of loopr, up to the first iteration of its plan.
func planted(tb testing.TB) *story {
	set := settings()
	set.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}}
	root := &thread{ref: 1, kind: "plan", head: "base5e1fbeefcafe"}
	s := &story{tb: tb, blobs: map[pawl.Hash][]byte{}, now: time.Date(2025, 1, 30, 10, 0, 0, 0, time.UTC), thread: root, threads: map[pawl.LoopRef]*thread{1: root}}
	s.add(0, &pawl.RunStarted{Task: 1, Title: "Add login", Goal: s.blob("Add login\n\nWith a password."), Base: s.head, Branch: "pawl/001-add-login", Sandbox: "bubblewrap", Confined: true,
		Criteria: s.blob("[]"), Version: "1.0.0", Recipe: pawl.JSON(s.json(loopr)), Settings: pawl.JSON(s.json(set))})
	s.add(1, &pawl.LoopStarted{ID: "1738231200000-a1b2", Kind: "plan"})
	open := s.ask(0, s.place("open", "", 0), &pawl.OpenWorkspace{Name: "1738231200000-a1b2", Branch: "pawl/001-add-login", Base: s.head})
	s.add(1, &pawl.WorkspaceOpened{Effect: open, Head: s.head, Tree: "tree0"})
	s.tries(1)
	return s
}

// tries begins an iteration of the present loop.
func (s *story) tries(n int) {
	s.n, s.tier = n, 2
	s.add(s.ref, &pawl.IterationStarted{N: n, Max: 50, Tier: 2, From: s.head})
}

// hands lets the present loop hand an artifact in.
func (s *story) hands(artifact string) pawl.Hash {
	x := s.start(pawl.ForStep, s.place("draft", "planner", 2), 0, 1)
	s.turn(x, "I plan.", 900, 300)
	out := s.blob(artifact)
	s.add(s.ref, &pawl.SessionEnded{Session: x.Session, Result: pawl.SessionDone, Output: out})
	return out
}

// accepts makes the artifact that was handed in the loop's list.
func (s *story) accepts(version int, out pawl.Hash, entries ...pawl.TaskSpec) {
	id := s.ask(0, s.place("draft", "", 0), &pawl.ReadTasks{List: out})
	part := &pawl.TasksListed{}
	for _, spec := range entries {
		part.Entries = append(part.Entries, s.entry(spec))
	}
	s.add(s.ref, part)
	s.add(s.ref, &pawl.TasksRead{Effect: id, Count: len(entries)})
	s.add(s.ref, &pawl.PlanAccepted{Version: version, Count: len(entries), List: out})
}

// spawns lets the present loop have children that wait for their turn.
func (s *story) spawns(first pawl.LoopRef, kind string, iteration, generation int, tasks ...string) {
	for i, task := range tasks {
		ref := first + pawl.LoopRef(i)
		s.add(ref, &pawl.LoopStarted{ID: fmt.Sprintf("%d-%04x", s.now.UnixMilli(), ref), Kind: kind, Parent: s.ref, Task: task, Entry: i + 1, Version: 1,
			Branch: "pawl/loop-" + task, Pending: true, ParentIteration: iteration, ParentGeneration: generation})
		s.threads[ref] = &thread{ref: ref, kind: kind, task: task, head: s.head, tier: 2}
	}
}

// told is the record of a loop as it is after the story so far.
func (s *story) told(ref pawl.LoopRef) (*Records, *Record) {
	s.tb.Helper()
	rs := &Records{}
	for _, e := range s.events {
		rs.Add(e)
	}
	r := rs.Loop(ref)
	if r == nil {
		s.tb.Fatalf("no record of loop %d", ref)
	}
	return rs, r
}

// is checks a loop's status and approval after the story so far.
func (s *story) is(ref pawl.LoopRef, status pawl.LoopStatus, approval pawl.ApprovalState) {
	s.tb.Helper()
	if _, r := s.told(ref); r.Status != status || r.Approval != approval {
		s.tb.Errorf("after event %d loop %d is %s and %s, want %s and %s", len(s.events), ref, r.Status, r.Approval, status, approval)
	}
}

// asksForPlan asks about a plan, as the kernel does.
func (s *story) asksForPlan(n int, about pawl.Hash) {
	s.add(s.ref, &pawl.QuestionAsked{N: n, Kind: pawl.AskPlan, Text: "May these 2 specs be worked on?", Choices: []string{"approve", "iterate", "reject"}, About: about})
}

// A plan has a status and an approval, and a person's answers change both.
func TestStatusOfAPlan(t *testing.T) {
	s := planted(t)
	s.is(1, pawl.LoopRunning, pawl.ApprovalNone)
	list := s.hands(`{"title":"Login"}`)
	s.is(1, pawl.LoopRunning, pawl.ApprovalNone)
	s.accepts(1, list, specs...)
	s.is(1, pawl.LoopComplete, pawl.ApprovalNone)
	s.asksForPlan(1, list)
	s.is(1, pawl.LoopComplete, pawl.ApprovalAwaiting) // R-19 R-B02
	if _, r := s.told(1); r.Reason != "a person is asked about its plan" {
		t.Errorf("it is complete because of %q", r.Reason)
	}

	// iterate: complete → running, and it comes back to the gate
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "iterate", Text: "think of logout too"})
	s.is(1, pawl.LoopRunning, pawl.ApprovalIterating) // R-39 R-B08
	s.add(1, &pawl.IterationEnded{N: 1, Tier: 2, Decision: pawl.DecideIterate, Reason: "a person wants another iteration"})
	s.tries(2)
	list = s.hands(`{"title":"Login and logout"}`)
	s.accepts(2, list, specs...)
	s.asksForPlan(2, list)
	s.is(1, pawl.LoopComplete, pawl.ApprovalAwaiting)

	before := len(s.events)
	s.add(0, &pawl.QuestionAnswered{N: 2, Choice: "reject"})
	s.add(1, &pawl.LoopEnded{Outcome: pawl.OutcomeFailed, Reason: "the plan was rejected"})
	s.is(1, pawl.LoopFailed, pawl.ApprovalRejected) // R-39 R-B08

	s.events = s.events[:before]
	s.add(0, &pawl.QuestionAnswered{N: 2, Choice: "approve"})
	s.is(1, pawl.LoopComplete, pawl.ApprovalApproved)
	s.spawns(2, "spec", 2, 1, "auth", "api")
	s.is(2, pawl.LoopPending, pawl.ApprovalNone)
	s.add(2, &pawl.LoopAdmitted{Score: 60})
	s.is(2, pawl.LoopRunning, pawl.ApprovalNone) // R-18 R-B14: running before its first iteration
	s.is(3, pawl.LoopPending, pawl.ApprovalNone)
}

// A loop's status follows from its events.
func TestStatusOfALoopAtWork(t *testing.T) {
	s := planted(t)
	list := s.hands(`{"title":"Login"}`)
	s.accepts(1, list, specs...)
	s.spawns(2, "spec", 1, 1, "auth", "api")
	s.add(2, &pawl.LoopAdmitted{Score: 60})
	s.in(2)
	s.tries(1)
	signal := func(n int, kind pawl.SignalKind) {
		s.add(2, &pawl.SignalSent{N: n, Signal: kind, Reason: "lunch", By: "ada"})
	}

	signal(1, pawl.SignalPause)
	s.is(2, pawl.LoopRunning, pawl.ApprovalNone) // it has not seen it yet
	s.add(2, &pawl.SignalAcknowledged{N: 1})
	s.is(2, pawl.LoopPaused, pawl.ApprovalNone)
	signal(2, pawl.SignalResume)
	s.add(2, &pawl.SignalAcknowledged{N: 2})
	s.is(2, pawl.LoopRunning, pawl.ApprovalNone)

	s.add(0, &pawl.RunPaused{Reason: "night"})
	s.is(2, pawl.LoopPaused, pawl.ApprovalNone)
	s.is(3, pawl.LoopPending, pawl.ApprovalNone)
	s.add(0, &pawl.RunResumed{})
	s.is(2, pawl.LoopRunning, pawl.ApprovalNone)

	x := s.start(pawl.ForStep, s.place("draft", "planner", 2), 0, 1)
	call := s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: 1})
	s.add(2, &pawl.EffectFailed{Effect: call, Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelRateLimit), Message: "too many tokens", Wait: time.Minute}})
	wait := s.ask(x.Session, at(x, 1), &pawl.Wait{For: time.Minute, Reason: "rate_limit"})
	s.is(2, pawl.LoopPaused, pawl.ApprovalNone)
	if _, r := s.told(2); r.Reason != "for 1m0s: too many tokens" {
		t.Errorf("it is paused because of %q", r.Reason)
	}
	s.add(2, &pawl.WaitEnded{Effect: wait})
	s.is(2, pawl.LoopRunning, pawl.ApprovalNone) // R-B19
	call = s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: 2})
	s.add(2, &pawl.EffectFailed{Effect: call, Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelOverloaded), Message: "busy"}})
	wait = s.ask(x.Session, at(x, 1), &pawl.Wait{For: time.Second, Reason: "overloaded"})
	s.is(2, pawl.LoopRunning, pawl.ApprovalNone) // no limit: it tries again
	s.add(2, &pawl.WaitEnded{Effect: wait})
	call = s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: 3})
	s.add(2, &pawl.EffectFailed{Effect: call, Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelQuota), Message: "all used", Wait: time.Hour}})
	wait = s.ask(x.Session, at(x, 1), &pawl.Wait{For: time.Hour, Reason: "quota"})
	s.is(2, pawl.LoopPaused, pawl.ApprovalNone) // F-44
	s.add(2, &pawl.WaitEnded{Effect: wait})

	s.add(2, &pawl.IterationEnded{N: 1, Tier: 2, Decision: pawl.DecideIterate, Reason: "phase 2 has no task"})
	signal(3, pawl.SignalRebase)
	merge := s.ask(0, pawl.Place{Step: "rebase"}, &pawl.Merge{Ours: "aaaa", Theirs: "bbbb"})
	s.is(2, pawl.LoopRebasing, pawl.ApprovalNone)
	s.add(2, &pawl.Merged{Effect: merge, Commit: "cccc"})
	reset := s.ask(0, pawl.Place{Step: "rebase"}, &pawl.ResetWorkspace{Commit: "cccc"})
	s.is(2, pawl.LoopRebasing, pawl.ApprovalNone)
	s.add(2, &pawl.WorkspaceReset{Effect: reset, Head: "cccc"})
	s.add(2, &pawl.SignalAcknowledged{N: 3})
	s.is(2, pawl.LoopRunning, pawl.ApprovalNone)

	before := len(s.events)
	for _, end := range []struct {
		body pawl.LoopEnded
		want pawl.LoopStatus
	}{
		{pawl.LoopEnded{Outcome: pawl.OutcomeComplete}, pawl.LoopComplete},
		{pawl.LoopEnded{Outcome: pawl.OutcomeUnverified}, pawl.LoopComplete},
		{pawl.LoopEnded{Outcome: pawl.OutcomeIncomplete}, pawl.LoopFailed},
		{pawl.LoopEnded{Outcome: pawl.OutcomeCancelled, Reason: "cancelled"}, pawl.LoopFailed}, // R-B13
		{pawl.LoopEnded{Outcome: pawl.OutcomeInvalid}, pawl.LoopInvalidated},
	} {
		s.events = s.events[:before]
		s.add(2, &end.body)
		s.is(2, end.want, pawl.ApprovalNone)
	}
	s.events = s.events[:before]
	s.add(2, &pawl.LoopEnded{Outcome: pawl.OutcomeHalted, Stopped: true})
	s.add(3, &pawl.LoopEnded{Outcome: pawl.OutcomeHalted, Stopped: true})
	s.is(2, pawl.LoopFailed, pawl.ApprovalNone)
	s.is(3, pawl.LoopPending, pawl.ApprovalNone)
	s.add(0, &pawl.RunResumed{From: pawl.OutcomeHalted})
	s.is(2, pawl.LoopRunning, pawl.ApprovalNone) // R-79 R-B08
	s.is(3, pawl.LoopPending, pawl.ApprovalNone)
	s.add(3, &pawl.Invalidated{By: 1, Generation: 1})
	s.is(3, pawl.LoopInvalidated, pawl.ApprovalNone)
}

// R-68 R-69: a loop's record has these fields.
func TestRecord(t *testing.T) {
	s := planted(t)
	list := s.hands(`{"title":"Login"}`)
	s.accepts(1, list, specs...)
	s.wait(time.Second)
	s.spawns(2, "spec", 1, 1, "auth", "api")
	rs, plan := s.told(1)
	spec := rs.Loop(2)
	full := rs.Full(spec, s.read)
	data, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id":                 "1738231216000-0002",
		"loop_type":          "spec",
		"parent_id":          "1738231200000-a1b2",
		"input_artifact":     "loops/1738231200000-a1b2/iterations/001/artifacts/plan.md", // R-B31
		"output_artifacts":   []any{},
		"prompt_path":        "spec.md",
		"validation_command": "", "max_iterations": 30.0, "worktree": "",
		"status": "pending", "iteration": 0.0, "progress": "", // R-16 R-B15
		// R-45 R-B29
		"context":    map[string]any{"name": "auth", "title": "Who is it", "description": "Login with a password.", "index": 1.0, "acceptance_criteria": []any{"a user can log in"}},
		"created_at": 1738231216000.0, "updated_at": 1738231216000.0,
	}
	for name, value := range want {
		if !reflect.DeepEqual(got[name], value) {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if plan.Spawned != 2 || len(rs.Children(plan)) != 2 { // R-46 R-80 R-B04
		t.Errorf("%d were spawned, and %d are children", plan.Spawned, len(rs.Children(plan)))
	}
	if want := []string{"loops/1738231200000-a1b2/iterations/001/artifacts/plan.md"}; !reflect.DeepEqual(plan.OutputArtifacts, want) {
		t.Errorf("its artifacts are %q, want %q", plan.OutputArtifacts, want)
	}
	if plan.Worktree != "worktrees/1738231200000-a1b2" || plan.Shown() != 1 || // R-24 R-B15
		rs.Full(plan, s.read).ValidationCommand != "review:plan-review" {
		t.Errorf("the plan is %+v", plan)
	}
	if rs.Stale(spec) {
		t.Error("a child of the present artifact is stale")
	}

	s.add(1, &pawl.IterationEnded{N: 1, Tier: 2, Decision: pawl.DecideIterate, Reason: "auth failed"})
	if rs, _ := s.told(1); !rs.Stale(rs.Loop(2)) || rs.Stale(rs.Loop(1)) {
		t.Error("a child of an earlier iteration's artifact is not stale, or the root is")
	}
	s.add(2, &pawl.Invalidated{By: 1, Generation: 1})
	s.add(2, &pawl.Archived{})
	s.add(1, &pawl.GenerationStarted{N: 2, Branch: "pawl/001-add-login.g2"})
	s.tries(2)
	if rs, plan := s.told(1); plan.Generation != 2 || plan.Branch != "pawl/001-add-login.g2" || rs.Loop(2).Folder() != "archive/1738231216000-0002" || !rs.Loop(2).Archived {
		t.Errorf("after it began anew: %+v and %+v", plan, rs.Loop(2))
	}
}

// a loop's status is encoded as one of these words.
func TestStatusWords(t *testing.T) {
	got, err := json.Marshal([]pawl.LoopStatus{pawl.LoopPending, pawl.LoopRunning, pawl.LoopPaused, pawl.LoopRebasing, pawl.LoopComplete, pawl.LoopFailed, pawl.LoopInvalidated})
	if want := `["pending","running","paused","rebasing","complete","failed","invalidated"]`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

// Loops are found by what they are called in the tree and in the log.
func TestFindALoop(t *testing.T) {
	s := planted(t)
	s.accepts(1, s.hands(`{"title":"Login"}`), specs...)
	s.spawns(2, "spec", 1, 1, "auth", "api")
	s.add(4, &pawl.LoopStarted{ID: "1738231300000-aaaa", Kind: "phase", Parent: 2, Task: "tokens", Entry: 1, Pending: true, ParentIteration: 1, ParentGeneration: 1})
	s.add(5, &pawl.LoopStarted{ID: "1738231300000-bbbb", Kind: "code", Parent: 4, Task: "tokens", Entry: 1, Pending: true, ParentIteration: 1, ParentGeneration: 1})
	s.add(6, &pawl.LoopStarted{ID: "1738231300000-cccc", Kind: "phase", Parent: 3, Task: "routes", Entry: 1, Pending: true, ParentIteration: 1, ParentGeneration: 1})
	s.add(7, &pawl.LoopStarted{ID: "1738231300000-dddd", Kind: "code", Parent: 6, Task: "routes", Entry: 1, Pending: true, ParentIteration: 1, ParentGeneration: 1})
	rs, _ := s.told(1)
	for name, want := range map[string]pawl.LoopRef{
		"plan": 1, "auth": 2, "tokens": 4, "auth/tokens": 4, "tokens/code": 5, "auth/tokens/code": 5, "bbbb": 5, "1738231300000-aaaa": 4,
		"": 0, "kens": 0, "code": 0, "/code": 0, "auth/code": 0,
	} {
		if rec, err := rs.Find(name); err == nil && rec.Ref != want || err != nil && want != 0 {
			t.Errorf("%q is %+v, %v; want loop %d", name, rec, err, want)
		}
	}
	if _, err := rs.Find("code"); err == nil || err.Error() != `"code" may be any of the loops auth/tokens/code (1738231300000-bbbb), api/routes/code (1738231300000-dddd)` {
		t.Errorf("got %v", err)
	}
}

// R-47 R-48 R-72 R-B27: what was said of one iteration is there after the others.
func TestProgressOfALoop(t *testing.T) {
	s := planted(t)
	s.hands(`{}`)
	s.add(1, &pawl.GateJudged{Gate: "plan-review", Verdict: pawl.VerdictFail, Reason: "no migration", Evidence: s.blob("It says nothing of the old data.")})
	s.add(1, &pawl.IterationEnded{N: 1, Tier: 2, Decision: pawl.DecideIterate, Reason: "the review failed", Errors: []string{"missing security section"}})
	s.tries(2)
	if _, r := s.told(1); r.Iteration != 1 { // R-B27: nobody else has a copy to write back
		t.Errorf("iteration %d after one that failed", r.Iteration)
	}
	list := s.hands(`{"title":"Login"}`)
	s.accepts(1, list, specs...)
	s.asksForPlan(1, list)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "iterate", Text: "think of logout too"})
	s.add(1, &pawl.IterationEnded{N: 2, Tier: 2, Decision: pawl.DecideIterate, Reason: "a person wants another iteration"})
	s.tries(3)
	list = s.hands(`{"title":"Login and logout"}`)
	s.accepts(2, list, specs...)
	s.asksForPlan(2, list)
	s.add(0, &pawl.QuestionAnswered{N: 2, Choice: "reject"})
	rs, r := s.told(1)
	want := strings.TrimSpace(`
---
## Iteration 1 Failed
the review failed
- missing security section
- plan-review: no migration
  It says nothing of the old data.

---
## User Feedback (Iteration 2)
think of logout too

## User Rejected
No reason provided`)
	if got := rs.Full(r, s.read).Progress; got != want {
		t.Errorf("progress:\n%s\nwant:\n%s", got, want)
	}
	if r.Iteration != 2 || r.Shown() != 3 {
		t.Errorf("it is at iteration %d, shown as %d", r.Iteration, r.Shown())
	}
}

// R-60 R-B22
func TestSignalRecords(t *testing.T) {
	s := planted(t)
	list := s.hands(`{"title":"Login"}`)
	s.accepts(1, list, specs...)
	s.spawns(2, "spec", 1, 1, "auth", "api")
	for i, ref := range []pawl.LoopRef{2, 3} {
		s.add(ref, &pawl.SignalSent{N: i + 1, Signal: pawl.SignalInvalidate, Source: 1, Selector: "descendants:1738231200000-a1b2", Reason: "Parent re-iterating"})
	}
	s.wait(time.Second)
	s.add(2, &pawl.SignalAcknowledged{N: 1})
	s.add(1, &pawl.SignalSent{N: 3, Signal: pawl.SignalError, Source: 3, Reason: "it cannot pass", Payload: s.blob("no such table")})
	rs, _ := s.told(1)
	one, two, three := rs.Signals[0], rs.Signals[1], rs.FullSignal(rs.Signals[2], s.read)
	if one.ID != "sig-1738231215000-0001" || one.SourceLoop != "1738231200000-a1b2" || one.TargetLoop != rs.Loop(2).ID ||
		one.TargetSelector != "descendants:1738231200000-a1b2" ||
		one.Reason != "Parent re-iterating" || one.AcknowledgedAt != one.CreatedAt+1000 {
		t.Errorf("the first signal is %+v", one)
	}
	if two.AcknowledgedAt != 0 || // R-B10: each target acknowledges its own signal
		three.Payload != "no such table" || three.TargetLoop != rs.Loop(1).ID {
		t.Errorf("the others are %+v and %+v", two, three)
	}
	s.add(3, &pawl.SignalAcknowledged{N: 2, Expired: true}) // its time was up
	if rs, _ := s.told(1); !rs.Signals[1].Expired || rs.Signals[0].Expired || rs.Signals[1].AcknowledgedAt == 0 {
		t.Errorf("after its time the second signal is %+v", rs.Signals[1])
	}
}

// R-72 R-B27: what failed is added to what failed before, and how often is not forgotten.
func TestProgressAccumulates(t *testing.T) {
	s := planted(t)
	for n := 1; n <= 3; n++ {
		s.add(1, &pawl.IterationEnded{N: n, Tier: 2, Decision: pawl.DecideIterate, Reason: fmt.Sprintf("reason %d", n)})
		s.tries(n + 1)
	}
	rs, r := s.told(1)
	got := rs.Full(r, s.read).Progress
	for n := 1; n <= 3; n++ {
		if want := fmt.Sprintf("## Iteration %d Failed\nreason %d", n, n); !strings.Contains(got, want) || r.Iteration != 3 {
			t.Errorf("iteration %d, progress %q; want %q in it", r.Iteration, got, want)
		}
	}
}

// What is under way, asked and approved in a run is not so in its fork.
func TestRecordsOfAFork(t *testing.T) {
	s := planted(t)
	list := s.hands(`{"title":"Login"}`)
	s.accepts(1, list, specs...)
	s.spawns(2, "spec", 1, 1, "auth", "api")
	s.add(2, &pawl.LoopAdmitted{})
	s.asksForPlan(1, list)
	s.add(0, &pawl.Forked{Commit: "base"})
	s.is(1, pawl.LoopComplete, pawl.ApprovalNone)
	s.is(2, pawl.LoopFailed, pawl.ApprovalNone)
	if rs, r := s.told(1); len(rs.Awaiting()) > 0 || len(r.Questions) > 0 || r.Cost > 0 {
		t.Errorf("the root is %+v", r)
	}
}
