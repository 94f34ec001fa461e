// Package source reads the sources of tests and says how a change weakens them: tests that are
// gone, skipped or emptied, assertions that are gone, and expectations that are others.
//
// A file is split into tokens by one tolerant lexer with a table per language; Go is parsed with
// go/parser as well. What finds the tests of a language (golang.go, javascript.go, …) makes units
// of them: functions and tests with their checks, marks that skip them, and tables. Everything
// after that is the same for all languages: match.go finds for each test of the base the one that
// it has become, and compare.go says what was lost on the way.
//
// Nothing here knows what a change was meant to do. A test that was renamed, moved, regrouped or
// reformatted, or whose names were changed consistently, is the same test as long as it has the
// same literals and as many assertions.
//
// Sources are hostile: everything is bounded, nothing panics, and a file that cannot be read has
// no tests.
package source

import (
	"cmp"
	"slices"

	"pawl"
)

const (
	// maxBytes is how long a file may be to be read, in bytes.
	maxBytes = 1 << 20
	// maxTokens is how many tokens of a file are looked at.
	maxTokens = 300_000
	// maxDepth is how many brackets may be open at a time; those further in belong to nothing.
	maxDepth = 500
	// maxUnclosed is how many brackets that were never closed are passed over to find the one
	// that a bracket closes.
	maxUnclosed = 50
	// maxTemplates is how deep templates of JavaScript are read in each other.
	maxTemplates = 20
	// maxUnits is how many functions and tests of a file are looked at.
	maxUnits = 5000
	// maxCalls is how deep calls of helpers are followed.
	maxCalls = 8
	// maxPairs is how many pairs of tests are compared by their bodies.
	maxPairs = 40_000
	// maxGrams is how many groups of tokens of a body are compared.
	maxGrams = 600
	// maxFacts is how many assertions and rows of a test are looked at one by one.
	maxFacts = 400
	// maxSpan is how many tokens of an assertion or a row are looked at.
	maxSpan = 4000
	// maxStatement is how many tokens of a statement are looked at, those in its brackets aside.
	maxStatement = 1000
	// maxDoc is how many lines below an example in documentation the name of its function is looked for.
	maxDoc = 200
	// maxDetail is how many lines of a side a detail shows, and maxDetailLine how long they are, in bytes.
	maxDetail     = 12
	maxDetailLine = 200
)

// File is a source as it was or is.
type File struct {
	Path string // relative to the repository's root, with slashes
	Data []byte
}

// Test is a test as its source has it.
type Test struct {
	Path string
	// Name is the test's own name: a function, or a title in JavaScript and Ruby.
	Name string
	// Suite is what it stands in, such as a class or the titles around it; mostly empty.
	Suite     string
	Line, End int // the first and the last line
	Skipped   bool
	// Assertions is how many assertions can fail, with those of the helpers that it calls.
	Assertions int
	// Literals are the strings, numbers and other constants in it and in its tables, without
	// messages.
	Literals []string
}

// Change is a way in which a test of the base was weakened.
type Change struct {
	// Kind is one of pawl.FindSkippedTest, FindEmptiedTest, FindFewerAssertions,
	// FindExpectation and FindRemovedTest.
	Kind pawl.FindingKind
	Path string // the file of the candidate, or of the base if there is none
	Test string // the test's own name, with [case] where one row is meant; empty for a helper
	Text string // what happened to it, without its name
	// Detail is a short diff of the lines that matter, or empty.
	Detail string
	// Kept is whether a test that is gone gave and expected nothing but what one of the candidate's
	// new or changed tests has in it too. If it still passes, it is most likely a part of that.
	Kept bool
	// Sometimes is whether a test is skipped only where a condition holds, so that running it shows
	// whether it is.
	Sometimes bool
}

// Tests returns the tests of a file. It reports false when the language is not known or the
// file is too long.
func Tests(f File) ([]Test, bool) {
	if languageOf(f.Path) == nil || len(f.Data) > maxBytes {
		return nil, false
	}
	s := readSide([]File{f})
	var tests []Test
	for _, u := range s.tests {
		tests = append(tests, s.public(u))
	}
	return tests, true
}

// Compare returns how the tests of the base were weakened. Base and candidate are the changed
// files that hold tests or their support, whole, as they were and as they are.
func Compare(base, candidate []File) []Change {
	c := &comparison{base: readSide(base), candidate: readSide(candidate)}
	c.match()
	c.run()
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Test, b.Test))
	})
	return slices.CompactFunc(c.changes, func(a, b Change) bool { return a == b })
}

// Added returns the tests of the candidate that the base has not, and those whose bodies differ
// after names are changed consistently.
func Added(base, candidate []File) []Test {
	c := &comparison{base: readSide(base), candidate: readSide(candidate)}
	c.match()
	same := map[*unit]bool{}
	for _, p := range c.pairs {
		same[p.candidate] = equalTokens(c.base.signature(p.base), c.candidate.signature(p.candidate))
	}
	var added []Test
	for _, u := range c.candidate.tests {
		if !same[u] {
			added = append(added, c.candidate.public(u))
		}
	}
	return added
}
