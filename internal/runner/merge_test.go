package runner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// MustBranch commits files on a branch of its own in the user's repository.
func (w *world) MustBranch(tb testing.TB, name string, pairs ...string) pawl.CommitHash {
	tb.Helper()
	w.git(tb, "switch", "-q", "-c", name, string(w.base))
	for i := 0; i < len(pairs); i += 2 {
		MustWrite(tb, w.repo+"/"+pairs[i], pairs[i+1])
	}
	w.git(tb, "add", "-A", ".")
	w.git(tb, "commit", "-q", "-m", name)
	commit := pawl.CommitHash(w.git(tb, "rev-parse", "HEAD"))
	w.git(tb, "switch", "-q", "main")
	return commit
}

func merge(ours, theirs pawl.CommitHash) *pawl.Merge {
	return &pawl.Merge{Ours: ours, Theirs: theirs, Message: "Merge task 002", Time: time.Unix(1_780_000_000, 0)}
}

func TestMerge(t *testing.T) {
	w := MustWorld(t, map[string]string{"a": "one\n", "b\n\"c": "one\n"})
	first := w.MustBranch(t, "first", "a", "two\n", "new", "1\n")
	second := w.MustBranch(t, "second", "README", "Read me.\n")
	clash := w.MustBranch(t, "clash", "a", "three\n", "b\n\"c", "two\n")
	strange := w.MustBranch(t, "strange", "b\n\"c", "three\n", "a", "four\n")

	t.Run("Clean", func(t *testing.T) {
		got := must[*pawl.Merged](t, w, merge(first, second))
		want := &pawl.Merged{Effect: got.Effect, Commit: got.Commit, Tree: got.Tree, Changes: got.Changes}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if len(got.Changes) == 0 || len(got.Changes)%2 != 0 {
			t.Errorf("the changes are %v", got.Changes)
		}
		if parents := w.git(t, "log", "-1", "--format=%P", string(got.Commit)); parents != string(first+" "+second) {
			t.Errorf("parents are %s, want %s %s", parents, first, second)
		}
	})

	t.Run("Conflict", func(t *testing.T) {
		got := must[*pawl.Merged](t, w, merge(strange, clash))
		if got.Conflicts != 2 || got.Unresolved != 0 {
			t.Errorf("%d conflicts, %d unresolved; want 2 and 0", got.Conflicts, got.Unresolved)
		}
		if paths := w.MustBlob(t, got.Paths); paths != "a\n\"b\\n\\\"c\"\n" {
			t.Errorf("paths are %q", paths)
		}
		if hunks := w.MustBlob(t, got.Hunks); !strings.Contains(hunks, "<<<<<<< the parent's branch\nfour\n=======\nthree\n>>>>>>> this task\n") {
			t.Errorf("hunks are\n%s", hunks)
		}

		// Whoever begins with the merge commit and leaves its markers has not resolved it.
		again := merge(first, got.Commit)
		again.Suspect = got.Paths
		if next := must[*pawl.Merged](t, w, again); next.Unresolved != 2 {
			t.Errorf("%d files are unresolved, want 2", next.Unresolved)
		}
		again.Theirs = clash
		if next := must[*pawl.Merged](t, w, again); next.Unresolved != 0 {
			t.Errorf("%d files are unresolved, want none", next.Unresolved)
		}
	})

	t.Run("Again", func(t *testing.T) {
		once := must[*pawl.Merged](t, w, merge(first, clash))
		twice := must[*pawl.Merged](t, w, merge(first, clash), again)
		once.Effect = twice.Effect
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Errorf("-once +twice:\n%s", diff)
		}
	})

	t.Run("Secret", func(t *testing.T) {
		w := MustWorld(t, map[string]string{"a": "one\n"})
		w.secret = "sk-secret-1234"
		w.r.Redact = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), w.secret, "[secret]")) }
		got := must[*pawl.Merged](t, w, merge(w.MustBranch(t, "x", "a", w.secret+"\n"), w.MustBranch(t, "y", "a", "y\n")))
		if hunks := w.MustBlob(t, got.Hunks); !strings.Contains(hunks, "[secret]") {
			t.Errorf("hunks are\n%s", hunks)
		}
	})

	t.Run("Missing", func(t *testing.T) {
		do := merge(first, second)
		do.Suspect = pawl.HashOf([]byte("not kept"))
		if f := w.fails(t, do); f.Code != pawl.FailDefect {
			t.Errorf("failure is %+v", f)
		}
	})
}

