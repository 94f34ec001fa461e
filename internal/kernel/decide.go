package kernel

import (
	"slices"
	"time"

	"pawl"
)

// Input is one fact from outside a run: one field besides At is set. A command
// may come together with Recover; it is then obeyed before anything is begun.
type Input struct {
	// At is when the driver took the input in, UTC.
	At      time.Time
	Start   *Start
	Answer  pawl.Answer
	Recover *Recover
	Steer   *pawl.Steering
}

// Start begins a run; it is the first input.
type Start struct {
	Run     pawl.RunID
	Started *pawl.RunStarted
}

// Recover tells a run that the driver it had is gone. It is the first input of
// a driver that takes over a run with events.
type Recover struct{ Pid int }

// Decide says which events follow from an input. It changes nothing. An error
// refuses a command of a user, or an input to a run that has not started, with
// nothing to append. An answer to a run never fails: one that matches no open
// request becomes AnswerIgnored.
func Decide(s *State, in Input) ([]pawl.Event, error) {
	d := newDraft(s, in.At)
	if err := d.input(in); err != nil {
		return nil, err
	}
	d.settle()
	return d.events, nil
}

func (d *draft) input(in Input) error {
	switch {
	case in.Start != nil:
		return d.start(in.Start)
	case d.s.Seq == 0:
		return pawl.Errorf(pawl.CodeState, "the run has not been started")
	case in.Answer != nil:
		d.answer(in.Answer)
		return nil
	case in.Recover == nil && in.Steer == nil:
		return pawl.Errorf(pawl.CodeInternal, "an input without content")
	}
	d.all()
	if in.Recover != nil {
		d.recover(in.Recover)
	}
	if in.Steer != nil {
		return d.steer(in.Steer)
	}
	return nil
}

// draft is a state on which the events of one input are tried as they are
// decided. It shares everything with the original but the loops that events touched.
type draft struct {
	s      State
	at     time.Time
	events []pawl.Event
	owned  []pawl.LoopRef
	// scope are the loops for which something may follow.
	scope []pawl.LoopRef
}

func newDraft(s *State, at time.Time) *draft {
	d := &draft{s: *s, at: at.UTC().Round(0)} // as it is read back from the log
	d.s.loops = slices.Clone(s.loops)
	d.s.open = slices.Clone(s.open)
	return d
}

// emit decides one event. The kernel's own events always follow from the state
// they were decided on: anything else is a defect of the kernel.
func (d *draft) emit(ref pawl.LoopRef, body pawl.Body) {
	e := pawl.Event{Run: d.s.Run, Seq: d.s.Seq + 1, Loop: ref, Time: d.at, Body: body}
	if b, ok := body.(*pawl.EffectRequested); ok {
		b.Effect.ID, b.Effect.Loop = e.Seq, ref
	}
	switch {
	case ref != 0:
		d.own(ref)
		d.look(ref)
	case body.EventKind() == pawl.KindRecovered || body.EventKind() == pawl.KindRunResumed:
		for i := range d.s.loops {
			d.own(pawl.LoopRef(i + 1))
		}
	}
	if err := Apply(&d.s, e); err != nil {
		panic("kernel: decided an event that does not follow: " + err.Error())
	}
	d.events = append(d.events, e)
}

// look makes settle consider a loop.
func (d *draft) look(ref pawl.LoopRef) {
	if !slices.Contains(d.scope, ref) {
		d.scope = append(d.scope, ref)
	}
}

// all makes settle consider every loop.
func (d *draft) all() {
	d.scope = d.scope[:0]
	for i := range d.s.loops {
		d.scope = append(d.scope, pawl.LoopRef(i+1))
	}
}

// own makes the loop a copy of the draft's.
func (d *draft) own(ref pawl.LoopRef) {
	if slices.Contains(d.owned, ref) {
		return
	}
	d.owned = append(d.owned, ref)
	if int(ref) <= len(d.s.loops) { // else it is about to be made
		d.s.loops[ref-1] = d.s.loops[ref-1].clone()
	}
}

func (d *draft) request(l *Loop, f pawl.Effect) {
	d.emit(l.Ref, &pawl.EffectRequested{Effect: f})
}

func (d *draft) start(in *Start) error {
	if d.s.Seq != 0 {
		return pawl.Errorf(pawl.CodeConflict, "run %s exists", d.s.Run)
	}
	if in.Started == nil || in.Run == "" {
		return pawl.Errorf(pawl.CodeInternal, "a start without a run")
	}
	recipe, settings, err := frozen(in.Started)
	if err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "start run %s: %w", in.Run, err)
	}
	if err := check(recipe, settings); err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "start run %s: %w", in.Run, err)
	}
	d.s.Run = in.Run
	d.emit(0, in.Started)
	d.emit(1, &pawl.LoopStarted{ID: loopID(d.at, in.Started.Seed, 1), Kind: recipe.Start})
	return nil
}

// recover says what becomes of the effects that were under way when a driver
// died: those of class repeat and probe stay open and are performed again, a
// model call is lost and paid for, a shell command is answered as interrupted.
func (d *draft) recover(in *Recover) {
	if d.s.Status == pawl.StatusEnded {
		return
	}
	d.emit(0, &pawl.Recovered{Pid: in.Pid})
	for _, f := range slices.Clone(d.s.open) {
		switch f.Class {
		case pawl.CrashOnce:
			d.emit(f.Loop, &pawl.ToolReturned{Effect: f.ID, IsError: true, Interrupted: true})
		case pawl.CrashCharge:
			p := reserved(f)
			d.emit(f.Loop, &pawl.EffectLost{Effect: f.ID, Charged: p.Money, ChargedTokens: p.Tokens})
		}
	}
	d.warn()
}

// settle lets everything follow that follows from the state alone: for the
// loops that events touched, and for all of them after a command, a recovery or
// the run's beginning to stop. It ends, because every event it emits either
// moves a loop forward or opens or closes an effect, and a loop that has all
// its effects open waits.
func (d *draft) settle() {
	for d.s.Status != pawl.StatusEnded {
		before := len(d.events)
		for i := 0; i < len(d.scope) && d.s.Status != pawl.StatusEnded; i++ {
			d.advance(d.scope[i])
		}
		if len(d.events) == before {
			return
		}
	}
}
