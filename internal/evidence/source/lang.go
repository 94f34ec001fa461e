package source

import (
	"path"
	"slices"
	"strings"
)

// language is how the sources of a language are split, and who finds the tests in them.
type language struct {
	name       string
	extensions []string
	comments   []string  // what begins a comment that ends with its line
	block      [2]string // what begins and ends a comment of several lines
	nested     bool      // comments of several lines are nested
	prefixes   string    // letters that may stand before a quote
	triple     []string  // quotes of three
	rawHashes  bool      // r#"…"#
	template   bool      // `…${}…`
	backtick   bool      // `…` without escapes
	lifetimes  bool      // ' begins a lifetime or a character
	multiline  bool      // strings may go over lines
	regexps    bool      // /…/ may be a regular expression
	heredocs   bool      // <<END
	marks      bool      // names may end with ? or !
	shell      bool
	braces     bool // { begins a block of statements
	// find finds the functions and tests of a file.
	find func(*file)
}

var slashes, stars = []string{"//"}, [2]string{"/*", "*/"}

// languages returns the languages whose tests can be read.
func languages() []*language {
	return []*language{
		{name: "go", extensions: []string{".go"}, comments: slashes, block: stars, backtick: true, braces: true, find: findGo},
		{name: "js", extensions: []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}, comments: slashes, block: stars,
			template: true, regexps: true, braces: true, find: findJS},
		{name: "python", extensions: []string{".py", ".pyi"}, comments: []string{"#"}, prefixes: "rRbBuUfF", triple: []string{`"""`, "'''"}, find: findPython},
		{name: "rust", extensions: []string{".rs"}, comments: slashes, block: stars, nested: true, prefixes: "rbc", rawHashes: true, lifetimes: true,
			multiline: true, braces: true, find: findRust},
		{name: "java", extensions: []string{".java", ".kt", ".kts"}, comments: slashes, block: stars, triple: []string{`"""`}, backtick: true, braces: true, find: findMethods},
		{name: "csharp", extensions: []string{".cs"}, comments: slashes, block: stars, prefixes: "$@", triple: []string{`"""`}, braces: true, find: findMethods},
		{name: "php", extensions: []string{".php"}, comments: []string{"//", "# ", "#\n"}, block: stars, multiline: true, heredocs: true, braces: true, find: findMethods},
		{name: "ruby", extensions: []string{".rb"}, comments: []string{"#"}, block: [2]string{"=begin", "=end"}, multiline: true, regexps: true, heredocs: true, marks: true, braces: true, find: findScript},
		{name: "shell", extensions: []string{".bats", ".sh", ".bash"}, comments: []string{"#"}, multiline: true, heredocs: true, shell: true, braces: true, find: findScript},
	}
}

// languageOf returns the language of a file, or nil.
func languageOf(file string) *language {
	ext := strings.ToLower(path.Ext(file))
	for _, l := range languages() {
		if slices.Contains(l.extensions, ext) {
			return l
		}
	}
	return nil
}

// forTests reports whether the path says that a file is there for tests.
func forTests(file string) bool {
	p := strings.ToLower(file)
	return strings.Contains(p, "test") || strings.Contains(p, "spec") || strings.HasSuffix(p, ".bats")
}

// discovered reports whether the usual runner of the language finds tests in a file of this
// name. Runners may be set up otherwise: it is asked for the base too, and only a change counts.
func discovered(l *language, file string) bool {
	base := path.Base(file)
	stem := strings.TrimSuffix(base, path.Ext(base))
	switch l.name {
	case "go":
		return strings.HasSuffix(stem, "_test") && base[0] != '_' && base[0] != '.' && goPlatform(stem) == "" && !ignoredByGo(path.Dir(file))
	case "python":
		return strings.HasPrefix(base, "test") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_tests")
	case "js":
		return strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.Contains(file, "__tests__/") ||
			slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(s string) bool { return s == "test" || s == "tests" || s == "spec" }) ||
			strings.HasPrefix(base, "test.") || strings.HasPrefix(base, "test-") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "-test")
	case "ruby":
		return strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_spec") || strings.HasPrefix(stem, "test_")
	case "shell":
		return path.Ext(base) == ".bats"
	case "java", "csharp", "php":
		return strings.Contains(stem, "Test") || strings.Contains(stem, "Spec") || strings.HasSuffix(stem, "IT")
	}
	return true
}

// ignoredByGo reports whether ./... does not reach a folder.
func ignoredByGo(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(s string) bool {
		return s == "testdata" || s == "vendor" || strings.HasPrefix(s, "_") || len(s) > 1 && s[0] == '.' && s != ".."
	})
}

// goPlatform returns the operating system or processor that the name of a Go file asks for, where
// it is not one that gates mostly run on.
func goPlatform(stem string) string {
	parts := strings.Split(strings.TrimSuffix(stem, "_test"), "_")
	if len(parts) < 2 {
		return ""
	}
	switch last := parts[len(parts)-1]; last {
	case "aix", "android", "darwin", "dragonfly", "freebsd", "illumos", "ios", "js", "netbsd", "openbsd", "plan9", "solaris", "wasip1", "windows",
		"386", "arm", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64", "s390x", "wasm":
		return last
	}
	return ""
}
