package suite

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pawl"
)

func must(t *testing.T, command string, tree ...string) *Suite {
	t.Helper()
	s, err := Read(files(tree...), command)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestListCommand(t *testing.T) {
	for command, want := range map[string]string{
		"go test ./...": "go test -json -list=. ./...",
		"cd x && A=1 go test -tags e2e -race -v -run 'A' ./a -args -x": "cd x && A=1 go test -json -list=. -tags e2e -race ./a -args -x",
		"go test -count=1 -run=A -test.v ./...":                        "go test -json -list=. -count=1 ./...",
		"pytest -qq tests -k 'a b' -- x":                               "pytest tests -k 'a b' --collect-only --verbosity=-1 -- x",
		"cargo test --workspace":                                       "cargo test --workspace -- --list",
		"cargo test -- --nocapture":                                    "cargo test -- --nocapture --list",
		"npx vitest run --dir src":                                     "npx vitest list --dir src",
		"vitest --run":                                                 "vitest list",
		"jest":                                                         "! jest lists files, not tests",
		"node --test":                                                  "! node --test has no list of its tests",
		"python -m unittest":                                           "! unittest has no list of its tests",
		"cargo nextest run":                                            "! cargo nextest has no list of its tests",
		"go test -c ./...":                                             "! it is run with -c",
		"go test -exec x ./...":                                        "! it is run with -exec",
	} {
		got, err := must(t, command).List()
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", command, got, want)
		}
	}
	s := must(t, "npm test", "package.json", scripts("test", "vitest run", "pretest", "build"))
	if _, err := s.List(); err == nil || err.Error() != "npm test runs the script pretest too" {
		t.Errorf("%v", err)
	}
	s = must(t, "make test", "Makefile", "test: build\n\tgo test ./...\n")
	if _, err := s.List(); err == nil || err.Error() != "make test runs build too" {
		t.Errorf("%v", err)
	}
}

func goList(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(`{"Action":"output","Package":"shop","Output":"` + l + `\n"}` + "\n")
	}
	return b.String()
}

func TestListed(t *testing.T) {
	for _, test := range []struct{ command, output, want string }{
		{"go test ./...", goList("TestA", "FuzzB", "ExampleC_d", "BenchmarkE", `ok  \tshop\t0.1s`, "Test words", "TestA") + "TestPlain\n", "shop.TestA shop.FuzzB shop.ExampleC_d"},
		{"go test -run 'A|B/x' -skip=B ./...", goList("TestA", "TestB", "TestC"), "shop.TestA"},
		{"go test ./...", `{"Action":"output","Package":"shop","Test":"TestA","Output":"TestB\n"}`, ""},
		{"pytest", "tests/test_a.py::test_p[a/b::c d]\ntests/test_a.py::TestX::test_m\n  <Function x.py::y>\n\n2 tests collected in 0.01s\n", "tests/test_a.py::test_p[a/b::c d] tests/test_a.py::TestX::test_m"},
		{"cargo test", "tests::adds: test\nbench::x: benchmark\nsrc/lib.rs - add (line 3): test\n\n2 tests, 1 benchmarks\n", "tests::adds src/lib.rs - add"},
		{"vitest", "src/a.test.ts > sum > adds\nError: x > y\n", "src/a.test.ts > sum > adds"},
	} {
		got, err := must(t, test.command).Listed([]byte(test.output))
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v %q\nwant %s", test.command, err, got, test.want)
		}
	}
	if _, err := must(t, "go test -run $X ./...").Listed(nil); err == nil {
		t.Error("what $X selects is known")
	}
}

func TestCompare(t *testing.T) {
	results := func(names ...string) []pawl.TestResult {
		var all []pawl.TestResult
		for _, n := range names {
			all = append(all, pawl.TestResult{Name: strings.TrimPrefix(n, "~"), Status: map[bool]pawl.TestStatus{true: pawl.TestSkip, false: pawl.TestPass}[n[0] == '~']})
		}
		return all
	}
	for _, test := range []struct {
		command              string
		listed               []string
		reported             []pawl.TestResult
		unlisted, unreported string
	}{
		{"go test", []string{"shop.TestA", "shop.TestB", "shop.TestC"}, results("shop.TestA", "shop.TestA/x/y", "~shop.TestB", "shop.TestForged", "shop.TestForged/x", "shop [build failed]", "shop"), "shop.TestForged", "shop.TestC"},
		{"pytest", []string{"tests/test_a.py::test_p[1]", "tests/test_a.py::test_p[2]", "tests/test_a.py::TestX::test_m", "b.py::test_gone"}, results("tests/test_a.py::test_p[2]", "tests.test_a.TestX.test_m", "c.py::test_new[x]", "~d.py::test_old"), "c.py::test_new", "b.py::test_gone"},
		{"cargo test", []string{"tests::a", "src/lib.rs - add"}, results("tests::a", "tests::a #2", "src/lib.rs - add", "tests::b"), "tests::b", ""},
	} {
		unlisted, unreported := must(t, test.command).Compare(test.listed, test.reported)
		if strings.Join(unlisted, " ") != test.unlisted || strings.Join(unreported, " ") != test.unreported {
			t.Errorf("%s: %q %q", test.command, unlisted, unreported)
		}
	}
}

