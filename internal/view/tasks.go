package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pawl"
	"pawl/internal/plain"
)

// TaskList is a run's list of tasks for other programs. Its texts are safe to
// print. Fields are added, never renamed.
type TaskList struct {
	Run      pawl.RunID   `json:"run"`
	Status   string       `json:"status"`  // of the run
	Version  int          `json:"version"` // of the plan; 0 = there is none yet
	Progress TaskProgress `json:"progress"`
	// Path is the longest chain of tasks that are still to pass.
	Path  []string  `json:"critical_path"`
	Tasks []TaskRow `json:"tasks"`
	// Versions are the plans so far, oldest first.
	Versions  []PlanRow     `json:"plan_versions"`
	Questions []QuestionRow `json:"questions"` // those that are open
	Board     []BoardRow    `json:"blackboard"`
	Memory    int           `json:"memory"` // entries that are shown in prompts
}

// TaskProgress counts the tasks by what they are.
type TaskProgress struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Pending   int `json:"pending"`
	Running   int `json:"running"`
	Blocked   int `json:"blocked"`
	Skipped   int `json:"skipped"`
	Dropped   int `json:"dropped,omitempty"` // another one of their group was picked
	Stopped   int `json:"stopped,omitempty"` // at work when the run ended: they continue when it does
	// Percent is how many of all are completed, rounded down.
	Percent int `json:"percent_complete"`
}

// TaskRow is a task of a [TaskList].
type TaskRow struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status"`
	// Unverified reports that it passed, and nothing shows its work.
	Unverified bool     `json:"unverified,omitempty"`
	WaitsFor   []string `json:"waits_for,omitempty"`  // of a pending one: what it depends on and has not passed
	BlockedBy  string   `json:"blocked_by,omitempty"` // the task that cannot pass
	Reason     string   `json:"reason,omitempty"`     // why it failed or is skipped
	Attempts   int      `json:"attempts"`
	Tier       string   `json:"tier,omitempty"`
	Priority   int      `json:"priority,omitempty"`
	DependsOn  []string `json:"depends_on"`
	// Critical reports a task whose failure blocks what depends on it; OnPath one that is on the
	// longest chain of what is left.
	Critical bool `json:"is_critical_path"`
	OnPath   bool `json:"on_critical_path"`
	Calls    int  `json:"calls"`
	// Tokens and Cost are what it was charged; LostTokens and Lost the part that calls were
	// charged whose cost nobody knows.
	Tokens     int64        `json:"tokens"`
	Cost       pawl.Micros  `json:"cost"`
	LostTokens int64        `json:"lost_tokens,omitempty"`
	Lost       pawl.Micros  `json:"lost,omitempty"`
	Money      pawl.Money   `json:"money"`   // the same, with what its calls under way hold
	Seconds    float64      `json:"seconds"` // it has been worked on
	Loop       pawl.LoopRef `json:"loop,omitempty"`
	LoopID     string       `json:"loop_id,omitempty"`
	Branch     string       `json:"branch,omitempty"`
	Event      pawl.Seq     `json:"event"` // that says where it stands
}

// PlanRow is a version of the plan in a [TaskList].
type PlanRow struct {
	Version int       `json:"version"`
	Tasks   int       `json:"tasks"`
	Cause   string    `json:"cause,omitempty"` // why it was made anew
	Reason  string    `json:"reason,omitempty"`
	Changed string    `json:"changed,omitempty"`
	LetPass *LetPass  `json:"let_pass,omitempty"` // its review refused it, and a person let it pass
	Event   pawl.Seq  `json:"event"`
	Time    time.Time `json:"time"`
	List    pawl.Hash `json:"list,omitzero"` // as it was handed in
}

