// Package heldout reads held-out checks: checks of a run's result that the user keeps outside of the
// repository, so that nobody who works on the result can see them. A folder of such checks is read
// when the run starts, and is part of the run from then on: it is kept as one blob, which only the
// gate reads.
package heldout
