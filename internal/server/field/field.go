// Package field says which field of a request is wrong, where JSON cannot be read as its type.
package field

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pawl"
)

// mostShown is how much of a value an error shows, in bytes.
const mostShown = 80

// Wrong says which field of a JSON object cannot be read into what v points to, what it has and what
// would be right; nil when it is none of them. Of several it is any.
func Wrong(v any, data []byte) *pawl.Error {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return wrongBelow(t, data, "")
}

func wrongBelow(t reflect.Type, data []byte, path string) *pawl.Error {
	var object map[string]json.RawMessage
	fields := fieldsOf(t)
	_ = json.Unmarshal(data, &object) // what is no object has no fields
	for name, value := range object {
		at := path + name
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return strings.EqualFold(jsonName(f), name) })
		if i < 0 {
			of := ""
			if path != "" {
				of = " of " + strings.TrimSuffix(path, ".")
			}
			return pawl.Errorf(pawl.CodeInvalid, "%s: there is no such field", shown(at)).WithField(shown(at)).
				WithHint("the fields%s are: %s", of, strings.Join(names(fields), ", "))
		}
		of := fields[i].Type
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		err := json.Unmarshal(value, reflect.New(of).Interface())
		if of.Kind() == reflect.Struct {
			if below := wrongBelow(of, value, at+"."); below != nil {
				return below
			}
		}
		if err != nil {
			return pawl.Errorf(pawl.CodeInvalid, "%s: got %s, want %s", at, shown(string(value)), wanted(of, err)).WithField(at)
		}
	}
	return nil
}

// fieldsOf are the fields of a struct that JSON knows, those of embedded structs included.
func fieldsOf(t reflect.Type) (out []reflect.StructField) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && jsonName(f) != "" {
			out = append(out, f)
		}
	}
	return out
}

// jsonName is a field's name in JSON; empty when it has none of its own.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

func names(fields []reflect.StructField) (out []string) {
	for _, f := range fields {
		out = append(out, jsonName(f))
	}
	return out
}

// wanted says in words what a type reads.
func wanted(t reflect.Type, err error) string {
	switch {
	case t == reflect.TypeFor[pawl.Hash]():
		return "a hash of 64 hexadecimal digits"
	case t == reflect.TypeFor[pawl.Quantity]():
		return "a number or a text"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list of texts"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return fmt.Sprintf("something else: %v", err)
}

// shown is a piece of a request as an error shows it.
func shown(text string) string {
	if len(text) > mostShown {
		return strings.ToValidUTF8(text[:mostShown], "") + "…"
	}
	return text
}
