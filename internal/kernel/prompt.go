package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/verdict"
)

// promptTimeout bounds the assembly of a prompt.
const promptTimeout = time.Minute

// Bounds of what a prompt contains, so that its request stays small.
const (
	maxFeedback  = 8
	maxRedAtBase = 6
	maxFocus     = 240 // bytes
)

// assemble requests the prompt that a session begins with. Every session is fresh: it gets the
// task, why the last attempt failed and what is known, and nothing of an earlier conversation.
func (d *draft) assemble(l *Loop, x *session.Session) {
	do := &pawl.AssemblePrompt{
		Goal: d.s.Started.Goal, Criteria: d.s.Started.Criteria,
		Commit: l.Head, Base: l.Base, Max: d.s.maxIterations(l),
		Inputs: append([]pawl.Input(nil), l.left.Outputs...), History: l.lines(), RedAtBase: d.s.redAtBase(l),
		Task: l.task.Spec, Answers: l.person.answers,
	}
	d.s.addPlan(l, do)
	d.s.addContext(l, do)
	l.addGiven(do)
	if st := l.stepOf(x); st != nil {
		do.Template, do.Tools, do.Output, do.Memory = st.Prompt, d.s.offered(st.Tools), st.Output, st.Memory
		if st.Check != nil {
			do.Signs = d.s.Started.Signs
		}
	}
	switch x.Purpose {
	case pawl.ForReplan:
		p := l.gen.plan
		do.Template, do.Cause = l.Kind.Children.Replan.Prompt, brief.Cut(string(p.Calling)+strings.TrimSuffix(": "+p.Why, ": "), 300)
		do.Inputs, do.RedAtBase, do.Feedback = contextOf(l), nil, d.s.planErrors(l)
		do.Tried = p.Calling == pawl.ReplanHealth
		do.Memory, do.Bare = &pawl.Memory{Select: "all", MaxTokens: replanMemory}, l.Kind.Children.Replan.Bare
	case pawl.ForExtract:
		l.addChanged(do)
		do.Feedback = objectionsTo(l.verdicts())
	case pawl.ForStep:
		st := l.flow.Steps[x.Index]
		do.Remind = !l.task.Spec.IsZero() && !st.NoReminder
		do.Feedback = append(l.feedback(), l.inbox.Hints()...)
		if x.Try > 1 {
			do.Feedback = append(do.Feedback, pawl.Feedback{From: st.Name, Verdict: pawl.VerdictFail,
				Summary: "the session before this one ran out of time; what it did is in the worktree"})
		}
		if !l.iter.salvaged.IsZero() {
			do.Feedback = append(do.Feedback, pawl.Feedback{From: "interrupted session", Verdict: pawl.VerdictFail,
				Summary: "it was cut off, and what it had changed is not in the worktree", Evidence: l.iter.salvaged})
		}
		if x.Item > 0 {
			e := l.entriesOf(x.Index)[x.Item-1]
			do.Item, do.ItemOf, do.ItemField = e.N, e.Blob, e.Field
		}
		if !l.ladder.Advice.IsZero() {
			do.Inputs = append(do.Inputs, pawl.Input{Name: "council", Blob: l.ladder.Advice})
		}
	case pawl.ForReview:
		rv := l.stage(x.Index).Review
		do.Template, do.Tools, do.Output, do.Memory = rv.Prompt, rv.Tools, rv.Output, rv.Memory
		l.addChanged(do)
		l.addSecondLook(do, l.stage(x.Index).Name)
		d.s.addEvidence(l, do)
	case pawl.ForBatch:
		rv := l.Kind.Children.Judge
		do.Template, do.Tools, do.Output, do.Memory = rv.Prompt, rv.Tools, rv.Output, rv.Memory
		d.s.addBatch(l, do)
	case pawl.ForProposal:
		spec := l.Kind.Ladder.Council
		do.Template, do.Tools, do.Output = spec.Propose, spec.Tools, proposalOutput
		do.Feedback, do.Focus = l.feedback(), brief.Cut(spec.Lenses[x.Index].Focus, maxFocus)
		l.addChanged(do)
	case pawl.ForBallot:
		do.Template, do.Output, do.Feedback = l.Kind.Ladder.Council.Ballot, ballotOutput, l.feedback()
		do.Inputs = l.ladder.Council.Proposals()
	}
	d.requestEffect(l, d.effect(x, pawl.CrashRepeat, promptTimeout, do))
}

