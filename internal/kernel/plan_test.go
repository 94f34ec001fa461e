package kernel

import (
	"reflect"
	"testing"

	"pawl"
)

func planOf(t *testing.T, order string, tasks []pawl.TaskEntry) *plan {
	t.Helper()
	g, err := newGraph(tasks, order)
	if err != nil {
		t.Fatal(err)
	}
	return newPlan(g, 1, blobOf("list"))
}

// A task is ready when everything it depends on has passed. No other status counts.
func TestReady(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c after a b"))
	if p.next() != 0 {
		t.Fatalf("%d goes first", p.next())
	}
	for _, status := range []pawl.TaskStatus{pawl.TaskRunning, pawl.TaskFailed, pawl.TaskSkipped, pawl.TaskBlocked} {
		if p.set(0, status); p.next() != -1 { // P-65 P-69 P-71
			t.Errorf("with a %s, %d goes next", status, p.next())
		}
	}
	p.set(0, pawl.TaskPassed)
	if p.next() != 1 || p.at(2).open != 1 { // P-72 L-72
		t.Errorf("%d goes next, and c waits for %d", p.next(), p.at(2).open)
	}
	p.set(1, pawl.TaskPassed)
	if p.next() != 2 || p.states() != "aap" { // P-66: passed, passed, pending
		t.Errorf("%d goes next: %s", p.next(), p.states())
	}
}

// A new version keeps what has passed, and how often the others were tried; what
// it adds waits for what has not passed. L-B11, L-B12
func TestSuccessor(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c after b", "d"))
	p.set(0, pawl.TaskPassed).loop = 7
	p.set(1, pawl.TaskFailed).tries = 3
	p.set(2, pawl.TaskBlocked)
	p.started, p.unproven, p.settled = 2, 1, true
	g, err := newGraph(entries("n", "b after n a", "a", "m after a"), "list")
	if err != nil {
		t.Fatal(err)
	}
	if dropped := p.drops(g); dropped != "" {
		t.Errorf("it drops %s", dropped)
	}
	n := p.successor(g, blobOf("new"))
	if n.version != 2 || n.started != 2 || n.unproven != 1 || !n.settled || n.count[pawl.TaskPassed] != 1 || n.count[pawl.TaskPending] != 3 {
		t.Errorf("got %+v", n)
	}
	if a, b := n.at(2), n.at(1); a.status != pawl.TaskPassed || a.loop != 7 || b.status != pawl.TaskPending || b.tries != 3 || b.open != 1 {
		t.Errorf("a is %+v, b %+v", *n.at(2), *n.at(1))
	}
	if n.next() != 0 || n.at(3).open != 0 || p.changes(g) != "2 kept, 2 new, 2 dropped" {
		t.Errorf("%d goes next: %s", n.next(), p.changes(g))
	}
	if g, err = newGraph(entries("b", "d"), "list"); err != nil || p.drops(g) != "a" {
		t.Errorf("what has passed may be dropped: %v", err)
	}
}

