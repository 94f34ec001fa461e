package runner_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/driver"
)

// spec is the stored task of an entry.
func (w *world) spec(tb rapid.TB, e pawl.TaskEntry) pawl.TaskSpec {
	tb.Helper()
	var s pawl.TaskSpec
	if err := json.Unmarshal([]byte(w.MustBlob(tb, e.Spec)), &s); err != nil {
		tb.Fatal(err)
	}
	return s
}

// P-32 P-33 P-64: a planner's list, with intent and mode in each task.
func TestReadSubmittedTasks(t *testing.T) {
	w := MustWorld(t, nil)
	list := w.MustKeep(t, `{"decision": "PANDORA_LOOP", "reasoning": "r", "intent": "fix", "tasks": [
		{"id": "TASK-001", "title": "One", "description": "Do the one thing that is asked for.", "acceptance_criteria": ["It is there", "Tests pass"], "priority": 2},
		{"id": "TASK-002", "title": " Two\nlines ", "description": "Short", "acceptance_criteria": [], "depends_on": ["TASK-001"]}]}`)
	got := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: list, Goal: w.MustKeep(t, "goal")})
	if got.Problem != "" || got.Count != 2 {
		t.Fatalf("read %+v", got)
	}
	e := got.Entries[1]
	e.Spec = pawl.Hash{}
	want := pawl.TaskEntry{ID: "TASK-002", Title: "Two lines", DependsOn: []string{"TASK-001"}, Incomplete: "it has neither a description nor criteria"}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("the entry (-want +got):\n%s", diff)
	}
	if got.Entries[0].Incomplete != "" || got.Entries[0].Priority != 2 {
		t.Errorf("the first entry is %+v", got.Entries[0])
	}
	spec := pawl.TaskSpec{ID: "TASK-001", Title: "One", Description: "Do the one thing that is asked for.", Criteria: []string{"It is there", "Tests pass"},
		Priority: 2, Intent: "fix", Mode: "code"}
	if diff := cmp.Diff(spec, w.spec(t, got.Entries[0])); diff != "" {
		t.Errorf("the task (-want +got):\n%s", diff)
	}
}

// L-34
func TestReadPlan(t *testing.T) {
	w := MustWorld(t, nil)
	list := w.MustKeep(t, `{"reasoning": "r", "subtasks": [{"id": "rename-files", "description": "Rename the files of v1.2 in `+"`a`"+`. Then mend the imports that are left over, in every package.",
		"depends_on": [], "model_tier": 2, "verification_tier": 3, "is_critical_path": true, "max_retries": 0, "scaffold": true}]}`)
	got := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: list})
	if len(got.Entries) != 1 {
		t.Fatalf("read %+v", got)
	}
	e := got.Entries[0]
	want := pawl.TaskEntry{ID: "rename-files", Title: "Rename the files of v1.2 in `a`", Spec: e.Spec, DependsOn: []string{}, Tier: 2, Verify: 3, Retries: 1, Critical: true, Scaffold: true}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("the entry (-want +got):\n%s", diff)
	}
	if s := w.spec(t, e); s.Intent != "edit" || s.Mode != "code" || s.MaxRetries == nil || *s.MaxRetries != 0 {
		t.Errorf("the task is %+v", s)
	}
}

// What is done is believed of the user's list and of no other.
func TestOnlyTheUserSaysDone(t *testing.T) {
	w := MustWorld(t, nil)
	specs := []pawl.TaskSpec{{ID: "a", Title: "A", Done: true}, {ID: "b", Title: "B"}}
	given := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: w.MustKeep(t, specs), Given: true})
	if len(given.Entries) != 2 || !given.Entries[0].Done || given.Entries[1].Done {
		t.Errorf("the user's list is %+v", given)
	}
	model := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: w.MustKeep(t, map[string]any{"tasks": specs})})
	if len(model.Entries) != 2 || model.Entries[0].Done || w.spec(t, model.Entries[0]).Done {
		t.Errorf("the model's list is %+v", model)
	}
}

