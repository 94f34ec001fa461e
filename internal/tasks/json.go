package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl"
)

// MaxBytes is how large a task file may be.
const MaxBytes = 1 << 20

// maxDepth is how deep a task file may nest: more than any of the forms does.
const maxDepth = 8

// reader reads one file and collects what is wrong with it.
type reader struct {
	data []byte
	problems
}

// node is a value of a file.
type node struct {
	at     int  // where it begins, in bytes
	kind   byte // '{', '[', '"', '0', 'b' for true and false, 'n' for null
	text   string
	truth  bool
	items  []*node
	keys   []string // of items, in an object
	keysAt []int
}

// what names the value's type in a message.
func (n *node) what() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "the text " + quote(n.text)
	case '0':
		return n.number()
	case 'b':
		return strconv.FormatBool(n.truth)
	}
	return "null"
}

// number is a number as it is written, unless that is long.
func (n *node) number() string {
	const most = 20
	if len(n.text) > most {
		return n.text[:most] + "…"
	}
	return n.text
}

// wrong adds a problem with what is written at an offset.
func (r *reader) wrong(at int, path, format string, args ...any) {
	line := 0 // of a problem that is only counted
	if !r.full() {
		line = r.line(at)
	}
	if path != "" {
		path += ": "
	}
	r.add("line %d: %s"+format, append([]any{line, path}, args...)...)
}

// line is that of an offset, from 1.
func (r *reader) line(at int) int {
	return 1 + bytes.Count(r.data[:min(at, len(r.data))], []byte("\n"))
}

// read parses the whole file; nil when there is nothing that could be looked at.
func (r *reader) read() *node {
	switch {
	case len(r.data) > MaxBytes:
		r.add("the file has %d bytes: at most %d (1 MiB) are read", len(r.data), MaxBytes)
		return nil
	case !utf8.Valid(r.data):
		r.add("the file is not UTF-8 text")
		return nil
	}
	r.data = bytes.TrimPrefix(r.data, []byte("\ufeff"))
	if err := json.Unmarshal(r.data, new(json.RawMessage)); err != nil {
		at := len(r.data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		}
		r.wrong(at, "", "this is not JSON: %v", err)
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.data))
	dec.UseNumber()
	return r.value(dec, "", 0)
}

// value reads one value; nil when it nests too deep. The file is valid JSON.
func (r *reader) value(dec *json.Decoder, path string, depth int) *node {
	n := &node{at: r.start(dec)}
	token, err := dec.Token()
	if err != nil {
		r.wrong(n.at, path, "%v", err)
		return nil
	}
	switch v := token.(type) {
	case json.Delim:
		n.kind = byte(v)
		if depth == maxDepth {
			r.wrong(n.at, path, "nested deeper than %d", maxDepth)
			return nil
		}
		if !r.inside(dec, n, path, depth) {
			return nil
		}
	case string:
		n.kind, n.text = '"', v
		if i := strings.IndexFunc(v, isOdd); i >= 0 {
			bad, _ := utf8.DecodeRuneInString(v[i:])
			r.wrong(n.at, path, "holds the control character %U", bad)
		}
	case json.Number:
		n.kind, n.text = '0', v.String()
	case bool:
		n.kind, n.truth = 'b', v
	default:
		n.kind = 'n'
	}
	return n
}

