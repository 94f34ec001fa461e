package worktree

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// After a crash a worktree is trusted if it holds the recorded tree and nobody is unsure about
// it. Without a crash, what an inspection finds is believed.
func TestInspected(t *testing.T) {
	for _, row := range []struct {
		name    string
		before  State
		tree    pawl.TreeHash
		restore bool
		dirty   bool
		lost    bool
	}{
		{"a crash, the recorded tree", State{Tree: "t", Verify: true}, "t", false, false, false},
		{"a crash, another tree", State{Tree: "t", Verify: true}, "u", true, true, false},
		{"a crash after a write that failed, the recorded tree", State{Tree: "t", Verify: true, Unsure: true}, "t", true, false, false},
		{"a crash after a write that failed, another tree", State{Tree: "t", Verify: true, Unsure: true}, "u", true, true, false},
		{"a write that failed, the recorded tree", State{Tree: "t", Unsure: true}, "t", false, false, false},
		{"a write that failed, another tree", State{Tree: "t", Unsure: true}, "u", false, true, false},
		{"work that is not committed", State{Tree: "t", Dirty: true, Verify: true}, "t", false, true, false},
		{"a lost turn that wrote nothing", State{Tree: "t", Verify: true, Lost: true}, "t", false, false, false},
		{"a lost turn that wrote", State{Tree: "t", Verify: true, Lost: true}, "u", true, true, true},
	} {
		w := row.before
		if w.IsSound() {
			t.Errorf("%s: it is sound before the inspection", row.name)
		}
		w.Inspected(row.tree)
		if w.Restore != row.restore || w.IsSound() == row.restore || w.Dirty != row.dirty || w.Tree != row.tree || w.Lost != row.lost || w.Verify || w.Unsure {
			t.Errorf("%s: got %+v", row.name, w)
		}
	}
}

func TestTree(t *testing.T) {
	w := State{Tree: "t"}
	if w.Wrote("t"); w.Dirty {
		t.Error("the same tree makes it dirty")
	}
	if w.Wrote("u"); !w.Dirty || w.Tree != "u" {
		t.Errorf("after a write: %+v", w)
	}
	if w.Wrote("t"); !w.Dirty || w.Tree != "t" {
		t.Errorf("after a write back: %+v", w)
	}
	if w.IsAt("v"); w.Dirty || w.Tree != "v" {
		t.Errorf("at a commit: %+v", w)
	}
	for _, w := range []State{{Unsure: true}, {Verify: true}, {Restore: true}} {
		if w.Tree, w.Dirty = "t", true; w.IsSound() {
			t.Errorf("%+v is sound", w)
		}
		w.Continues, w.Lost = true, true
		if w.Forget(); w != (State{Tree: "t", Dirty: true}) {
			t.Errorf("without anything to inspect it is %+v", w)
		}
	}
}

// What fails by the machine or by its time is tried three times in all, each time after a wait
// twice as long. Anything else is lost at once.
func TestRetries(t *testing.T) {
	for code, retried := range map[pawl.FailureCode]bool{pawl.FailMachine: true, pawl.FailTimeout: true, pawl.FailDefect: false, pawl.FailConflict: false} {
		var w State
		if !w.MayGoOn() || w.IsLost() || w.IsStuckOpen() || w.Trouble() != nil {
			t.Errorf("%s: without a failure it is %+v", code, w)
		}
		why := &pawl.Failure{Code: code, Message: "no space"}
		for n := 1; n <= 3; n++ {
			w.Fail(pawl.VerbCommit, why)
			may := retried && n < 3
			if w.MayRetry() != may || w.IsLost() == may || w.MayGoOn() {
				t.Fatalf("%s, failure %d: may retry %t, is lost %t, may go on %t", code, n, w.MayRetry(), w.IsLost(), w.MayGoOn())
			}
			if wait := w.BackOff(); wait.For != time.Second<<n || wait.Reason != "the worktree: no space" {
				t.Errorf("%s, failure %d: the back-off is %+v", code, n, wait)
			}
			if w.Rested = true; w.MayGoOn() != may {
				t.Errorf("%s, failure %d: after the wait it may go on: %t", code, n, w.MayGoOn())
			}
		}
		if w.Trouble() != why || w.Reason() != "committing failed: no space" {
			t.Errorf("%s: the reason is %q", code, w.Reason())
		}
		if w.Fail(pawl.VerbMerge, why); w.MayRetry() != retried || w.Rested {
			t.Errorf("%s: another effect has no tries of its own: %+v", code, w)
		}
		w.Rested = true
		if w.Calm(); w != (State{troubled: pawl.VerbMerge}) {
			t.Errorf("%s: after a success it is %+v", code, w)
		}
	}
}

