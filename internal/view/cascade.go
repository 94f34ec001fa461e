package view

import (
	"fmt"

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
