package class

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2/unstable"

	"pawl"
)

// pair is a file before and after a change. NUL alone stands for no file.
type pair struct {
	name, base, candidate string
	parts                 string // the classes that differ
}

const absent = "\x00"

func content(text string) []byte {
	if text == absent {
		return nil
	}
	return []byte(text)
}

const packageBase = `{
  "name": "shop",
  "type": "module",
  "scripts": {
    "test": "node --test"
  },
  "dependencies": {"a": "^1.0.0"},
  "jest": {"bail": true}
}
`

const cargoBase = `# The package.
[package]
name = "shop"
edition = "2021"

[lib]
name = "shop"

[dependencies]
serde = { version = "1", features = [
  "derive", # [lib]
] }

[[bin]]
name = "one"

[[bin]]
name = "two"
test = true

[[test]]
name = "all"
path = "tests/all.rs"

[profile.test]
opt-level = 1
`

const pyprojectBase = `[build-system]
requires = ["hatchling"]

[project]
name = "shop"
version = "1"
dependencies = [
  "requests",
]

[project.scripts]
shop = "shop:main"

# How tests run.
[tool.pytest.ini_options]
addopts = "-q"

[tool.hatch.build]
include = ["shop"]
`

const pomBase = `<?xml version="1.0" encoding="UTF-8"?>
<!-- shop -->
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <artifactId>shop</artifactId>
  <properties>
    <java.version>21</java.version>
    <encoding>UTF-8</encoding>
    <maven.test.skip>false</maven.test.skip>
  </properties>
  <dependencies>
    <dependency><artifactId>junit</artifactId></dependency>
  </dependencies>
  <build>
    <finalName>shop</finalName>
    <plugins>
      <plugin>
        <artifactId>maven-surefire-plugin</artifactId>
        <configuration><failIfNoTests>true</failIfNoTests></configuration>
      </plugin>
      <plugin><artifactId>maven-jar-plugin</artifactId></plugin>
    </plugins>
  </build>
  <profiles>
    <profile>
      <id>ci</id>
      <properties><skipTests>false</skipTests></properties>
    </profile>
  </profiles>
</project>
`

const setupBase = `[metadata]
name = shop

[options]
packages = find:
install_requires =
    requests
    # a comment
    click

[tool:pytest]
addopts = -q
`

const rustBase = `//! A shop.
#![warn(missing_docs)]

use std::fmt;

/// Adds. "not a string {"
pub fn add(a: i32, b: i32) -> i32 {
    let c = '{';
    let s = "}\"#[cfg(test)] mod x {";
    let r = r#"a "quoted" } "#;
    /* { /* nested */ } */
    a + b + (c as i32) * 0 + (s.len() + r.len()) as i32 * 0
}

impl Shop<'_> {
    pub fn name(&self) -> &'static str { "shop" }

    #[cfg(test)]
    fn for_tests() -> Self { Shop { name: "x" } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }
}
`

