package source

import (
	"slices"
	"strings"
)

// findMethods finds the tests of languages in which tests are methods of classes: Java, Kotlin,
// C# and PHP. A test has an annotation, or in PHP and old JUnit a name that begins with test.
func findMethods(f *file) {
	if f.lang.name == "php" { // Pest has the calls of JavaScript
		findJS(f)
	}
	var scopes []rustScope
	var heads []span
	for i := 0; i < len(f.toks) && len(f.units) <= maxUnits; i++ {
		for len(scopes) > 0 && scopes[len(scopes)-1].end <= i {
			scopes = scopes[:len(scopes)-1]
		}
		t := f.at(i)
		switch {
		case t.is("@") && f.at(i+1).kind == word:
			end := i + 2
			for f.at(end).is(".") || f.at(end).is(":") {
				end += 2
			}
			if f.opens(end, "(") {
				end = f.at(end).mate + 1
			}
			heads = append(heads, span{i, end})
			i = end - 1
		case f.lang.name != "java" && f.opens(i, "[") && (t.first || f.at(i-1).is("#") || f.at(i-1).is("]")):
			heads = append(heads, span{i, t.mate})
			i = t.mate
		case (t.is("class") || t.is("object") || t.is("trait")) && f.at(i+1).kind == word && len(scopes) < maxDepth:
			if open := f.find(span{i + 1, min(i+100, len(f.toks))}, "{", ";"); open >= 0 && f.opens(open, "{") {
				s := rustScope{end: f.at(open).mate, name: f.at(i + 1).text}
				for _, h := range heads {
					s.marks = append(s.marks, f.annotationMarks(h)...)
				}
				scopes = append(scopes, s)
				i = open
			}
			heads = nil
		case f.opens(i, "(") && (f.at(i-1).kind == word || f.at(i-1).kind == text) && len(scopes) > 0:
			if u, end := f.method(i, heads, scopes); u != nil {
				f.units = append(f.units, u)
				i = end
				heads = nil
			} else {
				i = t.mate
			}
		case t.is(";") || t.is("}"):
			heads = nil
		}
	}
}

// method returns the method whose parameters begin at a bracket, and its last token.
func (f *file) method(open int, heads []span, scopes []rustScope) (*unit, int) {
	at := f.at(open).mate + 1
	for n := 0; n < 30 && !f.opens(at, "{") && !f.at(at).is("=") && !f.at(at).is("=>"); n++ {
		t := f.at(at)
		if t.kind == punct && !t.is(":") && !t.is(",") && !t.is("<") && !t.is(">") && !t.is(".") && !t.is("?") && !t.is("[") && !t.is("\\") {
			return nil, 0
		}
		at = f.skip(at)
	}
	u := &unit{file: f, name: f.at(open - 1).text, line: f.at(open - 1).line, helper: forTests(f.path)}
	switch {
	case f.opens(at, "{"):
		u.body = span{at + 1, f.at(at).mate}
	case (f.at(at).is("=") || f.at(at).is("=>")) && f.at(open-1).text != "if":
		u.body = span{at + 1, f.statementEnd(at)}
	default:
		return nil, 0
	}
	if slices.Contains([]string{"if", "for", "while", "switch", "catch", "when", "synchronized", "using", "lock", "foreach", "elseif"}, u.name) {
		return nil, 0
	}
	u.end = f.at(u.body.to).line
	for _, s := range scopes {
		u.suite = strings.TrimPrefix(u.suite+"."+s.name, ".")
		u.marks = append(u.marks, s.marks...)
	}
	for _, h := range heads {
		u.marks = append(u.marks, f.annotationMarks(h)...)
		u.test = u.test || f.testAnnotation(h)
		u.heads = append(u.heads, h)
	}
	u.test = u.test || strings.HasPrefix(u.name, "test") && len(u.name) > 4 && f.at(open).mate == open+1 && (f.lang.name == "php" || f.lang.name == "java" && f.at(open-2).is("void"))
	f.methodSkips(u)
	f.deadParts(u)
	f.scan(u)
	return u, u.body.to
}

