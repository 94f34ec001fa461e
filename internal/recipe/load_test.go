package recipe_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
)

func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

const prompt = "You work.\n---user---\n{{.Goal}}\n"

func TestLoad(t *testing.T) {
	t.Run("a project's recipe", func(t *testing.T) {
		dir := files("mine.yaml", "start: a\nkinds:\n  a:\n    steps: [{name: work}]\n", "mine/work.md", prompt)
		r, err := recipe.Load("mine", nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		want := pawl.Recipe{Name: "mine", Start: "a", Kinds: []pawl.LoopKind{{Name: "a", Steps: []pawl.Step{{Name: "work", Role: "work", Prompt: "work.md"}}}}}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Error(diff)
		}
		prompts, err := recipe.Prompts("mine", dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"work.md": prompt}, prompts); diff != "" {
			t.Error(diff)
		}
		if names := recipe.Names(dir); !slices.Contains(names, "mine") || !slices.Contains(names, "pawl") {
			t.Errorf("names %q", names)
		}
	})

	t.Run("a project's recipe in place of a built-in one", func(t *testing.T) {
		dir := files("taskloop.yaml", "extends: taskloop\nkinds:\n  task:\n    iterations: 3\n    ladder: {stuck: 4}\n", "taskloop/implement.md", prompt)
		got, err := recipe.Load("taskloop", dir)
		if err != nil {
			t.Fatal(err)
		}
		want := MustLoad(t, "taskloop")
		want.Kinds[0].Iterations, want.Kinds[0].Ladder.Stuck = 3, 4
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		prompts, err := recipe.Prompts("taskloop", dir)
		if err != nil {
			t.Fatal(err)
		}
		builtin, err := recipe.Prompts("taskloop")
		if err != nil {
			t.Fatal(err)
		}
		if prompts["implement.md"] != prompt || prompts["assess.md"] != builtin["assess.md"] || len(prompts) != 5 {
			t.Error("the project's template does not replace the built-in one, or others are missing")
		}
	})

	t.Run("templates for an untouched built-in recipe", func(t *testing.T) {
		prompts, err := recipe.Prompts("pawl", files("pawl/ballot.md", prompt, "taskloop/propose.md", prompt))
		if err != nil {
			t.Fatal(err)
		}
		if prompts["ballot.md"] != prompt || prompts["propose.md"] != prompt {
			t.Error("a project's templates are not found under the recipe's and its base's name")
		}
	})

	t.Run("the stronger folder", func(t *testing.T) {
		strong := files("x.yaml", "extends: x\nagent: strong\n")
		weak := files("x.yaml", "extends: taskloop\nagent: weak\ntiers: [a, b, c]\n")
		r, err := recipe.Load("x", strong, weak)
		if err != nil {
			t.Fatal(err)
		}
		if r.Agent != "strong" || r.Tier(1) != "a" || len(r.Kinds) != 1 {
			t.Errorf("got %+v", r)
		}
	})

	t.Run("a mistake that comes from the base", func(t *testing.T) {
		dir := files("x.yaml", "extends: taskloop\nkinds:\n  task:\n    ladder:\n      rungs: [{tier: 1, failures: 1}]\n")
		_, err := recipe.Load("x", dir)
		want := "built-in taskloop.yaml:25:26: kinds.task.complexity.bands[1].tier: the ladder has no rung for tier 2"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	})
}

