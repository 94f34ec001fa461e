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

// Loop is the loop that works on the task, or worked on it last; nil before the first.
func (t *Task) Loop() *Loop {
	if len(t.Loops) == 0 {
		return nil
	}
	return t.Loops[len(t.Loops)-1]
}

// Spec is the task as it was written, its texts made safe. What cannot be read is taken
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

// FullTitle is the task's whole title, where its entry has only the beginning.
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

// Tier is the tier of the newest attempt; before the first, the one the plan asks for.
func (t *Task) Tier() int {
	if l := t.Loop(); l != nil && l.Tier > 0 {
		return l.Tier
	}
	return t.TaskEntry.Tier
}

// Spent is what all attempts at the task were charged, those of its own
// children included.
func (t *Task) Spent() Spending {
	var s Spending
	for _, l := range t.Loops {
		s.add(l.Spent)
	}
	return s
}

// Took is how long the task has been worked on, up to now if it still is.
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

// Task finds a task by its id; nil when the plan has none of it.
func (p *Plan) Task(id string) *Task {
	if p == nil {
		return nil
	}
	return p.byID[id]
}

// Waiting are the tasks that a pending one depends on and that have not passed.
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

// Count is how many tasks are in a status.
func (p *Plan) Count(s pawl.TaskStatus) int {
	n := 0
	for _, t := range p.Tasks {
		if t.Status == s {
			n++
		}
	}
	return n
}

// Path is the longest chain of tasks that are still to pass, each depending on
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

// Question is one that a loop asked, and what became of it.
type Question struct {
	pawl.QuestionAsked
	Loop      *Loop
	Seq       pawl.Seq
	Asked     time.Time
	Answered  *pawl.QuestionAnswered
	Withdrawn *pawl.QuestionWithdrawn
}

// Open reports whether the question waits for an answer.
func (q *Question) Open() bool { return q.Answered == nil && q.Withdrawn == nil }

// OpenQuestions are those that wait for an answer, oldest first.
func (r *Run) OpenQuestions() []*Question {
	var out []*Question
	for _, q := range r.Questions {
		if q.Open() {
			out = append(out, q)
		}
	}
	return out
}

// Question finds a question by its number, or nil.
func (r *Run) Question(n int) *Question {
	for _, q := range r.Questions {
		if q.N == n {
			return q
		}
	}
	return nil
}

// Note is an entry of a blackboard: the newest one of its key.
type Note struct {
	pawl.NotePosted
	Task string // who wrote it; empty = the loop itself
	Seq  pawl.Seq
}

// Memory is something the run remembers.
type Memory struct {
	pawl.MemoryAdded
	Loop      *Loop
	Forgotten bool
}

// Plan is the version of the loop's plan that is in force, or nil.
func (l *Loop) Plan() *Plan {
	if l == nil || len(l.Plans) == 0 {
		return nil
	}
	return l.Plans[len(l.Plans)-1]
}

// Plan is the plan of the run's root loop, or nil.
func (r *Run) Plan() *Plan { return r.root().Plan() }

// task is the entry of its parent's plan that a loop works on, or nil.
func (r *Run) task(l *Loop) *Task {
	if l == nil || l.Task == "" {
		return nil
	}
	return r.loop(l.Parent).Plan().Task(l.Task)
}

// applyTree folds the events of loops with children. It reports whether the
// event is one of them.
func (r *Run) applyTree(l *Loop, e pawl.Event) bool {
	switch b := e.Body.(type) {
	case *pawl.TasksListed:
		l.listed = append(l.listed, b.Entries...)
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
	case *pawl.QuestionAsked:
		r.Questions = append(r.Questions, &Question{QuestionAsked: *b, Loop: l, Seq: e.Seq, Asked: e.Time})
	case *pawl.NotePosted:
		r.post(l, e, b)
	case *pawl.LoopEnded:
		r.endLoop(l, e, b)
	default:
		return r.applyCascade(l, e) || r.applyBatch(l, e)
	}
	return true
}