// testAnnotation reports whether an annotation makes a test of a method.
func (f *file) testAnnotation(h span) bool {
	for i := h.from; i < h.to; i = f.skip(i) {
		switch f.at(i).text {
		case "Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Property", "Fact", "Theory", "TestMethod", "TestCase", "DataTestMethod", "TestCaseSource":
			return true
		}
		if f.at(i).is("[") && i == h.from { // the attribute's own bracket
			return f.testAnnotation(span{i + 1, h.to})
		}
	}
	return false
}

func (f *file) annotationMarks(h span) []mark {
	for i := h.from; i < h.to; i++ {
		switch t := f.at(i).text; {
		case f.at(i).kind != word:
		case t == "Disabled" || t == "Ignore" || t == "Explicit" || t == "Skip" || t == "Ignored" || strings.HasPrefix(t, "DisabledOn") || strings.HasPrefix(t, "DisabledIf") ||
			strings.HasPrefix(t, "EnabledOn") || strings.HasPrefix(t, "EnabledIf") || strings.HasPrefix(t, "Requires"),
			t == "enabled" && f.at(i+2).text == "false":
			f.mute(h)
			return []mark{{text: t + f.brief(h)}}
		}
	}
	return nil
}

// methodSkips adds the marks of what a body calls to skip itself.
func (f *file) methodSkips(u *unit) {
	for i := u.body.from; i < u.body.to; i++ {
		switch t := f.at(i); t.text {
		case "markTestSkipped", "markTestIncomplete", "assumeTrue", "assumeFalse", "assumeThat", "Ignore", "Inconclusive", "SkipException", "abort":
			if t.kind == word && f.opens(i+1, "(") {
				cond := f.ifBefore(i)
				if strings.HasPrefix(t.text, "assume") {
					cond += f.code(span{i + 2, f.at(i + 1).mate})
				}
				f.mute(span{i + 1, f.at(i + 1).mate})
				u.marks = append(u.marks, mark{text: cond + t.text})
			}
		case "println", "printf", "WriteLine", "print":
			if f.opens(i+1, "(") {
				f.mute(span{i + 1, f.at(i + 1).mate})
			}
		}
	}
}

// methodCheck adds the check that begins at a word and returns where it ends.
func (f *file) methodCheck(u *unit, i int) int {
	t := f.at(i)
	lower := strings.ToLower(t.text)
	if f.at(i-1).is("::") || f.at(i-1).is(".") || f.at(i-1).is("->") {
		if !strings.HasPrefix(lower, "assert") && t.text != "Should" && t.text != "fail" {
			return i
		}
	}
	switch {
	case strings.HasPrefix(lower, "assert"), t.text == "expect" && f.lang.name == "php", t.text == "Should":
	case t.text == "fail" && f.opens(i+1, "("):
		u.checks = append(u.checks, check{span: span{i, f.at(i+1).mate + 1}, line: t.line, op: opFail, weight: 1})
		f.mute(span{i + 1, f.at(i + 1).mate})
		return f.at(i+1).mate + 1
	case strings.HasPrefix(t.text, "should") && f.lang.name == "java" && f.at(i+1).text != "(":
		end := f.statementEnd(i)
		f.call(u, i, end, []string{t.text}, []span{{i, i}, {i + 1, end}})
		return end
	case t.text == "throw":
		return f.failing(u, i)
	default:
		return i
	}
	end, words, calls := f.chain(i)
	last := len(words) - 1
	if last < 0 || calls[last] == nil {
		return i
	}
	args := calls[last]
	first := slices.IndexFunc(calls, func(c []span) bool { return c != nil })
	if first < last {
		args = append(slices.Clone(calls[first]), args...)
	}
	if len(args) == 2 && (words[last] == "assertThat" || words[last] == "That") { // hamcrest, NUnit
		_, matcher, inner := f.chain(args[1].from)
		if n := len(matcher) - 1; n >= 0 {
			words = matcher
			args = append(args[:1:1], inner[n]...)
		}
	}
	n := len(u.checks)
	f.call(u, i, end, words, args)
	for k := n; k < len(u.checks) && first == last && len(words) == 1; k++ {
		u.checks[k].callee = t.text
	}
	return end
}