func pairs() []pair {
	replace := func(text, old, with string) string {
		if !strings.Contains(text, old) {
			panic("no " + old)
		}
		return strings.Replace(text, old, with, 1)
	}
	return []pair{
		{"package.json", packageBase, replace(packageBase, "node --test", "true"), "gate_input"},
		{"package.json", packageBase, replace(packageBase, `"jest": {"bail": true}`, `"mocha": {}`), "gate_input"},
		{"package.json", packageBase, replace(packageBase, "^1.0.0", "^2.0.0"), "dependency"},
		{"package.json", packageBase, replace(packageBase, `"shop"`, `"shop2"`), "code"},
		{"package.json", packageBase, replace(replace(packageBase, `"shop"`, `"shop2"`), "node --test", "true"), "code gate_input"},
		{"package.json", packageBase, replace(packageBase, `"type": "module"`, `"husky": {"hooks": {}}`), "code policy"},
		{"package.json", packageBase, absent, "code gate_input dependency"},
		{"package.json", absent, packageBase, "code gate_input dependency"},
		{"package.json", packageBase, strings.ReplaceAll(packageBase, "\n  ", " "), "gate_input"}, // the text of scripts changed
		{"package.json", packageBase, packageBase + "\n", "dependency"},
		{"package.json", packageBase, `{"scripts": {"test": "true"}, ` + packageBase[1:], "dependency"}, // the last one counts
		{"package.json", packageBase, packageBase[:len(packageBase)-3] + `, "scripts": {"test": "true"}}`, "gate_input"},
		{"package.json", packageBase, "\uFEFF" + packageBase, "dependency"},
		{"package.json", packageBase, "{", "gate_input"},
		{"package.json", packageBase, "[]", "gate_input"},
		{"package.json", packageBase, "{}", "code gate_input dependency"},
		{"package.json", "{}", packageBase, "code gate_input dependency"},
		{"packages/a/package.json", packageBase, replace(packageBase, "node --test", "true"), "gate_input"},
		{"testdata/package.json", packageBase, "{}", "support"},
		{"node_modules/a/package.json", packageBase, "{}", "vendored"},
		{"composer.json", `{"name": "a", "scripts": {"test": "phpunit"}, "require": {}}`, `{"name": "a", "scripts": {"test": "@php -v"}, "require": {"b": "1"}}`, "gate_input dependency"},
		{"Cargo.toml", cargoBase, replace(cargoBase, "edition = \"2021\"", "edition = \"2024\""), "code"},
		{"Cargo.toml", cargoBase, replace(cargoBase, "[lib]\n", "[lib]\ntest = false\n"), "gate_input"},
		{"Cargo.toml", cargoBase, replace(cargoBase, "[lib]\nname = \"shop\"\n\n", ""), "code"},
		{"Cargo.toml", cargoBase, replace(cargoBase, "test = true\n", "test = false\n"), "gate_input"},
		{"Cargo.toml", cargoBase, replace(cargoBase, "opt-level = 1", "debug-assertions = false"), "gate_input"},
		{"Cargo.toml", cargoBase, replace(cargoBase, "edition = \"2021\"\n", "edition = \"2021\"\nautotests = false\nbuild = \"b.rs\"\n"), "gate_input"},
		{"Cargo.toml", cargoBase, replace(cargoBase, "\"derive\",", "\"derive\", \"rc\","), "dependency"},
		{"Cargo.toml", cargoBase, cargoBase + "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n", "dependency"},
		{"Cargo.toml", cargoBase, cargoBase + "\n[workspace]\nmembers = [\"a\"]\nexclude = [\"b\"]\n", "gate_input"},
		{"Cargo.toml", cargoBase, replace(cargoBase, "[lib]\n", "[lib]\npath = \"src/shop.rs\"\n") + "[lints.clippy]\nall = \"warn\"", "code gate_input"},
		{"Cargo.toml", cargoBase, "lib.test = false\n" + cargoBase, "gate_input"},
		{"Cargo.toml", cargoBase, "profile = { test = { opt-level = 3 } }\n" + cargoBase, "gate_input"},
		{"Cargo.toml", cargoBase, "lib = { test = false, name = \"x\" }\n" + cargoBase, "gate_input"},
		{"Cargo.toml", cargoBase, "workspace = { dependencies = {}, members = [\"a\"] }\n" + cargoBase, "gate_input"},
		{"Cargo.toml", cargoBase, "[package\n", "gate_input"},
		{"Cargo.toml", cargoBase, absent, "code gate_input dependency"},
		{"Cargo.toml", absent, cargoBase, "code gate_input dependency"},
		{".cargo/config.toml", "[source.crates-io]\nreplace-with = \"v\"\n", "[source.crates-io]\nreplace-with = \"w\"\n[build]\nrustflags = []\n", "gate_input dependency"},
		{"pyproject.toml", pyprojectBase, replace(pyprojectBase, "-q", "-k nothing"), "gate_input"},
		{"pyproject.toml", pyprojectBase, replace(pyprojectBase, "\"requests\",", "\"requests\", \"x\","), "dependency"},
		{"pyproject.toml", pyprojectBase, replace(pyprojectBase, "version = \"1\"", "version = \"2\""), "code"},
		{"pyproject.toml", pyprojectBase, replace(pyprojectBase, "hatchling", "setuptools"), "dependency"},
		{"pyproject.toml", pyprojectBase, replace(pyprojectBase, "# How tests run.\n[tool.pytest.ini_options]\naddopts = \"-q\"\n\n", ""), "gate_input"},
		{"pyproject.toml", pyprojectBase, pyprojectBase + "[tool]\npytest.x = 1\nruff = { ignore = [] }\nshop = 1\n[project.entry-points.pytest11]\na = \"b\"\n", "code gate_input"},
		{"pyproject.toml", pyprojectBase, "tool.coverage.run.omit = [\"*\"]\n" + pyprojectBase, "gate_input"},
		{"setup.cfg", setupBase, replace(setupBase, "-q", "-k nothing"), "gate_input"},
		{"setup.cfg", setupBase, replace(setupBase, "    click\n", "    flask\n"), "dependency"},
		{"setup.cfg", setupBase, replace(setupBase, "find:", "shop"), "code"},
		{"setup.cfg", setupBase, setupBase + "[coverage:run]\nomit = *\n[mypy-x.*]\nignore_errors = True\n", "gate_input"},
		{"pom.xml", pomBase, replace(pomBase, "<maven.test.skip>false", "<maven.test.skip>true"), "gate_input"},
		{"pom.xml", pomBase, replace(pomBase, "<failIfNoTests>true", "<failIfNoTests>false"), "gate_input"},
		{"pom.xml", pomBase, replace(pomBase, "<skipTests>false", "<skipTests>true"), "gate_input"},
		{"pom.xml", pomBase, replace(pomBase, ">junit<", ">junit5<"), "dependency"},
		{"pom.xml", pomBase, replace(pomBase, ">21<", ">22<"), "dependency"},
		{"pom.xml", pomBase, replace(pomBase, "maven-jar-plugin", "maven-war-plugin"), "code"},
		{"pom.xml", pomBase, replace(pomBase, pomBase[strings.Index(pomBase, "  <build>"):strings.Index(pomBase, "  <profiles>")], ""), "code gate_input"},
		{"pom.xml", pomBase, replace(pomBase, pomBase[strings.Index(pomBase, "  <build>"):strings.Index(pomBase, "  <profiles>")], "  <build/>\n"), "code gate_input"},
		{"pom.xml", pomBase, replace(pomBase, "</project>", ""), "gate_input"},
		{"App/App.csproj", "<Project Sdk=\"x\"><PropertyGroup><A>1</A></PropertyGroup><ItemGroup><PackageReference Include=\"a\" Version=\"1\"/></ItemGroup></Project>",
			"<Project Sdk=\"x\"><PropertyGroup><A>1</A><NoWarn>CS1</NoWarn></PropertyGroup><ItemGroup><PackageReference Include=\"a\" Version=\"2\"/></ItemGroup></Project>", "gate_input dependency"},
		{"src/lib.rs", rustBase, replace(rustBase, "add(1, 2), 3", "add(1, 2), 4"), "test"},
		{"src/lib.rs", rustBase, replace(rustBase, "a + b +", "a - b +"), "code"},
		{"src/lib.rs", rustBase, replace(replace(rustBase, "a + b +", "a - b +"), "add(1, 2), 3", "add(1, 2), 4"), "code test"},
		{"src/lib.rs", rustBase, replace(rustBase, "name: \"x\"", "name: \"y\""), "test"},
		{"src/lib.rs", rustBase, replace(rustBase, "\"shop\" }", "\"store\" }"), "code"},
		{"src/lib.rs", rustBase, replace(rustBase, "impl Shop<'_>", "impl<'a> Shop<'a>"), "code test"}, // the helper is another type's
		{"src/lib.rs", rustBase, replace(rustBase, "#[cfg(test)]\nmod", "#[cfg(not(test))]\nmod"), "code test"},
		{"src/lib.rs", rustBase, replace(rustBase, "#[cfg(test)]\nmod", "#[cfg(all(test, unix))]\nmod"), "test"},
		{"src/lib.rs", rustBase, replace(rustBase, "#[cfg(test)]\nmod", "#[cfg(any(test, unix))]\nmod"), "code test"},
		{"src/lib.rs", rustBase, replace(rustBase, "/// Adds", "#[cfg(test)]\nuse x::{y, z};\n#[tokio::test]\nasync fn t() { }\n\n/// Adds"), "test"},
		{"src/lib.rs", rustBase, rustBase + "\nmod inner {\n    pub const A: [u8; 2] = [1, 2];\n    #[cfg(test)]\n    mod tests { #[test] fn x() {} }\n}\n", "code test"},
		{"src/lib.rs", rustBase, rustBase + "\nproptest! { #[test] fn p(x in 0..3) { } }\n", "test"},
		{"src/lib.rs", rustBase, replace(rustBase, "/// Adds", "#[cfg(feature = \"test-utils\")]\npub fn fake() {}\n\n/// Adds"), "test"},
		{"src/lib.rs", rustBase, absent, "code test"},
		{"src/lib.rs", absent, rustBase, "code test"},
		{"src/lib.rs", rustBase, rustBase + "}", "code test"},
		{"src/lib.rs", rustBase, rustBase + "\n\n", "code"},
		{"src/lib.rs", rustBase, "#![cfg(test)]\n" + rustBase, "code test"},
		{"src/helpers.rs", absent, "#![cfg(test)]\npub fn x() {}\n", "test"},
		{"tests/all.rs", rustBase, "fn x() {}", "test"},
		{"plugins/audit/go.mod", absent, "module x", "gate_input dependency"},
		{"plugins/audit/go.mod", "module x", "module y", "dependency"},
		{"go.mod", absent, "module x", "dependency"},
		{"a.go", "package a", "package b", "code"},
		{"a.go", "package a", "package a", ""},
		{"a.go", absent, "", "code"},
		{"a.go", "", absent, "code"},
		{"a.go", absent, absent, ""},
		{"a_test.go", "package a", absent, "test"},
		{".github/workflows/ci.yml", "a", "b", "policy"},
	}
}

