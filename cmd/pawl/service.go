package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/daemon"
	"pawl/internal/engine"
	"pawl/internal/model/script"
	"pawl/internal/project"
	"pawl/internal/room"
)

// service is a project's runs, with those marked that should be at work and
// that no process drives.
type service struct {
	pawl.Service
	driven func(pawl.RunID) bool
}

// Runs implements [pawl.Service].
func (s service) Runs(ctx context.Context) ([]pawl.RunInfo, error) { return s.NewestRuns(ctx, 0) }

// NewestRuns implements [pawl.NewestLister].
func (s service) NewestRuns(ctx context.Context, most int) ([]pawl.RunInfo, error) {
	runs, err := pawl.NewestRuns(ctx, s.Service, most)
	for i := range runs {
		r := &runs[i]
		if (r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping) && !s.driven(r.ID) {
			r.Status = cli.StatusInterrupted
		}
	}
	return runs, err
}

// stored is the service of a project that is only read.
type stored struct {
	service
	project project.Project
	held    bool         // by a process that is not asked
	limit   func() int64 // of the cache, in bytes
}

// Cache implements [pawl.Caches].
func (s stored) Cache(ctx context.Context) (pawl.CacheInfo, error) {
	info, err := room.New(room.Options{State: s.project.Dir, CacheSize: s.limit()}).Cache(ctx)
	info.UseUnknown = s.held
	return info, err
}

// PruneCache implements [pawl.Caches].
func (s stored) PruneCache(context.Context, pawl.PruneRequest) (pawl.PruneResult, error) {
	return pawl.PruneResult{}, pawl.Errorf(pawl.CodeUnavailable, "only the process that has the project can prune its cache")
}

// owned is the service of a project that this process has. What a run would only fail
// on at its first model call is refused at its start, and when it is let go on; what a
// request hands over of its user's environment is kept for the run.
type owned struct {
	service
	machine *machine
	engine  *engine.Engine
	project string // the name of its state folder

	starting *sync.Mutex // one run begins at a time: until it has its id, what it was handed is that of no id
}

// Start implements [pawl.Service].
func (o owned) Start(ctx context.Context, req pawl.StartRequest) (info pawl.RunInfo, err error) {
	if o.machine.unconfined != nil && !req.Unsandboxed {
		err := pawl.Errorf(pawl.CodeUnavailable, "commands cannot be confined here: %w", o.machine.unconfined)
		hint := "install bubblewrap, or accept that commands run with your rights: --unsandboxed"
		if why, ok := errors.AsType[*pawl.Error](o.machine.unconfined); ok && why.Hint != "" {
			hint = why.Hint
		}
		return pawl.RunInfo{}, err.WithHint("%s", hint)
	}
	app := &cli.App{Environ: over(o.machine.environs.own, daemon.Environ(ctx))}
	if err := keys(app, req.Settings.Models); err != nil {
		return pawl.RunInfo{}, err
	}
	if err := answering(ctx, app, req.Settings.Models); err != nil {
		return pawl.RunInfo{}, err
	}
	if req.Script != "" {
		if _, err := script.Parse("the scripted model's file", []byte(req.Script)); err != nil {
			return pawl.RunInfo{}, pawl.Errorf(pawl.CodeInvalid, "%w", err)
		}
	}
	err = o.begin(ctx, func() (pawl.RunID, error) {
		info, err = o.service.Start(ctx, req)
		return info.ID, err
	})
	return info, err
}

// Fork implements [pawl.Service].
func (o owned) Fork(ctx context.Context, run pawl.RunID, at pawl.Seq) (info pawl.RunInfo, err error) {
	if err := o.equipped(ctx, run); err != nil {
		return pawl.RunInfo{}, err
	}
	err = o.begin(ctx, func() (pawl.RunID, error) {
		info, err = o.service.Fork(ctx, run, at)
		return info.ID, err
	})
	return info, err
}

// begin begins a run with what was handed over for it.
func (o owned) begin(ctx context.Context, begin func() (pawl.RunID, error)) error {
	o.starting.Lock()
	defer o.starting.Unlock()
	o.machine.environs.expect(o.project, daemon.Environ(ctx))
	run, err := begin()
	o.machine.environs.expect(o.project, nil)
	if err == nil {
		o.hand(ctx, run)
	}
	return err
}

// Steer implements [pawl.Service].
func (o owned) Steer(ctx context.Context, run pawl.RunID, s pawl.Steering) error {
	if s.Verb == pawl.SteerResume {
		if err := o.equipped(ctx, run); err != nil {
			return err
		}
	}
	o.hand(ctx, run)
	return o.service.Steer(ctx, run, s)
}

// Adopt lets a run go on that was interrupted.
func (o owned) Adopt(ctx context.Context, run pawl.RunID) error {
	return o.engine.Adopt(ctx, run, func(began *pawl.RunStarted) error {
		if err := o.supplied(ctx, run, began); err != nil {
			return err
		}
		o.hand(ctx, run)
		return nil
	})
}

// hand keeps what was handed over for a run. Its models are made anew with it.
func (o owned) hand(ctx context.Context, run pawl.RunID) {
	if environ := daemon.Environ(ctx); environ != nil {
		o.machine.environs.set(runOf{o.project, run}, environ)
		o.machine.models.forget(runOf{o.project, run})
	}
}

// equipped refuses to let a run go on without the keys that its models need, or while
// a server of this machine that has them is not there.
func (o owned) equipped(ctx context.Context, run pawl.RunID) error {
	began, _ := cli.Began(ctx, o.service, run)
	if began == nil {
		return nil // whoever goes on with it says what is wrong
	}
	return o.supplied(ctx, run, began)
}

// supplied is equipped for who knows what the run was started with.
func (o owned) supplied(ctx context.Context, run pawl.RunID, began *pawl.RunStarted) error {
	var settings pawl.Settings
	_ = json.Unmarshal(began.Settings, &settings) // whoever goes on with it says what is wrong
	app := &cli.App{Environ: over(o.machine.environs.get(runOf{o.project, run}), daemon.Environ(ctx))}
	if err := keys(app, settings.Models); err != nil {
		return err.WithHint("pawl resume %s from a shell that has it", run)
	}
	return answering(ctx, app, settings.Models)
}
