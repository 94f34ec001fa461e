package source

import (
	"slices"
	"strings"
)

// findScript finds the tests of Ruby (minitest, RSpec) and of bats. A block ends where the
// indentation of its head is reached again.
func findScript(f *file) {
	all := f.statements()
	var scopes []rustScope
	for n, s := range all {
		for len(scopes) > 0 && scopes[len(scopes)-1].end <= n {
			scopes = scopes[:len(scopes)-1]
		}
		body, next := f.indented(all, n)
		t := f.at(s.from)
		at := s.from
		if t.is("@") {
			at++
		}
		name := f.at(at + 1)
		switch t = f.at(at); {
		case t.is("class") || t.is("module") || t.is("describe") || t.is("context") || t.is("xdescribe") || t.is("RSpec"):
			scope := rustScope{end: next, name: f.scriptTitle(s.span, at)}
			if len(scopes) > 0 {
				scope.marks = slices.Clone(scopes[len(scopes)-1].marks)
			}
			if t.is("xdescribe") || f.contains(s.span, "skip") {
				scope.marks = append(scope.marks, mark{text: "skip"})
			}
			if len(scopes) < maxDepth {
				scopes = append(scopes, scope)
			}
		case t.is("def") && name.kind == word:
			f.scriptUnit(s, at, body, scopes, name.text, strings.HasPrefix(name.text, "test"))
		case (t.is("test") || t.is("it") || t.is("specify") || t.is("scenario") || t.is("xit") || t.is("fit") || t.is("example")) && (name.kind == text || name.is("do") || name.is("(") || name.is("{")) && next > n+1:
			f.scriptUnit(s, at, body, scopes, f.scriptTitle(s.span, at), true)
		case f.lang.shell && f.opens(at+1, "(") && f.at(at+1).mate == at+2 && f.opens(at+3, "{"):
			f.scriptUnit(s, at, span{at + 4, f.at(at + 3).mate}, scopes, t.text, false)
		case len(scopes) == 0 && name.is("=") && f.at(at+2).kind == punct:
			f.tables[t.text] = span{at + 2, s.to}
		}
	}
}

// indented returns what stands below a statement with a greater indentation.
func (f *file) indented(all []statement, n int) (span, int) {
	next := n + 1
	for next < len(all) && all[next].col > all[n].col {
		next++
	}
	if next == n+1 {
		return span{all[n].from, all[n].to}, next
	}
	return span{all[n+1].from, all[next-1].to}, next
}

func (f *file) scriptTitle(s span, at int) string {
	for i := at + 1; i < s.to; i++ {
		if t := f.at(i); t.kind == text {
			t.mute = true
			return t.text
		}
	}
	return f.at(at + 1).text
}

func (f *file) scriptUnit(s statement, at int, body span, scopes []rustScope, name string, test bool) {
	u := &unit{file: f, name: name, test: test, line: f.at(s.from).line, body: body, end: f.at(body.to - 1).line, helper: forTests(f.path)}
	for _, sc := range scopes {
		u.suite = strings.TrimPrefix(u.suite+" "+sc.name, " ")
		u.marks = slices.Clone(sc.marks)
	}
	t := f.at(at)
	if t.is("xit") || f.contains(span{at, min(body.from, at+30)}, "skip", "pending") {
		u.marks = append(u.marks, mark{text: "skip"})
	}
	u.only = t.is("fit")
	inner := f.at(body.from).col
	for i := body.from; i < body.to; i++ {
		t := f.at(i)
		switch {
		case (t.is("skip") || t.is("pending")) && t.first:
			end := f.statementEnd(i)
			u.marks = append(u.marks, mark{text: f.modifier(i, end) + t.text})
			f.mute(span{i, end})
		case t.is("return") && t.first && t.col == inner && f.find(span{i, f.statementEnd(i)}, "if", "unless") < 0, t.is("exit") && t.first && t.col == inner && f.at(i+1).text == "0":
			u.dead = append(u.dead, span{i, body.to})
		case t.is("if") && t.first && (f.at(i+1).text == "false"):
			end := i + 1
			for end < body.to && (!f.at(end).first || f.at(end).col > t.col) {
				end++
			}
			u.dead = append(u.dead, span{i, end})
		case (t.is("puts") || t.is("echo") || t.is("p")) && t.first:
			f.mute(span{i, f.statementEnd(i)})
		}
	}
	f.scan(u)
	f.units = append(f.units, u)
}

// modifier returns the condition behind a statement, or the one that it stands below.
func (f *file) modifier(i, end int) string {
	if at := f.find(span{i, end}, "if", "unless"); at > i {
		return f.code(span{at, end}) + " "
	}
	for j := i - 1; j > 0 && j > i-maxStatement; j-- {
		if f.at(j).first && f.at(j).col < f.at(i).col {
			if f.at(j).is("if") || f.at(j).is("unless") {
				return f.code(span{j, f.statementEnd(j)}) + " "
			}
			break
		}
	}
	return ""
}

