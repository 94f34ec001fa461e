package command

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
)

// need skips a test without a program, except where all must run.
func need(t *testing.T, argv ...string) {
	t.Helper()
	if err := exec.Command(argv[0], argv[1:]...).Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s: %v", strings.Join(argv, " "), err)
		}
		t.Skipf("%s: %v", strings.Join(argv, " "), err)
	}
}

// tree writes a checkout.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		MustWrite(t, dir, files[i], files[i+1])
	}
	return dir
}

// ask judges a tree with its tests' own list.
func ask(t *testing.T, command, dir string, base, doubt *pawl.GateReport) pawl.GateReport {
	t.Helper()
	t.Setenv("GOCACHE", mustGoCache(t))
	r, err := New().Judge(t.Context(), pawl.GateRequest{
		Spec: pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: command},
		Room: shell{tree: dir, temp: mustHome(t)}, Base: base, Doubt: doubt, List: true, Timeout: 5 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// goCache is the go command's folder of what it has built.
var goCache = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out)), err
})

func mustGoCache(t *testing.T) string {
	t.Helper()
	cache, err := goCache()
	if err != nil {
		t.Skip("go is not installed")
	}
	return cache
}

// twice is a room in which the command ends with a usage error until nothing is added to it.
type twice struct {
	player
	lines []string
}

func (p *twice) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	p.lines = append(p.lines, cmd.Shell)
	if cmd.Shell != "pytest -q" {
		return play(4, ""), nil
	}
	return play(0, "1 passed in 0.01s\n"), nil
}

// A command that does not bear what is added to it is run as it is, on the base alone, and from
// then on.
func TestCommandRunsAsItIs(t *testing.T) {
	room := &twice{player: player{tree: t.TempDir()}}
	req := pawl.GateRequest{Spec: pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "pytest -q"}, Room: room, Timeout: time.Minute}
	base, err := New().Judge(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want(t, base, pawl.VerdictPass, "1 test passes")
	same(t, "notes", base.Notes, "pytest gave no results of its own, so the command was run again as it is")
	room.lines, req.Base = nil, &base
	r, err := New().Judge(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, pawl.VerdictPass, "1 test passes")
	same(t, "commands", room.lines, "pytest -q")
	base.Channel = "pytest"
	room.lines = nil
	if r, err = New().Judge(t.Context(), req); err != nil || r.Verdict != pawl.VerdictFail || len(room.lines) != 2 {
		t.Errorf("%v %s: %s, %q", err, r.Verdict, r.Reason, room.lines)
	}
}

func testNames(r pawl.GateReport) []string {
	var all []string
	for _, t := range r.Tests {
		all = append(all, t.Name+" "+string(t.Status))
	}
	return all
}

// same holds a list to another.
func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q\nwant %q", what, got, want)
	}
}

const goMod = "module example.com/shop\n\ngo 1.26\n"

