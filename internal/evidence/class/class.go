// Package class decides what changed paths are to the gates of a candidate, and splits files with
// two jobs into their parts. It is given paths and contents, and does no I/O.
package class

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"pawl"
)

// Rule gives the paths that match a pattern a class, ahead of the tables.
type Rule struct {
	// Pattern is one of gitignore's: without a slash it matches a name at any depth, with
	// one it begins at the root, with one at its end it matches folders only. What is below
	// a folder that matches has the class too. ** stands for any number of folders. There is
	// no negation: a later rule wins over an earlier one.
	Pattern string
	Class   pawl.PathClass
}

// Check returns an error that says what is wrong with a rule, or nil.
func (r Rule) Check() error {
	trimmed := strings.Trim(r.Pattern, "/")
	switch {
	case trimmed == "":
		return fmt.Errorf("pattern %q matches no path: write a glob such as %q", r.Pattern, "testing/**/*.json")
	case strings.HasPrefix(r.Pattern, "!"):
		return fmt.Errorf("pattern %q begins with !, and there is no negation: write a later rule that gives these paths another class", r.Pattern)
	case !utf8.ValidString(r.Pattern) || strings.ContainsRune(r.Pattern, 0):
		return fmt.Errorf("pattern %q is not UTF-8 text without NUL", r.Pattern)
	case !doublestar.ValidatePattern(trimmed):
		return fmt.Errorf("pattern %q is not a glob: a bracket or brace is not closed, or it ends with a backslash", r.Pattern)
	case slices.ContainsFunc(strings.Split(trimmed, "/"), func(s string) bool { return s == "" || s == "." || s == ".." }):
		return fmt.Errorf("pattern %q has an empty part, . or .. in it: write it from the root, such as %q", r.Pattern, "web/e2e/**")
	case !slices.Contains(pawl.PathClasses, r.Class):
		words := make([]string, len(pawl.PathClasses))
		for i, c := range pawl.PathClasses {
			words[i] = string(c)
		}
		return fmt.Errorf("pattern %q has class %q, want one of %s", r.Pattern, r.Class, strings.Join(words, ", "))
	}
	return nil
}

// globs returns doublestar patterns that together match what the rule does.
func (r Rule) globs() []string {
	trimmed := strings.Trim(r.Pattern, "/")
	if !strings.Contains(strings.TrimSuffix(r.Pattern, "/"), "/") {
		trimmed = "**/" + trimmed
	}
	if strings.HasSuffix(r.Pattern, "/") {
		return []string{trimmed + "/**/*"}
	}
	return []string{trimmed, trimmed + "/**/*"}
}

// Classes decides the class of each changed path. It is not safe for concurrent use until the
// last call of [Classes.Follow] has returned.
type Classes struct {
	rules []compiledRule
	names *tables
	uses  uses
}

type compiledRule struct {
	globs []string
	class pawl.PathClass
}

// New returns tables with rules ahead; rules that do not pass [Rule.Check] match nothing.
// Commands are the shell lines of gates and of prepare: the files that they run or read as
// configuration are gate inputs.
func New(rules []Rule, commands []string) *Classes {
	c := &Classes{names: compiled(), uses: newUses()}
	for _, r := range rules {
		if r.Check() == nil {
			c.rules = append(c.rules, compiledRule{globs: r.globs(), class: r.Class})
		}
	}
	for _, line := range commands {
		c.uses.shell(line, place{})
	}
	return c
}

// Of returns the class of a slash-separated path of the tree, by its name alone. For a file
// with two jobs it is the class of what the file is for; [Classes.Parts] looks inside.
//
// A rule makes of a policy path only what needs no look: code, documentation or a manifest. Repositories
// may not write such a rule.
func (c *Classes) Of(name string) pawl.PathClass {
	class, ok := c.ruled(name)
	switch {
	case !ok:
		return c.listed(name)
	case class == pawl.ClassCode || class == pawl.ClassDocs || class == pawl.ClassDependency:
		return class
	case c.listed(name) == pawl.ClassPolicy:
		return pawl.ClassPolicy
	}
	return class
}

// ConfiguresAgents reports whether some coding agent takes a file, given its slash-separated path in the tree, or all
// that is below a folder, from the repository that it works on: its instructions, settings, plugins, hooks and the like.
func ConfiguresAgents(name string, isFolder bool) bool {
	if isFolder {
		name += "/x"
	}
	return compiled().agents.matches(split(name))
}

