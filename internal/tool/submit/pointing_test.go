package submit

import (
	"testing"

	"pawl"
)

// F-33: evidence that can be looked up names a line or a test.
func TestPointing(t *testing.T) {
	for evidence, want := range map[string]bool{
		"login.go:12": true, "login.go:12-40 locks it": true, "src/a b.ts:7": true, "login.go, line 12": true, "Lines 3 to 9 of a.py": true, "x.go#L4": true,
		"TestLogin": true, "auth.TestLogin/locks passes": true, "tests/test_auth.py::test_login": true, "login_test covers it": true, "login.test.ts": true,
		"login.go": false, "the tests pass": false, "I looked at everything": false, "tested by hand": false, "at 12:30 it worked": false, "chapter1:20": true, "1.go:2": true, "10:30:05": false, "": false,
	} {
		if got := pointing.MatchString(evidence); got != want {
			t.Errorf("%q: %v", evidence, got)
		}
	}
	v := Verdict{Summary: "s", Criteria: []Criterion{
		{ID: "A", Status: Pass, Evidence: []string{"it is there"}}, {ID: "B", Status: Pass, Evidence: []string{"it is there", "b.go:4"}},
		{ID: "C", Status: Fail, Gap: "all of it", Evidence: []string{"c.go"}}}}
	facts, err := v.facts([]pawl.Criterion{{ID: "A"}, {ID: "B"}, {ID: "C"}})
	if got := facts.All("loose"); err != nil || len(got) != 1 || got[0] != "A" {
		t.Errorf("%v: loose are %q", err, got)
	}
}
