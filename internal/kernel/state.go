package kernel

import (
	"cmp"
	"slices"
	"time"

	"pawl"
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

// State is a run as its events made it. The zero State is the run before its
// first event. Only [Apply] changes it; what it hands out must not be changed.
type State struct {
	Run     pawl.RunID
	Seq     pawl.Seq
	Started *pawl.RunStarted
	// Recipe and Settings are what RunStarted froze.
	Recipe   *pawl.Recipe
	Settings *pawl.Settings

	Status  pawl.RunStatus
	Outcome pawl.Outcome
	Reason  string // why it ended, or was paused
	// Stopping is set while the run ends: the outcome it will have.
	Stopping *pawl.RunStopping
	Drain    pawl.Draining

	// Limits are those in force. Spent is what the run was charged, Lost the part of it that
	// calls were charged whose cost nobody knows, Reserved what calls under way may cost.
	Limits   pawl.Limits
	Spent    Purse
	Lost     Purse
	Reserved Purse
	warned   [2]bool            // of money, of tokens
	short    *pawl.LimitReached // the limit that stopped the run; nil = none did

	// Last is the time of the last event; Alive how long a driver had the run.
	began time.Time
	Last  time.Time
	Alive time.Duration

	// Interruptions counts recoveries.
	Interruptions int

	flows     []*flow // by kind of the recipe
	questions int     // how many have been asked
	waiting   int     // how many of them wait for an answer
	holding   int     // how many loops a person's signal holds
	memories  int     // how many entries have been made
	signals   int     // how many have been sent
	archived  bool

	learned  int                     // how many of them have a number among the task's learnings
	learnt   []pawl.Hash             // the texts of the last of these
	notified bool                    // the callback has heard of the run's end
	without  []int                   // gates of the settings that are not part of the run
	headAt   pawl.Seq                // the event since which the run's branch is where it is
	forkedAt pawl.CommitHash         // where the branch of a fork begins; empty = it is none
	said     []pawl.QuestionAnswered // the last of them

	loops []*Loop        // by Ref-1
	live  int            // loops that are not done
	queue []pawl.LoopRef // those that wait for their turn, by Ref
	busy  []int          // by kind of the recipe: loops at work; nil = no kind's children cascade
	full  []bool         // by kind, and last for the run: the limit on loops at work that holds one back was said
	open  []*pawl.Effect // requested, not answered, withdrawn or lost; by ID
	// draft is what a draft has changed of loops and open, which it shares with the
	// state it was made of; nil = this is no draft.
	draft *overlay
}

// Purse is an amount of money and of tokens.
type Purse struct {
	Money  pawl.Micros
	Tokens int64
}

func (p Purse) add(q Purse) Purse { return Purse{p.Money + q.Money, p.Tokens + q.Tokens} }
func (p Purse) sub(q Purse) Purse { return Purse{p.Money - q.Money, p.Tokens - q.Tokens} }

// Loop is one loop of the run.
type Loop struct {
	Ref    pawl.LoopRef
	ID     string
	Parent pawl.LoopRef
	Kind   *pawl.LoopKind

	Phase   Phase
	Outcome pawl.Outcome
	Reason  string
	// HasWorkspace reports that the worktree is open.
	HasWorkspace bool

	Iteration int  // the present one, or the last; 0 before the first
	Attempt   int  // of the iteration
	inside    bool // an iteration has started and not ended
	Tier      int
	tierWhy   string // why the next iteration's tier is another than the last one's
	Score     int    // complexity; -1 = not known

	Base, Head pawl.CommitHash
	worktree   worktree

	preparations []preparation // of the last commits, by when they were first requested
	furnished    string        // the key of what was prepared that is in the worktree; empty = nothing is

	flow       *flow
	step       int    // position of the present step in the flow
	try        int    // of the present step
	round      int    // of the present step's group; 0 = it is in none
	exhausted  bool   // the group's rounds are used up
	decision   string // of the last step that submitted one
	given      bool   // the user gave the list of tasks
	stepFailed string // why the iteration's steps failed; empty = they did not
	restart    string // why the iteration's steps must start again; empty = they need not
	outputs    []pawl.Input
	candidate  *pawl.Committed // of the present iteration, or the last

	gates      []gateRun          // command gates requested: of this iteration, or on the base
	base       []baseline         // by gate of the settings
	results    []*pawl.GateJudged // of the present candidate, in the order they came
	history    []attempt          // the last of them, oldest first
	routes     []route            // taken in this iteration
	astray     bool               // the present candidate has used up its routes
	objections []*pawl.GateJudged // that led to the last of them
	votes      []vote             // of the review under way
	extracted  bool               // what the attempt taught was taken, or could not be
	runFailed  bool               // the last command of the iteration's sessions did

	born       int64 // when it began to wait for its turn, in Unix milliseconds; 0 = it does not
	busy       bool  // it is counted among those at work
	plans      int   // versions of its plan before this generation
	generation int   // from 1; one more each time it begins anew

	// Of a loop with a task of its own: its entry in the parent's plan.
	task           *pawl.TaskEntry
	entry          int // its position
	version        int // of the plan it was started under
	number         int // how many children the parent had started with it
	branch         string
	freed          int       // attempts that do not count: a conflict cost them, or the run has been resumed since
	conflicts      int       // in a row
	hunks, suspect pawl.Hash // what conflicted last, and in which paths
	checked        bool      // the candidate was looked at for conflict markers
	unresolved     int       // in how many paths it has them
	probed         bool      // the candidate was compared with those of siblings
	probe          pawl.Hash // what a sibling changes too
	merge          *merge    // on its way into the parent's branch
	rebase         *merge    // on its way onto the parent's head

	// Of a loop with children.
	plan      *plan
	listed    []pawl.TaskEntry // read so far
	read      *reading         // a list that is to be judged
	planned   bool             // the iteration has its plan
	refused   bool             // the list of tasks cannot be one
	ahead     bool             // the branch has moved, the worktree has not
	givenList pawl.Hash        // the list the user gave
	relist    pawl.Hash        // the list that a session handed in to replace the plan
	board     []pawl.NotePosted

	blocked    *blocker // what its task waits for; nil = nothing
	unrecorded bool     // something happened since the task's folder was committed
	leaving    bool     // its worktree is being closed because its parent wants it to leave off

	stopped  bool          // the run's end stopped it
	unheard  *pawl.Failure // why the callback did not hear; nil = it was not tried, or did
	told     *pawl.Notify  // what it was last told
	question *question     // it waits for a person
	reply    *reply        // what the last one said, until it is obeyed
	final    int           // final steps that are over
	before   int           // steps before the batch that are over
	after    int           // steps after it that are over

	lists      []list // in the results of steps, for those that run for each of their entries
	batchLists []list // in what the batch's children handed in
	items      []item // of the step that runs for each entry
	itemFailed string // why one of them failed; empty = none did

	unclear   *unclear    // the step that has questions; nil = none has
	inquiries []route     // rounds of questions of steps
	answers   []pawl.Hash // what persons said, for later prompts, oldest first
	approved  bool        // a person, or nobody, had to agree, and has
	wish      *wish       // why a person wanted another iteration; nil = none did

	failures  int // consecutive, on this tier
	stuckFrom int // attempts up to this iteration do not count as stuck
	council   *council
	councils  int
	advice    pawl.Hash // the winning proposal, for the next iteration
	afterward int       // iterations left after a council; -1 = no council was held

	spent   Purse // of this loop, since it began
	spentAt Purse // spent when the iteration began
	// What it was told, and what stands below it: see signal.go and cascade.go.
	signals  []signal // not acknowledged yet
	infos    []info
	held     bool         // a signal holds it: it begins nothing
	ending   *ending      // a signal ends it; nil = none does
	ender    pawl.LoopRef // the loop above that told it to end; 0 = none did
	clearing *clearing    // what stands below it ends; nil = it does not
	invalid  bool         // it does not count any more
	archived bool
	broke    bool // it failed by its worktree, not by its work

	sessions []*Session
	session  int // how many there have been
	open     []*pawl.Effect
}

// worktree is what is recorded of a loop's worktree, and what is known to be
// wrong with it.
type worktree struct {
	tree    pawl.TreeHash // what it holds
	dirty   bool          // that is not known to be its commit's tree
	unsure  bool          // a call that could write failed: look what it holds
	verify  bool          // after a crash: look whether it is as recorded
	restore bool          // it is not as recorded: reset it

	trouble  *pawl.Failure // why the last effect on it failed; nil = it did not
	troubled pawl.Verb     // which effect that was
	troubles int           // how often in a row
	rested   bool          // the wait after the failure is over

	// first is the first in a row of failed effects of a kind, which may have succeeded in spite
	// of its failure; see [worktree.settle].
	first  pawl.Seq
	failed pawl.Verb // its kind; 0 = there is none
}

// baseline is what a command gate said of the base commit.
type baseline struct {
	known, red bool
	evidence   pawl.Hash
	missing    string        // the program that it lacks; empty = it has it
	took       time.Duration // 0 = not known: it was cut short, or the log is old
}

// gateRun is a command gate that was asked to judge the present candidate.
type gateRun struct {
	gate   int      // index in the settings
	effect pawl.Seq // 0 = not under way
	tries  int
	failed *pawl.Failure // why the last try gave no verdict
}

// attempt is what later decisions need of an ended iteration. Only the last one
// keeps what was said in detail.
type attempt struct {
	n                   int
	failed              bool
	files, tests, error uint64
	line                string // what was objected, in a few words

	children   []pawl.Feedback // of tasks that failed it
	security   uint64          // the fingerprint of findings below critical
	tree       pawl.TreeHash
	stepFailed string
	results    []*pawl.GateJudged
}

// kept is how many attempts a loop's state keeps.
const kept = 8

// Loops are the run's loops, the root first.
func (s *State) Loops() []*Loop { return s.loops }

// Loop returns a loop, or nil.
func (s *State) Loop(ref pawl.LoopRef) *Loop {
	if ref == 0 || int(ref) > len(s.loops) {
		return nil
	}
	if s.draft != nil {
		if l := s.draft.loop(ref); l != nil {
			return l
		}
	}
	return s.loops[ref-1]
}

// each goes over the loops, the root first.
func (s *State) each(yield func(*Loop) bool) {
	for i := range s.loops {
		if !yield(s.Loop(pawl.LoopRef(i + 1))) {
			return
		}
	}
}

// Pending lists the effects that should be under way now, by ID. The list is
// good until the next [Apply].
func Pending(s *State) []*pawl.Effect { return s.open }

// PendingOf lists those of one loop.
func PendingOf(s *State, ref pawl.LoopRef) []*pawl.Effect {
	if l := s.Loop(ref); l != nil {
		return l.open
	}
	return nil
}

// Find returns the open effect with this id, or nil.
func (s *State) Find(id pawl.Seq) *pawl.Effect {
	if s.draft != nil {
		if f, known := s.draft.find(id); known {
			return f
		}
	}
	if i, ok := findEffect(s.open, id); ok {
		return s.open[i]
	}
	return nil
}

// opened makes an effect open.
func (s *State) opened(f *pawl.Effect) {
	if s.draft != nil {
		s.draft.opened = append(s.draft.opened, f)
		return
	}
	s.open = append(s.open, f)
}

// closed makes an open effect one that is not.
func (s *State) closed(id pawl.Seq) {
	if s.draft != nil {
		s.draft.closed = append(s.draft.closed, id)
		return
	}
	s.open = without(s.open, id)
}

func without(in []*pawl.Effect, id pawl.Seq) []*pawl.Effect {
	if i, ok := findEffect(in, id); ok {
		return slices.Delete(in, i, i+1)
	}
	return in
}

func findEffect(in []*pawl.Effect, id pawl.Seq) (int, bool) {
	return slices.BinarySearchFunc(in, id, func(e *pawl.Effect, id pawl.Seq) int { return cmp.Compare(e.ID, id) })
}

// clone copies what Apply may change of a loop. History and base are replaced
// when they change, as that is rare.
func (l *Loop) clone() *Loop {
	c := *l
	c.outputs = slices.Clone(l.outputs)
	c.gates = slices.Clone(l.gates)
	c.items = slices.Clone(l.items)
	c.routes = slices.Clone(l.routes)
	c.votes = slices.Clone(l.votes)
	c.board = slices.Clone(l.board)
	c.merge, c.rebase = l.merge.clone(), l.rebase.clone()
	if l.question != nil {
		q := *l.question
		c.question = &q
	}
	if l.plan != nil {
		c.plan = l.plan.clone()
	}
	if l.clearing != nil {
		n := *l.clearing
		c.clearing = &n
	}
	c.results = slices.Clone(l.results)
	c.open = slices.Clone(l.open)
	c.sessions = slices.Clone(l.sessions)
	for i, x := range c.sessions {
		c.sessions[i] = x.clone()
	}
	if l.council != nil {
		c.council = l.council.clone()
	}
	return &c
}

func (l *Loop) sessionByN(n int) *Session {
	for _, x := range l.sessions {
		if x.N == n {
			return x
		}
	}
	return nil
}

// alive is how long a driver has had the run at a time after its last event.
// A run that is paused or has ended does not grow older.
func (s *State) alive(at time.Time) time.Duration {
	if s.Status != pawl.StatusRunning && s.Status != pawl.StatusStopping {
		return s.Alive
	}
	if s.onlyPeople() {
		return s.Alive
	}
	return s.Alive + max(0, at.Sub(s.Last))
}

// haltsOn reports whether the condition ends the run.
func (s *State) haltsOn(c pawl.HaltCondition) bool { return slices.Contains(s.Settings.HaltOn, c) }

// maxIterations is the limit on the loop's iterations, those included that do
// not count; 0 = none.
func (s *State) maxIterations(l *Loop) int {
	m := l.Kind.Iterations
	switch {
	case l.Parent == 0 && !s.haltsOn(pawl.HaltIterations):
		return 0
	case l.Parent == 0 && s.Limits.Iterations > 0 && (l.Kind.Children == nil || l.cascades()):
		m = s.Limits.Iterations
	case l.task.Retries > 0:
		m = min(l.task.Retries, maxAttempts)
	}
	if m > 0 {
		m += l.freed
	}
	return m
}

// maxAttempts is the most a task may ask for in a list that a model made.
const maxAttempts = 10

// topTier is the strongest tier there is.
const topTier = 3

// top is the strongest tier of the loop's ladder.
func (l *Loop) top() int {
	if n := len(l.Kind.Ladder.Rungs); n > 0 {
		return l.Kind.Ladder.Rungs[n-1].Tier
	}
	return topTier
}
