package evidence

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/evidence/class"
	"pawl/internal/pattern"
)

// Tests find files by their names: data that they compare with, wherever it is, and modules, of which the
// first of a name counts.

// maxNamed bounds the changed files that are looked for in tests.
const maxNamed = 64

// maxSearched bounds the bytes of a commit's files in which names are looked for.
const maxSearched = 64 << 20

// readNamed gives files of data that are named where something is compared with them another class: those
// that tests of the base name, and its code does not, are golden files; those that gates and their scripts
// name are gate inputs.
func (s *Survey) readNamed() {
	var data, unclassed []string
	for i := range s.c.Files {
		f := &s.c.Files[i]
		if !hadIt(f) || isProgram(f.Path, f.Old) || !s.has(f.Path, pawl.ClassCode, pawl.ClassDocs, pawl.ClassSupport) || len(data) == maxNamed {
			continue
		}
		data = append(data, f.Path)
		if parts := s.parts[f.Path]; len(parts) == 1 && parts[0] != pawl.ClassSupport {
			unclassed = append(unclassed, f.Path)
		}
	}
	if len(data) == 0 || s.c.Contents == nil {
		return
	}
	for _, p := range s.inGates(data) {
		if s.has(p, pawl.ClassSupport) {
			s.parts[p] = append(s.parts[p], pawl.ClassGateInput)
		} else {
			s.parts[p] = []pawl.PathClass{pawl.ClassGateInput}
		}
	}
	unclassed = slices.DeleteFunc(unclassed, func(p string) bool { return s.has(p, pawl.ClassGateInput) })
	s.readHanded(unclassed)
	unclassed = slices.DeleteFunc(unclassed, func(p string) bool { return s.has(p, pawl.ClassGateInput) })
	inTests := s.search(unclassed, s.holdsTests, testsOf(s))
	unclassed = slices.DeleteFunc(unclassed, func(p string) bool { return !inTests[p] })
	inCode := s.search(unclassed, s.isCode, codeOf)
	for _, p := range unclassed {
		if !inCode[p] {
			s.parts[p] = []pawl.PathClass{pawl.ClassSupport}
		}
	}
}

// readHanded gives files of data the class of gate inputs whose text the scripts of gates hand to loops and programs,
// if no code names them.
func (s *Survey) readHanded(paths []string) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !s.classes.IsHanded(p) || !s.has(p, pawl.ClassCode) })
	if len(paths) == 0 {
		return
	}
	folders := s.dataFolders(paths)
	inCode, size := map[string]bool{}, 0
	s.c.Contents(slices.DeleteFunc(slices.Clone(s.c.Paths()), func(p string) bool { return !s.isScriptOfCode(p) && !s.isCode(p) }), func(in string, text []byte) bool {
		size += len(text)
		code := string(codeOf(in, text))
		for _, p := range paths {
			base, folder := path.Base(p), folders[p]
			inCode[p] = inCode[p] || p != in && (path.Ext(p) != "" && namesFile(code, base) || namesFolder(code, base) || folder != "" && namesFolder(code, folder))
		}
		return size < maxSearched
	})
	for _, p := range paths {
		if !inCode[p] {
			s.parts[p] = []pawl.PathClass{pawl.ClassGateInput}
		}
	}
}

// isScriptOfCode reports whether a file may be a script and is neither a test nor run by gates.
func (s *Survey) isScriptOfCode(p string) bool {
	return class.MayLoad(p) && !class.IsMakefile(p) && s.classes.Of(p) == pawl.ClassCode
}

// isProgram reports whether a file is a source or can be run.
func isProgram(p string, f pawl.FileState) bool {
	return class.IsSource(p) || f.Kind == pawl.FileExecutable || bytes.HasPrefix(f.Data, []byte("#!"))
}

// isCode reports whether a file is source code and no test.
func (s *Survey) isCode(p string) bool { return class.IsSource(p) && s.classes.Of(p) == pawl.ClassCode }

// testsOf returns what of a file is tests. Rust has them beside the code.
func testsOf(s *Survey) func(string, []byte) []byte {
	return func(p string, text []byte) []byte {
		if _, tests, ok := splitRust(p, text); ok && s.classes.Of(p) == pawl.ClassCode {
			return tests
		}
		return text
	}
}

// codeOf returns what of a file is no test.
func codeOf(p string, text []byte) []byte {
	if code, _, ok := splitRust(p, text); ok {
		return code
	}
	return text
}

// compares matches commands that compare a file with another one. What a gate only reads may be the work itself.
var compares = pattern.Of(`\b(?:diff|cmp|comm|sdiff|colordiff|git-diff|filecmp)\b|(?:\[|\btest\b)[^\n]*\$\((?:cat\b|<)|\bgrep[^\n|]*[ \t]-\w*f\b`)

