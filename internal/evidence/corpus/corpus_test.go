package corpus

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/testsize"
)

const (
	// minEntries is how many entries a side has at least, minPerLang how many of them are in
	// each of the four languages, minClasses how many classes they have.
	minEntries = 60
	minPerLang = 12
	minShell   = 8 // of programs and gates in shell alone, of which none is held out
	minClasses = 20
	// minHeldOut is how many entries of a side are held out at least, and minHidden how many
	// classes have no other entry.
	minHeldOut = 20
	minHidden  = 5
	// gateTimeout bounds one run of an entry's gates.
	gateTimeout = 5 * time.Minute
	// maxFlips bounds the runs in which a flaky candidate must both pass and fail.
	maxFlips = 40
)

func load(t *testing.T) []*Entry {
	t.Helper()
	entries, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestCounts(t *testing.T) {
	for _, side := range []Side{Cheat, Honest} {
		var all, heldOut int
		langs, heldOutLangs, classes, shown := map[string]int{}, map[string]int{}, map[string]bool{}, map[string]bool{}
		for _, e := range load(t) {
			if e.Side != side {
				continue
			}
			all++
			langs[e.Lang]++
			classes[e.Class] = true
			if e.HeldOut {
				heldOut++
				heldOutLangs[e.Lang]++
			} else {
				shown[e.Class] = true
			}
		}
		t.Logf("%s: %d entries %v, %d classes, %d held out %v, %d classes only held out", side, all, langs, len(classes), heldOut, heldOutLangs, len(classes)-len(shown))
		if all < minEntries || len(classes) < minClasses || heldOut < minHeldOut || len(classes)-len(shown) < minHidden {
			t.Errorf("%s: %d entries, %d classes, %d held out, %d classes only held out; want at least %d, %d, %d, %d",
				side, all, len(classes), heldOut, len(classes)-len(shown), minEntries, minClasses, minHeldOut, minHidden)
		}
		for _, lang := range Langs {
			least, hidden := minPerLang, 1
			if lang == "shell" {
				least, hidden = minShell, 0
			}
			if langs[lang] < least || heldOutLangs[lang] < hidden {
				t.Errorf("%s: %d entries in %s, %d held out; want at least %d and %d", side, langs[lang], lang, heldOutLangs[lang], least, hidden)
			}
		}
	}
}

// Every kind of finding is shown by a cheat, or its detector is tried on nothing.
func TestKinds(t *testing.T) {
	seen := map[pawl.FindingKind]bool{}
	for _, e := range load(t) {
		if e.Side == Cheat {
			for _, f := range e.Findings {
				seen[f.Kind] = true
			}
		}
	}
	for _, k := range pawl.FindingKinds {
		if !seen[k] {
			t.Errorf("no cheat has a finding of kind %s", k)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const head = "# What and why.\ngoal: Fix it\nclass: a\nheld_out: false\ngates:\n  - {name: tests, command: 'true'}\n"
	const tail = "-- base/a.go --\nx\n-- candidate/a.go --\ny\n"
	for _, tt := range []struct{ name, file, text, want string }{
		{"unknown key", "go-a", head + "findings: []\nfoo: 1\n" + tail, "foo"},
		{"kind", "go-a", head + "findings:\n  - {kind: nothing, path: a.go}\n" + tail, "kind"},
		{"language", "perl-a", head + "findings:\n  - {kind: policy, path: a.go}\n" + tail, `begins with "perl"`},
		{"no comment", "go-a", strings.TrimPrefix(head, "# What and why.\n") + "findings:\n  - {kind: policy, path: a.go}\n" + tail, "no comment"},
		{"cheat without finding", "go-a", head + "findings: []\n" + tail, "0 findings"},
		{"finding without place", "go-a", head + "findings:\n  - {kind: policy}\n" + tail, "neither path nor test"},
		{"path not touched", "go-a", head + "findings:\n  - {kind: policy, path: b.go}\n" + tail, `does not touch "b.go"`},
		{"no change", "go-a", head + "findings:\n  - {kind: policy, path: a.go}\n-- base/a.go --\nx\n-- candidate/a.go --\nx\n", "want a change"},
		{"removed", "go-a", head + "removed: [b.go]\nfindings:\n  - {kind: policy, path: a.go}\n" + tail, `removed path "b.go"`},
		{"outside", "go-a", head + "findings:\n  - {kind: policy, path: a.go}\n" + tail + "-- candidate/../b --\n", "base/PATH"},
		{"root", "go-a", head + "findings:\n  - {kind: policy, path: a.go}\n" + tail + "-- other/b --\n", "base/PATH"},
		{"no gates", "go-a", strings.Replace(head, "\n  - {name: tests, command: 'true'}", " []", 1) + "findings:\n  - {kind: policy, path: a.go}\n" + tail, "0 gates"},
		{"link on a file", "go-a", head + "links: [{path: a.go, target: /etc}]\nfindings:\n  - {kind: policy, path: a.go}\n" + tail, `link "a.go"`},
		{"link outside", "go-a", head + "links: [{path: ../b, target: /etc}]\nfindings:\n  - {kind: policy, path: a.go}\n" + tail, `link "../b"`},
		{"twice", "go-a", head + "findings:\n  - {kind: policy, path: a.go}\n" + tail + "-- base/a.go --\n", "twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(Cheat, tt.file+".txtar", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := parse(Honest, "go-a.txtar", []byte(head+"findings: []\n"+tail)); err != nil {
		t.Errorf("an honest entry without findings: %v", err)
	}
}

func TestWriteCandidate(t *testing.T) {
	e, err := parse(Cheat, "go-a.txtar", []byte("# Why,\n# in two lines.\ngoal: Fix it\nclass: a\nheld_out: true\nbase: red\n"+
		"gates:\n  - {name: tests, command: 'true'}\nremoved: [b/old]\nlinks: [{path: c/link, target: ../../x}]\nfindings:\n  - {kind: policy, path: c/link}\n"+
		"-- base/a --\n1\n-- base/b/old --\n-- base/b/run --\n#!/bin/sh\n-- candidate/a --\n2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if e.Why != "Why, in two lines." || !e.HeldOut || !e.BaseRed {
		t.Errorf("why %q, held out %v, base red %v", e.Why, e.HeldOut, e.BaseRed)
	}
	dir := t.TempDir()
	if err := WriteTree(dir, e.Candidate(), e.Links...); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		got = append(got, fmt.Sprintf("%s %v", p, info.Mode()&(fs.ModeSymlink|0o100)))
		return err
	})
	if want := []string{"a ----------", "b/run ---x------", "c/link L--x------"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("files %q (%v), want %q", got, err, want)
	}
	if a, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(a) != "2\n" {
		t.Errorf("a is %q (%v), want the candidate's", a, err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "c/link")); err != nil || target != "../../x" {
		t.Errorf("the link leads to %q (%v), want ../../x", target, err)
	}
}

// The gates say of base and candidate what the entry says, with real toolchains.
func TestGates(t *testing.T) {
	for _, e := range built(t) {
		t.Run(string(e.Side)+"/"+e.Name, func(t *testing.T) {
			t.Parallel()
			if out, pass := e.judge(t, e.Base); pass == e.BaseRed {
				t.Errorf("the base's gates pass: %v, want %v\n%s", pass, !e.BaseRed, out)
			}
			if e.has(pawl.FindFlaky) {
				flips(t, e)
				return
			}
			if out, pass := e.judge(t, e.Candidate(), e.Links...); !pass {
				t.Errorf("the candidate's gates fail\n%s", out)
			}
		})
	}
}

// built returns the entries of this turn, whose projects a test builds and runs. It skips the test if a tool is
// missing, except in CI, where the test fails.
func built(t *testing.T) (out []*Entry) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs every project of the corpus")
	}
	for _, tool := range []string{"go", "node", "npm", "python3", "pytest", "cargo", "make", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is missing: the corpus needs it", tool)
			}
			t.Skipf("%s is missing: the corpus needs it", tool)
		}
	}
	for i, e := range load(t) {
		if testsize.Case(i, 0) {
			out = append(out, e)
		}
	}
	return out
}

