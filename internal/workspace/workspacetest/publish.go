package workspacetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"pawl"
)

// work is the ref that attempts are made on.
const work = pawl.AttemptsFolder + name

var ada = pawl.Identity{Name: "Ada", Email: "ada@example.org"}

// apart is the worktree of a run whose attempts are made apart from its branch.
func apart(f Fixture) pawl.WorkspaceSpec {
	return pawl.WorkspaceSpec{Name: name, Branch: work, Base: f.Base, Result: branch, Known: f.Base, Time: time.Unix(1_780_000_400, 0)}
}

func publishSpec(from, of pawl.CommitHash, id string) pawl.PublishSpec {
	return pawl.PublishSpec{
		Branch: branch, From: from, Of: of, Author: ada, Message: "Add a login\n\nWith a password.", Trailers: []string{"Pawl-Run: " + name},
		ID: id, Time: time.Unix(1_780_000_500, 0),
	}
}

func mustPublish(t *testing.T, w pawl.Workspaces, spec pawl.PublishSpec) pawl.CommitHash {
	t.Helper()
	commit, err := w.Publish(context.Background(), spec)
	if err != nil {
		t.Fatalf("publish %s: %v", spec.Of, err)
	}
	return commit
}

// attempt commits files on the ref of the attempts.
func attempt(t *testing.T, w pawl.Workspaces, f Fixture, parent pawl.CommitHash, id string, files ...string) pawl.CommitInfo {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		dir := MustLocate(t, w, name)
		if MustRemove(t, dir, files[i]); files[i+1] != "-" {
			MustWrite(t, dir, files[i], files[i+1])
		}
	}
	return MustCommit(t, w, pawl.CommitSpec{Name: name, Branch: work, Parent: parent, Base: f.Base, Message: "Attempt", ID: id, Time: time.Unix(1_780_000_450, 0)})
}

func testPublish(t *testing.T, newFixture Make) {
	ctx := context.Background()

	// The branch has one commit for two attempts, and the attempts are where they were.
	t.Run("gives the branch what has landed", func(t *testing.T) {
		f := newFixture(t, project())
		if opened := MustOpen(t, f, apart(f)); opened.Head != f.Base || opened.Result != f.Base {
			t.Errorf("opened as %+v, want both at %s", opened.WorkspaceState, f.Base)
		}
		wantRef(t, f, head, f.Base)
		one := attempt(t, f, f, f.Base, "1", "lib/a.txt", "ONE\n")
		two := attempt(t, f, f, one.Commit, "2", "new", "1\n", "README", "-")
		wantRef(t, f, head, f.Base)
		commit := mustPublish(t, f, publishSpec(f.Base, two.Commit, "3"))
		wantRef(t, f, head, commit)
		wantRef(t, f, work, two.Commit)
		wantCommit(t, f, commit, with(project(), "lib/a.txt", "ONE\n", "new", "1\n", "README", "-"))
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if again := mustPublish(t, w, publishSpec(f.Base, two.Commit, "3")); again != commit {
				t.Errorf("called again it is %s, want %s", again, commit)
			}
			if nothing := mustPublish(t, w, publishSpec(commit, two.Commit, "4")); nothing != commit {
				t.Errorf("the same tree again is %s, want %s", nothing, commit)
			}
		}
	})

	t.Run("refuses a branch that is elsewhere, and what is no branch of ours", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, apart(f))
		one := attempt(t, f, f, f.Base, "1", "lib/a.txt", "ONE\n")
		f.Move(t, head, one.Commit)
		_, err := f.Publish(ctx, publishSpec(f.Base, one.Commit, "3"))
		wantCode(t, err, pawl.CodeConflict, branch)
		wantRef(t, f, head, one.Commit)
		bad := publishSpec(f.Base, one.Commit, "3")
		for _, name := range []string{"main", "refs/heads/main", "refs/pawl/salvage/x", "refs/pawl/attempts/../x"} {
			bad.Branch = name
			_, err := f.Publish(ctx, bad)
			wantCode(t, err, pawl.CodeInvalid, name)
		}
		missing := publishSpec(one.Commit, pawl.CommitHash(strings.Repeat("1", len(f.Base))), "3")
		_, err = f.Publish(ctx, missing)
		wantCode(t, err, pawl.CodeNotFound, string(missing.Of))
	})

	// What a person adds to the branch becomes part of the work when the run goes on.
	t.Run("takes in what a person added", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, apart(f))
		one := attempt(t, f, f, f.Base, "1", "lib/a.txt", "ONE\ntwo\nthree\n")
		first := mustPublish(t, f, publishSpec(f.Base, one.Commit, "2"))
		two := attempt(t, f, f, one.Commit, "3", "lib/a.txt", "EINS\ntwo\nthree\n") // a line that the branch has changed too
		added := MustWork(t, f, child1, first, "lib/deep/b.go", "package person\n")
		f.Move(t, head, added.Commit)
		spec := apart(f)
		spec.Known = first
		// As long as the worktree has files, the person waits.
		if state := MustOpen(t, f, spec); state.Head != two.Commit || state.Result != first {
			t.Errorf("opened as %+v, want the work at %s and the branch at %s", state.WorkspaceState, two.Commit, first)
		}
		if _, err := f.Close(ctx, name, kept); err != nil {
			t.Fatal(err)
		}
		merged := MustOpen(t, f, spec)
		if merged.Result != added.Commit || merged.Head == two.Commit {
			t.Errorf("opened as %+v, want a merge and the branch at %s", merged.WorkspaceState, added.Commit)
		}
		wantRef(t, f, work, merged.Head)
		wantRef(t, f, head, added.Commit)
		want := with(project(), "lib/a.txt", "EINS\ntwo\nthree\n", "lib/deep/b.go", "package person\n")
		wantCommit(t, f, merged.Head, want)
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} { // the same call again
			if state := MustOpen(t, w, spec); state.Head != merged.Head || state.Result != added.Commit {
				t.Errorf("opened again as %+v, want %+v", state.WorkspaceState, merged.WorkspaceState)
			}
		}
		wantCommit(t, f, mustPublish(t, f, publishSpec(added.Commit, merged.Head, "4")), want)
	})

	t.Run("does not decide between a person and the work", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, apart(f))
		one := attempt(t, f, f, f.Base, "1", "lib/a.txt", "ONE\n")
		added := MustWork(t, f, child1, f.Base, "lib/a.txt", "EINS\n")
		f.Move(t, head, added.Commit)
		if _, err := f.Close(ctx, name, kept); err != nil {
			t.Fatal(err)
		}
		_, err := f.Open(ctx, apart(f))
		wantCode(t, err, pawl.CodeConflict, "lib/a.txt")
		wantRef(t, f, work, one.Commit)
		wantRef(t, f, head, added.Commit)
		f.Move(t, head, f.Base) // as the hint says
		if state := MustOpen(t, f, apart(f)); state.Head != one.Commit || state.Result != f.Base {
			t.Errorf("opened as %+v", state.WorkspaceState)
		}
	})

	t.Run("says when the branch went elsewhere", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, apart(f))
		one := attempt(t, f, f, f.Base, "1", "lib/a.txt", "ONE\n")
		first := mustPublish(t, f, publishSpec(f.Base, one.Commit, "2"))
		f.Move(t, head, f.Base)
		if _, err := f.Close(ctx, name, kept); err != nil {
			t.Fatal(err)
		}
		spec := apart(f)
		spec.Known = first
		_, err := f.Open(ctx, spec)
		wantCode(t, err, pawl.CodeConflict, "somebody else moved it")
	})
}
