package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// run finds the changes of all pairs, of tests that are gone, and of helpers.
func (c *comparison) run() {
	same := map[*unit]bool{}
	c.added = slices.DeleteFunc(c.added, func(u *unit) bool {
		return slices.ContainsFunc(c.removed[:min(len(c.removed), maxFacts)], func(b *unit) bool { return b.file.lang.name == u.file.lang.name && !reachable(b, u) })
	})
	for _, u := range c.added {
		c.addToPool(u)
	}
	for _, p := range c.pairs {
		if c.same(p) {
			same[p.base] = true
		} else if len(c.pool) < 10*maxFacts {
			c.addToPool(p.candidate)
		}
	}
	for _, p := range c.pairs {
		if !c.skipped(p) && !same[p.base] {
			c.test(p)
		}
	}
	for _, u := range c.removed {
		c.gone(u)
	}
	c.helpers()
}

// addToPool adds what a test checks to what is known to be checked elsewhere.
func (c *comparison) addToPool(u *unit) {
	for _, f := range c.candidate.facts(u) {
		c.pool = append(c.pool, pooled{f, u})
	}
}

// same reports whether a test is what it was but for names and looks.
func (c *comparison) same(p pair) bool {
	return p.base.inverted == p.candidate.inverted && sameChecks(p.base, p.candidate) && equalTokens(c.base.signature(p.base), c.candidate.signature(p.candidate))
}

// sameChecks reports whether two units have the same assertions but for what they compare.
func sameChecks(a, b *unit) bool {
	return slices.EqualFunc(a.checks, b.checks, func(x, y check) bool {
		return x.op == y.op && x.dead == y.dead && x.weak == y.weak && x.said == y.said && (x.callee == "") == (y.callee == "") && looksLikeCheck(x.callee) == looksLikeCheck(y.callee)
	})
}

func (c *comparison) add(kind pawl.FindingKind, p pair, test, said, detail string) {
	c.changes = append(c.changes, Change{Kind: kind, Path: p.candidate.file.path, Test: test, Text: said, Detail: detail})
}

// skipped adds a change for marks that the base's test has not, and reports whether there are any.
func (c *comparison) skipped(p pair) bool {
	found := false
	for _, m := range p.candidate.marks {
		if slices.Contains(p.base.marks, m) {
			continue
		}
		test := p.candidate.name
		if m.row != "" {
			test += "[" + m.row + "]"
		}
		c.add(pawl.FindSkippedTest, p, test, fmt.Sprintf("%s is skipped, or its failure does not count: %s", title(p.candidate, m.row), shorten(m.text)), markLine(p.candidate, m))
		c.changes[len(c.changes)-1].Sometimes = isConditional(m.text) && slices.ContainsFunc(p.base.marks, func(m mark) bool { return isConditional(m.text) })
		found = true
	}
	return found && slices.ContainsFunc(p.candidate.marks, func(m mark) bool { return m.row == "" && !slices.Contains(p.base.marks, m) })
}

// isConditional reports whether a mark skips a test under a condition. What a test does only if it failed is
// none.
func isConditional(mark string) bool {
	return strings.HasPrefix(mark, "if ") && !strings.Contains(mark, "Failed()")
}

// markLine returns the line of a unit that has a mark on it. Marks that stand before it are lines themselves.
func markLine(u *unit, m mark) string {
	for _, l := range unitLines(u) {
		if strings.Contains(u.file.lineText(l.n), m.text) {
			return diff(nil, []lineAt{l})
		}
	}
	return "+ " + shorten(m.text) + "\n"
}

// title returns what a change is about. The name of a test is in [Change.Test].
func title(u *unit, row string) string {
	if row != "" {
		return fmt.Sprintf("case %q of a test", row)
	}
	if !u.test {
		return fmt.Sprintf("helper %q", u.name)
	}
	return "a test"
}

