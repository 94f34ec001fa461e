package loopfolder

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/store/mem"
)

// stored is a story's run in a log, up to an event.
func (s *story) append(log pawl.Log, from, to int) {
	s.tb.Helper()
	u := pawl.Unit{Run: run, After: pawl.Seq(from), Events: s.events[from:to]}
	if from == 0 {
		u.Info = &pawl.RunInfo{ID: run}
	}
	for _, data := range s.blobs {
		u.Blobs = append(u.Blobs, pawl.NewBlob(data))
	}
	if err := log.Append(context.Background(), u); err != nil {
		s.tb.Fatal(err)
	}
}

// tree is what is in a folder: the content of files, where links lead.
func tree(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if e.Type()&fs.ModeSymlink != 0 {
			out[path], err = os.Readlink(dir + "/" + path)
			return err
		}
		data, err := os.ReadFile(dir + "/" + path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// What a keeper has after notices in any portions, and after it was closed and another
// one went on, is what one writer makes of all events.
func TestKeeper(t *testing.T) {
	s := grown(t)
	whole := t.TempDir()
	if err := Rebuild(whole, run, s.all, s.read); err != nil {
		t.Fatal(err)
	}
	want := tree(t, whole)
	for _, cut := range []int{1, len(s.events) / 3, len(s.events) / 2, len(s.events) - 1} {
		dir, log := t.TempDir(), mem.New()
		for _, part := range [][2]int{{0, cut}, {cut, len(s.events)}} {
			k := Keep(dir, log, slog.New(slog.DiscardHandler))
			s.append(log, part[0], part[1])
			k.Notice(run, part[1] == len(s.events))
			k.Close(t.Context())
		}
		if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
			t.Errorf("cut at %d (-writer +keeper):\n%s", cut, diff)
		}
	}
}

// A keeper that may not go on stops at once, and the next one finds the rest.
func TestKeeperClosedEarly(t *testing.T) {
	s, dir, log := grown(t), t.TempDir(), mem.New()
	s.append(log, 0, len(s.events))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	k := Keep(dir, log, slog.New(slog.DiscardHandler))
	k.Notice(run, true)
	k.Close(ended)
	k = Keep(dir, log, slog.New(slog.DiscardHandler))
	k.Notice(run, true)
	k.Close(t.Context())
	whole := t.TempDir()
	if err := Rebuild(whole, run, s.all, s.read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree(t, whole), tree(t, dir)); diff != "" {
		t.Errorf("(-writer +keeper):\n%s", diff)
	}
}