func words(classes []pawl.PathClass) string {
	list := make([]string, len(classes))
	for i, c := range classes {
		list[i] = string(c)
	}
	return strings.Join(list, " ")
}

func TestParts(t *testing.T) {
	c := New(nil, nil)
	for i, p := range pairs() {
		if got := words(c.Parts(p.name, content(p.base), content(p.candidate))); got != p.parts {
			t.Errorf("%d: %s: the parts %q differ, want %q\n%s", i, p.name, got, p.parts, p.candidate)
		}
		if got := words(c.Parts(p.name, content(p.candidate), content(p.base))); got != p.parts && p.name != "plugins/audit/go.mod" {
			t.Errorf("%d: %s: backwards the parts %q differ, want %q", i, p.name, got, p.parts)
		}
	}
}

// For every set of classes, what Mix gives has the base's parts of these classes and the
// candidate's of all others, and can be read.
func TestMixOfAllSets(t *testing.T) {
	c := New(nil, nil)
	var all []pair
	for _, p := range pairs() {
		all = append(all, p, pair{name: p.name, base: p.candidate, candidate: p.base})
	}
	for i, p := range all {
		base, candidate := content(p.base), content(p.candidate)
		if data, there := c.Mix(p.name, base, candidate, nil); there != (candidate != nil) || string(data) != string(candidate) {
			t.Errorf("%d: %s: with nothing of the base it is %q", i, p.name, data)
		}
		if data, there := c.Mix(p.name, base, candidate, pawl.PathClasses); there != (base != nil) || string(data) != string(base) {
			t.Errorf("%d: %s: with all of the base it is %q", i, p.name, data)
		}
		_, _, whole := c.trees(p.name, base, candidate)
		if base == nil || candidate == nil || whole != nil {
			continue
		}
		split := []pawl.PathClass{pawl.ClassCode, pawl.ClassTest, pawl.ClassGateInput, pawl.ClassPolicy, pawl.ClassDependency}
		for set := range 1 << len(split) {
			var of, others []pawl.PathClass
			for j, class := range split {
				if set&(1<<j) != 0 {
					of = append(of, class)
				} else {
					others = append(others, class)
				}
			}
			data, there := c.Mix(p.name, base, candidate, of)
			if !there || !readable(p.name, data) {
				t.Fatalf("%d: %s: with %s of the base it cannot be read:\n%s", i, p.name, words(of), data)
			}
			b, f, m := treeOf(t, c, p.name, base), treeOf(t, c, p.name, candidate), treeOf(t, c, p.name, data)
			if !slices.Equal(frames(b), frames(f)) {
				continue // a test in a block that only one side has brings the frame of that block with it
			}
			for _, class := range of {
				sameTexts(t, p.name, class, b, m, data)
			}
			for _, class := range others {
				sameTexts(t, p.name, class, f, m, data)
			}
			if t.Failed() {
				t.Fatalf("%d: with %s of the base", i, words(of))
			}
		}
	}
}

