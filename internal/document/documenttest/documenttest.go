// Package documenttest is the suite that every package of documents of a run passes.
package documenttest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/recorded"
	"pawl/internal/view"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Fold is the run of these events.
func Fold(events []pawl.Event) *view.Run {
	r := view.New()
	for _, e := range events {
		r.Apply(e)
	}
	return r
}

// Indented is a value as indented JSON.
func Indented(tb testing.TB, v any) string {
	tb.Helper()
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	return string(out) + "\n"
}

// Exercise tries a package's documents on the stories that the package has golden files of.
// They are as in these files, exist after every event from the first plan on, are the same
// when they are made again, and show only what is safe.
func Exercise(t *testing.T, documents func(testing.TB, *view.Run, view.Blobs) *txtar.Archive) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	text := func(tb testing.TB, r *view.Run, l *recorded.Log) string {
		tb.Helper()
		return string(txtar.Format(documents(tb, r, l.Blob)))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			l := recorded.Story(t, name)
			golden(t, file, text(t, Fold(l.Events), l))
			everyPrefix(t, l, text)
			poisoned(t, l, text)
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs; go test -update rewrites it:\n%s", path, d)
	}
}

func everyPrefix(t *testing.T, l *recorded.Log, text func(testing.TB, *view.Run, *recorded.Log) string) {
	t.Helper()
	every := 1
	if testing.Short() {
		every = 5
	}
	r, again := view.New(), view.New()
	for i, e := range l.Events {
		stored, err := pawl.DecodeEvent(e.Run, e.Seq, pawl.AppendEvent(nil, e))
		if err != nil {
			t.Fatal(err)
		}
		r.Apply(e)
		again.Apply(stored)
		last := i == len(l.Events)-1
		if r.Plan() == nil || i%every != 0 && !last {
			continue
		}
		if last {
			again = Fold(l.Events)
		}
		got := text(t, r, l)
		mustBeSafe(t, got)
		if d := cmp.Diff(got, text(t, again, l)); d != "" {
			t.Fatalf("after event %d, made again: %s", i+1, d)
		}
	}
}

// poisoned checks that what models, tools and files say cannot reach the terminal, nor
// forge a line.
func poisoned(t *testing.T, l *recorded.Log, text func(testing.TB, *view.Run, *recorded.Log) string) {
	t.Helper()
	l.Poison("\r\x1b[2J\x1b]0;owned\a\u009b31m\u202e\U000e0041\nFORGED: yes\nFORGED: no")
	got := text(t, Fold(l.Events), l)
	mustBeSafe(t, got)
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "FORGED") {
			t.Fatalf("a line is forged: %q", line)
		}
	}
}

func mustBeSafe(t *testing.T, s string) {
	t.Helper()
	for i, c := range s {
		if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
			t.Fatalf("%U at byte %d of %q", c, i, s[max(0, i-80):min(len(s), i+80)])
		}
	}
}
