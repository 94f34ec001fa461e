package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/cli"
	servecmd "pawl/internal/cli/serve"
	"pawl/internal/client"
	"pawl/internal/daemon"
	"pawl/internal/message"
	"pawl/internal/plain"
	"pawl/internal/project"
	"pawl/internal/recipe"
	"pawl/internal/server"
	"pawl/internal/server/lines"
)

// Limits of the daemon.
const (
	// drainTime is how long what is under way gets to finish when the daemon ends.
	drainTime = 10 * time.Second
	// idleDaemon is how long a daemon that was started on demand stays when nobody asks
	// for anything and no run is at work.
	idleDaemon = 30 * time.Minute
	// mostLog is the size in bytes at which the daemon's log is put aside, as daemon.log.1.
	mostLog = 5 << 20
)

// planRecipe is the recipe of what loop.create_plan begins, unless the daemon is told of
// another one. The method is Loopr's.
const planRecipe = "loopr"

// loopTypes are the types of loops that the built-in recipes have.
func loopTypes() (out []string) {
	for _, name := range recipe.Builtin() {
		r, err := recipe.Load(name)
		if err != nil {
			panic(err) // it is part of the program
		}
		for _, k := range r.Kinds {
			out = append(out, k.Name)
		}
	}
	return out
}

// What a daemon is told by the process that starts it, by the numbers of open files.
const (
	readyFD = "PAWL_DAEMON_READY" // is told what became of it
	keysFD  = "PAWL_DAEMON_KEYS"  // holds what runs were handed, from the daemon before
)

// serving is a daemon at work.
type serving struct {
	app     *cli.App
	o       servecmd.Options
	home    project.Home
	lock    *project.Lock
	machine *machine
	daemon  *daemon.Daemon
	feed    *message.Feed
	say     func(format string, args ...any)
	info    pawl.DaemonInfo

	mu      sync.Mutex // guards program
	program string     // takes this one's place; empty = nothing does
	end     context.CancelCauseFunc
}

// Why a daemon ends.
var (
	errHandover = errors.New("a newer pawl takes over")
	errIdle     = errors.New("nobody needs it")
	errLost     = errors.New("its state folder was removed or replaced")
)

// serveProjects is the daemon: it serves until it is told to end, or nobody needs it.
func serveProjects(ctx context.Context, app *cli.App, o servecmd.Options) error {
	ready, err := inherited(readyFD)
	if err != nil {
		return err
	}
	home := project.HomeAt(app.StateHome)
	if err := home.Make(); err != nil {
		return tell(ready, err)
	}
	lock, err := home.Lock(app.Version)
	if err != nil {
		return tell(ready, second(ctx, home, err))
	}
	s := &serving{app: app, o: o, home: home, lock: lock, info: pawl.DaemonInfo{
		Version: app.Version, Build: build(), PID: os.Getpid(), Started: time.Now().UTC(), Socket: home.Socket(),
	}}
	if err := s.speak(); err != nil {
		return tell(ready, errors.Join(err, lock.Release()))
	}
	program, err := s.run(ctx, func() { _ = tell(ready, nil) })
	if err != nil || program == "" {
		err = errors.Join(err, lock.Release())
		_ = tell(ready, err) // it may not have come so far
		return err
	}
	// The lock is let go by becoming the other program, and says until then who comes back.
	return errors.Join(s.become(program), lock.Release())
}

// second is the error of a daemon that is not the first.
func second(ctx context.Context, home project.Home, err error) error {
	h, held, herr := home.Holder(ctx)
	if pawl.CodeOf(err) != pawl.CodeConflict || herr != nil || !held {
		return err
	}
	return pawl.Errorf(pawl.CodeConflict, "process %d serves the projects already: pawl %s, since %s, at %s",
		h.Pid, h.Version, h.Started.Local().Format(time.DateTime), h.Socket).WithHint("pawl serve status tells more, pawl serve stop ends it")
}

