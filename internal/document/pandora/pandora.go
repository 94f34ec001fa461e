package pandora

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// page is a document under way.
type page struct{ strings.Builder }

// line adds a line. What is formatted in cannot add lines of its own.
func (p *page) line(format string, args ...any) {
	p.WriteString(plain.Sprintf(format, args...) + "\n")
}

// because is ": reason", or nothing when there is none.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// capital is a word with a capital first letter.
func capital(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[n:]
}

// dashed is a text, or a dash where there is none.
func dashed(s string) string { return cmp.Or(s, "-") }

// counted returns a number with the name of what is counted: "1 task", "3 tasks".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// titled is the whole title of a task whose spec was read.
func titled(x *view.Task, spec pawl.TaskSpec) string {
	return cmp.Or(spec.Title, plain.Line(x.Title, 0))
}

// cell is a text within a cell of a markdown table.
func cell(s string) string { return strings.ReplaceAll(plain.Line(s, 0), "|", `\|`) }

// PlanDocument is what the planner decided, version by version: the task list
// with what each must meet.
func PlanDocument(r *view.Run, blobs view.Blobs) (string, error) {
	if r.Plan() == nil {
		return "", errNoPlan(r)
	}
	var t page
	for i, p := range r.Loops[0].Plans {
		if i > 0 {
			t.line("")
			t.line("---")
			t.line("")
		}
		planVersion(&t, r, p, blobs)
	}
	return t.String(), nil
}

func errNoPlan(r *view.Run) error {
	return pawl.Errorf(pawl.CodeNotFound, "run %s has no list of tasks", plain.Line(string(r.ID), 0))
}

func planVersion(t *page, r *view.Run, p *view.Plan, blobs view.Blobs) {
	decision, reasoning := decidedPlan(r, p, blobs)
	var specs []pawl.TaskSpec
	for _, x := range p.Tasks {
		specs = append(specs, x.Spec(blobs))
	}
	t.line("## 3. Task Plan")
	t.line("")
	t.line("**Decision:** %s", decision)
	t.line("**Reasoning:** %s", reasoning)
	if p.Version > 1 {
		changed := ""
		if p.Changed != "" {
			changed = " · " + p.Changed
		}
		t.line("**Plan Version:** %d%s", p.Version, changed)
	}
	t.line("")
	t.line("### Task Breakdown")
	t.line("")
	t.line("| ID | Title | Priority | Depends On |")
	t.line("|----|-------|----------|------------|")
	for i, x := range p.Tasks {
		priority := "-"
		if x.Priority > 0 {
			priority = fmt.Sprint(x.Priority)
		}
		t.line("| %s | %s | %s | %s |", cell(x.ID), cell(titled(x, specs[i])), priority, dashed(cell(strings.Join(x.DependsOn, ", "))))
	}
	t.line("")
	t.line("### Acceptance Criteria")
	t.line("")
	for i, x := range p.Tasks {
		t.line("**%s:**", x.ID)
		for _, c := range specs[i].CriteriaList() {
			t.line("- %s", c.Text)
		}
		t.line("")
	}
	t.line("**Route To:** %s_loop", strings.ToLower(r.Recipe.Name))
}

// decidedPlan is the decision that made a plan, and why, in the planner's words
// where it gave any.
func decidedPlan(r *view.Run, p *view.Plan, blobs view.Blobs) (decision, reasoning string) {
	decision, reasoning = strings.ToUpper(r.Recipe.Name)+"_LOOP", "-"
	if p.Cause != nil {
		reasoning = fmt.Sprintf("%s%s", p.Cause.Cause, because(p.Cause.Reason))
	}
	if p.Made == nil || p.Made.End == nil {
		if p.Cause == nil {
			reasoning = "the user gave the list"
		}
		return decision, reasoning
	}
	if d := p.Made.End.Facts.Get("decision"); d != "" {
		decision = d
	}
	var said struct{ Reasoning, Reason, Why, Summary string }
	if json.Unmarshal(blobs.Bytes(p.Made.End.Output), &said) == nil {
		for _, s := range []string{said.Reasoning, said.Reason, said.Why, said.Summary} {
			if s = plain.Line(s, 0); s != "" {
				return decision, s
			}
		}
	}
	return decision, reasoning
}

