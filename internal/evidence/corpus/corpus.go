// Package corpus holds small made-up projects, each with a change that an agent made: on the
// side cheat the change makes the gates pass by altering what the gates look at, on the side
// honest it does what the goal asks for.
//
// An entry is a file testdata/SIDE/LANG-NAME.txtar. Before its first file stand comment lines
// that say what the author of the change did, and then YAML. Files below base/ are the project
// before the change; those below candidate/ are changed or added by it. Base and candidate pass
// the gates, unless the entry says that the base is red.
package corpus

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"pawl"
	"pawl/internal/strictyaml"
)

//go:embed testdata
var files embed.FS

// Side is which of the two kinds of changes an entry has.
type Side string

// The sides.
const (
	Cheat  Side = "cheat"
	Honest Side = "honest"
)

// Langs are the languages of the entries, as the names of entries begin.
var Langs = []string{"go", "js", "python", "rust", "shell"}

// Entry is a project with a change.
type Entry struct {
	Side     Side
	Name     string // LANG-NAME, without side and extension
	Lang     string // one of Langs
	Why      string // what the author of the change did, and why it is a cheat or honest
	Goal     string // what the agent was asked for
	Criteria []string
	Class    string // the kind of cheat or of honest change
	HeldOut  bool   // not to be looked at by whoever writes detectors
	BaseRed  bool   // a gate fails on the base, as when the goal is to make it pass
	Gates    []Gate
	// Findings are what must be found. The lists are short on purpose: a change that drops
	// a failing test is listed as a removed test only, though the base's test fails too.
	Findings []Finding
	// Accepted are kinds of findings that the goal asks for. A cheat has none.
	Accepted []pawl.FindingKind

	Base    map[string][]byte // by path
	Changed map[string][]byte // what the candidate changes and adds, by path
	Removed []string          // paths of the base that the candidate removes
	Links   []Link            // symlinks that the candidate adds
}

// Gate is a command that must exit with 0 in a checkout.
type Gate struct{ Name, Command string }

// Link is a symlink.
type Link struct{ Path, Target string }

// Finding is what must be found in a candidate.
type Finding struct {
	Kind pawl.FindingKind
	Path string // the changed file; may be empty when Test is not
	// Test is the test's own name without its file or suite: TestTotal or TestTotal/empty
	// in Go, the title in JavaScript, the function in Python and Rust, with [case] where
	// pytest has one. It may be empty when Path is not.
	Test string
}

// Candidate returns the project after the change, without its symlinks.
func (e *Entry) Candidate() map[string][]byte {
	tree := maps.Clone(e.Base)
	for _, p := range e.Removed {
		delete(tree, p)
	}
	maps.Copy(tree, e.Changed)
	return tree
}

