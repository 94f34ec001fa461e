// Package land brings the work of a batch of children into the branch of their parent. It chains
// a merge commit per child into a candidate, collects what the gates say of the candidate, and
// finds the child whose work makes the gates fail. It also holds the commit of one iteration with
// the verdicts on it. The caller makes the commits, runs the gates and moves the branch.
package land

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/verdict"
)

// Batch is a round of children that is judged as a whole. After the steps before it and the loops
// of its members, it goes through these stages:
//
//  1. [Batch.Link] chains the merge commits of the members in list order. A member that
//     conflicts becomes the Clash, which the caller settles with [Batch.Judged].
//  2. The gates judge the subject, at first the whole chain: [Batch.Said], [Batch.Conclude]. If
//     the chain is red, the subject becomes its first link, its first two and so on, until one is
//     red: the last member of that one is the Culprit, which the caller settles with
//     [Batch.Judged]. That cuts the chain, and the members behind the culprit are linked anew.
//  3. When the chain is green, its members are approved or rejected by [Batch.Judged], which may
//     cut the chain again.
//  4. The caller moves the branch to the subject and sets Moved.
type Batch struct {
	N        int  // the number of the batch, from 1
	Scaffold bool // its tasks lay the ground for others
	Land     pawl.Landing
	Members  []Member // in list order

	Onto    pawl.CommitHash   // the branch's head that the chain begins with: see [Batch.Begin]
	Sealed  bool              // In says of each member whether it is in the candidate: see [Batch.Seal]
	Chain   []link            // the candidate: merge commits, each made on the one before
	Clash   *pawl.Merged      // a merge commit with conflicts that has not been settled; nil = none
	Clashed int               // the position of the member that Clash is of
	Results []pawl.GateJudged // what the gates say of the subject, one per gate, the latest last
	tip     *pawl.GateJudged  // why the whole chain is red, while its first red prefix is looked for; nil = it is not looked for
	prefix  int               // links of the subject, while its first red prefix is looked for; 0 = the subject is the whole chain
	Green   bool              // the gates let the whole chain pass
	Culprit *culprit          // the member that makes the chain red, until it is settled; nil = none is known
	doubted []string          // the gates that were asked about the subject again
	Shown   pawl.CommitHash   // what the parent's worktree shows instead of the branch's head; empty = nothing else
	Reviews int               // review sessions of the batch that have ended with a result
	Empty   Retries           // judges of the batch who handed in nothing
	Moved   bool              // the branch has what was approved
}

// Member is a task of a batch.
type Member struct {
	Task    int          // its position in the plan, from 0
	Begun   bool         // its loop works, or has worked, for this batch
	In      bool         // it is in the candidate unless it is rejected; set by [Batch.Seal]
	Verdict pawl.Verdict // empty = not judged
	Facts   monitor.Task // what the monitor is told of it
}

// Rejected reports whether the review or the gates rejected the member.
func (m *Member) Rejected() bool { return m.Verdict != "" && m.Verdict != pawl.VerdictPass }

// link is a merge commit of a candidate.
type link struct {
	Member int          // the position of the member that it merges
	Made   *pawl.Merged // only with its commit, tree and changes
}

// culprit is the member whose work makes a candidate red.
type culprit struct {
	Member int             // its position
	By     pawl.GateJudged // the verdict that made it so
}

// Clone returns a copy that can change without b. A nil batch has a nil clone.
func (b *Batch) Clone() *Batch {
	if b == nil {
		return nil
	}
	c := *b
	c.Members, c.Chain = slices.Clone(b.Members), slices.Clone(b.Chain)
	c.Results, c.doubted = slices.Clone(b.Results), slices.Clone(b.doubted)
	return &c
}

// Open reports whether a task is a member and has not been judged.
func (b *Batch) Open(task int) bool {
	return slices.ContainsFunc(b.Members, func(m Member) bool { return m.Task == task && m.Verdict == "" })
}

// Member returns the member for a task, or nil if the task is not in the batch or b is nil.
func (b *Batch) Member(task int) *Member {
	if b == nil {
		return nil
	}
	if i := slices.IndexFunc(b.Members, func(m Member) bool { return m.Task == task }); i >= 0 {
		return &b.Members[i]
	}
	return nil
}

