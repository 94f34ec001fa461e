// Package land makes a candidate of what children made, on its way into the branch of their
// parent: who is in it, which merge commits it consists of, what the gates say of it, and who
// made it red. How commits are made and judged is its caller's business.
package land

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/verdict"
)

// Batch is a round of children that is judged as a whole. What it goes through
// follows from what is in it: the steps before it; its tasks' loops; the candidate
// of what they made (assembly.go), judged and moved into the parent's branch; the
// steps after it.
type Batch struct {
	N        int
	Scaffold bool
	Members  []Member

	Sealed  bool              // who is in the candidate is settled
	Chain   []link            // the candidate: merge commits, each on the one before
	Clash   *pawl.Merged      // one that conflicts and has not been dealt with; of clashing
	Clashed int               // the member it is of
	Results []pawl.GateJudged // of the subject, in the order they came
	tip     *pawl.GateJudged  // what the whole chain is red for, while the first red prefix is looked for; nil = it is not
	prefix  int               // links of the subject, while that is looked for; 0 = the whole chain is
	Green   bool              // the gates let the whole chain pass
	Culprit *culprit          // who made it red
	doubted []string          // gates that were asked about the subject twice
	Shown   pawl.CommitHash   // what the worktree shows instead of the branch's head
	Reviews int               // sessions that reviewed it and came to their end
	Moved   bool              // the branch has what was approved
}

// entrant is a task of a batch.
type Member struct {
	Task    int
	Begun   bool         // it has a loop that works, or worked, for this batch
	In      bool         // it is part of the candidate, as long as nothing speaks against it
	Verdict pawl.Verdict // empty = not judged
	Facts   monitor.Task
}

// Rejected reports whether something speaks against the task's work.
func (m *Member) Rejected() bool { return m.Verdict != "" && m.Verdict != pawl.VerdictPass }

// link is a merge commit of a candidate.
type link struct {
	Member int
	Made   *pawl.Merged
}

// culprit is the member whose work makes a candidate red.
type culprit struct {
	Member int
	By     pawl.GateJudged
}

func (b *Batch) Clone() *Batch {
	if b == nil {
		return nil
	}
	c := *b
	c.Members, c.Chain = slices.Clone(b.Members), slices.Clone(b.Chain)
	c.Results, c.doubted = slices.Clone(b.Results), slices.Clone(b.doubted)
	return &c
}

// Open reports whether a task is in the batch and has not been judged.
func (b *Batch) Open(task int) bool {
	return slices.ContainsFunc(b.Members, func(m Member) bool { return m.Task == task && m.Verdict == "" })
}

// Member finds a task in the batch, or is nil.
func (b *Batch) Member(task int) *Member {
	if b == nil {
		return nil
	}
	if i := slices.IndexFunc(b.Members, func(m Member) bool { return m.Task == task }); i >= 0 {
		return &b.Members[i]
	}
	return nil
}

// Judged takes over the verdict on a task, and reports whether the candidate is another one
// without it.
func (b *Batch) Judged(task int, v pawl.Verdict) (changed bool) {
	b.Member(task).Verdict = v
	if v == pawl.VerdictPass {
		return false
	}
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
	return changed
}

// Subject is the commit that is judged: the candidate, or the first links of it.
func (b *Batch) Subject() pawl.CommitHash {
	n := len(b.Chain)
	if b.prefix > 0 {
		n = b.prefix
	}
	return b.Chain[n-1].Made.Commit
}

// Next is the member whose work is merged next, of those that wait for it; -1 = all of them
// are in the chain.
func (b *Batch) Next(waits func(*Member) bool) int {
	for i := range b.Members {
		there := slices.ContainsFunc(b.Chain, func(k link) bool { return k.Member == i })
		if !there && waits(&b.Members[i]) {
			return i
		}
	}
	return -1
}

// Seal settles who is in the candidate when its first link is asked for.
func (b *Batch) Seal(waits func(*Member) bool) {
	if b.Sealed {
		return
	}
	for i := range b.Members {
		b.Members[i].In = waits(&b.Members[i])
	}
	b.Sealed = true
}

// Link puts a member's merge commit at the end of the candidate, and reports whether that
// is another subject: one that conflicts is none.
func (b *Batch) Link(member int, made *pawl.Merged) bool {
	if made.Conflicts > 0 {
		b.Clash, b.Clashed = made, member
		return false
	}
	b.Chain = append(b.Chain, link{member, &pawl.Merged{Commit: made.Commit, Tree: made.Tree, Changes: made.Changes}})
	b.newSubject(0)
	return true
}

// newSubject says that what was judged so far is not what is to be judged now:
// the whole chain, or its first links.
func (b *Batch) newSubject(prefix int) {
	b.prefix, b.Results, b.doubted, b.Green = prefix, nil, nil, false
}

func (b *Batch) Result(gate string) *pawl.GateJudged {
	for i := range b.Results {
		if b.Results[i].Gate == gate {
			return &b.Results[i]
		}
	}
	return nil
}

