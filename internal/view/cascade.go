package view

import (
	"fmt"
	"slices"

	"pawl"
)

// Trees of loops whose children stand on the artifact they were spawned from: which of
// them run, what they are told, and what becomes of those whose parent begins anew.

// cascades reports whether a loop's children stand on its artifact.
func (r *Run) cascades(l *Loop) bool {
	if l == nil {
		return false
	}
	k := r.Recipe.Kind(l.Kind)
	return k != nil && k.Children.IsEager()
}

// Tree reports whether the run is a tree of loops that the root's list of tasks does
// not tell.
func (r *Run) Tree() bool { return r.cascades(r.root()) || r.Records.Nested() }

// applyCascade folds the events of such trees. It reports whether the event is one.
func (r *Run) applyCascade(l *Loop, e pawl.Event) bool {
	switch b := e.Body.(type) {
	case *pawl.LoopAdmitted:
		l.Began = e.Time // it has been worked on since
		if b.Base != "" {
			l.Base = b.Base
		}
		if t := r.task(l); t != nil {
			t.move(e, pawl.TaskRunning, "", "")
		}
	case *pawl.GenerationStarted:
		l.Generation, l.Branch, l.Base = b.N, b.Branch, b.Base
		l.Renewed = mark(e, "%sgeneration %d%s", r.lead(l), b.N, because(b.Reason))
	case *pawl.Invalidated:
		if l.End == nil { // it had not begun
			r.endLoop(l, e, &pawl.LoopEnded{Outcome: pawl.OutcomeInvalid, Reason: b.Reason})
		}
	case *pawl.TaskRetried:
		l.each([]int{b.Task}, func(t *Task) {
			t.move(e, pawl.TaskPending, "", "")
			l.Retried = append(l.Retried, mark(e, "%s runs once more%s", t.ID, because(b.Reason)))
		})
	case *pawl.SignalSent, *pawl.SignalAcknowledged, *pawl.Archived: // see Records
	default:
		return false
	}
	return true
}

// cascade puts one of these events into words.
func (t teller) cascade() string {
	switch b := t.e.Body.(type) {
	case *pawl.SignalSent:
		return t.signal(b)
	case *pawl.SignalAcknowledged:
		what := fmt.Sprintf("signal %d", b.N)
		if s := t.r.Records.signalN(b.N); s != nil {
			what = fmt.Sprintf("signal %d (%s)", b.N, s.SignalType)
		}
		if b.Expired {
			return what + " was not acknowledged in time: what was in flight was withdrawn"
		}
		return what + " acknowledged"
	case *pawl.LoopAdmitted:
		kind := "loop"
		if t.l != nil {
			kind = t.l.Kind
		}
		s := capital(kind) + " starts"
		if x := t.r.task(t.l); x != nil {
			s += because(x.Title)
		}
		s += fmt.Sprintf(" (score %d", b.Score)
		if b.Waited != "" {
			s += "; it waited: " + b.Waited
		}
		return s + ")"
	case *pawl.GenerationStarted:
		s := fmt.Sprintf("It begins anew, generation %d, on %s from %s%s", b.N, b.Branch, short(b.Base), because(b.Reason))
		if b.Supersedes {
			s += " · what it made before is merged and stays"
		}
		return s
	case *pawl.Invalidated:
		who := "a loop above it"
		if l := t.r.loop(b.By); l != nil {
			who = t.r.called(l)
		}
		return fmt.Sprintf("does not count any more: %s begins anew after generation %d%s", who, b.Generation, because(b.Reason))
	case *pawl.Archived:
		if t.l == nil {
			return fmt.Sprintf("The run is archived%s%s", by(b.By), because(b.Reason))
		}
		return fmt.Sprintf("archived%s%s", by(b.By), because(b.Reason))
	case *pawl.TaskRetried:
		return fmt.Sprintf("%s runs once more with a fresh loop%s", dashed(t.l.Plan().ids([]int{b.Task})), because(b.Reason))
	}
	return t.e.Body.EventKind().String()
}

func (t teller) signal(b *pawl.SignalSent) string {
	s := fmt.Sprintf("Signal %d: %s", b.N, b.Signal)
	switch from := t.r.loop(b.Source); {
	case from != nil:
		s += " from " + t.r.called(from)
	case b.By != "":
		s += by(b.By)
	}
	if b.Selector != "" {
		s += " to " + b.Selector
	}
	return s + because(b.Reason)
}

// called is what people call a loop: its path, or what kind of loop it is.
func (r *Run) called(l *Loop) string {
	if path := r.path(l); path != "" {
		return path
	}
	return "the " + l.Kind
}

// cascadeLevel is the level of the line of one of these events.
func cascadeLevel(e pawl.Event) Level {
	switch b := e.Body.(type) {
	case *pawl.SignalSent:
		if b.Source != 0 && b.Signal != pawl.SignalError {
			return Normal
		}
	case *pawl.SignalAcknowledged:
		if !b.Expired {
			return Detail
		}
	case *pawl.Invalidated:
		return Normal
	case *pawl.Archived:
		if e.Loop != 0 {
			return Detail
		}
	}
	return Important
}

// signalN finds a signal by its number, or nil.
func (rs *Records) signalN(n int) *SignalRecord {
	i, ok := slices.BinarySearchFunc(rs.Signals, n, func(s *SignalRecord, n int) int { return s.N - n })
	if !ok {
		return nil
	}
	return rs.Signals[i]
}

// whyCascade says which loops begin anew and why, which are held, and which signals
// have not been acknowledged.
func (r *Run) whyCascade(c *chain) {
	if !r.Tree() {
		return
	}
	for _, rec := range r.Records.Loops {
		l := r.loop(rec.Ref)
		if l == nil || rec.Status == pawl.LoopInvalidated {
			continue
		}
		if l.Renewed.Seq > 0 {
			c.mark(LinkBecause, l.Renewed)
		}
		for _, m := range l.Retried {
			c.mark(LinkBecause, m)
		}
		if rec.Status == pawl.LoopPaused && rec.paused {
			c.add(LinkWaits, fmt.Sprintf("for %s, which is paused%s", r.called(l), because(rec.Reason)))
		}
		if rec.Depth > 1 && rec.Status == pawl.LoopFailed {
			c.add(LinkBecause, fmt.Sprintf("%s %s failed after %s%s", rec.LoopType, r.called(l), count(len(l.Iterations), "attempt"), because(rec.Reason)))
		}
	}
	for _, s := range r.Records.Signals {
		if l := r.loop(s.Target); l != nil && s.AcknowledgedAt == 0 && l.End == nil && s.SignalType != pawl.SignalError {
			c.add(LinkWaits, fmt.Sprintf("for %s to acknowledge signal %d (%s)", r.called(l), s.N, s.SignalType))
		}
	}
}
