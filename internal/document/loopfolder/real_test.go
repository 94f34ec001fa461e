package loopfolder

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recorded"
	"pawl/internal/view"
)

// realRun is a run of the recipe loopr in which the phase parse begins anew, because its
// code loop fails for good.
func realRun(tb testing.TB) *recorded.Log { return recorded.Read(tb, "loopr-begins-anew") }

// The folders of a real run: what the records name is there, what does not count is in
// the archive, and whenever the process dies the same is left behind in the end.
func TestRealRun(t *testing.T) {
	s, dir := realRun(t), t.TempDir()
	run := s.Events[0].Run
	if err := Rebuild(dir, run, s.All, s.Blob); err != nil {
		t.Fatal(err)
	}
	got := files(t, dir)
	var rs view.Records
	for _, e := range s.Events {
		rs.Add(e)
	}
	archived := 0
	for _, rec := range rs.Loops {
		if rec.Status == pawl.LoopInvalidated {
			archived++
		}
		for _, name := range append([]string{rec.InputArtifact, rec.Folder() + "/loop.json", rec.Folder() + "/current"}, rec.OutputArtifacts...) {
			if _, there := got[name]; !there && name != "" { // R-66 R-77 R-B31
				t.Errorf("%s %s: %s is not there", rec.LoopType, rec.Name(), name)
			}
		}
		if artifact := got[rec.InputArtifact]; rec.Parent > 0 && !strings.Contains(artifact, rec.Title) {
			t.Errorf("%s %s: its parent's artifact does not name %q:\n%s", rec.LoopType, rec.Name(), rec.Title, artifact)
		}
		if _, err := os.Stat(filepath.Join(dir, rec.Folder(), "current/prompt.md")); err != nil {
			t.Errorf("%s %s: %v", rec.LoopType, rec.Name(), err)
		}
	}
	if archived != 1 || len(rs.Loops) != 16 { // R-57 R-67
		t.Errorf("%d of %d loops are archived", archived, len(rs.Loops))
	}
	parse := rs.Loops[0]
	for _, rec := range rs.Loops {
		if rec.LoopType == "phase" && rec.Task == "parse" {
			parse = rec
		}
	}
	if log := got[parse.Folder()+"/iterations/001/validation.log"]; !strings.Contains(log, "iterate: the code parse failed") {
		t.Errorf("validation.log of what begins anew:\n%s", log)
	}

	for at := 7; at < len(s.Events); at += 131 {
		again := t.TempDir()
		for _, n := range []int{at, len(s.Events)} { // the first of the two dies
			w, err := Open(again, run, s.Blob)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range s.Events[:n] {
				if err := w.Add(e); err != nil {
					t.Fatal(err)
				}
			}
			if n < len(s.Events) {
				continue
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if left := files(t, again); !maps.Equal(left, got) {
			t.Fatalf("dead before event %d: %s", at+1, cmp.Diff(got, left))
		}
	}
}
