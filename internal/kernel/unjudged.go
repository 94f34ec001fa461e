package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/verdict"
)

// A gate that gave no verdict on the base and gives none on what was made says nothing about the work.
// What follows is what the kind says: see [pawl.UnjudgedMode]. The longer time stays for the rest of
// the run.

// maxLonger bounds how often the time of a gate is doubled in a run.
const maxLonger = 5

// longerOf returns how often the time of a gate was doubled.
func (s *State) longerOf(gate int) int {
	if gate < 0 || gate >= len(s.gates.longer) {
		return 0
	}
	return s.gates.longer[gate]
}

// longerTimeout returns a timeout that was doubled a number of times.
func longerTimeout(t time.Duration, times int) time.Duration { return t << min(times, maxLonger) }

// gaveLonger records how often the time of a gate was doubled, and reports whether that is more often
// than before.
func (s *State) gaveLonger(gate, times int) bool {
	if times <= s.longerOf(gate) {
		return false
	}
	if s.gates.longer == nil {
		s.gates.longer = make([]int, len(s.Settings.Gates))
	}
	if gate < 0 || gate >= len(s.gates.longer) {
		return false
	}
	s.gates.longer = slices.Clone(s.gates.longer)
	s.gates.longer[gate] = times
	return true
}

// isUnjudged reports whether r is no verdict of a gate on what was made, but a reason to give the gate
// more time or to ask a person.
func (s *State) isUnjudged(l *Loop, gate int, r *pawl.GateJudged) bool {
	unprepared := r.Effect == 0 && !r.Evidence.IsZero() // more time for the gate would not help
	if !r.Partial || r.By != "" || r.Missing != "" || unprepared || !l.base[gate].cut || s.gates.unjudgedFails {
		return false
	}
	switch l.Kind.Unjudged {
	case pawl.UnjudgedAgain:
		return true
	case pawl.UnjudgedOnce:
		return s.longerOf(gate) == 0
	}
	return false
}

// gateResult returns the verdict of a command gate on the loop's batch, or else on its candidate, or nil.
func (l *Loop) gateResult(name string) *pawl.GateJudged {
	if l.gen.batch != nil {
		return l.gen.batch.Result(name)
	}
	return l.result(name)
}

// unjudged returns the gates that gave no verdict on the base and none on what the loop made.
func (s *State) unjudged(l *Loop) (out []int) {
	for i := range s.Settings.Gates {
		if r := l.gateResult(s.Settings.Gates[i].Name); r != nil && s.isUnjudged(l, i, r) {
			out = append(out, i)
		}
	}
	return out
}

// failsAnyway reports whether another gate objects to the loop's candidate than those that gave no verdict:
// then more time for them, or a person's word, would change nothing. What was begun is waited for.
func (s *State) failsAnyway(l *Loop, unjudged []int) bool {
	begun := func(gate int) bool { return l.gateRuns(false).Of(gate).Effect != 0 }
	if l.gen.batch != nil || l.person.question != nil || slices.ContainsFunc(unjudged, begun) {
		return false
	}
	return slices.ContainsFunc(l.verdicts(), func(r *pawl.GateJudged) bool {
		return !verdict.Passes(r.Verdict) && !slices.Contains(unjudged, s.gateIndex(r.Gate))
	})
}

// settleUnjudged gives gates without a verdict more time, once, and then asks a person about them. It
// reports whether none is left that matters.
func (d *draft) settleUnjudged(l *Loop, request func(s *State, l *Loop, gate int) pawl.RunGate) bool {
	gates := d.s.unjudged(l)
	if len(gates) == 0 || d.s.failsAnyway(l, gates) {
		return true
	}
	said := l.lastAnswerTo(pawl.AskUnjudged)
	again := said != nil && said.choice == choiceAgain
	waits := l.person.question != nil
	for _, i := range gates {
		if l.gateRuns(false).Of(i).Effect != 0 {
			waits = true
		} else if d.s.longerOf(i) == 0 || again {
			do := request(&d.s, l, i)
			do.Longer = d.s.longerOf(i) + 1
			d.requestGate(l, i, do)
			l, waits = d.s.Loop(l.Ref), true
		}
	}
	switch {
	case waits:
	case said == nil:
		d.askUnjudged(l, gates)
	case said.choice == choiceFail:
		for _, i := range gates {
			d.failUnjudged(d.s.Loop(l.Ref), i, said)
		}
		return true
	default:
		d.stop(pawl.OutcomeBlocked, d.s.unjudgedText(l, gates))
	}
	return false
}

// failUnjudged records that a person takes a gate without a verdict for failed.
func (d *draft) failUnjudged(l *Loop, gate int, said *reply) {
	r := l.gateResult(d.s.Settings.Gates[gate].Name)
	if r == nil {
		return
	}
	b := *r
	b.By = cmp.Or(said.by, "a person")
	b.Effect, b.Reason = 0, brief.Cut(b.By+" takes it for failed: "+r.Reason, 300)
	d.emit(l.Ref, &b)
}

// unjudgedText says which gates gave no verdict, and why.
func (s *State) unjudgedText(l *Loop, gates []int) string {
	var names, whys []string
	for _, i := range gates {
		r := l.gateResult(s.Settings.Gates[i].Name)
		why, _, _ := strings.Cut(r.Reason, "; ") // what follows says more of the same
		names = append(names, r.Gate)
		if !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
	}
	return fmt.Sprintf("%s gave no verdict on the base, nor on %s even with more time (%s)", some(names), l.judgedNow(), strings.Join(whys, "; "))
}

// judgedNow says what gates and reviews judge now.
func (l *Loop) judgedNow() string {
	switch {
	case l.gen.batch != nil:
		return fmt.Sprintf("batch %d", l.gen.batch.N)
	case l.task.ID != "":
		return "task " + l.task.ID
	}
	return fmt.Sprintf("attempt %d", l.Iteration)
}

// askUnjudged asks a person what to do about gates without a verdict.
func (d *draft) askUnjudged(l *Loop, gates []int) {
	var longer []string
	more, them := true, "them"
	if len(gates) == 1 {
		them = "it"
	}
	for _, i := range gates {
		spec := &d.s.Settings.Gates[i]
		longer = append(longer, fmt.Sprintf("%s (at most %s)", spec.Name, pawl.Span(longerTimeout(l.gateTimeout(i, spec, false), d.s.longerOf(i)+1))))
		more = more && d.s.longerOf(i) < maxLonger
	}
	text := d.s.unjudgedText(l, gates) + ". Without one the run cannot be complete. "
	var options []option
	if more {
		text += "Run " + them + " again?"
		options = append(options, option{choiceAgain, strings.Join(longer, " and ") + " run once more; this costs no attempt"})
	} else {
		text += "What now?"
	}
	const later = "; from now on a gate without a verdict has failed, and nobody is asked"
	fails := "the batch fails, and its tasks are tried again" + later
	if l.gen.batch == nil {
		fails = d.s.ifFails(l, "the attempt fails, and another may follow"+later)
	}
	d.ask(l, pawl.AskUnjudged, text, pawl.Hash{}, append(options, option{choiceFail, fails},
		option{choiceStop, "the run ends blocked and keeps its work; change the gate's time limit and resume it"})...)
}
