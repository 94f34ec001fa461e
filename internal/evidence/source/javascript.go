package source

import (
	"slices"
	"strings"
)

// jsCall is a call of test, it, describe and the like.
type jsCall struct {
	suite    bool
	only     bool
	skipped  string
	inverted bool
	open     int  // the bracket of the title and the body
	rows     span // what test.each was given
}

// jsScope is a describe that calls stand in.
type jsScope struct {
	end   int
	title string
	marks []mark
	only  bool
}

// findJS finds the tests and functions of a JavaScript or TypeScript file.
func findJS(f *file) {
	var scopes []jsScope
	testEnd := 0
	for i := 0; i < len(f.toks) && len(f.units) <= maxUnits; i++ {
		for len(scopes) > 0 && scopes[len(scopes)-1].end <= i {
			scopes = scopes[:len(scopes)-1]
		}
		if f.toks[i].kind != word {
			continue
		}
		c, ok := f.jsCall(i)
		switch {
		case ok && c.suite:
			s := jsScope{end: f.at(c.open).mate, title: f.jsTitle(c.open), only: c.only}
			if len(scopes) > 0 {
				outer := scopes[len(scopes)-1]
				s.marks, s.only = slices.Clone(outer.marks), s.only || outer.only
			}
			if c.skipped != "" {
				s.marks = append(s.marks, mark{text: c.skipped})
			}
			scopes = append(scopes, s)
			i = c.open
		case ok:
			f.units = append(f.units, f.jsTest(i, c, scopes))
			testEnd = max(testEnd, f.at(c.open).mate)
			i = c.open
		case i >= testEnd:
			f.jsDefinition(i)
		}
	}
}

// jsCall reads a call that makes a test or a suite, if one begins at a word.
func (f *file) jsCall(i int) (jsCall, bool) {
	var c jsCall
	name := f.at(i).text
	prev := f.at(i - 1)
	method := prev.is(".") || prev.is("?.")
	if method && !(name == "test" || name == "it") || prev.is("function") {
		return c, false
	}
	switch name {
	case "describe", "suite", "context":
		c.suite = true
	case "xdescribe", "xcontext":
		c.suite, c.skipped = true, name
	case "fdescribe":
		c.suite, c.only = true, true
	case "test", "it", "specify":
	case "xit", "xtest", "xspecify":
		c.skipped = name
	case "fit", "ftest":
		c.only = true
	default:
		return c, false
	}
	at := f.jsModifiers(i+1, &c)
	if !f.opens(at, "(") {
		return c, false
	}
	c.open = at
	args := f.args(at)
	if len(args) == 0 {
		return c, false
	}
	callback := slices.ContainsFunc(args, func(a span) bool { return f.find(a, "=>", "function") >= 0 })
	titled := f.at(args[0].from).kind == text || f.at(args[0].from).kind == word && len(args) > 1
	if c.skipped == "" && !callback && (len(args) < 2 || method) || !titled && !callback || method && f.at(args[0].from).kind != text {
		return c, false
	}
	for _, a := range args[1:] {
		f.jsOptions(a, &c)
	}
	return c, true
}

// jsModifiers reads what stands between the name and the title, such as .skip or .each([…]).
func (f *file) jsModifiers(at int, c *jsCall) int {
	for n := 0; f.at(at).is(".") && n < 10; n++ {
		name := f.at(at + 1).text
		at += 2
		switch name {
		case "skip", "todo", "fixme":
			c.skipped = name
		case "only":
			c.only = true
		case "failing", "fails", "fail":
			c.inverted = true
		case "skipIf", "runIf":
			if f.opens(at, "(") {
				c.skipped = name + " " + f.code(span{at, f.at(at).mate + 1})
				at = f.at(at).mate + 1
			}
		case "each", "for":
			if f.opens(at, "(") {
				c.rows = span{at + 1, f.at(at).mate}
				at = f.at(at).mate + 1
			} else if f.at(at).kind == text {
				c.rows = span{at, at + 1}
				at++
			}
		}
	}
	return at
}

// jsOptions reads an object such as {skip: true} between the title and the body.
func (f *file) jsOptions(a span, c *jsCall) {
	if !f.at(a.from).is("{") || f.at(a.from).mate != a.to-1 {
		return
	}
	for _, p := range f.args(a.from) {
		value := f.at(p.from + 2)
		if !f.at(p.from+1).is(":") || value.text == "false" || value.text == "undefined" {
			continue
		}
		switch f.at(p.from).text {
		case "skip", "todo":
			c.skipped = f.code(p)
			f.mute(p)
		case "only":
			c.only = true
		}
	}
}

