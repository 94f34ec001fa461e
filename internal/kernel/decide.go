package kernel

import (
	"slices"
	"time"

	"pawl"
)

// Input is one fact from outside a run: exactly one field besides At is set.
type Input struct {
	// At is when the driver took the input in, UTC.
	At      time.Time
	Start   *Start
	Answer  pawl.Answer
	Steer   *pawl.Steering
	Recover *Recover
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
// refuses a command of a user, with nothing to append; an answer never fails:
// one that matches no open request becomes AnswerIgnored.
func Decide(s *State, in Input) ([]pawl.Event, error) {
	d := newDraft(s, in.At)
	var err error
	switch {
	case in.Start != nil:
		err = d.start(in.Start)
	case in.Answer != nil:
		d.answer(in.Answer)
	case in.Steer != nil:
		d.all()
		err = d.steer(in.Steer)
	case in.Recover != nil:
		d.all()
		d.recover(in.Recover)
	default:
		err = pawl.Errorf(pawl.CodeInternal, "an input without content")
	}
	if err != nil {
		return nil, err
	}
	d.settle()
	return d.events, nil
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
	d := &draft{s: *s, at: at}
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

func (d *draft) all() {
	for i := range d.s.loops {
		d.look(pawl.LoopRef(i + 1))
	}
}

// own makes the loop a copy of the draft's.
func (d *draft) own(ref pawl.LoopRef) {
	if int(ref) > len(d.s.loops) {
		d.owned = append(d.owned, ref) // about to be made
		return
	}
	if !slices.Contains(d.owned, ref) {
		d.owned = append(d.owned, ref)
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
	d.s.Run = in.Run
	d.emit(0, in.Started)
	d.emit(1, &pawl.LoopStarted{ID: loopID(d.at, in.Started.Seed, 1), Kind: d.s.Recipe.Start})
	return nil
}

// answer records what an effect gave, if it is open.
func (d *draft) answer(a pawl.Answer) {
	f := d.s.Find(a.Answers())
	if f == nil || !fits(f, a) {
		d.emit(0, &pawl.AnswerIgnored{Effect: a.Answers(), What: a.EventKind().String()})
		return
	}
	switch b := a.(type) {
	case *pawl.ModelReplied:
		c := *b
		c.Cost = d.s.price(f).Cost(b.Usage)
		d.emit(f.Loop, &c)
		d.warn()
	case *pawl.EffectFailed:
		c := *b
		if p := d.s.chargedFor(f, &b.Failure); p != (Purse{}) {
			c.Charged, c.ChargedTokens = p.Money, p.Tokens
		}
		d.emit(f.Loop, &c)
	default:
		d.emit(f.Loop, a)
	}
}

// fits reports whether an answer is of the kind its effect has.
func fits(f *pawl.Effect, a pawl.Answer) bool {
	var ok bool
	switch a.(type) {
	case *pawl.EffectFailed:
		return true
	case *pawl.WorkspaceOpened:
		_, ok = f.Do.(*pawl.OpenWorkspace)
	case *pawl.PromptAssembled:
		_, ok = f.Do.(*pawl.AssemblePrompt)
	case *pawl.ModelReplied:
		_, ok = f.Do.(*pawl.CallModel)
	case *pawl.ToolReturned:
		_, ok = f.Do.(*pawl.CallTool)
	case *pawl.GateJudged:
		_, ok = f.Do.(*pawl.RunGate)
	case *pawl.Committed:
		_, ok = f.Do.(*pawl.Commit)
	case *pawl.WorkspaceInspected:
		_, ok = f.Do.(*pawl.InspectWorkspace)
	case *pawl.WorkspaceReset:
		_, ok = f.Do.(*pawl.ResetWorkspace)
	case *pawl.WorkspaceClosed:
		_, ok = f.Do.(*pawl.CloseWorkspace)
	case *pawl.WaitEnded:
		_, ok = f.Do.(*pawl.Wait)
	}
	return ok
}

// recover says what becomes of the effects that were under way when a driver
// died: those of class repeat and probe stay open and are performed again, a
// model call is lost and paid for, a shell command is answered as interrupted.
func (d *draft) recover(in *Recover) {
	if d.s.Seq == 0 || d.s.Status == pawl.StatusEnded {
		return
	}
	d.emit(0, &pawl.Recovered{Pid: in.Pid})
	for _, f := range slices.Clone(d.s.open) {
		switch f.Class {
		case pawl.CrashOnce:
			d.emit(f.Loop, &pawl.ToolReturned{Effect: f.ID, IsError: true, Interrupted: true})
		case pawl.CrashCharge:
			lost := &pawl.EffectLost{Effect: f.ID}
			if do, ok := f.Do.(*pawl.CallModel); ok {
				lost.Charged, lost.ChargedTokens = do.Reserved, do.ReservedTokens
			}
			d.emit(f.Loop, lost)
		}
	}
}

// settle lets everything follow that follows from the state alone: for the
// loops that events touched, and for all of them after a command or a recovery.
func (d *draft) settle() {
	for d.s.Status != pawl.StatusEnded && d.s.Seq > 0 {
		before := len(d.events)
		for i := 0; i < len(d.scope) && d.s.Status != pawl.StatusEnded; i++ {
			d.advance(d.scope[i])
		}
		if len(d.events) == before {
			return
		}
	}
}
