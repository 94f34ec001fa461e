package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pawl"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
)

// A fork's commit is kept before anything refers to it.
func TestForkPins(t *testing.T) {
	log := mem.New()
	var pinned []string
	refuse := errors.New("no ref can be made")
	e := engine.New(engine.Config{
		Log: log, Performer: &drivertest.World{}, Sandbox: box{}, Resolve: resolve,
		Inspect: func(context.Context, string) (pawl.Repository, error) { return pawl.Repository{Head: "base"}, nil },
		Numbers: func(context.Context) (int, error) { return 0, nil },
		Pin: func(_ context.Context, ref string, commit pawl.CommitHash) error {
			if refuse != nil {
				return refuse
			}
			pinned = append(pinned, ref+" "+string(commit))
			return nil
		},
	})
	defer e.Close()
	run := mustStart(t, e)
	last := mustWatch(t, e, run).Seq
	if _, err := e.Fork(t.Context(), run, last); !errors.Is(err, refuse) {
		t.Errorf("got %v", err)
	}
	if runs, err := e.Runs(t.Context()); err != nil || len(runs) != 1 {
		t.Errorf("there are runs: %+v, %v", runs, err)
	}
	refuse = nil
	info, err := e.Fork(t.Context(), run, last)
	if err != nil {
		t.Fatal(err)
	}
	mustWatch(t, e, info.ID)
	if want := []string{"refs/pawl/forks/001-do-it-r2 commit-1"}; !slices.Equal(pinned, want) {
		t.Errorf("pinned %q, want %q", pinned, want)
	}
}