func (f *file) jsTitle(open int) string {
	if a := f.args(open); len(a) > 0 {
		if t := f.at(a[0].from); t.kind == text {
			t.mute = true
			return t.text
		}
		return f.code(a[0])
	}
	return ""
}

// jsTest returns the test that a call makes.
func (f *file) jsTest(i int, c jsCall, scopes []jsScope) *unit {
	u := &unit{file: f, name: f.jsTitle(c.open), test: true, line: f.at(i).line, body: span{c.open + 1, f.at(c.open).mate}, only: c.only, inverted: c.inverted}
	u.end = f.at(u.body.to).line
	for _, s := range scopes {
		u.suite = strings.TrimPrefix(u.suite+" > "+s.title, " > ")
		u.marks, u.only = slices.Clone(s.marks), u.only || s.only
	}
	if c.skipped != "" {
		u.marks = append(u.marks, mark{text: c.skipped})
	}
	if c.rows.to > c.rows.from {
		u.heads = append(u.heads, c.rows)
	}
	u.heads = append(u.heads, f.loopHead(i, scopes)...)
	f.jsSkips(u)
	f.deadParts(u)
	f.scan(u)
	return u
}

// loopHead returns the list that a test is made for every element of, as in
// "for (const [in, out] of [[1, 2], [3, 4]])" and "[1, 2].forEach(".
func (f *file) loopHead(i int, scopes []jsScope) []span {
	var heads []span
	for at, steps := i-1, 0; at >= 0 && steps < 200; at, steps = at-1, steps+1 {
		t := f.at(at)
		if m := t.mate; m >= 0 && m < at {
			// What is closed before the test stands beside it, unless it is the head of its loop.
			if t.is(")") && f.at(m-1).is("for") && (at == i-1 || f.at(at+1).is("{") && f.at(at+1).mate > i) {
				heads = append(heads, span{m + 1, at})
			}
			at = m
			continue
		}
		if (t.is("forEach") || t.is("map")) && f.at(at-1).is(".") && f.opens(at+1, "(") && f.at(at+1).mate > i {
			from := at - 2
			if f.at(from).mate >= 0 && f.at(from).mate < from {
				from = f.at(from).mate
			}
			heads = append(heads, span{from, at - 1})
		}
		if len(scopes) > 0 && t.mate == scopes[len(scopes)-1].end {
			break
		}
	}
	return heads
}

// jsSkips adds the marks of what a body calls to skip itself.
func (f *file) jsSkips(u *unit) {
	for i := u.body.from; i < u.body.to; i++ {
		t := f.at(i)
		if t.kind != word || !f.opens(i+1, "(") {
			continue
		}
		dotted := f.at(i - 1).is(".")
		if (t.text == "skip" || t.text == "todo") && dotted && f.at(i-2).kind == word && f.at(i-2).text != "test" && f.at(i-2).text != "it" || t.text == "pending" && !dotted {
			u.marks = append(u.marks, mark{text: f.ifBefore(i) + f.at(i-2).text + "." + t.text})
		}
		if t.text == "log" || t.text == "warn" || t.text == "info" || t.text == "diagnostic" {
			f.mute(span{i + 1, f.at(i + 1).mate})
		}
	}
}

// ifBefore returns the condition in front of a statement, if there is one.
func (f *file) ifBefore(i int) string {
	for i > 0 && !f.at(i-1).is(")") && !f.at(i-1).is("{") && !f.at(i-1).is(";") && !f.at(i-1).is("}") && !f.at(i).first {
		i--
	}
	at := i - 1
	if f.at(at).is("{") {
		at--
	}
	if m := f.at(at).mate; f.at(at).is(")") && m >= 0 && f.at(m-1).is("if") {
		return f.code(span{m - 1, at + 1}) + " "
	}
	return ""
}

// jsDefinition notes a function or a list that is defined at a word.
func (f *file) jsDefinition(i int) {
	t := f.at(i)
	switch {
	case t.text == "function" && f.at(i+1).kind == word && f.opens(i+2, "("):
		f.jsFunction(i+1, f.at(i+2).mate+1)
	case (t.text == "const" || t.text == "let" || t.text == "var") && f.at(i+1).kind == word:
		eq := i + 2
		for n := 0; n < 20 && !f.at(eq).is("=") && !f.at(eq).is(";") && !f.at(eq).first; n++ {
			eq = f.skip(eq)
		}
		if !f.at(eq).is("=") {
			return
		}
		end := f.statementEnd(eq)
		if at := f.find(span{eq, end}, "=>", "function"); at >= 0 {
			f.jsFunction(i+1, at+1)
		} else if _, known := f.tables[f.at(i+1).text]; !known && (f.composite(eq+1) || f.at(eq+1).is("Object")) {
			f.tables[f.at(i+1).text] = span{eq + 1, end}
		}
	}
}

