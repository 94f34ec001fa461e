package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/cli"
	servecmd "pawl/internal/cli/serve"
	"pawl/internal/client"
	"pawl/internal/daemon"
	"pawl/internal/project"
)

// How long clients wait for daemons.
const (
	// changing is how long one may take to go and another one to come: what is under
	// way gets [drainTime] to finish.
	changing = drainTime + 5*time.Second
	// replacing is how long the place of a daemon is kept for the one that replaces it.
	replacing = 3 * time.Second
	// glance is how long a daemon may take to say who it is.
	glance = 2 * time.Second
)

// openInDaemon makes a session with the daemon, for a project that nobody has yet.
func openInDaemon(ctx context.Context, app *cli.App, p project.Project) (*cli.Session, error) {
	d, _, err := reachDaemon(ctx, app, true)
	if err != nil {
		return nil, err
	}
	info, err := d.Open(ctx, p.Repo.Root)
	if err == nil && info.Holder != 0 {
		err = pawl.Errorf(pawl.CodeConflict, "process %d has just taken this project", info.Holder) // which is then asked itself
	}
	if err != nil {
		d.Close()
		return nil, going(err)
	}
	return sessionIn(ctx, d, p)
}

// joinDaemon makes a session with the daemon that has the project. One that does not
// answer may be just ending; what it has stored can be read all the same.
func joinDaemon(ctx context.Context, app *cli.App, p project.Project, holder project.Holder, access cli.Access) (*cli.Session, error) {
	if access != cli.Read {
		return openInDaemon(ctx, app, p)
	}
	d, _, err := reachDaemon(ctx, app, false)
	if err == nil && d != nil {
		var s *cli.Session
		if s, err = sessionIn(ctx, d, p); err == nil {
			return s, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if pawl.CodeOf(err) == pawl.CodeUnavailable || err == nil {
		return openReadOnly(app, p, true)
	}
	return nil, fmt.Errorf("the daemon, process %d, has this project: %w", holder.Pid, err)
}

func sessionIn(ctx context.Context, d *client.Daemon, p project.Project) (*cli.Session, error) {
	s, err := d.Project(ctx, filepath.Base(p.Dir))
	if err != nil {
		d.Close()
		return nil, going(err)
	}
	return &cli.Session{Service: s, Project: p, Remote: true, Daemon: true,
		Close: func() error { d.Close(); return nil }}, nil
}

// going is the error of a daemon that is just ending: another one may be asked.
func going(err error) error {
	if pawl.CodeOf(err) != pawl.CodeUnavailable {
		return err
	}
	if e, ok := errors.AsType[*pawl.Error](err); ok && e.Hint != "" {
		return pawl.Errorf(pawl.CodeUnavailable, "%w (%w)", err, errNoAnswer).WithHint("%s", e.Hint)
	}
	return pawl.Errorf(pawl.CodeUnavailable, "%w (%w)", err, errNoAnswer)
}

// reachDaemon reaches the daemon. Where none runs, one is started when it is to be,
// else there is none. An older one is asked to make room for one of this program.
func reachDaemon(ctx context.Context, app *cli.App, start bool) (*client.Daemon, pawl.DaemonInfo, error) {
	home := project.HomeAt(app.StateHome)
	if err := home.Make(); err != nil {
		return nil, pawl.DaemonInfo{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, pawl.DaemonInfo{}, fmt.Errorf("find this program: %w", err)
	}
	header, err := handed(app, program)
	if err != nil {
		return nil, pawl.DaemonInfo{}, err
	}
	r := reaching{ctx: ctx, app: app, home: home, program: program, header: header, start: start, until: time.Now().Add(changing)}
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		d, info, err := r.once()
		if d != nil || err != nil || r.done {
			return d, info, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, info, ctx.Err()
		}
	}
}

// handed is what goes with every request to a process that has projects; program is the one that
// could take the place of a daemon.
func handed(app *cli.App, program string) (http.Header, error) {
	text, err := daemon.EncodeEnviron(handing(app))
	if err != nil {
		return nil, err
	}
	header := http.Header{daemon.EnvironHeader: {text}}
	if program != "" {
		header.Set(daemon.ProgramHeader, program)
	}
	return header, nil
}

// reaching is an attempt to reach the daemon.
type reaching struct {
	ctx     context.Context
	app     *cli.App
	home    project.Home
	program string
	header  http.Header
	start   bool // one is to be started where none runs
	until   time.Time

	done   bool // there is none, and none is to be started
	asked  bool // it was asked to make room
	absent absence
}

// absence measures for how long there has been no daemon. Its zero value is ready for use.
type absence struct {
	mu    sync.Mutex
	since time.Time
	asked time.Time // when [absence.replaces] was last asked
}

// ends records that there is a daemon.
func (a *absence) ends() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since = time.Time{}
}

// replaces reports whether the last daemon may still be about to become another program, in the same process.
// It has [replacing] for that, counted from the first call: until its work has ended it holds the lock, and there
// is no absence.
func (a *absence) replaces(last project.Holder) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if a.since.IsZero() || now.Sub(a.asked) > replacing { // callers ask again and again, so there was one meanwhile
		a.since = now
	}
	a.asked = now
	return alive(last.Pid) && now.Sub(a.since) < replacing
}

