package kernel

import (
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/kernel/land"
)

// A gate that fails because its commit cannot be prepared has what the commands printed as
// evidence: nothing else tells the next attempt what to mend.
func TestUnpreparedGateHasEvidence(t *testing.T) {
	l := newLoop(1, &pawl.LoopKind{})
	l.Base, l.base, l.cand = "c0", make([]baseline, 1), &land.Candidate{Committed: &pawl.Committed{Commit: "c1"}}
	l.preparations.Requested("c1")
	l.preparations.Prepared("c1", &pawl.Prepared{Key: "key", Failed: "npm ci failed", Evidence: blobOf("npm")})
	s := &State{Settings: &pawl.Settings{Gates: []pawl.GateSpec{gate("tests")}, Prepare: []string{"npm ci"}}, Started: &pawl.RunStarted{Base: "c0"}, Seq: 1, Status: pawl.StatusRunning, loops: []*Loop{l}}
	d := newDraft(s, time.Unix(0, 0))
	if _, ok := d.preparedFor(l, &s.Settings.Gates[0], &pawl.RunGate{Gate: "tests", Commit: "c1"}); ok || len(d.events) != 1 {
		t.Fatalf("the gate may run: %t, after %+v", ok, d.events)
	}
	if b, ok := d.events[0].Body.(*pawl.GateJudged); !ok || b.Evidence != blobOf("npm") || b.Verdict != pawl.VerdictFail || b.Partial || b.Reason != "npm ci failed" {
		t.Errorf("judged %+v", d.events[0].Body)
	}
}

// What is in the worktree is known only once it has been put there: not while that is under
// way, and not after it failed.
func TestWhatFurnishesTheWorktree(t *testing.T) {
	l := newLoop(1, &pawl.LoopKind{})
	l.worktree.Furnished = "old"
	furnish := &pawl.Prepare{Commit: "c1", Furnish: true}
	for _, row := range []struct {
		why    string
		change func() error
		want   string
	}{
		{"a commit is prepared for a gate", func() error { l.asksToPrepare("c1", false); return nil }, "old"},
		{"it was", func() error { return l.prepared(&pawl.Prepare{Commit: "c1"}, &pawl.Prepared{Key: "new"}) }, "old"},
		{"it is put there", func() error { l.asksToPrepare("c1", true); return nil }, ""},
		{"the commands fail", func() error { return l.prepared(furnish, &pawl.Prepared{Key: "new", Failed: "npm ci failed"}) }, ""},
		{"it is there", func() error { return l.prepared(furnish, &pawl.Prepared{Key: "new"}) }, "new"},
	} {
		if err := row.change(); err != nil || l.worktree.Furnished != row.want {
			t.Errorf("%s: %q is in the worktree, want %q (%v)", row.why, l.worktree.Furnished, row.want, err)
		}
	}
}

// Commands that prepare have the time of the settings, and no model is shown a tool that needs
// them where there are none.
func TestPrepareOfTheSettings(t *testing.T) {
	tools := []string{"read", updateTool, "run"}
	l := newLoop(1, &pawl.LoopKind{})
	l.Base = "c0"
	s := &State{Settings: &pawl.Settings{}, Started: &pawl.RunStarted{Base: "c0"}, Seq: 1, Status: pawl.StatusRunning, loops: []*Loop{l}}
	if got := s.offered(tools); !slices.Equal(got, []string{"read", "run"}) || len(tools) != 3 {
		t.Errorf("without prepare the tools are %q of %q", got, tools)
	}
	s.Settings.Prepare, s.Settings.PrepareTimeout = []string{"npm ci"}, 7*time.Minute
	if got := s.offered(tools); !slices.Equal(got, tools) {
		t.Errorf("with prepare the tools are %q", got)
	}
	d := newDraft(s, time.Unix(0, 0))
	d.prepared(l, "c0", false)
	if b, ok := d.events[0].Body.(*pawl.EffectRequested); !ok || b.Effect.Timeout != 7*time.Minute {
		t.Errorf("it requests %+v", d.events[0].Body)
	}
}
