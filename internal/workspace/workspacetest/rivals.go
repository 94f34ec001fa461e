package workspacetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"pawl"
)

// testRivals moves a branch between the moment a call reads the branch and the moment
// the call moves it. F-63
func testRivals(t *testing.T, newFixture Make) {
	ctx := context.Background()
	at := time.Unix(1_780_000_200, 0)
	for n, test := range []struct {
		name string
		// call moves the branch from the base to a commit, which it returns.
		call func(w pawl.Workspaces, f Fixture, child pawl.CommitHash) (pawl.CommitHash, error)
		code pawl.Code // of the error if another process moved the branch first; any if empty
	}{
		{"Advance", func(w pawl.Workspaces, f Fixture, child pawl.CommitHash) (pawl.CommitHash, error) {
			return child, w.Advance(ctx, branch, f.Base, child)
		}, pawl.CodeConflict},
		{"Commit", func(w pawl.Workspaces, f Fixture, _ pawl.CommitHash) (pawl.CommitHash, error) {
			info, err := w.Commit(ctx, commitSpec(f, "7"))
			return info.Commit, err
		}, pawl.CodeConflict},
		{"Reset", func(w pawl.Workspaces, f Fixture, child pawl.CommitHash) (pawl.CommitHash, error) {
			state, err := w.Reset(ctx, name, child, kept)
			return state.Head, err
		}, ""},
		{"Merge, then Advance", func(w pawl.Workspaces, f Fixture, child pawl.CommitHash) (pawl.CommitHash, error) {
			info, err := w.Merge(ctx, mergeSpec(f.Base, child))
			if err != nil {
				return "", err
			}
			return info.Commit, w.Advance(ctx, branch, f.Base, info.Commit)
		}, pawl.CodeConflict},
		{"Restore", func(w pawl.Workspaces, f Fixture, child pawl.CommitHash) (pawl.CommitHash, error) {
			info, err := w.Restore(ctx, pawl.RestoreSpec{Branch: branch, From: f.Base, To: child, Message: "Back", ID: "7", Time: at})
			return info.Commit, err
		}, pawl.CodeConflict},
		{"Publish", func(w pawl.Workspaces, f Fixture, child pawl.CommitHash) (pawl.CommitHash, error) {
			return w.Publish(ctx, pawl.PublishSpec{Branch: branch, From: f.Base, Of: child, Message: "Work", ID: "7", Time: at})
		}, pawl.CodeConflict},
		{"WriteFiles", func(w pawl.Workspaces, f Fixture, _ pawl.CommitHash) (pawl.CommitHash, error) {
			return w.WriteFiles(ctx, pawl.FilesSpec{
				Branch: branch, From: f.Base, Folder: pawl.TasksFolder + "/" + name,
				Files: map[string][]byte{"plan.md": []byte("The plan.\n")}, Message: "Plan", ID: "7", Time: at,
			})
		}, pawl.CodeConflict},
	} {
		// raced runs do during a call: right before the call moves the branch, or the
		// given number of steps earlier. It returns the fixture and the call's error.
		steps := 0 // the number of steps of the previous call up to the move
		raced := func(t *testing.T, before int, do func(f Fixture, other, child pawl.CommitHash)) (f Fixture, other, child pawl.CommitHash, err error) {
			t.Helper()
			f = newFixture(t, project())
			MustWrite(t, MustOpen(t, f, spec(f)).Dir, "new/file", "new\n")
			child = MustWork(t, f, child1, f.Base, "README", "Read me.\n").Commit
			other = MustWork(t, f, child2, f.Base, "lib/a.txt", "Mine.\n").Commit
			at := 0
			if before > 0 {
				at = steps - before
			}
			w, moved := meanwhile(t, f, at, func() { do(f, other, child) })
			_, err = test.call(w, f, child)
			if before > 0 {
				return f, other, child, err // a call that looks once more moves no ref then
			}
			if steps = moved(); steps == 0 {
				t.Fatalf("the call moved no ref: %v", err)
			}
			return f, other, child, err
		}

		leaves := func(t *testing.T, before int) {
			t.Helper()
			f, other, child, err := raced(t, before, func(f Fixture, other, _ pawl.CommitHash) { f.Move(t, head, other) })
			wantRef(t, f, head, other)
			if err == nil {
				t.Error("the call reports that it moved the branch")
			}
			if test.code == "" {
				return
			}
			wantCode(t, err, test.code, string(other))
			_, err = test.call(f.Restart(t), f, child)
			wantCode(t, err, test.code, string(other))
			wantRef(t, f, head, other)
		}
		t.Run(test.name+" leaves a branch that another process has moved", func(t *testing.T) {
			if testing.Short() && n > 2 {
				t.Skip("skipped in short mode, which runs the first three calls")
			}
			leaves(t, 0)
			if !testing.Short() {
				leaves(t, 1)
			}
		})

		// A process died, but its git command ends only now.
		t.Run(test.name+" succeeds if the same call has already moved the branch", func(t *testing.T) {
			if testing.Short() && n > 0 {
				t.Skip("skipped in short mode, which runs the first call")
			}
			var first pawl.CommitHash
			f, _, child, _ := raced(t, 0, func(f Fixture, _, child pawl.CommitHash) {
				var err error
				if first, err = test.call(f.Restart(t), f, child); err != nil {
					t.Fatal(err)
				}
			})
			wantRef(t, f, head, first)
			again, err := test.call(f.Restart(t), f, child)
			if err != nil || again != first {
				t.Errorf("a second call returned %s, %v; want %s", again, err, first)
			}
			wantRef(t, f, head, first)
		})
	}

	t.Run("Open leaves a branch that another process has created", func(t *testing.T) {
		f := newFixture(t, project())
		other := MustWork(t, f, child2, f.Base, "lib/a.txt", "Mine.\n").Commit
		w, _ := meanwhile(t, f, 0, func() { f.Move(t, head, other) })
		if _, err := w.Open(ctx, spec(f)); err == nil {
			t.Error("Open reports that it created the branch")
		}
		wantRef(t, f, head, other)
	})

	t.Run("Mark keeps the first of two commits", func(t *testing.T) {
		f := newFixture(t, project())
		other := MustWork(t, f, child2, f.Base, "lib/a.txt", "Mine.\n").Commit
		w, _ := meanwhile(t, f, 0, func() { f.Move(t, kept, other) })
		err := w.Mark(ctx, kept, f.Base)
		wantCode(t, err, pawl.CodeConflict, string(other))
		wantRef(t, f, kept, other)
	})
}

// meanwhile returns a Workspaces over a fixture's state that calls do once: before step
// number at, or before the first step that moves a ref if that comes earlier. moved
// returns the number of the first step that moved a ref, or 0.
func meanwhile(t *testing.T, f Fixture, at int, do func()) (w pawl.Workspaces, moved func() int) {
	t.Helper()
	var mu sync.Mutex
	var once sync.Once
	step, first := 0, 0
	w = f.Watch(t, func(moves bool) {
		mu.Lock()
		step++
		if moves && first == 0 {
			first = step
		}
		now := step == at || moves
		mu.Unlock()
		if now {
			once.Do(do)
		}
	})
	return w, func() int {
		mu.Lock()
		defer mu.Unlock()
		return first
	}
}
