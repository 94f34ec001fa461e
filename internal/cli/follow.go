package cli

import (
	"context"
	"errors"
	"iter"
	"os"
	"time"

	"pawl"
	"pawl/internal/view"
)

// FollowOptions say how a run is followed.
type FollowOptions struct {
	// From is the run as far as the user has seen it; nil shows it from its first event.
	From *view.Run
	// Least leaves out the lines of events below it; Clock puts the time before each line.
	Least view.Level
	Clock bool
	// Transcript shows what was said and done in sessions; nil shows a line for each.
	Transcript *view.TranscriptOptions
	// Rest ends following when the run is paused and nothing of it is under way.
	Rest bool
	// Show is called for each event, after r has had it applied, instead of
	// showing the run's log and what is being said. With JSON the default prints
	// the event.
	Show func(e pawl.Event, r *view.Run) error

	typed *typing // what the person types meanwhile; nil until it is asked for
}

// Follow shows a run until it is at rest and returns it as it then is. While
// this process drives the run, a first Ctrl-C pauses what it drives, so that
// what is under way finishes, and a second leaves at once; while another does,
// Ctrl-C only stops following. Each says so, and how to go on. When the process
// that drives the run goes away, s is put in order to read what there is; that the
// daemon died is said at once, and that it was stopped is an error with
// [pawl.CodeStopped].
func (a *App) Follow(ctx context.Context, s *Session, run pawl.RunID, o FollowOptions) (*view.Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := newFollower(ctx, a, s, run, o)
	signals, stop := a.interrupts()
	defer stop()
	err := f.through(ctx, signals)
	if cerr := f.progress.Close(); err == nil {
		err = cerr
	}
	if e, ok := errors.AsType[*pawl.Error](err); ok && e.Code == pawl.CodeStopped {
		err = e.WithHint("pawl resume %s continues the run", run)
	}
	return f.progress.Run(), err
}

// FollowOn is Follow for who only looks on. When the daemon died, it waits for another
// one to take the run over, and follows it there.
func (a *App) FollowOn(ctx context.Context, s *Session, run pawl.RunID, o FollowOptions) error {
	for {
		in := a.daemonOf(ctx, s)
		r, err := a.Follow(ctx, s, run, o)
		if err != nil {
			return err
		}
		if a.Local && !s.Remote && !s.Owner && unfinished(r) {
			a.Notef("run %s is only read here, without the daemon that may drive it: leave out --local to follow it", run)
		}
		if in.Pid == 0 || s.Daemon || !unfinished(r) {
			if found, err := a.adopted(ctx, s, run, r); err != nil || !found {
				return errors.Join(err, a.WarnLost(ctx, s, run))
			}
			o.From = r
			continue
		}
		if a.ended(ctx, in) {
			return stoppedWith(run)
		}
		a.Notef("run %s is interrupted until another daemon takes it over: pawl resume %s starts one", run, run)
		if found, err := a.rejoin(ctx, s, run); err != nil {
			return err
		} else if !found {
			return a.WarnLost(ctx, s, run)
		}
		a.Notef("another daemon has taken run %s over", run)
		o.From = r
	}
}

// unfinished reports whether a run is to be driven by some process.
func unfinished(r *view.Run) bool {
	return r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping
}

func (a *App) interrupts() (<-chan os.Signal, func()) {
	if a.Interrupts == nil {
		return nil, func() {}
	}
	return a.Interrupts()
}

type follower struct {
	app      *App
	s        *Session
	run      pawl.RunID
	progress *view.Progress
	live     bool // the progress redraws lines
	showing  func(e pawl.Event, r *view.Run) error
	rest     bool // at rest is enough, it need not end
	stopping bool // the user has asked for it
	asking   *asking
}

func newFollower(ctx context.Context, a *App, s *Session, run pawl.RunID, o FollowOptions) *follower {
	f := &follower{app: a, s: s, run: run, rest: o.Rest, showing: o.Show, asking: newAsking(a, o)}
	blobs := func(h pawl.Hash) ([]byte, error) { return f.s.Blob(ctx, run, h) }
	if f.showing == nil && a.JSON {
		f.showing = func(e pawl.Event, r *view.Run) error { return a.EncodeEvent(e, r, blobs) }
	}
	live, color := a.Screen()
	f.live = live && f.showing == nil
	from := o.From
	if from == nil {
		from = view.New()
	}
	f.progress = view.NewProgress(from, view.ProgressOptions{
		Out: a.Out, Live: f.live, Color: color, Width: a.Width, Height: a.Rows, Least: o.Least, Clock: o.Clock, Transcript: o.Transcript,
		Blobs: blobs, Documents: LiveDocuments(blobs),
	})
	return f
}

type update struct {
	pawl.Update
	err error
}

