package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
)

// loopIterations is what a loop has tried.
type loopIterations struct {
	Iterations  []*Iteration
	Escalations []Escalation
	Conflicts   int // attempts that conflicted with what was merged
	freed       int // iterations that do not count: the run was resumed after them
}

// Iteration is one attempt.
type Iteration struct {
	pawl.IterationStarted
	Seq      pawl.Seq
	Began    time.Time
	Attempt  int
	Sessions []*Session
	Gates    []*Gate       // of the present candidate, or of the same tree in an earlier iteration
	Routes   []Route       // verdicts that sent it back to a step, oldest first
	asked    []*FurtherRun // gates that were asked again about the same commit
	flips    *flips        // tests that came out differently when they ran once more as goal tests
	second   []string      // reviews that judge the tree of an earlier iteration a second time
	Commit   *pawl.Committed
	Exam     *Examination         // of the present candidate, or of the same tree before; nil = there is none
	Files    int                  // the most files one commit of it changed
	End      *pawl.IterationEnded // nil while it is under way
	EndSeq   pawl.Seq
	again    pawl.Seq // of its last restart; 0 = it has none
	Ended    time.Time
	Spent    Spending // so far
}

// Route is a verdict that sent an iteration back to one of its steps.
type Route struct {
	pawl.Rerouted
	Seq   pawl.Seq
	Gates []*Gate // all verdicts on what was sent back
}

// Escalation is a change to a stronger tier.
type Escalation struct {
	pawl.Escalated
	Seq pawl.Seq
}

// restart begins the iteration anew: what was judged and who was at work does
// not count any more.
func (it *Iteration) restart(seq pawl.Seq, b *pawl.IterationRestarted) {
	it.Attempt, it.Gates, it.Routes, it.second, it.Exam, it.again = b.Attempt, nil, nil, nil, nil, seq
	for _, s := range it.Sessions {
		if s.End == nil {
			s.End = &pawl.SessionEnded{Session: s.Session, Result: pawl.SessionAbandoned, Reason: b.Reason}
		}
	}
}

// Restarted returns the event of the iteration's last restart, before which nothing counts; 0 = it has none.
func (it *Iteration) Restarted() pawl.Seq { return it.again }

// last returns the newest iteration, or nil.
func (l *Loop) last() *Iteration {
	if len(l.Iterations) == 0 {
		return nil
	}
	return l.Iterations[len(l.Iterations)-1]
}

// iteration finds an iteration by its number, or nil.
func (l *Loop) iteration(n int) *Iteration {
	for i := len(l.Iterations) - 1; i >= 0; i-- {
		if l.Iterations[i].N == n {
			return l.Iterations[i]
		}
	}
	return nil
}

// trying reports whether an attempt of the loop is under way.
func (l *Loop) trying() bool { return l != nil && l.last() != nil && l.last().End == nil }

// bestIteration returns the iteration with the best verified state; nil = there is none, or nobody
// said so.
func (l *Loop) bestIteration() *Iteration {
	if it := l.lastEnded(); l.isAlone() && it != nil && it.End.Best > 0 {
		return l.iteration(it.End.Best)
	}
	return nil
}

// lastEnded returns the last iteration that has ended; nil = none has.
func (l *Loop) lastEnded() *Iteration {
	for _, it := range slices.Backward(l.Iterations) {
		if it.End != nil {
			return it
		}
	}
	return nil
}

// Decision returns the word for what followed from an iteration. That a loop below the root ended does not
// halt the run, unless its outcome says so; that every gate let it pass does not mean that anything shows it.
func (l *Loop) Decision(b *pawl.IterationEnded) string {
	switch {
	case b.Decision == pawl.DecideHalt && b.Outcome != "" && l != nil && l.Parent != 0:
		return string(b.Outcome)
	case b.Decision == pawl.DecideComplete && b.Outcome == pawl.OutcomeUnverified:
		return "complete, unverified"
	}
	return string(b.Decision)
}

func (t teller) iterationEnded(b *pawl.IterationEnded) string {
	spent := Spending{Cost: b.Cost, Tokens: b.Tokens}
	if t.l != nil {
		if it := t.l.iteration(b.N); it != nil {
			spent = it.Spent
		}
	}
	return fmt.Sprintf("iteration %d: %s · quality %s, requirements %s · %s · Reason: %s", b.N, t.r.spending(spent),
		either(b.Quality), either(b.Requirements), strings.ToUpper(t.l.Decision(b)), b.Reason)
}

