package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// loopPlans is what a loop plans for its children.
type loopPlans struct {
	Plans   []*Plan // the versions of its list of tasks, oldest first
	Retried []Mark  // tasks that run once more, because what they failed by was not their work

	listed  []pawl.TaskEntry   // a list that has not become a plan yet
	calling *pawl.ReplanCalled // the plan is being made anew
	letPass *LetPass           // the plan in the making was refused, and a person let it pass
}

// LetPass says that a person let a plan pass that its review had refused. Its texts are safe to
// print. Fields are added, never renamed.
type LetPass struct {
	By       string    `json:"by"`
	Reason   string    `json:"reason,omitempty"`
	Reviewer string    `json:"reviewer"` // the step that refused it last
	Verdict  string    `json:"verdict"`
	Times    int       `json:"times"` // how often the plan was made
	Review   pawl.Hash `json:"review"`
	Event    pawl.Seq  `json:"event"`
}

func (p *LetPass) text() string {
	return fmt.Sprintf("%s did not approve it in %s (last verdict %s), and %s let it pass%s", p.Reviewer, count(p.Times, "round"), p.Verdict, p.By, because(p.Reason))
}

// letPassBy returns what a person let pass at the end of a group's rounds, or nil.
func (l *Loop) letPassBy(e pawl.Event, b *pawl.RoundsEnded) *LetPass {
	if b.Refused.IsZero() {
		return nil
	}
	p := &LetPass{By: plain.Line(b.By, 0), Reason: plain.Line(b.Reason, 0), Reviewer: "its review", Verdict: "refused", Times: b.Max, Review: b.Refused, Event: e.Seq}
	if s := l.made(b.Refused); s != nil {
		p.Reviewer, p.Verdict = plain.Line(s.Place.Step, 0), cmp.Or(plain.Line(s.End.Facts.Get("decision"), 0), p.Verdict)
	}
	return p
}

// Plan is one version of a loop's list of tasks. The newest is in force.
type Plan struct {
	pawl.PlanAccepted
	Seq   pawl.Seq
	Began time.Time
	Tasks []*Task
	// Made is the session that handed the list in; nil when the user gave it.
	Made *Session
	// Cause says why this version was made; nil for the first.
	Cause *pawl.ReplanCalled
	// LetPass says that its review refused it and a person let it pass; nil = nobody had to.
	LetPass *LetPass

	byID       map[string]*Task
	generation int // of the loop that accepted it
}

// Task is an entry of a plan, and where it stands. That it waits for others is
// no status: see [Plan.Waiting].
type Task struct {
	pawl.TaskEntry
	N      int // its place in the list, from 1
	Status pawl.TaskStatus
	// Cause is the id of the task that cannot pass, of one that is blocked.
	Cause string
	// Reason says why it failed or is skipped.
	Reason string
	Loops  []*Loop  // those that have worked on it, oldest first, over all versions
	Seq    pawl.Seq // the event that says so

	// Batch is the newest batch it was in, 0 = none yet; Judged what a batch made of
	// it last, nil before that and after a rollback that opened it again.
	Batch  int
	Judged *Judged
	// Held says that it waits for a task it did not name, HeldBehind; nil = it does not.
	Held       *pawl.TaskHeld
	HeldBehind string

	begun bool // its batch has started, and nothing since has opened it again
}

// Loop returns the loop that works on the task, or worked on it last; nil before the first.
func (t *Task) Loop() *Loop {
	if len(t.Loops) == 0 {
		return nil
	}
	return t.Loops[len(t.Loops)-1]
}

