package kernel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/recipe"
)

// The requirements of Pandora and Loom that hold in every run, besides those that
// the stories in testdata tell.

// playList runs a built-in recipe in a world of which the lines speak, until
// nothing is under way.
func playList(t *testing.T, name string, change func(*pawl.Settings), lines ...string) *world {
	t.Helper()
	r, err := recipe.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return playListOf(t, r, change, lines...)
}

// playListOf is playList with a recipe of its own.
func playListOf(t *testing.T, r pawl.Recipe, change func(*pawl.Settings), lines ...string) *world {
	t.Helper()
	w := newWorld(t)
	s := &script{w: w}
	w.happens = s.happens
	for _, line := range lines {
		if strings.HasPrefix(line, "list") {
			s.list(t, line)
		} else {
			s.rules = append(s.rules, parseRule(t, line))
		}
	}
	set := settings()
	set.Limits.Iterations, set.Gates = 0, []pawl.GateSpec{gate("tests")}
	if change != nil {
		change(set)
	}
	w.start(&r, set)
	for w.land() {
		continue
	}
	return w
}

// lists are runs with much in them, for what holds in all.
func lists(t *testing.T) map[string]*world {
	parallel := func(set *pawl.Settings) { set.Parallel = 3 }
	stopping, err := recipe.Load("pandora")
	if err != nil {
		t.Fatal(err)
	}
	stopping.Kinds[0].Children.OnFailure = pawl.FailStop
	out := map[string]*world{
		"pandora": playList(t, "pandora", nil, "list: one, two after one, three, four after three, five after four",
			"task three validation: submits decision=fail", "learn: submits learning=tabs", "task one validation: submits decision=revise x1"),
		"pandora, side by side": playList(t, "pandora", parallel, "list: one, two, three after one+two", "task two execute: calls write x2"),
		"loom": playList(t, "loom", nil, "list: one, two retries=1, three after two, four verify=3, five verify=2", "list again: one, two, three, four verify=3, five verify=2",
			"task two tests: fail TestA x2", "task one executor turn 1: calls read write", "task four extract: submits discovery=news"),
		"loom, side by side": playList(t, "loom", parallel, "list: one, two, three, four critical retries=0 after one, five after four, six after three, seven after six",
			"list again: one, two, three, six after three, seven after six", "task four tests: fail TestA", "task two merge: conflict 1 x1", "task two rebase: conflict 1 x1"),
		"pandora, stopped": playListOf(t, stopping, nil, "list: one, two, three", "task one validation: submits decision=fail"),
		"loom, halted":     playList(t, "loom", func(set *pawl.Settings) { set.Limits.Tokens = 9000 }, "list: one, two, three"),
	}
	for name, w := range out {
		if w.state.Status != pawl.StatusEnded {
			t.Errorf("%s: the run is %s", name, w.state.Status)
		}
	}
	return out
}

// P-25 P-50 L-48 L-50: every session begins with one prompt and nothing of any
// conversation before it.
func TestFreshContexts(t *testing.T) {
	for name, w := range lists(t) {
		sessions := 0
		for _, f := range requests[*pawl.CallModel](w) {
			if do := f.Do.(*pawl.CallModel); f.Place.Turn == 1 && do.Try == 1 {
				if sessions++; do.Items != 1 {
					t.Errorf("%s: %s begins with %d items", name, f.Place, do.Items)
				}
			}
		}
		if begun := len(all[*pawl.SessionStarted](w)); sessions != begun && w.state.Outcome != pawl.OutcomeHalted {
			t.Errorf("%s: %d sessions, %d first calls", name, begun, sessions)
		}
	}
}

