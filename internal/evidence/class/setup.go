package class

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// IsSetUp reports whether a file runs before tests or decides how they run, by its name, by
// what configurations that were given to [Classes.Follow] say of it, or by its content.
func (c *Classes) IsSetUp(name string, data []byte) bool {
	_, is := c.SetUp(name, data)
	return is
}

// SetUp returns the part of a file that runs before tests: TestMain and init of a Go test, the
// functions with an attribute that makes them run first, or the whole of a file such as
// conftest.py that is there for nothing else. Whether that part is the same in base and candidate
// says whether the set-up changed, whatever else did.
func (c *Classes) SetUp(name string, data []byte) (text string, is bool) {
	class := c.Of(name)
	if class == pawl.ClassVendored || class == pawl.ClassPolicy {
		return "", false
	}
	p := split(name)
	switch {
	case c.names.fixtures.matches(p):
		return "", false
	case c.uses.of(name) == usedSetUp || c.names.setUp.matches(p):
		return string(data), true
	case slices.Contains([]string{"sitecustomize.py", "usercustomize.py"}, p.base) || p.ext == ".pth":
		return string(data), true
	case strings.HasSuffix(name, "_test.go"):
		text = goSetUp(data)
		return text, text != ""
	case class != pawl.ClassTest && class != pawl.ClassSupport:
		return "", false
	}
	marks := setUpMarks[p.ext]
	if marks == nil || !marks.Match(data) {
		return "", false
	}
	source := string(data)
	var parts strings.Builder
	for _, m := range marks.FindAllStringIndex(source, -1) {
		parts.WriteString(source[m[0]:blockEnd(source, m[1])] + "\n")
	}
	return parts.String(), true
}

// setUpMarks match, in tests and what they need, what runs before all of them.
var setUpMarks = map[string]*pattern.Pattern{
	".py": pattern.Of(`(?m)^def (?:setUpModule|setup_module|load_tests|pytest_\w+)\b|^@pytest\.fixture\([^)\n]*autouse\s*=\s*True|^pytest_plugins\b`),
	".rs": pattern.Of(`#\[(?:ctor::)?ctor\b`),
	".cs": pattern.Of(`\[(?:ModuleInitializer|AssemblyInitialize|AssemblyCleanup|SetUpFixture|Before\(Assembly\)|assembly:\s*\w+)\b`),
	".js": pattern.Of(`\bmochaHooks\b|\bmochaGlobalSetup\b`),
	".ts": pattern.Of(`\bmochaHooks\b|\bmochaGlobalSetup\b`),
	".kt": pattern.Of(`\bAbstractProjectConfig\b|\bLauncherSessionListener\b`),
	".java": pattern.Of(
		`\bLauncherSessionListener\b|\bTestExecutionListener\b|\bISuiteListener\b|@BeforeSuite\b`),
}

// goSetUp returns the functions of a Go test that run before its tests.
func goSetUp(data []byte) string {
	if !strings.Contains(string(data), "TestMain") && !strings.Contains(string(data), "init()") {
		return ""
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", data, parser.SkipObjectResolution)
	if file == nil || err != nil && file.Decls == nil {
		return ""
	}
	var text strings.Builder
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Recv == nil && (f.Name.Name == "TestMain" || f.Name.Name == "init") {
			from, to := fset.Position(f.Pos()).Offset, fset.Position(f.End()).Offset
			text.Write(data[from:min(to, len(data))])
			text.WriteByte('\n')
		}
	}
	return text.String()
}

// blockEnd returns where the block ends that begins on the line of an offset: before the next line
// that is indented no more, closing brackets aside.
func blockEnd(text string, offset int) int {
	start := strings.LastIndexByte(text[:offset], '\n') + 1
	depth := indent(text[start:])
	end, body := offset, false
	for end < len(text) {
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return len(text)
		}
		end += next + 1
		line := strings.TrimSpace(firstLine(text[end:]))
		switch {
		case line == "" || strings.HasPrefix(line, "#[") || strings.HasPrefix(line, "@"):
		case indent(text[end:]) > depth:
			body = true
		case body && strings.ContainsRune("})]", rune(line[0])):
			return end + len(firstLine(text[end:]))
		case body:
			return end
		}
	}
	return end
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
