package view

import (
	"testing"

	"pawl"
)

// How the line about goal tests looks: red ones warn, weak ones too, and that there are still none matters least.
func TestLookOfGoals(t *testing.T) {
	for _, row := range []struct {
		why  string
		body pawl.GoalsWeighed
		want Look
	}{
		{"all are green", pawl.GoalsWeighed{Commit: "c1", Count: 2}, Look{Important, TonePlain}},
		{"one is red", pawl.GoalsWeighed{Commit: "c1", Count: 2, Red: 1}, Look{Important, ToneWarning}},
		{"a weak one is red", pawl.GoalsWeighed{Commit: "c1", Count: 2, RedWeak: 1}, Look{Important, ToneWarning}},
		{"there are none", pawl.GoalsWeighed{}, Look{Normal, ToneQuiet}},
		{"there are still none", pawl.GoalsWeighed{Commit: "c1"}, Look{Detail, ToneQuiet}},
		{"gates run once more", pawl.GoalsWeighed{Commit: "c1", Again: []string{"tests"}}, Look{Normal, ToneQuiet}},
		{"one is flaky", pawl.GoalsWeighed{Commit: "c1", Flaky: []pawl.GoalTest{{Name: "TestA"}}}, Look{Important, TonePlain}},
	} {
		if got := LookOf(pawl.Event{Body: &row.body}); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.why, got, row.want)
		}
	}
}

// What proves a result stands behind a good end alone. F-67
func TestProvenStandsBehindAGoodEnd(t *testing.T) {
	for outcome, want := range map[pawl.Outcome]bool{
		pawl.OutcomeComplete: true, pawl.OutcomeUnverified: true, pawl.OutcomeIncomplete: false, pawl.OutcomeBlocked: false, pawl.OutcomeFailed: false, pawl.OutcomeHalted: false,
	} {
		r := New()
		r.Outcome, r.proof = outcome, pawl.Proof{Goals: 2}
		if got := r.proven(); (got != "") != want {
			t.Errorf("a run that is %s is shown to be proven by %q", outcome, got)
		}
	}
}

// Where no test is a goal test, none is shown, though some were weighed. F-67
func TestNoGoalsAreShown(t *testing.T) {
	for count, want := range map[int]string{0: "", 2: "2 of 2 pass"} {
		r, l := New(), &Loop{}
		r.Loops = append(r.Loops, l)
		r.applyGoals(l, pawl.Event{Body: &pawl.GoalsWeighed{Commit: "c1", Count: count}})
		if got := r.goals(); got != want {
			t.Errorf("%d goal tests are shown as %q", count, got)
		}
	}
}

// Whoever is left with red tests that may be what the goal is about is told how to say which are. F-67
func TestAboutRed(t *testing.T) {
	for _, row := range []struct {
		why  string
		run  func(*Run)
		want bool
	}{
		{"nothing is red", func(r *Run) { r.Status = pawl.StatusEnded }, false},
		{"a gate is red as at the base", func(r *Run) { r.Status, r.leftRed = pawl.StatusEnded, []string{"tests"} }, true},
		{"a goal test was left red", func(r *Run) { r.Status, r.redGoals = pawl.StatusEnded, []string{"TestB"} }, true},
		{"goal tests are red", func(r *Run) {
			r.Status, r.Loops = pawl.StatusEnded, []*Loop{{loopGoals: loopGoals{Goals: &pawl.GoalsWeighed{Commit: "c", Count: 2, Red: 1}}}}
		}, true},
		{"they still run", func(r *Run) {
			r.Status, r.Loops = pawl.StatusRunning, []*Loop{{loopGoals: loopGoals{Goals: &pawl.GoalsWeighed{Commit: "c", Count: 2, Red: 1}}}}
		}, false},
	} {
		r := New()
		if row.run(r); (r.aboutRed() != "") != row.want {
			t.Errorf("%s: it is said %q", row.why, r.aboutRed())
		}
	}
}

