package kernel

import (
	"slices"
	"testing"

	"pawl"
	"pawl/internal/recipe"
)

// A merge and a branch move name the head that they were decided on, so that whoever performs
// them can refuse if the branch has moved. The test follows the heads from the answers in the
// log alone. In its runs, siblings are merged in the meantime, conflict and rebase, and a
// batch is merged as a whole. F-63
func TestMergesNameTheHead(t *testing.T) {
	side := func(set *pawl.Settings) { set.Parallel = 3 }
	runs := map[string]*world{
		"side by side": playList(t, "pandora", side, "list: one, two, three after one+two", "task two execute: calls write x2"),
		"conflicts": playList(t, "loom", side, "list: one, two, three, four after one", "task two merge: conflict 1 x1",
			"task two rebase: conflict 1 x1", "task three merge: conflict 1 x1"),
		"a probe after a merge": playList(t, "loom", side, "list: one, two, three", "task one executor: submits takes 10s", "task two iteration 1 executor: submits takes 20s",
			"task two executor: submits takes 300s", "task three executor: submits takes 100s", "task two merge: conflict 1 x1", "task two rebase: conflict 1 x1"),
		"levels": playLevels(t, ended),
		"batch":  playBatch(t),
	}
	for name, w := range runs {
		heads, from, made := map[pawl.LoopRef]pawl.CommitHash{}, map[pawl.Seq]*pawl.Effect{}, map[pawl.LoopRef]*pawl.Merged{}
		into, moved := map[pawl.LoopRef]pawl.CommitHash{}, 0 // the head that each loop's last merge commit was based on
		s := &State{}
		for _, e := range w.log {
			switch b := e.Body.(type) {
			case *pawl.EffectRequested:
				from[e.Seq] = &b.Effect
				target := e.Loop // a batch is merged by the loop whose branch moves
				if s.Loop(e.Loop).Parent != 0 && !inBatch(s, e.Loop) {
					target = s.Loop(e.Loop).Parent
				}
				switch do := b.Effect.Do.(type) {
				case *pawl.Merge:
					chained := made[e.Loop] != nil && do.Ours == made[e.Loop].Commit && target == e.Loop
					if do.Ours != heads[target] && !chained {
						t.Errorf("%s: event %d merges into %s, but the head is %s", name, e.Seq, do.Ours, heads[target])
					}
					if theirs := s.Loop(e.Loop).cand; target != e.Loop && do.Theirs != heads[e.Loop] && (theirs == nil || do.Theirs != theirs.Commit) {
						t.Errorf("%s: event %d merges %s, which loop %d did not make", name, e.Seq, do.Theirs, e.Loop)
					}
				case *pawl.AdvanceBranch:
					if moved++; do.From != heads[target] || do.Branch != s.branch(s.Loop(target)) {
						t.Errorf("%s: event %d moves %s from %s, but %s is at %s", name, e.Seq, do.Branch, do.From, s.branch(s.Loop(target)), heads[target])
					}
					if m := made[e.Loop]; m == nil || do.To != m.Commit || target != e.Loop && into[e.Loop] != do.From {
						t.Errorf("%s: event %d moves %s to %s, but %+v was based on %s", name, e.Seq, do.Branch, do.To, m, into[e.Loop])
					}
				}
			case *pawl.WorkspaceOpened:
				heads[e.Loop] = b.Head
			case *pawl.WorkspaceReset:
				if do := from[b.Effect].Do.(*pawl.ResetWorkspace); !do.Detached {
					heads[e.Loop] = b.Head
				}
			case *pawl.Committed:
				if b.Effect != 0 {
					heads[e.Loop] = b.Commit
				}
			case *pawl.Recorded:
				heads[e.Loop] = b.Commit
			case *pawl.Merged:
				made[e.Loop], into[e.Loop] = b, from[b.Effect].Do.(*pawl.Merge).Ours
			case *pawl.BranchAdvanced:
				do := from[b.Effect].Do.(*pawl.AdvanceBranch)
				for _, l := range s.loops {
					if s.branch(l) == do.Branch {
						heads[l.Ref] = b.Commit
					}
				}
			}
			if err := Apply(s, e); err != nil {
				t.Fatal(err)
			}
		}
		if s.Outcome != pawl.OutcomeComplete || moved < 2 {
			t.Errorf("%s: the run ended %s: %s; its branches moved %d times, want at least 2", name, s.Outcome, s.Reason, moved)
		}
	}
}

// A merge commit whose base is no longer the branch's head is made again, and the branch is
// not moved to it. F-63
func TestMergeOfAnOldHeadIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	s := &script{w: w}
	w.happens = s.happens
	s.list(t, "list: one, two")
	r, set := treeLoop(), settings()
	set.Gates = []pawl.GateSpec{gate("tests")}
	w.startWith(r, set, blobOf(listName("")))
	for !has[*pawl.Merged](w) && w.land() {
		continue
	}
	l := w.state.Loop(2)
	if l == nil || l.cand.Merge == nil || len(l.cand.Merge.Alone.Chain) == 0 || len(l.open) != 1 || l.open[0].Do.Verb() != pawl.VerbAdvanceBranch {
		t.Fatalf("no branch move is pending: %s", describe(w.state))
	}
	for _, head := range []pawl.CommitHash{l.cand.Merge.Alone.Onto, "elsewhere"} {
		d := newDraft(copyOf(w.state), w.now)
		d.own(1)
		d.own(2)
		root, l := d.s.Loop(1), d.s.Loop(2)
		root.Head, l.open = head, nil
		if d.mergeOn(l) {
			t.Errorf("head %s: mergeOn reports that the branch has moved", head)
		}
		switch do := d.events[0].Body.(*pawl.EffectRequested).Effect.Do.(type) {
		case *pawl.AdvanceBranch:
			if head == "elsewhere" || do.From != head {
				t.Errorf("head %s: the branch is moved from %s", head, do.From)
			}
		case *pawl.Merge:
			if head != "elsewhere" || do.Ours != head {
				t.Errorf("head %s: the merge is made again on %s", head, do.Ours)
			}
		}
	}
}

// inBatch reports whether the loop's own children are merged as a batch.
func inBatch(s *State, ref pawl.LoopRef) bool { return s.Loop(ref).Kind.Children.Groups() }

// playBatch plays a run that merges a batch of at least two tasks as a whole.
func playBatch(t *testing.T) *world {
	t.Helper()
	r, err := recipe.Load("coherence")
	if err != nil {
		t.Fatal(err)
	}
	s := &story{script: &script{w: newWorld(t)}}
	s.script.w.happens = s.script.happens
	s.world(t, `list: base scaffold, a after base, b after base, c after a
		plan-review: submits decision=APPROVED
		plan: submits count=4 decisions=2`)
	set := settings()
	set.Limits.Iterations, set.Gates = 0, []pawl.GateSpec{gate("tests")}
	w := s.script.w
	w.start(&r, set)
	for w.land() {
		continue
	}
	if !slices.ContainsFunc(all[*pawl.BatchStarted](w), func(b *pawl.BatchStarted) bool { return len(b.Tasks) > 1 }) {
		t.Fatal("no batch had two tasks")
	}
	return w
}
