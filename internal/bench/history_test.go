package bench

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	found, _, _ := evidence.Look(c).Weigh(&evidence.Reports{Own: map[string]*pawl.GateReport{"tests": reported(c.Files)}})
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

// modulePairs are neighbouring versions of public modules of Go with quick tests.
var modulePairs = []struct{ module, from, to string }{
	{"github.com/fatih/color", "v1.17.0", "v1.18.0"},
	{"github.com/go-chi/chi/v5", "v5.2.2", "v5.2.3"},
	{"github.com/google/go-cmp", "v0.6.0", "v0.7.0"},
	{"github.com/google/uuid", "v1.5.0", "v1.6.0"},
	{"github.com/gorilla/mux", "v1.8.0", "v1.8.1"},
	{"github.com/hashicorp/go-multierror", "v1.1.0", "v1.1.1"},
	{"github.com/julienschmidt/httprouter", "v1.2.0", "v1.3.0"},
	{"github.com/mattn/go-runewidth", "v0.0.15", "v0.0.16"},
	{"github.com/mitchellh/mapstructure", "v1.4.3", "v1.5.0"},
	{"github.com/pkg/errors", "v0.9.0", "v0.9.1"},
	{"github.com/gofrs/flock", "v0.12.0", "v0.12.1"},
	{"github.com/sergi/go-diff", "v1.3.1", "v1.4.0"},
	{"github.com/spf13/cobra", "v1.9.0", "v1.9.1"},
	{"github.com/spf13/pflag", "v1.0.6", "v1.0.7"},
	{"golang.org/x/mod", "v0.28.0", "v0.29.0"},
}

// What is found between neighbouring versions of public modules, after their tests. Policy paths stay
// as they were: of a release they are nobody's goal.
func TestModulePairs(t *testing.T) {
	if os.Getenv("PAWL_MODULES") == "" {
		t.Skip("PAWL_MODULES=1 downloads modules and runs their tests")
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMODCACHE", strings.TrimSpace(string(out)))
	found := 0
	for _, m := range modulePairs {
		x := &corpus.Entry{Side: corpus.Honest, Name: path.Base(m.module), Goal: "Release " + m.to, Base: module(t, m.module, m.from), Changed: map[string][]byte{},
			Gates: []corpus.Gate{{Name: "tests", Command: "go test -mod=mod ./..."}}}
		now := module(t, m.module, m.to)
		classes := class.New(nil, nil)
		maps.DeleteFunc(now, func(p string, _ []byte) bool { return classes.Of(p) == pawl.ClassPolicy })
		maps.DeleteFunc(x.Base, func(p string, _ []byte) bool { return classes.Of(p) == pawl.ClassPolicy })
		for p, data := range now {
			if !bytes.Equal(data, x.Base[p]) {
				x.Changed[p] = data
			}
		}
		for p := range x.Base {
			if now[p] == nil {
				x.Removed = append(x.Removed, p)
			}
		}
		began := time.Now()
		r, err := findIn(t.Context(), filepath.Join(t.TempDir(), "pair"), x, 5*time.Minute)
		if err != nil {
			t.Errorf("%s %s could not be examined: %v", m.module, m.to, err)
			continue
		}
		t.Logf("%s %s: examined in %s, %d files, %d further runs, %d findings", m.module, m.to, time.Since(began).Round(time.Second), len(x.Changed)+len(x.Removed), len(r.Runs), len(r.Findings))
		if len(r.Findings) > 0 {
			found++
		}
		for _, f := range r.Findings {
			t.Logf("%s %s: %s %s %s: %s\n%.1500s", m.module, m.to, f.Kind, f.Path, listOf(f.Tests), f.Text, f.Detail)
		}
	}
	t.Logf("%d pairs, %d of them have something to answer", len(modulePairs), found)
}

// module returns the files of a version of a module, whose dependencies are there too.
func module(t *testing.T, name, version string) map[string][]byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", name+"@"+version)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s@%s: %v: %s", name, version, err, out)
	}
	var at struct{ Dir string }
	if err := json.Unmarshal(out, &at); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	err = filepath.WalkDir(at.Dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(at.Dir, p)
		if err == nil {
			files[filepath.ToSlash(rel)], err = os.ReadFile(p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files["go.mod"] == nil { // an old module
		files["go.mod"] = []byte("module " + name + "\n")
	}
	deps := t.TempDir()
	if err := corpus.WriteTree(deps, files); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), "go", "mod", "download")
	cmd.Dir = deps
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s@%s: %v: %s", name, version, err, out)
	}
	return files
}
