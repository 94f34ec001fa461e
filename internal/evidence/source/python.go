package source

import (
	"slices"
	"strings"
)

// statement is a line of Python or Ruby, with all lines that continue it.
type statement struct {
	span
	col int
}

// statements returns the statements of a file by their first tokens.
func (f *file) statements() []statement {
	var all []statement
	for i := range f.toks {
		if f.toks[i].first || i == 0 {
			if n := len(all); n > 0 {
				all[n-1].to = i
			}
			all = append(all, statement{span{i, len(f.toks)}, f.toks[i].col})
		}
	}
	return all
}

// block returns what the statement n has below it or behind its colon, and the index of the
// statement after that.
func (f *file) block(all []statement, n int) (span, int) {
	head := all[n]
	next := n + 1
	for next < len(all) && all[next].col > head.col {
		next++
	}
	if colon := f.find(head.span, ":"); colon >= 0 && colon+1 < head.to {
		return span{colon + 1, head.to}, next
	}
	if next == n+1 {
		return span{head.to, head.to}, next
	}
	return span{all[n+1].from, all[next-1].to}, next
}

// pythonScope is a class or function that statements stand in.
type pythonScope struct {
	col   int
	name  string
	class bool
	tests bool // a class whose methods are tests
	marks []mark
}

// findPython finds the functions and tests of a Python file.
func findPython(f *file) {
	all := f.statements()
	f.pythonTables(all)
	var scopes []pythonScope
	var heads []span
	byName := map[string]*unit{}
	for n, s := range all {
		for len(scopes) > 0 && scopes[len(scopes)-1].col >= s.col {
			scopes = scopes[:len(scopes)-1]
		}
		first := f.at(s.from)
		if first.is("@") {
			f.pythonDecorator(s.span)
			heads = append(heads, s.span)
			continue
		}
		at := s.from
		if first.is("async") {
			at++
		}
		switch {
		case f.at(at).is("class") && len(scopes) < maxDepth:
			scopes = append(scopes, f.pythonClass(s, at, heads))
		case f.at(at).is("def") && len(scopes) < maxDepth:
			if u := f.pythonFunction(all, n, at, heads, scopes); u != nil {
				key := u.suite + "." + u.name
				if was := byName[key]; was != nil {
					was.test, was.name = false, "" // the later definition takes its name
				}
				byName[key] = u
				f.units = append(f.units, u)
			}
			scopes = append(scopes, pythonScope{col: s.col, name: f.at(at + 1).text})
		case len(scopes) == 0:
			f.pythonModule(s.span)
		case scopes[len(scopes)-1].class && first.is("__test__") && f.at(s.to-1).text == "False":
			scopes[len(scopes)-1].tests = false
		case scopes[len(scopes)-1].class && first.is("pytestmark"):
			scopes[len(scopes)-1].marks = append(scopes[len(scopes)-1].marks, f.pythonMarks(s.span)...)
		}
		heads = nil
	}
	f.doctests(all)
}

// pythonTables notes the names at the top of the file that are lists.
func (f *file) pythonTables(all []statement) {
	for _, s := range all {
		if s.col != 0 || f.at(s.from).kind != word {
			continue
		}
		if eq := f.find(s.span, "="); eq >= 0 && eq <= s.from+8 && f.at(eq+1).kind == punct {
			f.tables[f.at(s.from).text] = span{eq + 1, s.to}
		}
	}
}

// pythonDecorator mutes what only names the cases of a parametrised test.
func (f *file) pythonDecorator(s span) {
	for i := s.from; i < s.to; i++ {
		t := f.at(i)
		if t.is("parametrize") && f.opens(i+1, "(") {
			if args := f.args(i + 1); len(args) > 0 {
				f.mute(args[0])
			}
		}
		if (t.is("ids") || t.is("reason")) && f.at(i+1).is("=") {
			f.mute(span{i + 2, f.argumentEnd(i + 2)})
		}
	}
}

// argumentEnd returns where an argument ends that begins at a token.
func (f *file) argumentEnd(i int) int {
	for ; i < len(f.toks); i = f.skip(i) {
		if t := f.at(i); t.is(",") || t.is(")") || t.is("]") || t.is("}") {
			return i
		}
	}
	return i
}

