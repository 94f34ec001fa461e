package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/workspace/gitworktree"
)

// F-11: a confined command finds its run's history in the worktree, and neither the
// user's repository nor objects that no commit of the run reaches.
func TestConfinedCommandsSeeOwnObjects(t *testing.T) {
	box, err := sandbox.Probe(t.Context())
	if err != nil {
		t.Skip(err)
	}
	user := checkout{t, t.TempDir()}
	user.git("init", "-q", "-b", "main")
	base := user.commit(map[string]string{"README": "A project.\n"})
	user.git("tag", "-a", "-m", "Release", "v1.0")
	user.git("switch", "-q", "-c", "private")
	private := user.commit(map[string]string{"secret": "the password\n"})
	repo, err := gitworktree.Inspect(t.Context(), nil, user.dir)
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	spaces, err := gitworktree.New(t.Context(), gitworktree.Options{Repository: repo, State: state, Owner: box.Owner})
	if err != nil {
		t.Fatal(err)
	}
	defer spaces.Rest()
	_, err = spaces.Open(t.Context(), pawl.WorkspaceSpec{Name: "001-x", Branch: "pawl/001-x", Base: base})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := spaces.Locate(t.Context(), "001-x")
	if err != nil {
		t.Fatal(err)
	}
	gate, release, err := spaces.Checkout(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	rooms := room.New(room.Options{
		State: state, Enforcer: box, Visible: spaces.Visible,
		Host: func(context.Context) room.Host { return room.NewHost(nil, "") },
	})
	defer rooms.Close()
	agent, err := rooms.Agent(t.Context(), pawl.AgentRoom{Run: "001-x", Name: "001-x", Tree: opened.Dir})
	if err != nil {
		t.Fatal(err)
	}
	judge, err := rooms.Gate(t.Context(), pawl.GateRoom{Run: "001-x", Commit: base, Tree: gate})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	for dir, r := range map[string]pawl.Room{opened.Dir: agent, gate: judge} {
		run := func(shell string) pawl.CommandResult {
			t.Helper()
			res, err := r.Run(t.Context(), pawl.Command{Shell: shell})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		for shell, want := range map[string]string{
			"git describe && git status --short": "v1.0\n",
			"git show --format=%s --name-only":   "work\n\nREADME\n",
			"git log --all --format=%H":          string(base) + "\n",
		} {
			if res := run(shell); res.ExitCode != 0 || string(res.Output) != want {
				t.Errorf("in %s, %s ends with %d and says\n%s", dir, shell, res.ExitCode, res.Output)
			}
		}
		for _, shell := range []string{
			"git cat-file -p " + string(private), "git -C " + user.dir + " log", "ls " + filepath.Join(user.dir, ".git", "objects"),
		} {
			if res := run(shell); res.ExitCode == 0 || strings.Contains(string(res.Output), "secret") {
				t.Errorf("in %s, %s ends with %d and says\n%s", dir, shell, res.ExitCode, res.Output)
			}
		}
	}
}