// Without a list the goal is the one task there is.
func TestGoalIsTheOneTask(t *testing.T) {
	w := MustWorld(t, nil)
	do := &pawl.ReadTasks{List: w.MustKeep(t, `{"decision": "PANDORA_LOOP", "reasoning": "r"}`), Goal: w.MustKeep(t, "Add a login page.\n\nIt has two fields."), Criteria: w.job.Started.Criteria}
	got := must[*pawl.TasksRead](t, w, do)
	if len(got.Entries) != 1 || got.Entries[0].ID != "TASK-001" || got.Entries[0].Title != "Add a login page" || got.Entries[0].Incomplete != "" {
		t.Fatalf("read %+v", got)
	}
	if s := w.spec(t, got.Entries[0]); s.Description != "Add a login page.\n\nIt has two fields." || len(s.Criteria) != 2 || s.Criteria[1] != "two" {
		t.Errorf("the task is %+v", s)
	}
	do.Goal = pawl.Hash{}
	if got := must[*pawl.TasksRead](t, w, do); got.Count != 0 || got.Problem != "" {
		t.Errorf("without a goal it is %+v", got)
	}
}

// A list that cannot be read is said to be so; it does not end anything. P-B17
func TestListsThatCannotBeRead(t *testing.T) {
	w := MustWorld(t, nil)
	for name, test := range map[string]struct {
		list, says string
		given      bool
	}{
		"NoJSON":     {list: "I have decided to do it at once.", says: "cannot be read: invalid character 'I'"},
		"Trailing":   {list: `{"tasks": []} {}`, says: "more text after its end"},
		"Unknown":    {list: `{"tasks": [{"id": "a", "colour": 1}]}`, says: `unknown field "colour"`},
		"WrongType":  {list: `{"tasks": [{"id": 1}]}`, says: "cannot unmarshal number"},
		"NotAList":   {list: `{"tasks": []}`, given: true, says: "cannot unmarshal object"},
		"BadID":      {list: `{"tasks": [{"id": "../../x"}]}`, says: "want a letter or digit"},
		"SameID":     {list: `[{"id": "a"}, {"id": "a"}]`, given: true, says: "the id a is there twice"},
		"Unknown id": {list: `{"tasks": [{"id": "a", "depends_on": ["b"]}]}`, says: `depends on "b", which is not in the list`},
		"Circle":     {list: `{"tasks": [{"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}]}`, says: "a → b → a"},
		"Huge":       {list: strings.Repeat(" ", 9<<20) + "[]", given: true, says: "want at most 8388608"},
	} {
		t.Run(name, func(t *testing.T) {
			got := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: w.MustKeep(t, test.list), Given: test.given, Goal: w.MustKeep(t, "goal")})
			if !strings.Contains(got.Problem, test.says) || len(got.Problem) > 300 || len(got.Entries) != 0 || got.Count != 0 {
				t.Errorf("read %+v, want a problem that says %s", got, test.says)
			}
		})
	}
	t.Run("Gone", func(t *testing.T) {
		if f := w.fails(t, &pawl.ReadTasks{List: pawl.HashOf([]byte("gone"))}); f.Code != pawl.FailDefect {
			t.Errorf("failed with %+v", f)
		}
	})
}

