package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/verdict"
)

// A landing brings the work of one or several children into the branch of their parent: it chains
// merge commits, has the gates and a judge look at them, leaves out what they refuse, and moves the
// branch. A child that lands alone has its own landing; that of a group belongs to the parent.

// merge returns the loop's place in the parent's merge queue, or nil if it is not in the queue.
func (l *Loop) merge() *land.Entry { return l.cand.Landing() }

// landing returns the landing that the loop carries out, of its own work or of its children's, and
// the loop whose branch moves. A nil batch means that there is none.
func (s *State) landing(l *Loop) (p *Loop, b *land.Batch) {
	if m := l.merge(); m != nil && m.Alone != nil {
		return s.Loop(l.Parent), m.Alone
	}
	return l, l.gen.batch
}

// enqueue puts a loop whose work has passed into the merge queue, if it has anything to merge, or
// asks a person first. It reports whether the loop has to wait.
func (d *draft) enqueue(l *Loop) bool {
	if l.Parent == 0 || l.cand.Total == 0 && !d.s.Loop(l.Parent).Kind.Children.Groups() {
		return false
	}
	by, threshold := d.s.approvalMode(d.s.Loop(l.Parent))
	sure, why := verdict.Confidence(l.verdicts(), l.Iteration == 1 && len(l.iter.routes) == 0, !l.left.RunFailed, l.Attempt == 1)
	if by == "confidence_threshold" && sure < threshold && !l.person.approved {
		d.ask(l, pawl.AskMerge, fmt.Sprintf("Confidence in task %s is %d%%, because %s; %d%% is required. May it be merged?", l.task.ID, sure, strings.Join(why, " and "), threshold),
			l.cand.Paths, option{choiceApprove, "it is merged as it is, unless it conflicts with what was merged meanwhile"},
			option{choiceReject, "it is not merged; " + d.s.ifFails(l, "the next attempt continues from its work and gets your words")})
		return true
	}
	d.emit(l.Ref, &pawl.MergeQueued{Commit: l.cand.Commit, Confidence: sure})
	return true
}

// joinMergeQueue records that the loop has joined the merge queue.
func (s *State) joinMergeQueue(l *Loop, at pawl.Seq) error {
	if l.cand == nil || l.Parent == 0 {
		return fmt.Errorf("loop %d has nothing that can be merged", l.Ref)
	}
	l.cand.Merge = land.Enter(at, l.slot.entry, !s.Loop(l.Parent).Kind.Children.Groups())
	return nil
}

// turn reports whether the loop is the first in its parent's queue.
func (s *State) turn(l *Loop) bool {
	for _, ref := range s.Loop(l.Parent).gen.plan.Kids {
		if m := s.Loop(ref).merge(); m != nil && !m.Done && m.Since < l.cand.Merge.Since {
			return false
		}
	}
	return true
}

// makesWay reports whether a loop without children has to wait until other work has come up to the branch that
// both go into. Otherwise the two would only meet when it is too late to resolve a conflict where it was made.
func (s *State) makesWay(l *Loop) bool {
	if l.Kind.Children != nil {
		return false
	}
	p := s.Loop(l.Parent)
	for end := s.onto(p); p != end; p = s.Loop(p.Parent) {
		for _, ref := range s.Loop(p.Parent).gen.plan.Kids {
			if k := s.Loop(ref); k != p && (k.merge() != nil && !k.isHeld() || s.isOnItsWay(k, l.cand.Merge.Since)) {
				return true
			}
		}
	}
	return false
}

// landQueued lets loops land that no longer have to make way, and reports whether one does.
func (d *draft) landQueued() bool {
	before := len(d.events)
	for o := range d.s.each {
		if o.Parent > 1 && o.Phase == PhaseGates && o.merge() != nil && o.merge().Alone != nil && len(o.open) == 0 {
			d.advance(o.Ref)
		}
	}
	return len(d.events) > before
}

// isHeld reports whether a person or a signal keeps the loop from continuing.
func (l *Loop) isHeld() bool { return l.inbox.Held || l.person.question != nil }

// isOnItsWay reports whether the work of a loop is complete: it waits in a merge queue, one without children
// only if it did so before an event; or its children have passed, or are on their way.
func (s *State) isOnItsWay(k *Loop, since pawl.Seq) bool {
	m, p := k.merge(), k.gen.plan
	switch {
	case m.IsDone(), k.Phase == PhaseClosing && k.Outcome.Succeeded(): // it only has to end
		return true
	case k.Phase != PhaseGates || k.isHeld():
		return false
	case m != nil:
		return m.Since < since || k.Kind.Children != nil
	case p == nil || !k.gen.planned:
		return false
	}
	done := p.Count[pawl.TaskPassed] + p.Count[pawl.TaskDropped]
	for _, ref := range p.Kids {
		if s.isOnItsWay(s.Loop(ref), since) {
			done++
		}
	}
	return done == len(p.Entries)
}