// Judged records the verdict on a task, which must be a member. Any verdict but a pass rejects it:
// the clash or the culprit is settled, and the chain is cut before the member's link, so that the
// members behind it are linked anew. Judged reports whether the chain was cut. Then the results so
// far are dropped.
func (b *Batch) Judged(task int, v pawl.Verdict) (changed bool) {
	b.Member(task).Verdict = v
	if v == pawl.VerdictPass {
		return false
	}
	picked := b.Clash != nil || b.Culprit != nil
	b.Clash, b.Culprit = nil, nil
	for i := range b.Chain {
		if b.Members[b.Chain[i].Member].Task == task {
			b.Chain = b.Chain[:i:i]
			b.newSubject(0)
			changed = true
			break
		}
	}
	b.prefix, b.tip = 0, nil
	if b.Land == pawl.LandBest && (picked || changed) {
		b.Reviews, b.Empty = 0, Retries{} // another one is to be picked
	}
	return changed
}

// Subject returns the commit that the gates judge: the end of the chain, or of its prefix while
// the first red one is looked for. The chain must not be empty.
func (b *Batch) Subject() pawl.CommitHash {
	n := len(b.Chain)
	if b.prefix > 0 {
		n = b.prefix
	}
	return b.Chain[n-1].Made.Commit
}

// Next returns the position of the first member that waits to be merged and is not in the chain,
// or -1. Waits reports whether a member is ready to be merged and not rejected.
func (b *Batch) Next(waits func(*Member) bool) int {
	for i := range b.Members {
		there := slices.ContainsFunc(b.Chain, func(k link) bool { return k.Member == i })
		if !there && waits(&b.Members[i]) {
			return i
		}
	}
	return -1
}

// Seal decides which members are in the candidate, when the first merge commit is requested: those
// that wait then. Later calls change nothing, so that a member that comes too late is left for
// the next batch.
func (b *Batch) Seal(waits func(*Member) bool) {
	if b.Sealed {
		return
	}
	for i := range b.Members {
		b.Members[i].In = waits(&b.Members[i])
	}
	b.Sealed = true
}

// Link appends the merge commit of the member at a position to the chain, and reports whether
// there is a new subject. A merge commit with conflicts is not appended: it becomes the Clash.
func (b *Batch) Link(member int, made *pawl.Merged) bool {
	if made.Conflicts > 0 {
		b.Clash, b.Clashed = made, member
		return false
	}
	b.Chain = append(b.Chain, link{member, &pawl.Merged{Commit: made.Commit, Tree: made.Tree, Changes: made.Changes}})
	b.newSubject(0)
	return true
}

// Begin records that the chain is made anew on a head of the branch.
func (b *Batch) Begin(head pawl.CommitHash) {
	b.Onto, b.Chain, b.Clash, b.Culprit, b.tip = head, nil, nil, nil, nil
	b.newSubject(0)
}

// IsStale reports whether the chain was begun on another head than the branch has now.
func (b *Batch) IsStale(head pawl.CommitHash) bool {
	return (len(b.Chain) > 0 || b.Clash != nil) && b.Onto != head
}

// First returns the position of the first member of the chain, or of the one that does not fit.
func (b *Batch) First() int {
	if len(b.Chain) > 0 {
		return b.Chain[0].Member
	}
	return b.Clashed
}

// Tip returns the commit that the next merge commit is made on: the end of the chain, or head if
// there is no chain or it is stale.
func (b *Batch) Tip(head pawl.CommitHash) pawl.CommitHash {
	if len(b.Chain) == 0 || b.IsStale(head) {
		return head
	}
	return b.Chain[len(b.Chain)-1].Made.Commit
}

// newSubject makes the first links of the chain the subject, as many as prefix, or the whole chain
// if prefix is 0. What the gates said of the last subject is dropped.
func (b *Batch) newSubject(prefix int) {
	b.prefix, b.Results, b.doubted, b.Green = prefix, nil, nil, false
}

// Result returns what a gate says of the subject, or nil if it has not judged it.
func (b *Batch) Result(gate string) *pawl.GateJudged {
	for i := range b.Results {
		if b.Results[i].Gate == gate {
			return &b.Results[i]
		}
	}
	return nil
}

