package strictyaml

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// Read reads one file. fields names the keys of its outermost mapping; file is
// what messages call it. An empty file is an empty mapping.
func Read(file string, data []byte, fields func(*Map)) (Where, error) {
	return ReadOver(file, data, nil, fields)
}

// ReadOver reads a file whose values replace some of another one. Under says where the values of
// that one are: what it has need not be given again, but for what is in a list, because lists are
// replaced as a whole.
func ReadOver(file string, data []byte, under Where, fields func(*Map)) (Where, error) {
	var problems Problems
	root := parse(file, data, &problems)
	if root == nil && len(problems.list) > 0 {
		return nil, problems.Err()
	}
	if root == nil {
		root = &node{kind: kindMapping, pos: Pos{Origin: file, Line: 1, Column: 1}}
	}
	return read(root, under, fields, &problems)
}

// Pair is one setting from outside a file.
type Pair struct {
	Path   string // the key's path, such as "limits.money_usd"
	Value  string
	Origin string // what to call it, such as "$PAWL_RECIPE" or "--recipe"
}

// ReadPairs reads settings from variables and flags as if they were written in
// a file. Of two pairs with one path the later one holds.
func ReadPairs(pairs []Pair, fields func(*Map)) (Where, error) {
	root := &node{kind: kindMapping}
	for _, p := range pairs {
		at := root
		names := strings.Split(p.Path, ".")
		for _, name := range names[:len(names)-1] {
			at = at.child(name, p.Origin)
		}
		leaf := at.child(names[len(names)-1], p.Origin)
		leaf.kind, leaf.text, leaf.pos = kindLoose, p.Value, Pos{Origin: p.Origin}
	}
	var problems Problems
	return read(root, nil, fields, &problems)
}

// child finds or makes the mapping under a name.
func (n *node) child(name, origin string) *node {
	for _, e := range n.keys {
		if e.name == name {
			return e.value
		}
	}
	in := &node{kind: kindMapping, pos: Pos{Origin: origin}}
	n.keys = append(n.keys, &entry{name, in.pos, in})
	return in
}

func read(root *node, under Where, fields func(*Map), problems *Problems) (Where, error) {
	m := &Map{problems: problems, where: Where{"": root.pos}, under: under, node: root}
	if root.kind != kindMapping {
		m.problems.Add(root.pos, "", "want a mapping (key: value), got %s", root.what())
	} else {
		m.read(fields)
	}
	return m.where, problems.Err()
}

// Map is a mapping whose keys are being named: to read them, or to describe
// them (then nothing has a value).
type Map struct {
	path     string
	node     *node // nil when describing
	problems *Problems
	where    Where
	under    Where // what the file replaces; nil = nothing
	known    []string
	other    func(string, Pos)
	schema   *schema // nil when reading
	defs     *definitions
	listed   bool // described as what is always given whole, such as an item of a list
}

// read lets fields name the keys and reports those it did not name.
func (m *Map) read(fields func(*Map)) {
	fields(m)
	for _, e := range m.node.keys {
		switch {
		case slices.Contains(m.known, e.name):
		case m.other != nil:
			m.other(e.name, e.pos)
		default:
			m.problems.Add(e.pos, join(m.path, e.name), "unknown key%s; known here: %s",
				meant(e.name, m.known), strings.Join(m.known, ", "))
		}
	}
}

// Other lets the mapping have keys nobody names; each is told to seen.
func (m *Map) Other(seen func(key string, pos Pos)) {
	m.other = seen
	if m.schema != nil {
		m.schema.open = true
	}
}

// Problem reports a problem with the value at a path below this mapping.
func (m *Map) Problem(name, format string, args ...any) {
	if m.problems != nil {
		path := join(m.path, name)
		m.problems.Add(m.where.Find(path), path, format, args...)
	}
}

// Gone names a key that there is no more, and says what stands in its place.
func (m *Map) Gone(name, instead string) {
	if m.schema != nil {
		return
	}
	for _, e := range m.node.keys {
		if e.name == name {
			m.known = append(m.known, name)
			m.problems.Add(e.pos, join(m.path, name), "there is no such key any more: %s", instead)
		}
	}
}

// Key names a key that may be left out. doc says in a sentence what it means.
func (m *Map) Key(name, doc string) *Field { return m.key(name, doc, false) }