// QuestionRow is a question for other programs.
type QuestionRow struct {
	N       int               `json:"n"`
	Kind    pawl.QuestionKind `json:"kind"`
	Task    string            `json:"task,omitempty"` // the id of the task whose loop asks
	Text    string            `json:"text"`
	Choices []string          `json:"choices"`
	// Means says what each choice does, in their order; empty = the words of the choices say it.
	Means []string `json:"means,omitempty"`
	// About is the hash an answer is for; empty = there is nothing to see.
	About  pawl.Hash `json:"about,omitzero"`
	Asked  time.Time `json:"asked"`
	Event  pawl.Seq  `json:"event"`
	Answer string    `json:"answer_with"` // a command, with the word CHOICE
}

// BoardRow is an entry of the blackboard in a [TaskList].
type BoardRow struct {
	Key   string   `json:"key"`
	Value string   `json:"value"`
	Task  string   `json:"task,omitempty"`
	Event pawl.Seq `json:"event"`
}

// Tasks returns the run's list of tasks at a time.
func Tasks(r *Run, now time.Time) TaskList {
	out := TaskList{Run: r.ID, Status: string(r.Status), Path: []string{}, Tasks: []TaskRow{}, Versions: []PlanRow{},
		Questions: []QuestionRow{}, Board: []BoardRow{}}
	if r.Outcome != "" {
		out.Status = plain.Line(string(r.Outcome), 0)
	}
	for _, q := range r.OpenQuestions() {
		out.Questions = append(out.Questions, r.QuestionRow(q))
	}
	for _, m := range r.Memory {
		if !m.Forgotten {
			out.Memory++
		}
	}
	l := r.root()
	if l == nil {
		return out
	}
	for _, n := range l.Board {
		out.Board = append(out.Board, BoardRow{plain.Line(n.Key, 0), plain.Line(n.Value, 0), plain.Line(n.Task, 0), n.Seq})
	}
	for _, p := range l.Plans {
		out.Versions = append(out.Versions, planRow(p))
	}
	p := l.Plan()
	if p == nil {
		return out
	}
	out.Version, out.Progress = p.Version, p.Progress()
	path := p.Path()
	for _, t := range path {
		out.Path = append(out.Path, plain.Line(t.ID, 0))
	}
	for _, t := range p.Tasks {
		row := r.taskRow(p, t, now)
		row.OnPath = slices.Contains(path, t)
		out.Tasks = append(out.Tasks, row)
	}
	return out
}

// Progress counts the plan's tasks.
func (p *Plan) Progress() TaskProgress {
	n := TaskProgress{Total: len(p.Tasks), Completed: p.Count(pawl.TaskPassed), Failed: p.Count(pawl.TaskFailed), Pending: p.Count(pawl.TaskPending),
		Running: p.Count(pawl.TaskRunning), Blocked: p.Count(pawl.TaskBlocked), Skipped: p.Count(pawl.TaskSkipped), Dropped: p.Count(pawl.TaskDropped), Stopped: p.countStopped()}
	n.Running -= n.Stopped
	if n.Total > 0 {
		n.Percent = 100 * (n.Completed + n.Dropped) / n.Total
	}
	return n
}

func planRow(p *Plan) PlanRow {
	row := PlanRow{Version: p.Version, Tasks: len(p.Tasks), Changed: plain.Line(p.Changed, 0), LetPass: p.LetPass, Event: p.Seq, Time: p.Began, List: p.List}
	if p.Cause != nil {
		row.Cause, row.Reason = plain.Line(string(p.Cause.Cause), 0), plain.Line(p.Cause.Reason, 0)
	}
	return row
}

// QuestionRow returns a question for other programs.
func (r *Run) QuestionRow(q *Question) QuestionRow {
	row := QuestionRow{N: q.N, Kind: pawl.QuestionKind(plain.Line(string(q.Kind), 0)), Text: plain.Line(q.Text, 0), Choices: lines(q.Choices), Means: lines(q.Means), About: q.About,
		Asked: q.Asked, Event: q.Seq, Answer: line("pawl answer %s %d CHOICE", r.ID, q.N)}
	if q.Loop != nil {
		row.Task = plain.Line(q.Loop.Task, 0)
	}
	return row
}

