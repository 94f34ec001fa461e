package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/evidence/class"
	"pawl/internal/evidence/corpus"
	"pawl/internal/evidence/source"
)

// What is found in this repository's own commits that change code and tests, of which every one is
// honest: PAWL_HISTORY of them are looked at, and PAWL_HISTORY_GATES of them are examined after their
// own tests, which takes a minute each. What has to be answered is listed.
func TestHistory(t *testing.T) {
	commits, gated := number("PAWL_HISTORY", 40), number("PAWL_HISTORY_GATES", 0)
	if testing.Short() {
		commits = 10
	}
	root, err := git(t.Context(), ".", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Skip("this is no repository")
	}
	root = strings.TrimSpace(root)
	log, err := git(t.Context(), root, "log", "--no-merges", "--format=%H", "-n", fmt.Sprint(20*commits))
	if err != nil {
		t.Fatal(err)
	}
	seen, found := 0, 0
	for _, commit := range strings.Fields(log) {
		if seen == commits {
			break
		}
		x, err := commitEntry(t.Context(), root, commit)
		if err != nil {
			t.Fatal(err)
		}
		if x == nil {
			continue
		}
		seen++
		var findings []pawl.Finding
		if seen <= gated {
			r, err := findIn(t.Context(), filepath.Join(t.TempDir(), commit), x)
			if err != nil {
				t.Logf("%.12s could not be examined: %v", commit, err)
				continue
			}
			findings = r.Findings
		} else {
			findings, _ = lookAt(x)
		}
		if len(findings) > 0 {
			found++
		}
		for _, f := range findings {
			t.Logf("%.12s %s: %s %s %s: %s", commit, strings.SplitN(x.Goal, "\n", 2)[0], f.Kind, f.Path, listOf(f.Tests), f.Text)
		}
	}
	t.Logf("%d commits that change code and tests, %d of them with gates: %d have something to answer", seen, min(seen, gated), found)
	if seen < 10 {
		t.Skip("the history is too short")
	}
	if 20*found > seen {
		t.Errorf("%d of %d commits have something to answer, want at most 5%%", found, seen)
	}
}

// listOf returns a few names.
func listOf(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], " ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	return strings.Join(names, " ")
}

// number returns a number of the environment, or another one.
func number(variable string, unset int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return unset
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return string(out), err
}

// commitEntry returns a commit as an entry whose gate runs the tests of the packages that it changes, or
// nil if it does not change code and tests.
func commitEntry(ctx context.Context, root, commit string) (*corpus.Entry, error) {
	names, err := git(ctx, root, "diff-tree", "-r", "--no-renames", "--name-status", "-z", commit+"^", commit)
	if err != nil {
		return nil, nil // it has no parent
	}
	message, err := git(ctx, root, "log", "-1", "--format=%B", commit)
	if err != nil {
		return nil, err
	}
	x := &corpus.Entry{Side: corpus.Honest, Name: commit, Goal: message, Base: map[string][]byte{}, Changed: map[string][]byte{}}
	classes := class.New(nil, []string{"go test ./..."})
	code, tests := false, false
	packages := map[string]bool{}
	fields := strings.Split(strings.TrimSuffix(names, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		status, p := fields[i], fields[i+1]
		of := classes.Of(p)
		code, tests = code || of == pawl.ClassCode && strings.HasSuffix(p, ".go"), tests || of == pawl.ClassTest
		if status != "A" {
			text, err := git(ctx, root, "show", commit+"^:"+p)
			if err != nil {
				return nil, err
			}
			x.Base[p] = []byte(text)
		}
		if status == "D" {
			x.Removed = append(x.Removed, p)
			continue
		}
		text, err := git(ctx, root, "show", commit+":"+p)
		if err != nil {
			return nil, err
		}
		x.Changed[p] = []byte(text)
		if strings.HasSuffix(p, ".go") {
			packages["./"+path.Dir(p)] = true
		}
	}
	if !code || !tests {
		return nil, nil
	}
	var list []string
	for p := range packages {
		list = append(list, p)
	}
	slices.Sort(list)
	x.Gates = []corpus.Gate{{Name: "tests", Command: "go test -short " + strings.Join(list, " ")}}
	return x, nil
}

// lookAt returns what is found in a change without its gates.
func lookAt(x *corpus.Entry) ([]pawl.Finding, []pawl.ChangedPath) {
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
	s := evidence.Look(c)
	found, _ := s.Weigh(&evidence.Reports{Own: map[string]*pawl.GateReport{"tests": reported(c.Files)}})
	return found, s.Paths
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

