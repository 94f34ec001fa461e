package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/gate/report"
)

// longNames returns n passing tests whose names take 600 bytes of JSON each.
func longNames(n int) (tests []pawl.TestResult) {
	for i := range n {
		tests = append(tests, pawl.TestResult{Name: fmt.Sprintf("%0572d", i), Status: pawl.TestPass})
	}
	return tests
}

func TestBoundTests(t *testing.T) {
	const most = maxTestBytes / 600
	r := pawl.GateReport{Tests: longNames(most)}
	if dropped := boundTests(&r); dropped != 0 || len(r.Tests) != most {
		t.Errorf("at the limit of tests, %d are dropped", dropped)
	}
	all := longNames(most + 2)
	all[most+1].Status = pawl.TestFail
	r = pawl.GateReport{Tests: all}
	if dropped := boundTests(&r); dropped != 2 || len(r.Tests) != most || r.Tests[most-1].Name != all[most+1].Name || r.Tests[0].Name != all[0].Name {
		t.Errorf("with two tests too many, %d are dropped and %d are left, want the first ones and the failing one", dropped, len(r.Tests))
	}
	if !slices.IsSortedFunc(r.Tests, func(a, b pawl.TestResult) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the tests are not sorted")
	}
	if all[most].Name != fmt.Sprintf("%0572d", most) {
		t.Error("boundTests has changed the caller's list")
	}
}

func TestBoundOutputs(t *testing.T) {
	half := strings.Repeat("x", maxTestOutputs/2)
	r := pawl.GateReport{Tests: []pawl.TestResult{
		{Name: "a", Status: pawl.TestPass, Output: "y"}, {Name: "b", Status: pawl.TestFail, Output: half}, {Name: "c", Status: pawl.TestFail, Output: half},
	}}
	boundTests(&r)
	if r.Tests[0].Output != "" || r.Tests[1].Output != half || r.Tests[2].Output != half {
		t.Errorf("outputs of %d, %d and %d bytes are kept", len(r.Tests[0].Output), len(r.Tests[1].Output), len(r.Tests[2].Output))
	}
	r.Tests[0].Output, r.Tests[0].Status = "yy", pawl.TestFail
	r.Tests[2].Output = half[1:]
	boundTests(&r)
	if len(r.Tests[0].Output) != 2 || r.Tests[1].Output != half || r.Tests[2].Output != "" {
		t.Errorf("outputs of %d, %d and %d bytes are kept", len(r.Tests[0].Output), len(r.Tests[1].Output), len(r.Tests[2].Output))
	}
}

func TestBoundFindings(t *testing.T) {
	// Each finding takes 350 bytes of JSON: its texts, 28 more for each of the three, and 40.
	const most = maxFindingBytes / 350
	findings := func(n int) (all []pawl.Diagnostic) {
		for i := range n {
			all = append(all, pawl.Diagnostic{File: "f", Rule: "r", Message: fmt.Sprintf("%0224d", i), Severity: pawl.SeverityLow})
		}
		return all
	}
	j := &judgement{}
	r := pawl.GateReport{Diagnostics: findings(most)}
	if dropped := j.boundFindings(&r); dropped != 0 || len(r.Diagnostics) != most {
		t.Errorf("at the limit of findings, %d are dropped", dropped)
	}
	all := findings(most + 2)
	all[most+1].Severity = pawl.SeverityHigh
	r = pawl.GateReport{Diagnostics: all}
	if dropped := j.boundFindings(&r); dropped != 2 || len(r.Diagnostics) != most || r.Diagnostics[0].Severity != pawl.SeverityHigh || r.Diagnostics[1] != all[0] {
		t.Errorf("with two findings too many, %d are dropped, and the first of the other %d is %+v", dropped, len(r.Diagnostics), r.Diagnostics[0])
	}
}

func TestBoundReason(t *testing.T) {
	for _, c := range []struct {
		left, leftFindings int
		want               string
	}{
		{0, 0, ""}, {1, 0, "; 1 more test result not listed"}, {2, 1, "; 2 more test results not listed; 1 more finding not listed"},
	} {
		j := &judgement{reading: report.Reading{LeftOut: c.left, FindingsLeftOut: c.leftFindings}}
		r := pawl.GateReport{Reason: strings.Repeat("x", maxReason+1)}
		if j.bound(&r); r.Reason != strings.Repeat("x", maxReason)+c.want {
			t.Errorf("left out %d tests and %d findings: got %s", c.left, c.leftFindings, r.Reason[maxReason-1:])
		}
	}
}

