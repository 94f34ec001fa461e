package secret

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// shortest is the least length of a value worth looking for. A shorter one would be found in
// innocent text, and protects nothing.
const shortest = 8

// Redactor puts [redacted:NAME] in place of secrets: of values that it knows, named by their
// variables, and of what rules find, named by the rule. The same secret gets the same mark everywhere, and
// redacting a text again changes nothing. A nil Redactor knows no value. It may be used by many
// goroutines.
type Redactor struct {
	known []value
}

type value struct {
	text []byte
	name string
}

// NewRedactor returns a Redactor that knows the values that lookup gives for these names of environment
// variables, each as it is and as it looks inside a JSON document. Values
// shorter than eight bytes are left out.
func NewRedactor(lookup func(name string) string, names ...string) *Redactor {
	r := &Redactor{}
	for _, name := range names {
		text := strings.TrimSpace(lookup(name))
		if len(text) < shortest {
			continue
		}
		for _, form := range forms(text) {
			r.know(value{form, name})
		}
	}
	return r
}

// And returns a Redactor that knows what both know.
func (r *Redactor) And(other *Redactor) *Redactor {
	both := &Redactor{}
	for _, from := range []*Redactor{r, other} {
		if from == nil {
			continue
		}
		for _, v := range from.known {
			both.know(v)
		}
	}
	return both
}

func (r *Redactor) know(v value) {
	if !slices.ContainsFunc(r.known, func(w value) bool { return bytes.Equal(w.text, v.text) }) {
		r.known = append(r.known, v)
	}
}

// forms are the ways a value is written: as it is, and in JSON with and without
// the escapes for HTML.
func forms(text string) [][]byte {
	out := [][]byte{[]byte(text)}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(text) != nil {
			continue // a string always encodes
		}
		quoted := bytes.TrimSpace(b.Bytes())
		out = append(out, quoted[1:len(quoted)-1])
	}
	return out
}

// maxRounds bounds how often a text is looked at again: what is left between two secrets that were
// taken out may match a rule that they kept from matching.
const maxRounds = 4

// Bytes returns the document without the secrets; the document itself when it
// holds none. It does not change what it is given. JSON stays JSON unless a known value is a part of its syntax.
func (r *Redactor) Bytes(doc []byte) []byte { return r.clean("", doc, false) }

// clean returns the document without the secrets that a file of this path has, where lines says so with as many lines as
// before.
func (r *Redactor) clean(path string, doc []byte, lines bool) []byte {
	for range maxRounds {
		found := r.stretches(path, doc)
		if len(found) == 0 {
			return doc
		}
		out := make([]byte, 0, len(doc))
		at := 0
		for _, s := range found {
			for _, p := range s.pieces(doc, lines) {
				out = append(out, doc[at:p[0]]...)
				for _, name := range s.names {
					out = append(out, markBegin+name+markEnd...)
				}
				at = p[1]
			}
		}
		doc = append(out, doc[at:]...)
	}
	return doc
}

// Text is [Redactor.Bytes] for a string.
func (r *Redactor) Text(s string) string { return string(r.Bytes([]byte(s))) }

// pieces returns the parts of a stretch that a mark replaces, each: its lines, for a text that keeps its lines can be
// shown in parts, and its strings, for a key may be written as several of them, in JSON or in a program. A known value
// is one piece, unless lines have to stay.
func (s stretch) pieces(doc []byte, lines bool) [][2]int {
	if !s.found && !lines {
		return [][2]int{{s.from, s.to}}
	}
	var out [][2]int
	from := s.from
	add := func(to int) {
		if len(bytes.Trim(doc[from:to], " \t\r\n:,+.{}[]()\\")) > 0 {
			out = append(out, [2]int{from, to - len(doc[from:to]) + len(bytes.TrimRight(doc[from:to], "\r"))})
		}
	}
	for i := s.from; i < s.to; i++ {
		if doc[i] == '\n' || s.found && doc[i] == '"' && !isEscaped(doc, i) {
			add(i)
			from = i + 1
		}
	}
	add(s.to)
	return out
}

