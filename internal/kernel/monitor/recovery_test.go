package monitor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/kernel/brief"
)

const (
	gather = pawl.RecoverGather
	revise = pawl.RecoverRevise
	goBack = pawl.RecoverRollback
	ask    = pawl.RecoverAsk
)

// A health leads to what the recipe says, so many times. Then a person is asked, as when there is
// nothing to go back to.
func TestVerdictLeadsTo(t *testing.T) {
	stuck := []Batch{{N: 1, Tasks: []Task{{Result: Blocked, Blocker: "a key"}}}}
	both, back := []string{string(gather), string(revise)}, []string{string(gather), string(goBack)}
	for _, row := range []struct {
		name  string
		to    []string
		tried []Recoveries
		most  int
		marks int
		want  []pawl.Recovery
		try   int
		max   int
	}{
		{"the first time", both, nil, 0, 1, []pawl.Recovery{gather, revise}, 1, 2},
		{"the last time", both, []Recoveries{{pawl.HealthBlocked, 1}}, 0, 1, []pawl.Recovery{gather, revise}, 2, 2},
		{"once too often", both, []Recoveries{{pawl.HealthBlocked, 2}}, 0, 1, []pawl.Recovery{ask}, 3, 2},
		{"as often as the recipe says", both, []Recoveries{{pawl.HealthBlocked, 2}}, 3, 1, []pawl.Recovery{gather, revise}, 3, 3},
		{"another health was tried", both, []Recoveries{{pawl.HealthStalled, 2}}, 0, 1, []pawl.Recovery{gather, revise}, 1, 2},
		{"there is a checkpoint, and no merged work went wrong", back, nil, 0, 1, []pawl.Recovery{gather, goBack}, 1, 2},
		{"there is no checkpoint", back, nil, 0, 0, []pawl.Recovery{ask}, 1, 2},
		{"the recipe says nothing", nil, nil, 0, 1, nil, 1, 2},
	} {
		c := Course{History: stuck, Health: pawl.HealthStalled, Recoveries: row.tried, Checkpoints: []pawl.Checkpoint{{N: 1}}[:row.marks]}
		got := c.Verdict(7, &pawl.Children{Monitor: map[string][]string{"BLOCKED": row.to}, Recoveries: row.most})
		want := &pawl.HealthJudged{Batch: 7, Health: pawl.HealthBlocked, Reason: tuned(stuck).Reason, Recoveries: row.want, Try: row.try, Max: row.max}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", row.name, diff)
		}
	}
	c := Course{History: []Batch{{N: 1, Attempted: 1, Approved: 1}}, Recoveries: []Recoveries{{pawl.HealthProgressing, 9}}}
	if got := c.Verdict(1, &pawl.Children{Monitor: map[string][]string{"PROGRESSING": both}}); got.Recoveries != nil || got.Try != 0 || got.Max != 0 {
		t.Errorf("progress leads to %+v", got)
	}
}

// What was approved and merged stays, unless it is part of what went wrong: a rollback goes back to the
// newest checkpoint before that. F-130 V-B10
func TestWayBack(t *testing.T) {
	c := Course{Checkpoints: []pawl.Checkpoint{{N: 1, Batch: 1, Good: true}, {N: 2, Batch: 3}, {N: 3, Batch: 4}}}
	for merged, want := range map[int]int{0: 3, 5: 3, 4: 2, 3: 1, 2: 1, 1: 1} {
		if k := c.WayBack(merged); k == nil || k.N != want {
			t.Errorf("what went wrong began in batch %d: %+v, want checkpoint %d", merged, k, want)
		}
	}
	c.Checkpoints = c.Checkpoints[1:]
	if k := c.WayBack(3); k != nil {
		t.Errorf("all checkpoints have what went wrong, and it goes back to %+v", k)
	}
}

// A verdict names the batch whose merged work went wrong, and none where what went wrong was not approved.
// F-130 V-47 V-48
func TestVerdictsNameMergedWork(t *testing.T) {
	for name, want := range map[string]int{"rate-falls-to-nothing": 0, "tree-again-same-error": 0, "change-done-undone-done": 0, "three-failures": 0,
		"broken-and-left": 2, "test-breaks-again": 3, "tasks-undo-each-other": 3, "branch-in-turn": 4} {
		all := parse(t, "testdata/tune.txt")
		i := slices.IndexFunc(all, func(h history) bool { return h.name == name })
		if v := tuned(all[i].batches); v.Merged != want {
			t.Errorf("%s: %q blames what was merged since batch %d, want %d", name, v.Reason, v.Merged, want)
		}
	}
	h := counted([]Batch{{N: 4, Attempted: 1, Broke: []uint64{7}}, {N: 5, Attempted: 1, Broke: []uint64{7}}})
	if n := h.brokenSince(7); n != 1 {
		t.Errorf("it was broken before what is compared, and batch %d is blamed", n)
	}
}