// expectedName matches the names, in lower case, of files and folders of what is expected.
var expectedName = pattern.Of(`(?:^|[/._-])(?:expect|expected|golden|goldens|want|wanted|snapshots?|snap|baseline|approved|reference|exp|ok|ref)(?:$|[/._-])`)

// inGates returns those of the paths that commands of gates name which compare files, or the scripts that these
// run, and those that they name and that are called what is expected.
func (s *Survey) inGates(paths []string) []string {
	var texts []string
	for _, g := range s.c.Gates {
		texts = append(texts, g.Command)
	}
	for _, name := range s.classes.Named() {
		if s.classes.Of(name) == pawl.ClassGateInput {
			texts = append(texts, string(s.c.Read(name, true)))
		}
	}
	folders := s.dataFolders(paths)
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool {
			return (compares.MatchString(text) || expectedName.MatchString(strings.ToLower(p))) && (names(text, p, folders[p]) || folders[p] != "" && entersFolder(text, folders[p]))
		})
	})
}

// entersFolder reports whether a text of a shell names what is in a folder.
func entersFolder(text, name string) bool {
	return contains(text, name, func(before, after string) bool {
		return !endsInName(before) && (strings.HasPrefix(after, "/") || strings.HasSuffix(before, "cd ") && (after == "" || !isName(after[0])))
	})
}

// holdsTests reports whether a file may hold tests or what they use, by its path. Rust has tests beside
// the code.
func (s *Survey) holdsTests(p string) bool {
	of := s.classes.Of(p)
	return of == pawl.ClassTest || class.IsSource(p) && (of == pawl.ClassSupport || path.Ext(p) == ".rs" && of == pawl.ClassCode)
}

var rustTests = pattern.Of(`#\[cfg\((?:test|all\(test\b)`)

// splitRust parts a file of Rust where its tests begin.
func splitRust(p string, text []byte) (code, tests []byte, ok bool) {
	if path.Ext(p) != ".rs" {
		return nil, nil, false
	}
	if at := rustTests.FindIndex(text); at != nil {
		return text[:at[0]], text[at[0]:], true
	}
	return text, nil, true
}

// dataFolders returns the names of the folders of those paths that are in folders of data alone: tests may
// name these and make the names of the files.
func (s *Survey) dataFolders(paths []string) map[string]string {
	names := map[string]string{}
	for _, p := range paths {
		dir := path.Dir(p)
		if dir != "." && !slices.ContainsFunc(s.c.Paths(), func(o string) bool { return path.Dir(o) == dir && class.IsSource(o) }) {
			names[p] = path.Base(dir)
		}
	}
	return names
}

// namesFolder reports whether a string in a text has the name of a folder in it.
func namesFolder(text, name string) bool {
	const around = "\"'`/"
	return contains(text, name, func(before, after string) bool {
		return before != "" && after != "" && strings.IndexByte(around, before[len(before)-1]) >= 0 && strings.IndexByte(around, after[0]) >= 0
	})
}

// search returns which of the paths are named, by their last part or their folder, in the files of the base
// that match. Only what part returns of a file is searched.
func (s *Survey) search(paths []string, match func(string) bool, part func(string, []byte) []byte) map[string]bool {
	files := slices.DeleteFunc(slices.Clone(s.c.Paths()), func(p string) bool { return !match(p) })
	if len(paths) == 0 {
		return nil
	}
	folders := s.dataFolders(paths)
	found, size := map[string]bool{}, 0
	s.c.Contents(files, func(in string, text []byte) bool {
		size += len(text)
		searched := string(part(in, text))
		for _, p := range paths {
			if !found[p] && p != in && names(searched, p, folders[p]) {
				found[p] = true
			}
		}
		return size < maxSearched && len(found) < len(paths)
	})
	return found
}

// names reports whether a text names a file by the last part of its path, or by a folder of data, if there is one.
func names(text, p, folder string) bool {
	return namesFile(text, path.Base(p)) || folder != "" && namesFolder(text, folder)
}

// namesFile reports whether a text has a name in it that is not a part of a longer one.
func namesFile(text, name string) bool {
	return contains(text, name, func(before, after string) bool {
		return !endsInName(before) && (after == "" || !isName(after[0]))
	})
}

