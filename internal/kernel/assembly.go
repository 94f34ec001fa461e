package kernel

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/plan"
	"pawl/internal/kernel/verdict"
)

// assembled makes a candidate of what a batch's tasks made, has it judged, and moves
// the parent's branch to it. Merge commits are made one on the other, in list order,
// outside any worktree. A task that does not fit, makes the gates red or is not
// approved is left out, and what is left is judged again. It reports whether the
// batch has been judged and what was approved is in the branch.
func (d *draft) assembled(l *Loop) bool {
	b := l.gen.batch
	next := d.s.nextLink(l)
	switch {
	case len(l.open) > 0 && len(l.sessions) == 0:
	case b.clash != nil:
		d.reject(l, b.clashed, "merge", b.clash.Conflicts, "it conflicts with other work of the batch, or with what was merged before", b.clash.Hunks)
	case b.culprit != nil:
		by := &b.culprit.by
		d.reject(l, b.culprit.member, by.Gate, 0, cmp.Or(by.Reason, string(by.Verdict)), by.Evidence)
	case next >= 0:
		d.link(l, next)
	case len(b.chain) == 0:
		return true
	case !b.green && len(d.s.batchGates(l)) > 0:
		d.gateBatch(l)
	case !d.approved(l):
		d.reviewBatch(l)
	default:
		d.onWorktree(l, "merge", pawl.CrashProbe, &pawl.AdvanceBranch{Branch: d.s.branch(l), From: l.Head, To: b.subject()})
	}
	return false
}

// subject is the commit that is judged: the candidate, or the first links of it.
func (b *batch) subject() pawl.CommitHash {
	n := len(b.chain)
	if b.prefix > 0 {
		n = b.prefix
	}
	return b.chain[n-1].made.Commit
}

// nextLink is the member whose work is merged next; -1 = all that wait are in the chain.
func (s *State) nextLink(l *Loop) int {
	b := l.gen.batch
	for i := range b.members {
		there := slices.ContainsFunc(b.chain, func(k link) bool { return k.member == i })
		if !there && s.queued(l, &b.members[i]) {
			return i
		}
	}
	return -1
}

// link asks for the merge commit of a member's work on the candidate so far.
func (d *draft) link(l *Loop, i int) {
	b := l.gen.batch
	k := d.s.Loop(l.gen.plan.At(b.members[i].task).Loop)
	ours := l.Head
	if n := len(b.chain); n > 0 {
		ours = b.chain[n-1].made.Commit
	}
	d.onWorktree(l, "merge", pawl.CrashRepeat, &pawl.Merge{Ours: ours, Theirs: k.cand.Commit,
		Message: fmt.Sprintf("pawl %s: %s\n\n%s", d.s.Run, k.task.ID, brief.Cut(k.task.Title, 120)), Time: d.at})
}

// seal settles who is in the candidate when its first link is asked for.
func (s *State) seal(l *Loop) {
	b := l.gen.batch
	if b.sealed {
		return
	}
	for i := range b.members {
		b.members[i].in = s.queued(l, &b.members[i])
	}
	b.sealed = true
}

// linked takes over a merge commit of the candidate.
func (s *State) linked(l *Loop, do *pawl.Merge, made *pawl.Merged) {
	b := l.gen.batch
	i := slices.IndexFunc(b.members, func(m entrant) bool {
		t := l.gen.plan.At(m.task)
		k := s.Loop(t.Loop)
		return t.Status == pawl.TaskRunning && k.cand != nil && k.cand.Commit == do.Theirs
	})
	switch {
	case i < 0: // its loop is gone
	case made.Conflicts > 0:
		b.clash, b.clashed = made, i
	default:
		b.chain = append(b.chain, link{i, &pawl.Merged{Commit: made.Commit, Tree: made.Tree, Changes: made.Changes}})
		l.newSubject(0)
	}
}

// newSubject says that what was judged so far is not what is to be judged now:
// the whole chain, or its first links.
func (l *Loop) newSubject(prefix int) {
	b := l.gen.batch
	b.prefix, b.results, b.doubted, b.green = prefix, nil, nil, false
	if l.cand != nil {
		l.cand.gates = nil
	}
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
		do := pawl.RunGate{Gate: g.Name, Commit: b.subject(), Base: l.base[i].evidence, Start: l.Base, Before: l.gen.Proof().Reports[i]}
		if r := b.result(g.Name); r != nil {
			if !b.doubts(r) && !l.asksAgain(i, r) {
				continue
			}
			do.Doubt = r.Evidence
		}
		d.runGate(l, i, do)
		l = d.s.Loop(l.Ref)
		if l.gen.batch.culprit != nil || l.gen.batch.green { // it could not run
			return
		}
	}
}

func (b *batch) result(gate string) *pawl.GateJudged {
	for i := range b.results {
		if b.results[i].Gate == gate {
			return &b.results[i]
		}
	}
	return nil
}