func isEscaped(doc []byte, at int) bool {
	n := 0
	for at-n > 0 && doc[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// stretches returns where secrets are, in order; no two of them touch the same byte, and none that a rule found
// holds a mark.
func (r *Redactor) stretches(path string, doc []byte) []stretch {
	all := r.values(doc)
	text := unescape(doc)
	for _, s := range match(path, text) {
		for _, part := range s.withoutMarks(doc) {
			if part.trim(text); part.from < part.to && !isNumber(doc[part.from:part.to]) {
				all = append(all, part)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b stretch) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out []stretch
	for _, s := range all {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].join(s)
			continue
		}
		out = append(out, s)
	}
	return out
}

// values returns where known values are.
func (r *Redactor) values(doc []byte) []stretch {
	if r == nil {
		return nil
	}
	var all []stretch
	for _, v := range r.known {
		for at := 0; ; {
			i := bytes.Index(doc[at:], v.text)
			if i < 0 {
				break
			}
			all = append(all, stretch{at + i, at + i + len(v.text), []string{v.name}, true, false})
			at += i + 1
		}
	}
	return all
}

// join makes one stretch of two that overlap. Known values give their names, all that have a part in it; else the rule
// that knows best.
func (s *stretch) join(other stretch) {
	longer := other.to > s.to
	s.found = s.found || other.found
	s.to = max(s.to, other.to)
	switch {
	case s.known && other.known:
		if longer && !slices.Contains(s.names, other.names[0]) {
			s.names = append(s.names, other.names[0])
		}
	case other.known, !s.known && (s.names[0] == genericRule || isOwn()[s.names[0]] && other.names[0] != genericRule):
		s.names, s.known = other.names, other.known
	}
}

// leastBeside is how long what stands beside a mark must be to be a secret, such as another line of a key: what
// was one has a mark already.
const leastBeside = 16

// withoutMarks returns the parts of a stretch that are beside marks: the stretch itself if it has none.
func (s stretch) withoutMarks(doc []byte) []stretch {
	if !bytes.Contains(doc[s.from:s.to], []byte(markBegin)) {
		return []stretch{s}
	}
	marks := mark().FindAllIndex(doc[s.from:s.to], -1)
	if marks == nil {
		return []stretch{s}
	}
	var out []stretch
	at := s.from
	add := func(to int) {
		if to-at >= leastBeside {
			out = append(out, stretch{from: at, to: to, names: s.names, found: true})
		}
	}
	for _, m := range marks {
		add(s.from + m[0])
		at = s.from + m[1]
	}
	add(s.to)
	return out
}

// trim takes quotes, blanks and escapes from the ends of what a rule found in a text without escapes: they are none of
// the secret's, and half an escape would be left.
func (s *stretch) trim(text []byte) {
	const around = " \t\r\n\"'`\\"
	for s.from < s.to && strings.IndexByte(around, text[s.from]) >= 0 {
		s.from++
	}
	for s.from < s.to && strings.IndexByte(around, text[s.to-1]) >= 0 {
		s.to--
	}
}

// isNumber reports whether a value is a number, which is no secret, and in JSON cannot be replaced.
func isNumber(value []byte) bool { return len(bytes.Trim(value, "0123456789.+-eE")) == 0 }

// How a mark begins and ends.
const (
	markBegin = "[redacted:"
	markEnd   = "]"
)

var mark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[redacted:[\w.-]+\]`) })

// Marks returns how many marks of a Redactor a text holds.
func Marks[T string | []byte](text T) int { return len(mark().FindAllIndex([]byte(text), -1)) }

// FirstMark returns the first mark of a Redactor in a text; empty if there is none.
func FirstMark(text []byte) string { return string(mark().Find(text)) }
