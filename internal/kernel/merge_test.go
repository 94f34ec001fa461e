package kernel

import (
	"slices"
	"testing"

	"pawl"
	"pawl/internal/recipe"
)

// What makes a merge commit and what moves a branch names the head it was decided on,
// so that whoever performs it can refuse when the branch is elsewhere. The heads are
// followed from the answers in the log alone, in runs where siblings are merged in the
// meantime, conflict, rebase, and where a batch is merged as a whole. F-63
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
		into, moved := map[pawl.LoopRef]pawl.CommitHash{}, 0 // what each loop's last merge commit was made with
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
						t.Errorf("%s: event %d merges into %s, and the head is %s", name, e.Seq, do.Ours, heads[target])
					}
					if theirs := s.Loop(e.Loop).candidate; target != e.Loop && do.Theirs != heads[e.Loop] && (theirs == nil || do.Theirs != theirs.Commit) {
						t.Errorf("%s: event %d merges %s, which is not what loop %d made", name, e.Seq, do.Theirs, e.Loop)
					}
				case *pawl.AdvanceBranch:
					if moved++; do.From != heads[target] || do.Branch != s.branch(s.Loop(target)) {
						t.Errorf("%s: event %d moves %s from %s, and %s is at %s", name, e.Seq, do.Branch, do.From, s.branch(s.Loop(target)), heads[target])
					}
					if m := made[e.Loop]; m == nil || do.To != m.Commit || target != e.Loop && into[e.Loop] != do.From {
						t.Errorf("%s: event %d moves %s to %s, and %+v was made with %s", name, e.Seq, do.Branch, do.To, m, into[e.Loop])
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
			t.Errorf("%s: the run ended %s: %s; branches moved %d times", name, s.Outcome, s.Reason, moved)
		}
	}
}

// A merge commit that was made with a head the branch has left is made again, and not
// moved to. F-63
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
	if l == nil || l.merge == nil || l.merge.made == nil || len(l.open) != 1 || l.open[0].Do.Verb() != pawl.VerbAdvanceBranch {
		t.Fatalf("no branch is being moved: %s", describe(w.state))
	}
	for _, head := range []pawl.CommitHash{l.merge.onto, "elsewhere"} {
		d := newDraft(copyOf(w.state), w.now)
		d.own(1)
		d.own(2)
		root, l := d.s.Loop(1), d.s.Loop(2)
		root.Head, l.open = head, nil
		if d.mergeOn(l) {
			t.Error("the branch has moved")
		}
		switch do := d.events[0].Body.(*pawl.EffectRequested).Effect.Do.(type) {
		case *pawl.AdvanceBranch:
			if head == "elsewhere" || do.From != head {
				t.Errorf("the branch is at %s and is moved from %s", head, do.From)
			}
		case *pawl.Merge:
			if head != "elsewhere" || do.Ours != head {
				t.Errorf("the branch is at %s, and the merge is made again with %s", head, do.Ours)
			}
		}
	}
}

// inBatch reports whether the loop's own children are merged as a batch.
func inBatch(s *State, ref pawl.LoopRef) bool { return judgesBatches(s.Loop(ref).Kind) }

// playBatch is a run whose first batch of two is merged as a whole.
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