// Spec returns the task as it was written, its texts made safe. What cannot be read is taken
// from the plan's entry.
func (t *Task) Spec(blobs Blobs) pawl.TaskSpec {
	var s pawl.TaskSpec
	if json.Unmarshal(blobs.bytes(t.TaskEntry.Spec), &s) != nil || s.ID != t.ID {
		s = pawl.TaskSpec{ID: t.ID, Title: t.Title, Priority: t.Priority, DependsOn: t.DependsOn, ModelTier: t.TaskEntry.Tier,
			VerificationTier: t.Verify, Critical: t.Critical, Scaffold: t.Scaffold, Done: t.Done}
	}
	for _, text := range []*string{&s.ID, &s.Title, &s.Notes, &s.Intent, &s.Mode} {
		*text = plain.Line(*text, 0)
	}
	s.Description, s.Criteria, s.DependsOn = plain.Text(s.Description), lines(s.Criteria), lines(t.DependsOn) // decisions rest on the entry
	return s
}

// FullTitle returns the task's whole title, where its entry has only the beginning.
func (t *Task) FullTitle(blobs Blobs) string {
	return cmp.Or(t.Spec(blobs).Title, plain.Line(t.Title, 0))
}

// Attempts counts the attempts at the task so far, over all versions of the plan.
func (t *Task) Attempts() int {
	n := 0
	for _, l := range t.Loops {
		n += len(l.Iterations)
	}
	return n
}

// Tier returns the tier of the newest attempt; before the first, the one the plan asks for.
func (t *Task) Tier() int {
	if l := t.Loop(); l != nil && l.Tier > 0 {
		return l.Tier
	}
	return t.TaskEntry.Tier
}

// Spent returns what all attempts at the task were charged, those of its own
// children included.
func (t *Task) Spent() Spending {
	var s Spending
	for _, l := range t.Loops {
		s.add(l.Spent)
	}
	return s
}

// Took returns how long the task has been worked on, up to now if it still is.
func (t *Task) Took(now time.Time) time.Duration {
	var d time.Duration
	for _, l := range t.Loops {
		end := now
		if l.End != nil {
			end = l.Ended
		}
		d += max(0, end.Sub(l.Began))
	}
	return d
}

// stopped is the word of a task that was at work when its run ended, and continues when the run does.
const stopped = "stopped"

// IsStopped reports whether the task was at work when its run ended. Its status stays running, as it continues
// when the run does.
func (t *Task) IsStopped() bool {
	l := t.Loop()
	return t.Status == pawl.TaskRunning && l != nil && l.End != nil && l.End.Stopped
}

// State returns where the task stands in a word: its status, or that it was stopped.
func (t *Task) State() string {
	if t.IsStopped() {
		return stopped
	}
	return t.Status.String()
}

func (t *Task) move(e pawl.Event, to pawl.TaskStatus, cause, reason string) {
	t.Status, t.Cause, t.Reason, t.Seq = to, cause, reason, e.Seq
}

// Task finds a task by its id; nil when the plan has none of it.
func (p *Plan) Task(id string) *Task {
	if p == nil {
		return nil
	}
	return p.byID[id]
}

// Waiting returns the tasks that a pending one depends on and that have not passed.
func (p *Plan) Waiting(t *Task) []string {
	if t.Status != pawl.TaskPending {
		return nil
	}
	var out []string
	for _, id := range t.DependsOn {
		if d := p.Task(id); d == nil || d.Status != pawl.TaskPassed {
			out = append(out, id)
		}
	}
	if t.Held != nil {
		out = append(out, t.HeldBehind)
	}
	return out
}

// Count returns how many tasks are in a status.
func (p *Plan) Count(s pawl.TaskStatus) int {
	n := 0
	for _, t := range p.Tasks {
		if t.Status == s {
			n++
		}
	}
	return n
}

// countStopped returns how many tasks were at work when their run ended.
func (p *Plan) countStopped() int {
	n := 0
	for _, t := range p.Tasks {
		if t.IsStopped() {
			n++
		}
	}
	return n
}