// Doubts reports whether the gate that gave r must judge the subject again before it is believed:
// a test gate that failed with a full report, because a test may be flaky. A gate is doubted once
// per subject.
func (b *Batch) Doubts(r *pawl.GateJudged) bool {
	return !verdict.Passes(r.Verdict) && r.Kind == pawl.GateTests && !r.Partial && !r.Evidence.IsZero() && !slices.Contains(b.doubted, r.Gate)
}

// Doubt records that a gate is asked about the subject again, and reports whether this is the
// first time. The caller then counts the gate's tries anew, because its verdict was no failed try.
func (b *Batch) Doubt(gate string) bool {
	if !slices.Contains(b.doubted, gate) {
		b.doubted = append(b.doubted, gate)
		return true
	}
	return false
}

// Said records what a gate says of the subject, in place of what it said before.
func (b *Batch) Said(j *pawl.GateJudged) {
	c := *j
	c.Reason, c.Mended, c.Flaky = brief.Cut(j.Reason, verdict.MaxReason), nil, nil // the end of the reason and the names are not used
	b.Results = append(slices.DeleteFunc(b.Results, func(r pawl.GateJudged) bool { return r.Gate == j.Gate }), c)
}

// Conclude decides what follows when all of gates have judged the subject, and reports whether
// there is a new subject. It sets Green if the whole chain passes. If the whole chain is red and
// has several links, its first link is judged alone, and then one link more each time, until a
// prefix is red: the Culprit is the last member of that prefix. If all prefixes pass, only the
// whole chain is red, and the Culprit is its last member, with the verdict on the whole chain.
//
// An empty chain is left as it is.
func (b *Batch) Conclude(gates []string) bool {
	if len(b.Chain) == 0 {
		return false
	}
	var red *pawl.GateJudged
	for _, name := range gates {
		if r := b.Result(name); red == nil && !verdict.Passes(r.Verdict) {
			red = r
		}
	}
	switch {
	case red == nil && b.prefix == 0:
		b.Green = true
	case red != nil && b.prefix == 0 && len(b.Chain) > 1:
		first := *red
		b.tip = &first
		b.newSubject(1)
		return true
	case red == nil && b.prefix+1 < len(b.Chain):
		b.newSubject(b.prefix + 1)
		return true
	case red == nil: // every shorter prefix passes
		b.Culprit = &culprit{b.Chain[len(b.Chain)-1].Member, *b.tip}
	default:
		b.Culprit = &culprit{b.Chain[max(b.prefix, 1)-1].Member, *red}
	}
	return false
}

// ByReview is the judge's name when the review of a batch judges a task.
const ByReview = "review"

// Objection returns the fingerprint of a batch's objection to a task: by whom, and the words of why. A
// review's words are in its evidence, if there is any: their fingerprint is words, 0 where it is not known,
// as in older logs.
func Objection(by, reason string, evidence pawl.Hash, words uint64) uint64 {
	switch {
	case words != 0:
	case by == ByReview && !evidence.IsZero():
		words = brief.Fingerprint(evidence.String())
	default:
		words = brief.Words(brief.Cut(reason, 300))
	}
	return brief.Mix(brief.Fingerprint(by), words)
}

// Undecided returns the positions of the members in the chain that have no verdict, in the order
// of the chain.
func (b *Batch) Undecided() (out []int) {
	for _, k := range b.Chain {
		if b.Members[k.Member].Verdict == "" {
			out = append(out, k.Member)
		}
	}
	return out
}

// Picked reports whether a member has been approved.
func (b *Batch) Picked() bool {
	return slices.ContainsFunc(b.Members, func(m Member) bool { return m.Verdict == pawl.VerdictPass })
}

// Linked returns the positions of the members in the chain, in its order.
func (b *Batch) Linked() (out []int) {
	for _, k := range b.Chain {
		out = append(out, k.Member)
	}
	return out
}

// OfBatch returns the facts of a review without the verdicts on tasks that are not open, and of what
// belongs to these. The fact "surplus" names such a task: a review that decides more than it was asked
// is none the worse for it.
func OfBatch(f pawl.Facts, open []string) pawl.Facts {
	var out, surplus pawl.Facts
	skips := false
	for _, fact := range f {
		if fact.Name == "approved" || fact.Name == "changes" {
			if skips = !slices.Contains(open, fact.Value); skips {
				surplus = append(surplus, pawl.Fact{Name: pawl.FactSurplus, Value: "verdict on " + brief.Cut(fact.Value, maxName)})
			}
		}
		if !skips || !slices.Contains([]string{"approved", "changes", "why", "because", "words"}, fact.Name) {
			out = append(out, fact)
		}
	}
	return append(out, surplus...)
}

