package kernel

import (
	"cmp"
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/budget"
	"pawl/internal/kernel/exam"
	"pawl/internal/kernel/flow"
)

// State is a run, folded from its events. The zero State is the run before its first event. Only
// [Apply] changes it; what it hands out must not be changed.
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
	// Stopping is set while the run ends. It has the outcome that the run will have.
	Stopping *pawl.RunStopping
	Drain    pawl.Draining

	budget.Budget

	// Last is the time of the last event. Alive is how long the run has had a driver.
	began time.Time
	Last  time.Time
	Alive time.Duration

	// Interruptions counts recoveries.
	Interruptions int

	inUse         [3]inUse     // by tier
	flows         []*flow.Flow // by kind of the recipe
	questions     int          // asked so far
	openQuestions int          // questions that are open
	heldLoops     int          // loops that a person's signal holds
	memories      int          // entries of the memory so far
	signals       int          // sent so far
	archived      bool

	learned       learned
	notified      bool                    // the callback has received the run's end
	gates         gateTerms               // what was decided about gates
	headAt        pawl.Seq                // the event that last moved the run's branch
	forkedAt      pawl.CommitHash         // where the branch of a fork begins; empty = it is no fork
	recentAnswers []pawl.QuestionAnswered // the last answers
	result        result                  // what the run's branch has, where attempts are made elsewhere
	findings      exam.Ledger             // findings so far, with their answers
	leftOpen      leftOpen                // of what the last loop to pass made

	loops []*Loop        // by Ref-1
	live  int            // loops that are not done
	queue []pawl.LoopRef // those that wait for their turn, by Ref
	busy  []int          // loops at work by kind of the recipe; nil = no kind has eager children
	full  []bool         // by kind, and last for the run: its limit on loops at work was emitted
	open  []*pawl.Effect // effects that were requested and not answered, withdrawn or lost, by ID
	// draft holds what a draft has changed of loops and open, which it shares with the state it was
	// made from; nil = this state is no draft.
	draft *overlay
}

// learned is what the memory has of numbered learnings of the task.
type learned struct {
	numbered int         // entries
	recent   []pawl.Hash // the texts of the last of them
}

// gateTerms are what this run decided about gates of the settings.
type gateTerms struct {
	leftOut       []int // those that were left out
	longer        []int // how often the time of each was doubled; nil = never
	unjudgedFails bool  // a person takes those without a verdict for failed
}

// leftOpen is what stays open although a loop has passed.
type leftOpen struct {
	red      []string // gates that passed only because they are no worse than at the base
	findings int      // that nobody accepted
	proof    pawl.Proof
	failing  []string // goal tests that are red
	plan     bool     // it is what a plan asked for that its review refused and a person let pass
}

// Loops returns the run's loops, the root first.
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

// each iterates over the loops, the root first.
func (s *State) each(yield func(*Loop) bool) {
	for i := range s.loops {
		if !yield(s.Loop(pawl.LoopRef(i + 1))) {
			return
		}
	}
}

// Pending returns the effects that should be in flight now, by ID. The list is valid until the next
// [Apply].
func Pending(s *State) []*pawl.Effect { return s.open }

// PendingOf returns the pending effects of one loop.
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

// addOpen records that an effect is open.
func (s *State) addOpen(f *pawl.Effect) {
	if s.draft != nil {
		s.draft.opened = append(s.draft.opened, f)
		return
	}
	s.open = append(s.open, f)
}

// removeOpen records that an effect is not open any more.
func (s *State) removeOpen(id pawl.Seq) {
	if s.draft != nil {
		s.draft.closed = append(s.draft.closed, id)
		return
	}
	s.open = removeEffect(s.open, id)
}

func removeEffect(in []*pawl.Effect, id pawl.Seq) []*pawl.Effect {
	if i, ok := findEffect(in, id); ok {
		return slices.Delete(in, i, i+1)
	}
	return in
}

func findEffect(in []*pawl.Effect, id pawl.Seq) (int, bool) {
	return slices.BinarySearchFunc(in, id, func(e *pawl.Effect, id pawl.Seq) int { return cmp.Compare(e.ID, id) })
}

// hasOpen reports whether an effect of this kind is open.
func (s *State) hasOpen(is func(*pawl.Effect) bool) bool {
	if s.draft == nil {
		return slices.ContainsFunc(s.open, is)
	}
	still := func(f *pawl.Effect) bool { return is(f) && !slices.Contains(s.draft.closed, f.ID) }
	return slices.ContainsFunc(s.open, still) || slices.ContainsFunc(s.draft.opened, still)
}

// alive returns how long the run has had a driver, at a time after its last event. The time in
// which the run is paused, has ended or waits only for people does not count.
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

// maxIterations returns the limit on the loop's iterations, which those that do not count have
// raised; 0 = no limit. The recipe's limit on the root's holds as long as it is a halt condition, and
// one that the user sets in any case.
func (s *State) maxIterations(l *Loop) int {
	m := l.Kind.Iterations
	switch {
	case l.Parent == 0 && s.Limits.Iterations == 0 && !s.haltsOn(pawl.HaltIterations):
		return 0
	case l.Parent == 0 && s.Limits.Iterations > 0 && (l.Kind.Children == nil || l.Kind.Children.RestartsParent()):
		m = s.Limits.Iterations
	case l.task.Retries > 0:
		m = min(l.task.Retries, maxAttempts)
	}
	if m > 0 {
		m = max(1, m-l.slot.tried) + l.ladder.Freed
	}
	return m
}

// maxAttempts bounds the iterations that a task may ask for in a list that a model made.
const maxAttempts = 10