// Need names a key that must be there.
func (m *Map) Need(name, doc string) *Field { return m.key(name, doc, true) }

func (m *Map) key(name, doc string, need bool) *Field {
	f := &Field{m: m, path: join(m.path, name)}
	if m.schema != nil {
		f.schema = m.schema.add(name, doc, need)
		return f
	}
	m.known = append(m.known, name)
	for _, e := range m.node.keys {
		if e.name == name {
			f.node = e.value
			f.mark(e)
		}
	}
	if _, under := m.under[f.path]; need && f.node == nil && (!under || strings.Contains(f.path, "[")) {
		m.problems.Add(m.node.pos, f.path, "is missing")
	}
	return f
}

func (f *Field) mark(e *entry) {
	f.m.where[f.path] = e.pos
	if e.value.kind != kindMapping && e.value.kind != kindList {
		f.m.where[f.path] = e.value.pos
	}
}

// Field is a key's value. One of its methods says what the value is; a value
// that is left out leaves the variable as it was.
type Field struct {
	m      *Map
	path   string
	node   *node   // nil when the key is left out or described
	schema *schema // nil when reading
}

// Given reports whether the key is there.
func (f *Field) Given() bool { return f.node != nil }

func (f *Field) wrong(want string) {
	f.m.problems.Add(f.node.pos, f.path, "want %s, got %s", want, f.node.what())
}

// text is the value as text; ok is false when there is none or it is none.
func (f *Field) text(want string) (string, bool) {
	switch {
	case f.node == nil:
		return "", false
	case f.node.kind == kindText || f.node.kind == kindLoose:
		if strings.TrimSpace(f.node.text) != "" {
			return f.node.text, true
		}
		f.m.problems.Add(f.node.pos, f.path, "is empty")
	case f.node.kind == kindList || f.node.kind == kindMapping:
		f.wrong(want)
	default:
		f.m.problems.Add(f.node.pos, f.path, "want %s, got %s; put it in quotes", want, f.node.text)
	}
	return "", false
}

// Text is any text that is not empty.
func (f *Field) Text(v *string) {
	f.describe(schema{kind: "string", min: at(1)})
	if text, ok := f.text("text"); ok {
		*v = strings.TrimRight(text, "\n")
	}
}

// Match is text of a form; what names the form in messages, such as "a name".
func (f *Field) Match(v *string, pattern, what string) {
	f.describe(schema{kind: "string", pattern: pattern, what: what})
	if text, ok := f.text(what); ok {
		if !regexp.MustCompile(pattern).MatchString(text) {
			f.wrong(what)
			return
		}
		*v = text
	}
}

// Name is a lower-case name such as "fix-login".
func (f *Field) Name(v *string) {
	f.describe(schema{kind: "string", pattern: NamePattern, what: aName})
	if text, ok := f.text(aName); ok {
		if !IsName(text) {
			f.wrong(aName)
			return
		}
		*v = text
	}
}

// NamePattern is what names look like.
const NamePattern = `^[a-z0-9][a-z0-9_-]{0,63}$`

const aName = "a name of lower-case letters, digits, - and _"

// IsName reports whether a text is a name.
func IsName(text string) bool {
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return text != "" && len(text) <= 64 && text[0] != '-' && text[0] != '_'
}

// Word is one of a few words.
func (f *Field) Word(v *string, allowed ...string) {
	f.describe(schema{kind: "string", enum: allowed})
	if text, ok := f.text("one of " + strings.Join(allowed, ", ")); ok {
		if !slices.Contains(allowed, text) {
			f.m.problems.Add(f.node.pos, f.path, "want one of %s, got %s%s",
				strings.Join(allowed, ", "), quote(text), meant(text, allowed))
			return
		}
		*v = text
	}
}

// Bool is true or false.
func (f *Field) Bool(v *bool) {
	f.describe(schema{kind: "boolean"})
	switch {
	case f.node == nil:
	case f.node.kind != kindBool && f.node.kind != kindLoose || f.node.text != "true" && f.node.text != "false":
		f.wrong("true or false")
	default:
		*v = f.node.text == "true"
	}
}

// Int is a whole number from least to most.
func (f *Field) Int(v *int, least, most int) {
	f.describe(schema{kind: "integer", min: at(least), max: at(most)})
	if f.node != nil {
		f.int(v, least, most, fmt.Sprintf("a whole number from %d to %d", least, most))
	}
}

