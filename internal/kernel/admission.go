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

// Children that stand on an artifact exist from when it is accepted, and run when they
// are let in: what they depend on has passed, and there is a place among their siblings,
// among the loops of their kind and among those of the run. The highest score goes first.
//
// A place gets free, or a loop ready, by an event only: one that has one of the kinds
// below. So the next loop is let in by the same decision, and no timer is needed: that
// scores rise meanwhile changes who goes first, not whether anyone can.

// opensPlaces reports whether a loop that waits may be let in because of an event of
// this kind.
func opensPlaces(k pawl.Kind) bool {
	switch k {
	case pawl.KindLoopStarted, pawl.KindLoopEnded, pawl.KindQuestionAsked, pawl.KindQuestionAnswered, pawl.KindQuestionWithdrawn,
		pawl.KindRunResumed, pawl.KindRecovered, pawl.KindForked, pawl.KindWorkspaceOpened,
		pawl.KindSignalSent, pawl.KindSignalAcknowledged:
		return true
	}
	return false
}

// admits reports whether children of some kind of a recipe wait for their turn.
func admits(r *pawl.Recipe) bool {
	return slices.ContainsFunc(r.Kinds, func(k pawl.LoopKind) bool { return k.Children.IsEager() })
}

// bringForth lets all children of an artifact exist, at once.
func (d *draft) bringForth(l *Loop) {
	if wait := len(l.gen.plan.Kids) - l.gen.plan.Count[pawl.TaskRunning]; l.gen.plan.Count[pawl.TaskPending] == wait {
		return // every task that has not begun has its loop
	}
	for i := range l.gen.plan.Entries {
		p := d.s.Loop(l.Ref).gen.plan
		if t := p.At(i); t.Status == pawl.TaskPending && (t.Loop == 0 || d.s.Loop(t.Loop).Phase == PhaseDone) {
			d.spawn(l, i)
		}
	}
}

// letIn lets loops that wait run, as many as there are places, and reports whether
// any event followed.
func (d *draft) letIn() bool {
	if !d.places || d.s.Status != pawl.StatusRunning || d.s.Stopping != nil {
		return false
	}
	d.places = false
	before := len(d.events)
	for len(d.s.queue) > 0 {
		best, score, held := d.foremost()
		for _, h := range held {
			d.emit(h.on, h.limit)
		}
		if best == nil {
			break
		}
		d.emit(best.Ref, &pawl.LoopAdmitted{Score: score, Base: d.s.Loop(best.Parent).Head, Waited: d.waited(best)})
	}
	return len(d.events) > before
}

// holding is a limit that holds back a loop that is ready and has not been said yet.
type holding struct {
	on    pawl.LoopRef
	limit *pawl.LimitReached
}

