package evidence

import (
	"slices"
	"strings"
	"testing"

	"pawl"
)

// A file that the base does not have is left out with its expectations if gates or tests find it because of what
// the base's files say; what a gate missed on the base is what was asked for, and stays. F-99
func TestAddedFiles(t *testing.T) {
	base := tree{
		"Makefile":           "-include local.mk $(wildcard mk/*.mk)\ntest:\n\tbash ci/run\n",
		"ci/run":             "#!/bin/bash\n[ -f ci/env ] && . ci/env\nfor c in checks/*.sh; do . \"./$c\"; done\nfind extra -name '*.sh' | while read -r c; do sh \"$c\"; done\nif [ -x hooks/before ]; then hooks/before; fi\npython3 ci/all.py\ngreet Ada | diff - want.txt\npytest -q\n",
		"ci/all.py":          "import glob, subprocess\ntry:\n    import local_checks\nexcept ImportError:\n    pass\nfor f in glob.glob('more/' + '*'):\n    subprocess.run([f])\nfor f in os.listdir('probes'): subprocess.run([f])\n",
		"checks/a.sh":        "true\n",
		"want.txt":           "Hello\n",
		"shop.py":            "import json\n",
		"pkg/__init__.py":    "",
		"pkg/part.py":        "x = 1\n",
		"tests/test_shop.py": "import shop\nEXTRA = 'tests-config.json'\n",
		"requirements.txt":   "requests==2\n",
	}
	pass := &pawl.GateReport{Verdict: pawl.VerdictPass, Passed: 1}
	red := func(output string) *pawl.GateReport {
		return &pawl.GateReport{Verdict: pawl.VerdictFail, ExitCode: 2, Output: output}
	}
	for _, tt := range []struct {
		path string
		base *pawl.GateReport
		out  bool
	}{
		{"makefile", pass, true},
		{"GNUmakefile", red("GNUmakefile: No such file or directory"), true},
		{"local.mk", pass, true},
		{"mk/more.mk", pass, true},
		{"other.mk", pass, false},
		{"ci/env", pass, true},
		{"ci/env", red("ci/run: line 2: ci/env: No such file or directory"), false},
		{"ci/env", red("1 of 2 tests fails"), true},
		{"checks/00.sh", pass, true},
		{"extra/00.sh", pass, true},
		{"hooks/before", pass, true},
		{"probes/first", pass, true},
		{"local_checks.py", pass, true},
		{"bin/diff", pass, true},
		{"tools/git", pass, true},
		{"node_modules/.bin/pytest", pass, true},
		{"bin/shop", pass, false},
		{"bin/greet", pass, true},
		{"bin/greet", red("ci/run: line 6: greet: command not found"), false},
		{"diff", red("diff: command not found"), true},
		{"json.py", pass, true},
		{"json/__init__.py", pass, true},
		{"requests.py", pass, true},
		{"pkg/json.py", pass, false},
		{"prices.py", pass, false},
		{"prices/json.py", pass, false},
		{"__init__.py", pass, true},
		{"prices/__init__.py", pass, false},
		{"tests/__init__.py", pass, true},
		{"tests/test_a.py", pass, true},
		{"tests/data.json", pass, true},
		{"tests/data.json", red("FileNotFoundError: [Errno 2] No such file or directory: 'tests/data.json'"), false},
		{"conftest.py", pass, true},
		{"wanted.txt", red("1 of 2 tests fails"), false}, // the gate's own command asks for it
		{"tests-config.json", pass, true},
		{"notes.json", pass, false},
		{"plug.egg-info/entry_points.txt", pass, true},
		{"README.md", pass, false},
	} {
		t.Run(tt.path, func(t *testing.T) {
			c := between(base, base.with(tree{tt.path: "x = 1\n", "shop.py": "import json, sys\n"}))
			c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "make test && test -f wanted.txt"}}
			r := &Reports{Own: map[string]*pawl.GateReport{"tests": pass}, Base: map[string]*pawl.GateReport{"tests": tt.base}}
			runs := Look(c).Runs(r)
			out := len(runs) > 0 && slices.ContainsFunc(runs[0].Files, func(f pawl.ComposedFile) bool { return f.Path == tt.path })
			if out != tt.out || !out && len(runs) > 0 {
				t.Errorf("it is left out: %t, want %t: %+v", out, tt.out, runs)
			}
		})
	}
}

