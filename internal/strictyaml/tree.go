package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

type kind string

// The kinds, as messages name them.
const (
	kindText    kind = "text"
	kindInt     kind = "a whole number"
	kindFloat   kind = "a number"
	kindBool    kind = "true or false"
	kindList    kind = "a list"
	kindMapping kind = "a mapping"
	// kindLoose is the text of a variable or flag, which may be any scalar.
	kindLoose kind = "a word"
)

// node is a value as it was written.
type node struct {
	kind  kind
	pos   Pos
	text  string   // of a scalar
	items []*node  // of a list
	keys  []*entry // of a mapping
}

type entry struct {
	name  string
	pos   Pos
	value *node
}

// what shows the value in a message.
func (n *node) what() string {
	switch n.kind {
	case kindList, kindMapping:
		return string(n.kind)
	case kindText, kindLoose:
		return quote(n.text)
	}
	return n.text
}

// grower builds a tree from a parsed file.
type grower struct {
	file     string
	problems *Problems
}

// parse turns a file into a tree. The tree is nil when there is no content or
// a problem that leaves none.
func parse(file string, data []byte, problems *Problems) *node {
	g := &grower{file: file, problems: problems}
	start := Pos{Origin: file, Line: 1, Column: 1}
	if len(data) > MaxBytes {
		problems.Add(start, "", "the file has %d bytes; at most %d are read", len(data), MaxBytes)
		return nil
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(text) {
		problems.Add(start, "", "the file is not UTF-8 text")
		return nil
	}
	marks := 0
	for _, c := range []byte(text) {
		if strings.IndexByte("[]{},:-?&*!|>'\"%@`#<.\n", c) >= 0 {
			marks++
		}
	}
	if marks > maxMarks {
		problems.Add(start, "", "the file is too large: it has more than %d marks and lines", maxMarks)
		return nil
	}
	bodies := g.documents(text)
	switch len(bodies) {
	case 0:
		return nil
	case 1:
		return g.grow(bodies[0], "", 1)
	default:
		problems.Add(g.at(bodies[1].GetToken()), "", "the file has %d documents; only one is read", len(bodies))
		return nil
	}
}

// documents parses the text; none when there is no content or a problem. The
// parser is not ours and the text is a stranger's, so a panic is a problem too.
func (g *grower) documents(text string) (bodies []ast.Node) {
	defer func() {
		if r := recover(); r != nil {
			g.problems.Add(Pos{Origin: g.file, Line: 1, Column: 1}, "", "this is not YAML: %s", clean(fmt.Sprint(r)))
			bodies = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if !g.plain(tokens) {
		return nil
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		g.syntax(err)
		return nil
	}
	return contents(parsed)
}

func contents(file *ast.File) []ast.Node {
	var out []ast.Node
	for _, doc := range file.Docs {
		switch doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		default:
			out = append(out, doc.Body)
		}
	}
	return out
}

// plain reports whether the file keeps to the subset, as far as its tokens show.
func (g *grower) plain(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		g.problems.Add(g.at(tokens[maxTokens]), "", "the file is too large: it has more than %d words and marks", maxTokens)
		return false
	}
	before := len(g.problems.list)
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType:
			g.problems.Add(g.at(t), "", "anchors (&name) are not allowed; put text that begins with & in quotes")
		case token.AliasType:
			g.problems.Add(g.at(t), "", "aliases (*name) are not allowed; put text that begins with * in quotes")
		case token.MergeKeyType:
			g.problems.Add(g.at(t), "", "merge keys (<<) are not allowed")
		case token.TagType:
			g.problems.Add(g.at(t), "", "tags (!name) are not allowed; put text that begins with ! in quotes")
		case token.DirectiveType:
			g.problems.Add(g.at(t), "", "directives (%%NAME) are not allowed; put text that begins with %% in quotes")
		case token.MappingKeyType:
			g.problems.Add(g.at(t), "", "complex keys (? key) are not allowed; put text that begins with ? in quotes")
		case token.InvalidType:
			g.problems.Add(g.at(t), "", "this is not YAML: %s", clean(t.Error))
		}
	}
	return len(g.problems.list) == before
}

func (g *grower) syntax(err error) {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		g.problems.Add(g.at(syntax.Token), "", "this is not YAML: %s", clean(syntax.Message))
		return
	}
	g.problems.Add(Pos{Origin: g.file, Line: 1, Column: 1}, "", "this is not YAML: %s", clean(err.Error()))
}

