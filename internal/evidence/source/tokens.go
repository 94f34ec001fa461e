package source

import "strings"

// at returns a token, or one that is nothing where there is none.
func (f *file) at(i int) *lexeme {
	if i < 0 || i >= len(f.toks) {
		return &lexeme{kind: punct, mate: -1}
	}
	return &f.toks[i]
}

// skip returns the index after a token, and after everything in it if it is an opening bracket.
func (f *file) skip(i int) int {
	if m := f.at(i).mate; m > i {
		return m + 1
	}
	return i + 1
}

// opens reports whether a token is an opening bracket that is closed.
func (f *file) opens(i int, bracket string) bool {
	return f.at(i).kind == punct && f.at(i).text == bracket && f.at(i).mate > i
}

// args returns the parts of a bracket that commas separate.
func (f *file) args(open int) []span {
	if f.at(open).mate <= open {
		return nil
	}
	return f.split(span{open + 1, f.at(open).mate}, ",", ";")
}

// split returns the parts of a span that tokens outside of its brackets separate. Empty parts
// are left out.
func (f *file) split(s span, at ...string) []span {
	var parts []span
	from := s.from
	for i := s.from; i < s.to; i = f.skip(i) {
		for _, a := range at {
			if f.toks[i].is(a) {
				if from < i {
					parts = append(parts, span{from, i})
				}
				from = i + 1
			}
		}
	}
	if from < s.to {
		parts = append(parts, span{from, s.to})
	}
	return parts
}

// find returns the first token outside of the brackets of a span that is one of some, or -1.
func (f *file) find(s span, any ...string) int {
	for i := s.from; i < s.to; i = f.skip(i) {
		for _, a := range any {
			if f.toks[i].is(a) {
				return i
			}
		}
	}
	return -1
}

// contains reports whether a word or operator is somewhere in a span.
func (f *file) contains(s span, any ...string) bool {
	for i := s.from; i < s.to && i < len(f.toks); i++ {
		for _, a := range any {
			if f.toks[i].is(a) {
				return true
			}
		}
	}
	return false
}

// statementEnd returns where the statement ends that a token is in: before the next one, a
// semicolon, or the bracket around it. A line that begins with a point continues the one before.
func (f *file) statementEnd(i int) int {
	j := f.skip(i)
	for n := 0; j < len(f.toks) && n < maxStatement; j, n = f.skip(j), n+1 {
		t := &f.toks[j]
		if t.is(";") || t.kind == punct && (t.text == ")" || t.text == "]" || t.text == "}") {
			return j
		}
		if t.first && !t.is(".") && !t.is("?.") && !t.is("->") && !t.is("&&") && !t.is("||") {
			return j
		}
	}
	return min(j, len(f.toks))
}

// composite reports whether a token opens a list, a record or a tuple.
func (f *file) composite(i int) bool {
	t := f.at(i)
	if t.kind != punct || t.mate <= i {
		return false
	}
	if f.composites != nil {
		return f.composites[i]
	}
	prev := f.at(i - 1)
	value := prev.kind == punct && prev.text != ")" && prev.text != "]" || i == 0
	switch t.text {
	case "[":
		return value || prev.kind == word && isKeyword(prev.text)
	case "{":
		return f.lang.name == "python" && value || f.lang.name == "js" && value && prev.text != "=>" && prev.text != "{" && prev.text != "}" && prev.text != ";" || prev.is("return")
	case "(":
		return (value || prev.kind == word && isKeyword(prev.text)) && f.find(span{i + 1, t.mate}, ",") >= 0 && f.at(t.mate+1).text != "=>"
	}
	return false
}

func isKeyword(s string) bool {
	switch s {
	case "in", "of", "return", "yield", "and", "or", "not", "is", "to", "else", "if", "case", "when", "await", "mut":
		return true
	}
	return false
}

// isList reports whether a composite is a list whose elements are alike, rather than a record.
func (f *file) isList(i int) bool {
	if f.composites != nil { // Go
		return f.at(i-1).text != "{" && f.at(i-1).text != "," && f.goListType(i)
	}
	return f.at(i).text == "["
}

// literals returns the literals of a span.
func (f *file) literals(s span) []literal {
	var all []literal
	var lists []int
	for i := s.from; i < min(s.to, len(f.toks), s.from+maxSpan) && len(all) < maxFacts; i++ {
		for len(lists) > 0 && f.at(lists[len(lists)-1]).mate < i {
			lists = lists[:len(lists)-1]
		}
		t := &f.toks[i]
		if t.mate > i && f.composite(i) && f.isList(i) {
			lists = append(lists, i)
		}
		if !t.literal() {
			continue
		}
		l := literal{text: string('0'+t.kind) + t.text, list: -1}
		if len(lists) > 0 {
			l.list = lists[len(lists)-1]
		}
		// A sign belongs to its number.
		if t.kind == number && f.at(i-1).is("-") && (f.at(i-2).kind == punct && f.at(i-2).text != ")" && f.at(i-2).text != "]" || i-1 == s.from) {
			l.text = string('0'+t.kind) + "-" + t.text
		}
		all = append(all, l)
	}
	return all
}

// brief returns the source of a span in one line without what is mute.
func (f *file) brief(s span) string {
	var words []string
	for i := s.from; i < min(s.to, len(f.toks), s.from+maxStatement); i++ {
		if t := &f.toks[i]; !t.mute {
			words = append(words, t.text)
		}
	}
	return strings.Join(words, " ")
}

// mute says that no test depends on the literals of a span.
func (f *file) mute(s span) {
	for i := s.from; i < s.to && i < len(f.toks); i++ {
		f.toks[i].mute = f.toks[i].kind != word && f.toks[i].kind != punct
	}
}
