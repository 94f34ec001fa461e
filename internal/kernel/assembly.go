package kernel

import (
	"encoding/hex"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/land"
)

// landGroup takes the landing of a batch one step further. It reports whether the batch has been
// judged and what was approved is in the branch.
func (d *draft) landGroup(l *Loop) bool {
	b := l.gen.batch
	gone := slices.IndexFunc(b.Linked(), func(i int) bool { return !d.s.isQueued(l, &b.Members[i]) })
	lacks := b.Land == pawl.LandAll && d.s.lacks(l)
	settled := b.Clash == nil && b.Culprit == nil && (len(l.open) == 0 || len(l.sessions) > 0)
	switch {
	case gone >= 0:
		d.reject(l, b.Linked()[gone], "merge", 0, "its loop has ended", pawl.Hash{})
	case len(l.sessions) > 0 && (lacks || len(d.s.candidates(l)) == 0): // there is nothing to judge any more
		d.cutOff(l, "what it judged has changed")
		if len(l.open) == 0 {
			d.abandon(l, "what it judged has changed")
		}
	case b.Land == pawl.LandAll && d.s.failedOf(l) >= 0:
		d.blockGroup(l)
		return true
	case settled && lacks:
		return true
	case settled && b.Land == pawl.LandBest && !b.Picked():
		return !d.pick(l)
	default:
		return d.land(l)
	}
	return false
}

// lacks reports whether a member of the batch does not wait to be merged.
func (s *State) lacks(l *Loop) bool {
	return slices.ContainsFunc(l.gen.batch.Members, func(m land.Member) bool { return !s.isQueued(l, &m) })
}

// failedOf returns the last task of the batch that has failed, or -1. One that a person left out
// leaves the batch.
func (s *State) failedOf(l *Loop) int {
	failed := -1
	for _, m := range l.gen.batch.Members {
		if t := l.gen.plan.At(m.Task); t.Status == pawl.TaskFailed && s.Loop(t.Loop).Outcome != pawl.OutcomeCancelled {
			failed = m.Task
		}
	}
	return failed
}

// blockGroup blocks what is left of a batch that lands whole or not at all, with all that depends on
// it, because one of its tasks has failed.
func (d *draft) blockGroup(l *Loop) {
	p, failed, left := l.gen.plan, d.s.failedOf(l), []int(nil)
	for _, m := range l.gen.batch.Members {
		if s := p.At(m.Task).Status; s == pawl.TaskPending || s == pawl.TaskRunning {
			left = append(left, m.Task)
		}
	}
	for _, i := range slices.Clone(left) {
		left = append(left, p.Reached(i, func(j int) bool { return p.At(j).Status == pawl.TaskPending && !slices.Contains(left, j) })...)
	}
	slices.Sort(left)
	for part := range slices.Chunk(left, maxPart) {
		d.emit(l.Ref, &pawl.TasksBlocked{Cause: l.taskID(failed), Tasks: part})
	}
}

// pick lets the judge pick the best of those that wait to be merged, and reports whether that is
// under way. The only one there is needs no judge.
func (d *draft) pick(l *Loop) bool {
	switch waiting := d.s.candidates(l); len(waiting) {
	case 0:
		return false
	case 1:
		d.emit(l.Ref, &pawl.TaskJudged{Batch: l.gen.batch.N, Task: l.gen.batch.Members[waiting[0]].Task, By: "gates", Verdict: pawl.VerdictPass, Reason: "it is the only one that passed"})
	default:
		d.reviewBatch(l)
	}
	return true
}

// candidates are the positions of the members that a judge judges: those in the candidate that have
// no verdict, or while the best is picked, all that wait to be merged.
func (s *State) candidates(l *Loop) (out []int) {
	b := l.gen.batch
	if b.Land != pawl.LandBest {
		return b.Undecided()
	}
	for i := range b.Members {
		if s.isQueued(l, &b.Members[i]) {
			out = append(out, i)
		}
	}
	return out
}