func (f *file) pythonClass(s statement, at int, heads []span) pythonScope {
	c := pythonScope{col: s.col, name: f.at(at + 1).text, class: true}
	c.tests = strings.HasPrefix(c.name, "Test") || f.opens(at+2, "(") && f.at(at+2).mate > at+3
	for _, h := range heads {
		c.marks = append(c.marks, f.pythonMarks(h)...)
	}
	return c
}

// pythonFunction returns the function that a statement defines, or nil if it stands in another
// function and belongs to that.
func (f *file) pythonFunction(all []statement, n, at int, heads []span, scopes []pythonScope) *unit {
	name := f.at(at + 1)
	u := &unit{file: f, name: name.text, line: name.line, helper: forTests(f.path)}
	tests := true
	u.method = len(scopes) > 0
	for _, s := range scopes {
		if !s.class {
			return nil
		}
		u.suite = strings.TrimPrefix(u.suite+"."+s.name, ".")
		u.marks = append(u.marks, s.marks...)
		tests = s.tests
	}
	var next int
	u.body, next = f.block(all, n)
	u.heads = append(slices.Clone(heads), span{at + 2, u.body.from})
	u.end = f.at(u.body.to - 1).line
	u.test = tests && (strings.HasPrefix(u.name, "test") || u.name == "runTest")
	for _, h := range heads {
		u.marks = append(u.marks, f.pythonMarks(h)...)
		if f.contains(h, "fixture") {
			u.test = false
		}
		f.pythonTableMarks(u, h)
	}
	f.pythonBody(u, all[n+1:next])
	f.scan(u)
	return u
}

// pythonMarks returns what a decorator, a list of cases or a statement says about skipping.
func (f *file) pythonMarks(s span) []mark {
	var marks []mark
	for i := s.from; i < s.to; i++ {
		t := f.at(i)
		switch {
		case t.is("param") && f.opens(i+1, "("):
			marks = append(marks, f.rowMarks(span{i + 2, f.at(i + 1).mate})...)
			i = f.at(i + 1).mate
		case f.skipWord(i):
			return append(marks, mark{text: f.brief(s)})
		}
	}
	return marks
}

// skipWord reports whether a token is a word that skips a test or lets it fail.
func (f *file) skipWord(i int) bool {
	t := f.at(i)
	switch t.text {
	case "skip", "xfail":
		return t.kind == word && !f.at(i+1).is("=")
	case "skipif", "skipIf", "skipUnless", "expectedFailure", "SkipTest", "skipTest", "importorskip":
		return t.kind == word
	}
	return false
}

// rowMarks returns the marks of one case.
func (f *file) rowMarks(s span) []mark {
	name, skipped := "", ""
	for i := s.from; i < s.to; i++ {
		if f.at(i).is("id") && f.at(i+1).is("=") && f.at(i+2).kind == text {
			name = f.at(i + 2).text
			f.toks[i+2].mute = true
		}
		if f.skipWord(i) {
			skipped = f.at(i).text
		}
	}
	if skipped == "" {
		return nil
	}
	if name == "" {
		return []mark{{text: f.brief(s)}}
	}
	return []mark{{text: skipped + " " + name, row: name}}
}

// pythonTableMarks adds the marks of cases that stand in a list at the top of the file.
func (f *file) pythonTableMarks(u *unit, s span) {
	if !f.contains(s, "parametrize") {
		return
	}
	for i := s.from; i < s.to; i++ {
		if at, ok := f.tables[f.at(i).text]; ok && f.at(i).kind == word {
			u.marks = append(u.marks, f.pythonMarks(at)...)
		}
	}
}

// pythonModule reads a statement at the top of a file.
func (f *file) pythonModule(s span) {
	for i := s.from; i < s.to; i++ {
		switch t := f.at(i); {
		case t.is("id") && f.at(i+1).is("="):
			f.mute(span{i + 2, f.argumentEnd(i + 2)})
		case t.is("allow_module_level"), t.is("importorskip"), t.is("pytestmark") && f.at(i+1).is("="), t.is("__test__") && f.contains(s, "False"):
			if t.is("pytestmark") && len(f.pythonMarks(s)) == 0 {
				continue
			}
			f.marks = append(f.marks, mark{text: f.brief(s)})
			return
		}
	}
}

