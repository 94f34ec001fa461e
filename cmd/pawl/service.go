package main

import (
	"context"
	"encoding/json"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/daemon"
	"pawl/internal/engine"
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
func (s service) Runs(ctx context.Context) ([]pawl.RunInfo, error) { return pawl.NewestRuns(ctx, s, 0) }

// NewestLines implements [pawl.LineLister].
func (s service) NewestLines(ctx context.Context, most int) ([]pawl.RunLine, error) {
	lines, err := pawl.NewestLines(ctx, s.Service, most)
	for i, l := range lines {
		r := l.Info
		if (r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping) && !s.driven(r.ID) {
			lines[i] = l.With(func(info *pawl.RunInfo) { info.Status = cli.StatusInterrupted })
		}
	}
	return lines, err
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
func (s stored) PruneCache(context.Context, pawl.PruneRequest) (pawl.PruneResult, error) { //nolint:unparam // an interface asks for it
	return pawl.PruneResult{}, onlyOwner("prune its cache")
}

// DeleteRun implements [pawl.Deletions].
func (s stored) DeleteRun(context.Context, pawl.RunID, pawl.DeleteRequest) (pawl.Deletion, error) { //nolint:unparam // an interface asks for it
	return pawl.Deletion{}, onlyOwner("delete its runs")
}

// DeletedRuns implements [pawl.Deletions].
func (s stored) DeletedRuns(ctx context.Context) ([]pawl.Tombstone, error) {
	return pawl.DeletedRuns(ctx, s.service.Service)
}

// Garbage implements [pawl.Deletions].
func (s stored) Garbage(context.Context) (pawl.Garbage, error) { //nolint:unparam // an interface asks for it
	return pawl.Garbage{}, onlyOwner("say what of it nobody needs")
}

// CollectGarbage implements [pawl.Deletions].
func (s stored) CollectGarbage(context.Context) (pawl.Garbage, error) { //nolint:unparam // an interface asks for it
	return pawl.Garbage{}, onlyOwner("remove what nobody needs")
}

func onlyOwner(what string) error {
	return pawl.Errorf(pawl.CodeUnavailable, "only the process that has the project can %s", what)
}

// owned is the service of a project that this process has. What a run would only fail
// on at its first model call is refused when it is let go on, as at its start; what a
// request hands over of its user's environment is kept for the run.
type owned struct {
	service
	machine *machine
	engine  *engine.Engine
	project string // the name of its state folder
}

// Fork implements [pawl.Service].
func (o owned) Fork(ctx context.Context, run pawl.RunID, at pawl.Seq) (info pawl.RunInfo, err error) {
	if err := o.equipped(ctx, run); err != nil {
		return pawl.RunInfo{}, err
	}
	return o.service.Fork(ctx, run, at)
}

// Steer implements [pawl.Service]. Only who resumes a run, as one does who overrules a halt, hands it
// an environment: what another shell has is not what the run was started with.
// F-14
func (o owned) Steer(ctx context.Context, run pawl.RunID, s pawl.Steering) error {
	if !s.Verb.Resumes() {
		return o.service.Steer(daemon.WithEnviron(ctx, nil), run, s)
	}
	if err := o.equipped(ctx, run); err != nil {
		return err
	}
	return o.service.Steer(ctx, run, s)
}

// Adopt lets a run go on that was interrupted, with the accounts it has.
func (o owned) Adopt(ctx context.Context, run pawl.RunID) error {
	return o.engine.Adopt(ctx, run, func(s *pawl.Settings) error { return o.supplied(ctx, run, s) })
}

// equipped refuses to let a run go on without the keys that its models need, or while no server that has
// the models of a tier is there.
func (o owned) equipped(ctx context.Context, run pawl.RunID) error {
	settings, ok := settingsOf(ctx, o.service, run)
	if !ok {
		return nil // whoever goes on with it says what is wrong
	}
	if daemon.Environ(ctx) != nil || o.machine.alone { // it gets the accounts of whoever asks
		for provider := range config.ByProvider(settings.AllModels()) {
			settings.SetAccount(pawl.Account{Provider: provider})
		}
	}
	return o.supplied(ctx, run, &settings)
}

// settingsOf returns the settings of a run, with the accounts it has now; false = its events do not say.
func settingsOf(ctx context.Context, s pawl.Service, run pawl.RunID) (settings pawl.Settings, ok bool) {
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return settings, false
		}
		switch b := e.Body.(type) {
		case *pawl.RunStarted:
			ok = json.Unmarshal(b.Settings, &settings) == nil
		case *pawl.AccountChanged:
			settings.SetAccount(b.To)
		}
	}
	return settings, ok
}

// supplied is equipped for who knows the run's settings.
func (o owned) supplied(ctx context.Context, run pawl.RunID, s *pawl.Settings) error {
	app := &cli.App{Environ: o.machine.environs.asked(ctx, runOf{o.project, run})}
	if err := o.machine.models.supplied(ctx, app, s.AllModels()); err != nil {
		return err.WithHint("pawl resume %s from a shell that has it", run)
	}
	_, err := o.machine.models.answering(ctx, app, s) // warnings concern fallbacks: the run says when it uses one
	return err
}
