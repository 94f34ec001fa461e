package gitworktree_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// restoring is the way of the run's branch back to an earlier tree.
func restoring(from, to pawl.CommitHash) pawl.RestoreSpec {
	return pawl.RestoreSpec{Branch: runBranch, From: from, To: to, Message: "Roll back", ID: "21", Time: time.Unix(1_780_000_200, 0)}
}

func mustRestore(t *testing.T, w pawl.Workspaces, spec pawl.RestoreSpec) pawl.CommitInfo {
	t.Helper()
	info, err := w.Restore(context.Background(), spec)
	if err != nil {
		t.Fatalf("restore %s: %v", spec.To, err)
	}
	return info
}

// at makes the run's branch, and has the user's own git move it to a commit of these files.
func (r *repository) at(t *testing.T, files map[string]string) pawl.CommitHash {
	t.Helper()
	commit := r.git(t, "commit-tree", "-p", "HEAD", "-m", "Work", r.tree(t, files))
	r.git(t, "update-ref", "refs/heads/"+runBranch, commit)
	r.git(t, "reset", "-q", "--hard")
	return pawl.CommitHash(commit)
}

// V-50, V-B12
func TestRestore(t *testing.T) {
	ctx := context.Background()
	type files = map[string]string
	for n, test := range []struct {
		name           string
		to, from, want files
	}{
		{
			"files come back, go and change, tasks stay",
			files{"a": "1", "b": "1", "x/y": "1", ".pawl/tasks/1/plan.md": "1", ".pawl/tasks/1/old.md": "1", ".pawl/other": "1"},
			files{"a": "2", "c": "2", "x": "2", ".pawl/tasks/1/plan.md": "2", ".pawl/tasks/2/new.md": "2", ".pawl/other": "2"},
			files{"a": "1", "b": "1", "x/y": "1", ".pawl/tasks/1/plan.md": "2", ".pawl/tasks/2/new.md": "2", ".pawl/other": "1"},
		},
		{"no tasks then", files{"a": "1"}, files{"a": "2", ".pawl/tasks/1": "2"}, files{"a": "1", ".pawl/tasks/1": "2"}},
		{"no tasks now", files{"a": "1", ".pawl/tasks/1": "1"}, files{"a": "2"}, files{"a": "1"}},
		{"no tasks at all", files{"a": "1"}, files{"a": "2"}, files{"a": "1"}},
		{"the same", files{"a": "1", ".pawl/tasks/1": "1"}, files{"a": "1", ".pawl/tasks/1": "1"}, files{"a": "1", ".pawl/tasks/1": "1"}},
		{"a file in their place then", files{"a": "1", ".pawl": "1"}, files{"a": "2", ".pawl/tasks/1": "2"}, files{"a": "1", ".pawl/tasks/1": "2"}},
		{"a link in their place then", files{"a": "1", ".pawl@": "x"}, files{"a": "2", ".pawl/tasks/1": "2"}, files{"a": "1", ".pawl/tasks/1": "2"}},
		{"a link in their place now", files{"a": "1", ".pawl/tasks/1": "1", ".pawl/x": "1"}, files{"a": "2", ".pawl@": "x"}, files{"a": "1", ".pawl/x": "1"}},
		{"a file for tasks now", files{"a": "1", ".pawl/tasks/1": "1"}, files{"a": "2", ".pawl/tasks": "2"}, files{"a": "1", ".pawl/tasks": "2"}},
		{"nothing", files{}, files{"a": "2", ".pawl/tasks/1": "2"}, files{".pawl/tasks/1": "2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sample(t, n)
			r := newRepository(t, map[string]string{"README": "A project.\n"})
			to, from := r.at(t, test.to), r.at(t, test.from)
			f, before := r.fixture(t), r.users(t)
			info := mustRestore(t, f, restoring(from, to))
			r.wantHeld(t, string(info.Commit), test.want)
			if got := r.resolve(t, "refs/heads/"+runBranch); got != info.Commit {
				t.Errorf("the branch is at %s, want %s", got, info.Commit)
			}
			if got, want := r.git(t, "log", "-1", "--format=%P %ad %B", "--date=unix", string(info.Commit)),
				string(from)+" 1780000200 Roll back\n\nPawl-Effect: 21\n"; got != want {
				t.Errorf("the commit is %q, want %q", got, want)
			}
			for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
				if diff := cmp.Diff(info, mustRestore(t, w, restoring(from, to))); diff != "" {
					t.Errorf("called again (-first +second):\n%s", diff)
				}
			}
			state := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
			if state.Head != info.Commit || state.Tree != info.Tree {
				t.Errorf("its worktree is %+v, want the tree %s", state, info.Tree)
			}
			if after := r.users(t); after != before {
				t.Errorf("the user's checkout changed:\n%s", cmp.Diff(before, after))
			}
			r.git(t, "fsck", "--strict", "--no-dangling")
		})
	}

	// Only what is not committed is work to be saved when the worktree follows.
	t.Run("the worktree follows in a reset", func(t *testing.T) {
		r, f, candidate := shown(t)
		workspacetest.MustAdvance(t, f, runBranch, f.Base, candidate.Commit)
		workspacetest.MustReset(t, f, runName, candidate.Commit, runSalvage)
		info := mustRestore(t, f, restoring(candidate.Commit, f.Base))
		wantFiles(t, f, map[string]string{"README": "Read me.\n", ".gitignore": "build/\n", ".pawl/tasks/1/plan.md": "The plan.\n"})
		if got := workspacetest.MustReset(t, f, runName, info.Commit, runSalvage); got.Salvage != "" || got.Tree != info.Tree {
			t.Errorf("state is %+v, want the tree %s and nothing saved", got, info.Tree)
		}
		wantFiles(t, f, map[string]string{"README": "A project.\n", ".gitignore": "build/\n", ".pawl/tasks/1/plan.md": "The plan.\n"})
		if !cmp.Equal(info.Files, []string{"README"}) || len(info.Hunks) != 2 {
			t.Errorf("it changes %q, hunks %x", info.Files, info.Hunks)
		}
		r.git(t, "fsck", "--strict", "--no-dangling")
	})

	t.Run("refuses what is not so", func(t *testing.T) {
		r, f, candidate := shown(t)
		missing := pawl.CommitHash(fmt.Sprintf("%0*x", len(f.Base), 1))
		change := func(change func(*pawl.RestoreSpec)) pawl.RestoreSpec {
			spec := restoring(f.Base, candidate.Commit)
			change(&spec)
			return spec
		}
		for _, test := range []struct {
			spec pawl.RestoreSpec
			code pawl.Code
			word string
		}{
			{change(func(s *pawl.RestoreSpec) { s.From = candidate.Commit }), pawl.CodeConflict, "somebody else moved it"},
			{change(func(s *pawl.RestoreSpec) { s.To = missing }), pawl.CodeNotFound, string(missing)},
			{change(func(s *pawl.RestoreSpec) { s.To = "HEAD" }), pawl.CodeInvalid, "HEAD"},
			{change(func(s *pawl.RestoreSpec) { s.From = "HEAD" }), pawl.CodeInvalid, "HEAD"},
			{change(func(s *pawl.RestoreSpec) { s.Branch = "main" }), pawl.CodeInvalid, "pawl/"},
			{change(func(s *pawl.RestoreSpec) { s.Branch = "pawl/none" }), pawl.CodeConflict, "is gone"},
			{change(func(s *pawl.RestoreSpec) { s.ID = "" }), pawl.CodeInvalid, "ID"},
			{change(func(s *pawl.RestoreSpec) { s.ID = "1\n2" }), pawl.CodeInvalid, "ID"},
			{change(func(s *pawl.RestoreSpec) { s.Time = time.Time{} }), pawl.CodeInvalid, "time"},
		} {
			_, err := f.Restore(ctx, test.spec)
			wantCode(t, err, test.code, test.word)
		}
		if got := r.resolve(t, "refs/heads/"+runBranch); got != f.Base {
			t.Errorf("the branch is at %s, want %s", got, f.Base)
		}
		// What follows the commit of an earlier call is somebody else's as well.
		info := mustRestore(t, f, restoring(f.Base, candidate.Commit))
		again := restoring(info.Commit, f.Base)
		again.ID = "23"
		mustRestore(t, f, again)
		_, err := f.Restore(ctx, restoring(f.Base, candidate.Commit))
		wantCode(t, err, pawl.CodeConflict, "somebody else moved it")
	})

	t.Run("leaves a branch that the user has checked out", func(t *testing.T) {
		r := newRepository(t, map[string]string{"README": "A project.\n"})
		base, from := r.base(t), r.at(t, map[string]string{"a": "1"})
		r.git(t, "switch", "-q", runBranch)
		f := r.fixture(t)
		_, err := f.Restore(ctx, restoring(from, base))
		wantCode(t, err, pawl.CodeState, "is checked out")
		_, err = f.WriteFiles(ctx, recording(from, "plan.md", "1"))
		wantCode(t, err, pawl.CodeState, "is checked out")
	})
}

