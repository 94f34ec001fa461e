package kernel

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/budget"
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
	PhaseOpening              // its worktree is being made
	PhaseBase                 // the gates look at the base commit, and the complexity is scored
	PhaseReady                // between iterations
	PhaseSteps                // the sessions of an iteration
	PhaseCommit               // their work becomes a candidate
	PhaseGates                // the candidate is judged, its children work, it is merged
	PhaseCouncil              // a council is at work
	PhaseClosing              // its worktree is being closed
	PhaseDone
)

var phases = [...]string{"pending", "opening", "base", "ready", "steps", "commit", "gates", "council", "closing", "done"}

func (p Phase) String() string { return phases[p] }

// Loop is one loop of the run. It holds what lives as long as the loop; what is dropped
// together is behind a pointer: [Generation], [Iteration] and [Candidate].
type Loop struct {
	Ref    pawl.LoopRef
	ID     string
	Parent pawl.LoopRef
	Kind   *pawl.LoopKind
	flow   *flow.Flow

	Phase    Phase
	Outcome  pawl.Outcome
	Reason   string
	stopped  bool // the run's end stopped it
	broke    bool // it failed by its worktree, not by its work
	invalid  bool // it does not count any more
	archived bool

	Iteration int  // the present one, or the last; 0 before the first
	Attempt   int  // of the iteration
	inside    bool // an iteration has started and not ended
	Tier      int
	tierWhy   string // why the next iteration's tier is another than the last one's
	Score     int    // complexity; -1 = not known

	Base, Head   pawl.CommitHash
	branch       string // empty = the run's
	ahead        bool   // the branch has moved, the worktree has not
	HasWorkspace bool   // the worktree is open
	worktree     worktree.State
	preparations worktree.Preparations // of the last commits, by when they were first requested
	base         []baseline            // by gate of the settings
	baseRuns     land.GateRuns         // command gates that were requested on the base
	unrecorded   bool                  // something happened since the task's folder was committed

	task      *pawl.TaskEntry // its entry in the parent's plan; of a loop without a parent an empty one
	slot      slot
	givenList pawl.Hash // the list of tasks that the user gave; zero = none

	gen  *Generation
	iter *Iteration      // nil = it has ended, and is not resumed
	cand *land.Candidate // of the present iteration, or the last; nil = there is none

	left     flow.Leavings
	ladder   ladder.State
	upstream upstream
	person   person
	inbox    signal.Inbox
	exit     exit
	callback callback

	spent    budget.Purse       // since it began
	sessions []*session.Session // under way
	session  int                // how many there have been
	open     []*pawl.Effect
}

// Generation is what a loop with children makes of one artifact: it is dropped when the loop
// begins anew.
type Generation struct {
	n     int        // from 1; one more each time the loop begins anew
	plan  *plan.Plan // nil = it has none yet
	plans int        // versions of the plan before this generation
	board []pawl.NotePosted
	listing

	batches        int         // that were begun
	batch          *land.Batch // the one under way; nil = none is
	before         int         // steps before it that are over
	after          int         // steps after it that are over
	handed         []flow.List // in what the batch's children handed in
	monitor.Course             // of the batches; of a loop without children, of its attempts
	ratchet        *ratchet    // of a loop without children: its attempts; nil = none has ended
}

// listing is a list of tasks on its way to be the plan of the present candidate.
type listing struct {
	listed  []pawl.TaskEntry // read so far
	read    *plan.Reading    // a list that is to be judged
	relist  pawl.Hash        // the list that a session handed in to replace the plan
	planned bool             // the candidate has its plan
	refused bool             // the list of tasks cannot be one
}

// Iteration is what one attempt of an iteration has done so far: it is dropped when the
// steps begin again.
type Iteration struct {
	flow.Cursor
	final      int    // final steps that are over
	stepFailed string // why the steps failed; empty = they did not
	restart    string // why the steps must start again; empty = they need not

	items      []flow.Item // of the step that runs for each entry
	itemFailed string      // why one of them failed; empty = none did

	unclear    *unclear           // the step that has questions; nil = none has
	inquiries  []route            // rounds of questions of steps, over all attempts
	blocked    *blocker           // what its task waits for; nil = nothing
	routes     []route            // ways back to a step that were taken
	objections []*pawl.GateJudged // that led to the last of them

	spentAt budget.Purse // what the loop had spent when the iteration began
}

