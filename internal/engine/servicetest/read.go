package servicetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func (s *suite) read(t *testing.T) {
	t.Run("RunsOldestFirst", s.readRuns)
	t.Run("EventsAfterEachNumber", s.readEvents)
	t.Run("EventsOfAnUnknownRun", s.readUnknown)
	t.Run("ReadingStopsWhenAsked", s.readStops)
	t.Run("Blobs", s.readBlobs)
	t.Run("DamageIsTold", s.readDamage)
}

func (s *suite) readRuns(t *testing.T) {
	b := s.bed(t)
	if runs := b.mustRuns(); len(runs) != 0 {
		t.Errorf("a new project has runs: %+v", runs)
	}
	begun, letGo := b.holding(pawl.VerbCallModel)
	var want []pawl.RunID
	for _, goal := range []string{"z", "a", "m"} {
		want = append(want, b.mustStart(goal).ID)
		receive(t, begun, "effect")
	}
	b.mustSteer(want[1], pawl.Steering{Verb: pawl.SteerPause})
	var got []pawl.RunID
	var states []pawl.RunStatus
	for _, r := range b.mustRuns() {
		got, states = append(got, r.ID), append(states, r.Status)
	}
	if !slices.Equal(got, want) || !slices.Equal(states, []pawl.RunStatus{pawl.StatusRunning, pawl.StatusPaused, pawl.StatusRunning}) {
		t.Errorf("the runs are %v, %v; want %v", got, states, want)
	}
	letGo()
	for _, run := range []pawl.RunID{want[0], want[2]} {
		b.mustRest(run)
	}
}

func (s *suite) readEvents(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	b.mustRest(run)
	stored, err := collect(b.log.Events(t.Context(), run, 0))
	if err != nil {
		t.Fatal(err)
	}
	last := pawl.Seq(len(stored))
	for after := range last + 3 {
		if diff := cmp.Diff(stored[min(after, last):], b.mustEvents(run, after), cmp.Transformer("slice", func(in []pawl.Event) []pawl.Event {
			return append([]pawl.Event{}, in...)
		})); diff != "" {
			t.Fatalf("after %d, -stored +read:\n%s", after, diff)
		}
	}
}

func (s *suite) readUnknown(t *testing.T) {
	b := s.bed(t)
	b.mustStart("do it")
	for _, run := range []pawl.RunID{"007-nobody", "..", "a b/c?d#e", "%2e%2e"} {
		_, err := collect(b.Events(t.Context(), run, 0))
		b.mustBe(err, pawl.CodeNotFound, false)
	}
	b.mustRest("001-do-it")
}

func (s *suite) readStops(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	b.mustRest(run)
	for range b.Events(t.Context(), run, 0) {
		break
	}
	ctx, cancel := contextThatEnded(t)
	defer cancel()
	if _, err := collect(b.Events(ctx, run, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	if _, err := b.Runs(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
}

func (s *suite) readBlobs(t *testing.T) {
	b := s.bed(t)
	req := request("do it")
	large := make([]byte, 1<<20)
	for i := range large {
		large[i] = byte('a' + i%26)
	}
	req.Prompts["large"] = string(large)
	info, err := b.begin(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	b.mustRest(info.ID)
	read := func(run pawl.RunID, content []byte) error {
		data, err := b.Blob(t.Context(), run, pawl.HashOf(content))
		if err == nil && !slices.Equal(data, content) {
			t.Errorf("a blob of %d bytes came back as %d bytes", len(content), len(data))
		}
		return err
	}
	for _, content := range [][]byte{large, []byte(req.Goal)} {
		if err := read(info.ID, content); err != nil {
			t.Error(err)
		}
	}
	b.mustBe(read(info.ID, []byte("nobody ever wrote this")), pawl.CodeNotFound, false)
	b.mustBe(read("007-nobody", large), pawl.CodeNotFound, false)
	b.log.rotten = true
	b.mustBe(read(info.ID, large), pawl.CodeDamaged, false)
}

func (s *suite) readDamage(t *testing.T) {
	b := s.bed(t)
	bad := b.mustStart("be damaged").ID
	b.mustRest(bad)
	b.log.damage(bad, 5)
	good := b.mustStart("do it")
	if good.ID != "002-do-it" {
		t.Errorf("the next run is %s", good.ID)
	}
	if got := b.mustRest(good.ID); got.Outcome != pawl.OutcomeComplete {
		t.Errorf("beside a damaged run, another ended %s", got.Outcome)
	}
	if got := b.info(bad); got.Status != pawl.StatusQuarantined {
		t.Errorf("the damaged run is %s", got.Status)
	}
	events, err := collect(b.Events(t.Context(), bad, 1))
	b.mustBe(err, pawl.CodeDamaged, true)
	if len(events) != 3 || events[2].Seq != 4 {
		t.Errorf("%d events were read before the damage", len(events))
	}
	_, err = collect(b.Events(t.Context(), bad, 4))
	b.mustBe(err, pawl.CodeDamaged, true)
	seen := 0
	for u, werr := range b.Watch(bounded(t), bad, 0) {
		if err = werr; u.Event != nil {
			seen++
		}
	}
	b.mustBe(err, pawl.CodeDamaged, true)
	if seen != 4 {
		t.Errorf("%d events were watched before the damage", seen)
	}
	b.mustBe(b.Steer(t.Context(), bad, pawl.Steering{Verb: pawl.SteerResume}), pawl.CodeDamaged, true)
}

func contextThatEnded(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}
