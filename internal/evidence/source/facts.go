package source

import (
	"slices"
	"strings"
)

// fact is something that a test checks: an assertion, a row of a table, or the value that a
// result is to have.
type fact struct {
	file     *file
	unit     *unit // that an assertion is in
	span     span
	line     int
	row      bool
	op       op
	rank     int // of the op; that of a helper is not known and taken for the highest
	weight   int
	group    int
	literals []literal
	key      string // the literals by sides, whichever is which
	flat     string // the literals in their order
}

// facts returns what a test checks. Assertions that cannot fail and those that only say that
// there is no error are left out.
func (s *side) facts(u *unit) []fact {
	var all []fact
	for i := range u.checks {
		c := &u.checks[i]
		if c.dead || c.weak || c.weight == 0 || len(all) >= maxFacts {
			continue
		}
		k := newFact(u.file, c.span, c.line, c.op, c.weight, c.sides[0], c.sides[1])
		k.unit, k.group = u, c.group
		if c.helped || c.unknown() {
			k.op, k.rank = opOther, opEqual.rank()
		}
		all = append(all, k)
	}
	for n, p := range s.spans(u) {
		if p.span == u.body && p.file == u.file {
			all = append(all, p.file.bodyRows(u)...)
			all = append(all, p.file.wants(u)...)
		} else if n < len(u.heads) || s.runsThrough(u, p) {
			all = append(all, p.file.headRows(p.span, n < len(u.heads))...)
		}
		if len(all) > 2*maxFacts {
			break
		}
	}
	return all
}

// runsThrough reports whether a table that a test names holds its cases: the test is made for each
// of them, or its body runs through lists of them.
func (s *side) runsThrough(u *unit, p tableAt) bool {
	if p.file.composite(p.span.from) && p.file.manyRows(p.span.from) {
		return true
	}
	for _, h := range u.heads {
		for i := h.from; i < h.to; i++ {
			if at, ok := s.table(u.file.at(i).text, u.file); ok && at == p {
				return true
			}
		}
	}
	return false
}

func newFact(f *file, s span, line int, o op, weight int, left, right []literal) fact {
	a, b := flat(left), flat(right)
	return fact{file: f, span: s, line: line, op: o, rank: o.rank(), weight: weight, literals: append(slices.Clone(left), right...),
		key: min(a, b) + "\x01" + max(a, b), flat: flat(append(slices.Clone(left), right...))}
}

func flat(ls []literal) string {
	var b strings.Builder
	for _, l := range ls {
		b.WriteString(l.text + "\x00")
	}
	return b.String()
}

// rowFact returns the fact of a row. The row's own bracket is no list in it.
func (f *file) rowFact(s span) (fact, bool) {
	inner := s
	if f.opens(s.from, f.at(s.from).text) && f.at(s.from).mate == s.to-1 {
		inner = span{s.from + 1, s.to - 1}
	}
	ls := f.literals(inner)
	if len(ls) == 0 {
		return fact{}, false
	}
	r := newFact(f, s, f.at(s.from).line, opEqual, 0, ls, nil)
	r.row = true
	return r, true
}

// rows adds the rows of a list.
func (f *file) rows(open int, all []fact) []fact {
	for _, a := range f.args(open) {
		if r, ok := f.rowFact(a); ok && len(all) < maxFacts {
			all = append(all, r)
		}
	}
	return all
}

// headRows returns the rows of what stands before a test, or of a table.
func (f *file) headRows(s span, head bool) []fact {
	var all []fact
	found := false
	for i := s.from; i < s.to; i++ {
		t := f.at(i)
		switch {
		case head && f.lang.name == "js" && s.to == s.from+1 && t.kind == text: // test.each`…`
			for n, line := range strings.Split(t.text, "\n") {
				if line = strings.Join(strings.Fields(line), " "); line != "" && n > 0 && len(all) < maxFacts {
					r := newFact(f, s, t.line+n, opEqual, 0, []literal{{text: line, list: -1}}, nil)
					r.row = true
					all = append(all, r)
				}
			}
			return all
		case f.composite(i), head && f.opens(i, "{"), f.lang.name == "rust" && f.opens(i, "[") && !head:
			all = f.rows(i, all)
			i = t.mate
			found = true
		}
	}
	// An attribute such as #[case(1, 2)] or [InlineData(1, 2)] is a row.
	if name := f.lang.name; head && !found && name != "python" && name != "js" {
		if r, ok := f.rowFact(s); ok {
			all = append(all, r)
		}
	}
	return all
}

