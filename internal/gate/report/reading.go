package report

import (
	"fmt"
	"sort"
	"strings"

	"pawl"
)

// Limits of a reading. What is beyond them is counted and left out.
const (
	maxTests    = 20_000  // names kept
	maxFailures = 1_000   // further names kept when they fail
	maxFindings = 2_000   // findings kept
	maxName     = 300     // bytes of a name; longer ones end in a hash
	maxMessage  = 500     // bytes of a finding's message
	maxOutput   = 4_000   // bytes of one test's output
	maxOutputs  = 400_000 // bytes of all tests' output together
	maxDepth    = 100     // of nested suites and subtests
)

// Reading is what a report says. The zero value says nothing was recognised.
type Reading struct {
	// Format is how the report was read: one of the explicit formats, or
	// [pawl.ReportAuto] for the text of a well-known tool. It is
	// [pawl.ReportExit] when nothing was recognised and the exit code is all.
	Format pawl.ReportFormat
	// Tool names the tool for people, such as "pytest". Empty with ReportExit.
	Tool string
	// Tests are sorted by name, each name once. Besides tests there are the
	// failures that belong to no test; see [IsWhole].
	Tests []pawl.TestResult
	// Diagnostics are in the order of the report.
	Diagnostics []pawl.Diagnostic
	// Passed, Failed and Skipped count tests, also those that the report gives
	// no name for. Failures of wholes are not among them.
	Passed, Failed, Skipped int
	// Unfinished are the tests that had begun and not ended, sorted. They are
	// among Tests, as failed.
	Unfinished []string
	// Broken are the packages, files and suites that ended before all of their
	// tests had run: they do not build, panicked or exited. Sorted.
	Broken []string
	// LeftOut and FindingsLeftOut count what was beyond the limits.
	LeftOut, FindingsLeftOut int
	// Damage says why the report cannot be trusted to be whole; empty when it can.
	Damage string
}

// Ran is how many tests passed or failed.
func (r *Reading) Ran() int { return r.Passed + r.Failed }

// Recognised reports whether there is more than an exit code.
func (r *Reading) Recognised() bool { return r.Format != pawl.ReportExit && r.Format != "" }

// Complete reports whether Tests names every test that ran.
func (r *Reading) Complete() bool {
	named := 0
	for _, t := range r.Tests {
		if t.Status != pawl.TestSkip && !IsWhole(t.Name) {
			named++
		}
	}
	return named >= r.Ran() && r.LeftOut == 0
}

// collector gathers a reading within the limits.
type collector struct {
	reading Reading
	roots   []string // prefixes of absolute paths, taken out of names
	index   map[string]int
	seen    map[string]int // how often a numbered name came
	number  bool           // name a repeated test "name #2" instead of merging it
	output  int            // bytes of test output kept
	counted [3]int         // what the tool's own summary says: passed, failed, skipped
	broken  map[string]bool
	tool    string
	runner  Runner // whose report it is
	// exitOK tells that the command ended with 0, so that a message without a
	// level is no error to the tool itself.
	exitOK bool
	// byLevel grades SARIF results by their level alone, not by how severe the
	// rule says a vulnerability is.
	byLevel bool
}

func newCollector(roots []string, exitOK bool) *collector {
	return &collector{roots: roots, exitOK: exitOK, index: map[string]int{}, seen: map[string]int{}, broken: map[string]bool{}}
}

// add records a test. Of two results with one name the worse counts, and a
// result beats a skip.
func (c *collector) add(name string, status pawl.TestStatus, output string) {
	name = c.name(name)
	if name == "" {
		name = "(no name)"
	}
	if c.number {
		name = c.numbered(name)
	}
	if i, ok := c.index[name]; ok {
		c.merge(&c.reading.Tests[i], status, output)
		return
	}
	n := len(c.reading.Tests)
	if n >= maxTests && (status != pawl.TestFail || n >= maxTests+maxFailures) {
		c.reading.LeftOut++
		c.count(status, 1)
		return
	}
	c.index[name] = n
	t := pawl.TestResult{Name: name, Status: status}
	if status == pawl.TestFail {
		t.Output = c.keep(output)
	}
	c.reading.Tests = append(c.reading.Tests, t)
	if !IsWhole(name) {
		c.count(status, 1)
	}
}

func (c *collector) numbered(name string) string {
	if len(c.seen) < 2*maxTests {
		c.seen[name]++
	}
	if n := c.seen[name]; n > 1 {
		return fmt.Sprintf("%s #%d", name, n)
	}
	return name
}

