package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/project"
)

// settling is how long what is under way in a repository that was moved may take to end.
const settling = 2 * time.Second

// held is a project as the daemon knows it.
type held struct {
	d *Daemon

	changing sync.Mutex // one opens or closes it at a time; taken before the daemon's

	// What follows is guarded by the daemon's mutex.
	p       project.Project
	engine  Engine // nil = closed, or away
	lock    *project.Lock
	uses    int                           // requests under way
	idle    *time.Timer                   // closes it; nil = it is closed
	problem string                        // why it could not be opened; empty = it could
	gone    bool                          // it was when runs were to go on, and these did not
	waiting []pawl.Need                   // for what nobody has handed over
	mended  []pawl.RunID                  // they go on since the project was opened
	last    map[pawl.RunID]pawl.RunStatus // what was told of runs
}

// use opens the project, unless it is open, and says that it is in use until the
// function it returns is called. What another process has is read only. next lists the runs that
// the caller will adopt.
func (h *held) use(ctx context.Context, next ...pawl.RunID) (pawl.Service, func(), error) {
	h.changing.Lock()
	defer h.changing.Unlock()
	leave := h.d.enter()
	engine, p, err := h.begin()
	if err == nil && engine == nil {
		engine, err = h.open(ctx, p, next)
	}
	done := func() { h.leave(); leave() }
	switch {
	case err == nil:
		return engine, done, nil
	case pawl.CodeOf(err) != pawl.CodeConflict:
		done()
		return nil, nil, err
	}
	reader, end, err := h.d.c.Read(ctx, p)
	if err != nil {
		done()
		return nil, nil, err
	}
	return away{reader, h}, func() { _ = end(); done() }, nil
}

// begin counts a use. The engine is nil when the project is not open.
func (h *held) begin() (Engine, project.Project, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	h.uses++
	if h.d.ending {
		return nil, h.p, pawl.Errorf(pawl.CodeUnavailable, "the daemon is just ending").WithHint("try again: a new one is started")
	}
	return h.engine, h.p, nil
}

// leave ends a use. From the last one on, the project's time runs.
func (h *held) leave() {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.uses--; h.uses == 0 && h.idle != nil {
		h.idle.Reset(h.d.c.Idle)
	}
}

// open takes the project and makes its engine. The caller holds changing.
func (h *held) open(ctx context.Context, p project.Project, next []pawl.RunID) (engine Engine, err error) {
	lock, err := p.LockServed(h.d.c.Version, h.d.c.Home.Socket())
	if err != nil {
		return nil, err
	}
	// Opening goes on when whoever asked for it has gone: the next one wants it too.
	engine, err = h.d.c.Open(context.WithoutCancel(ctx), p, h.told, next)
	if err != nil {
		err = errors.Join(err, lock.Release())
		h.fail(err)
		return nil, err
	}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	h.engine, h.lock, h.problem = engine, lock, ""
	h.idle = time.AfterFunc(h.d.c.Idle, h.closeIdle)
	h.d.c.Say("opened %s", p.Repo.Root)
	return engine, nil
}

// fail tells once why the project cannot be opened.
func (h *held) fail(err error) {
	h.d.mu.Lock()
	known := h.problem == err.Error()
	h.problem = err.Error()
	h.d.mu.Unlock()
	if !known {
		h.d.c.Say("%s cannot be opened, the others are served: %v", h.p.Repo.Root, err)
	}
}

// boot lets the project's interrupted runs go on. A process that had the project for
// itself has left its runs as they are to be.
func (h *held) boot(ctx context.Context) {
	if holder, held, err := h.p.Holder(ctx); held || err != nil {
		h.d.c.Say("%s is with process %d: its runs can be read and not steered", h.p.Repo.Root, holder.Pid)
		return
	}
	if last, ok := h.p.LastHolder(); ok && last.Socket != h.d.c.Home.Socket() {
		return
	}
	runs, err := h.interrupted(ctx)
	if err != nil {
		h.fail(err)
	}
	if len(runs) == 0 {
		h.bootAgain(ctx, err)
		return
	}
	if !h.present() {
		h.d.mu.Lock()
		h.gone = true
		h.d.mu.Unlock()
		h.d.c.Say("%s. Interrupted: %d", h.lost(), len(runs))
		return
	}
	_, done, err := h.use(ctx, runs...)
	if err != nil {
		h.bootAgain(ctx, err)
		return // it is told already
	}
	defer done()
	h.adopt(ctx, runs)
}

