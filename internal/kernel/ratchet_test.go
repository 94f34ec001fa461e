package kernel

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/monitor"
)

// A loop keeps its last attempts, oldest first. Its copies keep their own.
func TestAttemptsAreKept(t *testing.T) {
	s, l := &State{}, newLoop(1, &pawl.LoopKind{})
	for n := 1; n <= ladder.Kept+2; n++ {
		before, other := l.clone(), l.clone()
		s.noteOwn(l, &pawl.IterationEnded{N: n})
		s.noteOwn(other, &pawl.IterationEnded{N: 100})
		h := l.gen.ratchet.history
		if first := max(1, n-ladder.Kept+1); len(h) != n-first+1 || int(h[0].N) != first || int(h[len(h)-1].N) != n {
			t.Errorf("after attempt %d the loop keeps %+v", n, h)
		}
		if n == 1 {
			continue
		}
		if h := before.gen.ratchet.history; int(h[len(h)-1].N) != n-1 {
			t.Errorf("the loop before attempt %d keeps %+v", n, h)
		}
	}
}

// What the work went back to is told to one attempt only.
func TestReturnedIsToldOnce(t *testing.T) {
	s, l := &State{}, newLoop(1, &pawl.LoopKind{})
	s.noteOwn(l, &pawl.IterationEnded{N: 1})
	before := l.clone()
	l.Iteration = 1
	if l.recovered("why"); l.gen.ratchet.returned != "why" || l.gen.ratchet.since != 1 || before.gen.ratchet.since != 0 {
		t.Errorf("got %+v, before %+v", l.gen.ratchet, before.gen.ratchet)
	}
	if s.noteOwn(l, &pawl.IterationEnded{N: 2}); l.gen.ratchet.returned != "" {
		t.Errorf("after the next attempt it is still %q", l.gen.ratchet.returned)
	}
}

// The commit that takes a branch back names the attempts after the one it leads to.
func TestBackToNamesAttempts(t *testing.T) {
	s := &State{Run: worldRun}
	for _, row := range []struct {
		to, at int
		ending pawl.Outcome
		want   []string
	}{
		{2, 3, "", []string{": back to attempt 2\n", "history: attempt 3, up to commit h"}},
		{1, 3, "", []string{": back to attempt 1\n", "history: attempts 2 to 3, up to commit h"}},
		{2, 3, pawl.OutcomeBlocked, []string{": deliver attempt 2\n"}},
	} {
		l := newLoop(1, &pawl.LoopKind{})
		l.Iteration, l.Head = row.at, "h"
		text := s.backTo(l, &monitor.Back{RollbackCalled: pawl.RollbackCalled{To: row.to, Ending: row.ending}})
		for _, want := range row.want {
			if !strings.Contains(text, want) {
				t.Errorf("from attempt %d to %d: %q lacks %q", row.at, row.to, text, want)
			}
		}
	}
}

// A log in which the work goes back twice at once, or from nowhere, is damaged.
func TestRatchetRefuses(t *testing.T) {
	l := newLoop(1, &pawl.LoopKind{})
	called, back := &pawl.RollbackCalled{To: 2}, &pawl.RolledBack{To: 2, Commit: "h"}
	if l.applyOwn(called) == nil || l.applyOwn(&pawl.RollbackCalled{}) == nil || l.applyOwn(back) == nil || l.applyOwn(&pawl.BatchEnded{}) == nil {
		t.Error("a loop without a verified attempt goes back")
	}
	l.gen.ratchet = &ratchet{}
	l.gen.ratchet.best.N = 2
	if err := l.applyOwn(called); err != nil {
		t.Fatal(err)
	}
	if l.applyOwn(called) == nil || l.applyOwn(back) == nil {
		t.Error("a loop goes back twice at once, or is back before its commit is made")
	}
	l.gen.Restored(&pawl.Restored{Commit: "h"})
	if err := l.applyOwn(back); err != nil || l.best().Commit != "h" || l.gen.Back != nil {
		t.Errorf("%v: the best is %+v", err, l.best())
	}
}

// A loop that went back stands on the work of others, as its best state does from then on. If the two
// conflict, that is to be resolved first, and nothing is verified.
func TestWentBackOntoTheWorkOfOthers(t *testing.T) {
	for _, conflicts := range []int{0, 2} {
		l := newLoop(1, &pawl.LoopKind{})
		l.Base, l.gen.ratchet = "p2", &ratchet{}
		l.upstream.hunks, l.upstream.suspect = blobOf("old hunks"), blobOf("old paths")
		l.gen.ratchet.best = land.Verified{N: 2, Commit: "c2", Base: "p1"}
		if err := l.applyOwn(&pawl.RollbackCalled{To: 2}); err != nil {
			t.Fatal(err)
		}
		l.gen.Back.Merged = &pawl.Merged{Commit: "m", Conflicts: conflicts, Paths: blobOf("paths"), Hunks: blobOf("hunks")}
		l.gen.Restored(&pawl.Restored{Commit: "h"})
		if err := l.applyOwn(&pawl.RolledBack{To: 2, Commit: "h"}); err != nil {
			t.Fatal(err)
		}
		best, marked := *l.best(), l.upstream.suspect == blobOf("paths") && l.upstream.hunks == blobOf("hunks")
		if conflicts == 0 && (!l.upstream.suspect.IsZero() || !l.upstream.hunks.IsZero()) {
			t.Error("a conflict of before is still to be resolved")
		}
		if conflicts == 0 && (best.N != 2 || best.Commit != "h" || best.Base != "p2" || marked) {
			t.Errorf("without a conflict the best state is %+v, conflict markers: %v", best, marked)
		}
		if conflicts > 0 && (best.N != 0 || !marked) {
			t.Errorf("with a conflict the best state is %+v, conflict markers: %v", best, marked)
		}
	}
}

// What somebody else did to the branch is not the attempts' doing.
func TestBranchMovedEndsComparison(t *testing.T) {
	l := newLoop(1, &pawl.LoopKind{})
	l.branchMoved()
	if l.gen.ratchet != nil {
		t.Error("a loop without attempts has some")
	}
	l.gen.ratchet = &ratchet{best: land.Verified{N: 1}, history: []monitor.Attempt{{N: 1}}, returned: "why"}
	l.gen.Back = &monitor.Back{}
	before := l.clone()
	l.branchMoved()
	if r := l.gen.ratchet; r.best.N != 0 || r.history != nil || l.gen.Back != nil || r.returned != "why" {
		t.Errorf("got %+v, back %+v", r, l.gen.Back)
	}
	if r := before.gen.ratchet; r.best.N != 1 || len(r.history) != 1 || before.gen.Back == nil {
		t.Errorf("the copy has changed: %+v", r)
	}
}

// No ref keeps what was merged for a way back, so that it is merged again when the run is resumed.
func TestMergedIsForgottenAtTheEnd(t *testing.T) {
	s, l := &State{live: 1, Started: &pawl.RunStarted{}}, newLoop(1, &pawl.LoopKind{})
	l.gen.ratchet, l.gen.Back = &ratchet{}, &monitor.Back{Merged: &pawl.Merged{Commit: "m"}}
	s.applyLoopEnded(l, &pawl.LoopEnded{Outcome: pawl.OutcomeIncomplete, Stopped: true})
	if l.gen.Back == nil || l.gen.Back.Merged != nil {
		t.Errorf("got %+v", l.gen.Back)
	}
}
