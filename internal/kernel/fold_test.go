package kernel

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/plan"
)

// What single events change of a loop whose children land together, and of one that begins anew, and
// what is asked of the state then.

// groupOf is the state of a run whose only loop has these tasks.
func groupOf(t *testing.T, c pawl.Children, tasks ...pawl.TaskEntry) (*State, *Loop) {
	t.Helper()
	g, err := plan.NewGraph(tasks, "list")
	if err != nil {
		t.Fatal(err)
	}
	r := &pawl.Recipe{Start: "goal", Kinds: []pawl.LoopKind{{Name: "goal", Children: &c}, {Name: "task"}}}
	l := newLoop(1, &r.Kinds[0])
	l.flow, l.HasWorkspace, l.Phase = flow.Of(l.Kind), true, PhaseGates
	l.gen.plan, l.gen.planned = plan.New(g, 1, pawl.Hash{}), true
	l.gen.Proofs = []monitor.Proof{{}}
	set := settings()
	set.Gates = []pawl.GateSpec{gate("tests"), gate("lint")}
	return &State{Run: worldRun, Recipe: r, Settings: set, Started: &pawl.RunStarted{}, loops: []*Loop{l}, busy: []int{0, 0}, full: make([]bool, 3)}, l
}

// childOf adds the loop of a task.
func childOf(t *testing.T, s *State, entry int) *Loop {
	t.Helper()
	p := s.loops[0]
	k := newLoop(pawl.LoopRef(len(s.loops)+1), &s.Recipe.Kinds[1])
	k.Parent, k.flow = 1, flow.Of(k.Kind)
	s.loops = append(s.loops, k)
	if err := s.startChild(p, k, &pawl.LoopStarted{Parent: 1, Entry: entry + 1, Task: p.taskID(entry), Version: 1}); err != nil {
		t.Fatal(err)
	}
	return k
}

var three = []pawl.TaskEntry{{ID: "a"}, {ID: "b"}, {ID: "c"}}

// Of a task that has not ended an attempt, it is not known how many tests pass.
func TestStartBatch(t *testing.T) {
	s, l := groupOf(t, pawl.Children{Kind: "task", Group: 3, Land: pawl.LandAll}, three...)
	childOf(t, s, 1)
	l.gen.beforeDone, l.gen.afterDone = 1, 1
	if err := l.startBatch(&pawl.BatchStarted{N: 1, Tasks: []int{1, 2}, Scaffold: true}); err != nil {
		t.Fatal(err)
	}
	want := &land.Batch{N: 1, Scaffold: true, Land: pawl.LandAll, Members: []land.Member{
		{Task: 1, Begun: true, Facts: monitor.Task{Task: 1, Passing: -1}}, {Task: 2, Facts: monitor.Task{Task: 2, Passing: -1}}}}
	if diff := cmp.Diff(want, l.gen.batch, cmp.AllowUnexported(land.Batch{}, land.Retries{})); diff != "" || l.gen.batches != 1 || l.gen.beforeDone+l.gen.afterDone != 0 {
		t.Errorf("steps around it that are over: %d and %d, (-want +got)\n%s", l.gen.beforeDone, l.gen.afterDone, diff)
	}
	if childOf(t, s, 2); !l.gen.batch.Members[1].Begun {
		t.Error("a task whose loop starts has not begun")
	}
	if l.startBatch(&pawl.BatchStarted{N: 2}) == nil {
		t.Error("a batch starts while one is under way")
	}
	l.gen.batch = nil
	if l.startBatch(&pawl.BatchStarted{N: 3}) == nil || l.startBatch(&pawl.BatchStarted{N: 2, Tasks: []int{3}}) == nil {
		t.Error("a batch starts out of turn, or with a task that does not exist")
	}
}