func (f *Field) int(v *int, least, most int, want string) {
	n, err := strconv.Atoi(f.node.text)
	if f.node.kind != kindInt && f.node.kind != kindLoose || err != nil || n < least || n > most {
		f.wrong(want)
		return
	}
	*v = n
}

// IntOr is a whole number, or a word that stands for a number of its own.
func (f *Field) IntOr(v *int, least, most int, word string, as int) {
	f.describe(schema{kind: "integer", min: at(least), max: at(most)})
	f.describe(schema{kind: "string", enum: []string{word}})
	switch {
	case f.node == nil:
	case f.node.text == word:
		*v = as
	default:
		f.int(v, least, most, fmt.Sprintf("a whole number from %d to %d, or %s", least, most, word))
	}
}

// Time is a duration, written as a whole number of units from 1 to most.
func (f *Field) Time(v *time.Duration, unit time.Duration, most int) {
	n := 0
	f.Int(&n, 1, most)
	if n > 0 {
		*v = time.Duration(n) * unit
	}
}

// Dollars is an amount of money, written in dollars, to a millionth.
func (f *Field) Dollars(v *pawl.Micros, most int) {
	f.describe(schema{kind: "number", min: at(0), max: at(most)})
	if f.node == nil {
		return
	}
	text := f.node.text
	amount, ok := new(big.Rat), false
	if f.node.kind != kindText && len(text) <= 20 && strings.Trim(text, "0123456789.") == "" {
		amount, ok = amount.SetString(text)
	}
	if !ok {
		amount = new(big.Rat)
	}
	amount.Mul(amount, big.NewRat(int64(pawl.Dollars), 1))
	if !ok || !amount.IsInt() || amount.Cmp(big.NewRat(int64(most)*int64(pawl.Dollars), 1)) > 0 {
		f.wrong("dollars from 0 to " + strconv.Itoa(most) + ", such as 2.50")
		return
	}
	*v = pawl.Micros(amount.Num().Int64())
}

