package source

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	word     kind = iota // a name or keyword
	number               // a number, without its separators
	text                 // a string, without its quotes
	pattern              // a regular expression
	constant             // true, nil and the like
	punct                // an operator, a bracket or anything else
)

// lexeme is a piece of source.
type lexeme struct {
	kind kind
	// text is the token as it reads, except that literals have one form whatever their
	// quotes, separators and escapes are.
	text      string
	pos, end  int // offsets in the source
	line, col int // of its first byte; lines count from 1, columns from 0
	// first is whether the token is the first on its line and no list of arguments is open.
	first bool
	// mate is the index of the bracket that belongs to this one, or -1.
	mate int
	// mute is whether the token is a literal that no test depends on, such as a message.
	mute bool
}

func (t *lexeme) is(s string) bool { return t.text == s && (t.kind == punct || t.kind == word) }

// literal reports whether the token is a literal that a test may depend on.
func (t *lexeme) literal() bool { return t.kind != word && t.kind != punct && !t.mute }

// lexer splits a source into tokens. It takes whatever comes: what is not closed ends with its
// line or with the file.
type lexer struct {
	lang      *language
	src       string
	at        int
	line      int
	lineStart int
	fresh     bool // no token on the line yet
	joined    bool // the line continues the one before
	open      []int
	toks      []lexeme
	unclosed  map[byte]int // quotes that are known not to be closed on a line
	heredocs  []string     // words that end the texts which begin on the next line
}

// lex returns the tokens of a source, at most maxTokens.
func lex(src string, l *language) []lexeme {
	x := &lexer{lang: l, src: src, line: 1, fresh: true, unclosed: map[byte]int{}}
	for x.at < len(src) && len(x.toks) < maxTokens {
		x.next()
	}
	return x.toks
}

// operators are those of more than one byte that are kept together.
var operators = []string{"===", "!==", "...", "<=>", "**=", "<<~", "==", "!=", "<=", ">=", "=>", "->", "&&", "||", "::", ":=", "?.", "??", "=~", "!~", "+=", "-=", "..", "**", "<-"}

func (x *lexer) next() {
	c := x.src[x.at]
	rest := x.src[x.at:]
	switch {
	case c == '\n':
		x.newline()
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		x.at++
	case c == '\\' && (strings.HasPrefix(rest, "\\\n") || strings.HasPrefix(rest, "\\\r\n")):
		x.at += strings.IndexByte(rest, '\n')
		x.newline()
		x.joined = true
	case x.comment(rest), x.literal(rest):
	case c >= '0' && c <= '9':
		x.number(rest)
	case x.wordByte(rest):
		x.word(rest)
	default:
		x.operator(rest)
	}
}

func (x *lexer) newline() {
	x.at++
	x.line++
	x.lineStart = x.at
	x.fresh, x.joined = true, false
	for len(x.heredocs) > 0 && x.at < len(x.src) {
		x.heredoc(x.heredocs[0])
		x.heredocs = x.heredocs[1:]
	}
}

// heredoc reads the lines of a text up to the one that has only its end in it.
func (x *lexer) heredoc(end string) {
	from := x.at
	for x.at < len(x.src) {
		line, _, more := strings.Cut(x.src[x.at:], "\n")
		body := x.at
		x.at += len(line)
		if more {
			x.at++
			x.line++
		}
		x.lineStart = x.at
		if strings.TrimRight(strings.TrimSpace(line), ";,)") == end {
			x.add(text, x.src[from:body], from, x.at)
			x.fresh = true
			return
		}
	}
}

