package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/callback"
	"pawl/internal/cli"
	"pawl/internal/client"
	"pawl/internal/config"
	"pawl/internal/driver"
	"pawl/internal/engine"
	"pawl/internal/gate/command"
	"pawl/internal/plain"
	"pawl/internal/project"
	"pawl/internal/prompt"
	"pawl/internal/runner"
	"pawl/internal/sandbox"
	"pawl/internal/server"
	"pawl/internal/store/mem"
	"pawl/internal/store/sqlite"
	"pawl/internal/tool"
	"pawl/internal/tool/submit"
	"pawl/internal/workspace/gitworktree"
)

// open reaches the project at the app's folder: over the socket of the process
// that owns it, else as its owner, or, only to read, from its store.
func open(ctx context.Context, app *cli.App, access cli.Access) (*cli.Session, error) {
	p, err := find(ctx, app, access)
	if err != nil {
		return nil, err
	}
	// Whoever owns the project may be just coming or going.
	until := time.Now().Add(patience)
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		s, err := reach(ctx, app, p, access)
		passing := err != nil && (pawl.CodeOf(err) == pawl.CodeConflict || errors.Is(err, errNoAnswer))
		if !passing || time.Now().After(until) {
			return s, err
		}
		select {
		case <-time.After(min(wait, 200*time.Millisecond)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// find is the project at the app's folder. Only what may start a run has the
// whole repository looked at.
func find(ctx context.Context, app *cli.App, access cli.Access) (project.Project, error) {
	if info, err := os.Stat(app.Dir); err != nil || !info.IsDir() {
		return project.Project{}, pawl.Errorf(pawl.CodeInvalid, "there is no folder %s", app.Dir)
	}
	repo, err := locate(ctx, app.Dir)
	if access != cli.Read || err != nil {
		repo, err = gitworktree.Inspect(ctx, nil, app.Dir)
	}
	if err != nil {
		return project.Project{}, err
	}
	return project.At(app.StateHome, repo)
}

func reach(ctx context.Context, app *cli.App, p project.Project, access cli.Access) (*cli.Session, error) {
	holder, held, err := p.Holder(ctx)
	if err != nil {
		return nil, err
	}
	if held {
		return connect(ctx, p, holder, access)
	}
	if access == cli.Read {
		return openReadOnly(p, nobody)
	}
	lock, err := p.Lock(app.Version)
	if err != nil {
		return nil, err
	}
	s, err := own(ctx, app, p)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	end := s.Close
	s.Close = func() error { return errors.Join(end(), lock.Release()) }
	return s, nil
}

// errNoAnswer means that a process holds the project and does not serve it.
var errNoAnswer = errors.New("it does not answer")

// patience is how long the owner of a project has to answer a first question,
// and to come or to go.
const patience = 5 * time.Second

// connect makes a session with the project's owner. One that is stopped, as by
// Ctrl-Z, does not answer; what it has stored can be read all the same.
func connect(ctx context.Context, p project.Project, holder project.Holder, access cli.Access) (*cli.Session, error) {
	c := client.New(holder.Socket)
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := c.Runs(short)
	if err == nil {
		return &cli.Session{Service: c, Project: p, Remote: true, Close: func() error { c.Close(); return nil }}, nil
	}
	c.Close()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case short.Err() != nil && access == cli.Read:
		return openReadOnly(p, everybody)
	case short.Err() != nil:
		return nil, pawl.Errorf(pawl.CodeUnavailable, "process %d has this project and does not answer", holder.Pid).
			WithHint("is it stopped? kill -CONT %d lets it go on, kill %d ends it", holder.Pid, holder.Pid)
	case pawl.CodeOf(err) == pawl.CodeUnavailable:
		return nil, pawl.Errorf(pawl.CodeUnavailable, "process %d has this project: %w (%v)", holder.Pid, errNoAnswer, err).
			WithHint("try again; if it hangs, end it with kill %d", holder.Pid)
	}
	return nil, fmt.Errorf("process %d has this project: %w", holder.Pid, err)
}

func openReadOnly(p project.Project, driven func(pawl.RunID) bool) (*cli.Session, error) {
	log, err := sqlite.OpenReadOnly(p.Dir)
	if errors.Is(err, fs.ErrNotExist) || pawl.CodeOf(err) == pawl.CodeNotFound {
		return &cli.Session{Service: engine.Reader{Log: mem.New()}, Project: p, Close: func() error { return nil }}, nil
	}
	if err != nil {
		return nil, err
	}
	return &cli.Session{Service: service{engine.Reader{Log: log}, driven}, Project: p, Close: log.Close}, nil
}

// own makes this process the owner: it drives the project's runs and serves
// others on the socket. The caller holds the project's lock.
func own(ctx context.Context, app *cli.App, p project.Project) (s *cli.Session, err error) {
	var closers []func() error
	shut := func() error {
		var all error
		for i := len(closers) - 1; i >= 0; i-- {
			all = errors.Join(all, closers[i]())
		}
		return all
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, shut())
		}
	}()
	logger, logFile, err := openLog(p)
	if err != nil {
		return nil, err
	}
	closers = append(closers, logFile.Close)
	spaces, err := gitworktree.New(ctx, gitworktree.Options{Repository: p.Repo, State: p.Dir, Log: logger})
	if err != nil {
		return nil, err
	}
	if err := spaces.Recover(ctx); err != nil {
		return nil, err
	}
	log, err := sqlite.Open(p.Dir)
	if err != nil {
		return nil, err
	}
	closers = append(closers, log.Close)
	confined, unconfined := sandbox.Probe(ctx)
	if unconfined != nil {
		confined = sandbox.Unconfined()
	}
	confined = shown{confined, spaces.Visible()}
	models := &models{app: app}
	e := engine.New(engine.Config{
		Log: log, Logger: logger, Version: app.Version, Sandbox: confined, Clean: p.RemoveTemp,
		Performer: performer(app, p, spaces, confined, models, engine.Reader{Log: log}.Recall),
		Inspect: func(ctx context.Context, dir string) (pawl.Repository, error) {
			return gitworktree.Inspect(ctx, nil, cmp.Or(dir, p.Repo.Root))
		},
		Known:   func(ctx context.Context, task string) (engine.Known, error) { return known(ctx, app.Dir, p, task) },
		Pin:     spaces.Mark,
		Numbers: func(ctx context.Context) (int, error) { return spaces.Numbers(ctx, p.Repo.Head) },
	})
	owner := owned{service{e, e.Driven}, models, unconfined}
	stopServing, err := serve(p, owner)
	if err != nil {
		e.Close()
		return nil, err
	}
	closers = append(closers, stopServing, func() error { e.Close(); return nil })
	return &cli.Session{Service: owner, Project: p, Owner: true, Driven: e.Driven, Close: shut}, nil
}

