package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"pawl"
	"pawl/internal/gate/report"
)

// The inventory finds tests that ran on the base, passing or failing, and do
// not run any more. It is cheap and meant to be quiet: an honest refactoring
// passes. So:
//
//   - A test that is skipped now always counts.
//   - A test that is gone counts, unless a new test that runs takes its place.
//     Each new test can take one place, tried in this order: the same name in
//     another package, file or class (it was moved); another subtest of the
//     same test (a row of a table was renamed); a test in the same place whose
//     name shares a word with it (it was renamed); and, where a place lost as
//     many tests as it gained, any of those (a renaming throughout).
//   - Subtests of a test that is gone go with it.
//   - Where the candidate fails anyway, tests that are missing because their
//     package broke or the test around them failed are not told a second time.
//
// What a test checks is not compared: that is for a review.

func names(lost []pawl.LostTest) []string {
	all := make([]string, len(lost))
	for i, l := range lost {
		all[i] = l.Name
	}
	return all
}

// findLost compares the tests of the base with those of a candidate. With
// lenient set, what the candidate's own failures explain is left out.
func findLost(base []pawl.TestResult, reading *report.Reading, lenient bool) []pawl.LostTest {
	inv := newInventory(base, reading)
	var skipped, gone []string
	for _, t := range base {
		if t.Status == pawl.TestSkip || report.IsWhole(t.Name) {
			continue
		}
		status, there := inv.now[t.Name]
		switch {
		case there && status == pawl.TestSkip:
			skipped = append(skipped, t.Name)
		case there || inv.standsForMore(t.Name) || reading.LeftOut > 0:
		case isFleeting(t.Name) && inv.fleeting[stable(t.Name)]: // it is named after a folder of the run
		case lenient && inv.explained(t.Name, reading):
		default:
			gone = append(gone, t.Name)
		}
	}
	skipped = outermost(skipped, nil)
	gone = outermost(gone, skipped)
	gone = inv.unplaced(gone)
	var lost []pawl.LostTest
	for _, name := range gone {
		lost = append(lost, pawl.LostTest{Name: name})
	}
	for _, name := range skipped {
		lost = append(lost, pawl.LostTest{Name: name, Skipped: true})
	}
	return lost
}

type inventory struct {
	now    map[string]pawl.TestStatus
	places map[string]bool // where tests are now
	gained []string        // new tests that run, outermost
	// fleeting are the names, without numbers, of those that are named after a folder that every run has anew.
	fleeting map[string]bool
}

// stable returns the name of a test without what differs in every run.
func stable(name string) string {
	if isFleeting(name) {
		return withoutNumbers(name)
	}
	return name
}

