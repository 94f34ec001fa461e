package kernel

import (
	"fmt"
	"slices"
	"time"

	"pawl"
)

// draft is a copy of the state to which the events of one input are applied as they
// are decided. It shares everything with the original except the loops that these
// events change.
type draft struct {
	s      State
	at     time.Time
	events []pawl.Event
	// dirtyLoops is the queue of settle: the loops for which something may follow.
	dirtyLoops []pawl.LoopRef
	// placesOpened reports whether a loop that waits for its turn may be admitted now.
	placesOpened bool
}

func newDraft(s *State, at time.Time) *draft {
	d := &draft{s: *s, at: at.UTC().Round(0)} // as the log will return it
	d.s.loops = slices.Clip(s.loops)
	d.s.draft = &overlay{}
	return d
}

// overlay holds what a draft has changed: a few loops and effects of a state that may
// have many.
type overlay struct {
	loops  []*Loop // copies
	opened []*pawl.Effect
	closed []pawl.Seq
}

// loop returns the draft's copy of a loop, or nil.
func (o *overlay) loop(ref pawl.LoopRef) *Loop {
	for _, l := range o.loops {
		if l.Ref == ref {
			return l
		}
	}
	return nil
}

// find returns an effect that the draft has opened, or nil for one that it has closed. Known
// is false if it has done neither.
func (o *overlay) find(id pawl.Seq) (f *pawl.Effect, known bool) {
	if slices.Contains(o.closed, id) {
		return nil, true
	}
	if i, ok := findEffect(o.opened, id); ok {
		return o.opened[i], true
	}
	return nil, false
}

// own copies a loop into the draft, unless the draft has a copy.
func (d *draft) own(ref pawl.LoopRef) {
	if ref != 0 && int(ref) <= len(d.s.loops) && d.s.draft.loop(ref) == nil {
		d.s.draft.loops = append(d.s.draft.loops, d.s.loops[ref-1].clone())
	}
}

// maxDecided is more events than one input can lead to. A decision that does not end
// must not take the machine down.
const maxDecided = 200_000

// emit decides one event and applies it to the draft. It panics if the event does not
// follow from the state on which it was decided, because that is a defect of the kernel.
func (d *draft) emit(ref pawl.LoopRef, body pawl.Body) {
	e := pawl.Event{Run: d.s.Run, Seq: d.s.Seq + 1, Loop: ref, Time: d.at, Body: body}
	if b, ok := body.(*pawl.EffectRequested); ok {
		b.Effect.ID, b.Effect.Loop = e.Seq, ref
	}
	switch {
	case ref != 0:
		d.own(ref)
		d.markDirty(ref)
		d.ownTouched(ref, body)
	case slices.Contains([]pawl.Kind{pawl.KindRecovered, pawl.KindRunResumed, pawl.KindForked}, body.EventKind()):
		for i := range d.s.loops {
			d.own(pawl.LoopRef(i + 1))
		}
	}
	if len(d.events) == maxDecided {
		panic(fmt.Sprintf("kernel: an input at event %d led to no end of events, such as %s", d.s.Seq-maxDecided, body.EventKind()))
	}
	if err := Apply(&d.s, e); err != nil {
		panic("kernel: decided an event that does not follow: " + err.Error())
	}
	d.events = append(d.events, e)
	d.placesOpened = d.placesOpened || d.s.busy != nil && opensPlaces(body.EventKind())
}

