package evidence

import (
	"strings"
	"testing"

	"pawl"
)

// Whoever has to answer for a lost test is shown what became of it: its lines, what skips it, or how its
// file changed where the test itself did not. F-08
func TestLostTestsAreShown(t *testing.T) {
	const sum = "func TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n"
	const zero = "func TestZero(t *testing.T) {\n\tif Sum(0, 0) != 0 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n"
	const head = "package sum\n\nimport \"testing\"\n\n"
	const table = "func TestSum(t *testing.T) {\n\tfor _, tt := range []struct{ name string; want int }{{\"one\", 1}, {\"two\", 2}} {\n\t\tt.Run(tt.name, func(t *testing.T) { check(t, tt) })\n\t}\n}\n"
	for name, test := range map[string]struct {
		base, now, lost string
		skipped         bool
		detail          string
	}{
		"Removed": {head + sum + zero, head + zero, "sum.TestSum", false, "- func TestSum(t *testing.T) {\n- if Sum(1, 2) != 3 {\n- t.Fatal(\"no\")\n- }\n- }\n"},
		"Skipped": {head + sum + zero, head + strings.Replace(sum, "{\n", "{\n\tt.Skip(\"slow\")\n", 1) + zero, "sum.TestSum", true, "+ t.Skip(\"slow\")\n"},
		"LeftOut": {head + sum + zero, "//go:build never\n\n" + head + sum + zero, "sum.TestSum", false, "+ //go:build never\n"},
		"Case":    {head + table + zero, head + strings.Replace(table, "{\"one\", 1}, ", "", 1) + zero, "sum.TestSum/one", false, "--- a/sum_test.go\n+++ b/sum_test.go\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := between(tree{"sum_test.go": test.base}, tree{"sum_test.go": test.now})
			c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}}
			found, _, _ := Look(c).Weigh(&Reports{Own: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass,
				Tests: []pawl.TestResult{{Name: "sum.TestZero", Status: pawl.TestPass}}, Lost: []pawl.LostTest{{Name: test.lost, Skipped: test.skipped}}}}})
			if len(found) == 0 || found[0].Path != "sum_test.go" || !strings.HasPrefix(found[0].Detail, test.detail) {
				t.Errorf("found %+v, want the first in sum_test.go with\n%s", found, test.detail)
			}
		})
	}
}