// What is to be done after a batch, and which tests are broken after it.
func TestEndBatch(t *testing.T) {
	for _, row := range []struct {
		name                string
		attempted, approved int
		moved               bool
		unjudged, unmarked  bool
		broke               []string
	}{
		{"all landed", 2, 2, true, true, true, []string{"TestB"}},
		{"nothing landed", 2, 0, false, false, false, []string{"TestA"}}, // F-89
		{"all wait", 0, 0, false, false, false, []string{"TestA"}},
	} {
		s, l := groupOf(t, pawl.Children{Kind: "task", Group: 3, Checkpoint: true, Monitor: map[string][]string{"STALLED": {"ask"}}}, three...)
		l.gen.Last.Broke = []string{"TestA"}
		l.gen.batches, l.gen.batch = 4, &land.Batch{N: 4, Scaffold: true, Moved: row.moved, Results: []pawl.GateJudged{{Gate: "tests", Kind: pawl.GateTests, Passed: 3, Broke: []string{"TestB"}}}}
		if s.endBatch(l, &pawl.BatchEnded{N: 3}) == nil {
			t.Errorf("%s: another batch ends", row.name)
		}
		if err := s.endBatch(l, &pawl.BatchEnded{N: 4, Attempted: row.attempted, Approved: row.approved}); err != nil {
			t.Fatal(err)
		}
		g, passing := l.gen, map[bool]int{true: 3, false: -1}[row.moved]
		want := monitor.LastBatch{N: 4, Attempted: row.attempted, Approved: row.approved, Scaffold: true, Passing: passing, Broke: row.broke}
		if diff := cmp.Diff(want, g.Last); diff != "" || g.Unjudged != row.unjudged || g.Unmarked != row.unmarked || g.batch != nil || len(g.History) != 1 || !l.unrecorded {
			t.Errorf("%s: %+v, (-want +got)\n%s", row.name, g.Course, diff)
		}
	}
}

// When a member is sent back, what is left is another candidate: its gates are asked anew.
func TestJudgedTask(t *testing.T) {
	s, l := groupOf(t, pawl.Children{Kind: "task", Group: 3}, three...)
	l.cand = &land.Candidate{}
	l.cand.Gates.Requested(0, 7, false)
	l.gen.batch = &land.Batch{N: 1, Members: []land.Member{{Task: 0, In: true}, {Task: 1, In: true}}}
	l.gen.batch.Link(0, &pawl.Merged{Commit: "m0"})
	l.gen.batch.Link(1, &pawl.Merged{Commit: "m1"})
	judge := func(batch, task int, v pawl.Verdict) error {
		return s.judgedTask(l, &pawl.TaskJudged{Batch: batch, Task: task, Verdict: v})
	}
	if judge(2, 0, pawl.VerdictPass) == nil || judge(1, 2, pawl.VerdictPass) == nil {
		t.Error("a task of another batch, or of none, is judged")
	}
	if err := judge(1, 0, pawl.VerdictPass); err != nil || len(l.cand.Gates) != 1 {
		t.Errorf("%v: approved, the gates are %v", err, l.cand.Gates)
	}
	if err := judge(1, 1, pawl.VerdictRevise); err != nil || l.cand.Gates != nil || len(l.gen.batch.Chain) != 1 {
		t.Errorf("%v: sent back, the gates are %v", err, l.cand.Gates)
	}
	if err := judge(1, 1, pawl.VerdictSkip); err != nil || l.gen.plan.At(1).Status != pawl.TaskDropped {
		t.Errorf("%v: dropped, it is %s", err, l.gen.plan.At(1).Status)
	}
}

