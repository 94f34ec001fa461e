package recorded

import (
	"reflect"
	"strings"

	"pawl"
)

// Poison puts an attack into every text of events that is not one of our own words, and in
// the place of every "a" in their blobs. Blobs keep their hashes.
func Poison(events []pawl.Event, blobs map[pawl.Hash][]byte, attack string) {
	for i := range events {
		poison(reflect.ValueOf(events[i].Body).Elem(), attack)
	}
	for h, b := range blobs {
		blobs[h] = []byte(strings.ReplaceAll(string(b), "a", attack))
	}
}

// Poison is [Poison] of the log.
func (l *Log) Poison(attack string) { Poison(l.Events, l.blobs, attack) }

func poison(v reflect.Value, attack string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name != "Kind" && f.IsExported() { // a loop's kind is looked up in the recipe
				poison(v.Field(i), attack)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			poison(v.Elem(), attack)
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), attack)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() || v.Type() == reflect.TypeFor[pawl.CommitHash]() {
			v.SetString(attack + v.String() + attack)
		}
	}
}
