package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/verdict"
)

// A loop without children remembers the best of its attempts that the gates judged in full. The
// monitor looks at its attempts as it does at batches, and the recipe says what follows. A run that
// does not end well ends on the best state, not on the last one.

// ratchets reports whether the loop does its work itself. Other loops need no ratchet: what is in
// their branch was judged when it got there.
func (l *Loop) ratchets() bool { return l.Kind.Children == nil }

// ratchet is what a loop keeps of its own attempts.
type ratchet struct {
	history  []monitor.Attempt // the latest, oldest first
	since    int32             // the last attempt that led to a recovery; 0 = none did
	said     int32             // the attempt after which the health was said last
	broke    []string          // the names of the tests that the last one broke
	best     land.Verified     // the best of all attempts
	attempts []attempt         // of the root loop, the latest that were committed, oldest first
	returned string            // why the work went back to best, for the next attempt; empty = it did not
}

// attempt is one that a person can take the loop back to, with what the gates said of it; gates is 0 if it was not
// judged in full.
type attempt struct {
	n, passing, gates, criteria int32
	commit                      pawl.CommitHash
}

// best returns the best state that the loop's attempts led to; zero = there is none.
func (l *Loop) best() *land.Verified {
	if l.gen.ratchet == nil {
		return &land.Verified{}
	}
	return &l.gen.ratchet.best
}

// noteOwn records what the monitor needs of an attempt that has ended, and its state if that is the
// best so far.
func (s *State) noteOwn(l *Loop, b *pawl.IterationEnded) { l.gen.ratchet = s.ratchetAfter(l, b) }

// ratchetAfter returns what the loop keeps of its attempts when one has ended.
func (s *State) ratchetAfter(l *Loop, b *pawl.IterationEnded) *ratchet {
	m := land.Member{}
	m.Note(l.verdicts(), l.committed(), b.Error)
	f := &m.Facts
	at := monitor.Attempt{N: int32(b.N), Passed: passes(b), Passing: int32(f.Passing), Failed: int32(f.Failed), //nolint:gosec // numbers of tests
		Error: f.Error, Failing: f.Failing, Tree: f.Tree, Hunks: f.Hunks}
	r := &ratchet{best: s.bestAfter(l, b.N)}
	for _, v := range l.verdicts() {
		r.broke = append(r.broke, v.Broke...)
	}
	for _, name := range r.broke {
		at.Broke = append(at.Broke, brief.Fingerprint(name))
	}
	r.attempts = s.attemptsAfter(l, b.N)
	if old := l.gen.ratchet; old != nil {
		r.history, r.since = old.history[max(0, len(old.history)-ladder.Kept+1):], old.since
		r.said = old.said
	}
	r.history = append(slices.Clone(r.history), at)
	return r
}

// recovers reports whether the end of an attempt would change what the monitor says of the attempts to
// something that the recipe reacts to.
func (s *State) recovers(l *Loop, b *pawl.IterationEnded) bool {
	if !l.ratchets() || l.gen.Back != nil {
		return false
	}
	health := l.judgeRatchet(s, s.ratchetAfter(l, b)).Health
	return l.isNews(health) && len(l.Kind.Monitor[string(health)]) > 0
}

// keptAttempts bounds the attempts that a person can take the loop back to.
const keptAttempts = 20

// attemptsAfter returns the loop's committed attempts up to the iteration that ends.
func (s *State) attemptsAfter(l *Loop, iteration int) []attempt {
	var all []attempt
	if l.gen.ratchet != nil {
		all = l.gen.ratchet.attempts
	}
	c := l.committed()
	if c == nil || l.Parent != 0 { // a child is not taken back by itself
		return all
	}
	v := land.VerifiedOf(iteration, c, l.verdicts(), s.gateIndex)
	a := attempt{n: int32(iteration), commit: c.Commit, passing: int32(v.Passing), gates: int32(v.Gates), criteria: int32(v.Criteria)} //nolint:gosec // small numbers
	return append(slices.Clone(all[max(0, len(all)-keptAttempts+1):]), a)
}

// attempt returns the state of the loop's committed attempt of this number, or nil.
func (l *Loop) attempt(n int) *land.Verified {
	if l.gen.ratchet == nil {
		return nil
	}
	for _, a := range l.gen.ratchet.attempts {
		if int(a.n) == n {
			return &land.Verified{N: n, Commit: a.commit, Base: l.Base, Passing: int(a.passing), Gates: int(a.gates), Criteria: int(a.criteria)}
		}
	}
	return nil
}

