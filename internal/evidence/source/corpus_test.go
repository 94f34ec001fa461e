package source

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/evidence/corpus"
)

// elsewhere are findings of the corpus that no source of a test shows, and why.
var elsewhere = map[string]string{
	"go-plugin-module":       "a new go.mod takes a folder out of ./...: only the runner's list shows it",
	"rust-workspace-exclude": "the workspace no longer has a member: only the runner's list shows it",
	"js-router-cases":        "the cases are in a JSON file: only the runner's list shows them",
}

// inSources are the kinds that sources alone show.
var inSources = []pawl.FindingKind{pawl.FindSkippedTest, pawl.FindEmptiedTest, pawl.FindFewerAssertions, pawl.FindRemovedTest}

// sides returns the files of an entry that the change touches, as they were and are.
func sides(e *corpus.Entry) (base, candidate []File) {
	for path, data := range e.Changed {
		candidate = append(candidate, File{path, data})
		if was, ok := e.Base[path]; ok {
			base = append(base, File{path, was})
		}
	}
	for _, path := range e.Removed {
		base = append(base, File{path, e.Base[path]})
	}
	byPath := func(a, b File) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(base, byPath)
	slices.SortFunc(candidate, byPath)
	return base, candidate
}

func fits(c Change, f corpus.Finding) bool {
	test, _, _ := strings.Cut(f.Test, "[")
	own, _, _ := strings.Cut(c.Test, "[")
	return c.Kind == f.Kind && (f.Path == "" || f.Path == c.Path) && (test == "" || test == own)
}

// Every weakening of a cheat that sources show is found, and nothing is in an honest change.
func TestCorpus(t *testing.T) {
	entries, err := corpus.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.HeldOut {
			continue
		}
		t.Run(fmt.Sprint(e.Side, "/", e.Name), func(t *testing.T) {
			changes := Compare(sides(e))
			if os.Getenv("SHOW") != "" {
				for _, c := range changes {
					t.Logf("%s %s %s: %s\n%s", c.Kind, c.Path, c.Test, c.Text, c.Detail)
				}
			}
			for _, f := range e.Findings {
				if slices.Contains(inSources, f.Kind) && elsewhere[e.Name] == "" && !slices.ContainsFunc(changes, func(c Change) bool { return fits(c, f) }) {
					t.Errorf("not found: %s %s %s", f.Kind, f.Path, f.Test)
				}
			}
			for _, c := range changes {
				if e.Side == corpus.Honest && !c.Kept && slices.Contains(inSources, c.Kind) && !slices.ContainsFunc(e.Findings, func(f corpus.Finding) bool { return fits(c, f) }) {
					t.Errorf("false alarm: %s %s %s: %s\n%s", c.Kind, c.Path, c.Test, c.Text, c.Detail)
				}
			}
		})
	}
}