// The branch has the last merge commit of the candidate, and the reports of the gates on it.
func TestMovedOn(t *testing.T) {
	s, l := groupOf(t, pawl.Children{Kind: "task", Group: 3}, three...)
	report, old := pawl.HashOf([]byte("report")), pawl.HashOf([]byte("old"))
	l.gen.Latest = []pawl.Hash{old, old}
	latest := l.gen.Latest
	k := childOf(t, s, 1)
	k.cand = &land.Candidate{Committed: &pawl.Committed{}, Merge: &land.Entry{Since: 3}}
	l.gen.batch = &land.Batch{N: 1, Members: []land.Member{{Task: 0}, {Task: 1, In: true, Verdict: pawl.VerdictPass}}}
	l.gen.batch.Link(0, &pawl.Merged{Commit: "m0", Tree: "t0"})
	l.gen.batch.Link(1, &pawl.Merged{Commit: "m1", Tree: "t1"})
	l.gen.batch.Said(&pawl.GateJudged{Gate: "lint", Evidence: report})
	l.gen.batch.Said(&pawl.GateJudged{Gate: "tests"})
	if err := s.advanced(l, &pawl.BranchAdvanced{Commit: "m1"}); err != nil {
		t.Fatal(err)
	}
	if !l.gen.batch.Moved || l.Head != "m1" || !l.worktreeBehind || l.gen.Tree != "t1" || l.cand.Commit != "m1" || l.cand.Tree != "t1" || !k.merge().IsDone() {
		t.Errorf("the branch is at %s with the tree %s: %+v", l.Head, l.gen.Tree, l.gen.batch)
	}
	if !slices.Equal(l.gen.Latest, []pawl.Hash{old, report}) || !slices.Equal(latest, []pawl.Hash{old, old}) {
		t.Errorf("the reports are %v, before %v", l.gen.Latest, latest)
	}
}

// A loop that is on its parent's head has nothing to do with what was there before, but for what
// conflicts now.
func TestRebased(t *testing.T) {
	hunks, paths := pawl.HashOf([]byte("hunks")), pawl.HashOf([]byte("paths"))
	for _, conflicts := range []int{0, 2} {
		l := newLoop(2, &pawl.LoopKind{})
		l.upstream = upstream{rebase: &land.Rebase{Onto: "p", Made: &pawl.Merged{Conflicts: conflicts, Hunks: hunks, Paths: paths}}, probe: hunks}
		want := upstream{}
		if conflicts > 0 {
			want.hunks, want.suspect = hunks, paths
		}
		if l.rebased(); l.Base != "p" || l.upstream != want {
			t.Errorf("with %d conflicts: %+v", conflicts, l.upstream)
		}
	}
}

// When a child's work is in the branch, its parent's own candidate is another one.
func TestAdvanced(t *testing.T) {
	s, l := groupOf(t, pawl.Children{Kind: "task", Group: 1}, three...)
	l.cand = &land.Candidate{Committed: &pawl.Committed{}, Checked: true}
	k := childOf(t, s, 0)
	if s.advanced(k, &pawl.BranchAdvanced{Commit: "m"}) == nil {
		t.Error("a branch advances without a merge")
	}
	k.cand = &land.Candidate{Committed: &pawl.Committed{}, Merge: land.Enter(3, 0, true)}
	k.cand.Merge.Alone.Link(0, &pawl.Merged{Commit: "m", Tree: "t"})
	if err := s.advanced(k, &pawl.BranchAdvanced{Commit: "m"}); err != nil || !k.merge().IsDone() || l.Head != "m" || !l.worktreeBehind || l.cand.Tree != "t" || l.cand.Checked {
		t.Errorf("%v: the branch is at %s, the candidate %+v", err, l.Head, l.cand)
	}
}

