package strictyaml

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// schema describes a value. An optional alternative is kept in or.
type schema struct {
	doc     string
	kind    string // JSON Schema's type; empty for a reference
	ref     string // the definition's name
	what    string // the form, in words
	pattern string
	enum    []string
	min     *int // of a number, or of a text's length
	max     *int
	unique  bool
	items   *schema
	props   []*schema
	name    string // of a property
	need    bool
	open    bool    // further keys are allowed
	listed  bool    // an item of a list, or a part of one, or of a file that replaces nothing: it is given whole
	others  *schema // of the values under free names
	or      *schema
}

type definitions struct {
	order []string
	named map[string]*schema
}

func at(n int) *int { return &n }

// define describes a definition once, however often it is used or uses itself; again when it is
// used in a list for the first time.
func (d *definitions) define(name string, listed bool, fields func(*Map)) string {
	s, known := d.named[name]
	if known && (s.listed || !listed) {
		return name
	}
	if !known {
		s = &schema{}
		d.named[name] = s
		d.order = append(d.order, name)
	}
	*s = schema{kind: "object", listed: listed}
	fields(&Map{schema: s, defs: d, listed: listed})
	return name
}

func (s *schema) add(name, doc string, need bool) *schema {
	prop := &schema{name: name, doc: doc, need: need}
	s.props = append(s.props, prop)
	return prop
}

// describe says what the field's value is; said more than once, it may be any of them.
func (f *Field) describe(s schema) {
	if f.schema == nil {
		return
	}
	if f.schema.kind != "" || f.schema.ref != "" {
		f.schema.last().or = &s
		return
	}
	s.name, s.need, s.doc = f.schema.name, f.schema.need, f.schema.doc
	*f.schema = s
}

// last is the description given last.
func (s *schema) last() *schema {
	for s.or != nil {
		s = s.or
	}
	return s
}

// describe describes a file, or one that may replace some values of another file.
func describe(fields func(*Map), over bool) (*schema, *definitions) {
	defs := &definitions{named: map[string]*schema{}}
	root := &schema{kind: "object", listed: !over}
	fields(&Map{schema: root, defs: defs, listed: !over})
	return root, defs
}

// Schema is the JSON Schema, draft 2020-12, of what [Read] takes with these fields.
func Schema(title string, fields func(*Map)) []byte { return publish(title, fields, false) }

// SchemaOver is that of what [ReadOver] takes: outside of lists, no key need be given.
func SchemaOver(title string, fields func(*Map)) []byte { return publish(title, fields, true) }

func publish(title string, fields func(*Map), over bool) []byte {
	root, defs := describe(fields, over)
	out := root.json()
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = title
	all := map[string]any{}
	for _, name := range defs.order {
		all[name] = defs.named[name].json()
	}
	if len(all) > 0 {
		out["$defs"] = all
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		panic("schema: " + err.Error()) // maps, texts and numbers only
	}
	return append(text, '\n')
}

func (s *schema) json() map[string]any {
	out := map[string]any{}
	if s.or != nil {
		var any []any
		for in := s; in != nil; in = in.or {
			one := *in
			one.or, one.doc = nil, ""
			any = append(any, one.json())
		}
		out["anyOf"] = any
		if s.doc != "" {
			out["description"] = s.doc
		}
		return out
	}
	set := func(key string, value any, given bool) {
		if given {
			out[key] = value
		}
	}
	set("description", s.doc, s.doc != "")
	set("$ref", "#/$defs/"+s.ref, s.ref != "")
	set("type", s.kind, s.kind != "")
	set("enum", s.enum, s.enum != nil)
	set("pattern", s.pattern, s.pattern != "")
	set("uniqueItems", true, s.unique)
	if s.kind == "string" {
		set("minLength", s.min, s.min != nil)
	} else {
		set("minimum", s.min, s.min != nil)
		set("maximum", s.max, s.max != nil)
	}
	if s.items != nil {
		out["items"] = s.items.json()
	}
	if s.kind == "object" {
		s.object(out)
	}
	return out
}

func (s *schema) object(out map[string]any) {
	if s.others != nil {
		out["additionalProperties"] = s.others.json()
		out["propertyNames"] = map[string]any{"pattern": NamePattern}
		return
	}
	props, need := map[string]any{}, []string{}
	for _, p := range s.props {
		props[p.name] = p.json()
		if p.need && s.listed {
			need = append(need, p.name)
		}
	}
	out["properties"] = props
	out["additionalProperties"] = s.open
	if len(need) > 0 {
		out["required"] = need
	}
}

// Paths are the paths of all single values that pairs may set, in the order
// they are named. A "*" stands for a free name.
func Paths(fields func(*Map)) []string {
	root, _ := describe(fields, false)
	var out []string
	var walk func(s *schema, path string)
	walk = func(s *schema, path string) {
		for _, p := range s.props {
			here := join(path, p.name)
			switch {
			case p.or != nil:
				out = append(out, here)
				for in := p.or; in != nil; in = in.or {
					walk(in, here)
				}
			case p.kind == "object" && p.others != nil && p.others.ref != "": // mappings have no single value
			case p.kind == "object" && p.others != nil:
				out = append(out, here+".*")
			case p.kind == "object":
				walk(p, here)
			case p.kind != "array" || p.items.kind != "":
				out = append(out, here)
			}
		}
	}
	walk(root, "")
	return slices.Clip(out)
}

// Reference is the description in Markdown: a table of the outermost keys and
// one for each mapping that has a name.
func Reference(fields func(*Map)) string {
	root, defs := describe(fields, false)
	var b strings.Builder
	table := func(s *schema) {
		b.WriteString("| key | value | meaning |\n| --- | --- | --- |\n")
		s.rows(&b, "")
	}
	table(root)
	for _, name := range defs.order {
		fmt.Fprintf(&b, "\n### %s\n\n", name)
		table(defs.named[name])
	}
	return b.String()
}

func (s *schema) rows(b *strings.Builder, path string) {
	for _, p := range s.props {
		here := join(path, p.name)
		need := ""
		if p.need {
			need = " **Required.**"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s%s |\n", here, p.words(), p.doc, need)
		for in := p; in != nil; in = in.or {
			if in.others == nil {
				in.rows(b, here)
			}
		}
	}
}

// words says what the value is.
func (s *schema) words() string {
	switch {
	case s.or != nil:
		first := *s
		first.or = nil
		return first.words() + ", or " + s.or.words()
	case s.ref != "":
		return "[" + s.ref + "](#" + s.ref + ")"
	case s.enum != nil:
		return "`" + strings.Join(s.enum, "`, `") + "`"
	case s.what != "":
		return s.what
	}
	switch s.kind {
	case "string":
		return "text"
	case "boolean":
		return "true or false"
	case "number":
		return "dollars"
	case "integer":
		return strconv.Itoa(*s.min) + " to " + strconv.Itoa(*s.max)
	case "array":
		return "list of " + s.items.words()
	}
	if s.others != nil {
		return "name: " + s.others.words()
	}
	return "mapping"
}
