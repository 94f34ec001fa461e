package view

import (
	"fmt"
	"testing"
	"time"

	"pawl"
)

var coherence = pawl.Recipe{
	Name: "coherence", Agent: "coherence", Start: "task", Records: true,
	Kinds: []pawl.LoopKind{
		{Name: "task", Iterations: 1, Steps: []pawl.Step{{Name: "gather"}, {Name: "plan", Role: "planner", Output: "plan"}},
			Children: &pawl.Children{From: "plan", Kind: "subtask", Order: "list", Parallel: 8, ScaffoldFirst: true, Checkpoint: true,
				BeforeBatch: []pawl.Step{{Name: "refresh"}}, Group: 12, Judge: &pawl.Review{Role: "reviewer", Tier: 3},
				Monitor: map[string][]string{"STALLED": {"gather", "revise"}, "REGRESSING": {"rollback"}, "FLIP-FLOPPING": {"rollback", "ask"}, "BLOCKED": {"ask"}}}},
		{Name: "subtask", Iterations: 10, Steps: []pawl.Step{{Name: "implement", Role: "implementer"}}},
	},
}

// login are the subtasks of the stories with batches.
var login = []pawl.TaskSpec{
	{ID: "1.1", Title: "Add auth middleware", Scaffold: true},
	{ID: "1.2", Title: "Add the user model", Scaffold: true},
	{ID: "2.1", Title: "Add the login form", DependsOn: []string{"1.1"}},
	{ID: "2.2", Title: "Hash passwords", DependsOn: []string{"1.2"}},
	{ID: "2.3", Title: "Expire sessions", DependsOn: []string{"1.2"}},
}

// decide records a decision of the plan.
func (s *story) decide(n int, title string) {
	text := fmt.Sprintf("# Decision %03d: %s\n\n**Choice**: it\n", n, title)
	s.add(s.ref, &pawl.MemoryAdded{N: n, Kind: pawl.MemoryDecision, Scope: pawl.ScopeProject, Task: s.task, Text: s.blob(text), Learning: n})
}

// planned is a run of the recipe whose plan was accepted.
func planned(tb testing.TB) *story {
	s := grow(tb, coherence, "Add login", settings())
	s.plan(1, pawl.ForStep, "APPROVED", "", login...)
	s.decide(1, "Sessions live in the database")
	s.decide(2, "Passwords are hashed with argon2id")
	return s
}

// batch starts a batch; each of its tasks is worked on by the loop of this number,
// and all but those in red are approved.
func (s *story) batch(n int, scaffold bool, loops map[int]pawl.LoopRef, tasks []int, red map[int]string) {
	s.wait(time.Second)
	s.add(1, &pawl.BatchStarted{N: n, Tasks: tasks, Scaffold: scaffold})
	for _, i := range tasks {
		if ref := loops[i]; s.threads[ref] == nil {
			s.spawn(ref, login[i].ID, i+1, 1)
		} else {
			s.in(ref)
			s.attempt(1, red[i])
		}
		s.work("implement", "implementer", "done", login[i].ID+".go")
		s.candidate(login[i].ID + ".go")
		s.tests(3, 3)
		s.add(s.ref, &pawl.MergeQueued{Commit: s.head, Confidence: 80})
	}
	s.in(1)
	s.judge(n, loops, tasks, red)
	approved := len(tasks) - len(red)
	if approved > 0 {
		to := pawl.CommitHash(fmt.Sprintf("ba7c4%02d0112233", n))
		id := s.ask(0, s.place("merge", "", 0), &pawl.AdvanceBranch{Branch: "pawl/001-add-login", From: s.head, To: to})
		s.add(1, &pawl.BranchAdvanced{Effect: id, Commit: to})
		s.head = to
	}
	for _, i := range tasks {
		s.in(loops[i])
		if why, ok := red[i]; ok {
			s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictRevise, Decision: pawl.DecideIterate, Reason: why, Errors: []string{why}})
			continue
		}
		s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictPass, Decision: pawl.DecideComplete, Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
		s.finish(pawl.OutcomeComplete, "every gate passed")
	}
	s.in(1)
	s.add(1, &pawl.BatchEnded{N: n, Attempted: len(tasks), Approved: approved})
}

