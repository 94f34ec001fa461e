package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/tool"
)

var lenient = pawl.ToolSpec{Name: "submit_x", Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "sure": {"type": "integer", "minimum": 0, "maximum": 100},
    "count": {"type": "integer", "minimum": 0, "maximum": 1000},
    "why": {"type": "string", "minLength": 1},
    "verdict": {"type": "string", "enum": ["pass", "fail"]},
    "accepted": {"type": "boolean"},
    "seen": {"type": "array", "items": {"type": "string"}},
    "parts": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}, "gap": {"type": "string"}}, "required": ["id"], "additionalProperties": false}}
  },
  "required": ["verdict"],
  "additionalProperties": false
}`)}

// F-68: what can mean only one thing is read in the form that was asked for, and noted. What decides is never guessed.
func TestLenient(t *testing.T) {
	set := tool.New()
	for given, want := range map[string]struct{ args, read string }{
		`"sure": 90`:                   {`"sure":90`, ""},
		`"sure": 0.9`:                  {`"sure":90`, "sure 0.9 as 90"},
		`"sure": 0.29`:                 {`"sure":29`, "sure 0.29 as 29"},
		`"sure": 0.005`:                {`"sure":0`, "sure 0.005 as 0"},
		`"sure": 0.9999`:               {`"sure":99`, "sure 0.9999 as 99"},
		`"sure": 0.99999999999999`:     {`"sure":99`, "sure 0.99999999999999 as 99"},
		`"sure": 0`:                    {`"sure":0`, ""},
		`"sure": 0.0`:                  {`"sure":0`, "sure 0.0 as 0"},
		`"sure": 1`:                    {`"sure":1`, ""}, // a percentage as it stands
		`"sure": 1.0`:                  {`"sure":1`, "sure 1.0 as 1"},
		`"sure": 1.5`:                  {`"sure":1`, "sure 1.5 as 1"},
		`"sure": 85.7`:                 {`"sure":85`, "sure 85.7 as 85"},
		`"sure": 100`:                  {`"sure":100`, ""},
		`"sure": 100.5`:                {`"sure":100`, "sure 100.5 as 100"},
		`"sure": 101`:                  {"", ""},
		`"sure": -0.5`:                 {"", "sure -0.5 as -1"},
		`"sure": "85"`:                 {`"sure":85`, `sure "85" as 85`},
		`"sure": " 85 % "`:             {`"sure":85`, `sure " 85 % " as 85`},
		`"sure": "0.85"`:               {`"sure":85`, `sure "0.85" as 85`},
		`"sure": "0.85%"`:              {`"sure":0`, `sure "0.85%" as 0`},
		`"sure": "85 percent"`:         {`"sure":85`, `sure "85 percent" as 85`},
		`"sure": "high"`:               {"", ""},
		`"sure": ""`:                   {"", ""},
		`"sure": "85 of 100"`:          {"", ""},
		`"sure": [85]`:                 {"", ""},
		`"sure": true`:                 {"", ""},
		`"sure": null`:                 {``, "sure null as left out"},
		`"count": 0.9`:                 {"", ""},
		`"count": 3.5`:                 {"", ""},
		`"count": 3.0`:                 {`"count":3`, "count 3.0 as 3"},
		`"count": "3"`:                 {`"count":3`, `count "3" as 3`},
		`"count": "3%"`:                {"", ""},
		`"count": "3 files"`:           {"", ""},
		`"count": "2000"`:              {"", `count "2000" as 2000`},
		`"why": 7`:                     {"", ""}, // no sentence
		`"why": true`:                  {"", ""},
		`"why": ["a"]`:                 {"", ""},
		`"why": null`:                  {``, "why null as left out"},
		`"accepted": "true"`:           {"", ""}, // what decides
		`"accepted": 1`:                {"", ""},
		`"seen": "a.go:1"`:             {`"seen":["a.go:1"]`, `seen "a.go:1" as a list`},
		`"seen": ""`:                   {`"seen":[]`, `seen "" as a list`},
		`"seen": "[\"a\", 2]"`:         {`"seen":["a","2"]`, `seen "[\"a\", 2]" as a list, seen[1] 2 as a text`},
		`"seen": "[x] is not done"`:    {`"seen":["[x] is not done"]`, `seen "[x] is not done" as a list`},
		`"seen": [1, "b"]`:             {`"seen":["1","b"]`, "seen[0] 1 as a text"},
		`"seen": [null]`:               {"", ""},
		`"seen": {"a": 1}`:             {"", ""},
		`"parts": "[{\"id\": \"1\"}]"`: {`"parts":[{"id":"1"}]`, `parts "[{\"id\": \"1\"}]" as a list`},
		`"parts": "one"`:               {"", ""},
		`"parts": {"id": "1"}`:         {"", ""},
		`"parts": [{"id": "1", "n": "2", "gap": null}]`: {`"parts":[{"id":"1","n":2}]`, `parts[0].gap null as left out, parts[0].n "2" as 2`},
		`"parts": [{"id": null}]`:                       {"", ""},
	} {
		args := `{` + given + `,"verdict":"pass"}`
		got, surplus, read := set.Prune(lenient, json.RawMessage(args))
		problem := set.Check(lenient, got)
		switch wanted := strings.Replace("{"+want.args+`,"verdict":"pass"}`, "{,", "{", 1); {
		case strings.Join(read, ", ") != want.read || len(surplus) > 0:
			t.Errorf("%s: read %q without %v, want %q", given, read, surplus, want.read)
		case want.args == "" && want.read == "" && problem == "", problem != "" && want.args != "":
			t.Errorf("%s: %s, %q", given, got, problem)
		case want.args != "" && !sameJSON(t, got, wanted):
			t.Errorf("%s: %s, want %s", given, got, wanted)
		}
	}
	for _, args := range []string{`{"verdict":"PASS"}`, `{"verdict":"passed"}`, `{"verdict":true}`, `{"verdict":null}`, `{"verdict":["pass"]}`, `{"verdict":1}`, `{}`} {
		if got, _, read := set.Prune(lenient, json.RawMessage(args)); set.Check(lenient, got) == "" || read != nil {
			t.Errorf("%s is taken as %s, read %v", args, got, read)
		}
	}
}

func sameJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// What is right is left as it is, and what was read once needs no second reading.
func TestLenientOnce(t *testing.T) {
	set := tool.New()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{`0.5`, `1`, `1.0`, `"7"`, `"7%"`, `"x"`, `""`, `null`, `[]`, `["a",1]`, `"[1]"`, `[{"id":1}]`, `{}`, `true`, `-3`, `1e3`, `99.99999999999999`})
		var fields []string
		for _, name := range []string{"sure", "count", "why", "verdict", "accepted", "seen", "parts"} {
			if rapid.Bool().Draw(t, name+" given") {
				fields = append(fields, `"`+name+`":`+value.Draw(t, name))
			}
		}
		args := json.RawMessage("{" + strings.Join(fields, ",") + "}")
		got, _, read := set.Prune(lenient, args)
		if again, surplus, more := set.Prune(lenient, got); string(again) != string(got) || len(surplus)+len(more) > 0 {
			t.Fatalf("%s became %s, and again %s: %v", args, got, again, more)
		}
		if set.Check(lenient, args) == "" && !strings.Contains(string(args), "1.0") && string(got) != string(args) {
			t.Fatalf("%s was right and became %s: %v", args, got, read)
		}
	})
}
