package recipe_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
)

// What a recipe is made of, and whose place it takes, is found at any depth: recipes it extends and single
// templates count too. F-12
func TestOrigin(t *testing.T) {
	own := files("pawl.yaml", "extends: pawl\n", "mine.yaml", "extends: pawl\n", "mine/implement.md", prompt, "loom/replan.md", prompt, "unused/x.md", prompt,
		"alone.yaml", "start: a\nkinds:\n  a:\n    steps: [{name: work}]\n", "alone/work.md", prompt)
	for name, want := range map[string]pawl.RecipeOrigin{
		"pawl":     {Files: []string{"r/pawl.yaml"}, Replaces: []string{"pawl"}},
		"mine":     {Files: []string{"r/mine.yaml", "r/mine/implement.md", "r/pawl.yaml"}, Replaces: []string{"pawl"}},
		"alone":    {Files: []string{"r/alone.yaml", "r/alone/work.md"}},
		"loom":     {Files: []string{"r/loom/replan.md"}},
		"taskloop": {},
	} {
		want.Name = name
		got, err := recipe.Origin(name, "r/", nil, own)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
	if _, err := recipe.Origin("nobody", "r/", own); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Error(err)
	}
}

// F-12
func TestNeverRun(t *testing.T) {
	kinds := []pawl.GateKind{pawl.GateTests, pawl.GateTypes, pawl.GateLint, pawl.GateSecurity, pawl.GateFormat}
	for _, name := range recipe.Builtin() {
		r, err := recipe.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds {
			if why := recipe.NeverRun(&r, kind); why != "" {
				t.Errorf("%s never runs gates of kind %s: %s", name, kind, why)
			}
		}
	}
	stage := func(kinds ...string) pawl.Stage { return pawl.Stage{Name: "g", Commands: kinds} }
	review := pawl.Stage{Name: "r", Review: &pawl.Review{}}
	children := &pawl.Children{Kind: "child"}
	for name, row := range map[string]struct {
		kinds  []pawl.LoopKind
		never  string // why a gate of kind lint is never run; empty = it is
		judges bool   // with that gate alone
	}{
		"all":            {[]pawl.LoopKind{{Name: "root", Gates: []pawl.Stage{stage("*")}}}, "", true},
		"its kind":       {[]pawl.LoopKind{{Name: "root", Gates: []pawl.Stage{stage("tests"), stage("types", "lint")}}}, "", true},
		"other kinds":    {[]pawl.LoopKind{{Name: "root", Gates: []pawl.Stage{stage("tests"), stage("format")}}}, "only command gates of kind format and tests", false},
		"a review":       {[]pawl.LoopKind{{Name: "root", Gates: []pawl.Stage{stage("tests"), review}}}, "only command gates of kind tests", true},
		"none":           {[]pawl.LoopKind{{Name: "root"}}, "runs no command gates", false},
		"final gates":    {[]pawl.LoopKind{{Name: "root", Children: children, FinalGates: []pawl.Stage{stage("lint")}}, {Name: "child"}}, "", true},
		"below":          {[]pawl.LoopKind{{Name: "root", Children: children}, {Name: "child", Gates: []pawl.Stage{stage("lint")}}}, "", true},
		"nobody's child": {[]pawl.LoopKind{{Name: "root"}, {Name: "child", Gates: []pawl.Stage{stage("lint")}}}, "runs no command gates", false},
		"its own child":  {[]pawl.LoopKind{{Name: "root", Children: &pawl.Children{Kind: "root"}}}, "runs no command gates", false},
	} {
		r := pawl.Recipe{Name: "mine", Start: "root", Kinds: row.kinds}
		why := recipe.NeverRun(&r, pawl.GateLint)
		if (why == "") != (row.never == "") || !strings.Contains(why, row.never) {
			t.Errorf("%s: %q, want %q", name, why, row.never)
		}
		if got := recipe.Judges(&r, []pawl.GateSpec{{Name: "lint", Kind: pawl.GateLint}}); got != row.judges {
			t.Errorf("%s: it judges: %t", name, got)
		}
	}
}

// The criteria are judged where a model or a person judges what the first loop has made as a whole: before its tasks
// only if there are none. F-86
func TestJudgesCriteria(t *testing.T) {
	command, review, person := pawl.Stage{Name: "g", Commands: []string{"*"}}, pawl.Stage{Name: "r", Review: &pawl.Review{}}, pawl.Stage{Name: "p", Human: true}
	stages := func(all ...pawl.Stage) []pawl.Stage { return all }
	always, sometimes := &pawl.Children{Kind: "child"}, &pawl.Children{Kind: "child", When: &pawl.When{}}
	for name, row := range map[string]struct {
		gates, final []pawl.Stage
		children     *pawl.Children
		want         recipe.Judged
	}{
		"a review":                             {stages(command, review), nil, nil, recipe.JudgedAlways},
		"a person":                             {stages(command, person), nil, nil, recipe.JudgedAlways},
		"only commands":                        {stages(command), nil, nil, recipe.JudgedNever},
		"a review of each part":                {stages(command), nil, always, recipe.JudgedNever},
		"a review of what is always split":     {stages(review), nil, always, recipe.JudgedNever},
		"a review of what may be split":        {stages(review), nil, sometimes, recipe.JudgedUnsplit},
		"commands for what may be split":       {stages(command), nil, sometimes, recipe.JudgedNever},
		"a final review":                       {nil, stages(command, review), always, recipe.JudgedAlways},
		"a final person of what may be split":  {stages(review), stages(person), sometimes, recipe.JudgedAlways},
		"final commands for what may be split": {stages(review), stages(command), sometimes, recipe.JudgedUnsplit},
		"final commands for what is always so": {stages(review), stages(command), always, recipe.JudgedNever},
		"only commands, before and at the end": {stages(command), stages(command), sometimes, recipe.JudgedNever},
	} {
		r := pawl.Recipe{Name: "mine", Start: "root", Kinds: []pawl.LoopKind{
			{Name: "root", Gates: row.gates, FinalGates: row.final, Children: row.children}, {Name: "child", Gates: stages(review)}}}
		if got := recipe.JudgesCriteria(&r); got != row.want {
			t.Errorf("%s: got %d, want %d", name, got, row.want)
		}
	}
}
