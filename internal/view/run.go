package view

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Blobs reads a blob that an event refers to. A nil Blobs has none.
type Blobs func(pawl.Hash) ([]byte, error)

// Run is what the faces show of one run, folded from its events by [Run.Apply].
// Texts in it are as they came: a projection makes them safe when it prints them.
type Run struct {
	ID       pawl.RunID
	Start    pawl.RunStarted
	Notes    []string // what the user should read about the repository and about what commands see of it
	Recipe   pawl.Recipe
	Settings pawl.Settings
	Limits   pawl.Limits // those in force
	Began    time.Time

	Status pawl.RunStatus
	// Undriven says that no process drives the run, though by its log it is under
	// way. No event tells: who knows sets it.
	Undriven bool
	Needs    string       // what such a run lacks to go on, such as a key; empty = nothing that is known
	Outcome  pawl.Outcome // empty until it ends
	Reason   string       // why it ended, is ending or is paused
	Head     pawl.CommitHash
	Cost     pawl.Micros // what it was charged; see [Run.Money]
	Tokens   int64
	lost     Spending
	// Alive is how long a driver had the run up to Updated, pauses left out.
	Alive   time.Duration
	Updated time.Time // of the last event
	Seq     pawl.Seq  // of the last event

	Loops []*Loop // in the order they started; the first is the root
	Base  []*Gate // what the command gates found on the base commit
	// Preparations sum up how commits were prepared.
	Preparations Preparations
	// LeftOut are the gates that are not part of the run, as their programs are missing.
	LeftOut []pawl.GateLeftOut
	// Problems are the last things that went wrong besides failing gates,
	// oldest first: effects that failed, crashes, limits.
	Problems []Mark

	Questions []*Question // in the order they were asked
	Memory    []*Memory   // in the order it was added
	Fork      *Fork       // where it was forked from; nil when it was not
	// Records are its loops as records, and the signals between them.
	Records Records

	open []pending // requested and not answered, by ID
	// waiting are effects that wait for their places, as far as that was heard.
	waiting map[pawl.Seq]*pawl.Waiting
	// closed is the effect that was answered, lost or withdrawn last.
	closed *pawl.Effect
	stops  stops
	since  pawl.Seq // when the run last began to go on: its start or last resumption
	moved  Mark     // the last commit that changed something; before it, the run's start
}