// Doubts reports whether a gate is to be asked about the subject again.
func (b *Batch) Doubts(r *pawl.GateJudged) bool {
	return !verdict.Passes(r.Verdict) && r.Kind == pawl.GateTests && !r.Partial && !r.Evidence.IsZero() && !slices.Contains(b.doubted, r.Gate)
}

// Doubt takes over that a gate is asked about the subject again, and reports whether that is
// for the first time: that it judged it once does not count among its tries.
func (b *Batch) Doubt(gate string) bool {
	if !slices.Contains(b.doubted, gate) {
		b.doubted = append(b.doubted, gate)
		return true
	}
	return false
}

// Said takes over what a gate says of the subject.
func (b *Batch) Said(j *pawl.GateJudged) {
	c := *j
	c.Reason, c.Mended, c.Flaky = brief.Cut(j.Reason, verdict.MaxReason), nil, nil // nobody asks for these
	b.Results = append(slices.DeleteFunc(b.Results, func(r pawl.GateJudged) bool { return r.Gate == j.Gate }), c)
}

// Conclude says what follows when all gates have spoken: the subject is green; or the first
// of its links that makes it red is looked for. It reports whether there is another subject.
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
	case red == nil: // only the last one is left
		b.Culprit = &culprit{b.Chain[len(b.Chain)-1].Member, *b.tip}
	default:
		b.Culprit = &culprit{b.Chain[max(b.prefix, 1)-1].Member, *red}
	}
	return false
}

// ByReview is who judges a task when the review of its batch does.
const ByReview = "review"

// Objection is the signature of what a batch objects to a task: who objects, and what
// is said, as that may be something else each time.
func Objection(by, reason string, evidence pawl.Hash) uint64 {
	if by == ByReview && !evidence.IsZero() {
		return brief.Mix(brief.Fingerprint(by), brief.Fingerprint(evidence.String()))
	}
	return brief.Mix(brief.Fingerprint(by), brief.Fingerprint(brief.Cut(reason, 300)))
}

// Undecided are the members of the candidate without a verdict.
func (b *Batch) Undecided() (out []int) {
	for _, k := range b.Chain {
		if b.Members[k.Member].Verdict == "" {
			out = append(out, k.Member)
		}
	}
	return out
}

// Unjudged says which tasks of a batch a review has no verdict on, or which it names
// that are not in it; empty = it is whole. A task is named by id.
func (b *Batch) Unjudged(f pawl.Facts, id func(task int) string) string {
	var open []string
	for _, k := range b.Chain {
		if m := &b.Members[k.Member]; m.Verdict == "" {
			open = append(open, id(m.Task))
		}
	}
	named := append(f.All("approved"), f.All("changes")...)
	for _, id := range named {
		if !slices.Contains(open, id) {
			return fmt.Sprintf("%s is not a subtask of this batch. Its subtasks are %s: one verdict each.", brief.Cut(id, maxName), strings.Join(open, ", "))
		}
	}
	for _, id := range open {
		if !slices.Contains(named, id) {
			return fmt.Sprintf("There is no verdict on %s. The subtasks of this batch are %s: one verdict each.", id, strings.Join(open, ", "))
		}
	}
	return ""
}

// maxName is how many bytes are told of the name of a task that there is not.
const maxName = 60

// Named is the member of the candidate with this id that has no verdict; -1 = there is none.
func (b *Batch) Named(name string, id func(task int) string) int {
	return slices.IndexFunc(b.Members, func(m Member) bool { return m.Verdict == "" && m.In && id(m.Task) == name })
}

// Merge is a merge commit on its way: into the parent's branch, or of the
// parent's head into the loop's own.
type Merge struct {
	Queued pawl.Seq        // when the loop entered the queue
	Onto   pawl.CommitHash // the parent's head it is made with
	Made   *pawl.Merged    // nil = not yet
	Regate bool            // its tree is no candidate's: the commands judge it again
	Done   bool            // the branch has moved
}

// IsDone reports whether the branch has moved.
func (m *Merge) IsDone() bool { return m != nil && m.Done }

func (m *Merge) Clone() *Merge {
	if m == nil {
		return nil
	}
	c := *m
	return &c
}

const (
	maxTaskHunks = 8
)

// Note keeps of a candidate what the monitor needs.
func (m *Member) Note(results []*pawl.GateJudged, c *pawl.Committed, objected uint64) {
	f := &m.Facts
	f.Error, f.Failing, f.Failed, f.Passing = objected, verdict.FailingTests(results), 0, -1
	for _, r := range results {
		if r.Kind == pawl.GateTests {
			f.Passing = max(f.Passing, 0) + r.Passed
			f.Failed += max(r.Total-r.Passed, 0)
		}
	}
	if c != nil {
		f.Tree, f.Hunks = brief.Fingerprint(string(c.Tree)), c.Hunks[:min(len(c.Hunks), maxTaskHunks)]
	}
}