// Path returns the longest chain of tasks that are still to pass, each depending on
// the one before it: what is left takes at least as long as these, however many
// work side by side. Tasks that cannot pass any more are on no chain.
func (p *Plan) Path() []*Task {
	open := func(t *Task) bool { return t.Status == pawl.TaskPending || t.Status == pawl.TaskRunning }
	behind := map[*Task][]*Task{}
	left := map[*Task]int{}
	var todo []*Task
	for _, t := range p.Tasks {
		if !open(t) {
			continue
		}
		for i, id := range t.DependsOn {
			if d := p.Task(id); d != nil && open(d) && !slices.Contains(t.DependsOn[:i], id) {
				behind[d] = append(behind[d], t)
				left[t]++
			}
		}
		if left[t] == 0 {
			todo = append(todo, t)
		}
	}
	length, before := map[*Task]int{}, map[*Task]*Task{}
	var last *Task
	for k := 0; k < len(todo); k++ { // from the tasks that wait for nobody (Kahn 1962)
		t := todo[k]
		length[t]++
		if last == nil || length[t] > length[last] || length[t] == length[last] && t.N < last.N {
			last = t
		}
		for _, b := range behind[t] {
			if length[t] > length[b] {
				length[b], before[b] = length[t], t
			}
			if left[b]--; left[b] == 0 {
				todo = append(todo, b)
			}
		}
	}
	var path []*Task
	for t := last; t != nil; t = before[t] {
		path = append(path, t)
	}
	slices.Reverse(path)
	return path
}

// ids joins the ids of tasks at places of a plan; those beyond eight are counted.
func (p *Plan) ids(places []int) string {
	const most = 8
	var out []string
	for _, i := range places {
		if p == nil || i < 0 || i >= len(p.Tasks) {
			continue
		}
		if len(out) == most {
			return strings.Join(out, ", ") + " and " + count(len(places)-most, "other")
		}
		out = append(out, p.Tasks[i].ID)
	}
	return strings.Join(out, ", ")
}

// Plan returns the version of the loop's plan that is in force, or nil.
func (l *Loop) Plan() *Plan {
	if l == nil || len(l.Plans) == 0 {
		return nil
	}
	return l.Plans[len(l.Plans)-1]
}

// Plan returns the plan of the run's root loop, or nil.
func (r *Run) Plan() *Plan { return r.root().Plan() }

// task returns the entry of its parent's plan that a loop works on, or nil.
func (r *Run) task(l *Loop) *Task {
	if l == nil || l.Task == "" {
		return nil
	}
	return r.loop(l.Parent).Plan().Task(l.Task)
}

// each does something with the tasks at these places of the loop's plan.
func (l *Loop) each(places []int, do func(*Task)) {
	p := l.Plan()
	for _, i := range places {
		if p != nil && i >= 0 && i < len(p.Tasks) {
			do(p.Tasks[i])
		}
	}
}

// accept makes the list that was read the plan. What had passed keeps its
// result, and every task the loops that worked on it.
func (r *Run) accept(l *Loop, e pawl.Event, b *pawl.PlanAccepted) {
	before := l.Plan()
	if k := r.Recipe.Kind(l.Kind); k != nil && k.Children.RestartsParent() { // its children stand on this list alone
		before = nil
	}
	p := &Plan{PlanAccepted: *b, Seq: e.Seq, Began: e.Time, Cause: l.calling, LetPass: l.letPass, byID: map[string]*Task{}}
	for i, entry := range l.listed {
		t := &Task{TaskEntry: entry, N: i + 1, Seq: e.Seq}
		if entry.Done {
			t.Status = pawl.TaskPassed
		}
		if old := before.Task(entry.ID); old != nil {
			t.Loops = old.Loops
			if old.Status == pawl.TaskPassed || old.Status == pawl.TaskRunning || old.Status == pawl.TaskDropped {
				t.Status, t.Seq, t.begun = old.Status, old.Seq, old.begun
			}
			t.Batch, t.Judged = old.Batch, old.Judged
		}
		p.Tasks = append(p.Tasks, t)
		p.byID[entry.ID] = t
	}
	if !b.List.IsZero() {
		p.Made = l.made(b.List)
	}
	l.listed, l.calling, l.letPass = nil, nil, nil
	p.generation = l.Generation
	l.Plans = append(l.Plans, p)
}

func changed(what string) string {
	if what == "" {
		return ""
	}
	return " · " + what
}

