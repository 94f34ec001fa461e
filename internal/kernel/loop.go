package kernel

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/budget"
	"pawl/internal/kernel/exam"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/plan"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/signal"
	"pawl/internal/kernel/worktree"
)

// Phase is where a loop is in its lifecycle.
type Phase uint8

// The phases, in their order.
const (
	PhasePending Phase = iota // it waits for its turn
	PhaseOpening              // its worktree is being created
	PhaseBase                 // the gates judge the base commit, and the complexity is scored
	PhaseReady                // between iterations
	PhaseSteps                // the sessions of an iteration run
	PhaseCommit               // their work becomes a candidate
	PhaseGates                // the candidate is judged, the children work, the candidate is merged
	PhaseCouncil              // a council is held
	PhaseClosing              // its worktree is being closed
	PhaseDone
)

var phases = [...]string{"pending", "opening", "base", "ready", "steps", "commit", "gates", "council", "closing", "done"}

func (p Phase) String() string { return phases[p] }

// Loop is one loop of the run. It holds what lives as long as the loop. What is dropped together is
// behind a pointer: [Generation], [Iteration] and [Candidate].
type Loop struct {
	Ref    pawl.LoopRef
	ID     string
	Parent pawl.LoopRef
	Kind   *pawl.LoopKind
	flow   *flow.Flow

	Phase         Phase
	Outcome       pawl.Outcome
	Reason        string
	stopped       bool // it ended because the run stopped
	isInvalidated bool // a loop above it started a new generation, so it no longer counts
	archived      bool

	Iteration   int  // the present or the last one; 0 before the first
	Attempt     int  // of that iteration, from 1
	inIteration bool // an iteration has started and not ended
	Tier        int
	tierWhy     string // why the next iteration has another tier than the last one
	Score       int    // complexity; -1 = not known

	Base, Head     pawl.CommitHash
	branch         string // empty = the run's branch
	worktreeBehind bool   // the branch has moved, and the worktree has not
	HasWorkspace   bool   // the worktree is open
	worktree       worktree.State
	preparations   worktree.Preparations // of the last commits, by when they were first requested
	base           []baseline            // by gate of the settings
	baseRuns       land.GateRuns         // command gates requested on the base
	unrecorded     bool                  // something happened since the task's folder was last committed

	task      *pawl.TaskEntry // its entry in the parent's plan; empty for a loop without a parent
	slot      slot
	givenList pawl.Hash // the list of tasks that the user gave; zero = none

	gen  *Generation
	iter *Iteration      // nil = it has ended and is not resumed
	cand *land.Candidate // of the present or the last iteration; nil = there is none

	goals    exam.Goals
	left     flow.Leavings
	ladder   ladder.State
	upstream upstream
	person   person
	inbox    signal.Inbox
	exit     exit
	callback callback

	spent    budget.Purse       // since it began
	sessions []*session.Session // that have not ended
	session  int                // how many have been started
	open     []*pawl.Effect
}

// Generation is what a loop with children makes of one artifact. It is dropped when the loop starts
// over with a new artifact.
type Generation struct {
	n     int        // from 1; each time the loop starts over adds one
	plan  *plan.Plan // nil = it has none yet
	plans int        // versions of the plan in earlier generations
	// rejected is true if a person has rejected the plan, until there is another version of it.
	rejected bool
	board    []pawl.NotePosted
	listing

	exam           *exam.Exam  // of the last candidate that was examined; nil = none was
	batches        int         // how many were started
	batch          *land.Batch // the present one; nil = there is none
	beforeDone     int         // steps before the batch that are over
	afterDone      int         // steps after the batch that are over
	childLists     []flow.List // lists that the batch's children handed in
	monitor.Course             // of the batches, or of the attempts of a loop without children
	ratchet        *ratchet    // of the attempts of a loop without children; nil = none has ended
}

// listing is the progress of a list of tasks that is to become the present candidate's plan.
type listing struct {
	listed  []pawl.TaskEntry // tasks read so far
	read    *plan.Reading    // the whole list, until it is accepted or refused; nil = not read
	relist  pawl.Hash        // the list that a session handed in to replace the plan; zero = none
	planned bool             // the candidate has its plan
	refused bool             // the list of tasks cannot become a plan
}

// Iteration is the progress of one attempt of an iteration. It is dropped when the steps start
// again.
type Iteration struct {
	flow.Cursor
	final      int    // final steps that are over
	stepFailed string // why the steps failed; empty = they did not
	outOfTime  string // why a step ended whose work is judged all the same; empty = none did
	restart    string // why the steps must start again; empty = they need not
	worked     bool   // a step that can change files has begun
	rejudges   bool   // no step runs: it judges what the last one left

	items      []flow.Item // the progress of a step with for_each, by entry
	itemFailed string      // why an entry failed; empty = none did

	unclear              *unclear           // the step with open questions; nil = there is none
	questionRoundsByStep []route            // rounds of questions by step, over all attempts
	blocked              *blocker           // what blocks its task; nil = nothing
	routes               []route            // how often it was sent back
	objections           []*pawl.GateJudged // the verdicts that sent it back last
	judged               sentBack           // what command gates said of the candidate that was sent back last
	salvaged             pawl.Hash          // the diff of what a lost turn of a coding agent had written; zero = none was lost

	spentAt budget.Purse // what the loop had spent when the iteration began
}

