package view

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// The lines of loops with children.

func (t teller) loopStarted(b *pawl.LoopStarted) string {
	if b.Task == "" {
		return fmt.Sprintf("loop %s (%s) started", b.ID, b.Kind)
	}
	s := capital(b.Kind) + " started"
	if b.Pending {
		s = capital(b.Kind) + " waits for its turn"
	}
	if x := t.r.task(t.l); x != nil {
		s += fmt.Sprintf(", %d of %d", x.N, len(t.r.loop(t.l.Parent).Plan().Tasks))
		if n := len(x.Loops); n > 1 {
			s += fmt.Sprintf(", again (loop %d of it)", n)
		}
		s += because(x.Title)
	}
	return s
}

func (t teller) loopEnded(b *pawl.LoopEnded) string {
	x := t.r.task(t.l)
	if x == nil {
		return fmt.Sprintf("loop ended %s%s", b.Outcome, because(b.Reason))
	}
	plan := t.r.loop(t.l.Parent).Plan()
	done := fmt.Sprintf("%d of %d passed", plan.Count(pawl.TaskPassed), len(plan.Tasks))
	switch {
	case b.Outcome == pawl.OutcomeInvalid:
		return fmt.Sprintf("%s ended: it does not count any more%s", capital(t.l.Kind), because(b.Reason))
	case x.Status == pawl.TaskPending:
		return fmt.Sprintf("%s left off%s", capital(t.l.Kind), because(b.Reason))
	case b.Stopped:
		return fmt.Sprintf("%s stopped with the run%s", capital(t.l.Kind), because(b.Reason))
	case x.Status == pawl.TaskPassed:
		return fmt.Sprintf("%s PASSED · %s · %s", capital(t.l.Kind), t.r.spending(t.l.Spent), done)
	}
	return fmt.Sprintf("%s FAILED (%s)%s · %s · %s", capital(t.l.Kind), b.Outcome, because(b.Reason), t.r.spending(t.l.Spent), done)
}