// doubts reports whether a gate is to be asked about the subject again.
func (b *batch) doubts(r *pawl.GateJudged) bool {
	return !verdict.Passes(r.Verdict) && r.Kind == pawl.GateTests && !r.Partial && !r.Evidence.IsZero() && !slices.Contains(b.doubted, r.Gate)
}

// doubt takes over that a gate is asked about the subject again. That it judged it
// once does not count among its tries.
func (b *batch) doubt(g *gateRun, gate string) {
	if !slices.Contains(b.doubted, gate) {
		b.doubted = append(b.doubted, gate)
		g.tries = 0
	}
}

// asksAgain reports whether a gate that has judged the subject is asked once more.
func (l *Loop) asksAgain(gate int, r *pawl.GateJudged) bool {
	return l.cand != nil && slices.ContainsFunc(l.cand.gates, func(g gateRun) bool {
		return g.gate == gate && (g.effect != 0 || g.failed != nil && !r.Partial)
	})
}

// gated takes over what a gate says of a candidate, and when all have spoken, what
// follows: it is green; or the first of its links that makes it red is looked for.
func (s *State) gated(l *Loop, j *pawl.GateJudged) {
	b := l.gen.batch
	c := *j
	c.Reason, c.Mended, c.Flaky = brief.Cut(j.Reason, verdict.MaxReason), nil, nil // nobody asks for these
	b.results = append(slices.DeleteFunc(b.results, func(r pawl.GateJudged) bool { return r.Gate == j.Gate }), c)
	if len(b.chain) == 0 {
		return
	}
	var red *pawl.GateJudged
	for _, i := range s.batchGates(l) {
		r := b.result(s.Settings.Gates[i].Name)
		if r == nil || b.doubts(r) || l.asksAgain(i, r) {
			return
		}
		if red == nil && !verdict.Passes(r.Verdict) {
			red = r
		}
	}
	switch {
	case red == nil && b.prefix == 0:
		b.green = true
	case red != nil && b.prefix == 0 && len(b.chain) > 1:
		first := *red
		b.tip = &first
		l.newSubject(1)
	case red == nil && b.prefix+1 < len(b.chain):
		l.newSubject(b.prefix + 1)
	case red == nil: // only the last one is left
		b.culprit = &culprit{b.chain[len(b.chain)-1].member, *b.tip}
	default:
		b.culprit = &culprit{b.chain[max(b.prefix, 1)-1].member, *red}
	}
}

// reject leaves a task out of its batch: its loop gets the feedback. Of a conflict,
// paths says in how many.
func (d *draft) reject(l *Loop, i int, by string, paths int, reason string, evidence pawl.Hash) {
	b := l.gen.batch
	task := b.members[i].task
	d.emit(l.Ref, &pawl.TaskJudged{Batch: b.n, Task: task, By: by, Verdict: pawl.VerdictRevise, Reason: brief.Cut(reason, 300), Evidence: evidence})
	ref := l.gen.plan.At(task).Loop
	d.emit(ref, &pawl.GateJudged{Gate: batchGate + by, Verdict: pawl.VerdictRevise, Reason: brief.Cut(reason, 300), Evidence: evidence, Error: objection(by, reason, evidence), Total: paths})
}

// byReview is who judges a task when the review of its batch does.
const byReview = "review"

// objection is the signature of what a batch objects to a task: who objects, and what
// is said, as that may be something else each time.
func objection(by, reason string, evidence pawl.Hash) uint64 {
	if by == byReview && !evidence.IsZero() {
		return brief.Mix(brief.Fingerprint(by), brief.Fingerprint(evidence.String()))
	}
	return brief.Mix(brief.Fingerprint(by), brief.Fingerprint(brief.Cut(reason, 300)))
}

// batchGate begins the names under which loops hear of what their batch objects to.
const batchGate = "batch-"

func ofBatch(gate string) bool { return strings.HasPrefix(gate, batchGate) }

// approved reports whether the review has approved all that is in the candidate.
// Without a review, what the gates let through is.
func (d *draft) approved(l *Loop) bool {
	b := l.gen.batch
	open := func(k link) bool { return b.members[k.member].verdict == "" }
	if !slices.ContainsFunc(b.chain, open) {
		return true
	}
	if l.Kind.Children.Review != nil {
		return false
	}
	for _, k := range b.chain {
		if open(k) {
			d.emit(l.Ref, &pawl.TaskJudged{Batch: b.n, Task: b.members[k.member].task, By: "gates", Verdict: pawl.VerdictPass})
			b = d.s.Loop(l.Ref).gen.batch
		}
	}
	return true
}

// reviewTries is how many sessions may review a batch before its tasks have to do
// without a verdict, which is not an approval.
const reviewTries = 2