func (r *Run) taskRow(p *Plan, t *Task, now time.Time) TaskRow {
	spent := t.Spent()
	row := TaskRow{ID: plain.Line(t.ID, 0), Title: plain.Line(t.Title, 0), Status: t.State(), WaitsFor: lines(p.Waiting(t)),
		BlockedBy: plain.Line(t.Cause, 0), Reason: plain.Line(t.Reason, 0), Attempts: t.Attempts(), Priority: t.Priority,
		DependsOn: append([]string{}, lines(t.DependsOn)...), Critical: t.Critical, Calls: spent.Calls, Tokens: spent.Tokens, Cost: spent.Cost, LostTokens: spent.LostTokens, Lost: spent.Lost, Money: r.moneyOfTask(t),
		Seconds: t.Took(now).Seconds(), Event: t.Seq}
	if tier := t.Tier(); tier > 0 {
		row.Tier = r.tier(tier)
	}
	if l := t.Loop(); l != nil {
		it := l.lastEnded()
		row.Unverified = t.Status == pawl.TaskPassed && it != nil && it.End.Outcome == pawl.OutcomeUnverified
		row.Loop, row.LoopID, row.Branch = l.Ref, plain.Line(l.ID, 0), plain.Line(l.Branch, 0)
	}
	return row
}

// moneyOfTask tells what all attempts at a task have spent, hold and have lost.
func (r *Run) moneyOfTask(t *Task) pawl.Money {
	m := t.Spent().money()
	m.Add(r.held(func(p pending) bool {
		for l := r.loop(p.Loop); l != nil; l = r.loop(l.Parent) {
			if slices.Contains(t.Loops, l) {
				return true
			}
		}
		return false
	}))
	return m
}

// state returns a task's status with what it waits for.
func (row TaskRow) state() string {
	switch {
	case row.Status == pawl.TaskPending.String() && len(row.WaitsFor) > 0:
		return "waiting for " + some(row.WaitsFor)
	case row.BlockedBy != "":
		return "blocked by " + row.BlockedBy
	case row.Unverified:
		return row.Status + ", unverified"
	}
	return row.Status
}

// some returns the first of many words, and how many there are besides.
func some(words []string) string {
	const most = 3
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}

// summary returns the plan's progress in one line.
func (p *Plan) summary() string {
	n := p.Progress()
	s := fmt.Sprintf("%d of %s passed (%d%%)", n.Completed, count(n.Total, "task"), n.Percent)
	for _, x := range []struct {
		n    int
		what string
	}{{n.Running, "running"}, {n.Stopped, stopped}, {n.Pending, "pending"}, {n.Failed, "failed"}, {n.Blocked, "blocked"}, {n.Skipped, "skipped"}, {n.Dropped, "dropped"}} {
		if x.n > 0 {
			s += fmt.Sprintf(", %d %s", x.n, x.what)
		}
	}
	if p.Version > 1 {
		s += fmt.Sprintf(" · plan %d", p.Version)
	}
	return s
}

// TasksText returns the list for people: a line for each task, no wider than width
// where that is not zero, then why some do not run.
func TasksText(r *Run, now time.Time, width int) string {
	list := Tasks(r, now)
	var t text
	t.line("%s  %s", string(r.ID), r.Start.Title)
	switch {
	case list.Version == 0:
		t.line("  no plan yet")
	case r.Tree():
		t.line("  %s", r.treeSummary())
		t.line("")
		r.tree(&t, TreeOptions{Width: width, Now: now})
	default:
		t.line("  %s", r.Plan().summary())
		t.line("")
		r.wholeTable(&t, &list, width)
	}
	for _, q := range r.OpenQuestions() {
		t.line("")
		t.line("Question %d (%s): %s", q.N, string(q.Kind), q.Text)
		t.line("  waits for you: %s", r.howToAnswer(&q.QuestionAsked))
	}
	list.blackboard(&t)
	return t.String()
}

// blackboard returns what the tasks have told each other, if they have.
func (l *TaskList) blackboard(t *text) {
	if len(l.Board) == 0 {
		return
	}
	t.line("")
	t.line("Blackboard")
	for _, n := range l.Board {
		t.line("  %s", n.text())
	}
}