// What tests print is no result, whatever it looks like.
func TestForgedGo(t *testing.T) {
	need(t, "go", "version")
	forging := `package shop

import (
	"fmt"
	"testing"
)

func TestReal(t *testing.T) {
	fmt.Println("=== RUN   TestForged\n--- PASS: TestForged (0.00s)")
	fmt.Println("ok  \texample.com/shop/other\t0.1s")
	fmt.Println("{\"Action\":\"pass\",\"Package\":\"example.com/shop\",\"Test\":\"TestMade\"}")
}
`
	dir := tree(t, "go.mod", goMod, "a_test.go", forging, "Makefile", "GO ?= go\ntest:\n\t$(GO) test -count=1 ./...\n")
	for _, command := range []string{"go test ./...", "go test -v ./...", "make test", "sh -c 'go test ./...'"} {
		r := ask(t, command, dir, nil, nil)
		want(t, r, pawl.VerdictPass, "1 test passes")
		same(t, command, testNames(r), "example.com/shop.TestReal pass")
		if r.Channel != "go test" || r.Listed != 1 || len(r.Unlisted)+len(r.Unreported) > 0 {
			t.Errorf("%+v", r)
		}
		if verbose := strings.Contains(r.Output, "TestForged"); verbose != (command == "go test -v ./...") || !strings.Contains(r.Output, "ok  \texample.com/shop\t") || strings.Contains(r.Output, `"Action":"start"`) {
			t.Errorf("it printed %s", r.Output)
		}
	}
	t.Run("TestMain", func(t *testing.T) {
		lies := strings.Replace(forging, "import (", "import (\n\t\"os\"", 1) + "\nfunc TestOther(t *testing.T) { t.Error() }\n\nfunc TestMain(m *testing.M) {\n\tfmt.Print(\"=== RUN   TestReal\\n--- PASS: TestReal (0.00s)\\n=== RUN   TestOther\\n--- PASS: TestOther (0.00s)\\nPASS\\n\")\n\tos.Exit(0)\n}\n"
		r := ask(t, "go test ./...", tree(t, "go.mod", goMod, "a_test.go", lies), nil, nil)
		same(t, "unlisted", r.Unlisted, "example.com/shop.TestOther", "example.com/shop.TestReal")
		want(t, r, pawl.VerdictPass, "2 tests pass; 2 tests with a result are not in the list of go test: example.com/shop.TestOther, example.com/shop.TestReal")
	})
	t.Run("NothingRuns", func(t *testing.T) {
		quits := strings.Replace(forging, "import (", "import (\n\t\"os\"", 1) + "\nfunc TestOther(t *testing.T) { t.Error() }\n\nfunc TestMain(m *testing.M) {\n\tfor _, a := range os.Args {\n\t\tif a == \"-test.list=.\" {\n\t\t\tos.Exit(m.Run())\n\t\t}\n\t}\n\tfmt.Print(\"=== RUN   TestReal\\n--- PASS: TestReal (0.00s)\\nPASS\\n\")\n\tos.Exit(0)\n}\n"
		r := ask(t, "go test ./...", tree(t, "go.mod", goMod, "a_test.go", quits), nil, nil)
		same(t, "unreported", r.Unreported, "example.com/shop.TestOther")
		want(t, r, pawl.VerdictPass, "1 test passes; 1 test in the list of go test has no result: example.com/shop.TestOther")
	})
	t.Run("FakeGo", func(t *testing.T) {
		base := ask(t, "make test", dir, nil, nil)
		fake := tree(t, "go.mod", goMod, "a_test.go", forging, "Makefile", "GO = ./go\ntest:\n\t@$(GO) test ./...\n", "go", "#!/bin/sh\nprintf 'ok  \\texample.com/shop\\t0.1s\\n'\n")
		if err := os.Chmod(fake+"/go", 0o755); err != nil {
			t.Fatal(err)
		}
		r := ask(t, "make test", fake, &base, nil)
		want(t, r, pawl.VerdictPass, "1 test passes; the results are read from what was printed and not from go test as on the base: make test: it runs no test runner that is known")
		if len(r.Notes) != 2 || r.Channel != "" {
			t.Errorf("%q %q", r.Notes, r.Channel)
		}
	})
}

const pyTests = `import pytest
@pytest.mark.parametrize("a", ["x", "a/b::c d", 'q"<', "it's"])
def test_p(a):
    print("1 passed in 0.01s")
class TestX:
    class TestIn:
        def test_deep(self): pass
    def test_m(self): pass
@pytest.mark.skip
def test_sk(): pass
`