func TestBackOffIsShort(t *testing.T) {
	var w State
	w.Fail(pawl.VerbCommit, &pawl.Failure{Message: strings.Repeat("x", 200)})
	if got := w.BackOff().Reason; len(got) != len("the worktree: ")+120 {
		t.Errorf("the reason has %d bytes", len(got))
	}
}

func TestStuckOpen(t *testing.T) {
	defect := &pawl.Failure{Code: pawl.FailDefect}
	for verb, open := range map[pawl.Verb]bool{pawl.VerbCloseWorkspace: true, pawl.VerbCommit: false} {
		var w State
		w.Fail(verb, defect)
		if w.IsStuckOpen() != open || w.IsLost() == open {
			t.Errorf("%s failed: stuck open %t, lost %t", verb, w.IsStuckOpen(), w.IsLost())
		}
		if w.IsOfPreparing() {
			t.Errorf("%s failed, which is no preparation", verb)
		}
		if w.Calm(); w.IsStuckOpen() || w.IsLost() || w.IsOfPreparing() {
			t.Errorf("%s succeeded: %+v", verb, w)
		}
	}
}

// An effect that repeats failed ones of its kind names the first of them, until one succeeds.
func TestFirst(t *testing.T) {
	why := &pawl.Failure{Code: pawl.FailMachine}
	const commit, merge = pawl.VerbCommit, pawl.VerbMerge
	for _, row := range []struct {
		name          string
		then          func(*State)
		commit, merge pawl.Seq
	}{
		{"one failure", func(*State) {}, 5, 0},
		{"another failure", func(w *State) { w.FailEffect(6, commit, why) }, 5, 0},
		{"a success", func(w *State) { w.Settle(commit) }, 0, 0},
		{"an effect of another kind fails after a success", func(w *State) { w.Settle(commit); w.FailEffect(7, merge, why) }, 0, 7},
		{"a failure after a success", func(w *State) { w.Settle(commit); w.FailEffect(7, commit, why) }, 7, 0},
		{"another kind succeeds", func(w *State) { w.Settle(merge) }, 5, 0},
		{"another kind fails", func(w *State) { w.FailEffect(8, merge, why) }, 0, 8},
		{"a failure that changes nothing", func(w *State) { w.Fail(merge, why) }, 5, 0},
		{"the worktree is opened", func(w *State) { w.Settle(pawl.VerbOpenWorkspace) }, 0, 0},
		{"the worktree is reset", func(w *State) { w.Settle(pawl.VerbResetWorkspace) }, 0, 0},
		{"the worktree is inspected", func(w *State) { w.Settle(pawl.VerbInspectWorkspace) }, 5, 0},
		{"an inspection fails", func(w *State) { w.FailEffect(8, pawl.VerbInspectWorkspace, why) }, 5, 0},
	} {
		var w State
		if w.First(commit) != 0 {
			t.Errorf("a new worktree repeats %d", w.First(commit))
		}
		w.FailEffect(5, commit, why)
		row.then(&w)
		if w.First(commit) != row.commit || w.First(merge) != row.merge {
			t.Errorf("%s: a commit repeats %d, a merge %d", row.name, w.First(commit), w.First(merge))
		}
	}
	var w State
	w.FailEffect(5, commit, why)
	if w.Trouble() != why || w.troubles != 1 {
		t.Errorf("it is no trouble: %+v", w)
	}
	for verb := pawl.VerbOpenWorkspace; verb <= pawl.VerbPrepare; verb++ {
		w.Settle(commit)
		want := pawl.Seq(7)
		if verb == pawl.VerbInspectWorkspace { // nothing that it made could be found
			want = 0
		}
		if w.FailEffect(7, verb, why); w.First(verb) != want {
			t.Errorf("a repeated %s repeats %d", verb, w.First(verb))
		}
		w = State{}
		w.FailEffect(5, commit, why)
	}
}