// judge makes a candidate of a batch and reviews it.
func (s *story) judge(n int, loops map[int]pawl.LoopRef, tasks []int, red map[int]string) {
	for _, i := range tasks {
		id := s.ask(0, s.place("merge", "", 0), &pawl.Merge{Ours: s.head, Theirs: s.threads[loops[i]].head})
		s.add(1, &pawl.Merged{Effect: id, Commit: pawl.CommitHash(fmt.Sprintf("ca4d%02d%02d112233", n, i)), Tree: "tree4"})
	}
	s.tests(10+n, 10+n)
	x := s.start(pawl.ForBatch, s.place("batch-review", "reviewer", 3), 0, 1)
	x.Item = n
	s.turn(x, "I looked at the batch.", 9_000, 4_000)
	s.done(x, pawl.SessionDone, "")
	for _, i := range tasks {
		j := &pawl.TaskJudged{Batch: n, Task: i, By: "review", Verdict: pawl.VerdictPass, Evidence: s.blob("the review")}
		if why, ok := red[i]; ok {
			j.Verdict, j.Reason, j.Evidence = pawl.VerdictRevise, "the review wants changes", s.blob(why)
		}
		s.add(1, j)
	}
}

// checkpoint marks where the branch is, and writes the task's records.
func (s *story) checkpoint(n, batch int, label string, good bool, approved, passing int) {
	id := s.ask(0, s.place("checkpoint", "", 0), &pawl.MarkCheckpoint{Ref: fmt.Sprintf("refs/pawl/checkpoint/001-add-login/%d", n),
		Checkpoint: pawl.Checkpoint{N: n, Commit: s.head, Label: label, Batch: batch, Plan: 1, Good: good, Approved: approved, Passing: passing}})
	s.add(1, &pawl.CheckpointMarked{Effect: id})
	id = s.ask(0, s.place("records", "", 0), &pawl.WriteRecords{Branch: "pawl/001-add-login", From: s.head, Message: "pawl: records"})
	s.head = pawl.CommitHash(fmt.Sprintf("4ec04d%02d112233", n))
	s.add(1, &pawl.Recorded{Effect: id, Commit: s.head})
}

func (s *story) health(batch int, h pawl.Health, reason string, try int, then ...pawl.Recovery) {
	b := &pawl.HealthJudged{Batch: batch, Health: h, Reason: reason, Recoveries: then, Try: try}
	if len(then) > 0 {
		b.Max = 2
	}
	s.add(1, b)
}

// back goes back to a checkpoint.
func (s *story) back(to int, commit pawl.CommitHash, reason, by string, reopen ...int) {
	s.add(1, &pawl.RollbackCalled{To: to, Reason: reason, By: by})
	for ref := range pawl.LoopRef(20) { // what has not ended leaves off
		if x := s.threads[ref]; ref > 1 && x != nil && fold(s.events).loop(ref).End == nil {
			s.in(ref)
			s.finish(pawl.OutcomeCancelled, fmt.Sprintf("the run goes back to checkpoint %d", to))
		}
	}
	id := s.ask(0, s.place("rollback", "", 0), &pawl.Restore{Branch: "pawl/001-add-login", From: s.head, To: commit, Label: "scaffold", Reason: reason})
	s.head = "4e5704e0112233"
	s.add(1, &pawl.Restored{Effect: id, Commit: s.head, Tree: "tree5", Text: s.blob("do not")})
	s.add(1, &pawl.RolledBack{To: to, Commit: s.head, Reopen: reopen, Reason: reason, By: by})
	s.add(1, &pawl.MemoryAdded{N: 3, Kind: pawl.MemoryAntiPattern, Scope: pawl.ScopeProject, Text: s.blob("# Anti-pattern 003: two hashes"), Learning: 3})
}

// coherenceDone lays the ground, and then does the rest in two batches: a task is
// sent back once.
func coherenceDone(tb testing.TB) *story {
	s := planned(tb)
	loops := map[int]pawl.LoopRef{0: 2, 1: 3, 2: 4, 3: 5, 4: 6}
	s.batch(1, true, loops, []int{0, 1}, nil)
	s.health(1, pawl.HealthProgressing, "2 of 2 tasks approved", 0)
	s.checkpoint(1, 1, "scaffold", true, 2, 11)
	const why = "passwords are compared in the form, not in the model"
	s.batch(2, false, loops, []int{2, 3, 4}, map[int]string{3: why})
	s.health(2, pawl.HealthProgressing, "2 of 3 tasks approved", 0)
	s.checkpoint(2, 2, "batch-2", false, 4, 14)
	s.batch(3, false, loops, []int{3}, nil)
	s.health(3, pawl.HealthProgressing, "1 of 1 tasks approved", 0)
	s.checkpoint(3, 3, "batch-3", true, 5, 16)
	s.closeRun(pawl.OutcomeComplete, "5 of 5 tasks passed")
	return s
}

