package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/tool"
)

// checked has something of every keyword that tools use.
var checked = pawl.ToolSpec{Name: "checked", Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1},
    "lines": {"type": "integer", "minimum": 1, "maximum": 9},
    "more": {"type": "number", "minimum": 0},
    "all": {"type": "boolean"},
    "kind": {"type": "string", "enum": ["a", "b"]},
    "letters": {"type": "array", "items": {"type": "string", "pattern": "^[A-Z]$"}, "minItems": 1, "maxItems": 3, "uniqueItems": true},
    "either": {"type": ["string", "null"]},
    "list": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}, "required": ["id"]}},
    "open": {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "integer"}}
  },
  "required": ["path"]
}`)}

func TestCheck(t *testing.T) {
	set := tool.New()
	for args, want := range map[string]string{
		`{"path": "x"}`: "",
		`{"path": "x", "lines": 3, "more": 0.5, "all": true, "kind": "b", "letters": ["A"], "either": null, "list": [{"id": "1"}]}`: "",
		`{"path": "x", "lines": 2.0}`:     "",
		`{"path": "x", "open": {"y": 1}}`: "",
		`{}`:                              `field "path" is missing, it must be a string`,
		``:                                `field "path" is missing, it must be a string`,
		`{"file": "x"}`:                   `field "file" is unknown, the fields are all, either, kind, letters, lines, list, more, open, path; field "path" is missing, it must be a string`,
		`{"path": 5}`:                     `field "path" must be a string, got the number 5`,
		`{"path": null}`:                  `field "path" must be a string, got null`,
		`{"path": ""}`:                    `field "path" must not be empty`,
		`{"path": "x", "lines": "ten"}`:   `field "lines" must be an integer from 1 to 9, got the string "ten"`,
		`{"path": "x", "lines": 10}`:      `field "lines" must be an integer from 1 to 9, got 10`,
		`{"path": "x", "lines": 1.5}`:     `field "lines" must be an integer from 1 to 9, got the number 1.5`,
		`{"path": "x", "more": -1}`:       `field "more" must be a number of at least 0, got -1`,
		`{"path": "x", "all": "yes"}`:     `field "all" must be true or false, got the string "yes"`,
		`{"path": "x", "kind": "c"}`:      `field "kind" must be one of "a", "b", got "c"`,
		`{"path": "x", "letters": "A"}`:   `field "letters" must be an array of strings, got the string "A"`,
		`{"path": "x", "letters": []}`:    `field "letters" must have at least 1 entries, got 0`,
		`{"path": "x", "letters": ["A", "B", "C", "D"]}`:         `field "letters" must have at most 3 entries, got 4`,
		`{"path": "x", "letters": ["A", "A"]}`:                   `field "letters" has "A" twice`,
		`{"path": "x", "letters": ["a"]}`:                        `field "letters[0]" must match ^[A-Z]$, got "a"`,
		`{"path": "x", "either": 1}`:                             `field "either" must be a string or null, got the number 1`,
		`{"path": "x", "list": [{"id": "1"}, {"n": 1, "m": 2}]}`: `field "list[1].m" is unknown, the fields are id, n; field "list[1].id" is missing, it must be a string`,
		`{"path": "x", "list": [{"id": "1", "n": {}}, 2]}`:       `field "list[0].n" must be an integer, got an object; field "list[1]" must be an object, got the number 2`,
		`[]`:                  `the arguments must be a JSON object, got an array`,
		`null`:                `the arguments must be a JSON object, got null`,
		`7`:                   `the arguments must be a JSON object, got the number 7`,
		`"{\"path\": \"x\"}"`: `the arguments must be a JSON object, got a string that holds one: send the object itself`,
		`"{\"path\": \"x"`:    `the arguments must be a JSON object; what came is not one: unexpected end of JSON input`,
		`{"path": "x"`:        `the arguments are not valid JSON: unexpected end of JSON input`,
		`{"path": 1e999}`:     `the arguments are not valid JSON: json: cannot unmarshal number 1e999 into Go value of type float64`,
	} {
		if got := set.Check(checked, json.RawMessage(args)); got != want {
			t.Errorf("%s:\n got  %s\n want %s", args, got, want)
		}
	}
	// What the explanation does not know, the library says in its own words.
	if got := set.Check(checked, json.RawMessage(`{"path": "x", "open": {"y": "z"}}`)); got == "" {
		t.Error("an additional property of the wrong type was accepted")
	}
}

func TestCheckLimits(t *testing.T) {
	set := tool.New()
	if got := set.Check(checked, json.RawMessage(`{"path": "`+strings.Repeat("x", 5<<20)+`"}`)); !strings.Contains(got, "4194304 are allowed") {
		t.Errorf("got %.100s", got)
	}
	deep := strings.Repeat(`{"path":`, 20_000) + strings.Repeat("}", 20_000)
	if got := set.Check(checked, json.RawMessage(deep)); !strings.Contains(got, "not valid JSON") {
		t.Errorf("got %.100s", got)
	}
	if got := set.Check(pawl.ToolSpec{Name: "broken", Schema: json.RawMessage(`{"type": 5}`)}, json.RawMessage(`{}`)); !strings.Contains(got, "broken cannot be called") {
		t.Errorf("got %.100s", got)
	}
}

// FuzzCheck looks for arguments that pass the check and are then no arguments,
// and for any that end the program.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{}`, `{"path": "x"}`, `{"path": "x", "offset": 1e3}`, `"{"`, `{"path": "\ud800"}`, `{"Path": "x"}`} {
		f.Add(seed)
	}
	set := tool.New(tool.Builtin()...)
	f.Fuzz(func(t *testing.T, args string) {
		for _, tl := range tool.Builtin() {
			if problem := set.Check(tl.Spec(), json.RawMessage(args)); problem != "" || args == "" {
				continue
			}
			var object map[string]any
			if err := json.Unmarshal([]byte(args), &object); err != nil {
				t.Errorf("%s accepts %q, which is no object: %v", tl.Spec().Name, args, err)
			}
		}
	})
}