// clean keeps what a parser says on one short line.
func clean(message string) string {
	return strings.Trim(quote(strings.TrimSpace(message)), `"`)
}

func (g *grower) at(t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{Origin: g.file, Line: 1, Column: 1}
	}
	return Pos{Origin: g.file, Line: t.Position.Line, Column: t.Position.Column}
}

// grow makes the node of a value; nil when it has none or is not allowed.
func (g *grower) grow(n ast.Node, path string, depth int) *node {
	if depth > MaxDepth {
		g.problems.Add(g.at(n.GetToken()), path, "nested deeper than %d", MaxDepth)
		return nil
	}
	out := &node{pos: g.at(n.GetToken())}
	switch n := n.(type) {
	case *ast.StringNode:
		out.kind, out.text = kindText, n.Value
	case *ast.LiteralNode:
		out.kind, out.text = kindText, n.Value.Value
	case *ast.IntegerNode:
		out.kind, out.text = kindInt, n.GetToken().Value
	case *ast.FloatNode:
		out.kind, out.text = kindFloat, n.GetToken().Value
	case *ast.BoolNode:
		out.kind, out.text = kindBool, n.GetToken().Value
	case *ast.SequenceNode:
		out.kind = kindList
		for i, item := range n.Values {
			if in := g.grow(item, fmt.Sprintf("%s[%d]", path, i), depth+1); in != nil {
				out.items = append(out.items, in)
			}
		}
	case *ast.MappingNode:
		if text, ok := withColon(n); ok {
			out.kind, out.text, out.pos = kindText, text, g.at(n.Values[0].Key.GetToken())
			break
		}
		g.mapping(out, n.Values, path, depth)
	case *ast.MappingValueNode:
		g.mapping(out, []*ast.MappingValueNode{n}, path, depth)
	case *ast.NullNode:
		g.problems.Add(out.pos, path, "has no value")
		return nil
	default:
		g.problems.Add(out.pos, path, "%s is not allowed here", quote(n.GetToken().Value))
		return nil
	}
	if bad, ok := odd(out.text); ok {
		g.problems.Add(out.pos, path, "holds the control character %U", bad)
		return nil
	}
	return out
}

func (g *grower) mapping(out *node, values []*ast.MappingValueNode, path string, depth int) {
	out.kind = kindMapping
	first := map[string]Pos{}
	for i, v := range values {
		key := v.Key.GetToken()
		pos := g.at(key)
		if i == 0 {
			out.pos = pos
		}
		name := key.Value
		if _, bad := odd(name); bad || len(name) > 100 {
			g.problems.Add(pos, path, "%s cannot be a key", quote(name))
			continue
		}
		if was, again := first[name]; again {
			g.problems.Add(pos, join(path, name), "is here twice; it is also on line %d", was.Line)
			continue
		}
		first[name] = pos
		if value := g.grow(v.Value, join(path, name), depth+1); value != nil {
			out.keys = append(out.keys, &entry{name, pos, value})
		}
	}
}

// withColon returns a text such as ollama/qwen3:8b that the parser takes for a mapping, because it stands
// in a list in braces. In YAML only a colon with a blank behind it makes a mapping.
func withColon(n *ast.MappingNode) (string, bool) {
	if len(n.Values) != 1 || n.Start.Type == token.MappingStartType {
		return "", false
	}
	key, colon, value := n.Values[0].Key.GetToken(), n.Values[0].Start, n.Values[0].Value.GetToken()
	_, isScalar := n.Values[0].Value.(ast.ScalarNode)
	quoted := key.Type != token.StringType || value.Type == token.SingleQuoteType || value.Type == token.DoubleQuoteType
	if !isScalar || quoted || value.Position.Line != colon.Position.Line || value.Position.Offset != colon.Position.Offset+1 {
		return "", false
	}
	return key.Value + ":" + value.Value, true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// odd finds the first character that must not reach a terminal or a prompt:
// controls, and marks that change the direction of text.
func odd(text string) (rune, bool) {
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return r, true
		}
	}
	return 0, false
}

// ReadFile reads a file up to one byte more than [Read] takes, so that one that
// is too large is told so. Only regular files are read, and no symbolic link is
// followed: in a repository it could lead to the user's own files.
func ReadFile(dir fs.FS, name string) ([]byte, error) {
	for end := range len(name) + 1 {
		if end < len(name) && name[end] != '/' {
			continue
		}
		info, err := fs.Lstat(dir, name[:end])
		switch {
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%s is a symbolic link, which is not followed here", name[:end])
		case end == len(name) && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file", name)
		}
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
}
