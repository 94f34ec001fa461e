package cli_test

import (
	"context"
	"errors"
	"iter"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/driver/drivertest"
	"pawl/internal/view"
)

// Lines are redrawn on a capable terminal unless JSON is wanted, and coloured unless colours are unwanted.
func TestScreen(t *testing.T) {
	for name, c := range map[string]struct {
		app         cli.App
		live, color bool
	}{
		"Terminal":   {cli.App{Terminal: true, Environ: []string{"TERM=xterm"}}, true, true},
		"NoColor":    {cli.App{Terminal: true, Environ: []string{"TERM=xterm"}, NoColor: true}, true, false},
		"NO_COLOR":   {cli.App{Terminal: true, Environ: []string{"TERM=xterm", "NO_COLOR=1"}}, true, false},
		"Dumb":       {cli.App{Terminal: true, Environ: []string{"TERM=dumb"}}, false, false},
		"JSON":       {cli.App{Terminal: true, Environ: []string{"TERM=xterm"}, JSON: true}, false, false},
		"NoTerminal": {cli.App{Environ: []string{"TERM=xterm"}}, false, false},
	} {
		if live, color := c.app.Screen(); live != c.live || color != c.color {
			t.Errorf("%s: live %v, colour %v; want %v, %v", name, live, color, c.live, c.color)
		}
	}
}

func TestFollow(t *testing.T) {
	t.Run("ToTheEnd", func(t *testing.T) {
		b := newBed(t, &drivertest.World{Calls: 1})
		run := b.mustStart(t, "do it")
		s := b.session()
		r, err := b.app.Follow(t.Context(), s, run, cli.FollowOptions{})
		if err := b.app.Finish(t.Context(), s, r, err); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Starting iteration 1/10", "SMALL LOOP - COMPLETE"} {
			if !strings.Contains(b.out.String(), want) {
				t.Errorf("no %q in:\n%s", want, b.out.String())
			}
		}
	})
	t.Run("AnswersWithTheOutcome", func(t *testing.T) {
		b := newBed(t, &drivertest.World{GateVerdict: func(int, string) pawl.Verdict { return pawl.VerdictHalt }})
		s := b.session()
		r, err := b.app.Follow(t.Context(), s, b.mustStart(t, "do it"), cli.FollowOptions{})
		if got := b.app.Report(b.app.Finish(t.Context(), s, r, err)); got != 13 {
			t.Errorf("exit code %d, want %d", got, 13)
		}
	})
	t.Run("JSONIsTheEvents", func(t *testing.T) {
		b, run := finished(t)
		b.app.JSON = true
		s := b.session()
		r, err := b.app.Follow(t.Context(), s, run, cli.FollowOptions{})
		if err := b.app.Finish(t.Context(), s, r, err); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(b.out.String(), "\n"); lines != int(r.Seq) || b.err.Len() > 0 {
			t.Errorf("%d lines for %d events; besides: %q", lines, r.Seq, b.err.String())
		}
	})
}

