//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/sandbox"
)

// realProject is a repository as people have them, and its user.
type realProject struct {
	files    map[string]string // of the repository
	home     map[string]string // of the user, who configured clients
	env      []string
	from     []*registry
	tests    string   // how an agent runs the tests
	says     []string // what they print
	branches string   // a dependency's folder, which no commit has
}

func npmProject(r *registry, folder string) realProject {
	return realProject{
		files: map[string]string{
			folder + "package.json":      `{"name":"shop","version":"1.0.0","scripts":{"test":"greets"},"dependencies":{"greet":"1.0.0"}}` + "\n",
			folder + "package-lock.json": npmLock(r),
			folder + "test.js":           "if (require('greet') !== 'hello from greet') process.exit(1)\n",
		},
		home: map[string]string{".npmrc": "registry=" + r.base() + "/\n"},
		from: []*registry{r}, tests: "npm test", says: []string{"ok 1 hello from greet"}, branches: "node_modules",
	}
}

func goProject(r *registry, folder string) realProject {
	return realProject{
		files: map[string]string{
			folder + "go.mod": "module shop.test/shop\n\ngo 1.21\n\nrequire mod.test/greet v1.0.0\n",
			folder + "go.sum": goSum(),
			folder + "shop_test.go": "package shop\n\nimport (\n\t\"testing\"\n\n\t\"mod.test/greet\"\n)\n\nfunc TestHello(t *testing.T) {\n" +
				"\tif greet.Hello != \"hello from greet\" {\n\t\tt.Fatal(greet.Hello)\n\t}\n}\n",
		},
		home: map[string]string{"config/go/env": "GOPROXY=" + r.base() + "\nGONOSUMDB=mod.test/*\n"},
		from: []*registry{r}, tests: "go test -v ./...", says: []string{"--- PASS: TestHello"},
	}
}

func pipProject(r *registry, _ string) realProject {
	return realProject{
		files: map[string]string{
			"requirements.txt": "greet==1.0.0\n",
			"test_shop.py":     "import unittest\n\nimport greet\n\n\nclass Hello(unittest.TestCase):\n    def test_hello(self):\n        self.assertEqual(greet.hello, 'hello from greet')\n",
			".gitignore":       ".venv\n__pycache__\n",
		},
		home: map[string]string{"config/pip/pip.conf": "[global]\nindex-url = " + r.base() + "/simple\ntrusted-host = pypi.test\n"},
		from: []*registry{r}, tests: ".venv/bin/python -m unittest -v", says: []string{"test_hello", "OK"}, branches: ".venv",
	}
}

func cargoProject(r *registry, _ string) realProject {
	mirror := "[source.crates-io]\nreplace-with = \"mirror\"\n\n[source.mirror]\nregistry = \"sparse+" + r.base() + "/index/\"\n"
	return realProject{
		files: map[string]string{
			"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\ngreet = \"1.0.0\"\n",
			"Cargo.lock": cargoLock(),
			"src/lib.rs": "#[test]\nfn hello() {\n    assert_eq!(greet::HELLO, \"hello from greet\");\n}\n",
			".gitignore": "/target\n",
			// Cargo has no variable for it, so the user's own file is not enough.
			".cargo/config.toml": mirror,
		},
		home: map[string]string{".cargo/config.toml": mirror},
		from: []*registry{r}, tests: "cargo test", says: []string{"test hello ... ok"}, branches: "target",
	}
}

// monorepo is an npm project in web and a Go module in api.
func monorepo(npm, golang realProject) realProject {
	both := realProject{files: map[string]string{"README": "a shop\n"}, home: npm.home, from: slices.Concat(npm.from, golang.from),
		tests: "(cd web && " + npm.tests + ") && cd api && " + golang.tests, says: slices.Concat(npm.says, golang.says), branches: npm.branches}
	maps.Copy(both.files, npm.files)
	maps.Copy(both.files, golang.files)
	maps.Copy(both.home, golang.home)
	return both
}