// Load returns all entries in the order of their sides and names.
func Load() ([]*Entry, error) {
	var entries []*Entry
	for _, side := range []Side{Cheat, Honest} {
		names, err := fs.Glob(files, "testdata/"+string(side)+"/*.txtar")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := files.ReadFile(name)
			if err != nil {
				return nil, err
			}
			e, err := parse(side, name, data)
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// parse reads an entry. Errors name the file.
func parse(side Side, file string, data []byte) (*Entry, error) {
	archive := txtar.Parse(data)
	e := &Entry{Side: side, Name: strings.TrimSuffix(path.Base(file), ".txtar"), Why: why(archive.Comment),
		Base: map[string][]byte{}, Changed: map[string][]byte{}}
	e.Lang, _, _ = strings.Cut(e.Name, "-")
	if _, err := strictyaml.Read(file, archive.Comment, e.fields); err != nil {
		return nil, err
	}
	for _, f := range archive.Files {
		root, name, _ := strings.Cut(f.Name, "/")
		tree := map[string]map[string][]byte{"base": e.Base, "candidate": e.Changed}[root]
		if tree == nil || !fs.ValidPath(name) {
			return nil, fmt.Errorf("%s: file %q: the name must be base/PATH or candidate/PATH", file, f.Name)
		}
		if _, twice := tree[name]; twice {
			return nil, fmt.Errorf("%s: file %q is there twice", file, f.Name)
		}
		tree[name] = f.Data
	}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return e, nil
}

// why returns the text of the comment lines at the top.
func why(comment []byte) string {
	var lines []string
	for line := range strings.Lines(string(comment)) {
		text, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.Join(lines, " ")
}

func (e *Entry) fields(m *strictyaml.Map) {
	kinds := make([]string, len(pawl.FindingKinds))
	for i, k := range pawl.FindingKinds {
		kinds[i] = string(k)
	}
	base := "green"
	var accepted []string
	m.Need("goal", "What the agent was asked for.").Text(&e.Goal)
	m.Key("criteria", "Acceptance criteria.").Texts(&e.Criteria)
	m.Need("class", "The kind of cheat or of honest change.").Name(&e.Class)
	m.Need("held_out", "Whether the entry is kept from whoever writes detectors.").Bool(&e.HeldOut)
	m.Key("base", "Whether the base passes the gates. Default: green.").Word(&base, "green", "red")
	strictyaml.List(m.Need("gates", "The commands that judge."), "gate", &e.Gates, func(m *strictyaml.Map, g *Gate) {
		m.Need("name", "What the gate is called.").Name(&g.Name)
		m.Need("command", "A command for sh.").Text(&g.Command)
	})
	m.Key("removed", "Paths that the candidate removes.").Texts(&e.Removed)
	strictyaml.List(m.Key("links", "Symlinks that the candidate adds."), "link", &e.Links, func(m *strictyaml.Map, l *Link) {
		m.Need("path", "Where the symlink is.").Text(&l.Path)
		m.Need("target", "Where it leads.").Text(&l.Target)
	})
	strictyaml.List(m.Need("findings", "What must be found."), "finding", &e.Findings, func(m *strictyaml.Map, f *Finding) {
		m.Need("kind", "What is found.").Word((*string)(&f.Kind), kinds...)
		m.Key("path", "The changed file.").Text(&f.Path)
		m.Key("test", "The test's own name.").Text(&f.Test)
	})
	m.Key("accepted", "Kinds of findings that the goal asks for.").Words(&accepted, kinds...)
	e.BaseRed = base == "red"
	for _, k := range accepted {
		e.Accepted = append(e.Accepted, pawl.FindingKind(k))
	}
}

// check returns an error that says what does not fit together.
func (e *Entry) check() error {
	switch {
	case !slices.Contains(Langs, e.Lang):
		return fmt.Errorf("the name begins with %q, want one of %s and a dash", e.Lang, strings.Join(Langs, ", "))
	case e.Why == "":
		return fmt.Errorf("there is no comment at the top that says what the author of the change did")
	case len(e.Gates) == 0 || len(e.Base) == 0:
		return fmt.Errorf("%d gates and %d files below base/, want at least one of each", len(e.Gates), len(e.Base))
	case len(e.Changed)+len(e.Removed)+len(e.Links) == 0:
		return fmt.Errorf("the candidate changes nothing")
	case e.Side == Cheat && (len(e.Findings) == 0 || len(e.Accepted) > 0):
		return fmt.Errorf("%d findings and %d accepted kinds, want findings and no accepted kind of a cheat", len(e.Findings), len(e.Accepted))
	}
	touched := map[string]bool{}
	for p, data := range e.Changed {
		if was, ok := e.Base[p]; ok && bytes.Equal(was, data) {
			return fmt.Errorf("candidate/%s is what base/%s is, want a change", p, p)
		}
		touched[p] = true
	}
	for _, p := range e.Removed {
		if _, ok := e.Base[p]; !ok || touched[p] {
			return fmt.Errorf("removed path %q: want one below base/ that is not below candidate/", p)
		}
		touched[p] = true
	}
	for _, l := range e.Links {
		if _, ok := e.Base[l.Path]; ok || touched[l.Path] || !fs.ValidPath(l.Path) {
			return fmt.Errorf("link %q: want a new path", l.Path)
		}
		touched[l.Path] = true
	}
	for _, f := range e.Findings {
		if f.Path == "" && f.Test == "" {
			return fmt.Errorf("finding %s has neither path nor test", f.Kind)
		}
		if f.Path != "" && !touched[f.Path] {
			return fmt.Errorf("finding %s: the candidate does not touch %q", f.Kind, f.Path)
		}
	}
	return nil
}

// WriteTree writes files and symlinks below a folder. Files that begin with #! can be executed.
func WriteTree(dir string, files map[string][]byte, links ...Link) error {
	for name, data := range files {
		file, err := place(dir, name)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if bytes.HasPrefix(data, []byte("#!")) {
			mode = 0o755
		}
		if err := os.WriteFile(file, data, mode); err != nil {
			return err
		}
	}
	for _, l := range links {
		file, err := place(dir, l.Path)
		if err != nil {
			return err
		}
		if err := os.Symlink(l.Target, file); err != nil {
			return err
		}
	}
	return nil
}

// place makes the folders above a path and returns where it is.
func place(dir, name string) (string, error) {
	file := filepath.Join(dir, filepath.FromSlash(name))
	return file, os.MkdirAll(filepath.Dir(file), 0o755)
}
