package tasks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/tasks"
)

// MustRead reads a file of testdata.
func MustRead(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// MustParse parses a file that is right.
func MustParse(tb rapid.TB, data []byte) tasks.List {
	tb.Helper()
	l, err := tasks.Parse(data)
	if err != nil {
		tb.Fatalf("%v in:\n%s", err, data)
	}
	return l
}

// example are the three tasks of Pandora's worked example. P-37
func example() []tasks.Task {
	task := func(n int, title, description string, depends ...string) tasks.Task {
		return tasks.Task{Spec: pawl.TaskSpec{
			ID: fmt.Sprintf("TASK-%03d", n), Title: title, Description: description, Priority: n, DependsOn: depends,
			Criteria: []string{title + " is there", "It is configured", "Errors are handled", "Tests pass"},
		}}
	}
	return []tasks.Task{
		task(1, "Set up OAuth provider integration", "Add OAuth login with <state> & PKCE."),
		task(2, "Implement password reset", "Send a link that is valid once."),
		task(3, "Add session management", "Keep sessions on the server.", "TASK-001"),
	}
}

var created = time.Date(2026, 1, 23, 10, 30, 0, 0, time.FixedZone("CET", 3600))

// tasks.json matches the document's example byte for byte. P-32 P-37
func TestFreshTasksJSON(t *testing.T) {
	got := tasks.TasksJSON(tasks.State{Created: created, Query: "Implement user authentication", Tasks: example()})
	if diff := cmp.Diff(string(MustRead(t, "fresh.json")), string(got)); diff != "" {
		t.Errorf("tasks.json (-want +got):\n%s", diff)
	}
	for _, text := range []string{
		`"_type": "PANDORA_LOOP"`,                           // P-27
		`"version": "1.0"`,                                  // P-28
		`"created": "2026-01-23T09:30:00Z"`,                 // P-29
		`"original_query": "Implement user authentication"`, // P-30
		`"max_iterations": 10`,                              // P-31
		`"id": "TASK-001"`,                                  // P-33
		`"priority": 1,
      "status": "pending",
      "depends_on": [],
      "notes": ""`, // P-34 P-35
		`"status": "blocked",
      "depends_on": [
        "TASK-001"
      ]`, // P-42 P-68 P-71: a waiting task is shown as blocked
		`"progress": {
    "completed": 0,
    "total": 3,
    "current_iteration": 0
  }`, // P-36
	} {
		if !strings.Contains(string(got), text) {
			t.Errorf("tasks.json does not contain %s:\n%s", text, got)
		}
	}
}

// Each status appears in the file's words, with the reason if a task did not pass. P-49
func TestTasksJSONUnderWay(t *testing.T) {
	list := example()
	list[0].Status, list[0].Reason = pawl.TaskFailed, "TASK-001: 2 of 4 criteria met"
	list[1].Status = pawl.TaskPassed
	list[2].Status, list[2].Cause = pawl.TaskBlocked, "TASK-001"
	list = append(list, tasks.Task{Spec: pawl.TaskSpec{ID: "TASK-004", Notes: "mind the gap"}, Status: pawl.TaskRunning},
		tasks.Task{Spec: pawl.TaskSpec{ID: "TASK-005", DependsOn: []string{"TASK-002"}}},
		tasks.Task{Spec: pawl.TaskSpec{ID: "TASK-006"}, Status: pawl.TaskSkipped, Reason: "the run ended"})
	var got struct {
		MaxIterations int `json:"max_iterations"`
		Tasks         []struct{ Status, Notes string }
		Progress      struct {
			Completed, Total int
			Current          int `json:"current_iteration"`
		}
	}
	if err := json.Unmarshal(tasks.TasksJSON(tasks.State{Created: created, MaxIterations: 7, Iteration: 3, Tasks: list}), &got); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, x := range got.Tasks {
		said = append(said, x.Status+": "+x.Notes)
	}
	want := []string{
		"failed: TASK-001: 2 of 4 criteria met", // P-41
		"passed: ",                              // P-40
		"blocked: blocked by TASK-001",          // P-42
		"in_progress: mind the gap",             // P-39
		"pending: ",                             // P-38 P-B01: its dependencies have passed
		"pending: skipped: the run ended",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if got.MaxIterations != 7 || // P-B09
		got.Progress.Completed != 1 || got.Progress.Total != 6 || got.Progress.Current != 3 {
		t.Errorf("got %+v", got)
	}
}

// P-45 P-46 P-47 P-B04
func TestLoopResult(t *testing.T) {
	for outcome, want := range map[pawl.Outcome]string{
		pawl.OutcomeComplete: "complete", pawl.OutcomeBlocked: "blocked", pawl.OutcomeIncomplete: "incomplete", pawl.OutcomeFailed: "failed",
		pawl.OutcomeUnverified: "incomplete", pawl.OutcomeHalted: "incomplete", pawl.OutcomeCancelled: "incomplete",
	} {
		data := tasks.ResultJSON(outcome, example())
		if !strings.HasPrefix(string(data), "{\n  \"status\": \""+want+"\",\n  \"tasks\": [\n") {
			t.Errorf("%s is %.60s", outcome, data)
		}
		if l := MustParse(t, data); l.Status != want || len(l.Tasks) != 3 {
			t.Errorf("%s is read as %+v", outcome, l)
		}
	}
	if l := MustParse(t, []byte(`{"status": "max_iterations", "tasks": [{"id": "T", "title": "t"}]}`)); l.Status != "incomplete" {
		t.Errorf("the older word is read as %q", l.Status)
	}
}

// P-26 P-67 P-B16 P-B19: what has passed is done, everything else is worked on, and
// that something waited is found out anew.
func TestImportTasksJSON(t *testing.T) {
	l := MustParse(t, MustRead(t, "underway.json"))
	want := tasks.List{
		Form: tasks.FormPandora, Goal: "Implement user authentication", Created: created.UTC(), MaxIterations: 10,
		Tasks: []pawl.TaskSpec{
			{ID: "TASK-001", Title: "OAuth", Description: "Add it.", Criteria: []string{"Tests pass"}, Priority: 1, Done: true},
			{ID: "TASK-002", Title: "Reset", Priority: 2, Notes: "no mail server"},
			{ID: "TASK-003", Title: "Sessions", DependsOn: []string{"TASK-001", "TASK-002"}},
			{ID: "TASK-004", Title: "Roles", DependsOn: []string{"TASK-003"}, Notes: "blocked, says Ann"},
		},
	}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
}

func TestImportPRD(t *testing.T) {
	l := MustParse(t, MustRead(t, "prd.json"))
	want := tasks.List{
		Form: tasks.FormPRD, Project: "MyApp", Branch: "ralph/task-priority", Goal: "Tasks have priorities",
		Tasks: []pawl.TaskSpec{
			{ID: "US-002", Title: "Show it", Description: "As a user, I see it.", Criteria: []string{"Typecheck passes"}, Priority: 1, Done: true},
			{ID: "US-001", Title: "Store it", Description: "As a developer, I store it.", Criteria: []string{"A column", "Typecheck passes"}, Priority: 2, Notes: "n"},
			{ID: "US-003", Title: "Filter by it"},
		},
	}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Fatalf("the list (-want +got):\n%s", diff)
	}
	p := tasks.PRD{Project: l.Project, Branch: l.Branch, Description: l.Goal}
	for _, s := range l.Tasks {
		p.Tasks = append(p.Tasks, tasks.Task{Spec: s, Status: pawl.TaskPassed})
	}
	if got := string(tasks.PRDJSON(p)); strings.Count(got, `"passes": true`) != 3 || !strings.HasPrefix(got, "{\n  \"project\": \"MyApp\",\n  \"branchName\": \"ralph/task-priority\",") {
		t.Errorf("it is written as\n%s", got)
	}
}

func TestImportList(t *testing.T) {
	two := 2
	want := []pawl.TaskSpec{
		{ID: "a", Title: "A", Description: "d", Criteria: []string{"c"}, Priority: 3, ModelTier: 2, VerificationTier: 3, Critical: true, MaxRetries: &two,
			Scaffold: true, Notes: "n", Intent: "edit", Mode: "code", Done: true},
		{ID: "b", Title: "B", DependsOn: []string{"a"}},
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"%s", "\ufeff {\"tasks\": %s}\n"} {
		l := MustParse(t, fmt.Appendf(nil, form, data))
		if diff := cmp.Diff(want, l.Tasks); diff != "" || l.Form != tasks.FormList {
			t.Errorf("%s: (-want +got):\n%s", form, diff)
		}
	}
}

// P-B17 and what else is wrong with files: where it is and what would be right.
func TestMistakes(t *testing.T) {
	pandora := func(task string) string { return "{\n\"_type\": \"PANDORA_LOOP\",\n\"tasks\": [\n" + task + "\n]}" }
	for name, test := range map[string]struct{ file, says string }{
		"Empty":         {``, "line 1: this is not JSON: unexpected end"},
		"NoJSON":        {"{\n  \"tasks\": [\n}", "line 3: this is not JSON: invalid character '}'"},
		"Comment":       {"[ // tasks\n]", "line 1: this is not JSON"}, // P-B12
		"Trailing":      {`[] []`, "line 1: this is not JSON: invalid character '['"},
		"NotUTF8":       {"[\"\xff\"]", "not UTF-8"},
		"TooLarge":      {strings.Repeat(" ", 1<<20) + "[]", "1048578 bytes: at most 1048576 (1 MiB)"},
		"Number":        {`7`, "want a tasks.json, a prd.json or a list of tasks, got 7"},
		"OtherObject":   {`{"a": 1}`, "want a tasks.json (_type and tasks), a prd.json (userStories)"},
		"NoTasks":       {`[]`, "has no tasks"},
		"OtherType":     {`{"_type": "LOOM", "tasks": []}`, `line 1: _type: want one of PANDORA_LOOP, got "LOOM"`},
		"OtherVersion":  {"{\"_type\": \"PANDORA_LOOP\",\n \"version\": \"2.0\", \"tasks\": []}", `line 2: version: want one of 1.0, got "2.0"`},
		"OtherTime":     {`{"_type": "PANDORA_LOOP", "created": "today", "tasks": []}`, `created: want a time such as 2026-01-23T10:00:00Z, got "today"`},
		"TasksMissing":  {`{"_type": "PANDORA_LOOP"}`, "tasks: is missing: want an array of tasks"},
		"TasksNoArray":  {`{"tasks": {}}`, "tasks: want an array of tasks, got an object"},
		"TaskNoObject":  {`[[]]`, "[0]: want an object, got an array"},
		"NoID":          {pandora(`{"title": "t"}`), "line 4: tasks[0].id: is missing: want text"},
		"EmptyTitle":    {pandora(`{"id": "T", "title": " "}`), "line 4: tasks[0].title: is empty"},
		"Null":          {pandora(`{"id": "T", "title": "t", "notes": null}`), "tasks[0].notes: want text, got null"},
		"UnknownKey":    {pandora("{\"id\": \"T\", \"title\": \"t\",\n \"prio\": 1}"), "line 5: tasks[0].prio: there is no such key; the keys here are id, title,"},
		"OtherCase":     {pandora(`{"ID": "T", "title": "t"}`), "tasks[0].ID: there is no such key"},
		"RepeatedKey":   {pandora("{\"id\": \"T\",\n \"title\": \"t\",\n \"id\": \"U\"}"), "line 6: tasks[0].id: is here twice; it is also on line 4"},
		"WrongPriority": {pandora(`{"id": "T", "title": "t", "priority": "high"}`), `tasks[0].priority: want a whole number from 1 to 1000000, got the text "high"`},
		"ZeroPriority":  {pandora(`{"id": "T", "title": "t", "priority": 0}`), "want a whole number from 1 to 1000000, got 0"},
		"HugePriority":  {pandora(`{"id": "T", "title": "t", "priority": 1e400}`), "want a whole number from 1 to 1000000, got 1e400"},
		"WrongStatus":   {pandora(`{"id": "T", "title": "t", "status": "done"}`), `want one of pending, in_progress, passed, failed, blocked, got "done"`},
		"WrongCriteria": {pandora(`{"id": "T", "title": "t", "acceptance_criteria": ["a", 1]}`), "tasks[0].acceptance_criteria[1]: want text, got 1"},
		"OneCriterion":  {pandora(`{"id": "T", "title": "t", "acceptance_criteria": "a"}`), `want an array of texts, got the text "a"`},
		"Escape":        {pandora(`{"id": "T", "title": "\u001b[2J"}`), "tasks[0].title: holds the control character U+001B"},
		"Direction":     {pandora(`{"id": "T", "title": "\u202e"}`), "holds the control character U+202E"},
		"Deep":          {strings.Repeat("[", 500) + strings.Repeat("]", 500), "nested deeper than 8"},
		"WrongPasses":   {`{"userStories": [{"id": "U", "title": "t", "passes": "yes"}]}`, `userStories[0].passes: want true or false, got the text "yes"`},
		"NothingToDo":   {`[{"id": "T"}]`, "line 1: [0]: has neither a title nor a description"},
		"WrongTier":     {`[{"id": "T", "title": "t", "model_tier": 4}]`, "want a whole number from 0 to 3, got 4"},
		"BadID":         {`[{"id": "../x", "title": "t"}]`, `task 1 has the id "../x": want a letter or digit`},
		"LongID":        {`[{"id": "` + strings.Repeat("x", 61) + `", "title": "t"}]`, "at most 60 in all"},
		"SameID":        {`[{"id": "T", "title": "t"}, {"id": "T", "title": "t"}]`, "the id T is there twice, for tasks 1 and 2"},
		"UnknownTask":   {`[{"id": "T", "title": "t", "depends_on": ["U"]}]`, `task T depends on "U", which is not in the list`},
		"Itself":        {`[{"id": "T", "title": "t", "depends_on": ["T"]}]`, "task T depends on itself"},
		"Twice":         {`[{"id": "T", "title": "t"}, {"id": "U", "title": "t", "depends_on": ["T", "T"]}]`, "task U depends on T twice"},
		"Circle": {`[{"id": "a", "title": "t", "depends_on": ["b"]}, {"id": "b", "title": "t", "depends_on": ["c"]}, {"id": "c", "title": "t", "depends_on": ["d"]},
			{"id": "d", "title": "t", "depends_on": ["b"]}, {"id": "e", "title": "t"}]`, "in a circle: b → c → d → b"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tasks.Parse([]byte(test.file))
			if err == nil || !strings.Contains(err.Error(), test.says) || pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("got %v, want an error that says %s", err, test.says)
			}
		})
	}
}

