package kernel

import (
	"fmt"
	"slices"
	"time"

	"pawl"
)

func duration(n int64) time.Duration { return time.Duration(n) }

// defaultGateTimeout bounds a gate whose settings and stage say nothing.
const defaultGateTimeout = 10 * time.Minute

// assemble requests what a session begins with. Every session is fresh: it is
// told the task, why the last attempt failed and what is known, and nothing of
// an earlier conversation.
func (d *draft) assemble(l *Loop, x *Session) {
	do := &pawl.AssemblePrompt{
		Goal: d.s.Started.Goal, Criteria: d.s.Started.Criteria,
		Commit: l.Head, Base: l.Base, Max: d.s.maxIterations(l),
		Inputs: slices.Clone(l.outputs), History: l.lines(), RedAtBase: d.s.redAtBase(l),
	}
	switch x.Purpose {
	case pawl.ForStep:
		st := &l.Kind.Steps[x.Index]
		do.Template, do.Tools, do.Output = st.Prompt, st.Tools, st.Output
		do.Feedback = l.feedback()
		if !l.advice.IsZero() {
			do.Inputs = append(do.Inputs, pawl.Input{Name: "council", Blob: l.advice})
		}
	case pawl.ForReview:
		rv := l.Kind.Gates[x.Index].Review
		do.Template, do.Tools, do.Output = rv.Prompt, rv.Tools, rv.Output
		if l.candidate != nil && !l.candidate.Paths.IsZero() {
			do.Inputs = append(do.Inputs, pawl.Input{Name: "changed", Blob: l.candidate.Paths})
		}
	case pawl.ForProposal, pawl.ForBallot:
		spec := l.Kind.Ladder.Council
		do.Feedback, do.Focus = l.feedback(), spec.Lenses[x.Index].Focus
		do.Template, do.Tools, do.Output = spec.Propose, spec.Tools, "proposal"
		if x.Purpose == pawl.ForBallot {
			do.Template, do.Tools, do.Output = spec.Ballot, nil, "ballot"
			for n, i := range l.council.candidates() {
				do.Inputs = append(do.Inputs, pawl.Input{Name: "proposal " + letter(n), Blob: l.council.members[i].proposal})
			}
		}
	}
	d.request(l, d.effect(x, pawl.CrashRepeat, promptTimeout, do))
}

// promptTimeout bounds the assembly of a prompt.
const promptTimeout = time.Minute

// feedback is what was objected to the last attempt, in the order of the gates.
func (l *Loop) feedback() []pawl.Feedback {
	if len(l.history) == 0 {
		return nil
	}
	a := &l.history[len(l.history)-1]
	var out []pawl.Feedback
	if a.stepFailed != "" {
		out = append(out, pawl.Feedback{From: "steps", Verdict: pawl.VerdictFail, Summary: cut(a.stepFailed, 120)})
	}
	for _, r := range a.results {
		if r.Verdict == pawl.VerdictPass || r.Verdict == pawl.VerdictSkip {
			continue
		}
		f := pawl.Feedback{From: r.Gate, Verdict: r.Verdict, Evidence: r.Evidence}
		if r.Evidence.IsZero() {
			f.Summary = cut(r.Reason, 120)
		}
		out = append(out, f)
	}
	return out
}

// lines tell the attempts so far.
func (l *Loop) lines() []string {
	var out []string
	for i := range l.history {
		out = append(out, l.history[i].line)
	}
	return out
}

// redAtBase names the gates that did not pass on the base.
func (s *State) redAtBase(l *Loop) []pawl.Input {
	var out []pawl.Input
	for i, b := range l.base {
		if b != nil && b.Verdict != pawl.VerdictPass && b.Verdict != pawl.VerdictSkip && !b.Evidence.IsZero() {
			out = append(out, pawl.Input{Name: fmt.Sprint(s.Settings.Gates[i].Name), Blob: b.Evidence})
		}
	}
	return out
}