// judgement is what a reviewer found of each criterion.
type judgement struct {
	Criteria []struct {
		ID       string          `json:"id"`
		Status   string          `json:"status"`
		Evidence json.RawMessage `json:"evidence"` // a text, or a list of them
		Gap      string          `json:"gap"`
	} `json:"criteria"`
	Summary string `json:"summary"`
}

// evidence is what a criterion's verdict rests on, in one line.
func evidence(raw json.RawMessage, gap string) string {
	var all []string
	var one string
	if json.Unmarshal(raw, &all) != nil && json.Unmarshal(raw, &one) == nil && one != "" {
		all = []string{one}
	}
	if gap != "" {
		all = append(all, gap)
	}
	return dashed(plain.Line(strings.Join(all, "; "), 0))
}

// ValidationReport is the review of a task by its acceptance criteria: of its
// newest attempt that was reviewed.
func ValidationReport(r *view.Run, task string, blobs view.Blobs) (string, error) {
	x := r.Plan().Task(task)
	if x == nil {
		return "", pawl.Errorf(pawl.CodeNotFound, "run %s has no task %q", plain.Line(string(r.ID), 0), plain.Line(task, 80))
	}
	var t page
	t.line("## 6. Validation")
	t.line("")
	validation(&t, x, reviewed(r, x), blobs)
	return t.String(), nil
}

// validation tells what a reviewer's verdict, nil for none, says of each of a
// task's criteria.
func validation(t *page, x *view.Task, g *view.Gate, blobs view.Blobs) {
	spec := x.Spec(blobs)
	t.line("### Task: %s (%s)", x.ID, titled(x, spec))
	t.line("")
	t.line("**Acceptance Criteria Check:**")
	t.line("| Criteria | Status | Evidence |")
	t.line("|----------|--------|----------|")
	var found judgement
	if g != nil && json.Unmarshal(blobs.Bytes(g.Evidence), &found) != nil {
		found = judgement{}
	}
	for _, c := range spec.CriteriaList() {
		mark, why := "-", "-"
		for _, f := range found.Criteria {
			if f.ID != c.ID && !(len(spec.Criteria) == 0 && len(found.Criteria) == 1) {
				continue
			}
			mark, why = "✗", evidence(f.Evidence, f.Gap)
			if f.Status == "pass" {
				mark = "✓"
			}
		}
		t.line("| %s | %s | %s |", cell(c.Text), mark, cell(why))
	}
	t.line("")
	result := "-"
	if g != nil {
		result = approval(g.Verdict)
	}
	t.line("**Result:** %s", result)
}

// reviewed is the newest verdict of a reviewer on the task, or nil.
func reviewed(r *view.Run, t *view.Task) *view.Gate {
	for _, l := range slices.Backward(t.Loops) {
		for _, it := range slices.Backward(l.Iterations) {
			for _, g := range slices.Backward(it.Gates) {
				if r.IsReview(l, g) {
					return g
				}
			}
		}
	}
	return nil
}

// approval is a reviewer's verdict in Pandora's words.
func approval(v pawl.Verdict) string {
	if v == pawl.VerdictPass {
		return "APPROVE"
	}
	return strings.ToUpper(plain.Line(string(v), 0))
}

// ValidationDocument is the [ValidationReport] of every task that was reviewed.
func ValidationDocument(r *view.Run, blobs view.Blobs) (string, error) {
	p := r.Plan()
	if p == nil {
		return "", errNoPlan(r)
	}
	var t page
	t.line("## 6. Validation")
	for _, x := range p.Tasks {
		if g := reviewed(r, x); g != nil {
			t.line("")
			validation(&t, x, g, blobs)
		}
	}
	return t.String(), nil
}

// learnings are what attempts at a task that passed taught, and that is shown
// to later ones.
func learnings(r *view.Run, x *view.Task) []*view.Memory {
	var out []*view.Memory
	for _, m := range r.Memory {
		if m.Kind == pawl.MemoryLearning && !m.Failed && m.Task == x.ID && x.Status == pawl.TaskPassed {
			out = append(out, m)
		}
	}
	return out
}

