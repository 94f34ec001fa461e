package kernel

import (
	"testing"
	"time"
)

//
func TestScoreOfWaitingLoops(t *testing.T) {
	for _, row := range []struct {
		why                    string
		priority, level, tries int
		waited                 time.Duration
		want                   int
	}{
		{"code that waited five minutes", 100, 3, 0, 5 * time.Minute, 135},
		{"code that has just come to exist", 100, 3, 0, 0, 130},
		{"a phase that waited eleven minutes", 80, 2, 0, 11 * time.Minute, 111},
		{"a minute that is not over", 80, 2, 0, 59 * time.Second, 100},
		{"age has an end", 60, 1, 0, 24 * time.Hour, 120},
		{"a clock that went back", 60, 1, 0, -time.Hour, 70},
		{"one try takes five", 100, 3, 1, 0, 125},
		{"tries take thirty at most", 100, 3, 100, 0, 100},
		{"fewer than none add nothing", 100, 3, -1, 0, 130}, // iteration 0 gives no bonus
		{"the root", 40, 0, 0, 0, 40},
	} {
		if got := Score(row.priority, row.waited, row.level, row.tries); got != row.want {
			t.Errorf("%s: %d, want %d", row.why, got, row.want)
		}
	}
}
