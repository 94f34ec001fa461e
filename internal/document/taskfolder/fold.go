package taskfolder

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// story is what the files need of a run's events.
type story struct {
	started *pawl.RunStarted
	loop    pawl.LoopRef // whose list of tasks it is

	outputs map[int]string    // names of the results its sessions hand in, by their numbers
	results map[string]result // the newest of each name
	drafts  int               // plans that were handed in
	agreed  bool              // the newest was approved
	passed  *pawl.RoundsEnded // a person let the newest pass that its review refused; nil = nobody did

	listed  []pawl.TaskEntry // of the list that is being read
	entries []pawl.TaskEntry
	version int
	state   map[string]pawl.TaskStatus // by id
	kids    map[pawl.LoopRef]string    // the task of each child
	worked  bool                       // a task was begun
	trouble bool                       // it came to an end that is none it was meant to have

	batches   []round
	batch     *pawl.BatchStarted // under way
	approved  map[int]bool       // of it, not yet in the branch
	errors    []uint64           // of its gates and reviews
	health    pawl.Health
	course    []pawl.Recovery // what follows from it
	why       string
	rollbacks int

	learnings []learning
	gates     []*pawl.GateJudged // the newest of each
}

type result struct {
	blob  pawl.Hash
	at    time.Time
	facts pawl.Facts
}

// round is a batch that came to its end.
type round struct {
	n, attempted, approved int
	notes                  []string
	errors                 []uint64
}

type learning struct {
	pawl.MemoryAdded
	at time.Time
}

func newStory(loop pawl.LoopRef) *story {
	return &story{loop: max(loop, 1), outputs: map[int]string{}, results: map[string]result{},
		state: map[string]pawl.TaskStatus{}, kids: map[pawl.LoopRef]string{}, approved: map[int]bool{}}
}

// take folds one event.
func (s *story) take(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		s.started = b
	case *pawl.MemoryAdded:
		if b.Learning > 0 {
			s.learnings = append(s.learnings, learning{*b, e.Time})
		}
	case *pawl.LoopStarted:
		if b.Parent == s.loop {
			s.kids[e.Loop], s.worked = b.Task, true
			s.set(b.Task, pawl.TaskRunning)
		}
	case *pawl.LoopEnded:
		s.loopEnded(e.Loop, b)
	case *pawl.GateJudged:
		s.judged(e.Loop, b)
	case *pawl.RunStopping:
		s.trouble = !b.Outcome.Succeeded()
	case *pawl.RunResumed:
		s.trouble = false
		if b.From != "" { // what was judged and is not in the branch is judged again
			s.approved = map[int]bool{}
		}
	case *pawl.Forked:
		s.rest()
	default:
		if e.Loop == s.loop {
			s.own(e)
		}
	}
}

// own folds an event of the loop itself.
func (s *story) own(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		if do, ok := b.Effect.Do.(*pawl.AssemblePrompt); ok && do.Output != "" {
			s.outputs[b.Effect.Session] = strings.TrimPrefix(do.Output, "submit_")
		}
	case *pawl.SessionEnded:
		if name := s.outputs[b.Session]; name != "" && b.Result == pawl.SessionDone && !b.Output.IsZero() {
			s.handedIn(name, result{b.Output, e.Time, b.Facts})
		}
	case *pawl.RoundsEnded:
		if !b.Refused.IsZero() {
			s.passed = b
		}
	case *pawl.IterationStarted:
		s.trouble = false
	case *pawl.IterationEnded:
		s.trouble = b.Outcome != "" && !b.Outcome.Succeeded()
	default:
		s.list(e)
		s.rounds(e)
	}
}

// Names of results.
const (
	resultContext = "context"
	resultPlan    = "plan"
	resultTasks   = "tasks" // a list with less besides
	resultReview  = "review"
	resultReport  = "report"
)

func (s *story) handedIn(name string, r result) {
	switch name {
	case resultPlan, resultTasks:
		name = resultPlan
		s.drafts++
		s.agreed, s.passed = false, nil
	case resultReview:
		s.agreed = r.facts.Get("decision") == "APPROVED"
	}
	s.results[name] = r
}

// list folds what becomes of the list and of its tasks.
func (s *story) list(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.TasksListed:
		s.listed = append(s.listed, b.Entries...)
	case *pawl.PlanRefused:
		s.listed = nil
	case *pawl.PlanAccepted:
		s.entries, s.listed, s.version = s.listed, nil, b.Version
		for _, t := range s.entries {
			if t.Done {
				s.set(t.ID, pawl.TaskPassed)
			} else if s.state[t.ID] != pawl.TaskPassed {
				s.state[t.ID] = pawl.TaskPending
			}
		}
	case *pawl.TasksBlocked:
		s.each(b.Tasks, pawl.TaskBlocked)
	case *pawl.TasksSkipped:
		s.each(b.Tasks, pawl.TaskSkipped)
	case *pawl.TaskHeld:
		s.each([]int{b.Task}, pawl.TaskPending)
	}
}