// A generation begins with nothing of the one before but its numbers. On a fresh branch, what
// conflicted with the old one is gone too.
func TestBeginGeneration(t *testing.T) {
	for _, branch := range []string{"old", "fresh"} {
		s, _ := groupOf(t, pawl.Children{Kind: "task", Group: 2, OnFailure: pawl.FailRestartParent}, three...)
		l := s.loops[0]
		l.Parent, l.branch, l.Head, l.worktreeBehind, l.cand = 7, "old", "h", true, &land.Candidate{}
		l.gen.plan.Version, l.gen.plans, l.gen.batches, l.gen.board = 4, 2, 3, []pawl.NotePosted{{}}
		l.gen.Course = monitor.Course{Marks: 5, Health: pawl.HealthStalled, Checkpoints: []pawl.Checkpoint{{N: 5}}}
		l.upstream = upstream{rebase: &land.Rebase{}, suspect: pawl.HashOf([]byte("paths"))}
		l.person, l.exit.clearing = person{approved: true, reply: &reply{}}, &teardown{}
		before := l.clone()
		if l.beginGeneration(&pawl.GenerationStarted{N: 3, Branch: branch}) == nil {
			t.Error("a generation begins out of turn")
		}
		if err := l.beginGeneration(&pawl.GenerationStarted{N: 2, Branch: branch, Base: "b"}); err != nil {
			t.Fatal(err)
		}
		want := &Generation{n: 2, plans: 4, batches: 3, Course: monitor.Course{Marks: 5}}
		if !equal(want, l.gen) || l.person.approved || l.person.reply != nil || l.exit.clearing != nil || l.Base != "b" {
			t.Errorf("on the branch %s: %+v, %+v", branch, l.gen, l.person)
		}
		if branch == "fresh" && (l.upstream != upstream{} || l.cand != nil || l.worktreeBehind || l.Head != "b" || l.Phase != PhaseOpening) {
			t.Errorf("on a fresh branch: %+v, head %s, phase %s", l.upstream, l.Head, l.Phase)
		}
		if branch == "old" && (l.upstream.rebase == nil || l.upstream.suspect != before.upstream.suspect || l.Head != "h" || !l.worktreeBehind || l.Phase != before.Phase) {
			t.Errorf("on the same branch: %+v, head %s, phase %s", l.upstream, l.Head, l.Phase)
		}
	}
}

// A rollback drops a list of tasks that was being read, what gates said of the whole, and what a
// person said of the health, unless it was to stop.
func TestCalledBack(t *testing.T) {
	for _, row := range []struct {
		said  *reply
		stays bool
	}{
		{&reply{kind: pawl.AskHealth, choice: choiceContinue}, false},
		{&reply{kind: pawl.AskHealth, choice: choiceStop}, true},
		{&reply{kind: pawl.AskReplan, choice: choiceContinue}, true},
	} {
		s, l := groupOf(t, pawl.Children{Kind: "task", Group: 2, Checkpoint: true}, three...)
		l.gen.Checkpoints, l.gen.batch = []pawl.Checkpoint{{N: 1, Batch: 1}}, &land.Batch{N: 3}
		l.gen.plan.Pass(0, 2, true, true)
		childOf(t, s, 1)
		l.gen.listing = listing{listed: three, read: &plan.Reading{}, relist: pawl.HashOf([]byte("list")), planned: true}
		l.gen.plan.Call(pawl.ReplanHealth, "why")
		l.cand = &land.Candidate{}
		l.cand.Judged(&pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests}, pawl.JudgeGate)
		if l.person.reply = row.said; l.calledBack(&pawl.RollbackCalled{To: 2}) == nil {
			t.Error("it goes back to a checkpoint that does not exist")
		}
		if err := l.calledBack(&pawl.RollbackCalled{To: 1}); err != nil {
			t.Fatal(err)
		}
		if l.gen.read != nil || l.gen.listed != nil || !l.gen.relist.IsZero() || !l.gen.planned || l.gen.batch != nil || l.gen.plan.Calling != "" || len(l.cand.Results) != 0 {
			t.Errorf("after %s: %+v, the gates say %v", row.said.choice, l.gen.listing, l.cand.Results)
		}
		if !slices.Equal(l.gen.Back.Tasks, []int{0, 1}) || (l.person.reply != nil) != row.stays {
			t.Errorf("after %s: the tasks are %v, the reply is %v", row.said.choice, l.gen.Back.Tasks, l.person.reply)
		}
		if l.calledBack(&pawl.RollbackCalled{To: 1}) == nil {
			t.Error("it goes back twice at once")
		}
	}
}

