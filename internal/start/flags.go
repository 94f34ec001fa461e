package start

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"pawl"
	"pawl/internal/config"
)

// Flag is a flag of pawl run that decides about the run.
type Flag struct {
	// Name is the flag's name without dashes, Field the name of the request's field.
	Name, Field string
	// Usage says what the flag means. Word is the word in it that stands for the value; empty
	// for a flag without one.
	Usage, Word string
	// Key is the setting that the flag sets; empty = none by itself.
	Key string

	value reflect.Value
}

// Flags are the flags of f, in the order of its fields. They read and change f.
func Flags(f *pawl.StartFlags) []Flag {
	v := reflect.ValueOf(f).Elem()
	out := make([]Flag, v.NumField())
	for i := range out {
		tag := v.Type().Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		out[i] = Flag{Name: strings.ReplaceAll(name, "_", "-"), Field: field(name), Usage: tag.Get("doc"), Word: tag.Get("word"), Key: tag.Get("key"), value: v.Field(i)}
	}
	return out
}

// Value is where the flag's value is: a pointer to []string, bool, *bool, *int, *string or
// *pawl.Quantity.
func (f Flag) Value() any { return f.value.Addr().Interface() }

// IsGiven reports whether the flag is given.
func (f Flag) IsGiven() bool { return !f.value.IsZero() }

// texts are the values of the flag as the configuration reads them; none when it is not given.
func (f Flag) texts() []string {
	v := f.value
	if v.Kind() == reflect.Slice {
		return v.Interface().([]string) //nolint:forcetypeassert // the fields of StartFlags have no other slices
	}
	if v.IsZero() {
		return nil
	}
	text := fmt.Sprint(reflect.Indirect(v).Interface())
	if f.Key == "limits.time_minutes" {
		text = config.Minutes(text)
	}
	return []string{text}
}

// settings are the flags that are settings of the configuration.
func settings(flags *pawl.StartFlags) (out []config.Flag) {
	for _, f := range Flags(flags) {
		if f.Key == "" {
			continue
		}
		for _, text := range f.texts() {
			out = append(out, config.Flag{Name: "--" + f.Name, Key: f.Key, Value: text})
		}
	}
	return out
}

// wrong is the error of a flag. Its message begins with the flag's name, whoever gave it: the fields
// of a request are called like the flags.
func wrong(flag, format string, args ...any) *pawl.Error {
	return pawl.Errorf(pawl.CodeInvalid, "--"+flag+" "+format, args...).WithField(field(flag))
}

func field(flag string) string { return "flags." + strings.ReplaceAll(flag, "-", "_") }

// named adds to an error of the configuration which flag it is about, if it begins with one.
func named(err error, flags *pawl.StartFlags) error {
	e, ok := errors.AsType[*pawl.Error](err)
	if !ok {
		return err
	}
	if strings.HasPrefix(e.Message, "--recipe:") && !strings.Contains(e.Message, "\n") {
		return e.WithField("recipe")
	}
	for _, f := range Flags(flags) {
		if f.IsGiven() && strings.HasPrefix(e.Message, "--"+f.Name+":") && !strings.Contains(e.Message, "\n") {
			return e.WithField(f.Field)
		}
	}
	return err
}
