package artifact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/artifact"
)

const plan = `{
  "title": "Add OAuth Authentication", "overview": "Add OAuth 2.0 to the API.\n\nTokens are refreshed.",
  "specs": [
    {"name": "db-schema", "title": "Database tables for OAuth", "description": "Tables for tokens.", "dependencies": []},
    {"name": "endpoints", "title": "OAuth API endpoints", "description": "Login and refresh.", "dependencies": ["db-schema"]}],
  "success_criteria": ["A user logs in."], "non_goals": ["SAML"], "risks": ["Clocks differ."]
}`

const spec = `{
  "title": "Database tables", "parent_plan": "Add OAuth Authentication", "overview": "Two tables.",
  "phases": [
    {"name": "tokens", "title": "Table of tokens", "description": "One row a token."},
    {"name": "clients", "title": "Table of clients", "description": "One row a client.", "depends_on": []},
    {"name": "keys", "title": "Foreign keys", "description": "From tokens to clients.", "depends_on": ["tokens", "clients"]},
    {"name": "clean", "title": "Clean up", "description": "Old tokens go."}]
}`

const phase = `{
  "title": "Table of tokens", "task": "Make the table.",
  "tasks": [{"description": "Write the migration.", "file": "db/001.sql", "action": "create"}, {"description": "Call it.", "file": "db/db.go", "action": "modify"}],
  "success_criteria": ["The table is there.", "Tests pass."], "validation_command": "go test ./db/..."
}`

