package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// states are how far the tasks are, each in a letter: "-" not started, "~" in
// progress, "x" completed.
func states(r *Run) string {
	s := ""
	for _, t := range Todos(r).Todos {
		s += map[TodoState]string{TodoNotStarted: "-", TodoInProgress: "~", TodoCompleted: "x"}[t.State]
	}
	return s
}

// The list is right at every event: in progress before anybody works on a task,
// completed only when the branch has its work, open again after a rollback.
func TestTodoLife(t *testing.T) { // V-32 V-35 V-39 V-58 V-60
	for name, want := range map[string][]string{
		"coherence-done": {"-----", "~~---", "x~---", "xx---", "xx~~~", "xxx~~", "xxx~x", "xxxxx"},
		"coherence-back": {"-----", "~~---", "x~---", "xx---", "xx~~-", "xxx~-", "xxx~~", "xxx~x", "xxx-x", "xx---", "xx~--", "xxx--"},
		"coherence-asks": {"-----", "~~---", "~----"},
	} {
		s := stories[name](t)
		r := New()
		var got []string
		for _, e := range s.events {
			r.Apply(e)
			now := states(r)
			if now == "" || len(got) > 0 && got[len(got)-1] == now {
				continue
			}
			got = append(got, now)
			switch e.Body.(type) {
			case *pawl.PlanAccepted, *pawl.BatchStarted, *pawl.LoopEnded, *pawl.RolledBack, *pawl.TaskHeld:
			default:
				t.Errorf("%s: %s changes the list to %s", name, e.Body.EventKind(), now)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Nothing is completed while its batch may still take it back.
func TestTodoIsCompletedInTheBranch(t *testing.T) { // V-39
	s := planned(t)
	s.add(1, &pawl.BatchStarted{N: 1, Tasks: []int{0, 1}, Scaffold: true})
	for ref, i := range map[pawl.LoopRef]int{2: 0, 3: 1} {
		s.spawn(ref, login[i].ID, i+1, 1)
		s.add(ref, &pawl.LoopEnded{Outcome: pawl.OutcomeComplete, Reason: "every gate passed"})
	}
	s.add(1, &pawl.TaskJudged{Batch: 1, Task: 0, By: "review", Verdict: pawl.VerdictPass})
	if got := states(fold(s.events)); got != "~~---" {
		t.Errorf("before the branch has it: %s", got)
	}
	s.in(1)
	id := s.ask(0, s.place("merge", "", 0), &pawl.AdvanceBranch{Branch: "pawl/001-add-login", From: "a", To: "b"})
	s.add(1, &pawl.BranchAdvanced{Effect: id, Commit: "b"})
	if got := states(fold(s.events)); got != "x~---" {
		t.Errorf("after the branch has it: %s", got)
	}
}

func TestTodoText(t *testing.T) { // V-59
	list := Todos(fold(coherenceBack(t).events))
	if got, want := list.Todos[0].String(), "1. [completed] 1.1: Add auth middleware"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if list.Todos[0].Text != "1.1: Add auth middleware" || list.Completed != 3 || list.InProgress != 0 || list.NotStarted != 2 {
		t.Errorf("%+v", list)
	}
}

// Of a long list what is in progress is seen, then what comes next.
func TestTodoWindow(t *testing.T) { // V-60
	var list TodoList
	for i := range 40 {
		state := TodoNotStarted
		switch {
		case i < 20 && i != 3:
			state = TodoCompleted
		case i < 22:
			state = TodoInProgress
		}
		list.Todos = append(list.Todos, Todo{N: i + 1, State: state})
	}
	numbers := func(all []Todo) (out []int) {
		for _, t := range all {
			out = append(out, t.N)
		}
		return out
	}
	shown, left := list.window(7)
	if got := numbers(shown); !slices.Equal(got, []int{4, 21, 22, 23, 24, 25}) || countStates(left) != "19 completed, 15 not-started" {
		t.Errorf("shown %v, left %s", got, countStates(left))
	}
	if shown, _ = list.window(40); len(shown) != 40 {
		t.Errorf("%d of 40 in 40 rows", len(shown))
	}
	if shown, left = list.window(0); len(shown) != 0 || len(left) != 40 {
		t.Errorf("%d shown in no row", len(shown))
	}
}

// Elsewhere than on a terminal the list is printed once, and then what changes in it.
func TestTodosInALog(t *testing.T) { // V-59 V-60
	s := coherenceBack(t)
	var out bytes.Buffer
	p := NewProgress(New(), ProgressOptions{Out: &out, Least: Important})
	for _, e := range s.events {
		mustProgress(t, p.Write(pawl.Update{Event: &e}))
	}
	var got []string
	for l := range strings.Lines(out.String()) {
		if _, rest, ok := strings.Cut(l, ". ["); ok {
			state, _, _ := strings.Cut(rest, "]")
			got = append(got, l[:1]+" "+state)
		}
	}
	want := "1 not-started,2 not-started,3 not-started,4 not-started,5 not-started,1 in-progress,2 in-progress,1 completed,2 completed," +
		"3 in-progress,4 in-progress,3 completed,5 in-progress,5 completed,4 not-started,3 not-started,5 not-started,3 in-progress,3 completed"
	if d := cmp.Diff(want, strings.Join(got, ",")); d != "" {
		t.Error(d)
	}
}

// The live area is lower than the terminal, whatever is going on.
func TestTodosOnALowTerminal(t *testing.T) { // V-60
	s := coherenceBack(t)
	for _, height := range []int{4, 6, 10, 24, 60} {
		p := NewProgress(New(), ProgressOptions{Out: &bytes.Buffer{}, Live: true, Height: func() int { return height }})
		most := 0
		for _, e := range s.events {
			mustProgress(t, p.Write(pawl.Update{Event: &e}))
			most = max(most, len(p.live))
		}
		if most >= height {
			t.Errorf("%d rows on a terminal of %d", most, height)
		}
	}
}

func TestProgressOfBatchesGolden(t *testing.T) { // V-59 V-60
	for name, o := range map[string]ProgressOptions{
		"progress-batches-80":    {Live: true, Color: true, Width: func() int { return 80 }, Least: Important},
		"progress-batches-plain": {Least: Important, Clock: true},
	} {
		t.Run(name, func(t *testing.T) {
			goldenProgress(t, name, coherenceBack(t), o)
		})
	}
}

func TestCheckpoints(t *testing.T) { // V-49 V-50
	s := coherenceBack(t)
	r := fold(s.events)
	list := Checkpoints(r)
	if list.At != 1 || list.LastGood != 1 || len(list.Checkpoints) != 2 || !list.Checkpoints[1].Left || !slices.Equal(list.Rollbacks[0].Reopen, []string{"2.1", "2.3"}) {
		t.Errorf("%+v", list)
	}
	s.add(1, &pawl.RolledBack{To: 2, Commit: "c"})
	if list = Checkpoints(fold(s.events)); list.At != 2 || list.LastGood != 1 || list.Checkpoints[1].Left {
		t.Errorf("forward again: %+v", list)
	}
	if done := Checkpoints(fold(coherenceDone(t).events)); done.LastGood != 3 || done.Best != 3 || done.At != 3 {
		t.Errorf("%+v", done)
	}
}

func TestQuestionsCarryContext(t *testing.T) { // V-77
	r := fold(coherenceBack(t).events)
	all := Questions(r, r.Updated.Add(90*time.Second), nil)
	if len(all) != 1 || all[0].Seconds != 90 || all[0].About.IsZero() || len(all[0].Choices) != 3 || !strings.Contains(strings.Join(all[0].Context, "\n"), "the branch went back to checkpoint 1 (scaffold)") {
		t.Errorf("%+v", all)
	}
	r = fold(coherenceAsks(t).events)
	if got := Questions(r, r.Updated, nil)[0]; got.How != `pawl answer 001-add-login 2 again (or skip, stop)` || got.Task != "1.1" {
		t.Errorf("%+v", got)
	}
	if got := Questions(fold(coherenceForked(t).events), r.Updated, nil); len(got) != 0 {
		t.Errorf("a fork has inherited %+v", got)
	}
}

func TestWhyOfBatches(t *testing.T) {
	for name, want := range map[string][]string{
		"coherence-back":    {"waits for your answer to question 1 (health)", "← REGRESSING after batch 3 went back to checkpoint 1 (scaffold): the pass rate fell", "open again: 2.1, 2.3", "← health after batch 4: FLIP-FLOPPING"},
		"coherence-stopped": {"is blocked: stopped by ada", "← REGRESSING after batch 3 went back to checkpoint 1"},
		"coherence-asks":    {"waits for your answer to question 2 (blocked)", "← ada is going back to", "← task 1.2 waits for 1.1"},
		"coherence-forked":  {"← it was forked from 000-add-login at event"},
	} {
		saysWhy(t, name, want)
	}
}

func TestShowJSONOfBatches(t *testing.T) {
	s := coherenceBack(t)
	doc, err := ShowJSON(fold(s.events), s.read)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Health     pawl.Health    `json:"health"`
		Questions  int            `json:"questions"`
		Todos      TodoList       `json:"todo_list"`
		Batches    []BatchRow     `json:"batches"`
		Healths    []HealthRow    `json:"health_history"`
		List       CheckpointList `json:"checkpoint_list"`
		Decisions  []DecisionRow  `json:"decisions"`
		Asked      []AskedRow     `json:"question_list"`
		Recoveries int            `json:"recoveries"`
	}
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	if got.Health != pawl.HealthFlipFlop || got.Questions != 1 || len(got.Todos.Todos) != 5 || len(got.Batches) != 4 || len(got.Healths) != 4 || len(got.List.Rollbacks) != 1 ||
		len(got.Decisions) != 2 || got.Decisions[0].Title != "Sessions live in the database" || len(got.Asked) != 1 || got.Asked[0].State != "open" || got.Recoveries != 2 {
		t.Errorf("%s", doc)
	}
}

// Events that are missing, doubled, out of order or about nothing break no projection.
func TestDamagedHistory(t *testing.T) {
	for _, name := range []string{"coherence-back", "coherence-forked"} {
		for seed := range uint64(40) {
			s := stories[name](t)
			rnd := rand.New(rand.NewPCG(seed, 1))
			events := s.events[:2:2]
			for _, e := range s.events[2:] {
				switch n := rnd.IntN(12); n {
				case 0:
				case 1:
					events = append(events, e, e)
				case 2:
					at := 2 + rnd.IntN(len(events)-1)
					events = slices.Insert(slices.Clone(events), at, e)
				case 3:
					e.Loop = pawl.LoopRef(rnd.IntN(9))
					events = append(events, e)
				default:
					events = append(events, e)
				}
			}
			for _, b := range []pawl.Body{&pawl.BatchStarted{N: 9, Tasks: []int{-1, 99}}, &pawl.TaskJudged{Batch: 77, Task: -3}, &pawl.RolledBack{To: -1, Reopen: []int{99, -1}},
				&pawl.TaskHeld{Task: 1, Behind: 99}, &pawl.CheckpointMarked{Effect: 9999}, &pawl.HealthOverridden{}} {
				events = slices.Insert(slices.Clone(events), 2+rnd.IntN(len(events)-1), pawl.Event{Run: "001-add-login", Seq: 5, Loop: pawl.LoopRef(rnd.IntN(4)), Body: b})
			}
			r := New()
			p := NewProgress(New(), ProgressOptions{Out: &bytes.Buffer{}, Live: true})
			for _, e := range events {
				r.Apply(e)
				mustBeSafe(t, Line(e, r, s.read))
				mustProgress(t, p.Write(pawl.Update{Event: &e}))
			}
			if _, err := ShowJSON(r, s.read); err != nil {
				t.Fatal(err)
			}
			mustBeSafe(t, fmt.Sprint(Show(r, s.read), WhyText(r), TodosText(r), CheckpointsText(r, 60), QuestionsText(Questions(r, r.Updated, s.read))))
		}
	}
}

// What is shown of an attempt that left its tree as it was is what stands of the last
// one: not what the batch objected to, nor that the harness's folder was touched.
func TestReusedVerdicts(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	s.tests(3, 3)
	s.gate(pawl.GateJudged{Gate: "types", Verdict: pawl.VerdictFail, Partial: true})
	s.gate(pawl.GateJudged{Judge: pawl.JudgeFolder, Gate: "pawl-folder", Verdict: pawl.VerdictFail})
	s.gate(pawl.GateJudged{Judge: pawl.JudgeFiles, Gate: "unrecorded-files", Verdict: pawl.VerdictFail})
	s.gate(pawl.GateJudged{Judge: pawl.JudgeBatch, Gate: "batch-review", Verdict: pawl.VerdictRevise})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictFail, Decision: pawl.DecideIterate})
	s.iterate(1, "")
	s.add(s.ref, &pawl.GatesReused{From: 1})
	loop := fold(s.events).loop(1)
	if got := loop.last().Gates; len(got) != 1 || got[0].Kind != pawl.GateTests || len(loop.Iterations[0].Gates) != 5 {
		t.Errorf("%+v", got)
	}
}

// F-79: as long as a person is asked about a blocked task, nothing says that the whole is progressing.
func TestBlockedIsNotProgressing(t *testing.T) {
	s := coherenceAsks(t)
	s.add(1, &pawl.HealthJudged{Batch: 1, Health: pawl.HealthProgressing, Reason: "batch 1: 1 of 1 approved"})
	r := fold(s.events)
	last := s.events[len(s.events)-1]
	if got, want := Line(last, r, nil), "Health after batch 1: BLOCKED: 1.1 waits for your answer to question 2; the others: batch 1: 1 of 1 approved"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.Look(last).Tone != ToneWarning || r.Info().Health != pawl.HealthBlocked {
		t.Errorf("the line looks %+v, the run's line says %s", r.Look(last), r.Info().Health)
	}
	s.add(0, &pawl.QuestionAnswered{N: 2, Choice: "again", By: "ada"})
	if r = fold(s.events); r.Info().Health != pawl.HealthProgressing {
		t.Errorf("answered: %s", r.Info().Health)
	}
}

// A batch that leaves a task waiting for a person says so at its end. V-48
func TestBatchEndsWithAnUnfinishedTask(t *testing.T) {
	s := planned(t)
	s.add(1, &pawl.BatchStarted{N: 1, Tasks: []int{0, 1, 2, 3}})
	s.add(1, &pawl.BatchEnded{N: 1, Attempted: 3, Approved: 3})
	if got, want := Line(s.events[len(s.events)-1], fold(s.events), s.read), "Batch 1 ended: 3 of 3 approved, 1 unfinished"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