func TestInterrupts(t *testing.T) {
	t.Run("OwnerStopsCleanly", func(t *testing.T) {
		world := holdTools()
		b := newBed(t, world)
		run := b.mustStart(t, "do it")
		<-world.begun
		b.signals <- os.Interrupt
		s := b.session()
		steered := &steering{Service: s.Service, done: make(chan pawl.SteerVerb, 4)}
		s.Service = steered
		go func() {
			<-steered.done // it is told to pause before what is under way may end
			close(world.letGo)
		}()
		r, err := b.app.Follow(t.Context(), s, run, cli.FollowOptions{})
		if got := b.app.Report(b.app.Finish(t.Context(), s, r, err)); got != 16 {
			t.Errorf("exit code %d, want %d: %v", got, 16, err)
		}
		if r.UnderWay() != 0 {
			t.Errorf("%d effects are under way", r.UnderWay())
		}
		if said := b.err.String(); !strings.Contains(said, "stopping run "+string(run)) || !strings.Contains(said, "pawl resume "+string(run)) {
			t.Errorf("it said %q", said)
		}
	})
	t.Run("TwiceLeavesAtOnce", func(t *testing.T) {
		world := holdTools()
		b := newBed(t, world)
		run := b.mustStart(t, "do it")
		<-world.begun
		b.signals <- os.Interrupt
		b.signals <- os.Interrupt
		_, err := b.app.Follow(t.Context(), b.session(), run, cli.FollowOptions{})
		if got := <-b.left; got != cli.ExitInterrupted || b.app.Report(err) != cli.ExitInterrupted {
			t.Errorf("left with %d, %v", got, err)
		}
		if said := b.err.String(); !strings.Contains(said, "left at once") {
			t.Errorf("it said %q", said)
		}
	})
	t.Run("ClientDetaches", func(t *testing.T) {
		world := holdTools()
		b := newBed(t, world)
		run := b.mustStart(t, "do it")
		<-world.begun
		s := b.session()
		s.Owner, s.Remote, s.Driven = false, true, nil
		b.signals <- os.Interrupt
		_, err := b.app.Follow(t.Context(), s, run, cli.FollowOptions{})
		if b.app.Report(err) != cli.ExitInterrupted {
			t.Errorf("%v", err)
		}
		if said := b.err.String(); !strings.Contains(said, "continues in another process") || !strings.Contains(said, "pawl logs -f") {
			t.Errorf("it said %q", said)
		}
		if !b.engine.Driven(run) {
			t.Error("the run stopped")
		}
	})
}

// steering tells what a service was steered to.
type steering struct {
	pawl.Service
	done chan pawl.SteerVerb
}

func (s *steering) Steer(ctx context.Context, run pawl.RunID, in pawl.Steering) error {
	err := s.Service.Steer(ctx, run, in)
	s.done <- in.Verb
	return err
}

// A process that owns the project waits for the runs others have started in it,
// and for nothing else.
func TestSettle(t *testing.T) {
	world := holdTools()
	b := newBed(t, world)
	paused, working := b.mustStart(t, "rest"), b.mustStart(t, "work")
	<-world.begun
	<-world.begun
	if err := b.engine.Steer(t.Context(), paused, pawl.Steering{Verb: pawl.SteerPause}); err != nil {
		t.Fatal(err)
	}
	close(world.letGo)
	if err := b.app.Settle(t.Context(), b.session()); err != nil {
		t.Fatal(err)
	}
	runs, err := b.engine.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if runs[0].Status != pawl.StatusPaused || runs[1].Status != pawl.StatusEnded {
		t.Errorf("%s is %s, %s is %s", paused, runs[0].Status, working, runs[1].Status)
	}
}

// A client whose owner goes away reads on from the store: every event once, in order.
func TestFollowOutlivesTheOwner(t *testing.T) {
	gone := pawl.Errorf(pawl.CodeUnavailable, "the owner has gone")
	for name, end := range map[string]error{"CutOff": gone, "ClosedAsIfAtItsEnd": nil} {
		for _, events := range []int{0, 1, 7} {
			b, run := finished(t)
			remote := b.reader()
			remote.Remote = true
			remote.Service = &dying{Service: remote.Service, left: events, end: end}
			b.app.Open = func(context.Context, cli.Access) (*cli.Session, error) { return b.reader(), nil }
			var seen []pawl.Seq
			r, err := b.app.Follow(t.Context(), remote, run, cli.FollowOptions{Show: func(e pawl.Event, _ *view.Run) error {
				seen = append(seen, e.Seq)
				return nil
			}})
			if err != nil || r.Status != pawl.StatusEnded {
				t.Fatalf("%s after %d events: %s, %v", name, events, r.Status, err)
			}
			for i, seq := range seen {
				if seq != pawl.Seq(i+1) {
					t.Fatalf("%s after %d events: event %d came as number %d", name, events, seq, i+1)
				}
			}
		}
	}
	t.Run("InTheMiddleOfTheRun", func(t *testing.T) {
		world := holdTools()
		b := newBed(t, world)
		run := b.mustStart(t, "do it")
		<-world.begun
		remote := b.reader()
		remote.Remote = true
		remote.Service = &dying{Service: remote.Service, left: 3, end: gone}
		b.app.Open = func(context.Context, cli.Access) (*cli.Session, error) { return b.reader(), nil }
		r, err := b.app.Follow(t.Context(), remote, run, cli.FollowOptions{})
		err = b.app.Finish(t.Context(), remote, r, err)
		if p, ok := errors.AsType[*pawl.Error](err); !ok || p.Code != pawl.CodeUnavailable || !strings.Contains(p.Hint, "pawl resume "+string(run)) {
			t.Errorf("%v", err)
		}
	})
}