// V-49
func TestMark(t *testing.T) {
	ctx := context.Background()
	r, f, candidate := shown(t)
	const ref = "refs/pawl/checkpoints/" + runName + "/1"
	for _, w := range []pawl.Workspaces{f, f, f.Restart(t)} {
		if err := w.Mark(ctx, ref, f.Base); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.resolve(t, ref); got != f.Base {
		t.Errorf("%s is at %s, want %s", ref, got, f.Base)
	}
	missing := pawl.CommitHash(fmt.Sprintf("%0*x", len(f.Base), 1))
	for _, test := range []struct {
		ref    string
		commit pawl.CommitHash
		code   pawl.Code
		word   string
	}{
		{ref, candidate.Commit, pawl.CodeConflict, "keeps " + string(f.Base)},
		{ref + "0", missing, pawl.CodeNotFound, string(missing)},
		{ref + "0", "HEAD", pawl.CodeInvalid, "HEAD"},
		{"refs/heads/pawl/x", f.Base, pawl.CodeInvalid, "refs/pawl/"},
		{"refs/pawl/../heads/main", f.Base, pawl.CodeInvalid, "ref"},
	} {
		wantCode(t, f.Mark(ctx, test.ref, test.commit), test.code, test.word)
	}
	if got := r.git(t, "for-each-ref", "--format=%(refname)", "refs/pawl"); got != ref {
		t.Errorf("refs are %s", strings.ReplaceAll(got, "\n", " "))
	}
}