// steerAttempt calls for the way back to an attempt that a person wants, or refuses it. Without a number it is the
// best verified one. An attempt in progress is given up for it.
func (d *draft) steerAttempt(l *Loop, in *pawl.Steering) error {
	n := in.Checkpoint
	if n == 0 {
		n = l.best().N
	}
	a := l.attempt(n)
	switch {
	case l.gen.ratchet == nil || len(l.gen.ratchet.attempts) == 0:
		return d.refuse("no attempt of it has ended with a commit")
	case n == 0:
		return d.refuse("no attempt of it was judged in full").WithHint("name one: pawl checkpoints %s lists them", d.s.Run)
	case a == nil:
		return d.refuse("it has no attempt %d with a commit", n).WithHint("pawl checkpoints %s lists them", d.s.Run)
	case l.gen.Back != nil:
		return d.refuse("it is going back to attempt %d already", l.gen.Back.To)
	case d.s.Stopping != nil || d.s.Status != pawl.StatusEnded && l.Phase == PhaseClosing:
		return d.refuse("it is coming to its end")
	case !l.inIteration && (a.Commit == l.Head || n == l.best().N && l.best().Commit == l.Head):
		return d.refuse("its branch is as after attempt %d already", n)
	case d.s.Status == pawl.StatusEnded && !d.s.Outcome.Resumable():
		return d.refuse("it is finished").WithHint("a run of its own can begin at an attempt's event: pawl checkpoints %s, then pawl fork %s --at EVENT", d.s.Run, d.s.Run)
	}
	if d.s.Status == pawl.StatusEnded {
		if err := d.resume(in); err != nil {
			return err
		}
		l = d.s.Loop(1)
	}
	reason := fmt.Sprintf("the work goes back to attempt %d", n)
	if q := l.person.question; q != nil {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: reason})
	}
	d.emit(l.Ref, &pawl.RollbackCalled{To: n, Reason: brief.Cut(cmp.Or(in.Reason, withoutReason), 300), By: brief.Cut(cmp.Or(in.By, "a person"), 60)})
	d.cutOff(d.s.Loop(1), reason)
	return nil
}

// bestAfter returns the best state of the attempts up to the iteration that ends.
func (s *State) bestAfter(l *Loop, iteration int) land.Verified {
	v := land.VerifiedOf(iteration, l.committed(), l.verdicts(), s.gateIndex)
	if l.cand != nil && v.N != 0 {
		v.Strong = l.goals.Strong()
		objects := func(r *pawl.GateJudged) bool { return !verdict.Passes(r.Verdict) }
		v.Passes = l.iter.stepFailed == "" && !slices.ContainsFunc(l.verdicts(), objects)
		v.Goals, v.Weak = l.cand.Goals.Green(), onlyWeak(l.verdicts()) && l.iter.stepFailed == ""
	}
	if l.best().Below(&v) {
		if v.Base = l.Base; v.Weak {
			v.Candidate = l.cand.Committed
		}
		return v
	}
	return *l.best()
}

// judgeAttempts judges how the loop's attempts develop, and does what the recipe says about it. A
// verdict that equals the last one is not recorded. It is asked after each attempt, and again before
// the next one, because a fork may begin between the attempt's end and the verdict or what follows.
func (d *draft) judgeAttempts(l *Loop) {
	if !l.ratchets() || l.gen.ratchet == nil || l.gen.Back != nil {
		return
	}
	d.sayHealth(l)
	d.recoverAttempts(d.s.Loop(l.Ref))
}

// sayHealth records the monitor's verdict on the attempts, unless it is the last one again. A run
// that is going well need not be told so.
func (d *draft) sayHealth(l *Loop) {
	v := l.judgeRatchet(&d.s, l.gen.ratchet)
	if !l.isNews(v.Health) || v.Health == pawl.HealthProgressing && (l.gen.Health == "" || l.Outcome.Succeeded()) {
		return
	}
	b := l.gen.Says(v, l.Iteration, l.Kind.Monitor, l.Kind.Recoveries)
	b.Reason = brief.Cut(monitor.InNames(b.Reason, l.gen.ratchet.broke, nil), 300)
	ends := l.Phase == PhaseClosing
	if wanted := len(l.Kind.Monitor[string(b.Health)]) > 0; wanted && b.Try > b.Max && !ends {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name + "/" + string(b.Health), Limit: pawl.LimitRecoveries, Max: int64(b.Max), Value: int64(b.Try)})
	}
	b.Recoveries = slices.DeleteFunc(b.Recoveries, func(to pawl.Recovery) bool { return ends || b.Try > b.Max || !l.canRecover(to) })
	if len(b.Recoveries) == 0 { // the recipe says nothing about it, or nothing that can be done
		b.Recoveries, b.Try, b.Max = nil, 0, 0
	}
	d.emit(l.Ref, b)
}