// applyAnywhere folds the events that name what they are about themselves: a
// user's answer is the run's, a loop's withdrawal the loop's.
func (r *Run) applyAnywhere(e pawl.Event) bool {
	switch b := e.Body.(type) {
	case *pawl.QuestionAnswered:
		if q := r.Question(b.N); q != nil {
			q.Answered = b
		}
	case *pawl.QuestionWithdrawn:
		if q := r.Question(b.N); q != nil {
			q.Withdrawn = b
		}
	case *pawl.MemoryAdded:
		r.Memory = append(r.Memory, &Memory{MemoryAdded: *b, Loop: r.loop(e.Loop)})
	case *pawl.Forked:
		r.forked(e, b)
	case *pawl.MemoryForgotten:
		for _, m := range r.Memory {
			m.Forgotten = m.Forgotten || m.N == b.N
		}
	default:
		return false
	}
	return true
}

// accept makes the list that was read the plan. What had passed keeps its
// result, and every task the loops that worked on it.
func (r *Run) accept(l *Loop, e pawl.Event, b *pawl.PlanAccepted) {
	before := l.Plan()
	if k := r.Recipe.Kind(l.Kind); k != nil && k.Children.RestartsParent() { // its children stand on this list alone
		before = nil
	}
	p := &Plan{PlanAccepted: *b, Seq: e.Seq, Began: e.Time, Cause: l.calling, byID: map[string]*Task{}}
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
	l.listed, l.calling = nil, nil
	p.generation = l.Generation
	l.Plans = append(l.Plans, p)
}

