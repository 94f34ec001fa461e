package source

import "strings"

// example is a test in documentation: its text with blank lines around it, so that the numbers of
// lines are those of the file.
type example struct {
	name, code, want string
	line             int
	skipped          string
	inverted         bool
}

// addExample adds a test that stands in documentation. Its code is read as a file of its own.
func (f *file) addExample(e example) {
	if len(f.examples) >= maxUnits {
		return
	}
	sub := &file{path: f.path, lang: f.lang, src: e.code, toks: lex(e.code, f.lang), tables: map[string]span{}}
	u := &unit{file: sub, name: e.name, test: true, line: e.line, end: e.line + strings.Count(e.code, "\n"), body: span{0, len(sub.toks)}, inverted: e.inverted}
	if e.skipped != "" {
		u.marks = []mark{{text: e.skipped}}
	}
	if e.want != "" {
		c := check{span: u.body, line: e.line, op: opEqual, weight: 1, said: e.want}
		c.sides = [2][]literal{sub.literals(u.body), {{text: string('0'+text) + e.want, list: -1}}}
		u.checks = []check{c}
		u.unsure = true
	} else {
		sub.scan(u)
	}
	sub.units = []*unit{u}
	f.examples = append(f.examples, sub)
}

// doctests adds the examples of docstrings. Each prompt with what it prints is a check of the
// test of its function.
func (f *file) doctests(all []statement) {
	if !strings.Contains(f.src, ">>>") {
		return
	}
	name := "module"
	for _, s := range all {
		at := s.from
		if f.at(at).is("async") {
			at++
		}
		if f.at(at).is("def") || f.at(at).is("class") {
			name = f.at(at + 1).text
		}
		if t := f.at(s.from); t.kind == text && s.to == s.from+1 && strings.Contains(t.text, ">>>") {
			f.docstring(name, t)
		}
	}
}

// docstring adds the examples of one docstring.
func (f *file) docstring(name string, doc *lexeme) {
	line := doc.line
	var e example
	add := func() {
		if e.code != "" {
			f.addExample(e)
		}
		e = example{}
	}
	for raw := range strings.SplitSeq(doc.text, "\n") {
		s := strings.TrimSpace(raw)
		switch code, ok := strings.CutPrefix(s, ">>>"); {
		case ok:
			add()
			e = example{name: name, code: code, line: line}
			if strings.Contains(code, "+SKIP") {
				e.skipped = strings.TrimSpace(code)
			}
		case e.code == "":
		case strings.HasPrefix(s, "...") && e.want == "":
			e.code += "\n" + strings.TrimPrefix(s, "...")
		case s == "":
			add()
		default:
			e.want += s + "\n"
		}
		line++
	}
	add()
}

// fences adds the examples in the documentation of a Rust file.
func (f *file) fences() {
	if !strings.Contains(f.src, "```") && !strings.Contains(f.src, "~~~") {
		return
	}
	lines := strings.Split(f.src, "\n")
	for i := 0; i < len(lines); i++ {
		words, ok := fence(lines[i])
		if !ok {
			continue
		}
		e := example{line: i + 1}
		var code strings.Builder
		for i++; i < len(lines); i++ {
			if _, end := fence(lines[i]); end {
				break
			}
			doc, ok := docLine(lines[i])
			if !ok {
				break
			}
			if strings.HasPrefix(doc, "# ") || doc == "#" {
				doc = strings.TrimPrefix(doc, "#")
			}
			code.WriteString(doc + "\n")
		}
		e.code, e.name = code.String(), documented(lines, i)
		if f.fenceWords(&e, words) {
			f.addExample(e)
		}
	}
}

// fenceWords reads what stands behind the fence of an example, and reports whether it is Rust.
func (f *file) fenceWords(e *example, words string) bool {
	for w := range strings.FieldsFuncSeq(words, func(r rune) bool { return r == ',' || r == ' ' || r == '{' || r == '}' }) {
		switch {
		case w == "ignore" || strings.HasPrefix(w, "ignore-") || w == "no_run":
			e.skipped = "```" + words
		case w == "should_panic":
			e.inverted = true
		case w == "rust" || w == "compile_fail" || strings.HasPrefix(w, "edition") || strings.HasPrefix(w, "E0"):
		default:
			return false
		}
	}
	return true
}

// docLine returns the text of a line of documentation.
func docLine(line string) (string, bool) {
	s := strings.TrimSpace(line)
	for _, prefix := range []string{"///", "//!"} {
		if doc, ok := strings.CutPrefix(s, prefix); ok {
			return strings.TrimPrefix(doc, " "), true
		}
	}
	return "", false
}

// fence returns what stands behind the fence in a line of documentation.
func fence(line string) (string, bool) {
	doc, ok := docLine(line)
	if !ok {
		return "", false
	}
	doc = strings.TrimSpace(doc)
	for _, f := range []string{"```", "~~~"} {
		if words, ok := strings.CutPrefix(doc, f); ok {
			return strings.TrimSpace(words), true
		}
	}
	return "", false
}

// documented returns the name of what the documentation before a line is about.
func documented(lines []string, i int) string {
	for end := min(len(lines), i+maxDoc); i < end; i++ {
		s := strings.TrimSpace(lines[i])
		if s == "" || strings.HasPrefix(s, "//!") {
			return "module"
		}
		if strings.HasPrefix(s, "//") || strings.HasPrefix(s, "#[") {
			continue
		}
		words := strings.FieldsFunc(s, func(r rune) bool { return r != '_' && !alphanumeric(byte(min(r, 127))) })
		for n, w := range words {
			switch w {
			case "fn", "struct", "enum", "trait", "mod", "const", "type", "macro_rules", "union", "static":
				if n+1 < len(words) {
					return words[n+1]
				}
			}
		}
		return "module"
	}
	return "module"
}
