//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A repository that was moved keeps its runs, interrupted ones go on there, and whoever has to
// say something about one that is gone is told what. F-17
func TestMovedRepository(t *testing.T) {
	t.Parallel()
	bin := pawlProgram(t)
	tell := func(name string, story func(t *testing.T, y *yard, d *process, old, moved string)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, bin)
			d, begun := y.serve(), y.fifo("begun")
			old := y.repo("old")
			c := y.begin(old, "--gate", "tests=true", "--model", y.script("s.yaml", waitScript))
			hear(t, begun, 1, d)
			c.signal(syscall.SIGKILL)
			_ = c.end()
			mustWrite(t, filepath.Join(y.home, "go"), "")
			story(t, y, d, old, filepath.Join(y.home, "new"))
		})
	}
	rename := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	kill := func(d *process) {
		d.signal(syscall.SIGKILL)
		_ = d.end()
	}
	complete := func(t *testing.T, y *yard, dir string) {
		t.Helper()
		if got := y.outcomes(dir); len(got) != 1 || got[0] != "ended complete" {
			t.Errorf("%q", got)
		}
		y.noOrphans()
	}

	tell("AfterACrash", func(t *testing.T, y *yard, d *process, old, moved string) {
		kill(d)
		rename(t, old, moved)
		d = y.serve()
		d.wait(old + ` no longer exists: its runs stay as they are.*pawl resume.*pawl attach --from [0-9a-f]{16} .*Interrupted: 1`)
		if out := y.must(y.home, "serve", "status"); !strings.Contains(out, old+" no longer exists") || !strings.Contains(out, "pawl attach --from") {
			t.Errorf("status:\n%s", out)
		}
		if out := y.must(moved, "list"); !strings.Contains(out, "001-do-it") || !strings.Contains(out, "interrupted") {
			t.Errorf("list:\n%s", out)
		}
		y.must(moved, "resume", "1")
		d.wait(`run 001-do-it of ` + moved + ` ended complete`)
		if out := y.must(y.home, "serve", "status"); strings.Contains(out, old) || !strings.Contains(out, moved) {
			t.Errorf("status:\n%s", out)
		}
		complete(t, y, moved)
	})

	tell("WhileARunIsAtWork", func(t *testing.T, y *yard, d *process, old, moved string) {
		rename(t, old, moved)
		if out := y.must(moved, "list"); !strings.Contains(out, "001-do-it") {
			t.Errorf("list:\n%s", out)
		}
		y.must(moved, "resume", "1")
		d.wait(old + ` was moved to ` + moved)
		d.wait(`run 001-do-it of ` + moved + ` ended complete`)
		complete(t, y, moved)
	})

	tell("ToAnotherDisk", func(t *testing.T, y *yard, d *process, old, moved string) {
		if err := os.CopyFS(moved, os.DirFS(old)); err != nil {
			t.Fatal(err)
		}
		if out := y.must(moved, "list"); strings.Contains(out, "001-do-it") {
			t.Errorf("a copy has the runs of the repository:\n%s", out)
		}
		if err := os.RemoveAll(moved); err != nil {
			t.Fatal(err)
		}
		kill(d)
		if err := os.CopyFS(moved, os.DirFS(old)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
		out, err := y.pawl(moved, "list").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "it is that one, moved, or a copy\n  → pawl attach takes the runs over") {
			t.Errorf("list: %v\n%s", err, out)
		}
		if out := y.must(moved, "attach"); !strings.Contains(out, moved+" has 1 run now") || !strings.Contains(out, "Continue: pawl resume 001-do-it") {
			t.Errorf("attach:\n%s", out)
		}
		y.must(moved, "resume", "1")
		complete(t, y, moved)
	})

	tell("CopiedToBeginAnew", func(t *testing.T, y *yard, d *process, old, moved string) {
		kill(d)
		if err := os.CopyFS(moved, os.DirFS(old)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
		if out := y.must(moved, "attach", "--new"); !strings.Contains(out, "has no runs, and an identity of its own") {
			t.Errorf("attach --new:\n%s", out)
		}
		if out := y.must(moved, "attach", "--new"); !strings.Contains(out, "nothing to do: this repository has an identity of its own already, and no runs") {
			t.Errorf("attach --new again:\n%s", out)
		}
	})
}
