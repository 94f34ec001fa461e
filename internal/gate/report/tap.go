package report

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	tapVersion = pattern.Of(`^TAP version \d+$`)
	tapPlan    = pattern.Of(`^1\.\.(\d+)(?:\s*#.*)?$`)
	tapResult  = pattern.Of(`^(not )?ok\b(?:\s+(\d+))?(?:\s+-)?(?:\s+(.*))?$`)
	// A directive stands behind an unescaped hash.
	tapDirective = pattern.Of(`(?i)(?:^|[^\\])#\s*(skip|todo)\b`)
	tapTime      = pattern.Of(`\s*# time=\S+`)
)

// readTAP reads the Test Anything Protocol, versions 12 to 14, with subtests
// as node, tap and vitest print them. A test that has subtests stands for them:
// it is only recorded itself when it failed and none of them did.
func readTAP(c *collector, lines []string) bool {
	if !looksLikeTAP(lines) {
		return false
	}
	c.number = true
	t := &tap{c: c, planned: -1}
	for i, line := range lines {
		t.next = 0
		if i+1 < len(lines) {
			t.next = indentation(lines[i+1])
		}
		t.line(line)
	}
	t.end()
	return true
}

func looksLikeTAP(lines []string) bool {
	plan, result := false, false
	for _, line := range lines {
		switch {
		case tapVersion.MatchString(line):
			return true
		case strings.HasPrefix(line, "1.."):
			plan = plan || tapPlan.MatchString(line)
			if plan && strings.HasPrefix(line, "1..0") {
				return true
			}
		case strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "not ok "):
			result = true
		}
		if plan && result {
			return true
		}
	}
	return false
}

// tapPoint is a test point that has not been recorded yet: its name is whole
// only when all suites around it have been named.
type tapPoint struct {
	name   string
	indent int
	status pawl.TestStatus
	out    *clip
}

type tap struct {
	c       *collector
	points  []tapPoint // in order; deeper ones wait for the suite that names them
	braces  []tapPoint // suites of the form "not ok 1 - name {" that are open
	last    *clip      // where diagnostics go
	yaml    int        // how far the diagnostics block that is open is indented
	inYAML  bool
	planned int // -1: no plan seen
	seen    int // test points at the outermost level
	next    int // how far the next line is indented
	bailed  bool
}

// indentation is how far a line is indented; beyond ten levels all is the same,
// which bounds the work that nesting makes.
func indentation(line string) int {
	return min(len(line)-len(strings.TrimLeft(line, " ")), 40)
}

func (t *tap) line(line string) {
	indent := indentation(line)
	trimmed := strings.TrimSpace(line)
	switch {
	case t.inYAML:
		if t.last != nil {
			t.last.write(line + "\n")
		}
		t.inYAML = !(trimmed == "..." && indent <= t.yaml)
	case trimmed == "---" && t.last != nil:
		t.inYAML, t.yaml = true, indent
	case trimmed == "}" && len(t.braces) > 0:
		suite := t.braces[len(t.braces)-1]
		t.braces = t.braces[:len(t.braces)-1]
		t.closeSuite(suite)
	case strings.HasPrefix(trimmed, "Bail out!"):
		t.bailed = true
		t.c.whole("test run", bailedOut, strings.TrimPrefix(trimmed, "Bail out!"))
	case strings.HasPrefix(trimmed, "1.."):
		t.plan(trimmed, indent)
	case strings.HasPrefix(trimmed, "#"):
		if t.last != nil && !strings.HasPrefix(trimmed, "# Subtest") {
			t.last.write(line + "\n")
		}
	default:
		if m := tapResult.FindStringSubmatch(trimmed); m != nil {
			t.point(m, indent)
		}
	}
}

func (t *tap) plan(line string, indent int) {
	m := tapPlan.FindStringSubmatch(line)
	if m == nil || indent > 0 {
		return
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > 10_000_000 {
		t.c.damage("the plan %s is not a number of tests", cut(line, 40))
		return
	}
	t.planned = max(t.planned, 0) + n // several streams may follow each other
}

func (t *tap) point(m []string, indent int) {
	p := tapPoint{indent: indent, status: pawl.TestPass, out: &clip{}}
	name := tapTime.ReplaceAllString(m[3], "")
	opens := strings.HasSuffix(name, "{") && t.next > indent
	if opens {
		name = strings.TrimSpace(strings.TrimSuffix(name, "{"))
	}
	if m[1] != "" {
		p.status = pawl.TestFail
	}
	if d := tapDirective.FindStringSubmatchIndex(name); d != nil {
		// What is to be done may fail; what passes already is an ordinary pass.
		todo := strings.EqualFold(name[d[2]:d[3]], "todo")
		if !todo || p.status == pawl.TestFail {
			p.status = pawl.TestSkip
		}
		name = strings.TrimRight(name[:strings.LastIndex(name[:d[2]], "#")], " ")
	}
	if indent == 0 {
		t.seen++
	}
	if name == "" {
		name = "test " + m[2]
		if m[2] == "" {
			name += strconv.Itoa(t.seen)
		}
	}
	p.name = t.c.name(strings.ReplaceAll(name, `\#`, "#"))
	t.last = p.out
	if opens && len(t.braces) < maxDepth {
		t.braces = append(t.braces, p)
		return
	}
	t.closeSuite(p)
}

// closeSuite records a point after the deeper ones before it, which are its
// subtests.
func (t *tap) closeSuite(p tapPoint) {
	first := len(t.points)
	for first > 0 && t.points[first-1].indent > p.indent {
		first--
	}
	children := t.points[first:]
	failed := false
	for i := range children {
		children[i].name = t.c.name(p.name + "/" + children[i].name)
		children[i].indent = p.indent
		failed = failed || children[i].status == pawl.TestFail
	}
	// A whole that fails without a failing part failed by itself; a skipped or
	// unfinished one takes its parts with it.
	if len(children) == 0 || p.status == pawl.TestFail && !failed {
		if len(t.points) >= maxTests {
			t.record()
		}
		t.points = append(t.points, p)
	}
	if p.indent == 0 && len(t.braces) == 0 {
		t.record()
	}
}

func (t *tap) record() {
	for _, p := range t.points {
		t.c.add(p.name, p.status, p.out.String())
	}
	t.points = t.points[:0]
}

func (t *tap) end() {
	for len(t.braces) > 0 {
		suite := t.braces[len(t.braces)-1]
		t.braces = t.braces[:len(t.braces)-1]
		t.closeSuite(suite)
		t.c.breaks(suite.name)
	}
	// Subtests whose suite was never closed: the stream was cut.
	t.record()
	switch {
	case t.bailed:
	case t.planned < 0:
		t.c.damage("the TAP stream ends without a plan")
	case t.seen != t.planned:
		t.c.whole("test run", planNotMet, "The plan says "+strconv.Itoa(t.planned)+" tests, and "+strconv.Itoa(t.seen)+" reported.")
	}
}
