// Package testsize chooses how much work a test does, such as how often it kills a run or how
// many random worlds it simulates.
//
// There are three sizes: short for go test -short, which make test uses; a turn for make test-all;
// and soak for make soak, which may take hours. The cases that soak runs are in ten parts. A turn is
// one of them, so that ten turns run what a soak runs, each case once.
package testsize

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Turns is how many parts the cases of expensive tests are in.
const Turns = 10

// The environment variables that choose a size where the tests do not run with -short.
const (
	// SoakVar asks for the largest size if it is not empty.
	SoakVar = "PAWL_SOAK"
	// TurnVar is the number of the turn, from 0 to 9. Empty means 0.
	TurnVar = "PAWL_TURN"
	// ChangedVar lists the folders of packages that run the cases of all turns, relative to the
	// root of the module and separated by blanks, such as "internal/git internal/kernel".
	ChangedVar = "PAWL_CHANGED"
)

// Of returns short if the tests run with -short, soak if [SoakVar] is set, and turn otherwise.
// [Case], [Every] and [Cases] suit most tests better, since with them ten turns run what a soak runs.
func Of[T any](short, turn, soak T) T {
	switch {
	case testing.Short():
		return short
	case all():
		return soak
	}
	return turn
}

// Case reports whether a test runs its case number i, which counts from 0: with -short if i is
// less than short, and in a turn if it is the turn of i. Every case runs in a soak, and in a turn
// if the package under test is listed in [ChangedVar].
func Case(i, short int) bool {
	return Of(i < short, i%Turns == turn(), true)
}

// Every is [Case] for a test that goes through all places of something, such as the bytes of a
// file: with -short it runs every short-th case.
func Every(i, short int) bool {
	return Of(i%short == 0, i%Turns == turn(), true)
}

// Cases returns how many of n interchangeable cases a test runs, such as kills at random moments:
// short with -short, all n where [Case] would run every case, and otherwise a tenth, rounded up.
func Cases(short, n int) int {
	return Of(short, (n+Turns-1)/Turns, n)
}

// Turn returns the number of this turn, for tests that draw their cases with a seed. It is 0 with -short and in a soak.
func Turn() int { return Of(0, turn(), 0) }

// turn is the number in [TurnVar].
func turn() int {
	value := os.Getenv(TurnVar)
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n >= Turns {
		panic(fmt.Sprintf("%s=%s is not a turn: want a number from 0 to %d", TurnVar, value, Turns-1))
	}
	return n
}

// all reports whether the cases of all turns run.
func all() bool {
	return os.Getenv(SoakVar) != "" || slices.Contains(strings.Fields(os.Getenv(ChangedVar)), folder)
}

// folder is the folder of the package under test, in which its tests begin, relative to the root
// of the module. It is empty if there is no module around it.
var folder = func() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			rel, err := filepath.Rel(root, dir)
			if err != nil {
				return ""
			}
			return filepath.ToSlash(rel)
		}
		if root == filepath.Dir(root) {
			return ""
		}
	}
}()