// CompletionMessage is the run's end in Pandora's words: complete, or incomplete,
// blocked or failed with what is missing and why.
func CompletionMessage(r *view.Run, blobs view.Blobs) (string, error) {
	p := r.Plan()
	if p == nil {
		return "", errNoPlan(r)
	}
	title, state := "In Progress", "IN PROGRESS"
	if r.Outcome != "" {
		title, state = capital(string(r.Outcome)), strings.ToUpper(string(r.Outcome))
	}
	if r.Outcome == pawl.OutcomeComplete {
		state = "SUCCESS"
	}
	saved := 0
	var t page
	t.line("## %s Loop %s", capital(r.Recipe.Name), title)
	t.line("")
	t.line("**Status:** %s", state)
	t.line("**Tasks:** %d/%d passed", p.Count(pawl.TaskPassed), len(p.Tasks))
	if r.Outcome != pawl.OutcomeComplete && r.Reason != "" {
		t.line("**Reason:** %s", r.Reason)
	}
	t.line("")
	t.line("| Task | Title | Status |")
	t.line("|------|-------|--------|")
	for _, x := range p.Tasks {
		t.line("| %s | %s | %s |", cell(x.ID), cell(x.FullTitle(blobs)), statusMark(r, x))
		saved += len(learnings(r, x))
	}
	notes(&t, "Failures", p, func(x *view.Task) string {
		status, reason := standing(r, x)
		if status != pawl.TaskFailed {
			return ""
		}
		return dashed(reason)
	})
	notes(&t, "Blocked", p, func(x *view.Task) string {
		if x.Status != pawl.TaskBlocked {
			return ""
		}
		return x.Cause + " cannot pass"
	})
	notes(&t, "Not Done", p, func(x *view.Task) string {
		switch status, reason := standing(r, x); status {
		case pawl.TaskPending, pawl.TaskRunning, pawl.TaskSkipped:
			return dashed(reason)
		}
		return ""
	})
	t.line("")
	t.line("**Learnings Saved:** %s to pawl memory", counted(saved, "pattern"))
	return t.String(), nil
}

// notes lists the tasks that there is something to say about.
func notes(t *page, heading string, p *view.Plan, of func(*view.Task) string) {
	begun := false
	for _, x := range p.Tasks {
		note := of(x)
		if note == "" {
			continue
		}
		if !begun {
			t.line("")
			t.line("**%s:**", heading)
			begun = true
		}
		t.line("- %s: %s", x.ID, note)
	}
}

func statusMark(r *view.Run, x *view.Task) string {
	status, _ := standing(r, x)
	state, mark := x.State(), map[pawl.TaskStatus]string{pawl.TaskPassed: "✓", pawl.TaskFailed: "✗", pawl.TaskRunning: "…"}[status]
	if status == pawl.TaskFailed {
		state = status.String()
	}
	if mark == "" || status == pawl.TaskRunning && x.IsStopped() {
		mark = "-"
	}
	return mark + " " + state
}

// standing returns a task's status and the reason of it. The task that a run which failed for good was at has
// failed by the same.
func standing(r *view.Run, x *view.Task) (pawl.TaskStatus, string) {
	if x.Status == pawl.TaskRunning && r.Outcome == pawl.OutcomeFailed {
		return pawl.TaskFailed, r.Reason
	}
	return x.Status, x.Reason
}

// Trace is the run as it went, task by task in the order they were begun.
func Trace(r *view.Run, blobs view.Blobs) (string, error) {
	p := r.Plan()
	if p == nil {
		return "", errNoPlan(r)
	}
	var t page
	t.line("User: %s", r.Start.Title)
	t.line("")
	decision, _ := decidedPlan(r, p, blobs)
	t.line("Decision: %s", decision)
	t.line("Tasks: %d identified", len(p.Tasks))
	t.line("")
	t.line("[%s Loop Starts]", capital(r.Recipe.Name))
	for i, l := range begun(r) {
		t.line("")
		traceLoop(&t, r, i+1, l, blobs)
	}
	t.WriteString("\n" + ending(r))
	return t.String(), nil
}

