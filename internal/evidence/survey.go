// Package evidence finds what in a candidate changed what its gates look at. It is given the change,
// what gates said, and a way to read files.
package evidence

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"pawl"
	"pawl/internal/evidence/class"
	"pawl/internal/evidence/source"
)

// Candidate is a change whose gates pass.
type Candidate struct {
	Base, Commit pawl.CommitHash
	Files        []pawl.FileChange // by path
	// Goal is everything that was asked for: goal, criteria and task.
	Goal string
	// Read returns a file of the base or of the candidate; nil = it is not there.
	Read func(path string, ofBase bool) []byte
	// Paths returns the files of the base, sorted, and Contents calls see with those of them that are
	// asked for and can be read, until it returns false. Both nil = files are not looked for by name.
	Paths    func() []string
	Contents func(paths []string, see func(path string, text []byte) bool)
	// Gates and Prepare are the run's; Rules, Allow and Secrets decide as its settings say.
	Gates   []pawl.GateSpec
	Prepare []string
	Rules   []pawl.PathRule
	Allow   []string
	// Secrets returns the secrets in a file.
	Secrets func(path string, text []byte) []Secret
}

// Secret is a secret in a text.
type Secret struct {
	Rule, Value string
	Line        int
}

// Survey is what a candidate changes of what its gates look at.
type Survey struct {
	// Paths are the changed paths with their classes. A path is there once for each class of a
	// part of it that changed.
	Paths []pawl.ChangedPath

	c       *Candidate
	classes *class.Classes // as the base's files have it: a candidate gives no file another role
	unnamed *class.Classes // by the names of files alone
	parts   map[string][]pawl.PathClass
	changes []source.Change // of tests, as their sources show them
	docs    []source.Change // of examples in the documentation of code
	added   []source.Test
	tests   map[string][]string // paths of changed test files of the base, by the names of their tests
	kept    map[string][]string // the same of the candidate
	unread  bool                // a changed test file is in no language that is known
	// regrouped are changed test files that have lost tests of which nothing says that they are gone.
	regrouped map[string]bool
	standIns  []standIn
	settled   bool       // it is decided which added files stay
	fits      *fit       // once it is known
	left      []leftName // nil = not known yet
	// loads are the modules that the base loads and does not have, by language, once they are known.
	loads map[string]map[string][]string
	// services are what the files of services take in, by their paths, once that is known.
	services map[string][]string
	result
}

// result is what is found, and what is only worth knowing.
type result struct {
	found   []pawl.Finding
	remarks []string
}

func (r *result) raise(f pawl.Finding) { r.found = append(r.found, f) }

func (r *result) remark(format string, args ...any) {
	r.remarks = append(r.remarks, fmt.Sprintf(format, args...))
}

// expected are the classes of which the base's files are put over a candidate's code.
var expected = []pawl.PathClass{pawl.ClassTest, pawl.ClassSupport, pawl.ClassGateInput}

// Look surveys a candidate.
func Look(c *Candidate) *Survey {
	s := &Survey{c: c, classes: followed(c, true), unnamed: class.New(rules(c.Rules), nil), parts: map[string][]pawl.PathClass{}, tests: map[string][]string{}, kept: map[string][]string{}}
	for _, f := range c.Files {
		classes := s.classes
		if !f.Old.Exists() { // that a command names it makes it no more than what the command looks for
			classes = s.unnamed
		}
		parts := classes.Parts(f.Path, f.Old.Data, f.New.Data)
		if len(parts) == 0 {
			parts = []pawl.PathClass{classes.Of(f.Path)}
		}
		s.parts[f.Path] = parts
	}
	s.readNamed()
	s.keepLoaded()
	s.keepSubjects()
	s.findStandIns()
	s.findAdded()
	s.listPaths()
	s.readTests()
	s.policy()
	s.secrets()
	s.setUp()
	s.vendored()
	return s
}

// listPaths lists the changed paths with their classes.
func (s *Survey) listPaths() {
	s.Paths = nil
	for _, f := range s.c.Files {
		for _, part := range s.parts[f.Path] {
			s.Paths = append(s.Paths, pawl.ChangedPath{Path: f.Path, Class: part})
		}
	}
}

func rules(of []pawl.PathRule) []class.Rule {
	out := make([]class.Rule, len(of))
	for i, r := range of {
		out[i] = class.Rule(r)
	}
	return out
}