// mergeOn takes a loop in the merge queue one step further, and reports whether the parent's branch
// has its work.
func (d *draft) mergeOn(l *Loop) bool {
	m, clash := l.cand.Merge, l.cand.Refusal(pawl.JudgeMerge)
	switch {
	case m.Done:
		return true
	case m.Alone != nil:
		if d.s.turn(l) && !d.s.makesWay(l) {
			d.land(l)
		}
	case clash != nil:
		d.conflicted(l, max(clash.Total, 1))
	case l.objected():
		d.conclude(l)
	case d.s.isRejected(l): // a fork may begin between the batch's verdict and the loop's
		d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeBatch, Gate: batchGate + land.ByReview, Verdict: pawl.VerdictRevise, Reason: "it was left out of its batch", Error: brief.Fingerprint("left out")})
	}
	return false
}

// land takes a landing one step further. The merge commits are chained in list order, outside any
// worktree. A member that conflicts or makes the gates red is left out, and the rest is judged
// again. Land reports whether nothing is left to land.
func (d *draft) land(l *Loop) bool {
	p, b := d.s.landing(l)
	next := b.Next(func(m *land.Member) bool {
		return p != l || d.s.isQueued(p, m) && (b.Land != pawl.LandBest || m.Verdict == pawl.VerdictPass)
	})
	switch {
	case len(l.open) > 0 && len(l.sessions) == 0:
	case b.IsStale(d.s.landsOn(l, p)):
		d.link(l, b.First())
	case b.Clash != nil && p != l:
		d.conflicted(l, b.Clash.Conflicts)
	case b.Clash != nil:
		d.reject(l, b.Clashed, objection{by: "merge", reason: "it conflicts with other work of the batch, or with what was merged before", evidence: b.Clash.Hunks, paths: b.Clash.Conflicts})
	case b.Culprit != nil:
		by := &b.Culprit.By
		d.reject(l, b.Culprit.Member, objection{by: by.Gate, reason: cmp.Or(by.Reason, string(by.Verdict)), evidence: by.Evidence})
	case next >= 0:
		d.link(l, next)
	case len(b.Chain) == 0:
		return true
	case b.Green || p == l && len(d.s.batchGates(l)) == 0:
		d.judgeLanding(l)
	case p == l:
		d.gateBatch(l)
	default:
		d.gateAlone(l)
	}
	return false
}

// gateAlone has the child's own gates judge the merge commit of its work.
func (d *draft) gateAlone(l *Loop) {
	if !d.regate(l) {
		return
	}
	if l.objected() {
		d.conclude(l)
		return
	}
	d.moveBranch(l)
}

// judgeLanding has a group's judge look at what the gates let pass, and moves the branch when all
// of it is approved.
func (d *draft) judgeLanding(l *Loop) {
	if b := l.gen.batch; b != nil && len(b.Undecided()) > 0 {
		if l.Kind.Children.Judge != nil {
			d.reviewBatch(l)
			return
		}
		d.approve(l)
	}
	d.moveBranch(d.s.Loop(l.Ref))
}

// moveBranch requests that a landing's branch be moved to the subject.
func (d *draft) moveBranch(l *Loop) {
	p, b := d.s.landing(l)
	d.onWorktree(l, "merge", pawl.CrashProbe, &pawl.AdvanceBranch{Branch: d.s.branch(p), From: p.Head, To: b.Subject()})
}

// link requests the merge commit of a member's work on top of the chain so far.
func (d *draft) link(l *Loop, i int) {
	p, b := d.s.landing(l)
	k := d.s.member(l, p, &b.Members[i])
	d.onWorktree(l, "merge", pawl.CrashRepeat, &pawl.Merge{Ours: b.Tip(d.s.landsOn(l, p)), Theirs: k.cand.Commit,
		Message: fmt.Sprintf("pawl %s: %s\n\n%s", d.s.Run, k.task.ID, brief.Cut(k.task.Title, 120)), Time: d.at})
}

// landsOn returns the commit that a landing which l carries into the branch of p begins on.
func (s *State) landsOn(l, p *Loop) pawl.CommitHash {
	if p == l {
		return p.Head
	}
	return s.onto(p).Head
}

