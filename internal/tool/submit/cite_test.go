package submit_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/tool/submit"
)

// shelf is a made-up candidate with its base.
type shelf struct {
	lines     map[string]int // of files, by path
	tests     []string
	inTests   string
	documents map[string]string
}

func (s shelf) Paths() []string              { return slices.Sorted(maps.Keys(s.lines)) }
func (s shelf) Lines(path string) int        { return s.lines[path] }
func (s shelf) Tests() []string              { return s.tests }
func (s shelf) Documents() map[string]string { return s.documents }
func (s shelf) InTests(text string) bool {
	return regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(text) + `(?:$|\W)`).MatchString(s.inTests)
}

func project() shelf {
	return shelf{
		lines: map[string]int{
			"auth.go": 40, "internal/login/login.go": 12, "src/a b.ts": 9, "app/[id]/page.tsx": 5, "Makefile": 3, "tests/test_auth.py": 20,
			"cmd/one/main.go": 10, "cmd/two/main.go": 90, ".github/workflows/ci.yaml": 8, "seen": 1,
		},
		tests: []string{
			"example.com/auth.TestLogin", "example.com/auth.TestLogin/locks_after_3", "tests.test_auth.test_logout",
			"web/cart.test.ts > cart > adds an item", "tests::parses_all", "works",
		},
		inTests: "func TestOnlyInSource(t *testing.T) {}\nit('rejects an empty title', () => {})\ndescribe('shop', () => it('opens', x))\ndef test_in_python():\n",
	}
}

// cites hands in a verdict that passes the goal by this evidence.
func cites(t *testing.T, s pawl.Sources, evidence ...string) (loose []string, problem string) {
	t.Helper()
	args, err := json.Marshal(submit.Verdict{Summary: "s", Criteria: []submit.Criterion{{ID: "AC-001", Status: submit.Pass, Evidence: evidence}}})
	if err != nil {
		t.Fatal(err)
	}
	facts, problem := submit.Results{}.Facts("verdict", args, pawl.Submission{Criteria: []pawl.Criterion{{ID: "AC-001"}}, Sources: s})
	return facts.All("loose"), problem
}

// F-09: evidence has to exist. It may be written as people and models write it.
func TestEvidenceThatExists(t *testing.T) {
	for _, evidence := range []string{
		"auth.go:12", "auth.go:12-20 locks it", "auth.go:12:5", "auth.go:40", "auth.go#L12", "auth.go#L12-L20", "auth.go line 12", "auth.go, line 12: it locks",
		"auth.go (lines 12 to 20)", "see line 12 of auth.go", "Lines 3 to 9 of tests/test_auth.py", "`auth.go` line 12", "`auth.go:12`", "**auth.go:12**",
		"./auth.go:12", "a/auth.go:12", "b/internal/login/login.go:12", "login.go:12", "login/login.go:3 checks it", `internal\login\login.go:3`,
		"main.go:90", "it locks (auth.go:12).", "[auth.go:12](auth.go#L12)", "auth.go(12)", "auth.go:L12", "auth.go:12,20", "`src/a b.ts:7`", "src/a b.ts:7",
		"app/[id]/page.tsx:5", "Makefile:3", ".github/workflows/ci.yaml:8", "nothing at none.go:3, but auth.go:12",
		"TestLogin", "TestLogin covers it.", "auth.TestLogin", "example.com/auth.TestLogin/locks_after_3 passes", "TestLogin/locks_after_3", "TestOnlyInSource",
		"pkg.TestOnlyInSource/any", "tests/test_auth.py::test_logout", "test_auth.py::test_logout[a b]", "test_in_python", "cart > adds an item",
		`the test "adds an item" shows it`, "the test adds an item passes", "rejects an empty title", "`shop > opens`", "tests::parses_all", "parses_all", "works",
	} {
		if loose, problem := cites(t, project(), evidence); problem != "" || len(loose) > 0 {
			t.Errorf("%q: loose %q, %q", evidence, loose, problem)
		}
	}
	for _, evidence := range []string{"auth.go", "`auth.go` does", "auth.go: it locks", "auth.go:Login", "auth.go#Login", "login.go", "internal/login/", "internal/login does it", "seen", "cmd/two"} {
		if loose, problem := cites(t, project(), evidence); problem != "" || !slices.Equal(loose, []string{"AC-001"}) {
			t.Errorf("%q: loose %q, %q; want it taken, without a line", evidence, loose, problem)
		}
	}
}

