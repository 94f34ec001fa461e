package evidence

import (
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// A module that is installed is found by its name after those of the project: an added file of this name is loaded
// in its place. That a module is installed shows where the base loads it and does not have it.

// loader says how sources of a language load modules.
type loader struct {
	exts  []string         // of sources
	loads *pattern.Pattern // what always loads a module; its groups are the names, one of which is not empty
	sep   string           // between the parts of a name
	roots []string         // folders where modules are looked for; nil = anywhere
	start string           // the name of a file that stands for its folder; empty = there is none
}

var loadersOf = map[string]loader{
	"python": {exts: []string{".py"}, loads: pattern.Of(`(?m)^from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import\b|^import[ \t]+([A-Za-z_][\w., \t]*)`), sep: "."},
	"ruby":   {exts: []string{".rb", ".rake"}, loads: pattern.Of(`(?m)^[ \t]*require[ \t(]+["']([\w/-]+)["']`), sep: "/", roots: []string{"", "lib/", "spec/", "test/"}},
	"perl":   {exts: []string{".pm", ".pl", ".t"}, loads: pattern.Of(`(?m)^[ \t]*(?:use|require)[ \t]+([A-Z]\w*(?:::\w+)*)`), sep: "::", roots: []string{"", "lib/", "t/", "t/lib/"}},
	"lua":    {exts: []string{".lua"}, loads: pattern.Of(`(?m)^[ \t]*(?:local[ \t]+\w+[ \t]*=[ \t]*)?require[ \t(]+["']([\w.-]+)["']`), sep: ".", roots: []string{"", "src/", "lib/", "lua/"}, start: "init"},
	"js": {exts: []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}, loads: pattern.Of(`(?m)\b(?:from|require\(|import)[ \t]*["']((?:@[\w.-]+/)?[\w-][\w.-]*)["']`),
		sep: "/", roots: []string{"", "src/", "lib/", "app/"}, start: "index"},
	"c": {exts: []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp"}, loads: pattern.Of(`(?m)^[ \t]*#[ \t]*include[ \t]*<([\w./-]+)>`), sep: "/"},
}

// loadedName returns the language of a file and its path as a module, without extension.
func loadedName(p string) (lang, name string) {
	for lang, l := range loadersOf {
		if !slices.Contains(l.exts, path.Ext(p)) {
			continue
		}
		if lang == "c" {
			return lang, p // with its extension
		}
		name = strings.TrimSuffix(p, path.Ext(p))
		if l.start != "" && path.Base(name) == l.start {
			name = path.Dir(name)
		}
		return lang, name
	}
	return "", ""
}

// loadsOf returns the modules that files of the base of a language load and the base does not have, with the folders
// of these files.
func (s *Survey) loadsOf(lang string) map[string][]string {
	if found, ok := s.loads[lang]; ok {
		return found
	}
	l, found, own := loadersOf[lang], map[string][]string{}, map[string]bool{}
	var files []string
	for _, p := range s.c.Paths() {
		is, name := loadedName(p)
		if is != lang {
			continue
		}
		if s.classes.Of(p) != pawl.ClassVendored {
			files = append(files, p)
		}
		for name = strings.TrimSuffix(name, "/__init__"); name != "." && name != ""; {
			own[name] = true
			if lang == "python" {
				own[path.Base(name)] = true
			}
			_, rest, more := strings.Cut(name, "/")
			if !more {
				break
			}
			name = rest
		}
		if lang == "python" {
			for _, folder := range strings.Split(path.Dir(p), "/") {
				own[folder] = true
			}
		}
	}
	size := 0
	s.c.Contents(files, func(in string, text []byte) bool {
		size += len(text)
		for _, m := range l.loads.FindAllStringSubmatch(string(text), maxWords) {
			for _, group := range m[1:] {
				for _, name := range strings.Split(group, ",") {
					if words := strings.Fields(name); len(words) > 0 { // import NAME as OTHER
						if name = strings.ReplaceAll(words[0], l.sep, "/"); lang == "python" {
							name, _, _ = strings.Cut(name, "/")
						}
						if !own[name] && !slices.Contains(found[name], path.Dir(in)) {
							found[name] = append(found[name], path.Dir(in))
						}
					}
				}
			}
		}
		return size < maxSearched
	})
	if s.loads == nil {
		s.loads = map[string]map[string][]string{}
	}
	s.loads[lang] = found
	return found
}

// standard are headers of C that every compiler has.
var standard = strings.Fields("assert.h ctype.h errno.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h time.h unistd.h")

// shadows returns the module that is installed and in place of which an added file is found; empty = there is none.
// It is certain that it is installed if known.
func (s *Survey) shadows(p string) (module string, known bool) {
	if moduleLanguage(p) == "python" {
		return s.shadowsPython(p)
	}
	lang, name := loadedName(p)
	l := loadersOf[lang]
	switch {
	case lang == "":
		return "", false
	case lang == "c" && slices.Contains(standard, path.Base(p)):
		return path.Base(p), true
	case lang == "c":
		for header := range s.loadsOf(lang) {
			if strings.HasSuffix("/"+p, "/"+header) {
				return header, false
			}
		}
		return "", false
	case lang == "js" && !s.findsByFolder():
		return "", false
	}
	for _, root := range l.roots {
		if in, ok := strings.CutPrefix(name, root); ok && s.loadsOf(lang)[in] != nil {
			return in, false
		}
	}
	return "", false
}

// findsByFolder reports whether the configuration of the base may let JavaScript find modules of the project by their
// names alone.
func (s *Survey) findsByFolder() bool {
	for _, p := range s.c.Paths() {
		if base := path.Base(p); strings.HasPrefix(base, "tsconfig") || strings.HasPrefix(base, "jsconfig") || strings.HasPrefix(base, "jest.config") || base == "package.json" && path.Dir(p) == "." {
			if moduleFolders.Match(s.c.Read(p, true)) {
				return true
			}
		}
	}
	return false
}

// moduleFolders matches settings that name folders in which modules are looked for.
var moduleFolders = pattern.Of(`\b(?:baseUrl|modulePaths|moduleDirectories|NODE_PATH)\b`)

// shadowsPython is shadows for Python, where the folder of a script and that of tests are looked in too.
func (s *Survey) shadowsPython(p string) (module string, known bool) {
	name, dir := moduleName(p), path.Dir(p)
	if path.Base(dir) == name && strings.HasPrefix(path.Base(p), "__init__.") {
		dir = path.Dir(dir)
	}
	if s.c.Read(path.Join(dir, "__init__.py"), true) != nil || s.c.Read(path.Join(dir, "__init__.py"), false) != nil {
		return "", false
	}
	isRoot := dir == "." || slices.Contains(sourceRoots, dir+"/") ||
		slices.ContainsFunc(s.c.Paths(), func(o string) bool { return path.Dir(o) == dir && s.classes.Of(o) == pawl.ClassTest })
	if isRoot && (slices.Contains(strings.Fields(installed), name) || s.requires(name)) {
		return name, true
	}
	if from := s.loadsOf("python")[name]; isRoot && len(from) > 0 || slices.Contains(from, dir) {
		return name, false
	}
	return "", false
}

// requires reports whether the base's manifests name a package of Python.
func (s *Survey) requires(name string) bool {
	for _, manifest := range []string{"pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg", "setup.py", "Pipfile"} {
		if namesFile(string(s.c.Read(manifest, true)), name) {
			return true
		}
	}
	return false
}

// rank returns how early Node and its like try a file where a module is loaded by its path without extension, and
// that path; -1 = they do not.
func rank(p string) (n int, name string) {
	name = strings.TrimSuffix(p, path.Ext(p))
	switch ext := path.Ext(p); {
	case ext == "":
		return 0, p
	case moduleLanguage(p) == "js" && path.Base(name) == "index" && path.Dir(p) != ".":
		return 4, path.Dir(p)
	case moduleLanguage(p) == "js":
		return 1, name
	case ext == ".json":
		return 2, name
	case ext == ".node":
		return 3, name
	}
	return -1, ""
}

// loadedByPath matches where JavaScript loads a module by a path.
var loadedByPath = pattern.Of(`\b(?:from|require\(|import|import\(|mock\()[ \t]*["'](\.{1,2}(?:/[^"'\n]*)?)["']`)

// outrun returns a file that base and candidate have, that the base loads by its path without extension, and before
// which an added one is found; empty = there is none. Of two sources the one is the other's [Survey.namesake].
func (s *Survey) outrun(added string) string {
	first, name := rank(added)
	if first < 0 {
		return ""
	}
	other := ""
	for _, p := range s.c.Paths() {
		if n, as := rank(p); p != added && as == name && n > first && (moduleLanguage(p) == "" || moduleLanguage(added) == "") && s.c.Read(p, false) != nil {
			other = p
			break
		}
	}
	if other == "" {
		return ""
	}
	loaded, size := false, 0
	s.c.Contents(slices.DeleteFunc(slices.Clone(s.c.Paths()), func(p string) bool { return moduleLanguage(p) != "js" || s.classes.Of(p) == pawl.ClassVendored }), func(in string, text []byte) bool {
		size += len(text)
		for _, m := range loadedByPath.FindAllStringSubmatch(string(text), maxWords) {
			loaded = loaded || path.Join(path.Dir(in), m[1]) == name
		}
		return !loaded && size < maxSearched
	})
	if !loaded {
		return ""
	}
	return other
}