// reviewBatch lets a model judge the candidate as a whole. The worktree of the
// parent shows it; its branch stays where it is.
func (d *draft) reviewBatch(l *Loop) {
	b, rv := l.gen.batch, l.Kind.Children.Review
	switch {
	case b.shown != b.subject() && len(l.sessions) > 0:
		d.abandon(l, "the worktree does not show the candidate any more")
	case b.shown != b.subject():
		d.onWorktree(l, "show", pawl.CrashProbe, &pawl.ResetWorkspace{Commit: b.subject(), Salvage: d.salvage("show"), Detached: true})
	case len(l.sessions) > 0:
		d.converse(l, l.sessions[0])
	case b.reviews >= reviewTries:
		for i := range b.members {
			if b = d.s.Loop(l.Ref).gen.batch; b.members[i].verdict == "" && slices.ContainsFunc(b.chain, func(k link) bool { return k.member == i }) {
				d.reject(d.s.Loop(l.Ref), i, byReview, 0, "inconclusive: the review came to no verdict", pawl.Hash{})
			}
		}
	default:
		place := l.place("batch-review")
		place.Role, place.Tier = rv.Role, rv.Tier
		d.startSession(l, pawl.SessionStarted{Purpose: pawl.ForBatch, Place: place, Turns: rv.Turns, Item: b.n})
	}
}

// batchReviewed takes the review's verdicts over, task by task. One that leaves a
// task out has not judged it.
func (d *draft) batchReviewed(l *Loop, r pawl.SessionResult, output pawl.Hash, facts pawl.Facts) {
	if r != pawl.SessionDone {
		return
	}
	for i, f := range facts {
		m := d.s.reviewed(d.s.Loop(l.Ref), f.Value)
		switch {
		case m < 0 || f.Name != "approved" && f.Name != "changes":
		case f.Name == "approved":
			b := d.s.Loop(l.Ref).gen.batch
			d.emit(l.Ref, &pawl.TaskJudged{Batch: b.n, Task: b.members[m].task, By: byReview, Verdict: pawl.VerdictPass, Evidence: output})
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
			d.reject(d.s.Loop(l.Ref), m, byReview, 0, why, because)
		}
	}
}

// unjudged says which tasks of a batch a review has no verdict on, or which it names
// that are not in it; empty = it is whole.
func (s *State) unjudged(l *Loop, f pawl.Facts) string {
	b := l.gen.batch
	var open []string
	for _, k := range b.chain {
		if m := &b.members[k.member]; m.verdict == "" {
			open = append(open, l.gen.plan.Entries[m.task].ID)
		}
	}
	named := append(f.All("approved"), f.All("changes")...)
	for _, id := range named {
		if !slices.Contains(open, id) {
			return fmt.Sprintf("%s is not a subtask of this batch. Its subtasks are %s: one verdict each.", brief.Cut(id, plan.MaxID), strings.Join(open, ", "))
		}
	}
	for _, id := range open {
		if !slices.Contains(named, id) {
			return fmt.Sprintf("There is no verdict on %s. The subtasks of this batch are %s: one verdict each.", id, strings.Join(open, ", "))
		}
	}
	return ""
}

// reviewed is the member of the candidate with this id that has no verdict; -1 = there is none.
func (s *State) reviewed(l *Loop, id string) int {
	b := l.gen.batch
	for i := range b.members {
		if l.gen.plan.Entries[b.members[i].task].ID == id && b.members[i].verdict == "" && b.members[i].in {
			return i
		}
	}
	return -1
}

// hashOf reads a hash that stands for a text.
func hashOf(text string) (h pawl.Hash, ok bool) {
	n, err := hex.Decode(h[:], []byte(text))
	return h, err == nil && n == len(h) && !h.IsZero()
}

// movedOn takes over that the branch has what a batch approved.
func (s *State) movedOn(l *Loop, b *pawl.BranchAdvanced) {
	l.Head, l.ahead = b.Commit, true
	bt := l.gen.batch
	if bt == nil { // a rollback was called meanwhile
		return
	}
	bt.moved = true
	last := bt.chain[len(bt.chain)-1].made
	l.moved(&pawl.Committed{Commit: b.Commit, Tree: last.Tree, Total: 1})
	l.gen.Tree = last.Tree
	for i := range bt.members {
		if m := &bt.members[i]; m.in && m.verdict == pawl.VerdictPass {
			k := s.Loop(l.gen.plan.At(m.task).Loop)
			k.cand.merge.done = true
			l.gen.handed = append(slices.Clip(l.gen.handed), k.left.Lists...)
		}
	}
	for _, r := range bt.results {
		if i := s.gateIndex(r.Gate); i >= 0 && !r.Evidence.IsZero() {
			l.gen.Latest = slices.Clone(l.gen.Latest)
			l.gen.Latest[i] = r.Evidence
		}
	}
}

// addBatch tells a reviewer which tasks it judges.
func (s *State) addBatch(l *Loop, do *pawl.AssemblePrompt) {
	b := l.gen.batch
	do.Commit, do.Base = b.subject(), l.Head
	for _, k := range b.chain {
		t := l.gen.plan.At(b.members[k.member].task)
		c := s.Loop(t.Loop)
		m := pawl.Member{Task: c.task.Spec, Paths: c.cand.Paths}
		if n := len(c.left.Outputs); n > 0 {
			m.Result = c.left.Outputs[n-1].Blob
		}
		do.Batch = append(do.Batch, m)
	}
}