func TestOnly(t *testing.T) {
	for _, test := range []struct {
		command string
		names   []string
		want    string
	}{
		{"go test -race -run X ./... -args a", []string{"shop.TestB/it's_$(x)", "a.b/c.TestA", "shop.TestB"}, `go test '-run=^(TestA|TestB)$' -race ./... -args a`},
		{"go test", []string{"shop.BenchmarkX"}, `! "shop.BenchmarkX" is not the name of a test function`},
		{"go test", []string{"shop"}, `! "shop" is not the name of a test function`},
		{"go test -failfast", []string{"shop.TestA"}, "! go test ends at the first failure"},
		{"pytest -q tests -k x", []string{"a.py::test_p[it's $(x)]"}, `pytest -q -k x --rootdir=. 'a.py::test_p[it'\''s $(x)]'`},
		{"pytest -x", []string{"a.py::test"}, "! pytest ends at the first failure"},
		{"pytest --myopt tests", []string{"a.py::test"}, "! whether tests belongs to --myopt is not known"},
		{"pytest", []string{"@a.py::test"}, `! "@a.py::test" is no node id`},
		{"pytest", []string{"a.TestX.test"}, `! "a.TestX.test" is no node id`},
		{"python3 -m unittest discover -s tests", []string{"test_a.A.test_x"}, "python3 -m unittest discover -s tests -v -k '*test_a.A.test_x'"},
		{"cargo test --no-fail-fast", []string{"tests::a #2", "tests::a"}, "cargo test --no-fail-fast -- --exact tests::a"},
		{"cargo test", []string{"tests::a"}, "! cargo test ends at the first failure"},
		{"cargo test --no-fail-fast", []string{"src/lib.rs - add"}, `! "src/lib.rs - add" is not the name of a test function`},
		{"node --test a.js", []string{"sum/it's (a) #2"}, `node --test '--test-name-pattern=/^it'\''s \(a\)$/' '--test-name-pattern=/^sum$/' '--test-name-pattern=/^sum\/it'\''s \(a\)$/' a.js`},
		{"jest --ci", []string{"a.js > sum › adds 1 > 0"}, `jest --ci -t '^(sum adds 1 > 0)$'`},
		{"vitest run", []string{"a.js > sum > adds"}, `vitest run -t '^(sum adds)$'`},
		{"mocha x.js", []string{"sum > adds", "b"}, `mocha x.js -g '^(b|sum adds)$'`},
		{"jest -t x", []string{"a.js > b"}, "! it selects tests itself"},
		{"gotestsum", []string{"a.TestB"}, "! gotestsum cannot be told which tests to run"},
		{"go test", nil, "! 0 tests are to be selected: want 1 to 200, with names of at most 60000 bytes together"},
		{"go test", []string{"a\nb.TestC"}, `! the name "a\nb.TestC" cannot be given to a program`},
		{"go test", []string{"shop [build failed]"}, "! shop [build failed] is no test"},
	} {
		s, err := must(t, test.command).Only(test.names)
		var got string
		if err != nil {
			got = "! " + err.Error()
		} else {
			got = s.Line()
		}
		if got != test.want {
			t.Errorf("%s: %s\nwant %s", test.command, got, test.want)
		}
	}
	for _, tree := range [][]string{{"jest", "jest.config.js", "module.exports = {bail: 1}"}, {"pytest", "pytest.ini", "[pytest]\naddopts = -q -x\n"}, {"pytest", "pyproject.toml", "addopts = '--maxfail=1'"}, {"npx mocha", ".mocharc.yml", "bail: true"}} {
		if _, err := must(t, tree[0], tree[1:]...).Only([]string{"a.py::b > c"}); err == nil || !strings.Contains(err.Error(), "ends at the first failure") {
			t.Errorf("%v: %v", tree, err)
		}
	}
}