// rubyCheck adds the check that begins at a word and returns where it ends.
func (f *file) rubyCheck(u *unit, i int) int {
	t := f.at(i)
	switch {
	case t.text == "expect" || t.text == "is_expected":
		return f.rubyExpect(u, i)
	case strings.HasPrefix(t.text, "assert") || strings.HasPrefix(t.text, "refute") || t.text == "flunk":
		end := f.statementEnd(i)
		args := f.split(span{i + 1, end}, ",")
		if f.opens(i+1, "(") {
			args, end = f.args(i+1), f.at(i+1).mate+1
		} else if at := f.find(span{i + 1, end}, "do", "if", "unless"); at >= 0 {
			args = f.split(span{i + 1, at}, ",")
		}
		n := len(u.checks)
		f.call(u, i, end, []string{t.text}, args)
		for k := n; k < len(u.checks); k++ {
			u.checks[k].callee = t.text
		}
		return end
	case strings.HasPrefix(t.text, "must_") || strings.HasPrefix(t.text, "wont_"):
		end := f.statementEnd(i)
		from := f.statementStart(i, u.body.from)
		f.call(u, i, end, []string{t.text}, []span{{from, max(from, i-1)}, {i + 1, end}})
		return end
	}
	return i
}

// rubyExpect adds the check of "expect(a).to eq(b)".
func (f *file) rubyExpect(u *unit, i int) int {
	end := f.statementEnd(i)
	for f.at(end).is(".") || f.at(end).is("end") && f.at(end+1).is(".") { // a block over lines
		end = f.statementEnd(end + 1)
	}
	to := -1
	for j := i; j < end; j++ {
		if w := f.at(j); w.is("to") || w.is("not_to") || w.is("to_not") {
			to = j
		}
	}
	if to < 0 {
		u.checks = append(u.checks, check{span: span{i, end}, line: f.at(i).line, op: opOther, weight: 1, dead: true})
		return end
	}
	f.call(u, i, end, []string{f.at(to).text, f.at(to + 1).text}, []span{{i + 1, max(i+1, to-1)}, {min(to+2, end), end}})
	return end
}

// shellCheck adds the check that begins at a word and returns where it ends.
func (f *file) shellCheck(u *unit, i int) int {
	t := f.at(i)
	if !t.first && !f.at(i-1).is(";") && !f.at(i-1).is("&&") && !f.at(i-1).is("!") {
		return i
	}
	if !strings.HasPrefix(t.text, "assert") && !strings.HasPrefix(t.text, "refute") && t.text != "test" && t.text != "grep" && t.text != "diff" && t.text != "cmp" {
		return i
	}
	end := f.statementEnd(i)
	c := check{span: span{i, end}, line: t.line, op: opOf(t.text), weight: 1, dead: f.ignored(i, end)}
	if strings.HasPrefix(t.text, "assert") {
		c.callee = t.text
	}
	c.sides[0] = f.literals(span{i + 1, end})
	u.checks = append(u.checks, c)
	return end
}

// ignored reports whether "|| true" stands behind a command.
func (f *file) ignored(i, end int) bool {
	at := f.find(span{i, end}, "||")
	return at >= 0 && (f.at(at+1).text == "true" || f.at(at+1).is(":"))
}

// shellTest adds the check of "[ a = b ]" and returns where it ends.
func (f *file) shellTest(u *unit, i int) int {
	end := f.statementEnd(i)
	inner := span{i + 1, f.at(i).mate}
	if f.opens(i+1, "[") {
		inner = span{i + 2, f.at(i + 1).mate}
	}
	c := check{span: span{i, end}, line: f.at(i).line, op: opTruth, weight: 1}
	left, right := inner, span{inner.to, inner.to}
	if at := f.find(inner, "=", "==", "!=", "=~", "eq", "ne", "gt", "ge", "lt", "le"); at > inner.from {
		switch t := f.at(at).text; t {
		case "=", "==", "eq":
			c.op = opEqual
		case "!=", "ne":
			c.op = opNotEqual
		case "=~":
			c.op = opContains
		default:
			c.op = opOrder
		}
		left, right = span{inner.from, at}, span{at + 1, inner.to}
		if f.at(at - 1).is("-") {
			left.to--
		}
		for j := left.from; j < right.to; j++ { // words without quotes are values too
			if t := &f.toks[j]; t.kind == word && t.text[0] != '$' && j != at && !f.at(j-1).is("$") && !f.at(j-1).is("{") {
				t.kind = text
			}
		}
		if c.op == opEqual && strings.Contains(f.code(right), "*") {
			c.op = opContains
		}
	}
	c.dead = f.ignored(i, end) || right.to > right.from && f.equalCode(left, right)
	c.sides = [2][]literal{f.literals(left), f.literals(right)}
	u.checks = append(u.checks, c)
	return end
}