// Many mistakes are counted, and cost no more than a few.
func TestManyMistakes(t *testing.T) {
	for name, file := range map[string]string{
		"SameKeys":  "{" + strings.Repeat("\"a\":1,\n", 130_000) + `"a":1}`,
		"Unknown":   `[{` + strings.Repeat("\"a\":1,\n", 1000) + `"b":1}]`,
		"NoObjects": "[" + strings.Repeat("1,\n", 19_999) + "1]",
		"SameIDs":   "[" + strings.Repeat(`{"id":"a","title":"t"},`, 19_999) + `{"id":"a","title":"t"}]`,
		"TooMany":   "[" + strings.Repeat("1,", 20_000) + "1]",
	} {
		_, err := tasks.Parse([]byte(file))
		if err == nil || len(err.Error()) > 2000 {
			t.Errorf("%s: %.3000v", name, err)
		}
	}
}

func TestLongCircle(t *testing.T) {
	list := make([]pawl.TaskSpec, 20_000)
	for i := range list {
		list[i] = pawl.TaskSpec{ID: fmt.Sprint("t", i), DependsOn: []string{fmt.Sprint("t", (i+1)%len(list))}}
	}
	err := tasks.Check(list)
	if err == nil || !strings.Contains(err.Error(), "t0 → t1 → t2") || !strings.Contains(err.Error(), "… 19989 more → t0;") {
		t.Errorf("got %v", err)
	}
	list[19_999].DependsOn = nil
	if err := tasks.Check(list); err != nil {
		t.Errorf("a long chain: %v", err)
	}
}