// speak decides where the daemon tells what it does.
func (s *serving) speak() error {
	out := s.app.Out
	if s.o.Background {
		log, err := openRotated(s.home.Log(), mostLog)
		if err != nil {
			return err
		}
		out = log
	}
	var mu sync.Mutex
	s.say = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		line := plain.Line(s.redact(fmt.Sprintf(format, args...)), 0)
		_, _ = fmt.Fprintf(out, "%s %s\n", time.Now().Format(s.stamp()), line)
	}
	return nil
}

// stamp is how times are written: a log is read on other days.
func (s *serving) stamp() string {
	if s.o.Background {
		return time.DateTime
	}
	return time.TimeOnly
}

func (s *serving) redact(line string) string {
	if s.machine == nil {
		return line
	}
	return string(s.machine.environs.redact([]byte(line)))
}

// run serves until it is told to end. It returns the program that takes its place;
// empty when none does. Nothing of it is under way then, and no project is locked.
func (s *serving) run(ctx context.Context, ready func()) (program string, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.end = end
	if s.app.Interrupts != nil { // further ones do not hurry it: it ends in time
		signals, stop := s.app.Interrupts()
		defer stop()
		go func() {
			select {
			case <-signals:
				end(context.Canceled)
			case <-ctx.Done():
			}
		}()
	}
	s.assemble(ctx)
	served := make(chan error, 1)
	serveCtx, stopServing := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopServing(nil)
	go func() {
		err := server.ServeDaemon(serveCtx, s.home.Socket(), s.serves(), func() {
			s.say("pawl %s serves as process %d at %s", s.app.Version, os.Getpid(), s.home.Socket())
			ready()
		})
		err = project.Unwritable(err)
		end(err)
		served <- err
	}()
	go func() {
		s.boot(ctx) // Idle must know which runs the daemon continues
		if s.o.OnDemand && s.daemon.Idle(ctx, cmp.Or(s.o.Idle, idleDaemon)) == nil {
			end(errIdle)
		}
	}()
	go s.watchLock(ctx)
	<-ctx.Done()
	err = s.finish(context.Cause(ctx), stopServing)
	err = errors.Join(err, <-served)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.program, err
}

// assemble makes the machine, the daemon and the feed. Nothing is served yet.
func (s *serving) assemble(ctx context.Context) {
	s.machine = newMachine(ctx, s.app)
	if err := s.inherit(); err != nil {
		s.say("the environments of the runs are lost: %v", err)
	}
	s.daemon = daemon.New(daemon.Config{
		Home: s.home, Version: s.app.Version, Say: s.say, Idle: s.o.IdleProject,
		Find: func(ctx context.Context, dir string) (project.Project, error) {
			repo, err := s.machine.locator.find(ctx, dir)
			if e, ok := errors.AsType[*pawl.Error](err); ok {
				return project.Project{}, e.WithField("dir")
			}
			if err != nil {
				return project.Project{}, err
			}
			return project.At(s.app.StateHome, repo)
		},
		Open: func(ctx context.Context, p project.Project, told func(pawl.RunInfo), next []pawl.RunID) (daemon.Engine, error) {
			o, err := s.machine.open(ctx, p, func(r pawl.RunInfo) {
				told(r)
				s.feed.Notify(filepath.Base(p.Dir), r.ID)
			}, next)
			if err != nil {
				return nil, err
			}
			return o, nil
		},
		Read: func(_ context.Context, p project.Project) (pawl.Service, func() error, error) {
			return openStored(p, true, func() int64 { return s.machine.cache })
		},
		Rest: rest,
		Load: func(context.Context) (pawl.Load, error) { return s.machine.governor.Load(), nil },
	})
	s.feed = message.NewFeed(s.daemon)
}

// lockInterval is how often a daemon looks whether its lock is still where others look for it.
const lockInterval = 2 * time.Second

// watchLock ends a daemon whose state folder is gone: nobody could reach it any more, and
// another one could begin.
func (s *serving) watchLock(ctx context.Context) {
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.lock.Lost() {
				s.end(errLost)
				return
			}
		}
	}
}

// bootGarbage is how much garbage there may be, in percent of what is in use, until the
// runs go on that were interrupted: folding their logs makes much that is soon garbage.
const bootGarbage = 500

