package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/adrg/xdg"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/client"
	"pawl/internal/config"
	"pawl/internal/driver"
	"pawl/internal/engine"
	"pawl/internal/gate/command"
	"pawl/internal/model/anthropic"
	"pawl/internal/model/openai"
	"pawl/internal/model/script"
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
	repo, err := gitworktree.Inspect(ctx, nil, app.Dir)
	if err != nil {
		return nil, err
	}
	p, err := project.At(xdg.StateHome, repo)
	if err != nil {
		return nil, err
	}
	if s, err := connect(ctx, p); s != nil || err != nil {
		return s, err
	}
	if access == cli.Read {
		return openReadOnly(p)
	}
	lock, err := p.Lock(app.Version)
	if errors.Is(err, project.ErrHeld) {
		return connect(ctx, p) // someone was faster
	}
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

// connect makes a session with the project's owner; nil when it has none.
func connect(ctx context.Context, p project.Project) (*cli.Session, error) {
	holder, held, err := p.Holder(ctx)
	if err != nil || !held {
		return nil, err
	}
	c := client.New(holder.Socket)
	if _, err := c.Runs(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("process %d has this project: %w", holder.Pid, err)
	}
	return &cli.Session{Service: c, Project: p, Close: func() error { c.Close(); return nil }}, nil
}

func openReadOnly(p project.Project) (*cli.Session, error) {
	log, err := sqlite.OpenReadOnly(p.Dir)
	if errors.Is(err, fs.ErrNotExist) || pawl.CodeOf(err) == pawl.CodeNotFound {
		return &cli.Session{Service: engine.Reader{Log: mem.New()}, Project: p, Close: func() error { return nil }}, nil
	}
	if err != nil {
		return nil, err
	}
	return &cli.Session{Service: engine.Reader{Log: log}, Project: p, Close: log.Close}, nil
}

// own makes this process the owner: it drives the project's runs and serves
// others on the socket. The caller holds the project's lock.
func own(ctx context.Context, app *cli.App, p project.Project) (*cli.Session, error) {
	logger, logFile, err := openLog(p)
	if err != nil {
		return nil, err
	}
	spaces, err := gitworktree.New(ctx, gitworktree.Options{Repository: p.Repo, State: p.Dir, Log: logger})
	if err != nil {
		return nil, err
	}
	log, err := sqlite.Open(p.Dir)
	if err != nil {
		return nil, err
	}
	confined, err := sandbox.Probe(ctx)
	if err != nil {
		logger.Warn("commands cannot be confined", "error", err)
		confined = sandbox.Unconfined()
	}
	e := engine.New(engine.Config{
		Log: log, Logger: logger, Version: app.Version, Sandbox: confined,
		Performer: performer(app, p, spaces, confined),
		Inspect:   func(ctx context.Context) (pawl.Repository, error) { return gitworktree.Inspect(ctx, nil, app.Dir) },
		Numbers:   func(ctx context.Context) (int, error) { return spaces.Numbers(ctx, p.Repo.Head) },
	})
	stopServing, err := serve(p, e)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &cli.Session{Service: e, Project: p, Owner: true, Confined: confined.Confined(), Sandbox: confined.Describe(), Close: func() error {
		e.Close()
		err := stopServing()
		return errors.Join(err, log.Close(), logFile.Close())
	}}, nil
}

// serve offers the engine on the project's socket until the function it returns is called.
func serve(p project.Project, e *engine.Engine) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- server.Serve(ctx, p.Socket(), e, func() { close(ready) }) }()
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

func performer(app *cli.App, p project.Project, spaces *gitworktree.Workspaces, box pawl.Sandbox) driver.Performer {
	return &runner.Runner{
		Model:   (&models{app: app}).forTier,
		Tools:   tool.New(tool.Builtin()...),
		Submits: submit.Results{},
		Prompts: &prompt.Assembler{Diff: spaces.Diff},
		Gate:    command.New(box),
		Spaces:  spaces, Sandbox: box, Temp: p.Temp,
		Redact: plain.NewRedactor(app.Getenv, secretNames(app.Environ)...).Bytes,
	}
}

// models makes the model of each provider once, and the scripted one of each
// run from the file that was frozen with it.
type models struct {
	app *cli.App

	mu   sync.Mutex // guards made
	made map[string]pawl.Model
}

func (m *models) forTier(ctx context.Context, job driver.Job, tier int) (pawl.Model, error) {
	choice := job.Settings.Models[tier-1]
	key := choice.Provider
	if choice.Provider == "script" {
		key += "/" + job.Started.Script.String()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if made, ok := m.made[key]; ok {
		return made, nil
	}
	made, err := m.make(ctx, job, choice.Provider)
	if err != nil {
		return nil, err
	}
	if m.made == nil {
		m.made = make(map[string]pawl.Model)
	}
	m.made[key] = made
	return made, nil
}

func (m *models) make(ctx context.Context, job driver.Job, provider string) (pawl.Model, error) {
	if provider == "script" {
		data, err := job.Blob(ctx, job.Started.Script)
		if err != nil {
			return nil, fmt.Errorf("read the run's script: %w", err)
		}
		return script.Parse("script of run "+string(job.Run), data)
	}
	// Where providers are is the user's business: the repository's file is not asked.
	cfg, err := config.Load(config.Sources{UserFile: m.app.UserConfig(), Env: m.app.Environ})
	if err != nil {
		return nil, err
	}
	c := cfg.Provider(provider)
	key := m.app.Getenv(c.KeyEnv)
	switch provider {
	case "anthropic":
		return anthropic.New(anthropic.Config{BaseURL: c.BaseURL, APIKey: key}), nil
	case "openai":
		return openai.NewResponses(openai.Config{BaseURL: c.BaseURL, APIKey: key}), nil
	case "openai-chat":
		return openai.NewChat(openai.Config{BaseURL: c.BaseURL, APIKey: key}), nil
	}
	return nil, &pawl.ModelError{Kind: pawl.ModelBadRequest, Message: "unknown provider " + provider}
}