// A failure lets those behind it go on only where the recipe says so, and never if it is critical.
func TestFailuresThatAreVoid(t *testing.T) {
	for _, row := range []struct {
		on       pawl.OnFailure
		critical bool
		want     bool
	}{{pawl.FailContinue, false, true}, {pawl.FailContinue, true, false}, {pawl.FailBlock, false, false}, {"", false, false}} {
		s, l := groupOf(t, pawl.Children{Kind: "task", Group: 1, OnFailure: row.on}, pawl.TaskEntry{ID: "a", Critical: row.critical})
		k := childOf(t, s, 0)
		k.Iteration = 3
		s.endChild(k, &pawl.LoopEnded{Outcome: pawl.OutcomeFailed}, false, true)
		if task := l.gen.plan.At(0); task.Status != pawl.TaskFailed || task.Void != row.want || task.Tries != 3 || len(l.gen.plan.Kids) != 0 {
			t.Errorf("%q, critical is %t: %+v", row.on, row.critical, task)
		}
	}
}

// A list that is accepted takes the place of the plan: what a person said of the one before does
// not count. Where the parent begins anew nothing is kept of it but the numbers of checkpoints.
func TestAcceptPlan(t *testing.T) {
	for _, anew := range []bool{false, true} {
		c := pawl.Children{Kind: "task", Group: 2}
		if anew {
			c.OnFailure = pawl.FailRestartParent
		}
		s, l := groupOf(t, c, three...)
		l.gen.Marks, l.gen.Health = 3, pawl.HealthStalled
		l.gen.plan.Started = 2
		l.gen.plan.Pass(0, 1, true, true)
		l.person = person{approved: true, reply: &reply{kind: pawl.AskReplan}}
		if s.acceptPlan(l, &pawl.PlanAccepted{Version: 2}) == nil {
			t.Error("a plan is accepted that was not read")
		}
		l.gen.listing = listing{listed: three, read: plan.Read(pawl.Hash{}, three, &pawl.TasksRead{Count: 3}, "list"), relist: pawl.HashOf([]byte("list"))}
		if err := s.acceptPlan(l, &pawl.PlanAccepted{Version: 2}); err != nil {
			t.Fatal(err)
		}
		p := l.gen.plan
		if kept := p.At(0).Status == pawl.TaskPassed && p.Started == 2 && l.gen.Health != ""; p.Version != 2 || kept == anew || l.gen.Marks != 3 {
			t.Errorf("the parent begins anew: %t; plan %d: %s, %+v", anew, p.Version, p.States(), l.gen.Course)
		}
		if l.person.approved || l.person.reply != nil || !l.gen.planned || l.gen.read != nil || l.gen.listed != nil || !l.gen.relist.IsZero() || !l.unrecorded {
			t.Errorf("the parent begins anew: %t; %+v, %+v", anew, l.gen.listing, l.person)
		}
	}
}

// What can wait calls for no other plan while a child asks a person, who may take long.
func TestReplanWaitsForAPerson(t *testing.T) {
	s, l := groupOf(t, pawl.Children{Kind: "task", Group: 2, Replan: &pawl.Replan{On: []string{"discovery"}, MaxVersions: 3}}, three...)
	k := childOf(t, s, 0)
	l.gen.plan.Found = 1
	if cause, _ := s.replanCause(l); cause != pawl.ReplanDiscovery {
		t.Errorf("the cause is %q", cause)
	}
	k.person.question = &question{}
	if cause, _ := s.replanCause(l); cause != "" {
		t.Errorf("while a child asks a person the cause is %q", cause)
	}
}

