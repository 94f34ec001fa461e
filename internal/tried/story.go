package tried

import (
	"slices"
	"strings"

	"pawl"
)

// Story is what was tried in a run up to an event. The zero value is that of no events.
type Story struct {
	loops    map[pawl.LoopRef]*loop
	asked    map[int]question
	answers  []answer
	accepted map[string]bool // findings, by their ids
}

// loop is a loop's part of a story.
type loop struct {
	parent pawl.LoopRef
	task   string // the id in the parent's plan; empty = it has none
	batch  int    // the loop's own batch that is under way; 0 = none
	tries  []Try
	plan   []pawl.TaskEntry
	listed []pawl.TaskEntry // of the plan that is being read

	marks  map[int]string // what checkpoints were made after, by their numbers
	backs  []back
	health *pawl.HealthJudged // the last verdict of the monitor; nil = a person overrode it, or there is none

	voters map[int]int // sessions of reviewers who vote, and their numbers
	votes  []vote      // on the last try
}

// vote is what one of several reviewers says.
type vote struct {
	n                int // its number, from 1
	decision, reason string
}

// Try is one candidate of a task, or an attempt that made none.
type Try struct {
	Attempt int // of its loop, from 1
	Batch   int // of the parent that it was judged in; 0 = none
	Tree    pawl.TreeHash
	// Paths is a blob with the paths that differ from where the loop began, one a line.
	Paths pawl.Hash
	Files int // that differ from there
	// Added and Removed count lines against the attempt before; both 0 = nothing changed, or not known.
	Added, Removed int
	Passed         []string    // the gates and reviews that let it pass
	Said           []Objection // of it; empty = nobody objected, or nobody has yet

	began    pawl.Seq
	wrong    string   // why its steps failed; empty = they did not
	blocked  bool     // it reported that it cannot be done now
	findings []string // ids of what was found in it
	open     int      // how many of them nobody has accepted
	unit     string   // what it is counted in: batch, attempt or try
	number   int      // the unit's
}

// Objection is a verdict that did not let a try pass.
type Objection struct {
	By       string // the gate's name; "review" and the like for a batch
	Reason   string
	Evidence pawl.Hash
	Partial  bool // it is no verdict, which is why the try does not pass
}

// question is where a question comes from, and what it asks.
type question struct {
	loop pawl.LoopRef
	kind pawl.QuestionKind
	text string
}

// answer is what a person said.
type answer struct {
	question
	pawl.QuestionAnswered
}

// back is a way back to a checkpoint.
type back struct {
	pawl.RolledBack
	undone []string           // ids of tasks that are open again
	health *pawl.HealthJudged // that led to it; nil = none did
}

// Take adds the next event.
func (s *Story) Take(e pawl.Event) {
	if s.loops == nil {
		s.loops, s.asked, s.accepted = map[pawl.LoopRef]*loop{}, map[int]question{}, map[string]bool{}
	}
	switch b := e.Body.(type) {
	case *pawl.LoopStarted:
		s.loops[e.Loop] = &loop{parent: b.Parent, task: b.Task, marks: map[int]string{}}
	case *pawl.QuestionAsked:
		s.asked[b.N] = question{e.Loop, b.Kind, b.Text}
	case *pawl.QuestionAnswered: // the run's event
		s.answers = append(s.answers, answer{s.asked[b.N], *b})
	case *pawl.FindingAnswered:
		s.accepted[b.ID] = b.Accepted
	default:
		if l := s.loops[e.Loop]; l != nil {
			s.takeTry(l, e)
			s.takeVerdict(l, e)
			l.takeCourse(e)
		}
	}
}

// takeTry folds what a loop tries.
func (s *Story) takeTry(l *loop, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.IterationStarted:
		l.begin(b.N, s.batchOf(l), e.Seq)
	case *pawl.IterationRestarted, *pawl.Rerouted:
		if n := len(l.tries); n > 0 && l.tries[n-1].judged() {
			l.begin(l.tries[n-1].Attempt, s.batchOf(l), e.Seq)
		}
	case *pawl.SessionStarted:
		if b.Vote > 0 {
			if l.voters == nil {
				l.voters = map[int]int{}
			}
			l.voters[b.Session] = b.Vote
		}
	case *pawl.SessionEnded:
		if t := l.last(); t != nil && b.Result == pawl.SessionDone && b.Facts.Get("decision") == "BLOCKED" {
			t.blocked = true
		}
		if n := l.voters[b.Session]; n > 0 && b.Result == pawl.SessionDone {
			l.votes = append(l.votes, vote{n, b.Facts.Get("decision"), b.Facts.Get("reason")})
		}
	case *pawl.Committed:
		l.votes = nil
		if t := l.last(); t != nil {
			t.Tree, t.Paths, t.Files, t.Added, t.Removed = b.Tree, b.Paths, b.Total, b.Added, b.Removed
		}
	case *pawl.Examined:
		if t := l.last(); t != nil {
			t.findings = b.Findings
		}
	case *pawl.GateJudged:
		if t := l.last(); t != nil && !b.OnBase && b.On == "" {
			t.judge(b)
			if p := s.loops[l.parent]; p != nil && p.batch > 0 {
				t.Batch = p.batch
			}
		}
	case *pawl.IterationEnded:
		if t := l.last(); t != nil && len(t.Said) == 0 && b.Decision != pawl.DecideComplete && !b.Mends && !b.Unproven {
			t.wrong = b.Reason
			if len(b.Errors) > 0 {
				t.wrong = b.Errors[0]
			}
		}
	}
}

