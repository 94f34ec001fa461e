package tool

import (
	"encoding/json"
	"slices"

	"pawl"
)

// Set is a choice of tools by name, with a cache of their schemas. Safe for
// concurrent use.
type Set struct {
	tools   map[string]pawl.Tool
	checker checker
}

// New returns a set of tools. Of two with the same name the later one counts.
func New(tools ...pawl.Tool) *Set {
	s := &Set{tools: make(map[string]pawl.Tool, len(tools))}
	for _, t := range tools {
		s.tools[t.Spec().Name] = t
	}
	return s
}

// Builtin are the tools this package has.
func Builtin() []pawl.Tool {
	return []pawl.Tool{Read{}, Write{}, Edit{}, List{}, Glob{}, Grep{}, Run{}, Update{}, Remember{}, Blackboard{}}
}

// Lookup finds a tool by its name.
func (s *Set) Lookup(name string) (pawl.Tool, bool) {
	t, ok := s.tools[name]
	return t, ok
}

// Names are the names of all tools, sorted.
func (s *Set) Names() []string {
	names := make([]string, 0, len(s.tools))
	for name := range s.tools {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Specs are the specs of the named tools, in the order of the names.
func (s *Set) Specs(names []string) ([]pawl.ToolSpec, error) {
	specs := make([]pawl.ToolSpec, 0, len(names))
	for _, name := range names {
		t, ok := s.tools[name]
		if !ok {
			return nil, pawl.Errorf(pawl.CodeInvalid, "there is no tool %q", name).WithHint("the tools are %s", words(s.Names()))
		}
		specs = append(specs, t.Spec())
	}
	return specs, nil
}

// Check says in words for the model what is wrong with the arguments of a call,
// naming the field and what is expected; empty means nothing is. The spec need
// not be of a tool in the set.
func (s *Set) Check(spec pawl.ToolSpec, args json.RawMessage) string {
	return s.checker.check(spec, args)
}