// frames returns the keys of blocks of code that hold tests.
func frames(n *node) []string {
	var keys []string
	for _, p := range n.parts {
		if p.frame && p.hasAny(isTestClass) {
			keys = append(keys, p.key)
		}
		keys = append(keys, frames(p)...)
	}
	slices.Sort(keys)
	return keys
}

func treeOf(t *testing.T, c *Classes, name string, data []byte) *node {
	t.Helper()
	tree, err := c.formatOf(name)(data)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, data)
	}
	return tree
}

func sameTexts(t *testing.T, name string, class pawl.PathClass, want, got *node, data []byte) {
	t.Helper()
	w, g := want.texts()[class], got.texts()[class]
	slices.Sort(w)
	slices.Sort(g)
	if !slices.Equal(w, g) {
		t.Errorf("%s: the %s parts are %q, want %q:\n%s", name, class, g, w, data)
	}
}

func readable(name string, data []byte) bool {
	switch path.Ext(name) {
	case ".json":
		return json.Valid(trimBOM(data))
	case ".toml":
		var p unstable.Parser
		p.Reset(data)
		for p.NextExpression() {
			_ = p.Expression()
		}
		return p.Error() == nil
	case ".xml", ".csproj":
		dec := xml.NewDecoder(strings.NewReader(string(data)))
		for {
			if _, err := dec.Token(); err == io.EOF {
				return true
			} else if err != nil {
				return false
			}
		}
	}
	return true
}