// boot lets interrupted runs go on.
func (s *serving) boot(ctx context.Context) {
	before := debug.SetGCPercent(bootGarbage)
	s.daemon.Boot(ctx)
	debug.SetGCPercent(before)
}

// serves is what the sockets offer.
func (s *serving) serves() server.Daemon {
	return server.Daemon{
		Projects: s.daemon, Around: daemon.Equipped, Feed: s.feed,
		Lines: func(ctx context.Context, conn net.Conn) {
			lines.Serve(ctx, conn, lines.Config{Projects: s.daemon, Feed: s.feed, Version: s.app.Version, PlanRecipe: cmp.Or(s.o.PlanRecipe, planRecipe), Types: loopTypes(), Equip: daemon.WithEnviron})
		},
		About: func() pawl.DaemonInfo { return s.info },
		Handover: func(ctx context.Context) error {
			return s.makeRoom(daemon.Program(ctx))
		},
		Log: slog.New(slog.NewTextHandler(sayer{s.say}, nil)),
		TCP: s.o.Listen, Token: filepath.Join(s.home.Dir, "daemon.token"),
	}
}

// makeRoom lets another program take this one's place.
func (s *serving) makeRoom(program string) error {
	info, err := os.Stat(program)
	if err != nil || !filepath.IsAbs(program) || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return pawl.Errorf(pawl.CodeInvalid, "%.200q is not a pawl binary that can take over the daemon", program)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.program == "" {
		s.program = program
		s.end(errHandover)
	}
	return nil
}

// finish ends what is under way: it has [drainTime] to come to its own end.
func (s *serving) finish(why error, stopServing context.CancelCauseFunc) error {
	live := s.daemon.Live(context.Background())
	var toWatchers error // nil = another daemon takes this one's place
	switch {
	case errors.Is(why, errHandover):
		s.say("ending: %v", why)
	case errors.Is(why, errIdle):
		s.say("ending: %v", why)
		toWatchers = pawl.Errorf(pawl.CodeStopped, "the daemon has stopped: nobody needed it")
	case errors.Is(why, errLost):
		s.say("ending: %v", why)
		toWatchers = pawl.Errorf(pawl.CodeStopped, "the daemon has stopped: %w", errLost)
	case errors.Is(why, context.Canceled):
		s.say("ending: it was told to")
		toWatchers = pawl.Errorf(pawl.CodeStopped, "the daemon was stopped: calls and commands in progress have %s to finish, the rest continues in the next daemon", drainTime).
			WithHint("pawl resume RUN continues a run that was interrupted")
	default:
		s.say("ending: %v", why)
	}
	if live > 0 {
		s.say("%d active: calls and commands in progress have %s to finish, the rest counts as interrupted", live, drainTime)
	}
	grace, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	stopServing(toWatchers)
	err := s.daemon.End(grace)
	if grace.Err() != nil {
		s.say("what did not finish in %s was ended", drainTime)
	}
	s.say("ended")
	if err != nil {
		s.say("%v", err)
	}
	return err
}

// become replaces this program by another one, which finds what runs were handed.
func (s *serving) become(program string) error {
	env := os.Environ()
	if keys, err := s.machine.environs.leave(); err != nil {
		s.say("the environments of the runs are not passed to the next daemon: %v", err)
	} else {
		env = append(env, keysFD+"="+strconv.Itoa(keys))
	}
	s.say("continuing as %s", program)
	err := replaceProgram(program, append([]string{program}, s.o.Args()...), env)
	return fmt.Errorf("become %s: %w", program, err)
}

// inherit takes what runs were handed in the daemon before.
func (s *serving) inherit() error {
	f, err := inherited(keysFD)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	return s.machine.environs.take(f)
}

