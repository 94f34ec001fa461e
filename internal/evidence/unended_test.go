package evidence

import (
	"strings"
	"testing"

	"pawl"
)

// A gate that does not end with the base's files, or fails there and shows no single tests, is a finding in
// each file whose source cannot be compared; one at a name that the candidate declares in another way says
// nothing. F-103
func TestGatesWithoutTests(t *testing.T) {
	base := tree{
		"app.py":            "def total(items):\n    return sum(items)\n",
		"ci.sh":             "python3 tests/run.py\n",
		"tests/run.py":      "import app\n",
		"tests/data.json":   "[1]\n",
		"tests/size.sh":     "N=9\n",
		"tests/test_top.py": "import app\nassert app.total([1]) == 1\n",
		"tests/test_app.py": "def test_total():\n    assert total([1]) == 1\n",
		"t/a.t":             "ok\n",
	}
	exit := func(output string) *pawl.GateReport {
		return &pawl.GateReport{Verdict: pawl.VerdictFail, Format: pawl.ReportExit, ExitCode: 1, Reason: "exit 1", Output: output}
	}
	cut := &pawl.GateReport{Verdict: pawl.VerdictFail, Partial: true, Reason: "timed out after 2m"}
	tests := []struct {
		name   string
		now    tree
		kind   pawl.GateKind
		there  *pawl.GateReport
		found  string
		remark string
	}{
		{"support, timed out", tree{"tests/data.json": "[2]\n"}, pawl.GateTests, cut, "expectation tests/data.json", ""},
		{"a gate input, timed out", tree{"ci.sh": "true\n"}, pawl.GateTests, cut, "gate_input ci.sh", ""},
		{"a gate input of a linter, timed out", tree{"ci.sh": "true\n"}, pawl.GateLint, cut, "gate_input ci.sh", ""},
		{"both, timed out", tree{"ci.sh": "true\n", "tests/data.json": "[2]\n"}, pawl.GateTests, cut, "gate_input ci.sh, expectation tests/data.json", ""},
		{"tests that can be read, timed out", tree{"tests/test_app.py": base["tests/test_app.py"] + "\n"}, pawl.GateTests, cut, "expectation tests/test_app.py", ""},
		{"a size in tests that can be read, timed out", tree{"tests/size.sh": "N=1\n"}, pawl.GateTests, cut, "expectation tests/size.sh", ""},
		{"what tests that can be read show, an exit code", tree{"tests/test_app.py": strings.ReplaceAll(base["tests/test_app.py"], "== 1", "== 2")}, pawl.GateTests,
			exit("AssertionError\n"), "expectation tests/test_app.py", ""},
		{"outside of what they show, an exit code", tree{"tests/test_top.py": "import app\nassert app.total([1]) == 3\n"}, pawl.GateTests, exit("AssertionError\n"), "expectation tests/test_top.py", ""},
		{"outside, in tests that do not fit", tree{"tests/test_top.py": "import app\nassert app.total([1], 2) == 3\n"}, pawl.GateTests,
			exit("TypeError: total() missing 1 required positional argument: 'tax'\n"), "", "cannot be run with the base's expectations"},
		{"tests that cannot be read, timed out", tree{"t/a.t": "ok 1\n"}, pawl.GateTests, cut, "expectation t/a.t", ""},
		{"support, an exit code", tree{"tests/data.json": "[2]\n"}, pawl.GateTests, exit("AssertionError: 3 != 2\n"), "expectation tests/data.json", ""},
		{"a gate input, an exit code", tree{"ci.sh": "true\n"}, pawl.GateTests, exit("AssertionError: 3 != 2\n"), "gate_input ci.sh", ""},
		{"tests that cannot be read, an exit code", tree{"t/a.t": "ok 1\n"}, pawl.GateTests, exit("not ok\n"), "expectation t/a.t", ""},
		{"another signature", tree{"tests/data.json": "[2]\n", "app.py": "def total(items, tax):\n    return sum(items) + tax\n"}, pawl.GateTests,
			exit("TypeError: total() missing 1 required positional argument: 'tax'\n"), "", "cannot be run with the base's expectations"},
		{"an error elsewhere", tree{"tests/data.json": "[2]\n", "app.py": "def total(items, tax):\n    return sum(items) + tax\n"}, pawl.GateTests,
			exit("TypeError: load() missing 1 required positional argument: 'path'\n"), "expectation tests/data.json", ""},
		{"a value of a function that changed", tree{"tests/data.json": "[2]\n", "app.py": "def total(items, tax):\n    return sum(items) + tax\n"}, pawl.GateTests,
			exit("AssertionError: total([1]) is 2, expected 1 but got 2\n"), "expectation tests/data.json", ""},
		{"a name that is gone", tree{"ci.sh": "python3 tests/run.py -q\n", "app.py": "def sums(items):\n    return sum(items)\n"}, pawl.GateTests,
			exit("AttributeError: module 'app' has no attribute 'total'\n"), "", "cannot be run with the base's expectations"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := between(base, base.with(tree{"app.py": base["app.py"] + "\n"}).with(tt.now))
			c.Gates = []pawl.GateSpec{{Name: "tests", Kind: tt.kind, Command: "sh ci.sh"}}
			r := judged(pawl.VerdictPass, pawl.VerdictPass, "")
			r.On[pawl.TreeExpected] = map[string]*pawl.GateReport{"tests": tt.there}
			found, remarks, _ := Look(c).Weigh(r)
			var got []string
			for _, f := range found {
				got = append(got, string(f.Kind)+" "+f.Path)
			}
			if list := strings.Join(got, ", "); list != tt.found {
				t.Errorf("found %q, want %q", list, tt.found)
			}
			if text := strings.Join(remarks, "; "); !strings.Contains(text, tt.remark) {
				t.Errorf("remarks are %q, want %q", text, tt.remark)
			}
		})
	}
}
