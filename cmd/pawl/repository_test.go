package main

import (
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/cli"
	"pawl/internal/store/sqlite"
	"pawl/internal/store/storetest"
)

// Clones in folders of the same name have separate state folders, each with its own runs.
// Every path to one clone leads to the same state folder. F-63
func TestClonesOfOneName(t *testing.T) {
	top := t.TempDir()
	in := func(dir string) checkout {
		t.Helper()
		dir = filepath.Join(top, dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return checkout{t, dir}
	}
	in("origin").git("init", "-q")
	in("origin").git("commit", "-q", "--allow-empty", "-m", "start")
	clones := map[string]string{} // by state folder
	events := map[string]int{}
	for i, clone := range []string{"src/app", "a/src/app", "b/app"} {
		path, tree, link := filepath.Join(top, clone), filepath.Join(top, clone+"-tree"), filepath.Join(top, clone+"-link")
		in(filepath.Dir(clone)).git("clone", "-q", filepath.Join(top, "origin"), "app")
		in(clone).git("worktree", "add", "-q", tree)
		in(clone + "/deep/er")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		var state string
		for _, dir := range []string{path, path + "/", path + "/deep/er/..", link, link + "/", link + "/deep", tree} {
			for _, access := range []cli.Access{cli.Read, cli.Steer} {
				p, err := find(t.Context(), &cli.App{Dir: dir, StateHome: filepath.Join(top, "state")}, access)
				if err != nil {
					t.Fatal(err)
				}
				if state == "" {
					state = p.Dir
				}
				if p.Dir != state {
					t.Errorf("%s leads to the state folder %s, want %s", dir, p.Dir, state)
				}
			}
		}
		if other := clones[state]; other != "" {
			t.Fatalf("%s has the same state folder as %s", clone, other)
		}
		clones[state], events[state] = clone, i+1
		log, err := sqlite.Open(state)
		if err != nil {
			t.Fatal(err)
		}
		storetest.MustAppend(t, log, storetest.Unit("001-add-login", 0, i+1))
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for state, clone := range clones {
		log, err := sqlite.OpenReadOnly(state)
		if err != nil {
			t.Fatal(err)
		}
		if got := storetest.MustEvents(t, log, "001-add-login", 0); len(got) != events[state] {
			t.Errorf("the run of %s has %d events, want %d", clone, len(got), events[state])
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