// applyPlan folds the events of plans and of their tasks.
func (r *Run) applyPlan(l *Loop, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.TasksListed:
		l.listed = append(l.listed, b.Entries...)
	case *pawl.TasksRead:
		l.listed = l.listed[max(0, len(l.listed)-max(0, b.Count)):] // what was read before is no plan any more
	case *pawl.PlanAccepted:
		r.accept(l, e, b)
	case *pawl.PlanRefused:
		l.listed, l.calling = nil, nil
		r.problem(e, "a list of tasks was refused: %s", b.Reason)
	case *pawl.ReplanCalled:
		l.calling = b
	case *pawl.TasksBlocked:
		l.each(b.Tasks, func(t *Task) { t.move(e, pawl.TaskBlocked, b.Cause, "") })
	case *pawl.TasksSkipped:
		l.each(b.Tasks, func(t *Task) { t.move(e, pawl.TaskSkipped, "", b.Reason) })
	case *pawl.TaskHeld:
		p := l.Plan()
		l.each([]int{b.Task}, func(t *Task) {
			t.Held, t.HeldBehind = b, p.ids([]int{b.Behind})
		})
	case *pawl.TaskRetried:
		l.each([]int{b.Task}, func(t *Task) {
			t.move(e, pawl.TaskPending, "", "")
			l.Retried = append(l.Retried, mark(e, "%s runs once more%s", t.ID, because(b.Reason)))
		})
	}
}

func (t teller) tellPlan() string {
	plan := t.l.Plan()
	switch b := t.e.Body.(type) {
	case *pawl.TasksListed:
		return count(len(b.Entries), "task") + " listed"
	case *pawl.TasksRead:
		if b.Problem != "" {
			return "the list of tasks cannot be read: " + b.Problem
		}
		return "list read: " + count(b.Count, "task")
	case *pawl.PlanAccepted:
		if t.r.cascades(t.l) {
			return fmt.Sprintf("%s accepted: it creates %s", capital(t.l.Kind), count(b.Count, t.r.Recipe.Kind(t.l.Kind).Children.Kind+" loop"))
		}
		if b.Version > 1 {
			return fmt.Sprintf("Plan %d accepted: %s%s", b.Version, count(b.Count, "task"), changed(b.Changed))
		}
		return "Plan accepted: " + count(b.Count, "task")
	case *pawl.PlanRefused:
		s := "Plan refused" + because(b.Reason)
		if plan != nil {
			s += fmt.Sprintf(" (plan %d stays)", plan.Version)
		}
		return s
	case *pawl.ReplanCalled:
		return fmt.Sprintf("A new plan is called for (%s)%s · active tasks finish first", b.Cause, because(b.Reason))
	case *pawl.TasksBlocked:
		if len(b.Tasks) == 0 {
			return "what depends on " + b.Cause + " is settled"
		}
		return fmt.Sprintf("Blocked by %s, which cannot pass: %s", b.Cause, plan.ids(b.Tasks))
	case *pawl.TasksSkipped:
		return fmt.Sprintf("Skipped: %s%s", plan.ids(b.Tasks), because(b.Reason))
	case *pawl.TaskHeld:
		return fmt.Sprintf("%s waits for %s%s", dashed(plan.ids([]int{b.Task})), dashed(plan.ids([]int{b.Behind})), because(b.Reason))
	case *pawl.TaskRetried:
		return fmt.Sprintf("%s runs once more with a fresh loop%s", dashed(plan.ids([]int{b.Task})), because(b.Reason))
	}
	return ""
}

func (k *Look) lookPlan(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.TasksListed, *pawl.TasksRead:
		k.Level = Detail
	case *pawl.TasksBlocked:
		if k.Tone = ToneWarning; len(b.Tasks) == 0 {
			k.Level = Detail
		}
	case *pawl.PlanRefused, *pawl.ReplanCalled, *pawl.TaskHeld, *pawl.TaskRetried:
		k.Tone = ToneWarning
	}
}
