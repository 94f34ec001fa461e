package report

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	unittestRan    = pattern.Of(`^Ran (\d+) tests? in [\d.]+s$`)
	unittestEnd    = pattern.Of(`^(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z =0-9,]+)\))?$`)
	unittestCount  = pattern.Of(`(failures|errors|skipped|expected failures|unexpected successes)=(\d+)`)
	unittestResult = pattern.Of(`^\w+ \(([\w.]+)\)(?: \.\.\.|\s.*\.\.\.) (ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$`)
	unittestHead   = pattern.Of(`^(FAIL|ERROR): (\w+) \(([\w.]+)\)`)
)

// readUnittest reads what Python's unittest prints, with or without -v.
func readUnittest(c *collector, lines []string) bool {
	ran, found := 0, false
	counts := map[string]int{}
	for i, line := range lines {
		m := unittestRan.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		// The verdict stands two lines below; others print "Ran 3 tests" too.
		for _, after := range lines[i+1 : min(i+4, len(lines))] {
			if e := unittestEnd.FindStringSubmatch(after); e != nil {
				found = true
				n, _ := strconv.Atoi(m[1])
				ran += n
				for _, pair := range unittestCount.FindAllStringSubmatch(e[1], -1) {
					n, _ := strconv.Atoi(pair[2])
					counts[pair[1]] += n
				}
				break
			}
		}
	}
	if !found {
		return false
	}
	unittestNames(c, lines)
	failed := counts["failures"] + counts["errors"] + counts["unexpected successes"]
	skipped := counts["skipped"] + counts["expected failures"]
	broken := len(c.broken)
	c.counts(ran-failed-skipped, failed-broken, skipped)
	return true
}

func unittestNames(c *collector, lines []string) {
	type failure struct {
		name string
		out  clip
	}
	var failures []*failure
	var current *failure
	for _, line := range lines {
		if m := unittestResult.FindStringSubmatch(line); m != nil {
			switch m[2] {
			case "ok", "unexpected success":
				c.add(m[1], pawl.TestPass, "")
			case "FAIL", "ERROR": // comes again below, with its output
			default:
				c.add(m[1], pawl.TestSkip, "")
			}
			continue
		}
		if m := unittestHead.FindStringSubmatch(line); m != nil && len(failures) < maxFailures {
			current = &failure{name: unittestName(m[2], m[3])}
			failures = append(failures, current)
			continue
		}
		if strings.HasPrefix(line, "======") || unittestRan.MatchString(line) {
			current = nil
		}
		if current != nil && !strings.HasPrefix(line, "------") {
			current.out.write(line + "\n")
		}
	}
	for _, f := range failures {
		if file, ok := strings.CutPrefix(f.name, "unittest.loader._FailedTest."); ok {
			c.whole(file, collectionFailed, f.out.String())
			continue
		}
		c.add(f.name, pawl.TestFail, f.out.String())
	}
}

// unittestName is the full name; before Python 3.11 the part in brackets is
// the class alone.
func unittestName(method, in string) string {
	if strings.HasSuffix(in, "."+method) {
		return in
	}
	return in + "." + method
}