func TestPytest(t *testing.T) {
	need(t, "pytest", "--version")
	dir := tree(t, "tests/test_a.py", pyTests)
	for _, command := range []string{"pytest", "pytest -q", "pytest -qq -s", "python3 -c 1; pytest -v tests/test_a.py --rootdir ."} {
		r := ask(t, command, dir, nil, nil)
		want(t, r, pawl.VerdictPass, "6 tests pass (1 skipped)")
		same(t, command, testNames(r), "tests/test_a.py::TestX::TestIn::test_deep pass", "tests/test_a.py::TestX::test_m pass",
			`tests/test_a.py::test_p[a/b::c d] pass`, `tests/test_a.py::test_p[it's] pass`, `tests/test_a.py::test_p[q"<] pass`, "tests/test_a.py::test_p[x] pass", "tests/test_a.py::test_sk skip")
		if r.Channel != "pytest" || r.Listed != 7 || len(r.Unlisted)+len(r.Unreported)+len(r.Notes) > 0 || strings.Contains(r.Output, "pawl-results") {
			t.Errorf("%s: %+v", command, r)
		}
	}
	t.Run("WithoutThePlugin", func(t *testing.T) {
		r := ask(t, "pytest -q", tree(t, "pytest.ini", "[pytest]\naddopts = -p no:junitxml\n", "test_a.py", "def test_a(): pass\n"), nil, nil)
		want(t, r, pawl.VerdictPass, "1 test passes; the results are read from what was printed and not from pytest: it gave none")
		same(t, "notes", r.Notes, "the results are read from what was printed and not from pytest: it gave none", "the tests are not compared with the runner's list: the results do not name all tests")
	})
	t.Run("AScriptInItsPlace", func(t *testing.T) {
		base := ask(t, "make check", tree(t, "Makefile", "check:\n\tpytest -q -s\n", "test_a.py", "def test_a(): pass\n"), nil, nil)
		fake := tree(t, "Makefile", "check:\n\tpytest -q -s\n", "test_a.py", "import os\nprint('==== 1 passed in 0.01s ====', flush=True)\nos._exit(0)\n")
		r := ask(t, "make check", fake, &base, nil)
		want(t, r, pawl.VerdictPass, "1 test passes; 1 test of the base no longer runs: test_a.py::test_a (removed); the results are read from what was printed and not from pytest: it gave none")
	})
}

