package workspacetest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"pawl"
)

func testCommit(t *testing.T, newFixture Make) {
	ctx := context.Background()

	t.Run("records the content and moves the branch", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "lib/a.txt", "one\n2\nthree\n")
		MustWrite(t, state.Dir, "new", "new\n")
		MustWrite(t, state.Dir, "build/out", "ignored\n")
		MustRemove(t, state.Dir, "README")
		info := MustCommit(t, f, commitSpec(f, "7"))
		wantRef(t, f, head, info.Commit)
		wantCommit(t, f, info.Commit, with(project(), "lib/a.txt", "one\n2\nthree\n", "new", "new\n", "README", "-"))
		changed := []string{"README", "lib/a.txt", "new"}
		if diff := cmp.Diff(changed, info.Files); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(changed, info.Total); diff != "" {
			t.Errorf("total (-want +got):\n%s", diff)
		}
		if info.PatchID == "" {
			t.Error("the change has no patch id")
		}
		if tree := MustTree(t, f, name); tree != info.Tree {
			t.Errorf("the worktree's tree is %s, the commit's %s", tree, info.Tree)
		}
	})

	t.Run("compares with the parent and with the base", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "first", "1\n")
		first := MustCommit(t, f, commitSpec(f, "1"))
		MustWrite(t, state.Dir, "second", "2\n")
		next := commitSpec(f, "2")
		next.Parent = first.Commit
		second := MustCommit(t, f, next)
		if diff := cmp.Diff([]string{"second"}, second.Files); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"first", "second"}, second.Total); diff != "" {
			t.Errorf("total (-want +got):\n%s", diff)
		}
	})

	t.Run("of nothing changed is a commit too", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		info := MustCommit(t, f, commitSpec(f, "7"))
		if info.Commit == f.Base || info.Tree != state.Tree || len(info.Files)+len(info.Total) > 0 || info.PatchID != "" {
			t.Errorf("info is %+v", info)
		}
		wantRef(t, f, head, info.Commit)
	})

	t.Run("holds the tasks, which its tree and patch id do not", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, ".pawl/tasks/001-add-login/plan.md", "1. Do it.\n")
		info := MustCommit(t, f, commitSpec(f, "7"))
		if info.Tree != state.Tree || info.PatchID != "" {
			t.Errorf("tree is %s, want %s; patch id is %q, want none", info.Tree, state.Tree, info.PatchID)
		}
		if diff := cmp.Diff([]string{".pawl/tasks/001-add-login/plan.md"}, info.Files); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		wantCommit(t, f, info.Commit, with(project(), ".pawl/tasks/001-add-login/plan.md", "1. Do it.\n"))
		if again := MustCommit(t, f, commitSpec(f, "7")); again.Tree != info.Tree {
			t.Errorf("the second call's tree is %s, want %s", again.Tree, info.Tree)
		}
	})

	t.Run("with an ID it has seen is the same commit", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "lib/a.txt", "changed\n")
		first := MustCommit(t, f, commitSpec(f, "7"))
		MustWrite(t, state.Dir, "lib/a.txt", "changed since\n")
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if diff := cmp.Diff(first, MustCommit(t, w, commitSpec(f, "7"))); diff != "" {
				t.Errorf("second call (-first +second):\n%s", diff)
			}
		}
		wantRef(t, f, head, first.Commit)
		wantFiles(t, state.Dir, with(project(), "lib/a.txt", "changed since\n"))

		next := commitSpec(f, "8")
		next.Parent = first.Commit
		MustCommit(t, f, next)
		if again := MustCommit(t, f, commitSpec(f, "7")); again.Commit != first.Commit {
			t.Errorf("below another commit it is %s, want %s", again.Commit, first.Commit)
		}
	})

	t.Run("is not fooled by an ID in a message", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, spec(f))
		forged := commitSpec(f, "7")
		forged.Message = "Innocent\n\nPawl-Effect: 8"
		first := MustCommit(t, f, forged)
		_, err := f.Commit(ctx, commitSpec(f, "8"))
		wantCode(t, err, pawl.CodeConflict, string(first.Commit))
	})

	t.Run("conflicts when the branch is not at the parent", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		first := MustCommit(t, f, commitSpec(f, "7"))
		MustWrite(t, state.Dir, "new", "new\n")
		_, err := f.Commit(ctx, commitSpec(f, "8"))
		wantCode(t, err, pawl.CodeConflict, string(first.Commit))
		wantCode(t, err, pawl.CodeConflict, string(f.Base))
		wantRef(t, f, head, first.Commit)
	})

	t.Run("happens once when two want to follow one parent", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, spec(f))
		var group errgroup.Group
		codes := make([]pawl.Code, 2)
		for n, id := range []string{"7", "8"} {
			group.Go(func() error {
				if _, err := f.Commit(ctx, commitSpec(f, id)); err != nil {
					codes[n] = pawl.CodeOf(err)
				}
				return nil
			})
		}
		_ = group.Wait()
		if codes[0]+codes[1] != pawl.CodeConflict {
			t.Errorf("the codes are %q, want one conflict", codes)
		}
	})

	t.Run("refuses what is not a commit to make", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, spec(f))
		for about, change := range map[string]func(*pawl.CommitSpec){
			"another branch":            func(s *pawl.CommitSpec) { s.Branch = "pawl/002-other" },
			"a branch that is not ours": func(s *pawl.CommitSpec) { s.Branch = "main" },
			"no ID":                     func(s *pawl.CommitSpec) { s.ID = "" },
			"an ID of two lines":        func(s *pawl.CommitSpec) { s.ID = "7\n8" },
			"a parent that is no hash":  func(s *pawl.CommitSpec) { s.Parent = "HEAD" },
		} {
			spec := commitSpec(f, "7")
			change(&spec)
			if _, err := f.Commit(ctx, spec); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%s: error is %v, want the code invalid", about, err)
			}
		}
		wantRef(t, f, head, f.Base)
	})

	t.Run("has a patch id that knows the change and not its place", func(t *testing.T) {
		lines := strings.Repeat("line\n", 20)
		ids := map[string]string{}
		for about, change := range map[string]string{
			"change":      lines + "old\n" + lines + "new\n" + lines,
			"same, lower": "above\n" + lines + "old\n" + lines + "new\n" + lines,
			"other":       lines + "old\n" + lines + "newer\n" + lines,
			"indented":    lines + "old\n" + lines + "  new\n" + lines,
		} {
			before := strings.Replace(change, "new\n", "", 1)
			before = strings.Replace(before, "  ", "", 1)
			before = strings.Replace(before, "newer\n", "", 1)
			f := newFixture(t, with(project(), "file", before))
			MustWrite(t, MustOpen(t, f, spec(f)).Dir, "file", change)
			ids[about] = MustCommit(t, f, commitSpec(f, "7")).PatchID
		}
		if ids["change"] != ids["same, lower"] {
			t.Error("the place changes the patch id")
		}
		if ids["change"] == ids["other"] || ids["change"] == ids["indented"] {
			t.Errorf("different changes have one patch id: %v", ids)
		}
	})

	t.Run("shows in a diff", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "lib/a.txt", "one\ntwo\nthree\nfour\n")
		info := MustCommit(t, f, commitSpec(f, "7"))
		patch, err := f.Diff(ctx, f.Base, info.Commit)
		if err != nil || !strings.Contains(string(patch), "+++ b/lib/a.txt") || !strings.Contains(string(patch), "\n+four\n") {
			t.Errorf("patch is %q, %v", patch, err)
		}
		if patch, err := f.Diff(ctx, info.Commit, info.Commit); err != nil || len(patch) > 0 {
			t.Errorf("the patch of nothing is %q, %v", patch, err)
		}
		if _, err := f.Diff(ctx, "--output=/tmp/x", info.Commit); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("error is %v, want the code invalid", err)
		}
		missing := pawl.CommitHash(strings.Repeat("1", len(f.Base)))
		_, err = f.Diff(ctx, f.Base, missing)
		wantCode(t, err, pawl.CodeNotFound, string(missing))
	})
}

func testPaths(t *testing.T, newFixture Make) {
	t.Run("of all kinds survive", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		paths := []string{
			"-rf", "--help", "with space", "with\nnewline", "with\ttab", "\"quoted\"", "back\\slash", "ünïcode", "not-utf8-\xff\xfe",
			":(exclude)x", "*", "?[a]", "~", "$HOME", "dir with space/-x/\n", "..dots", "#comment", "!bang", "a:b",
		}
		want := project()
		for _, p := range paths {
			MustWrite(t, state.Dir, p, "content of "+p)
			want[filepath.Clean(p)] = "content of " + p
		}
		info := MustCommit(t, f, commitSpec(f, "7"))
		if len(info.Files) != len(paths) {
			t.Errorf("files are %q", info.Files)
		}
		for _, p := range paths {
			got, err := f.FileAt(context.Background(), info.Tree, p)
			if err != nil || string(got) != "content of "+p {
				t.Errorf("%q is %q, %v", p, got, err)
			}
		}
		wantCommit(t, f, info.Commit, want)
		back := MustReset(t, f, name, f.Base, kept)
		wantFiles(t, back.Dir, project())
		forth := MustReset(t, f, name, info.Commit, kept+"b")
		wantFiles(t, forth.Dir, want)
	})
}