// judgeRatchet returns what the monitor says of the loop's attempts. It looks for stalls only where nothing else
// does: neither the ladder nor the monitor of a group.
func (l *Loop) judgeRatchet(s *State, r *ratchet) monitor.Verdict {
	p := s.Loop(l.Parent)
	grouped := p != nil && p.Kind.Children.Groups()
	return monitor.Attempts(r.history, r.since, l.Kind.Ladder.Stuck == 0 && !grouped)
}

// isNews reports whether a health of the attempts differs from what was said last. What led to a recovery
// is news when it comes again.
func (l *Loop) isNews(h pawl.Health) bool {
	r := l.gen.ratchet
	return h != "" && (h != l.gen.Health || r != nil && r.since > 0 && r.since == r.said)
}

// canRecover reports whether a recovery can be done now: whether there is a stronger tier and the
// ladder does not choose one itself, or a state to go back to.
func (l *Loop) canRecover(to pawl.Recovery) bool {
	if to == pawl.RecoverRollback {
		return l.best().N != 0 && l.best().Commit != l.Head
	}
	return ladder.Next(&l.Kind.Ladder, l.Tier) != 0 && l.Phase != PhaseCouncil && l.tierWhy == ""
}

// recoverAttempts does what the last verdict on the attempts led to.
func (d *draft) recoverAttempts(l *Loop) {
	reason := string(l.gen.Health) + ": " + l.gen.Evidence
	for _, to := range l.gen.Recover {
		switch {
		case !l.canRecover(to):
		case to == pawl.RecoverEscalate:
			d.escalate(l, ladder.Next(&l.Kind.Ladder, l.Tier), reason, false)
		default:
			d.emit(l.Ref, &pawl.RollbackCalled{To: l.best().N, Reason: brief.Cut(reason, 300)})
		}
	}
}

// returnToBest takes the loop to its best state if a rollback was called, and reports whether none
// is in progress. If the loop was brought onto the work of others since, that stays: the best state
// is merged with it first.
func (d *draft) returnToBest(l *Loop) bool {
	back, best := l.gen.Back, l.goal()
	switch {
	case !l.ratchets():
		return true
	case back == nil:
		return d.syncHead(l)
	case back.Restored != nil:
		d.emit(l.Ref, &pawl.RolledBack{To: back.To, Commit: back.Restored.Commit, Reason: back.Reason, By: back.By})
	case len(l.open) > 0:
	case best.Base != l.Base && back.Merged == nil:
		d.onWorktree(l, "rollback", pawl.CrashRepeat, &pawl.Merge{Ours: l.Base, Theirs: best.Commit, Message: d.s.backTo(l, back), Time: d.at})
	default:
		do := &pawl.Restore{Branch: d.s.branch(l), From: l.Head, To: best.Commit, Time: d.at,
			Label: fmt.Sprintf("attempt %d", best.N), Reason: back.Reason, Message: d.s.backTo(l, back)}
		if back.Merged != nil {
			do.To = back.Merged.Commit
		}
		d.onWorktree(l, "rollback", pawl.CrashProbe, do)
	}
	return false
}

// backTo returns the message of the commit that takes a branch back to its best state. It names the
// later attempts, which stay in the history.
func (s *State) backTo(l *Loop, back *monitor.Back) string {
	what := "back to"
	if back.Ending != "" {
		what = "deliver"
	}
	after := fmt.Sprintf("attempt %d", l.Iteration)
	if first := back.To + 1; first < l.Iteration {
		after = fmt.Sprintf("attempts %d to %d", first, l.Iteration)
	}
	return fmt.Sprintf("pawl %s: %s attempt %d\n\n%s\n\nWhat came after it stays in the history: %s, up to commit %s.",
		s.Run, what, back.To, back.Reason, after, l.Head)
}

