package class

import (
	"errors"
	"slices"
	"strings"

	"pawl"
)

// rustTestAttributes are the last names of attributes that make a function a test.
var rustTestAttributes = []string{
	"test", // also tokio::test, test_log::test
	"bench",
	"rstest",
	"test_case",
	"test_matrix",
	"parameterized",
	"quickcheck",
	"proptest",
	"property_test",
	"wasm_bindgen_test",
	"gtest",
	"googletest",
	"sqlx_test",
}

// rustTestMacros are macros outside of functions that hold tests.
var rustTestMacros = []string{"proptest", "quickcheck", "speculate", "rusty_fork_test"}

// readRust reads a source file by its items: those that only tests have, such as
// #[cfg(test)] mod tests, are the class test, and all else is code. Statements within functions
// are not looked at.
func readRust(data []byte) (*node, error) {
	r := &rustReader{text: string(endLine(trimBOM(data)))}
	root := &node{}
	if strings.HasPrefix(r.text, "#!") && !strings.HasPrefix(strings.TrimLeft(r.text[2:], " \t\n"), "[") {
		r.line()
	}
	r.items(root, 0)
	if r.failed || r.pos < len(r.text) {
		return nil, errors.New("the brackets of the file do not match")
	}
	return root, nil
}

// maxBlocks is how deep in blocks tests are looked for.
const maxBlocks = 20

// rustReader goes through a source file.
type rustReader struct {
	text   string
	pos    int
	start  int // of the text that belongs to no node yet
	failed bool
}

// items reads items up to the bracket that ends the block they are in, or to the end.
func (r *rustReader) items(into *node, depth int) {
	inBlock := depth > 0
	seen := map[string]int{}
	code := func() { // what was passed over is code
		if r.pos > r.start {
			into.parts = append(into.parts, &node{class: pawl.ClassCode, text: r.text[r.start:r.pos]})
		}
		r.start = r.pos
	}
	codeTo := func(end int) {
		at := r.pos
		r.pos = end
		code()
		r.pos = at
	}
	for !r.failed {
		before := r.pos
		r.trivia()
		if r.pos >= len(r.text) || r.text[r.pos] == '}' {
			if inBlock != (r.pos < len(r.text)) {
				r.failed = true
			}
			code()
			return
		}
		isTest, inner := r.attributes()
		if inner && !isTest {
			continue
		}
		if inner { // #![cfg(test)]: all of the block
			into.class, into.parts = pawl.ClassTest, nil
			r.rest(inBlock)
			into.text = r.text[r.start:r.pos]
			r.start = r.pos
			return
		}
		item := r.item()
		if r.failed {
			return
		}
		switch {
		case isTest || item.isTest:
			codeTo(before)
			into.parts = append(into.parts, &node{key: numbered(seen, squeeze(item.head)), class: pawl.ClassTest, text: r.text[r.start:r.pos]})
			r.start = r.pos
		case item.body >= 0 && depth < maxBlocks:
			end := r.pos
			inside := &node{key: numbered(seen, squeeze(item.head))}
			r.pos = item.body
			savedStart := r.start
			r.start = item.body
			r.items(inside, depth+1)
			if r.failed {
				return
			}
			r.start, r.pos = savedStart, end
			if inside.class == "" && !inside.hasAny(isTestClass) {
				inside.parts = nil
			}
			codeTo(before)
			if inside.class == pawl.ClassTest {
				into.parts = append(into.parts, &node{key: inside.key, class: pawl.ClassTest, text: r.text[r.start:end]})
			} else {
				inside.frame = true
				inside.open, inside.close = r.text[r.start:item.body], "}"
				if inside.parts == nil {
					inside.parts = []*node{{class: pawl.ClassCode, text: r.text[item.body : end-1]}}
				}
				into.parts = append(into.parts, inside)
			}
			r.start = r.pos
		}
	}
}

func isTestClass(c pawl.PathClass) bool { return c == pawl.ClassTest }
func isCodeClass(c pawl.PathClass) bool { return c == pawl.ClassCode }

// rest passes over all up to the end of the block.
func (r *rustReader) rest(inBlock bool) {
	for !r.failed && r.pos < len(r.text) && (!inBlock || r.text[r.pos] != '}') {
		r.token()
	}
}