func commands(c *Candidate) []string {
	out := slices.Clone(c.Prepare)
	for _, g := range c.Gates {
		out = append(out, g.Command)
	}
	return out
}

// maxFollowed bounds the files that are read because a gate input names them.
const maxFollowed = 64

// followed returns classes that have read the files that gates and prepare name, and those that these name, as
// the base has them or, too, as the candidate has them.
func followed(c *Candidate, baseOnly bool) *class.Classes {
	classes := class.New(rules(c.Rules), commands(c))
	if baseOnly {
		followTests(c, classes)
	}
	seen := map[string]bool{}
	for more := true; more && len(seen) < maxFollowed; {
		more = false
		for _, name := range classes.Named() {
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, ofBase := range []bool{true, false} {
				if baseOnly && !ofBase {
					break
				}
				if data := c.Read(name, ofBase); data != nil {
					more = classes.Follow(name, data) || more
				}
			}
		}
	}
	return classes
}

// maxTests bounds the tests that are read to find what they load.
const maxTests = 500

// followTests lets classes read the base's tests that are scripts of a shell, if a changed file may be a library that
// they load.
func followTests(c *Candidate, classes *class.Classes) {
	if c.Contents == nil || !slices.ContainsFunc(c.Files, func(f pawl.FileChange) bool {
		return hadIt(&f) && class.MayLoad(f.Path) && classes.Of(f.Path) == pawl.ClassCode
	}) {
		return
	}
	tests := slices.DeleteFunc(slices.Clone(c.Paths()), func(p string) bool {
		of := classes.Of(p)
		return !class.MayLoad(p) || of != pawl.ClassTest && of != pawl.ClassSupport && of != pawl.ClassGateInput
	})
	size := 0
	c.Contents(tests[:min(len(tests), maxTests)], func(p string, text []byte) bool {
		size += len(text)
		classes.FollowTest(p, text)
		return size < maxSearched
	})
}

// keepLoaded lets libraries that tests load be code if code of the base names them too.
func (s *Survey) keepLoaded() {
	var loaded []string
	for i := range s.c.Files {
		if f := &s.c.Files[i]; s.classes.IsLoaded(f.Path) && slices.Equal(s.parts[f.Path], []pawl.PathClass{pawl.ClassGateInput}) {
			loaded = append(loaded, f.Path)
		}
	}
	if len(loaded) == 0 || s.c.Contents == nil {
		return
	}
	inCode := s.search(loaded, s.isScriptOfCode, codeOf)
	for _, p := range loaded {
		if inCode[p] {
			s.parts[p] = []pawl.PathClass{pawl.ClassCode}
		}
	}
}

// Counts counts the changed paths by their classes.
func (s *Survey) Counts() []pawl.ClassCount {
	n := map[pawl.PathClass]int{}
	for _, p := range s.Paths {
		n[p.Class]++
	}
	var out []pawl.ClassCount
	for _, c := range pawl.PathClasses {
		if n[c] > 0 {
			out = append(out, pawl.ClassCount{Class: c, Count: n[c]})
		}
	}
	return out
}

// has reports whether a part of a file that has one of these classes changed.
func (s *Survey) has(name string, classes ...pawl.PathClass) bool {
	return slices.ContainsFunc(s.parts[name], func(c pawl.PathClass) bool { return slices.Contains(classes, c) })
}

// touched returns the changed files with a part of one of these classes that keep returns true for.
func (s *Survey) touched(keep func(*pawl.FileChange) bool, classes ...pawl.PathClass) []string {
	var out []string
	for i := range s.c.Files {
		if f := &s.c.Files[i]; s.has(f.Path, classes...) && (keep == nil || keep(f)) {
			out = append(out, f.Path)
		}
	}
	return out
}

// hadIt reports whether the base has the file.
func hadIt(f *pawl.FileChange) bool { return f.Old.Exists() }