// slot is the place of a loop in its parent's plan.
type slot struct {
	entry   int   // the position of its task
	version int   // of the plan it was started under
	number  int   // how many children the parent had started with it
	born    int64 // when it began to wait for its turn, in Unix milliseconds; 0 = it does not
	busy    bool  // it is counted among those at work
}

// upstream is what a loop has to do with its parent's branch, besides the way into it.
type upstream struct {
	rebase         *land.Rebase // on its way onto the parent's head
	hunks, suspect pawl.Hash    // what conflicted last, and in which paths
	probe          pawl.Hash    // what a sibling changes too
}

// person is what a loop asked persons, and what they said.
type person struct {
	question *question   // it waits for a person; nil = it does not
	reply    *reply      // what the last one said, until it is obeyed
	approved bool        // a person, or nobody, had to agree, and has
	wish     *wish       // why a person wanted another iteration; nil = none did
	answers  []pawl.Hash // for later prompts, oldest first
}

// exit is how a loop comes to its end by a signal, and what stands below it: see cascade.go.
type exit struct {
	ending   *ending      // a signal ends it; nil = none does
	ender    pawl.LoopRef // the loop above that told it to end; 0 = none did
	clearing *clearing    // what stands below it ends; nil = it does not
}

// callback is how the run's callback was told of its end.
type callback struct {
	told    *pawl.Notify  // what it was last told
	unheard *pawl.Failure // why it did not hear; nil = it was not tried, or did
}

// baseline is what a command gate said of the base commit.
type baseline struct {
	known, red bool
	evidence   pawl.Hash
	missing    string        // the program that it lacks; empty = it has it
	took       time.Duration // 0 = not known: it was cut short, or the log is old
}

// newLoop is a loop that has just begun.
func newLoop(ref pawl.LoopRef, kind *pawl.LoopKind) *Loop {
	return &Loop{Ref: ref, Kind: kind, Phase: PhaseOpening, task: &pawl.TaskEntry{}, gen: &Generation{n: 1}, iter: &Iteration{},
		Score: -1, ladder: ladder.State{Afterward: -1}}
}

// isGiven reports whether the user gave the list of tasks.
func (l *Loop) isGiven() bool { return !l.givenList.IsZero() }

// clone copies what Apply may change of a loop. What is replaced when it changes is shared.
func (l *Loop) clone() *Loop {
	c := *l
	c.gen, c.iter, c.cand = l.gen.clone(), l.iter.clone(), l.cand.Clone()
	c.left.Outputs = slices.Clone(l.left.Outputs)
	c.ladder.Council = l.ladder.Council.Clone()
	c.person.question = copied(l.person.question)
	c.exit.clearing = copied(l.exit.clearing)
	c.open = slices.Clone(l.open)
	c.sessions = slices.Clone(l.sessions)
	for i, x := range c.sessions {
		c.sessions[i] = x.Clone()
	}
	return &c
}

func (g *Generation) clone() *Generation {
	c := *g
	c.batch = g.batch.Clone()
	c.plan, c.board, c.Course = g.plan.Clone(), slices.Clone(g.board), g.Course.Clone()
	return &c
}

func (it *Iteration) clone() *Iteration {
	if it == nil {
		return nil
	}
	c := *it
	c.items, c.routes = slices.Clone(it.items), slices.Clone(it.routes)
	return &c
}

// copied is a copy of what a pointer points to.
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

// top is the strongest tier of the loop's ladder.
func (l *Loop) top() int {
	if n := len(l.Kind.Ladder.Rungs); n > 0 {
		return l.Kind.Ladder.Rungs[n-1].Tier
	}
	return ladder.Top
}
