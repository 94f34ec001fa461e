package start

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
)

// world is a work tree with files, and a user with an environment.
type world struct {
	t       *testing.T
	root    string
	environ []string
	runs    past
	folders []Folder
}

// newWorld makes a work tree of pairs of names and contents.
func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	w := &world{t: t, root: t.TempDir()}
	w.environ = []string{"HOME=" + t.TempDir()}
	for i := 0; i < len(files); i += 2 {
		w.write(files[i], files[i+1])
	}
	return w
}

func (w *world) write(name, content string) {
	w.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.root, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) resolve(req pawl.StartRequest) (pawl.RunSpec, error) {
	return Resolver{Root: w.root, Environ: w.environ, Earlier: w.runs,
		Folders: func(context.Context) ([]Folder, error) { return w.folders, nil }}.Resolve(w.t.Context(), req)
}

func (w *world) must(req pawl.StartRequest) pawl.RunSpec {
	w.t.Helper()
	spec, err := w.resolve(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return spec
}

// refused checks an error's code and field, and what its message says.
func (w *world) refused(req pawl.StartRequest, code pawl.Code, field string, saying ...string) {
	w.t.Helper()
	_, err := w.resolve(req)
	e, ok := errors.AsType[*pawl.Error](err)
	if !ok || e.Code != code || e.Field != field {
		w.t.Errorf("%+v: got %+v, want %s about %q", req, e, code, field)
		return
	}
	for _, s := range saying {
		if !strings.Contains(err.Error(), s) {
			w.t.Errorf("%v: it does not say %q", err, s)
		}
	}
}

// past are runs by their events.
type past map[pawl.RunID][]pawl.Event

func (p past) Runs(context.Context) (out []pawl.RunInfo, err error) {
	for id, events := range p {
		r := pawl.RunInfo{ID: id, Status: pawl.StatusEnded}
		var of pawl.Recipe
		if err := json.Unmarshal(events[0].Body.(*pawl.RunStarted).Recipe, &of); err != nil {
			return nil, err
		}
		r.Recipe = of.Name
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b pawl.RunInfo) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out, nil
}

func (p past) Events(_ context.Context, run pawl.RunID, _ pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		for _, e := range p[run] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Blob is a goal that is its own name.
func (p past) Blob(_ context.Context, run pawl.RunID, h pawl.Hash) ([]byte, error) {
	for _, text := range []string{"Log in", "Log out", `[{"id":"AC-007","text":"it is quick"}]`} {
		if pawl.HashOf([]byte(text)) == h {
			return []byte(text), nil
		}
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "run %s has no blob %s", run, h)
}

func began(goal, recipe string) []pawl.Event {
	return []pawl.Event{{Seq: 1, Body: &pawl.RunStarted{
		Goal: pawl.HashOf([]byte(goal)), Criteria: pawl.HashOf([]byte(`[{"id":"AC-007","text":"it is quick"}]`)),
		Recipe: pawl.JSON(`{"name":"` + recipe + `","start":"task"}`), Settings: pawl.JSON(`{}`),
	}}}
}

func quantity(text string) *pawl.Quantity { return new(pawl.Quantity(text)) }

// A recipe's name, a goal and flags are enough: the rest is the configuration's to say, in its order of
// strength. F-51
func TestResolve(t *testing.T) {
	w := newWorld(t, ".pawl/config.yaml", "recipe: taskloop\nlimits: {money_usd: 7, tokens: 1000}\ngates: [{name: tests, kind: tests, command: make test}]\ncriteria: [it is tested]\n")
	home := strings.TrimPrefix(w.environ[0], "HOME=")
	w.write(filepath.Join(home, ".config/pawl/config.yaml"), "limits: {money_usd: 6, time_minutes: 60}\nmodels: {fast: openai/gpt-5-mini}\n")
	w.environ = append(w.environ, "PAWL_LIMITS_MONEY_USD=5", "PAWL_PARALLEL=2")

	spec := w.must(pawl.StartRequest{Goal: " Do it\n", Dir: "/somewhere", Unattended: true, AllowPrepare: pawl.HashOf(nil)})
	s := spec.Settings
	if spec.Goal != " Do it\n" || spec.Recipe.Name != "taskloop" || len(spec.Prompts) == 0 || spec.Dir != "/somewhere" || !s.Unattended || spec.AllowPrepare != pawl.HashOf(nil) {
		t.Errorf("it would start %+v", spec)
	}
	if s.Limits.Money != 5*pawl.Dollars || s.Limits.Tokens != 1000 || s.Limits.Time.Hours() != 1 || s.Parallel != 2 || s.Models[0].Name != "gpt-5-mini" {
		t.Errorf("the settings are %+v", s)
	}
	if len(s.Gates) != 1 || len(spec.Criteria) != 1 || spec.Criteria[0] != (pawl.Criterion{ID: "AC-001", Text: "it is tested"}) {
		t.Errorf("gates %+v, criteria %+v", s.Gates, spec.Criteria)
	}

	spec = w.must(pawl.StartRequest{Goal: "Do it", Recipe: "loom", Flags: pawl.StartFlags{
		Criteria: []string{"one", "two"}, Gate: []string{"lint=make lint"}, Model: []string{"anthropic/claude-opus-4-5", "fast=openai/gpt-5"},
		MaxIterations: new(3), Budget: quantity("4.5"), MaxTokens: quantity("99"), MaxTime: quantity("1h30m"), MaxMemory: quantity("1GiB"), MaxDisk: quantity("2GiB"),
		MaxProcesses: quantity("77"), Complexity: new(0), Council: new(true), Agent: new("backend"), Scope: []string{"only x"}, RequireGreen: true,
		Green: []string{"TestA"}, Approval: new("manual"), ApprovalThreshold: new(90), Parallel: new(3), ReplanEvery: quantity("0"),
		Callback: new("http://127.0.0.1/x"), CallbackPrivate: new(true), Announce: new("say"), AnnounceURL: new("http://10.0.0.1/"), AnnouncePrivate: new(true),
		Egress: []string{"example.com:443"}, Unsandboxed: true, AllowMissingGate: []string{"lint"},
	}})
	s = spec.Settings
	for what, ok := range map[string]bool{
		"recipe":       spec.Recipe.Name == "loom",
		"criteria":     len(spec.Criteria) == 2 && spec.Criteria[1].ID == "AC-002",
		"gate":         len(s.Gates) == 2 && s.Gates[1].Name == "lint" && s.Gates[1].RequireGreen && s.Gates[0].RequireGreen,
		"green":        cmp.Equal(s.Gates[0].Green, []string{"TestA"}),
		"model":        s.Models[0].Name == "gpt-5" && s.Models[2].Name == "claude-opus-4-5",
		"limits":       s.Limits.Money == 4_500_000 && s.Limits.Tokens == 99 && s.Limits.Time.Minutes() == 90 && s.Limits.Iterations == 3,
		"room":         s.Room.Memory == 1<<30 && s.Room.Disk == 2<<30 && s.Room.Processes == 77,
		"complexity":   s.Complexity != nil && *s.Complexity == 0,
		"council":      s.Council,
		"agent":        s.Agent == "backend",
		"scope":        cmp.Equal(s.Scope, []string{"only x"}),
		"approval":     s.Approval == "manual" && s.ApprovalThreshold == 90,
		"parallel":     s.Parallel == 3,
		"replan_every": s.ReplanEvery != nil && *s.ReplanEvery == 0,
		"callback":     s.Callback != nil && s.Callback.URL == "http://127.0.0.1/x" && s.Callback.AllowPrivate,
		"announce":     s.Announce != nil && s.Announce.Command == "say" && s.Announce.Callback.URL == "http://10.0.0.1/" && s.Announce.Callback.AllowPrivate,
		"egress":       cmp.Equal(s.Egress, []string{"example.com:443"}),
		"unsandboxed":  spec.Unsandboxed,
		"missing":      cmp.Equal(s.AllowMissingGates, []string{"lint"}),
	} {
		if !ok {
			t.Errorf("%s: it would start %+v", what, spec)
		}
	}
}

// What is wrong with a request is told by field, value and what would be right. F-51
func TestRefuses(t *testing.T) {
	w := newWorld(t)
	flags := func(f pawl.StartFlags) pawl.StartRequest { return pawl.StartRequest{Goal: "x", Flags: f} }
	w.refused(flags(pawl.StartFlags{Budget: quantity("abc")}), pawl.CodeInvalid, "flags.budget", "--budget", `"abc"`, "want dollars from 0")
	w.refused(flags(pawl.StartFlags{MaxIterations: new(-3)}), pawl.CodeInvalid, "flags.max_iterations", "--max-iterations", `"-3"`, "from 1 to 1000")
	w.refused(flags(pawl.StartFlags{Complexity: new(99)}), pawl.CodeInvalid, "flags.complexity", `"99"`, "from 0 to 14")
	w.refused(flags(pawl.StartFlags{Model: []string{"foo"}}), pawl.CodeInvalid, "flags.model", `"foo"`, "want PROVIDER/NAME")
	w.refused(flags(pawl.StartFlags{Gate: []string{"speed=x"}}), pawl.CodeInvalid, "flags.gate", `"speed=x"`, "want KIND=COMMAND")
	w.refused(flags(pawl.StartFlags{Gate: []string{"tests=a", "tests=b"}}), pawl.CodeInvalid, "flags.gate", `"tests=b"`, "already")
	w.refused(flags(pawl.StartFlags{Green: []string{"TestA"}}), pawl.CodeInvalid, "flags.green", `"TestA"`, "no gate runs tests")
	w.refused(flags(pawl.StartFlags{AllowMissingGate: []string{"speed"}}), pawl.CodeInvalid, "flags.allow_missing_gate", `"speed"`, "no such gate")
	w.refused(flags(pawl.StartFlags{Egress: []string{"nowhere"}}), pawl.CodeInvalid, "flags.egress", "nowhere")
	w.refused(flags(pawl.StartFlags{Approval: new("maybe")}), pawl.CodeInvalid, "flags.approval", `"maybe"`, "want one of auto, manual")
	w.refused(flags(pawl.StartFlags{Callback: new("foo")}), pawl.CodeInvalid, "flags.callback", "want an address")
	w.refused(flags(pawl.StartFlags{Budget: quantity("a"), MaxTokens: quantity("b")}), pawl.CodeInvalid, "", "--budget", "--max-tokens")
	w.refused(pawl.StartRequest{Goal: "x", Recipe: "nope"}, pawl.CodeNotFound, "recipe", "there is no recipe nope")
	w.refused(pawl.StartRequest{Goal: "x", Recipe: "../up"}, pawl.CodeInvalid, "recipe", "../up")
	w.write(".pawl/recipes/lost.yaml", "extends: taskloop\nkinds:\n  task:\n    gates:\n      - {name: quality, review: {role: r, prompt: lost.md, tier: 1, output: verdict}}\n")
	w.refused(pawl.StartRequest{Goal: "x", Recipe: "lost"}, pawl.CodeInvalid, "recipe", "lost/lost.md does not exist")
	w.refused(pawl.StartRequest{Goal: "x", Task: "007-nobody"}, pawl.CodeNotFound, "task", "007-nobody")
	w.refused(pawl.StartRequest{Goal: "x", Tasks: pawl.JSON(`{"tasks":7}`)}, pawl.CodeInvalid, "tasks", "tasks")
	w.refused(pawl.StartRequest{Tasks: pawl.JSON(`[{"id":"a","title":"A"}]`)}, pawl.CodeInvalid, "goal", "what it is about")
	w.environ = append(w.environ, "PAWL_RECIPE=nope")
	w.refused(pawl.StartRequest{Goal: "x"}, pawl.CodeNotFound, "", "there is no recipe nope")
}

// A repository's file decides no more for a request than for a command: what it may not say is refused,
// whatever the flags say.
func TestRepositoryStaysBelowTheUser(t *testing.T) {
	for text, saying := range map[string]string{
		"models: {fast: openai/gpt-5}\n": "a repository may not choose models",
		"limits: {money_usd: 5000}\n":    "may lower this limit",
		"announce: {command: evil}\n":    "a repository may not",
		"sandbox: off\n":                 "may not turn the sandbox off",
	} {
		w := newWorld(t, ".pawl/config.yaml", text)
		w.refused(pawl.StartRequest{Goal: "x"}, pawl.CodeInvalid, "", saying)
	}
	w := newWorld(t, ".pawl/config.yaml", "prepare: [make deps]\n")
	if s := w.must(pawl.StartRequest{Goal: "x"}).Settings; s.PrepareFrom != pawl.FromRepository {
		t.Errorf("the commands are from %q", s.PrepareFrom)
	}
}

func TestTasksOfARequest(t *testing.T) { // P-26 P-30
	w := newWorld(t)
	const list = `{"_type":"PANDORA_LOOP","version":"1.0","created":"2026-01-23T10:00:00Z","original_query":"Log in","max_iterations":10,
		"tasks":[{"id":"TASK-001","title":"OAuth","description":"d","acceptance_criteria":["Tests pass"],"priority":1,"status":"pending","depends_on":[],"notes":""}],
		"progress":{"completed":0,"total":1,"current_iteration":0}}`
	for goal, want := range map[string]string{"": "Log in", "Another goal": "Another goal"} {
		spec := w.must(pawl.StartRequest{Goal: goal, Recipe: "pandora", Tasks: pawl.JSON(list)})
		var got []pawl.TaskSpec
		if err := json.Unmarshal(spec.Tasks, &got); err != nil || spec.Goal != want || len(got) != 1 || got[0].ID != "TASK-001" {
			t.Errorf("goal %q, tasks %+v, %v", spec.Goal, got, err)
		}
	}
	if spec := w.must(pawl.StartRequest{Goal: "x", Tasks: pawl.JSON("null")}); spec.Tasks != nil {
		t.Errorf("without a list there is %s", spec.Tasks)
	}
}

// The scripted model's file is read where the request was made, and only a file.
func TestScript(t *testing.T) {
	w := newWorld(t, "here/script.yaml", "answers: []\n")
	for name, dir := range map[string]string{"script.yaml": filepath.Join(w.root, "here"), "here/script.yaml": "", filepath.Join(w.root, "here/script.yaml"): "/elsewhere"} {
		if spec := w.must(pawl.StartRequest{Goal: "x", Dir: dir, Flags: pawl.StartFlags{Model: []string{"script:" + name}}}); spec.Script != "answers: []\n" {
			t.Errorf("%s in %q: %q", name, dir, spec.Script)
		}
	}
	w.write("large", strings.Repeat("x", MaxScript+1))
	for _, name := range []string{"missing.yaml", "here", "large", "/dev/zero"} {
		w.refused(pawl.StartRequest{Goal: "x", Flags: pawl.StartFlags{Model: []string{"script:" + name}}}, pawl.CodeInvalid, "flags.model", "read the scripted model's file", name)
	}
}

// A task that is continued has what was known of it. V-18 V-23
func TestContinues(t *testing.T) {
	w := newWorld(t)
	w.runs = past{"007-log-in": began("Log in", "loom"), "007-log-in-r2": began("Log out", "taskloop"), "008-other": began("Log in", "pandora")}
	spec := w.must(pawl.StartRequest{Goal: "and be quick", Task: "007-log-in"})
	if spec.Recipe.Name != "taskloop" || spec.Task != "007-log-in" || spec.Goal != "Log out"+askedAgain+"and be quick" || len(spec.Criteria) != 1 || spec.Criteria[0].ID != "AC-007" {
		t.Errorf("it would start %+v", spec)
	}
	spec = w.must(pawl.StartRequest{Task: "007-log-in", Recipe: "loom", Flags: pawl.StartFlags{Criteria: []string{"mine"}}})
	if spec.Recipe.Name != "loom" || spec.Goal != "Log out" || spec.Criteria[0].Text != "mine" {
		t.Errorf("it would start %+v", spec)
	}
	w.folders = []Folder{{Task: "007-log-in", Goal: "Users sign in", Problem: "one file cannot be read", Criteria: []pawl.Criterion{{ID: "R-1", Text: "there is a test"}},
		Tasks: []pawl.TaskSpec{{ID: "1.1", Title: "Form", Done: true}, {ID: "1.2", Title: "Session", DependsOn: []string{"1.1"}}}}}
	spec = w.must(pawl.StartRequest{Task: "007-log-in", Recipe: "pandora"})
	var list []pawl.TaskSpec
	if err := json.Unmarshal(spec.Tasks, &list); err != nil || spec.Goal != "Users sign in" || spec.Criteria[0].ID != "R-1" || len(list) != 2 || !list[0].Done || !slices.Contains(spec.Notes, "one file cannot be read") {
		t.Errorf("%v: it would start %+v", err, spec)
	}
	w.folders = []Folder{{Task: "007-log-in", Goal: "Users sign in", Criteria: []pawl.Criterion{{ID: "AC-001", Text: pawl.GoalIsMet + "Users sign in"}}}}
	w.runs = nil
	if spec := w.must(pawl.StartRequest{Task: "007-log-in", Recipe: "coherence"}); len(spec.Criteria) != 0 { // V-19: it had none, and needs nobody who judges them
		t.Errorf("it would start with the criteria %+v", spec.Criteria)
	}
	w.folders = append(w.folders, Folder{Task: "009-empty"})
	w.refused(pawl.StartRequest{Task: "009-empty"}, pawl.CodeState, "task", "does not say what it is about")
}

// A task that has only a folder continues with the recipe that its folder fits.
func TestRecipeOfAFolder(t *testing.T) {
	for configured, want := range map[string]string{"pawl": "coherence", "loopr": "coherence", "mine": "mine", "other": "coherence"} {
		w := newWorld(t, ".pawl/recipes/mine.yaml", "extends: taskloop\nrecords: true\n", ".pawl/recipes/other.yaml", "extends: coherence\nrecords: false\n")
		w.environ = append(w.environ, "PAWL_RECIPE="+configured)
		w.folders = []Folder{{Task: "007-log-in", Goal: "Users sign in"}}
		if got := w.must(pawl.StartRequest{Task: "007-log-in"}).Recipe.Name; got != want {
			t.Errorf("with %s configured it is %s, want %s", configured, got, want)
		}
		w.runs = past{"007-log-in": began("Log in", "loom")}
		if got := w.must(pawl.StartRequest{Task: "007-log-in"}).Recipe.Name; got != "loom" {
			t.Errorf("after a run of loom it is %s", got)
		}
	}
}

// A merge is judged as the run was whose work is merged, by the built-in recipe, whatever the configuration
// says meanwhile.
func TestMerge(t *testing.T) {
	w := newWorld(t, ".pawl/config.yaml", "gates: [{name: other, kind: lint, command: x}]\n", ".pawl/recipes/merge-check.yaml", "extends: taskloop\n")
	of := began("Log in", "taskloop")
	first := of[0].Body.(*pawl.RunStarted)
	first.Branch, first.Confined = "pawl/007-log-in", true
	first.Settings = pawl.JSON(`{"gates":[{"name":"tests","kind":"tests","command":"make test"}],"models":[{"provider":"openai","name":"gpt-5","max_output":9}]}`)
	w.runs = past{"007-log-in": of}
	commit := pawl.CommitHash(strings.Repeat("ab", 20))
	req := func(change func(*pawl.StartRequest)) pawl.StartRequest {
		r := pawl.StartRequest{Merge: &pawl.MergeRequest{Run: "007-log-in", Commit: commit}, Dir: "/shop"}
		if change != nil {
			change(&r)
		}
		return r
	}
	spec := w.must(req(nil))
	s := spec.Settings
	if spec.Goal != "Merge pawl/007-log-in" || spec.Merge != commit || spec.Dir != "/shop" || spec.Unsandboxed || spec.Recipe.Name != "merge-check" || len(spec.Recipe.Kinds[0].Steps) > 0 ||
		len(spec.Origin.Files) > 0 || len(s.Gates) != 1 || s.Gates[0].Command != "make test" || s.Models[0] != (pawl.ModelChoice{Provider: "script", MaxOutput: 1}) {
		t.Errorf("it would start %+v", spec)
	}
	if got := w.must(req(func(r *pawl.StartRequest) { r.Goal = "Merge it" })); got.Goal != "Merge it" {
		t.Errorf("the goal is %q", got.Goal)
	}
	first.Confined = false
	if !w.must(req(nil)).Unsandboxed {
		t.Error("the gates of a run that was not confined are")
	}
	w.refused(req(func(r *pawl.StartRequest) { r.Recipe = "pawl" }), pawl.CodeInvalid, "merge", "without a recipe")
	w.refused(req(func(r *pawl.StartRequest) { r.Flags.Unsandboxed = true }), pawl.CodeInvalid, "merge", "without a recipe")
	w.refused(req(func(r *pawl.StartRequest) { r.Merge.Commit = "HEAD" }), pawl.CodeInvalid, "merge.commit", `"HEAD"`, "whole hash")
	w.refused(req(func(r *pawl.StartRequest) { r.Merge.Run = "008-nobody" }), pawl.CodeNotFound, "merge.run", "008-nobody")
	// A run of its own would be complete, though nobody has worked on its goal.
	w.refused(pawl.StartRequest{Goal: "x", Recipe: "merge-check"}, pawl.CodeInvalid, "recipe", "merge-check", "only judges merges")
}

// ownWords changes what a recipe says of its limits, its time and its end.
const ownWords = `extends: %s
cancel: now
loops: 7
kinds:
  %s:
    iterations: 3
    priority: 9
    concurrent: 2
`

// What a recipe says of its limits, its time and its end reaches the run, as long as the user says nothing
// else: no default of the settings takes its place. F-88
func TestRecipesWordHolds(t *testing.T) {
	w := newWorld(t)
	for name, kind := range map[string]string{"pawl": "task", "taskloop": "task", "pandora": "request", "loom": "task", "coherence": "task", "loopr": "plan"} {
		w.write(".pawl/recipes/own-"+name+".yaml", fmt.Sprintf(ownWords, name, kind))
		for _, chosen := range []string{name, "own-" + name} {
			spec := w.must(pawl.StartRequest{Goal: "x", Recipe: chosen})
			want, err := recipe.Load(chosen, os.DirFS(filepath.Join(w.root, ".pawl/recipes")))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, spec.Recipe); d != "" {
				t.Errorf("%s: the recipe and what is run differ (-recipe +run):\n%s", chosen, d)
			}
			s := spec.Settings
			if s.Limits.Iterations != 0 && s.Limits.Iterations != want.Kind(want.Start).Iterations || s.Parallel != 0 || s.ReplanEvery != nil || s.Approval != "" || s.NoStuckDetection || s.Council || s.Complexity != nil {
				t.Errorf("%s: the settings decide in place of the recipe: %+v", chosen, s)
			}
			if own := chosen != name; own && (spec.Recipe.Cancel != pawl.DrainNow || spec.Recipe.Kind(kind).Iterations != 3) {
				t.Errorf("%s: its own words are lost: %+v", chosen, spec.Recipe)
			}
		}
	}
}

const onlyTests = "extends: pawl\nkinds:\n  task:\n    gates:\n      - {name: quality, commands: [tests]}\n"

// A repository's recipe that takes a built-in one's place is named, and a gate that it never runs on what
// is made is told of; where no gate would judge, nothing is started. F-12
func TestReplacedRecipe(t *testing.T) {
	w := newWorld(t, ".pawl/recipes/pawl.yaml", onlyTests)
	gates := func(gates ...string) pawl.StartRequest {
		return pawl.StartRequest{Goal: "x", Flags: pawl.StartFlags{Gate: gates}}
	}
	spec := w.must(gates("tests=make test", "lint=make lint"))
	if d := cmp.Diff(pawl.RecipeOrigin{Name: "pawl", Files: []string{".pawl/recipes/pawl.yaml"}, Replaces: []string{"pawl"}}, spec.Origin); d != "" {
		t.Error(d)
	}
	want := "gate lint (make lint) never judges the result: it is of kind lint, and the recipe pawl runs only command gates of kind tests"
	if !cmp.Equal(spec.Warnings, []string{want}) {
		t.Errorf("the warnings are %q", spec.Warnings)
	}
	w.refused(gates("lint=make lint", "types=make types"), pawl.CodeInvalid, "recipe", "no gate would judge the result", "lint of kind lint, types of kind types", "only command gates of kind tests")
	if spec := w.must(gates("tests=make test")); len(spec.Warnings) > 0 {
		t.Errorf("the warnings are %q", spec.Warnings)
	}

	w = newWorld(t, ".pawl/recipes/pawl.yaml", "extends: taskloop\nkinds:\n  task:\n    gates:\n      - {name: quality, review: {role: r, prompt: requirements.md, tier: 1, output: verdict}}\n")
	if spec := w.must(gates("tests=make test")); len(spec.Warnings) != 1 || !strings.Contains(spec.Warnings[0], "the recipe pawl runs no command gates") {
		t.Errorf("the warnings are %q", spec.Warnings)
	}
	if spec := newWorld(t).must(gates("tests=make test", "lint=x", "types=x", "security=x", "format=x")); len(spec.Warnings) > 0 || len(spec.Origin.Files) > 0 {
		t.Errorf("the built-in recipe: %q, %+v", spec.Warnings, spec.Origin)
	}
}

// The start says when nobody may judge the user's criteria, and nothing where somebody always does. F-86
func TestWarnsOfCriteria(t *testing.T) {
	const nobody = "extends: taskloop\nkinds:\n  task:\n    gates:\n      - {name: quality, commands: [all]}\n"
	for _, row := range []struct {
		recipe     string
		noFinal    bool
		noCriteria bool
		want       string
	}{
		{recipe: "taskloop"},
		{recipe: "pandora"},
		{recipe: "pandora", noFinal: true, want: "the recipe pandora has no other review of the finished work that was split into tasks: if it is split, nobody judges the criteria, and the run can only end unverified"},
		{recipe: "nobody", want: "the recipe nobody has no review of the finished work: nobody judges the criteria, so the run can only end unverified"},
		{recipe: "nobody", noCriteria: true},
	} {
		w := newWorld(t, ".pawl/recipes/nobody.yaml", nobody)
		flags := pawl.StartFlags{NoFinalReview: row.noFinal, Gate: []string{"tests=make test"}}
		if !row.noCriteria {
			flags.Criteria = []string{"it is quick"}
		}
		if got := strings.Join(w.must(pawl.StartRequest{Goal: "x", Recipe: row.recipe, Flags: flags}).Warnings, "; "); got != row.want {
			t.Errorf("%+v: the warnings are %q", row, got)
		}
	}
}

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
		{"lint=TestA", []pawl.GateSpec{lint, unit}, ""},
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

func TestAddGates(t *testing.T) {
	t.Run("ReplacesByName", func(t *testing.T) {
		s := &starting{req: pawl.StartRequest{Flags: pawl.StartFlags{Gate: []string{"lint=true", "fast:tests=make fast"}, RequireGreen: true, Scope: []string{"only here"}}}}
		s.spec.Settings.Gates = []pawl.GateSpec{{Name: "lint", Kind: pawl.GateLint, Command: "make lint"}, {Name: "tests", Kind: pawl.GateTests, Command: "make test"}}
		if err := s.addGates(fstest.MapFS{}); err != nil {
			t.Fatal(err)
		}
		want := []pawl.GateSpec{{Name: "lint", Kind: pawl.GateLint, Command: "true", RequireGreen: true},
			{Name: "tests", Kind: pawl.GateTests, Command: "make test", RequireGreen: true}, {Name: "fast", Kind: pawl.GateTests, Command: "make fast", RequireGreen: true}}
		if d := cmp.Diff(want, s.spec.Settings.Gates); d != "" || len(s.spec.Settings.Scope) != 1 {
			t.Error(d, s.spec.Settings.Scope)
		}
	})
	t.Run("FoundWhereNoneAreNamed", func(t *testing.T) {
		s := &starting{}
		if err := s.addGates(fstest.MapFS{"go.mod": {Data: []byte("module x\n")}}); err != nil || len(s.spec.Settings.Gates) == 0 || len(s.spec.Notes) != 1 {
			t.Errorf("%d gates, notes %q, %v", len(s.spec.Settings.Gates), s.spec.Notes, err)
		}
		s = &starting{}
		if err := s.addGates(fstest.MapFS{}); err != nil || len(s.spec.Notes) != 1 {
			t.Errorf("notes %q, %v", s.spec.Notes, err)
		}
	})
}

// Held-out checks are read when a run starts, and refused where commands could see them.
func TestHeldOut(t *testing.T) {
	w := newWorld(t, "go.mod", "module x\n", "checks/a.sh", "true\n")
	out := t.TempDir()
	w.write(filepath.Join(out, "a.sh"), "true\n")
	w.write(filepath.Join(out, "overlay", "b"), "b\n")
	flags := func(dir, feedback string) pawl.StartRequest {
		f := pawl.StartFlags{Model: []string{"anthropic/x"}, Gate: []string{"tests=go test ./..."}}
		if dir != "" {
			f.HeldOut = &dir
		}
		if feedback != "" {
			f.HeldOutFeedback = &feedback
		}
		return pawl.StartRequest{Goal: "g", Flags: f}
	}
	for _, c := range []struct{ dir, feedback, field, says string }{
		{"checks", "", "held_out", `--held-out "checks": it is in the repository`},
		{filepath.Dir(w.root), "", "held_out", "the repository is in it"},
		{w.root, "", "held_out", "it is in the repository"},
		{"", "none", "held_out_feedback", "there are no held-out checks"},
		{" ", "", "held_out", "want a folder"},
		{filepath.Join(out, "none"), "", "held_out", "no such file"},
		{filepath.Join(out, "overlay"), "", "held_out", "has no checks"},
		{out, "some", "held_out_feedback", `--held-out-feedback "some": want none, names or full`},
	} {
		w.refused(flags(c.dir, c.feedback), pawl.CodeInvalid, "flags."+c.field, c.says)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(w.root, "checks"), link); err != nil {
		t.Fatal(err)
	}
	w.refused(flags(link, ""), pawl.CodeInvalid, "flags.held_out", "it is in the repository")

	spec := w.must(flags(out, ""))
	gates := spec.Settings.Gates
	if g := gates[len(gates)-1]; len(gates) != 2 || g.Name != pawl.HeldOutGate || g.Kind != pawl.GateHeldOut || spec.Settings.HeldOutFeedback != pawl.HeldOutNames {
		t.Errorf("the gates are %+v, feedback %q", gates, spec.Settings.HeldOutFeedback)
	}
	if !strings.Contains(string(spec.HeldOut), `"path":"a.sh"`) || !slices.Contains(spec.Notes, "the result is judged by held-out checks too: 1 script with 1 file laid over the checkout; of those that fail the agent is told the names") {
		t.Errorf("held out is %s, notes %q", spec.HeldOut, spec.Notes)
	}
	settings, err := json.Marshal(spec.Settings)
	if err != nil || strings.Contains(string(settings), "a.sh") || strings.Contains(string(settings), out) {
		t.Errorf("the settings tell of the checks: %s, %v", settings, err)
	}
	if rel, err := filepath.Rel(w.root, out); err != nil || len(w.must(flags(rel, "full")).HeldOut) == 0 {
		t.Errorf("a relative folder: %v", err)
	}
	_, err = Resolver{Root: w.root, Environ: w.environ, Seen: func(dir string) bool { return dir == out }}.Resolve(t.Context(), flags(out, ""))
	if pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), "commands in rooms see") {
		t.Errorf("a folder that commands see: %v", err)
	}
	named := flags(out, "")
	named.Flags.Gate = []string{"held-out:tests=true"}
	if _, err := w.resolve(named); pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), "a gate is called held-out") {
		t.Errorf("a gate of that name: %v", err)
	}

	// A recipe that would not run them is refused.
	w.write(".pawl/recipes/loose.yaml", "extends: pawl\nkinds:\n  task:\n    gates:\n      - {name: quality, commands: [all], when: {tier: [2]}}\n")
	loose := flags(out, "")
	loose.Recipe = "loose"
	if _, err := w.resolve(loose); err == nil || !strings.Contains(err.Error(), "--held-out: nothing would be judged by the checks: the first loop of the recipe loose runs no command gates on the finished work in all circumstances") {
		t.Errorf("a recipe that may leave them out: %v", err)
	}
}