// serve offers a service on the project's socket until the function it returns is called.
func serve(p project.Project, s pawl.Service) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- server.Serve(ctx, p.Socket(), s, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		return nil, err
	}
	return func() error {
		cancel()
		err := <-done
		return errors.Join(err, ignoreMissing(os.Remove(p.Socket())))
	}, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// openLog is where the owner tells what is not a run's business.
func openLog(p project.Project) (*slog.Logger, *os.File, error) {
	f, err := os.OpenFile(filepath.Join(p.Dir, "pawl.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	return slog.New(slog.NewTextHandler(f, nil)), f, nil
}

type recall = func(context.Context, pawl.MemoryQuery) ([]pawl.MemoryEntry, error)

func performer(app *cli.App, p project.Project, spaces *gitworktree.Workspaces, box pawl.Sandbox, models *models, recall recall) driver.Performer {
	sender := &callback.Sender{Secret: app.Getenv(config.CallbackSecret)}
	return &runner.Runner{
		Model:   models.forTier,
		Tools:   tool.New(tool.Builtin()...),
		Submits: submit.Results{},
		Prompts: &prompt.Assembler{Diff: spaces.Diff, Recall: recall},
		Gate:    command.New(box),
		Spaces:  spaces, Sandbox: box, Temp: p.Temp,
		Callback: sender.Send, Announce: sender.Announce, Project: filepath.Base(p.Repo.Root),
		Redact: plain.NewRedactor(app.Getenv, secretNames(app.Environ)...).Bytes,
	}
}
