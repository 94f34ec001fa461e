package ecosystem

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// parts are "ecosystem folder" lines.
func parts(p Project) []string {
	var lines []string
	for _, part := range p.Parts {
		lines = append(lines, part.Ecosystem+" "+part.Folder)
	}
	return lines
}

// F-28: manifests one and two levels down are found, and what runs there says where.
func TestMonorepo(t *testing.T) {
	const tested = `package.json={"scripts":{"test":"mocha"},"dependencies":{"a":"1"}}`
	dir := files("README.md", "api/go.mod=module api\nrequire a.b/c v1.0.0\n", "web/"+tested, "web/package-lock.json",
		"services/mail/pyproject.toml=[tool.pytest.ini_options]\n", "services/mail/requirements.txt=pytest\n")
	p := Detect(dir)
	if d := cmp.Diff([]string{"go api", "npm web", "pip services/mail"}, parts(p)); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff([]string{"cd api && go mod download", "cd web && npm ci",
		"cd services/mail && python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"}, p.Prepare); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"format-api: cd api && { " + gofmtLine + "; }", "types-api: cd api && go vet ./...", "tests-api: cd api && go test -json ./... => go-test",
		"security-api?: cd api && govulncheck ./...", "tests-web: cd web && npm run test",
		"tests-services-mail: cd services/mail && .venv/bin/python -m pytest --junitxml=.pawl-pytest.xml => junit services/mail/.pawl-pytest.xml",
	}, summary(p.Gates)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"go", "javascript", "python"}, p.Languages); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]pawl.LockUpdate{
		{Folder: "api", Ecosystem: "go", Command: "cd api && go get -t ./... && go mod download all", Files: []string{"go.sum", "go.work.sum", "go.mod"}},
		{Folder: "web", Ecosystem: "npm", Command: "cd web && npm install --package-lock-only --ignore-scripts", Files: []string{"package-lock.json", "npm-shrinkwrap.json"}},
	}, Updates(dir)); d != "" {
		t.Error(d)
	}
}

func TestShapesOfMonorepos(t *testing.T) {
	const tested = `package.json={"scripts":{"test":"mocha"}}`
	for _, c := range []struct {
		name  string
		files []string
		parts []string
		gates []string // their names
	}{
		{"a workspace belongs to the root", []string{`package.json={"workspaces":["web"]}`, "web/" + tested}, []string{"npm ."}, nil},
		{"a cargo workspace", []string{"Cargo.toml=[workspace]\nmembers = [\"a\"]\n", "a/Cargo.toml"}, []string{"cargo ."}, []string{"types", "tests"}},
		{"another language below the root", []string{"Cargo.toml", "web/" + tested}, []string{"cargo .", "npm web"}, []string{"types", "tests", "tests-web"}},
		{"a folder in a folder that has the language", []string{"web/" + tested, "web/sub/" + tested}, []string{"npm web"}, []string{"tests-web"}},
		{"a folder in a folder of another language", []string{"web/" + tested, "web/api/Cargo.toml"}, []string{"npm web", "cargo web/api"}, []string{"tests-web", "types-web-api", "tests-web-api"}},
		{"three levels down", []string{"a/b/c/" + tested}, nil, nil},
		{"two languages in a folder", []string{"app/" + tested, "app/Cargo.toml"}, []string{"npm app", "cargo app"}, []string{"tests-app", "types-app", "tests-app-rust"}},
		{"the same name in two folders", []string{"a/web/" + tested, "b/web/" + tested}, []string{"npm a/web", "npm b/web"}, []string{"tests-a-web", "tests-b-web"}},
		{"names that differ in punctuation", []string{"a/b/" + tested, "a-b/" + tested, "a b/" + tested}, []string{"npm a b", "npm a-b", "npm a/b"},
			[]string{"tests-a-b", "tests-a-b-javascript", "tests-a-b-javascript-2"}},
		{"other people's code", []string{"node_modules/x/" + tested, "vendor/x/" + tested, ".hidden/" + tested, "testdata/" + tested, "examples/a/" + tested, "a/fixtures/" + tested}, nil, nil},
		{"requirements of the documentation", []string{"go.mod", "docs/requirements.txt=sphinx\n"}, []string{"go ."}, []string{"format", "types", "tests", "security"}},
		{"a Makefile above parts", []string{"Makefile=test:\n\tx\nlint:\n\ty\n", "web/" + tested}, []string{"npm web", "make ."}, []string{"tests-web", "lint"}},
		{"folders with names of manifests", []string{"go.mod/x", "web/package.json/x", "Cargo.toml/Cargo.toml"}, []string{"cargo Cargo.toml"}, []string{"types-Cargo.toml", "tests-Cargo.toml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Detect(files(c.files...))
			if d := cmp.Diff(c.parts, parts(p)); d != "" {
				t.Errorf("parts:\n%s", d)
			}
			var names, ofParts []string
			for _, g := range p.Gates {
				names = append(names, g.Name)
			}
			for _, part := range p.Parts {
				ofParts = append(ofParts, part.Gates...)
			}
			if d := cmp.Diff(c.gates, names); d != "" {
				t.Errorf("gates:\n%s", d)
			}
			if d := cmp.Diff(names, ofParts); d != "" {
				t.Errorf("gates of the parts:\n%s", d)
			}
		})
	}
}