// step names a step by its position, counting those of groups.
func (t teller) step(i int) string {
	if t.l != nil {
		if k := t.r.Recipe.Kind(t.l.Kind); k != nil {
			if names := stepNames(k.Steps); i >= 0 && i < len(names) {
				return names[i]
			}
		}
	}
	return fmt.Sprint(i + 1)
}

// stepNames returns the steps in one list, those of groups among the others.
func stepNames(steps []pawl.Step) []string {
	var out []string
	for _, s := range steps {
		if s.Repeat != nil {
			out = append(out, stepNames(s.Repeat.Steps)...)
			continue
		}
		out = append(out, s.Name)
	}
	return out
}

// applyIteration folds the events of a loop's iterations.
func (r *Run) applyIteration(l *Loop, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.IterationStarted:
		r.worksAgain()
		r.reopen(l, e)
		l.Tier = b.Tier
		l.Iterations = append(l.Iterations, &Iteration{IterationStarted: *b, Seq: e.Seq, Began: e.Time, Attempt: 1})
	case *pawl.IterationRestarted:
		if it := l.last(); it != nil {
			it.restart(e.Seq, b)
		}
	case *pawl.IterationEnded:
		r.worksAgain()
		if it := l.iteration(b.N); it != nil {
			it.End, it.EndSeq, it.Ended = b, e.Seq, e.Time
			if b.Conflict {
				l.Conflicts++
			}
			it.Spent.Cost, it.Spent.Tokens = b.Cost, b.Tokens
		}
	case *pawl.Rerouted:
		if it := l.last(); it != nil && b.Max > 0 {
			it.Routes = append(it.Routes, Route{*b, e.Seq, slices.Clone(it.Gates)})
		}
	case *pawl.RoundsEnded:
		l.letPass = l.letPassBy(e, b)
	case *pawl.Escalated:
		l.Tier = b.To
		l.Escalations = append(l.Escalations, Escalation{*b, e.Seq})
	}
}

// worksAgain forgets the last recovery, which explains nothing once work has begun again.
func (r *Run) worksAgain() { r.stops.recovered = Mark{} }

func (t teller) tellIteration() string {
	r := t.r
	switch b := t.e.Body.(type) {
	case *pawl.IterationStarted: // D-29
		if b.Rejudges {
			return fmt.Sprintf("Iteration %d judges the same work once more, without its steps%s", b.N, because(b.Reason))
		}
		tier := ""
		if t.l != nil && r.Recipe.Kind(t.l.Kind).WorkTier(b.Tier) > 0 {
			tier = by(r.TierOf(t.l, b.Tier))
		}
		return fmt.Sprintf("Starting iteration %s%s%s", of(b.N, b.Max), tier, because(b.Reason))
	case *pawl.IterationRestarted:
		return fmt.Sprintf("The iteration starts again, attempt %d%s", b.Attempt, because(b.Reason))
	case *pawl.IterationEnded:
		return t.iterationEnded(b)
	case *pawl.Escalated:
		if b.To < b.From {
			return fmt.Sprintf("Implementation returns from %s to %s · Reason: %s · Iteration: %d", r.Recipe.Tier(b.From), r.Recipe.Tier(b.To), b.Reason, b.Iteration)
		}
		return fmt.Sprintf("Escalation: implementation upgraded %s → %s · Reason: %s · Iteration: %d", r.Recipe.Tier(b.From), r.Recipe.Tier(b.To), b.Reason, b.Iteration)
	case *pawl.Rerouted:
		if b.Max == 0 { // no gate did it: a person says that what blocked it has changed
			return fmt.Sprintf("%s: it is tried again from step %s", b.Gate, t.step(b.Step))
		}
		return fmt.Sprintf("Gate %s says %s: back to step %s (%d of %d)", b.Gate, strings.ToUpper(string(b.Verdict)), t.step(b.Step), b.N, b.Max)
	case *pawl.RoundsEnded:
		s := fmt.Sprintf("%s was repeated %s without the decision that ends it", b.Group, count(b.Max, "time"))
		switch {
		case !b.Refused.IsZero():
			return s + fmt.Sprintf("; %s lets the refused plan pass", b.By) + because(b.Reason)
		case b.By != "":
			return s + fmt.Sprintf("; then: %s, as %s decided", b.Then, b.By) + because(b.Reason)
		}
		return s + "; then: " + b.Then
	}
	return ""
}

func (k *Look) lookIteration(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.IterationStarted:
		if b.N == 1 && e.Loop > 1 { // its loop has just started
			k.Level = Normal
		}
	case *pawl.IterationRestarted, *pawl.Escalated, *pawl.Rerouted, *pawl.RoundsEnded:
		k.Tone = ToneWarning
	}
}
