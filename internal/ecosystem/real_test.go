package ecosystem

import (
	"archive/zip"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// project writes files to a folder and returns it.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	return root
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// archive writes a zip file.
func archive(t *testing.T, name string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(file)
		if err == nil {
			_, err = w.Write([]byte(files[file]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// shell runs a line at the root of a project, with a home of its own.
func shell(t *testing.T, root, line string, environ ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", line)
	cmd.Dir = root
	home := filepath.Join(filepath.Dir(root), "home")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CI=true", "npm_config_offline=true", "npm_config_audit=false", "npm_config_registry=http://127.0.0.1:9/",
		"PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "CARGO_NET_OFFLINE=true", "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOTOOLCHAIN=local",
		"PYENV_ROOT=" + os.Getenv("PYENV_ROOT"), "RUSTUP_HOME=" + os.Getenv("RUSTUP_HOME")}, environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, root, line string, environ ...string) {
	t.Helper()
	if out, err := shell(t, root, line, environ...); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

func needs(t *testing.T, program string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs a package manager")
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"PYENV_ROOT": ".pyenv", "RUSTUP_HOME": ".rustup"} {
		if os.Getenv(name) == "" {
			t.Setenv(name, filepath.Join(home, folder))
		}
	}
}

// try runs what is proposed for a project: the gates' tests fail before its
// dependencies are put in place, and pass after. F-22
func try(t *testing.T, root string, environ ...string) Project {
	t.Helper()
	p := Detect(os.DirFS(root))
	tests := func() (string, error) {
		for _, g := range p.Gates {
			if strings.HasPrefix(g.Name, "tests") {
				return shell(t, root, g.Command, append(environ, "GOPROXY=off")...)
			}
		}
		t.Fatalf("no gate tests in %q", summary(p.Gates))
		return "", nil
	}
	if out, err := tests(); err == nil {
		t.Errorf("the tests pass without their dependencies:\n%s", out)
	}
	if len(p.Prepare) == 0 {
		t.Fatal("nothing is prepared")
	}
	for _, line := range p.Prepare {
		must(t, root, line, environ...)
	}
	if out, err := tests(); err != nil {
		t.Errorf("after prepare: %v\n%s", err, out)
	}
	return p
}

// update brings the lock files up to date and holds them to having a text.
func update(t *testing.T, root, lock, text string, environ ...string) {
	t.Helper()
	all := Updates(os.DirFS(root))
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	must(t, root, all[0].Command, environ...)
	data, err := os.ReadFile(filepath.Join(root, lock))
	if err != nil || !strings.Contains(string(data), text) {
		t.Errorf("%v\n%s", err, data)
	}
	if !slices.ContainsFunc(all[0].Files, func(p string) bool { ok, err := filepath.Match(p, filepath.Base(lock)); return ok && err == nil }) {
		t.Errorf("%s is not among %q", lock, all[0].Files)
	}
}

func TestRealNpm(t *testing.T) {
	needs(t, "npm")
	root := project(t, map[string]string{
		"web/package.json":    `{"name":"x","version":"1.0.0","scripts":{"test":"node test.js"},"dependencies":{"one":"file:../packed/one"}}`,
		"web/test.js":         "require('one')\n",
		"packed/one/index.js": "module.exports = 1\n",
		"packed/two/index.js": "module.exports = 2\n",
	})
	write(t, filepath.Join(root, "packed/one/package.json"), `{"name":"one","version":"1.0.0"}`)
	write(t, filepath.Join(root, "packed/two/package.json"), `{"name":"two","version":"1.0.0"}`)
	must(t, filepath.Join(root, "web"), "npm install --package-lock-only")
	if p := try(t, root); p.Prepare[0] != "cd web && npm ci" {
		t.Errorf("prepared by %q", p.Prepare)
	}
	write(t, filepath.Join(root, "web/package.json"),
		`{"name":"x","version":"1.0.0","scripts":{"test":"node test.js"},"dependencies":{"one":"file:../packed/one","two":"file:../packed/two"}}`)
	if _, err := shell(t, root, "cd web && npm ci"); err == nil {
		t.Error("npm ci accepts a lock file that is out of date")
	}
	update(t, root, "web/package-lock.json", "packed/two")
	must(t, root, "cd web && npm ci && node -e \"require('two')\"")
}

func TestRealPip(t *testing.T) {
	needs(t, "python3")
	root := project(t, map[string]string{
		"requirements.txt": "./wheels/one-1.0-py3-none-any.whl\n",
		"tests/test_a.py":  "import unittest\nimport one\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(one.n, 1)\n",
	})
	archive(t, filepath.Join(root, "wheels/one-1.0-py3-none-any.whl"), map[string]string{
		"one.py":                     "n = 1\n",
		"one-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n",
		"one-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"one-1.0.dist-info/RECORD":   "one.py,,\none-1.0.dist-info/METADATA,,\none-1.0.dist-info/WHEEL,,\none-1.0.dist-info/RECORD,,\n",
	})
	try(t, root)
}

func TestRealGo(t *testing.T) {
	needs(t, "go")
	registry := t.TempDir()
	for _, name := range []string{"one", "two"} {
		path := "mod.test/" + name
		at := filepath.Join(registry, path, "@v")
		write(t, filepath.Join(at, "list"), "v1.0.0\n")
		write(t, filepath.Join(at, "v1.0.0.info"), `{"Version":"v1.0.0"}`)
		write(t, filepath.Join(at, "v1.0.0.mod"), "module "+path+"\n")
		archive(t, filepath.Join(at, "v1.0.0.zip"), map[string]string{path + "@v1.0.0/go.mod": "module " + path + "\n", path + "@v1.0.0/a.go": "package " + name + "\n\nconst N = 1\n"})
	}
	code := "package x\n\nimport (\n\t\"mod.test/one\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {\n\tif one.N != 1 {\n\t\tt.Fail()\n\t}\n}\n"
	root := project(t, map[string]string{"go.mod": "module x\n\ngo 1.26\n\nrequire mod.test/one v1.0.0\n", "a_test.go": code})
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"GOCACHE=" + strings.TrimSpace(string(out)), "GOMODCACHE=" + filepath.Join(t.TempDir(), "mod"), "GOPROXY=file://" + registry}
	update(t, root, "go.sum", "mod.test/one v1.0.0 h1:", environ...)
	// The modules of a commit are not there before prepare.
	environ[1] = "GOMODCACHE=" + filepath.Join(t.TempDir(), "mod")
	try(t, root, environ...)
	// A requirement that nothing imports as yet stays, and what it needs is there.
	write(t, filepath.Join(root, "go.mod"), "module x\n\ngo 1.26\n\nrequire mod.test/one v1.0.0\n\nrequire mod.test/two v1.0.0\n")
	update(t, root, "go.sum", "mod.test/two v1.0.0 h1:", environ...)
	update(t, root, "go.mod", "mod.test/two", environ...)
	write(t, filepath.Join(root, "b.go"), "package x\n\nimport _ \"mod.test/two\"\n")
	must(t, root, "go vet ./...", append(environ, "GOPROXY=off")...)
}

func TestRealCargo(t *testing.T) {
	needs(t, "cargo")
	root := project(t, map[string]string{
		"Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": "",
		"two/Cargo.toml": "[package]\nname = \"two\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "two/src/lib.rs": "",
	})
	must(t, root, "cargo generate-lockfile")
	if p := Detect(os.DirFS(root)); p.Prepare != nil {
		t.Errorf("prepared by %q though nothing is fetched", p.Prepare)
	}
	write(t, filepath.Join(root, "Cargo.toml"), "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\ntwo = { path = \"two\" }\n")
	if _, err := shell(t, root, "cargo metadata --locked --format-version 1"); err == nil {
		t.Error("cargo accepts a lock file that is out of date")
	}
	update(t, root, "Cargo.lock", `name = "two"`)
	must(t, root, "cargo metadata --locked --format-version 1")
}