// Whatever a list says, what decisions get of it is small and clean, and no
// secret is in it: neither plain nor escaped.
func TestHostileTasks(t *testing.T) {
	w := MustSecretWorld(t, hidden)
	escaped := strings.ReplaceAll(hidden, "s", `\u0073`)
	list := `{"tasks": [{"id": "a", "title": "` + escaped + `", "description": "` + strings.Repeat("x", 70) + hidden + ` \u001b[2J\u202e", "acceptance_criteria": ["` + escaped + `"], "notes": "` + escaped + `"}]}`
	got := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: w.MustKeep(t, list)})
	if len(got.Entries) != 1 || got.Entries[0].Title != redacted {
		t.Fatalf("read %+v", got)
	}
	s := w.spec(t, got.Entries[0])
	if s.Description != strings.Repeat("x", 70)+redacted+" [2J" || s.Criteria[0] != redacted || s.Notes != redacted {
		t.Errorf("the task is %+v", s)
	}
	if got := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: w.MustKeep(t, `{"tasks": [{"id": "`+escaped+`"}]}`)}); !strings.Contains(got.Problem, "[redacted") {
		t.Errorf("an id that is a secret is read as %+v", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var specs []pawl.TaskSpec
		for i := range rapid.IntRange(1, 5).Draw(rt, "tasks") {
			n := rapid.Int().Draw(rt, "n")
			specs = append(specs, pawl.TaskSpec{ID: fmt.Sprint("t", i), Title: nasty().Draw(rt, "title"), Description: nasty().Draw(rt, "description") + hidden, Criteria: []string{nasty().Draw(rt, "criterion")},
				Priority: n, ModelTier: n, VerificationTier: n, MaxRetries: &n, Intent: nasty().Draw(rt, "intent"), Mode: hidden})
		}
		got := must[*pawl.TasksRead](rt, w, &pawl.ReadTasks{List: w.MustKeep(rt, specs), Given: true})
		if got.Problem != "" || len(got.Entries) != len(specs) {
			rt.Fatalf("read %+v", got)
		}
		for _, e := range got.Entries {
			if e.Title == "" || len(e.Title) > 80 || !utf8.ValidString(e.Title) || strings.ContainsAny(e.Title, "\n\x1b") || e.Tier < 0 || e.Tier > 3 || e.Verify > 3 || e.Retries < 1 || e.Priority < 0 {
				rt.Fatalf("the entry is %+v", e)
			}
			w.spec(rt, e)
		}
	})
}

// L-60 and the checks of tier 1: files a result names are there, hold something,
// lie in the worktree, and are what their names say.
func TestArtifacts(t *testing.T) {
	w := MustWorld(t, nil)
	w.MustOpen(t)
	for name, content := range map[string]string{
		"good.json": `{"a": [1]}`, "bad.json": `{"a": `, "good.yaml": "a: 1\n---\nb: [x]\n", "bad.yml": "a: [1\nb: }", "empty.txt": "", "docs/a.md": "x",
		"huge.json": `"` + strings.Repeat("x", 5<<20), "deep.yaml": strings.Repeat("[", 60_000), "nest.yaml": strings.Repeat("[", 30_000),
	} {
		MustWrite(t, w.dir(name), content)
	}
	MustWrite(t, w.dir("..", "outside.txt"), "x")
	MustLink(t, "../outside.txt", w.dir("link.txt"))
	MustLink(t, "good.json", w.dir("inside.json"))
	MustPipe(t, w.dir("pipe"))
	for path, says := range map[string]string{
		"good.json": "", "good.yaml": "", "docs/a.md": "", "./docs/../docs/a.md": "", "inside.json": "",
		"huge.json": "", "deep.yaml": "", "nest.yaml": "", // too large to look into
		"bad.json": "is not valid JSON: unexpected end", "bad.yml": "is not valid YAML:", "empty.txt": "is empty", "gone.txt": "does not exist", "good.json/x": "does not exist",
		"docs": "is a folder", "../outside.txt": "is not a path in the worktree", "/etc/passwd": "is not a path in the worktree", "": "is not a path in the worktree",
		"link.txt": "cannot be opened", "pipe": "is not a regular file", "a\x00b": "is not a path in the worktree",
	} {
		t.Run(path, func(t *testing.T) {
			args := quoted(map[string]any{"summary": "s", "status": "done", "artifacts": []string{"good.json", path}})
			got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_result", args)), "submit_result"))
			c := got.Calls[0]
			if (c.Problem == "") != (says == "") || !strings.Contains(c.Problem, says) || says == "" && c.Facts.Get("status") != "done" {
				t.Errorf("the call is %+v, want one that says %q", c, says)
			}
		})
	}
	t.Run("Many", func(t *testing.T) {
		var paths []string
		for i := range 40 {
			paths = append(paths, fmt.Sprint(strings.Repeat("gone", 20), i))
		}
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_result", quoted(map[string]any{"summary": "s", "artifacts": paths}))), "submit_result"))
		if p := got.Calls[0].Problem; len(p) > 400 || !strings.Contains(p, "does not exist") {
			t.Errorf("the problem is %q", p)
		}
	})
	t.Run("NoWorktree", func(t *testing.T) {
		elsewhere := func(j *driver.Job) { j.Workspace = "none" }
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_result", `{"summary": "s", "artifacts": ["good.json"]}`)), "submit_result"), elsewhere)
		if !strings.Contains(got.Calls[0].Problem, "there is no worktree") {
			t.Errorf("the call is %+v", got.Calls[0])
		}
	})
}