// nasty draws texts that files hold.
func nasty() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "Tests pass", "<&>", "\"\\", "\n", "é", "\u2028", "\x1b[2J", "\xff", "\u202e", "\r\n", " ", "waiting for "}), 0, 5).Draw(t, "text"), "")
	})
}

func drawTasks(t *rapid.T) []tasks.Task {
	var list []tasks.Task
	for i := range rapid.IntRange(1, 12).Draw(t, "tasks") {
		s := pawl.TaskSpec{ID: fmt.Sprintf("TASK-%03d", i+1), Title: nasty().Draw(t, "title"), Description: nasty().Draw(t, "description"),
			Criteria: rapid.SliceOfN(nasty(), 0, 3).Draw(t, "criteria"), Priority: rapid.IntRange(0, 9).Draw(t, "priority"), Notes: nasty().Draw(t, "notes")}
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "depends") == 0 {
				s.DependsOn = append(s.DependsOn, fmt.Sprintf("TASK-%03d", j+1))
			}
		}
		list = append(list, tasks.Task{Spec: s, Status: rapid.SampledFrom([]pawl.TaskStatus{pawl.TaskPending, pawl.TaskRunning, pawl.TaskPassed, pawl.TaskFailed, pawl.TaskBlocked, pawl.TaskSkipped}).Draw(t, "status"),
			Cause: "TASK-001", Reason: nasty().Draw(t, "reason")})
	}
	return list
}

