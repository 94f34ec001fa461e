package suite

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

// goSelecting are flags of go test that say which tests run or how they are told of, with
// whether they take a value.
var goSelecting = map[string]bool{"run": true, "skip": true, "list": true, "bench": true, "fuzz": true, "v": false, "json": false}

// goName is the name of a flag of go test, which may be given as one of the tests' binary.
func goName(w word) string { return strings.TrimPrefix(flagName(w), "test.") }

// goParts returns the arguments up to -args, without those that select, the values of these by
// name, and the rest.
func goParts(args []word) (own []word, selecting map[string]word, rest []word, err error) {
	selecting = map[string]word{}
	for i := 0; i < len(args); i++ {
		name := goName(args[i])
		takes, selects := goSelecting[name]
		switch {
		case name == "args":
			return own, selecting, args[i:], nil
		case name == "c" || name == "exec" || name == "n" || name == "h" || name == "help":
			return nil, nil, nil, fmt.Errorf("it is run with -%s", name)
		case !selects:
			own = append(own, args[i])
			continue
		}
		value := word{value: "true", known: args[i].known}
		if _, v, given := strings.Cut(args[i].value, "="); given {
			value.value = v
		} else if takes {
			if i+1 == len(args) {
				return nil, nil, nil, fmt.Errorf("it ends in -%s", name)
			}
			i++
			value = args[i]
		}
		selecting[name] = value
	}
	return own, selecting, nil, nil
}

// goWith puts flags in the place of those that select.
func (s *Suite) goWith(flags []word) (*Suite, error) {
	own, _, rest, err := goParts(s.args())
	if err != nil {
		return nil, err
	}
	return s.edit(slices.Concat(flags, own, rest))
}

// goJSON has go test print events.
func (s *Suite) goJSON() (*Suite, error) {
	_, selecting, _, err := goParts(s.args())
	switch {
	case err != nil:
		return nil, err
	case selecting["list"].value != "":
		return nil, errors.New("it lists tests")
	case s.redirect != "":
		return nil, errors.New("its streams are one")
	}
	_, json := selecting["json"]
	_, verbose := selecting["v"]
	if json && !verbose {
		return s, nil
	}
	// With -v the process of the tests marks its own lines no longer, and any line counts.
	args := slices.DeleteFunc(slices.Clone(s.args()), func(w word) bool { return goName(w) == "v" || goName(w) == "json" })
	return s.edit(slices.Insert(args, 0, literal("-json")))
}

// GoVerbose reports whether go test was asked to print what passing tests print.
func (s *Suite) GoVerbose() bool {
	_, selecting, _, err := goParts(s.args())
	return err == nil && selecting["v"].value != "" && selecting["v"].value != "false"
}

// GoEvents reports whether the command itself has go test print events.
func (s *Suite) GoEvents() bool {
	_, selecting, _, err := goParts(s.args())
	return err == nil && selecting["json"].value == "true"
}

var goFunction = pattern.Of(`^(?:Test|Fuzz|Example)[\pL\pN_]*$`)

func (s *Suite) onlyGo(names []string) (*Suite, error) {
	own, selecting, rest, err := goParts(s.args())
	if err != nil {
		return nil, err
	}
	functions := map[string]bool{}
	for _, name := range names {
		_, local := report.Split(topOf(name))
		if !goFunction.MatchString(local) {
			return nil, fmt.Errorf("%q is not the name of a test function", name)
		}
		functions[regexp.QuoteMeta(local)] = true
	}
	flags := literals("-run=^(" + strings.Join(sorted(functions), "|") + ")$")
	for _, name := range []string{"json", "v"} {
		if value, given := selecting[name]; given {
			flags = append(flags, literal("-"+name+"="+value.value))
		}
	}
	return s.edit(slices.Concat(flags, own, rest))
}

// topOf is the test that a subtest belongs to in the end; a test that is none is its own.
func topOf(name string) string {
	_, local := report.Split(name)
	if i := strings.IndexByte(local, '/'); i > 0 {
		return name[:len(name)-len(local)+i]
	}
	return name
}

// goSelects returns what reports whether the command itself runs a test function.
func (s *Suite) goSelects() (func(function string) bool, error) {
	_, selecting, _, err := goParts(s.args())
	if err != nil {
		return nil, err
	}
	patterns := map[string]*regexp.Regexp{}
	for _, flag := range []string{"run", "skip"} {
		value, given := selecting[flag]
		if !given {
			continue
		}
		// Up to the first slash it is for the function; what it skips below is none.
		top, _, below := strings.Cut(value.value, "/")
		if flag == "skip" && below {
			continue
		}
		if patterns[flag], err = regexp.Compile(top); err != nil || !value.known || strings.ContainsAny(top, "[(") && below {
			return nil, fmt.Errorf("which tests -%s %s means is not known", flag, value.raw)
		}
	}
	return func(function string) bool {
		run, skip := patterns["run"], patterns["skip"]
		return (run == nil || run.MatchString(function)) && (skip == nil || !skip.MatchString(function))
	}, nil
}
