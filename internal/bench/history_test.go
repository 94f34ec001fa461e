package bench

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/evidence/class"
	"pawl/internal/evidence/corpus"
	"pawl/internal/evidence/source"
)

// What is found in this repository's own commits that change code and tests, of which every one is
// honest: PAWL_HISTORY of them are looked at, and PAWL_HISTORY_GATES of them are examined after the tests
// of the packages that they change, where these need a minute at most. What has to be answered is listed.
func TestHistory(t *testing.T) {
	commits, gated := number("PAWL_HISTORY"), number("PAWL_HISTORY_GATES")
	if commits == 0 {
		t.Skip("PAWL_HISTORY says how many commits are looked at")
	}
	root := strings.TrimSpace(mustGit(t, ".", "rev-parse", "--show-toplevel"))
	if t.Setenv("GOMODCACHE", os.Getenv("GOMODCACHE")); os.Getenv("GOMODCACHE") == "" {
		out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("GOMODCACHE", strings.TrimSpace(string(out)))
	}
	seen, ran, found := 0, 0, 0
	for _, commit := range strings.Fields(mustGit(t, root, "log", "--no-merges", "--format=%H", "-n", fmt.Sprint(20*commits))) {
		if seen == commits {
			break
		}
		x := commitEntry(t, root, commit)
		if x == nil {
			continue
		}
		seen++
		findings, how := lookAt(x), "looked at"
		if ran < gated && isQuick(x) {
			ran++
			began := time.Now()
			for p, data := range wholeTree(t, root, commit+"^") {
				x.Base[p] = data
			}
			r, err := findIn(t.Context(), filepath.Join(t.TempDir(), commit), x, 5*time.Minute)
			if err != nil {
				t.Errorf("%.12s could not be examined: %v", commit, err)
				continue
			}
			findings, how = r.Findings, fmt.Sprintf("examined in %s, %d further runs", time.Since(began).Round(time.Second), len(r.Runs))
			t.Logf("%.12s %s: %s", commit, subject(x), how)
		}
		if len(findings) > 0 {
			found++
		}
		for _, f := range findings {
			t.Logf("%.12s %s (%s): %s %s %s: %s", commit, subject(x), how, f.Kind, f.Path, listOf(f.Tests), f.Text)
		}
	}
	t.Logf("%d commits that change code and tests, %d of them with gates: %d have something to answer", seen, ran, found)
	if 20*found > seen {
		t.Errorf("%d of %d commits have something to answer, want at most 5%%", found, seen)
	}
}

func subject(x *corpus.Entry) string {
	first, _, _ := strings.Cut(x.Goal, "\n")
	return first
}

// isQuick reports whether the tests of the packages that a commit changes are fast.
func isQuick(x *corpus.Entry) bool {
	return !slices.ContainsFunc([]string{"/cmd/", "/internal/kernel", "/internal/bench", "/internal/sandbox", "/internal/workspace", "/internal/secret"}, func(slow string) bool {
		return strings.Contains(x.Gates[0].Command, slow)
	})
}

// wholeTree returns the files of a commit.
func wholeTree(t *testing.T, root, commit string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(strings.NewReader(mustGit(t, root, "archive", "--format=tar", commit))); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// listOf returns a few names.
func listOf(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], " ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	return strings.Join(names, " ")
}

// number returns a number of the environment; 0 if there is none.
func number(variable string) int {
	n, _ := strconv.Atoi(os.Getenv(variable))
	return n
}

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// commitEntry returns a commit as an entry whose gate runs the tests of the packages that it changes, or
// nil if it does not change code and tests.
func commitEntry(t *testing.T, root, commit string) *corpus.Entry {
	t.Helper()
	names := mustGit(t, root, "diff-tree", "-r", "--no-renames", "--name-status", "-z", "--no-commit-id", commit)
	x := &corpus.Entry{Side: corpus.Honest, Name: commit, Goal: mustGit(t, root, "log", "-1", "--format=%B", commit), Base: map[string][]byte{}, Changed: map[string][]byte{}}
	classes := class.New(nil, []string{"go test ./..."})
	code, tests := false, false
	packages := map[string]bool{}
	fields := strings.Split(strings.TrimSuffix(names, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		status, p := fields[i], fields[i+1]
		of := classes.Of(p)
		code, tests = code || of == pawl.ClassCode && strings.HasSuffix(p, ".go"), tests || of == pawl.ClassTest
		if status != "A" {
			x.Base[p] = []byte(mustGit(t, root, "show", commit+"^:"+p))
		}
		if status == "D" {
			x.Removed = append(x.Removed, p)
			continue
		}
		x.Changed[p] = []byte(mustGit(t, root, "show", commit+":"+p))
		if strings.HasSuffix(p, ".go") {
			packages["./"+path.Dir(p)] = true
		}
	}
	if !code || !tests {
		return nil
	}
	x.Gates = []corpus.Gate{{Name: "tests", Command: "go test -short " + strings.Join(slices.Sorted(maps.Keys(packages)), " ")}}
	return x
}

// lookAt returns what is found in a change without its gates.
func lookAt(x *corpus.Entry) []pawl.Finding {
	now := x.Candidate()
	c := &evidence.Candidate{Base: "base", Commit: "candidate", Goal: x.Goal, Secrets: foundSecrets, Read: func(p string, ofBase bool) []byte {
		if ofBase {
			return x.Base[p]
		}
		return now[p]
	}}
	for _, g := range x.Gates {
		c.Gates = append(c.Gates, pawl.GateSpec{Name: g.Name, Kind: pawl.GateTests, Command: g.Command})
	}
	paths := map[string]bool{}
	for p := range x.Base {
		paths[p] = true
	}
	for p := range now {
		paths[p] = true
	}
	state := func(text []byte, there bool) pawl.FileState {
		if !there {
			return pawl.FileState{}
		}
		return pawl.FileState{Kind: pawl.FileRegular, Object: fmt.Sprintf("%x", text[:min(len(text), 8)]), Size: int64(len(text)), Data: text}
	}
	for p := range paths {
		old, was := x.Base[p]
		text, is := now[p]
		if !was || !is || !bytes.Equal(old, text) {
			c.Files = append(c.Files, pawl.FileChange{Path: p, Old: state(old, was), New: state(text, is)})
		}
	}
	slices.SortFunc(c.Files, func(a, b pawl.FileChange) int { return strings.Compare(a.Path, b.Path) })
	found, _ := evidence.Look(c).Weigh(&evidence.Reports{Own: map[string]*pawl.GateReport{"tests": reported(c.Files)}})
	return found
}

// reported returns the report of tests that all pass, by their sources.
func reported(files []pawl.FileChange) *pawl.GateReport {
	r := &pawl.GateReport{Verdict: pawl.VerdictPass}
	names := func(f pawl.FileChange, text []byte) (out []string) {
		tests, _ := source.Tests(source.File{Path: f.Path, Data: text})
		for _, t := range tests {
			out = append(out, path.Dir(f.Path)+"."+t.Name)
		}
		return out
	}
	now := map[string]bool{}
	for _, f := range files {
		for _, name := range names(f, f.New.Data) {
			now[name] = true
			r.Tests = append(r.Tests, pawl.TestResult{Name: name, Status: pawl.TestPass})
		}
	}
	for _, f := range files {
		for _, name := range names(f, f.Old.Data) {
			if !now[name] {
				r.Lost = append(r.Lost, pawl.LostTest{Name: name})
			}
		}
	}
	return r
}