// pump reads a sequence into a channel, which is closed at its end.
func pump(ctx context.Context, in iter.Seq2[pawl.Update, error]) <-chan update {
	out := make(chan update)
	go func() {
		defer close(out)
		for u, err := range in {
			select {
			case out <- update{u, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// errDetached ends following without ending the run.
var errDetached = Exit(ExitInterrupted)

// loop shows what comes after what is known, until the run is at rest.
func (f *follower) loop(ctx context.Context, signals <-chan os.Signal) error {
	if f.atRest() {
		return nil
	}
	updates := pump(ctx, f.s.Watch(ctx, f.run, f.progress.Run().Seq))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := f.askInPlace(ctx); err != nil {
			return err
		}
		var err error
		select {
		case u, ok := <-updates:
			if !ok {
				return nil
			}
			if err = u.err; err == nil {
				err = f.show(u.Update)
			}
		case now := <-tick.C:
			if f.live && !f.asking.open() {
				err = f.progress.Tick(now)
			}
		case line, ok := <-f.asking.lines():
			f.asking.typed.over = !ok
			err = f.answer(ctx, line)
		case <-signals:
			err = f.interrupted(ctx)
		}
		if err != nil || f.atRest() {
			return err
		}
	}
}

func (f *follower) show(u pawl.Update) error {
	if f.showing == nil {
		return f.progress.Write(u)
	}
	if u.Live != nil && u.Live.Waiting != nil {
		if text := f.progress.Run().Hear(u.Live.Waiting); text != "" && f.app.JSON {
			f.app.Notef("%s", text) // what is printed as JSON are events alone
		}
	}
	if u.Event == nil {
		return nil
	}
	f.progress.Run().Apply(*u.Event)
	return f.showing(*u.Event, f.progress.Run())
}

// atRest reports whether nothing of the run is under way and nothing more is
// waited for.
func (f *follower) atRest() bool {
	r := f.progress.Run()
	return f.rest && r.Status == pawl.StatusPaused && r.UnderWay() == 0
}

// through follows the run to its rest, also when the process that drives it
// goes away on the way: what it wrote last is in the store, and another process
// may have taken its place. While it is going it may still answer.
func (f *follower) through(ctx context.Context, signals <-chan os.Signal) error {
	err := f.loop(ctx, signals)
	if f.s.Daemon && f.left(err) && err != nil {
		f.note("%v", err)
	}
	for wait := 10 * time.Millisecond; f.left(err) && wait < time.Second; wait *= 2 {
		if f.app.reopen(ctx, f.s) != nil {
			return err
		}
		if err = f.loop(ctx, signals); !f.left(err) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// left reports whether following ended because the other end has gone, or is
// just going: it then fails in its own ways.
func (f *follower) left(err error) bool {
	if !f.s.Remote {
		return false
	}
	if err != nil {
		e, theirs := errors.AsType[*pawl.Error](err)
		return theirs && (e.Code == pawl.CodeUnavailable || e.Code == pawl.CodeInternal)
	}
	return f.progress.Run().Status != pawl.StatusEnded && !f.atRest()
}

// reopen puts a session in order to read what there is.
func (a *App) reopen(ctx context.Context, s *Session) error {
	again, err := a.Open(ctx, Read)
	if err != nil {
		return err
	}
	_ = s.Close()
	*s = *again
	return nil
}

// refresh reopens a session whose other end has gone.
func (a *App) refresh(ctx context.Context, s *Session) error {
	if !s.Remote {
		return nil
	}
	if _, err := s.Runs(ctx); err == nil || pawl.CodeOf(err) != pawl.CodeUnavailable {
		return err
	}
	return a.reopen(ctx, s)
}

func (f *follower) interrupted(ctx context.Context) error {
	if !f.s.Owner {
		where := "another process"
		if f.s.Daemon {
			where = "the daemon"
		}
		f.note("left run %s, which continues in %s. Follow it again: pawl logs -f %s. Stop it: pawl cancel %s", f.run, where, f.run, f.run)
		return errDetached
	}
	if f.stopping {
		f.note("left at once. Calls and commands in progress count as interrupted. Continue: pawl resume %s", f.run)
		if f.app.Leave != nil {
			f.app.Leave(ExitInterrupted)
		}
		return errDetached
	}
	f.stopping, f.rest = true, true
	f.note("stopping run %s: calls and commands in progress finish first. Ctrl-C again leaves at once. Continue later: pawl resume %s", f.run, f.run)
	return f.pauseAll(ctx)
}

// pauseAll pauses every run this process drives. One that is paused or ending
// already stays so.
func (f *follower) pauseAll(ctx context.Context) error {
	runs, err := f.s.Runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if !f.s.Driven(r.ID) {
			continue
		}
		err := f.s.Steer(ctx, r.ID, pawl.Steering{Verb: pawl.SteerPause, Reason: "Ctrl-C"})
		if err != nil && pawl.CodeOf(err) != pawl.CodeState {
			return err
		}
	}
	return nil
}

// note says something to the user without tearing what is drawn.
func (f *follower) note(format string, args ...any) {
	if f.live {
		if f.progress.Note(noteText(format, args...)) == nil {
			return
		}
	}
	f.app.Notef(format, args...)
}
