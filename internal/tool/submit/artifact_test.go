package submit_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"pawl"
	"pawl/internal/tool/submit"
)

const (
	aPlan  = `{"title": "t", "overview": "o", "specs": [{"name": "a", "title": "t", "description": "d"}, {"name": "b", "title": "t", "description": "d", "dependencies": ["a"]}]}`
	aPhase = `{"title": "t", "task": "do it", "tasks": [{"description": "d", "file": "a.go", "action": "create"}], "success_criteria": ["c"], "validation_command": "true"}`
)

func aSpec(phases ...string) string {
	return `{"title": "t", "parent_plan": "p", "overview": "o", "phases": [` + strings.Join(phases, ", ") + `]}`
}

func aPhaseOf(name, more string) string {
	return `{"name": "` + name + `", "title": "t", "description": "d"` + more + `}`
}

// each artifact that children are spawned from has a tool of its own name, and its facts
// say how many loops there will be.
func TestArtifacts(t *testing.T) {
	for result, test := range map[string]struct{ args, want string }{
		"create_plan":  {aPlan, "count=2"},                                                                                                      // R-10 R-11
		"create_spec":  {aSpec(aPhaseOf("a", ""), aPhaseOf("b", `, "depends_on": []`), aPhaseOf("c", `, "depends_on": ["a", "b"]`)), "count=3"},
		"create_phase": {aPhase, "count=1"},
	} {
		if got, problem := check(t, result, test.args, pawl.Submission{}); problem != "" || facts(got) != test.want {
			t.Errorf("%s: facts %q, problem %q", result, facts(got), problem)
		}
	}
}

// A model is told what is wrong with an artifact, by its field, in what a reply holds.
func TestArtifactsRefused(t *testing.T) {
	for name, test := range map[string]struct{ result, args, says string }{
		"NoSpecs":     {"create_plan", strings.Replace(aPlan, aPlan[strings.Index(aPlan, "[{"):], "[]}", 1), `"specs"`},
		"SameName":    {"create_plan", strings.Replace(aPlan, `"name": "b"`, `"name": "a"`, 1), `specs[1].name is "a", as specs[0].name is`},
		"Unknown":     {"create_plan", strings.Replace(aPlan, `["a"]`, `["x"]`, 1), `specs[1].dependencies[0] is "x", which is not a name in specs`},
		"Circle":      {"create_plan", strings.Replace(aPlan, `"description": "d"}`, `"description": "d", "dependencies": ["b"]}`, 1), "in a circle: a → b → a"},
		"TwoPhases":   {"create_spec", aSpec(aPhaseOf("a", ""), aPhaseOf("b", "")), `"phases"`},
		"OutsideFile": {"create_phase", strings.Replace(aPhase, "a.go", "../a.go", 1), "tasks[0].file"},
		"TwoCommands": {"create_phase", strings.Replace(aPhase, `"true"`, `"true\nfalse"`, 1), "want one shell line"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, problem := check(t, test.result, test.args, pawl.Submission{}); !strings.Contains(problem, test.says) {
				t.Errorf("problem %q with facts %q, want one that says %q", problem, facts(got), test.says)
			}
		})
	}
	for _, result := range []string{"create_plan", "create_spec", "create_phase"} { // without the schema too
		if _, problem := (submit.Results{}).Facts(result, json.RawMessage(`{}`), pawl.Submission{}); !strings.HasPrefix(problem, "title is empty; ") {
			t.Errorf("%s: %q", result, problem)
		}
	}
}

// The examples of scripted trees hand in only what is taken.
func TestExampleScripts(t *testing.T) {
	for _, file := range []string{"loopr-script.yaml", "loopr-again.yaml"} {
		t.Run(file, func(t *testing.T) { testScript(t, "../../recipe/testdata/"+file) })
	}
}

func testScript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var script struct {
		Answers []struct {
			Calls []map[string]any
		}
	}
	if err := yaml.Unmarshal(data, &script); err != nil {
		t.Fatal(err)
	}
	handed := map[string]bool{}
	for _, a := range script.Answers {
		for _, call := range a.Calls {
			for tool, args := range call {
				result, ok := pawl.SubmittedBy(tool)
				if !ok {
					continue
				}
				handed[result] = true
				text, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				if _, problem := check(t, result, string(text), pawl.Submission{Criteria: []pawl.Criterion{{ID: "AC-001", Text: "x"}}}); problem != "" {
					t.Errorf("%s: %s\n%s", tool, problem, text)
				}
			}
		}
	}
	for _, result := range []string{"create_plan", "create_spec", "create_phase", "verdict", "result"} {
		if !handed[result] {
			t.Errorf("nobody hands in %s", result)
		}
	}
}