// inherited is an open file that this process was given by number in a variable; nil
// when it was given none. The variable is not passed on.
func inherited(variable string) (*os.File, error) {
	text := os.Getenv(variable)
	if text == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	if err := os.Unsetenv(variable); err != nil {
		return nil, fmt.Errorf("forget %s: %w", variable, err)
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 3 {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s=%q: want the number of an open file", variable, text)
	}
	return openFile(fd, variable), nil
}

// tell says to whoever started the daemon what became of it, once.
func tell(ready *os.File, err error) error {
	if ready == nil {
		return err
	}
	said := "ready\n"
	if err != nil {
		said = string(pawl.CodeOf(err)) + " " + plain.Line(err.Error(), 0) + "\n"
	}
	_, _ = io.WriteString(ready, said)
	_ = ready.Close()
	return err
}

// startDaemon starts a daemon of a program in the background and returns when it is
// ready. That another one was faster is no error.
func startDaemon(ctx context.Context, app *cli.App, home project.Home, program string, o servecmd.Options) error {
	o.Background = true
	said, ready, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer said.Close()
	log, err := os.OpenFile(home.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(project.Unwritable(fmt.Errorf("open the daemon's log: %w", err)), ready.Close())
	}
	defer log.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, o.Args()...)
	cmd.Dir = "/" // it keeps no folder of anybody's busy
	env := app.Environ
	if o.OnDemand { // it outlives a shell that did not mean to lend it anything
		env = withoutKeys(app)
	}
	cmd.Env = append(slices.Clone(env), "XDG_STATE_HOME="+app.StateHome, readyFD+"=3")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{ready}
	cmd.SysProcAttr = detached()
	err = cmd.Start()
	_ = ready.Close()
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	go func() { _ = cmd.Wait() }() // it may end before this process does
	stop := context.AfterFunc(ctx, func() { _ = said.Close() })
	defer stop()
	line, err := io.ReadAll(io.LimitReader(said, 4<<10))
	text := strings.TrimSpace(string(line))
	switch code, why, _ := strings.Cut(text, " "); {
	case ctx.Err() != nil:
		return ctx.Err()
	case text == "ready", pawl.Code(code) == pawl.CodeConflict:
		return nil
	case text == "":
		return pawl.Errorf(pawl.CodeUnavailable, "the daemon ended before it was ready (%v)", cmp.Or(err, io.EOF)).
			WithHint("%s says why; pawl … --local works without a daemon", home.Log())
	default:
		return pawl.Errorf(pawl.Code(code), "start the daemon: %s", why).WithHint("%s may say more; pawl … --local works without a daemon", home.Log())
	}
}

// sayer lets a log tell people what it has to say.
type sayer struct{ say func(string, ...any) }

