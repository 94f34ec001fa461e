package source

import (
	"path"
	"slices"
	"strings"
)

// span is a range of tokens of a file, the end not included.
type span struct{ from, to int }

func (s span) has(i int) bool { return s.from <= i && i < s.to }

// file is a source that was read.
type file struct {
	path  string
	lang  *language
	src   string
	toks  []lexeme
	units []*unit
	// tables are lists at the top of the file, by name.
	tables map[string]span
	marks  []mark
	// composites are the brackets of lists and records, where the language's finder knows them.
	composites map[int]bool
	examples   []*file // tests in documentation, each a file of its own
	lines      []string
}

// mark is something that skips a test, or makes its failure not count.
type mark struct {
	text string // as the source has it
	row  string // the case that it is about; empty when it is about the whole test
}

// unit is a function or a test.
type unit struct {
	file        *file
	name, suite string
	test        bool
	helper      bool // a function that is there for tests
	method      bool // in a language in which methods are always called on something
	line, end   int
	// heads are what stands before the body: decorators, attributes, the loop around it.
	heads  []span
	body   span
	marks  []mark
	only   bool // where a runner sees it, it runs no others
	checks []check
	// dead are parts whose assertions are never reached or whose failures nobody sees.
	dead     []span
	inverted bool // it passes when it fails
	unsure   bool // nothing says that a runner runs it: an example in documentation of Python
	blanks   int  // how many results it throws away
	// assignments are where the body assigns names, made when the first is asked for.
	assignments map[string][]int
}

// check is one thing that a test compares.
type check struct {
	span span
	line int
	op   op
	// sides are the literals on both sides of a comparison; all stand on the first one if there
	// are no sides.
	sides [2][]literal
	// callee is the function that is called, if it may be a helper of the tests.
	callee string
	// dotted is whether it is called on something.
	dotted bool
	// group is the token at which the statement begins whose condition it is a part of.
	group  int
	weight int  // how many assertions it stands for
	weak   bool // it only says that there is no error
	dead   bool // it cannot fail
	helped bool // the function that is called is known
	// said is what documentation says is printed.
	said string
}

// unknown reports whether nothing is known of how a check compares.
func (c *check) unknown() bool {
	return c.callee != "" && !c.helped && opOf(c.callee) == opOther
}

// literal is a literal with the innermost list that it stands in, or -1.
type literal struct {
	text string
	list int
}

// op is how a check compares.
type op string

const (
	opEqual       op = "equal"
	opSnapshot    op = "snapshot"
	opApprox      op = "approximately equal"
	opThrows      op = "throws"
	opNull        op = "nil"
	opOrder       op = "ordered"
	opContains    op = "contains"
	opNotEqual    op = "not equal"
	opNotContains op = "does not contain"
	opTruth       op = "true"
	opFail        op = "fails"
	opNoError     op = "no error"
	opOther       op = "other"
)

// rank returns how much a check with the op says about a value.
func (o op) rank() int {
	switch o {
	case opEqual, opSnapshot:
		return 5
	case opApprox, opThrows, opNull:
		return 4
	case opOrder, opContains, opOther, opFail:
		return 3
	case opNotEqual, opNotContains:
		return 2
	case opTruth:
		return 1
	}
	return 0
}

// side is all that was read of the base or of the candidate.
type side struct {
	files   []*file
	tests   []*unit
	helpers map[string][]*unit
	tables  map[string][]tableAt
	weights map[*unit][2]int
	// gramsOf and distinctOf keep what was computed for tests.
	gramsOf, distinctOf map[*unit][]string
}

type tableAt struct {
	file *file
	span span
}

// readSide reads files and counts the assertions of their tests.
func readSide(files []File) *side {
	s := &side{helpers: map[string][]*unit{}, tables: map[string][]tableAt{}, weights: map[*unit][2]int{},
		gramsOf: map[*unit][]string{}, distinctOf: map[*unit][]string{}}
	for _, f := range files {
		l := languageOf(f.Path)
		if l == nil || len(f.Data) > maxBytes {
			continue
		}
		s.files = append(s.files, readFile(f.Path, string(f.Data), l))
	}
	for _, f := range s.files {
		for name, at := range f.tables {
			s.tables[name] = append(s.tables[name], tableAt{f, at})
		}
		for _, u := range f.units {
			switch {
			case u.test:
				s.tests = append(s.tests, u)
			case u.name != "" && (u.helper || looksLikeCheck(u.name)):
				s.helpers[u.name] = append(s.helpers[u.name], u)
			}
		}
		for _, e := range f.examples {
			s.tests = append(s.tests, e.units...)
		}
	}
	for _, u := range s.tests {
		s.weigh(u, 0)
	}
	return s
}