func (c *collector) merge(t *pawl.TestResult, status pawl.TestStatus, output string) {
	if status == pawl.TestFail && t.Output == "" {
		t.Output = c.keep(output)
	}
	if rank(status) <= rank(t.Status) {
		return
	}
	if !IsWhole(t.Name) {
		c.count(t.Status, -1)
		c.count(status, 1)
	}
	t.Status = status
}

func rank(s pawl.TestStatus) int {
	switch s {
	case pawl.TestFail:
		return 2
	case pawl.TestPass:
		return 1
	}
	return 0
}

func (c *collector) count(status pawl.TestStatus, by int) {
	switch status {
	case pawl.TestPass:
		c.reading.Passed += by
	case pawl.TestFail:
		c.reading.Failed += by
	case pawl.TestSkip:
		c.reading.Skipped += by
	}
}

// whole records a failure that belongs to no test.
func (c *collector) whole(name, what, output string) {
	c.breaks(name)
	numbered := c.number
	c.number = false
	c.add(Whole(c.name(name), what), pawl.TestFail, output)
	c.number = numbered
}

// breaks records that a package, file or suite ended too early.
func (c *collector) breaks(place string) {
	if len(c.broken) < maxFailures {
		c.broken[c.name(place)] = true
	}
}

// unfinished records a test that began and did not end.
func (c *collector) unfinished(name, output string) {
	c.add(name, pawl.TestFail, strings.TrimRight(output, "\n")+"\n(did not finish)")
	if len(c.reading.Unfinished) < maxFailures {
		c.reading.Unfinished = append(c.reading.Unfinished, c.name(name))
	}
}

func (c *collector) find(f pawl.Diagnostic) {
	f.Rule = cut(clean(f.Rule), 100)
	f.File = c.name(f.File)
	f.Message = cut(clean(c.relative(f.Message)), maxMessage)
	if f.Line < 0 {
		f.Line = 0
	}
	if len(c.reading.Diagnostics) >= maxFindings {
		// A worse finding takes the place of a harmless one, so that the
		// verdict stays right however long the list is.
		if i := c.harmless(f.Severity); i >= 0 {
			c.reading.Diagnostics[i] = f
		}
		c.reading.FindingsLeftOut++
		return
	}
	c.reading.Diagnostics = append(c.reading.Diagnostics, f)
}

// harmless is the index of the last finding graded below s; -1 when there is none.
func (c *collector) harmless(s pawl.Severity) int {
	if s != pawl.SeverityCritical && s != pawl.SeverityHigh {
		return -1
	}
	for i := len(c.reading.Diagnostics) - 1; i >= 0; i-- {
		if Grade(c.reading.Diagnostics[i].Severity) < Grade(s) {
			return i
		}
	}
	return -1
}

// Grade orders severities: 0 is unknown, 1 low, 4 critical.
func Grade(s pawl.Severity) int {
	switch s {
	case pawl.SeverityLow:
		return 1
	case pawl.SeverityMedium:
		return 2
	case pawl.SeverityHigh:
		return 3
	case pawl.SeverityCritical:
		return 4
	}
	return 0
}

// counts sets what the tool's own summary says. Names the report does not give
// are counted from it.
func (c *collector) counts(passed, failed, skipped int) {
	for i, n := range []int{passed, failed, skipped} {
		c.counted[i] = min(max(n, 0), 100_000_000)
	}
}

func (c *collector) damage(format string, args ...any) {
	if c.reading.Damage == "" {
		c.reading.Damage = fmt.Sprintf(format, args...)
	}
}

func (c *collector) keep(output string) string {
	output = ends(Plain(output), maxOutput)
	if c.output+len(output) > maxOutputs {
		return ""
	}
	c.output += len(output)
	return output
}

func (c *collector) finish(format pawl.ReportFormat, tool string) Reading {
	r := &c.reading
	r.Format, r.Tool = format, tool
	sort.Slice(r.Tests, func(i, j int) bool { return r.Tests[i].Name < r.Tests[j].Name })
	sort.Strings(r.Unfinished)
	for place := range c.broken {
		r.Broken = append(r.Broken, place)
	}
	sort.Strings(r.Broken)
	r.Passed = max(r.Passed, c.counted[0])
	r.Failed = max(r.Failed, c.counted[1])
	r.Skipped = max(r.Skipped, c.counted[2])
	return *r
}
