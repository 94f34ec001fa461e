package kernel

import (
	"cmp"
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/budget"
	"pawl/internal/kernel/flow"
)

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

	budget.Budget

	// Last is the time of the last event; Alive how long a driver had the run.
	began time.Time
	Last  time.Time
	Alive time.Duration

	// Interruptions counts recoveries.
	Interruptions int

	flows     []*flow.Flow // by kind of the recipe
	questions int          // how many have been asked
	waiting   int          // how many of them wait for an answer
	holding   int          // how many loops a person's signal holds
	memories  int          // how many entries have been made
	signals   int          // how many have been sent
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
	case l.Parent == 0 && s.Limits.Iterations > 0 && (l.Kind.Children == nil || l.Kind.Children.RestartsParent()):
		m = s.Limits.Iterations
	case l.task.Retries > 0:
		m = min(l.task.Retries, maxAttempts)
	}
	if m > 0 {
		m += l.ladder.Freed
	}
	return m
}

// maxAttempts is the most a task may ask for in a list that a model made.
const maxAttempts = 10