// inside reads what an object or an array holds.
func (r *reader) inside(dec *json.Decoder, n *node, path string, depth int) bool {
	first := map[string]int{}
	for dec.More() {
		at, below := r.start(dec), path+"["+strconv.Itoa(len(n.items))+"]"
		if n.kind == '{' {
			token, err := dec.Token()
			key, ok := token.(string)
			if err != nil || !ok {
				r.wrong(at, path, "this is not JSON")
				return false
			}
			below = join(path, key)
			if was, twice := first[key]; !twice {
				first[key] = at
			} else if r.full() {
				return false
			} else {
				r.wrong(at, below, "is here twice; it is also on line %d", r.line(was))
			}
			n.keys, n.keysAt = append(n.keys, key), append(n.keysAt, at)
		}
		item := r.value(dec, below, depth+1)
		if item == nil {
			return false
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token() // its end
	return err == nil
}

// start is where the next token begins.
func (r *reader) start(dec *json.Decoder) int {
	at := int(dec.InputOffset())
	for at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	return at
}

func join(path, key string) string {
	if len(key) > 60 || strings.IndexFunc(key, isOdd) >= 0 {
		key = quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// object is an object whose fields are being asked for.
type object struct {
	r     *reader
	n     *node
	path  string
	asked []string
}

// object takes a value as an object; one without fields when it is none.
func (r *reader) object(n *node, path string) *object {
	if n.kind != '{' {
		r.wrong(n.at, path, "want an object, got %s", n.what())
		n = &node{kind: '{', at: n.at}
	}
	return &object{r: r, n: n, path: path}
}

// field is the value of a key, nil when it is not there or is not of the kind.
func (o *object) field(key string, kind byte, want string) *node {
	o.asked = append(o.asked, key)
	i := slices.Index(o.n.keys, key)
	if i < 0 {
		return nil
	}
	n := o.n.items[i]
	if n.kind != kind {
		o.wrong(n, key, "want %s, got %s", want, n.what())
		return nil
	}
	return n
}

func (o *object) has(key string) bool { return slices.Contains(o.n.keys, key) }

func (o *object) wrong(n *node, key, format string, args ...any) {
	o.r.wrong(n.at, join(o.path, key), format, args...)
}

// text is a text, or the empty one.
func (o *object) text(key string) string {
	if n := o.field(key, '"', "text"); n != nil {
		return n.text
	}
	return ""
}

// need is a text that has to be there and say something.
func (o *object) need(key string) string {
	n := o.field(key, '"', "text")
	switch {
	case !o.has(key):
		o.wrong(o.n, key, "is missing: want text")
	case n != nil && strings.TrimSpace(n.text) == "":
		o.wrong(n, key, "is empty: want text")
	case n != nil:
		return n.text
	}
	return ""
}

// word is one of a few words, or empty when it is not there.
func (o *object) word(key string, allowed ...string) string {
	want := "one of " + strings.Join(allowed, ", ")
	n := o.field(key, '"', want)
	if n == nil {
		return ""
	}
	if !slices.Contains(allowed, n.text) {
		o.wrong(n, key, "want %s, got %s", want, quote(n.text))
		return ""
	}
	return n.text
}

// number is a whole number from least to most; given reports whether it is there.
func (o *object) number(key string, least, most int) (v int, given bool) {
	want := "a whole number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most)
	n := o.field(key, '0', want)
	if n == nil {
		return 0, false
	}
	v, err := strconv.Atoi(n.text)
	if err != nil || v < least || v > most {
		o.wrong(n, key, "want %s, got %s", want, n.number())
		return 0, false
	}
	return v, true
}

func (o *object) flag(key string) bool {
	n := o.field(key, 'b', "true or false")
	return n != nil && n.truth
}

// texts is a list of texts.
func (o *object) texts(key string) []string {
	n := o.field(key, '[', "an array of texts")
	if n == nil {
		return nil
	}
	var out []string
	for i, item := range n.items {
		if item.kind != '"' || strings.TrimSpace(item.text) == "" {
			o.wrong(item, key+"["+strconv.Itoa(i)+"]", "want text, got %s", item.what())
			continue
		}
		out = append(out, item.text)
	}
	return out
}

// each reads the tasks of an array.
func (r *reader) each(n *node, path string, read func(*object) pawl.TaskSpec) []pawl.TaskSpec {
	if len(n.items) > MaxTasks {
		r.wrong(n.at, path, "has %d tasks: want at most %d", len(n.items), MaxTasks)
		return nil
	}
	out := make([]pawl.TaskSpec, 0, len(n.items))
	for i, item := range n.items {
		o := r.object(item, path+"["+strconv.Itoa(i)+"]")
		out = append(out, read(o))
		o.done()
	}
	return out
}

// list reads the tasks under a key, which has to be there.
func (o *object) list(key string, read func(*object) pawl.TaskSpec) []pawl.TaskSpec {
	n := o.field(key, '[', "an array of tasks")
	switch {
	case !o.has(key):
		o.wrong(o.n, key, "is missing: want an array of tasks")
	case n != nil:
		return o.r.each(n, join(o.path, key), read)
	}
	return nil
}

// done refuses the keys nobody asked for.
func (o *object) done() {
	for i, key := range o.n.keys {
		if !slices.Contains(o.asked, key) {
			o.r.wrong(o.n.keysAt[i], join(o.path, key), "there is no such key; the keys here are %s", strings.Join(o.asked, ", "))
		}
	}
}
