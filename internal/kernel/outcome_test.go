package kernel

import (
	"testing"

	"pawl"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/plan"
)

// A loop whose tasks have all passed is complete. If it has no gates of its own, its tasks'
// gates prove it, and a task that no command gate proved leaves it unverified, as do tasks that the list
// said were done and tasks that changed nothing. A task that did not pass decides the outcome. Until an
// iteration has its plan, the plan of the one before does not count. P-82, F-63
func TestAllTasksPassed(t *testing.T) {
	proof := &pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass, Kept: 3}
	for _, row := range []struct {
		why      string
		statuses []pawl.TaskStatus // of a and b
		unproven int
		planned  bool
		own      []*pawl.GateJudged
		want     string
		change   func(*Loop)
	}{
		{"all passed", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 0, true, nil, "complete complete", nil},
		{"all passed, one without proof", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 1, true, nil, "complete unverified", nil},
		{"all passed, one without proof, but own gates pass", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 1, true, []*pawl.GateJudged{proof}, "complete complete", nil},
		{"all were done before", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 0, true, nil, "complete unverified", func(l *Loop) { l.gen.plan.Edit(0).Loop = 0; l.gen.plan.Edit(1).Loop = 0 }},
		{"all passed, and nothing has changed", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 0, true, nil, "complete unverified", func(l *Loop) { l.Head = l.Base }},
		{"nothing has changed, and own gates pass", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 0, true, []*pawl.GateJudged{proof}, "complete unverified", func(l *Loop) { l.Head, l.cand.Total = l.Base, 0 }}, // F-96
		{"one failed", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskFailed}, 0, true, []*pawl.GateJudged{proof}, "halt incomplete", nil},
		{"all failed or blocked", []pawl.TaskStatus{pawl.TaskFailed, pawl.TaskBlocked}, 0, true, nil, "halt blocked", nil},
		{"the plan of an earlier attempt", []pawl.TaskStatus{pawl.TaskFailed, pawl.TaskFailed}, 0, false, []*pawl.GateJudged{proof}, "complete complete", nil},
		{"the plan of an earlier attempt, and no proof", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 0, false, nil, "complete unverified", nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			r := treeLoop()
			s := &State{Recipe: r, Settings: settings(), Started: &pawl.RunStarted{}}
			g, err := plan.NewGraph([]pawl.TaskEntry{{ID: "a"}, {ID: "b"}}, "list")
			if err != nil {
				t.Fatal(err)
			}
			two := plan.New(g, 1, blobOf("two"))
			l := newLoop(1, &r.Kinds[0])
			l.Iteration, l.gen.planned, l.gen.plan, l.cand = 1, row.planned, two, &land.Candidate{Committed: &pawl.Committed{Total: 1}, Results: row.own}
			l.flow = flow.Of(l.Kind)
			l.Head = "c2"
			for i, status := range row.statuses {
				l.gen.plan.Set(i, status).Loop = pawl.LoopRef(i + 2)
			}
			l.gen.plan.Unproven = row.unproven
			for _, i := range l.gen.plan.Where(pawl.TaskPassed) {
				l.gen.plan.Edit(i).Shown = true
			}
			if row.change != nil {
				row.change(l)
			}
			if got := spell(s.ruling(l, s.withProof(l, l.withChildren(l.judgement())), &pawl.IterationEnded{N: 1})); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// A plan begins anew for goal tests of the whole that are red, and if they are red again the loop ends. F-67
func TestGoalsOfTheWholeFailTwice(t *testing.T) {
	red := &pawl.GateJudged{Gate: gateGoal, Judge: pawl.JudgeGoal, Kind: pawl.GateTests, Verdict: pawl.VerdictFail}
	other := &pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictFail}
	for _, row := range []struct {
		why         string
		before, now *pawl.GateJudged
		want        string
	}{
		{"the first time", other, red, "iterate"},
		{"again", red, red, "halt incomplete"},
		{"something else this time", red, other, "iterate"},
	} {
		r := treeLoop()
		s := &State{Recipe: r, Settings: settings(), Started: &pawl.RunStarted{}}
		l := newLoop(1, &r.Kinds[0])
		l.Kind.Iterations, l.Kind.Ladder = 9, pawl.Ladder{Rungs: []pawl.Rung{{Tier: 1, Failures: 9}}}
		l.flow, l.Iteration, l.Tier = flow.Of(l.Kind), 2, 1
		l.ladder.History = []ladder.Attempt{{N: 1, Failed: true, Results: []*pawl.GateJudged{row.before}}}
		l.cand = &land.Candidate{Committed: &pawl.Committed{}, Results: []*pawl.GateJudged{row.now}}
		l.gen.planned, l.gen.read = true, &plan.Reading{}
		if !l.spawns() {
			t.Fatal("the loop has no children")
		}
		if got := spell(s.ruling(l, l.judgement(), s.iterationEnd(l, l.judgement()))); got != row.want {
			t.Errorf("%s: got %q, want %q", row.why, got, row.want)
		}
	}
}

