package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Eager children (see [pawl.AdmitEager]) are created when their plan is accepted and admitted
// later: once the tasks they depend on have passed and there is a place among their siblings, among
// the loops of their kind and among those of the run. The highest score goes first.
//
// Only an event of the kinds below can free a place or make a loop ready, so the decision that
// emits it also admits the next loop, and no timer is needed. Scores rise with time, but that
// changes which loop goes first, not whether one can.

// opensPlaces reports whether a queued loop may become admissible by an event of this kind.
func opensPlaces(k pawl.Kind) bool {
	switch k {
	case pawl.KindLoopStarted, pawl.KindLoopEnded, pawl.KindQuestionAsked, pawl.KindQuestionAnswered, pawl.KindQuestionWithdrawn,
		pawl.KindRunResumed, pawl.KindRecovered, pawl.KindForked, pawl.KindWorkspaceOpened,
		pawl.KindSignalSent, pawl.KindSignalAcknowledged:
		return true
	}
	return false
}

// hasEagerKinds reports whether a recipe has a kind with eager children.
func hasEagerKinds(r *pawl.Recipe) bool {
	return slices.ContainsFunc(r.Kinds, func(k pawl.LoopKind) bool { return k.Children.IsEager() })
}

// spawnEager creates a loop for every pending task that has none, or only one that has ended.
func (d *draft) spawnEager(l *Loop) {
	if wait := len(l.gen.plan.Kids) - l.gen.plan.Count[pawl.TaskRunning]; l.gen.plan.Count[pawl.TaskPending] == wait {
		return // every pending task has its loop
	}
	for i := range l.gen.plan.Entries {
		p := d.s.Loop(l.Ref).gen.plan
		if t := p.At(i); t.Status == pawl.TaskPending && (t.Loop == 0 || d.s.Loop(t.Loop).Phase == PhaseDone) {
			d.spawn(l, i)
		}
	}
}

// admitQueued admits queued loops until there are no places left, and reports whether it emitted an
// event.
func (d *draft) admitQueued() bool {
	if !d.placesOpened || d.s.Status != pawl.StatusRunning || d.s.Stopping != nil {
		return false
	}
	d.placesOpened = false
	before := len(d.events)
	for len(d.s.queue) > 0 {
		best, score, held := d.nextToAdmit()
		for _, h := range held {
			d.emit(h.on, h.limit)
		}
		if best == nil {
			break
		}
		d.emit(best.Ref, &pawl.LoopAdmitted{Score: score, Base: d.s.onto(d.s.Loop(best.Parent)).Head, Waited: d.waitReason(best)})
	}
	return len(d.events) > before
}

// hitLimit is a limit that holds back a loop that is ready, and that was not reported yet.
type hitLimit struct {
	on    pawl.LoopRef
	limit *pawl.LimitReached
}

// nextToAdmit returns the loop to admit next, or nil, with its score, and the limits to report
// because they hold back others.
func (d *draft) nextToAdmit() (best *Loop, score int, held []hitLimit) {
	total := 0
	for _, n := range d.s.busy {
		total += n
	}
	hold := func(on pawl.LoopRef, scope string, most, now int) {
		if !slices.ContainsFunc(held, func(h hitLimit) bool { return h.limit.Scope == scope }) {
			held = append(held, hitLimit{on, &pawl.LimitReached{Scope: scope, Limit: pawl.LimitLoops, Max: int64(most), Value: int64(now)}})
		}
	}
	for _, ref := range d.s.queue {
		l := d.s.Loop(ref)
		p, kind := d.s.Loop(l.Parent), d.s.kind(l.Kind)
		if !d.s.mayAdmit(p, l) {
			continue
		}
		most, now := d.s.parallel(p), p.gen.plan.Count[pawl.TaskRunning]
		switch {
		case now >= most && !p.Kind.Children.Groups(): // in a group, loops that wait to land take no place
			if !p.gen.plan.Full {
				hold(p.Ref, p.place("children").String(), most, now)
			}
		case l.Kind.Concurrent > 0 && d.s.busy[kind] >= l.Kind.Concurrent:
			if !d.s.full[kind] {
				hold(0, l.Kind.Name, l.Kind.Concurrent, d.s.busy[kind])
			}
		case total >= d.s.maxLoops():
			if !d.s.full[len(d.s.full)-1] {
				hold(0, wholeRun, d.s.maxLoops(), total)
			}
		default:
			if n := d.score(p, l); best == nil || n > score {
				best, score = l, n
			}
		}
	}
	return best, score, held
}

