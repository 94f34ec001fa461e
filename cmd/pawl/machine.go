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
	"sync"
	"time"

	"pawl"
	"pawl/internal/callback"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/daemon"
	"pawl/internal/document/loopfolder"
	"pawl/internal/driver"
	"pawl/internal/ecosystem"
	"pawl/internal/egress"
	"pawl/internal/engine"
	"pawl/internal/gate/command"
	"pawl/internal/governor"
	"pawl/internal/instructions"
	"pawl/internal/project"
	"pawl/internal/prompt"
	"pawl/internal/room"
	"pawl/internal/runner"
	"pawl/internal/sandbox"
	"pawl/internal/store/mem"
	"pawl/internal/store/sqlite"
	"pawl/internal/tool"
	"pawl/internal/tool/submit"
	"pawl/internal/workspace/gitworktree"
)

// machine is what all projects share that this process drives.
type machine struct {
	version  string
	alone    bool // it has no daemon: its environment is that of whoever asks
	environs *environs
	models   *models
	governor *governor.Governor
	cache    int64 // how many bytes the trusted cache of a project may take
	minFree  pawl.Bytes
	locator  locator

	probed chan struct{} // closed when what follows is known
	box    *sandbox.Box
	// unconfined is why commands cannot be confined here; nil when they can.
	unconfined error
}

func newMachine(ctx context.Context, app *cli.App) *machine {
	m := &machine{version: app.Version, environs: newEnvirons(app.Environ)}
	cfg := machineConfig(app)
	m.governor = governor.New(governor.Limits(cfg.Machine()), nil)
	m.cache, m.minFree = cfg.CacheSize(), cfg.MinFree()
	m.models = &models{environs: m.environs, logins: filepath.Join(app.StateHome, "pawl", "logins"), version: app.Version}
	m.probed = make(chan struct{})
	go m.probe(ctx, sandboxOptions(cfg.Sandbox()))
	return m
}

// sandboxOptions returns the options of the sandbox that a configuration asks for.
func sandboxOptions(s config.Sandbox) sandbox.Options {
	return sandbox.Options{UID: s.UID, Wide: s.Profile == "wide"}
}

// probe finds out what confines commands. That takes as long as some processes do;
// only projects wait for it.
func (m *machine) probe(ctx context.Context, opts sandbox.Options) {
	defer close(m.probed)
	if m.box, m.unconfined = sandbox.New(ctx, opts); m.unconfined != nil {
		m.box = sandbox.Unconfined()
	}
}

// machineConfig returns the configuration of this process, the same for all runs that it
// drives.
func machineConfig(app *cli.App) config.Config {
	cfg, err := providersOf(app)
	if err != nil {
		cfg, _ = config.Load(config.Sources{}) // whoever starts a run is told what is wrong
	}
	return cfg
}

// opened is a project that this process drives the runs of.
type opened struct {
	owned
	engine  *engine.Engine
	folders *loopfolder.Keeper
	spaces  *gitworktree.Workspaces
	rooms   *room.Rooms
	log     *sqlite.Log
	ahead   *engine.Ahead
	file    *os.File
}

// Money returns what a run that is driven has spent, holds and has lost.
func (o *opened) Money(run pawl.RunID) *pawl.Money { return o.engine.Money(run) }

// load says what the places of the machine are used for, and what its runs cost.
func (o *opened) load() pawl.Load {
	l := o.machine.governor.Load()
	for i := range l.Runs {
		l.Runs[i].Money = o.Money(l.Runs[i].Run)
	}
	return l
}

// Drain lets what is under way finish.
func (o *opened) Drain(ctx context.Context) { o.engine.Drain(ctx) }

// Driven reports whether a run is at work, or paused, in this process.
func (o *opened) Driven(run pawl.RunID) bool { return o.engine.Driven(run) }

// Cache implements [pawl.Caches].
func (o *opened) Cache(ctx context.Context) (pawl.CacheInfo, error) { return o.rooms.Cache(ctx) }

// PruneCache implements [pawl.Caches].
func (o *opened) PruneCache(ctx context.Context, req pawl.PruneRequest) (pawl.PruneResult, error) {
	return o.rooms.PruneCache(ctx, req)
}

// DeleteRun implements [pawl.Deletions].
func (o *opened) DeleteRun(ctx context.Context, run pawl.RunID, req pawl.DeleteRequest) (pawl.Deletion, error) {
	out, err := o.engine.DeleteRun(ctx, run, req)
	if err == nil {
		o.machine.forget(runOf{o.owned.project, run})
	}
	return out, err
}

// DeletedRuns implements [pawl.Deletions].
func (o *opened) DeletedRuns(ctx context.Context) ([]pawl.Tombstone, error) {
	return o.engine.DeletedRuns(ctx)
}

// Garbage implements [pawl.Deletions].
func (o *opened) Garbage(ctx context.Context) (pawl.Garbage, error) { return o.engine.Garbage(ctx) }

