package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/land"
)

// A person may overrule the halt of a review. The run is resumed, and what the review halted is
// judged once more, without the loop's steps: verdicts of command gates on the same tree stand, the
// review passes by the person's word, and the others judge anew.

// overruling is a person's word against the halt of a review. It holds for one tree. Without a gate it is
// no person's: the loop ends with the attempt.
type overruling struct {
	gate, reason, by string
	attempt          int // the iteration that was halted, or that the loop ends with
	candidate        *pawl.Committed
}

// maxOverrulings bounds the overrulings that a loop keeps.
const maxOverrulings = 8

// steerOverride overrules the halt of a review, or refuses to. A reviewer halts when a person must
// look before anything else happens, and its form does not tell which of its halts are critical for
// security. So all are taken to be, and whoever overrules one must be a person at a terminal. D-62
func (d *draft) steerOverride(in *pawl.Steering) error {
	reason := strings.TrimSpace(in.Reason)
	switch {
	case in.Gate == "":
		return pawl.Errorf(pawl.CodeInvalid, "no review is named whose halt is to be overruled")
	case reason == "":
		return pawl.Errorf(pawl.CodeInvalid, "a halt is overruled for a reason, and none is given")
	case len(reason) > maxAnswer:
		return pawl.Errorf(pawl.CodeInvalid, "the reason has %d bytes: want at most %d", len(reason), maxAnswer)
	case d.s.Status != pawl.StatusEnded || d.s.Outcome != pawl.OutcomeHalted:
		return d.refuse("only a run that a review has halted can have the halt overruled")
	}
	l, r, err := d.haltBy(in.Gate)
	switch {
	case err != nil:
		return err
	case !in.Terminal:
		return pawl.Errorf(pawl.CodeConsent, "run %s was halted by the review %s: only a person at a terminal can overrule that", d.s.Run, r.Gate).
			WithHint("in a terminal: pawl override %s %s --reason WHY", d.s.Run, r.Gate)
	}
	a := l.lastAttempt()
	return d.resumeWith(in, &pawl.GateOverruled{Gate: r.Gate, Iteration: a.N, Commit: a.Halted.Commit, Tree: a.Tree, Evidence: r.Evidence,
		Reason: reason, By: cmp.Or(brief.Cut(in.By, 60), "a person")}, l.Ref)
}

// haltBy returns the loop that a review has halted, with the review's verdict, or an error that says
// what has halted the run.
func (d *draft) haltBy(gate string) (*Loop, *pawl.GateJudged, error) {
	review, command := "", ""
	for l := range d.s.each {
		a := l.lastAttempt()
		if a == nil || a.Halted == nil || l.inIteration || l.Parent != 0 && !l.stopped {
			continue
		}
		for _, r := range a.Results {
			switch {
			case r.Verdict != pawl.VerdictHalt:
			case r.Kind != "":
				command = r.Gate
			case r.Gate == gate:
				return l, r, nil
			default:
				review = r.Gate
			}
		}
	}
	switch {
	case review != "":
		return nil, nil, d.refuse("the review %s halted it, and not %s", review, brief.Cut(gate, 60)).
			WithHint("pawl override %s %s --reason WHY", d.s.Run, review)
	case command != "":
		return nil, nil, d.refuse("the command gate %s halted it: what a command finds is to be fixed, not overruled", command).
			WithHint("the next attempt gets what it found: pawl resume %s", d.s.Run)
	}
	return nil, nil, d.refuse("no review halted it: %s", cmp.Or(d.s.Reason, "nobody said why")).WithHint("continue it: pawl resume %s", d.s.Run)
}

