package source

import (
	"slices"
	"strings"
)

// opOf returns how an assertion of a name compares. The names of all languages and libraries
// follow the same few habits.
func opOf(name string) op {
	s := strings.ReplaceAll(strings.ToLower(name), "_", "")
	for _, prefix := range []string{"assert", "refute", "must", "should", "tohave", "to", "debugassert", "propassert"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok && rest != "" {
			s = rest
			break
		}
	}
	for _, rule := range opRules {
		for _, part := range rule.parts {
			if whole, ok := strings.CutPrefix(part, "="); ok && s == whole || !ok && strings.Contains(s, part) {
				return rule.op
			}
		}
	}
	return opOther
}

// opRules are what names of assertions have in them; = means the whole name. The first rule that
// fits holds.
var opRules = []struct {
	op    op
	parts []string
}{
	{opSnapshot, []string{"snapshot"}},
	{opNoError, []string{"doesnotthrow", "notthrow", "noerror", "notpanic", "doesnotreject", "nothrow", "notraise", "doesnotraise", "nothingraised", "resolves", "succeed"}},
	{opThrows, []string{"throw", "raise", "reject", "panic", "warns", "errorcontains", "erroris", "erroras", "equalerror", "exception"}},
	{opNotEqual, []string{"notequal", "notsame", "notdeepequal", "notstrictequal", "notidentical", "=ne", "=isnot", "=not"}},
	{opApprox, []string{"almost", "closeto", "approx", "indelta", "inepsilon", "allclose", "nearly", "withdelta", "elementsmatch", "tolerance"}},
	{opOrder, []string{"greater", "less", "atleast", "atmost", "positive", "negative", "within"}},
	{opNotContains, []string{"notcontain", "notin", "notmatch", "notinclude", "notregex"}},
	{opTruth, []string{"notnull", "notnil", "notnone", "isdefined", "bedefined", "notundefined", "notempty", "=defined"}},
	{opEqual, []string{"calledwith", "calledtimes", "calledoncewith", "hasbeencalledtimes"}},
	{opNull, []string{"null", "nil", "none", "undefined"}},
	{opContains, []string{"match", "regex", "contain", "include", "startswith", "startwith", "endswith", "endwith", "prefix", "suffix", "subset", "property", "haskey", "=in"}},
	{opTruth, []string{"true", "truthy", "false", "falsy", "exist", "instanceof", "isinstance", "called", "=ok", "=some", "=err", "=notok", "=ko"}},
	{opEqual, []string{"equal", "same", "=eq", "=be", "=is", "identical", "=deepeq", "=exactly", "empty", "=zero", "length", "=len", "=size", "count", "=similar", "jsoneq", "=eql", "haveattribute", "havetext"}},
	{opFail, []string{"fail"}},
}

// negate returns the op of a check of which the opposite is asserted.
func (o op) negate() op {
	switch o {
	case opEqual, opApprox, opSnapshot:
		return opNotEqual
	case opNotEqual:
		return opEqual
	case opContains:
		return opNotContains
	case opNotContains:
		return opContains
	case opThrows:
		return opNoError
	case opNoError:
		return opThrows
	case opNull:
		return opTruth
	}
	return o
}

// condition returns the check that a condition makes, or that its opposite makes.
func (f *file) condition(s span, negated bool) check {
	c := check{span: s, line: f.at(s.from).line, op: opTruth, weight: 1, group: s.from}
	for s.to > s.from {
		if t := f.at(s.from); t.is("!") || t.is("not") {
			negated = !negated
			s.from++
		} else if t.is("(") && t.mate == s.to-1 && f.find(span{s.from + 1, s.to - 1}, ",") < 0 {
			s = span{s.from + 1, s.to - 1}
		} else {
			break
		}
	}
	i := f.comparator(s)
	if i < 0 {
		return f.truth(c, s, negated)
	}
	left, right := span{s.from, i}, span{i + 1, s.to}
	switch t := f.at(i).text; t {
	case "==", "===", "is":
		c.op = opEqual
		if f.at(i + 1).is("not") {
			c.op, right.from = opNotEqual, right.from+1
		}
	case "!=", "!==":
		c.op = opNotEqual
	case "in":
		c.op = opContains
		if f.at(i - 1).is("not") {
			c.op, left.to = opNotContains, left.to-1
		}
	case "=~", "!~":
		c.op = opContains
	default:
		c.op = opOrder
	}
	if negated {
		c.op = c.op.negate()
	}
	return f.compared(c, left, right)
}

// comparator returns the operator of a comparison, or -1.
func (f *file) comparator(s span) int {
	ops := []string{"==", "===", "!=", "!==", "=~", "!~", ">=", "<=", "<", ">"}
	if f.lang.name == "python" {
		ops = append(ops, "is", "in")
	}
	return f.find(s, ops...)
}

