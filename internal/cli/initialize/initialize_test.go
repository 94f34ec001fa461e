package initialize

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/ecosystem"
)

// What is proposed for a project is a configuration with just these gates.
func TestPropose(t *testing.T) {
	odd := []pawl.GateSpec{{Name: "odd", Kind: pawl.GateTests, Command: "printf '%s: \"#\\n' \"$X\" | tee \\\n  out.txt # done", Report: pawl.ReportJUnit, File: "out/*.xml", Optional: true},
		{Name: "yes", Kind: pawl.GateLint, Command: "true"}, {Name: "number", Kind: pawl.GateTypes, Command: "- [x]"}}
	for name, found := range map[string]ecosystem.Project{
		"nothing": {},
		"odd":     {Gates: odd, Prepare: []string{"echo 'a: b' # c", "true", "- x"}},
		"go":      ecosystem.Detect(files("go.mod", "module x\n", "a.go", "package x\n")),
		"node":    ecosystem.Detect(files("package.json", `{"scripts": {"test": "vitest run", "lint": "eslint ."}, "devDependencies": {"vitest": "1", "typescript": "5"}}`, "tsconfig.json", "{}")),
		"rust":    ecosystem.Detect(files("Cargo.toml", "[package]\nname = \"x\"\n")),
		"python":  ecosystem.Detect(files("pyproject.toml", "[project]\nname = \"x\"\n[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n")),
		"java":    ecosystem.Detect(files("pom.xml", "<project/>")),
		"ruby":    ecosystem.Detect(files("Gemfile", "gem 'rspec'\n", ".rspec", "", "spec/a_spec.rb", "", "Rakefile", "")),
		"monorepo": ecosystem.Detect(files("web/package.json", `{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}`, "web/package-lock.json", "{}",
			"my api/pyproject.toml", "[project]\ndependencies = []\n[tool.pytest.ini_options]\n")),
		"make": ecosystem.Detect(files("Makefile", "test:\n\ttrue\nlint:\n\ttrue\n")),
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Load(config.Sources{Repo: files(config.RepoFile, Propose(found))})
			if err != nil {
				t.Fatalf("%v\n%s", err, Propose(found))
			}
			got, err := cfg.Settings()
			if err != nil {
				t.Fatal(err)
			}
			if name != "nothing" && len(found.Gates) == 0 {
				t.Error("nothing was found")
			}
			if d := cmp.Diff(found.Gates, got.Gates); d != "" {
				t.Errorf("%s\n%s", d, Propose(found))
			}
			if d := cmp.Diff(found.Prepare, got.Prepare); d != "" {
				t.Errorf("%s\n%s", d, Propose(found))
			}
		})
	}
}

func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

func TestInit(t *testing.T) {
	start := func(t *testing.T, answer string) (app *cli.App, out *bytes.Buffer, file string) {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		out = &bytes.Buffer{}
		return &cli.App{Out: out, Err: out, In: strings.NewReader(answer), Interactive: answer != "", Dir: root,
			Root: func(context.Context) string { return root }}, out, filepath.Join(root, config.RepoFile)
	}
	var local []string // models of local servers
	execute := func(app *cli.App, args ...string) error {
		c := New(app, func(context.Context) []string { return local })
		c.SetArgs(args)
		c.SilenceErrors, c.SilenceUsage = true, true
		return c.Execute()
	}
	for answer, writes := range map[string]bool{"": false, "\n": true, "y\n": true, "Yes\n": true, "n\n": false, "what\n": false, "y": false} {
		t.Run("Answer"+answer, func(t *testing.T) {
			app, out, file := start(t, answer)
			if err := execute(app); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(file); (err == nil) != writes {
				t.Errorf("written: %v\n%s", err == nil, out)
			}
		})
	}
	t.Run("NeverReplacesUnlessTold", func(t *testing.T) {
		app, _, file := start(t, "")
		if err := execute(app, "--yes"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := execute(app, "--yes"); pawl.CodeOf(err) != pawl.CodeConflict {
			t.Errorf("%v", err)
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
			t.Errorf("%q, %v", data, err)
		}
		if err := execute(app, "--yes", "--force"); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "go vet") {
			t.Errorf("%q, %v", data, err)
		}
	})
	t.Run("StaysInTheRepository", func(t *testing.T) {
		app, _, file := start(t, "")
		outside := t.TempDir()
		if err := os.Symlink(outside, filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"--yes"}, {"--yes", "--force"}} {
			if err := execute(app, args...); err == nil {
				t.Errorf("%v went through a link", args)
			}
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			t.Errorf("%v, %v", entries, err)
		}
	})
	t.Run("Monorepo", func(t *testing.T) { // F-28
		app, out, file := start(t, "")
		root := filepath.Dir(filepath.Dir(file))
		if err := os.Mkdir(filepath.Join(root, "web"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "web", "package.json"), []byte(`{"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "11"}}`), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := execute(app); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"\n  go   the root  gates: format, types, tests, security  nothing to prepare\n",
			"\n  npm  web       gates: tests-web                       prepare\n",
			"\n    command: 'cd web && npm run test'\n", "\nprepare:\n  - 'cd web && npm install --no-package-lock'\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		out.Reset()
		app.JSON = true
		if err := execute(app, "--yes"); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Parts   []ecosystem.Part
			Prepare []string
			Written bool
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if len(got.Parts) != 2 || got.Parts[1].Folder != "web" || got.Parts[1].Ecosystem != "npm" || len(got.Prepare) != 1 || !got.Written {
			t.Errorf("%+v", got)
		}
	})
	t.Run("LocalModels", func(t *testing.T) { // F-28
		local = []string{"ollama/qwen3:8b", "vllm/Qwen/Qwen3-8B"}
		defer func() { local = nil }()
		for name, c := range map[string]struct {
			environ []string
			says    bool
		}{
			"NoKey":      {nil, true},
			"Key":        {[]string{"ANTHROPIC_API_KEY=sk-test"}, false},
			"OtherModel": {[]string{"PAWL_MODEL=lmstudio/x"}, false},
		} {
			app, out, file := start(t, "")
			app.Environ = append(c.environ, "XDG_CONFIG_HOME="+t.TempDir())
			if err := execute(app, "--yes"); err != nil {
				t.Fatal(err)
			}
			says := strings.Contains(out.String(), "ANTHROPIC_API_KEY is not set, and a model server on this machine answers.") &&
				strings.Contains(out.String(), "\n  export PAWL_MODEL=ollama/qwen3:8b\n  export PAWL_MODEL=vllm/Qwen/Qwen3-8B\n") &&
				strings.Contains(out.String(), "under models in "+app.UserConfig())
			if says != c.says || !c.says && strings.Contains(out.String(), "PAWL_MODEL") {
				t.Errorf("%s:\n%s", name, out)
			}
			if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "ollama") {
				t.Errorf("%s: the repository's file chooses models: %v\n%s", name, err, data)
			}
		}
		app, out, _ := start(t, "")
		app.JSON = true
		if err := execute(app, "--yes"); err != nil || !strings.Contains(out.String(), `"ollama/qwen3:8b"`) {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("NoRepository", func(t *testing.T) {
		app, _, _ := start(t, "")
		app.Root = func(context.Context) string { return "" }
		if err := execute(app, "--yes"); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%v", err)
		}
	})
}