// deliver makes a run that does not end well end on its best state, and reports whether it does or
// need not. Nothing is done if the best state equals the last one, or if git cannot work on the
// branch.
func (d *draft) deliver(l *Loop, o pawl.Outcome) bool {
	best := l.best()
	switch {
	case l.Parent != 0 || !l.ratchets() || !l.HasWorkspace || l.worktree.IsLost() && !l.worktree.IsOfPreparing():
		return true
	case l.gen.Back != nil || l.worktreeBehind:
		return d.returnToBest(l)
	case !deliversAt(o) || best.N == 0 || best.Commit == l.Head || best.Tree == l.worktree.Tree:
		return true
	}
	d.emit(l.Ref, &pawl.RollbackCalled{To: best.N, Ending: o, Reason: fmt.Sprintf("the run ends %s, and attempt %d is its best verified state", o, best.N)})
	return false
}

// deliversAt reports whether a run with this outcome ends on its best state.
func deliversAt(o pawl.Outcome) bool {
	switch o {
	case pawl.OutcomeIncomplete, pawl.OutcomeBlocked, pawl.OutcomeHalted, pawl.OutcomeFailed:
		return true
	}
	return false
}

// passes reports whether an attempt passed, also if another one follows.
func passes(b *pawl.IterationEnded) bool {
	return b.Decision == pawl.DecideComplete || b.Mends || b.Unproven
}

// applyOwn folds what happens to the attempts of a loop without children.
func (l *Loop) applyOwn(body pawl.Body) error {
	switch b := body.(type) {
	case *pawl.HealthJudged:
		l.gen.JudgedAttempts(b)
		if r := copied(l.gen.ratchet); r != nil {
			r.said, l.gen.ratchet = int32(b.Batch), r //nolint:gosec // a number of iterations
		}
		if len(b.Recoveries) > 0 {
			l.recovered("")
		}
	case *pawl.RollbackCalled:
		o := l.toRejudge()
		if b.To != l.best().N && (o == nil || b.To != o.attempt) && l.attempt(b.To) == nil || b.To == 0 || l.gen.Back != nil {
			return fmt.Errorf("attempt %d is not the best state of loop %d, or it is going back already", b.To, l.Ref)
		}
		l.gen.CallBack(b, nil)
		if b.By != "" && l.inIteration && b.Ending == "" {
			l.iter.restart = "the work goes back: " + b.Reason
		}
	case *pawl.RolledBack:
		if l.gen.Back == nil || l.gen.Back.Restored == nil {
			return fmt.Errorf("loop %d is not going back", l.Ref)
		}
		l.wentBack(b)
	default:
		return fmt.Errorf("loop %d has no batches", l.Ref)
	}
	return nil
}

// wentBack ends the way back to the best state. If that conflicts with the work of others, the next
// attempt has to resolve it first, as after a rebase, and nothing is verified any more.
func (l *Loop) wentBack(b *pawl.RolledBack) {
	merged := l.gen.Back.Merged
	l.gen.Back = nil
	if l.toRejudge() != nil && b.To != l.best().N { // it is at what a review halted
		return
	}
	chosen := l.attempt(b.To)
	l.recovered(fmt.Sprintf("the work went back to attempt %d: %s", b.To, b.Reason))
	best := &l.gen.ratchet.best
	if chosen != nil && b.To != best.N { // a person prefers it, so what comes next is compared with it
		if *best = *chosen; best.Gates == 0 { // it was not judged in full
			*best = land.Verified{}
		}
	}
	if best.N != 0 {
		best.Commit, best.Base = b.Commit, l.Base
		best.Tree = cmp.Or(best.Tree, l.worktree.Tree)
	}
	l.upstream.hunks, l.upstream.suspect = pawl.Hash{}, pawl.Hash{} // of a conflict that is undone
	if merged != nil && merged.Conflicts > 0 {
		*best = land.Verified{}
		l.markConflict(merged)
	}
}

// branchMoved records that the loop's branch is not where the loop left it when its worktree was
// closed: somebody else moved it, as a rule. The states of before lack what they did, so that the loop
// neither goes back to them nor compares its attempts with them any more, and what a review halted is
// not what the branch has.
func (l *Loop) branchMoved() {
	l.person.rejudge = false
	if l.gen.ratchet == nil {
		return
	}
	r := copied(l.gen.ratchet)
	r.best, r.history, r.attempts = land.Verified{}, nil, nil
	l.gen.ratchet, l.gen.Back = r, nil
}

// recovered records that the attempts so far led to a recovery: what comes next is compared with them, and
// judged by itself. Returned tells the next attempt that the work went back; empty = it did not.
func (l *Loop) recovered(returned string) {
	r := copied(l.gen.ratchet)
	r.since, r.returned = int32(l.Iteration), returned //nolint:gosec // a number of iterations
	l.gen.ratchet = r
}