// A loop whose tasks have all passed is complete. If it has no gates of its own, its tasks'
// gates prove it, and a task that no command gate proved leaves it unverified. A task that did
// not pass decides the outcome. Until an iteration has its plan, the plan of the one before
// does not count. P-82, F-63
func TestAllTasksPassed(t *testing.T) {
	proof := &pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass}
	for _, row := range []struct {
		why      string
		statuses []pawl.TaskStatus // of a and b
		unproven int
		planned  bool
		own      []*pawl.GateJudged
		want     string
	}{
		{"all passed", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 0, true, nil, "complete complete"},
		{"all passed, one without proof", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 1, true, nil, "complete unverified"},
		{"all passed, one without proof, but own gates pass", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 1, true, []*pawl.GateJudged{proof}, "complete complete"},
		{"one failed", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskFailed}, 0, true, []*pawl.GateJudged{proof}, "halt incomplete"},
		{"all failed or blocked", []pawl.TaskStatus{pawl.TaskFailed, pawl.TaskBlocked}, 0, true, nil, "halt blocked"},
		{"the plan of an earlier attempt", []pawl.TaskStatus{pawl.TaskFailed, pawl.TaskFailed}, 0, false, []*pawl.GateJudged{proof}, "complete complete"},
		{"the plan of an earlier attempt, and no proof", []pawl.TaskStatus{pawl.TaskPassed, pawl.TaskPassed}, 0, false, nil, "complete unverified"},
	} {
		t.Run(row.why, func(t *testing.T) {
			r := treeLoop()
			s := &State{Recipe: r, Settings: settings()}
			l := newLoop(1, &r.Kinds[0])
			l.Iteration, l.gen.planned, l.gen.plan, l.cand = 1, row.planned, planOf(t, "list", entries("a", "b")), &Candidate{results: row.own}
			for i, status := range row.statuses {
				l.gen.plan.set(i, status)
			}
			l.gen.plan.unproven = row.unproven
			if got := spell(s.ruling(l, l.withChildren(l.judgement()), &pawl.IterationEnded{N: 1})); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// A copy of a plan shares nothing that changes.
func TestPlanClone(t *testing.T) {
	p := planOf(t, "list", many(200))
	want := p.states()
	c := p.clone()
	for i := range 200 {
		c.set(i, pawl.TaskPassed)
	}
	c.kids, c.dead = append(c.kids, 1), append(c.dead, 1)
	if p.states() != want || p.next() != 0 || p.count[pawl.TaskPassed] != 0 || len(p.kids)+len(p.dead) != 0 || c.next() != -1 || !c.succeeded() {
		t.Errorf("the plan is %s", p.states())
	}
	if !reflect.DeepEqual(p, planOf(t, "list", many(200))) {
		t.Error("the plan has changed")
	}
}

// What failed runs again when its run is resumed, what waited for it, and what was
// left out because of it. P-B01
func TestRetry(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c", "d"))
	p.set(0, pawl.TaskFailed)
	p.set(1, pawl.TaskBlocked)
	p.set(2, pawl.TaskPassed)
	p.set(3, pawl.TaskSkipped)
	p.dead, p.capped = []int{0}, 1
	if p.retry(); p.next() != 0 || p.count[pawl.TaskPending] != 3 || p.dead != nil || p.capped != 0 {
		t.Errorf("got %s, %d goes next", p.states(), p.next())
	}
}

// Outcomes: blocked when nothing could run any more and something is blocked.
func TestPlanOutcome(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c"))
	if p.outcome("") != pawl.OutcomeIncomplete || p.unmet() != "0 of 3 tasks passed; 3 not begun: a, b, c" {
		t.Errorf("%s: %s", p.outcome(""), p.unmet())
	}
	p.set(0, pawl.TaskFailed)
	p.set(1, pawl.TaskBlocked)
	if p.outcome("") != pawl.OutcomeIncomplete { // c could run
		t.Errorf("%s: %s", p.outcome(""), p.unmet())
	}
	p.set(2, pawl.TaskPassed)
	if p.outcome("") != pawl.OutcomeBlocked || p.outcome("fail") != pawl.OutcomeFailed || p.unmet() != "1 of 3 tasks passed; 1 failed: a; 1 blocked: b" {
		t.Errorf("%s: %s", p.outcome(""), p.unmet())
	}
}

// Signs are words that name an order or a scope, and lists of more than three steps.
func TestSignsOneByOne(t *testing.T) {
	for _, row := range []struct {
		goal string
		want int
	}{
		{"Fix the typo in the title", 0},
		{"First read the file, then change it", 1},
		{"then this, and finally that", 1},
		{"Do it, then stop", 0},
		{"Implement the login", 1},
		{"the implementation is wrong", 0},
		{"Build a complete shop", 1},
		{"- a\n- b\n- c", 0},
		{"- a\n- b\n- c\n- d", 1},
		{"1. a\n2) b\n* c\n  • d\n", 1},
		{"3.5 is a number\n2024 was a year", 0},
		{"Implement it: first this, finally that\n1. a\n2. b\n3. c\n4. d", 3},
	} {
		if got := Signs(row.goal); len(got) != row.want {
			t.Errorf("%q has %q, want %d", row.goal, got, row.want)
		}
	}
}
