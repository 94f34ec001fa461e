package kernel

import "time"

// The parts of a score, besides the priority of a kind.
const (
	maxAge      = 50 // most points for waiting: one a minute
	levelPoints = 10 // for each level below the root
	tryPoints   = 5  // subtracted for each earlier try
	maxTries    = 30 // most points that earlier tries subtract
)

// Score returns the score of a loop that waits to be admitted; the loop with the highest goes
// first. The score is the priority of the loop's kind, plus a point for each whole minute waited,
// at most 50, plus 10 for each level below the root, minus 5 for each earlier attempt at its task,
// at most 30. A first attempt subtracts nothing, and no number of tries adds anything.
func Score(priority int, waited time.Duration, level, tries int) int {
	age := int(min(max(waited/time.Minute, 0), maxAge))
	return priority + age + levelPoints*level - min(max(tryPoints*tries, 0), maxTries)
}