// TestRealProjects runs what pawl init proposes for projects of several ecosystems: the tests
// of each pass in the agent's worktree and in the gate, without a network, and packages are
// fetched once. F-02 F-22
func TestRealProjects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		needs []string
		make  func(t *testing.T) realProject
	}{
		{"Npm", []string{"node", "npm"}, func(t *testing.T) realProject { return npmProject(npmRegistry(t), "") }},
		{"Go", []string{"go"}, func(t *testing.T) realProject { return goProject(goRegistry(t), "") }},
		{"Pip", []string{"python3"}, func(t *testing.T) realProject { return pipProject(pypiRegistry(t), "") }},
		{"Cargo", []string{"cargo"}, func(t *testing.T) realProject { return cargoProject(cargoRegistry(t), "") }},
		// F-28
		{"Monorepo", []string{"npm", "go"}, func(t *testing.T) realProject {
			return monorepo(npmProject(npmRegistry(t), "web/"), goProject(goRegistry(t), "api/"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			needReal(t, tt.needs...)
			p := tt.make(t)
			v := p.victim(t)
			v.initialise(t)
			script := attempts([]string{runCall(t, p.tests), `{write: {path: notes.txt, content: "noted\n"}}`})
			for i, goal := range []string{"Take a note", "Take a note again"} {
				run := v.runReal(t, script, goal, p)
				if asked := p.requests(); run.requests != len(asked) || i == 1 && len(asked) > 0 {
					t.Errorf("run %d: prepare asked %d times, and the registries were asked %q", i+1, run.requests, asked)
				} else if i == 0 && len(asked) == 0 {
					t.Error("no registry was asked for anything")
				}
				if reused := run.prepared[0].Reused; reused != (i == 1) {
					t.Errorf("run %d: what was prepared is reused: %t", i+1, reused)
				}
				for _, says := range p.says {
					if !strings.Contains(run.first, says) {
						t.Errorf("run %d: the agent's tests do not say %q:\n%s", i+1, says, run.first)
					}
				}
				tree := v.git(t, "ls-tree", "-r", "--name-only", run.branch)
				if !strings.Contains(tree, "notes.txt") || p.branches != "" && strings.Contains(tree, p.branches+"/") {
					t.Errorf("run %d: the branch has\n%s", i+1, tree)
				}
			}
		})
	}
}

// needReal skips a test of real projects where it cannot run.
func needReal(t *testing.T, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs package managers")
	}
	if _, err := sandbox.Probe(t.Context()); err != nil {
		t.Skipf("commands cannot be confined here: %v", err)
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

// victim makes the repository and the home of its user.
func (p realProject) victim(t *testing.T) *victim {
	t.Helper()
	real, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	v := newVictim(t, pawlProgram(t), "answers: []\n", p.files)
	for name, text := range p.home {
		mustWrite(t, filepath.Join(v.home, name), text)
	}
	for name, folder := range map[string]string{"PYENV_ROOT": ".pyenv", "RUSTUP_HOME": ".rustup"} {
		if os.Getenv(name) == "" {
			v.env = append(v.env, name+"="+filepath.Join(real, folder))
		}
	}
	v.env = append(v.env, p.env...)
	return v
}

// initialise has pawl init write the configuration, and commits it.
func (v *victim) initialise(t *testing.T) {
	t.Helper()
	out, err := v.pawl("init", "--yes")
	if err != nil {
		t.Fatalf("pawl init: %v\n%s", err, out)
	}
	t.Log(out)
	v.git(t, "add", ".pawl")
	v.git(t, "commit", "-q", "-m", "Configure pawl")
}

// requests returns what the registries were asked since the last call.
func (p realProject) requests() (all []string) {
	for _, r := range p.from {
		all = append(all, r.requests()...)
	}
	return all
}

// realRun is what the log has of a run.
type realRun struct {
	branch   string
	prepared []*pawl.Prepared
	requests int    // of all preparations, through the egress proxy
	first    string // what the first tool call returned
	gates    []*pawl.GateJudged
}

// runReal runs a project, which has to be complete with every gate passed.
func (v *victim) runReal(t *testing.T, script, goal string, p realProject, more ...string) realRun {
	t.Helper()
	mustWrite(t, filepath.Join(v.home, "script.yaml"), script)
	args := []string{"run", goal, "--yes-prepare", "--model", "script:" + filepath.Join(v.home, "script.yaml")}
	for _, r := range p.from {
		args = append(args, "--egress", r.rule)
	}
	out, err := v.pawl(append(args, more...)...)
	run, outcome := v.lastRun(t)
	if err != nil || outcome != pawl.OutcomeComplete {
		why := ""
		for _, b := range run.prepared {
			why += "\n" + b.Failed
			if !b.Evidence.IsZero() {
				why += "\n" + v.lastBlob(t, b.Evidence)
			}
		}
		for _, g := range run.gates {
			why += fmt.Sprintf("\n%s %s: %s\n%s", g.Gate, g.Verdict, g.Reason, v.lastBlob(t, g.Evidence))
		}
		t.Fatalf("%s: %v, %s\n%s\nfirst call: %s\n%s", goal, err, outcome, out, run.first, why)
	}
	t.Log(out)
	if !slices.ContainsFunc(run.gates, func(g *pawl.GateJudged) bool { return g.Kind == pawl.GateTests && g.Verdict == pawl.VerdictPass }) {
		t.Errorf("%s: no tests passed in a gate", goal)
	}
	return run
}

// lastRun reads the run that began last.
func (v *victim) lastRun(t *testing.T) (run realRun, outcome pawl.Outcome) {
	t.Helper()
	l := v.log(t)
	if l == nil {
		return run, ""
	}
	defer l.Close()
	id := v.lastID(t)
	run.branch = "pawl/" + string(id)
	for e, err := range l.Events(context.Background(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *pawl.Prepared:
			run.prepared = append(run.prepared, b)
			run.requests += int(b.Requests)
			if run.first != "" && b.Requests > 0 && b.Failed == "" {
				t.Logf("%s prepared after the first tool call", b.Key)
			}
		case *pawl.ToolReturned:
			if run.first == "" {
				run.first = v.lastBlob(t, b.Output)
			}
		case *pawl.GateJudged:
			run.gates = append(run.gates, b)
		case *pawl.RunEnded:
			outcome = b.Outcome
		}
	}
	return run, outcome
}

func (v *victim) lastID(t *testing.T) pawl.RunID {
	t.Helper()
	out, err := v.pawl("list", "--json")
	var runs []pawl.RunInfo
	if err == nil {
		err = json.Unmarshal([]byte(out), &runs)
	}
	if err != nil || len(runs) == 0 {
		t.Fatalf("pawl list: %v\n%s", err, out)
	}
	return slices.MaxFunc(runs, func(a, b pawl.RunInfo) int { return a.Task - b.Task }).ID
}

func (v *victim) lastBlob(t *testing.T, h pawl.Hash) string {
	t.Helper()
	l := v.log(t)
	defer l.Close()
	data, err := l.Blob(context.Background(), v.lastID(t), h)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
