package ecosystem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func files(names ...string) fstest.MapFS {
	dir := fstest.MapFS{}
	for _, name := range names {
		name, content, _ := strings.Cut(name, "=")
		dir[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return dir
}

// summary is one gate a line: its name, "?" when it is optional, its command
// and how its result is read.
func summary(gates []pawl.GateSpec) []string {
	var lines []string
	for _, g := range gates {
		s := g.Name
		if g.Optional {
			s += "?"
		}
		s += ": " + g.Command
		if g.Report != "" {
			s += " => " + string(g.Report) + " " + g.File
		}
		lines = append(lines, strings.TrimSpace(s))
	}
	return lines
}

const gofmtLine = `files=$(gofmt -l .) || exit; test -z "$files" || { echo "not formatted:"; echo "$files"; exit 1; }`

func TestDetect(t *testing.T) {
	tests := []struct {
		name      string
		dir       fstest.MapFS
		languages []string
		gates     []string
	}{
		{"nothing", files("README.md"), nil, nil},
		{"Go", files("go.mod=module x"), []string{"go"}, []string{
			"format: " + gofmtLine, "types: go vet ./...", "tests: go test -json ./... => go-test", "security?: govulncheck ./..."}},
		{"Go with a linter and a Makefile", files("go.mod", ".golangci.yml", "Makefile=test: build\n\tgo test ./...\nlint:\n\tx\n"), []string{"go"}, []string{
			"format: " + gofmtLine, "types: go vet ./...", "lint?: golangci-lint run ./...", "tests: go test -json ./... => go-test", "security?: govulncheck ./..."}},
		{"Go workspace", files("go.work", "a/go.mod"), []string{"go"}, []string{
			"format: " + gofmtLine,
			`types: modules=$(go list -m -f '{{.Dir}}/...') || exit; echo "$modules" | xargs go vet`,
			`tests: modules=$(go list -m -f '{{.Dir}}/...') || exit; echo "$modules" | xargs go test -json => go-test`,
			`security?: modules=$(go list -m -f '{{.Dir}}/...') || exit; echo "$modules" | xargs govulncheck`}},
		{"Go with a vendor folder", files("go.mod", "vendor/modules.txt"), []string{"go"}, []string{
			`format: files=$(find . -name vendor -prune -o -name '*.go' -exec gofmt -l {} +) || exit; test -z "$files" || { echo "not formatted:"; echo "$files"; exit 1; }`,
			"types: go vet ./...", "tests: go test -json ./... => go-test", "security?: govulncheck ./..."}},
		{"npm scripts", files(`package.json={"scripts":{"test":"jest --coverage","lint":"eslint .","typecheck":"tsc","format:check":"prettier -c ."}}`), []string{"javascript"}, []string{
			"format: npm run format:check", "types: npm run typecheck", "lint: npm run lint", "tests: npm run test -- --verbose"}},
		{"TypeScript with pnpm and vitest", files(`package.json={"scripts":{"test":"vitest run"},"devDependencies":{"typescript":"5"}}`, "tsconfig.json", "pnpm-lock.yaml"), []string{"javascript"}, []string{
			"types: node_modules/.bin/tsc --noEmit", "tests: pnpm run test --reporter=verbose"}},
		{"a test script of its own", files(`package.json={"scripts":{"test":"jest && node x.js"}}`, "yarn.lock"), []string{"javascript"}, []string{"tests: yarn run test"}},
		{"no test script", files(`package.json={"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`), []string{"javascript"}, nil},
		{"broken package.json", files(`package.json={`), []string{"javascript"}, nil},
		{"Rust", files("Cargo.toml=[package]\nname = \"x\"\n[lints.clippy]\n", "rustfmt.toml"), []string{"rust"}, []string{
			"format: cargo fmt --all --check", "types: cargo check --all-targets", "lint?: cargo clippy --all-targets", "tests: cargo test --no-fail-fast"}},
		{"Python with everything", files("pyproject.toml=[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n[tool.black]\n"), []string{"python"}, []string{
			"format?: black --check .", "types?: mypy .", "lint?: ruff check .", "tests: python3 -m pytest --junitxml=.pawl-pytest.xml => junit .pawl-pytest.xml"}},
		{"Python by requirements", files("requirements.txt=requests==2\npytest>=8\n", "setup.cfg=[flake8]\n[mypy]\n"), []string{"python"}, []string{
			"types?: mypy .", "lint?: flake8 --extend-exclude .venv", "tests: .venv/bin/python -m pytest --junitxml=.pawl-pytest.xml => junit .pawl-pytest.xml"}},
		{"Python with uv", files("pyproject.toml=[dependency-groups]\ndev = [\"pytest\", \"ruff>=0.4\"]\n", "uv.lock"), []string{"python"}, []string{
			"lint?: uv run --no-sync ruff check .", "tests: uv run --no-sync python3 -m pytest --junitxml=.pawl-pytest.xml => junit .pawl-pytest.xml"}},
		{"Python with unittest", files("setup.py", "tests/test_a.py"), []string{"python"}, []string{"tests: python3 -m unittest discover -v -s tests"}},
		{"Python without tests", files("requirements.txt=pytest-cov-like\n"), []string{"python"}, nil},
		{"Maven", files("pom.xml", "mvnw"), []string{"java"}, []string{"tests: ./mvnw --batch-mode test => junit **/target/surefire-reports/TEST-*.xml"}},
		{"Gradle", files("build.gradle.kts"), []string{"java"}, []string{"tests: gradle --no-daemon --rerun-tasks test => junit **/build/test-results/**/TEST-*.xml"}},
		{"Elixir", files(`mix.exs={:credo, "~> 1.7"}`, ".formatter.exs"), []string{"elixir"}, []string{
			"format: mix format --check-formatted", "lint: mix credo", "tests: mix test"}},
		{"Ruby with RSpec", files("Gemfile=gem 'rspec'\ngem 'rubocop'\n", "spec/a_spec.rb"), []string{"ruby"}, []string{
			"lint?: bundle exec rubocop --format emacs", "tests: bundle exec rspec"}},
		{"Ruby with Rake", files("Gemfile", "Rakefile"), []string{"ruby"}, []string{"tests: bundle exec rake test"}},
		{"Makefile alone", files("Makefile=CC := gcc\n.PHONY: test lint\nall test: x\n\ty\nlint:\n\tz\ntypecheck::\n\tq\nV = a:b\n"), nil, []string{
			"types: make typecheck", "lint: make lint", "tests: make test"}},
		{"two languages", files("go.mod", `package.json={"scripts":{"test":"mocha","lint":"eslint ."}}`), []string{"go", "javascript"}, []string{
			"format: " + gofmtLine, "types: go vet ./...", "tests: go test -json ./... => go-test", "security?: govulncheck ./...",
			"lint: npm run lint", "tests-javascript: npm run test"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.languages, Detect(tt.dir).Languages); diff != "" {
				t.Errorf("languages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.gates, summary(Detect(tt.dir).Gates)); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFoldersAndHugeFilesAreNotRead(t *testing.T) {
	dir := files("go.mod/x", "Makefile="+strings.Repeat("# nothing\n", maxFile/10+1)+"\ntest:\n\tx\n")
	if gates := Detect(dir).Gates; gates != nil {
		t.Errorf("proposed %v", summary(gates))
	}
}

// The proposed format gate passes on formatted code, fails on other code and
// does not pass when gofmt is not there.
func TestGoFormatLine(t *testing.T) {
	gofmt, err := exec.LookPath("gofmt")
	if err != nil {
		t.Skip("gofmt is not installed")
	}
	run := func(path, code string) (int, string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", gofmtLine)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + path}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	path := filepath.Dir(gofmt) + ":/usr/bin:/bin"
	if code, out := run(path, "package a\n"); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out := run(path, "package   a\n"); code != 1 || !strings.Contains(out, "a.go") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, _ := run(t.TempDir(), "package a\n"); code != 127 {
		t.Errorf("exit %d without gofmt", code)
	}
}
