package engine_test

import (
	"context"
	"testing"

	"pawl"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
)

// hasty is what there is of runs. Whoever asked for a deletion is gone when it is looked at.
type hasty struct {
	engine.Remains

	gone  func()
	asked []string
}

func (h *hasty) Look(context.Context, engine.Removal) error {
	h.gone()
	return nil
}

func (h *hasty) ask(ctx context.Context, what string) error {
	h.asked = append(h.asked, what)
	return ctx.Err()
}

func (h *hasty) Remove(ctx context.Context, _ engine.Removal) (pawl.Deletion, error) {
	return pawl.Deletion{}, h.ask(ctx, "remove")
}

func (h *hasty) Erase(ctx context.Context, _ pawl.RunID) error { return h.ask(ctx, "erase") }

func (h *hasty) SweepBlobs(ctx context.Context) (int64, error) { return 0, h.ask(ctx, "sweep") }

// A deletion that has begun is finished, though whoever asked for it has gone. F-31
func TestDeleteForSomebodyWhoHasGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	remains := &hasty{gone: cancel}
	c := engineConfig(mem.New(), &drivertest.World{})
	c.Remains = remains
	e := engine.New(c)
	defer e.Close()
	run := mustStart(t, e)
	mustWatch(t, e, run)
	if _, err := e.DeleteRun(ctx, run, pawl.DeleteRequest{Now: true}); err != nil || len(remains.asked) != 3 {
		t.Errorf("asked for %q, %v", remains.asked, err)
	}
	if stones, err := e.DeletedRuns(t.Context()); err != nil || len(stones) != 1 || !stones[0].Erased {
		t.Errorf("the tombstones are %+v, %v", stones, err)
	}
}

// The numbers of a deleted run's learnings are not given again. F-31
func TestLearningsOfDeletedRuns(t *testing.T) {
	log := mem.New()
	e := newEngine(t, log, &drivertest.World{}, nil)
	info := mustWatch(t, e, mustStart(t, e))
	if err := log.Delete(t.Context(), pawl.Tombstone{Run: info, Learnings: 7}); err != nil {
		t.Fatal(err)
	}
	again := spec()
	again.Task = "001-do-it"
	next, err := start(t.Context(), e, again)
	if err != nil {
		t.Fatal(err)
	}
	mustWatch(t, e, next.ID)
	for ev, err := range e.Events(t.Context(), next.ID, 0) {
		if began, ok := ev.Body.(*pawl.RunStarted); err != nil || !ok || began.Learnings != 7 {
			t.Errorf("it begins with %+v, %v", ev.Body, err)
		}
		break
	}
}