// same checks what holds for every file that was written and read again.
func same(t *rapid.T, list []tasks.Task, got []pawl.TaskSpec) {
	for i, s := range got {
		want := list[i].Spec
		if s.ID != want.ID || s.Done != (list[i].Status == pawl.TaskPassed) || s.Description != tasks.Clean(want.Description) ||
			want.Priority > 0 && s.Priority != want.Priority {
			t.Fatalf("%+v is read as %+v", list[i], s)
		}
		if diff := cmp.Diff(want.DependsOn, s.DependsOn); diff != "" {
			t.Fatal(diff)
		}
	}
	if len(got) != len(list) {
		t.Fatalf("%d tasks are read as %d", len(list), len(got))
	}
}

// Whatever texts tasks hold, what is written is read again, and writing that
// again changes nothing that is not found out anew.
func TestTasksJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := tasks.State{Created: created, Query: nasty().Draw(t, "query"), MaxIterations: rapid.IntRange(0, 50).Draw(t, "max"), Tasks: drawTasks(t)}
		first := MustParse(t, tasks.TasksJSON(state))
		same(t, state.Tasks, first.Tasks)
		if first.Goal != tasks.Clean(state.Query) || !first.Created.Equal(created) {
			t.Fatalf("read as %+v", first)
		}
		again := tasks.State{Created: first.Created, Query: first.Goal, MaxIterations: first.MaxIterations}
		for _, s := range first.Tasks {
			status := pawl.TaskPending
			if s.Done {
				status = pawl.TaskPassed
			}
			again.Tasks = append(again.Tasks, tasks.Task{Spec: s, Status: status})
		}
		second := MustParse(t, tasks.TasksJSON(again))
		for i := range second.Tasks { // a waiting task's notes say what it waits for
			second.Tasks[i].Notes, first.Tasks[i].Notes = "", ""
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("read again it differs:\n%s", diff)
		}
	})
}

func TestPRDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := tasks.PRD{Project: nasty().Draw(t, "project"), Branch: nasty().Draw(t, "branch"), Description: nasty().Draw(t, "description"), Tasks: drawTasks(t)}
		for i := range p.Tasks { // it has no dependencies, and is read by priority
			p.Tasks[i].Spec.DependsOn, p.Tasks[i].Spec.Priority = nil, i+1
		}
		l := MustParse(t, tasks.PRDJSON(p))
		same(t, p.Tasks, l.Tasks)
		if l.Project != tasks.Clean(p.Project) || l.Branch != tasks.Clean(p.Branch) || l.Goal != tasks.Clean(p.Description) {
			t.Fatalf("%+v is read as %+v", p, l)
		}
	})
}

// FuzzParse looks for files that end the program, and for any that are read and
// then cannot be worked on.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"fresh.json", "underway.json", "prd.json"} {
		f.Add(MustRead(f, name))
	}
	f.Add([]byte(`[{"id": "a", "title": "\ud800", "depends_on": []}, {"id": "b", "description": "d", "depends_on": ["a"], "max_retries": 0}]`))
	f.Add([]byte(`{"tasks": [{"id": "a", "title": "t"}], "status": "max_iterations"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := tasks.Parse(data)
		if err != nil {
			return
		}
		if err := tasks.Check(l.Tasks); err != nil {
			t.Errorf("%v in %+v", err, l)
		}
		list, err := json.Marshal(l.Tasks)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > tasks.MaxBytes {
			return
		}
		again, err := tasks.Parse(list)
		if err != nil {
			t.Fatalf("%v in %s", err, list)
		}
		if diff := cmp.Diff(l.Tasks, again.Tasks); diff != "" {
			t.Errorf("read again it differs:\n%s", diff)
		}
	})
}