// The reason counts what the reader left out and what the report leaves out in one number.
func TestBoundReasonAddsUp(t *testing.T) {
	j := &judgement{reading: report.Reading{LeftOut: 1, FindingsLeftOut: 2}}
	r := pawl.GateReport{Tests: longNames(maxTestBytes/600 + 3), Diagnostics: slices.Repeat([]pawl.Diagnostic{{Message: strings.Repeat("x", maxFindingBytes)}}, 4)}
	if j.bound(&r); r.Reason != "; 4 more test results not listed; 6 more findings not listed" {
		t.Errorf("got %q", r.Reason)
	}
}

func TestBoundedInventory(t *testing.T) {
	list := slices.Repeat([]string{"x"}, maxInventory)
	if got := bounded(list); len(got) != maxInventory || got[maxInventory-1] != "x" {
		t.Errorf("got %d entries, the last one %q", len(got), got[len(got)-1])
	}
	list = append(list, "y", "z")
	if got := bounded(list); len(got) != maxInventory+1 || got[maxInventory] != "and 2 more" || list[maxInventory] != "y" {
		t.Errorf("got %d entries, the last one %q", len(got), got[len(got)-1])
	}
}

// straddle returns a text of n bytes with a line across its middle. No other part of it
// mentions a failure.
func straddle(n int) string {
	const line = "\nexpected three got four\n"
	before := n/2 - len(line)/2
	return strings.Repeat("-", before) + line + strings.Repeat("-", n-before-len(line))
}

// A text up to the limit is read whole. Of a longer one only the beginning and the end are
// read.
func TestMiddleOfLongTexts(t *testing.T) {
	const all = "expected three got four"
	if got := Normalise(straddle(2 * maxRaw)); got != all {
		t.Errorf("a text of the maximum length becomes %q", got)
	}
	if got := Normalise(straddle(2*maxRaw + 2)); got == all || !strings.HasPrefix(got, "expected t") || !strings.HasSuffix(got, "got four") {
		t.Errorf("a longer text becomes %q", got)
	}
	if got := Gist(straddle(2*maxRaw), 3); !slices.Equal(got, []string{all}) {
		t.Errorf("the gist of a text of the maximum length is %q", got)
	}
	if got := strings.Join(Gist(straddle(2*maxRaw+2), 3), "|"); got == all || !strings.HasPrefix(got, "expected t") || !strings.HasSuffix(got, "got four") {
		t.Errorf("the gist of a longer text is %q", got)
	}
}

// The gist is the first lines that mention an error, or else the last ones.
func TestGist(t *testing.T) {
	for _, c := range []struct {
		output string
		n      int
		want   string
	}{
		{"one\nerror: two\nthree\nfailed: four\nerror: five", 2, "error: two|failed: four"},
		{"one\ntwo\nthree", 2, "two|three"},
		{"one\ntwo", 2, "one|two"},
		{"exit status 1\none\nFAIL\n----", 3, "one"},
		{"a\x01b\x7fc error", 1, "a b c error"},
		{"\x1fx ", 1, "x"},
		{"", 2, ""},
	} {
		if got := strings.Join(Gist(c.output, c.n), "|"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.output, got, c.want)
		}
	}
}

