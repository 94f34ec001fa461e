package command

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl"
)

// A program that the machine lacks is told apart from what the repository lacks as yet: its
// own scripts, manifests and tests, in the words of the tools that miss them. F-25
func TestWhatIsMissing(t *testing.T) {
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "there.sh"), []byte("#!/nowhere/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tree, "ruff"), 0o700); err != nil {
		t.Fatal(err)
	}
	const notInstalled = " is not installed (exit 127)"
	for _, row := range []struct {
		command, output string
		code            int
		program, lacks  string
		reason          string
	}{
		{"golangci-lint run", "sh: 1: golangci-lint: not found\n", 127, "golangci-lint", "", "golangci-lint" + notInstalled},
		{"/opt/tools/scan .", "sh: 1: /opt/tools/scan: not found\n", 127, "/opt/tools/scan", "", "/opt/tools/scan" + notInstalled},
		{"env nosuch", "env: ‘nosuch’: No such file or directory\n", 127, "nosuch", "", "nosuch" + notInstalled},
		{"timeout 5 nosuch", "timeout: failed to run command ‘nosuch’: No such file or directory\n", 127, "nosuch", "", "nosuch" + notInstalled},
		{"npm test", "sh: 1: jest: not found\n", 127, "jest", "", "jest" + notInstalled + unprepared},
		{"./scripts/test.sh", "./scripts/test.sh: 3: pytest: not found\n", 127, "pytest", "", "pytest" + notInstalled},
		{"ruff check .", "sh: 1: ruff: not found\n", 127, "ruff", "", "ruff" + notInstalled}, // a folder is no program
		{"../tool", "sh: 1: ../tool: not found\n", 127, "../tool", "", "../tool" + notInstalled},

		{"./scripts/test.sh", "sh: 1: ./scripts/test.sh: not found\n", 127, "", "./scripts/test.sh", "the repository has no ./scripts/test.sh (exit 127)"},
		{"bash test.sh", "bash: test.sh: No such file or directory\n", 127, "", "test.sh", "the repository has no test.sh (exit 127)"},
		{"bash -e test.sh", "bash: test.sh: No such file or directory\n", 127, "", "test.sh", "the repository has no test.sh (exit 127)"},
		{"x", "sh: 1: " + tree + "/bin/x: not found\n", 127, "", tree + "/bin/x", "the repository has no " + tree + "/bin/x (exit 127)"},
		{"there.sh", "sh: 1: there.sh: not found\n", 127, "", "", "there.sh could not be started (exit 127): what its first line names may not be installed"},
		{"./there.sh", "sh: 1: ./there.sh: not found\n", 127, "", "", "./there.sh could not be started (exit 127): what its first line names may not be installed"},

		{"cargo nextest run", "error: no such command: `nextest`\n\nhelp: a command with a similar name exists: `test`\n", 101, "cargo-nextest", "", "cargo-nextest is not installed (exit 101)"},
		{"cargo xtask test", "error: no such command: `xtask`\n", 101, "", "", ""},
		{"cargo fmt --check", "error: 'cargo-fmt' is not installed for the toolchain 'stable-x86_64-unknown-linux-gnu'.\n", 1, "cargo-fmt", "", "cargo-fmt is not installed (exit 1)"},
		{"cargo test", "error: rustup could not choose a version of cargo to run, because one wasn't specified explicitly, and no default is configured.\n", 1, "cargo of rustup", "", "cargo of rustup is not installed (exit 1)"},
		{"python3 -m pytest", "/usr/bin/python3: No module named pytest\n", 1, "pytest of python3", "", "pytest of python3 is not installed (exit 1)"},
		{".venv/bin/python -m pytest", "/work/.venv/bin/python: No module named pytest\n", 1, "", "", ""},
		{"python3 -m shop", "/usr/bin/python3: No module named shop\n", 1, "", "", ""},

		{"make a", "clang-tidy .\nmake: clang-tidy: No such file or directory\nmake: *** [Makefile:2: a] Error 127\n", 2, "clang-tidy", "", "clang-tidy" + notInstalled},
		{"make d", "/bin/sh: 1: ruff: not found\nmake[1]: *** [Makefile:6: c] Error 127\nmake[1]: Leaving directory '/work'\nmake: *** [Makefile:8: d] Error 2\n", 2, "ruff", "", "ruff" + notInstalled},
		{"make a", "make: ./gen.sh: No such file or directory\nmake: *** [Makefile:2: a] Error 127\n", 2, "", "./gen.sh", "the repository has no ./gen.sh (exit 127)"},
		{"make -k", "sh: 1: ruff: not found\nmake: *** [Makefile:6: c] Error 127\nmake: *** [Makefile:7: b] Error 1\n", 2, "", "", ""},
		{"make -i", "sh: 1: ruff: not found\nmake: [Makefile:6: c] Error 127 (ignored)\nmake: *** [Makefile:7: b] Error 1\n", 2, "", "", ""},
		{"make test", "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx\t0.1s\nmake: *** [Makefile:7: b] Error 127\n", 2, "", "", ""},

		{"sh scripts/x.sh", "sh: 0: cannot open scripts/x.sh: No such file\n", 2, "", "scripts/x.sh", ""},
		{"make test", "make: *** No rule to make target 'test'.  Stop.\n", 2, "", "the make target test", "exit 2: make: *** No rule to make target 'test'.  Stop."},
		{"make test", "make: *** No rule to make target 'a.c', needed by 'a.o'.  Stop.\n", 2, "", "", ""},
		{"make", "make: *** No targets specified and no makefile found.  Stop.\n", 2, "", "a makefile", ""},
		{"npm test", "npm error Missing script: \"test\"\n", 1, "", "the script test in package.json", ""},
		{"npm test", "npm error code ENOENT\nnpm error syscall open\nnpm error path /work/package.json\n", 254, "", "package.json", ""},
		{"npm test", "Error: no test specified\n", 1, "", "the script test in package.json", ""},
		{"yarn lint", "error Command \"lint\" not found.\n", 1, "", "the script lint in package.json", ""},
		{"go vet ./...", "go: go.mod file not found in current directory or any parent directory; see 'go help modules'\n", 1, "", "go.mod", ""},
		{"cargo test", "error: could not find `Cargo.toml` in `/work` or any parent directory\n", 101, "", "Cargo.toml", ""},
		{"python3 x.py", "python3: can't open file '/work/x.py': [Errno 2] No such file or directory\n", 2, "", "x.py", ""},
		{"pytest", "============ no tests ran in 0.01s ============\n", 5, "", "tests", ""},
		{"npx jest", "No tests found, exiting with code 1\n", 1, "", "tests", ""},
		{"check", "3 problems\n", 1, "", "", ""},
	} {
		s := spec(pawl.GateLint)
		s.Command = row.command
		p := &player{tree: tree, result: play(row.code, row.output)}
		r, err := New().Judge(t.Context(), pawl.GateRequest{Spec: s, Room: p, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != pawl.VerdictFail || r.Missing != row.program || r.Lacks != row.lacks || row.reason != "" && r.Reason != row.reason {
			t.Errorf("%s says %q: got %s: %s\nmissing %q, lacks %q\nwant %s\nmissing %q, lacks %q",
				row.command, row.output, r.Verdict, r.Reason, r.Missing, r.Lacks, row.reason, row.program, row.lacks)
		}
	}
}

// A test gate that runs no test lacks tests; one that is cut short says nothing of the kind.
func TestNoTestsYet(t *testing.T) {
	if r := MustJudge(t, spec(pawl.GateTests), play(0, "1..0\n"), nil); r.Lacks != "tests" {
		t.Errorf("no test ran, and the report says that %q is lacking", r.Lacks)
	}
	cut := play(-1, "npm error Missing script: \"test\"\n")
	cut.TimedOut = true
	if r := MustJudge(t, spec(pawl.GateTests), cut, nil); r.Lacks != "" {
		t.Errorf("a command that was cut short lacks %q", r.Lacks)
	}
}
