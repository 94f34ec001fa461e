package kernel

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/verdict"
)

// merge is how far the loop is on its way into the parent's branch; nil = it is not on it.
func (l *Loop) merge() *land.Merge { return l.cand.Landing() }

// enqueue lets a loop whose work has passed wait for its turn, if it has
// anything to merge. It reports whether it waits.
func (d *draft) enqueue(l *Loop) bool {
	if l.Parent == 0 || l.cand.Total == 0 && !d.s.Loop(l.Parent).Kind.Children.Groups() {
		return false
	}
	by, threshold := d.s.consenting(d.s.Loop(l.Parent))
	sure := verdict.Confidence(l.verdicts(), l.Iteration == 1 && len(l.iter.routes) == 0, !l.left.RunFailed, l.Attempt == 1)
	if by == "confidence_threshold" && sure < threshold && !l.person.approved {
		d.ask(l, pawl.AskMerge, fmt.Sprintf("The checks are %d %% sure of %s, and %d %% are wanted. May it be merged?", sure, l.task.ID, threshold),
			l.cand.Paths, choiceApprove, choiceReject)
		return true
	}
	d.emit(l.Ref, &pawl.MergeQueued{Commit: l.cand.Commit, Confidence: sure})
	return true
}

// queued records that the loop waits for its turn to be merged.
func (l *Loop) queued(at pawl.Seq) error {
	if l.cand == nil {
		return fmt.Errorf("nothing of loop %d can be merged", l.Ref)
	}
	l.cand.Merge = &land.Merge{Queued: at}
	return nil
}

// turn reports whether the loop is the first in its parent's queue.
func (s *State) turn(l *Loop) bool {
	for _, ref := range s.Loop(l.Parent).gen.plan.Kids {
		if m := s.Loop(ref).merge(); m != nil && !m.Done && m.Queued < l.cand.Merge.Queued {
			return false
		}
	}
	return true
}

// mergeOn takes a loop in the queue one step further: one merge at a time is
// made outside any worktree, judged again if the parent's branch has moved, and
// becomes that branch's head. It reports whether the branch has moved.
func (d *draft) mergeOn(l *Loop) bool {
	m, p := l.cand.Merge, d.s.Loop(l.Parent)
	switch {
	case m.Done:
		return true
	case p.Kind.Children.Groups(): // its batch is merged, or it is told why not
		if r := l.cand.Refusal(pawl.JudgeMerge); r != nil {
			d.conflicted(l, max(r.Total, 1))
		} else if l.objected() {
			d.conclude(l)
		} else if d.s.leftOut(l) { // a fork may begin before it was told
			d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeBatch, Gate: batchGate + land.ByReview, Verdict: pawl.VerdictRevise, Reason: "it was left out of its batch", Error: brief.Fingerprint("left out")})
		}
	case len(l.open) > 0 || !d.s.turn(l):
	case m.Made == nil || m.Onto != p.Head:
		d.onWorktree(l, "merge", pawl.CrashRepeat, &pawl.Merge{Ours: p.Head, Theirs: l.cand.Commit,
			Message: fmt.Sprintf("pawl %s: %s\n\n%s", d.s.Run, l.task.ID, brief.Cut(l.task.Title, 120)), Time: d.at})
	case m.Made.Conflicts > 0:
		d.conflicted(l, m.Made.Conflicts)
	case m.Regate && !d.regate(l):
	case m.Regate && l.objected():
		d.conclude(l)
	default:
		d.onWorktree(l, "merge", pawl.CrashProbe, &pawl.AdvanceBranch{Branch: d.s.branch(p), From: p.Head, To: m.Made.Commit})
	}
	return false
}

// regate lets the commands judge the merge commit, and reports whether they have.
func (d *draft) regate(l *Loop) bool {
	all := true
	for i := range l.stages() {
		st := l.stage(i)
		switch {
		case l.skips(st.When):
		case validates(st):
			all = d.validate(l, i) && all
		case len(st.Commands) > 0:
			all = d.judgeCommands(l, st) && all
		}
	}
	return all
}

// objected reports whether a gate lets the candidate not pass.
func (l *Loop) objected() bool { return verdict.Object(l.verdicts()) }

// conflicted ends an attempt that conflicts with what was merged in the meantime.
func (d *draft) conflicted(l *Loop, paths int) {
	what := "one path conflicts"
	if paths > 1 {
		what = fmt.Sprintf("%d paths conflict", paths)
	}
	j := l.judgement()
	j.StepFailed, j.Conflict = "merge: "+what+" with what was merged in the meantime", true
	d.end(l, j)
}

// branch is the branch of a loop's work.
func (s *State) branch(l *Loop) string {
	if l.branch != "" {
		return l.branch
	}
	return s.Started.Branch
}

// rebaseStep is the place of what brings a loop onto its parent's head.
const rebaseStep = "rebase"