// The criteria a verdict has to decide are the task's, where the loop has one. P-77
func TestVerdictOnTask(t *testing.T) {
	w := MustWorld(t, nil)
	w.shows(t, w.base)
	verdict := use("1", "submit_verdict", `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["README:1"]}], "summary": "s", "decision": "approve", "confidence": 80}`)
	task := func(spec any) effect {
		h := w.MustKeep(t, spec)
		return func(j *driver.Job) { j.Task = h }
	}
	ask := func() *pawl.CallModel {
		return w.asks(t, replies(pawl.StopToolUse, verdict), "submit_verdict")
	}
	if got := must[*pawl.ModelReplied](t, w, ask()); !strings.Contains(got.Calls[0].Problem, "undecided: AC-002") {
		t.Errorf("without a task it is %+v", got.Calls[0])
	}
	for _, spec := range []pawl.TaskSpec{{ID: "a", Title: "A", Criteria: []string{"one"}}, {ID: "a", Title: "A"}} {
		got := must[*pawl.ModelReplied](t, w, ask(), task(spec))
		want := pawl.Facts{{Name: "decision", Value: "pass"}, {Name: "reason", Value: "s"}, {Name: "met", Value: "1"}, {Name: "total", Value: "1"}, {Name: "confidence", Value: "80"}}
		if diff := cmp.Diff(want, got.Calls[0].Facts); diff != "" {
			t.Errorf("of %+v (-want +got):\n%s", spec, diff)
		}
	}
	if f := w.fails(t, ask(), task("no task")); f.Code != pawl.FailDefect || !strings.Contains(f.Message, "the task") {
		t.Errorf("failed with %+v", f)
	}
}

// What is to be remembered is a blob without secrets; decisions get its hash.
func TestMemoryIsKept(t *testing.T) {
	w := MustSecretWorld(t, hidden)
	escaped := strings.ReplaceAll(hidden, "s", `\u0073`)
	long := strings.Repeat("é", 285) + hidden + " and more words that do not fit any more"
	t.Run("Learnings", func(t *testing.T) {
		args := `{"entries": [{"kind": "learning", "text": " The key is ` + escaped + `.\u001b[2J "}, {"kind": "anti-pattern", "text": "` + long + `"}, {"kind": "error", "text": "\u001b"}]}`
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_learnings", args)), "submit_learnings"))
		f := got.Calls[0].Facts
		if len(f) != 2 || f[0].Name != "learning" || f[1].Name != "anti-pattern" || !got.Calls[0].Submit {
			t.Fatalf("the call is %+v", got.Calls[0])
		}
		if text := w.text(t, f[0].Value); text != "The key is "+redacted+".[2J" {
			t.Errorf("it is kept as %q", text)
		}
		if text := w.text(t, f[1].Value); len(text) > 600 || !strings.Contains(text, redacted) || !strings.HasSuffix(text, "…") {
			t.Errorf("it is kept as %q", text)
		}
	})
	t.Run("Twelve", func(t *testing.T) {
		var entries []map[string]string
		for i := range 12 {
			entries = append(entries, map[string]string{"kind": "anti-pattern", "text": fmt.Sprint("text ", i)})
		}
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_learnings", quoted(map[string]any{"entries": entries}))), "submit_learnings"))
		if f := got.Calls[0].Facts; len(f) != 12 || w.text(t, f[11].Value) != "text 11" {
			t.Errorf("the facts are %v", f)
		}
	})
	t.Run("Remember", func(t *testing.T) {
		got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "remember", `{"kind": "discovery", "text": "It is `+escaped+`", "scope": "project"}`),
			use("2", "remember", `{"kind": "error", "text": "x"}`)), "remember"))
		c := got.Calls[0]
		if !c.Harness || c.Submit || c.Class != 0 || c.Facts.Get("kind") != "discovery" || c.Facts.Get("scope") != "project" || w.text(t, c.Facts.Get("text")) != "It is "+redacted {
			t.Errorf("the call is %+v", c)
		}
		if f := got.Calls[1].Facts; f.Get("scope") != "" || w.text(t, f.Get("text")) != "x" {
			t.Errorf("the facts are %v", f)
		}
	})
}

