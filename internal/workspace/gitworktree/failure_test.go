package gitworktree_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// When the disk takes no more, nothing is removed and nothing is
// reported as done; when it does again, everything goes on.
func TestWriteFailures(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	r.byGit = true // only git is kept from writing here
	command := mustFind(t)
	full := false
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 1<<20)
	_, _ = random.Read(noise) // it never fails
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		if full && !readsOnly(cmd.Args[1]) { // no file may grow beyond 512 kB
			cmd.Args = append([]string{"sh", "-c", `trap "" XFSZ; ulimit -f 1024; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
		}
		return run(cmd)
	}
	f := r.fixture(t)
	f.Workspaces = r.open(t, command)
	state := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	var text strings.Builder
	for line := range slices.Chunk(noise, 40) {
		fmt.Fprintf(&text, "%x\n", line)
	}
	one := workspacetest.MustWork(t, f, "pawl/one", f.Base, "text", "one\n"+text.String())
	two := workspacetest.MustWork(t, f, "pawl/two", f.Base, "text", "two\n"+text.String())
	workspacetest.MustWrite(t, state.Dir, "noise", string(noise))
	before, refs := workspacetest.Files(t, state.Dir), r.git(t, "for-each-ref")

	full = true
	for name, call := range map[string]func() error{
		"tree":   func() error { _, err := f.Tree(ctx, runName); return err },
		"commit": func() error { _, err := commitRun("7")(ctx, f, f); return err },
		"reset":  func() error { _, err := f.Reset(ctx, runName, f.Base, runSalvage); return err },
		"show":   func() error { _, err := f.Show(ctx, runName, one.Commit, runSalvage); return err },
		"write files": func() error {
			_, err := f.WriteFiles(ctx, recording(f.Base, "large", string(noise)))
			return err
		},
		"compose": func() error {
			_, err := f.Compose(ctx, pawl.ComposeSpec{Of: one.Commit, Files: []pawl.ComposedFile{{Path: "large", Data: noise}}})
			return err
		},
		"merge": func() error { _, err := f.Merge(ctx, merging(one.Commit, two.Commit)); return err },
		"close": func() error { _, err := f.Close(ctx, runName, runSalvage); return err },
	} {
		if err := call(); err == nil {
			t.Errorf("%s succeeded though nothing could be written", name)
		}
		if diff := cmp.Diff(refs, r.git(t, "for-each-ref")); diff != "" {
			t.Errorf("%s changed the refs:\n%s", name, diff)
		}
		if !cmp.Equal(before, workspacetest.Files(t, state.Dir)) {
			t.Fatalf("%s changed the files", name)
		}
	}

	full = false
	workspacetest.MustReset(t, f, runName, f.Base, runSalvage)
	saved := r.resolve(t, runSalvage)
	full = true
	if _, err := f.Reset(ctx, runName, saved, runSalvage+"b"); err == nil {
		t.Error("the files were restored though they could not be written")
	}
	full = false
	if got := workspacetest.MustReset(t, f, runName, saved, runSalvage+"b"); got.Salvage != "" {
		t.Errorf("a restoring that was cut short was saved as work: %s", got.Salvage)
	}
	if !cmp.Equal(before, workspacetest.Files(t, state.Dir)) {
		t.Error("the files are not as they were saved")
	}
	r.git(t, "fsck", "--strict", "--no-dangling")
}

// The log says once why git records worktrees, and at the end how often it did.
func TestRecordingsAreLogged(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n", ".gitattributes": "*.x filter=y\n"})
	w := r.open(t, nil)
	state := workspacetest.MustOpen(t, w, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: r.base(t)})
	w.Rest()
	before := r.log.String()
	for _, name := range []string{"a", "b"} {
		workspacetest.MustWrite(t, state.Dir, name, "new\n")
		workspacetest.MustTree(t, w, runName)
	}
	w.Rest()
	log := r.log.String()
	if n := strings.Count(log, "git records a worktree, which takes longer"); n != 1 || !strings.Contains(log, "reason=attributes") {
		t.Errorf("the reason is logged %d times, want once:\n%s", n, log)
	}
	n := w.Recordings().ByGit["attributes"]
	if n < 2 || !strings.Contains(strings.TrimPrefix(log, before), fmt.Sprintf("by_git=map[attributes:%d]", n)) {
		t.Errorf("%d recordings by git are not logged:\n%s", n, log)
	}
}