// comment skips a comment that begins here.
func (x *lexer) comment(rest string) bool {
	for _, s := range x.lang.comments {
		// In a shell, # begins a comment only where a word could begin.
		if strings.HasPrefix(rest, s) && (!x.lang.shell || x.at == 0 || strings.IndexByte(" \t\n;(", x.src[x.at-1]) >= 0) {
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				x.at += n
			} else {
				x.at = len(x.src)
			}
			return true
		}
	}
	from, to := x.lang.block[0], x.lang.block[1]
	if from == "" || !strings.HasPrefix(rest, from) || (from == "=begin" && x.at != x.lineStart) {
		return false
	}
	depth, at := 1, x.at+len(from)
	for at < len(x.src) && depth > 0 {
		switch {
		case strings.HasPrefix(x.src[at:], to):
			depth--
			at += len(to)
		case x.lang.nested && strings.HasPrefix(x.src[at:], from):
			depth++
			at += len(from)
		default:
			at++
		}
	}
	x.skip(at)
	return true
}

// skip moves to a later place and counts the lines in between.
func (x *lexer) skip(to int) {
	for i := x.at; i < to; i++ {
		if x.src[i] == '\n' {
			x.line++
			x.lineStart = i + 1
		}
	}
	x.at = to
}

// literal reads a string or a regular expression that begins here.
func (x *lexer) literal(rest string) bool {
	prefix := 0
	for prefix < len(rest) && prefix < 3 && strings.IndexByte(x.lang.prefixes, rest[prefix]) >= 0 {
		prefix++
	}
	if prefix > 0 && prefix < len(rest) && (rest[prefix] == '"' || rest[prefix] == '\'' || rest[prefix] == '#') && !x.insideWord() {
		if x.quoted(rest, prefix) {
			return true
		}
	}
	return x.quoted(rest, 0) || x.regexp(rest) || x.heredocStart(rest)
}

func (x *lexer) insideWord() bool {
	return x.at > 0 && len(x.toks) > 0 && x.toks[len(x.toks)-1].end == x.at && x.toks[len(x.toks)-1].kind == word
}

// quoted reads a string whose quote stands after a prefix of n bytes.
func (x *lexer) quoted(rest string, n int) bool {
	prefix, body := rest[:n], rest[n:]
	raw := strings.ContainsAny(prefix, "rR@")
	if x.lang.rawHashes && raw {
		hashes := 0
		for hashes < len(body) && body[hashes] == '#' {
			hashes++
		}
		if hashes < len(body) && body[hashes] == '"' {
			return x.until(n+hashes+1, "\""+body[:hashes], true)
		}
		return false
	}
	if body == "" {
		return false
	}
	for _, q := range x.lang.triple {
		if strings.HasPrefix(body, q) {
			return x.until(n+len(q), q, raw)
		}
	}
	c := body[0]
	switch {
	case c == '`' && x.lang.template:
		return x.template(n)
	case c == '`' && x.lang.backtick:
		return x.until(n+1, "`", true)
	case c == '\'' && x.lang.lifetimes:
		return x.char(body, n)
	case (c == '"' || c == '\'') && x.lang.multiline:
		return x.until(n+1, body[:1], raw || (c == '\'' && x.lang.shell))
	case c == '"' || c == '\'':
		return x.oneLine(c, n, raw)
	}
	return false
}

// until reads a string up to its end, which may stand lines below.
func (x *lexer) until(skip int, end string, raw bool) bool {
	from, body := x.at, x.at+skip
	for at := body; ; at++ {
		switch {
		case at >= len(x.src):
			x.stringToken(x.src[body:], from, len(x.src), raw)
			return true
		case x.src[at] == '\\' && !raw:
			at++
		case strings.HasPrefix(x.src[at:], end):
			x.stringToken(x.src[body:at], from, at+len(end), raw)
			return true
		}
	}
}

// oneLine reads a string that must end on its line. Otherwise the quote is just a quote.
func (x *lexer) oneLine(quote byte, n int, raw bool) bool {
	if x.unclosed[quote] == x.line {
		return false
	}
	from, body := x.at, x.at+n+1
	for at := body; at < len(x.src) && x.src[at] != '\n'; at++ {
		switch x.src[at] {
		case '\\':
			if !raw {
				at++
			}
		case quote:
			x.stringToken(x.src[body:at], from, at+1, raw)
			return true
		}
	}
	x.unclosed[quote] = x.line
	return false
}