// wholeRun is the scope of the limit on all loops of the run. No kind has this name.
const wholeRun = "the run"

// mayAdmit reports whether l admits its child run now. The child's task must be ready. In a group,
// the child must also be a member of the current batch that may work; otherwise its task must be
// the first ready one in the order of the plan, unless scores decide.
func (s *State) mayAdmit(l, child *Loop) bool {
	if l.Phase != PhaseGates || !l.gen.planned || l.person.question != nil || l.inbox.Held || l.isEnding() || child.inbox.Held || child.isEnding() {
		return false
	}
	t := l.gen.plan.At(child.slot.entry)
	ready := t.Loop == child.Ref && t.Status == pawl.TaskPending && t.Open == 0
	switch {
	case !ready:
		return false
	case l.Kind.Children.Groups():
		return s.mayWork(child) && !l.failureStopsOthers() && s.busyOf(l, nil, false) < s.parallel(l)
	}
	return l.Kind.Children.Order == "score" || l.gen.plan.Next() == child.slot.entry
}

// score returns the score of a queued loop, whose parent is p.
func (d *draft) score(p, l *Loop) int {
	level := 0
	for at := l; at.Parent != 0; at = d.s.Loop(at.Parent) {
		level++
	}
	return Score(l.Kind.Priority, d.at.Sub(time.UnixMilli(l.slot.born)), level, int(p.gen.plan.At(l.slot.entry).Tries))
}

// maxLoops returns how many loops may be at work at once: what the recipe says, but no more than
// the user allows.
func (s *State) maxLoops() int {
	most := cmp.Or(s.Recipe.Loops, pawl.DefaultLoops)
	if s.Settings.Parallel > 0 {
		most = min(most, s.Settings.Parallel)
	}
	return most
}

// waitReason returns in words what held a loop back until now, or "" if nothing did.
func (d *draft) waitReason(l *Loop) string {
	p := d.s.Loop(l.Parent)
	deps := p.gen.plan.Entries[l.slot.entry].DependsOn
	switch {
	case d.at.UnixMilli() == l.slot.born:
		return ""
	case len(deps) > 0:
		return brief.Cut("for "+strings.Join(deps, ", "), 120)
	case p.gen.plan.Full:
		return fmt.Sprintf("no more than %d of its siblings may be active", d.s.parallel(p))
	case d.s.full[d.s.kind(l.Kind)]:
		return fmt.Sprintf("no more than %d of kind %s may be active", l.Kind.Concurrent, brief.Cut(l.Kind.Name, 40))
	case d.s.full[len(d.s.full)-1]:
		return fmt.Sprintf("no more than %d of the run's loops may be active", d.s.maxLoops())
	}
	return ""
}

// kind returns the position of a kind in the recipe, or -1.
func (s *State) kind(k *pawl.LoopKind) int {
	for i := range s.Recipe.Kinds {
		if &s.Recipe.Kinds[i] == k {
			return i
		}
	}
	return -1
}

// atWork reports whether a loop takes a place: it has begun and not ended, and it waits neither for
// its children nor for a person. A loop that a person holds by a signal waits too.
func (l *Loop) atWork() bool {
	waits := l.person.question != nil || l.inbox.Held || l.gen.planned && l.gen.plan != nil && len(l.gen.plan.Kids) > 0
	return l.Phase != PhasePending && l.Phase != PhaseDone && !waits
}

