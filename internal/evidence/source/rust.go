package source

import (
	"slices"
	"strings"
)

// rustScope is a module or another block that functions stand in.
type rustScope struct {
	end   int
	name  string
	tests bool
	marks []mark
}

// findRust finds the functions and tests of a Rust file.
func findRust(f *file) {
	var scopes []rustScope
	var attributes []span
	inTests := strings.HasPrefix(f.path, "tests/") || strings.Contains(f.path, "/tests/") || strings.HasSuffix(f.path, "/tests.rs")
	for i := 0; i < len(f.toks) && len(f.units) <= maxUnits; i++ {
		for len(scopes) > 0 && scopes[len(scopes)-1].end <= i {
			scopes = scopes[:len(scopes)-1]
		}
		t := f.at(i)
		switch {
		case t.is("#") && f.at(i+1).is("!") && f.opens(i+2, "["):
			if a := (span{i + 3, f.at(i + 2).mate}); f.at(a.from).is("cfg") && !f.plainCfg(a) {
				f.marks = append(f.marks, mark{text: f.code(a)})
			}
			i = f.at(i + 2).mate
		case t.is("#") && f.opens(i+1, "["):
			attributes = append(attributes, span{i + 2, f.at(i + 1).mate})
			i = f.at(i + 1).mate
		case (t.is("mod") || t.is("impl")) && len(scopes) < maxDepth:
			if open := f.find(span{i + 1, min(i+60, len(f.toks))}, "{", ";"); open >= 0 && f.opens(open, "{") {
				scopes = append(scopes, f.rustModule(i, open, attributes, scopes))
				i = open
			}
			attributes = nil
		case t.is("fn") && f.at(i+1).kind == word:
			i = f.rustFunction(i, attributes, scopes, inTests)
			attributes = nil
		case t.is("const") || t.is("static"):
			if len(scopes) == 0 || scopes[len(scopes)-1].tests {
				if eq := f.find(span{i, min(i+60, len(f.toks))}, "="); eq >= 0 && f.at(i+1).kind == word {
					f.tables[f.at(i+1).text] = span{eq + 1, f.statementEnd(eq)}
				}
			}
		case t.is(";") || t.is("}"):
			attributes = nil
		}
	}
	f.fences()
}

// plainCfg reports whether a cfg asks for nothing but tests.
func (f *file) plainCfg(a span) bool {
	return f.opens(a.from+1, "(") && f.at(a.from+1).mate == a.from+3 && f.at(a.from+2).is("test")
}

func (f *file) rustModule(i, open int, attributes []span, scopes []rustScope) rustScope {
	s := rustScope{end: f.at(open).mate}
	if f.at(i).is("mod") {
		s.name = f.at(i + 1).text
	}
	if len(scopes) > 0 {
		outer := scopes[len(scopes)-1]
		s.tests, s.marks = outer.tests, slices.Clone(outer.marks)
	}
	for _, a := range attributes {
		if f.at(a.from).is("cfg") {
			s.tests = s.tests || f.contains(a, "test")
			if !f.plainCfg(a) {
				s.marks = append(s.marks, mark{text: f.code(a)})
			}
		}
	}
	return s
}

// rustFunction adds the function at a token and returns its last token.
func (f *file) rustFunction(i int, attributes []span, scopes []rustScope, inTests bool) int {
	open := f.find(span{i + 1, min(i+maxSpan, len(f.toks))}, "{", ";")
	if open < 0 || !f.opens(open, "{") {
		return i
	}
	u := &unit{file: f, name: f.at(i + 1).text, line: f.at(i).line, body: span{open + 1, f.at(open).mate}, helper: inTests}
	u.end = f.at(u.body.to).line
	for _, s := range scopes {
		if s.name != "" {
			u.suite = strings.TrimPrefix(u.suite+"::"+s.name, "::")
		}
		u.marks, u.helper = slices.Clone(s.marks), u.helper || s.tests
	}
	for _, a := range attributes {
		f.rustAttribute(u, a)
	}
	u.heads = append(u.heads, span{i + 2, open})
	f.deadParts(u)
	f.scan(u)
	if u.test && u.helper && strings.HasPrefix(u.suite, "tests") {
		u.suite = strings.TrimPrefix(strings.TrimPrefix(u.suite, "tests"), "::")
	}
	f.units = append(f.units, u)
	return f.at(open).mate
}

// rustAttribute reads an attribute of a function.
func (f *file) rustAttribute(u *unit, a span) {
	end := a.from
	for end < a.to && !f.opens(end, "(") && !f.at(end).is("=") {
		end++
	}
	switch name := f.at(end - 1).text; name {
	case "test", "rstest", "quickcheck", "wasm_bindgen_test", "test_log":
		u.test = true
		u.heads = append(u.heads, a)
	case "test_case", "case":
		u.test = true
		u.heads = append(u.heads, a)
	case "ignore":
		u.marks = append(u.marks, mark{text: "ignore"})
		f.mute(a)
	case "cfg":
		if !f.plainCfg(a) {
			u.marks = append(u.marks, mark{text: f.code(a)})
		}
	case "cfg_attr":
		if f.contains(a, "ignore") {
			u.marks = append(u.marks, mark{text: f.code(a)})
		} else if f.contains(a, "should_panic") {
			u.inverted = true
		}
	case "should_panic":
		u.inverted = true
		u.checks = append(u.checks, check{span: a, line: f.at(a.from).line, op: opThrows, weight: 1, sides: [2][]literal{f.literals(a)}})
	}
}

// rustCheck adds the check that begins at a word and returns where it ends.
func (f *file) rustCheck(u *unit, i int) int {
	t := f.at(i)
	if f.at(i+1).is("!") && f.at(i+2).mate > i+2 {
		end := f.at(i+2).mate + 1
		args := f.args(i + 2)
		name := strings.TrimPrefix(strings.TrimPrefix(t.text, "debug_"), "prop_")
		switch {
		case name == "assert" || name == "assert_eq" || name == "assert_ne" || name == "assert_matches" || strings.HasPrefix(name, "assert_") && strings.HasSuffix(name, "snapshot"):
			f.call(u, i, end, []string{name}, args)
			return end
		case name == "panic" || name == "unreachable":
			if n := f.failing(u, i); n > i {
				return n
			}
			f.mute(span{i, end})
			u.checks = append(u.checks, check{span: span{i, end}, line: t.line, op: opFail, weight: 1})
			return end
		case name == "println" || name == "eprintln" || name == "dbg":
			f.mute(span{i, end})
		}
		return i
	}
	if !f.at(i-1).is(".") || !f.opens(i+1, "(") {
		return i
	}
	c := check{span: span{i, i + 1}, line: t.line, op: opNoError, weight: 1, weak: true}
	switch t.text {
	case "unwrap":
	case "expect":
		f.mute(span{i + 1, f.at(i + 1).mate})
	case "unwrap_err", "expect_err":
		c.op, c.weak = opThrows, false
		f.mute(span{i + 1, f.at(i + 1).mate})
	default:
		return i
	}
	u.checks = append(u.checks, c)
	return f.at(i+1).mate + 1
}