// attributes reads the attributes before an item and reports whether one makes it a test's. An
// attribute of the block itself is inner; it is read alone.
func (r *rustReader) attributes() (isTest, inner bool) {
	for !r.failed && r.pos < len(r.text) && r.text[r.pos] == '#' {
		from := r.pos
		r.pos++
		r.trivia()
		if inner = r.pos < len(r.text) && r.text[r.pos] == '!'; inner {
			r.pos++
			r.trivia()
		}
		if r.pos >= len(r.text) || r.text[r.pos] != '[' {
			r.pos = from + 1
			return isTest, false
		}
		open := r.pos
		r.token()
		only := onlyInTests(r.text[open+1 : max(open+1, r.pos-1)])
		if inner {
			return only, true
		}
		isTest = isTest || only
		r.trivia()
	}
	return isTest, false
}

// onlyInTests reports whether an attribute, without its brackets, says that an item is there only
// in tests or is one.
func onlyInTests(attribute string) bool {
	if len(attribute) > 1000 {
		return false
	}
	attribute = strings.Join(strings.Fields(attribute), "")
	name, arguments, _ := strings.Cut(attribute, "(")
	if name == "cfg" {
		return impliesTest(strings.TrimSuffix(arguments, ")"))
	}
	name, _, _ = strings.Cut(name, "=")
	return slices.Contains(rustTestAttributes, name[strings.LastIndexByte(name, ':')+1:])
}

// impliesTest reports whether a condition without spaces can hold in tests only. Features that
// are named for tests count as tests.
func impliesTest(condition string) bool {
	name, arguments, isCall := strings.Cut(condition, "(")
	if !isCall {
		feature, ok := strings.CutPrefix(condition, "feature=")
		return condition == "test" || condition == "doctest" || ok && (strings.Contains(feature, "test") || strings.Contains(feature, "mock"))
	}
	list := topLevel(strings.TrimSuffix(arguments, ")"))
	switch name {
	case "all":
		return slices.ContainsFunc(list, impliesTest)
	case "any":
		return len(list) > 0 && !slices.ContainsFunc(list, func(c string) bool { return !impliesTest(c) })
	}
	return false
}

// topLevel splits a list at commas outside of parentheses.
func topLevel(list string) []string {
	var all []string
	depth, start := 0, 0
	for i := 0; i <= len(list); i++ {
		switch {
		case i == len(list) || list[i] == ',' && depth == 0:
			if i > start {
				all = append(all, list[start:i])
			}
			start = i + 1
		case list[i] == '(':
			depth++
		case list[i] == ')':
			depth--
		}
	}
	return all
}

// rustItem is an item that has been read.
type rustItem struct {
	head   string // what stands before its block or semicolon
	isTest bool   // a macro that holds tests
	body   int    // where the items in it begin; -1 when it is none that has any
}

// item reads an item without its attributes.
func (r *rustReader) item() rustItem {
	from, toSemicolon, kind := r.pos, false, ""
	it := rustItem{body: -1}
	first := true
	for !r.failed && r.pos < len(r.text) {
		at := r.pos
		switch c := r.text[at]; {
		case c == '}': // a field or statement without a semicolon ends with the block
			it.head = r.text[from:at]
			return it
		case c == ';' || c == ',' && kind == "":
			r.pos++
			it.head = r.text[from:at]
			return it
		case c == '{' && !toSemicolon:
			it.head = r.text[from:at]
			r.token()
			if kind == "mod" || kind == "impl" {
				it.body = at + 1
			}
			return it
		case first:
			word := r.word()
			switch word {
			case "pub", "unsafe", "async", "default", "extern", "const", "auto", "safe":
				toSemicolon = word == "const"
			case "":
				r.token() // (crate) after pub, "C" after extern
			case "fn", "mod", "impl", "struct", "enum", "trait", "union", "macro_rules":
				first, kind, toSemicolon = false, word, false
			case "use", "static", "type", "let":
				first, kind, toSemicolon = false, word, true
			default:
				first, kind = false, "other"
				r.trivia()
				it.isTest = slices.Contains(rustTestMacros, word) && r.pos < len(r.text) && r.text[r.pos] == '!'
			}
		default:
			r.token()
		}
		r.trivia()
	}
	it.head = r.text[from:r.pos]
	return it
}

