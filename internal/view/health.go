package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/tried"
)

// loopHealths is what the monitor said of a loop.
type loopHealths struct {
	Healths []*HealthVerdict // oldest first
}

// HealthVerdict is what the monitor said, and who let the run go on in spite of it.
type HealthVerdict struct {
	pawl.HealthJudged
	Seq        pawl.Seq
	Time       time.Time
	Overridden *pawl.HealthOverridden // nil when nobody did
	after      string                 // such as "batch 4" or "attempt 4"
}

// now returns what it comes to: what a person overrode does not count.
func (h *HealthVerdict) now() pawl.Health {
	if h.Overridden != nil {
		return pawl.HealthProgressing
	}
	return h.Health
}

// blockedQuestion returns the first open question about a task of the root loop that is blocked, or nil.
func (r *Run) blockedQuestion() *Question {
	for _, q := range r.OpenQuestions() {
		if q.Kind == pawl.AskBlocked && q.Loop.Parent == 1 {
			return q
		}
	}
	return nil
}

// healthNow returns what the verdict on the root loop comes to: nothing progresses as a whole as long as a person is
// asked about a task that is blocked.
func (r *Run) healthNow(h *HealthVerdict) pawl.Health {
	if h.now() == pawl.HealthProgressing && r.blockedQuestion() != nil {
		return pawl.HealthBlocked
	}
	return h.now()
}

// text returns the monitor's verdict with its evidence and what follows.
func (h *HealthVerdict) text() string {
	s := fmt.Sprintf("health after %s: %s%s", h.after, h.Health, because(h.Reason))
	return s + follows(&h.HealthJudged)
}

// health returns what the monitor said last, or nil.
func (l *Loop) health() *HealthVerdict {
	if l == nil || len(l.Healths) == 0 {
		return nil
	}
	return l.Healths[len(l.Healths)-1]
}

// stretch names what the monitor looks at: a batch, or an attempt of a loop without children.
func (l *Loop) stretch(n int) string {
	if l.isAlone() {
		return fmt.Sprintf("attempt %d", n)
	}
	return fmt.Sprintf("batch %d", n)
}

// recovered returns the last verdicts of the monitor that led to something besides a question and a way
// back, which is told by itself.
func (l *Loop) recovered() []*HealthVerdict {
	const most = 3
	var out []*HealthVerdict
	for _, h := range l.Healths {
		if slices.ContainsFunc(h.Recoveries, func(to pawl.Recovery) bool { return to == pawl.RecoverRevise || to == pawl.RecoverEscalate }) {
			out = append(out, h)
		}
	}
	return out[max(0, len(out)-most):]
}

// led returns the verdict as one of those that led to a question: what followed from it.
func (h *HealthVerdict) led() string {
	var then []string
	for _, rec := range h.Recoveries {
		switch rec {
		case pawl.RecoverGather:
			then = append(then, "the context was gathered again")
		case pawl.RecoverRevise:
			then = append(then, "the plan was to be revised")
		case pawl.RecoverRollback:
			then = append(then, "the branch was to go back")
		case pawl.RecoverEscalate:
			then = append(then, "a stronger tier was to follow")
		case pawl.RecoverAsk:
			then = append(then, "a person was to decide")
		}
	}
	s := fmt.Sprintf("after %s it was %s; %s", h.after, h.Health, tried.Some(then, len(then)))
	if h.Max > 0 {
		s += fmt.Sprintf(" (%d of %d)", min(h.Try, h.Max), h.Max)
	}
	return s
}

// recoveries counts how often a health other than progressing led to something
// besides a question.
func (l *Loop) recoveries() int {
	n := 0
	for _, h := range l.Healths {
		for _, rec := range h.Recoveries {
			if rec != pawl.RecoverAsk {
				n++
				break
			}
		}
	}
	return n
}

// givenUp reports whether a person said of a loop's health that it is to stop.
func (r *Run) givenUp(l *Loop) bool {
	for i := len(r.Questions) - 1; i >= 0; i-- {
		if q := r.Questions[i]; q.Loop == l && q.Kind == pawl.AskHealth {
			return q.Answered != nil && q.Answered.Choice == "stop"
		}
	}
	return false
}

// follows says what a health leads to: " · then: gather, revise (1 of 2)".
func follows(b *pawl.HealthJudged) string {
	if len(b.Recoveries) == 0 {
		return ""
	}
	words := make([]string, len(b.Recoveries))
	for i, rec := range b.Recoveries {
		words[i] = recoveryWord(rec)
	}
	s := " · then: " + strings.Join(words, ", ")
	switch {
	case b.Max > 0 && b.Try > b.Max:
		s += fmt.Sprintf(" (all %d tries are used up)", b.Max)
	case b.Max > 0:
		s += fmt.Sprintf(" (try %d of %d)", b.Try, b.Max)
	}
	return s
}

func recoveryWord(rec pawl.Recovery) string {
	switch rec {
	case pawl.RecoverGather:
		return "gather the context again"
	case pawl.RecoverRevise:
		return "revise the plan"
	case pawl.RecoverRollback:
		return "roll back"
	case pawl.RecoverAsk:
		return "ask a person"
	case pawl.RecoverEscalate:
		return "a stronger tier"
	}
	return string(rec)
}

// applyHealth folds what the monitor says.
func (r *Run) applyHealth(l *Loop, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.HealthJudged:
		h := &HealthVerdict{HealthJudged: *b, Seq: e.Seq, Time: e.Time, after: l.stretch(b.Batch)}
		l.Healths = append(l.Healths, h)
		if x := l.batch(b.Batch); x != nil {
			x.Health = h
		}
	case *pawl.HealthOverridden:
		if h := l.health(); h != nil {
			h.Overridden = b
		}
	}
}

func (t teller) tellHealth() string {
	switch b := t.e.Body.(type) {
	case *pawl.HealthJudged:
		when := "after"
		if x := t.l.underWay(); x != nil && x.N == b.Batch { // a task is blocked
			when = "in"
		}
		if q := t.r.blockedQuestion(); q != nil && b.Health == pawl.HealthProgressing && t.l == t.r.root() {
			return fmt.Sprintf("Health %s %s: %s: %s waits for your answer to question %d; the others: %s", when, t.l.stretch(b.Batch), pawl.HealthBlocked, q.Loop.Task, q.N, b.Reason)
		}
		return fmt.Sprintf("Health %s %s: %s%s%s", when, t.l.stretch(b.Batch), b.Health, because(b.Reason), follows(b))
	case *pawl.HealthOverridden:
		return fmt.Sprintf("It continues despite %s after %s%s%s", b.Health, t.l.stretch(b.Batch), by(b.By), because(b.Reason))
	}
	return ""
}

func (k *Look) lookHealth(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.HealthJudged:
		if k.Tone = ToneBad; b.Health == pawl.HealthProgressing {
			k.Tone = ToneGood
		}
	case *pawl.HealthOverridden:
		k.Tone = ToneWarning
	}
}
