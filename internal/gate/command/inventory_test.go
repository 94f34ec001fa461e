package command

import (
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/gate/report"
)

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"TestLoginWithPassword": "test login with password",
		"TestURLParsing":        "test url parsing",
		"parse_url2x":           "parse url",
		"aB":                    "",
		"ABc":                   "bc",
		"ID":                    "id",
		"XMLs":                  "xm ls",
		"ÄrgerÜber":             "ärger über",
		"":                      "",
	} {
		if got := strings.Join(words(name), " "); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestOutermost(t *testing.T) {
	list := []string{"p.TestA", "p.TestA/x", "p.TestB/y/z", "p.TestC/q"}
	if got := outermost(list, nil); !slices.Equal(got, []string{"p.TestA", "p.TestB/y/z", "p.TestC/q"}) {
		t.Errorf("got %q", got)
	}
	if got := outermost(list, []string{"p.TestB", "p.TestC/q"}); !slices.Equal(got, []string{"p.TestA", "p.TestC/q"}) {
		t.Errorf("with others: got %q", got)
	}
}

// Each new test replaces at most one test that is gone.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct{ gone, gained, want string }{
		"moved":                {"a.TestX", "b.TestX", ""},
		"moved twice":          {"a.TestX c.TestX", "b.TestX", "c.TestX"},
		"a row":                {"a.TestX/one a.TestX/two", "a.TestX/three", "a.TestX/two"},
		"a word in common":     {"a.TestLogin", "a.TestLoginAgain b.TestOther", ""},
		"in another place":     {"a.TestLogin", "b.TestLoginAgain", "a.TestLogin"},
		"an empty word":        {"a.TestNewCart", "a.TestNewPrice a.TestOther", "a.TestNewCart"},
		"as many":              {"a.TestX a.TestY", "a.TestP a.TestQ", ""},
		"fewer":                {"a.TestX a.TestY", "a.TestP", "a.TestX a.TestY"},
		"as many elsewhere":    {"a.TestX", "b.TestP", "a.TestX"},
		"nothing":              {"", "a.TestP", ""},
		"taken by the name":    {"a.TestLogin b.TestLogin", "b.TestLogin c.TestLogin", ""},
		"two words, one place": {"a.TestLoginPage a.TestLoginForm", "a.TestFormLogin", "a.TestLoginForm"},
	} {
		inv := &inventory{gained: strings.Fields(c.gained)}
		if got := strings.Join(inv.unplaced(strings.Fields(c.gone)), " "); got != c.want {
			t.Errorf("%s: %q are not replaced, want %q", name, got, c.want)
		}
	}
}

// A missing test that a failure of the candidate explains is not reported as lost, unless the
// candidate passes.
func TestExplainedByFailures(t *testing.T) {
	base := []pawl.TestResult{{Name: "p.TestA", Status: pawl.TestPass}, {Name: "p.TestA/x", Status: pawl.TestPass}, {Name: "q.TestB", Status: pawl.TestFail}, {Name: "q.TestC", Status: pawl.TestSkip}}
	lost := func(lenient bool, reading report.Reading) string {
		var all []string
		for _, l := range findLost(base, &reading, lenient) {
			all = append(all, l.String())
		}
		return strings.Join(all, ", ")
	}
	failing := []pawl.TestResult{{Name: "p.TestA", Status: pawl.TestFail}, {Name: "q.TestB", Status: pawl.TestPass}}
	passing := []pawl.TestResult{{Name: "p.TestA", Status: pawl.TestPass}, {Name: "q.TestB", Status: pawl.TestPass}}
	for name, c := range map[string]struct {
		lenient bool
		reading report.Reading
		want    string
	}{
		"nothing runs":               {false, report.Reading{}, "p.TestA (removed), q.TestB (removed)"},
		"the test around it fails":   {true, report.Reading{Tests: failing}, ""},
		"it fails, and that is all":  {false, report.Reading{Tests: failing}, "p.TestA/x (removed)"},
		"the test around it passes":  {true, report.Reading{Tests: passing}, "p.TestA/x (removed)"},
		"its package is broken":      {true, report.Reading{Broken: []string{"p"}}, "q.TestB (removed)"},
		"it is broken, but passes":   {false, report.Reading{Broken: []string{"p"}}, "p.TestA (removed), q.TestB (removed)"},
		"the whole run is broken":    {true, report.Reading{Broken: []string{"test run"}}, ""},
		"not all tests are listed":   {false, report.Reading{LeftOut: 1}, ""},
		"its package stands for it":  {false, report.Reading{Tests: []pawl.TestResult{{Name: "p", Status: pawl.TestPass}}}, "q.TestB (removed)"},
		"its package is skipped":     {false, report.Reading{Tests: []pawl.TestResult{{Name: "p", Status: pawl.TestSkip}}}, "p.TestA (removed), q.TestB (removed)"},
		"it is skipped with another": {false, report.Reading{Tests: []pawl.TestResult{{Name: "p.TestA", Status: pawl.TestSkip}, {Name: "q.TestB", Status: pawl.TestSkip}}}, "p.TestA (skipped now), q.TestB (skipped now)"},
	} {
		if got := lost(c.lenient, c.reading); got != c.want {
			t.Errorf("%s: %q are lost, want %q", name, got, c.want)
		}
	}
}
