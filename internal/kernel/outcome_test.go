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