// sentBack is a tree and what command gates said of it. The zero value is none.
type sentBack struct {
	tree    pawl.TreeHash
	results []*pawl.GateJudged
}

// slot is a loop's place in its parent's plan.
type slot struct {
	entry   int   // the position of its task, from 0
	version int   // the version of the plan that it was started under
	tried   int   // attempts at which its task failed under earlier versions, which count against its limit
	born    int64 // when it began to wait for its turn, in Unix milliseconds; 0 = it does not wait
	busy    bool  // it is counted among the loops at work
}

// upstream is what a loop knows of its parent's branch, apart from its own landing there.
type upstream struct {
	rebase         *land.Rebase // the rebase in progress onto the parent's head; nil = none
	hunks, suspect pawl.Hash    // what conflicted last, and which paths may hold conflict markers
	probe          pawl.Hash    // what conflicts with the candidate of a sibling
}

// person is what a loop asked people, and what they answered.
type person struct {
	question *question // the open question; nil = there is none
	reply    *reply    // the last answer, until it has been acted on
	approved bool      // a person has given the consent that was asked for
	wish     *wish     // a person's request for another iteration; nil = there is none
	// overrulings are a person's words against halts of reviews, until the steps run again.
	overrulings []overruling
	rejudge     bool        // the next iteration judges what the last overruling is about, without steps
	answers     []pawl.Hash // for later prompts, oldest first
}

// exit is how a loop ends, where its work does not decide that, and the end of the loops below it: see
// cascade.go.
type exit struct {
	broke    bool         // its worktree failed, not its work
	ending   *ending      // the signal that ends it; nil = none does
	ender    pawl.LoopRef // the loop above that told it to end; 0 = none did
	clearing *teardown    // the end of the loops below it; nil = it is not in progress
}

// callback is the delivery of the run's end to its callback.
type callback struct {
	lastTry     *pawl.Notify  // the last try; nil = there was none
	lastFailure *pawl.Failure // why the last try failed; nil = it did not, or there was none
}

// baseline is the verdict of a command gate on the base commit.
type baseline struct {
	known, red bool
	evidence   pawl.Hash
	cut, again bool          // it was cut short, and so it was when it judged again
	missing    string        // the program that the machine lacks; empty = none
	took       time.Duration // 0 = not known: the gate was cut short, or the log is old
}

// newLoop returns a loop that has just begun.
func newLoop(ref pawl.LoopRef, kind *pawl.LoopKind) *Loop {
	return &Loop{Ref: ref, Kind: kind, Phase: PhaseOpening, task: &pawl.TaskEntry{}, gen: &Generation{n: 1}, iter: &Iteration{},
		Score: -1, ladder: ladder.State{Afterward: -1}}
}

// isGiven reports whether the user gave the list of tasks.
func (l *Loop) isGiven() bool { return !l.givenList.IsZero() }

// clone returns a copy that Apply may change without l. What is replaced when it changes is shared.
func (l *Loop) clone() *Loop {
	// In one allocation: this runs for almost every input.
	c := &struct {
		Loop
		gen  Generation
		iter Iteration
	}{Loop: *l, gen: *l.gen}
	c.Loop.gen = &c.gen
	c.gen.unshare()
	if l.iter != nil {
		c.iter = *l.iter
		c.Loop.iter = &c.iter
		c.iter.unshare()
	}
	c.cand = l.cand.Clone()
	c.left.Outputs = slices.Clone(l.left.Outputs)
	c.ladder.Council = l.ladder.Council.Clone()
	c.person.question = copied(l.person.question)
	c.exit.clearing = copied(l.exit.clearing)
	c.open = slices.Clone(l.open)
	c.sessions = slices.Clone(l.sessions)
	for i, x := range c.sessions {
		c.sessions[i] = x.Clone()
	}
	return &c.Loop
}

// unshare copies what a copied generation shares with the original.
func (g *Generation) unshare() {
	g.batch, g.exam = g.batch.Clone(), g.exam.Clone()
	g.plan, g.board, g.Course = g.plan.Clone(), slices.Clone(g.board), g.Course.Clone()
}

// unshare copies what a copied iteration shares with the original.
func (it *Iteration) unshare() {
	it.items, it.routes = slices.Clone(it.items), slices.Clone(it.routes)
}

// copied returns a copy of what p points to, or nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

func (l *Loop) sessionByN(n int) *session.Session {
	for _, x := range l.sessions {
		if x.N == n {
			return x
		}
	}
	return nil
}

// top returns the strongest tier of the loop's ladder.
func (l *Loop) top() int {
	if n := len(l.Kind.Ladder.Rungs); n > 0 {
		return l.Kind.Ladder.Rungs[n-1].Tier
	}
	return ladder.Top
}