// tree tells what becomes of a plan.
func (t teller) tree() string {
	plan := t.l.Plan()
	switch b := t.e.Body.(type) {
	case *pawl.TasksListed:
		return count(len(b.Entries), "task") + " listed"
	case *pawl.PlanAccepted:
		if t.r.cascades(t.l) {
			return fmt.Sprintf("%s accepted: it makes %d of kind %s", capital(t.l.Kind), b.Count, t.r.Recipe.Kind(t.l.Kind).Children.Kind)
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
		return fmt.Sprintf("The plan is made anew (%s)%s · tasks that run come to their end first", b.Cause, because(b.Reason))
	case *pawl.TasksBlocked:
		if len(b.Tasks) == 0 {
			return "what depends on " + b.Cause + " is settled"
		}
		return fmt.Sprintf("Blocked by %s, which cannot pass: %s", b.Cause, plan.ids(b.Tasks))
	case *pawl.TasksSkipped:
		return fmt.Sprintf("Skipped: %s%s", plan.ids(b.Tasks), because(b.Reason))
	case *pawl.Rerouted:
		if b.Max == 0 { // no gate did it: a person says that what blocked it has changed
			return fmt.Sprintf("%s: it is tried again from step %s", b.Gate, t.step(b.Step))
		}
		return fmt.Sprintf("Gate %s says %s: back to step %s (%d of %d)", b.Gate, strings.ToUpper(string(b.Verdict)), t.step(b.Step), b.N, b.Max)
	case *pawl.RoundsEnded:
		return fmt.Sprintf("%s was repeated %s without the decision that ends it; then: %s", b.Group, count(b.Max, "time"), b.Then)
	case *pawl.MergeQueued:
		return fmt.Sprintf("waits for its turn to be merged: commit %s, %d%% sure", short(b.Commit), b.Confidence)
	}
	return t.e.Body.EventKind().String()
}

func changed(what string) string {
	if what == "" {
		return ""
	}
	return " · " + what
}

// step names a step by its position, counting those of groups.
func (t teller) step(i int) string {
	if t.l != nil {
		if k := t.r.Recipe.Kind(t.l.Kind); k != nil {
			if names := stepNames(k.Steps); i >= 0 && i < len(names) {
				return names[i]
			}
		}
	}
	return fmt.Sprint(i + 1)
}

// stepNames are the steps in one list, those of groups among the others.
func stepNames(steps []pawl.Step) []string {
	var out []string
	for _, s := range steps {
		if s.Repeat != nil {
			out = append(out, stepNames(s.Repeat.Steps)...)
			continue
		}
		out = append(out, s.Name)
	}
	return out
}

// merging tells what lists, merges and callbacks came to.
func (t teller) merging() string {
	switch b := t.e.Body.(type) {
	case *pawl.TasksRead:
		if b.Problem != "" {
			return "the list of tasks cannot be read: " + b.Problem
		}
		return "list read: " + count(b.Count, "task")
	case *pawl.Merged:
		switch {
		case b.Conflicts > 0 && !t.l.trying():
			return fmt.Sprintf("the next attempt begins with what conflicts, in %s%s", count(b.Conflicts, "path"), t.paths(b.Paths))
		case b.Conflicts > 0 && t.l.underWay() != nil:
			return fmt.Sprintf("CONFLICT in the batch, in %s%s · one task of it goes again", count(b.Conflicts, "path"), t.paths(b.Paths))
		case b.Conflicts > 0:
			return fmt.Sprintf("CONFLICT with what was merged in the meantime, in %s%s · the next attempt is told what conflicts",
				count(b.Conflicts, "path"), t.paths(b.Paths))
		case b.Unresolved > 0:
			return fmt.Sprintf("conflict markers are left in %s", count(b.Unresolved, "file"))
		}
		return "merges cleanly: " + short(b.Commit)
	case *pawl.BranchAdvanced:
		return "merged: the branch is at " + short(b.Commit)
	case *pawl.ConflictsProbed:
		if len(b.With) == 0 {
			return "no conflict with the siblings' work so far"
		}
		var with []string
		for _, ref := range b.With {
			if l := t.r.loop(ref); l != nil {
				with = append(with, l.Task)
			}
		}
		return "its work conflicts with that of " + strings.Join(with, ", ") + ", which is not merged yet; both are told"
	case *pawl.Notified:
		if do, ok := doOf[*pawl.Announce](t.r.closed); ok && t.r.closed.ID == b.Effect {
			if b.Status == 0 {
				return fmt.Sprintf("question %d was announced", do.Question)
			}
			return fmt.Sprintf("question %d was announced, the address answered %d", do.Question, b.Status)
		}
		return fmt.Sprintf("the callback answered %d", b.Status)
	}
	return t.e.Body.EventKind().String()
}

// paths lists the first of a blob's lines: ": a.go, b.go".
func (t teller) paths(h pawl.Hash) string {
	const most = 3
	var all []string
	for path := range strings.Lines(string(t.blobs.bytes(h))) {
		all = append(all, plain.Line(path, 0))
	}
	if len(all) == 0 {
		return ""
	}
	s := ": " + strings.Join(all[:min(len(all), most)], ", ")
	if len(all) > most {
		s += ", …"
	}
	return s
}

// shared tells what is asked, remembered and shared.
func (t teller) shared() string {
	switch b := t.e.Body.(type) {
	case *pawl.QuestionAsked:
		return fmt.Sprintf("Question %d (%s): %s · waits for you: %s", b.N, b.Kind, t.blobs.asked(b), t.r.howToAnswer(b))
	case *pawl.QuestionAnswered:
		s := fmt.Sprintf("Question %d answered: %s", b.N, b.Choice)
		if b.By != "" {
			s += " by " + b.By
		}
		return s + because(b.Text)
	case *pawl.QuestionWithdrawn:
		return fmt.Sprintf("Question %d is not asked any more%s", b.N, because(b.Reason))
	case *pawl.NotePosted:
		return fmt.Sprintf("posted for the others: %s = %s", b.Key, b.Value)
	case *pawl.MemoryAdded:
		s := fmt.Sprintf("remembered (%s", b.Kind)
		if b.Learning > 0 {
			s += fmt.Sprintf(" %03d", b.Learning)
		}
		s += ")"
		text := t.blobs.text(b.Text)
		if b.Learning > 0 {
			text = recordTitle(text)
		}
		if text = plain.Line(text, 120); text != "" {
			s += ": " + text
		}
		return s
	case *pawl.MemoryForgotten:
		return fmt.Sprintf("entry %d of the memory is not shown any more%s", b.N, because(b.Reason))
	}
	return t.e.Body.EventKind().String()
}

// OfTree reports a question about the plan of a tree of loops: pawl plan decides it.
func (q *Question) OfTree() bool { return q != nil && ofTree(&q.QuestionAsked) }

func ofTree(q *pawl.QuestionAsked) bool {
	return q.Kind == pawl.AskPlan && slices.Contains(q.Choices, choiceIterate)
}

// HowToAnswer is the command that answers a question, with the other choices.
func (r *Run) HowToAnswer(q *Question) string {
	return plain.Line(r.howToAnswer(&q.QuestionAsked), 0)
}

// howToAnswer is the command that answers a question, with its first choice and
// the others behind it.
func (r *Run) howToAnswer(q *pawl.QuestionAsked) string {
	if ofTree(q) {
		return fmt.Sprintf("pawl plan show %s, then approve, iterate or reject", r.ID)
	}
	s := fmt.Sprintf("pawl answer %s %d", r.ID, q.N)
	if len(q.Choices) == 0 {
		return s
	}
	s += " " + q.Choices[0]
	if q.Kind == pawl.AskClarify {
		s += ` --text "…"` // what only a person knows
	}
	if more := q.Choices[1:]; len(more) > 0 {
		s += " (or " + strings.Join(more, ", ") + ")"
	}
	return s
}