// Names of folders are words of a shell line.
func TestOddNamesOfFolders(t *testing.T) {
	for name, want := range map[string]string{
		"my web": "cd 'my web' && npm run test", "it's": `cd 'it'\''s' && npm run test`, "-x": "cd ./-x && npm run test",
		"$(touch x)": "cd '$(touch x)' && npm run test", "größe": "cd 'größe' && npm run test", "a;b": "cd 'a;b' && npm run test",
	} {
		p := Detect(files(name + `/package.json={"scripts":{"test":"mocha"}}`))
		if len(p.Gates) != 1 || p.Gates[0].Command != want {
			t.Errorf("%q: %q", name, summary(p.Gates))
		}
	}
	if p := Detect(files("new\nline/" + `package.json={"scripts":{"test":"mocha"}}`)); len(p.Parts) != 0 {
		t.Errorf("%+v", p.Parts)
	}
}

// However large a repository is, a bounded part of it is looked at, and what was
// left out is said.
func TestLimits(t *testing.T) {
	var many []string
	for i := range maxParts + 1 {
		many = append(many, fmt.Sprintf(`p%02d/package.json={"scripts":{"test":"mocha"}}`, i))
	}
	p := Detect(files(many...))
	if len(p.Parts) != maxParts || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "first 20 folders with a manifest") {
		t.Errorf("%d parts, notes %q", len(p.Parts), p.Notes)
	}
	many = nil
	for i := range maxFolders - 1 {
		many = append(many, fmt.Sprintf("p%03d/x", i))
	}
	if p = Detect(files(append(many, "zz/go.mod")...)); len(p.Parts) != 1 || p.Notes != nil {
		t.Errorf("at the limit: %d parts, notes %q", len(p.Parts), p.Notes)
	}
	p = Detect(files(append(many, "pzzz/x", "zz/go.mod")...))
	if len(p.Parts) != 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "first 200 folders were") {
		t.Errorf("%d parts, notes %q", len(p.Parts), p.Notes)
	}
}

// On disk: links are not followed to folders, and not to what is no file.
func TestLinks(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{filepath.Join(outside, "go.mod"): "module x\n", filepath.Join(root, "real", "Cargo.toml"): ""} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"web": outside, "package.json": outside, "pom.xml": "pom.xml", "loop": "."} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := parts(Detect(os.DirFS(root))); !slices.Equal(got, []string{"cargo real"}) {
		t.Errorf("found %q", got)
	}
}
