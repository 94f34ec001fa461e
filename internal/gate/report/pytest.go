package report

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	pytestSummary = pattern.Of(`^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$`)
	pytestCount   = pattern.Of(`(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)`)
	// The line of one test with -v, and of one test in the short summary.
	pytestVerbose = pattern.Of(`^(?:\[gw\d+\] \[ *\d+%\] )?(\S.*?) (PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)(?: \(.*\))?\s*(?:\[ *\d+%\])?$`)
	pytestWorker  = pattern.Of(`^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS) (\S.*?)\s*$`)
	pytestShort   = pattern.Of(`^(PASSED|FAILED|ERROR|XFAIL|XPASS) (\S.*)$`)
	pytestSection = pattern.Of(`^_{2,} (?:ERROR (?:at \w+ of|collecting) )?(.+?) _{2,}$`)
	pytestRule    = pattern.Of(`^=+ .+ =+$`)
)

// readPytest reads what pytest prints, with any of -q, -v and -rA. Tests that
// pass have names only with the latter two. A test that is expected to fail
// counts as skipped when it does.
func readPytest(c *collector, lines []string) bool {
	summary := -1
	for i, line := range lines {
		if pytestSummary.MatchString(line) && isPytest(line) {
			summary = i
		}
	}
	if summary < 0 {
		return false
	}
	passed, failed, skipped := 0, 0, 0
	for _, m := range pytestCount.FindAllStringSubmatch(lines[summary], -1) {
		n, _ := strconv.Atoi(m[1])
		switch m[2] {
		case "passed", "xpassed":
			passed += n
		case "failed", "error", "errors":
			failed += n
		default:
			skipped += n
		}
	}
	outputs := pytestOutputs(lines)
	broken := 0
	for _, line := range lines {
		if status, node, ok := pytestLine(line); ok {
			broken += pytestResult(c, status, node, outputs)
		}
	}
	c.counts(passed, failed-broken, skipped)
	return true
}

// isPytest keeps the summary lines of others out.
func isPytest(line string) bool {
	return strings.Contains(line, "no tests ran") || pytestCount.MatchString(line) ||
		strings.Contains(line, "deselected") || strings.Contains(line, "warning")
}

// pytestLine finds a test's result and node id in a line. The message behind a
// node id is cut off.
func pytestLine(line string) (status, node string, ok bool) {
	if m := pytestShort.FindStringSubmatch(line); m != nil {
		node, _, _ = strings.Cut(m[2], " - ")
		return m[1], node, strings.Contains(node, ".py") || strings.Contains(node, "::")
	}
	if m := pytestWorker.FindStringSubmatch(line); m != nil {
		return m[1], m[2], strings.Contains(m[2], "::")
	}
	if m := pytestVerbose.FindStringSubmatch(line); m != nil {
		return m[2], m[1], strings.Contains(m[1], "::")
	}
	return "", "", false
}

// pytestResult records a test; it returns 1 for a file that cannot be loaded,
// which pytest counts as an error and which is no test.
func pytestResult(c *collector, status, node string, outputs map[string]*clip) int {
	if !strings.Contains(node, "::") {
		if status != "ERROR" {
			return 0
		}
		before := len(c.reading.Tests)
		c.whole(node, collectionFailed, outputs[node].String())
		return len(c.reading.Tests) - before
	}
	_, local, _ := strings.Cut(node, "::")
	out := outputs[pytestTitle(local)]
	switch status {
	case "PASSED", "XPASS":
		c.add(node, pawl.TestPass, "")
	case "SKIPPED", "XFAIL":
		c.add(node, pawl.TestSkip, "")
	default:
		c.add(node, pawl.TestFail, out.String())
	}
	return 0
}

// pytestTitle is how a section is headed: "TestX.test_y[param]".
func pytestTitle(local string) string {
	head, params, found := strings.Cut(local, "[")
	head = strings.ReplaceAll(head, "::", ".")
	if found {
		return head + "[" + params
	}
	return head
}

// pytestOutputs are the sections about failures, by their titles.
func pytestOutputs(lines []string) map[string]*clip {
	outputs := map[string]*clip{}
	var current *clip
	for _, line := range lines {
		if pytestRule.MatchString(line) {
			current = nil
			continue
		}
		if m := pytestSection.FindStringSubmatch(line); m != nil {
			current = nil
			if outputs[m[1]] == nil && len(outputs) < maxFailures {
				current = &clip{}
				outputs[m[1]] = current
			}
			continue
		}
		if current != nil {
			current.write(line + "\n")
		}
	}
	return outputs
}