// bodyRows returns the rows of the tables in a body: lists that are run through, and lists of lists.
func (f *file) bodyRows(u *unit) []fact {
	var all []fact
	var checks []span
	for _, c := range u.checks {
		if c.callee == "" || c.weight > 0 {
			checks = append(checks, c.span)
		}
	}
	slices.SortFunc(checks, func(a, b span) int { return a.from - b.from })
	ran := f.runThrough(u)
	n, until := 0, 0
	for i := u.body.from; i < u.body.to; i++ {
		for n < len(checks) && checks[n].from <= i {
			until = max(until, checks[n].to)
			n++
		}
		if i < until || !f.composite(i) || !f.isTable(i, ran) {
			continue
		}
		all = f.rows(i, all)
		i = f.at(i).mate
	}
	return all
}

// runThrough returns the names that a loop of the body runs through.
func (f *file) runThrough(u *unit) map[string]bool {
	names := map[string]bool{}
	for i := u.body.from; i < u.body.to; i++ {
		if t := f.at(i); t.is("in") || t.is("of") || t.is("range") {
			at := i + 1
			for f.at(at).is("&") {
				at++
			}
			names[f.at(at).text] = true
		} else if t.kind == word && f.at(i+1).is(".") && runsThrough(f.at(i+2).text) {
			names[t.text] = true
		}
	}
	return names
}

// isTable reports whether a list is a table of cases.
func (f *file) isTable(i int, ran map[string]bool) bool {
	from := i
	for n := 0; n < 30 && from > 0; n++ { // []struct{ … }{, vec![, map[string]int{
		if t := f.at(from - 1); t.is("}") && t.mate >= 0 && from == i {
			from = t.mate
			continue
		} else if t.first && !t.is("for") && n > 0 && !f.at(from).is("=") && !f.at(from).is(":=") {
			break
		}
		if t := f.at(from - 1); t.is("in") || t.is("of") || t.is("range") {
			return true
		} else if t.is("=") || t.is(":=") {
			name := f.at(from - 2)
			if ran[name.text] {
				return true
			}
			break
		} else if t.is("{") || t.is(";") || t.is(":") || t.is("(") || t.is(",") {
			break
		}
		from--
	}
	if at := f.at(i).mate + 1; f.at(at).is(".") && runsThrough(f.at(at+1).text) {
		return true
	}
	if prev := f.at(i - 1); f.composites == nil && !prev.is("(") && !prev.is(",") || f.composites != nil && !f.argument(i) {
		return false
	}
	return f.manyRows(i)
}

// argument reports whether a composite literal of Go is an argument of a call.
func (f *file) argument(i int) bool {
	for n := 0; n < 30 && i > 0; n++ {
		switch t := f.at(i - 1); {
		case t.is("(") || t.is(","):
			return true
		case t.is("}") && t.mate >= 0:
			i = t.mate
		case t.kind == word || t.is("]") || t.is("[") || t.is(".") || t.is("*"):
			i--
		default:
			return false
		}
	}
	return false
}

// manyRows reports whether a list has several elements that are lists or records themselves.
func (f *file) manyRows(i int) bool {
	elements := f.args(i)
	if len(elements) < 2 || !f.isList(i) {
		return false
	}
	for _, e := range elements {
		if f.at(e.to-1).mate < e.from { // none ends with a bracket of its own
			return false
		}
	}
	return true
}

// runsThrough reports whether a method of this name is called for every element of a list.
func runsThrough(method string) bool {
	switch method {
	case "forEach", "map", "each", "iter", "into_iter", "each_with_index", "items", "entries", "each_pair":
		return true
	}
	return false
}

// wants returns facts for values that are named as what is wanted.
func (f *file) wants(u *unit) []fact {
	var all []fact
	for i := u.body.from; i+2 < u.body.to && len(all) < maxFacts; i++ {
		t := f.at(i)
		if t.kind != word || !(f.at(i+1).is("=") || f.at(i+1).is(":=")) || f.at(i+2).is("range") {
			continue
		}
		lower := strings.ToLower(t.text)
		if strings.HasPrefix(lower, "want") || strings.HasPrefix(lower, "expect") || strings.HasPrefix(lower, "exp_") || lower == "exp" || strings.HasPrefix(lower, "golden") ||
			strings.HasPrefix(lower, "tolerance") || strings.HasPrefix(lower, "should") {
			s := span{i + 2, min(f.statementEnd(i+1), u.body.to)}
			if ls := f.literals(s); len(ls) > 0 {
				w := newFact(f, s, t.line, opEqual, 0, ls, nil)
				w.row = true
				all = append(all, w)
			}
		}
	}
	return all
}