func (h *held) present() bool {
	h.d.mu.Lock()
	p := h.p
	h.d.mu.Unlock()
	return p.Present()
}

// needed reports whether the project is of use without its repository: runs are at work, or
// would be.
func (h *held) needed() bool {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return h.engine != nil || h.gone
}

// lost says that the repository is gone, and what to do.
func (h *held) lost() string {
	return fmt.Sprintf("%s no longer exists: its runs stay as they are. In its new place, pawl resume continues them; pawl attach --from %s gives them to a copy",
		h.p.Repo.Root, id(h.p))
}

// settle gives the project the place where its repository is now. It reports whether runs may
// have to go on from there, which could not where it was: what is under way there is broken off.
func (h *held) settle(ctx context.Context, p project.Project) bool {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.d.mu.Lock()
	moved := h.engine != nil && h.p.Repo.GitDir != p.Repo.GitDir && !h.p.Present()
	gone := h.gone
	h.gone = false
	h.d.mu.Unlock()
	if moved {
		h.d.c.Say("%s was moved to %s", h.p.Repo.Root, p.Repo.Root)
		short, cancel := context.WithTimeout(ctx, settling)
		h.drain(short)
		cancel()
		if err := h.closeLocked(); err != nil {
			h.d.c.Say("closing %s: %v", h.p.Repo.Root, err)
		}
	}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.engine == nil {
		h.p = p
	}
	return moved || gone
}

// bootAgain boots the project again later if err may have passed by then. It does nothing if
// err is nil.
func (h *held) bootAgain(ctx context.Context, err error) {
	if pawl.CodeOf(err) != pawl.CodeUnavailable {
		return
	}
	time.AfterFunc(h.d.c.Again, func() {
		h.d.mu.Lock()
		ending := h.d.ending
		h.d.mu.Unlock()
		if !ending && ctx.Err() == nil {
			h.boot(ctx)
		}
	})
}

// interrupted are the runs that are at work by the log. Nobody has the project. It tells of
// those that are damaged.
func (h *held) interrupted(ctx context.Context) ([]pawl.RunID, error) {
	s, end, err := h.d.c.Read(ctx, h.p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = end() }()
	runs, err := s.Runs(ctx)
	var out []pawl.RunID
	for _, r := range runs {
		if r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping {
			out = append(out, r.ID)
		}
		if r.Status == pawl.StatusQuarantined {
			h.told(r)
		}
	}
	return out, err
}

// adopt lets runs go on, all at once. Those that need what nobody has handed over wait for it.
func (h *held) adopt(ctx context.Context, runs []pawl.RunID) {
	h.d.mu.Lock()
	engine := h.engine
	if engine != nil { // first, because somebody may resume one at the same moment
		h.mended = append(h.mended, runs...)
	}
	h.d.mu.Unlock()
	if engine == nil {
		return
	}
	var wg sync.WaitGroup
	for _, run := range runs {
		wg.Go(func() {
			err := engine.Adopt(ctx, run)
			if err == nil {
				return
			}
			h.justMended(run)        // it is still interrupted
			if Environ(ctx) == nil { // or it was said before
				h.d.c.Say("run %s of %s stays interrupted: %v", run, h.p.Repo.Root, err)
			}
			if code := pawl.CodeOf(err); code == pawl.CodeUnavailable || code == pawl.CodeKey {
				h.d.mu.Lock()
				defer h.d.mu.Unlock()
				h.waiting = append(h.waiting, pawl.Need{Run: run, What: err.Error()})
			}
		})
	}
	wg.Wait()
}

// takeWaiting are the runs that wait for what nobody had handed over.
func (h *held) takeWaiting() (runs []pawl.RunID) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	for _, n := range h.waiting {
		runs = append(runs, n.Run)
	}
	h.waiting = nil
	return runs
}