// MustRead reads an artifact that is well formed.
func MustRead(tb testing.TB, kind artifact.Kind, text string) artifact.Artifact {
	tb.Helper()
	a, err := artifact.Read(kind, []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// R-11 R-15 R-44 R-45 R-B29: one spec loop a spec, from the structured artifact, with
// its name, title and description.
func TestTasksOfPlan(t *testing.T) {
	want := []pawl.TaskSpec{
		{ID: "db-schema", Title: "Database tables for OAuth", Description: "Tables for tokens.", DependsOn: []string{}},
		{ID: "endpoints", Title: "OAuth API endpoints", Description: "Login and refresh.", DependsOn: []string{"db-schema"}},
	}
	if diff := cmp.Diff(want, MustRead(t, artifact.KindPlan, plan).Tasks("")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// R-12 R-B30: one phase loop a phase, each after the one before it unless it says
// what it depends on.
func TestTasksOfSpec(t *testing.T) {
	var got []string
	for _, task := range MustRead(t, artifact.KindSpec, spec).Tasks("db-schema") {
		got = append(got, task.ID+" after "+strings.Join(task.DependsOn, "+"))
	}
	if diff := cmp.Diff([]string{"tokens after ", "clients after ", "keys after tokens+clients", "clean after keys"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// R-13 R-15: a phase is exactly one code loop, which is told all of it.
func TestTasksOfPhase(t *testing.T) {
	want := []pawl.TaskSpec{{
		ID: "tokens", Title: "Table of tokens",
		Description: "Make the table.\n\nSpecific work:\n1. create db/001.sql: Write the migration.\n2. modify db/db.go: Call it.\n",
		Criteria:    []string{"The table is there.", "Tests pass."}, ValidationCommand: "go test ./db/...",
	}}
	a := MustRead(t, artifact.KindPhase, phase)
	if diff := cmp.Diff(want, a.Tasks("tokens")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := a.Tasks("")[0].ID; got != "code" {
		t.Errorf("without a task of its own the child is %q", got)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]artifact.Kind{
		plan: artifact.KindPlan, spec: artifact.KindSpec, phase: artifact.KindPhase,
		`{"decision": "PANDORA_LOOP", "tasks": []}`: "", `{"subtasks": [], "goal": "x"}`: "", `[]`: "", `{`: "",
		`{"specs": [], "phases": []}`:                                 artifact.KindPlan,
		`{"specs": "` + strings.Repeat("x", artifact.MaxBytes) + `"}`: "",
	} {
		if got := artifact.Detect([]byte(text)); got != want {
			t.Errorf("%.40s is %q, want %q", text, got, want)
		}
	}
	if artifact.KindSpec.Result() != "create_spec" || !pawl.IsArtifact(artifact.KindSpec.Result()) || artifact.KindSpec.File() != "spec.md" {
		t.Error("a spec is handed in or written under another name")
	}
}

// change is a document with one field set, found by its path; nil takes it out.
func change(text string, value any, path ...any) string {
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		panic(err)
	}
	at := doc
	for _, p := range path[:len(path)-1] {
		switch p := p.(type) {
		case string:
			at = at.(map[string]any)[p]
		case int:
			at = at.([]any)[p]
		}
	}
	last := path[len(path)-1].(string)
	if value == nil {
		delete(at.(map[string]any), last)
	} else {
		at.(map[string]any)[last] = value
	}
	out, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func specs(n int) []any {
	var out []any
	for i := range n {
		out = append(out, map[string]any{"name": fmt.Sprint("s", i), "title": "t", "description": "d"})
	}
	return out
}

func texts(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = "x"
	}
	return out
}

// R-12 R-44: what cannot be worked on is refused, and the field is named.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", 9000)
	for name, test := range map[string]struct {
		kind       artifact.Kind
		text, says string
	}{
		"NoJSON":          {artifact.KindPlan, "I plan", "the plan does not fit: invalid character 'I'"},
		"Trailing":        {artifact.KindPlan, plan + "{}", "more text after its end"},
		"Unknown":         {artifact.KindPlan, change(plan, 1, "colour"), `unknown field "colour"`},
		"WrongKind":       {artifact.KindSpec, plan, `unknown field "specs"`},
		"NoKind":          {"code", plan, `no artifact of the kind code`},
		"Huge":            {artifact.KindPlan, `{"title": "` + strings.Repeat("x", artifact.MaxBytes) + `"}`, "want at most 262144"},
		"NoTitle":         {artifact.KindPlan, change(plan, " ", "title"), "title is empty"},
		"LongTitle":       {artifact.KindPlan, change(plan, long, "title"), "title has 9000 bytes: want at most 200"},
		"NoOverview":      {artifact.KindPlan, change(plan, nil, "overview"), "overview is empty"},
		"LongOverview":    {artifact.KindPlan, change(plan, long, "overview"), "want at most 8000"},
		"NoSpecs":         {artifact.KindPlan, change(plan, []any{}, "specs"), "specs is empty: want 1 to 10"},
		"ElevenSpecs":     {artifact.KindPlan, change(plan, specs(11), "specs"), "specs has 11 entries: want 1 to 10; put together"},
		"BadName":         {artifact.KindPlan, change(plan, "../x", "specs", 1, "name"), `specs[1].name is "../x": want a letter or digit`},
		"NoName":          {artifact.KindPlan, change(plan, nil, "specs", 0, "name"), `specs[0].name is "": want`},
		"SameName":        {artifact.KindPlan, change(plan, "db-schema", "specs", 1, "name"), `specs[1].name is "db-schema", as specs[0].name is`},
		"NoDescription":   {artifact.KindPlan, change(plan, "", "specs", 1, "description"), "specs[1].description is empty"},
		"NoSpecTitle":     {artifact.KindPlan, change(plan, "", "specs", 0, "title"), "specs[0].title is empty"},
		"UnknownDepends":  {artifact.KindPlan, change(plan, []any{"db"}, "specs", 1, "dependencies"), `specs[1].dependencies[0] is "db", which is not a name in specs`},
		"ItselfDepends":   {artifact.KindPlan, change(plan, []any{"endpoints"}, "specs", 1, "dependencies"), "nothing can wait for itself"},
		"TwiceDepends":    {artifact.KindPlan, change(plan, []any{"db-schema", "db-schema"}, "specs", 1, "dependencies"), "is there already"},
		"Circle":          {artifact.KindPlan, change(plan, []any{"endpoints"}, "specs", 0, "dependencies"), "specs: they depend on each other in a circle: db-schema → endpoints → db-schema"},
		"BlankRisk":       {artifact.KindPlan, change(plan, []any{"x", ""}, "risks"), "risks[1] is empty"},
		"ManyNonGoals":    {artifact.KindPlan, change(plan, texts(21), "non_goals"), "non_goals has 21 entries: want at most 20"},
		"LongCriterion":   {artifact.KindPlan, change(plan, []any{long}, "success_criteria"), "success_criteria[0] has 9000 bytes"},
		"TwoPhases":       {artifact.KindSpec, change(spec, specs(2), "phases"), "phases has 2 entries: want 3 to 7; divide"},
		"EightPhases":     {artifact.KindSpec, change(spec, specs(8), "phases"), "phases has 8 entries: want 3 to 7"},
		"NoPlan":          {artifact.KindSpec, change(spec, nil, "parent_plan"), "parent_plan is empty"},
		"UnknownPhase":    {artifact.KindSpec, change(spec, []any{"x"}, "phases", 2, "depends_on"), `phases[2].depends_on[0] is "x"`},
		"ForwardCircle":   {artifact.KindSpec, change(spec, []any{"clean"}, "phases", 2, "depends_on"), "phases: they depend on each other in a circle"},
		"NoTask":          {artifact.KindPhase, change(phase, "\n", "task"), "task is empty"},
		"NoWork":          {artifact.KindPhase, change(phase, []any{}, "tasks"), "tasks is empty: want 1 to 20"},
		"NoWorkText":      {artifact.KindPhase, change(phase, "", "tasks", 1, "description"), "tasks[1].description is empty"},
		"BadAction":       {artifact.KindPhase, change(phase, "rename", "tasks", 0, "action"), `tasks[0].action is "rename": want create, modify or delete`},
		"NoFile":          {artifact.KindPhase, change(phase, "", "tasks", 0, "file"), "tasks[0].file is empty"},
		"AbsoluteFile":    {artifact.KindPhase, change(phase, "/etc/passwd", "tasks", 0, "file"), "want a path inside the repository"},
		"OutsideFile":     {artifact.KindPhase, change(phase, "a/../../x", "tasks", 0, "file"), "want a path inside the repository"},
		"OddFile":         {artifact.KindPhase, change(phase, "a\u202eb", "tasks", 0, "file"), "tasks[0].file holds a control character"},
		"GitFile":         {artifact.KindPhase, change(phase, "./.git/config", "tasks", 0, "file"), "nothing below .git and .pawl"},
		"LongFile":        {artifact.KindPhase, change(phase, long, "tasks", 0, "file"), "tasks[0].file has 9000 bytes: want at most 400"},
		"NoCriteria":      {artifact.KindPhase, change(phase, []any{}, "success_criteria"), "success_criteria is empty: want 1 to 20"},
		"NoCommand":       {artifact.KindPhase, change(phase, nil, "validation_command"), "validation_command is empty"},
		"LongCommand":     {artifact.KindPhase, change(phase, long, "validation_command"), "validation_command has 9000 bytes: want at most 2000"},
		"CommandOfLines":  {artifact.KindPhase, change(phase, "go test\nrm x", "validation_command"), "want one shell line"},
		"LongNotes":       {artifact.KindPhase, change(phase, long, "notes"), "notes has 9000 bytes"},
		"ManyThingsWrong": {artifact.KindPhase, `{}`, "title is empty; task is empty; "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := artifact.Read(test.kind, []byte(test.text))
			var e *pawl.Error
			if !errors.As(err, &e) || e.Code != pawl.CodeInvalid || !strings.Contains(err.Error(), test.says) || len(err.Error()) > 1500 {
				t.Errorf("got %v, want an error that says %q", err, test.says)
			}
		})
	}
}

// The bounds are inclusive.
func TestBounds(t *testing.T) {
	for _, test := range []struct {
		kind artifact.Kind
		text string
	}{
		{artifact.KindPlan, change(plan, specs(1), "specs")}, {artifact.KindPlan, change(plan, specs(10), "specs")},
		{artifact.KindSpec, change(spec, specs(3), "phases")}, {artifact.KindSpec, change(spec, specs(7), "phases")},
		{artifact.KindPhase, change(phase, strings.Repeat("x", artifact.MaxCommand), "validation_command")},
	} {
		MustRead(t, test.kind, test.text)
	}
}
