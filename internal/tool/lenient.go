package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl/internal/pattern"
)

// lenient returns a value in the form that its schema asks for where it can mean only one thing, and says what was read
// as what. It changes the value. Which that is:
//
//   - a percentage as a share of one, with a fraction, or as a text such as "85%"
//   - a whole number as a text, and a number in a list of texts, such as that of a decision
//   - a text where a list of texts is wanted, and a list that is written as a text
//   - null for a field that may be left out
//
// Words are never guessed, nor what is true: a verdict, a decision and an answer to a finding are refused unless they
// are exactly what the schema has.
func lenient(s *jsonschema.Schema, value any, at string) (any, []string) {
	var read []string
	as := func(now any, shown string) {
		read = append(read, fmt.Sprintf("%s %s as %s", at, written(value), shown))
		value = now
	}
	switch v := value.(type) {
	case json.Number:
		switch n, ok := whole(s, v.String()); {
		case s.Type == "string" && s.Enum == nil && strings.HasSuffix(at, "]"):
			as(v.String(), "a text")
		case s.Type == "integer" && ok && n.String() != v.String():
			as(n, n.String())
		}
	case string:
		switch {
		case s.Type == "integer" && s.Enum == nil:
			if n, ok := whole(s, v); ok {
				as(n, n.String())
			}
		case s.Type == "array":
			if list, ok := listOf(s, v); ok {
				as(list, "a list")
			}
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			known := s.Properties[name]
			if known == nil {
				continue
			}
			if v[name] == nil && !fits(known, nil) && !slices.Contains(s.Required, name) {
				delete(v, name)
				read = append(read, join(at, name)+" null as left out")
				continue
			}
			var more []string
			v[name], more = lenient(known, v[name], join(at, name))
			read = append(read, more...)
		}
	case []any:
		for i := range v {
			if s.Items != nil {
				var more []string
				v[i], more = lenient(s.Items, v[i], at+"["+strconv.Itoa(i)+"]")
				read = append(read, more...)
			}
		}
	}
	return value, read
}

// number is what is read as a whole number or a percentage.
var number = pattern.Of(`^\s*([+-]?\d{1,15}(?:\.\d{1,15})?)\s*(%|percent)?\s*$`)

// whole returns the whole number that a text means; false if it means none.
//
// A percentage below 1 that is no whole number is a share: 0.9 is 90. 1 stays 1, though somebody may mean all of it: it
// is a percentage as it stands, and whoever is taken for less sure than they are costs a look, and whoever
// is taken for surer saves one that was due. For the same reason fractions of a percent are cut off, and nothing is rounded up to 100.
func whole(s *jsonschema.Schema, text string) (json.Number, bool) {
	m := number.FindSubmatch([]byte(text))
	percent := isPercentage(s)
	if m == nil || len(m[2]) > 0 && !percent {
		return "", false
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	switch {
	case err != nil, v != math.Trunc(v) && !percent:
		return "", false
	case percent && len(m[2]) == 0 && v > 0 && v < 1:
		v *= 100
	}
	const noise = 1e-9 // 0.29 * 100 is less than 29
	n := int64(math.Floor(v + noise))
	if percent && v < 100 {
		n = min(n, 99)
	}
	return json.Number(strconv.FormatInt(n, 10)), true
}

// isPercentage reports whether a schema asks for percent, which are whole numbers from 0 to 100.
func isPercentage(s *jsonschema.Schema) bool {
	return s.Type == "integer" && s.Minimum != nil && *s.Minimum == 0 && s.Maximum != nil && *s.Maximum == 100
}

// listOf returns the list that a text stands for: the one that is written in it as JSON, or the one with it as its only
// entry. Nothing is a list of nothing.
func listOf(s *jsonschema.Schema, text string) ([]any, bool) {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "[") {
		decoder := json.NewDecoder(strings.NewReader(trimmed))
		decoder.UseNumber()
		var list []any
		if decoder.Decode(&list) == nil && !decoder.More() {
			return list, true
		}
	}
	switch {
	case s.Items == nil || s.Items.Type != "string":
		return nil, false
	case trimmed == "":
		return []any{}, true
	}
	return []any{text}, true
}

// written is a value in a note, cut short.
func written(value any) string {
	if n, ok := value.(json.Number); ok {
		return n.String()
	}
	return show(value)
}