// units are the units of sizes.
var units = []struct {
	name string
	size int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

const (
	sizePattern    = `^[0-9]{1,15}(B|[kMGT]B|[KMGT]iB)$`
	percentPattern = `^([1-9]|[1-9][0-9]|100)%$`
	aSize          = "a size such as 500MB or 2GiB"
	aPercentage    = "a percentage such as 80%"
)

// Size is a size from least to most: a number with a unit, such as 500MB or 2GiB, or a
// number of bytes.
func (f *Field) Size(v *int64, least, most int64) {
	f.describe(schema{kind: "string", pattern: sizePattern, what: aSize})
	f.describe(schema{kind: "integer", min: at(int(least)), max: at(int(most)), what: "a number of bytes"})
	if n, ok := f.size(least, most); ok {
		*v = n
	} else if f.node != nil {
		f.wrong(fmt.Sprintf("a size from %s to %s, such as 500MB or 2GiB", FormatSize(least), FormatSize(most)))
	}
}

// SizeOrPercent is a size as in [Field.Size] or a percentage from 1% to 100%. The one
// that is not given becomes zero.
func (f *Field) SizeOrPercent(v *int64, percent *int, least, most int64) {
	f.describe(schema{kind: "string", pattern: sizePattern + "|" + percentPattern, what: aSize + ", " + aPercentage})
	f.describe(schema{kind: "integer", min: at(int(least)), max: at(int(most)), what: "a number of bytes"})
	if f.node == nil {
		return
	}
	if regexp.MustCompile(percentPattern).MatchString(f.node.text) {
		*v = 0
		*percent, _ = strconv.Atoi(strings.TrimSuffix(f.node.text, "%"))
	} else if n, ok := f.size(least, most); ok {
		*v, *percent = n, 0
	} else {
		f.wrong(fmt.Sprintf("a size from %s to %s, such as 500MB or 2GiB, or %s", FormatSize(least), FormatSize(most), aPercentage))
	}
}

// size returns the value as a size; ok is false if there is no value or it is not a size.
func (f *Field) size(least, most int64) (n int64, ok bool) {
	if f.node == nil || f.node.kind == kindList || f.node.kind == kindMapping {
		return 0, false
	}
	text, unit := f.node.text, int64(1)
	for _, u := range units {
		if digits, found := strings.CutSuffix(text, u.name); found {
			text, unit = digits, u.size
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text[0] == '+' || n > most/unit || n*unit < least {
		return 0, false
	}
	return n * unit, true
}

// FormatSize writes a size as [Field.Size] reads it, with the largest unit that gives a
// whole number.
func FormatSize(n int64) string {
	best := n
	text := strconv.FormatInt(n, 10) + "B"
	for _, u := range units {
		if n%u.size == 0 && n/u.size < best {
			best = n / u.size
			text = strconv.FormatInt(best, 10) + u.name
		}
	}
	return text
}

// items are the fields of a list's entries; ok is false when there is no list.
// A variable or flag is cut at separator, or is the only entry.
func (f *Field) items(separator string) (out []*Field, ok bool) {
	switch {
	case f.node == nil:
		return nil, false
	case f.node.kind == kindLoose && separator == "":
		return []*Field{f}, true
	case f.node.kind == kindLoose:
		for part := range strings.SplitSeq(f.node.text, separator) {
			in := &node{kind: kindLoose, text: strings.TrimSpace(part), pos: f.node.pos}
			out = append(out, &Field{m: f.m, path: f.path, node: in})
		}
		return out, true
	case f.node.kind != kindList:
		f.wrong("a list")
		return nil, false
	}
	for i, item := range f.node.items {
		path := f.path + "[" + strconv.Itoa(i) + "]"
		f.m.where[path] = item.pos
		out = append(out, &Field{m: f.m, path: path, node: item})
	}
	return out, true
}

// Texts is a list of texts. A list that is given replaces the one there was. A
// variable or flag is one text.
func (f *Field) Texts(v *[]string) {
	f.describe(schema{kind: "array", items: &schema{kind: "string", min: at(1)}})
	if items, ok := f.items(""); ok {
		*v = make([]string, len(items))
		for i, item := range items {
			item.Text(&(*v)[i])
		}
	}
}

// Words is a list of different words out of a few, in a variable or flag with
// commas between them.
func (f *Field) Words(v *[]string, allowed ...string) {
	f.describe(schema{kind: "array", unique: true, items: &schema{kind: "string", enum: allowed}})
	if items, ok := f.items(","); ok {
		*v = make([]string, len(items))
		for i, item := range items {
			item.Word(&(*v)[i], allowed...)
			if word := (*v)[i]; word != "" && slices.Contains((*v)[:i], word) {
				item.m.problems.Add(item.node.pos, item.path, "%s is in the list twice", word)
			}
		}
	}
}

// Ints is a list of whole numbers.
func (f *Field) Ints(v *[]int, least, most int) {
	f.describe(schema{kind: "array", items: &schema{kind: "integer", min: at(least), max: at(most)}})
	if items, ok := f.items(","); ok {
		*v = make([]int, len(items))
		for i, item := range items {
			item.Int(&(*v)[i], least, most)
		}
	}
}

// Map is a mapping with keys of its own.
func (f *Field) Map(read func(*Map)) {
	if f.schema != nil {
		f.describe(schema{kind: "object", listed: f.m.listed})
		read(&Map{schema: f.schema.last(), defs: f.m.defs, listed: f.m.listed})
		return
	}
	f.mapping(read)
}

func (f *Field) mapping(read func(*Map)) {
	if f.node == nil {
		return
	}
	if f.node.kind != kindMapping && len(f.node.keys) == 0 {
		f.wrong("a mapping")
		return
	}
	m := &Map{path: f.path, node: f.node, problems: f.m.problems, where: f.m.where, under: f.m.under}
	m.read(read)
}

// TextOr is either text, which parse understands, or a mapping.
func (f *Field) TextOr(parse func(string) error, read func(*Map)) {
	f.describe(schema{kind: "string", min: at(1)})
	if f.node == nil || f.node.kind == kindMapping {
		f.Map(read)
		return
	}
	if text, ok := f.text("text or a mapping"); ok {
		if err := parse(text); err != nil {
			f.m.problems.Add(f.node.pos, f.path, "%s", err)
		}
	}
	if len(f.node.keys) > 0 { // variables give the text and parts of the mapping
		f.mapping(read)
	}
}

// OneOrMore is a value that read understands, or a list of at least one of them, of which i is the
// position. A variable or flag is a list with separators between the values.
func (f *Field) OneOrMore(separator string, read func(i int, item *Field)) {
	if f.schema != nil {
		read(0, f)
		item := &Field{m: f.m, path: f.path, schema: &schema{}}
		read(0, item)
		f.describe(schema{kind: "array", what: "list of those", items: item.schema})
		return
	}
	if f.node == nil || f.node.kind != kindList && (f.node.kind != kindLoose || !strings.Contains(f.node.text, separator)) {
		read(0, f)
		return
	}
	items, _ := f.items(separator)
	if len(items) == 0 {
		f.wrong("at least one")
	}
	for i, item := range items {
		switch {
		case f.node.kind != kindLoose:
		case i == 0:
			item.node.keys = f.node.keys // variables for parts of a mapping are about the first
		default:
			item.path += "[" + strconv.Itoa(i) + "]"
			f.m.where[item.path] = item.node.pos
		}
		read(i, item)
	}
}

// WordOr is either one of a few words or a mapping.
func (f *Field) WordOr(v *string, read func(*Map), allowed ...string) {
	f.describe(schema{kind: "string", enum: allowed})
	if f.node == nil || f.node.kind == kindMapping {
		f.Map(read)
		return
	}
	f.Word(v, allowed...)
	if len(f.node.keys) > 0 { // as in TextOr
		f.mapping(read)
	}
}

// Times is a mapping of free names to durations, each a whole number of units
// from 1 to most.
func (f *Field) Times(v *map[string]time.Duration, unit time.Duration, most int) {
	f.describe(schema{kind: "object", others: &schema{kind: "integer", min: at(1), max: at(most)}})
	f.names(func(name string, value *Field) {
		if *v == nil {
			*v = map[string]time.Duration{}
		}
		d := (*v)[name]
		value.Time(&d, unit, most)
		(*v)[name] = d
	})
}

// names goes through a mapping whose keys are free names, in the file's order.
func (f *Field) names(each func(name string, value *Field)) {
	if f.node == nil {
		return
	}
	if f.node.kind != kindMapping {
		f.wrong("a mapping")
		return
	}
	for _, e := range f.node.keys {
		value := &Field{m: f.m, path: join(f.path, e.name), node: e.value}
		value.mark(e)
		if !IsName(e.name) {
			f.m.problems.Add(e.pos, value.path, "want %s, got %s", aName, quote(e.name))
			continue
		}
		each(e.name, value)
	}
}

// Sub is a mapping that is read into a value of its own, made when there is
// none yet. def names the mapping in the schema.
func Sub[T any](f *Field, def string, v **T, read func(*Map, *T)) {
	if f.schema != nil {
		f.describe(schema{ref: f.m.defs.define(def, f.m.listed, func(m *Map) { read(m, new(T)) })})
		return
	}
	if f.node != nil && *v == nil {
		*v = new(T)
	}
	f.mapping(func(m *Map) { read(m, *v) })
}

// List is a list of mappings. A list that is given replaces the one there was.
func List[T any](f *Field, def string, v *[]T, read func(*Map, *T)) {
	if f.schema != nil {
		ref := f.m.defs.define(def, true, func(m *Map) { read(m, new(T)) })
		f.describe(schema{kind: "array", items: &schema{ref: ref}})
		return
	}
	if items, ok := f.items(","); ok {
		*v = make([]T, len(items))
		for i, item := range items {
			item.mapping(func(m *Map) { read(m, &(*v)[i]) })
		}
	}
}

// Named is a mapping of free names to mappings, kept as a list. A name that is
// in the list already is read into its entry; others are appended.
func Named[T any](f *Field, def string, v *[]T, name func(*T) *string, read func(*Map, *T)) {
	if f.schema != nil {
		ref := f.m.defs.define(def, f.m.listed, func(m *Map) { read(m, new(T)) })
		f.describe(schema{kind: "object", others: &schema{ref: ref}})
		return
	}
	f.names(func(key string, value *Field) {
		i := slices.IndexFunc(*v, func(t T) bool { return *name(&t) == key })
		if i < 0 {
			i = len(*v)
			*v = append(*v, *new(T))
			*name(&(*v)[i]) = key
		}
		value.mapping(func(m *Map) { read(m, &(*v)[i]) })
	})
}