// overruled records that a person overruled the halt of a review. The attempt that was halted counts
// neither as a failure nor against the limit on iterations.
func (s *State) overruled(l *Loop, b *pawl.GateOverruled) error {
	a := l.lastAttempt()
	if a == nil || a.N != b.Iteration || a.Halted == nil || !slices.ContainsFunc(a.Results, func(r *pawl.GateJudged) bool {
		return r.Gate == b.Gate && r.Kind == "" && r.Verdict == pawl.VerdictHalt
	}) {
		return fmt.Errorf("the review %s has not halted iteration %d of loop %d", b.Gate, b.Iteration, l.Ref)
	}
	kept := l.person.overrulings[max(0, len(l.person.overrulings)-maxOverrulings+1):]
	l.person.overrulings = append(slices.Clone(kept), overruling{b.Gate, b.Reason, b.By, b.Iteration, a.Halted})
	l.ladder.Failures = max(0, l.ladder.Failures-1)
	if p := l.gen.plan; p != nil {
		p.Asked, p.Why = false, "" // the halt calls for no other plan
	}
	// What the children made is judged in the iteration that was halted, all else in one without steps.
	whole := l.gen.plan != nil && slices.ContainsFunc(l.Kind.FinalGates, func(st pawl.Stage) bool { return st.Name == b.Gate })
	l.gen.planned, l.inIteration, l.person.rejudge = whole, whole, !whole
	if !whole {
		l.ladder.Freed++ // for the iteration without steps
	}
	return nil
}

// toRejudge returns the overruling whose work the next iteration judges once more, or nil.
func (l *Loop) toRejudge() *overruling {
	if n := len(l.person.overrulings); l.person.rejudge && n > 0 {
		return &l.person.overrulings[n-1]
	}
	return nil
}

// overruling returns a person's word against the halt of a review of the present candidate, or nil.
func (l *Loop) overruling(gate string) *overruling {
	for i := range l.person.overrulings {
		if o := &l.person.overrulings[i]; o.gate == gate && o.candidate.Tree == l.cand.Tree {
			return o
		}
	}
	return nil
}

// why says why the attempt is judged once more.
func (o *overruling) why() string {
	if o.gate == "" {
		return fmt.Sprintf("no attempt is left, and attempt %d has only weak goal tests red", o.attempt)
	}
	return fmt.Sprintf("%s overruled the halt of %s", o.by, o.gate)
}

// pass returns the verdict of the review on the work that it halted.
func (o *overruling) pass() *pawl.GateJudged {
	return &pawl.GateJudged{Gate: o.gate, Verdict: pawl.VerdictPass, By: o.by, Reason: brief.Cut("overruled by "+o.by+": "+o.reason, 300)}
}

// bringForward brings the branch to the work that a review halted, if the run's end has taken it back
// to the best state, and reports whether it is there.
func (d *draft) bringForward(l *Loop, o *overruling) bool {
	switch {
	case l.gen.Back != nil:
		return d.returnToBest(l)
	case l.worktreeBehind:
		return d.syncHead(l)
	case l.worktree.Tree == o.candidate.Tree:
		return true
	}
	b := &pawl.RollbackCalled{To: o.attempt, Reason: brief.Cut("its halt is overruled: "+o.reason, 300), By: o.by}
	if o.gate == "" {
		b.Reason = o.why()
	}
	d.emit(l.Ref, b)
	return false
}

// rejudged makes the candidate of an iteration without steps: what a review halted, as it was committed.
func (d *draft) rejudged(l *Loop) {
	b := *l.person.overrulings[len(l.person.overrulings)-1].candidate
	b.Effect, b.Commit = 0, l.Head
	d.emit(l.Ref, &b)
}

// goal returns the state that the loop goes back to: what a review halted, or the best one.
func (l *Loop) goal() *land.Verified {
	if o := l.toRejudge(); o != nil && o.gate != "" && l.gen.Back != nil && l.gen.Back.To == o.attempt {
		return &land.Verified{N: o.attempt, Commit: o.candidate.Commit, Tree: o.candidate.Tree, Base: l.Base}
	}
	if back := l.gen.Back; back != nil && back.To != l.best().N {
		if a := l.attempt(back.To); a != nil {
			return a
		}
	}
	return l.best()
}

// reuseCommands keeps the verdicts of command gates on what the children made, if a review halted it and
// was overruled.
func (d *draft) reuseCommands(l *Loop) {
	a := l.lastAttempt()
	if a == nil || l.cand.IsJudged() || !slices.ContainsFunc(l.person.overrulings, func(o overruling) bool { return o.attempt == a.N && o.candidate.Tree == l.cand.Tree }) {
		return
	}
	var gates []string
	for _, r := range reusableVerdicts(a.Results) {
		if r.Kind != "" {
			gates = append(gates, r.Gate)
		}
	}
	if len(gates) > 0 {
		d.emit(l.Ref, &pawl.GatesReused{From: a.N, Gates: gates})
	}
}
