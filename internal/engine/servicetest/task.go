package servicetest

import (
	"testing"

	"pawl"
)

func (s *suite) task(t *testing.T) {
	t.Run("HasFurtherRuns", s.taskRuns)
	t.Run("HasOneRunAtATime", s.taskAtWork)
	t.Run("IsNamedInFull", s.taskNamed)
}

func again(task string) pawl.RunSpec {
	req := request("do it, and what was left")
	req.Task = task
	return req
}

// V-19
func (s *suite) taskRuns(t *testing.T) {
	b := s.bed(t)
	b.numbers.Store(6)
	first := b.mustStart("do it")
	b.mustRest(first.ID)
	other := b.mustStart("do it")
	b.mustRest(other.ID)
	for _, want := range []pawl.RunID{"007-do-it-r2", "007-do-it-r3"} {
		info, err := b.begin(t.Context(), again("007-do-it"))
		if err != nil {
			t.Fatal(err)
		}
		if info.ID != want || info.Branch != "pawl/"+string(want) || info.Task != 7 || info.Title != "do it, and what was left" {
			t.Errorf("it is %+v, want run %s", info, want)
		}
		if got := b.mustRest(info.ID); got.Outcome != pawl.OutcomeComplete {
			t.Errorf("it ended %s: %s", got.Outcome, got.Reason)
		}
	}
	info, err := b.begin(t.Context(), again("003-of-another-clone"))
	if err != nil || info.ID != "003-of-another-clone-r2" || info.Task != 3 {
		t.Errorf("a task without a run here: %+v, %v", info, err)
	}
	b.mustRest(info.ID)
	if next := b.mustStart("something else"); next.Task != 9 {
		t.Errorf("the next task has number %d", next.Task)
	}
}

func (s *suite) taskAtWork(t *testing.T) {
	b := s.bed(t)
	b.world.GateVerdict = func(int, string) pawl.Verdict { return pawl.VerdictFail }
	first := b.mustStart("do it").ID
	if got := b.mustRest(first); got.Outcome != pawl.OutcomeBlocked {
		t.Fatalf("it ended %s", got.Outcome)
	}
	begun, letGo := b.holding(pawl.VerbCallModel)
	second, err := b.begin(t.Context(), again(string(first)))
	if err != nil {
		t.Fatal(err)
	}
	receive(t, begun, "effect")
	_, err = b.begin(t.Context(), again(string(first)))
	b.mustBe(err, pawl.CodeState, true)
	b.mustBe(b.Steer(t.Context(), first, pawl.Steering{Verb: pawl.SteerResume}), pawl.CodeState, true)
	_, err = b.Fork(t.Context(), first, 5)
	b.mustBe(err, pawl.CodeState, true)
	if got := b.info(first); got.Status != pawl.StatusEnded {
		t.Errorf("the first run is %s", got.Status)
	}
	b.mustSteer(second.ID, pawl.Steering{Verb: pawl.SteerPause})
	b.mustSteer(second.ID, pawl.Steering{Verb: pawl.SteerResume}) // it is not in its own way
	letGo()
	b.mustRest(second.ID)
	b.mustSteer(first, pawl.Steering{Verb: pawl.SteerResume})
	b.mustRest(first)
	if runs := b.mustRuns(); len(runs) != 2 {
		t.Errorf("there are %d runs", len(runs))
	}
}

func (s *suite) taskNamed(t *testing.T) {
	b := s.bed(t)
	for _, id := range []string{"7", "do-it", "7-do-it", "007", "007-", "007-do-it-r2", "007-Do-it", "007-do--it", "007-do-it/../x", "007-do it", "../007-do-it"} {
		_, err := b.begin(t.Context(), again(id))
		if pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%q: %v", id, err)
		}
	}
	if runs := b.mustRuns(); len(runs) > 0 {
		t.Errorf("there are runs: %+v", runs)
	}
}
