// Package testsize says how much a test does that could go on for as long as one likes: that
// kills runs at random moments, simulates random worlds, or has many rows alike.
//
// There are three sizes. With -short a test has to end within seconds. The usual size is what
// `make test` has the time for before a change lands; because the moments and worlds are other
// ones each time, or many changes land, it adds up. `make soak` takes hours, and runs all that
// there is.
package testsize

import (
	"os"
	"testing"
)

// SoakVar is the environment variable that asks for the largest size, whatever its value is.
const SoakVar = "PAWL_SOAK"

// Of returns short for tests that run with -short, soak if [SoakVar] is set, and otherwise usual.
func Of[T any](short, usual, soak T) T {
	switch {
	case testing.Short():
		return short
	case os.Getenv(SoakVar) != "":
		return soak
	}
	return usual
}
