package main

import (
	"cmp"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/sandbox"
	"pawl/internal/testsize"
)

// realProject is a repository as people have them, and its user.
type realProject struct {
	files    map[string]string // of the repository
	home     map[string]string // of the user, who configured clients
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

// lockedBy is the npm project with the lock file of another package manager.
func lockedBy(r *registry, manager, name, lock string) realProject {
	p := npmProject(r, "")
	delete(p.files, "package-lock.json")
	p.files[name], p.tests = lock, manager+" run test"
	return p
}

func pnpmProject(r *registry) realProject {
	return lockedBy(r, "pnpm", "pnpm-lock.yaml", "lockfileVersion: '9.0'\n\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\n\n"+
		"importers:\n\n  .:\n    dependencies:\n      greet:\n        specifier: 1.0.0\n        version: 1.0.0\n\n"+
		"packages:\n\n  greet@1.0.0:\n    resolution: {integrity: "+npmIntegrity("greet")+"}\n    hasBin: true\n\nsnapshots:\n\n  greet@1.0.0: {}\n")
}

func yarnProject(r *registry) realProject {
	return lockedBy(r, "yarn", "yarn.lock", "# yarn lockfile v1\n\n\ngreet@1.0.0:\n  version \"1.0.0\"\n  resolved \""+r.base()+"/greet/-/greet-1.0.0.tgz\"\n"+
		"  integrity "+npmIntegrity("greet")+"\n")
}

func bunProject(r *registry) realProject {
	return lockedBy(r, "bun", "bun.lock", fmt.Sprintf(`{"lockfileVersion":1,"workspaces":{"":{"name":"shop","dependencies":{"greet":"1.0.0"}}},`+
		`"packages":{"greet":["greet@1.0.0","",{"bin":{"greets":"greets.js"}},%q]}}`+"\n", npmIntegrity("greet")))
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

func pytestProject(t *testing.T) realProject {
	p := pipProject(pypiRegistry(t, map[string]string{"pytest": pytestWheel(t)}), "")
	p.files["requirements.txt"] += "pytest==1.0.0\n"
	p.files["test_shop.py"] = "import greet\n\n\ndef test_hello():\n    assert greet.hello == 'hello from greet'\n"
	p.tests, p.says = ".venv/bin/python -m pytest -v", []string{"test_shop.py::test_hello PASSED", "1 passed"}
	return p
}

func uvProject(r *registry, _ string) realProject {
	p := pipProject(r, "")
	delete(p.files, "requirements.txt")
	p.files["pyproject.toml"] = "[project]\nname = \"shop\"\nversion = \"0.1.0\"\nrequires-python = \">=3.9\"\ndependencies = [\"greet==1.0.0\"]\n"
	p.files["uv.lock"] = "version = 1\nrequires-python = \">=3.9\"\n\n[[package]]\nname = \"greet\"\nversion = \"1.0.0\"\n" +
		"source = { registry = \"" + r.base() + "/simple\" }\nwheels = [\n    { url = \"" + r.base() + "/files/greet-1.0.0-py3-none-any.whl\", hash = \"sha256:" +
		sha256Hex(pythonWheel("greet")) + "\" },\n]\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\nsource = { virtual = \".\" }\n" +
		"dependencies = [\n    { name = \"greet\" },\n]\n\n[package.metadata]\nrequires-dist = [{ name = \"greet\", specifier = \"==1.0.0\" }]\n"
	p.home = map[string]string{"config/uv/uv.toml": "[[index]]\nurl = \"" + r.base() + "/simple\"\ndefault = true\n"}
	p.tests = "uv run --no-sync python3 -m unittest -v"
	return p
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
		{"Pnpm", []string{"node", "pnpm"}, func(t *testing.T) realProject { return pnpmProject(npmRegistry(t)) }},
		{"Yarn", []string{"node", "yarn"}, func(t *testing.T) realProject { return yarnProject(npmRegistry(t)) }},
		{"Bun", []string{"node", "bun"}, func(t *testing.T) realProject { return bunProject(npmRegistry(t)) }},
		{"Go", []string{"go"}, func(t *testing.T) realProject { return goProject(goRegistry(t), "") }},
		{"Pip", []string{"python3"}, func(t *testing.T) realProject { return pipProject(pypiRegistry(t, nil), "") }},
		{"Pytest", []string{"python3"}, pytestProject},
		{"Uv", []string{"python3", "uv"}, func(t *testing.T) realProject { return uvProject(pypiRegistry(t, nil), "") }},
		{"Cargo", []string{"cargo"}, func(t *testing.T) realProject { return cargoProject(cargoRegistry(t), "") }},
		// F-28
		{"Monorepo", []string{"npm", "go"}, func(t *testing.T) realProject {
			return monorepo(npmProject(npmRegistry(t), "web/"), goProject(goRegistry(t), "api/"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			needReal(t, tt.name, tt.needs...)
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
					if !strings.Contains(run.calls[0], says) {
						t.Errorf("run %d: the agent's tests do not say %q:\n%s", i+1, says, run.calls[0])
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

// TestAddedDependency has an agent add a dependency: it edits the manifest, has the lock file
// brought up to date, and uses the package. The branch has both files and nothing of what was
// installed; what was prepared for it is gone with the run.
func TestAddedDependency(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		needs    []string
		make     func(t *testing.T) realProject
		manifest string
		old, new string
		lock     string // empty = there is none
		locked   string
		use      string // a file that needs the package
		code     string
	}{
		{"Npm", []string{"node", "npm"}, func(t *testing.T) realProject { return npmProject(npmRegistry(t), "") },
			"package.json", `"greet":"1.0.0"`, `"greet":"1.0.0","part":"1.0.0"`, "package-lock.json", "/part/-/part-1.0.0.tgz",
			"test.js", "if (require('part') !== 'hello from part') process.exit(1)\n"},
		{"Pnpm", []string{"node", "pnpm"}, func(t *testing.T) realProject { return pnpmProject(npmRegistry(t)) },
			"package.json", `"greet":"1.0.0"`, `"greet":"1.0.0","part":"1.0.0"`, "pnpm-lock.yaml", "part@1.0.0",
			"test.js", "if (require('part') !== 'hello from part') process.exit(1)\n"},
		{"Yarn", []string{"node", "yarn"}, func(t *testing.T) realProject { return yarnProject(npmRegistry(t)) },
			"package.json", `"greet":"1.0.0"`, `"greet":"1.0.0","part":"1.0.0"`, "yarn.lock", "part@1.0.0",
			"test.js", "if (require('part') !== 'hello from part') process.exit(1)\n"},
		{"Bun", []string{"node", "bun"}, func(t *testing.T) realProject { return bunProject(npmRegistry(t)) },
			"package.json", `"greet":"1.0.0"`, `"greet":"1.0.0","part":"1.0.0"`, "bun.lock", "part@1.0.0",
			"test.js", "if (require('part') !== 'hello from part') process.exit(1)\n"},
		{"Go", []string{"go"}, func(t *testing.T) realProject { return goProject(goRegistry(t), "") },
			"go.mod", "require mod.test/greet v1.0.0\n", "require mod.test/greet v1.0.0\n\nrequire mod.test/part v1.0.0\n", "go.sum", "mod.test/part v1.0.0 h1:",
			"part_test.go", "package shop\n\nimport (\n\t\"testing\"\n\n\t\"mod.test/part\"\n)\n\nfunc TestPart(t *testing.T) {\n\tif part.Hello != \"hello from part\" {\n\t\tt.Fatal(part.Hello)\n\t}\n}\n"},
		{"Cargo", []string{"cargo"}, func(t *testing.T) realProject { return cargoProject(cargoRegistry(t), "") },
			"Cargo.toml", "greet = \"1.0.0\"\n", "greet = \"1.0.0\"\npart = \"1.0.0\"\n", "Cargo.lock", `name = "part"`,
			"src/lib.rs", "#[test]\nfn hello() {\n    assert_eq!(greet::HELLO, \"hello from greet\");\n    assert_eq!(part::HELLO, \"hello from part\");\n}\n"},
		{"Pip", []string{"python3"}, func(t *testing.T) realProject { return pipProject(pypiRegistry(t, nil), "") },
			"requirements.txt", "greet==1.0.0\n", "greet==1.0.0\npart==1.0.0\n", "", "",
			"test_part.py", "import unittest\n\nimport part\n\n\nclass Part(unittest.TestCase):\n    def test_part(self):\n        self.assertEqual(part.hello, 'hello from part')\n"},
		{"Uv", []string{"python3", "uv"}, func(t *testing.T) realProject { return uvProject(pypiRegistry(t, nil), "") },
			"pyproject.toml", `"greet==1.0.0"`, `"greet==1.0.0", "part==1.0.0"`, "uv.lock", "part-1.0.0-py3-none-any.whl",
			"test_part.py", "import unittest\n\nimport part\n\n\nclass Part(unittest.TestCase):\n    def test_part(self):\n        self.assertEqual(part.hello, 'hello from part')\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			needReal(t, tt.name, tt.needs...)
			p := tt.make(t)
			v := p.victim(t)
			v.initialise(t)
			edit := fmt.Sprintf("{edit: {path: %s, old: %q, new: %q}}", tt.manifest, tt.old, tt.new)
			write := fmt.Sprintf("{write: {path: %s, content: %q}}", tt.use, tt.code)
			run := v.runReal(t, attempts([]string{edit, write, "{update_dependencies: {}}", runCall(t, p.tests)}), "Use the package part", p)
			if len(run.failed) < 4 || slices.Contains(run.failed[:4], true) {
				t.Errorf("its calls are answered with %q", run.calls)
			}
			manifest := v.git(t, "show", run.branch+":"+tt.manifest)
			if !strings.Contains(manifest, "part") {
				t.Errorf("the manifest is\n%s", manifest)
			}
			if tt.lock != "" {
				if lock := v.git(t, "show", run.branch+":"+tt.lock); !strings.Contains(lock, tt.locked) {
					t.Errorf("the lock file lacks %q:\n%s", tt.locked, lock)
				}
			}
			if tree := v.git(t, "ls-tree", "-r", "--name-only", run.branch); p.branches != "" && strings.Contains(tree, p.branches+"/") {
				t.Errorf("the branch has\n%s", tree)
			}
			// The gate's commit was prepared under a key of its own.
			last := run.prepared[len(run.prepared)-1]
			if run.updated == "" || last.Key != run.updated || last.Key == run.prepared[0].Key {
				t.Errorf("prepared: %s on the base, %s by the tool, %s for the gate", run.prepared[0].Key, run.updated, last.Key)
			}
			for key, kept := range map[string]bool{run.prepared[0].Key: true, run.updated: false} {
				found, err := filepath.Glob(filepath.Join(v.home, "state", "pawl", "*", "layers", "*", "*", "*", key))
				more, err2 := filepath.Glob(filepath.Join(v.home, "state", "pawl", "*", "layers", "*", key))
				if found = append(found, more...); err != nil || err2 != nil || (len(found) > 0) != kept {
					t.Errorf("of %s there are %q: want it kept: %t", key, found, kept)
				}
			}
		})
	}
}

// realKinds are the kinds of projects. Each has a turn.
var realKinds = []string{"Npm", "Pnpm", "Yarn", "Bun", "Go", "Pip", "Pytest", "Uv", "Cargo", "Monorepo"}

// needReal skips a test of a kind of project, unless it is the kind's turn and the programs that it
// needs are there. Short tests include none.
func needReal(t *testing.T, kind string, programs ...string) {
	t.Helper()
	i := slices.Index(realKinds, kind)
	if i < 0 {
		t.Fatalf("%s is not a kind of project that has a turn", kind)
	}
	if !testsize.Case(i, 0) {
		t.Skip("it runs package managers; each kind of project has a turn")
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
	v := newVictim(t, pawlProgram(t), "answers: []\n", p.files)
	for name, text := range p.home {
		mustWrite(t, filepath.Join(v.home, name), text)
	}
	v.env = append(v.env, toolchains()...)
	return v
}

// initialise has pawl init write the configuration, and commits it.
func (v *victim) initialise(t *testing.T) {
	t.Helper()
	out, err := v.pawl("init", "--yes")
	if err != nil {
		t.Fatalf("pawl init: %v\n%s", err, out)
	}
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
	requests int      // of all preparations, through the egress proxy
	calls    []string // what tool calls returned
	failed   []bool   // which of them were errors
	updated  string   // the key of what a tool call prepared last
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
		t.Fatalf("%s: %v, %s\n%s\ncalls: %q\n%s", goal, err, outcome, out, run.calls, why)
	}
	_, prepare, _ := strings.Cut(out, "\n  prepare  ")
	prepare, _, _ = strings.Cut(prepare, "\n")
	for _, r := range p.from {
		if strings.Count(prepare, r.host) != 1 {
			t.Errorf("%s: the banner does not name %s once: %s", goal, r.host, prepare)
		}
	}
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
		case *pawl.ToolReturned:
			run.calls, run.failed = append(run.calls, v.lastBlob(t, b.Output)), append(run.failed, b.IsError)
			run.updated = cmp.Or(b.Prepared, run.updated)
		case *pawl.EffectFailed:
			t.Logf("effect %d failed: %s", b.Effect, b.Failure.Message)
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

// snoop is a postinstall script of a dependency that looks for what it must not find, and
// prints a line "found: …" for each thing that it does.
const snoop = `
const fs = require('fs'), net = require('net'), dns = require('dns')
const [canary, port, home] = [%q, %d, %q]
const found = what => console.log('found: ' + what)
const connect = (host, port, send, what) => new Promise(done => {
  const c = net.connect({ host, port, timeout: 20000 }, () => { if (!send) { found(what); c.destroy(); done() } else c.write(send) })
  c.on('data', d => { if (/^HTTP\/1.1 200/.test(d)) found(what); c.destroy(); done() })
  for (const e of ['error', 'timeout', 'close']) c.on(e, () => { c.destroy(); done() })
})
const walk = (dir, depth) => {
  let names = []
  try { names = fs.readdirSync(dir) } catch { return }
  for (const name of names) {
    const at = dir + (dir === '/' ? '' : '/') + name
    if (/^marker-of-/.test(name)) found(name)
    try { if (depth > 0 && fs.lstatSync(at).isDirectory() && !/^\/(proc|sys|dev|usr)$/.test(at)) walk(at, depth - 1) } catch {}
  }
}
;(async () => {
  console.log('snooping')
  await connect('127.0.0.1', port, '', 'tcp')
  const [proxyHost, proxyPort] = (process.env.HTTP_PROXY || 'http://127.0.0.1:1').slice(7).split(':')
  await connect(proxyHost, +proxyPort, 'CONNECT ' + canary + ':' + port + ' HTTP/1.1\r\nHost: ' + canary + '\r\n\r\n', 'proxy')
  await new Promise(done => dns.resolve4('pawl.test', { timeout: 1000 }, e => { if (!e) found('dns'); done() }))
  walk('/', 5)
  walk(home, 9)
  console.log('snooped')
})()
`

// TestSnoopingDependency has a package with a script that runs when it is installed look for a
// network, the user's home, and what other runs left. Outside a room the same script finds all.
// F-02
func TestSnoopingDependency(t *testing.T) {
	t.Parallel()
	needReal(t, "Npm", "node", "npm")
	canary := newRegistry(t, "canary.test", func(string) map[string]string { return nil })
	_, port, _ := strings.Cut(canary.host, ":")
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	r := npmRegistry(t)
	p := npmProject(r, "")
	v := p.victim(t)
	v.initialise(t)
	// An earlier run, whose cache, worktree and branch are there.
	v.runReal(t, attempts([]string{runCall(t, "echo noted >notes.txt")}), "Take a note", p)
	var markers []string
	layers := "state/pawl/*/layers/"
	for name, glob := range map[string]string{
		"marker-of-home": "", "marker-of-state": "state/pawl/*", "marker-of-layers": layers,
		"marker-of-packages": layers + "prepared/*/work/files", "marker-of-cache": layers + "prepared/*/cache/upper",
	} {
		found, err := filepath.Glob(filepath.Join(v.home, glob))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %q, %v", glob, found, err)
		}
		mustWrite(t, filepath.Join(found[0], name), "secret\n")
		markers = append(markers, name)
	}
	text := fmt.Sprintf(snoop, "canary.test", n, v.home)
	snooper := tarball(map[string]string{
		"package/package.json": `{"name":"greet","version":"1.0.0","bin":{"greets":"index.js"},"scripts":{"postinstall":"node snoop.js >snooped.txt 2>&1"}}`,
		"package/index.js":     "#!/usr/bin/env node\nconsole.log(require('fs').readFileSync(__dirname + '/snooped.txt', 'utf8'))\n",
		"package/snoop.js":     text,
	})
	sum := sha512.Sum512([]byte(snooper))
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	r.mu.Lock()
	r.files["/greet/-/greet-1.0.0.tgz"] = snooper
	r.mu.Unlock()
	lock := strings.Replace(npmLock(r), npmIntegrity("greet"), integrity, 1)
	lock = strings.Replace(lock, `"bin":{"greets":"greets.js"}`, `"hasInstallScript":true,"bin":{"greets":"index.js"}`, 1)
	mustWrite(t, filepath.Join(v.repo, "package-lock.json"), lock)
	v.git(t, "commit", "-q", "-a", "-m", "Take another greet")

	// The control: outside a room the script finds every marker and the canary.
	file := filepath.Join(t.TempDir(), "snoop.js")
	mustWrite(t, file, text)
	control := exec.Command("node", file)
	control.Env = []string{"PATH=" + os.Getenv("PATH"), "HTTP_PROXY=http://127.0.0.1:" + port}
	out, err := control.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range append(markers, "tcp") {
		if !strings.Contains(string(out), "found: "+want+"\n") {
			t.Errorf("outside a room it does not find %s:\n%s", want, out)
		}
	}

	canary.requests()
	run := v.runReal(t, attempts([]string{runCall(t, "npm test"), runCall(t, "echo noted >notes.txt")}), "Install a snooper", p)
	said := run.calls[0]
	if !strings.Contains(said, "snooping\n") || !strings.Contains(said, "snooped\n") || strings.Contains(said, "found:") {
		t.Errorf("in a room it says:\n%s", said)
	}
	if asked := canary.requests(); len(asked) > 0 {
		t.Errorf("the canary was asked %q", asked)
	}
	if base := run.prepared[0]; base.Refused != 1 || !slices.Equal(base.RefusedHosts, []string{"canary.test:" + port}) {
		t.Errorf("refused: %d requests to %q", base.Refused, base.RefusedHosts)
	}
}

// TestBarredRegistry has a client that asks for its registry without end. The rules name the
// registry, and yet the proxy refuses it for its address, so prepare ends at once.
func TestBarredRegistry(t *testing.T) {
	t.Parallel()
	needReal(t, "Npm", "node")
	p := realProject{files: map[string]string{"fetch.js": `
const again = () => require('http').request({ host: '127.0.0.1', port: 3128, method: 'CONNECT', path: process.argv[2] })
  .on('connect', () => setTimeout(again, 100)).end()
again()
`}}
	v := p.victim(t)
	mustWrite(t, filepath.Join(v.home, "config", "pawl", "config.yaml"), `prepare: [node fetch.js evil.test:443 & node fetch.js localhost:4873]
egress: ['localhost:4873']
gates: [{name: tests, kind: tests, command: 'true'}]
`)
	mustWrite(t, filepath.Join(v.home, "script.yaml"), quickScript)
	out, err := v.pawl("run", "Sell tea", "--model", "script:"+filepath.Join(v.home, "script.yaml"))
	run, outcome := v.lastRun(t)
	const why = "localhost:4873 resolves to 127.0.0.1, a loopback address: the user can allow it with the egress rule localhost:4873=127.0.0.1"
	if err == nil || outcome != pawl.OutcomeRefused || !strings.Contains(out, why) {
		t.Errorf("%v, %s\n%s", err, outcome, out)
	}
	if len(run.prepared) != 1 || !strings.Contains(run.prepared[0].Failed, "was ended; the egress proxy refused a request: "+why) {
		t.Errorf("prepared %+v", run.prepared)
	}
}
