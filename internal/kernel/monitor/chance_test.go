package monitor

import (
	"testing"

	"pawl"
)

// recent is what the monitor is shown after batch i of a history.
func recent(h []Batch, i int) []Batch { return h[max(0, i+1-Window) : i+1] }

// Slow to accuse: of 10,000 histories of honest work at most one in a hundred is
// stopped anywhere in its course.
func TestHonestHistories(t *testing.T) {
	t.Parallel()
	const histories = 10_000
	stopped, verdicts, by := 0, 0, map[pawl.Health]int{}
	for seed := range uint64(histories) {
		w := newWorld(3_000_000 + seed) // others than it was made with
		h := w.honest(6 + w.IntN(15))
		for i := range h {
			verdicts++
			if v := Judge(recent(h, i)); v.Health != pawl.HealthProgressing {
				by[v.Health]++
				stopped++
				break
			}
		}
	}
	t.Logf("%d honest histories, %d verdicts: %d false stops (%d.%02d %%): %v", histories, verdicts, stopped, stopped*100/histories, stopped*10000/histories%100, by)
	if stopped*100 > histories {
		t.Errorf("%d of %d honest histories are stopped, want at most 1 %%", stopped, histories)
	}
}
