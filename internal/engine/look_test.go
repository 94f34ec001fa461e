package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
)

// The repository is looked at while the request is resolved.
func TestStartLooksBesideResolving(t *testing.T) {
	c := engineConfig(mem.New(), nil)
	inspecting, numbering := make(chan struct{}), make(chan struct{})
	c.Inspect = func(context.Context, string) (pawl.Repository, error) {
		close(inspecting)
		return pawl.Repository{Head: "base"}, nil
	}
	c.Numbers = func(context.Context) (int, error) {
		close(numbering)
		return 6, nil
	}
	c.Resolve = func(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
		for _, begun := range []chan struct{}{inspecting, numbering} {
			select {
			case <-begun:
			case <-ctx.Done():
				return pawl.RunSpec{}, ctx.Err()
			}
		}
		return resolve(ctx, req)
	}
	e := engine.New(c)
	t.Cleanup(e.Close)
	if run := mustStart(t, e); run != "007-do-it" {
		t.Errorf("the run is %s", run)
	}
}

// What is wrong with a request is told first, and nothing goes on looking for it afterwards.
func TestStartEndsLooking(t *testing.T) {
	wrong := errors.New("wrong request")
	c := engineConfig(mem.New(), nil)
	inspecting := make(chan struct{})
	var left atomic.Bool
	c.Inspect = func(ctx context.Context, _ string) (pawl.Repository, error) {
		close(inspecting)
		<-ctx.Done()
		left.Store(true)
		return pawl.Repository{}, ctx.Err()
	}
	c.Resolve = func(context.Context, pawl.StartRequest) (pawl.RunSpec, error) {
		<-inspecting
		return pawl.RunSpec{}, wrong
	}
	e := engine.New(c)
	t.Cleanup(e.Close)
	if _, err := start(t.Context(), e, spec()); !errors.Is(err, wrong) {
		t.Errorf("the error is %v", err)
	}
	if !left.Load() {
		t.Error("the repository is still looked at")
	}
}

// A request that is resolved to another folder starts from what is there.
func TestStartInspectsWhereItStarts(t *testing.T) {
	c := engineConfig(mem.New(), nil)
	c.Inspect = func(_ context.Context, dir string) (pawl.Repository, error) {
		return pawl.Repository{Head: pawl.CommitHash("base of " + dir)}, nil
	}
	e := engine.New(c)
	t.Cleanup(e.Close)
	s := spec()
	s.Dir = "/other"
	info, err := start(t.Context(), e, s)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range e.Events(t.Context(), info.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, is := ev.Body.(*pawl.RunStarted); is && b.Base != "base of /other" {
			t.Errorf("the base is %q", b.Base)
		}
	}
}

// That the repository cannot be inspected or numbered is why a run does not start.
func TestStartTellsWhatLookingFound(t *testing.T) {
	wrong := errors.New("wrong repository")
	for name, change := range map[string]func(*engine.Config){
		"inspect": func(c *engine.Config) {
			c.Inspect = func(context.Context, string) (pawl.Repository, error) { return pawl.Repository{}, wrong }
		},
		"numbers": func(c *engine.Config) { c.Numbers = func(context.Context) (int, error) { return 0, wrong } },
	} {
		c := engineConfig(mem.New(), nil)
		change(&c)
		e := engine.New(c)
		t.Cleanup(e.Close)
		if _, err := start(t.Context(), e, spec()); !errors.Is(err, wrong) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