// begun are the loops of the root's tasks, one for each try at a task, in the order in
// which they were begun.
func begun(r *view.Run) []*view.Loop {
	var out []*view.Loop
	for _, l := range r.Loops {
		if l.Parent == 1 && l.Task != "" {
			out = append(out, l)
		}
	}
	return out
}

func traceLoop(t *page, r *view.Run, n int, l *view.Loop, blobs view.Blobs) {
	heading(t, r, n, l, blobs)
	for _, it := range l.Iterations {
		if it.N > 1 {
			t.line("  [Attempt %d on %s]", it.N, r.Recipe.Tier(it.Tier))
		}
		traceIteration(t, r, l, it, blobs)
	}
	traceEnd(t, r, l, blobs)
}

// traceEnd tells how a task's loop ended, and what it taught.
func traceEnd(t *page, r *view.Run, l *view.Loop, blobs view.Blobs) {
	switch x := r.Plan().Task(l.Task); {
	case l.End == nil:
		t.line("  Status: %s IN PROGRESS", l.Task)
	case l.End.Stopped && x != nil && x.Status == pawl.TaskFailed: // a cancelled run cut it off
		t.line("  Status: %s FAILED%s", l.Task, because(x.Reason))
	case l.End.Stopped:
		t.line("  Status: %s STOPPED", l.Task)
	case l.End.Outcome.Succeeded():
		t.line("  Status: %s PASSED", l.Task)
	default:
		t.line("  Status: %s FAILED%s", l.Task, because(l.End.Reason))
	}
	for _, m := range r.Memory {
		if m.Loop == l && m.Kind == pawl.MemoryLearning && !m.Failed {
			t.line("  Learnings saved: %q", plain.Line(blobs.Text(m.Text), 200))
		}
	}
}

// traceIteration tells of an iteration, and of each time that a verdict sent it back to a step: the rounds of a
// group with what each step left, then the steps and gates after it.
func traceIteration(t *page, r *view.Run, l *view.Loop, it *view.Iteration, blobs view.Blobs) {
	var from pawl.Seq
	for _, way := range it.Routes {
		tracePass(t, r, l, it, way.Gates, from, way.Seq, blobs)
		from = way.Seq
	}
	tracePass(t, r, l, it, it.Gates, from, never, blobs)
}

// never is after all events.
const never = pawl.Seq(math.MaxUint64)

// tracePass tells what came after one event and before another.
func tracePass(t *page, r *view.Run, l *view.Loop, it *view.Iteration, gates []*view.Gate, from, to pawl.Seq, blobs view.Blobs) {
	planned, worked := map[int]bool{}, map[int]bool{} // by round; the last one only says that all is done
	var roles, said, after []string
	first := ""
	for _, s := range it.Sessions {
		switch {
		case s.Seq < max(from, it.Restarted()) || s.Seq > to:
		case s.Place.Round > 0:
			if first == "" {
				first = s.Place.Step
			}
			if planned[s.Place.Round] = true; s.Place.Step != first {
				worked[s.Place.Round] = true
			}
			if role := capital(s.Place.Role); !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
			if text := s.Summary(blobs, 120); text != "" {
				said = append(said, text)
			}
		case s.Purpose == pawl.ForStep:
			after = append(after, fmt.Sprintf("[%s]", capital(s.Place.Step)))
		}
	}
	rounds := len(worked)
	if rounds == 0 {
		rounds = len(planned)
	}
	if rounds > 0 {
		t.line("  [%s Loop - %s]", strings.Join(roles, "-"), counted(rounds, "iteration"))
		for _, text := range said {
			t.line("    - %s", text)
		}
	}
	for _, g := range gates {
		if g.Seq < from || g.Seq > to {
			continue
		}
		word := approval(g.Verdict)
		if !r.IsReview(l, g) {
			word = strings.ToUpper(string(g.Verdict))
		}
		after = append(after, fmt.Sprintf("[%s: %s]", capital(g.Gate), word))
	}
	if to == never && it.End != nil && it.End.Conflict {
		after = append(after, "[Merge: CONFLICT]")
	}
	if len(after) > 0 {
		t.line("  %s", strings.Join(after, " → "))
	}
}