// A verdict begins its recoveries, except during a batch.
func TestJudged(t *testing.T) {
	long := strings.Repeat("x", 201)
	for _, row := range []struct {
		name    string
		health  pawl.Health
		during  bool
		begins  bool
		recover []pawl.Recovery
		tried   int
	}{
		{"progress", pawl.HealthProgressing, false, false, nil, 1},
		{"stalled", pawl.HealthStalled, false, true, []pawl.Recovery{gather, revise}, 2},
		{"stalled during a batch", pawl.HealthStalled, true, false, nil, 1},
	} {
		c := Course{History: []Batch{{N: 1}}, Unjudged: true, Recover: []pawl.Recovery{ask}, Recoveries: []Recoveries{{pawl.HealthStalled, 1}}}
		before := c
		b := &pawl.HealthJudged{Health: row.health, Reason: long, Try: 2}
		if row.health != pawl.HealthProgressing {
			b.Recoveries = []pawl.Recovery{gather, revise, gather}
		}
		begins := c.Judged(b, row.during)
		if begins != row.begins || !cmp.Equal(c.Recover, row.recover) || c.Recovered(pawl.HealthStalled) != row.tried || (c.History == nil) != row.begins {
			t.Errorf("%s: begins is %t, the course is %+v", row.name, begins, c)
		}
		if c.Health != row.health || c.Unjudged || c.Evidence != brief.Cut(long, 200) || before.Recovered(pawl.HealthStalled) != 1 {
			t.Errorf("%s: the course is %+v, before %+v", row.name, c, before)
		}
	}
	c := Course{}
	c.Judged(&pawl.HealthJudged{Health: pawl.HealthFlipFlop, Try: 1}, false)
	if c.Recovered(pawl.HealthFlipFlop) != 1 || c.Recovered(pawl.HealthStalled) != 0 {
		t.Errorf("the first time: %+v", c.Recoveries)
	}
}

// What a verdict on attempts leads to is still to be done.
func TestJudgedAttempts(t *testing.T) {
	c := Course{}
	c.JudgedAttempts(&pawl.HealthJudged{Health: pawl.HealthRegressing, Reason: "why"})
	if c.Health != pawl.HealthRegressing || c.Evidence != "why" || c.Recoveries != nil {
		t.Errorf("without a reaction: %+v", c)
	}
	c.JudgedAttempts(&pawl.HealthJudged{Health: pawl.HealthRegressing, Recoveries: []pawl.Recovery{goBack}, Try: 1})
	if c.Health != pawl.HealthRegressing || c.Recovered(pawl.HealthRegressing) != 1 || !slices.Equal(c.Recover, []pawl.Recovery{goBack}) {
		t.Errorf("with a reaction: %+v", c)
	}
}

func TestNextRecovery(t *testing.T) {
	c := Course{Health: pawl.HealthStalled, Evidence: "why", Recover: []pawl.Recovery{gather, gather, revise, ask}}
	if next, reason := c.NextRecovery(); next != revise || reason != "STALLED: why" {
		t.Errorf("next is %s: %s", next, reason)
	}
}

// A person who lets the batches continue ends what the monitor has begun, but not what a person has,
// nor a rollback whose commit is being made.
func TestOverride(t *testing.T) {
	for _, row := range []struct {
		name string
		back *Back
		ends bool
	}{
		{"the monitor's", &Back{}, true},
		{"the monitor's, requested", &Back{Requested: true}, false},
		{"a person's", &Back{RollbackCalled: pawl.RollbackCalled{By: "ada"}}, false},
		{"none", nil, true},
	} {
		c := Course{Recover: []pawl.Recovery{ask}, History: []Batch{{N: 1}}, Unjudged: true, Health: pawl.HealthStalled, Back: row.back}
		if c.Override(); (c.Back == nil) != row.ends || c.Recover != nil || c.History != nil || c.Unjudged || c.Health != pawl.HealthProgressing {
			t.Errorf("%s: %+v", row.name, c)
		}
	}
}

// The history has the last batches. Those in which nothing was attempted are dropped when the next
// one ends.
func TestEnded(t *testing.T) {
	var c Course
	for n, want := range [][]int{{1}, {1, 2}, {1, 2, 3}, {1, 2, 4}, {2, 4, 5}} {
		before := c.Clone()
		b := Batch{N: n + 1, Attempted: 1}
		if b.N == 3 {
			b.Attempted = 0
		}
		c.Ended(b, LastBatch{N: b.N}, 3)
		var got []int
		for _, b := range c.History {
			got = append(got, b.N)
		}
		if !cmp.Equal(got, want) || c.Last.N != n+1 || len(before.History) > 0 && before.History[0].N != 1 {
			t.Errorf("after batch %d the history is %v, want %v; before %+v", n+1, got, want, before.History)
		}
	}
}