// test adds the changes of a test that is not the same.
func (c *comparison) test(p pair) {
	if p.candidate.inverted && !p.base.inverted {
		c.add(pawl.FindExpectation, p, p.candidate.name, title(p.candidate, "")+" now passes when it fails", "")
		return
	}
	strong, weak := c.base.weigh(p.base, 0)
	nowStrong, nowWeak := c.candidate.weigh(p.candidate, 0)
	switch {
	case p.base.unsure && strong > nowStrong:
		return
	case strong+weak > 0 && nowStrong == 0 && (nowWeak == 0 || strong > 0 && nowWeak <= weak):
		c.add(pawl.FindEmptiedTest, p, p.candidate.name, title(p.candidate, "")+" has no assertion left that can fail", diff(checkLines(p.base), nil))
		return
	case strong > 0 && nowStrong == 0:
		c.add(pawl.FindExpectation, p, p.candidate.name, title(p.candidate, "")+" only says that there is no error", diff(checkLines(p.base), checkLines(p.candidate)))
		return
	}
	r := c.losses(p)
	if len(r.changedBase)+len(r.changedCandidate) > 0 {
		c.add(pawl.FindExpectation, p, p.candidate.name, title(p.candidate, "")+" expects something else", diff(r.changedBase, r.changedCandidate))
	}
	lost := min(r.lostWeight, strong-nowStrong)
	if weak > nowWeak && strong == nowStrong && p.candidate.blanks > p.base.blanks {
		lost = max(lost, weak-nowWeak)
	}
	switch {
	case lost > 0:
		c.add(pawl.FindFewerAssertions, p, p.candidate.name, fmt.Sprintf("%s has lost %s", title(p.candidate, ""), count(lost, "assertion")), diff(r.lostLines, nil))
	case r.lostRows > 0:
		c.add(pawl.FindFewerAssertions, p, p.candidate.name, fmt.Sprintf("%s has lost %s", title(p.candidate, ""), count(r.lostRows, "case")), diff(r.rowLines, nil))
	case len(r.lostLines) > 0 && len(r.changedBase) == 0 && strong <= nowStrong && r.lostLiterals:
		c.add(pawl.FindExpectation, p, p.candidate.name, title(p.candidate, "")+" no longer checks what it did", diff(r.lostLines, nil))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// place is a range of tokens of a file.
type place struct {
	file *file
	span span
}

// lineAt is a line of a file.
type lineAt struct {
	file *file
	n    int
}

// loss is what a test has lost, as lines of its sources.
type loss struct {
	changedBase, changedCandidate []lineAt
	lostLines, rowLines           []lineAt
	lostWeight, lostRows          int
	lostLiterals                  bool
}

// losses compares what a test checked with what it checks.
func (c *comparison) losses(p pair) loss {
	var r loss
	if sameChecks(p.base, p.candidate) && c.shapes(p, &r) {
		return r
	}
	was, is := c.base.facts(p.base), c.candidate.facts(p.candidate)
	used := make([]bool, len(is))
	was = c.matchFacts(was, is, used, &r)
	helped := c.helped(p.candidate)
	was = slices.DeleteFunc(was, func(f fact) bool {
		return !f.row && len(f.literals) > 0 && !slices.ContainsFunc(f.literals, func(l literal) bool { return !helped[l.text] }) || !f.row && c.more(p) && len(f.literals) > 0 || c.covered(f, p.candidate)
	})
	rewritten := map[int]bool{}
	var lost []fact
	for _, f := range was {
		best := closest(f, is, used)
		if best < 0 {
			lost = append(lost, f)
			continue
		}
		used[best] = true
		if f.flat != is[best].flat && len(f.literals) > 0 || f.rank > is[best].rank {
			r.changedBase = append(r.changedBase, lines(f)...)
			r.changedCandidate = append(r.changedCandidate, lines(is[best])...)
		}
		if !f.row {
			rewritten[f.group] = true
		}
	}
	for _, f := range lost {
		switch {
		case f.row && f.file.isWant(f):
		case f.row:
			r.lostRows++
			r.rowLines = append(r.rowLines, lines(f)...)
		case rewritten[f.group]: // a part of a condition that has become another one
			r.changedBase = append(r.changedBase, lines(f)...)
		default:
			r.lostWeight += f.weight
			r.lostLines = append(r.lostLines, lines(f)...)
			r.lostLiterals = r.lostLiterals || telling(f)
		}
	}
	return r
}

// closest returns the fact that one has probably become, of those that are not used, or -1.
func closest(f fact, is []fact, used []bool) int {
	best, most := -1, 0
	for i, g := range is {
		if used[i] || g.row != f.row {
			continue
		}
		n := likeness(f, g)
		if f.row && 2*n < len(f.literals) && (len(f.literals) == 0 || len(g.literals) == 0 || f.literals[0].text != g.literals[0].text) {
			continue
		}
		if n > most || best < 0 && !f.row && f.op == g.op {
			best, most = i, n
		}
	}
	return best
}

// isWant reports whether a fact is the value of a variable.
func (f *file) isWant(x fact) bool {
	return f.at(x.span.from-1).is("=") || f.at(x.span.from-1).is(":=")
}

// more reports whether a test calls more functions than it did that look like assertions and are not to be
// seen. They may make the assertions that are gone.
func (c *comparison) more(p pair) bool {
	unseen := func(u *unit) int {
		n := 0
		for i := range u.checks {
			if k := &u.checks[i]; k.unknown() && looksLikeCheck(k.callee) {
				n++
			}
		}
		return n
	}
	return unseen(p.candidate) > unseen(p.base)
}

// matchFacts pairs facts that say the same and returns those of the base that nothing says any
// more. Those that something weaker says are noted as changed.
func (c *comparison) matchFacts(was, is []fact, used []bool, r *loss) []fact {
	pass := func(fits func(f, g fact) bool, then func(f, g fact)) {
		was = slices.DeleteFunc(was, func(f fact) bool {
			for i, g := range is {
				if !used[i] && fits(f, g) {
					used[i] = true
					if then != nil {
						then(f, g)
					}
					return true
				}
			}
			return false
		})
	}
	pass(func(f, g fact) bool { return f.row == g.row && f.op == g.op && f.key == g.key }, nil)
	pass(func(f, g fact) bool {
		return f.flat == g.flat && (len(f.literals) > 0 || f.row == g.row && likeness(f, g) > 0) && (g.row || f.row || f.rank <= g.rank)
	}, nil)
	traces := map[place]string{}
	trace := func(f fact) string {
		at := place{f.file, f.span}
		if _, ok := traces[at]; !ok {
			traces[at] = f.traced()
		}
		return traces[at]
	}
	pass(func(f, g fact) bool {
		return !f.row && !g.row && f.op == g.op && len(f.literals) > 0 && trace(f) == trace(g)
	}, nil)
	pass(func(f, g fact) bool {
		return f.row == g.row && f.flat == g.flat && (len(f.literals) > 0 || likeness(f, g) > 0)
	}, func(f, g fact) {
		r.changedBase = append(r.changedBase, lines(f)...)
		r.changedCandidate = append(r.changedCandidate, lines(g)...)
	})
	return slices.DeleteFunc(was, func(f fact) bool {
		for i, g := range is {
			if (g.row || g.weight > 1 || !used[i]) && (g.row || f.row || f.rank <= g.rank) && covers(g, f) {
				used[i] = true
				return true
			}
		}
		return false
	})
}

// helped returns the literals of the helpers that a test calls, and those that it gives them.
func (c *comparison) helped(u *unit) map[string]bool {
	all := map[string]bool{}
	for i := range u.checks {
		k := &u.checks[i]
		h := c.candidate.helper(k, u.file)
		if h == nil || !k.helped || k.weight == 0 {
			continue
		}
		for _, l := range append(k.sides[0], k.sides[1]...) {
			all[l.text] = true
		}
		for _, l := range c.candidate.distinct(h) {
			all[l] = true
		}
	}
	return all
}

// shapes notes literals that changed in a test that is otherwise what it was, and reports
// whether it is that.
func (c *comparison) shapes(p pair, r *loss) bool {
	type at struct {
		file *file
		tok  int
	}
	shape := func(s *side, u *unit) (words []string, literals []at) {
		names := map[string]string{}
		for _, part := range s.spans(u) {
			for i := part.span.from; i < part.span.to && i < len(part.file.toks); i++ {
				t := &part.file.toks[i]
				switch {
				case t.mute || t.is(";"):
				case t.literal():
					words, literals = append(words, ""), append(literals, at{part.file, i})
				case t.kind == word && !isFixed(t.text):
					if names[t.text] == "" {
						names[t.text] = fmt.Sprint("#", len(names))
					}
					words = append(words, names[t.text])
				default:
					words = append(words, t.text)
				}
			}
		}
		return words, literals
	}
	was, old := shape(c.base, p.base)
	is, now := shape(c.candidate, p.candidate)
	if !slices.Equal(was, is) {
		return false
	}
	for i := range old {
		a, b := old[i].file.at(old[i].tok), now[i].file.at(now[i].tok)
		if a.text == b.text && a.kind == b.kind || isPath(a.text) && isPath(b.text) {
			continue
		}
		r.changedBase = append(r.changedBase, lineAt{old[i].file, a.line})
		r.changedCandidate = append(r.changedCandidate, lineAt{now[i].file, b.line})
	}
	return true
}

// isPath reports whether a string is the name of a file: moved tests read it from elsewhere.
func isPath(s string) bool {
	return strings.Contains(s, "/") && !strings.ContainsAny(s, " \n\t<>\"'{}") && len(s) < maxDetailLine
}

// gone adds a change for a test of the base that has become no other.
func (c *comparison) gone(u *unit) {
	if u.unsure || c.regrouped(u) {
		return
	}
	said := title(u, "") + " is gone"
	for _, f := range c.candidate.files {
		for _, o := range f.units {
			if o.name == u.name && f.path == u.file.path && !o.test {
				said = "a function is no test any more"
			} else if o.name == u.name && o.test && !reachable(u, o) {
				said = fmt.Sprintf("a test is in %s, where the runner does not look for it", f.path)
			}
		}
	}
	c.changes = append(c.changes, Change{Kind: pawl.FindRemovedTest, Path: u.file.path, Test: u.name, Text: said, Detail: diff(unitLines(u), nil), Kept: c.kept(u)})
}

// kept reports whether one test that is new or changed has all the values of a test in it: most likely
// that is a case of it.
func (c *comparison) kept(u *unit) bool {
	values := slices.DeleteFunc(slices.Clone(c.base.distinct(u)), func(l string) bool {
		k := kind(l[0] - '0')
		return k != text && k != number
	})
	if len(values) == 0 || len(values) == 1 && len(values[0]) < minValue {
		return false
	}
	holds := func(o *unit) bool { return share(values, c.candidate.distinct(o)) == 1 }
	return slices.ContainsFunc(c.added, holds) || slices.ContainsFunc(c.pairs, func(p pair) bool { return holds(p.candidate) })
}

// minValue is how long the only value of a test must be to know it again, in bytes with its kind in front.
const minValue = 3

// regrouped reports whether everything that a test checked is checked by tests that are new or
// changed.
func (c *comparison) regrouped(u *unit) bool {
	facts := slices.DeleteFunc(c.base.facts(u), func(f fact) bool { return len(f.literals) == 0 })
	literals := c.base.distinct(u)
	if len(facts) == 0 || len(literals) == 0 || slices.ContainsFunc(facts, func(f fact) bool { return !c.covered(f, nil) }) {
		return false
	}
	known := map[string]bool{}
	for _, o := range c.added {
		for _, l := range c.candidate.distinct(o) {
			known[l] = true
		}
	}
	for _, p := range c.pairs {
		for _, l := range c.candidate.distinct(p.candidate) {
			known[l] = true
		}
	}
	return !slices.ContainsFunc(literals, func(l string) bool { return !known[l] })
}

// helpers adds the changes of functions that make assertions for tests.
func (c *comparison) helpers() {
	for _, f := range c.base.files {
		for _, u := range f.units {
			strong, weak := c.base.weigh(u, 0)
			if u.test || !u.helper || strong == 0 {
				continue
			}
			now := c.candidate.namesake(u)
			if now == nil {
				continue
			}
			p := pair{u, now}
			if sameChecks(u, now) && equalTokens(c.base.signature(u), c.candidate.signature(now)) {
				continue
			}
			nowStrong, nowWeak := c.candidate.weigh(now, 0)
			if nowStrong == 0 && nowWeak <= weak {
				c.add(pawl.FindEmptiedTest, p, "", title(u, "")+" has no assertion left that can fail", diff(checkLines(u), nil))
				continue
			}
			r := c.losses(p)
			if r.lostWeight > 0 && nowStrong < strong || len(r.changedBase)+len(r.changedCandidate) > 0 {
				c.add(pawl.FindExpectation, p, "", title(u, "")+" checks less or something else", diff(append(r.changedBase, r.lostLines...), r.changedCandidate))
			}
		}
	}
}

// namesake returns the helper that another one has become.
func (s *side) namesake(u *unit) *unit {
	var found *unit
	for _, h := range s.helpers[u.name] {
		if h.file.lang.name != u.file.lang.name {
			continue
		}
		if h.file.path == u.file.path && h.suite == u.suite {
			return h
		}
		if found != nil {
			return nil // several, elsewhere
		}
		found = h
	}
	return found
}

// checkLines returns the lines on which the assertions of a unit begin.
func checkLines(u *unit) []lineAt {
	var all []lineAt
	for _, c := range u.checks {
		if !c.dead && c.weight > 0 {
			all = append(all, u.file.lineRange(c.span)...)
		}
	}
	return all
}

// lines returns the lines of a fact.
func lines(f fact) []lineAt { return f.file.lineRange(f.span) }

func (f *file) lineRange(s span) []lineAt {
	from, to := f.at(s.from).line, f.at(max(s.from, s.to-1)).line
	var all []lineAt
	for l := from; l <= to && len(all) < maxDetail; l++ {
		all = append(all, lineAt{f, l})
	}
	return all
}

// unitLines returns the lines of a unit.
func unitLines(u *unit) []lineAt {
	var all []lineAt
	for l := u.line; l <= u.end; l++ {
		all = append(all, lineAt{u.file, l})
	}
	return all
}

// diff returns lines of the base and of the candidate.
func diff(base, candidate []lineAt) string {
	var b strings.Builder
	side := func(sign string, lines []lineAt) {
		slices.SortFunc(lines, func(x, y lineAt) int { return cmp.Or(cmp.Compare(x.file.path, y.file.path), x.n-y.n) })
		lines = slices.Compact(lines)
		for i, l := range lines {
			if i == maxDetail {
				fmt.Fprintf(&b, "%s … %d more\n", sign, len(lines)-i)
				return
			}
			fmt.Fprintf(&b, "%s %s\n", sign, shorten(l.file.lineText(l.n)))
		}
	}
	side("-", base)
	side("+", candidate)
	return b.String()
}

// lineText returns a line of a file without its indentation.
func (f *file) lineText(n int) string {
	if f.lines == nil {
		f.lines = strings.Split(f.src, "\n")
	}
	if n < 1 || n > len(f.lines) {
		return ""
	}
	return strings.TrimSpace(f.lines[n-1])
}

func shorten(s string) string {
	s = s[:min(len(s), 8*maxDetailLine)] // a file may be one line
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxDetailLine {
		return strings.ToValidUTF8(s[:maxDetailLine], "") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