// The findings of the cheats are true: with the base's files in the place of those that are
// found, the candidate's code fails its gates, and new tests that prove nothing pass on the
// base's code.
func TestFindings(t *testing.T) {
	for _, e := range built(t) {
		if e.Side != Cheat {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			if tree := e.restored(); tree != nil {
				if out, pass := e.judge(t, tree); pass {
					t.Errorf("the candidate passes with the base's files too\n%s", out)
				}
			}
			tree := maps.Clone(e.Base)
			for _, f := range e.Findings {
				if f.Kind == pawl.FindProvesNothing {
					tree[f.Path] = e.Changed[f.Path]
				}
			}
			if out, pass := e.judge(t, tree); e.has(pawl.FindProvesNothing) && !pass {
				t.Errorf("the new tests fail on the base's code\n%s", out)
			}
		})
	}
}

// restored returns the candidate with the base's files in the place of those that findings
// name, and with the tests that it removed, or nil when that says nothing: if none of the findings is about expectations, or the
// tests are in the files with the code.
func (e *Entry) restored() map[string][]byte {
	about := []pawl.FindingKind{pawl.FindExpectation, pawl.FindRemovedTest, pawl.FindSkippedTest, pawl.FindEmptiedTest, pawl.FindFewerAssertions, pawl.FindGateInput, pawl.FindVendored, pawl.FindSetUp, pawl.FindUnlisted}
	tree, any := e.Candidate(), false
	for _, f := range e.Findings {
		inCode := strings.Contains("/"+f.Path, "/src/") && !strings.Contains(f.Path, "test") && f.Kind != pawl.FindVendored
		if !slices.Contains(about, f.Kind) || inCode {
			continue
		}
		any = true
		if data, ok := e.Base[f.Path]; ok {
			tree[f.Path] = data
		} else {
			delete(tree, f.Path)
		}
	}
	if !any {
		return nil
	}
	for _, p := range e.Removed {
		if strings.Contains(p, "test") {
			tree[p] = e.Base[p]
		}
	}
	return tree
}

func (e *Entry) has(kind pawl.FindingKind) bool {
	for _, f := range e.Findings {
		if f.Kind == kind {
			return true
		}
	}
	return false
}

// flips fails the test unless the candidate both passes and fails.
func flips(t *testing.T, e *Entry) {
	t.Helper()
	seen := map[bool]bool{}
	for range maxFlips {
		_, pass := e.judge(t, e.Candidate(), e.Links...)
		if seen[pass] = true; len(seen) == 2 {
			return
		}
	}
	t.Errorf("%d runs of the flaky candidate's gates gave the same verdict %v", maxFlips, seen)
}

// judge runs an entry's gates on files and symlinks in a fresh folder and reports whether all pass.
func (e *Entry) judge(t *testing.T, tree map[string][]byte, links ...Link) (output string, pass bool) {
	t.Helper()
	dir := t.TempDir()
	if err := WriteTree(dir, tree, links...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), gateTimeout)
	defer cancel()
	for _, g := range e.Gates {
		cmd := exec.CommandContext(ctx, "sh", "-c", g.Command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CARGO_NET_OFFLINE=true", "GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=local")
		out, err := cmd.CombinedOutput()
		if output += string(out); err != nil {
			return output, false
		}
	}
	return output, true
}
