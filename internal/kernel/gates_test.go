package kernel

import (
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/plan"
)

// Only a loop that has a plan, and whose batches are judged as a whole, continues while
// effects of its own are active. P-82
func TestInBatches(t *testing.T) {
	judged, rolling := &pawl.LoopKind{Children: &pawl.Children{Group: 2}}, &pawl.LoopKind{Children: &pawl.Children{}}
	for _, row := range []struct {
		planned bool
		plan    *plan.Plan
		kind    *pawl.LoopKind
		want    bool
	}{
		{true, &plan.Plan{}, judged, true},
		{false, &plan.Plan{}, judged, false},
		{true, nil, judged, false},
		{false, nil, judged, false},
		{true, &plan.Plan{}, rolling, false},
		{true, nil, rolling, false},
	} {
		l := newLoop(1, row.kind)
		if l.gen.planned, l.gen.plan = row.planned, row.plan; l.inBatches() != row.want {
			t.Errorf("planned %t, has a plan %t, batches judged %t: got %t", row.planned, row.plan != nil, row.kind == judged, !row.want)
		}
	}
}

// The verdicts on one attempt's tree hold for the next attempt if the tree is the same and no
// step failed in either.
func TestSameTree(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*Loop, *ladder.Attempt)
		want   bool
	}{
		{"the same tree", func(*Loop, *ladder.Attempt) {}, true},
		{"another tree", func(l *Loop, _ *ladder.Attempt) { l.cand.Tree = "other" }, false},
		{"no tree", func(l *Loop, a *ladder.Attempt) { l.cand.Tree, a.Tree = "", "" }, false},
		{"the steps before failed", func(_ *Loop, a *ladder.Attempt) { a.StepFailed = "no result" }, false},
		{"the steps fail now", func(l *Loop, _ *ladder.Attempt) { l.iter.stepFailed = "no result" }, false},
		{"nothing was judged", func(_ *Loop, a *ladder.Attempt) { a.Results = nil }, false},
	} {
		l := newLoop(1, &pawl.LoopKind{})
		l.cand = &land.Candidate{Committed: &pawl.Committed{Tree: "tree"}}
		l.ladder.History = []ladder.Attempt{{N: 1, Failed: true, Tree: "tree", Results: []*pawl.GateJudged{{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictFail}}}}
		row.change(l, &l.ladder.History[0])
		if got := l.sameTree() != nil; got != row.want {
			t.Errorf("%s: the verdicts hold: %t", row.why, got)
		}
	}
}

// A gate that was cut short on the base is not red there: no prompt lists it, and how long
// it takes is not known. F-27
func TestCutShortOnTheBase(t *testing.T) {
	for _, row := range []struct {
		why   string
		on    pawl.GateJudged
		red   int
		limit time.Duration
	}{
		{"it fails", pawl.GateJudged{Verdict: pawl.VerdictFail, Duration: 20 * time.Minute}, 1, time.Hour},
		{"it is cut short", pawl.GateJudged{Verdict: pawl.VerdictFail, Duration: 20 * time.Minute, Partial: true}, 0, 10 * time.Minute},
	} {
		s := &State{Settings: &pawl.Settings{Gates: []pawl.GateSpec{gate("tests")}}}
		l := newLoop(1, &pawl.LoopKind{})
		l.base = make([]baseline, 1)
		row.on.Gate, row.on.OnBase, row.on.Evidence = "tests", true, blobOf("evidence")
		s.applyVerdict(l, &row.on)
		if got := len(s.redAtBase(l)); got != row.red || !l.base[0].known {
			t.Errorf("%s: %d gates are red on the base, want %d", row.why, got, row.red)
		}
		if got := l.gateTimeout(0, &s.Settings.Gates[0], false); got != row.limit {
			t.Errorf("%s: a candidate may take %s, want %s", row.why, got, row.limit)
		}
	}
}

// The limit of a stage is for the gates that run in it. On the base, where nothing is in a cache yet, they have long, and
// where they took longer there than the stage gives, they have several times as much afterwards. What a gate's settings say
// comes first.
func TestGateTimeoutOfItsStage(t *testing.T) {
	l := newLoop(1, &pawl.LoopKind{Gates: []pawl.Stage{
		{Name: "quick", Commands: []string{"lint"}, Timeout: time.Minute}, {Name: "slow", Commands: []string{"tests"}, Timeout: 2 * time.Minute},
		{Name: "free", Commands: []string{"types"}},
	}})
	for _, row := range []struct {
		kind   string
		own    time.Duration
		took   time.Duration
		onBase bool
		want   time.Duration
	}{
		{kind: "tests", want: 2 * time.Minute},
		{kind: "tests", onBase: true, want: 30 * time.Minute},
		{kind: "tests", took: 2 * time.Minute, want: 2 * time.Minute},
		{kind: "tests", took: 121 * time.Second, want: 10 * time.Minute},
		{kind: "tests", took: 5 * time.Minute, want: 15 * time.Minute},
		{kind: "tests", own: time.Hour, took: 5 * time.Minute, want: time.Hour},
		{kind: "tests", own: time.Minute, onBase: true, want: time.Minute},
		{kind: "types", want: 10 * time.Minute},
		{kind: "types", took: 5 * time.Minute, want: 15 * time.Minute},
		{kind: "types", onBase: true, want: 30 * time.Minute},
	} {
		spec := gate(row.kind)
		spec.Timeout, l.base = row.own, []baseline{{took: row.took}}
		if got := l.gateTimeout(0, &spec, row.onBase); got != row.want {
			t.Errorf("%+v: it has %s", row, got)
		}
	}
}

// A fact that is no hash, however long, is not taken for one: the model may have written it.
func TestHashOf(t *testing.T) {
	good := blobOf("text")
	for text, want := range map[string]bool{
		good.String(): true, "": false, "ab": false, good.String()[1:]: false, good.String() + "0": false, good.String() + "00": false,
		strings.Repeat("ab", 500): false, strings.Repeat("z", 64): false, strings.Repeat("0", 64): false,
	} {
		if h, ok := hashOf(text); ok != want || ok && h != good {
			t.Errorf("%q: got %s, %t", text, h, ok)
		}
	}
}

// What held-out checks say is not weighed against other trees: they judge with the base's test
// support already.
func TestHeldOutIsNotExamined(t *testing.T) {
	w := play(t, func(_ *pawl.Recipe, set *pawl.Settings) {
		set.Gates = append(set.Gates, gate(pawl.HeldOutGate))
		set.Evidence = pawl.EvidenceReview
	})
	looks := requests[*pawl.Examine](w)
	if len(looks) == 0 || !w.state.Outcome.Succeeded() {
		t.Fatalf("%d looks, %s", len(looks), w.state.Outcome)
	}
	for _, f := range looks {
		for _, r := range f.Do.(*pawl.Examine).Reports {
			if r.Gate == pawl.HeldOutGate {
				t.Errorf("the reports are %+v", f.Do.(*pawl.Examine).Reports)
			}
		}
	}
}
