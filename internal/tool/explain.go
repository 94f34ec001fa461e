package tool

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// explain adds to problems what is wrong with a value, in words. It knows the
// keywords that tools use; the library decides what is valid, so nothing found
// here only means that the library's own words have to do.
func explain(problems []string, s *jsonschema.Schema, value any, at string) []string {
	if !fits(s, value) {
		return append(problems, fmt.Sprintf("%s must be %s, got %s", field(at), expected(s), kind(value)))
	}
	if s.Enum != nil && !slices.Contains(s.Enum, value) {
		return append(problems, fmt.Sprintf("%s must be %s, got %s", field(at), expected(s), show(value)))
	}
	switch v := value.(type) {
	case map[string]any:
		return explainObject(problems, s, v, at)
	case []any:
		return explainArray(problems, s, v, at)
	case string:
		return explainString(problems, s, v, at)
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			return append(problems, fmt.Sprintf("%s must be %s, got %s", field(at), expected(s), show(value)))
		}
	}
	return problems
}

func explainObject(problems []string, s *jsonschema.Schema, object map[string]any, at string) []string {
	names := slices.Sorted(maps.Keys(object))
	for _, name := range names {
		if _, known := s.Properties[name]; !known && refusesOthers(s) {
			problems = append(problems, fmt.Sprintf("%s is unknown, the fields are %s",
				field(join(at, name)), words(slices.Sorted(maps.Keys(s.Properties)))))
		}
	}
	for _, name := range s.Required {
		if _, there := object[name]; there {
			continue
		}
		p := field(join(at, name)) + " is missing"
		if schema := s.Properties[name]; schema != nil {
			p += ", it must be " + expected(schema)
		}
		problems = append(problems, p)
	}
	for _, name := range names {
		if schema := s.Properties[name]; schema != nil {
			problems = explain(problems, schema, object[name], join(at, name))
		}
	}
	return problems
}

func explainArray(problems []string, s *jsonschema.Schema, array []any, at string) []string {
	if s.MinItems != nil && len(array) < *s.MinItems {
		problems = append(problems, fmt.Sprintf("%s must have at least %d entries, got %d", field(at), *s.MinItems, len(array)))
	}
	if s.MaxItems != nil && len(array) > *s.MaxItems {
		problems = append(problems, fmt.Sprintf("%s must have at most %d entries, got %d", field(at), *s.MaxItems, len(array)))
	}
	for i, v := range array {
		if s.Items != nil {
			problems = explain(problems, s.Items, v, at+"["+strconv.Itoa(i)+"]")
		}
		if text, ok := v.(string); ok && s.UniqueItems && slices.Contains(array[:i], v) {
			problems = append(problems, fmt.Sprintf("%s has %q twice", field(at), text))
		}
	}
	return problems
}

func explainString(problems []string, s *jsonschema.Schema, text, at string) []string {
	n := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && n == 0 && *s.MinLength == 1:
		return append(problems, field(at)+" must not be empty")
	case s.MinLength != nil && n < *s.MinLength:
		return append(problems, fmt.Sprintf("%s must have at least %d characters, got %d", field(at), *s.MinLength, n))
	case s.MaxLength != nil && n > *s.MaxLength:
		return append(problems, fmt.Sprintf("%s must have at most %d characters, got %d", field(at), *s.MaxLength, n))
	}
	if s.Pattern != "" {
		if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(text) {
			return append(problems, fmt.Sprintf("%s must match %s, got %s", field(at), s.Pattern, show(text)))
		}
	}
	return problems
}

// fits reports whether a value has one of the types of a schema.
func fits(s *jsonschema.Schema, value any) bool {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 {
		return true
	}
	return slices.ContainsFunc(types, func(t string) bool {
		switch v := value.(type) {
		case nil:
			return t == "null"
		case bool:
			return t == "boolean"
		case float64:
			return t == "number" || t == "integer" && v == float64(int64(v))
		case string:
			return t == "string"
		case []any:
			return t == "array"
		case map[string]any:
			return t == "object"
		}
		return false
	})
}

// expected says in words what a schema asks for.
func expected(s *jsonschema.Schema) string {
	if s.Enum != nil {
		var values []string
		for _, v := range s.Enum {
			values = append(values, show(v))
		}
		return "one of " + strings.Join(values, ", ")
	}
	named := map[string]string{"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
		"array": "an array", "object": "an object", "null": "null"}
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	var parts []string
	for _, t := range types {
		parts = append(parts, named[t])
	}
	text := strings.Join(parts, " or ")
	if text == "" {
		text = "something else"
	}
	if s.Type == "array" && s.Items != nil && s.Items.Type != "" {
		text += " of " + strings.TrimPrefix(strings.TrimPrefix(named[s.Items.Type], "a "), "an ") + "s"
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		text += fmt.Sprintf(" from %s to %s", show(*s.Minimum), show(*s.Maximum))
	case s.Minimum != nil:
		text += fmt.Sprintf(" of at least %s", show(*s.Minimum))
	case s.Maximum != nil:
		text += fmt.Sprintf(" of at most %s", show(*s.Maximum))
	}
	return text
}

// kind names a value's type, and small values themselves.
func kind(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return "the number " + show(v)
	case string:
		return "the string " + show(v)
	case []any:
		return "an array"
	}
	return "an object"
}

// show writes a value for the model, cut short.
func show(value any) string {
	switch v := value.(type) {
	case string:
		if runes := []rune(v); len(runes) > 40 {
			v = string(runes[:40]) + "…"
		}
		return strconv.Quote(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return kind(value)
}

func field(at string) string {
	if at == "" {
		return "the arguments"
	}
	return fmt.Sprintf("field %q", at)
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// words lists names for a sentence.
func words(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
