package kernel

import "time"

// What a score is made of, besides a kind's priority.
const (
	maxAge      = 50 // points for waiting: one a minute
	levelPoints = 10 // for each level below the root
	tryPoints   = 5  // taken away for each earlier try
	maxTries    = 30 // points that earlier tries take away at most
)

// Score is what decides which loop goes first among those that wait for their turn;
// the highest does. It is the priority of the loop's kind, plus a point for each whole
// minute it has waited, 50 at most, plus 10 for each level it is below the root, minus 5
// for each earlier attempt at its task, 30 at most. A first attempt takes nothing away,
// and no number of tries adds anything.
func Score(priority int, waited time.Duration, level, tries int) int {
	age := int(min(max(waited/time.Minute, 0), maxAge))
	return priority + age + levelPoints*level - min(max(tryPoints*tries, 0), maxTries)
}