// jsFunction adds a function whose body begins at or after a token.
func (f *file) jsFunction(name, at int) {
	body := span{at, f.statementEnd(at)}
	for i := at; i < body.to; i = f.skip(i) {
		if f.opens(i, "{") {
			body = span{i + 1, f.at(i).mate}
			break
		}
	}
	u := &unit{file: f, name: f.at(name).text, line: f.at(name).line, end: f.at(body.to).line, body: body, helper: forTests(f.path)}
	f.deadParts(u)
	f.scan(u)
	f.units = append(f.units, u)
}

// jsCheck adds the check that begins at a word and returns where it ends.
func (f *file) jsCheck(u *unit, i int) int {
	t := f.at(i)
	dotted := f.at(i - 1).is(".")
	switch {
	case t.text == "throw":
		return f.failing(u, i)
	case t.text == "expect" && !dotted || t.text == "assert" && (!dotted || f.at(i-2).kind == word) ||
		(t.text == "t" || t.text == "chai") && f.at(i+1).is("."):
	case t.text == "should" && f.at(i+1).kind == punct:
	default:
		return i
	}
	end, words, calls := f.chain(i)
	last := len(calls) - 1
	for last > 0 && calls[last] == nil && calls[last-1] != nil && words[0] != "expect" {
		last--
	}
	if end <= i+1 && !f.opens(i+1, "(") || len(words) == 0 {
		return i
	}
	n := len(u.checks)
	switch words[0] {
	case "expect":
		f.jsExpect(u, span{i, end}, words, calls)
	case "t":
		if last == 0 || calls[last] == nil || opOf(words[last]) == opOther || words[last] == "test" {
			return i
		}
		f.call(u, i, end, []string{words[last]}, calls[last])
	default:
		if calls[last] == nil {
			return i
		}
		f.call(u, i, end, words[:last+1], calls[last])
		if last == 0 {
			u.checks = u.checks[:n]
			f.call(u, i, end, words[:1], calls[0])
		}
	}
	if slices.Contains(words, "rejects") || slices.Contains(words, "resolves") || slices.Contains(words, "doesNotReject") {
		for k := n; k < len(u.checks); k++ {
			u.checks[k].dead = u.checks[k].dead || f.detached(i, end)
		}
	}
	return end
}

// detached reports whether nobody waits for what a chain of calls promises.
func (f *file) detached(i, end int) bool {
	prev := f.at(i - 1)
	return !f.at(end).is(".") && (f.at(i).first && !prev.is("await") && !prev.is("return") && !prev.is("=>") || prev.is(";") || prev.is("{") || prev.is("}"))
}

// jsExpect adds the check of expect(a).matcher(b).
func (f *file) jsExpect(u *unit, s span, words []string, calls [][]span) {
	if calls[0] == nil {
		return // expect.assertions(2), expect.extend({…})
	}
	last := len(words) - 1
	args := slices.Clone(calls[0])
	if len(args) > 1 {
		args = args[:1] // a message
	}
	if last == 0 || calls[last] == nil && strings.HasPrefix(words[last], "to") && len(words[last]) > 2 {
		u.checks = append(u.checks, check{span: s, line: f.at(s.from).line, op: opOther, weight: 1, dead: true})
		return
	}
	if words[last] == "toThrow" || words[last] == "toThrowError" || opOf(words[last]) != opThrows || calls[last] != nil {
		args = append(args, calls[last]...)
	}
	f.call(u, s.from, s.to, words, args)
}