// Tests that stay green show nothing where the run's result is its base, though a person may have had it judged
// once more; of a task others may have done the work, and an answer changes nothing. A gate that names no tests
// and is as red as before speaks against the run alone. F-96
func TestUnchanged(t *testing.T) {
	kept := &pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass, Kept: 3}
	mute := &pawl.GateJudged{Gate: "smoke", Kind: pawl.GateTests, Verdict: pawl.VerdictPass, RedAtBase: true}
	for _, row := range []struct {
		why       string
		change    func(*Loop)
		unchanged bool
		mute      string
	}{
		{"something changed", func(l *Loop) { l.cand.Total = 1 }, false, "smoke"},
		{"nothing changed", func(*Loop) {}, true, "smoke"},
		{"nothing changed, and it is judged once more", func(l *Loop) { l.iter.worked, l.iter.rejudges = false, true }, true, "smoke"},
		{"no step could change anything", func(l *Loop) { l.iter.worked = false }, true, "smoke"},
		{"of a task nothing changed", func(l *Loop) { l.Parent = 1 }, false, ""},
		{"it judges what others made", func(l *Loop) { l.flow.Main = 0 }, false, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			r := taskLoop()
			s := &State{Recipe: r, Settings: settings(), Started: &pawl.RunStarted{}}
			l := newLoop(1, &r.Kinds[0])
			l.flow, l.cand = flow.Of(l.Kind), &land.Candidate{Committed: &pawl.Committed{}, Results: []*pawl.GateJudged{kept, mute}}
			l.iter.worked = true
			row.change(l)
			j := s.withProof(l, l.judgement())
			if j.Answers != (row.why == "no step could change anything") {
				t.Errorf("it only answers: %t", j.Answers)
			}
			if j.Unchanged != row.unchanged || (j.Proof.Kept == 0) != row.unchanged || j.Mute != row.mute {
				t.Errorf("got unchanged %t, %d tests that stay green, mute %q", j.Unchanged, j.Proof.Kept, j.Mute)
			}
		})
	}
}

