package workspacetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
)

const (
	child1 = branch + "--1-task-001"
	child2 = branch + "--2-task-002"
)

// MustMerge merges.
func MustMerge(tb rapid.TB, w pawl.Workspaces, spec pawl.MergeSpec) pawl.MergeInfo {
	tb.Helper()
	info, err := w.Merge(context.Background(), spec)
	if err != nil {
		tb.Fatalf("merge %s: %v", spec.Theirs, err)
	}
	return info
}

// MustWork commits files on a branch of their own that starts at parent; a
// content of "-" removes the file.
func MustWork(tb rapid.TB, w pawl.Workspaces, branch string, parent pawl.CommitHash, pairs ...string) pawl.CommitInfo {
	tb.Helper()
	name := nameOf(branch)
	state := MustOpen(tb, w, pawl.WorkspaceSpec{Name: name, Branch: branch, Base: parent})
	for i := 0; i < len(pairs); i += 2 {
		if MustRemove(tb, state.Dir, pairs[i]); pairs[i+1] != "-" {
			MustWrite(tb, state.Dir, pairs[i], pairs[i+1])
		}
	}
	return MustCommit(tb, w, pawl.CommitSpec{
		Name: name, Branch: branch, Parent: state.Head, Base: parent, Message: "Work on " + branch,
		ID: branch + "/" + string(state.Head), Time: time.Unix(1_780_000_000, 0),
	})
}

func mergeSpec(ours, theirs pawl.CommitHash) pawl.MergeSpec {
	return pawl.MergeSpec{
		Ours: ours, Theirs: theirs, OursLabel: "the parent's branch", TheirsLabel: "this task",
		Message: "Merge task-001", Time: time.Unix(1_780_000_100, 0),
	}
}