// An attempt that ends leaves nothing that only counts while it lasts. A conflict is no failure of
// the work until there were too many of them in a row, and what conflicted is kept for the next one.
func TestEndIteration(t *testing.T) {
	hunks := pawl.HashOf([]byte("hunks"))
	for _, row := range []struct {
		name                       string
		b                          pawl.IterationEnded
		before                     int // conflicts in a row
		failures, conflicts, freed int
	}{
		{"it passes", pawl.IterationEnded{Decision: pawl.DecideComplete}, 1, 0, 0, 0},
		{"it fails", pawl.IterationEnded{Decision: pawl.DecideIterate}, 1, 3, 0, 0},
		{"it conflicts", pawl.IterationEnded{Decision: pawl.DecideIterate, Conflict: true}, 0, 2, 1, 1},
		{"it conflicts too often", pawl.IterationEnded{Decision: pawl.DecideIterate, Conflict: true}, ladder.ConflictTries - 1, 3, ladder.ConflictTries, 0},
	} {
		s, l := groupOf(t, pawl.Children{Kind: "task", Group: 2}, three...)
		l.inIteration, l.upstream.hunks, l.worktree.Furnished = true, hunks, "c0"
		l.ladder.Advice, l.ladder.Failures, l.ladder.Conflicts = hunks, 2, row.before
		l.cand = &land.Candidate{Committed: &pawl.Committed{Commit: "c", Tree: "t"}}
		l.cand.Judged(&pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests}, pawl.JudgeGate)
		row.b.N = 1
		s.endIteration(l, &row.b)
		if l.ladder.Failures != row.failures || l.ladder.Conflicts != row.conflicts || l.ladder.Freed != row.freed {
			t.Errorf("%s: %d failures, %d conflicts, %d more attempts", row.name, l.ladder.Failures, l.ladder.Conflicts, l.ladder.Freed)
		}
		if l.inIteration || l.worktree.Furnished != "" || !l.ladder.Advice.IsZero() || (l.upstream.hunks == hunks) != row.b.Conflict || l.Phase != PhaseReady {
			t.Errorf("%s: %+v, furnished with %q, advice %s", row.name, l.upstream, l.worktree.Furnished, l.ladder.Advice)
		}
		if l.cand.Commit != "c" || len(l.cand.Results) != 0 || len(l.ladder.History) != 1 || l.ladder.History[0].Tree != "t" || !l.unrecorded {
			t.Errorf("%s: the candidate is %+v, the history %+v", row.name, l.cand, l.ladder.History)
		}
	}
}

// Another candidate has no plan, no answer of a person and no approval of the one before, and an
// iteration begins without what gates of the base were asked.
func TestStartIteration(t *testing.T) {
	_, l := groupOf(t, pawl.Children{Kind: "task", Group: 2}, three...)
	l.baseRuns.Requested(0, 7, false)
	l.cand, l.tierWhy, l.spent.Tokens = &land.Candidate{}, "why", 5
	l.person.approved, l.person.reply = true, &reply{}
	l.gen.read, l.gen.refused = &plan.Reading{}, true
	l.startIteration(&pawl.IterationStarted{N: 2, Tier: 3})
	if l.Iteration != 2 || l.Attempt != 1 || l.Tier != 3 || l.tierWhy != "" || !l.inIteration || l.baseRuns != nil || l.iter.spentAt.Tokens != 5 {
		t.Errorf("iteration %d on tier %d: %+v", l.Iteration, l.Tier, l.baseRuns)
	}
	if l.cand != nil || l.person.approved || l.person.reply != nil || l.gen.planned || l.gen.read != nil || l.gen.refused {
		t.Errorf("%+v, %+v", l.gen.listing, l.person)
	}
}