// traced returns the literals of an assertion and of what its names were assigned before, in their order:
// "if got := F(1); got != 2" says the same as "got := F(1)" and "if got != 2" below it.
func (f fact) traced() string {
	if f.unit == nil {
		return f.flat
	}
	var all []literal
	seen := map[int]bool{}
	var trace func(s span, depth int)
	trace = func(s span, depth int) {
		for i := s.from; i < min(s.to, s.from+maxSpan) && len(all) < maxFacts; i++ {
			t := f.file.at(i)
			switch value, at := f.unit.assigned(i); {
			case t.literal():
				all = append(all, f.file.literals(span{i, i + 1})...)
			case at >= 0 && !seen[at] && depth < maxTraced:
				seen[at] = true
				if value.from < s.from || value.from >= s.to { // otherwise it comes in its own place
					trace(value, depth+1)
				}
			}
		}
	}
	trace(f.span, 0)
	if len(all) < len(f.literals) { // documentation says some of them
		return f.flat
	}
	return flat(all)
}

const (
	// maxTraced bounds through how many assignments a value is traced.
	maxTraced = 4
	// maxAssigned bounds the tokens of the names that are assigned at once.
	maxAssigned = 20
)

// assigned returns the value that a name was last assigned in a unit before a token that names it, and where
// the assignment is; -1 = nowhere.
func (u *unit) assigned(at int) (span, int) {
	f := u.file
	if name := f.at(at); name.kind != word || f.at(at-1).is(".") {
		return span{}, -1
	}
	if u.assignments == nil {
		u.assignments = map[string][]int{}
		for i := u.body.from; i < u.body.to; i++ {
			if f.at(i).kind != word || f.at(i-1).is(".") {
				continue
			}
			j := i + 1
			for f.at(j).is(",") && f.at(j+1).kind == word && j < i+maxAssigned { // a, err := F()
				j += 2
			}
			if (f.at(j).is("=") || f.at(j).is(":=")) && !f.at(j+1).is("range") {
				u.assignments[f.at(i).text] = append(u.assignments[f.at(i).text], j)
			}
		}
	}
	found := u.assignments[f.at(at).text]
	n, _ := slices.BinarySearch(found, at)
	if n == 0 {
		return span{}, -1
	}
	j := found[n-1]
	return span{j + 1, min(f.statementEnd(j), u.body.to)}, j
}

// covers reports whether one fact has all literals of another one in their order, and has none
// more in a list that the other one has too.
func covers(outer, inner fact) bool {
	if len(inner.literals) == 0 {
		return false
	}
	lists, seen := map[int]bool{}, map[string]bool{}
	var extra []literal
	i := 0
	skip := func() { // a literal that occurs twice in an assertion is in a row once
		for outer.row && i < len(inner.literals) && seen[inner.literals[i].text] && inner.literals[i].list < 0 {
			i++
		}
	}
	for _, l := range outer.literals {
		if i < len(inner.literals) && l.text != inner.literals[i].text {
			skip()
		}
		if i < len(inner.literals) && l.text == inner.literals[i].text {
			if l.list >= 0 {
				lists[l.list] = true
			}
			seen[l.text] = true
			i++
		} else if l.list >= 0 {
			extra = append(extra, l)
		}
	}
	skip()
	return i >= len(inner.literals) && !slices.ContainsFunc(extra, func(l literal) bool { return lists[l.list] })
}

// telling reports whether the literals of a fact are enough to know it again elsewhere.
func telling(f fact) bool {
	if len(f.literals) != 1 {
		return len(f.literals) > 1
	}
	l := f.literals[0].text // with its kind in front
	return len(l) > 3 || len(l) > 2 && kind(l[0]-'0') == text
}

// covered reports whether some facts of new and changed tests, but for one of them, say the same as a fact.
func (c *comparison) covered(f fact, but *unit) bool {
	return len(f.literals) > 0 && slices.ContainsFunc(c.pool, func(p pooled) bool {
		return p.of != but && (p.flat == f.flat || telling(f) && covers(p.fact, f))
	})
}

// likeness returns how many names and literals two facts have in common.
func likeness(a, b fact) int {
	words := map[string]bool{}
	for i := a.span.from; i < min(a.span.to, a.span.from+maxStatement); i++ {
		if t := a.file.at(i); (t.kind == word && !isFixed(t.text)) || t.literal() {
			words[t.text] = true
		}
	}
	n := 0
	for i := b.span.from; i < min(b.span.to, b.span.from+maxStatement); i++ {
		if t := b.file.at(i); words[t.text] {
			n++
			delete(words, t.text)
		}
	}
	return n
}