func TestPreparation(t *testing.T) {
	if (*Preparation)(nil).Over() {
		t.Error("a preparation that was not requested is over")
	}
	machine, late := &pawl.Failure{Code: pawl.FailMachine, Message: "no space"}, &pawl.Failure{Code: pawl.FailTimeout, Message: "too slow"}
	for _, row := range []struct {
		name     string
		then     func(*Preparations)
		over, ok bool
		told     string
		partial  bool
	}{
		{"requested", func(*Preparations) {}, false, false, "", false},
		{"prepared", func(p *Preparations) { p.Prepared("c", &pawl.Prepared{Key: "k"}) }, true, true, "", false},
		{"the commands failed", func(p *Preparations) {
			p.Prepared("c", &pawl.Prepared{Key: "k", Failed: "exit 1", Said: "no such module"})
		}, true, false, "exit 1: no such module", false},
		{"no result", func(p *Preparations) { p.Fail("c", machine) }, false, false, "the commit could not be prepared: no space", true},
		{"no result twice", func(p *Preparations) { p.Fail("c", machine); p.Requested("c"); p.Fail("c", machine) },
			true, false, "the commit could not be prepared: no space", true},
		{"requested again", func(p *Preparations) { p.Fail("c", machine); p.Requested("c") }, false, false, "", false},
		{"too slow", func(p *Preparations) { p.Fail("c", late) }, true, false, "the commit could not be prepared: too slow", true},
		{"too slow, requested again", func(p *Preparations) { p.Fail("c", late); p.Requested("c") }, false, false, "", false},
		{"another commit", func(p *Preparations) { p.Prepared("d", &pawl.Prepared{Key: "k"}); p.Fail("d", machine) }, false, false, "", false},
	} {
		var p Preparations
		p.Requested("c")
		before := p
		row.then(&p)
		got := p.Of("c")
		if got.Over() != row.over || got.Ok() != row.ok {
			t.Errorf("%s: over is %t, ok %t", row.name, got.Over(), got.Ok())
		}
		if row.told != "" {
			if v := got.Verdict(); got.Told() != row.told || v.Reason != row.told || v.Verdict != pawl.VerdictFail || v.Partial != row.partial || v.Error == 0 {
				t.Errorf("%s: it tells %q by the verdict %+v", row.name, got.Told(), v)
			}
		}
		if len(p) != 1 || before[0] != (Preparation{Commit: "c", tries: 1}) {
			t.Errorf("%s: the preparations are %+v, before they were %+v", row.name, p, before)
		}
	}
}

// Two attempts whose preparation fails alike have the same error, whatever their output.
func TestPreparationFailsAlike(t *testing.T) {
	of := func(failed, said string) pawl.GateJudged {
		p := Preparations{{Commit: "c"}}
		p.Prepared("c", &pawl.Prepared{Key: "k", Failed: failed, Said: said, Evidence: pawl.HashOf([]byte(said))})
		return p.Of("c").Verdict()
	}
	a, b, c := of("exit 1", "one"), of("exit 1", "two"), of("exit 2", "one")
	if long := of("exit 1", strings.Repeat("x", 400)); len(long.Reason) != 300 {
		t.Errorf("the reason has %d bytes", len(long.Reason))
	}
	if a.Error != b.Error || a.Error == c.Error || a.Evidence == b.Evidence || a.Evidence.IsZero() {
		t.Errorf("the errors are %x, %x and %x", a.Error, b.Error, c.Error)
	}
}

// The oldest preparation is dropped, by when it was first requested.
func TestPreparationsDropTheOldest(t *testing.T) {
	var p Preparations
	want := Preparations{}
	for i := range 16 {
		p.Requested(pawl.CommitHash(rune('a' + i)))
		want = append(want, Preparation{Commit: pawl.CommitHash(rune('a' + i)), tries: 1})
	}
	p.Requested("a")
	want[0].tries = 2
	all := p
	p.Requested("z")
	want = append(want[1:], Preparation{Commit: "z", tries: 1})
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(Preparation{})); diff != "" {
		t.Errorf("the preparations differ:\n%s", diff)
	}
	if len(all) != 16 || all[0].Commit != "a" {
		t.Errorf("the preparations before have changed: %+v", all)
	}
	p.Fail("a", &pawl.Failure{Code: pawl.FailMachine})
	if p.Of("a") != nil {
		t.Error("a dropped preparation is back")
	}
}