// F-09: what is wrong with evidence is said by criterion and citation.
func TestEvidenceThatDoesNotExist(t *testing.T) {
	const nothing = "AC-001: its evidence names nothing that can be looked up: name a file with the line (path:12), or a test"
	for evidence, want := range map[string]string{
		"auth.go:99":                        "AC-001: auth.go has 40 lines: line 99 is not there",
		"auth.go:12-99":                     "AC-001: auth.go has 40 lines: line 99 is not there",
		"auth.go:0":                         "AC-001: auth.go has 40 lines: line 0 is not there",
		"seen:2":                            "AC-001: seen has 1 line: line 2 is not there",
		"auth.go line 99":                   "AC-001: auth.go has 40 lines: line 99 is not there",
		"auth.go:99999999999999999999":      "AC-001: auth.go has 40 lines: line 99999999999999999999 is not there",
		"x/y.go":                            "AC-001: there is no file x/y.go in the candidate or the base",
		"x/y.go:3":                          "AC-001: there is no file x/y.go in the candidate or the base",
		"x/auth.go:3 does":                  "AC-001: there is no file x/auth.go in the candidate or the base",
		"ogin/login.go:3":                   "AC-001: there is no file ogin/login.go in the candidate or the base",
		"uth.go:3":                          "AC-001: there is no file uth.go in the candidate or the base",
		"../auth.go:3":                      "AC-001: there is no file ../auth.go in the candidate or the base",
		"tests/test_in_python.py:3":         "AC-001: there is no file tests/test_in_python.py in the candidate or the base",
		"TestFoo":                           "AC-001: there is no test TestFoo in the reports of gates or the test files",
		"auth.TestLog shows it":             "AC-001: there is no test TestLog in the reports of gates or the test files",
		"tests/test_auth.py::test_none":     "AC-001: there is no test test_none in the reports of gates or the test files",
		"tests/test_none.py::test_logout":   "AC-001: there is no file tests/test_none.py in the candidate or the base",
		"tests::none":                       "AC-001: there is no test none in the reports of gates or the test files",
		"I looked at everything":            nothing,
		"the tests pass and it works":       nothing,
		"it opens":                          nothing,
		"an item":                           nothing,
		"cart > removes an item":            nothing,
		"chapter1:20":                       nothing,
		"at 12:30 it worked, e.g. and/or 2": nothing,
		"https://example.com/auth.go":       nothing,
	} {
		if _, problem := cites(t, project(), evidence); problem != want {
			t.Errorf("%q:\n%q, want\n%q", evidence, problem, want)
		}
	}
}

// Of many criteria only a few are told, each with few of its citations, so that the
// reviewer reads all of it. Those that are met are not told, and a halt is not refused.
func TestEvidenceOfMany(t *testing.T) {
	v := submit.Verdict{Summary: "s"}
	var criteria []pawl.Criterion
	for _, id := range []string{"A", "B", "C", "D", "E", "F"} {
		c := submit.Criterion{ID: id, Status: submit.Pass, Evidence: []string{"one.go:1", "two.go:2", "three.go:3"}}
		switch id {
		case "B":
			c.Evidence = []string{"auth.go"}
		case "C":
			c.Status, c.Gap = submit.Fail, "none"
		}
		v.Criteria = append(v.Criteria, c)
		criteria = append(criteria, pawl.Criterion{ID: id})
	}
	about := pawl.Submission{Criteria: criteria, Sources: project()}
	hand := func() (pawl.Facts, string) {
		args, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return submit.Results{}.Facts("verdict", args, about)
	}
	const two = ": there is no file one.go in the candidate or the base, there is no file two.go in the candidate or the base"
	if _, problem := hand(); problem != "A"+two+"; D"+two+"; E"+two+"; and 1 more" {
		t.Errorf("it says %q", problem)
	}
	v.Halt = "a secret"
	if f, problem := hand(); problem != "" || f.Get("decision") != "halt" {
		t.Errorf("a halt gives %v, %q", f, problem)
	}
	v.Halt, v.Criteria = "", v.Criteria[:2]
	v.Criteria[0].Evidence = append(v.Criteria[0].Evidence, "auth.go:1")
	about.Criteria = criteria[:2]
	if f, problem := hand(); problem != "" || facts(f) != "decision=pass reason=s met=2 total=2 loose=B" {
		t.Errorf("with evidence it gives %q, %q", facts(f), problem)
	}
}

// Where the work is a plan, its entries are evidence; where a step only left an account,
// its words are.
func TestEvidenceInDocuments(t *testing.T) {
	s := shelf{documents: map[string]string{
		"create_plan": `{"title": "A list", "overview": "", "specs": [{"name": "core-list", "title": "The core", "description": "Keep it \"small\" and quick"}, {"name": "io"}]}`,
		"summary":     `{"summary": "Postgres, MySQL\nand SQLite would do", "agent": "a"}`,
		"notes":       "They found nothing that is open.",
	}}
	for _, evidence := range []string{"specs", "specs: core-list, io", "the spec core-list does it", "IO covers it", "The Core", `it says "keep it “small” and quick"`,
		"summary: Postgres, MySQL and SQLite", `"postgres, mysql and"`, "notes: nothing that is open"} {
		if loose, problem := cites(t, s, evidence); problem != "" || len(loose) > 0 {
			t.Errorf("%q: loose %q, %q", evidence, loose, problem)
		}
	}
	for _, evidence := range []string{"overview", "the plan covers it", "agent", "summary", "summary: Oracle would do", `"the"`, "ion", "coreless", "postgres, mysql and sqlite"} {
		if _, problem := cites(t, s, evidence); problem != "AC-001: its evidence names no entry of create_plan, notes, summary and no file: name one, as it is written there" {
			t.Errorf("%q: %q", evidence, problem)
		}
	}
	if _, problem := cites(t, shelf{}, "specs"); !strings.Contains(problem, "nothing that can be looked up") {
		t.Errorf("without documents: %q", problem)
	}
}
