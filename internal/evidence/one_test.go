package evidence

import (
	"testing"

	"pawl"
)

// A change of one file that is found in two ways is one finding, the one that shows more. F-98
func TestOneFindingForOneChange(t *testing.T) {
	base := tree{
		"app.py":               "print(1)\n",
		"ci.sh":                "python3 app.py | diff tests/golden/out.txt - && pytest\n",
		"tests/golden/out.txt": "1\n",
		"tests/conftest.py":    "import pytest\n",
		"tests/test_app.py":    "def test_out():\n    assert out() == open('tests/golden/out.txt').read()\n",
	}
	for _, tt := range []struct {
		name string
		now  tree
		want pawl.FindingKind
		path string
	}{
		{"a golden file that a gate and a test read", tree{"tests/golden/out.txt": "2\n"}, pawl.FindExpectation, "tests/golden/out.txt"},
		{"a set-up file that a test needs", tree{"tests/conftest.py": "import pytest\n\n@pytest.fixture(autouse=True)\ndef x(monkeypatch):\n    monkeypatch.setattr('app.x', 1)\n"}, pawl.FindExpectation, "tests/conftest.py"},
	} {
		c := between(base, base.with(tt.now).with(tree{"app.py": "print(2)\n"}))
		c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "sh ci.sh"}}
		test := func(status pawl.TestStatus) []pawl.TestResult {
			return []pawl.TestResult{{Name: "tests/test_app.py::test_out", Status: status, Output: "assert 2 == 1"}}
		}
		for _, reports := range []*Reports{
			{Own: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass, Passed: 1, Tests: test(pawl.TestPass)}}, Base: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass, Passed: 1, Tests: test(pawl.TestPass)}},
				On: map[pawl.Tree]map[string]*pawl.GateReport{pawl.TreeExpected: {"tests": {Verdict: pawl.VerdictFail, Failed: 1, Tests: test(pawl.TestFail)}}}},
			judged(pawl.VerdictPass, pawl.VerdictPass, pawl.VerdictFail),
		} {
			found, _, _ := Look(c).Weigh(reports)
			if len(found) != 1 || found[0].Kind != tt.want || found[0].Path != tt.path {
				t.Errorf("%s: found %+v, want one %s in %s", tt.name, found, tt.want, tt.path)
			}
		}
	}
}