func TestAdvanceBranch(t *testing.T) {
	w := MustWorld(t, map[string]string{"a": "one\n"})
	w.MustOpen(t)
	first, second := w.MustBranch(t, "first", "a", "two\n"), w.MustBranch(t, "second", "a", "three\n")
	for range 2 {
		if got := must[*pawl.BranchAdvanced](t, w, &pawl.AdvanceBranch{Branch: branch, From: w.base, To: first}); got.Commit != first {
			t.Errorf("the branch is at %s, want %s", got.Commit, first)
		}
	}
	if f := w.fails(t, &pawl.AdvanceBranch{Branch: branch, From: w.base, To: second}); f.Code != pawl.FailConflict {
		t.Errorf("failure is %+v, want a conflict", f)
	}
}

func TestProbeConflicts(t *testing.T) {
	t.Parallel()
	w := MustWorld(t, map[string]string{"a": "one\n"})
	mine := w.MustBranch(t, "mine", "a", "two\n")
	do := &pawl.ProbeConflicts{Commit: mine, Others: []pawl.Sibling{
		{Loop: 3, Task: "task-003", Commit: w.MustBranch(t, "elsewhere", "new", "1\n")},
		{Loop: 4, Task: "task-004", Commit: w.MustBranch(t, "clash", "a", "three\n")},
		{Loop: 5, Task: "task-005", Commit: w.base},
		{Loop: 6, Task: "task-006", Commit: w.MustBranch(t, "large", "a", strings.Repeat("some more of it\n", 3000))},
	}}
	refs := w.git(t, "for-each-ref")
	got := must[*pawl.ConflictsProbed](t, w, do)
	if diff := cmp.Diff([]pawl.LoopRef{4, 6}, got.With); diff != "" {
		t.Errorf("conflicts with (-want +got):\n%s", diff)
	}
	hunks := w.MustBlob(t, got.Hunks)
	for _, want := range []string{
		"task \"task-004\", files in conflict: 1\n\na\nlines 1 to 5:\n<<<<<<< task \"task-004\"\nthree\n=======\ntwo\n>>>>>>> this task\n",
		"task \"task-006\", files in conflict: 1\n",
	} {
		if !strings.Contains(hunks, want) {
			t.Errorf("hunks do not hold %q:\n%s", want, hunks)
		}
	}
	if len(hunks) > 25_000 {
		t.Errorf("the conflicts are told in %d bytes", len(hunks))
	}
	if diff := cmp.Diff(got.Hunks, must[*pawl.ConflictsProbed](t, w, do).Hunks); diff != "" {
		t.Errorf("probed again:\n%s", diff)
	}
	if after := w.git(t, "for-each-ref"); after != refs {
		t.Errorf("probing moved refs:\n%s", cmp.Diff(refs, after))
	}
	do.Others = do.Others[:1]
	if got := must[*pawl.ConflictsProbed](t, w, do); len(got.With) > 0 || got.Hunks != (pawl.Hash{}) {
		t.Errorf("got %+v, want no conflict", got)
	}

	// However many siblings conflict, the answer is small.
	do.Others = nil
	many := w.MustBranch(t, "many", "a", strings.Repeat("many\n", 500))
	for n := range 40 {
		do.Others = append(do.Others, pawl.Sibling{Loop: pawl.LoopRef(n + 2), Task: fmt.Sprintf("task-%03d", n), Commit: many})
	}
	got = must[*pawl.ConflictsProbed](t, w, do)
	hunks = w.MustBlob(t, got.Hunks)
	if len(got.With) != 40 || len(hunks) > 24_000 || !strings.Contains(hunks, "task \"task-039\"") {
		t.Errorf("%d conflicts are told in %d bytes:\n%s", len(got.With), len(hunks), hunks)
	}
}
