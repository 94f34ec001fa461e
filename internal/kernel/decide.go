package kernel

import (
	"time"

	"pawl"
)

// Input is one fact from outside a run. One field besides At and Jumped is set,
// except that a command may come together with Recover: it is then obeyed before
// anything is restarted. If it is refused, the recovery is not decided either.
type Input struct {
	// At is when the driver took the input in, UTC.
	At time.Time
	// Jumped is how far the clock has moved beyond the time that passed since the last input;
	// negative = back, zero = too little to matter.
	Jumped  time.Duration
	Start   *Start
	Answer  pawl.Answer
	Turn    *pawl.AgentProgressed
	Recover *Recover
	Steer   *pawl.Steering
	Fork    *Fork
	// Unanswered says that the run has waited for an answer as long as [State.Unanswered] allows, and
	// that nobody has been there.
	Unanswered bool
}

// Start begins a run; it is the first input.
type Start struct {
	Run     pawl.RunID
	Started *pawl.RunStarted
}

// Recover tells a run that its last driver is gone. It is the first input from a
// driver that takes over a run with events.
type Recover struct{ Pid int }

// Decide returns the events that follow from an input. It changes nothing. An error
// means that the input is refused and nothing is appended: it is a user's command,
// or the run has not started. An answer to a started run never fails: one that
// matches no open request becomes AnswerIgnored.
func Decide(s *State, in Input) ([]pawl.Event, error) {
	d := newDraft(s, in.At)
	if in.Jumped != 0 && s.Seq > 0 && in.Recover == nil {
		d.emit(0, &pawl.ClockJumped{By: in.Jumped})
	}
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
	case in.Turn != nil:
		d.progressed(in.Turn)
		return nil
	case in.Fork != nil:
		d.markAllDirty()
		return d.fork()
	case in.Unanswered:
		d.unanswered()
		return nil
	case in.Recover == nil && in.Steer == nil:
		return pawl.Errorf(pawl.CodeInternal, "an input without content")
	}
	d.markAllDirty()
	if in.Recover != nil {
		d.recover(in.Recover)
	}
	if in.Steer != nil {
		return d.steer(in.Steer)
	}
	return nil
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
	b := &pawl.LoopStarted{ID: d.s.loopID(d.at, in.Started.Seed, 1), Kind: recipe.Start}
	d.emit(1, b)
	b.Max = d.eventMax()
	return nil
}

// recover decides what becomes of the effects that were in flight when a driver
// died. Those of class repeat and probe stay open and are performed again, a model
// call is charged as lost, and a shell command is answered as interrupted.
func (d *draft) recover(in *Recover) {
	if d.s.Status == pawl.StatusEnded {
		return
	}
	d.emit(0, &pawl.Recovered{Pid: in.Pid})
	for _, f := range d.s.open { // closing an effect in the draft leaves this list as it is
		switch f.Class {
		case pawl.CrashOnce:
			d.emit(f.Loop, &pawl.ToolReturned{Effect: f.ID, IsError: true, Interrupted: true})
		case pawl.CrashCharge:
			p := d.s.lostBy(f)
			d.emit(f.Loop, &pawl.EffectLost{Effect: f.ID, Charged: p.Money, ChargedTokens: p.Tokens})
		}
	}
	d.warn()
}
