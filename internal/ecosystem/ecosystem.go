// Package ecosystem knows the package managers of programming languages: what
// tells that a folder uses one, which gates it might have, how its dependencies
// are put in place and brought up to date, and where they come from.
//
// It reads a few small files and runs nothing. What it proposes is for a person
// to look at.
package ecosystem

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"pawl"
)

// Limits of what is looked at and proposed. Whatever exceeds one is in
// [Project.Notes].
const (
	maxFile    = 1 << 20 // bytes read of a file
	maxEntries = 2000    // names read of a folder
	maxFolders = 200     // folders below the root that are looked at
	maxParts   = 20      // parts that are proposed
	maxDepth   = 2       // levels below the root
)

// Root is the folder of a part that is the repository's root.
const Root = "."

// Project is what the files of a repository say about it.
type Project struct {
	// Languages are those of its parts, such as "go" and "javascript".
	Languages []string
	// Gates are in the order in which they should run: format, types, lint, tests
	// and security of each part in turn.
	Gates []pawl.GateSpec
	// Prepare are the commands that put the dependencies in place; they need the
	// registries.
	Prepare []string
	// Parts are the folders that have a package manager of their own, the root first.
	Parts []Part
	// Notes say what was left out.
	Notes []string
}

// Part is a folder and the package manager that it uses. A folder with two
// languages is two parts.
type Part struct {
	Folder    string   `json:"folder"`            // slash-separated; [Root] is the root
	Ecosystem string   `json:"ecosystem"`         // such as "npm"
	Gates     []string `json:"gates,omitempty"`   // names in [Project.Gates]
	Prepare   []string `json:"prepare,omitempty"` // commands in [Project.Prepare]
}

// ecosystem is one package manager.
type ecosystem struct {
	name     string
	language string
	// Files that decide what the dependencies are, by base name or pattern.
	manifests, locks, others []string
	is                       func(folder) bool
	gates                    func(folder) []pawl.GateSpec
	// prepare is nil, or returns nil, where nothing has to be put in place.
	prepare func(folder) []string
	// update brings the lock files up to date; nil or empty where there are none.
	update func(folder) string
	// registries are egress rules for where packages come from by default.
	registries []string
	// client reads how the user's own client is configured; nil when that is not
	// known.
	client func(*client)
}

// ecosystems returns all ecosystems in the order of their gates. In one folder the first one
// of a language is used.
func ecosystems() []ecosystem {
	return []ecosystem{goModules, pnpm, yarn, bun, npm, cargo, uv, poetry, pipenv, pip, maven, gradle, mix, bundler, composer, dotnet}
}

// find returns the ecosystem of a name.
func find(name string) (ecosystem, bool) {
	all := append(ecosystems(), makefiles)
	i := slices.IndexFunc(all, func(e ecosystem) bool { return e.name == name })
	if i < 0 {
		return ecosystem{}, false
	}
	return all[i], true
}

// Detect proposes gates and commands of prepare from the files at the root and,
// for languages that the root does not have, from those one and two levels below
// it. What a part below the root runs begins with "cd FOLDER &&", and its gates
// are named after the folder, such as "tests-web". Where two gates would have one
// name the later one is named after its language too, such as
// "tests-javascript". A Makefile's targets are proposed for what no language
// covers.
func Detect(dir fs.FS) Project {
	d := detection{names: map[string]bool{}, kinds: map[pawl.GateKind]bool{}}
	found, notes := look(dir)
	d.project.Notes = notes
	for _, p := range found {
		d.add(p)
	}
	d.addMakefile(folder{dir, Root})
	return d.project
}

// detection is a project that is being put together.
type detection struct {
	project Project
	names   map[string]bool // of gates
	kinds   map[pawl.GateKind]bool
}

// located is an ecosystem in a folder.
type located struct {
	ecosystem
	in folder
}

func (d *detection) add(p located) {
	gates := p.gates(p.in)
	if len(gates) == 0 && p.in.path != Root {
		return // such as the requirements of a folder of documentation
	}
	part := Part{Folder: p.in.path, Ecosystem: p.name}
	for _, g := range gates {
		part.Gates = append(part.Gates, d.addGate(p.in, p.language, g))
	}
	if p.prepare != nil {
		for _, command := range p.prepare(p.in) {
			part.Prepare = append(part.Prepare, p.in.command(command))
		}
	}
	d.project.Prepare = append(d.project.Prepare, part.Prepare...)
	d.project.Parts = append(d.project.Parts, part)
	if !slices.Contains(d.project.Languages, p.language) {
		d.project.Languages = append(d.project.Languages, p.language)
	}
}

// addGate adds the gate of a folder under a name that no other has, which it
// returns.
func (d *detection) addGate(in folder, language string, g pawl.GateSpec) string {
	g.Name = string(g.Kind)
	if in.path != Root {
		g.Name += "-" + slug(in.path)
		if g.File != "" {
			g.File = path.Join(in.path, g.File)
		}
	}
	if d.names[g.Name] {
		g.Name += "-" + language
	}
	for base, n := g.Name, 2; d.names[g.Name]; n++ {
		g.Name = fmt.Sprintf("%s-%d", base, n) // two folders whose names differ in punctuation only
	}
	g.Command = in.command(g.Command)
	d.names[g.Name], d.kinds[g.Kind] = true, true
	d.project.Gates = append(d.project.Gates, g)
	return g.Name
}

func (d *detection) addMakefile(root folder) {
	part := Part{Folder: Root, Ecosystem: makefiles.name}
	for _, g := range makefiles.gates(root) {
		if !d.kinds[g.Kind] {
			part.Gates = append(part.Gates, d.addGate(root, makefiles.name, g))
		}
	}
	if part.Gates != nil {
		d.project.Parts = append(d.project.Parts, part)
	}
}

// slug makes the path of a folder part of a gate's name.
func slug(path string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			return r
		}
		return '-'
	}, path)
}

// IsInput reports whether what the commands of prepare leave may depend on a file:
// the manifests, lock files and settings of all package managers, by their base
// names, in any folder.
func IsInput(path string) bool { return inputs().match(path) }
