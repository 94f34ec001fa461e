package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"pawl"
	"pawl/internal/view"
)

// FollowOptions say how a run is followed.
type FollowOptions struct {
	After pawl.Seq
	Least view.Level
	Clock bool
	// Interrupts brings the user's Ctrl-C; nil leaves them to the process.
	Interrupts <-chan os.Signal
	// Leave ends the process at once; it is called at the second Ctrl-C of an owner.
	Leave func(code int)
}

// Follow shows a run until it is at rest and returns it as it then is. While
// this process drives the run, a first Ctrl-C pauses it, so that what is under
// way finishes, and a second leaves at once; while another does, Ctrl-C only
// stops following. Each says so, and how to go on.
func (a *App) Follow(ctx context.Context, s *Session, run pawl.RunID, o FollowOptions) (*view.Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &follower{app: a, s: s, run: run, o: o, open: make(map[pawl.Seq]bool)}
	live, color := view.Terminal(a.Terminal && !a.JSON, a.Getenv)
	f.progress = view.NewProgress(view.New(), view.ProgressOptions{
		Out: a.Out, Live: live, Color: color, Width: func() int { return a.Width },
		Least: o.Least, Clock: o.Clock, Blobs: Blobs(ctx, s, run),
	})
	err := f.loop(ctx, pump(ctx, s.Watch(ctx, run, o.After)))
	if cerr := f.progress.Close(); err == nil {
		err = cerr
	}
	return f.progress.Run(), err
}

type follower struct {
	app      *App
	s        *Session
	run      pawl.RunID
	o        FollowOptions
	progress *view.Progress
	open     map[pawl.Seq]bool // effects under way
	stopping bool
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

func (f *follower) loop(ctx context.Context, updates <-chan update) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				return nil
			}
			if u.err != nil {
				return u.err
			}
			if err := f.show(u.Update); err != nil {
				return err
			}
			if f.rests() {
				return nil
			}
		case now := <-tick.C:
			if err := f.tick(now); err != nil {
				return err
			}
		case <-f.o.Interrupts:
			if err := f.interrupted(ctx); err != nil {
				return err
			}
			if f.rests() {
				return nil
			}
		}
	}
}

func (f *follower) show(u pawl.Update) error {
	if u.Event != nil {
		switch b := u.Event.Body.(type) {
		case *pawl.EffectRequested:
			f.open[u.Event.Seq] = true
		case pawl.Answer:
			delete(f.open, b.Answers())
		case *pawl.EffectWithdrawn:
			delete(f.open, b.Effect)
		case *pawl.EffectLost:
			delete(f.open, b.Effect)
		}
	}
	if f.app.JSON {
		if u.Event == nil {
			return nil
		}
		f.progress.Run().Apply(*u.Event)
		if err := json.NewEncoder(f.app.Out).Encode(u.Event); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return nil
	}
	return f.progress.Write(u)
}

func (f *follower) tick(now time.Time) error {
	if f.app.JSON {
		return nil
	}
	return f.progress.Tick(now)
}

// rests reports whether a run that was asked to stop has nothing under way.
func (f *follower) rests() bool {
	return f.stopping && f.progress.Run().Status == pawl.StatusPaused && len(f.open) == 0
}

func (f *follower) interrupted(ctx context.Context) error {
	if !f.s.Owner {
		f.app.Notef("left run %s, which goes on in another process. Rejoin: pawl logs -f %s. Stop it: pawl cancel %s", f.run, f.run, f.run)
		return errDetached
	}
	if f.stopping {
		f.app.Notef("left at once. What was under way counts as interrupted. Go on: pawl resume %s", f.run)
		f.o.Leave(ExitInterrupted)
		return errDetached
	}
	f.stopping = true
	f.app.Notef("stopping run %s: what is under way finishes first. Ctrl-C again leaves at once. Go on later: pawl resume %s", f.run, f.run)
	err := f.s.Steer(ctx, f.run, pawl.Steering{Verb: pawl.SteerPause, Reason: "Ctrl-C"})
	if pawl.CodeOf(err) == pawl.CodeState {
		return nil // it is paused, or ending, already
	}
	return err
}

// Finish says how a followed run ended and returns the exit code that means.
func (a *App) Finish(ctx context.Context, s *Session, r *view.Run, err error) error {
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if r.Status == pawl.StatusPaused {
		if !a.JSON {
			a.Printf("\nRun %s is paused. Go on: pawl resume %s\n", r.ID, r.ID)
		}
		return Exit(ExitPaused)
	}
	if !a.JSON {
		report, err := view.CompletionReport(r, Blobs(ctx, s, r.ID))
		if err != nil {
			return err
		}
		a.Printf("\n%s", report)
	}
	return OutcomeExit(r.Outcome)
}
