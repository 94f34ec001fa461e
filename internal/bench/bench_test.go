package bench

import (
	"testing"
	"time"
)

// The measurements work and count what they say they count.
func TestMeasurements(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ runs, loops int }{{1, 1}, {3, 1}, {1, 5}} {
		for long := 50 * time.Millisecond; ; long *= 2 { // a busy machine may make no step in a short time
			s, err := MeasureSteps(t.Context(), dir, c.runs, c.loops, long)
			if err != nil {
				t.Fatal(err)
			}
			if s.Steps > 0 {
				break
			}
			if long > 10*time.Second {
				t.Fatalf("%d runs of %d loops made no step in %s", c.runs, c.loops, long)
			}
		}
	}
	if r, err := MeasureRaw(t.Context(), dir, 20*time.Millisecond); err != nil || r.PerSecond == 0 {
		t.Errorf("raw: %+v, %v", r, err)
	}
	if f, err := MeasureFold(t.Context(), 2000); err != nil || f.Events < 2000 {
		t.Errorf("fold: %+v, %v", f, err)
	}
	for _, cascade := range []bool{false, true} {
		if d, err := MeasureDecide(t.Context(), 20, 500, cascade); err != nil || d.Events < 500 || d.Mean == 0 {
			t.Errorf("decide: %+v, %v", d, err)
		}
	}
	if i, err := MeasureIteration(t.Context(), dir, 20, 2); err != nil || i.Overhead == 0 {
		t.Errorf("iteration: %+v, %v", i, err)
	}
}
