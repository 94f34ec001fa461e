// Package recorded gives tests the logs of runs of the real program: of every recipe, with
// kills, rollbacks, forks and cascades. Whatever folds events must make the same of them
// after a change as before it.
//
// It also has the stories with a list of tasks that the tests of package view tell by hand,
// for packages that make something of a view. These tests write them, with -update.
package recorded

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pawl"
)

// Each log is a file of JSON documents, one a line: the run's events in their order, and
// before each event the blobs that it is the first to name.
//
//go:embed testdata/logs/*.jsonl.gz testdata/stories/*.jsonl
var files embed.FS

const folder = "testdata/logs"

// Log is the log of one run.
type Log struct {
	Name   string // what happens in it, such as coherence-rollback
	Events []pawl.Event
	blobs  map[pawl.Hash][]byte
}

// Blob returns a blob of the run. One that there is not is a CodeNotFound error.
func (l *Log) Blob(h pawl.Hash) ([]byte, error) {
	if b, ok := l.blobs[h]; ok {
		return b, nil
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "no blob %s", h.Short())
}

// All yields the run's events, as a store does.
func (l *Log) All(yield func(pawl.Event, error) bool) {
	for _, e := range l.Events {
		if !yield(e, nil) {
			return
		}
	}
}

// Names are the names of all logs, in alphabetical order.
func Names(tb testing.TB) iter.Seq[string] {
	tb.Helper()
	entries, err := files.ReadDir(folder)
	if err != nil {
		tb.Fatal(err)
	}
	return func(yield func(string) bool) {
		for _, e := range entries {
			if !yield(strings.TrimSuffix(e.Name(), ".jsonl.gz")) {
				return
			}
		}
	}
}

// Read returns the log of a name.
func Read(tb testing.TB, name string) *Log {
	tb.Helper()
	l, err := read(name)
	if err != nil {
		tb.Fatalf("read the log %s: %v", name, err)
	}
	return l
}

func read(name string) (*Log, error) {
	f, err := files.Open(folder + "/" + name + ".jsonl.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return decode(name, z)
}

// Story returns the log of a story.
func Story(tb testing.TB, name string) *Log {
	tb.Helper()
	data, err := files.ReadFile("testdata/stories/" + name + ".jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	l, err := decode(name, bytes.NewReader(data))
	if err != nil {
		tb.Fatalf("read the story %s: %v", name, err)
	}
	return l
}

func decode(name string, in io.Reader) (*Log, error) {
	l := &Log{Name: name, blobs: map[pawl.Hash][]byte{}}
	for dec := json.NewDecoder(in); ; {
		var line struct {
			Event *pawl.Event `json:"event"`
			Blob  []byte      `json:"blob"`
		}
		switch err := dec.Decode(&line); {
		case errors.Is(err, io.EOF):
			return l, nil
		case err != nil:
			return nil, err
		case line.Event != nil:
			l.Events = append(l.Events, *line.Event)
		default:
			l.blobs[pawl.HashOf(line.Blob)] = line.Blob
		}
	}
}

// hashes is the file, below testdata, with the hash of what a package makes of each log. What
// was hashed is not kept: it is many times as large as the logs.
const hashes = "recorded.sha256"

// update is the variable that, when it is set, has the hashes written anew; out the one that
// names a folder for the texts. Two versions are compared by their texts.
const (
	update = "PAWL_UPDATE_RECORDED"
	out    = "PAWL_RECORDED_TEXTS"
)

// Compare has a package make a text of each log, and fails if one differs from what the
// package made of it before.
func Compare(t *testing.T, text func(testing.TB, *Log) []byte) {
	t.Helper()
	path := filepath.Join("testdata", hashes)
	want := wanted(t, path)
	var mu sync.Mutex
	got := map[string]string{}
	t.Run("logs", func(t *testing.T) {
		for name := range Names(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				made := text(t, Read(t, name))
				if dir := os.Getenv(out); dir != "" {
					if err := os.WriteFile(filepath.Join(dir, name+".txt"), made, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				hash := pawl.HashOf(made).String()
				mu.Lock()
				got[name] = hash
				mu.Unlock()
				if os.Getenv(update) == "" && hash != want[name] {
					t.Errorf("the text has changed: to see how, run this test on this commit and on the one before with %s=FOLDER, and compare the folders", out)
				}
			})
		}
	})
	if os.Getenv(update) == "" {
		return
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(got)) {
		fmt.Fprintf(&b, "%s %s\n", got[name], name)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Files is a text of files by their names.
func Files[T string | []byte](all map[string]T) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "== %s ==\n%s\n", name, all[name])
	}
	return out.Bytes()
}

// wanted reads the hashes, by the names of the logs.
func wanted(tb testing.TB, path string) map[string]string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		tb.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			want[name] = hash
		}
	}
	return want
}