func TestCutText(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aä", 2, "a"}, {"ää", 3, "ä"}, {"äx", 1, ""}, {"ab c", 3, "ab"}, {"\x80\x80", 1, ""}} {
		if got := cutText(c.text, c.n); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestMaskPath(t *testing.T) {
	for path, want := range map[string]string{
		"/users":                "/users",
		"/tmp/x1234":            "<tmp>",
		"/tmp/x.sock":           "<tmp>.sock",
		"/tmp/a/b":              "b",
		"/var/a/run9":           "run#",
		"/api/users":            "/api/users",
		"/api/users.go":         "users.go",
		"/home/ann/7shop":       "#shop",
		"/c/work/shop2":         "shop#",
		"/opt/tool/":            "tool",
		"/private/folders.":     "<tmp>",
		"/run/lock/pawl/a.lock": "a.lock",
	} {
		if got := maskPath(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestNameList(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, c := range []struct {
		n, total int
		want     string
	}{{0, 0, ""}, {0, 3, ""}, {1, 1, "a"}, {2, 3, "a, b (and 1 more)"}, {5, 5, "a, b, c, d, e"}, {6, 6, "a, b, c, d, e (and 1 more)"}} {
		if got := nameList(names[:c.n], c.total); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.n, c.total, got, c.want)
		}
	}
}

// Of names of Go tests the package is left out, unless two differ only by it. F-50
func TestShownNames(t *testing.T) {
	long := "p.Test" + strings.Repeat("x", maxQuote)
	names := []string{"a.TestX", "b.TestX", "c.TestY/1", long}
	j := judgement{reading: report.Reading{Tool: "go test"}}
	if got, want := j.shown(names), []string{"a.TestX", "b.TestX", "TestY/1", long[2 : 2+maxQuote]}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	j.reading.Tool = "TAP"
	if got, want := j.shown(names), append(slices.Clone(names[:3]), long[:maxQuote]); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Names of other runners are whole in what a gate says: a dot, a colon or an arrow in them may be
// a part of what the test is about. Node names a file without tests of its own by its path. F-50
func TestNamesAreWhole(t *testing.T) {
	for _, name := range []string{"hello.txt says pkg.hello", "b.test.js", "test/b.test.js", "Foo::Bar loads", "config.json > is read",
		"shop.TestTotal adds", "com.acme.Cart.adds", "adds 1.5 and 2.5"} {
		r := MustJudge(t, spec(pawl.GateTests), play(1, "TAP version 13\nok 1 - fine\nnot ok 2 - "+name+"\n1..2\n"), nil)
		if want := "1 of 2 tests fails: " + name; r.Reason != want {
			t.Errorf("got %q, want %q", r.Reason, want)
		}
	}
	r := MustJudge(t, spec(pawl.GateTests), play(1, "▶ Cart.total\n  ✖ adds a.b (0.9ms)\n✖ Cart.total (1.2ms)\n✖ b.test.js (175.8ms)\n  'test failed'\nℹ tests 2\nℹ pass 0\nℹ fail 2\n"), nil)
	if want := "2 of 2 tests fail: Cart.total > adds a.b, b.test.js"; r.Reason != want {
		t.Errorf("got %q, want %q", r.Reason, want)
	}
}

func TestTell(t *testing.T) {
	for want, f := range map[string]pawl.Diagnostic{
		"m":              {Message: "m"},
		"R: m":           {Rule: "R", Message: "m"},
		"a.go: R: m":     {File: "a.go", Rule: "R", Message: "m"},
		"a.go:1: R: m":   {File: "a.go", Line: 1, Rule: "R", Message: "m"},
		"R: m with line": {Line: 3, Rule: "R", Message: "m with line"},
	} {
		if got := tell(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Report files are read up to the limits of files and bytes. One more of either is an error.
func TestReportFileLimits(t *testing.T) {
	dir := t.TempDir()
	w := watchFiles(dir, "*.xml")
	for i := range maxReportFiles {
		MustWrite(t, dir, fmt.Sprintf("%04d.xml", i), "x")
	}
	if got, err := w.read(); err != nil || len(got) != maxReportFiles {
		t.Errorf("%d files are read: %v", len(got), err)
	}
	MustWrite(t, dir, "more.xml", "x")
	if _, err := w.read(); err == nil || err.Error() != "find the report files *.xml: more than 2000 files match *.xml" {
		t.Errorf("got error %v", err)
	}

	dir = t.TempDir()
	w = watchFiles(dir, "*.xml")
	size := func(name string, n int64) {
		t.Helper()
		MustWrite(t, dir, name, "")
		if err := os.Truncate(filepath.Join(dir, name), n); err != nil {
			t.Fatal(err)
		}
	}
	size("a.xml", maxReportBytes-1)
	size("b.xml", 1)
	if got, err := w.read(); err != nil || len(got) != 2 {
		t.Errorf("%d files are read: %v", len(got), err)
	}
	size("b.xml", 2)
	if _, err := w.read(); err == nil || err.Error() != "the report *.xml is larger than 32 MiB" {
		t.Errorf("got error %v", err)
	}
	size("a.xml", maxReportBytes+1)
	if _, err := w.read(); err == nil || err.Error() != "the report *.xml is larger than 32 MiB" {
		t.Errorf("got error %v", err)
	}
}