// once looks once. Neither a daemon nor an error means that it is to be looked again.
func (r *reaching) once() (*client.Daemon, pawl.DaemonInfo, error) {
	holder, held, err := r.home.Holder(r.ctx)
	switch {
	case err != nil && pawl.CodeOf(err) != pawl.CodeConflict:
		return nil, pawl.DaemonInfo{}, err
	case err == nil && held:
		return r.greet(holder)
	case !r.start:
		r.done = true
		return nil, pawl.DaemonInfo{}, nil
	}
	if last, ok := r.home.LastHolder(); ok && r.absent.replaces(last) {
		return nil, pawl.DaemonInfo{}, r.late(fmt.Sprintf("process %d released its lock to restart, and has not come back", last.Pid))
	}
	r.absent.ends()
	if err := startDaemon(r.ctx, r.app, r.home, r.program, servecmd.Options{OnDemand: true}); err != nil {
		return nil, pawl.DaemonInfo{}, err
	}
	return nil, pawl.DaemonInfo{}, r.late("it was started and does not answer")
}

// greet asks the daemon who it is.
func (r *reaching) greet(holder project.Holder) (*client.Daemon, pawl.DaemonInfo, error) {
	r.absent.ends()
	if err := project.CheckSocket(holder.Socket); err != nil {
		return nil, pawl.DaemonInfo{}, err
	}
	d := client.NewDaemon(holder.Socket)
	d.Send(r.header)
	var absent absence
	d.Gone = func(ctx context.Context) error { return daemonGone(ctx, r.home, &absent) }
	short, cancel := context.WithTimeout(r.ctx, glance)
	defer cancel()
	info, err := d.About(short)
	switch {
	case r.ctx.Err() != nil:
		err = r.ctx.Err()
	case err != nil && pawl.CodeOf(err) != pawl.CodeUnavailable && short.Err() == nil:
	case err != nil && !r.start:
		err = pawl.Errorf(pawl.CodeUnavailable, "the daemon, process %d, does not answer: %w", holder.Pid, err)
	case err != nil: // it comes or goes
		err = r.late(fmt.Sprintf("process %d does not answer", holder.Pid))
	case r.start && newer(r.app.Version, build(), info):
		if !r.asked {
			r.app.Notef("pawl %s takes over from the daemon, which is pawl %s", r.app.Version, info.Version)
			r.asked = true
			err = d.Handover(r.ctx)
		}
		if err == nil || pawl.CodeOf(err) == pawl.CodeUnavailable {
			err = r.late(fmt.Sprintf("process %d, pawl %s, does not make room", info.PID, info.Version))
		}
	default:
		return d, info, nil
	}
	d.Close()
	return nil, info, err
}

// daemonGone says what became of the daemon that a stream was cut off from; nil while
// one is there, or is about to come.
func daemonGone(ctx context.Context, home project.Home, absent *absence) error {
	last, left := home.LastHolder() // before the lock: one that begins has it while it writes its name
	if _, held, err := home.Holder(ctx); held || err != nil {
		absent.ends()
		return ctx.Err() // it makes room, or another one has begun
	}
	switch {
	case !left:
		return daemonStopped()
	case absent.replaces(last):
		return nil
	}
	return pawl.Errorf(pawl.CodeUnavailable, "the daemon, process %d, died", last.Pid).
		WithHint("what it drove continues in the next one: pawl serve --background")
}

// daemonStopped is the error of a daemon that ended in order.
func daemonStopped() error {
	return pawl.Errorf(pawl.CodeStopped, "the daemon was stopped; what it drove continues in the next one").
		WithHint("pawl serve --background starts one, and so does pawl resume RUN")
}

// late is the error of a daemon that was waited for long enough; nil while there is time.
func (r *reaching) late(why string) error {
	if time.Now().Before(r.until) {
		return nil
	}
	return pawl.Errorf(pawl.CodeUnavailable, "there is no daemon: %s", why).
		WithHint("%s tells what it does; pawl … --local works without one", r.home.Log())
}

// newer reports whether this program is newer than a daemon: by version where both are
// releases, else by when they were built. An older program uses a newer daemon.
func newer(version, build string, d pawl.DaemonInfo) bool {
	mine, ok := release(version)
	theirs, both := release(d.Version)
	if ok && both {
		for i := range mine {
			if mine[i] != theirs[i] {
				return mine[i] > theirs[i]
			}
		}
		return false
	}
	return build != "" && d.Build != "" && build > d.Build
}

// release are the numbers of a version that is one: v1.2.3.
func release(version string) (n [3]int, ok bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) != len(n) {
		return n, false
	}
	for i, p := range parts {
		var err error
		if n[i], err = strconv.Atoi(p); err != nil || n[i] < 0 {
			return n, false
		}
	}
	return n, true
}

// build is when this program was built, in a form that can be compared as a text;
// empty when nobody knows.
func build() string {
	info, err := os.Stat("/proc/self/exe") // the running program, also after another one took its place
	if err != nil {
		return ""
	}
	return info.ModTime().UTC().Format("2006-01-02T15:04:05.000Z")
}