// rounds folds how the batches go.
func (s *story) rounds(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.BatchStarted:
		s.batch, s.worked, s.errors = b, true, nil
		s.approved = map[int]bool{}
		s.each(b.Tasks, pawl.TaskRunning)
	case *pawl.TaskJudged:
		if b.Verdict == pawl.VerdictSkip {
			s.each([]int{b.Task}, pawl.TaskDropped)
			return
		}
		s.approved[b.Task] = b.Verdict == pawl.VerdictPass
	case *pawl.BranchAdvanced: // it has what the batch approved
		for i, yes := range s.approved {
			if yes && s.batch != nil {
				s.each([]int{i}, pawl.TaskPassed)
			}
		}
	case *pawl.BatchEnded:
		r := round{n: b.N, attempted: b.Attempted, approved: b.Approved, errors: s.errors}
		if s.batch != nil && s.batch.Scaffold {
			r.notes = append(r.notes, "scaffold")
		}
		if b.Attempted == 0 {
			r.notes = append(r.notes, "waits for a person")
		}
		s.batches = append(s.batches, r)
		s.rest()
	case *pawl.HealthJudged:
		s.health, s.course, s.why = b.Health, b.Recoveries, b.Reason
		if b.Health != pawl.HealthProgressing {
			s.note(string(b.Health) + ": " + b.Reason)
		}
	case *pawl.HealthOverridden:
		s.health, s.course, s.why = pawl.HealthProgressing, nil, ""
		s.note("a person lets it continue")
	case *pawl.RolledBack:
		s.rest()
		s.rollbacks++
		s.course = slices.DeleteFunc(slices.Clone(s.course), func(r pawl.Recovery) bool { return r == pawl.RecoverRollback })
		s.each(b.Reopen, pawl.TaskPending)
		note := "back to checkpoint " + strconv.Itoa(b.To)
		if len(b.Reopen) == 0 {
			note += ", nothing that was approved is undone"
		}
		s.note(note)
	}
}

// rest says that no batch is under way any more: what it did not bring to an end
// is to be done.
func (s *story) rest() {
	s.batch = nil
	for id, state := range s.state {
		if state == pawl.TaskRunning {
			s.state[id] = pawl.TaskPending
		}
	}
}

// note adds to what is told of the last batch.
func (s *story) note(text string) {
	if n := len(s.batches); n > 0 {
		r := &s.batches[n-1]
		r.notes = append(r.notes, text)
	}
}

func (s *story) set(id string, state pawl.TaskStatus) {
	if state == pawl.TaskRunning && s.state[id] == pawl.TaskPassed {
		return // its loop goes on after it was reopened and approved again
	}
	s.state[id] = state
}

// each sets tasks by their positions.
func (s *story) each(positions []int, state pawl.TaskStatus) {
	for _, i := range positions {
		if i >= 0 && i < len(s.entries) {
			s.set(s.entries[i].ID, state)
		}
	}
}

func (s *story) loopEnded(loop pawl.LoopRef, b *pawl.LoopEnded) {
	id, kid := s.kids[loop]
	switch {
	case loop == s.loop:
		s.trouble = !b.Outcome.Succeeded()
	case !kid:
	case b.Outcome.Succeeded():
		s.set(id, pawl.TaskPassed)
	case s.state[id] == pawl.TaskPassed:
	case b.Stopped || b.Outcome == pawl.OutcomeCancelled:
		s.set(id, pawl.TaskPending)
	default:
		s.set(id, pawl.TaskFailed)
	}
}

func (s *story) judged(loop pawl.LoopRef, b *pawl.GateJudged) {
	if b.OnBase || b.On != "" {
		return
	}
	if s.batch != nil && b.Verdict != pawl.VerdictPass && b.Error != 0 {
		s.errors = append(s.errors, b.Error)
	}
	if loop != s.loop || b.Kind == "" {
		return
	}
	i := slices.IndexFunc(s.gates, func(g *pawl.GateJudged) bool { return g.Gate == b.Gate })
	if i < 0 {
		s.gates = append(s.gates, b)
		return
	}
	s.gates[i] = b
}

// count counts the tasks in a status.
func (s *story) count(state pawl.TaskStatus) (n int) {
	for i := range s.entries {
		if s.state[s.entries[i].ID] == state {
			n++
		}
	}
	return n
}

// ready are the tasks that can be begun: what they depend on has passed. As long
// as one that lays the ground is open, only such ones are.
func (s *story) ready() (out []pawl.TaskEntry) {
	scaffold := s.scaffolds()
	for _, t := range s.entries {
		if s.state[t.ID] != pawl.TaskPending || scaffold && !t.Scaffold {
			continue
		}
		if !slices.ContainsFunc(t.DependsOn, func(id string) bool { return s.state[id] != pawl.TaskPassed }) {
			out = append(out, t)
		}
	}
	return out
}

// scaffolds reports whether a task that lays the ground is open.
func (s *story) scaffolds() bool {
	return slices.ContainsFunc(s.entries, func(t pawl.TaskEntry) bool {
		return t.Scaffold && (s.state[t.ID] == pawl.TaskPending || s.state[t.ID] == pawl.TaskRunning)
	})
}

// status is that of the plan.
func (s *story) status() Status {
	switch {
	case s.version == 0 && s.agreed:
		return Approved
	case s.version == 0 && s.results[resultPlan].facts.Get("decision") == string(NeedsClarification):
		return NeedsClarification
	case s.version == 0:
		return Draft
	case s.count(pawl.TaskPassed) == len(s.entries) && !s.trouble:
		return Complete
	case !s.worked:
		return Approved
	}
	return InProgress
}