// addContext adds what was gathered for the batch to the prompts of its loops, and the batches'
// health to the prompt of a session that gathers because of it.
func (s *State) addContext(l *Loop, do *pawl.AssemblePrompt) {
	if p := s.Loop(l.Parent); p != nil && p.Kind.Children.Groups() {
		do.Inputs = append(do.Inputs, contextOf(p)...)
	}
	if p := l.gen.plan; p != nil && len(l.gen.Recover) > 0 && l.gen.Recover[0] == pawl.RecoverGather {
		do.Cause, do.Tried = brief.Cut(fmt.Sprintf("the batches are %s: %s", l.gen.Health, l.gen.Evidence), 300), true
	}
}

// addGiven adds the list that the user gave, in place of the output of the step that makes one.
func (l *Loop) addGiven(do *pawl.AssemblePrompt) {
	if !l.isGiven() {
		return
	}
	for _, st := range l.flow.Steps {
		name := flow.OutputName(st)
		if st.Name == l.Kind.Children.From && !slices.ContainsFunc(do.Inputs, func(in pawl.Input) bool { return in.Name == name }) {
			do.Inputs = append(do.Inputs, pawl.Input{Name: name, Blob: l.givenList})
		}
	}
}

// contextOf returns the last context that was gathered for a loop's children, if there is any.
func contextOf(l *Loop) []pawl.Input {
	for _, in := range slices.Backward(l.left.Outputs) {
		if in.Name == "context" {
			return []pawl.Input{in}
		}
	}
	return nil
}

// replanMemory bounds the tokens of the memory that a session gets to make a new plan.
const replanMemory = 4000

// planErrors returns what a new plan must do better: what a person wants of it, what the gates object
// to the loop's own work, and why tasks failed, those that are tried again last. L-67 calls them errors.
func (s *State) planErrors(l *Loop) []pawl.Feedback {
	p := l.gen.plan
	var out []pawl.Feedback
	if p.Calling == pawl.ReplanUser && p.Why != "" {
		out = append(out, pawl.Feedback{From: "request", Verdict: pawl.VerdictRevise, Summary: brief.Cut(p.Why, 300)})
	}
	if r := l.lastAnswerTo(pawl.AskReplan); r != nil && r.text != "" {
		out = append(out, pawl.Feedback{From: "answer", Verdict: pawl.VerdictRevise, Summary: r.text})
	}
	if a := l.lastAttempt(); a != nil && a.Failed {
		out = append(out, objectionsTo(a.Results)...)
	}
	of := func(task string, why []pawl.Feedback) {
		for _, f := range why {
			f.From = brief.Cut(task+"/"+f.From, 60)
			out = append(out, f)
		}
	}
	for _, f := range p.Errors {
		of(f.Task, []pawl.Feedback{f.Feedback})
	}
	for _, ref := range p.Kids {
		of(s.Loop(ref).task.ID, s.Loop(ref).errors(""))
	}
	return out[:min(len(out), maxFeedback)]
}

// addPlan adds the tasks of the loop's plan and their states to a prompt. As long as the loop has
// no plan, it adds those of the plan that the loop is part of.
func (s *State) addPlan(l *Loop, do *pawl.AssemblePrompt) {
	p := l.gen.plan
	if parent := s.Loop(l.Parent); parent != nil {
		p = cmp.Or(p, parent.gen.plan)
		do.Number, do.Count = l.slot.entry+1, len(parent.gen.plan.Entries)
	}
	if p != nil {
		do.Plan, do.States = p.List, p.States()
	}
}

// addChanged adds the paths that the candidate changed to a prompt.
func (l *Loop) addChanged(do *pawl.AssemblePrompt) {
	if l.cand != nil && !l.cand.Paths.IsZero() {
		do.Inputs = append(do.Inputs, pawl.Input{Name: "changed", Blob: l.cand.Paths})
	}
}