// ownTouched owns the other loops that an event of one loop changes: the parent of a
// child that starts, ends, merges, posts or discovers something, and the siblings that
// it conflicts with. It queues those for which something may follow.
func (d *draft) ownTouched(ref pawl.LoopRef, body pawl.Body) {
	l := d.s.Loop(ref)
	switch b := body.(type) {
	case *pawl.LoopStarted:
		if b.Parent != 0 {
			d.own(b.Parent)
		}
	case *pawl.LoopAdmitted:
		d.own(l.Parent)
	case *pawl.RollbackCalled, *pawl.ReplanCalled, *pawl.TaskHeld, *pawl.TaskJudged, *pawl.BatchStarted, *pawl.BatchEnded:
		d.ownKids(l)
	case *pawl.MergeQueued, *pawl.QuestionAsked, *pawl.QuestionAnswered:
		d.markGroupDirty(l)
	case *pawl.SignalSent:
		d.own(b.Source)
	case *pawl.LoopEnded, *pawl.BranchAdvanced, *pawl.NotePosted, *pawl.MemoryAdded, *pawl.IterationEnded:
		d.ownKids(l)
		if l != nil && l.exit.ender != 0 && body.EventKind() == pawl.KindLoopEnded {
			d.own(l.exit.ender)
			d.markDirty(l.exit.ender)
		}
		if l != nil && l.Parent != 0 {
			d.own(l.Parent)
			d.markDirty(l.Parent)
			d.markQueuedSiblingsDirty(l)
		}
	case *pawl.ConflictsProbed:
		for _, o := range b.With {
			d.own(o)
		}
	case pawl.Answer:
		// If the branch did not move, the children with work in the landing can continue.
		if body.EventKind() == pawl.KindEffectFailed && l.wants(pawl.VerbAdvanceBranch) {
			d.ownKids(l)
		}
		if l.Iteration > 0 && !l.inIteration && len(l.open) <= 1 { // this may end its part in the batch
			d.markGroupDirty(l)
		}
	}
}

// markGroupDirty queues a loop's parent for settle, if its children land in groups.
func (d *draft) markGroupDirty(l *Loop) {
	if p := d.s.Loop(l.Parent); p != nil && p.Kind.Children.Groups() {
		d.own(l.Parent)
		d.markDirty(l.Parent)
	}
}

// ownKids owns the children of a loop that judges them in batches, and queues them for
// settle.
func (d *draft) ownKids(l *Loop) {
	if l == nil || l.gen.plan == nil || !l.Kind.Children.Groups() {
		return
	}
	for _, k := range l.gen.plan.Kids {
		d.own(k)
		d.markDirty(k)
	}
}

// markQueuedSiblingsDirty queues for settle the parent's children that are in its merge queue.
func (d *draft) markQueuedSiblingsDirty(l *Loop) {
	p := d.s.Loop(l.Parent)
	if p.gen.plan == nil {
		return
	}
	for _, ref := range p.gen.plan.Kids {
		if o := d.s.Loop(ref); o.merge() != nil {
			d.markDirty(ref)
		}
	}
}

func (d *draft) requestEffect(l *Loop, f pawl.Effect) {
	d.emit(l.Ref, &pawl.EffectRequested{Effect: f})
}

// markDirty queues a loop for settle.
func (d *draft) markDirty(ref pawl.LoopRef) {
	if !slices.Contains(d.dirtyLoops, ref) {
		d.dirtyLoops = append(d.dirtyLoops, ref)
	}
}

// markAllDirty queues every loop for settle.
func (d *draft) markAllDirty() {
	d.dirtyLoops = d.dirtyLoops[:0]
	for i := range d.s.loops {
		d.dirtyLoops = append(d.dirtyLoops, pawl.LoopRef(i+1))
	}
	d.placesOpened = d.s.busy != nil
}

// settle advances the queued loops until nothing more follows from the state alone:
// the loops that events touched, or all of them after a command, after a recovery or
// when the run begins to stop. It terminates, because every event that it emits moves
// a loop forward or opens or closes an effect, and a loop that has all its effects
// open waits.
func (d *draft) settle() {
	for d.s.Status != pawl.StatusEnded {
		before := len(d.events)
		for i := 0; i < len(d.dirtyLoops) && d.s.Status != pawl.StatusEnded; i++ {
			d.advance(d.dirtyLoops[i])
		}
		if len(d.events) == before && !d.admitQueued() && !d.landQueued() && !d.haltUnanswered() {
			return
		}
	}
}
