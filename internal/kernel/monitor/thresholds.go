package monitor

// The thresholds, each with where it comes from. A number without a source is our
// own choice, made so that accusing is slow.
const (
	// Window is how many of the last batches are looked at (the last 8 attempts are
	// what a loop remembers).
	Window = 8
	// SameError is how often in a row a task may meet the same objection (V-45).
	SameError = 3
	// FailedBatches is how many batches in a row may approve nothing (V-45).
	FailedBatches = 3
	// Nearer is how many earlier values a new one has to be better than to count as
	// progress. Our own: with one, any to and fro would look like progress every
	// second time; with all, a task that begins anew would be accused while it climbs.
	Nearer = 2
	// Fruitless is how many in a row may reach nothing that was not reached before,
	// however they move below that. Our own: it ends what Nearer forgives.
	Fruitless = 5
	// Drops is how often in a row the pass rate may be lower than before (V-47, V-B06).
	Drops = 2
	// RateOf is of how many tasks at least a batch has a pass rate (our own: of one task it is all or nothing).
	RateOf = 2
	// BrokenFor is after how many batches in a row a test that was verified may fail
	// on the branch (our own: one batch may break what the next mends).
	BrokenFor = 2
	// Turns is how many steps in a row may lead back to where it was before: A-B-A is
	// one, A-B-A-B two (V-48).
	Turns = 2
	// ReasonMax is the most bytes of a reason.
	ReasonMax = 300
)