// takeVerdict folds what a batch says of its tasks. As a rule their loops are told the same.
func (s *Story) takeVerdict(l *loop, e pawl.Event) {
	b, ok := e.Body.(*pawl.TaskJudged)
	if !ok || b.Task < 0 || b.Task >= len(l.plan) {
		return
	}
	var kid *loop
	for _, k := range s.loops {
		if k.parent == e.Loop && k.task == l.plan[b.Task].ID && k.last() != nil && (kid == nil || k.last().began > kid.last().began) {
			kid = k
		}
	}
	if kid != nil {
		kid.last().Batch = b.Batch
		kid.last().judge(&pawl.GateJudged{Gate: b.By, Verdict: b.Verdict, Reason: b.Reason, Evidence: b.Evidence})
	}
}

// takeCourse folds how a loop's batches, or its attempts, go.
func (l *loop) takeCourse(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.BatchStarted:
		l.batch = b.N
	case *pawl.BatchEnded:
		l.batch = 0
	case *pawl.TasksListed:
		l.listed = append(l.listed, b.Entries...)
	case *pawl.PlanRefused:
		l.listed = nil
	case *pawl.PlanAccepted:
		l.plan, l.listed = l.listed, nil
	case *pawl.EffectRequested:
		if do, ok := b.Effect.Do.(*pawl.MarkCheckpoint); ok {
			l.marks[do.Checkpoint.N] = do.Checkpoint.Label
		}
	case *pawl.HealthJudged:
		l.health = b
	case *pawl.HealthOverridden:
		l.health = nil
	case *pawl.RollbackCalled:
		l.batch = 0
	case *pawl.RolledBack:
		x := back{RolledBack: *b}
		for _, i := range b.Reopen {
			if i >= 0 && i < len(l.plan) {
				x.undone = append(x.undone, l.plan[i].ID)
			}
		}
		if b.By == "" {
			x.health = l.health
		}
		l.backs = append(l.backs, x)
	}
}

func (l *loop) begin(attempt, batch int, at pawl.Seq) {
	l.tries = append(l.tries, Try{Attempt: attempt, Batch: batch, began: at})
}

func (l *loop) last() *Try {
	if len(l.tries) == 0 {
		return nil
	}
	return &l.tries[len(l.tries)-1]
}

// batchOf returns the batch under way that a loop's work is for; 0 = none.
func (s *Story) batchOf(l *loop) int {
	if p := s.loops[l.parent]; p != nil {
		return p.batch
	}
	return 0
}

// tells reports whether there is something to tell of the try: it changed something, or was judged.
func (t *Try) tells() bool {
	return t.Files > 0 || !t.Paths.IsZero() || len(t.Passed)+len(t.Said) > 0 || t.wrong != ""
}

func (t *Try) judged() bool { return t.Tree != "" || len(t.Said) > 0 || t.wrong != "" }

// judge records a verdict on the try, in place of what the same gate said of it before.
func (t *Try) judge(b *pawl.GateJudged) {
	by := strings.TrimPrefix(b.Gate, "batch-")
	t.Said = slices.DeleteFunc(t.Said, func(o Objection) bool { return o.By == by })
	t.Passed = slices.DeleteFunc(t.Passed, func(gate string) bool { return gate == by })
	switch b.Verdict {
	case pawl.VerdictPass:
		t.Passed = append(t.Passed, by)
	case pawl.VerdictSkip:
	default:
		t.Said = append(t.Said, Objection{By: by, Reason: b.Reason, Evidence: b.Evidence, Partial: b.Partial})
	}
}

// Of returns what was tried of a task of a loop's plan, oldest first, also by loops that have ended.
func (s *Story) Of(parent pawl.LoopRef, task string) []Try {
	var out []Try
	for _, l := range s.loops {
		if l.parent == parent && l.task == task {
			out = append(out, l.tries...)
		}
	}
	slices.SortStableFunc(out, func(a, b Try) int { return int(a.began) - int(b.began) })
	s.count(task, out)
	return out
}

// count numbers the tries of a task: by their batches if each has one of its own, else from 1, whichever
// loop they are of. Without a task they are the run's attempts, unless one of these holds two.
func (s *Story) count(task string, tries []Try) {
	batches, attempts := map[int]bool{0: true}, map[int]bool{}
	byBatch, byAttempt := true, task == ""
	for i := range tries {
		if t := &tries[i]; t.tells() {
			byBatch, byAttempt = byBatch && !batches[t.Batch], byAttempt && !attempts[t.Attempt]
			batches[t.Batch], attempts[t.Attempt] = true, true
		}
	}
	for i := range tries {
		t := &tries[i]
		t.open = len(slices.DeleteFunc(slices.Clone(t.findings), func(id string) bool { return s.accepted[id] }))
		switch {
		case byBatch:
			t.unit, t.number = "batch", t.Batch
		case byAttempt:
			t.unit, t.number = "attempt", t.Attempt
		default:
			t.unit, t.number = "try", i+1
		}
	}
}
