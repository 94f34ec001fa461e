package suite

import (
	"strings"
	"testing"
	"testing/fstest"
)

func files(list ...string) fstest.MapFS {
	tree := fstest.MapFS{}
	for i := 0; i < len(list); i += 2 {
		tree[list[i]] = &fstest.MapFile{Data: []byte(list[i+1])}
	}
	return tree
}

func scripts(list ...string) string {
	var b strings.Builder
	for i := 0; i < len(list); i += 2 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"` + list[i] + `":"` + list[i+1] + `"`)
	}
	return `{"scripts":{` + b.String() + `}}`
}

func TestRead(t *testing.T) {
	bin := `PATH="$PWD/node_modules/.bin:$PATH"; export PATH; `
	for _, test := range []struct {
		command string
		tree    fstest.MapFS
		runner  Runner
		line    string // with the argument +; empty = the command and that
	}{
		{"go test ./...", nil, GoTest, "go test + ./..."},
		{"cd web && A=1 go -C x test -race './a b'", nil, GoTest, "cd web && A=1 go -C x test + -race './a b'"},
		{"go build ./... && go test -run 'A|B' ./...;", nil, GoTest, "go build ./... && go test + -run 'A|B' ./..."},
		{"go test ./... 2>&1", nil, GoTest, "go test + ./... 2>&1"},
		{"sh -c 'cd x && go test \"./a\"'", nil, GoTest, `sh -c 'cd x && go test + "./a"'`},
		{"timeout 60 go test $PKGS", nil, GoTest, "timeout 60 go test + $PKGS"},
		{"gotestsum -- -race ./...", nil, GoTestSum, "gotestsum + -- -race ./..."},
		{"pytest -q", nil, Pytest, "pytest + -q"},
		{". .venv/bin/activate && python -m pytest tests", nil, Pytest, ". .venv/bin/activate && python -m pytest + tests"},
		{".venv/bin/python -m pytest", nil, Pytest, ".venv/bin/python -m pytest +"},
		{"uv run pytest", nil, Pytest, "uv run pytest +"},
		{"python3 -m unittest discover -v", nil, Unittest, "python3 -m unittest + discover -v"},
		{"node --enable-source-maps --test --test-timeout=9 test/", nil, NodeTest, "node --enable-source-maps --test + --test-timeout=9 test/"},
		{"npx --no-install jest --ci", nil, Jest, "npx --no-install jest + --ci"},
		{"/usr/bin/pytest -q", nil, Pytest, "/usr/bin/pytest + -q"},
		{"./node_modules/.bin/vitest run", nil, Vitest, "./node_modules/.bin/vitest + run"},
		{"cargo +nightly test --workspace", nil, CargoTest, "cargo +nightly test + --workspace"},
		{"cargo nextest run", nil, CargoNext, "cargo nextest run +"},
		{"npm test", files("package.json", scripts("test", "node --test")), NodeTest, bin + "node --test +"},
		{"CI=1 npm run unit -- --ci", files("package.json", scripts("unit", "TZ=UTC jest a")), Jest, "export CI=1; " + bin + "TZ=UTC jest + a --ci"},
		{"cd web && npm t", files("web/package.json", scripts("test", "tsc && mocha")), Mocha, "cd web && " + bin + "tsc && mocha +"},
		{"npm --prefix web test", files("web/package.json", scripts("test", "vitest run")), Vitest, "cd ./web && " + bin + "vitest + run"},
		{"pnpm test", files("package.json", scripts("test", "pnpm run unit", "unit", "jest")), Jest, bin + "jest +"},
		{"yarn jest --ci", files("package.json", scripts()), "", ""},
		{"make test", files("Makefile", "GO = go\nFLAGS ?= -race\n.PHONY: test\ntest:\n\t# runs all\n\t@$(GO) test ${FLAGS} \\\n\t  ./...\n\nbuild:\n\tgo build\n"), GoTest, "go test + -race ./..."},
		{"make -C py check", files("py/Makefile", "check: ## tests\n\tcd sub && pytest -q\n"), Pytest, "cd ./py && cd sub && pytest + -q"},
	} {
		t.Run(test.command, func(t *testing.T) {
			if test.tree == nil {
				test.tree = files()
			}
			s, err := Read(test.tree, test.command)
			if test.runner == "" {
				if err == nil {
					t.Fatalf("it is %s", s.Runner)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.Runner != test.runner || s.Line() != test.command {
				t.Errorf("%s: %s", s.Runner, s.Line())
			}
			to, err := s.edit(append(literals("+"), s.args()...))
			if err != nil || to.Line() != test.line {
				t.Errorf("%v: %s\nwant %s", err, to.Line(), test.line)
			}
		})
	}
}

// What is not known is said, and nothing is guessed.
func TestUnknown(t *testing.T) {
	for _, test := range []struct {
		command, want string
		tree          fstest.MapFS
	}{
		{"./check.sh", "it runs no test runner that is known", nil},
		{"go vet ./...", "it runs no test runner that is known", nil},
		{"", "it runs no test runner that is known", nil},
		{"./go test ./...", "it runs no test runner that is known", nil},
		{"tools/bin/pytest", "it runs no test runner that is known", nil},
		{"go test ./... | tee out", `it uses "|" of the shell`, nil},
		{"go test ./... || true", `it uses "|" of the shell`, nil},
		{"go test $(go list ./...)", "it runs a command to make a word", nil},
		{"go test x`x`", "it runs a command to make a word", nil},
		{`go test "$(x)"`, "it runs a command to make a word", nil},
		{"go() { :; }; go test", `it uses "(" of the shell`, nil},
		{"alias go=./go; go test", `it uses "alias" of the shell`, nil},
		{"PATH=bin:$PATH go test", "it sets PATH", nil},
		{"export PATH=bin; go test", "it sets PATH", nil},
		{"env PATH=bin go test", "it sets PATH", nil},
		{"go test ./a && go test ./b", "it runs more than one test runner", nil},
		{"go test 'x", "a quote in it is not closed", nil},
		{"cd $X && npm test", "it changes to a folder that only the shell knows, or outside of the checkout", nil},
		{"cd .. && go test", "it changes to a folder that only the shell knows, or outside of the checkout", nil},
		{"$GO test", "its program is known to the shell alone", nil},
		{"npm test", "package.json cannot be read", nil},
		{"npm test", "package.json has no script test", files("package.json", `{}`)},
		{"npm test", "script test of package.json: it runs no test runner that is known", files("package.json", scripts("test", "echo '5 passed'"))},
		{"npm test", "script test of package.json: script test of package.json: script test of package.json: script test of package.json: script test of package.json: script test of package.json: its scripts run each other", files("package.json", scripts("test", "npm test"))},
		{"make", "make is run without a target", nil},
		{"make test", "there is no Makefile that can be read", nil},
		{"make test GO=x", "what make GO=x means is not known", files("Makefile", "test:\n\tgo test\n")},
		{"make test", "make test: its recipe has 2 lines, not one", files("Makefile", "test:\n\tgo vet\n\tgo test\n")},
		{"make test", "make test: it runs no test runner that is known", files("Makefile", "GO=./fake\ntest:\n\t$(GO) test\n")},
		{"make test", `make test: its recipe uses $(`, files("Makefile", "test:\n\tgo test $(shell x)\n")},
		{"make test", `make test: its recipe uses $(X)`, files("Makefile", "test:\n\tgo test $(X)\n")},
		{"make test", `make test: the Makefile has "PATH :="`, files("Makefile", "PATH := bin:$(PATH)\ntest:\n\tgo test\n")},
		{"make test", `make test: the Makefile has "export"`, files("Makefile", "export GOFLAGS=-x\ntest:\n\tgo test\n")},
		{"make test", `make test: the Makefile has "include"`, files("Makefile", "include x.mk\ntest:\n\tgo test\n")},
		{"make test", `make test: its recipe ignores errors or runs in any case`, files("Makefile", "test:\n\t-go test\n")},
		{"make test", `make test: it has more than one rule`, files("Makefile", "test: build\ntest:\n\tgo test\n")},
		{"make test", `make test: its recipe uses`, files("Makefile", "A=$(B)$(B)$(B)$(B)\nB=$(C)$(C)$(C)$(C)\nC=$(D)$(D)$(D)$(D)\nD=$(E)$(E)$(E)\nE=x\ntest:\n\tgo test $(A)\n")},
	} {
		t.Run(test.command, func(t *testing.T) {
			if test.tree == nil {
				test.tree = files()
			}
			s, err := Read(test.tree, test.command)
			if err == nil {
				t.Fatalf("it is %s: %+v", s.Runner, s)
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}