// char reads a character of Rust; 'a without a quote behind it is a lifetime.
func (x *lexer) char(body string, n int) bool {
	end := -1
	if strings.HasPrefix(body, `'\`) && len(body) > 3 {
		if end = strings.IndexByte(body[3:min(len(body), 14)], '\''); end >= 0 {
			end += 3
		}
	} else if _, size := utf8.DecodeRuneInString(body[1:]); len(body) > 1+size && body[1+size] == '\'' && body[1] != '\n' {
		end = 1 + size
	}
	if end < 0 {
		return false
	}
	x.stringToken(body[1:end], x.at, x.at+n+end+1, false)
	return true
}

// template reads a template of JavaScript as one string in which ${} stands for what is put in.
func (x *lexer) template(n int) bool {
	var b strings.Builder
	end := templateEnd(x.src, x.at+n+1, 0, &b)
	x.stringToken(b.String(), x.at, end, false)
	return true
}

// templateEnd returns where a template ends that begins at a place, and writes its text.
func templateEnd(src string, at, depth int, b *strings.Builder) int {
	for at < len(src) {
		switch {
		case src[at] == '\\' && at+1 < len(src):
			b.WriteString(src[at : at+2])
			at += 2
		case src[at] == '`':
			return at + 1
		case strings.HasPrefix(src[at:], "${"):
			b.WriteString("${}")
			at = holeEnd(src, at+2, depth)
		default:
			b.WriteByte(src[at])
			at++
		}
	}
	return len(src)
}

// holeEnd returns where an expression in a template ends.
func holeEnd(src string, at, depth int) int {
	open := 1
	for at < len(src) {
		switch c := src[at]; c {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return at + 1
			}
		case '\'', '"':
			for at++; at < len(src) && src[at] != c && src[at] != '\n'; at++ {
				if src[at] == '\\' {
					at++
				}
			}
		case '`':
			if depth < maxTemplates {
				at = templateEnd(src, at+1, depth+1, new(strings.Builder)) - 1
			}
		}
		at++
	}
	return len(src)
}

// regexp reads a regular expression that stands where a value may stand.
func (x *lexer) regexp(rest string) bool {
	if !x.lang.regexps || rest[0] != '/' || x.unclosed['/'] == x.line || !x.valueMayFollow() {
		return false
	}
	class := false
	for at := 1; at < len(rest) && rest[at] != '\n'; at++ {
		switch c := rest[at]; {
		case c == '\\':
			at++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			end := at + 1
			for end < len(rest) && rest[end] >= 'a' && rest[end] <= 'z' {
				end++
			}
			x.add(pattern, rest[:end], x.at, x.at+end)
			x.at += end
			return true
		}
	}
	x.unclosed['/'] = x.line
	return false
}

// valueMayFollow reports whether a value may stand after the last token, where a slash would
// otherwise divide.
func (x *lexer) valueMayFollow() bool {
	if len(x.toks) == 0 {
		return true
	}
	switch t := &x.toks[len(x.toks)-1]; t.kind {
	case punct:
		return t.text != ")" && t.text != "]" && t.text != "}"
	case word:
		return slices.Contains([]string{"return", "typeof", "case", "in", "of", "await", "if", "unless", "and", "or", "not", "when", "match", "to", "assert_match"}, t.text)
	default:
		return false
	}
}

// heredocStart notes a text that begins on the next line.
func (x *lexer) heredocStart(rest string) bool {
	if !x.lang.heredocs || !strings.HasPrefix(rest, "<<") {
		return false
	}
	name := strings.TrimLeft(strings.TrimPrefix(rest[2:min(len(rest), 80)], "<"), "~-")
	name = strings.TrimLeft(name, " '\"")
	n := 0
	for n < len(name) && (name[n] == '_' || name[n] >= 'A' && name[n] <= 'Z') {
		n++
	}
	if n < 2 {
		return false
	}
	x.heredocs = append(x.heredocs, name[:n])
	size := strings.Index(rest, name[:n]) + n
	for size < len(rest) && (rest[size] == '\'' || rest[size] == '"') {
		size++
	}
	x.at += size
	return true
}