func testMerge(t *testing.T, newFixture Make) {
	ctx := context.Background()

	// Two children of one base that change different files both arrive.
	t.Run("joins what does not conflict", func(t *testing.T) {
		f := newFixture(t, project())
		one := MustWork(t, f, child1, f.Base, "lib/a.txt", "ONE\ntwo\nthree\n", "new/one", "1\n")
		two := MustWork(t, f, child2, f.Base, "README", "Read me.\n", "lib/deep/b.go", "-")
		first := MustMerge(t, f, mergeSpec(f.Base, one.Commit))
		if first.Tree != one.Tree || len(first.Conflicts) > 0 || first.Hunks != "" || first.Commit == one.Commit {
			t.Errorf("a merge of what is ahead gives %+v; a merge commit with the tree %s is due", first, one.Tree)
		}
		second := MustMerge(t, f, mergeSpec(first.Commit, two.Commit))
		if len(second.Conflicts) > 0 || second.Hunks != "" {
			t.Errorf("conflicts are %q, want none:\n%s", second.Conflicts, second.Hunks)
		}
		wantCommit(t, f, second.Commit, with(project(),
			"lib/a.txt", "ONE\ntwo\nthree\n", "new/one", "1\n", "README", "Read me.\n", "lib/deep/b.go", "-"))
		for branch, at := range map[string]pawl.CommitHash{child1: one.Commit, child2: two.Commit, branch: ""} {
			wantRef(t, f, "refs/heads/"+branch, at)
		}
	})

	t.Run("of what is in it already is nothing", func(t *testing.T) {
		f := newFixture(t, project())
		one := MustWork(t, f, child1, f.Base, "README", "Read me.\n")
		for _, theirs := range []pawl.CommitHash{f.Base, one.Commit} {
			want := pawl.MergeInfo{Commit: one.Commit, Tree: one.Tree}
			if diff := cmp.Diff(want, MustMerge(t, f, mergeSpec(one.Commit, theirs))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
	})

	t.Run("marks what conflicts", func(t *testing.T) {
		f := newFixture(t, project())
		one := MustWork(t, f, child1, f.Base, "lib/a.txt", "one\nTWO\nthree\n", "README", "Ours.\n", "new", "ours\n")
		two := MustWork(t, f, child2, f.Base, "lib/a.txt", "one\nZWEI\nthree\n", "README", "-", "other", "theirs\n")
		info := MustMerge(t, f, mergeSpec(one.Commit, two.Commit))
		if diff := cmp.Diff([]string{"README", "lib/a.txt"}, info.Conflicts); diff != "" {
			t.Errorf("conflicts (-want +got):\n%s", diff)
		}
		marked := "one\n<<<<<<< the parent's branch\nTWO\n=======\nZWEI\n>>>>>>> this task\nthree\n"
		wantCommit(t, f, info.Commit, with(project(), "lib/a.txt", marked, "README", "Ours.\n", "new", "ours\n", "other", "theirs\n"))
		for _, want := range []string{
			"README\nCONFLICT (modify/delete): README deleted in this task and modified in the parent's branch",
			"\n\nlib/a.txt\nlines 1 to 7:\n" + marked + "\n",
		} {
			if !strings.Contains(info.Hunks, want) {
				t.Errorf("hunks do not hold %q:\n%s", want, info.Hunks)
			}
		}
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if diff := cmp.Diff(info, MustMerge(t, w, mergeSpec(one.Commit, two.Commit))); diff != "" {
				t.Errorf("called again (-first +second):\n%s", diff)
			}
		}
		got, err := f.Marked(ctx, info.Commit, []string{"other", "README", "lib/a.txt", "lib", "none", "README/x"})
		if diff := cmp.Diff([]string{"lib/a.txt"}, got); diff != "" || err != nil {
			t.Errorf("marked (-want +got): %v\n%s", err, diff)
		}
	})

	// A child that conflicts goes on from the merge commit, which has its work and
	// its siblings'; when no markers are left, its parent can have it.
	t.Run("lets a child resolve a conflict", func(t *testing.T) {
		f := newFixture(t, project())
		parent := MustOpen(t, f, spec(f))
		one := MustWork(t, f, child1, f.Base, "lib/a.txt", "one\nTWO\nthree\n")
		two := MustWork(t, f, child2, f.Base, "lib/a.txt", "one\nZWEI\nthree\n")
		first := MustMerge(t, f, mergeSpec(f.Base, one.Commit))
		MustAdvance(t, f, branch, f.Base, first.Commit)
		marked := MustMerge(t, f, mergeSpec(first.Commit, two.Commit))
		state := MustReset(t, f, nameOf(child2), marked.Commit, kept)
		if want := (pawl.WorkspaceState{Head: marked.Commit, Tree: marked.Tree}); state.WorkspaceState != want {
			t.Errorf("state is %+v, want %+v", state, want)
		}
		wantRef(t, f, "refs/heads/"+child2, marked.Commit)
		resolved := MustWork(t, f, child2, f.Base, "lib/a.txt", "one\nTWO ZWEI\nthree\n")
		if got, err := f.Marked(ctx, resolved.Commit, marked.Conflicts); len(got) > 0 || err != nil {
			t.Errorf("%q are still marked: %v", got, err)
		}
		second := MustMerge(t, f, mergeSpec(first.Commit, resolved.Commit))
		if len(second.Conflicts) > 0 || second.Tree != resolved.Tree {
			t.Errorf("merge is %+v, want the tree %s without conflicts", second, resolved.Tree)
		}
		MustAdvance(t, f, branch, first.Commit, second.Commit)
		if got := MustReset(t, f, nameOf(branch), second.Commit, kept); got.Tree != resolved.Tree || got.Salvage != "" || got.Dir != parent.Dir {
			t.Errorf("the parent's worktree is %+v, want the tree %s and nothing saved", got, resolved.Tree)
		}
		wantFiles(t, parent.Dir, with(project(), "lib/a.txt", "one\nTWO ZWEI\nthree\n"))
	})

	t.Run("refuses what is not there", func(t *testing.T) {
		f := newFixture(t, project())
		missing := pawl.CommitHash(fmt.Sprintf("%0*x", len(f.Base), 1))
		_, err := f.Merge(ctx, mergeSpec(f.Base, missing))
		wantCode(t, err, pawl.CodeNotFound, string(missing))
		_, err = f.Merge(ctx, mergeSpec(missing, f.Base))
		wantCode(t, err, pawl.CodeNotFound, string(missing))
		_, err = f.Merge(ctx, mergeSpec(f.Base, "HEAD"))
		wantCode(t, err, pawl.CodeInvalid, "HEAD")
		_, err = f.Marked(ctx, missing, []string{"README"})
		wantCode(t, err, pawl.CodeNotFound, string(missing))
	})
}

func testAdvance(t *testing.T, newFixture Make) {
	ctx := context.Background()
	// advanced is a parent whose branch went on to the work of a child, and what
	// its worktree had in it then.
	advanced := func(t *testing.T, work ...string) (f Fixture, parent Opened, child pawl.CommitInfo) {
		t.Helper()
		f = newFixture(t, project())
		parent = MustOpen(t, f, spec(f))
		child = MustWork(t, f, child1, f.Base, "lib/a.txt", "ONE\ntwo\nthree\n", "new/one", "1\n")
		for i := 0; i < len(work); i += 2 {
			MustWrite(t, parent.Dir, work[i], work[i+1])
		}
		MustAdvance(t, f, branch, f.Base, child.Commit)
		wantRef(t, f, head, child.Commit)
		return f, parent, child
	}

	t.Run("can be called again", func(t *testing.T) {
		f, _, child := advanced(t)
		MustAdvance(t, f, branch, f.Base, child.Commit)
		MustAdvance(t, f.Restart(t), branch, f.Base, child.Commit)
		wantRef(t, f, head, child.Commit)
	})

	t.Run("leaves the worktree, which a reset takes along", func(t *testing.T) {
		f, parent, child := advanced(t)
		wantFiles(t, parent.Dir, project())
		if tree := MustTree(t, f, name); tree != parent.Tree {
			t.Errorf("the worktree's tree is %s, want %s as before", tree, parent.Tree)
		}
		for _, w := range []pawl.Workspaces{f.Restart(t), f} {
			want := pawl.WorkspaceState{Head: child.Commit, Tree: child.Tree}
			if got := MustReset(t, w, name, child.Commit, kept).WorkspaceState; got != want {
				t.Errorf("state is %+v, want %+v", got, want)
			}
		}
		wantFiles(t, parent.Dir, with(project(), "lib/a.txt", "ONE\ntwo\nthree\n", "new/one", "1\n"))
		next := commitSpec(f, "8")
		next.Parent = child.Commit
		MustWrite(t, parent.Dir, "README", "Read me.\n")
		if info := MustCommit(t, f, next); len(info.Files) != 1 {
			t.Errorf("the next commit changes %q, want README", info.Files)
		}
	})

	t.Run("of several steps, then a reset in between", func(t *testing.T) {
		f, parent, child := advanced(t)
		more := MustWork(t, f, child1, f.Base, "new/two", "2\n")
		MustAdvance(t, f, branch, child.Commit, more.Commit)
		state := MustReset(t, f, name, child.Commit, kept)
		if state.Salvage != kept || state.Tree != child.Tree {
			t.Errorf("state is %+v; the branch's head is to be saved", state)
		}
		wantRef(t, f, kept, more.Commit)
		wantFiles(t, parent.Dir, with(project(), "lib/a.txt", "ONE\ntwo\nthree\n", "new/one", "1\n"))
	})

	t.Run("keeps work that is nowhere else", func(t *testing.T) {
		f, _, child := advanced(t, "README", "Half done.\n")
		state := MustReset(t, f, name, child.Commit, kept)
		if state.Salvage != kept {
			t.Errorf("salvage is %q, want %q", state.Salvage, kept)
		}
		// It lies on what it was made from: it does not undo the child's work.
		wantCommit(t, f, f.Resolve(t, kept), with(project(), "README", "Half done.\n"))
		merged := MustMerge(t, f, mergeSpec(child.Commit, f.Resolve(t, kept)))
		wantCommit(t, f, merged.Commit, with(project(), "README", "Half done.\n", "lib/a.txt", "ONE\ntwo\nthree\n", "new/one", "1\n"))
	})

	t.Run("closes without saving what is committed", func(t *testing.T) {
		f, _, child := advanced(t)
		if saved := MustClose(t, f, name, kept); saved != "" {
			t.Errorf("saved is %q, want nothing", saved)
		}
		wantRef(t, f, head, child.Commit)
		f, _, _ = advanced(t, "README", "Half done.\n")
		if saved := MustClose(t, f, name, kept); saved != kept {
			t.Errorf("saved is %q, want %q", saved, kept)
		}
		wantCommit(t, f, f.Resolve(t, kept), with(project(), "README", "Half done.\n"))
	})

	t.Run("lets no commit undo it", func(t *testing.T) {
		f, _, child := advanced(t)
		next := commitSpec(f, "8")
		next.Parent = child.Commit
		_, err := f.Commit(ctx, next)
		wantCode(t, err, pawl.CodeConflict, "its branch at "+string(child.Commit))
		wantRef(t, f, head, child.Commit)
	})

	t.Run("refuses what is not so", func(t *testing.T) {
		f, _, child := advanced(t)
		other := MustWork(t, f, child2, f.Base, "README", "Other.\n")
		missing := pawl.CommitHash(fmt.Sprintf("%0*x", len(f.Base), 1))
		for _, test := range []struct {
			branch   string
			from, to pawl.CommitHash
			code     pawl.Code
			word     string
		}{
			{branch, f.Base, other.Commit, pawl.CodeConflict, "somebody else moved it"},
			{branch, child.Commit, other.Commit, pawl.CodeInvalid, "does not follow"},
			{branch, child.Commit, f.Base, pawl.CodeInvalid, "does not follow"},
			{branch, child.Commit, missing, pawl.CodeNotFound, string(missing)},
			{branch, child.Commit, "main", pawl.CodeInvalid, "main"},
			{"pawl/none", f.Base, child.Commit, pawl.CodeConflict, "is gone"},
			{"main", f.Base, child.Commit, pawl.CodeInvalid, "pawl/"},
			{"pawl/../main", f.Base, child.Commit, pawl.CodeInvalid, "main"},
		} {
			wantCode(t, f.Advance(ctx, test.branch, test.from, test.to), test.code, test.word)
		}
		wantRef(t, f, head, child.Commit)
	})
}

// nameOf is the name of the worktree of a branch.
func nameOf(branch string) string { return strings.TrimPrefix(branch, "pawl/") }

// MustAdvance moves a branch forward.
func MustAdvance(tb rapid.TB, w pawl.Workspaces, branch string, from, to pawl.CommitHash) {
	tb.Helper()
	if err := w.Advance(context.Background(), branch, from, to); err != nil {
		tb.Fatalf("advance %s: %v", branch, err)
	}
}