// P-43 L-20 L-35 L-AC10: a task's status changes only by an event that records the change.
func TestTaskStatusesChangeByEvents(t *testing.T) {
	allowed := map[string][]pawl.Kind{
		"pending running": {pawl.KindLoopStarted}, // P-38 P-39 L-47
		"running passed":  {pawl.KindLoopEnded},   // P-40 L-61
		"running failed":  {pawl.KindLoopEnded},   // P-41 L-61
		"running skipped": {pawl.KindLoopEnded},
		"pending blocked": {pawl.KindTasksBlocked}, // P-42
		"pending skipped": {pawl.KindTasksSkipped},
		"failed pending":  {pawl.KindPlanAccepted, pawl.KindRunResumed},
		"blocked pending": {pawl.KindPlanAccepted, pawl.KindRunResumed},
	}
	seen := map[string]bool{}
	for name, w := range lists(t) {
		s, before := &State{}, map[string]pawl.TaskStatus{}
		for _, e := range w.log {
			if err := Apply(s, e); err != nil {
				t.Fatal(err)
			}
			p := s.Loop(1)
			if p == nil || p.gen.plan == nil {
				continue
			}
			for i := range p.gen.plan.Entries {
				id, now := p.gen.plan.Entries[i].ID, p.gen.plan.At(i).Status
				was, known := before[id]
				change := was.String() + " " + now.String()
				if known && was != now && !slices.Contains(allowed[change], e.Body.EventKind()) {
					t.Errorf("%s: %s: %s by %s", name, id, change, e.Body.EventKind())
				}
				before[id], seen[change] = now, seen[change] || known
			}
		}
	}
	for change := range allowed {
		if !seen[change] && change != "blocked pending" && change != "running skipped" {
			t.Errorf("it never happened: %s", change)
		}
	}
}

// A task begins only when everything it depends on has passed. No ready task waits while a
// place is free.
func TestTasksBeginWhenTheyMay(t *testing.T) {
	for name, w := range lists(t) {
		s := &State{}
		for _, e := range w.log {
			if b, ok := e.Body.(*pawl.LoopStarted); ok && b.Parent != 0 {
				p := s.Loop(b.Parent).gen.plan
				for _, j := range p.Deps[b.Entry-1] {
					if p.At(int(j)).Status != pawl.TaskPassed { // P-65 P-66 L-10 L-72 L-AC2
						t.Errorf("%s: %s begins, and %s is %s", name, b.Task, p.Entries[j].ID, p.At(int(j)).Status)
					}
				}
			}
			if err := Apply(s, e); err != nil {
				t.Fatal(err)
			}
		}
		if p := s.Loop(1).gen.plan; s.Outcome != pawl.OutcomeHalted && (p.Next() >= 0 || p.Count[pawl.TaskRunning] > 0) { // P-69
			t.Errorf("%s: the run ended %s with tasks that could run: %s", name, s.Outcome, p.States())
		}
	}
}