func (x *lexer) number(rest string) {
	n := 1
	for n < len(rest) {
		c := rest[n]
		exponent := (c == '+' || c == '-') && (rest[n-1] == 'e' || rest[n-1] == 'E') && !strings.HasPrefix(rest, "0x")
		fraction := c == '.' && n+1 < len(rest) && rest[n+1] >= '0' && rest[n+1] <= '9'
		if !exponent && !fraction && c != '_' && !alphanumeric(c) {
			break
		}
		n++
	}
	x.add(number, strings.ReplaceAll(rest[:n], "_", ""), x.at, x.at+n)
	x.at += n
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// wordByte reports whether a word begins here.
func (x *lexer) wordByte(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return r == '_' || r == '$' || unicode.IsLetter(r)
}

func (x *lexer) word(rest string) {
	n := 0
	for n < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[n:])
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && (!x.lang.shell || r != '-' && r != '.' && r != '/') {
			break
		}
		n += size
	}
	if x.lang.marks && n < len(rest) && (rest[n] == '?' || rest[n] == '!') && (n+1 == len(rest) || rest[n+1] != '=') {
		n++
	}
	k := word
	if isConstant(rest[:n]) {
		k = constant
	}
	x.add(k, rest[:n], x.at, x.at+n)
	x.at += n
}

func isConstant(s string) bool {
	switch s {
	case "true", "false", "True", "False", "None", "nil", "null", "undefined", "NaN", "TRUE", "FALSE", "NULL":
		return true
	}
	return false
}

func (x *lexer) operator(rest string) {
	n := 1
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			n = len(op)
			break
		}
	}
	if n == 1 {
		_, n = utf8.DecodeRuneInString(rest)
	}
	x.add(punct, rest[:n], x.at, x.at+n)
	x.at += n
}

// stringToken adds a string and moves behind it.
func (x *lexer) stringToken(body string, from, to int, raw bool) {
	x.add(text, unescape(body, raw), from, to)
	x.skip(min(to, len(x.src)))
}

// unescape gives strings that say the same the same form: escapes of quotes and line ends are
// resolved, others kept.
func unescape(s string, raw bool) string {
	if raw || !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\\`, `\\`, `\n`, "\n", `\t`, "\t", `\'`, `'`, `\"`, `"`, "\\`", "`").Replace(s)
}

func (x *lexer) add(k kind, s string, from, to int) {
	t := lexeme{kind: k, text: s, pos: from, end: to, line: x.line, col: from - x.lineStart, mate: -1}
	t.first = x.fresh && !x.joined && x.atStatement()
	x.fresh = false
	if k == punct {
		x.bracket(&t)
	}
	x.toks = append(x.toks, t)
}

// atStatement reports whether a line that begins here begins a statement.
func (x *lexer) atStatement() bool {
	return len(x.open) == 0 || x.lang.braces && x.toks[x.open[len(x.open)-1]].text == "{"
}

// bracket joins a closing bracket with the one it closes. Brackets that nothing opened are
// ignored; those that are open when an outer one is closed stay without a mate.
func (x *lexer) bracket(t *lexeme) {
	switch t.text {
	case "(", "[", "{":
		if len(x.open) < maxDepth {
			x.open = append(x.open, len(x.toks))
		}
	case ")", "]", "}":
		opener := map[string]string{")": "(", "]": "[", "}": "{"}[t.text]
		for i := len(x.open) - 1; i >= max(0, len(x.open)-maxUnclosed); i-- {
			if at := x.open[i]; x.toks[at].text == opener {
				t.mate, x.toks[at].mate = at, len(x.toks)
				x.open = x.open[:i]
				return
			}
		}
	}
}
