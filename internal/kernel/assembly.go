package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/land"
)

// landGroup takes the landing of a batch one step further, and reports whether nothing is left to
// land.
func (d *draft) landGroup(l *Loop) bool {
	b := l.gen.batch
	gone := slices.IndexFunc(b.Linked(), func(i int) bool { return !d.s.isQueued(l, &b.Members[i]) })
	lacks := b.Land == pawl.LandAll && d.s.hasUnqueuedMember(l)
	settled := b.Clash == nil && b.Culprit == nil && (len(l.open) == 0 || len(l.sessions) > 0)
	switch {
	case gone >= 0:
		d.reject(l, b.Linked()[gone], objection{by: "merge", reason: "its loop has ended"})
	case len(l.sessions) > 0 && (lacks || len(d.s.candidates(l)) == 0): // nothing is left to judge
		d.cutOff(l, "what it judged has changed")
		if len(l.open) == 0 {
			d.abandon(l, "what it judged has changed")
		}
	case b.Land == pawl.LandAll && d.s.lastFailedTask(l) >= 0:
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

// hasUnqueuedMember reports whether some member of the batch is not waiting to be merged.
func (s *State) hasUnqueuedMember(l *Loop) bool {
	return slices.ContainsFunc(l.gen.batch.Members, func(m land.Member) bool { return !s.isQueued(l, &m) })
}

// lastFailedTask returns the last task of the batch that has failed, or -1. A task that a person
// left out does not count.
func (s *State) lastFailedTask(l *Loop) int {
	failed := -1
	for _, m := range l.gen.batch.Members {
		if t := l.gen.plan.At(m.Task); t.Status == pawl.TaskFailed && s.Loop(t.Loop).Outcome != pawl.OutcomeCancelled {
			failed = m.Task
		}
	}
	return failed
}

// blockGroup blocks the unfinished tasks of a batch that lands whole or not at all, and all tasks
// that depend on them, because one of its tasks has failed.
func (d *draft) blockGroup(l *Loop) {
	p, failed, left := l.gen.plan, d.s.lastFailedTask(l), []int(nil)
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

// pick has the judge pick the best of the members that wait to be merged, and reports whether there
// are any. A single one is approved without the judge, unless the judge has come to no verdict on it
// and others.
func (d *draft) pick(l *Loop) bool {
	_, again := l.gen.batch.Empty.Next(l.Kind.Children.Judge.Tier)
	switch waiting := d.s.candidates(l); {
	case len(waiting) == 0:
		return false
	case len(waiting) == 1 && l.gen.batch.Reviews < reviewTries && again:
		d.emit(l.Ref, &pawl.TaskJudged{Batch: l.gen.batch.N, Task: l.gen.batch.Members[waiting[0]].Task, By: "gates", Verdict: pawl.VerdictPass, Reason: "it is the only one that passed"})
	default:
		d.reviewBatch(l)
	}
	return true
}

// candidates returns the positions of the members to be judged: those in the candidate without a
// verdict or, if only the best lands, all that wait to be merged.
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

// batchGates returns the command gates that judge a batch's candidate: those that judge its tasks,
// and those that judge the whole.
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

// gateBatch requests the gate verdicts that the subject still lacks. A red test gate runs once more
// before it is believed, because a test may be flaky.
func (d *draft) gateBatch(l *Loop) {
	for _, i := range d.s.batchGates(l) {
		b, do := l.gen.batch, d.s.batchRun(l, i)
		if r := b.Result(do.Gate); r != nil {
			if d.s.isUnjudged(l, i, r) {
				continue
			}
			if !b.Doubts(r) && !l.asksAgain(i, r) {
				continue
			}
			do.Doubt = r.Evidence
		}
		d.runGate(l, i, do)
		l = d.s.Loop(l.Ref)
		if l.gen.batch.Culprit != nil || l.gen.batch.Green { // a gate could not run, and its verdict settled the subject
			return
		}
	}
	if len(d.s.unjudged(l)) > 0 && !slices.ContainsFunc(d.s.batchGates(l), func(i int) bool { return l.gen.batch.Result(d.s.Settings.Gates[i].Name) == nil }) {
		d.settleUnjudged(l, (*State).batchRun)
	}
}

// batchRun returns the request for a gate's verdict on the subject of the batch.
func (s *State) batchRun(l *Loop, gate int) pawl.RunGate {
	return pawl.RunGate{Gate: s.Settings.Gates[gate].Name, Commit: l.gen.batch.Subject(), Base: l.base[gate].evidence, Start: l.Base, Before: l.gen.Proof().Reports[gate], Part: true}
}

// asksAgain reports whether a gate that has judged the subject is running again or has to.
func (l *Loop) asksAgain(gate int, r *pawl.GateJudged) bool {
	return l.cand != nil && slices.ContainsFunc(l.cand.Gates, func(g land.GateRun) bool {
		return g.Gate == gate && (g.Effect != 0 || g.Failed != nil && !r.Partial)
	})
}

// gated records a gate's verdict on the subject of the batch.
func (s *State) gated(l *Loop, j *pawl.GateJudged) {
	b := l.gen.batch
	b.Said(j)
	var gates []string
	for _, i := range s.batchGates(l) {
		name := s.Settings.Gates[i].Name
		if r := b.Result(name); r == nil || b.Doubts(r) || s.isUnjudged(l, i, r) || l.asksAgain(i, r) {
			return
		}
		gates = append(gates, name)
	}
	if b.Conclude(gates) {
		l.cand.Again()
	}
}

// objection is why a member is left out of its batch.
type objection struct {
	by, reason string
	evidence   pawl.Hash // zero = there is none
	words      uint64    // the fingerprint of a review's words; 0 = those of the reason count
	paths      int       // that conflict; 0 = it is no conflict
}

// reject leaves a member out of its batch and gives the reason to its loop as feedback.
func (d *draft) reject(l *Loop, i int, o objection) {
	b := l.gen.batch
	task := b.Members[i].Task
	d.emit(l.Ref, &pawl.TaskJudged{Batch: b.N, Task: task, By: o.by, Verdict: pawl.VerdictRevise, Reason: brief.Cut(o.reason, 300), Evidence: o.evidence, Words: o.words})
	ref := l.gen.plan.At(task).Loop
	if d.s.Loop(ref).Phase == PhaseDone { // a signal has ended it
		return
	}
	judge := pawl.JudgeBatch
	if o.paths > 0 {
		judge = pawl.JudgeMerge
	}
	d.emit(ref, &pawl.GateJudged{Judge: judge, Gate: batchGate + o.by, Verdict: pawl.VerdictRevise, Reason: brief.Cut(o.reason, 300), Evidence: o.evidence, Error: land.Objection(o.by, o.reason, o.evidence, o.words), Total: o.paths})
}

// approve approves the members in the candidate that have no verdict: without a judge, whatever the
// gates let pass is approved.
func (d *draft) approve(l *Loop) {
	b := l.gen.batch
	for _, i := range b.Undecided() {
		d.emit(l.Ref, &pawl.TaskJudged{Batch: b.N, Task: b.Members[i].Task, By: "gates", Verdict: pawl.VerdictPass})
	}
}

// reviewTries bounds the review sessions of a batch. Tasks that then still have no verdict are not
// approved.
const reviewTries = 2

// reviewBatch has a model judge the candidate as a whole. The worktree of the parent shows the
// candidate; its branch stays where it is.
func (d *draft) reviewBatch(l *Loop) {
	b, rv := l.gen.batch, l.Kind.Children.Judge
	tier, again := b.Empty.Next(rv.Tier)
	picks := len(b.Chain) == 0 // it looks at each member by itself, in the tree that all began with
	switch {
	case picks && l.worktreeBehind && len(l.sessions) == 0:
		d.syncHead(l)
	case !picks && b.Shown != b.Subject() && len(l.sessions) > 0:
		d.abandon(l, "the worktree does not show the candidate any more")
	case !picks && b.Shown != b.Subject():
		d.onWorktree(l, "show", pawl.CrashProbe, &pawl.ResetWorkspace{Commit: b.Subject(), Salvage: d.salvage("show"), Detached: true})
	case len(l.sessions) > 0:
		d.converse(l, l.sessions[0])
	case !again && rv.Unfilled == pawl.UnfilledAsk:
		d.askAboutBatch(l)
	case b.Reviews >= reviewTries || !again:
		if open := d.s.candidates(l); len(open) > 0 { // without it, the others are a new candidate
			d.reject(l, open[0], objection{by: land.ByReview, reason: "inconclusive: the review came to no verdict"})
		}
	default:
		place := l.place("batch-review")
		place.Role, place.Tier = rv.Role, tier
		d.startSession(l, pawl.SessionStarted{Purpose: pawl.ForBatch, Place: place, Turns: rv.Turns, Cap: rv.Cap, Item: b.N})
	}
}

// choicePickNone is the answer that refuses all members of a group of which one is to be picked. The
// other answers are their ids.
const choicePickNone = "none"

// askAboutBatch has a person judge the members that no judge gave a verdict on.
func (d *draft) askAboutBatch(l *Loop) {
	b := l.gen.batch
	open, ids := d.s.candidates(l), []string(nil)
	for _, i := range open {
		ids = append(ids, l.taskID(b.Members[i].Task))
	}
	picks := b.Land == pawl.LandBest
	r := l.lastAnswerTo(pawl.AskVerdict)
	if r == nil {
		what, options := "Do they pass?", []option{{choicePass, "all of them are merged; together they passed the gates"}, {choiceFail, "none of them is merged, and each is tried again with your words"}}
		if len(ids) == 1 {
			what, options = "Does it pass?", []option{{choicePass, "it is merged; it passed the gates"}, {choiceFail, "it is not merged, and is tried again with your words"}}
		}
		if picks {
			what, options = "Which one is merged?", nil
			for _, id := range ids {
				options = append(options, option{id, "it is merged, and the others are dropped"})
			}
			options = append(options, option{choicePickNone, "none of them is merged, and each is tried again with your words"})
		}
		d.ask(l, pawl.AskVerdict, fmt.Sprintf("The review gave no verdict on batch %d (%s), even by the strongest model. %s", b.N, strings.Join(ids, ", "), what),
			pawl.Hash{}, options...)
		return
	}
	reason := "decided by " + cmp.Or(r.by, "a person") + ": " + cmp.Or(r.text, r.choice)
	for n, i := range open {
		switch {
		case r.choice == choicePass, r.choice == ids[n]:
			d.emit(l.Ref, &pawl.TaskJudged{Batch: b.N, Task: b.Members[i].Task, By: byPerson, Verdict: pawl.VerdictPass, Reason: brief.Cut(reason, 300)})
		case !picks, r.choice == choicePickNone:
			d.reject(d.s.Loop(l.Ref), i, objection{by: byPerson, reason: reason})
		}
	}
}

// byPerson is who judged a member of a group that a person judged.
const byPerson = "person"

// batchReviewed records the review's verdict on each task. A task that the review does not name is
// not judged.
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
		case f.Name == "approved" && !whole, f.Name == "changes" && kind == pawl.LandBest: // it waits for the others, or was not picked
		case f.Name == "approved":
			b := d.s.Loop(l.Ref).gen.batch
			d.emit(l.Ref, &pawl.TaskJudged{Batch: b.N, Task: b.Members[m].Task, By: land.ByReview, Verdict: pawl.VerdictPass, Evidence: output})
		default:
			o := objection{by: land.ByReview, reason: "the review wants changes", evidence: output}
			for _, about := range facts[i+1 : min(i+4, len(facts))] {
				if about.Name == "changes" || about.Name == "approved" { // of another task
					break
				}
				if about.Name == "why" && about.Value != "" {
					o.reason = about.Value
				} else if about.Name == "words" {
					o.words, _ = strconv.ParseUint(about.Value, 16, 64) // 0 = as if it were not there
				} else if h, ok := hashOf(about.Value); ok && about.Name == "because" {
					o.evidence = h
				}
			}
			d.reject(d.s.Loop(l.Ref), m, o)
		}
	}
}

// hashOf decodes a hash in hex, which stands for a text.
func hashOf(text string) (h pawl.Hash, ok bool) {
	err := h.UnmarshalText([]byte(text))
	return h, err == nil && !h.IsZero()
}

// reported records the gates' reports on what is now in the branch.
func (s *State) reported(l *Loop, results []pawl.GateJudged) {
	for _, r := range results {
		if i := s.gateIndex(r.Gate); i >= 0 && !r.Evidence.IsZero() {
			l.gen.Latest = slices.Clone(l.gen.Latest)
			l.gen.Latest[i] = r.Evidence
		}
	}
}

// addBatch adds to a reviewer's prompt the tasks that it judges.
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
