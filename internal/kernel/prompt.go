package kernel

import (
	"fmt"
	"time"

	"pawl"
)

// promptTimeout bounds the assembly of a prompt.
const promptTimeout = time.Minute

// Bounds of what a prompt is told, so that its request stays small.
const (
	maxFeedback  = 8
	maxRedAtBase = 6
	maxFocus     = 240 // bytes
)

// assemble requests what a session begins with. Every session is fresh: it is
// told the task, why the last attempt failed and what is known, and nothing of
// an earlier conversation.
func (d *draft) assemble(l *Loop, x *Session) {
	do := &pawl.AssemblePrompt{
		Goal: d.s.Started.Goal, Criteria: d.s.Started.Criteria,
		Commit: l.Head, Base: l.Base, Max: d.s.maxIterations(l),
		Inputs: append([]pawl.Input(nil), l.outputs...), History: l.lines(), RedAtBase: d.s.redAtBase(l),
	}
	switch x.Purpose {
	case pawl.ForStep:
		st := &l.Kind.Steps[x.Index]
		do.Template, do.Tools, do.Output = st.Prompt, st.Tools, st.Output
		do.Feedback = l.feedback()
		if x.Try > 1 {
			do.Feedback = append(do.Feedback, pawl.Feedback{From: st.Name, Verdict: pawl.VerdictFail,
				Summary: "the session before this one ran out of time; what it did is in the worktree"})
		}
		if !l.advice.IsZero() {
			do.Inputs = append(do.Inputs, pawl.Input{Name: "council", Blob: l.advice})
		}
	case pawl.ForReview:
		rv := l.Kind.Gates[x.Index].Review
		do.Template, do.Tools, do.Output = rv.Prompt, rv.Tools, rv.Output
		l.addChanged(do)
	case pawl.ForProposal:
		spec := l.Kind.Ladder.Council
		do.Template, do.Tools, do.Output = spec.Propose, spec.Tools, proposalOutput
		do.Feedback, do.Focus = l.feedback(), cut(spec.Lenses[x.Index].Focus, maxFocus)
		l.addChanged(do)
	case pawl.ForBallot:
		do.Template, do.Output, do.Feedback = l.Kind.Ladder.Council.Ballot, ballotOutput, l.feedback()
		do.Inputs = l.council.proposals()
	}
	d.request(l, d.effect(x, pawl.CrashRepeat, promptTimeout, do))
}

// addChanged lets a prompt list the paths the candidate changed.
func (l *Loop) addChanged(do *pawl.AssemblePrompt) {
	if l.candidate != nil && !l.candidate.Paths.IsZero() {
		do.Inputs = append(do.Inputs, pawl.Input{Name: "changed", Blob: l.candidate.Paths})
	}
}

// feedback is what was objected to the last attempt, in the order of the verdicts.
func (l *Loop) feedback() []pawl.Feedback {
	a := l.lastAttempt()
	if a == nil {
		return nil
	}
	var out []pawl.Feedback
	if a.stepFailed != "" {
		out = append(out, pawl.Feedback{From: "steps", Verdict: pawl.VerdictFail, Summary: cut(a.stepFailed, 120)})
	}
	for _, r := range a.results {
		if lets(r.Verdict) || len(out) == maxFeedback {
			continue
		}
		f := pawl.Feedback{From: r.Gate, Verdict: r.Verdict, Evidence: r.Evidence}
		if r.Evidence.IsZero() {
			f.Summary = r.Reason
		}
		out = append(out, f)
	}
	return out
}

// lines tell the attempts so far.
func (l *Loop) lines() []string {
	var out []string
	for i := range l.history {
		out = append(out, fmt.Sprintf("attempt %d: %s", l.history[i].n, l.history[i].line))
	}
	return out
}

// redAtBase names the gates that did not pass on the base.
func (s *State) redAtBase(l *Loop) []pawl.Input {
	var out []pawl.Input
	for i := range l.base {
		if b := &l.base[i]; b.red && !b.evidence.IsZero() && len(out) < maxRedAtBase {
			out = append(out, pawl.Input{Name: s.Settings.Gates[i].Name, Blob: b.evidence})
		}
	}
	return out
}