// coherenceBack gets worse after the second batch, goes back to the ground that
// was laid, goes on, and asks a person in the end.
func coherenceBack(tb testing.TB) *story {
	s := planned(tb)
	loops := map[int]pawl.LoopRef{0: 2, 1: 3, 2: 4, 3: 5, 4: 6}
	s.batch(1, true, loops, []int{0, 1}, nil)
	s.health(1, pawl.HealthProgressing, "2 of 2 tasks approved", 0)
	s.checkpoint(1, 1, "scaffold", true, 2, 11)
	const why = "passwords are compared in the form"
	s.batch(2, false, loops, []int{2, 3}, map[int]string{3: why})
	s.health(2, pawl.HealthStalled, "2.2 failed with the same error 3 times", 1, pawl.RecoverGather, pawl.RecoverRevise)
	s.checkpoint(2, 2, "batch-2", false, 3, 9)
	s.batch(3, false, loops, []int{4}, nil)
	const worse = "the pass rate fell from 100% to 50% and 0%; auth.TestLogin passed at checkpoint 1 and fails"
	s.health(3, pawl.HealthRegressing, worse, 1, pawl.RecoverRollback)
	s.back(1, "ba7c4010112233", worse, "", 2, 4)
	loops[2] = 7
	s.batch(4, false, loops, []int{2}, nil)
	const again = "2.2 was approved and rejected in turn in batches 2 and 4"
	s.health(4, pawl.HealthFlipFlop, again, 3, pawl.RecoverAsk)
	s.add(1, &pawl.QuestionAsked{N: 1, Kind: pawl.AskHealth, Text: "FLIP-FLOPPING after batch 4: " + again + ". How shall it go on?", Choices: []string{"continue", "rollback", "stop"}, About: s.blob("the context")})
	return s
}

// coherenceStopped is told to stop.
func coherenceStopped(tb testing.TB) *story {
	s := coherenceBack(tb)
	s.wait(time.Hour)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "stop", By: "ada", Text: "I write it myself"})
	s.closeRun(pawl.OutcomeBlocked, "stopped by ada: I write it myself")
	return s
}

// coherenceAsks asks what only a person knows, before there is a plan and in a task.
func coherenceAsks(tb testing.TB) *story {
	s := grow(tb, coherence, "Add login", settings())
	s.add(1, &pawl.QuestionAsked{N: 1, Kind: pawl.AskClarify, Text: "Which identity provider? May users register?", Choices: []string{"answer", "skip"}, About: s.blob("1. Which?\n2. May they?")})
	id := s.ask(0, s.place("announce", "", 0), &pawl.Announce{Question: 1, Kind: pawl.AskClarify, Text: "Which identity provider?", Choices: []string{"answer", "skip"}, Try: 1})
	s.add(1, &pawl.Notified{Effect: id, Status: 202})
	s.wait(10 * time.Minute)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "answer", By: "ada", Text: "ours; no", Said: s.blob("ours; no")})
	s.plan(1, pawl.ForStep, "APPROVED", "", login...)
	s.decide(1, "Users cannot register")
	s.add(1, &pawl.BatchStarted{N: 1, Tasks: []int{0, 1}, Scaffold: true})
	s.spawn(2, "1.1", 1, 1)
	s.work("implement", "implementer", "there is no access", "a.go")
	s.add(2, &pawl.QuestionAsked{N: 2, Kind: pawl.AskBlocked, Text: "1.1 is blocked (permission): it may not read the registry", Choices: []string{"again", "skip", "stop"}})
	s.in(1)
	s.spawn(3, "1.2", 2, 1)
	s.add(1, &pawl.TaskHeld{Task: 1, Behind: 0, Reason: "it needs the middleware's context"})
	s.in(1)
	s.add(1, &pawl.BatchEnded{N: 1, Attempted: 1, Approved: 0})
	s.health(1, pawl.HealthBlocked, "1.1 needs a permission", 1, pawl.RecoverAsk)
	s.add(1, &pawl.HealthOverridden{Batch: 1, Health: pawl.HealthBlocked, Reason: "I give it", By: "ada"})
	s.add(1, &pawl.RollbackCalled{To: 0, Reason: "from the start", By: "ada"})
	s.in(3)
	s.add(3, &pawl.LoopEnded{Outcome: pawl.OutcomeCancelled, Reason: "its task waits for another one"})
	return s
}

// coherenceForked was forked in the middle of a batch, while a question was open.
func coherenceForked(tb testing.TB) *story {
	s := coherenceAsks(tb)
	first := s.events[0].Body.(*pawl.RunStarted)
	first.ForkOf, first.ForkAt = "000-add-login", pawl.Seq(len(s.events))
	s.add(0, &pawl.Forked{Commit: "f04c0112233", Lost: 7, Cost: 12_000, Tokens: 34_000})
	s.in(2)
	s.add(2, &pawl.IterationRestarted{Attempt: 2, Reason: "the run was forked"})
	return s
}
