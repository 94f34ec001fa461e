// Package testsize says how much a test does that could go on forever, because it kills runs
// at random moments, simulates random worlds or tries many rows alike.
//
// There are three sizes. Short is for tests that are run every few minutes (go test -short),
// usual for those that are run before a change lands (make test), and soak for those that may
// take hours (make soak).
package testsize

import (
	"os"
	"testing"
)

// SoakVar names the environment variable that asks for the largest size. Any value does, unless it is empty.
const SoakVar = "PAWL_SOAK"

// Of returns short if the tests run with -short, soak if [SoakVar] is set, and usual otherwise.
func Of[T any](short, usual, soak T) T {
	switch {
	case testing.Short():
		return short
	case os.Getenv(SoakVar) != "":
		return soak
	}
	return usual
}
