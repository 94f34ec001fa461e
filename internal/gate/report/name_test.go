package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pawl"
)

func TestSplit(t *testing.T) {
	tests := []struct{ name, place, local string }{
		{"example.com/shop/cart.TestTotal/two.numbers", "example.com/shop/cart", "TestTotal/two.numbers"},
		{"example.com/shop.v2/cart.ExampleTotal", "example.com/shop.v2/cart", "ExampleTotal"},
		{"example.com/shop/cart", "", "example.com/shop/cart"},
		{"tests/test_a.py::TestX::test_y[a::b.c]", "tests/test_a.py::TestX", "test_y[a::b.c]"},
		{"cart::tests::adds", "cart::tests", "adds"},
		{"src/a.test.ts > sum > adds > 1.5", "src/a.test.ts", "sum > adds > 1.5"},
		{"com.acme.Cart.adds(int, java.lang.String)", "com.acme.Cart", "adds(int, java.lang.String)"},
		{"com.acme.Cart.should add 1.5", "com.acme.Cart", "should add 1.5"},
		{"sum adds two", "", "sum adds two"},
		{"test/a.js", "", "test/a.js"},
		{"", "", ""},
	}
	for _, tt := range tests {
		if place, local := Split(tt.name); place != tt.place || local != tt.local {
			t.Errorf("Split(%q) = %q, %q, want %q, %q", tt.name, place, local, tt.place, tt.local)
		}
	}
}

func TestParent(t *testing.T) {
	for name, want := range map[string]string{
		"p/q.TestA/b/c": "p/q.TestA/b", "p/q.TestA/b": "p/q.TestA", "p/q.TestA": "", "sum/adds": "sum", "/x": "", "a.py::test_b": "",
	} {
		if got := Parent(name); got != want {
			t.Errorf("Parent(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		name, place string
		want        bool
	}{
		{"p/q.TestA", "p/q", true}, {"p/q.TestA/b", "p/q.TestA", true}, {"a.py::test", "a.py", true}, {"a.ts > x", "a.ts", true},
		{"p/q", "p/q", true}, {"p/quick.TestA", "p/q", false}, {"p/q.TestA", "", false},
	} {
		if got := Within(tt.name, tt.place); got != tt.want {
			t.Errorf("Within(%q, %q) = %t", tt.name, tt.place, got)
		}
	}
}

func TestWhole(t *testing.T) {
	if name := Whole("example.com/shop", buildFailed); name != "example.com/shop [build failed]" || !IsWhole(name) {
		t.Errorf("name %q", name)
	}
	for _, name := range []string{"test_a[build failed]", "TestA", "p.TestA/x_[build_failed]"} {
		if IsWhole(name) {
			t.Errorf("%q is taken for a whole", name)
		}
	}
	if long := Whole(strings.Repeat("x", 1000), setupFailed); len(long) > maxName || !IsWhole(long) {
		t.Errorf("%d bytes", len(long))
	}
}

func TestLongNamesStayApart(t *testing.T) {
	c := newCollector(nil, true)
	long := strings.Repeat("é", 400)
	c.add(long+"a", pawl.TestPass, "")
	c.add(long+"b", pawl.TestPass, "")
	r := c.finish(pawl.ReportTAP, "TAP")
	if len(r.Tests) != 2 || len(r.Tests[0].Name) > maxName || !utf8.ValidString(r.Tests[0].Name) {
		t.Errorf("%+v", r.Tests)
	}
}

func TestCleanNames(t *testing.T) {
	c := newCollector([]string{"/home/dev/shop"}, true)
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                  "red",
		"two\nlines\tand a tab":               "two lines and a tab",
		"bidi \u202eevil\u200b":               "bidi evil",
		"/home/dev/shop/a/b_test.go":          "a/b_test.go",
		"file:///home/dev/shop/a.ts":          "a.ts",
		"in /home/dev/shop":                   "in .",
		"bad \xff utf-8":                      "bad \uFFFD utf-8",
		"\x1b]0;title\x07after \x1b]unclosed": "after unclosed",
	} {
		if got := c.name(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	c := newCollector(nil, true)
	for i := range maxTests + 10 {
		c.add(fmt.Sprint("pass", i), pawl.TestPass, "")
	}
	c.add("late failure", pawl.TestFail, strings.Repeat("x", 10_000))
	for range maxFindings {
		c.find(pawl.Diagnostic{Severity: pawl.SeverityLow})
	}
	c.find(pawl.Diagnostic{Severity: pawl.SeverityCritical, Message: strings.Repeat("m", 1000)})
	r := c.finish(pawl.ReportTAP, "TAP")
	if r.Passed != maxTests+10 || r.Failed != 1 || r.LeftOut != 10 || r.Complete() {
		t.Errorf("%d passed, %d failed, %d left out", r.Passed, r.Failed, r.LeftOut)
	}
	if len(r.Diagnostics) != maxFindings || r.FindingsLeftOut != 1 || r.Diagnostics[maxFindings-1].Severity != pawl.SeverityCritical {
		t.Errorf("the critical finding was left out for a low one")
	}
	check(t, r)
}

func TestClip(t *testing.T) {
	var c clip
	for i := range 5000 {
		c.write(fmt.Sprintln("line", i))
	}
	got := c.String()
	if !strings.HasPrefix(got, "line 0\n") || !strings.HasSuffix(got, "line 4999\n") || len(got) > 2*maxOutput {
		t.Errorf("%d bytes", len(got))
	}
	var short clip
	short.write(strings.Repeat("a", maxOutput/2))
	short.write("b")
	if got := short.String(); got != strings.Repeat("a", maxOutput/2)+"b" {
		t.Errorf("%d bytes, want all", len(got))
	}
}

func TestSplitLinesKeepsBothEnds(t *testing.T) {
	lines := splitLines("first\n" + strings.Repeat("x\n", 2*maxLines) + "last")
	if len(lines) != maxLines || lines[0] != "first" || lines[len(lines)-1] != "last" {
		t.Errorf("%d lines from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}