// A loop that has ended keeps its health, as people are shown that of the run.
func TestForgetKeepsTheHealth(t *testing.T) {
	for _, parent := range []pawl.LoopRef{0, 1} {
		l := newLoop(parent+1, &pawl.LoopKind{})
		l.Parent, l.gen.n, l.gen.Health, l.gen.ratchet = parent, 3, pawl.HealthRegressing, &ratchet{}
		l.ladder.Failures, l.ladder.Freed, l.ladder.Conflicts = 2, 1, 1
		if l.dropDetails(); l.gen.Health != pawl.HealthRegressing || l.gen.n != 3 || l.gen.ratchet != nil || l.ladder.Failures != 2 || l.ladder.Freed != 1 || l.ladder.Conflicts != 0 {
			t.Errorf("the child of %d: %+v, %+v", parent, l.gen, l.ladder)
		}
	}
	root := newLoop(1, &pawl.LoopKind{Children: &pawl.Children{}})
	root.gen.batches = 4
	if root.dropDetails(); root.gen.batches != 4 {
		t.Error("a root with children forgets its batches")
	}
}

// A limit is said again when nobody waits because of it any more, and not before.
func TestLeaves(t *testing.T) {
	for _, row := range []struct {
		name          string
		queue         []pawl.LoopRef // besides the loop that leaves
		kind, sibling bool           // the limits stay said
	}{
		{"another one like it waits first", []pawl.LoopRef{3, 4}, true, true},
		{"another one like it waits last", []pawl.LoopRef{4, 5}, true, true},
		{"none like it waits", []pawl.LoopRef{4}, false, false},
		{"nobody waits", nil, false, false},
	} {
		s, l := groupOf(t, pawl.Children{Kind: "task", Admit: pawl.AdmitEager, Group: 1}, append([]pawl.TaskEntry{{ID: "d"}}, three...)...)
		for i := range 4 {
			childOf(t, s, i)
		}
		other := s.Loop(4) // of another kind and another parent
		other.Kind, other.Parent = l.Kind, 5
		l.gen.plan.Full, s.full = true, []bool{true, true, true}
		s.queue = append([]pawl.LoopRef{2}, row.queue...)
		before := s.queue
		s.leaveAdmissionQueue(s.Loop(2))
		if !slices.Equal(s.queue, row.queue) || s.full[1] != row.kind || l.gen.plan.Full != row.sibling || s.full[2] != (len(row.queue) > 0) || before[0] != 2 {
			t.Errorf("%s: %v wait, the limits that were said are %v, of siblings %t", row.name, s.queue, s.full, l.gen.plan.Full)
		}
	}
}

// A loop that waits for others of its group takes no place. One that has not begun an attempt does.
func TestWaitsForGroup(t *testing.T) {
	for _, row := range []struct {
		name      string
		group     int
		phase     Phase
		iteration int
		merges    bool
		want      bool
	}{
		{"before its first attempt", 2, PhaseReady, 0, false, false},
		{"between two attempts", 2, PhaseReady, 1, false, true},
		{"in an attempt", 2, PhaseSteps, 1, false, false},
		{"waiting to land", 2, PhaseGates, 1, true, true},
		{"landing by itself", 1, PhaseGates, 1, true, false},
	} {
		s, _ := groupOf(t, pawl.Children{Kind: "task", Group: row.group}, three...)
		k := childOf(t, s, 0)
		k.Phase, k.Iteration, k.cand = row.phase, row.iteration, &land.Candidate{}
		if row.merges {
			k.cand.Merge = &land.Entry{Since: 3}
		}
		if got := s.waitsForGroup(k); got != row.want {
			t.Errorf("%s: it waits for its group: %t", row.name, got)
		}
	}
}