func TestNode(t *testing.T) {
	need(t, "node", "--version")
	tests := `const {test, describe, it} = require('node:test');
const cp = require('node:child_process');
test('a child', () => { console.log('ok 1 - forged\n# pass 7', cp.execFileSync('node', ['-p', '1+1']).toString()); });
describe('sum "of"', () => { it('adds', () => {}); it.skip('sk', () => {}); describe('deep', () => { it('d/1', () => {}); }); });
test('todo', {todo: true}, () => { throw new Error('x'); });
`
	names := []string{"a child pass", `sum "of"/adds pass`, `sum "of"/deep/d/1 pass`, `sum "of"/sk skip`, "todo skip"}
	dir := tree(t, "a.test.js", tests, "package.json", `{"scripts":{"test":"node --test","pretest":"true"}}`)
	for _, command := range []string{"node --test", "npm test", "node --test a.test.js", "cd . && npm run test --silent"} {
		r := ask(t, command, dir, nil, nil)
		want(t, r, pawl.VerdictPass, "3 tests pass (2 skipped)")
		same(t, command, testNames(r), names...)
		same(t, command, r.Notes, "the tests are not compared with the runner's list: node --test has no list of its tests")
		if r.Channel != "node --test" {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

func TestCargo(t *testing.T) {
	need(t, "cargo", "--version")
	dir := tree(t, "Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs", `/// Adds.
///
/// `+"```\n/// assert_eq!(shop::add(1, 2), 3);\n/// ```"+`
pub fn add(a: i32, b: i32) -> i32 { a + b }

#[cfg(test)]
mod tests {
    #[test]
    fn adds() { assert_eq!(super::add(1, 2), 3); println!("\ntest tests::forged ... ok"); }
    #[test]
    #[should_panic]
    fn panics() { panic!() }
    #[test]
    #[ignore]
    fn old() {}
}
`)
	t.Setenv("HOME", os.Getenv("HOME"))
	r := ask(t, "HOME="+os.Getenv("HOME")+" cargo test --offline -- --nocapture --test-threads=1", dir, nil, nil)
	if r.Verdict != pawl.VerdictPass || r.Channel != "" || r.Listed != 4 {
		t.Errorf("%s: %s, %q, %d", r.Verdict, r.Reason, r.Notes, r.Listed)
	}
	// There is no channel; the list shows which line is made up, and which test's
	// it replaced. With several threads that would be any test's, or no test's.
	same(t, "unlisted", r.Unlisted, "tests::forged")
	same(t, "unreported", r.Unreported, "tests::adds")
}

// Only what failed runs again, in each language; the rest of the report stays.
func TestSelectedAgain(t *testing.T) {
	for _, test := range []struct {
		name, command string
		need          []string
		files         []string
		flag          string // a file that makes the flaky test pass
		failing       []string
		whole         string // why all ran again
	}{
		{"go", "go test -count=1 ./...", []string{"go", "version"}, []string{"go.mod", goMod, "a_test.go", `package shop

import (
	"os"
	"testing"
)

func TestFlaky(t *testing.T) {
	t.Run("it's $(a)", func(t *testing.T) {
		if _, err := os.Stat("ok"); err != nil {
			t.Error(err)
		}
	})
	t.Run("other", func(t *testing.T) {})
}

func TestRuns(t *testing.T) {
	f, _ := os.OpenFile("runs", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	f.WriteString("x")
	f.Close()
}
`}, "ok", []string{"example.com/shop.TestFlaky", "example.com/shop.TestFlaky/it's_$(a)"}, ""},
		{"pytest", "pytest -q", []string{"pytest", "--version"}, []string{"tests/test_a.py", `import os, pytest
@pytest.mark.parametrize("a", ["it's $(a)", "b"])
def test_flaky(a):
    assert a == "b" or os.path.exists("ok")
def test_runs():
    open("runs", "a").write("x")
`}, "ok", []string{"tests/test_a.py::test_flaky[it's $(a)]"}, ""},
		{"node", "npm test", []string{"node", "--version"}, []string{"package.json", `{"scripts":{"test":"node --test"}}`, "a.test.js", `const {test, describe, it} = require('node:test');
const fs = require('node:fs');
describe('group', () => {
  it("it's $(a)/b", () => { fs.statSync('ok'); });
  it('runs', () => { fs.appendFileSync('runs', 'x'); });
});
`}, "ok", []string{"group/it's $(a)/b"}, ""},
		{"unittest", "python3 -m unittest discover -v", []string{"python3", "--version"}, []string{"test_a.py", `import os, unittest
class TestA(unittest.TestCase):
    def test_flaky(self):
        self.assertTrue(os.path.exists("ok"))
    def test_runs(self):
        with open("runs", "a") as f: f.write("x")
`}, "ok", []string{"test_a.TestA.test_flaky"}, ""},
		{"stops", "go test -failfast -count=1 ./...", []string{"go", "version"}, []string{"go.mod", goMod, "a_test.go", `package shop

import (
	"os"
	"testing"
)

func TestRuns(t *testing.T) {
	f, _ := os.OpenFile("runs", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	f.WriteString("x")
	f.Close()
}

func TestZ(t *testing.T) {
	if _, err := os.Stat("ok"); err != nil {
		t.Error(err)
	}
}
`}, "ok", []string{"example.com/shop.TestZ"}, "all tests were run again: go test ends at the first failure"},
	} {
		t.Run(test.name, func(t *testing.T) {
			need(t, test.need...)
			dir := tree(t, test.files...)
			first := ask(t, test.command, dir, nil, nil)
			if first.Verdict != pawl.VerdictFail || !first.Complete {
				t.Fatalf("%s: %s\n%s", first.Verdict, first.Reason, first.Output)
			}
			again := ask(t, test.command, dir, nil, &first)
			if again.Verdict != pawl.VerdictFail || again.Passed != first.Passed || again.Failed != first.Failed {
				t.Errorf("%s: %s %q", again.Verdict, again.Reason, again.Notes)
			}
			MustWrite(t, dir, test.flag, "")
			r := ask(t, test.command, dir, nil, &first)
			if r.Verdict != pawl.VerdictPass || r.Passed != first.Passed+first.Failed || r.Failed != 0 {
				t.Errorf("%s: %s (%d passed) %q\n%s", r.Verdict, r.Reason, r.Passed, r.Notes, r.Output)
			}
			same(t, "flaky", r.Flaky, test.failing...)
			runs, err := os.ReadFile(dir + "/runs")
			if err != nil {
				t.Fatal(err)
			}
			if test.whole != "" {
				if len(r.Rerun) > 0 || r.Notes[0] != test.whole || string(runs) != "xxx" {
					t.Errorf("%q %q, %s runs", r.Rerun, r.Notes, runs)
				}
				return
			}
			same(t, "run again", r.Rerun, test.failing...)
			// Node runs all of a group if one of it is selected. Their results are those of before.
			if test.name != "node" && string(runs) != "x" || !strings.Contains(r.Reason, "before ran again") {
				t.Errorf("the other test ran %d times: %s %q", len(runs), r.Reason, r.Notes)
			}
		})
	}
}

// selecting is a room in which some results come when tests are selected, others when all run.
type selecting struct {
	player
	some, all pawl.CommandResult
	lines     []string
}

func (p *selecting) Run(_ context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	p.lines = append(p.lines, cmd.Shell)
	res := p.all
	if strings.Contains(cmd.Shell, "-run=") {
		res = p.some
	}
	res.Output = res.Stdout
	return res, nil
}

// What selected tests say counts only if it is whole; else all run again, as without a selection.
func TestSelectionIsChecked(t *testing.T) {
	judge := func(t *testing.T, some, all pawl.CommandResult, doubt *pawl.GateReport) (pawl.GateReport, []string) {
		room := &selecting{player: player{tree: t.TempDir()}, some: some, all: all}
		r, err := New().Judge(t.Context(), pawl.GateRequest{
			Spec: pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}, Room: room, Doubt: doubt, Timeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r, room.lines
	}
	first, _ := judge(t, play(0, ""), goResult("-TestA", "+TestB", "~TestC"), nil)
	selected := "go test -json '-run=^(TestA)$' ./..."
	t.Run("Whole", func(t *testing.T) {
		r, lines := judge(t, goResult("+TestA", "+TestZ"), goResult(), &first)
		same(t, "commands", lines, selected)
		// What was not to run again is not counted.
		want(t, r, pawl.VerdictPass, "2 tests pass (1 skipped); flaky, with another result before: TestA; only the 1 test that failed before ran again")
		same(t, "tests", testNames(r), "shop.TestA pass", "shop.TestB pass", "shop.TestC skip")
	})
	cut := goResult("-TestA", "+TestB")
	cut.Stdout = []byte(strings.Replace(string(cut.Stdout), "    shop_test.go:9: ", "panic: ", 1))
	panicked, _ := judge(t, play(0, ""), cut, nil)
	if panicked.Complete {
		t.Error("a report of tests that panicked is complete")
	}
	late := goResult("+TestA")
	late.TimedOut = true
	for name, test := range map[string]struct {
		some  pawl.CommandResult
		doubt *pawl.GateReport
		note  string
		lines int
	}{
		"NotThere": {goResult("+TestB"), &first, "all tests were run again: of the 1 test alone that failed, shop.TestA has no result", 2},
		"Skipped":  {goResult("~TestA"), &first, "all tests were run again: of the 1 test alone that failed, shop.TestA has no result", 2},
		"ExitCode": {play(1, goJSON("+TestA")), &first, "all tests were run again: of the 1 test alone that failed, all pass and the command fails (exit 1)", 2},
		"TimedOut": {late, &first, "all tests were run again: of the 1 test alone that failed, the results are not whole", 2},
		"NoEvents": {play(0, "ok  \tshop\t0.1s\n"), &first, "all tests were run again: of the 1 test alone that failed, shop.TestA has no result", 2},
		"Panicked": {goResult("+TestA"), &panicked, "all tests were run again: some may not have run before", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, lines := judge(t, test.some, goResult("+TestA", "-TestB", "+TestC"), test.doubt)
			same(t, "notes", r.Notes, test.note)
			if len(lines) != test.lines || lines[len(lines)-1] != "go test -json ./..." || len(r.Rerun) > 0 {
				t.Errorf("it ran %q, again %q", lines, r.Rerun)
			}
			want(t, r, pawl.VerdictPass, "3 tests pass; flaky, with another result before: TestA, TestB")
		})
	}
	t.Run("TextBefore", func(t *testing.T) {
		// A report that was read from what was printed is compared with one of that kind.
		old := first
		old.Channel, old.Complete = "", false
		_, lines := judge(t, play(0, ""), goResult("+TestA"), &old)
		same(t, "commands", lines, "go test ./...")
	})
}

// Listing the tests has the time that is left, and that it fails is a note.
func TestListFails(t *testing.T) {
	for name, test := range map[string]struct {
		list pawl.CommandResult
		note string
	}{
		"ExitCode": {play(2, ""), "listing them failed (exit 2)"},
		"TimedOut": {pawl.CommandResult{TimedOut: true, ExitCode: -1}, "listing them timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			room := &listing{player: player{tree: t.TempDir(), result: goResult("+TestA")}, list: test.list}
			r, err := New().Judge(t.Context(), pawl.GateRequest{
				Spec: pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "go test"}, Room: room, List: true, Timeout: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			want(t, r, pawl.VerdictPass, "1 test passes")
			same(t, "notes", r.Notes, "the tests are not compared with the runner's list: "+test.note)
			if room.command.Timeout > time.Minute || room.command.Timeout <= 0 {
				t.Errorf("it may take %s", room.command.Timeout)
			}
		})
	}
}

// listing is a room in which the tests' list is another result.
type listing struct {
	player
	list pawl.CommandResult
}

func (p *listing) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	if strings.Contains(cmd.Shell, "-list=.") {
		p.command = cmd
		return p.list, nil
	}
	return p.player.Run(ctx, cmd)
}

// Where a room has cut the events, none of those that are missing is taken for a lost test, and
// what people read is made of what there is.
func TestCutEvents(t *testing.T) {
	judge := func(res pawl.CommandResult, base *pawl.GateReport) pawl.GateReport {
		r, err := New().Judge(t.Context(), pawl.GateRequest{
			Spec: pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "go test"}, Room: &player{tree: t.TempDir(), result: res}, Base: base, Timeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	base := judge(goResult("+TestA", "+TestB"), nil)
	long := goResult("+TestA")
	long.Stdout = append(long.Stdout, []byte(strings.Repeat(strings.Repeat(" ", 1023)+"\n", maxStdout>>10))...)
	long.Dropped, long.Output = 1, []byte("go: a warning\n{\"Action\":\"output\",\"Pack\n")
	r := judge(long, &base)
	if r.Verdict != pawl.VerdictPass || len(r.Lost) > 0 || r.Complete || !strings.HasPrefix(r.Output, "go: a warning\n") || strings.Contains(r.Output, "Action") || len(r.Output) > pawl.DefaultOutputLimit+100 {
		t.Errorf("%s: %s, lost %v, complete %v, %d bytes: %.100q", r.Verdict, r.Reason, r.Lost, r.Complete, len(r.Output), r.Output)
	}
}