// What Mix writes is what a person would have written.
func TestMixTexts(t *testing.T) {
	gate := []pawl.PathClass{pawl.ClassTest, pawl.ClassSupport, pawl.ClassGateInput, pawl.ClassVendored}
	for _, c := range []struct {
		name, base, candidate string
		from                  []pawl.PathClass
		want                  string
	}{
		{"package.json", packageBase, `{
  "name": "shop",
  "scripts": {
    "test": "true"
  },
  "dependencies": {"a": "^2.0.0"}
}
`, gate, `{
  "name": "shop",
  "scripts": {
    "test": "node --test"
  },
  "dependencies": {"a": "^2.0.0"},
  "jest": {"bail": true}
}
`},
		{"package.json", `{"scripts": {"test": "a"}}`, "{}\n", gate, "{\"scripts\": {\"test\": \"a\"}}\n"},
		{"package.json", `{}`, `{"scripts": {"test": "a"}}`, gate, "{}"},
		{"package.json", packageBase, absent, gate, packageBase},
		{"package.json", absent, "{\n  \"name\": \"a\",\n  \"scripts\": {}\n}", gate, "{\n  \"name\": \"a\"\n}"},
		{"package.json", `{"name": "a"}`, absent, gate, absent},
		{"Cargo.toml", cargoBase, `[package]
name = "shop"
edition = "2024"
autotests = false

[lib]
test = false
name = "shop"

[dependencies]
serde = "2"

[[bin]]
name = "two"

[[bin]]
name = "three"
test = false`, gate, `[package]
name = "shop"
edition = "2024"

[lib]
name = "shop"

[dependencies]
serde = "2"

[[bin]]
name = "two"
test = true

[[test]]
name = "all"
path = "tests/all.rs"

[profile.test]
opt-level = 1

[[bin]]
name = "three"
`},
		{"pyproject.toml", pyprojectBase, "[project]\nname = \"shop\"\ndependencies = [\"new\"]\n\n[tool.pytest.ini_options]\naddopts = \"-k nothing\"\n\n[tool.ruff]\nignore = [\"ALL\"]\n", gate,
			"[project]\nname = \"shop\"\ndependencies = [\"new\"]\n\n# How tests run.\n[tool.pytest.ini_options]\naddopts = \"-q\"\n"},
		{"setup.cfg", setupBase, "[options]\npackages = shop\n\n[tool:pytest]\naddopts = -k nothing\n\n[flake8]\nignore = E\n", gate, "[options]\npackages = shop\n\n[tool:pytest]\naddopts = -q\n"},
		{"src/lib.rs", rustBase, strings.ReplaceAll(strings.ReplaceAll(rustBase, "a + b", "b + a"), "add(1, 2), 3", "add(1, 2), 4"), gate, strings.ReplaceAll(rustBase, "a + b", "b + a")},
		{"src/lib.rs", rustBase, strings.ReplaceAll(rustBase, "a + b", "b + a") + "\n#[test]\nfn more() {}\n", []pawl.PathClass{pawl.ClassCode}, rustBase + "\n#[test]\nfn more() {}\n"},
		{"src/lib.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests;\n", "fn b() {}", gate, "fn b() {}\n\n\n#[cfg(test)]\nmod tests;"},
		{"src/lib.rs", "#[cfg(test)]\nmod t { fn x() {} }\n", "mod t { fn y() {} #[test] fn z() {} }\n", []pawl.PathClass{pawl.ClassCode}, "mod t { #[test] fn z() {}}\n"},
		{"src/new.rs", absent, rustBase, []pawl.PathClass{pawl.ClassCode}, absent},
		{"src/old.rs", rustBase, absent, gate, absent},
		{"a_test.go", "a", "b", gate, "a"},
		{"a_test.go", absent, "b", gate, absent},
		{"a.go", "a", "b", gate, "b"},
		{"plugins/a/go.mod", absent, "module a", gate, absent},
		{"plugins/a/go.mod", absent, "module a", []pawl.PathClass{pawl.ClassTest}, "module a"},
	} {
		data, there := New(nil, nil).Mix(c.name, content(c.base), content(c.candidate), c.from)
		if there != (c.want != absent) || there && string(data) != c.want {
			t.Errorf("%s: it is %v\n%s\nwant\n%s", c.name, there, data, c.want)
		}
	}
}