// L-AC11: a run is replayed from its log, at every event: the world of these
// tests compares. Here the replayed runs have children and end as they did.
func TestListsAreReplayed(t *testing.T) {
	for name, w := range lists(t) {
		s := &State{}
		for _, e := range w.log {
			if err := Apply(s, e); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if s.Outcome != w.state.Outcome || s.Reason != w.state.Reason || s.Spent != w.state.Spent || s.Loop(1).gen.plan.States() != w.state.Loop(1).gen.plan.States() {
			t.Errorf("%s: replayed, it ends %s: %s", name, s.Outcome, s.Reason)
		}
	}
}

// P-B16: whatever is in the log when a driver dies, the next one brings the list
// to its end; none is refused because it was half read.
func TestListsSurviveACrash(t *testing.T) {
	t.Parallel()
	for name, run := range lists(t) {
		s := &script{w: newWorld(t)}
		s.list(t, "list: one, two, three, four, five, six, seven")
		s.lists[blobOf(listName("again"))] = s.lists[blobOf(listName(""))]
		for n := range s.w.replay(run.log[:len(run.log)-1]) {
			if n < 2 || !isTried(n, 0, 1) && run.log[n-1].Body.EventKind() != pawl.KindTasksListed {
				continue
			}
			w := s.clone().w
			w.inherit()
			w.crash(0)
			for w.land() {
				continue
			}
			if w.state.Status != pawl.StatusEnded {
				t.Errorf("%s, after event %d (%s): the run is %s", name, n, run.log[n-1].Body.EventKind(), w.state.Status)
			}
			for _, b := range all[*pawl.PlanRefused](w) {
				if !strings.Contains(b.Reason, "critical") && !strings.Contains(b.Reason, "drops") {
					t.Errorf("%s, after event %d (%s): %s", name, n, run.log[n-1].Body.EventKind(), b.Reason)
				}
			}
		}
	}
}

// P-77 L-56: who judges a task is told the task itself, and the candidate's changes.
func TestWhoJudgesATaskIsToldIt(t *testing.T) {
	for name, steps := range map[string][]string{"pandora": {"validation"}, "loom": {"assessment", "voting"}} {
		w := lists(t)[name]
		judged := 0
		for _, f := range requests[*pawl.AssemblePrompt](w) {
			if !slices.Contains(steps, f.Place.Step) {
				continue
			}
			judged++
			do := f.Do.(*pawl.AssemblePrompt)
			if do.Task != blobOf("task "+f.Place.Task) || do.Commit == do.Base || !slices.ContainsFunc(do.Inputs, func(in pawl.Input) bool { return in.Name == "changed" }) {
				t.Errorf("%s is told %+v", f.Place, do)
			}
		}
		if judged == 0 {
			t.Errorf("%s: nobody judged", name)
		}
	}
}

// P-B06 P-31 L-81: the limits that the recipes have of their own accord. Exactly
// as many tasks as may be started may pass.
func TestDefaultLimitsOfLists(t *testing.T) {
	for name, limit := range map[string]int{"pandora": 10, "loom": 50} {
		for _, n := range []int{limit, limit + 1} {
			var ids []string
			for i := range n {
				ids = append(ids, "t"+string(rune('a'+i/26))+string(rune('a'+i%26)))
			}
			never := 0
			w := playList(t, name, func(set *pawl.Settings) { set.ReplanEvery, set.Limits.Money = &never, 0 }, "list: "+strings.Join(ids, ","))
			reached := all[*pawl.LimitReached](w)
			switch {
			case n == limit && (w.state.Outcome != pawl.OutcomeComplete || len(reached) > 0):
				t.Errorf("%s with %d tasks ended %s: %s", name, n, w.state.Outcome, w.state.Reason)
			case n > limit && (w.state.Outcome == pawl.OutcomeComplete || len(reached) != 1 || reached[0].Limit != pawl.LimitTasks || reached[0].Max != int64(limit)):
				t.Errorf("%s with %d tasks ended %s after %+v", name, n, w.state.Outcome, reached)
			}
		}
	}
}

// P-B11: any one of the criteria is a sign of many steps. A small request has no sign.
func TestSigns(t *testing.T) {
	for _, row := range []struct {
		goal, want string
	}{
		{"Find a laptop and a keyboard", ""}, // P-17
		{"Fix the typo in the README", ""},
		{"Implement the complete checkout flow", `"implement"`},                // P-20 P-23
		{"Please build complete user accounts", `"build complete"`},            // P-23
		{"add full text search", `"add full"`},                                 // P-23
		{"First the database, then the API, finally the frontend", "an order"}, // P-19 P-22
		{"Do this:\n- one\n- two\n- three", ""},
		{"Do this:\n- one\n- two\n- three\n- four", "lists 4 steps"}, // P-18 P-21
		{"1. one\n2. two\n3. three\n4. four\n5. five", "lists 5 steps"},
		{"Rename the implementation of then()", ""},
		{"then there were none", ""},
	} {
		got := strings.Join(Signs(row.goal), "; ")
		if (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
			t.Errorf("%q: %q, want %q", row.goal, got, row.want)
		}
	}
}

// L-76: what one subtask notes on the blackboard the others can read while they
// work; it holds so much and no more.
func TestBlackboard(t *testing.T) {
	lines := []string{"list: one, two", "task one executor turn 1: calls board=list board=get/port board=set/port/8080 board=get/port board=move/x",
		"task two executor turn 1: calls board=list takes 20s", "task two executor turn 2: calls board=get/port board=set/port/9090 board=get/port"}
	for i := range maxBoard {
		if i%8 == 0 {
			lines = append(lines, fmt.Sprintf("task two executor turn %d: calls", 3+i/8))
		}
		lines[len(lines)-1] += fmt.Sprintf(" board=set/key-%d", i)
	}
	w := playList(t, "loom", func(set *pawl.Settings) { set.Parallel = 2 }, lines...)
	said := map[pawl.LoopRef][]string{}
	for _, e := range w.log {
		if b, ok := e.Body.(*pawl.NoteAdded); ok && b.Call > 0 {
			said[e.Loop] = append(said[e.Loop], b.Text)
		}
	}
	one := []string{"The blackboard is empty.", "There is nothing at port.", "Noted.", "8080", "want op get, set or list, and a key"}
	if !slices.Equal(said[2][:5], one) {
		t.Errorf("the first is told %q", said[2])
	}
	if two := []string{"Keys: port", "8080", "Noted.", "9090"}; !slices.Equal(said[3][:4], two) {
		t.Errorf("the second is told %q", said[3])
	}
	if last := said[3][3+maxBoard]; last != "the blackboard is full: it holds 64 entries" {
		t.Errorf("the last note: %q", last)
	}
}