func (n BoardRow) text() string { return n.Key + " = " + n.Value + by(n.Task) }

// by says who did something; nothing when nobody knows.
func by(who string) string {
	if who == "" {
		return ""
	}
	return " (" + who + ")"
}

// notes say below a table what its marks mean, and why tasks failed or are skipped.
func (l *TaskList) notes(t *text) {
	critical := false
	var why [][2]string
	for _, row := range l.Tasks {
		critical = critical || row.Critical
		if row.Reason != "" {
			why = append(why, [2]string{row.ID, row.Reason})
		}
	}
	if len(l.Path) > 1 || critical {
		t.line("")
	}
	if len(l.Path) > 1 {
		t.line("  * the longest chain of what is left: %s", strings.Join(l.Path, " → "))
	}
	if critical {
		t.line("  ! critical: if it fails, what depends on it is blocked")
	}
	if len(why) > 0 {
		t.line("")
	}
	for _, w := range why {
		t.line("  %s: %s", w[0], w[1])
	}
}

// wholeTable returns the table of all the list's tasks, with its notes.
func (r *Run) wholeTable(t *text, list *TaskList, width int) {
	for _, row := range r.taskTable(list, width, len(list.Tasks)) {
		t.WriteString(row + "\n")
	}
	list.notes(t)
}

// taskTable returns a header and a line for each of the list's tasks, at most so many:
// of a longer list those that are at work or wrong are shown first.
func (r *Run) taskTable(list *TaskList, width, most int) []string {
	rows := [][]string{{"", "TASK", "STATUS", "TRIES", "TIER", "COST", "HELD", "LOST", "TIME", "DEPENDS ON", "TITLE"}}
	shown, left := list.Tasks, 0
	if len(shown) > most {
		left = len(shown) - most
		shown = slices.Clone(shown)
		slices.SortStableFunc(shown, func(a, b TaskRow) int { return dull(a) - dull(b) })
		shown = shown[:most]
	}
	for _, t := range shown {
		mark := " "
		if t.OnPath && len(list.Path) > 1 {
			mark = "*"
		}
		if t.Critical {
			mark += "!"
		}
		took := "-"
		if t.Seconds > 0 {
			took = pawl.Span(time.Duration(t.Seconds * float64(time.Second)))
		}
		rows = append(rows, []string{mark, t.ID, t.state(), fmt.Sprint(t.Attempts), dashed(t.Tier), r.money(t.Money.Spent), r.someMoney(t.Money.Held), r.someMoney(t.Money.Lost), took,
			dashed(some(t.DependsOn)), t.Title})
	}
	if width > 0 { // no id or status takes the room of all others
		for _, row := range rows {
			for _, i := range []int{1, 2, dependsColumn} {
				row[i] = plain.Line(row[i], max(12, width/4))
			}
		}
	}
	if width > 0 && width < roomy { // what one waits for is in its status
		for i := range rows {
			rows[i] = slices.Delete(rows[i], dependsColumn, dependsColumn+1)
		}
	}
	withoutUnused(rows, 6, 7)
	out := Columns(rows, width)
	if left > 0 {
		out = append(out, fmt.Sprintf("  and %s: pawl tasks %s", count(left, "other"), plain.Line(string(r.ID), 0)))
	}
	return out
}

// roomy is from which width on a table says what every task depends on.
const (
	roomy         = 110
	dependsColumn = 9
)

// dull ranks tasks by how little there is to see of them.
func dull(t TaskRow) int {
	switch t.Status {
	case "running", stopped:
		return 0
	case "failed":
		return 1
	case "pending":
		return 2
	}
	return 3
}

func dashed(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Columns aligns rows of safe cells in columns. No line is wider than width,
// where that is not zero; the last column gives way first.
func Columns(rows [][]string, width int) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	var out []string
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2))
		}
		s := strings.TrimRight(b.String(), " ")
		if width > 0 {
			s = ansi.Truncate(s, width, "…")
		}
		out = append(out, s)
	}
	return out
}