// readFile finds the units of a file with their checks.
func readFile(name, src string, l *language) *file {
	f := &file{path: name, lang: l, src: src, toks: lex(src, l), tables: map[string]span{}}
	l.find(f)
	if len(f.units) > maxUnits {
		f.units = f.units[:maxUnits]
	}
	only := slices.ContainsFunc(f.units, func(u *unit) bool { return u.only })
	for _, u := range f.units {
		u.file = f
		u.marks = append(u.marks, f.marks...)
		if only && u.test && !u.only {
			u.marks = append(u.marks, mark{text: "only other tests run"})
		}
		for i := range u.checks {
			c := &u.checks[i]
			c.dead = c.dead || slices.ContainsFunc(u.dead, func(d span) bool { return d.has(c.span.from) })
		}
	}
	return f
}

// weigh returns how many assertions a unit has, with those of the helpers that it calls, and how
// many of these only say that there is no error. It gives calls of helpers their weights.
func (s *side) weigh(u *unit, depth int) (strong, weak int) {
	if w, ok := s.weights[u]; ok {
		return w[0], w[1]
	}
	s.weights[u] = [2]int{} // for helpers that call themselves
	for i := range u.checks {
		c := &u.checks[i]
		if h := s.helper(c, u.file); c.callee != "" && h != nil && h != u && depth < maxCalls {
			a, b := s.weigh(h, depth+1)
			c.weight, c.weak, c.helped = a, a == 0 && b > 0, true
			if c.weak {
				c.weight = b
			}
		} else if c.callee != "" && !looksLikeCheck(c.callee) {
			c.weight = 0
		}
		switch {
		case c.dead:
		case c.weak:
			weak += c.weight
		default:
			strong += c.weight
		}
	}
	s.weights[u] = [2]int{strong, weak}
	return strong, weak
}

// helper returns the function that a check calls: one of the same file, of the same folder, or any.
func (s *side) helper(c *check, f *file) *unit {
	if c.callee == "" {
		return nil
	}
	var best *unit
	rank := 0
	for _, u := range s.helpers[c.callee] {
		r := 1
		switch {
		case u.method && !c.dotted:
			continue
		case u.file.lang.name != f.lang.name:
			continue
		case u.file == f:
			r = 3
		case path.Dir(u.file.path) == path.Dir(f.path):
			r = 2
		}
		if r > rank {
			best, rank = u, r
		}
	}
	return best
}

// spans returns the parts of files that make up a unit: what stands before it, its body, and the
// tables it names.
func (s *side) spans(u *unit) []tableAt {
	var all []tableAt
	for _, h := range u.heads {
		all = append(all, tableAt{u.file, h})
	}
	all = append(all, tableAt{u.file, u.body})
	seen := map[string]bool{}
	for _, part := range all {
		for i := part.span.from; i < part.span.to; i++ {
			t := &u.file.toks[i]
			if t.kind != word || seen[t.text] {
				continue
			}
			seen[t.text] = true
			if at, ok := s.table(t.text, u.file); ok && !at.span.has(u.body.from) {
				all = append(all, at)
			}
		}
	}
	return all
}

// table returns the list at the top of a file that a name means in a file.
func (s *side) table(name string, f *file) (tableAt, bool) {
	if at, ok := f.tables[name]; ok {
		return tableAt{f, at}, true
	}
	if len(name) < 4 || len(s.tables[name]) != 1 || s.tables[name][0].file.lang.name != f.lang.name {
		return tableAt{}, false
	}
	return s.tables[name][0], true
}

// public returns what callers see of a test.
func (s *side) public(u *unit) Test {
	strong, weak := s.weigh(u, 0)
	t := Test{Path: u.file.path, Name: u.name, Suite: u.suite, Line: u.line, End: u.end, Skipped: len(u.marks) > 0, Assertions: strong + weak}
	for _, p := range s.spans(u) {
		for i := p.span.from; i < p.span.to; i++ {
			if p.file.toks[i].literal() {
				t.Literals = append(t.Literals, p.file.toks[i].text)
			}
		}
	}
	return t
}

// looksLikeCheck reports whether a function of this name probably compares something.
func looksLikeCheck(name string) bool {
	lower := strings.ToLower(name)
	for _, prefix := range []string{"assert", "refute", "require", "expect", "must", "check", "want", "verify", "should"} {
		if rest, ok := strings.CutPrefix(lower, prefix); ok {
			n := len(prefix)
			return rest == "" || name[n] == '_' || name[n] >= 'A' && name[n] <= 'Z' || prefix == "assert" || prefix == "refute"
		}
	}
	return false
}

// code returns the source of a span in one line.
func (f *file) code(s span) string {
	if s.from >= s.to || s.to > len(f.toks) {
		return ""
	}
	return strings.Join(strings.Fields(f.src[f.toks[s.from].pos:f.toks[s.to-1].end]), " ")
}