// CollectGarbage implements [pawl.Deletions].
func (o *opened) CollectGarbage(ctx context.Context) (pawl.Garbage, error) {
	return o.engine.CollectGarbage(ctx)
}

// foldersTime is how long the folders of loops are still written when a project is
// closed. What is not done then is done when its run goes on.
const foldersTime = time.Second

// Close ends driving as a crash would.
func (o *opened) Close() error {
	o.engine.Close()
	o.endParts()
	return errors.Join(o.rooms.Close(), o.log.Close(), o.file.Close())
}

// openParts opens the log and starts folding the runs in next. At the same time it opens the worktrees: SQLite and
// git each take several milliseconds.
func (o *opened) openParts(ctx context.Context, p project.Project, spaces gitworktree.Options, next []pawl.RunID) (err error) {
	var opening sync.WaitGroup
	var logErr error
	opening.Go(func() {
		if o.log, logErr = sqlite.Open(p.Dir); logErr == nil {
			o.ahead = engine.FoldAhead(ctx, o.log, next)
		}
	})
	if o.spaces, err = gitworktree.New(ctx, spaces); err == nil {
		err = o.spaces.Recover(ctx)
	}
	opening.Wait()
	switch {
	case logErr != nil && err == nil:
		o.spaces.Rest()
		return logErr
	case logErr != nil:
		return err
	case err != nil:
		o.ahead.End()
		return errors.Join(err, o.log.Close())
	}
	for _, problem := range o.log.Problems() {
		spaces.Log.Warn("data beside the log was damaged and is rebuilt", "problem", problem)
	}
	o.folders = loopfolder.Keep(p.Dir, o.log, spaces.Log)
	return nil
}

// endParts ends what openParts has started. The log stays open.
func (o *opened) endParts() {
	o.ahead.End()
	ctx, cancel := context.WithTimeout(context.Background(), foldersTime)
	defer cancel()
	o.folders.Close(ctx)
	o.spaces.Rest()
}

// open opens a project whose lock this process has. If told is not nil, it is called with a run's line
// whenever that changes. next lists the runs that the caller will adopt.
func (m *machine) open(ctx context.Context, p project.Project, told func(pawl.RunInfo), next []pawl.RunID) (o *opened, err error) {
	defer func() { err = project.Unwritable(err) }()
	o = &opened{}
	logger, file, err := openLog(p)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	var rooms *room.Rooms // from before the first worktree is opened
	err = o.openParts(ctx, p, gitworktree.Options{
		Repository: p.Repo, State: p.Dir, Log: logger,
		Trees: func() pawl.Trees {
			if rooms == nil {
				return nil
			}
			return rooms
		},
		Owner:  func() pawl.Owner { <-m.probed; return m.box.Owner() },
		Limits: recordingLimits,
	}, next)
	if err != nil {
		return nil, err
	}
	spaces, log, folders, name := o.spaces, o.log, o.folders, filepath.Base(p.Dir)
	<-m.probed
	rooms = m.rooms(p, spaces, logger)
	if err := rooms.Recover(); err != nil {
		o.endParts()
		return nil, errors.Join(err, log.Close())
	}
	inspector := &gitworktree.Inspector{Files: spaces.Reader().Files, Known: m.locator.remembered}
	lacks := func() string { return lacksSpace(m.minFree, p) }
	e := engine.New(m.ofProject(name, engine.Config{
		Log: log, Logger: logger, Version: m.version, Sandbox: rooms, Consent: p, Ahead: o.ahead,
		Clean:     func(run pawl.RunID) error { return errors.Join(p.RemoveTemp(run), rooms.Remove(run)) },
		Remains:   remains{p, spaces, rooms, folders, log},
		Resolve:   m.resolver(p, engine.Reader{Log: log}),
		Timeouts:  m.timeouts(p),
		Performer: m.performer(p, spaces, rooms, engine.Reader{Log: log}.Recall, lacks),
		Places:    governor.OnDisk(m.governor.Places(name), lacks),
		Inspect: func(ctx context.Context, dir string) (pawl.Repository, error) {
			return m.inspect(ctx, inspector, p, dir)
		},
		Answered: func(ctx context.Context) ([]string, error) { return answered(ctx, p.Repo.Root, p) },
		Redact:   m.environs.redact,
		Known: func(ctx context.Context, task string) (engine.Known, error) {
			return known(ctx, p.Repo.Root, p, task)
		},
		Instructions: func(ctx context.Context, commit pawl.CommitHash) (pawl.Instructions, error) {
			return instructions.Read(ctx, spaces.Reader(), commit, m.environs.redact)
		},
		Pin:     spaces.Mark,
		Merge:   spaces.Merge,
		Numbers: spaces.Numbers,
		Told: func(r pawl.RunInfo) {
			folders.Notice(r.ID, r.Status == pawl.StatusEnded || r.Status == pawl.StatusQuarantined)
			if r.Status == pawl.StatusEnded {
				m.forget(runOf{name, r.ID})
			}
			if told != nil {
				told(r)
			}
		},
	}))
	o.engine, o.rooms, o.file = e, rooms, file
	o.owned = owned{service{e, e.Driven}, m, e, name}
	return o, nil
}

