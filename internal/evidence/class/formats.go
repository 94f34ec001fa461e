package class

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"pawl"
)

// leaf returns a leaf for a key that has been looked up; what no rule is about is code.
func leaf(key string, class pawl.PathClass, text string) *node {
	if class == "" {
		class = pawl.ClassCode
	}
	return &node{key: key, class: class, text: text}
}

// readJSON reads an object by its members. Of members with the same name readers take the last,
// so the others are left out.
func readJSON(data []byte, rules keyRules) (*node, error) {
	if !json.Valid(data) {
		return nil, errors.New("the file is not JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("the file is not a JSON object")
	}
	root := &node{open: string(data[:dec.InputOffset()]), sep: ","}
	start, last := dec.InputOffset(), map[string]int{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		end := dec.InputOffset()
		text := strings.TrimPrefix(strings.TrimLeft(string(data[start:end]), " \t\r\n"), ",")
		if len(root.parts) == 0 {
			text = string(data[start:end])
		}
		last[key] = len(root.parts)
		root.parts = append(root.parts, leaf(key, rules.class([]string{key}), text))
		start = end
	}
	root.close = string(data[start:])
	all := root.parts
	root.parts = nil
	for i, n := range all {
		if last[n.key] == i {
			root.parts = append(root.parts, n)
		}
	}
	return root, nil
}

// tomlSection is a table of a TOML file with its keys.
type tomlSection struct {
	path  []string
	start int // of its text
	keys  []tomlKey
}

type tomlKey struct {
	path  []string // from the root
	class pawl.PathClass
	name  string // the value of a key name, which tells elements of an array apart
	start int
}

// readTOML reads a file by its tables, and tables that hold several classes by their keys. What
// stands before a table or key, such as comments and blank lines, goes with it.
func readTOML(data []byte, rules keyRules) (*node, error) {
	data = endLine(data)
	sections, err := tomlSections(data, rules)
	if err != nil {
		return nil, err
	}
	root := &node{}
	seen := map[string]int{}
	for i, s := range sections {
		end := len(data)
		if i+1 < len(sections) {
			end = sections[i+1].start
		}
		key := strings.Join(s.path, "\x00")
		if class := rules.class(s.path); i > 0 && (class != "" || !rules.reaches(s.path)) {
			root.parts = append(root.parts, leaf(numbered(seen, key), class, string(data[s.start:end])))
			continue
		}
		section := &node{}
		first := end
		if len(s.keys) > 0 {
			first = s.keys[0].start
		}
		section.open = string(data[s.start:first])
		for j, k := range s.keys {
			stop := end
			if j+1 < len(s.keys) {
				stop = s.keys[j+1].start
			}
			if k.name != "" {
				key += "\x00" + k.name
			}
			section.parts = append(section.parts, leaf(strings.Join(k.path, "\x00"), k.class, string(data[k.start:stop])))
		}
		if i > 0 {
			section.key = numbered(seen, key)
		}
		root.parts = append(root.parts, section)
	}
	return root, nil
}

// numbered makes a key differ from the same key before it.
func numbered(seen map[string]int, key string) string {
	seen[key]++
	return fmt.Sprintf("%s\x00%d", key, seen[key])
}

// tomlSections returns the tables of a file, the first of which is what stands before all tables.
func tomlSections(data []byte, rules keyRules) ([]tomlSection, error) {
	var p unstable.Parser
	p.Reset(data)
	sections := []tomlSection{{}}
	ended := 0 // what was read
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var key []string
		start, end := -1, int(e.Raw.Offset+e.Raw.Length)
		for it := e.Key(); it.Next(); {
			raw := it.Node().Raw
			if start < 0 {
				start = int(raw.Offset)
			}
			end = max(end, int(raw.Offset+raw.Length))
			key = append(key, string(it.Node().Data))
		}
		start = chunkStart(data, ended, start)
		ended = end
		s := &sections[len(sections)-1]
		if e.Kind != unstable.KeyValue {
			sections = append(sections, tomlSection{path: key, start: start})
			continue
		}
		k := tomlKey{path: slices.Concat(s.path, key), start: start}
		k.class = valueClass(k.path, e.Value(), rules)
		if v := e.Value(); len(key) == 1 && key[0] == "name" && v.Kind == unstable.String {
			k.name = string(v.Data)
		}
		s.keys = append(s.keys, k)
	}
	return sections, p.Error()
}

// chunkStart returns where the text begins that belongs to what stands at an offset: after the line
// on which what stands before it ended.
func chunkStart(data []byte, ended, offset int) int {
	if newline := bytes.IndexByte(data[ended:offset], '\n'); ended > 0 && newline >= 0 {
		return ended + newline + 1
	}
	return min(ended, offset)
}

// valueClass returns the class of a key. A value in one line that holds several classes counts as
// the strictest of them.
func valueClass(key []string, value *unstable.Node, rules keyRules) pawl.PathClass {
	if class := rules.class(key); class != "" || value.Kind != unstable.InlineTable && value.Kind != unstable.Array {
		return class
	}
	var class pawl.PathClass
	for it := value.Children(); it.Next(); {
		inner, below := it.Node(), slices.Clone(key)
		if inner.Kind == unstable.KeyValue {
			for names := inner.Key(); names.Next(); {
				below = append(below, string(names.Node().Data))
			}
			inner = inner.Value()
		}
		if c := valueClass(below, inner, rules); c == pawl.ClassGateInput || class == "" {
			class = c
		}
	}
	return class
}

