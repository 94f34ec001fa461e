package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/start"
)

// checkout is a repository to work in with git.
type checkout struct {
	tb  testing.TB
	dir string
}

func (c checkout) git(args ...string) string {
	c.tb.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits files and returns the commit.
func (c checkout) commit(files map[string]string) pawl.CommitHash {
	c.tb.Helper()
	for name, text := range files {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			c.tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			c.tb.Fatal(err)
		}
	}
	c.git("add", "-A")
	c.git("commit", "-q", "--allow-empty", "-m", "work")
	return pawl.CommitHash(c.git("rev-parse", "HEAD"))
}

func plan(status, goal, tasks string) map[string]string {
	return map[string]string{"plan.md": "# Plan: x\n\n**Iteration:** 1\n**Status:** " + status + "\n\n## Goal\n\nno\n",
		"plan.json": `{"goal":"` + goal + `","acceptance_criteria":[],"tasks":[` + tasks + `]}`}
}

func in(task string, files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[".pawl/tasks/"+task+"/"+name] = text
	}
	return out
}

// V-19 V-22 V-24: what a repository knows of tasks is in its commits: at HEAD, and
// on the newest of a task's branches that HEAD does not have. What lies about in
// the checkout does not count.
func TestFolders(t *testing.T) {
	t.Parallel()
	c := checkout{t, t.TempDir()}
	c.git("init", "-q", "-b", "main")
	p := project.Project{Repo: pawl.Repository{GitDir: filepath.Join(c.dir, ".git"), Root: c.dir}}
	found := func() map[string]start.Folder {
		t.Helper()
		all, err := folders(t.Context(), c.dir, p)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]start.Folder{}
		for _, f := range all {
			out[f.Task] = f
		}
		return out
	}
	knows := func(task string, want engine.Known) {
		t.Helper()
		if got, err := known(t.Context(), c.dir, p, task); err != nil || got != want {
			t.Errorf("of %s the repository knows %+v, %v, want %+v", task, got, err, want)
		}
	}
	if all := found(); len(all) != 0 {
		t.Errorf("before the first commit there are %+v", all)
	}

	c.commit(in("001-done", plan("COMPLETE", "One", "")))
	c.git("branch", "pawl/001-done")
	c.git("checkout", "-q", "-b", "pawl/002-auth")
	c.commit(in("002-auth", plan("IN_PROGRESS", "Two", `{"id":"1.1","title":"a"}`)))
	c.git("checkout", "-q", "-b", "pawl/002-auth-r2")
	files := in("002-auth", plan("IN_PROGRESS", "Two again", `{"id":"1.1","title":"a","done":true},{"id":"1.2","title":"b"}`))
	files[".pawl/tasks/002-auth/learnings/007-use-cents.md"] = "# Decision 007: Use cents\n"
	tip := c.commit(files)
	c.git("checkout", "-q", "-b", "pawl/003-no-folder", "main")
	bare := c.commit(map[string]string{"x": "y"})
	c.git("checkout", "-q", "main")
	c.commit(in("002-auth", plan("DRAFT", "An older state", "")))
	if err := os.MkdirAll(filepath.Join(c.dir, ".pawl/tasks/099-not-committed"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.git("branch", "pawl/notes")
	c.git("branch", "pawl/004-child/of-a-run", "pawl/003-no-folder")

	all := found()
	if len(all) != 2 {
		t.Errorf("there are %d folders: %+v", len(all), all)
	}
	if f := all["001-done"]; f.Status != "COMPLETE" || f.Goal != "One" || f.Where != "HEAD" {
		t.Errorf("got %+v", f)
	}
	if f := all["002-auth"]; f.Status != "IN_PROGRESS" || f.Goal != "Two again" || f.Where != "pawl/002-auth-r2" || len(f.Tasks) != 2 || !f.Tasks[0].Done || f.Tasks[1].Done {
		t.Errorf("got %+v", f)
	}
	knows("001-done", engine.Known{Runs: 1})
	knows("002-auth", engine.Known{Base: tip, Learnings: 7, Runs: 2})
	knows("003-no-folder", engine.Known{Base: bare, Runs: 1})
	knows("004-child", engine.Known{})
	knows("099-not-committed", engine.Known{})

	// What was fetched from another clone is known too; of two with one number the own one counts.
	c.git("checkout", "-q", "-b", "elsewhere", "main")
	far := c.commit(in("005-elsewhere", plan("IN_PROGRESS", "Begun in another clone", "")))
	c.git("checkout", "-q", "main")
	c.git("update-ref", "refs/remotes/origin/pawl/005-elsewhere", string(far))
	c.git("update-ref", "refs/remotes/origin/pawl/002-auth-r2", string(far))
	if f := found()["005-elsewhere"]; f.Goal != "Begun in another clone" || f.Where != "origin/pawl/005-elsewhere" {
		t.Errorf("got %+v", f)
	}
	knows("005-elsewhere", engine.Known{Base: far, Runs: 1})
	knows("002-auth", engine.Known{Base: tip, Learnings: 7, Runs: 2})

	c.git("merge", "-q", "-s", "ours", "-m", "merged", "pawl/002-auth-r2")
	if f := found()["002-auth"]; f.Goal != "An older state" || f.Where != "HEAD" {
		t.Errorf("what was merged is as it is at HEAD: %+v", f)
	}
	knows("002-auth", engine.Known{Runs: 2})
}