// batchGates are the command gates that judge a candidate: those that judge its
// tasks, or the whole.
func (s *State) batchGates(l *Loop) (out []int) {
	child := s.Recipe.Kind(l.Kind.Children.Kind)
	for i := range s.Settings.Gates {
		kind := s.Settings.Gates[i].Kind
		if !s.isLeftOut(i) && slices.ContainsFunc(slices.Concat(child.Gates, child.FinalGates, l.Kind.FinalGates), func(st pawl.Stage) bool { return selects(&st, kind) }) {
			out = append(out, i)
		}
	}
	return out
}

// gateBatch requests what the gates have not said of the subject. A test gate that
// is red is asked once more before it is believed, as a test may be flaky.
func (d *draft) gateBatch(l *Loop) {
	for _, i := range d.s.batchGates(l) {
		b := l.gen.batch
		g := &d.s.Settings.Gates[i]
		do := pawl.RunGate{Gate: g.Name, Commit: b.Subject(), Base: l.base[i].evidence, Start: l.Base, Before: l.gen.Proof().Reports[i]}
		if r := b.Result(g.Name); r != nil {
			if !b.Doubts(r) && !l.asksAgain(i, r) {
				continue
			}
			do.Doubt = r.Evidence
		}
		d.runGate(l, i, do)
		l = d.s.Loop(l.Ref)
		if l.gen.batch.Culprit != nil || l.gen.batch.Green { // it could not run
			return
		}
	}
}

// asksAgain reports whether a gate that has judged the subject is asked once more.
func (l *Loop) asksAgain(gate int, r *pawl.GateJudged) bool {
	return l.cand != nil && slices.ContainsFunc(l.cand.Gates, func(g land.GateRun) bool {
		return g.Gate == gate && (g.Effect != 0 || g.Failed != nil && !r.Partial)
	})
}

// gated records what a gate says of a candidate.
func (s *State) gated(l *Loop, j *pawl.GateJudged) {
	b := l.gen.batch
	b.Said(j)
	var gates []string
	for _, i := range s.batchGates(l) {
		name := s.Settings.Gates[i].Name
		if r := b.Result(name); r == nil || b.Doubts(r) || l.asksAgain(i, r) {
			return
		}
		gates = append(gates, name)
	}
	if b.Conclude(gates) {
		l.cand.Again()
	}
}

// reject leaves a task out of its batch: its loop gets the feedback. Of a conflict,
// paths says in how many.
func (d *draft) reject(l *Loop, i int, by string, paths int, reason string, evidence pawl.Hash) {
	b := l.gen.batch
	task := b.Members[i].Task
	d.emit(l.Ref, &pawl.TaskJudged{Batch: b.N, Task: task, By: by, Verdict: pawl.VerdictRevise, Reason: brief.Cut(reason, 300), Evidence: evidence})
	ref := l.gen.plan.At(task).Loop
	if d.s.Loop(ref).Phase == PhaseDone { // a signal ended it
		return
	}
	judge := pawl.JudgeBatch
	if paths > 0 {
		judge = pawl.JudgeMerge
	}
	d.emit(ref, &pawl.GateJudged{Judge: judge, Gate: batchGate + by, Verdict: pawl.VerdictRevise, Reason: brief.Cut(reason, 300), Evidence: evidence, Error: land.Objection(by, reason, evidence), Total: paths})
}

// approve approves what is in the candidate and has no verdict: without a judge, what the gates let
// through is approved.
func (d *draft) approve(l *Loop) {
	b := l.gen.batch
	for _, i := range b.Undecided() {
		d.emit(l.Ref, &pawl.TaskJudged{Batch: b.N, Task: b.Members[i].Task, By: "gates", Verdict: pawl.VerdictPass})
	}
}

// reviewTries is how many sessions may review a batch before its tasks have to do
// without a verdict, which is not an approval.
const reviewTries = 2

