// Package detect proposes gates for a project from the files at its root. It
// reads a few small files and runs nothing; what it proposes is for a person
// to look at.
package detect

import (
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"pawl"
)

// maxFile is how many bytes of a file are read.
const maxFile = 1 << 20

// Detect proposes gates, in the order in which they should run: format, types,
// lint, tests and security of each language in turn. Where two would have one
// name the later one is named after its language too, such as
// "tests-javascript". A Makefile's targets are proposed for what no language
// covers. Nil when the project is of no kind that is known.
func Detect(dir fs.FS) []pawl.GateSpec {
	p := project{dir}
	var gates []pawl.GateSpec
	names := map[string]bool{}
	kinds := map[pawl.GateKind]bool{}
	add := func(language string, proposed []pawl.GateSpec) {
		for _, g := range proposed {
			if g.Name == "" {
				g.Name = string(g.Kind)
			}
			if names[g.Name] {
				g.Name += "-" + language
			}
			names[g.Name], kinds[g.Kind] = true, true
			gates = append(gates, g)
		}
	}
	for _, l := range languages {
		if l.is(p) {
			add(l.name, l.gates(p))
		}
	}
	for _, g := range makeGates(p) {
		if !kinds[g.Kind] {
			add("make", []pawl.GateSpec{g})
		}
	}
	return gates
}

// Languages names the languages of a project, such as "go" and "python", in
// the order of their gates.
func Languages(dir fs.FS) []string {
	p := project{dir}
	var names []string
	for _, l := range languages {
		if l.is(p) {
			names = append(names, l.name)
		}
	}
	return names
}

type language struct {
	name  string
	is    func(project) bool
	gates func(project) []pawl.GateSpec
}

var languages = []language{
	{"go", isGo, goGates},
	{"javascript", isJavaScript, javaScriptGates},
	{"rust", isRust, rustGates},
	{"python", isPython, pythonGates},
	{"java", isJava, javaGates},
	{"elixir", isElixir, elixirGates},
	{"ruby", isRuby, rubyGates},
}

// project is a folder that is only looked at.
type project struct{ dir fs.FS }

// has reports whether one of the regular files is there.
func (p project) has(names ...string) bool {
	for _, name := range names {
		if info, err := fs.Stat(p.dir, name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

func (p project) hasFolder(name string) bool {
	info, err := fs.Stat(p.dir, name)
	return err == nil && info.IsDir()
}

// text is the beginning of a regular file; empty when it is not there or
// cannot be read.
func (p project) text(name string) string {
	if !p.has(name) {
		return ""
	}
	f, err := p.dir.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// any reports whether a file of a folder matches, at most 2,000 looked at.
func (p project) any(folder, pattern string) bool {
	d, err := p.dir.Open(folder)
	if err != nil {
		return false
	}
	defer d.Close()
	list, ok := d.(fs.ReadDirFile)
	if !ok {
		return false
	}
	entries, err := list.ReadDir(2000)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if matched, err := path.Match(pattern, e.Name()); err == nil && matched && e.Type().IsRegular() {
			return true
		}
	}
	return false
}

// section reports whether a TOML or INI file has a table of this name, or one
// below it.
func section(text, name string) bool {
	return regexp.MustCompile(`(?m)^\s*\[+\s*` + regexp.QuoteMeta(name) + `\s*[.\]]`).MatchString(text)
}

// word reports whether a text has this name of a package as a word of its own.
func word(text, name string) bool {
	return regexp.MustCompile(`(?m)(?:^|[\s"'\[,(:])` + regexp.QuoteMeta(name) + `(?:$|[\s"'\],);=<>~!\[])`).MatchString(text)
}

var makeTarget = regexp.MustCompile(`(?m)^([A-Za-z0-9][\w.\-]*(?:[ \t]+[A-Za-z0-9][\w.\-]*)*)[ \t]*::?(?:[^=:]|$)`)

// makeGates proposes a Makefile's targets by their usual names.
func makeGates(p project) []pawl.GateSpec {
	text := p.text("GNUmakefile") + "\n" + p.text("makefile") + "\n" + p.text("Makefile")
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
		for _, target := range strings.Fields(m[1]) {
			targets[target] = true
		}
	}
	var gates []pawl.GateSpec
	for _, g := range []struct {
		kind  pawl.GateKind
		names []string
	}{
		{pawl.GateFormat, []string{"fmt-check", "format-check", "check-fmt", "check-format"}},
		{pawl.GateTypes, []string{"typecheck", "type-check", "types", "vet"}},
		{pawl.GateLint, []string{"lint"}},
		{pawl.GateTests, []string{"test", "tests", "check"}},
	} {
		for _, name := range g.names {
			if targets[name] {
				gates = append(gates, pawl.GateSpec{Kind: g.kind, Command: "make " + name})
				break
			}
		}
	}
	return gates
}