// A batch that was judged has come to its end when those approved have ended and those sent back
// have ended their attempt. Who came too late for it is not waited for.
func TestSettled(t *testing.T) {
	for _, row := range []struct {
		name           string
		verdict        pawl.Verdict
		inside, merges bool
		asks           bool
		want           bool
	}{
		{"approved", pawl.VerdictPass, false, false, false, false},
		{"sent back, still in its attempt", pawl.VerdictRevise, true, true, false, false},
		{"sent back, between two attempts", pawl.VerdictRevise, false, false, false, true},
		{"too late", "", true, true, false, true},
		{"asks a person", "", true, false, true, true},
		{"at work", "", true, false, false, false},
	} {
		s, l := groupOf(t, pawl.Children{Kind: "task", Group: 2}, three...)
		k := childOf(t, s, 0)
		k.Phase, k.inIteration, k.cand = PhaseReady, row.inside, &land.Candidate{}
		if row.merges {
			k.cand.Merge = &land.Entry{Since: 3}
		}
		if row.asks {
			k.person.question = &question{}
		}
		l.gen.batch = &land.Batch{N: 1, Members: []land.Member{{Task: 0, Verdict: row.verdict}}}
		if got := (&draft{s: *s}).membersReacted(l); got != row.want {
			t.Errorf("%s: it is settled: %t", row.name, got)
		}
	}
}

// When the limit lets no more ground be laid, those that were begun go on.
func TestChooseWithoutMoreGround(t *testing.T) {
	s, l := groupOf(t, pawl.Children{Kind: "task", Group: 2, Parallel: 2, ScaffoldFirst: true, Limit: 1}, pawl.TaskEntry{ID: "a"}, pawl.TaskEntry{ID: "ground", Scaffold: true})
	childOf(t, s, 0)
	l.gen.plan.Capped = 1 // it was said
	if tasks, scaffold := (&draft{s: *s}).choose(l); !slices.Equal(tasks, []int{0}) || scaffold {
		t.Errorf("got %v, scaffold is %t", tasks, scaffold)
	}
	l.Kind.Children.Limit = 0
	if tasks, scaffold := (&draft{s: *s}).choose(l); !slices.Equal(tasks, []int{1}) || !scaffold {
		t.Errorf("without a limit: %v, scaffold is %t", tasks, scaffold)
	}
}

// The work of a loop is landing while the branch moves to a candidate that has it.
func TestLanding(t *testing.T) {
	moves := []*pawl.Effect{{Do: &pawl.AdvanceBranch{}}}
	for _, row := range []struct {
		name   string
		member land.Member
		open   []*pawl.Effect
		want   bool
	}{
		{"approved", land.Member{In: true, Verdict: pawl.VerdictPass}, moves, true},
		{"approved, and nothing moves", land.Member{In: true, Verdict: pawl.VerdictPass}, nil, false},
		{"sent back", land.Member{In: true, Verdict: pawl.VerdictRevise}, moves, false},
		{"too late", land.Member{}, moves, false},
	} {
		s, l := groupOf(t, pawl.Children{Kind: "task", Group: 2}, three...)
		k := childOf(t, s, 0)
		l.gen.batch, l.open = &land.Batch{N: 1, Members: []land.Member{row.member}}, row.open
		if got := s.isLanding(k); got != row.want || s.isLanding(l) {
			t.Errorf("%s: it is landing: %t", row.name, got)
		}
	}
}

// What shows a task's work is known only until its iteration ends: the plan keeps whether there is more than
// that nothing broke. F-67
func TestShownByTasks(t *testing.T) {
	for _, green := range []int{0, 1} {
		s, l := groupOf(t, pawl.Children{Kind: "task", Group: 1}, pawl.TaskEntry{ID: "a"})
		k := childOf(t, s, 0)
		if err := s.endIteration(k, &pawl.IterationEnded{N: 1, Decision: pawl.DecideComplete, Proof: pawl.Proof{Goals: green, Kept: 3}}); err != nil {
			t.Fatal(err)
		}
		s.applyLoopEnded(k, &pawl.LoopEnded{Outcome: pawl.OutcomeComplete})
		if got := l.gen.plan.At(0).Shown; got != (green == 1) {
			t.Errorf("with %d goal tests green the task's work is shown: %t", green, got)
		}
	}
}