// Write implements [io.Writer].
func (s sayer) Write(line []byte) (int, error) {
	s.say("%s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// rotated is a log file that is put aside when it has become large.
type rotated struct {
	name string
	most int64
	file *os.File
	size int64
}

func openRotated(name string, most int64) (*rotated, error) {
	r := &rotated{name: name, most: most}
	return r, r.open()
}

func (r *rotated) open() error {
	f, err := os.OpenFile(r.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return project.Unwritable(fmt.Errorf("open the daemon's log: %w", err))
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the daemon's log: %w", err), f.Close())
	}
	r.file, r.size = f, info.Size()
	// What the runtime says when it dies belongs there too.
	return captureOutput(f)
}

// Write implements [io.Writer]. A line is never torn.
func (r *rotated) Write(line []byte) (int, error) {
	if r.size > 0 && r.size+int64(len(line)) > r.most {
		_ = os.Rename(r.name, r.name+".1") // or it goes on growing
		old := r.file
		if err := r.open(); err == nil {
			_ = old.Close()
		} else {
			r.file = old
		}
	}
	n, err := r.file.Write(line)
	r.size += int64(n)
	return n, err
}

// startBackground starts a daemon that the user asked for: it stays.
func startBackground(ctx context.Context, app *cli.App, o servecmd.Options) error {
	home := project.HomeAt(app.StateHome)
	if err := home.Make(); err != nil {
		return err
	}
	if _, held, err := home.Holder(ctx); err == nil && held {
		return second(ctx, home, pawl.Errorf(pawl.CodeConflict, "a daemon runs already"))
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return startDaemon(ctx, app, home, program, o)
}

// daemonStatus says what the daemon does; nil when there is none.
func daemonStatus(ctx context.Context, app *cli.App) (*servecmd.Status, error) {
	d, info, err := reachDaemon(ctx, app, false)
	if err != nil || d == nil {
		return nil, err
	}
	defer d.Close()
	projects, err := d.Projects(ctx)
	if err != nil {
		return nil, err
	}
	return &servecmd.Status{DaemonInfo: info, Log: project.HomeAt(app.StateHome).Log(), Projects: projects}, nil
}

// stopDaemon ends the daemon and waits until it has ended. It returns the process that
// was ended; zero when there was none.
func stopDaemon(ctx context.Context, app *cli.App) (int, error) {
	home := project.HomeAt(app.StateHome)
	if err := home.Check(); err != nil {
		return 0, err // its lock file could name any process
	}
	holder, held, err := home.Holder(ctx)
	if err != nil || !held {
		return 0, err
	}
	if err := terminate(holder.Pid); err != nil {
		return 0, pawl.Errorf(pawl.CodeUnavailable, "end process %d: %w", holder.Pid, err)
	}
	for until, wait := time.Now().Add(changing), 5*time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		now, held, err := home.Holder(ctx)
		if err == nil && (!held || now.Pid != holder.Pid) {
			return holder.Pid, nil
		}
		if time.Now().After(until) {
			return 0, pawl.Errorf(pawl.CodeUnavailable, "process %d has not ended in %s", holder.Pid, changing).
				WithHint("%s says what it does; kill -9 %d ends it, and its runs continue in the next one", home.Log(), holder.Pid)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// projects reaches all projects of the user: the daemon's, or the one at the app's
// folder alone.
func projects(ctx context.Context, app *cli.App) (pawl.Projects, func() error, error) {
	if !app.Local {
		d, _, err := reachDaemon(ctx, app, true)
		if err != nil {
			return nil, nil, err
		}
		return d, func() error { d.Close(); return nil }, nil
	}
	s, err := open(ctx, app, cli.Steer)
	if err != nil {
		return nil, nil, err
	}
	return alone{s}, s.Close, nil
}

// rejoin reaches all projects again after the daemon was lost.
func rejoin(ctx context.Context, app *cli.App) (pawl.Projects, func() error, error) {
	home := project.HomeAt(app.StateHome)
	_, held, err := home.Holder(ctx)
	_, left := home.LastHolder()
	switch {
	case app.Local, err == nil && !held && left:
		return projects(ctx, app)
	case err == nil && !held:
		return nil, nil, daemonStopped()
	}
	d, _, err := reachDaemon(ctx, app, false)
	if err == nil && d == nil {
		err = pawl.Errorf(pawl.CodeUnavailable, "the daemon has just ended")
	}
	if err != nil {
		return nil, nil, err
	}
	return d, func() error { d.Close(); return nil }, nil
}

var _ pawl.Projects = (*client.Daemon)(nil)

// alone is one project, where there is no daemon.
type alone struct{ s *cli.Session }

func (a alone) id() string { return filepath.Base(a.s.Project.Dir) }

// Open implements [pawl.Projects].
func (a alone) Open(ctx context.Context, _ string) (pawl.ProjectInfo, error) {
	all, err := a.Projects(ctx)
	if err != nil {
		return pawl.ProjectInfo{}, err
	}
	return all[0], nil
}

// Projects implements [pawl.Projects].
func (a alone) Projects(ctx context.Context) ([]pawl.ProjectInfo, error) {
	runs, err := a.s.Runs(ctx)
	info := pawl.ProjectInfo{ID: a.id(), Root: a.s.Project.Repo.Root}
	for _, r := range runs {
		if r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping {
			info.Live++
		}
	}
	return []pawl.ProjectInfo{info}, err
}

// Project implements [pawl.Projects].
func (a alone) Project(_ context.Context, id string) (pawl.Service, error) {
	if id != a.id() {
		return nil, pawl.Errorf(pawl.CodeNotFound, "there is no project %.40q without a daemon", id)
	}
	return a.s, nil
}

// Load implements [pawl.Projects].
func (a alone) Load(context.Context) (pawl.Load, error) {
	if a.s.Load == nil {
		return pawl.Load{}, pawl.Errorf(pawl.CodeUnavailable, "another process has the project").WithHint("look without --local")
	}
	return a.s.Load(), nil
}