// Files that are read and written again are the same.
func TestRoundTrip(t *testing.T) {
	c := New(nil, nil)
	for _, p := range pairs() {
		for _, data := range [][]byte{content(p.base), content(p.candidate)} {
			read := c.formatOf(p.name)
			if data == nil || read == nil {
				continue
			}
			tree, err := read(data)
			if err != nil {
				continue
			}
			var out strings.Builder
			tree.write(&out)
			text := string(endLine(trimBOM(data)))
			if strings.Contains(text, "/>") || strings.Count(text, `"scripts"`) > 1 {
				continue // empty elements are written out, and of two keys one is kept
			}
			if got := string(endLine([]byte(out.String()))); got != text {
				t.Errorf("%s: read and written again it is\n%s\nwant\n%s", p.name, out.String(), text)
			}
		}
	}
}

func FuzzMix(f *testing.F) {
	for _, p := range pairs() {
		f.Add(p.name, p.base, p.candidate, uint8(0b1010))
	}
	f.Fuzz(func(t *testing.T, name, base, candidate string, set uint8) {
		c := New(nil, nil)
		var from []pawl.PathClass
		for j, class := range pawl.PathClasses {
			if set&(1<<j) != 0 {
				from = append(from, class)
			}
		}
		if parts := c.Parts(name, []byte(base), []byte(candidate)); (len(parts) == 0) != (base == candidate) {
			t.Errorf("%s: parts %v", name, parts)
		}
		data, there := c.Mix(name, []byte(base), []byte(candidate), from)
		if !there {
			t.Errorf("%s is not there", name)
		}
		if c.formatOf(name) != nil && readable(name, []byte(base)) && readable(name, []byte(candidate)) && !readable(name, data) {
			t.Errorf("%s cannot be read:\n%q", name, data)
		}
	})
}
