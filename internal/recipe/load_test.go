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
		want := "built-in taskloop.yaml:19:26: kinds.task.complexity.bands[1].tier: the ladder has no rung for tier 2"
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