// needs says of the runs that wait for what nobody has handed over what that is.
func (h *held) needs(lines []pawl.RunLine) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	for _, n := range h.waiting {
		for i, l := range lines {
			if l.Info.ID == n.Run {
				lines[i] = l.With(func(info *pawl.RunInfo) { info.Needs = n.What })
			}
		}
	}
}

// justMended reports, once, whether a run goes on since the project was opened.
func (h *held) justMended(run pawl.RunID) bool {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	i := slices.Index(h.mended, run)
	if i >= 0 {
		h.mended = slices.Delete(h.mended, i, i+1)
	}
	return i >= 0
}

// told tells people what becomes of a run.
func (h *held) told(r pawl.RunInfo) {
	h.d.mu.Lock()
	before, known := h.last[r.ID]
	h.last[r.ID] = r.Status
	h.waiting = slices.DeleteFunc(h.waiting, func(n pawl.Need) bool { return n.Run == r.ID }) // it goes on
	h.d.mu.Unlock()
	if known && before == r.Status {
		return
	}
	switch r.Status {
	case pawl.StatusEnded:
		h.d.rest.Reset(quiet)
		h.d.c.Say("run %s of %s ended %s: %s", r.ID, h.p.Repo.Root, r.Outcome, r.Reason)
	case pawl.StatusQuarantined:
		h.d.c.Say("run %s of %s is damaged: %s", r.ID, h.p.Repo.Root, r.Reason)
	default:
		h.d.c.Say("run %s of %s is %s", r.ID, h.p.Repo.Root, r.Status)
	}
}

// info is the project's line in a list.
func (h *held) info(ctx context.Context) pawl.ProjectInfo {
	h.d.mu.Lock()
	p, open, problem, needs := h.p, h.engine != nil, h.problem, slices.Clone(h.waiting)
	h.d.mu.Unlock()
	info := pawl.ProjectInfo{ID: id(p), Root: p.Repo.Root, Problem: problem, Needs: needs}
	if open {
		info.Live = h.live(ctx)
	}
	if problem == "" && !p.Present() {
		info.Problem = h.lost()
	}
	if open {
		return info
	}
	holder, away, _ := p.Holder(ctx)
	if info.Closed = !away; away {
		info.Holder = holder.Pid
	}
	return info
}

// live counts the runs that are at work here.
func (h *held) live(ctx context.Context) (n int) {
	h.d.mu.Lock()
	engine := h.engine
	h.d.mu.Unlock()
	if engine == nil {
		return 0
	}
	runs, _ := engine.Runs(ctx) // a log that cannot be read drives nothing either
	for _, r := range runs {
		atWork := r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping
		if atWork && engine.Driven(r.ID) {
			n++
		}
	}
	return n
}

// closeIdle closes the project when nobody uses it and no run is at work.
func (h *held) closeIdle() {
	h.changing.Lock()
	defer h.changing.Unlock()
	live := h.live(context.Background())
	h.d.mu.Lock()
	busy, ending := h.uses > 0, h.d.ending
	if h.idle != nil && !busy && live > 0 {
		h.idle.Reset(h.d.c.Idle)
	}
	h.d.mu.Unlock()
	if busy || ending || live > 0 {
		return
	}
	if err := h.closeLocked(); err != nil {
		h.d.c.Say("closing %s: %v", h.p.Repo.Root, err)
	}
}

func (h *held) drain(ctx context.Context) {
	h.d.mu.Lock()
	engine := h.engine
	h.d.mu.Unlock()
	if engine != nil {
		engine.Drain(ctx)
	}
}

func (h *held) close() error {
	h.changing.Lock()
	defer h.changing.Unlock()
	return h.closeLocked()
}

// closeLocked closes the project when it is open. The caller holds changing.
func (h *held) closeLocked() error {
	h.d.mu.Lock()
	engine, lock, idle := h.engine, h.lock, h.idle
	h.engine, h.lock, h.idle = nil, nil, nil
	h.last = map[pawl.RunID]pawl.RunStatus{}
	h.d.mu.Unlock()
	if engine == nil {
		return nil
	}
	idle.Stop()
	err := errors.Join(engine.Close(), lock.Release())
	h.d.c.Say("closed %s", h.p.Repo.Root)
	return err
}