// pythonBody reads the statements below a function: marks that skip it, and parts that cannot
// fail.
func (f *file) pythonBody(u *unit, body []statement) {
	inner := 1 << 30
	if len(body) > 0 {
		inner = body[0].col
	}
	if f.at(u.body.from).line == u.line && len(body) == 0 { // def test(): pytest.skip("later")
		if f.contains(u.body, "skip", "skipTest") {
			u.marks = append(u.marks, mark{text: "skip"})
		}
		return
	}
	names := map[string]int{}
	for i := u.body.from; i < u.body.to; i++ {
		if f.toks[i].kind == word {
			names[f.toks[i].text]++
		}
	}
	for n, s := range body {
		t := f.at(s.from)
		switch {
		case t.is("return") && s.col == inner && n+1 < len(body):
			u.dead = append(u.dead, span{s.to, u.body.to})
		case (t.is("if") || t.is("while")) && (f.at(s.from+1).is("False") || f.at(s.from+1).text == "False" || f.at(s.from+1).text == "0") && f.at(s.from+2).is(":"),
			t.is("for") && (f.contains(s.span, "in") && f.at(s.to-2).is("]") && f.at(s.to-3).is("[") || f.at(s.to-2).is(")") && f.at(s.to-3).is("(") && f.at(s.to-4).is("in")),
			t.is("with") && f.contains(s.span, "suppress") && f.contains(s.span, "AssertionError", "Exception", "BaseException"):
			dead, _ := f.block(body, n)
			u.dead = append(u.dead, dead)
		case t.is("if") && s.col == inner && f.onlyReturns(body, n):
			u.marks = append(u.marks, mark{text: f.code(s.span) + " return"})
		case t.is("try"):
			f.pythonTry(u, body, n)
		case t.is("def") || t.is("async") && f.at(s.from+1).is("def"):
			f.pythonInner(u, body, n, names)
		default:
			if !t.is("assert") && !t.is("with") && f.skipCall(s.span) {
				f.mute(s.span)
				u.marks = append(u.marks, mark{text: f.guard(body, n) + f.brief(s.span)})
			}
		}
		f.muteMessages(s.span)
	}
}

// skipCall reports whether a statement calls what skips a test.
func (f *file) skipCall(s span) bool {
	for i := s.from; i+1 < s.to; i++ {
		switch f.at(i).text {
		case "skip", "xfail":
			if f.opens(i+1, "(") && f.at(i-1).is(".") && (f.at(i-2).is("pytest") || f.at(i-2).is("unittest")) || i == s.from && f.opens(i+1, "(") {
				return true
			}
		case "skipTest", "SkipTest", "importorskip":
			return true
		}
	}
	return false
}

// guard returns the condition that a statement of a body stands below.
func (f *file) guard(body []statement, n int) string {
	for i := n - 1; i >= 0; i-- {
		if body[i].col < body[n].col {
			return f.code(body[i].span) + " "
		}
	}
	return ""
}

// onlyReturns reports whether all that stands below a condition is a return.
func (f *file) onlyReturns(body []statement, n int) bool {
	b, next := f.block(body, n)
	return f.at(b.from).is("return") && f.statementEnd(b.from) >= b.to && next < len(body)
}

// pythonTry marks what stands in a try as dead if a failed assertion would be swallowed.
func (f *file) pythonTry(u *unit, body []statement, n int) {
	part, next := f.block(body, n)
	for next < len(body) && body[next].col == body[n].col && f.at(body[next].from).is("except") {
		head := body[next]
		handler, after := f.block(body, next)
		colon := f.find(head.span, ":")
		catches := span{head.from + 1, max(head.from+1, colon)}
		if catches.from == catches.to || f.contains(catches, "AssertionError", "Exception", "BaseException") {
			if !f.fails(handler) {
				u.dead = append(u.dead, part)
			}
			return
		}
		next = after
	}
}

// fails reports whether a handler of errors makes a test fail after all.
func (f *file) fails(s span) bool {
	for i := s.from; i < s.to; i++ {
		t := f.at(i)
		if t.kind == word && (t.text == "raise" || t.text == "throw" || t.text == "reject" || t.text == "done" || t.text == "panic" || t.text == "resume_unwind" ||
			strings.HasPrefix(strings.ToLower(t.text), "fail") || looksLikeCheck(t.text)) {
			return true
		}
	}
	return false
}