// foremost is the loop that goes next, with its score, or nil; and which limits hold
// back others.
func (d *draft) foremost() (best *Loop, score int, held []holding) {
	total := 0
	for _, n := range d.s.busy {
		total += n
	}
	hold := func(on pawl.LoopRef, scope string, most, now int) {
		if !slices.ContainsFunc(held, func(h holding) bool { return h.limit.Scope == scope }) {
			held = append(held, holding{on, &pawl.LimitReached{Scope: scope, Limit: pawl.LimitLoops, Max: int64(most), Value: int64(now)}})
		}
	}
	for _, ref := range d.s.queue {
		l := d.s.Loop(ref)
		p, kind := d.s.Loop(l.Parent), d.s.kind(l.Kind)
		if !d.s.lets(p, l) {
			continue
		}
		most, now := d.s.parallel(p), p.gen.plan.Count[pawl.TaskRunning]
		switch {
		case now >= most && !p.Kind.Children.Groups(): // of a group, those that wait to land take no place
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

// lets reports whether a loop's child has its turn among its siblings: its task is ready, and by
// the order of the list, unless scores decide, it is the first that is; or it is of the group
// under way.
func (s *State) lets(l, child *Loop) bool {
	if l.Phase != PhaseGates || !l.gen.planned || l.person.question != nil || l.inbox.Held || l.isLeaving() || child.inbox.Held || child.isLeaving() {
		return false
	}
	t := l.gen.plan.At(child.slot.entry)
	ready := t.Loop == child.Ref && t.Status == pawl.TaskPending && t.Open == 0
	switch {
	case !ready:
		return false
	case l.Kind.Children.Groups():
		return s.mayWork(child) && !l.stops() && s.busyOf(l, nil, false) < s.parallel(l)
	}
	return l.Kind.Children.Order == "score" || l.gen.plan.Next() == child.slot.entry
}

// score is a waiting loop's.
func (d *draft) score(p, l *Loop) int {
	level := 0
	for at := l; at.Parent != 0; at = d.s.Loop(at.Parent) {
		level++
	}
	return Score(l.Kind.Priority, d.at.Sub(time.UnixMilli(l.slot.born)), level, int(p.gen.plan.At(l.slot.entry).Tries))
}

// maxLoops is how many loops may be at work side by side: as many as the recipe says,
// and no more than the user.
func (s *State) maxLoops() int {
	most := cmp.Or(s.Recipe.Loops, pawl.DefaultLoops)
	if s.Settings.Parallel > 0 {
		most = min(most, s.Settings.Parallel)
	}
	return most
}

// waited says what held a loop back until now; empty = nothing did.
func (d *draft) waited(l *Loop) string {
	p := d.s.Loop(l.Parent)
	deps := p.gen.plan.Entries[l.slot.entry].DependsOn
	switch {
	case d.at.UnixMilli() == l.slot.born:
		return ""
	case len(deps) > 0:
		return brief.Cut("for "+strings.Join(deps, ", "), 120)
	case p.gen.plan.Full:
		return fmt.Sprintf("no more than %d of its siblings may be at work", d.s.parallel(p))
	case d.s.full[d.s.kind(l.Kind)]:
		return fmt.Sprintf("no more than %d of kind %s may be at work", l.Kind.Concurrent, brief.Cut(l.Kind.Name, 40))
	case d.s.full[len(d.s.full)-1]:
		return fmt.Sprintf("no more than %d of the run may be at work", d.s.maxLoops())
	}
	return ""
}

// kind is the position of a kind in the recipe.
func (s *State) kind(k *pawl.LoopKind) int {
	for i := range s.Recipe.Kinds {
		if &s.Recipe.Kinds[i] == k {
			return i
		}
	}
	return -1
}

// atWork reports whether a loop takes a place: it has begun and not ended, and waits
// neither for its children nor for a person, who may hold it by a signal.
func (l *Loop) atWork() bool {
	waits := l.person.question != nil || l.inbox.Held || l.gen.planned && l.gen.plan != nil && len(l.gen.plan.Kids) > 0
	return l.Phase != PhasePending && l.Phase != PhaseDone && !waits
}

// waitsForGroup reports whether a loop has to wait for others of its group.
func (s *State) waitsForGroup(l *Loop) bool {
	p := s.Loop(l.Parent)
	return p != nil && p.Kind.Children.Groups() && (l.merge() != nil || l.Phase == PhaseReady && l.Iteration > 0)
}

// recount keeps count of the loops at work, which an event of one changes for itself,
// and its beginning and end for its parent.
func (s *State) recount(e pawl.Event) {
	switch e.Body.EventKind() {
	case pawl.KindRunResumed, pawl.KindForked:
		for l := range s.each {
			s.place(l)
		}
	case pawl.KindLoopStarted, pawl.KindLoopEnded:
		s.place(s.Loop(s.Loop(e.Loop).Parent))
	}
	s.place(s.Loop(e.Loop))
}

// place counts a loop among those at work, or not any more.
func (s *State) place(l *Loop) {
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

// enters lets a loop wait for its turn.
func (s *State) enters(l *Loop) {
	l.Phase = PhasePending
	i, _ := slices.BinarySearch(s.queue, l.Ref)
	s.queue = slices.Insert(slices.Clone(s.queue), i, l.Ref)
}

// leaves takes a loop out of those that wait. A limit that nobody waits for any more
// is said again when it is reached the next time.
func (s *State) leaves(l *Loop) {
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

// reached takes over that a limit on the loops at work holds one back.
func (s *State) reached(b *pawl.LimitReached) {
	s.full = slices.Clone(s.full)
	for i := range s.full {
		if i < len(s.Recipe.Kinds) && s.Recipe.Kinds[i].Name == b.Scope || i == len(s.Recipe.Kinds) && b.Scope == wholeRun {
			s.full[i] = true
		}
	}
}

// admitted lets a loop begin that waited for its turn.
func (s *State) admitted(l *Loop, b *pawl.LoopAdmitted) error {
	p := s.Loop(l.Parent)
	if l.Phase != PhasePending || p == nil || p.gen.plan == nil || l.slot.version != p.gen.plan.Version || p.gen.plan.At(l.slot.entry).Status != pawl.TaskPending {
		return fmt.Errorf("loop %d does not wait for its turn", l.Ref)
	}
	s.leaves(l)
	p.gen.plan.Set(l.slot.entry, pawl.TaskRunning)
	if m := p.gen.batch.Member(l.slot.entry); m != nil {
		m.Begun = true
	}
	l.Base, l.Phase, l.slot.born = b.Base, PhaseOpening, 0
	return nil
}