// What a verdict shows of the goal: only those that pass show anything, a person's word only about a judge that is no
// command, and held-out checks only where the base fails them. F-67
func TestProofOfVerdicts(t *testing.T) {
	for _, row := range []struct {
		why     string
		verdict pawl.GateJudged
		red     bool // the held-out checks fail the base
		want    pawl.Proof
	}{
		{"tests that stay green", pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass, Kept: 3}, false, pawl.Proof{Kept: 3}},
		{"tests that fail", pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Kept: 3}, false, pawl.Proof{}},
		{"a person judges", pawl.GateJudged{Gate: "look", Verdict: pawl.VerdictPass, By: "Ada"}, false, pawl.Proof{Person: "Ada"}},
		{"a person skips a review", pawl.GateJudged{Gate: "look", Verdict: pawl.VerdictSkip, By: "Ada"}, false, pawl.Proof{}},
		{"a person speaks for a command", pawl.GateJudged{Gate: "lint", Kind: pawl.GateLint, Verdict: pawl.VerdictPass, By: "Ada"}, false, pawl.Proof{}},
		{"a person accepts what was found", pawl.GateJudged{Gate: "evidence", Judge: pawl.JudgeEvidence, Verdict: pawl.VerdictPass, By: "Ada"}, false, pawl.Proof{}},
		{"held-out checks that the base fails", pawl.GateJudged{Gate: pawl.HeldOutGate, Kind: pawl.GateHeldOut, Verdict: pawl.VerdictPass}, true, pawl.Proof{HeldOut: true}},
		{"held-out checks that the base passes", pawl.GateJudged{Gate: pawl.HeldOutGate, Kind: pawl.GateHeldOut, Verdict: pawl.VerdictPass}, false, pawl.Proof{}},
		{"held-out checks that were skipped", pawl.GateJudged{Gate: pawl.HeldOutGate, Kind: pawl.GateHeldOut, Verdict: pawl.VerdictSkip}, true, pawl.Proof{}},
	} {
		r := taskLoop()
		s := &State{Recipe: r, Settings: settings(), Started: &pawl.RunStarted{}}
		s.Settings.Gates = []pawl.GateSpec{gate("tests"), {Name: pawl.HeldOutGate, Kind: pawl.GateHeldOut}}
		l := newLoop(1, &r.Kinds[0])
		l.flow, l.cand = flow.Of(l.Kind), &land.Candidate{Committed: &pawl.Committed{Total: 1}, Results: []*pawl.GateJudged{&row.verdict}}
		l.base = []baseline{{known: true}, {known: true, red: row.red}}
		if got := s.proof(l); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.why, got, row.want)
		}
	}
}

// The user's criteria are judged by a review or a person who lets the whole pass, not by a command whose name is that
// of a stage, nor by who judges the tasks. F-86
func TestUnjudgedCriteria(t *testing.T) {
	passed := func(names ...string) (out []*pawl.GateJudged) {
		for _, name := range names {
			out = append(out, &pawl.GateJudged{Gate: name, Verdict: pawl.VerdictPass})
		}
		return out
	}
	whole := pawl.Stage{Name: "whole", Human: true}
	for _, row := range []struct {
		why     string
		kind    func() pawl.LoopKind
		results []*pawl.GateJudged
		want    int
	}{
		{"a review", func() pawl.LoopKind { return taskLoop().Kinds[0] }, passed("quality", "requirements"), 0},
		{"a command that is called like a stage", func() pawl.LoopKind { return taskLoop().Kinds[0] }, passed("quality"), 2},
		{"nothing", func() pawl.LoopKind { return taskLoop().Kinds[0] }, nil, 2},
		{"a person, of the whole", func() pawl.LoopKind {
			k := treeLoop().Kinds[0]
			k.FinalGates = []pawl.Stage{whole}
			return k
		}, passed("whole"), 0},
		{"a person, of what is no whole yet", func() pawl.LoopKind {
			k := treeLoop().Kinds[0]
			k.Gates = []pawl.Stage{whole}
			return k
		}, passed("whole"), 2},
	} {
		kind := row.kind()
		s := &State{Settings: settings(), Started: &pawl.RunStarted{CriteriaGiven: true, Count: 2}}
		l := newLoop(1, &kind)
		l.flow, l.cand = flow.Of(l.Kind), &land.Candidate{Committed: &pawl.Committed{}, Results: row.results}
		l.gen.read = &plan.Reading{}
		if got := s.unjudgedCriteria(l); got != row.want {
			t.Errorf("%s: %d criteria are not judged, want %d", row.why, got, row.want)
		}
	}
}