// addSecondLook adds to a reviewer's prompt what was objected to the same tree, and what the author
// says to that, if it is its second look.
func (l *Loop) addSecondLook(do *pawl.AssemblePrompt, gate string) {
	a := l.lastAttempt()
	if a == nil || !l.looksAgain(gate) {
		return
	}
	for _, f := range objectionsTo(a.Results) {
		if f.From == gate {
			do.Second = &f
		}
	}
	if n := len(l.left.Outputs); n > 0 {
		do.Reply = l.left.Outputs[n-1].Blob
	}
}

// feedback returns what was objected to the last attempt: first what came from people, the monitor,
// merges and siblings, then the verdicts in their order.
func (l *Loop) feedback() []pawl.Feedback {
	var out []pawl.Feedback
	if w := l.person.wish; w != nil {
		f := pawl.Feedback{From: fmt.Sprintf("%s %d", fromUser, w.n), Verdict: pawl.VerdictRevise, Evidence: w.said}
		if w.said.IsZero() {
			f.Summary = brief.Cut(cmp.Or(w.by, "a person")+" wants another iteration", 120)
		}
		out = append(out, f)
	}
	if r := l.gen.ratchet; r != nil && r.returned != "" {
		out = append(out, pawl.Feedback{From: "monitor", Verdict: pawl.VerdictRetry, Summary: brief.Cut(r.returned, 120)})
	}
	if !l.upstream.hunks.IsZero() {
		out = append(out, pawl.Feedback{From: "merge", Verdict: pawl.VerdictFail, Evidence: l.upstream.hunks})
	}
	if !l.upstream.probe.IsZero() {
		out = append(out, pawl.Feedback{From: "siblings", Verdict: pawl.VerdictRevise, Evidence: l.upstream.probe})
	}
	if len(l.iter.objections) > 0 {
		return append(out, objectionsTo(l.iter.objections)...)
	}
	a := l.lastAttempt()
	if a == nil {
		return out
	}
	said := l.person.wish != nil && l.person.wish.n == a.N   // by the person who rejected its plan
	if a.StepFailed != "" && len(a.Children) == 0 && !said { // the children's own feedback says it
		out = append(out, pawl.Feedback{From: "steps", Verdict: pawl.VerdictFail, Summary: brief.Cut(a.StepFailed, 120)})
	}
	out = append(append(out, a.Children...), objectionsTo(a.Results)...)
	if a.Mends { // what is still red is what is left to do
		for _, r := range a.Results {
			if r.RedAtBase && !r.Evidence.IsZero() {
				out = append(out, pawl.Feedback{From: r.Gate, Verdict: pawl.VerdictFail, Evidence: r.Evidence})
			}
		}
	}
	if a.Passed {
		out = append(out, pawl.Feedback{From: gateGoal, Verdict: pawl.VerdictRevise,
			Summary: "it passes, and no test shows the goal: add one that fails without the change, or say why there can be none"})
	}
	return out
}

// fromUser, followed by the number of the iteration that a person had seen, is the source of the
// person's wish for another one.
const fromUser = "user"

// objectionsTo returns the verdicts that do not pass, as feedback.
func objectionsTo(results []*pawl.GateJudged) []pawl.Feedback {
	var out []pawl.Feedback
	for _, r := range results {
		if verdict.Passes(r.Verdict) || len(out) == maxFeedback {
			continue
		}
		f := pawl.Feedback{From: r.Gate, Verdict: r.Verdict, Evidence: cmp.Or(r.Unanswered, r.Evidence), Findings: r.Findings}
		if f.Evidence.IsZero() {
			f.Summary = brief.Cut(r.Reason, 120)
		}
		out = append(out, f)
	}
	return out
}

// lines returns a line for each earlier attempt.
func (l *Loop) lines() []string {
	var out []string
	for i := range l.ladder.History {
		out = append(out, fmt.Sprintf("attempt %d: %s", l.ladder.History[i].N, l.ladder.History[i].Line))
	}
	return out
}

// redAtBase returns the evidence of the gates that did not pass on the base, by their names.
func (s *State) redAtBase(l *Loop) []pawl.Input {
	var out []pawl.Input
	for i := range l.base {
		if b := &l.base[i]; b.red && !b.evidence.IsZero() && s.Settings.Gates[i].Kind != pawl.GateHeldOut && len(out) < maxRedAtBase {
			out = append(out, pawl.Input{Name: s.Settings.Gates[i].Name, Blob: b.evidence})
		}
	}
	return out
}