// onHead brings a loop that is between two attempts onto its parent's head, and
// reports whether it is there. Where the two conflict, the files hold conflict
// markers: to resolve them is the next attempt's work. What cannot hold markers is as
// the parent has it, so that nothing that was merged is lost.
func (d *draft) onHead(l *Loop) bool {
	if l.Parent == 0 || l.Iteration == 0 {
		return true
	}
	p, m := d.s.Loop(l.Parent), l.upstream.rebase
	switch {
	case l.Base == p.Head && m == nil, !l.upstream.suspect.IsZero() && m == nil: // one conflict is resolved before the next is looked for
		return true
	case len(l.open) > 0:
	case m == nil || m.Made == nil:
		d.onWorktree(l, rebaseStep, pawl.CrashRepeat, &pawl.Merge{Ours: p.Head, Theirs: l.Head,
			Message: fmt.Sprintf("pawl %s: %s on the work of others", d.s.Run, l.task.ID), Time: d.at})
	default:
		d.onWorktree(l, rebaseStep, pawl.CrashProbe, &pawl.ResetWorkspace{Commit: m.Made.Commit, Salvage: d.salvage("rebase")})
	}
	return false
}

// unmarked looks whether a candidate still holds the conflict markers that a
// rebase left, and reports whether it was seen to be free of them.
func (d *draft) unmarked(l *Loop) bool {
	switch {
	case l.upstream.suspect.IsZero() || l.cand.Checked:
		return true
	case len(l.open) == 0:
		d.onWorktree(l, "conflict", pawl.CrashRepeat, &pawl.Merge{Ours: d.s.Loop(l.Parent).Head, Theirs: l.cand.Commit,
			Message: "pawl: probe", Time: d.at, Suspect: l.upstream.suspect})
	}
	return false
}

// maxProbed is with how many siblings a candidate is compared.
const maxProbed = 8

// probeSiblings compares a new candidate with those of siblings at work, so that
// both hear of a conflict before both are done.
func (d *draft) probeSiblings(l *Loop) {
	if l.Parent == 0 || l.cand == nil || l.cand.Probed || l.cand.Effect == 0 || l.wants(pawl.VerbProbeConflicts) {
		return
	}
	if d.s.Loop(l.Parent).Kind.Children.Land == pawl.LandBest { // only one of them lands
		return
	}
	do := &pawl.ProbeConflicts{Commit: l.cand.Commit}
	for _, ref := range d.s.Loop(l.Parent).gen.plan.Kids {
		o := d.s.Loop(ref)
		if ref != l.Ref && o.cand != nil && o.cand.Total > 0 && len(do.Others) < maxProbed {
			do.Others = append(do.Others, pawl.Sibling{Loop: ref, Task: o.task.ID, Commit: o.cand.Commit})
		}
	}
	if len(do.Others) > 0 {
		d.onWorktree(l, "probe", pawl.CrashRepeat, do)
	}
}

// wants reports whether an effect of this kind is under way.
func (l *Loop) wants(v pawl.Verb) bool {
	return slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return f.Do.Verb() == v })
}

// merged takes over a merge commit.
func (s *State) merged(l *Loop, do *pawl.Merge, b *pawl.Merged) error {
	switch m := l.merge(); {
	case l.gen.batch != nil:
		s.linked(l, do, b)
	case l.gen.Back != nil: // of what is no more
	case !do.Suspect.IsZero():
		if l.cand == nil {
			return fmt.Errorf("a look for conflict markers without a candidate")
		}
		l.cand.Checked = true
		if l.cand.Unresolved = b.Unresolved; b.Unresolved == 0 {
			l.upstream.suspect = pawl.Hash{}
		}
	case m != nil:
		m.Made, m.Onto = b, do.Ours
		m.Regate = b.Conflicts == 0 && b.Tree != l.cand.Tree
		if m.Regate { // reviews judged the task's own change, which is the same
			l.cand.Rejudge(func(r *pawl.GateJudged) bool { return r.Kind != "" })
		}
		if b.Conflicts > 0 {
			l.upstream.hunks = b.Hunks
		}
	default:
		l.upstream.rebase = &land.Merge{Onto: do.Ours, Made: b}
	}
	return nil
}

// rebased takes over that the worktree is on the parent's head.
func (l *Loop) rebased() {
	m := l.upstream.rebase
	l.Base, l.upstream.rebase, l.upstream.probe = m.Onto, nil, pawl.Hash{}
	if m.Made.Conflicts > 0 {
		l.upstream.hunks, l.upstream.suspect = m.Made.Hunks, m.Made.Paths
	}
}

// advanced takes over that the parent's branch has the loop's work.
func (s *State) advanced(l *Loop, b *pawl.BranchAdvanced) error {
	if l.gen.plan != nil && l.Kind.Children.Groups() && l.merge() == nil {
		s.movedOn(l, b)
		return nil
	}
	p := s.Loop(l.Parent)
	m := l.merge()
	if p == nil || m == nil || m.Made == nil {
		return fmt.Errorf("loop %d has nothing to merge", l.Ref)
	}
	m.Done = true
	p.Head, p.ahead = b.Commit, true
	p.moved(&pawl.Committed{Commit: b.Commit, Tree: m.Made.Tree, Total: 1})
	p.cand.Checked = false
	return nil
}