// waitsForGroup reports whether a loop has to wait for the others of its group.
func (s *State) waitsForGroup(l *Loop) bool {
	p := s.Loop(l.Parent)
	return p != nil && p.Kind.Children.Groups() && (l.merge() != nil || l.Phase == PhaseReady && l.Iteration > 0)
}

// recount updates the counts of loops at work after an event: for the event's loop, for the parent
// of a loop that began or ended, and for every loop after a resume or a fork.
func (s *State) recount(e pawl.Event) {
	switch e.Body.EventKind() {
	case pawl.KindRunResumed, pawl.KindForked:
		for l := range s.each {
			s.countAtWork(l)
		}
	case pawl.KindLoopStarted, pawl.KindLoopEnded:
		s.countAtWork(s.Loop(s.Loop(e.Loop).Parent))
	}
	s.countAtWork(s.Loop(e.Loop))
}

// countAtWork updates whether a loop is counted among those at work.
func (s *State) countAtWork(l *Loop) {
	if l == nil || (l.atWork() && !s.waitsForGroup(l)) == l.slot.busy {
		return
	}
	l.slot.busy = !l.slot.busy
	s.busy = slices.Clone(s.busy) // a draft shares it
	if i := s.kind(l.Kind); l.slot.busy {
		s.busy[i]++
	} else {
		s.busy[i]--
	}
}

// joinAdmissionQueue puts a loop into the queue of those that wait to be admitted.
func (s *State) joinAdmissionQueue(l *Loop) {
	l.Phase = PhasePending
	i, _ := slices.BinarySearch(s.queue, l.Ref)
	s.queue = slices.Insert(slices.Clone(s.queue), i, l.Ref)
}

// leaveAdmissionQueue takes a loop out of the queue. A limit that no queued loop waits for any more
// is reported again the next time it is reached.
func (s *State) leaveAdmissionQueue(l *Loop) {
	s.queue = slices.DeleteFunc(slices.Clone(s.queue), func(ref pawl.LoopRef) bool { return ref == l.Ref })
	kind, sibling := false, false
	for _, ref := range s.queue {
		o := s.Loop(ref)
		kind, sibling = kind || o.Kind == l.Kind, sibling || o.Parent == l.Parent
	}
	s.full = slices.Clone(s.full)
	if !kind {
		s.full[s.kind(l.Kind)] = false
	}
	if len(s.queue) == 0 {
		s.full, s.queue = make([]bool, len(s.full)), nil
	}
	if p := s.Loop(l.Parent); p != nil && p.gen.plan != nil && !sibling {
		p.gen.plan.Full = false
	}
}

// reached records that a limit on the loops at work was reported.
func (s *State) reached(b *pawl.LimitReached) {
	s.full = slices.Clone(s.full)
	for i := range s.full {
		if i < len(s.Recipe.Kinds) && s.Recipe.Kinds[i].Name == b.Scope || i == len(s.Recipe.Kinds) && b.Scope == wholeRun {
			s.full[i] = true
		}
	}
}

// admitted records that a queued loop begins.
func (s *State) admitted(l *Loop, b *pawl.LoopAdmitted) error {
	p := s.Loop(l.Parent)
	if l.Phase != PhasePending || p == nil || p.gen.plan == nil || l.slot.version != p.gen.plan.Version || p.gen.plan.At(l.slot.entry).Status != pawl.TaskPending {
		return fmt.Errorf("loop %d does not wait for its turn", l.Ref)
	}
	s.leaveAdmissionQueue(l)
	p.gen.plan.Set(l.slot.entry, pawl.TaskRunning)
	if m := p.gen.batch.Member(l.slot.entry); m != nil {
		m.Begun = true
	}
	l.Base, l.Phase, l.slot.born = b.Base, PhaseOpening, 0
	return nil
}
