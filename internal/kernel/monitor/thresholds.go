package monitor

// The thresholds, each with its source. A number without a source is our own choice, made so that
// the monitor is slow to accuse.
const (
	// Window is how many of the last batches count. A loop remembers as many of its attempts.
	Window = 8
	// SameError is how often in a row a task may meet the same objection (V-45).
	SameError = 3
	// FailedBatches is how many batches in a row may approve nothing (V-45).
	FailedBatches = 3
	// Nearer is how many earlier values a new one has to beat to count as progress. Our own: with
	// one, a value that alternates would be progress every second time; with all, a task that
	// starts over would be accused while it climbs.
	Nearer = 2
	// Fruitless is how many batches or attempts in a row may fail to beat all before them. Our own:
	// it limits what Nearer forgives.
	Fruitless = 5
	// Drops is how often in a row the pass rate may fall (V-47, V-B06).
	Drops = 2
	// RateOf is how many tasks a batch needs to have a pass rate (our own: with one task it is all
	// or nothing).
	RateOf = 2
	// BrokenFor is how many batches in a row have to leave a verified test failing on the branch to
	// count as a regression (our own: the next batch may mend what one breaks).
	BrokenFor = 2
	// Turns is how many steps in a row have to lead back to an earlier state to count as a
	// flip-flop: A-B-A is one, A-B-A-B two (V-48).
	Turns = 2
	// ReasonMax bounds the bytes of a reason.
	ReasonMax = 300
)