// withoutNumbers returns a name in which every number is the same.
func withoutNumbers(name string) string {
	var b strings.Builder
	digit := false
	for _, r := range name {
		if is := unicode.IsDigit(r); !is || !digit {
			if digit = is; is {
				r = '#'
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isFleeting reports whether a test has the path of a temporary folder in its name.
func isFleeting(name string) bool {
	return slices.ContainsFunc([]string{"//tmp/", "//var/folders/", "//private/var/folders/"}, func(dir string) bool { return strings.Contains(name, dir) })
}

func newInventory(base []pawl.TestResult, reading *report.Reading) *inventory {
	inv := &inventory{now: map[string]pawl.TestStatus{}, places: map[string]bool{}, fleeting: map[string]bool{}}
	there := map[string]bool{}
	for _, t := range base {
		there[stable(t.Name)] = true
	}
	var gained []string
	for _, t := range reading.Tests {
		if report.IsWhole(t.Name) {
			continue
		}
		inv.now[t.Name] = t.Status
		if isFleeting(t.Name) && t.Status != pawl.TestSkip {
			inv.fleeting[stable(t.Name)] = true
		}
		place, _ := report.Split(t.Name)
		inv.places[place] = true
		if t.Status != pawl.TestSkip && !there[stable(t.Name)] {
			gained = append(gained, t.Name)
		}
	}
	inv.gained = outermost(gained, nil)
	return inv
}

// standsForMore reports whether a name stands for a package or file that lists
// its tests now, or for a test whose package or file stands for it now: some
// runners name tests only when one of a file fails.
func (inv *inventory) standsForMore(name string) bool {
	if inv.places[name] {
		return true
	}
	place, _ := report.Split(name)
	status, unit := inv.now[place]
	return unit && status != pawl.TestSkip
}

// explained reports whether a test is missing because of a failure around it.
func (inv *inventory) explained(name string, reading *report.Reading) bool {
	for _, place := range reading.Broken {
		if report.Within(name, place) || place == "test run" {
			return true
		}
	}
	for parent := report.Parent(name); parent != ""; parent = report.Parent(parent) {
		if inv.now[parent] == pawl.TestFail {
			return true
		}
	}
	return false
}

// outermost drops the names that belong to a test in the list or in others.
func outermost(list, others []string) []string {
	in := map[string]bool{}
	for _, names := range [][]string{list, others} {
		for _, name := range names {
			in[name] = true
		}
	}
	var rest []string
	for _, name := range list {
		nested := false
		for parent := report.Parent(name); parent != "" && !nested; parent = report.Parent(parent) {
			nested = in[parent]
		}
		if !nested {
			rest = append(rest, name)
		}
	}
	return rest
}

// unplaced returns those of the gone tests whose place no new test takes.
func (inv *inventory) unplaced(gone []string) []string {
	if len(gone) == 0 {
		return nil
	}
	gained := inv.gained
	gone, gained = pair(gone, gained, func(name string) []string { return []string{local(name)} })
	gone, gained = pair(gone, gained, func(name string) []string {
		if parent := report.Parent(name); parent != "" {
			return []string{parent}
		}
		return nil
	})
	gone, gained = pair(gone, gained, wordKeys)
	return unequal(gone, gained)
}

// pair matches each gone test with one gained test that has a key in common,
// and returns what is left of both.
func pair(gone, gained []string, keys func(string) []string) (restGone, restGained []string) {
	byKey := map[string][]int{}
	for i, name := range gained {
		for _, key := range keys(name) {
			byKey[key] = append(byKey[key], i)
		}
	}
	taken := make([]bool, len(gained))
	for _, name := range gone {
		if !take(byKey, keys(name), taken) {
			restGone = append(restGone, name)
		}
	}
	for i, name := range gained {
		if !taken[i] {
			restGained = append(restGained, name)
		}
	}
	return restGone, restGained
}

func take(byKey map[string][]int, keys []string, taken []bool) bool {
	for _, key := range keys {
		for len(byKey[key]) > 0 {
			i := byKey[key][0]
			byKey[key] = byKey[key][1:]
			if !taken[i] {
				taken[i] = true
				return true
			}
		}
	}
	return false
}

// unequal drops the gone tests of places that gained as many as they lost.
func unequal(gone, gained []string) []string {
	gains := map[string]int{}
	losses := map[string]int{}
	for _, name := range gained {
		place, _ := report.Split(name)
		gains[place]++
	}
	for _, name := range gone {
		place, _ := report.Split(name)
		losses[place]++
	}
	var rest []string
	for _, name := range gone {
		if place, _ := report.Split(name); gains[place] != losses[place] {
			rest = append(rest, name)
		}
	}
	return rest
}

// emptyWords are in too many names of tests to say that two are one.
var emptyWords = map[string]bool{
	"test": true, "tests": true, "should": true, "it": true, "the": true, "a": true, "an": true, "of": true, "to": true,
	"and": true, "or": true, "in": true, "is": true, "with": true, "for": true, "when": true, "on": true, "not": true,
	"can": true, "does": true, "returns": true, "works": true, "case": true, "ok": true, "new": true, "example": true,
}

// wordKeys are the words of a test's name, of a subtest its own name's, each
// with the test's place.
func wordKeys(name string) []string {
	place, local := report.Split(name)
	var keys []string
	for _, word := range words(local[strings.LastIndexByte(local, '/')+1:]) {
		if !emptyWords[word] {
			keys = append(keys, place+"\x00"+word)
		}
	}
	return keys
}

// words splits a name at case changes and at what is no letter, in lower case.
func words(name string) []string {
	var all []string
	var word []rune
	flush := func() {
		if len(word) > 1 {
			all = append(all, strings.ToLower(string(word)))
		}
		word = nil
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			flush()
			continue
		}
		lowerAfter := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) && len(word) > 0 && (unicode.IsLower(word[len(word)-1]) || lowerAfter) {
			flush()
		}
		word = append(word, r)
	}
	flush()
	return all
}

// maxInventory is how many entries the inventory lists.
const maxInventory = 500

func bounded(list []string) []string {
	if len(list) <= maxInventory {
		return list
	}
	return append(list[:maxInventory:maxInventory], fmt.Sprintf("and %d more", len(list)-maxInventory))
}