// deadParts finds the parts of a body in a language with braces that are never reached, and
// those whose failures are swallowed.
func (f *file) deadParts(u *unit) {
	inner := f.innerBody(u)
	for i := u.body.from; i < u.body.to; i++ {
		t := f.at(i)
		if t.kind != word {
			continue
		}
		switch t.text {
		case "if", "while":
			f.deadBranch(u, i)
		case "for":
			if f.opens(i+1, "(") {
				if m := f.at(i + 1).mate; f.at(m-1).is("]") && f.at(m-2).is("[") {
					u.dead = append(u.dead, f.blockAt(m+1))
				}
			}
		case "try":
			f.deadTry(u, i)
		case "catch":
			if f.at(i-1).is(".") && f.opens(i+1, "(") && !f.fails(span{i + 2, f.at(i + 1).mate}) {
				u.dead = append(u.dead, span{f.statementStart(i, u.body.from), i})
			}
		case "catch_unwind":
			if end := f.statementEnd(i); !f.contains(span{i, end}, "unwrap", "unwrap_err", "expect", "is_err", "is_ok") && (f.at(f.statementStart(i, u.body.from)+1).is("_") || !f.at(f.statementStart(i, u.body.from)).is("let")) {
				u.dead = append(u.dead, span{i, end})
			}
		}
	}
	for i := inner.from; i < inner.to; i = f.skip(i) {
		if t := f.at(i); t.is("return") || t.is("exit") && f.opens(i+1, "(") {
			if end := f.statementEnd(i); end < inner.to {
				u.dead = append(u.dead, span{end, inner.to})
			}
			break
		}
		if f.at(i).is("if") {
			f.returnGuard(u, i, inner)
		}
	}
}

// innerBody returns the statements of a body: in JavaScript those of the function that is the
// last argument.
func (f *file) innerBody(u *unit) span {
	if f.lang.name != "js" || f.at(u.body.from-1).text == "{" {
		return u.body
	}
	for i := u.body.from; i < u.body.to; i = f.skip(i) {
		if f.opens(i, "{") && (f.at(i-1).is("=>") || f.at(i-1).is(")")) {
			return span{i + 1, f.at(i).mate}
		}
	}
	return span{u.body.from, u.body.from}
}

// blockAt returns the block that begins at a token, or the statement that does.
func (f *file) blockAt(i int) span {
	if f.opens(i, "{") {
		return span{i + 1, f.at(i).mate}
	}
	return span{i, f.statementEnd(i)}
}

// statementStart returns where the statement begins that a token is in.
func (f *file) statementStart(i, least int) int {
	for n := 0; n < maxStatement && i > least; n++ {
		if prev := f.at(i - 1); prev.is(";") || prev.is("{") || prev.is("}") || f.at(i).first && !f.at(i).is(".") && !f.at(i).is("?.") {
			break
		}
		if m := f.at(i - 1).mate; m >= least && m < i-1 {
			i = m
			continue
		}
		i--
	}
	return i
}

// condAt returns the condition behind an if, and where its block begins.
func (f *file) condAt(i int) (cond span, block int) {
	if f.opens(i+1, "(") && f.lang.name != "rust" {
		return span{i + 2, f.at(i + 1).mate}, f.at(i+1).mate + 1
	}
	for j := i + 1; j < len(f.toks) && j < i+200; j = f.skip(j) {
		if f.opens(j, "{") {
			return span{i + 1, j}, j
		}
	}
	return span{i + 1, i + 1}, i + 1
}

func (f *file) deadBranch(u *unit, i int) {
	cond, block := f.condAt(i)
	if cond.to-cond.from == 1 && (f.at(cond.from).text == "false" || f.at(cond.from).text == "0" || f.at(cond.from).text == "FALSE") {
		u.dead = append(u.dead, f.blockAt(block))
	}
}

// returnGuard adds a mark where a condition at the top of a test only returns.
func (f *file) returnGuard(u *unit, i int, inner span) {
	cond, block := f.condAt(i)
	b := f.blockAt(block)
	if !f.at(b.from).is("return") || cond.to <= cond.from || f.at(f.at(block).mate+1).is("else") {
		return
	}
	if end := f.statementEnd(b.from); end-b.from <= 2 && end+1 >= b.to && b.to < inner.to-1 {
		u.marks = append(u.marks, mark{text: "return if " + f.code(cond)})
	}
}

// deadTry marks what stands in a try as dead if its errors are caught and do not fail the test.
func (f *file) deadTry(u *unit, i int) {
	if !f.opens(i+1, "{") {
		return
	}
	at := f.at(i+1).mate + 1
	if !f.at(at).is("catch") {
		return
	}
	at++
	kinds := span{at, at}
	if f.opens(at, "(") {
		kinds = span{at + 1, f.at(at).mate}
		at = f.at(at).mate + 1
	}
	if f.lang.name != "js" && kinds.to > kinds.from && !f.contains(kinds, "Throwable", "AssertionError", "Error", "Exception", "AssertionFailedError", "AssertionException") {
		return
	}
	if (f.lang.name == "java") && f.contains(kinds, "Exception") {
		return // an AssertionError is none
	}
	if f.opens(at, "{") && !f.fails(span{at + 1, f.at(at).mate}) {
		u.dead = append(u.dead, span{i + 2, f.at(i + 1).mate})
	}
}
