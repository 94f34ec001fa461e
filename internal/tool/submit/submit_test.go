package submit_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/tool"
	"pawl/internal/tool/submit"
)

var criteria = []pawl.Criterion{{ID: "AC-001", Text: "one"}, {ID: "AC-002", Text: "two"}}

// facts writes facts as words.
func facts(f pawl.Facts) string {
	var words []string
	for _, x := range f {
		words = append(words, x.Name+"="+x.Value)
	}
	return strings.Join(words, " ")
}

// check does what happens to a result that is handed in: the schema, then what
// lies beyond it.
func check(tb testing.TB, name, args string, criteria []pawl.Criterion) (pawl.Facts, string) {
	tb.Helper()
	spec, ok := submit.Results{}.Spec(name)
	if !ok {
		tb.Fatalf("there is no result %s", name)
	}
	if problem := tool.New().Check(spec, json.RawMessage(args)); problem != "" {
		return nil, problem
	}
	return submit.Results{}.Facts(name, json.RawMessage(args), criteria)
}

func TestAccepted(t *testing.T) {
	for _, test := range []struct {
		name, result, args, want string
		criteria                 []pawl.Criterion
	}{
		{name: "Result", result: "result", args: `{"summary": "done", "agent": "frontend"}`, want: ""},
		{
			name: "Assessment", result: "assessment",
			args: `{"files": 2, "lines": 40, "new_dependencies": 0, "type": "implementation", "risks": ["breaking_change", "security_sensitive"], "why": "x"}`,
			want: "files=2 lines=40 new_dependencies=0 type=implementation risk=breaking_change risk=security_sensitive",
		},
		{ // D-42
			name: "Proposal", result: "proposal",
			args: `{"diagnosis": "d", "confidence": 70, "evidence": ["a.go:3"], "fix_location": "a.go", "fix_approach": "f", "architectural_insights": "i"}`,
			want: "confidence=70",
		},
		{name: "Ballot", result: "ballot", args: `{"ranking": ["C", "A", "B"], "why": "w"}`, want: "rank=C rank=A rank=B"},
		{
			name: "Pass", result: "verdict", criteria: criteria,
			args: `{"criteria": [{"id": "AC-002", "status": "pass", "evidence": ["b.go:1"]}, {"id": "AC-001", "status": "pass", "evidence": ["a.go:1"]}], "summary": "both are met"}`,
			want: "decision=pass reason=both are met met=2 total=2",
		},
		{
			name: "Fail", result: "verdict", criteria: criteria,
			args: `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["a.go:1"]}, {"id": "AC-002", "status": "fail", "evidence": [], "gap": "no test"}], "summary": "s"}`,
			want: "decision=fail reason=1 of 2 criteria met; AC-002: no test met=1 total=2 unmet=AC-002",
		},
		{
			name: "PartlyMetIsNotMet", result: "verdict", criteria: criteria[:1],
			args: `{"criteria": [{"id": "AC-001", "status": "partial", "evidence": ["a.go:1"], "gap": "the error path"}], "summary": "s"}`,
			want: "decision=fail reason=0 of 1 criteria met; AC-001: the error path met=0 total=1 unmet=AC-001",
		},
		{
			name: "NoCriteria", result: "verdict",
			args: `{"criteria": [{"id": "GOAL", "status": "pass", "evidence": ["a.go:1"]}], "summary": "it does"}`,
			want: "decision=pass reason=it does met=1 total=1",
		},
		{
			name: "HaltNeedsNotDecideAll", result: "verdict", criteria: criteria,
			args: `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["a.go:1"]}], "summary": "s", "halt": "a key is committed\nin a.go"}`,
			want: "decision=halt reason=a key is committed in a.go met=1 total=2 unmet=AC-002",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, problem := check(t, test.result, test.args, test.criteria)
			if problem != "" || facts(got) != test.want {
				t.Errorf("got %q, problem %q, want %q", facts(got), problem, test.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	pass := `{"id": "AC-001", "status": "pass", "evidence": ["a.go:1"]}`
	for _, test := range []struct{ name, result, args, says string }{
		{"NoSummary", "result", `{}`, `"summary" is missing`},
		{"BlankSummary", "result", `{"summary": " "}`, "summary is empty"},
		{"UnknownField", "result", `{"summary": "x", "state": "done"}`, `"state" is unknown`},
		{"NegativeFiles", "assessment", `{"files": -1, "lines": 1, "new_dependencies": 0, "type": "test", "risks": [], "why": "x"}`, `"files" must be an integer`},
		{"UnknownType", "assessment", `{"files": 1, "lines": 1, "new_dependencies": 0, "type": "magic", "risks": [], "why": "x"}`, `"type" must be one of`},
		{"UnknownRisk", "assessment", `{"files": 1, "lines": 1, "new_dependencies": 0, "type": "test", "risks": ["boring"], "why": "x"}`, `"risks[0]" must be one of`},
		{"RiskTwice", "assessment", `{"files": 1, "lines": 1, "new_dependencies": 0, "type": "test", "risks": ["breaking_change", "breaking_change"], "why": "x"}`, `"breaking_change" twice`},
		{"TooSure", "proposal", `{"diagnosis": "d", "confidence": 101, "evidence": ["e"], "fix_location": "l", "fix_approach": "a"}`, `"confidence" must be an integer from 0 to 100`},
		{"BlankEvidence", "proposal", `{"diagnosis": "d", "confidence": 1, "evidence": [" "], "fix_location": "l", "fix_approach": "a"}`, "evidence is empty"},
		{"BlankApproach", "proposal", `{"diagnosis": "d", "confidence": 1, "evidence": ["e"], "fix_location": "l", "fix_approach": " "}`, "fix_approach is empty"},
		{"FractionPercent", "proposal", `{"diagnosis": "d", "confidence": 50.0, "evidence": ["e"], "fix_location": "l", "fix_approach": "a"}`, "the result does not fit"},
		{"NotALetter", "ballot", `{"ranking": ["A", "first"], "why": "w"}`, `"ranking[1]" must match`},
		{"LetterTwice", "ballot", `{"ranking": ["A", "A"], "why": "w"}`, `"A" twice`},
		{"PassWithoutEvidence", "verdict", `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": [""]}], "summary": "s"}`, "AC-001 is a pass without evidence"},
		{"FailWithoutGap", "verdict", `{"criteria": [{"id": "AC-001", "status": "fail", "evidence": []}], "summary": "s"}`, "say in gap what is missing"},
		{"Undecided", "verdict", `{"criteria": [` + pass + `], "summary": "s"}`, "undecided: AC-002"},
		{"DecidedTwice", "verdict", `{"criteria": [` + pass + `, {"id": "AC-002", "status": "pass", "evidence": ["x"]}, ` + pass + `], "summary": "s"}`, "AC-001 is decided twice"},
		{"NoSuchCriterion", "verdict", `{"criteria": [` + pass + `, {"id": "AC-002", "status": "pass", "evidence": ["x"]}, {"id": "AC-003", "status": "pass", "evidence": ["x"]}], "summary": "s"}`, `no criterion "AC-003"; the criteria are AC-001, AC-002`},
		{"NoCriteria", "verdict", `{"criteria": [], "summary": "s"}`, "at least 1 entries"},
		{"UnknownStatus", "verdict", `{"criteria": [{"id": "AC-001", "status": "met", "evidence": []}], "summary": "s"}`, `must be one of "pass", "fail", "partial"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, problem := check(t, test.result, test.args, criteria); !strings.Contains(problem, test.says) {
				t.Errorf("problem %q with facts %q, want one that says %q", problem, facts(got), test.says)
			}
		})
	}
	t.Run("NoSuchResult", func(t *testing.T) {
		if _, problem := (submit.Results{}).Facts("haiku", nil, nil); !strings.Contains(problem, "haiku") {
			t.Errorf("problem %q", problem)
		}
	})
}

// The reason goes into an event, which is small.
func TestReasonIsShort(t *testing.T) {
	args := fmt.Sprintf(`{"criteria": [{"id": "GOAL", "status": "fail", "evidence": [], "gap": %q}], "summary": "s"}`, strings.Repeat("é ", 1000))
	got, problem := check(t, "verdict", args, nil)
	if reason := got.Get("reason"); problem != "" || len(reason) > 300 || !strings.HasSuffix(reason, "…") {
		t.Errorf("a reason of %d bytes, problem %q: %s", len(reason), problem, reason)
	}
}

// The schemas and the Go types name the same fields, and require those that are
// not optional.
func TestSchemasFitTypes(t *testing.T) {
	types := map[string]reflect.Type{
		"assessment": reflect.TypeFor[submit.Assessment](), "ballot": reflect.TypeFor[submit.Ballot](),
		"learnings": reflect.TypeFor[submit.Learnings](), "next": reflect.TypeFor[submit.Next](), "plan": reflect.TypeFor[submit.Plan](),
		"summary": reflect.TypeFor[submit.Summary](), "tasks": reflect.TypeFor[submit.Tasks](),
		"proposal": reflect.TypeFor[submit.Proposal](), "result": reflect.TypeFor[submit.Result](), "verdict": reflect.TypeFor[submit.Verdict](),
	}
	for _, name := range submit.Names() {
		spec, ok := submit.Spec(submit.Prefix + name)
		if !ok || spec.Name != "submit_"+name || len(spec.Description) < 20 {
			t.Errorf("%s has the spec %+v", name, spec)
		}
		compare(t, name, spec.Schema, types[name])
	}
	if _, ok := submit.Spec("../submit"); ok {
		t.Error("there is a result of a strange name")
	}
}

func compare(t *testing.T, at string, raw json.RawMessage, typ reflect.Type) {
	t.Helper()
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
		Closed     *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if schema.Closed == nil || *schema.Closed {
		t.Errorf("%s takes unknown fields", at)
	}
	var fields, required []string
	for f := range typ.Fields() {
		name, optional, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
		if optional == "" {
			required = append(required, name)
		}
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			var array struct{ Items json.RawMessage }
			if err := json.Unmarshal(schema.Properties[name], &array); err != nil {
				t.Fatalf("%s.%s: %v", at, name, err)
			}
			compare(t, at+"."+name, array.Items, f.Type.Elem())
		}
	}
	var properties []string
	for name := range schema.Properties {
		properties = append(properties, name)
	}
	slices.Sort(fields)
	slices.Sort(properties)
	if diff := cmp.Diff(fields, properties); diff != "" {
		t.Errorf("%s: fields differ (-type +schema):\n%s", at, diff)
	}
	if diff := cmp.Diff(required, schema.Required); diff != "" {
		t.Errorf("%s: required fields differ (-type +schema):\n%s", at, diff)
	}
}
