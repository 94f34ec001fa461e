package view

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// treeReport returns the report on a run whose root loop has a plan.
func (r *Run) treeReport(l *Loop, blobs Blobs) string {
	title, state := r.ending()
	list := Tasks(r, r.Updated)
	var t text
	t.title("%s - %s", r.Recipe.Heading(), title)
	t.line("Run: %s", r.ID)
	t.line("Status: %s", state)
	t.line("Tasks: %s", l.Plan().summary())
	if r.Outcome != pawl.OutcomeComplete && r.Reason != "" {
		t.line("Reason: %s", r.Reason)
	}
	t.line("")
	if r.Tree() {
		t.line("[Loops]")
		r.tree(&t, TreeOptions{All: true, Now: r.Updated})
	} else {
		t.line("[Tasks]")
		r.wholeTable(&t, &list, 0)
	}
	t.line("")
	if list.tellsPlans() {
		t.line("[Plans]")
		for _, p := range list.Versions {
			t.line("  %s", p.text())
			if p.LetPass != nil {
				for _, objection := range blobs.Gist(&pawl.QuestionAsked{About: p.LetPass.Review}).Issues {
					t.line("    %s", objection)
				}
			}
		}
		t.line("")
	}
	r.reportBatches(&t, l, blobs)
	r.reportOverruled(&t)
	r.reportEvidence(&t, blobs)
	if open := r.OpenQuestions(); len(open) > 0 {
		t.line("[Questions]")
		for _, q := range open {
			t.line("  %d: %s", q.N, r.asked(q, blobs))
			for _, means := range q.Meanings() {
				t.line("    %s", means)
			}
			t.line("    %s", r.howToAnswer(&q.QuestionAsked))
		}
		t.line("")
	}
	if gates := l.judged(); len(gates) > 0 {
		r.summary(&t, l)
		if r.Outcome != pawl.OutcomeComplete {
			red(&t, "[Red]", gates, blobs)
		}
	}
	if r.Outcome != pawl.OutcomeComplete {
		redTasks(&t, l.Plan(), blobs)
	}
	r.reportGoals(&t)
	r.footer(&t, blobs)
	return t.String()
}

func (p PlanRow) text() string {
	s := fmt.Sprintf("plan %d: %s", p.Version, count(p.Tasks, "task"))
	if p.Cause != "" {
		s += fmt.Sprintf(", because of %s%s", p.Cause, because(p.Reason))
	}
	s += changed(p.Changed)
	if p.LetPass != nil {
		s += "; " + p.LetPass.text()
	}
	return s
}

// tellsPlans reports whether there is more to say of the plans than that there is one.
func (l *TaskList) tellsPlans() bool {
	return len(l.Versions) > 1 || len(l.Versions) == 1 && l.Versions[0].LetPass != nil
}

// IsReview reports whether a verdict on a loop's work is a reviewer's: neither a
// command's, nor that of a check which the harness makes itself, nor none at all.
func (r *Run) IsReview(l *Loop, g *Gate) bool {
	if k := r.Recipe.Kind(l.Kind); k != nil {
		for _, s := range slices.Concat(k.Gates, k.FinalGates) {
			if s.Name == g.Gate && s.Builtin != "" {
				return false
			}
		}
	}
	return g.Kind == "" && g.Verdict != pawl.VerdictSkip && !g.isEvidence()
}

// isFinalReview reports whether a verdict is a reviewer's on what came of a plan, not on the plan itself.
func (r *Run) isFinalReview(l *Loop, g *Gate) bool {
	k := r.Recipe.Kind(l.Kind)
	return k != nil && r.IsReview(l, g) && slices.ContainsFunc(k.FinalGates, func(s pawl.Stage) bool { return s.Name == g.Gate })
}

// redTasks lists what does not pass in the tasks that failed.
func redTasks(t *text, p *Plan, blobs Blobs) {
	for _, x := range p.Tasks {
		if child := x.Loop(); x.Status == pawl.TaskFailed && child != nil {
			red(t, "[Red in "+plain.Line(x.ID, 0)+"]", child.judged(), blobs)
		}
	}
}

// showTree returns the list of tasks, the plans and what is shared, of a run that has
// a plan.
func (r *Run) showTree(t *text, l *Loop) {
	p := l.Plan()
	if p == nil {
		return
	}
	list := Tasks(r, r.Updated)
	t.line("")
	if r.Tree() {
		t.line("%s", capital(r.treeSummary()))
		r.tree(t, TreeOptions{Now: r.Updated})
	} else {
		t.line("Tasks: %s", p.summary())
		r.wholeTable(t, &list, 0)
	}
	for _, x := range p.Tasks {
		r.showTask(t, x)
	}
	if list.tellsPlans() {
		t.line("")
		t.line("Plans")
		for _, v := range list.Versions {
			t.line("  %s (event %d)", v.text(), v.Event)
		}
	}
	list.blackboard(t)
	if list.Memory > 0 {
		t.line("")
		t.line("Memory: %s", r.remembered())
	}
}

// showQuestions returns all questions of the run with what became of them.
func (r *Run) showQuestions(t *text, blobs Blobs) {
	for _, q := range r.Questions {
		t.line("")
		t.line("Question %d (%s): %s", q.N, string(q.Kind), r.asked(q, blobs))
		switch {
		case q.Answered != nil:
			t.line("  answered: %s", q.Answered.Choice+by(q.Answered.By)+because(q.Answered.Text))
		case q.Withdrawn != nil:
			t.line("  not asked any more%s", because(q.Withdrawn.Reason))
		default:
			for _, means := range q.Meanings() {
				t.line("  %s", means)
			}
			t.line("  waits for you: %s", r.howToAnswer(&q.QuestionAsked))
		}
	}
}

// showTask returns what came of a task, attempt by attempt.
func (r *Run) showTask(t *text, x *Task) {
	if x.Attempts() == 0 {
		return
	}
	t.line("")
	t.line("Task %s  %s", x.ID, x.Title)
	for _, l := range x.Loops {
		for _, it := range l.Iterations {
			state := "active"
			if it.End != nil {
				_, reason := decided(it)
				state = l.Decision(it.End) + because(reason)
			}
			t.line("  attempt %s: %s, %s", of(it.N, it.Max)+r.on(l, it), state, r.spendingOf(it))
			for _, g := range r.inOrder(it.Gates) {
				t.line("    %s: %s%s", g.Gate, verdictWord(&g.GateJudged), because(g.Told()))
			}
		}
		if l.Conflicts > 0 {
			t.line("  it conflicted with what was merged %s", count(l.Conflicts, "time"))
		}
		if l.End != nil && x.Status == pawl.TaskFailed && l.Branch != "" {
			t.line("  its work is on %s", l.Branch)
		}
		for _, e := range l.Escalations {
			t.line("  %s → %s (attempt %d): %s", r.Recipe.Tier(e.From), r.Recipe.Tier(e.To), e.Iteration, e.Reason)
		}
	}
}

// remembered counts the memory by its kinds.
func (r *Run) remembered() string {
	n := map[pawl.MemoryKind]int{}
	for _, m := range r.Memory {
		if !m.Forgotten {
			n[m.Kind]++
		}
	}
	var parts []string
	for _, k := range pawl.MemoryKinds {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
		}
	}
	return strings.Join(parts, ", ")
}