// ofProject adds to the configuration of a project's engine what makes its runs those of their
// users: the environment they were handed, and their accounts.
func (m *machine) ofProject(name string, c engine.Config) engine.Config {
	c.Performer = ofRun{c.Performer, name}
	c.Accounts = func(ctx context.Context, run pawl.RunID, models []pawl.ModelChoice) ([]pawl.Account, error) {
		return m.accounts(ctx, runOf{name, run}, models)
	}
	c.Accepted = func(ctx context.Context, run pawl.RunID) { m.hand(ctx, runOf{name, run}) }
	return c
}

// rooms are the rooms of a project: each run's commands have that run's environment.
func (m *machine) rooms(p project.Project, spaces *gitworktree.Workspaces, logger *slog.Logger) *room.Rooms {
	return room.New(room.Options{
		State: p.Dir, Enforcer: m.box, Visible: spaces.Visible, Needed: spaces.Furnished, CacheSize: m.cache, Log: logger,
		Host: func(ctx context.Context) room.Host { return room.NewHost(m.environs.environ(ctx), "") },
		Proxy: func(ctx context.Context, out room.WayOut) (room.Proxy, error) {
			return egress.New(egress.Options{Rules: out.Rules, Gateway: out.Gateway, Environ: m.environs.environ(ctx), Refused: out.Refused})
		},
	})
}

// hand keeps what was handed over for a run, if anything was. Its models are made anew with it.
func (m *machine) hand(ctx context.Context, r runOf) {
	if environ := daemon.Environ(ctx); environ != nil {
		m.environs.set(r, environ)
		m.models.forget(r)
	}
}

// forget drops what only a run at work needs. One that is resumed brings it again.
func (m *machine) forget(r runOf) {
	m.environs.forget(r)
	m.models.forget(r)
}

// inspect looks at the repository of a project, from a work tree of it. A start inspects while its request is
// resolved, so the folder is checked here as well: git must not look into another repository.
func (m *machine) inspect(ctx context.Context, inspector *gitworktree.Inspector, p project.Project, dir string) (pawl.Repository, error) {
	if _, err := m.workTree(ctx, p, dir); err != nil {
		return pawl.Repository{}, err
	}
	repo, err := inspector.Inspect(ctx, cmp.Or(dir, p.Repo.Root))
	if err == nil && repo.GitDir != p.Repo.GitDir {
		return repo, pawl.Errorf(pawl.CodeFolder, "%s is of another repository than %s", dir, p.Repo.Root)
	}
	return repo, err
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

func (m *machine) performer(p project.Project, spaces *gitworktree.Workspaces, rooms pawl.Rooms, recall recall, lacks func() string) driver.Performer {
	sender := func(ctx context.Context) *callback.Sender {
		app := cli.App{Environ: m.environs.environ(ctx)}
		return &callback.Sender{Secret: app.Getenv(config.CallbackSecret)}
	}
	return &runner.Runner{
		Model:    m.models.model,
		Delegate: m.models.delegate, ServeTools: m.models.serveTools,
		Tools:   tool.New(tool.Builtin()...),
		Submits: submit.Results{},
		Prompts: &prompt.Assembler{Diff: spaces.Diff, Recall: recall},
		Gate:    command.New(),
		Spaces:  spaces, Rooms: rooms, Temp: p.Temp,
		Callback: func(ctx context.Context, to pawl.Callback, delivery string, body []byte) (int, error) {
			return sender(ctx).Send(ctx, to, delivery, body)
		},
		Announce: func(ctx context.Context, to pawl.Announcing, delivery string, body []byte, env []string) (int, error) {
			return sender(ctx).Announce(ctx, to, delivery, body, env)
		},
		Project: filepath.Base(p.Repo.Root),
		Inputs:  ecosystem.IsInput, Gist: command.Gist, Toolchain: ecosystem.Runtimes(), Updates: ecosystem.Updates,
		Redact: m.environs.redact, Undecided: m.environs.undecided, Secrets: m.environs.found, Lacks: lacks,
	}
}

// openStored reads what a project has stored, until the function it returns is called.
// held reports that another process has the project, which drives its runs and uses its
// cache; limit is how many bytes that may take.
func openStored(p project.Project, held bool, limit func() int64) (pawl.Service, func() error, error) {
	stored := stored{service{engine.Reader{Log: mem.New()}, func(pawl.RunID) bool { return held }}, p, held, limit}
	log, err := sqlite.OpenReadOnly(p.Dir)
	if errors.Is(err, fs.ErrNotExist) || pawl.CodeOf(err) == pawl.CodeNotFound {
		return stored, func() error { return nil }, nil
	}
	if err != nil {
		return nil, nil, err
	}
	stored.Service = engine.Reader{Log: log}
	return stored, log.Close, nil
}
