package monitor

import (
	"testing"

	"pawl"
)

// tuned judges a history by the rules that the tables and the worlds are about.
// isStop reports whether something follows from a verdict.
func isStop(v Verdict) bool { return v.Health != "" && v.Health != pawl.HealthProgressing }

func tuned(history []Batch) Verdict { return Judge(history, pawl.RulesTuned) }

// By the rules of the seed a pass rate that falls twice in a row is REGRESSING, whatever speaks for the
// work; a recipe chooses. V-47 V-B06 F-75
func TestSeedRules(t *testing.T) {
	for _, row := range []struct {
		why         string
		rates       [][2]int // approved of attempted
		seed, tuned pawl.Health
	}{
		{"twice lower, while tests are gained", [][2]int{{4, 4}, {3, 4}, {2, 5}}, pawl.HealthRegressing, pawl.HealthProgressing},
		{"batches of one", [][2]int{{2, 2}, {1, 2}, {0, 1}}, pawl.HealthRegressing, pawl.HealthProgressing},
		{"once lower", [][2]int{{4, 4}, {3, 4}}, pawl.HealthProgressing, pawl.HealthProgressing},
		{"lower, then the same", [][2]int{{4, 4}, {2, 4}, {1, 2}}, pawl.HealthProgressing, pawl.HealthProgressing},
		{"lower, then higher", [][2]int{{4, 4}, {2, 4}, {3, 4}}, pawl.HealthProgressing, pawl.HealthProgressing},
		{"fewer of fewer", [][2]int{{4, 4}, {3, 3}, {2, 2}}, pawl.HealthProgressing, pawl.HealthProgressing},
	} {
		var history []Batch
		task := 0
		for i, rate := range row.rates {
			b := Batch{N: i + 1, Approved: rate[0], Attempted: rate[1], Passing: 10 * (i + 1), Tree: uint64(i + 1)}
			for k := range rate[1] {
				t := Task{Task: task, Result: Approved, Passing: -1}
				if k >= rate[0] {
					t.Result, t.Error = Rejected, uint64(100+task)
				}
				b.Tasks = append(b.Tasks, t)
				task++
			}
			history = append(history, b)
		}
		if seed, tuned := Judge(history, pawl.RulesSeed), tuned(history); seed.Health != row.seed || tuned.Health != row.tuned {
			t.Errorf("%s: %s (%s) by the seed's rules and %s (%s) by the tuned ones, want %s and %s", row.why, seed.Health, seed.Reason, tuned.Health, tuned.Reason, row.seed, row.tuned)
		}
	}
}

// recent is what the monitor is shown after batch i of a history.
func recent(h []Batch, i int) []Batch { return h[max(0, i+1-Window) : i+1] }

// Slow to accuse: of 10,000 histories of honest work at most one in a hundred is
// stopped anywhere in its course.
func TestHonestHistories(t *testing.T) {
	t.Parallel()
	const histories = 10_000
	stopped, verdicts, by := 0, 0, map[pawl.Health]int{}
	bySeed := 0
	for seed := range uint64(histories) {
		w := newWorld(3_000_000 + seed) // others than it was made with
		h := w.honest(6 + w.IntN(15))
		for i := range h {
			if isStop(Judge(recent(h, i), pawl.RulesSeed)) {
				bySeed++
				break
			}
		}
		for i := range h {
			verdicts++
			if v := tuned(recent(h, i)); isStop(v) {
				by[v.Health]++
				stopped++
				break
			}
		}
	}
	t.Logf("%d honest histories, %d verdicts: %d false stops (%d.%02d %%): %v", histories, verdicts, stopped, stopped*100/histories, stopped*10000/histories%100, by)
	t.Logf("by the rules of the seed: %d false stops (%d %%)", bySeed, bySeed*100/histories)
	if stopped*100 > histories {
		t.Errorf("%d of %d honest histories are stopped, want at most 1 %%", stopped, histories)
	}
}
