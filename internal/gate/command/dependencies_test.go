package command

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// unprepared ends the reason of a gate that lacks dependencies where no prepare is set.
const unprepared = "; dependencies seem to be missing: no command of prepare has installed them (pawl doctor names some)"

// What tools print without their dependencies, and what looks like it.
var withoutDependencies = []struct {
	name   string
	gate   string // its command
	code   int
	output string
	lacks  bool
}{
	{"Node", "npm run test", 1, "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module 'left-pad'\nRequire stack:\n- /work/a.js", true},
	{"NodePackage", "node --test", 1, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'express' imported from /work/server.js", true},
	{"NodeScope", "node --test", 1, "Error: Cannot find module '@corp/lib'", true},
	{"NodeBin", "npm run test", 1, "Error: Cannot find module '/work/node_modules/jest/bin/jest.js'", true},
	{"NodeOwnFile", "node --test", 1, "Error: Cannot find module './colour.js'\nRequire stack:\n- /work/a.js", false},
	{"NodeOwnPath", "node --test", 1, "Error: Cannot find module '/work/src/colour.js'", false},
	{"TypeScript", "tsc", 2, "src/a.ts(1,19): error TS2307: Cannot find module 'react' or its corresponding type declarations.", true},
	{"ScriptWithoutJest", "npm run test -- --verbose", 127, "> jest --verbose\n\nsh: 1: jest: not found", true},
	{"NoNpm", "npm run test", 127, "sh: 1: npm: not found", false},
	{"Venv", ".venv/bin/python -m pytest", 127, "/bin/sh: 1: .venv/bin/python: not found", true},
	{"NoLinter", "golangci-lint run ./...", 127, "sh: 1: golangci-lint: not found", false},
	{"Python", "python3 -m unittest -v", 1, "ImportError: Failed to import test module: test_a\nModuleNotFoundError: No module named 'requests'", true},
	{"PythonTool", ".venv/bin/python -m pytest", 1, "/work/.venv/bin/python: No module named pytest", true},
	{"PythonToolOfTheMachine", "python3 -m pytest", 1, "/usr/bin/python3: No module named pytest", false},
	{"PythonOwnModule", "python3 -m unittest -v", 1, "ModuleNotFoundError: No module named 'shop.basket'", false},
	{"Go", "go vet ./...", 1, "a.go:3:8: no required module provides package rsc.io/quote; to add it:\n\tgo get rsc.io/quote", true},
	{"GoSum", "go vet ./...", 1, "a.go:3:8: missing go.sum entry for module providing package rsc.io/quote", true},
	{"GoOffline", "go vet ./...", 1, "go: rsc.io/quote@v1.5.2: module lookup disabled by GOPROXY=off", true},
	{"Rust", "cargo test", 101, "error: failed to get `itoa` as a dependency of package `x v0.1.0 (/work)`\n\nCaused by:\n  download of config.json failed", true},
	{"RustCrate", "cargo test", 101, "error[E0463]: can't find crate for `itoa`", true},
	{"RustOwnModule", "cargo test", 101, "error[E0583]: file not found for module `basket`", false},
	{"Ruby", "bundle exec rspec", 1, "Could not find rspec-3.13.0 in locally installed gems\nRun `bundle install` to install missing gems.", true},
	{"Maven", "mvn --batch-mode test", 1, "[ERROR] Plugin org.apache.maven.plugins:maven-resources-plugin:2.6 or one of its dependencies could not be resolved: Cannot access central", true},
	{"Gradle", "gradle test", 1, "> Could not resolve all files for configuration ':testRuntimeClasspath'.", true},
	{"PHP", "vendor/bin/phpunit", 255, "PHP Fatal error:  Uncaught Error: Failed opening required '/work/vendor/autoload.php' (include_path='.')", true},
	{"DotNet", "dotnet test --no-restore", 1, "error NETSDK1004: Assets file '/work/obj/project.assets.json' not found. Run a NuGet package restore", true},
	{"Elixir", "mix test", 1, "Unchecked dependencies for environment test:\n* jason (Hex package)\n  the dependency is not available, run \"mix deps.get\"", true},
	{"AFailingTest", "go vet ./...", 1, "want 3, got 4: the basket is missing a dependency", false},
}

// F-22: a gate that lacks its dependencies says so and names prepare; the error, by
// which attempts are compared, is the same with and without.
func TestMissingDependenciesAreNamed(t *testing.T) {
	for _, c := range withoutDependencies {
		t.Run(c.name, func(t *testing.T) {
			tree := t.TempDir()
			MustWrite(t, tree, "shop/__init__.py", "")
			judge := func(prepared bool) pawl.GateReport {
				s := pawl.GateSpec{Name: "tests", Kind: pawl.GateLint, Command: c.gate}
				r, err := New().Judge(t.Context(), pawl.GateRequest{Spec: s, Room: &player{tree: tree, result: play(c.code, c.output)}, Prepared: prepared})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			without, with := judge(false), judge(true)
			const useless = "; dependencies seem to be missing, though the commands of prepare ran"
			if got := strings.HasSuffix(without.Reason, unprepared); got != c.lacks {
				t.Errorf("without prepare: %s", without.Reason)
			}
			if got := strings.HasSuffix(with.Reason, useless); got != c.lacks {
				t.Errorf("with prepare: %s", with.Reason)
			}
			if strings.TrimSuffix(without.Reason, unprepared) != strings.TrimSuffix(with.Reason, useless) {
				t.Errorf("the reasons differ in more than the note:\n%s\n%s", without.Reason, with.Reason)
			}
			if without.Verdict != pawl.VerdictFail || without.Error != with.Error || strings.Contains(without.Error, "seem to be missing") {
				t.Errorf("%s with the errors %q and %q", without.Verdict, without.Error, with.Error)
			}
		})
	}
}

// What passes says nothing of dependencies, whatever it prints; an optional gate
// whose program is missing is skipped as before.
func TestNoNoteWithoutAFailure(t *testing.T) {
	r := MustJudge(t, spec(pawl.GateLint), play(0, "warning: Cannot find module 'x'\n"), nil)
	want(t, r, pawl.VerdictPass, "exit 0")
	s := spec(pawl.GateLint)
	s.Optional, s.Command = true, ".venv/bin/mypy ."
	want(t, MustJudge(t, s, play(127, "sh: 1: .venv/bin/mypy: not found"), nil), pawl.VerdictSkip, "the repository has no .venv/bin/mypy (exit 127)")
}

// A reason that is cut keeps the note.
func TestNoteSurvivesTheLimit(t *testing.T) {
	var tests []string
	for range 5 {
		tests = append(tests, "-Test"+strings.Repeat("x", 400)+string(rune('a'+len(tests))))
	}
	res := goResult(tests...)
	res.Output = append(res.Stdout, "missing go.sum entry\n"...)
	if r := MustJudge(t, spec(pawl.GateTests), res, nil); !strings.HasSuffix(r.Reason, "(pawl doctor names some)") {
		t.Errorf("%s", r.Reason)
	}
}

// The same of real tools: what they print changes with their versions. F-22
func TestRealToolsWithoutDependencies(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts compilers")
	}
	for _, c := range []struct {
		program, command string
		files            []string // names and contents in turn
	}{
		{"node", "node a.js", []string{"a.js", "require('left-pad')\n"}},
		{"node", "node a.mjs", []string{"a.mjs", "import 'left-pad'\n"}},
		{"npm", "npm run test", []string{"package.json", `{"scripts": {"test": "jest --verbose"}}`}},
		{"python3", "python3 -m unittest -v test_a", []string{"test_a.py", "import not_installed_here\n"}},
		{"python3", ".venv/bin/python -m pytest", nil},
		{"go", "GOFLAGS=-mod=readonly go vet ./...", []string{"go.mod", "module x\n\ngo 1.26\n", "a.go", "package x\n\nimport _ \"rsc.io/quote\"\n"}},
		{"go", "GOFLAGS=-mod=readonly go vet ./...", []string{"go.mod", "module x\n\ngo 1.26\n\nrequire rsc.io/quote v1.5.2\n", "a.go", "package x\n\nimport _ \"rsc.io/quote\"\n"}},
		{"cargo", "cargo test --offline", []string{"Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n[dependencies]\nitoa = \"1\"\n", "src/lib.rs", ""}},
		{"mvn", "mvn --offline --batch-mode -Dmaven.repo.local=.m2 test", []string{"pom.xml",
			"<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version></project>"}},
	} {
		t.Run(c.command, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skipf("%s is not installed", c.program)
			}
			tree := t.TempDir()
			for i := 0; i < len(c.files); i += 2 {
				MustWrite(t, tree, c.files[i], c.files[i+1])
			}
			// The command's home is another one, in which rustup finds no toolchain.
			home, err := os.UserHomeDir()
			if err != nil {
				t.Fatal(err)
			}
			line := "export RUSTUP_HOME='" + cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(home, ".rustup")) + "'; " + c.command
			r := MustRun(t, pawl.GateSpec{Name: "lint", Kind: pawl.GateLint, Command: line}, tree, nil)
			if r.Verdict != pawl.VerdictFail || !strings.HasSuffix(r.Reason, "(pawl doctor names some)") {
				t.Errorf("%s: %s\n%s", r.Verdict, r.Reason, r.Output)
			}
		})
	}
}

