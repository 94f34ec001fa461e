//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/sandbox"
)

// Runs that an earlier version left behind, interrupted in a command or halted at a name that it
// could not record, come to their end with that version's events, worktree and git folders, and
// lose nothing.
func TestRunsOfEarlierVersionsGoOn(t *testing.T) {
	for name, salvaged := range map[string]string{"interrupted": "README deep/two.txt one.txt three.txt", "halted": ""} {
		t.Run(name, func(t *testing.T) {
			if _, err := sandbox.Probe(t.Context()); err != nil {
				t.Skipf("the runs were confined, and here that is not possible: %v", err)
			}
			t.Parallel()
			v := victimIn(pawlProgram(t), t.TempDir())
			v.restore(t, filepath.Join("testdata", "earlier", name+".tar.gz"))
			v.started = true
			before := v.events(t)
			if err := v.command().Run(); err != nil {
				t.Fatalf("%v\n%s", err, v.out.String())
			}
			v.nothingRuns(t)
			v.nothingLost(t)
			after := v.events(t)
			if len(before) == 0 || len(after) <= len(before) || !reflect.DeepEqual(after[:len(before)], before) {
				t.Errorf("of %d events, %d are there, or not the same", len(before), len(after))
			}
			if e, ok := after[len(after)-1].Body.(*pawl.RunEnded); !ok || e.Outcome != pawl.OutcomeComplete {
				t.Errorf("it ended with %+v\n%s", e, v.out.String())
			}
			files := func(ref string) string {
				return strings.ReplaceAll(v.git(t, "ls-tree", "-r", "--name-only", ref), "\n", " ")
			}
			if got, want := files(v.runBranch(t)), "README deep/two.txt four.txt one.txt three.txt"; got != want {
				t.Errorf("the branch has %q, want %q", got, want)
			}
			found := ""
			if ref := v.git(t, "for-each-ref", "--format=%(refname)", "refs/pawl/salvage/"); ref != "" {
				found = files(ref)
			}
			if found != salvaged {
				t.Errorf("%q was set aside, want %q", found, salvaged)
			}
			if out, err := v.pawl("replay", "1"); err != nil || strings.Contains(out, "DIFFERS") {
				t.Errorf("replay: %v\n%s", err, out)
			}
		})
	}
}

// restore unpacks a state where the victim's home is; see testdata/earlier/README.
func (v *victim) restore(t *testing.T, archive string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(v.home, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, h.FileInfo().Mode()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.ReplaceAll(content, []byte("HOME-OF-THE-TEST"), []byte(v.home))
		if err := os.WriteFile(path, content, h.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
	gitDir := filepath.Join(v.repo, ".git")
	p, err := project.At(t.TempDir(), pawl.Repository{GitDir: gitDir, Root: v.repo}) // the folder's name is that of its place
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(v.home, "state", "pawl")
	if err := errors.Join(os.Remove(filepath.Join(gitDir, "pawl-id")), os.Rename(filepath.Join(state, "PROJECT"), filepath.Join(state, filepath.Base(p.Dir)))); err != nil {
		t.Fatal(err)
	}
}