// A run of which every task has passed and the whole has not would only be judged again, unless its recipe plans
// anew for that: a further run of the task can work on what is red, with what the user requires. F-96
func TestWhatIsNextWhenTheWholeIsRed(t *testing.T) {
	for _, row := range []struct {
		why     string
		outcome pawl.Outcome
		task    pawl.TaskStatus
		replan  *pawl.Replan
		want    string
	}{
		{"every task passed", pawl.OutcomeIncomplete, pawl.TaskPassed, nil, `pawl run "continue 007-add-login" --recipe listed --green 'tests=Test $A'`},
		{"the recipe ends it failed", pawl.OutcomeFailed, pawl.TaskPassed, nil, `pawl run "continue 007-add-login" --recipe listed --green 'tests=Test $A'`},
		{"a task is left", pawl.OutcomeIncomplete, pawl.TaskFailed, nil, "pawl resume 007-add-login-r2"},
		{"it plans anew", pawl.OutcomeIncomplete, pawl.TaskPassed, &pawl.Replan{}, "pawl resume 007-add-login-r2"},
		{"its money is spent", pawl.OutcomeHalted, pawl.TaskPassed, nil, "pawl resume 007-add-login-r2"},
	} {
		r := New()
		r.ID, r.Status, r.Outcome = "007-add-login-r2", pawl.StatusEnded, row.outcome
		r.Recipe = pawl.Recipe{Name: "listed", Kinds: []pawl.LoopKind{{Name: "request", Children: &pawl.Children{Replan: row.replan}}}}
		r.Settings.Gates = []pawl.GateSpec{{Name: "tests", Green: []string{"Test $A"}}}
		l := &Loop{LoopStarted: pawl.LoopStarted{Kind: "request"}}
		l.Iterations, l.Plans = []*Iteration{{End: &pawl.IterationEnded{}}}, []*Plan{{Tasks: []*Task{{Status: row.task}}}}
		r.Loops = []*Loop{l}
		if got := r.next(); got != row.want {
			t.Errorf("%s: next is %s, want %s", row.why, got, row.want)
		}
	}
}

// What a red base has become stands beside it; what ran once more on the same commit has only counts; and weak goal
// tests that were left red are not said to pass. F-96
func TestWordsOfRedTests(t *testing.T) {
	r, base := New(), &Gate{GateJudged: pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests}}
	it := &Iteration{}
	l := &Loop{}
	l.Iterations, r.Loops = []*Iteration{it}, []*Loop{l}
	for _, row := range []struct {
		now  pawl.GateJudged
		want string
	}{
		{pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass}, "; green in the result"},
		{pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass, RedAtBase: true, Reason: "1 fails there too"}, "; in the result: 1 fails there too"},
		{pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictFail}, ""},
		{pawl.GateJudged{Gate: "lint", Kind: pawl.GateLint, Verdict: pawl.VerdictPass}, ""},
	} {
		it.Gates = []*Gate{{GateJudged: row.now}}
		if got := r.nowThat(base); got != row.want {
			t.Errorf("%+v: %q, want %q", row.now, got, row.want)
		}
	}
	red := pawl.GateJudged{Verdict: pawl.VerdictFail, Passed: 2, Total: 3, On: pawl.TreeAgain}
	if got := furtherVerdict(&red); got != "2/3" {
		t.Errorf("once more on the same commit: %q", got)
	}
	if red.On = pawl.TreeExpected; furtherVerdict(&red) != "FAIL, 2/3" {
		t.Errorf("on another tree: %q", furtherVerdict(&red))
	}
	weak := pawl.GateJudged{Judge: pawl.JudgeGoal, Weak: true, Verdict: pawl.VerdictPass, Passed: 1, Total: 2}
	if got := verdictWord(&weak); got != "LEFT RED" {
		t.Errorf("weak goal tests that were left red: %q", got)
	}
}
