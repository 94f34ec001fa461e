package report

import (
	"strconv"

	"pawl"
	"pawl/internal/pattern"
)

// countPattern is the closing line of a runner whose tests have no names in
// its text. The groups are passed, failed, errors, skipped and total; when
// passed is not there it is what the others leave of total.
type countPattern struct {
	tool    string
	pattern *pattern.Pattern
}

var countPatterns = []countPattern{
	{"Maven", pattern.Of(`^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)$`)},
	{"RSpec", pattern.Of(`^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?(?:, (?P<errors>\d+) errors? occurred outside of examples)?$`)},
	{"ExUnit", pattern.Of(`^(?:\d+ (?:doctests?|properties|property), )*(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?:, \d+ excluded)?(?:, \d+ invalid)?(?:, (?P<skipped>\d+) skipped)?$`)},
	{"minitest", pattern.Of(`^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors(?:, (?P<skipped>\d+) skips)?$`)},
	{"PHPUnit", pattern.Of(`^OK \((?P<total>\d+) tests?, \d+ assertions?\)$`)},
	{"PHPUnit", pattern.Of(`^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?(?:, Failures: (?P<failed>\d+))?(?:, [A-RT-Z][\w ]*: \d+)*(?:, Skipped: (?P<skipped>\d+))?(?:, \w[\w ]*: \d+)*\.$`)},
	{"dotnet test", pattern.Of(`^(?:Passed|Failed|Skipped)!\s+- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+), Skipped:\s+(?P<skipped>\d+), Total:`)},
	{"cargo nextest", pattern.Of(`^\s*Summary \[[^\]]+\] \d+ tests? run: (?P<passed>\d+) passed(?: \([^)]*\))?(?:, (?P<failed>\d+) failed)?(?:, \d+ \w+)*?(?:, (?P<skipped>\d+) skipped)?$`)},
	{"ctest", pattern.Of(`^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)$`)},
	{"a test runner", pattern.Of(`^(?:\w+: )?(?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?\.?$`)},
}

var rspecFailure = pattern.Of(`^rspec (\./\S+?)(?::\d+|\[[\d:]+\])+ # (.+)$`)

// readCounts reads the closing lines of runners that name no tests; those of
// several runs are added up.
func readCounts(c *collector, lines []string) bool {
	for _, p := range countPatterns {
		var passed, failed, skipped int
		found := false
		for _, line := range lines {
			if len(line) > 300 {
				continue
			}
			if m := p.pattern.FindStringSubmatch(line); m != nil {
				found = true
				pass, fail, skip := p.read(m)
				passed, failed, skipped = passed+pass, failed+fail, skipped+skip
			}
		}
		if !found {
			continue
		}
		c.tool = p.tool
		for _, line := range lines {
			if m := rspecFailure.FindStringSubmatch(line); m != nil {
				c.add(m[1]+" > "+m[2], pawl.TestFail, "")
			}
		}
		c.counts(passed, failed, skipped)
		return true
	}
	return false
}

func (p countPattern) read(m []string) (passed, failed, skipped int) {
	group := func(name string) int {
		i := p.pattern.SubexpIndex(name)
		if i < 0 {
			return 0
		}
		n, _ := strconv.Atoi(m[i])
		return min(n, 10_000_000)
	}
	failed = group("failed") + group("errors")
	skipped = group("skipped")
	if p.pattern.SubexpIndex("passed") >= 0 {
		return group("passed"), failed, skipped
	}
	return max(group("total")-failed-skipped, 0), failed, skipped
}