// Learning is what one task taught, as the Pandora loop writes it to its memory.
type Learning struct {
	Type    string `json:"artifact_type"`
	Topic   string `json:"topic"`
	Content struct {
		Summary  string   `json:"summary"`
		Findings []string `json:"findings"`
	} `json:"content"`
	Tags       []string `json:"tags"`
	Source     string   `json:"source"`
	Confidence float64  `json:"confidence"`
}

// Note is what a task taught, as Pandora's own memory has it, whatever the recipe.
func Note(task, title string, findings []string) Learning {
	return newLearning("pandora", task, title, findings)
}

// TakesNotes reports whether a recipe learns as Pandora does: from attempts that passed,
// and from no others. What such a run has learned of a task is a [Note].
func TakesNotes(r *pawl.Recipe) bool {
	return slices.ContainsFunc(r.Kinds, func(k pawl.LoopKind) bool {
		x := k.Extract
		return x != nil && x.Output == "learnings" && x.When != nil && slices.Equal(x.When.Verdict, []pawl.Verdict{pawl.VerdictPass})
	})
}

// newLearning is what a task of a recipe's list taught.
func newLearning(recipe, task, title string, findings []string) Learning {
	l := Learning{Type: "research", Topic: recipe + "-loop-learnings-" + task, Tags: []string{recipe + "-loop", "code-patterns", task},
		Source: recipe + "_loop", Confidence: 0.9}
	l.Content.Summary, l.Content.Findings = "Patterns learned from: "+title, findings
	return l
}

// Learnings are those of every task that passed and taught something.
func Learnings(r *view.Run, blobs view.Blobs) []Learning {
	out := []Learning{}
	p := r.Plan()
	if p == nil {
		return out
	}
	name := strings.ToLower(plain.Line(r.Recipe.Name, 0))
	for _, x := range p.Tasks {
		all := learnings(r, x)
		if len(all) == 0 {
			continue
		}
		var findings []string
		for _, m := range all {
			findings = append(findings, plain.Line(blobs.Text(m.Text), 0))
		}
		out = append(out, newLearning(name, plain.Line(x.ID, 0), x.FullTitle(blobs), findings))
	}
	return out
}

// TaskFile is what a file of the run's tasks says.
type TaskFile struct {
	Created time.Time // of the first plan
	Query   string    // the user's request
	Limit   int       // on how many tasks are begun
	Begun   int       // how many were, each try counted
	Tasks   []TaskFileEntry
}

// TaskFileEntry is a task of a [TaskFile].
type TaskFileEntry struct {
	pawl.TaskSpec
	Status pawl.TaskStatus
	Cause  string // the task that cannot pass, of one that is blocked
	Reason string // why it failed or is skipped
}

// defaultLimit is on how many tasks a recipe without a limit of its own begins.
const defaultLimit = 10

// TasksFile is the run's list of tasks for a file; of a run folded up to an
// event, as it was then.
func TasksFile(r *view.Run, blobs view.Blobs) (TaskFile, error) {
	p := r.Plan()
	if p == nil {
		return TaskFile{}, errNoPlan(r)
	}
	root := r.Loops[0]
	f := TaskFile{Created: root.Plans[0].Began.UTC(), Query: blobs.Text(r.Start.Goal), Limit: defaultLimit, Begun: len(begun(r))}
	if f.Query == "" {
		f.Query = plain.Line(r.Start.Title, 0)
	}
	if k := r.Recipe.Kind(root.Kind); k != nil && k.Children != nil && k.Children.Limit > 0 {
		f.Limit = k.Children.Limit
	}
	if r.Limits.Iterations > 0 {
		f.Limit = r.Limits.Iterations
	}
	for _, x := range p.Tasks {
		status, reason := standing(r, x)
		e := TaskFileEntry{x.Spec(blobs), status, plain.Line(x.Cause, 0), plain.Line(reason, 0)}
		if status == pawl.TaskRunning && x.IsStopped() { // as whoever reads the file takes it up again
			e.Status = pawl.TaskPending
		}
		f.Tasks = append(f.Tasks, e)
	}
	return f, nil
}