func (s *Survey) readTests() {
	var old, now []source.File
	for _, f := range s.c.Files {
		if !s.has(f.Path, pawl.ClassTest, pawl.ClassSupport) {
			continue
		}
		if f.Old.Data != nil {
			file := source.File{Path: f.Path, Data: f.Old.Data}
			old = append(old, file)
			tests, _ := source.Tests(file)
			for _, t := range tests {
				s.tests[t.Name] = append(s.tests[t.Name], f.Path)
			}
		}
		if f.New.Data != nil {
			file := source.File{Path: f.Path, Data: f.New.Data}
			now = append(now, file)
			tests, ok := source.Tests(file)
			s.unread = s.unread || !ok && s.has(f.Path, pawl.ClassTest)
			for _, t := range tests {
				s.kept[t.Name] = append(s.kept[t.Name], f.Path)
			}
		}
	}
	s.changes, s.added = source.Compare(old, now), source.Added(old, now)
	s.regrouped = map[string]bool{}
	for name, files := range s.tests {
		gone := slices.ContainsFunc(s.changes, func(c source.Change) bool { return c.Kind == pawl.FindRemovedTest && c.Test == name && !c.Kept })
		for _, p := range files {
			if !gone && !slices.Contains(s.kept[name], p) {
				s.regrouped[p] = true
			}
		}
	}
	old, now = nil, nil
	for _, f := range s.c.Files {
		if f.Old.Data != nil && f.New.Data != nil && !s.has(f.Path, pawl.ClassTest, pawl.ClassSupport) {
			old, now = append(old, source.File{Path: f.Path, Data: f.Old.Data}), append(now, source.File{Path: f.Path, Data: f.New.Data})
		}
	}
	s.docs = source.Compare(old, now)
}

func (s *Survey) policy() {
	for i := range s.c.Files {
		f := &s.c.Files[i]
		if text := s.actsElsewhere(f); text != "" && !s.isInSettings(f.Path) {
			s.raise(pawl.Finding{Kind: pawl.FindPolicy, Path: f.Path, Text: text, Detail: diff(f)})
		}
		switch {
		case f.New.Kind == pawl.FileSymlink && leaves(f.Path, string(f.New.Data)):
			s.raise(pawl.Finding{Kind: pawl.FindPolicy, Path: f.Path, Text: fmt.Sprintf("it is a symlink to %s, which is outside of the repository", f.New.Data), Detail: string(f.New.Data)})
		case !s.has(f.Path, pawl.ClassPolicy):
		case s.isAllowed(f.Path):
			s.remark("%s, a policy path, %s: the goal or allow_paths names it", f.Path, became(f))
		default:
			s.raise(pawl.Finding{Kind: pawl.FindPolicy, Path: f.Path, Text: "it acts elsewhere than in the gates (CI, editors, hooks, installs, images, shells, agents), and the goal does not name it", Detail: diff(f)})
		}
	}
}

// became says what became of a file.
func became(f *pawl.FileChange) string {
	switch {
	case !f.Old.Exists():
		return "is new"
	case !f.New.Exists():
		return "is gone"
	}
	return "changed"
}