// truth completes a check of a value that is not compared with anything.
func (f *file) truth(c check, s span, negated bool) check {
	c.sides[0] = f.literals(s)
	if s.to-s.from == 1 && f.at(s.from).kind != word {
		c.dead = true
		return c
	}
	// The function that is called may compare: reflect.DeepEqual(got, want), s.includes("x").
	if open := s.to - 1; open > s.from && f.at(open).text == ")" && f.at(open).mate > s.from {
		name := f.at(f.at(open).mate - 1)
		if name.kind == word {
			switch o := opOf(name.text); {
			case o == opEqual || o == opContains || o == opApprox:
				c.op = o
			case name.text == "Is" || name.text == "As" || name.text == "HasPrefix" || name.text == "HasSuffix":
				c.op = opContains
			case len(f.args(f.at(open).mate)) >= 2:
				c.op = opOther
			}
		}
		if negated {
			c.op = c.op.negate()
		}
	}
	return c
}

// compared completes a check that compares two values.
func (f *file) compared(c check, left, right span) check {
	if f.equalCode(left, right) {
		c.dead = true
	}
	if c.op == opEqual && f.contains(span{left.from, right.to}, "approx", "isclose", "closeTo", "CloseTo") {
		c.op = opApprox
	}
	if c.op == opEqual || c.op == opNotEqual {
		for _, v := range []span{left, right} {
			if v.to-v.from != 1 || f.at(v.from).kind != constant {
				continue
			}
			other := left
			if v == left {
				other = right
			}
			if other.to-other.from == 1 && f.at(other.from).kind != word {
				c.dead = true
			}
			switch f.at(v.from).text {
			case "true", "True", "TRUE", "false", "False", "FALSE":
				return f.truth(check{span: c.span, line: c.line, op: opTruth, weight: 1, dead: c.dead}, other, false)
			}
			c.sides[0] = f.literals(other)
			if c.op == opEqual {
				c.op = opNull
			} else {
				c.op = opTruth
			}
			return c
		}
	}
	c.sides = [2][]literal{f.literals(left), f.literals(right)}
	return c
}

// equalCode reports whether two spans have the same tokens, and any at all.
func (f *file) equalCode(a, b span) bool {
	if a.to-a.from != b.to-b.from || a.from >= a.to {
		return false
	}
	for i := range a.to - a.from {
		if f.toks[a.from+i].text != f.toks[b.from+i].text {
			return false
		}
	}
	return true
}

// conditions adds a check for each part of a condition that must hold.
func (f *file) conditions(u *unit, s span) {
	and := []string{"&&"}
	if f.lang.name == "python" || f.lang.name == "ruby" {
		and = append(and, "and")
	}
	if f.find(s, "||", "or") >= 0 { // says less than each of its parts
		c := check{span: s, line: f.at(s.from).line, op: opOther, weight: 1}
		for _, p := range f.split(s, "||", "or") {
			c.sides[0] = append(c.sides[0], f.literals(p)...)
			c.dead = c.dead || p.to-p.from == 1 && f.at(p.from).kind != word
		}
		u.checks = append(u.checks, c)
		return
	}
	for _, p := range f.split(s, and...) {
		c := f.condition(p, false)
		c.group = s.from
		u.checks = append(u.checks, c)
	}
}

// call adds the check that a call of an assertion makes, whose name is verb and whose arguments
// are args. Names further on in the chain, as in expect(a).not.toBe(b), come in words.
func (f *file) call(u *unit, from, to int, words []string, args []span) {
	whole := span{from, to}
	c := check{span: whole, line: f.at(from).line, weight: 1, group: from}
	negated := slices.ContainsFunc(words, func(w string) bool {
		return w == "not" || w == "notTo" || w == "not_to" || w == "to_not" || w == "NotTo" || w == "isNot"
	})
	verb := words[len(words)-1]
	c.op = opOf(verb)
	if strings.HasPrefix(verb, "refute") || strings.HasPrefix(verb, "wont_") {
		negated = !negated
	}
	if plain := strings.ToLower(strings.TrimSuffix(verb, "_")); len(words) == 1 && (plain == "assert" || plain == "check" || plain == "require" || plain == "debug_assert" || plain == "prop_assert") {
		c.op = opTruth
	}
	args = f.significant(c.op, args)
	lower := strings.ToLower(verb)
	falsy := strings.Contains(lower, "false") || strings.Contains(lower, "falsy") || strings.HasSuffix(lower, "notok")
	switch {
	case c.op == opTruth && len(args) == 1 && (f.comparator(args[0]) >= 0 || !negated && !falsy):
		n := len(u.checks)
		if falsy || negated {
			u.checks = append(u.checks, f.condition(args[0], true))
		} else {
			f.conditions(u, args[0])
		}
		for i := n; i < len(u.checks); i++ {
			u.checks[i].span = whole
		}
		return
	case (c.op == opEqual || c.op == opNotEqual) && len(args) == 2:
		if negated {
			c.op = c.op.negate()
		}
		c = f.compared(c, args[0], args[1])
		c.span = whole
	default:
		if negated {
			c.op = c.op.negate()
		}
		if len(args) == 2 {
			c.sides = [2][]literal{f.literals(args[0]), f.literals(args[1])}
		} else {
			for _, a := range args {
				c.sides[0] = append(c.sides[0], f.literals(a)...)
			}
		}
		if len(args) == 1 && args[0].to-args[0].from == 1 && c.op == opTruth && f.at(args[0].from).kind != word {
			c.dead = true
		}
	}
	c.weak = c.op == opNoError
	u.checks = append(u.checks, c)
}

