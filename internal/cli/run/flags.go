package run

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"pawl"
	"pawl/internal/start"
)

// addFlags adds the flags that a request may have.
func addFlags(to *pflag.FlagSet, flags *pawl.StartFlags) {
	for _, f := range start.Flags(flags) {
		usage := f.Usage
		if f.Word != "" {
			usage = strings.Replace(usage, f.Word, "`"+f.Word+"`", 1)
		}
		switch value := f.Value().(type) {
		case *[]string:
			to.StringArrayVar(value, f.Name, nil, usage)
		case *bool:
			to.BoolVar(value, f.Name, false, usage)
		case **bool:
			to.Var(&given[bool]{value, "bool", strconv.ParseBool}, f.Name, usage)
			to.Lookup(f.Name).NoOptDefVal = "true"
		case **int:
			to.Var(&given[int]{value, "int", strconv.Atoi}, f.Name, usage)
		case **string:
			to.Var(&given[string]{value, "string", func(text string) (string, error) { return text, nil }}, f.Name, usage)
		case **pawl.Quantity:
			to.Var(&given[pawl.Quantity]{value, "string", func(text string) (pawl.Quantity, error) { return pawl.Quantity(text), nil }}, f.Name, usage)
		default:
			panic(fmt.Sprintf("flag --%s: %T", f.Name, value)) // the flags are part of the program
		}
	}
}

// given is the value of a flag that is nil until it is given. It implements [pflag.Value].
type given[T any] struct {
	to    **T
	name  string // of the type
	parse func(string) (T, error)
}

// Set implements [pflag.Value].
func (g *given[T]) Set(text string) error {
	v, err := g.parse(text)
	if err == nil {
		*g.to = &v
	}
	return err
}

// String implements [pflag.Value].
func (g *given[T]) String() string {
	if g.to == nil || *g.to == nil {
		return ""
	}
	return fmt.Sprint(**g.to)
}

// Type implements [pflag.Value].
func (g *given[T]) Type() string { return g.name }