// regate has the gates judge the merge commit, and reports whether all of them have.
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

// objected reports whether a gate objects to the candidate.
func (l *Loop) objected() bool { return verdict.Object(l.verdicts()) }

// conflicted ends an attempt whose work conflicts with what was merged in the meantime.
func (d *draft) conflicted(l *Loop, paths int) {
	what := "one path conflicts"
	if paths > 1 {
		what = fmt.Sprintf("%d paths conflict", paths)
	}
	with := "what was merged in the meantime"
	if d.s.Loop(l.Parent).Kind.Children.Land == pawl.LandAll {
		with = "other work of its group"
	}
	j := l.judgement()
	j.StepFailed, j.Conflict = "merge: "+what+" with "+with, true
	d.concludeIteration(l, j)
}

// branch returns the name of a loop's branch.
func (s *State) branch(l *Loop) string {
	if l.branch != "" {
		return l.branch
	}
	return s.Started.WorkRef()
}

// member returns the loop of a member of the landing that l carries into the branch of p.
func (s *State) member(l, p *Loop, m *land.Member) *Loop {
	if p != l {
		return l
	}
	return s.Loop(p.gen.plan.At(m.Task).Loop)
}

// merged records a merge commit: of a landing, of a rebase, or of the search for conflict markers.
func (s *State) merged(l *Loop, do *pawl.Merge, b *pawl.Merged) error {
	_, landing := s.landing(l)
	switch {
	case l.gen.Back != nil && landing == nil && l.ratchets():
		l.gen.Back.Merged = b
	case l.gen.Back != nil && landing == nil: // a rollback has dropped the batch
	case !do.Suspect.IsZero():
		if l.cand == nil {
			return fmt.Errorf("a look for conflict markers without a candidate")
		}
		l.cand.Checked = true
		if l.cand.Unresolved = b.Unresolved; b.Unresolved == 0 {
			l.upstream.suspect = pawl.Hash{}
		}
	case landing != nil:
		s.linked(l, do, b)
	default:
		l.upstream.rebase = &land.Rebase{Onto: do.Ours, Made: b}
	}
	return nil
}

// linked records a merge commit of a landing.
func (s *State) linked(l *Loop, do *pawl.Merge, made *pawl.Merged) {
	p, b := s.landing(l)
	i := slices.IndexFunc(b.Members, func(m land.Member) bool {
		k := s.member(l, p, &m)
		return (k == l || p.gen.plan.At(m.Task).Status == pawl.TaskRunning) && k.cand != nil && k.cand.Commit == do.Theirs
	})
	if i < 0 { // its loop may have ended
		return
	}
	if p != l || do.Ours == p.Head {
		b.Begin(do.Ours)
	}
	switch another := b.Link(i, made); {
	case p == l && another:
		l.cand.Again()
	case p == l:
	case !another:
		l.upstream.hunks = made.Hunks
	case made.Tree == l.cand.Tree: // the same tree was judged before
		b.Green = true
	default: // reviews judged the task's own change, which is still the same
		l.cand.Rejudge(func(r *pawl.GateJudged) bool { return r.Kind != "" })
	}
}

// advanced records that a branch has moved to the subject of a landing.
func (s *State) advanced(l *Loop, a *pawl.BranchAdvanced) error {
	p, b := s.landing(l)
	if p.Kind.Children == nil || p.gen.plan == nil || b == nil && !p.Kind.Children.Groups() || b != nil && len(b.Chain) == 0 {
		return fmt.Errorf("loop %d has nothing to merge", l.Ref)
	}
	if s.onto(p) != p {
		p.Base = b.Onto
	}
	p.Head, p.worktreeBehind = a.Commit, true
	if b == nil { // a rollback was called meanwhile
		return nil
	}
	b.Moved = true
	tree := b.Chain[len(b.Chain)-1].Made.Tree
	p.recordBranchMoved(&pawl.Committed{Commit: a.Commit, Tree: tree, Total: 1})
	p.cand.Checked = false
	s.landedIn(p, l, b)
	for i := range b.Members {
		if m := &b.Members[i]; m.In && m.Verdict == pawl.VerdictPass {
			k := s.member(l, p, m)
			if k.cand.Merge.Done = true; p == l {
				p.gen.childLists = append(slices.Clip(p.gen.childLists), k.left.Lists...)
			}
		}
	}
	if p == l {
		p.gen.Tree = tree
		s.reported(p, b.Results)
	}
	return nil
}