// What was left out with the base's expectations excuses no failure, and neither does an error at a name that is
// declared as before; a case that the code makes is none of the base's. F-99
func TestFailuresWithoutAddedFiles(t *testing.T) {
	base := tree{
		"src/shop.py":        "def total(items):\n    return sum(items)\n",
		"tests/test_shop.py": "def test_total():\n    assert shop.total([1]) == 1\n",
	}
	const name = "tests/test_shop.py::test_total"
	test := func(status pawl.TestStatus, output string) pawl.TestResult {
		return pawl.TestResult{Name: name, Status: status, Output: output}
	}
	for _, tt := range []struct {
		what   string
		now    tree
		there  pawl.TestResult
		onBase bool
		found  string
	}{
		{"a value", tree{"tests/test_new.py": "import shop\n"}, test(pawl.TestFail, "assert 2 == 1"), true, "tests/test_new.py"},
		{"the file that acts", tree{"tests/test_new.py": "import shop\n", "tests/test_env.py": "import shop\nshop.__dict__['x'] = 1\nsetattr(shop, 'x', 1)\n"}, test(pawl.TestFail, "assert 2 == 1"), true, "tests/test_env.py"},
		{"a name that is not declared", tree{"tests/test_new.py": "import shop\n"}, test(pawl.TestFail, "NameError: name 'CENTS' is not defined"), true, "tests/test_new.py"},
		{"a module that was left out", tree{"tests/rules.py": "x = 1\n", "src/shop.py": "import rules\n\ndef total(items, rules):\n    return 1\n"},
			test(pawl.TestFail, "ModuleNotFoundError: No module named 'rules'"), true, "tests/rules.py"},
		{"a whole file that needs what was left out", tree{"tests/rules.py": "x = 1\n", "src/shop.py": "import rules\n"},
			pawl.TestResult{Name: "tests/test_shop.py [collection failed]", Status: pawl.TestFail, Output: "ModuleNotFoundError: No module named 'rules'"}, true, "tests/rules.py"},
		{"another signature", tree{"tests/test_new.py": "import shop\n", "src/shop.py": "def total(items, tax):\n    return sum(items) + tax\n"},
			test(pawl.TestFail, "TypeError: total() missing 1 required positional argument: 'tax'"), true, ""},
		{"a case that is new", tree{"tests/golden/b.txt": "b\n"}, test(pawl.TestFail, "FileNotFoundError: 'tests/golden/b.txt'"), false, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			c := between(base, base.with(tree{"src/shop.py": base["src/shop.py"] + "\n"}).with(tt.now))
			c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "pytest"}}
			own := &pawl.GateReport{Verdict: pawl.VerdictPass, Passed: 1, Tests: []pawl.TestResult{test(pawl.TestPass, "")}}
			onBase := &pawl.GateReport{Verdict: pawl.VerdictPass, Passed: 1, Tests: []pawl.TestResult{{Name: "tests/test_other.py::test_a", Status: pawl.TestPass}}}
			if tt.onBase {
				onBase = own
			}
			r := &Reports{Own: map[string]*pawl.GateReport{"tests": own}, Base: map[string]*pawl.GateReport{"tests": onBase}, On: map[pawl.Tree]map[string]*pawl.GateReport{
				pawl.TreeExpected: {"tests": {Verdict: pawl.VerdictFail, Failed: 1, Tests: []pawl.TestResult{tt.there}}}}}
			found, _, _ := Look(c).Weigh(r)
			var in []string
			for _, f := range found {
				in = append(in, f.Path)
			}
			if got := strings.Join(in, " "); got != tt.found {
				t.Errorf("found in %q, want %q: %+v", got, tt.found, found)
			}
		})
	}
}

// Where only tests were added there is nothing that the base has not judged: no run is needed. F-99
func TestAddedTestsAlone(t *testing.T) {
	base := tree{"shop.py": "x = 1\n", "tests/test_shop.py": "def test_x(): assert x\n"}
	c := between(base, base.with(tree{"tests/test_new.py": "def test_y(): assert x\n", "README.md": "x\n"}))
	c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "pytest"}}
	if runs := Look(c).Runs(judged(pawl.VerdictPass, pawl.VerdictPass, "")); len(runs) > 0 {
		t.Errorf("runs %+v, want none", runs)
	}
	found, _, _ := Look(c).Weigh(judged(pawl.VerdictFail, pawl.VerdictPass, ""))
	if len(found) != 1 || found[0].Path != "tests/test_new.py" {
		t.Errorf("found %+v, want the added tests that make the base's pass", found)
	}
}