// readINI reads a file by its sections, and sections that hold several classes by their keys.
func readINI(data []byte, rules keyRules) (*node, error) {
	data = endLine(data)
	root := &node{parts: []*node{{}}}
	seen := map[string]int{}
	section, whole := root.parts[0], false
	var path []string
	var pending strings.Builder // comments and blank lines before the next key
	flush := func() {
		text := pending.String()
		pending.Reset()
		switch last := len(section.parts) - 1; {
		case section.class != "":
			section.text += text
		case last >= 0:
			section.parts[last].text += text
		default:
			section.open += text
		}
	}
	for line := range strings.Lines(string(data)) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
			pending.WriteString(line)
		case line[0] == '[' && strings.Contains(trimmed, "]"):
			name := trimmed[1:strings.IndexByte(trimmed, ']')]
			path = strings.Split(name, ".")
			text := pending.String() + line
			pending.Reset()
			class := rules.class(path)
			if whole = class != "" || !rules.reaches(path); whole {
				section = leaf(numbered(seen, name), class, text)
			} else {
				section = &node{key: numbered(seen, name), open: text}
			}
			root.parts = append(root.parts, section)
		case whole:
			flush()
			section.text += line
		case line[0] == ' ' || line[0] == '\t': // goes with the line above
			flush()
			if last := len(section.parts) - 1; last >= 0 {
				section.parts[last].text += line
			} else {
				section.open += line
			}
		default:
			key := strings.TrimSpace(line[:max(0, strings.IndexAny(line, "=:"))])
			text := pending.String() + line
			pending.Reset()
			section.parts = append(section.parts, leaf(key, rules.class(slices.Concat(path, []string{strings.ToLower(key)})), text))
		}
	}
	flush()
	return root, nil
}

// readXML reads a file by its elements, as deep as the rules go.
func readXML(data []byte, rules keyRules) (*node, error) {
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	x := &xmlReader{data: data, dec: dec, rules: rules}
	root := &node{}
	if err := x.read(root, nil); err != nil {
		return nil, err
	}
	if len(root.parts) != 1 {
		return nil, errors.New("the file has no root element")
	}
	root.close = string(data[x.start:])
	return root, nil
}

type xmlReader struct {
	data  []byte
	dec   *xml.Decoder
	rules keyRules
	start int // of the text that belongs to no node yet
}

// read reads what is inside an element, up to its end.
func (x *xmlReader) read(into *node, above []string) error {
	seen := map[string]int{}
	for {
		from := int(x.dec.InputOffset())
		t, err := x.dec.Token()
		if errors.Is(err, io.EOF) && above == nil {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			part, err := x.element(t, from, above)
			if err != nil {
				return err
			}
			part.key = numbered(seen, part.key)
			into.parts = append(into.parts, part)
		case xml.EndElement:
			into.close = string(x.data[x.start:x.dec.InputOffset()])
			x.start = int(x.dec.InputOffset())
			return nil
		}
	}
}

// element reads an element whose start has been read.
func (x *xmlReader) element(t xml.StartElement, from int, above []string) (*node, error) {
	path := append(slices.Clone(above), strings.Split(t.Name.Local, ".")...)
	if strings.Join(path, ".") == "project.profiles.profile" {
		path = []string{"project"} // has what the project has
	}
	key := t.Name.Local
	for _, a := range t.Attr {
		if a.Name.Local == "Include" || a.Name.Local == "Update" || a.Name.Local == "Remove" || a.Name.Local == "Condition" {
			key += "\x00" + a.Value
		}
	}
	isProfiles := len(path) == 2 && path[0] == "project" && path[1] == "profiles"
	class := x.rules.class(path)
	if t.Name.Local != "plugin" && class == "" && (x.rules.reaches(path) || isProfiles) {
		n := &node{key: key}
		end := int(x.dec.InputOffset())
		n.open = string(x.data[x.start:end])
		x.start = end
		if strings.HasSuffix(n.open, "/>") {
			n.open = strings.TrimRight(strings.TrimSuffix(n.open, "/>"), " ") + ">"
			n.close = "</" + string(bytes.Fields(x.data[from+1 : end-2])[0]) + ">"
			_, err := x.dec.Token() // the end that the decoder makes up
			return n, err
		}
		if err := x.read(n, path); err != nil {
			return nil, err
		}
		if id := elementID(n); id != "" && above != nil {
			n.key += "\x00" + id
		}
		return n, nil
	}
	if err := x.dec.Skip(); err != nil {
		return nil, err
	}
	end := int(x.dec.InputOffset())
	text := string(x.data[x.start:end])
	x.start = end
	if t.Name.Local == "plugin" && class == "" {
		name := between(text, "<artifactId>", "</artifactId>")
		key += "\x00" + name
		if x.rules.reaches(path) && slices.ContainsFunc(pomPlugins, func(p string) bool { return strings.Contains(name, p) }) {
			class = pawl.ClassGateInput
		}
	}
	return leaf(key, class, text), nil
}

// elementID returns the text of an element's child id, which tells profiles apart.
func elementID(n *node) string {
	for _, p := range n.parts {
		if name, _, _ := strings.Cut(p.key, "\x00"); name == "id" {
			return between(p.text, ">", "<")
		}
	}
	return ""
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return strings.TrimSpace(found)
}