func TestLoadErrors(t *testing.T) {
	circle := files("a.yaml", "extends: b\n", "b.yaml", "extends: a\n")
	bad := "start: a\nkinds:\n  a:\n    steps: [{name: work}]\n"
	for _, c := range []struct{ name, want string }{
		{"nothing", "there is no recipe nothing"},
		{"../pawl", `"../pawl" cannot be the name of a recipe`},
		{"a", "recipes/b.yaml:1:10: extends: more than 8 recipes extend each other; is it a circle?"},
	} {
		_, err := recipe.Load(c.name, circle)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	_, err := recipe.Load("taskloob")
	if e, ok := err.(*pawl.Error); !ok || e.Code != pawl.CodeNotFound || !strings.Contains(e.Hint, "did you mean taskloop?") {
		t.Errorf("got %#v", err)
	}
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"missing":          {files("x.yaml", bad), "recipe x: the prompt template x/work.md does not exist"},
		"without a user":   {files("x.yaml", bad, "x/work.md", "hello"), "recipe x: work.md: want a system part and a user part with one line ---user--- between them"},
		"not a template":   {files("x.yaml", bad, "x/work.md", "a\n---user---\n\n{{.Goal"), "recipe x: template: work.md:4: unclosed action"},
		"unknown field":    {files("x.yaml", bad, "x/work.md", "a\n---user---\n{{.Gaol}}\n"), "recipe x: template: work.md:3:2: executing \"work.md\" at <.Gaol>: can't evaluate field Gaol in type recipe.promptView"},
		"a folder instead": {files("x.yaml/y", ""), "read recipes/x.yaml: x.yaml is not a regular file"},
		"template folder":  {files("x.yaml", bad, "x/work.md/y", ""), "read x/work.md: x/work.md is not a regular file"},
	} {
		if _, err := recipe.Prompts("x", c.files); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// A recipe without a folder can still extend the built-in recipe of its own name.
func TestParseExtendsItsOwnName(t *testing.T) {
	r, err := recipe.Parse("taskloop", []byte("extends: taskloop\nagent: mine\n"))
	if err != nil || r.Agent != "mine" || len(r.Kinds) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A list replaces the base's list and does not add to it. A field that is not given keeps the
// base's value.
func TestExtendedVerdicts(t *testing.T) {
	base := "start: a\nkinds:\n  a:\n    steps: [{name: work}]\n    extract: {name: learn, output: learnings, when: {verdict: [pass]}}\n"
	for given, want := range map[string][]pawl.Verdict{"{verdict: [fail]}": {"fail"}, "{tier: [1]}": {"pass"}} {
		dir := files("base.yaml", base, "x.yaml", "extends: base\nkinds:\n  a:\n    extract: {name: learn, when: "+given+"}\n")
		r, err := recipe.Load("x", dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Kinds[0].Extract.When.Verdict; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
}

// A recipe that extends another one says only what is different, at any depth of mappings. F-42
func TestExtendsOneKey(t *testing.T) {
	for name, test := range map[string]struct {
		file   string
		change func(*pawl.Recipe)
	}{
		"loom side by side":  {"extends: loom\nkinds:\n  task:\n    children: {parallel: 3}\n", func(r *pawl.Recipe) { r.Kinds[0].Children.Parallel = 3 }},
		"a version more":     {"extends: loom\nkinds:\n  task:\n    children:\n      replan: {max_versions: 6}\n", func(r *pawl.Recipe) { r.Kinds[0].Children.Replan.MaxVersions = 6 }},
		"another score":      {"extends: taskloop\nkinds:\n  task:\n    complexity: {unknown: 3}\n", func(r *pawl.Recipe) { r.Kinds[0].Complexity.Unknown = 3 }},
		"a council's tier":   {"extends: taskloop\nkinds:\n  task:\n    ladder:\n      council: {tier: 2}\n", func(r *pawl.Recipe) { r.Kinds[0].Ladder.Council.Tier = 2 }},
		"a judge's tier":     {"extends: coherence\nkinds:\n  task:\n    children:\n      judge: {tier: 2}\n", func(r *pawl.Recipe) { r.Kinds[0].Children.Judge.Tier = 2 }},
		"the extract's tier": {"extends: loom\nkinds:\n  subtask:\n    extract: {name: extract, tier: 2}\n", func(r *pawl.Recipe) { r.Kinds[1].Extract.Tier = 2 }},
		"a smaller group":    {"extends: coherence\nkinds:\n  task:\n    children: {group: 3, land: all}\n", func(r *pawl.Recipe) { r.Kinds[0].Children.Group, r.Kinds[0].Children.Land = 3, pawl.LandAll }},
		"who approves":       {"extends: loom\nkinds:\n  task:\n    approval: {by: human}\n", func(r *pawl.Recipe) { r.Kinds[0].Approval.By = "human" }},
	} {
		t.Run(name, func(t *testing.T) {
			base, _, _ := strings.Cut(strings.TrimPrefix(test.file, "extends: "), "\n")
			want := MustLoad(t, base)
			want.Name = "x"
			test.change(&want)
			got, err := recipe.Load("x", files("x.yaml", test.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if err := schemaError(t, test.file); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
		})
	}
	for file, want := range map[string]string{
		"extends: loom\nkinds:\n  task:\n    steps:\n      - {role: planner}\n":                                     "recipes/x.yaml:5:10: kinds.task.steps[0].name: is missing",
		"extends: loom\nkinds:\n  mine:\n    children: {parallel: 3}\n":                                             "kinds.mine.children.from: is missing",
		"extends: taskloop\nkinds:\n  task:\n    ladder:\n      rungs: [{failures: 3}]\n":                           "kinds.task.ladder.rungs[0].tier: is missing",
		"extends: loom\nkinds:\n  task:\n    children: {parallel: 3, judge: {role: judge, tier: 2}}\n":              "kinds.task.children.judge: each child lands by itself",
		"extends: pawl\nkinds:\n  task:\n    ladder: {stuck: 9}\n":                                                  "kinds.task.ladder.stuck: want a whole number from 2 to 8, got 9",
		"extends: pandora\nkinds:\n  task:\n    ladder: {then: replan}\n":                                           "kinds.task.ladder.then: the parent request cannot plan again",
		"extends: taskloop\nkinds:\n  task:\n    final_steps:\n      - {name: end, when: {decision: [SHIP]}}\n":     `kinds.task.final_steps[0].when.decision[0]: there is no decision of a step before "SHIP"; known here: BLOCKED`,
		"extends: pandora\nkinds:\n  request:\n    final_steps:\n      - {name: end, when: {decision: [EXECUT]}}\n": `there is no decision of a step before "EXECUT" (did you mean EXECUTE?)`,
	} {
		if _, err := recipe.Load("x", files("x.yaml", file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", file, err, want)
		}
	}
}

// A key that there is no more is refused with what stands in its place.
func TestOldKeys(t *testing.T) {
	const head = "start: a\nkinds:\n  a:\n    steps: [{name: plan, output: plan}]\n    children: {from: plan, kind: b, order: list, parallel: 1, "
	const tail = "}\n  b:\n    steps: [{name: work}]\n"
	for old, want := range map[string]string{
		"cascade: true":                  "x.yaml:5:63: kinds.a.children.cascade: there is no such key any more: say admit: eager and on_failure: restart_parent",
		"batch: rolling":                 "x.yaml:5:63: kinds.a.children.batch: there is no such key any more: say group: 1 for rolling, and the size of a group for barrier, such as group: 12",
		"review: {role: judge, tier: 3}": "x.yaml:5:63: kinds.a.children.review: there is no such key any more: say judge: with the same mapping, and group: with how many it judges at once, such as 12",
	} {
		_, err := recipe.Parse("x", []byte(head+old+tail))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v", old, err)
		}
	}
	for _, text := range []string{"admit: eager, on_failure: restart_parent", "group: 1", "group: 12, judge: {role: judge, tier: 3}", "group: all", "on_failure: continue"} {
		if _, err := recipe.Parse("x", []byte(head+text+tail)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := recipe.Parse("x", []byte(head+"group: some"+tail)); err == nil || err.Error() != `x.yaml:5:70: kinds.a.children.group: want a whole number from 1 to 64, or all, got "some"` {
		t.Errorf("a group of some: %v", err)
	}
}

// A template of the root loop cannot ask for a task of its own; one of a child can. F-42
func TestTaskOfTheRoot(t *testing.T) {
	const text = "start: goal\nkinds:\n  goal:\n    steps: [{name: plan, output: plan}]\n    children: {from: plan, kind: leaf, order: list, parallel: 1}\n  leaf:\n    steps: [{name: work}]\n"
	const asks, guarded = "You work.\n---user---\nDo {{.Task.ID}}.\n", "You plan.\n---user---\nPlan{{with .Task}} {{.ID}}{{end}}.\n"
	if _, err := recipe.Prompts("x", files("x.yaml", text, "x/plan.md", guarded, "x/work.md", asks)); err != nil {
		t.Error(err)
	}
	_, err := recipe.Prompts("x", files("x.yaml", text, "x/plan.md", asks, "x/work.md", asks))
	if err == nil || pawl.CodeOf(err) != pawl.CodeInvalid || err.Error() != "recipe x: plan.md asks for .Task, and the root loop is nobody's child: it has no entry in a parent's list" {
		t.Errorf("got %v", err)
	}
}