// findStandIns notes the added files that tests may find in place of others: a module in a folder of tests
// that the base's tests import by that name, or one that is found ahead of a module of the base.
func (s *Survey) findStandIns() {
	var support []string
	for i := range s.c.Files {
		f := &s.c.Files[i]
		if hadIt(f) || f.New.Data == nil || s.c.Contents == nil {
			continue
		}
		isModule := moduleLanguage(f.Path) != ""
		switch {
		case isModule && s.has(f.Path, pawl.ClassSupport):
			support = append(support, f.Path)
		case s.has(f.Path, pawl.ClassCode):
			other := s.outrun(f.Path)
			if other == "" && isModule {
				other = s.namesake(f.Path)
			}
			if other != "" {
				s.standIns = append(s.standIns, standIn{path: f.Path, why: fmt.Sprintf("it is found in place of %s", other), firm: true})
			}
		}
	}
	if len(support) == 0 {
		return
	}
	support = support[:min(len(support), maxNamed)]
	imported := map[string]bool{}
	size := 0
	s.c.Contents(slices.DeleteFunc(slices.Clone(s.c.Paths()), func(p string) bool { return !s.holdsTests(p) }), func(in string, text []byte) bool {
		size += len(text)
		lines := importLine.FindAll(text, -1)
		for _, p := range support {
			imported[p] = imported[p] || moduleLanguage(in) == moduleLanguage(p) && imports(lines, moduleName(p))
		}
		return size < maxSearched
	})
	for _, p := range support {
		if imported[p] {
			s.standIns = append(s.standIns, standIn{path: p, why: fmt.Sprintf("tests that the base has too find it as module %s", moduleName(p))})
		}
	}
}

// standIn is an added file that is found in place of something else, or where the base has nothing.
type standIn struct {
	path, why string
	gate      bool // gates run or read it; else tests do
	direct    bool // a gate's command names it
	firm      bool // no gate can have missed it on the base
}

// moduleLanguage returns the language of a module that is found by its name; empty = it is none.
func moduleLanguage(p string) string {
	switch path.Ext(p) {
	case ".py", ".so", ".pyd", ".pyc":
		return "python"
	case ".ts":
		if strings.HasSuffix(p, ".d.ts") {
			return ""
		}
		return "js"
	case ".js", ".mjs", ".cjs", ".jsx", ".mts", ".cts", ".tsx":
		return "js"
	}
	return ""
}

// moduleName returns the name by which a module is imported, without its package: that of its folder if it
// stands for a package.
func moduleName(p string) string {
	dir, base := path.Split(p)
	stem := strings.TrimSuffix(base, path.Ext(base))
	if path.Base(dir) == "__pycache__" {
		dir = path.Dir(path.Clean(dir))
	}
	if path.Ext(base) == ".so" || path.Ext(base) == ".pyd" || path.Ext(base) == ".pyc" { // rates.cpython-312-x86_64-linux-gnu.so
		stem, _, _ = strings.Cut(base, ".")
	}
	if stem == "__init__" || stem == "index" {
		return path.Base(dir)
	}
	return stem
}

// importLine matches lines of Python and JavaScript that import something.
var importLine = pattern.Of(`(?m)^.*\b(?:import|from|require|import_module|patch)\b.*$`)

// imports reports whether lines that import something name a module.
func imports(lines [][]byte, name string) bool {
	return slices.ContainsFunc(lines, func(line []byte) bool {
		return contains(string(line), name, func(before, after string) bool {
			return (before == "" || !isWord(before[len(before)-1])) && (after == "" || !isWord(after[0]))
		})
	})
}

func isWord(c byte) bool { return isName(c) && c != '.' && c != '-' }

// sourceRoots are folders that are on the path of a language, or not, as a project is laid out.
var sourceRoots = []string{"src/", "lib/", "python/", "app/"}

// moduleOf returns the path by which a module is imported, without the folder of sources that it is in.
func moduleOf(p string) string {
	for _, root := range sourceRoots {
		if rest, ok := strings.CutPrefix(p, root); ok {
			p = rest
			break
		}
	}
	name := moduleName(p)
	dir := path.Dir(p)
	if path.Base(dir) == "__pycache__" {
		dir = path.Dir(dir)
	}
	if path.Base(dir) == name && !strings.HasPrefix(path.Base(p), name+".") {
		return dir
	}
	return path.Join(dir, name)
}

// namesake returns a file that base and candidate have and that is imported by the same path as an added one;
// empty = there is none.
func (s *Survey) namesake(added string) string {
	as := moduleOf(added)
	for _, p := range s.c.Paths() {
		if p != added && moduleLanguage(p) == moduleLanguage(added) && s.classes.Of(p) == pawl.ClassCode && moduleOf(p) == as && s.c.Read(p, false) != nil {
			return p
		}
	}
	return ""
}