// A checkpoint is good if the batches make progress and no less was approved than at the last good
// one.
func TestMark(t *testing.T) {
	for _, row := range []struct {
		name   string
		health pawl.Health
		rate   Rate // of the last batch; at the last good checkpoint it was 2 of 4
		want   bool
	}{
		{"not judged", "", Rate{3, 4}, true},
		{"progress", pawl.HealthProgressing, Rate{1, 2}, true},
		{"fewer than before", pawl.HealthProgressing, Rate{1, 4}, false},
		{"stalled", pawl.HealthStalled, Rate{4, 4}, false},
	} {
		c := Course{Marks: 2, Health: row.health, Proofs: []Proof{{}, {N: 1, Rate: Rate{2, 4}}}, Last: LastBatch{N: 7, Attempted: row.rate.Attempted, Approved: row.rate.Approved, Passing: 5}}
		want := pawl.Checkpoint{N: 3, Commit: "c", Label: "batch-7", Batch: 7, Plan: 4, Good: row.want, Approved: 6, Passing: 5}
		if diff := cmp.Diff(want, c.Mark("c", 4, 6)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", row.name, diff)
		}
	}
	c := Course{Proofs: []Proof{{}}, Last: LastBatch{N: 7, Passing: -1, Scaffold: true}}
	if k := c.Mark("c", 1, 0); k.Label != "scaffold" || k.Passing != 0 {
		t.Errorf("got %+v", k)
	}
}

// A rollback that the monitor calls for is one of its recoveries; one of a person's ends them.
func TestCallBack(t *testing.T) {
	all := []pawl.Recovery{revise, goBack, ask}
	for _, row := range []struct {
		name string
		all  []pawl.Recovery
		by   string
		want []pawl.Recovery
	}{
		{"the monitor's", all, "", []pawl.Recovery{ask}},
		{"a person's", all, "ada", nil},
		{"no recovery", []pawl.Recovery{revise, ask}, "", nil},
	} {
		c := Course{Recover: row.all, Unjudged: true, Unmarked: true}
		c.CallBack(&pawl.RollbackCalled{To: 2, By: row.by}, []int{4})
		if !cmp.Equal(c.Recover, row.want) || c.Unjudged || c.Unmarked || c.Back.To != 2 || !cmp.Equal(c.Back.Tasks, []int{4}) {
			t.Errorf("%s: %+v", row.name, c)
		}
	}
}

// After a rollback the course is as it was at the checkpoint, but for the numbers, which do not go
// back, and for what was learned.
func TestWentBack(t *testing.T) {
	at := func(n int) []pawl.Hash { return []pawl.Hash{{byte(n)}} } //nolint:gosec // small
	text := pawl.HashOf([]byte("why"))
	c := Course{Marks: 3, Checkpoints: []pawl.Checkpoint{{N: 1}, {N: 2}, {N: 3}}, Proofs: []Proof{{Reports: at(9)}, {N: 1, Reports: at(1)}, {N: 2, Reports: at(2)}, {N: 3, Reports: at(3)}},
		Latest: at(4), History: []Batch{{N: 5}}, Last: LastBatch{N: 5, Broke: []string{"TestA"}}, Back: &Back{}, Tree: "new"}
	before := c
	c.Restored(&pawl.Restored{Tree: "old", Text: text})
	c.WentBack(2)
	want := Course{Marks: 3, Checkpoints: before.Checkpoints[:2], Proofs: before.Proofs[:3], Latest: at(2), Tree: "old", Unlearned: text}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(before.Checkpoints) != 3 || before.Checkpoints[2].N != 3 || before.Proofs[3].N != 3 {
		t.Errorf("the course before has changed: %+v", before)
	}
}

func TestInNames(t *testing.T) {
	c := Course{Last: LastBatch{Broke: []string{"TestA", "TestB"}}}
	mark := func(name string) string { return fmt.Sprintf("%x", brief.Fingerprint(name)) }
	for reason, want := range map[string]string{
		"task 1 and task 2":                    "login and logout",
		"task 0, task 3 and task 12":           "task 0, task 3 and task 12",
		"task force":                           "task force",
		"test " + mark("TestB") + " is broken": "test TestB is broken",
		"test " + mark("TestC") + " is broken": "a test is broken", // F-70
	} {
		if got := c.InNames(reason, []pawl.TaskEntry{{ID: "login"}, {ID: "logout"}}); got != want {
			t.Errorf("%q: got %q, want %q", reason, got, want)
		}
	}
}