// A gate that looks for a network says so where dependencies are not what is missing.
func TestNoNetworkIsNamed(t *testing.T) {
	for _, c := range []struct {
		output   string
		prepared bool
		want     string
	}{
		{"npm error code EAI_AGAIN\nnpm error request to https://registry.npmjs.org/-/npm/v1/security failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org\n", true, "; it asked for registry.npmjs.org, and gates have no network"},
		{"npm error request failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org\n", false, unprepared},
		{"curl: (6) Could not resolve host: api.corp.example\n", false, "; it asked for api.corp.example, and gates have no network"},
		{"Get \"https://a.example/\": dial tcp: lookup a.example on 127.0.0.53:53: no such host\n", true, "; it asked for a.example, and gates have no network"},
		{"want 3, got 4\n", true, "want 3, got 4"},
	} {
		s := pawl.GateSpec{Name: "lint", Kind: pawl.GateLint, Command: "check"}
		r, err := New().Judge(t.Context(), pawl.GateRequest{Spec: s, Room: &player{tree: t.TempDir(), result: play(1, c.output)}, Prepared: c.prepared})
		if err != nil || !strings.HasSuffix(r.Reason, c.want) {
			t.Errorf("%q: %s, %v", c.output, r.Reason, err)
		}
	}
}