// pythonInner marks a function in a test as dead that nothing calls.
func (f *file) pythonInner(u *unit, body []statement, n int, names map[string]int) {
	at := body[n].from + 1
	if f.at(body[n].from).is("async") {
		at++
	}
	if names[f.at(at).text] > 1 || n > 0 && f.at(body[n-1].from).is("@") {
		return
	}
	dead, _ := f.block(body, n)
	u.dead = append(u.dead, dead)
}

// muteMessages mutes what a statement only prints.
func (f *file) muteMessages(s span) {
	for i := s.from; i < s.to; i++ {
		if (f.at(i).is("print") || f.at(i).is("log")) && f.opens(i+1, "(") {
			f.mute(span{i + 1, f.at(i + 1).mate})
		}
		if f.at(i).is("msg") && f.at(i+1).is("=") {
			f.mute(span{i + 2, f.argumentEnd(i + 2)})
		}
	}
}

// pythonCheck adds the check that begins at a word and returns where it ends.
func (f *file) pythonCheck(u *unit, i int) int {
	t := f.at(i)
	prev := f.at(i - 1)
	if t.text == "assert" && (t.first || prev.is(";") || prev.is(":")) {
		return f.pythonAssert(u, i)
	}
	if t.is("raise") && f.at(i+1).is("AssertionError") {
		return f.failing(u, i)
	}
	if !f.opens(i+1, "(") {
		return i
	}
	end := f.at(i+1).mate + 1
	raises := prev.is(".") && (t.text == "raises" || t.text == "warns" || t.text == "fail" || t.text == "deprecated_call")
	if !raises && (!prev.is(".") || !strings.HasPrefix(t.text, "assert") && !strings.HasPrefix(t.text, "failUnless")) {
		return i
	}
	n := len(u.checks)
	f.call(u, i, end, []string{t.text}, f.args(i+1))
	for k := n; k < len(u.checks); k++ {
		if !raises {
			u.checks[k].callee, u.checks[k].dotted = t.text, true
		}
		f.withBody(&u.checks[k], i)
	}
	return end
}

// pythonAssert adds the checks of an assert statement.
func (f *file) pythonAssert(u *unit, i int) int {
	end := f.statementEnd(i)
	whole := span{i + 1, end}
	n := len(u.checks)
	if t := f.at(i + 1); t.is("(") && t.mate == end-1 && f.find(span{i + 2, end - 1}, ",") >= 0 {
		u.checks = append(u.checks, check{span: whole, line: t.line, op: opTruth, weight: 1, dead: true}) // a tuple is true
	} else if parts := f.split(whole, ","); len(parts) > 0 {
		f.conditions(u, parts[0])
		for _, p := range parts[1:] {
			f.mute(p)
		}
	}
	// What is compared may be a call of a helper, but that is no further check.
	for k := n; k < len(u.checks); k++ {
		u.checks[k].line = f.at(i).line
	}
	return end
}

// withBody adds the literals of what is run below "with raises(…):" to its check.
func (f *file) withBody(c *check, i int) {
	start := i
	for start > 0 && start > i-maxSpan && !f.toks[start].first {
		start--
	}
	if !f.at(start).is("with") && !f.at(start).is("async") {
		return
	}
	end := start + 1
	for end < len(f.toks) && end < start+maxSpan && (!f.toks[end].first || f.toks[end].col > f.toks[start].col) {
		end++
	}
	if from := f.statementEnd(start); from <= end {
		c.sides[0] = append(c.sides[0], f.literals(span{c.span.to, end})...)
	}
}

// failing adds the check that a statement makes which fails in a condition, as in
// "if a != b: raise AssertionError" and "if (a !== b) throw …".
func (f *file) failing(u *unit, i int) int {
	end := f.statementEnd(i)
	at := i - 1
	if f.at(at).is("{") {
		at--
	}
	cond := span{}
	switch {
	case f.at(at).is(")") && f.at(at).mate >= 0 && f.at(f.at(at).mate-1).is("if"):
		cond = span{f.at(at).mate + 1, at}
	case f.at(at).is(":") || f.lang.name == "rust":
		for at > 0 && at > i-200 && !f.at(at).first && !f.at(at).is("if") {
			at--
		}
		if f.at(at).is("if") {
			cond = span{at + 1, i - 1}
		}
	}
	if cond.from >= cond.to {
		return i
	}
	for _, part := range f.split(cond, "||", "or") {
		u.checks = append(u.checks, f.condition(part, true))
	}
	f.mute(span{i, end})
	return end
}