// squeeze returns a text with single spaces, cut to what tells items apart.
func squeeze(text string) string {
	text = strings.Join(strings.Fields(text[:min(len(text), 400)]), " ")
	return text[:min(len(text), 200)]
}

// word reads an identifier, or nothing.
func (r *rustReader) word() string {
	from := r.pos
	for r.pos < len(r.text) && isWordByte(r.text[r.pos]) {
		r.pos++
	}
	return r.text[from:r.pos]
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func (r *rustReader) line() {
	if i := strings.IndexByte(r.text[r.pos:], '\n'); i >= 0 {
		r.pos += i + 1
		return
	}
	r.pos = len(r.text)
}

// trivia passes over spaces and comments.
func (r *rustReader) trivia() {
	for r.pos < len(r.text) {
		rest := r.text[r.pos:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			r.pos++
		case strings.HasPrefix(rest, "//"):
			r.line()
		case strings.HasPrefix(rest, "/*"):
			r.comment()
		default:
			return
		}
	}
}

// comment passes over a comment, which may hold others.
func (r *rustReader) comment() {
	depth := 0
	for r.pos < len(r.text) {
		rest := r.text[r.pos:]
		switch {
		case strings.HasPrefix(rest, "/*"):
			depth++
			r.pos += 2
		case strings.HasPrefix(rest, "*/"):
			depth--
			r.pos += 2
		default:
			r.pos++
		}
		if depth == 0 {
			return
		}
	}
	r.failed = true
}

// token passes over a token; a bracket is one together with all that it holds.
func (r *rustReader) token() {
	var open []byte
	for r.pos < len(r.text) && !r.failed {
		switch c := r.text[r.pos]; {
		case c == '(' || c == '[' || c == '{':
			closing := c + 2 // of [ and {
			if c == '(' {
				closing = ')'
			}
			open = append(open, closing)
			r.pos++
		case c == ')' || c == ']' || c == '}':
			if len(open) == 0 || open[len(open)-1] != c {
				r.failed = true
				return
			}
			open = open[:len(open)-1]
			r.pos++
		case c == '"':
			r.quoted()
		case c == '\'':
			r.quote()
		case isWordByte(c):
			r.wordOrString()
		case c == '/' && (strings.HasPrefix(r.text[r.pos:], "//") || strings.HasPrefix(r.text[r.pos:], "/*")):
			r.trivia()
		default:
			r.pos++
		}
		if len(open) == 0 {
			return
		}
	}
	r.failed = r.failed || len(open) > 0
}

// quoted passes over a string that begins here.
func (r *rustReader) quoted() {
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '\\':
			r.pos++
		case '"':
			r.pos++
			return
		}
	}
	r.failed = true
}

// quote passes over a character or a lifetime.
func (r *rustReader) quote() {
	rest := r.text[r.pos+1:]
	if strings.HasPrefix(rest, `\`) {
		end := strings.IndexByte(rest[min(2, len(rest)):], '\'')
		if end < 0 {
			r.failed = true
			return
		}
		r.pos += 1 + 2 + end + 1
		return
	}
	for i := range rest { // 'x', where x may have several bytes
		if i == 0 {
			continue
		}
		if rest[i] == '\'' {
			r.pos += 1 + i + 1
			return
		}
		break
	}
	r.pos++ // 'a
}

// wordOrString passes over a word, or a string with a prefix such as r#"…"#.
func (r *rustReader) wordOrString() {
	word := r.word()
	rest := r.text[r.pos:]
	switch word {
	case "r", "br", "cr":
		hashes := len(rest) - len(strings.TrimLeft(rest, "#"))
		if !strings.HasPrefix(rest[hashes:], `"`) {
			r.pos += min(hashes, 1) // r#word
			return
		}
		end := strings.Index(rest[hashes+1:], `"`+strings.Repeat("#", hashes))
		if end < 0 {
			r.failed = true
			return
		}
		r.pos += hashes + 1 + end + 1 + hashes
	case "b":
		if strings.HasPrefix(rest, "'") {
			r.quote()
		}
	}
}
