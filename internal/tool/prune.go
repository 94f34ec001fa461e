package tool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
	"pawl/internal/strictyaml"
)

// Prune returns arguments without the fields that the spec's schema does not have and without texts that
// are in a list twice where each may be there once, and the paths of what is left out, sorted by object. A
// field whose name is close to one that the schema has and its object lacks may be that one, misspelt: it
// stays, and [Set.Check] refuses it. Arguments that have nothing of the kind, or are no JSON, are returned
// as they are.
//
// What is in another form than the schema's, and can mean only one thing, is put into that form: see
// lenient. Read says what was read as what.
func (s *Set) Prune(spec pawl.ToolSpec, args json.RawMessage) (pruned json.RawMessage, surplus, read []string) {
	if len(args) > maxArgs {
		return args, nil, nil
	}
	schema, err := s.checker.resolve(spec.Schema)
	if err != nil {
		return args, nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.UseNumber() // a number is written again as it came
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return args, nil, nil
	}
	if _, ok := value.(map[string]any); !ok {
		return args, nil, nil
	}
	value, read = lenient(schema.Schema(), value, "")
	value, surplus = prune(schema.Schema(), value, "")
	if len(surplus)+len(read) == 0 {
		return args, nil, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return args, nil, nil
	}
	return bytes.TrimSpace(out.Bytes()), surplus, read
}

// prune returns a value without what its schema refuses as one too many, and the paths of that. It
// changes the value.
func prune(s *jsonschema.Schema, value any, at string) (pruned any, surplus []string) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			known := s.Properties[name]
			switch {
			case known != nil:
				var more []string
				v[name], more = prune(known, v[name], join(at, name))
				surplus = append(surplus, more...)
			case !refusesOthers(s) || isMisspelt(s, v, name):
			default:
				delete(v, name)
				surplus = append(surplus, join(at, name))
			}
		}
	case []any:
		var kept []any
		for i, entry := range v {
			place := at + "[" + strconv.Itoa(i) + "]"
			if text, ok := entry.(string); ok && s.UniqueItems && slices.Contains(v[:i], any(text)) {
				surplus = append(surplus, place)
				continue
			}
			if s.Items != nil {
				var more []string
				entry, more = prune(s.Items, entry, place)
				surplus = append(surplus, more...)
			}
			v[i] = entry
			kept = append(kept, entry)
		}
		if len(kept) < len(v) {
			return kept, surplus
		}
	}
	return value, surplus
}

// refusesOthers reports whether a schema refuses all fields but those that it names.
func refusesOthers(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil
}

// isMisspelt reports whether a name that the schema does not have is close to one that it has and the
// object lacks.
func isMisspelt(s *jsonschema.Schema, object map[string]any, name string) bool {
	var lacking []string
	for known := range s.Properties {
		if _, there := object[known]; !there {
			lacking = append(lacking, known)
		}
	}
	return strictyaml.Nearest(name, lacking) != ""
}