func TestChannel(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{"go test -v ./...", "go test -json ./..."},
		{"go test -json ./...", "go test -json ./..."},
		{"go test -json -v ./...", "go test -json ./..."},
		{"go test ./... 2>&1", "! its streams are one"},
		{"go test -list . ./...", "! it lists tests"},
		{"pytest --junitxml=x", "! it has options of its own for JUnit"},
		{"PYTEST_ADDOPTS=-q pytest", "! it has options of its own for JUnit"},
		{"node --test --test-reporter=dot", "! it has a reporter of its own"},
		{"node --test-reporter=dot --test", "! it has a reporter of its own"},
		{"jest --json", "! it has options of its own for results"},
		{"vitest --reporter=dot", "! it has options of its own for results"},
		{"cargo test", "! cargo test tells its results in no other way than by printing them"},
		{"python -m unittest", "! unittest tells its results in no other way than by printing them"},
		{"mocha", "! mocha tells its results in no other way than by printing them"},
		{"gotestsum ./...", "rm -rf \"${TMPDIR:-/tmp}/pawl-results\"\ngotestsum \"--jsonfile=${TMPDIR:-/tmp}/pawl-results\" ./..."},
		{"jest -- a", "rm -rf \"${TMPDIR:-/tmp}/pawl-results\"\njest --json \"--outputFile=${TMPDIR:-/tmp}/pawl-results\" -- a"},
	} {
		c, err := must(t, test.command).Channel()
		got := c.Command
		if err != nil {
			got = "! " + err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s\nwant %s", test.command, got, test.want)
		}
	}
	s := must(t, "vitest run", "vite.config.ts", "export default {test: {reporters: ['dot']}}")
	if _, err := s.Channel(); err == nil || err.Error() != "vite.config.ts says how it reports" {
		t.Errorf("%v", err)
	}
}

// Whatever a name is, the shell gives it to the program as it is and runs nothing of it.
func FuzzOnly(f *testing.F) {
	for _, name := range []string{"a.py::test[it's $(touch x)]", "-k", "a\\'b", "`x`", "a;b && c", "'", "\"$HOME\"", "~", "*", "a.py::é\u202e"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, command := range []string{"go test", "pytest", "python3 -m unittest", "cargo test --no-fail-fast", "node --test", "jest", "mocha"} {
			s, err := must(t, command).Only([]string{name})
			if err != nil {
				continue
			}
			line := s.Line()
			commands, err := split(line)
			if err != nil || len(commands) != 1 {
				t.Fatalf("%q: %v %d", line, err, len(commands))
			}
			for _, w := range commands[0].words {
				if !w.known {
					t.Fatalf("%q has %q, which the shell replaces", line, w.raw)
				}
			}
			if strings.ContainsRune(name, 0) {
				t.Fatalf("%q with a zero byte", line)
			}
			out, err := exec.Command("sh", "-c", "show() { printf '%s\\0' \"$@\"; }; show "+line).Output()
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
			want := make([]string, len(s.words))
			for i, w := range s.words {
				want[i] = w.value
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q gives %q\nwant %q", line, got, want)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, command := range []string{"cd x && A=1 go test './a b' 2>&1", "npm test -- -x", "make -C a test", "sh -c 'pytest -q'", "a\\\nb", "\"a$b\\\"\" c"} {
		f.Add(command, "test:\n\tgo test $(X)\nX = ./... $$A\n", `{"scripts":{"test":"npm run test","x":"jest"}}`)
	}
	f.Fuzz(func(t *testing.T, command, makefile, manifest string) {
		s, err := Read(files("Makefile", makefile, "package.json", manifest, "a/Makefile", makefile), command)
		if err != nil {
			return
		}
		if s.Line() != command {
			t.Fatalf("%q became %q", command, s.Line())
		}
		_, _ = s.Channel()
		if line, err := s.List(); err == nil && len(line) > 20*maxLine {
			t.Fatalf("%d bytes", len(line))
		}
	})
}

func FuzzListed(f *testing.F) {
	f.Add(goList("TestA"))
	f.Add("a.py::b[c]\ntests::x: test\na.ts > b\n")
	f.Fuzz(func(t *testing.T, output string) {
		for _, command := range []string{"go test", "pytest", "cargo test", "vitest"} {
			s := must(t, command)
			names, err := s.Listed([]byte(output))
			if err != nil || len(names) > maxListed {
				t.Fatalf("%v, %d names", err, len(names))
			}
			var tests []pawl.TestResult
			for _, name := range names {
				if strings.ContainsAny(name, "\n\x1b") || len(name) > 2*maxListName {
					t.Fatalf("the name %q", name)
				}
				tests = append(tests, pawl.TestResult{Name: name, Status: pawl.TestPass})
			}
			if unlisted, unreported := s.Compare(names, tests); len(unlisted)+len(unreported) > 0 {
				t.Fatalf("%q: %q %q", names, unlisted, unreported)
			}
		}
	})
}