// reviewBatch lets a model judge the candidate as a whole. The worktree of the
// parent shows it; its branch stays where it is.
func (d *draft) reviewBatch(l *Loop) {
	b, rv := l.gen.batch, l.Kind.Children.Judge
	picks := len(b.Chain) == 0 // it looks at each by itself, and the worktree is as they all began
	switch {
	case picks && l.ahead && len(l.sessions) == 0:
		d.syncHead(l)
	case !picks && b.Shown != b.Subject() && len(l.sessions) > 0:
		d.abandon(l, "the worktree does not show the candidate any more")
	case !picks && b.Shown != b.Subject():
		d.onWorktree(l, "show", pawl.CrashProbe, &pawl.ResetWorkspace{Commit: b.Subject(), Salvage: d.salvage("show"), Detached: true})
	case len(l.sessions) > 0:
		d.converse(l, l.sessions[0])
	case b.Reviews >= reviewTries:
		if open := d.s.candidates(l); len(open) > 0 { // the others are another candidate without it
			d.reject(l, open[0], land.ByReview, 0, "inconclusive: the review came to no verdict", pawl.Hash{})
		}
	default:
		place := l.place("batch-review")
		place.Role, place.Tier = rv.Role, rv.Tier
		d.startSession(l, pawl.SessionStarted{Purpose: pawl.ForBatch, Place: place, Turns: rv.Turns, Item: b.N})
	}
}

// batchReviewed takes the review's verdicts over, task by task. One that leaves a
// task out has not judged it.
func (d *draft) batchReviewed(l *Loop, r pawl.SessionResult, output pawl.Hash, facts pawl.Facts) {
	if r != pawl.SessionDone {
		return
	}
	kind := l.gen.batch.Land
	whole := kind != pawl.LandAll || len(facts.All("changes")) == 0
	for i, f := range facts {
		m := d.s.Loop(l.Ref).gen.batch.Named(f.Value, l.taskID)
		switch {
		case m < 0 || f.Name != "approved" && f.Name != "changes":
		case f.Name == "approved" && !whole, f.Name == "changes" && kind == pawl.LandBest: // it waits, or has lost
		case f.Name == "approved":
			b := d.s.Loop(l.Ref).gen.batch
			d.emit(l.Ref, &pawl.TaskJudged{Batch: b.N, Task: b.Members[m].Task, By: land.ByReview, Verdict: pawl.VerdictPass, Evidence: output})
		default:
			why, because := "the review wants changes", output
			for _, about := range facts[i+1 : min(i+3, len(facts))] {
				if about.Name == "changes" || about.Name == "approved" { // of another task
					break
				}
				if about.Name == "why" && about.Value != "" {
					why = about.Value
				} else if h, ok := hashOf(about.Value); ok && about.Name == "because" {
					because = h
				}
			}
			d.reject(d.s.Loop(l.Ref), m, land.ByReview, 0, why, because)
		}
	}
}

// hashOf reads a hash that stands for a text.
func hashOf(text string) (h pawl.Hash, ok bool) {
	n, err := hex.Decode(h[:], []byte(text))
	return h, err == nil && n == len(h) && !h.IsZero()
}

// reported records the reports that the gates gave on what is in the branch now.
func (s *State) reported(l *Loop, results []pawl.GateJudged) {
	for _, r := range results {
		if i := s.gateIndex(r.Gate); i >= 0 && !r.Evidence.IsZero() {
			l.gen.Latest = slices.Clone(l.gen.Latest)
			l.gen.Latest[i] = r.Evidence
		}
	}
}

// addBatch tells a reviewer which tasks it judges.
func (s *State) addBatch(l *Loop, do *pawl.AssemblePrompt) {
	b := l.gen.batch
	members := s.candidates(l)
	if do.Base = l.Head; len(b.Chain) > 0 {
		do.Commit, members = b.Subject(), b.Linked()
	}
	for _, i := range members {
		t := l.gen.plan.At(b.Members[i].Task)
		c := s.Loop(t.Loop)
		m := pawl.Member{Task: c.task.Spec, Paths: c.cand.Paths}
		if len(b.Chain) == 0 {
			m.Commit = c.cand.Commit
		}
		if n := len(c.left.Outputs); n > 0 {
			m.Result = c.left.Outputs[n-1].Blob
		}
		do.Batch = append(do.Batch, m)
	}
}