// significant returns the arguments of an assertion without its message, and mutes that.
func (f *file) significant(o op, args []span) []span {
	n := len(args)
	switch o {
	case opTruth, opNull:
		n = 1
	case opFail:
		n = 0
	case opEqual, opNotEqual, opContains, opNotContains, opThrows:
		n = 2
		// JUnit 4 has the message in front.
		if len(args) == 3 && f.lang.name == "java" && args[0].to-args[0].from == 1 && f.at(args[0].from).kind == text {
			f.mute(args[0])
			return args[1:]
		}
	}
	for _, a := range args[min(n, len(args)):] {
		// A tolerance is no message.
		if a.to-a.from >= 1 && f.at(a.from).kind != number && !f.at(a.from+1).is("=") {
			f.mute(a)
		} else if n < len(args) {
			n++
		}
	}
	return args[:min(n, len(args))]
}

// chain returns the end of a chain of calls whose first name is at i, and the names and
// arguments of the calls.
func (f *file) chain(i int) (end int, words []string, calls [][]span) {
	end = i
	for {
		t := f.at(end)
		if t.kind != word && t.kind != constant {
			return end, words, calls
		}
		words = append(words, t.text)
		calls = append(calls, nil)
		end++
		if f.lang.name == "rust" && f.at(end).is("!") {
			end++
		}
		if f.opens(end, "(") || f.lang.name == "rust" && f.at(end-1).is("!") && f.at(end).mate > end {
			calls[len(calls)-1] = f.args(end)
			if calls[len(calls)-1] == nil {
				calls[len(calls)-1] = []span{}
			}
			end = f.at(end).mate + 1
		}
		if next := f.at(end); (next.is(".") || next.is("?.") || next.is("->") || next.is("::")) && f.at(end+1).kind != punct {
			end++
			continue
		}
		return end, words, calls
	}
}

// scan finds the assertions of a unit by the names of what it calls.
func (f *file) scan(u *unit) {
	for i := u.body.from; i < u.body.to && len(u.checks) < maxFacts; {
		i = max(i+1, f.checkAt(u, i))
	}
}

// checkAt adds the check that begins at a token and returns where it ends; at the token itself
// if none begins there.
func (f *file) checkAt(u *unit, i int) int {
	t := f.at(i)
	if t.kind != word {
		if f.lang.shell && t.is("[") && t.first && t.mate > i {
			return f.shellTest(u, i)
		}
		return i
	}
	if f.at(i-1).is("def") || f.at(i-1).is("fn") || f.at(i-1).is("function") || f.at(i-1).is("fun") {
		return i
	}
	switch f.lang.name {
	case "python":
		if end := f.pythonCheck(u, i); end > i {
			return end
		}
	case "ruby":
		if end := f.rubyCheck(u, i); end > i {
			return end
		}
	case "shell":
		if end := f.shellCheck(u, i); end > i {
			return end
		}
	case "js":
		if end := f.jsCheck(u, i); end > i {
			return end
		}
	case "rust":
		if end := f.rustCheck(u, i); end > i {
			return end
		}
	default:
		if end := f.methodCheck(u, i); end > i {
			return end
		}
	}
	return f.callAt(u, i)
}

// callAt adds a call of a function by name: it may be a helper of the tests.
func (f *file) callAt(u *unit, i int) int {
	open := i + 1
	if f.lang.name == "rust" && f.at(open).is("!") {
		open++
	}
	if !f.opens(open, "(") || isKeyword(f.at(i).text) {
		return i
	}
	c := check{span: span{i, f.at(open).mate + 1}, line: f.at(i).line, op: opOther, weight: 1, callee: f.at(i).text, dotted: f.at(i - 1).is("."), group: i}
	for _, a := range f.args(open) {
		c.sides[0] = append(c.sides[0], f.literals(a)...)
	}
	u.checks = append(u.checks, c)
	if looksLikeCheck(f.at(i).text) {
		return c.span.to
	}
	return i // what it is called with may be a check
}
