package report

import (
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	vitestTests = pattern.Of(`^ +Tests  +((?:\d+ [a-z ]+(?: \| )?)+)(?:\(\d+\))?$`)
	vitestNone  = pattern.Of(`^No test (?:suite )?files? found`)
	// A file with the default reporter, such as " ✓ src/a.test.ts (3 tests | 1 failed) 8ms".
	vitestFile = pattern.Of(`^ ([✓❯×↓]) (?:\|[^|]*\| |\S+ )?(\S+) \(\d+ tests?[^)]*\)(?: .*)?$`)
	// A test with the verbose reporter, and one below its file with the default one.
	vitestTest  = pattern.Of(`^ ([✓×↓]) (\S+\.\w+ > .+?)(?: +\d+m?s)?$`)
	vitestBelow = pattern.Of(`^ {3,}([✓×↓]) (.+?)(?: +\d+m?s)?$`)
	vitestFail  = pattern.Of(`^ FAIL  (?:\|[^|]*\| )?(\S+)(?: > (.+)| \[ .+ \])$`)
)

// readVitest reads what vitest prints with its default and its verbose reporter.
func readVitest(c *collector, lines []string) bool {
	found := false
	var passed, failed, skipped int
	for _, line := range lines {
		if m := vitestTests.FindStringSubmatch(line); m != nil {
			found = true
			passed, failed, skipped = jestCounts(m[1])
		}
		found = found || vitestNone.MatchString(line) || strings.HasPrefix(line, " Test Files  ")
	}
	if !found {
		return false
	}
	v := &vitestReader{c: c}
	for _, line := range lines {
		v.line(line)
	}
	v.end()
	c.counts(passed, failed, skipped)
	return true
}

type vitestReader struct {
	c      *collector
	file   string
	failed []string // the failures that the lines to come tell of
	out    clip
}

func (v *vitestReader) line(line string) {
	if m := vitestFail.FindStringSubmatch(line); m != nil {
		if v.out.String() != "" {
			v.end()
		}
		name := m[1]
		if m[2] != "" {
			name += " > " + m[2]
		}
		if len(v.failed) < maxFailures {
			v.failed = append(v.failed, name)
		}
		return
	}
	if strings.HasPrefix(line, "⎯⎯") || strings.HasPrefix(line, " Test Files  ") {
		v.end()
		return
	}
	if len(v.failed) > 0 {
		v.out.write(line + "\n")
		return
	}
	if m := vitestTest.FindStringSubmatch(line); m != nil {
		v.add(m[1], m[2])
		return
	}
	if m := vitestFile.FindStringSubmatch(line); m != nil {
		v.file = m[2]
		if m[1] == "✓" {
			v.c.add(v.file, pawl.TestPass, "")
		}
		return
	}
	if m := vitestBelow.FindStringSubmatch(line); m != nil && v.file != "" {
		v.below(m[1], m[2])
	}
}

// below records a test that the default reporter lists under its file, without
// the suites around it. One that failed comes again with its whole name.
func (v *vitestReader) below(mark, name string) {
	if mark != "×" {
		v.add(mark, v.file+" > "+name)
	}
}

func (v *vitestReader) add(mark, name string) {
	switch mark {
	case "✓":
		v.c.add(name, pawl.TestPass, "")
	case "×":
		v.c.add(name, pawl.TestFail, "")
	default:
		v.c.add(name, pawl.TestSkip, "")
	}
}

func (v *vitestReader) end() {
	out := v.out.String()
	for _, name := range v.failed {
		if strings.Contains(name, " > ") {
			v.c.add(name, pawl.TestFail, out)
		} else {
			v.c.whole(name, suiteFailed, out)
		}
	}
	v.failed, v.out = nil, clip{}
}