// leaves reports whether a symlink at a path leads out of the tree.
func leaves(name, target string) bool {
	if path.IsAbs(target) || strings.HasPrefix(target, `\`) || strings.Contains(target, ":") {
		return true
	}
	at := path.Join(path.Dir(name), target)
	return at == ".." || strings.HasPrefix(at, "../") || at == ".git" || strings.HasPrefix(at, ".git/")
}

// policyWords are what people call policy paths that a goal asks for, in lower case.
var policyWords = []struct {
	folder string
	words  []string
}{
	{".github/workflows/", []string{"github action", "github actions", "github workflow", "github workflows", "ci workflow", "ci workflows", "workflow file", "ci pipeline"}},
	{".gitlab-ci.yml", []string{"gitlab ci", "ci pipeline"}},
	{".circleci/", []string{"circleci"}},
	{".travis.yml", []string{"travis"}},
	{".husky/", []string{"husky", "git hook", "git hooks", "pre-commit hook", "pre-push hook"}},
	{".pre-commit-config.yaml", []string{"pre-commit"}},
	{".vscode/", []string{"vs code", "vscode"}},
	{".envrc", []string{"direnv"}},
	{".github/dependabot.yml", []string{"dependabot"}},
	{"Dockerfile", []string{"docker image", "container image", "dockerize", "dockerise", "dockerized", "containerize", "containerise"}},
	{"docker-compose.yml", []string{"docker compose", "docker-compose", "compose file"}},
	{"docker-compose.yaml", []string{"docker compose", "docker-compose", "compose file"}},
	{"compose.yml", []string{"docker compose", "docker-compose", "compose file"}},
	{"compose.yaml", []string{"docker compose", "docker-compose", "compose file"}},
	{".env", []string{"env file", "dotenv"}},
	{"flake.nix", []string{"nix flake", "nix shell", "nix develop"}},
	{"shell.nix", []string{"nix shell", "nix-shell"}},
	{"binding.gyp", []string{"native addon", "native add-on", "node-gyp"}},
	{"Brewfile", []string{"homebrew bundle", "brew bundle"}},
	{"Tiltfile", []string{"tilt"}},
	{"*.service", []string{"systemd", "service unit"}},
	{"*.timer", []string{"systemd", "timer unit"}},
	{"AGENTS.md", []string{"agents file", "instructions for agents", "agent instructions"}},
	{"CLAUDE.md", []string{"instructions for agents", "agent instructions"}},
}

// isAllowed reports whether the settings allow a policy path, or the goal names it: the path, its
// name, or a folder that it is in, as words of their own, or what people call it.
func (s *Survey) isAllowed(name string) bool {
	if s.isInSettings(name) {
		return true
	}
	goal := strings.ToLower(s.c.Goal)
	for _, called := range policyWords {
		suffix, isSuffix := strings.CutPrefix(called.folder, "*")
		if (name == called.folder || isSuffix && strings.HasSuffix(name, suffix) || path.Base(name) == called.folder || strings.HasSuffix(called.folder, "/") && strings.HasPrefix(name, called.folder)) &&
			slices.ContainsFunc(called.words, func(words string) bool { return mentions(goal, words) }) {
			return true
		}
	}
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		if mentions(s.c.Goal, at) || at == name && len(path.Base(at)) > minMention && mentions(s.c.Goal, path.Base(at)) {
			return true
		}
	}
	return false
}

// isInSettings reports whether the settings allow a path.
func (s *Survey) isInSettings(name string) bool {
	return slices.ContainsFunc(s.c.Allow, func(a string) bool {
		a = strings.Trim(path.Clean("/"+a), "/")
		return name == a || strings.HasPrefix(name, a+"/")
	})
}

// minMention is the number of bytes that the name of a file must exceed to count as named by the goal
// without its folder.
const minMention = 3

// mentions reports whether a text has a name in it that is not a part of a longer one.
func mentions(text, name string) bool {
	return contains(text, name, func(before, after string) bool {
		return !strings.HasSuffix(before, "/") && !endsInName(before) && !startsWithName(after)
	})
}

// contains reports whether a name is in a text where what stands before and after it fits.
func contains(text, name string, fits func(before, after string) bool) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		if fits(text[:i], text[i+len(name):]) {
			return true
		}
		from = i + 1
	}
}

func endsInName(s string) bool { return s != "" && isName(s[len(s)-1]) }

func startsWithName(s string) bool {
	return s != "" && (isName(s[0]) && s[0] != '.' || len(s) > 1 && s[0] == '.' && isName(s[1]))
}

func isName(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (s *Survey) secrets() {
	if s.c.Secrets == nil {
		return
	}
	known := map[string]bool{}
	for _, f := range s.c.Files {
		for _, x := range s.c.Secrets(f.Path, f.Old.Data) {
			known[x.Value] = true
		}
	}
	for _, f := range s.c.Files {
		for _, x := range s.c.Secrets(f.Path, f.New.Data) {
			if known[x.Value] || s.heldByBase(f.Path, x.Value) {
				continue
			}
			known[x.Value] = true
			s.raise(pawl.Finding{Kind: pawl.FindSecret, Path: f.Path, Text: fmt.Sprintf("line %d holds what looks like a secret (%s)", x.Line, x.Rule), Detail: x.Rule})
		}
	}
}

// heldByBase reports whether a file of the base holds a value already.
func (s *Survey) heldByBase(name, value string) bool {
	if bytes.Contains(s.c.Read(name, true), []byte(value)) {
		return true
	}
	held, size := false, 0
	if s.c.Contents != nil {
		s.c.Contents(s.c.Paths(), func(_ string, text []byte) bool {
			size += len(text)
			held = bytes.Contains(text, []byte(value))
			return !held && size < maxSearched
		})
	}
	return held
}

func (s *Survey) setUp() {
	classes := followed(s.c, false)
	for i := range s.c.Files {
		f := &s.c.Files[i]
		now, is := classes.SetUp(f.Path, f.New.Data)
		before, _ := classes.SetUp(f.Path, f.Old.Data)
		if f.New.Data == nil || !is || now == before {
			continue
		}
		text := "it is set up before every test, and it is new"
		if f.Old.Exists() {
			text = "it is set up before every test, and it changed"
		}
		s.raise(pawl.Finding{Kind: pawl.FindSetUp, Path: f.Path, Text: text, Detail: udiff.Unified("a/"+f.Path, "b/"+f.Path, before, now)})
	}
}
