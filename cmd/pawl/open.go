package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/client"
	"pawl/internal/config"
	"pawl/internal/daemon"
	"pawl/internal/project"
	"pawl/internal/server"
	"pawl/internal/workspace/gitworktree"
)

// open reaches the project at the app's folder: over the daemon, which is started when
// none runs, or, where the user wants none, over the socket of the process that has
// the project, else as its owner. What only reads starts nothing: where nobody
// serves, it reads the store. Where the user wants no daemon and it has the project, its
// store can be read and nothing else.
func open(ctx context.Context, app *cli.App, access cli.Access) (*cli.Session, error) {
	go config.ReadTables() // what goes with a request needs them, and git is waited for
	p, err := find(ctx, app, access)
	if err != nil {
		return nil, err
	}
	return openProject(ctx, app, p, access)
}

// each reaches all projects of the user that have a log, as [cli.App.Each] says. One whose
// repository is gone can only be read.
func each(ctx context.Context, app *cli.App, access cli.Access, do func(project.Project, *cli.Session, error) error) error {
	home := project.HomeAt(app.StateHome)
	if err := home.Check(); err != nil {
		return err
	}
	all, err := home.Projects()
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b project.Project) int { return cmp.Compare(a.Repo.Root, b.Repo.Root) })
	for _, p := range all {
		if !p.HasLog() {
			continue
		}
		var s *cli.Session
		if access != cli.Read && !p.Present() {
			err = pawl.Errorf(pawl.CodeUnavailable, "the repository no longer exists").
				WithHint("pawl attach --from %s gives what it has to a copy; else remove %s", filepath.Base(p.Dir), p.Dir)
		} else {
			s, err = openProject(ctx, app, p, access)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = do(p, s, err)
		if s != nil {
			err = errors.Join(err, s.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openProject is open for a project that is known.
func openProject(ctx context.Context, app *cli.App, p project.Project, access cli.Access) (*cli.Session, error) {
	// Whoever has the project may be just coming or going.
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

// find is the project at the app's folder. What may start a run has the whole repository
// looked at, unless there is somebody who has the project and looks at it for each run.
func find(ctx context.Context, app *cli.App, access cli.Access) (project.Project, error) {
	repo, err := repositoryAt(ctx, app.Dir)
	if err != nil {
		return project.Project{}, err
	}
	p, err := project.At(app.StateHome, repo)
	if err != nil || access == cli.Read {
		return p, err
	}
	if _, held, err := p.Holder(ctx); err == nil && held {
		return p, nil
	}
	if repo, err = gitworktree.Inspect(ctx, nil, app.Dir); err != nil {
		return project.Project{}, err
	}
	return project.At(app.StateHome, repo)
}

func reach(ctx context.Context, app *cli.App, p project.Project, access cli.Access) (*cli.Session, error) {
	holder, held, err := p.Holder(ctx)
	if err != nil {
		return nil, err
	}
	home := project.HomeAt(app.StateHome)
	byDaemon := held && holder.Socket == home.Socket()
	switch {
	case byDaemon && app.Local && access == cli.Read:
		return openReadOnly(app, p, true)
	case byDaemon && app.Local:
		return nil, heldByDaemon(holder)
	case byDaemon:
		return joinDaemon(ctx, app, p, holder, access)
	case held:
		return connect(ctx, app, p, holder, access)
	case access == cli.Read:
		return openReadOnly(app, p, false)
	case !app.Local:
		return openInDaemon(ctx, app, p)
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
	s.Close = func() error {
		let := lock.Release
		if left, err := cli.Busy(context.WithoutCancel(ctx), s); err != nil || left != "" {
			let = lock.Leave // on purpose: no daemon goes on with what this process leaves
		}
		return errors.Join(end(), let())
	}
	return s, nil
}

// heldByDaemon refuses to work without the daemon on a project that it has.
func heldByDaemon(h project.Holder) error {
	return pawl.Errorf(pawl.CodeState, "the daemon has this project (process %d, since %s), and --local or PAWL_LOCAL asks to work without one",
		h.Pid, h.Started.Local().Format(time.DateTime)).
		WithHint("pawl serve stop ends the daemon; without --local the command uses it")
}

// errNoAnswer means that a process holds the project and does not serve it.
var errNoAnswer = errors.New("it does not answer")

// patience is how long the owner of a project has to answer a first question,
// and to come or to go.
const patience = 5 * time.Second

// connect makes a session with the project's owner. One that is stopped, as by
// Ctrl-Z, does not answer; what it has stored can be read all the same.
func connect(ctx context.Context, app *cli.App, p project.Project, holder project.Holder, access cli.Access) (*cli.Session, error) {
	if err := project.CheckSocket(holder.Socket); err != nil {
		return nil, err
	}
	header, err := handed(app, "")
	if err != nil {
		return nil, err
	}
	c := client.New(holder.Socket)
	c.Send(header)
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err = c.Runs(short); err == nil {
		return &cli.Session{Service: c, Project: p, Remote: true, Close: func() error { c.Close(); return nil }}, nil
	}
	c.Close()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case short.Err() != nil && access == cli.Read:
		return openReadOnly(app, p, true)
	case short.Err() != nil:
		return nil, pawl.Errorf(pawl.CodeUnavailable, "process %d has this project and does not answer", holder.Pid).
			WithHint("is it stopped? kill -CONT %d continues it, kill %d ends it", holder.Pid, holder.Pid)
	case pawl.CodeOf(err) == pawl.CodeUnavailable:
		return nil, pawl.Errorf(pawl.CodeUnavailable, "process %d has this project: %w (%v)", holder.Pid, errNoAnswer, err).
			WithHint("try again; if it hangs, end it with kill %d", holder.Pid)
	}
	return nil, fmt.Errorf("process %d has this project: %w", holder.Pid, err)
}

// openReadOnly reads what is stored. held reports that another process has the project.
func openReadOnly(app *cli.App, p project.Project, held bool) (*cli.Session, error) {
	s, end, err := openStored(p, held, func() int64 {
		cfg := machineConfig(app)
		return cfg.CacheSize()
	})
	if err != nil {
		return nil, err
	}
	return &cli.Session{Service: s, Project: p, Close: end}, nil
}

// own makes this process the owner: it drives the project's runs and serves
// others on the socket. The caller holds the project's lock.
func own(ctx context.Context, app *cli.App, p project.Project) (*cli.Session, error) {
	m := newMachine(ctx, app)
	m.alone = true
	o, err := m.open(ctx, p, nil, nil)
	if err != nil {
		return nil, err
	}
	stopServing, err := serve(p, o)
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return &cli.Session{Service: o, Project: p, Owner: true, Driven: o.Driven, Load: o.load, Close: func() error {
		o.engine.Close() // watchers of others read what is stored to its end first
		return errors.Join(stopServing(), o.Close())
	}}, nil
}

// serve offers a service on the project's socket until the function it returns is called.
func serve(p project.Project, s pawl.Service) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- server.Serve(ctx, p.Socket(), s, daemon.Equipped, func() { close(ready) }) }()
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
