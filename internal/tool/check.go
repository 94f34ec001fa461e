package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
)

// maxArgs is how many bytes the arguments of a call may have.
const maxArgs = 4 << 20

// checker checks arguments against schemas and keeps the schemas it has resolved.
type checker struct {
	mu       sync.Mutex
	resolved map[string]*jsonschema.Resolved // by the schema's text
}

// check is [Set.Check].
func (c *checker) check(spec pawl.ToolSpec, args json.RawMessage) string {
	if len(args) > maxArgs {
		return fmt.Sprintf("the arguments have %d bytes, %d are allowed", len(args), maxArgs)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(args, &value); err != nil {
		return fmt.Sprintf("the arguments are not valid JSON: %v", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return notAnObject(value)
	}
	schema, err := c.resolve(spec.Schema)
	if err != nil {
		// A tool whose schema is broken must not be called unchecked.
		return fmt.Sprintf("the tool %s cannot be called: its schema cannot be read: %v", spec.Name, err)
	}
	err = schema.Validate(object)
	if err == nil {
		return ""
	}
	if problems := explain(nil, schema.Schema(), object, ""); len(problems) > 0 {
		return strings.Join(problems[:min(len(problems), 5)], "; ")
	}
	return err.Error()
}

// notAnObject says what is wrong with arguments that are something else. Model
// adapters hand over what was no JSON at all as a string.
func notAnObject(value any) string {
	text, ok := value.(string)
	if !ok {
		return "the arguments must be a JSON object, got " + kind(value)
	}
	var inner map[string]any
	if err := json.Unmarshal([]byte(text), &inner); err != nil {
		return fmt.Sprintf("the arguments must be a JSON object; what came is not one: %v", err)
	}
	return "the arguments must be a JSON object, got a string that holds one: send the object itself"
}

func (c *checker) resolve(text json.RawMessage) (*jsonschema.Resolved, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.resolved[string(text)]; ok {
		return r, nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	seal(&schema)
	r, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	if c.resolved == nil {
		c.resolved = make(map[string]*jsonschema.Resolved)
	}
	c.resolved[string(text)] = r
	return r, nil
}

// seal makes every object with named properties refuse others, unless its
// schema says something about them: a misspelt field must not be dropped silently.
func seal(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 && s.AdditionalProperties == nil && s.PatternProperties == nil && s.UnevaluatedProperties == nil &&
		s.AllOf == nil && s.AnyOf == nil && s.OneOf == nil && s.If == nil && s.Ref == "" {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	for _, p := range s.Properties {
		seal(p)
	}
	seal(s.Items)
}