// made is the newest session of the loop that left this output, or nil.
func (l *Loop) made(output pawl.Hash) *Session {
	var found *Session
	for _, s := range l.sessions {
		if s.End != nil && s.End.Output == output && (found == nil || s.Seq > found.Seq) {
			found = s
		}
	}
	return found
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

func (t *Task) move(e pawl.Event, to pawl.TaskStatus, cause, reason string) {
	t.Status, t.Cause, t.Reason, t.Seq = to, cause, reason, e.Seq
}

// startLoop adds a loop; the task it works on is running from now on.
func (r *Run) startLoop(e pawl.Event, b *pawl.LoopStarted) {
	l := &Loop{Ref: e.Loop, LoopStarted: *b, Began: e.Time, Generation: 1, Score: -1, sessions: map[int]*Session{}}
	if k := r.Recipe.Kind(l.Kind); k != nil {
		l.alone = k.Children == nil
	}
	if l.Parent >= l.Ref { // it would be above itself
		l.Parent = 0
	}
	r.Loops = append(r.Loops, l)
	if t := r.task(l); t != nil {
		t.Loops = append(slices.Clip(t.Loops), l)
		if !b.Pending {
			t.move(e, pawl.TaskRunning, "", "")
		}
	}
}

// endLoop ends a loop and settles its task. One that ended because the run did
// goes on when the run does.
func (r *Run) endLoop(l *Loop, e pawl.Event, b *pawl.LoopEnded) {
	l.End, l.Ended = b, e.Time
	t := r.task(l)
	said, known := pawl.TaskStatusOf(b.Task)
	switch {
	case t == nil || b.Stopped && b.Outcome.Resumable() || t.Status == pawl.TaskDropped:
	case b.Outcome == pawl.OutcomeInvalid:
		t.move(e, pawl.TaskSkipped, "", b.Reason)
	case known && said == pawl.TaskPending:
		t.move(e, pawl.TaskPending, "", "")
		t.begun = false
	case known && said == pawl.TaskPassed:
		t.move(e, said, "", "")
	case known && said != t.Status:
		t.move(e, said, "", b.Reason)
	case known: // as it was, such as blocked by another one
	case r.fenced(l, t): // an older log, from here on
		t.move(e, pawl.TaskPending, "", "")
		t.begun = false
	case b.Stopped:
		t.move(e, pawl.TaskSkipped, "", b.Reason)
	case b.Outcome.Succeeded():
		t.move(e, pawl.TaskPassed, "", "")
	default:
		t.move(e, pawl.TaskFailed, "", b.Reason)
	}
}

// reopen lets a loop that had ended go on.
func (r *Run) reopen(l *Loop, e pawl.Event) {
	t := r.task(l)
	if l.End == nil {
		if t != nil && t.Status == pawl.TaskPending { // it was held back
			t.move(e, pawl.TaskRunning, "", "")
		}
		return
	}
	l.End, l.Ended = nil, time.Time{}
	if t != nil && t.Status != pawl.TaskPassed {
		t.move(e, pawl.TaskRunning, "", "")
	}
}

// retry lets a loop that had ended do again what it did not reach: the tasks that
// did not pass, or its plan, for which it has as many attempts as before.
func (r *Run) retry(l *Loop, e pawl.Event) {
	p, it := l.Plan(), l.last()
	if p == nil {
		if k := r.Recipe.Kind(l.Kind); k != nil && k.Children != nil && it != nil && it.End != nil {
			l.freed = it.N
		}
		return
	}
	for _, t := range p.Tasks {
		switch t.Status {
		case pawl.TaskFailed, pawl.TaskBlocked, pawl.TaskSkipped:
			t.move(e, pawl.TaskPending, "", "")
			t.begun = false
		}
	}
}

// post writes on the blackboard that a loop shares with its siblings.
func (r *Run) post(l *Loop, e pawl.Event, b *pawl.NotePosted) {
	board := l
	if parent := r.loop(l.Parent); parent != nil {
		board = parent
	}
	n := Note{NotePosted: *b, Task: l.Task, Seq: e.Seq}
	if i := slices.IndexFunc(board.Board, func(o Note) bool { return o.Key == b.Key }); i >= 0 {
		board.Board[i] = n
		return
	}
	board.Board = append(board.Board, n)
}

// merged folds the answers of the merge queue.
func (r *Run) merged(l *Loop, e pawl.Event, f *pawl.Effect) {
	switch b := e.Body.(type) {
	case *pawl.Merged:
		if b.Conflicts > 0 && l.trying() && l.underWay() == nil {
			r.problem(e, "%sits work conflicts with what was merged in the meantime, in %s", r.lead(l), count(b.Conflicts, "path"))
		}
	case *pawl.BranchAdvanced:
		l.land()
		if do, ok := doOf[*pawl.AdvanceBranch](f); ok && do.Branch == r.Start.Branch {
			r.Head = b.Commit
			r.moved = mark(e, "commit %s %s", short(b.Commit), r.mergedWhat(l))
		}
	}
}

// trying reports whether an attempt of the loop is under way.
func (l *Loop) trying() bool { return l != nil && l.last() != nil && l.last().End == nil }

// mergedWhat says what a branch was moved for.
func (r *Run) mergedWhat(l *Loop) string {
	if x := l.underWay(); x != nil {
		return fmt.Sprintf("has what batch %d approved", x.N)
	}
	if l.Task == "" {
		return "is the branch's new head"
	}
	return "merged " + l.Task
}

// doOf is what an effect does, if it is of this kind; a nil effect does nothing.
func doOf[T pawl.Do](f *pawl.Effect) (T, bool) {
	if f == nil {
		var none T
		return none, false
	}
	do, ok := f.Do.(T)
	return do, ok
}

// lead names the task of a loop before a line, behind those above it: "[auth/tokens] ";
// empty for the root.
func (r *Run) lead(l *Loop) string {
	path := r.path(l)
	if path == "" {
		return ""
	}
	return "[" + path + "] "
}

// path are the tasks from the root's children down to a loop's own.
func (r *Run) path(l *Loop) string {
	if l == nil || l.Task == "" {
		return ""
	}
	above := r.loop(l.Parent)
	name := l.Task
	if above != nil && above.Task == l.Task {
		name = l.Kind // the one piece of work its parent is about
	}
	if path := r.path(above); path != "" {
		return path + "/" + name
	}
	return name
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
