// Package testsize chooses how much work a test does, such as how often it kills a run or how
// many random worlds it simulates.
//
// There are three sizes: short for go test -short, usual for make test, and soak for make soak,
// which may take hours.
package testsize

import (
	"os"
	"testing"
)

// SoakVar names the environment variable that asks for the largest size if it is not empty.
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