// Unjudged returns what is wrong with the verdicts of a review, in words for the model, or "". The
// facts "approved" and "changes" each name a task by its id: every open one must be named. Others are
// ignored, unless one may stand for an open one that is not named. If only the best lands, one of them
// is approved.
func (b *Batch) Unjudged(f pawl.Facts, open []string) string {
	f = OfBatch(f, open)
	named := append(f.All("approved"), f.All("changes")...)
	for _, id := range open {
		if slices.Contains(named, id) {
			continue
		}
		if other := f.Get(pawl.FactSurplus); other != "" {
			id += ", and the " + other + " is not of this batch"
		}
		return fmt.Sprintf("There is no verdict on %s. The subtasks of this batch are %s: one verdict each.", id, strings.Join(open, ", "))
	}
	if n := len(f.All("approved")); b.Land == pawl.LandBest && n != 1 {
		return fmt.Sprintf("You approved %d of them. Only one becomes part of the work: approve the best, and name the others under changes.", n)
	}
	return ""
}

// maxName bounds the bytes that are quoted of an unknown task's name.
const maxName = 60

// Named returns the position of the member in the candidate that has no verdict and whose task has
// this id, or -1. Where the best lands, every member may be picked.
func (b *Batch) Named(name string, id func(task int) string) int {
	return slices.IndexFunc(b.Members, func(m Member) bool { return m.Verdict == "" && (m.In || b.Land == pawl.LandBest) && id(m.Task) == name })
}

// Entry is a loop's place in its parent's merge queue.
type Entry struct {
	Since pawl.Seq // the event with which the loop entered the queue
	Alone *Batch   // the loop's own landing, of which it is the only member; nil = it lands with others
	Done  bool     // the branch has moved
}

// Enter returns the entry of a loop that works on a task and lands alone, or with others.
func Enter(at pawl.Seq, task int, alone bool) *Entry {
	if !alone {
		return &Entry{Since: at}
	}
	return &Entry{Since: at, Alone: &Batch{Members: []Member{{Task: task, Begun: true, In: true, Verdict: pawl.VerdictPass}}, Sealed: true}}
}

// IsDone reports whether the branch has moved. It is false for nil.
func (e *Entry) IsDone() bool { return e != nil && e.Done }

// Clone returns a copy that can change without e. A nil entry has a nil clone.
func (e *Entry) Clone() *Entry {
	if e == nil {
		return nil
	}
	c := *e
	c.Alone = e.Alone.Clone()
	return &c
}

// Rebase is a merge commit of a parent's head into a loop's branch.
type Rebase struct {
	Onto pawl.CommitHash // the parent's head
	Made *pawl.Merged
}

// maxTaskHunks bounds the fingerprints of changes that are kept of a member's work. They come in
// pairs, in an order that is the same for a change and its undoing.
const maxTaskHunks = 8

// Note records in Facts what the monitor needs of the member's candidate: the verdicts on it, its
// commit, which may be nil, and the fingerprint of what was objected, 0 for nothing. How many tests
// pass is not known if a gate was cut short, and a gate that was skipped tells nothing.
func (m *Member) Note(results []*pawl.GateJudged, c *pawl.Committed, objected uint64) {
	f := &m.Facts
	f.Error, f.Failing, f.Failed, f.Passing = objected, verdict.FailingTests(results), 0, -1
	cut := false
	for _, r := range results {
		switch {
		case r.Kind != pawl.GateTests || r.Verdict == pawl.VerdictSkip:
		case r.Partial:
			cut = true
		default:
			f.Passing = max(f.Passing, 0) + r.Passed
			f.Failed += max(r.Total-r.Passed, 0)
		}
	}
	if cut {
		f.Passing, f.Failed = -1, 0
	}
	if c != nil {
		// What siblings merged in the meantime is in the tree too, and not in the change.
		f.Tree, f.Hunks = brief.Fingerprint(cmp.Or(c.PatchID, string(c.Tree))), c.Hunks[:min(len(c.Hunks), maxTaskHunks)]
	}
}
