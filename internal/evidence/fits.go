package evidence

import (
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// What the base expects may be written for code that the candidate declares in another way. A failure there says
// nothing, as long as it is at a name whose declaration changed.

var (
	declaration = pattern.Of(`(?m)^[ \t]*(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|async|abstract|final|unsafe|override|inline)[ \t]+)*` +
		`(?:def|class|func|function\*?|fn|struct|enum|trait|interface|type|record|sub)[ \t]+(?:\([^)\n]*\)[ \t]*)?([A-Za-z_$][\w$]*)[^\n]*`)
	method   = pattern.Of(`(?m)^[ \t]*(?:(?:static|async|public|private|protected|get|set|final|override)[ \t]+)*([A-Za-z_$][\w$]*)[ \t]*\([^;\n]*\)[^;\n]*\{[ \t]*$`)
	assigned = pattern.Of(`(?m)^[ \t]*(?:(?:export|const|let|var|static|pub|final)[ \t]+)*(?:exports\.|module\.exports\.|self\.|this\.)?([A-Za-z_$][\w$]*)[ \t]*(?::[^=\n]*)?=[ \t]*(?:(async)\b)?[ \t]*(?:(\([^()\n]*\))[ \t]*=>|(function\b[^{\n]*))?`)
	anyName  = pattern.Of(`[A-Za-z_$][\w$]*`)
	isAsync  = pattern.Of(`\basync\b|\bPromise\b|\bCoroutine\b|\bAwaitable\b`)
)

// maxDeclaration bounds the bytes of a declaration that goes over several lines.
const maxDeclaration = 600

// declarations returns how a source declares each name: the text of the declaration without a body or value.
func declarations(text string) map[string]string {
	out := map[string]string{}
	for _, m := range declaration.FindAllStringIndex(text, -1) {
		head := text[m[0]:m[1]]
		name := declaration.FindStringSubmatch(head)[1]
		if strings.Count(head, "(") > strings.Count(head, ")") { // its parameters are on several lines
			rest := text[m[1]:min(len(text), m[1]+maxDeclaration)]
			if end := strings.Index(rest, ")"); end >= 0 {
				head += rest[:end+1]
			}
		}
		head, _, _ = strings.Cut(head, "{")
		out[name] += strings.Join(strings.Fields(head), " ") + ";"
	}
	for _, m := range method.FindAllStringSubmatch(text, -1) {
		out[m[1]] += strings.Join(strings.Fields(m[0]), " ") + ";"
	}
	for _, m := range assigned.FindAllStringSubmatch(text, -1) {
		out[m[1]] += "=" + m[2] + m[3] + m[4] + ";"
	}
	return out
}

// fit is what the candidate's code declares in another way than the base's.
type fit struct {
	names map[string]bool
	async bool // a function waits that did not, or does not that did
}

// fit returns it, of all changed code.
func (s *Survey) fit() *fit {
	if s.fits != nil {
		return s.fits
	}
	f := &fit{names: map[string]bool{}}
	old, now := map[string]string{}, map[string]string{}
	had, has := map[string]bool{}, map[string]bool{}
	for i := range s.c.Files {
		c := &s.c.Files[i]
		if !s.has(c.Path, pawl.ClassCode, pawl.ClassVendored) {
			continue
		}
		for name, text := range declarations(string(c.Old.Data)) {
			old[name] += text
		}
		for name, text := range declarations(string(c.New.Data)) {
			now[name] += text
		}
		for _, name := range anyName.FindAllString(string(c.Old.Data), -1) {
			had[name] = true
		}
		for _, name := range anyName.FindAllString(string(c.New.Data), -1) {
			has[name] = true
		}
		if hadIt(c) && !c.New.Exists() { // it is gone, or somewhere else
			f.names[moduleName(c.Path)], f.names[path.Base(c.Path)] = true, true
			for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
				f.names[path.Base(dir)] = true
			}
		}
	}
	for name, text := range old {
		if now[name] != text {
			f.names[name] = true
			f.async = f.async || isAsync.MatchString(text) != isAsync.MatchString(now[name])
		}
	}
	for name := range had {
		if len(name) > 1 && !has[name] {
			f.names[name] = true
		}
	}
	s.fits = f
	return f
}

// trouble matches the lines in which compilers, interpreters and programs say that something does not fit.
var trouble = pattern.Of(`(?i)\berror\b|\w(?:Error|Exception)\b|undefined|undeclared|unresolved|not enough|too (?:many|few)|cannot|can't|no such file|not found|unknown|unbound|unexpected|does not|usage:|no (?:field|method|module)|mismatch|panic:`)

// asserting matches the lines in which tests say that a value is another one than is expected.
var asserting = pattern.Of(`\bAssertionError\b|\bassert(?:ion)?\b|\bexpected\b.*\b(?:got|but|to)\b|\bgot\b.*\bwant\b`)

// promised matches a value that nobody waited for.
var promised = pattern.Of(`Promise \{|\[object Promise\]|<coroutine object|was never awaited|is not iterable|unexpected keyword argument 'await'`)

// excused reports whether a gate failed with the base's expectations only because these are for other code. What
// was left out with them excuses nothing.
func (s *Survey) excused(output string) bool {
	f := s.fit()
	for line := range strings.Lines(output) {
		if f.async && promised.MatchString(line) {
			return true
		}
		if !trouble.MatchString(line) || asserting.MatchString(line) || len(s.leftOut(line)) > 0 {
			continue
		}
		if slices.ContainsFunc(anyName.FindAllString(line, -1), func(name string) bool { return f.names[name] }) {
			return true
		}
		for name := range f.names {
			if strings.Contains(name, ".") && namesFile(line, name) {
				return true
			}
		}
	}
	return false
}