// dying is a service that breaks off.
type dying struct {
	pawl.Service
	left int
	end  error
}

func (d *dying) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		for u, err := range d.Service.Watch(ctx, run, after) {
			if d.left--; d.left < 0 {
				break
			}
			if !yield(u, err) {
				return
			}
		}
		if d.end != nil {
			yield(pawl.Update{}, d.end)
		}
	}
}

// What an owner that was going was not asked is asked again, and nothing else.
func TestWith(t *testing.T) {
	refused := pawl.Errorf(pawl.CodeUnavailable, "it does not answer: %w", &net.OpError{Op: "dial", Err: errors.New("refused")})
	for _, c := range []struct {
		name   string
		remote bool
		err    error
		tries  int
	}{
		{"NotReached", true, refused, 2},
		{"Reached", true, pawl.Errorf(pawl.CodeUnavailable, "it broke off"), 1},
		{"RefusedTheCommand", true, pawl.Errorf(pawl.CodeState, "it is paused"), 1},
		{"Local", false, refused, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			closed, tries := 0, 0
			app := &cli.App{Open: func(context.Context, cli.Access) (*cli.Session, error) {
				return &cli.Session{Remote: c.remote, Close: func() error { closed++; return nil }}, nil
			}}
			s, err := app.With(t.Context(), cli.Read, func(*cli.Session) error {
				if tries++; tries == 1 {
					return c.err
				}
				return nil
			})
			if tries != c.tries {
				t.Errorf("%d tries, want %d", tries, c.tries)
			}
			if ok := c.tries > 1; ok != (err == nil) || ok != (s != nil) || closed != 1 {
				t.Errorf("%v, %d sessions closed", err, closed)
			}
		})
	}
}

// busyMachine is a service that says of each gate, once it is asked for, that it waits for
// its place, and soon has it.
type busyMachine struct{ pawl.Service }

func (s busyMachine) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		for u, err := range s.Service.Watch(ctx, run, after) {
			if !yield(u, err) {
				return
			}
			if u.Event == nil {
				continue
			}
			b, ok := u.Event.Body.(*pawl.EffectRequested)
			if !ok || b.Effect.Do.Verb() != pawl.VerbRunGate {
				continue
			}
			for _, over := range []bool{false, false, true} {
				w := &pawl.Waiting{Effect: u.Event.Seq, Name: "gate tests", Pool: "lane:heavy", Slots: 1, For: 2 * time.Second, Over: over}
				if !yield(pawl.Update{Live: &pawl.Live{Effect: w.Effect, Waiting: w}}, nil) {
					return
				}
			}
		}
	}
}

// That a gate waits for its place is said to who follows, beside the events where these are
// printed as JSON. F-24
func TestFollowSaysWhatWaits(t *testing.T) {
	const waits, has = "gate tests waits for the one heavy place, 2s so far\n", "gate tests has its place, after 2s\n"
	for _, asJSON := range []bool{false, true} {
		b, run := finished(t)
		b.app.JSON = asJSON
		s := b.session()
		s.Service = busyMachine{s.Service}
		r, err := b.app.Follow(t.Context(), s, run, cli.FollowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := b.out.String()
		if asJSON {
			if lines := strings.Count(out, "\n"); lines != int(r.Seq) {
				t.Errorf("%d lines for %d events", lines, r.Seq)
			}
			out = b.err.String()
		}
		gates := 0
		for e := range s.Events(t.Context(), run, 0) {
			if b, ok := e.Body.(*pawl.EffectRequested); ok && b.Effect.Do.Verb() == pawl.VerbRunGate {
				gates++
			}
		}
		if gates == 0 || strings.Count(out, waits) != gates || strings.Count(out, has) != gates {
			t.Errorf("with JSON %t, of %d gates it said\n%s", asJSON, gates, out)
		}
	}
}
