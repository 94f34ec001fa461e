package run

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/cli"
)

func TestParseGate(t *testing.T) {
	for text, want := range map[string]pawl.GateSpec{
		"tests=go test -json ./...":    {Name: "tests", Kind: pawl.GateTests, Command: "go test -json ./..."},
		"unit : tests = make A=1 unit": {Name: "unit", Kind: pawl.GateTests, Command: "make A=1 unit"},
		"lint=x=y":                     {Name: "lint", Kind: pawl.GateLint, Command: "x=y"},
	} {
		if got, err := parseGate(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "tests", "tests=", "=make", "speed=make", "a:speed=make", ":tests=make", "tests: =make"} {
		if _, err := parseGate(text); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// F-26: a test that must pass belongs to a gate that runs tests.
func TestMustPass(t *testing.T) {
	lint, unit, e2e := pawl.GateSpec{Name: "lint", Kind: pawl.GateLint}, pawl.GateSpec{Name: "unit", Kind: pawl.GateTests}, pawl.GateSpec{Name: "e2e", Kind: pawl.GateTests}
	for _, row := range []struct {
		test string
		in   []pawl.GateSpec
		want string // by gate; empty = refused
	}{
		{"TestA", []pawl.GateSpec{lint, unit}, "unit: TestA"},
		{"e2e=TestA", []pawl.GateSpec{unit, e2e}, "e2e: TestA"},
		{"a=b", []pawl.GateSpec{unit}, "unit: a=b"},
		{"TestA", []pawl.GateSpec{unit, e2e}, ""},
		{"lint=TestA", []pawl.GateSpec{lint, unit, e2e}, ""},
		{"TestA", []pawl.GateSpec{lint}, ""},
		{"unit= ", []pawl.GateSpec{unit}, ""},
	} {
		gates, got := slices.Clone(row.in), ""
		err := mustPass(gates, row.test)
		for _, g := range gates {
			for _, name := range g.Green {
				got += g.Name + ": " + name
			}
		}
		if got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%q: %q, %v; want %q", row.test, got, err, row.want)
		}
	}
}

func TestIntroduction(t *testing.T) {
	one := pawl.ModelChoice{Provider: "script", Name: "script"}
	other := pawl.ModelChoice{Provider: "openai", Name: "gpt"}
	for want, choice := range map[string][3]pawl.ModelChoice{
		"script/script": {one, one, one},
		"fast script/script, medium openai/gpt, large openai/gpt": {one, other, other},
	} {
		if got := models(pawl.StartRequest{Settings: pawl.Settings{Models: choice}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := limits(pawl.StartRequest{Settings: pawl.Settings{Limits: pawl.DefaultLimits}}, 10); got != "$10.00, 5,000,000 tokens, 8h, 10 iterations" {
		t.Errorf("got %q", got)
	}
	if got := limits(pawl.StartRequest{}, 0); got != "none: nothing ends it but you" {
		t.Errorf("got %q", got)
	}
}

func TestAddGates(t *testing.T) {
	none := fstest.MapFS{}
	configured := func() *pawl.Settings {
		return &pawl.Settings{Gates: []pawl.GateSpec{{Name: "lint", Kind: pawl.GateLint, Command: "make lint"}, {Name: "tests", Kind: pawl.GateTests, Command: "make test"}}}
	}
	t.Run("ReplacesByName", func(t *testing.T) {
		s := configured()
		o := options{gates: []string{"lint=true", "fast:tests=make fast"}, green: true, scope: []string{"only here"}}
		if _, err := o.addGates(s, none, nil); err != nil {
			t.Fatal(err)
		}
		want := []pawl.GateSpec{{Name: "lint", Kind: pawl.GateLint, Command: "true", RequireGreen: true},
			{Name: "tests", Kind: pawl.GateTests, Command: "make test", RequireGreen: true}, {Name: "fast", Kind: pawl.GateTests, Command: "make fast", RequireGreen: true}}
		if d := cmp.Diff(want, s.Gates); d != "" || len(s.Scope) != 1 {
			t.Error(d, s.Scope)
		}
	})
	t.Run("TwiceIsASlip", func(t *testing.T) {
		o := options{gates: []string{"tests=a", "tests=b"}}
		if _, err := o.addGates(configured(), none, nil); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Error(err)
		}
	})
	t.Run("FoundWhereNoneAreNamed", func(t *testing.T) {
		s := &pawl.Settings{}
		notes, err := (&options{}).addGates(s, fstest.MapFS{"go.mod": {Data: []byte("module x\n")}}, []string{"first"})
		if err != nil || len(s.Gates) == 0 || len(notes) != 2 {
			t.Errorf("%d gates, notes %q, %v", len(s.Gates), notes, err)
		}
		notes, err = (&options{}).addGates(&pawl.Settings{}, none, nil)
		if err != nil || len(notes) != 1 {
			t.Errorf("notes %q, %v", notes, err)
		}
	})
}

func TestTasks(t *testing.T) { // P-26 P-30
	dir := t.TempDir()
	file := filepath.Join(dir, "tasks.json")
	const list = `{"_type":"PANDORA_LOOP","version":"1.0","created":"2026-01-23T10:00:00Z","original_query":"Log in","max_iterations":10,
		"tasks":[{"id":"TASK-001","title":"OAuth","description":"d","acceptance_criteria":["Tests pass"],"priority":1,"status":"pending","depends_on":[],"notes":""}],
		"progress":{"completed":0,"total":1,"current_iteration":0}}`
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, goal := range map[string]string{"tasks.json": "Log in", file: "Log in", "-": "Another goal"} {
		app := &cli.App{Dir: dir, In: strings.NewReader(list)}
		o, req := options{tasks: name}, pawl.StartRequest{}
		if goal != "Log in" {
			req.Goal = goal
		}
		for range 2 { // a start that is tried again
			if err := o.addTasks(app, &req); err != nil {
				t.Fatal(err)
			}
		}
		var got []pawl.TaskSpec
		if err := json.Unmarshal(req.Tasks, &got); err != nil || req.Goal != goal || len(got) != 1 || got[0].ID != "TASK-001" {
			t.Errorf("%s: goal %q, tasks %+v, %v", name, req.Goal, got, err)
		}
	}
	for name, in := range map[string]string{"-": `[{"id":"a","title":"A"}]`, "missing.json": ""} { // no goal; no file
		o := options{tasks: name}
		if err := o.addTasks(&cli.App{Dir: dir, In: strings.NewReader(in)}, &pawl.StartRequest{}); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := options{tasks: "-"}
	if err := o.addTasks(&cli.App{In: strings.NewReader(`[{"id":"a","title":"A","depends_on":["b"]}]`)}, &pawl.StartRequest{}); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("a list that cannot be worked on: %v", err)
	}
}

// What a task goes on with that has only a folder follows from what recipes say.
func TestRecipeOfAFolder(t *testing.T) {
	own := []fs.FS{fstest.MapFS{
		"mine.yaml":  {Data: []byte("extends: taskloop\nrecords: true\n")},
		"other.yaml": {Data: []byte("extends: coherence\nrecords: false\n")},
	}}
	for configured, want := range map[string]string{"pawl": "coherence", "loopr": "coherence", "mine": "mine", "other": "coherence", "missing": "coherence"} {
		o := options{again: &cli.KnownTask{}}
		if got := o.recipeAgain(configured, own); got != want {
			t.Errorf("with %s configured it is %s, want %s", configured, got, want)
		}
		o.again.Recipe = "loom"
		if got := o.recipeAgain(configured, own); got != "loom" {
			t.Errorf("after a run of loom it is %s", got)
		}
	}
}