// Only what a gate said of the base in full says what is red there, and held-out checks never do. F-67
func TestRedBase(t *testing.T) {
	for _, row := range []struct {
		why  string
		gate string
		base baseline
		want bool
	}{
		{"it is red", "tests", baseline{known: true, red: true}, true},
		{"it is green", "tests", baseline{known: true}, false},
		{"it was cut short", "tests", baseline{known: true, red: true, cut: true}, false},
		{"its program is missing", "tests", baseline{known: true, red: true, missing: "node"}, false},
		{"it has not judged", "tests", baseline{red: true}, false},
		{"it is held out", pawl.HeldOutGate, baseline{known: true, red: true}, false},
		{"tests are required that are yet to be written", "required", baseline{known: true}, true},
	} {
		r := taskLoop()
		s := &State{Recipe: r, Settings: settings()}
		s.Settings.Gates = []pawl.GateSpec{{Name: row.gate, Kind: pawl.GateTests}}
		if row.gate == pawl.HeldOutGate {
			s.Settings.Gates[0].Kind = pawl.GateHeldOut
		}
		if row.gate == "required" {
			s.Settings.Gates[0].Green = []string{"TestNew"}
		}
		l := newLoop(1, &r.Kinds[0])
		row.base.evidence = blobOf("report")
		l.base = []baseline{row.base}
		reports := len(s.baseReports(l)) > 0
		if got := s.mayHaveGoals(l); got != row.want || reports && (row.base.cut || row.base.missing != "" || row.gate == pawl.HeldOutGate || !row.base.known) {
			t.Errorf("%s: the base has something red: %t; its report is used: %t", row.why, got, reports)
		}
	}
}

// Of all that gates judge, only what a run ends with is the whole that the user's requirements are about. F-67
func TestWhatIsAPart(t *testing.T) {
	whole := map[string]*world{
		"alone":   play(t, nil),
		"tasks":   playList(t, "pandora", nil, "list: one, two"),
		"batches": playBatch(t),
	}
	for name, w := range whole {
		judged, afterTasks := map[bool]int{}, false
		for _, r := range requests[*pawl.RunGate](w) {
			do := r.Do.(*pawl.RunGate)
			if do.OnBase || do.On != "" || !do.Task.IsZero() {
				continue
			}
			judged[do.Part]++
			afterTasks = !do.Part
		}
		if name == "alone" != (judged[true] == 0) || judged[false] == 0 || !afterTasks {
			t.Errorf("%s: %d parts and %d wholes were judged, last a whole: %t", name, judged[true], judged[false], afterTasks)
		}
	}
}

// That requirements pass is said where a reviewer or a person said so, and not where only the harness looked at a
// form. F-96
func TestRequirementsSaid(t *testing.T) {
	for _, row := range []struct {
		why     string
		st      pawl.Stage
		verdict pawl.Verdict
		want    pawl.Verdict
	}{
		{"a reviewer", pawl.Stage{Name: "x", Review: &pawl.Review{}}, pawl.VerdictPass, pawl.VerdictPass},
		{"a person", pawl.Stage{Name: "x", Human: true}, pawl.VerdictPass, pawl.VerdictPass},
		{"a check", pawl.Stage{Name: "x", Builtin: toolResults}, pawl.VerdictPass, ""},
		{"a check that objects", pawl.Stage{Name: "x", Builtin: toolResults}, pawl.VerdictFail, pawl.VerdictFail},
	} {
		l := newLoop(1, &pawl.LoopKind{Gates: []pawl.Stage{row.st}})
		l.cand = &land.Candidate{Committed: &pawl.Committed{}, Results: []*pawl.GateJudged{{Gate: "x", Verdict: row.verdict}}}
		if got := l.requirements(row.verdict); got != row.want {
			t.Errorf("%s says %s: requirements are %q, want %q", row.why, row.verdict, got, row.want)
		}
	}
}