// text is the blob a fact names.
func (w *world) text(tb testing.TB, value string) string {
	tb.Helper()
	var h pawl.Hash
	if err := h.UnmarshalText([]byte(value)); err != nil || h.IsZero() {
		tb.Fatalf("the hash %q: %v", value, err)
	}
	return w.MustBlob(tb, h)
}

// L-76: what the harness answers itself reaches it as facts.
func TestBlackboardCalls(t *testing.T) {
	w := MustSecretWorld(t, hidden)
	full := strings.Repeat("v", 300)
	for name, test := range map[string]struct{ tool, args, facts, says string }{
		"List":         {args: `{"op": "list", "key": "x"}`, facts: "op=list"},
		"Get":          {args: `{"op": "get", "key": " a\nb "}`, facts: "op=get key=a b"},
		"Set":          {args: `{"op": "set", "key": "k", "value": "a\n\u001bb"}`, facts: "op=set key=k value=a\nb"},
		"SetFull":      {args: `{"op": "set", "key": "` + strings.Repeat("k", 60) + `", "value": "` + full + `"}`, facts: "op=set key=" + strings.Repeat("k", 60) + " value=" + full},
		"SetSecret":    {args: `{"op": "set", "key": "k", "value": "` + strings.ReplaceAll(hidden, "k", `\u006b`) + `"}`, facts: "op=set key=k value=" + redacted},
		"KeyLong":      {args: `{"op": "get", "key": "` + strings.Repeat("k", 61) + `"}`, says: "key has 61 bytes: want at most 60"},
		"ValueLong":    {args: `{"op": "set", "key": "k", "value": "` + full + `v"}`, says: "value has 301 bytes: want at most 300"},
		"NoKey":        {args: `{"op": "get"}`, says: "key is empty"},
		"NoValue":      {args: `{"op": "set", "key": "k", "value": " "}`, says: "value is empty"},
		"NoOp":         {args: `{}`, says: `"op" is missing`},
		"OtherOp":      {args: `{"op": "drop"}`, says: `"op" must be one of`},
		"NoText":       {tool: "remember", args: `{"kind": "error", "text": " "}`, says: "there is nothing to remember"},
		"OtherKind":    {tool: "remember", args: `{"kind": "instruction", "text": "obey"}`, says: `"kind" must be one of`},
		"OtherScope":   {tool: "remember", args: `{"kind": "error", "text": "x", "scope": "world"}`, says: `"scope" must be one of`},
		"NoObject":     {tool: "remember", args: `[]`, says: "must be a JSON object"},
		"UnknownField": {args: `{"op": "list", "to": "all"}`, says: `"to" is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			if test.tool == "" {
				test.tool = "blackboard"
			}
			got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", test.tool, test.args)), "remember", "blackboard"))
			c := got.Calls[0]
			var said []string
			for _, f := range c.Facts {
				said = append(said, f.Name+"="+f.Value)
			}
			if !c.Harness || c.Class != 0 || strings.Join(said, " ") != test.facts || (c.Problem == "") != (test.says == "") || !strings.Contains(c.Problem, test.says) {
				t.Errorf("the call is %+v, want %+v", c, test)
			}
		})
	}
	t.Run("Many", func(t *testing.T) { // as many as the event holds
		var blocks []pawl.Block
		for i := range 24 {
			blocks = append(blocks, use(fmt.Sprint(i), "blackboard", `{"op": "set", "key": "k", "value": "`+full+`"}`))
		}
		if got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, blocks...), "blackboard")); len(got.Calls) < 3 {
			t.Errorf("%d calls are made", len(got.Calls))
		}
	})
}

const aPhase = `{"title": "Table of tokens", "task": "Make the table of tokens.", "tasks": [{"description": "d", "file": "a.sql", "action": "create"}],
	"success_criteria": ["It is there."], "validation_command": " test -e a.sql "}`

// R-11 R-13 R-15 R-B29: what a loop of a tree hands in becomes its children's tasks, each
// with its name; a phase's one child is called as the phase is.
func TestReadArtifacts(t *testing.T) {
	w := MustWorld(t, nil)
	plan := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: w.MustKeep(t, `{"title": "t", "overview": "o", "specs": [
		{"name": "db", "title": "Tables", "description": "All the tables that are asked for."}, {"name": "api", "title": "API", "description": "d", "dependencies": ["db"]}]}`)})
	if plan.Problem != "" || plan.Count != 2 || plan.Entries[1].ID != "api" || plan.Entries[1].Title != "API" || plan.Entries[1].DependsOn[0] != "db" || plan.Entries[0].Validated {
		t.Errorf("the plan is read as %+v", plan)
	}
	if s := w.spec(t, plan.Entries[0]); s.Title != "Tables" || s.Description != "All the tables that are asked for." {
		t.Errorf("the spec is %+v", s)
	}
	w.job.Task = w.MustKeep(t, pawl.TaskSpec{ID: "tokens", Title: "Tokens"})
	phase := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: w.MustKeep(t, aPhase)})
	if phase.Count != 1 || phase.Entries[0].ID != "tokens" || !phase.Entries[0].Validated {
		t.Fatalf("the phase is read as %+v", phase)
	}
	if s := w.spec(t, phase.Entries[0]); s.ValidationCommand != "test -e a.sql" || s.Criteria[0] != "It is there." || !strings.Contains(s.Description, "1. create a.sql: d") {
		t.Errorf("the code loop's task is %+v", s)
	}
}

// R-12 R-44: an artifact that does not hold what it must is no list.
func TestReadBadArtifacts(t *testing.T) {
	w := MustWorld(t, nil)
	for text, says := range map[string]string{
		`{"specs": []}`:  "title is empty",
		`{"phases": []}`: "phases is empty: want 3 to 7",
		strings.Replace(aPhase, " test -e a.sql ", `true\nfalse`, 1): "want one shell line",
	} {
		got := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: w.MustKeep(t, text), Goal: w.MustKeep(t, "goal")})
		if !strings.Contains(got.Problem, says) || got.Count != 0 {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

// The tools of artifacts hand in results, as submit_ does.
func TestArtifactIsHandedIn(t *testing.T) {
	w := MustWorld(t, nil)
	got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "create_phase", aPhase)), "read", "create_phase"))
	if c := got.Calls[0]; !c.Submit || c.Problem != "" || c.Facts.Get("count") != "1" || w.MustBlob(t, c.Args) == "" {
		t.Errorf("the call is %+v", c)
	}
	got = must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "create_phase", `{"title": "x"}`)), "create_phase"))
	if c := got.Calls[0]; !c.Submit || !strings.Contains(c.Problem, `"task" is missing`) {
		t.Errorf("the call is %+v", c)
	}
}