// Mark is an event worth pointing at, in one line.
type Mark struct {
	Seq  pawl.Seq  `json:"seq"`
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// pending is an effect that is under way, or should be.
type pending struct {
	*pawl.Effect
	at time.Time // when it was requested
}

// stops are the latest events of their kinds since the run last began to go
// on; the zero Mark where there was none.
type stops struct {
	paused, cancel, stopping, ended Mark
	limit                           Mark // a limit of the run, of a loop, or on retries
	limited                         pawl.LimitName
	wanted                          Mark // what asked for more than the limit
	failure                         Mark // an effect that failed, or was lost
	recovered                       Mark
}

// Loop is one loop of a run.
type Loop struct {
	Ref pawl.LoopRef
	pawl.LoopStarted
	Began time.Time
	End   *pawl.LoopEnded // nil while it is under way
	Ended time.Time
	Tier  int // 0 = not known yet
	// Score is the complexity, -1 when it is not known; ScoreWhy tells how it came about.
	Score    int
	ScoreWhy string

	Iterations  []*Iteration
	Escalations []Escalation
	Councils    []*Council
	Before      []*Session // the sessions before the first iteration, such as the assessment
	Spent       Spending   // its own and that of the loops below it

	Plans []*Plan // the versions of its list of tasks, oldest first
	Board []Note  // what its children share, oldest key first

	// What becomes of its children where they are judged in batches, oldest first. Of a loop without
	// children, Healths and Rollbacks are about its attempts.
	Batches     []*Batch
	Healths     []*HealthVerdict
	Checkpoints []*Checkpoint
	Rollbacks   []*Rollback

	// Generation counts how often it has begun anew, from 1; Renewed says why it did
	// last. Retried are the tasks that run once more, because what they failed by was
	// not their work.
	Generation int
	Renewed    Mark
	Retried    []Mark

	// Conflicts counts the attempts that conflicted with what was merged.
	Conflicts int

	freed    int                // iterations that do not count: the run was resumed after them
	listed   []pawl.TaskEntry   // a list that has not become a plan yet
	calling  *pawl.ReplanCalled // the plan is being made anew
	at       *Checkpoint        // the one the branch was at last; nil before the first
	sessions map[int]*Session
	alone    bool // its kind has no children
}

// Escalation is a change to a stronger tier.
type Escalation struct {
	pawl.Escalated
	Seq pawl.Seq
}

// Council is one that convened.
type Council struct {
	pawl.CouncilCalled
	Seq      pawl.Seq
	After    int                  // the iteration it followed
	Decided  *pawl.CouncilDecided // nil until it has
	Sessions []*Session
}

// Iteration is one attempt.
type Iteration struct {
	pawl.IterationStarted
	Seq      pawl.Seq
	Began    time.Time
	Attempt  int
	Sessions []*Session
	Gates    []*Gate // of the present candidate, or of the same tree in an earlier iteration
	Commit   *pawl.Committed
	Files    int                  // the most files one commit of it changed
	End      *pawl.IterationEnded // nil while it is under way
	EndSeq   pawl.Seq
	Ended    time.Time
	Spent    Spending // so far
}

// Session is one agent session.
type Session struct {
	pawl.SessionStarted
	Seq    pawl.Seq
	Began  time.Time
	Turn   int // replies so far
	Prompt *pawl.PromptAssembled
	// PromptSeq is the event of Prompt.
	PromptSeq pawl.Seq
	End       *pawl.SessionEnded // nil while it is under way
	Spent     Spending
	Model     string // the one that replied last
	Calls     []Call // the tool calls that were answered

	loop      pawl.LoopRef
	iteration *Iteration // nil outside of one
}

// Call is a tool call with its result.
type Call struct {
	Tool         string
	Args, Output pawl.Hash
	IsError      bool
	Time         time.Time // of the result
}

// Spending is what something was charged.
type Spending struct {
	Calls  int // model calls that were answered
	Failed int // model calls that were not
	Cost   pawl.Micros
	Tokens int64
	// Lost and LostTokens are the part that calls were charged whose cost nobody knows.
	Lost       pawl.Micros
	LostTokens int64
}

// money returns what was spent and what was lost.
func (s Spending) money() pawl.Money {
	return pawl.Money{Spent: s.Cost - s.Lost, SpentTokens: s.Tokens - s.LostTokens, Lost: s.Lost, LostTokens: s.LostTokens}
}

func (s *Spending) add(b Spending) {
	s.Calls += b.Calls
	s.Failed += b.Failed
	s.Cost += b.Cost
	s.Tokens += b.Tokens
	s.Lost += b.Lost
	s.LostTokens += b.LostTokens
}

// lostCall is what a call was charged whose cost nobody knows.
func lostCall(cost pawl.Micros, tokens int64) Spending {
	return Spending{Failed: 1, Cost: cost, Tokens: tokens, Lost: cost, LostTokens: tokens}
}

// Money tells what the run has spent, what its calls under way hold, and what was lost.
func (r *Run) Money() pawl.Money {
	m := Spending{Cost: r.Cost, Tokens: r.Tokens, Lost: r.lost.Lost, LostTokens: r.lost.LostTokens}.money()
	m.Add(r.held(func(pending) bool { return true }))
	return m
}

// MoneyOf is [Run.Money] for one iteration.
func (r *Run) MoneyOf(it *Iteration) pawl.Money {
	m := it.Spent.money()
	if it.End == nil { // what is charged later is not the iteration's
		m.Add(r.held(func(p pending) bool { s := r.sessionOf(p); return s != nil && s.iteration == it }))
	}
	return m
}

// held adds up what the calls under way hold for which counts returns true.
func (r *Run) held(counts func(pending) bool) (m pawl.Money) {
	for _, p := range r.open {
		if counts(p) {
			m.Add(reservation(p.Effect))
		}
	}
	return m
}

// reservation is what an effect holds while it is under way.
func reservation(f *pawl.Effect) pawl.Money {
	if do, ok := doOf[*pawl.CallModel](f); ok {
		return pawl.Money{Held: do.Reserved, HeldTokens: do.ReservedTokens}
	}
	return pawl.Money{}
}

// sessionOf is the session of an effect under way, or nil.
func (r *Run) sessionOf(p pending) *Session {
	l := r.loop(p.Loop)
	if l == nil {
		return nil
	}
	return l.session(p.Effect)
}

// Gate is a verdict with its event.
type Gate struct {
	pawl.GateJudged
	Seq   pawl.Seq
	judge pawl.Judge
}

// stands reports whether a verdict is one on the tree of the loop's own work, in full:
// it holds for a further attempt with the same tree. That the folder of the harness was
// touched, or that files were left out, is not in the tree.
func (g *Gate) stands() bool {
	return !g.Partial && g.judge == pawl.JudgeGate
}

func (g *Gate) red() bool { return g.Verdict != pawl.VerdictPass && g.Verdict != pawl.VerdictSkip }

// New is a run before its first event.
func New() *Run { return &Run{} }

// Fold applies events until they end. When they end with an error, the run is
// what was there before it; one whose data is damaged is quarantined.
func Fold(events iter.Seq2[pawl.Event, error]) (*Run, error) {
	r := New()
	for e, err := range events {
		if err != nil {
			if pawl.CodeOf(err) == pawl.CodeDamaged {
				r.Quarantine(err.Error())
			}
			return r, err
		}
		r.Apply(e)
	}
	return r, nil
}

// Info is the line that lists show of a run with these events.
func Info(events []pawl.Event) pawl.RunInfo {
	r := New()
	for _, e := range events {
		r.Apply(e)
	}
	return r.Info()
}

// Info is the run's line in lists.
func (r *Run) Info() pawl.RunInfo {
	info := pawl.RunInfo{
		ID: r.ID, Task: r.Start.Task, Title: r.Start.Title, Recipe: r.Recipe.Name, Branch: r.Start.Branch,
		Status: r.Status, Outcome: r.Outcome, Reason: r.Reason,
		Cost: r.Cost, Tokens: r.Tokens, Started: r.Began, Updated: r.Updated, Seq: r.Seq,
	}
	if l := r.root(); l != nil {
		info.Max = r.maxIterations(l)
		if it := l.last(); it != nil {
			info.Iteration = it.N
		}
		if l.Tier > 0 {
			info.Tier = r.Recipe.Tier(l.Tier)
		}
	}
	if p := r.Plan(); p != nil && p.generation == r.root().Generation { // else nothing of it counts any more
		info.Tasks, info.Passed = len(p.Tasks), p.Count(pawl.TaskPassed)
	}
	if h := r.root().health(); h != nil {
		info.Health = h.now()
	}
	money := r.Money()
	info.Money = &money
	info.Questions, info.Archived = len(r.OpenQuestions()), r.Records.Archived
	return info
}

// UnderWay is how many effects are requested and not answered.
func (r *Run) UnderWay() int { return len(r.open) }

// Quarantine marks the run as one whose stored data is damaged. No event says
// so: the events are what cannot be read.
func (r *Run) Quarantine(reason string) {
	r.Status, r.Reason = pawl.StatusQuarantined, reason
}

// root is the run's first loop, or nil.
func (r *Run) root() *Loop {
	if len(r.Loops) == 0 {
		return nil
	}
	return r.Loops[0]
}

// loop finds a loop, or nil.
func (r *Run) loop(ref pawl.LoopRef) *Loop {
	if i := int(ref) - 1; i >= 0 && i < len(r.Loops) && r.Loops[i].Ref == ref {
		return r.Loops[i] // as they are numbered
	}
	for _, l := range r.Loops {
		if l.Ref == ref && ref > 0 { // 0 is the run, and the root's parent
			return l
		}
	}
	return nil
}

// said keeps the limit on the root's iterations that an event says.
func (r *Run) said(max int) {
	if root := r.root(); root != nil && max != 0 {
		root.Max = max
	}
}

// maxIterations is the limit on the root's iterations; 0 = none. What older logs do not say is
// derived.
func (r *Run) maxIterations(l *Loop) int {
	if limit, ok := pawl.MaxSaid(l.Max); ok {
		return limit
	}
	kind := r.Recipe.Kind(l.Kind)
	switch {
	case l.Parent == 0 && !slices.Contains(r.Settings.HaltOn, pawl.HaltIterations):
		return 0
	case l.Parent == 0 && r.Limits.Iterations > 0 && (kind == nil || kind.Children == nil):
		return r.Limits.Iterations + l.freed
	case kind != nil && kind.Iterations > 0:
		return kind.Iterations + l.freed
	}
	return 0
}

// last is the newest iteration, or nil.
func (l *Loop) last() *Iteration {
	if len(l.Iterations) == 0 {
		return nil
	}
	return l.Iterations[len(l.Iterations)-1]
}

// iteration finds an iteration by its number, or nil.
func (l *Loop) iteration(n int) *Iteration {
	for i := len(l.Iterations) - 1; i >= 0; i-- {
		if l.Iterations[i].N == n {
			return l.Iterations[i]
		}
	}
	return nil
}

// implementations are the sessions of an iteration that do its work: its steps
// without the one that only rates the task.
func (r *Run) implementations(l *Loop, it *Iteration) []*Session {
	var out []*Session
	kind := r.Recipe.Kind(l.Kind)
	for _, s := range it.Sessions {
		rates := kind != nil && kind.Complexity != nil && kind.Complexity.From == s.Place.Step
		if s.Purpose == pawl.ForStep && !rates {
			out = append(out, s)
		}
	}
	return out
}

// sessionOf is the newest session that has not ended, or nil.
func (l *Loop) sessionOf() *Session {
	var found *Session
	in := func(all []*Session) {
		for _, s := range all {
			if s.End == nil && (found == nil || s.Seq > found.Seq) {
				found = s
			}
		}
	}
	in(l.Before)
	if it := l.last(); it != nil {
		in(it.Sessions)
	}
	if n := len(l.Councils); n > 0 {
		in(l.Councils[n-1].Sessions)
	}
	return found
}

// Sessions are all sessions of the loop, oldest first.
func (l *Loop) Sessions() []*Session {
	out := slices.Collect(maps.Values(l.sessions))
	slices.SortFunc(out, func(a, b *Session) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// Summary is what a session left, in one line no wider than width; empty when it only
// decided.
func (s *Session) Summary(blobs Blobs, width int) string {
	if s.End == nil {
		return ""
	}
	data := blobs.bytes(s.End.Output)
	var said struct{ Summary, Result string }
	if json.Unmarshal(data, &said) == nil {
		return plain.Line(cmp.Or(said.Summary, said.Result), width)
	}
	if first, _, _ := strings.Cut(string(data), "\n"); !strings.HasPrefix(first, "{") {
		return plain.Line(first, width)
	}
	return ""
}

// text is a blob as text made safe; empty when there is none or it cannot be read.
func (b Blobs) text(h pawl.Hash) string {
	return plain.Text(string(b.bytes(h)))
}

// into reads a blob that is a JSON document; what cannot be read changes nothing.
func (b Blobs) into(h pawl.Hash, v any) { _ = json.Unmarshal(b.bytes(h), v) }

// bytes is a blob as it is; nil when there is none or it cannot be read.
func (b Blobs) bytes(h pawl.Hash) []byte {
	if b == nil || h.IsZero() {
		return nil
	}
	data, err := b(h)
	if err != nil {
		return nil
	}
	return data
}