// listed returns the class that the tables give a path.
func (c *Classes) listed(name string) pawl.PathClass {
	p := split(name)
	t := c.names
	switch {
	case p.has(0, ".pawl") && p.has(1, "tasks"):
		return pawl.ClassDocs // written by the harness, and no part of a candidate's tree
	case t.rootPolicy.matches(p):
		return pawl.ClassPolicy
	case t.vendored.matches(p) || p.belowVendor():
		return pawl.ClassVendored
	case t.fixtures.matches(p):
		return pawl.ClassSupport
	case t.policy.matches(p):
		return pawl.ClassPolicy
	}
	tested, inTests := p.testFolder(t)
	use := c.uses.of(name)
	switch {
	case inTests && p.below(tested, fixtureFolders) && !t.strict.matches(p):
		return pawl.ClassSupport
	case use == usedSetUp || t.setUp.matches(p):
		return pawl.ClassSupport
	case use == usedTest || t.isTest(p, tested, inTests):
		return pawl.ClassTest
	case t.dependencies.matches(p):
		return pawl.ClassDependency
	case use != unused || t.gateInputs.matches(p):
		return pawl.ClassGateInput
	case t.support.matches(p):
		return pawl.ClassSupport
	case inTests && (t.isSource(p) || !isReadme(p)) && !(tested > 0 && p.inDocs() && t.isDocs(p)):
		return pawl.ClassSupport
	case p.below(-1, fixtureFolders) && !t.isSource(p):
		return pawl.ClassSupport
	case t.isDocs(p):
		return pawl.ClassDocs
	}
	return pawl.ClassCode
}

// IsSource reports whether a file is source code of a language that is known, by its name.
func IsSource(name string) bool { return compiled().isSource(split(name)) }

// ruled returns what the last rule that matches says.
func (c *Classes) ruled(name string) (pawl.PathClass, bool) {
	for _, r := range slices.Backward(c.rules) {
		for _, glob := range r.globs {
			if doublestar.MatchUnvalidated(glob, name) {
				return r.class, true
			}
		}
	}
	return "", false
}

// whole returns the classes of a file that is not split. A policy file that a gate runs or reads has two.
func (c *Classes) whole(name string) []pawl.PathClass {
	class := c.Of(name)
	p := split(name)
	isRead := c.uses.of(name) != unused || c.names.gateInputs.matches(p) && !c.names.rootPolicy.matches(p)
	if _, ruled := c.ruled(name); !ruled && class == pawl.ClassPolicy && isRead {
		return []pawl.PathClass{pawl.ClassGateInput, pawl.ClassPolicy}
	}
	return []pawl.PathClass{class}
}

// splitPath is a path in parts.
type splitPath struct {
	full    string
	base    string
	ext     string   // of base, lower case, with the dot
	folders []string // above base
	lower   []string // folders in lower case
}

func split(name string) splitPath {
	dir, base := path.Split(name)
	p := splitPath{full: name, base: base, ext: strings.ToLower(path.Ext(base))}
	if dir = strings.Trim(dir, "/"); dir != "" {
		p.folders = strings.Split(dir, "/")
		p.lower = strings.Split(strings.ToLower(dir), "/")
	}
	return p
}

// has reports whether the folder at a depth has a name, in any case.
func (p *splitPath) has(depth int, name string) bool {
	return depth >= 0 && depth < len(p.lower) && p.lower[depth] == name
}

// inProduct reports whether the path is below a folder that by its name holds what is built.
func (p *splitPath) inProduct() bool {
	return slices.ContainsFunc(p.lower, func(f string) bool { return slices.Contains(productFolders, f) })
}

// inTools reports whether the path's own folder is one of scripts.
func (p *splitPath) inTools() bool {
	return len(p.lower) > 0 && slices.Contains(toolFolders, p.lower[len(p.lower)-1])
}

// belowVendor reports whether the path is below a folder vendor that holds copies. A folder
// src/vendor may as well hold a program's code about vendors: only what is named like a module
// there is a copy.
func (p *splitPath) belowVendor() bool {
	for i, f := range p.lower {
		if f != "vendor" {
			continue
		}
		if above := p.lower[:i]; !slices.ContainsFunc(above, func(f string) bool { return slices.Contains(productFolders, f) }) {
			return true
		}
		if i+1 < len(p.lower) && strings.Contains(p.lower[i+1], ".") || i+1 == len(p.lower) && p.base == "modules.txt" {
			return true
		}
	}
	return false
}

// testFolder returns the depth of the first folder of tests that the path is below.
func (p *splitPath) testFolder(t *tables) (depth int, found bool) {
	for i, f := range p.lower {
		if p.has(i-1, "src") && f == "main" {
			return 0, false
		}
		switch {
		case t.testFolders.hasFolder(f):
			return i, true
		case p.has(i-1, "src") && (strings.HasSuffix(p.folders[i], "Test") || strings.HasSuffix(p.folders[i], "Tests") || p.folders[i] == "testFixtures"):
			return i, true // source sets of Gradle
		case f == "test" && (i == 0 || !slices.Contains(commandFolders, p.lower[i-1])) && (p.ext != ".go" || i == 0):
			return i, true
		case (f == "spec" || f == "specs") && slices.Contains(specSources, p.ext):
			return i, true
		case i > 0 && p.ext == ".go" && f == p.lower[i-1]+"test":
			return i, true // as net/http/httptest
		}
	}
	return 0, false
}

// below reports whether one of the folders below a depth has one of the names.
func (p *splitPath) below(depth int, names []string) bool {
	return slices.ContainsFunc(p.lower[depth+1:], func(f string) bool { return slices.Contains(names, f) })
}

func (p *splitPath) inDocs() bool { return p.has(0, "docs") || p.has(0, "doc") }

func isReadme(p splitPath) bool {
	stem, _, _ := strings.Cut(strings.ToLower(p.base), ".")
	return stem == "readme"
}
