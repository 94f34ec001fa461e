package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// question is an open question to a person. Its loop waits for the answer.
type question struct {
	n       int
	kind    pawl.QuestionKind
	choices []string
	about   pawl.Hash
	text    string
	means   []string // what each choice does; empty in logs of earlier versions

	announced *pawl.Announce // how it was announced; nil = it is not announced
	failed    *pawl.Failure  // why the last announcement failed; nil = it did not
	rested    bool           // the wait after that is over
	overdue   bool           // nobody answered in time
}

// Bounds of the answers that are kept for people who answer too late: how many there are, and the
// bytes of each text.
const (
	maxSaid     = 32
	maxSaidText = 120
)

// maxAnswer bounds the bytes of an answer's text. A longer text is refused and not cut, because the
// person would believe that all of it was read.
const maxAnswer = 1000

// reply is a person's answer.
type reply struct {
	kind         pawl.QuestionKind
	choice, text string
	by           string
}

// option is a choice of a question, and what it does: what follows, and what it undoes or gives up. Whoever
// reads only the question decides by it.
type option struct{ choice, means string }

// withWords says that the text of an answer is used for what follows and remembered: see [draft.decided].
const withWords = "with your words, which are kept for later runs"

// leftUndone is what follows for a task that a person does not let start, or skips.
const leftUndone = "it and the tasks that depend on it are left undone; the others continue, but the run will not end complete"

// ifFails says what follows if the attempt fails: next, unless it is the last one.
func (s *State) ifFails(l *Loop, next string) string {
	switch {
	case !s.isLastIteration(l):
		return next
	case l.Parent == 0:
		return "the run ends without passing: no attempt is left; its work stays on the branch"
	}
	return fmt.Sprintf("task %s fails: this was its last attempt", l.task.ID)
}

// ask asks a person a question. The loop waits for the answer. It is the only way in which the kernel asks;
// what led to the question, which is more than an event holds, readers take from the events before it.
func (d *draft) ask(l *Loop, kind pawl.QuestionKind, text string, about pawl.Hash, options ...option) {
	b := &pawl.QuestionAsked{N: d.s.questions + 1, Kind: kind, Text: brief.Cut(text, 400), About: about}
	for _, o := range options {
		b.Choices, b.Means = append(b.Choices, o.choice), append(b.Means, brief.Cut(o.means, 160))
	}
	d.emit(l.Ref, b)
	if d.s.Settings.Announce != nil {
		d.requestAnnounce(l, &pawl.Announce{Question: b.N, Kind: b.Kind, Text: b.Text, Choices: b.Choices, Means: b.Means, Try: 1})
	}
}

func (l *Loop) asked(s *State, b *pawl.QuestionAsked) error {
	if l.person.question != nil || b.N != s.questions+1 {
		return fmt.Errorf("question %d follows question %d, and one is open", b.N, s.questions)
	}
	s.questions = b.N
	s.openQuestions++
	l.person.question = &question{n: b.N, kind: b.Kind, choices: b.Choices, about: b.About, text: b.Text, means: b.Means}
	l.person.reply = nil
	return nil
}

// applyAnswered records a person's answer, and what follows from it at once.
func (l *Loop) applyAnswered(s *State, b *pawl.QuestionAnswered) error {
	q := l.person.question
	if q == nil || q.n != b.N || !slices.Contains(q.choices, b.Choice) {
		return fmt.Errorf("question %d is not open, or has no answer %q", b.N, b.Choice)
	}
	l.person.question = nil
	s.openQuestions--
	s.recentAnswers = append(slices.Clone(s.recentAnswers[max(0, len(s.recentAnswers)-maxSaid+1):]), pawl.QuestionAnswered{N: b.N, Choice: b.Choice, Text: brief.Cut(b.Text, maxSaidText), By: b.By})
	l.person.reply = &reply{kind: q.kind, choice: b.Choice, text: brief.Cut(b.Text, 300), by: b.By}
	switch q.kind {
	case pawl.AskPlan, pawl.AskStart, pawl.AskMerge:
		l.person.approved, l.person.wish = b.Choice == choiceApprove, nil
		if q.kind == pawl.AskPlan {
			l.gen.rejected = b.Choice == choiceReject
		}
		if b.Choice == choiceIterate || l.gen.rejected && !b.Said.IsZero() {
			l.person.wish = &wish{b.Said, b.By, l.Iteration}
		}
	case pawl.AskHealth:
		l.gen.Recover = nil
	case pawl.AskClarify:
		l.keepAnswer(b.Said)
		l.clarified(b.Choice)
	case pawl.AskReplan:
		if b.Choice == choiceOneMore {
			l.gen.plan.Granted++
		} else {
			l.gen.plan.Settle()
		}
	}
	return nil
}

func (l *Loop) withdrawn(s *State, b *pawl.QuestionWithdrawn) error {
	if l.person.question == nil || l.person.question.n != b.N {
		return fmt.Errorf("question %d is not open", b.N)
	}
	l.person.question = nil
	s.openQuestions--
	if s.Drain == pawl.DrainFinish { // its iteration cannot finish without the answer
		l.inIteration = false
	}
	return nil
}

// The choices of questions that ask for consent.
const (
	choiceApprove = "approve"
	choiceRevise  = "revise"
	choiceReject  = "reject"
	choiceIterate = "iterate"
)

// approvalMode returns the mode of approval for a loop's children, and the confidence threshold in
// percent. If the children stand on the loop's artifact, only the recipe says whether a person is
// asked.
func (s *State) approvalMode(l *Loop) (by string, threshold int) {
	if l.Kind.Children.RestartsParent() {
		if l.Kind.Approval != nil {
			return l.Kind.Approval.By, 0
		}
		return "auto", 0
	}
	by = "auto"
	if a := l.Kind.Approval; a != nil {
		by, threshold = a.By, a.Threshold
	}
	if s.Settings.Approval != "" {
		by = s.Settings.Approval
	}
	if s.Settings.ApprovalThreshold > 0 {
		threshold = s.Settings.ApprovalThreshold
	}
	if threshold == 0 {
		threshold = pawl.DefaultThreshold
	}
	return by, threshold
}

// mayStartTasks reports whether the tasks of the plan may start. If that takes a person's approval,
// it asks for it.
func (d *draft) mayStartTasks(l *Loop) bool {
	by, _ := d.s.approvalMode(l)
	if by != "human" || l.person.approved {
		return true
	}
	switch r := l.person.reply; {
	case (r == nil || r.kind != pawl.AskPlan) && l.Kind.Children.RestartsParent():
		ends := "the loop that made it ends failed"
		if l.Parent == 0 {
			ends = fmt.Sprintf("the run ends failed; when it is resumed, another %s is made", l.Kind.Name)
		}
		d.ask(l, pawl.AskPlan, fmt.Sprintf("May this %s be carried out? It creates %s.", l.Kind.Name, plural(len(l.gen.plan.Entries), l.Kind.Children.Kind)), l.gen.plan.List,
			option{choiceApprove, "it is carried out as it stands"},
			option{choiceIterate, fmt.Sprintf("it is not carried out, and another %s is made %s", l.Kind.Name, withWords)},
			option{choiceReject, "it is not carried out, and " + ends})
	case r == nil || r.kind != pawl.AskPlan:
		what := "May this task be worked on?"
		if n := len(l.gen.plan.Entries); n != 1 {
			what = fmt.Sprintf("May these %d tasks be worked on?", n)
		}
		d.ask(l, pawl.AskPlan, what, l.gen.plan.List,
			option{choiceApprove, "work begins on what is listed"},
			option{choiceRevise, "none is begun, and the list is made again " + withWords},
			option{choiceReject, "none is begun, and the run ends blocked; when it is resumed, another list is made"})
	case r.choice == choiceRevise:
		d.emit(l.Ref, &pawl.Rerouted{Gate: "approval", Verdict: pawl.VerdictRevise, Step: l.flow.Find(l.Kind.Children.From), N: 1})
	default:
		return true // rejected, or another iteration is wanted: see planRejection
	}
	return false
}

// planRejection returns why a person's answer about the plan fails the attempt that made it, or ""
// if it does not.
func (l *Loop) planRejection() string {
	r := l.lastAnswerTo(pawl.AskPlan)
	switch {
	case r == nil || r.choice != choiceReject && r.choice != choiceIterate:
		return ""
	case !l.Kind.Children.RestartsParent():
		return strings.TrimSuffix("rejected by a person: "+r.text, ": ")
	case r.choice == choiceIterate:
		return strings.TrimSuffix(cmp.Or(r.by, "a person")+" wants another iteration: "+r.text, ": ")
	}
	return "rejected by " + cmp.Or(r.by, "a person") + ": " + cmp.Or(r.text, "No reason provided")
}

// wantsAnother reports whether a person wants another iteration instead of this plan.
func (l *Loop) wantsAnother() bool {
	r := l.lastAnswerTo(pawl.AskPlan)
	return r != nil && r.choice == choiceIterate
}

// wish is a person's request for another iteration, or why they rejected a plan. Prompts contain it
// until a person has answered about a later plan.
type wish struct {
	said pawl.Hash // the person's words; zero = none were given
	by   string
	n    int // the iteration they had seen
}

// answerQuestion applies a person's answer to a question, or refuses it.
func (d *draft) answerQuestion(in *pawl.Reply) error {
	if in == nil {
		return pawl.Errorf(pawl.CodeInvalid, "no answer given")
	}
	for l := range d.s.each {
		q := l.person.question
		if q == nil || q.n != in.Question {
			continue
		}
		switch {
		case !slices.Contains(q.choices, in.Choice):
			return pawl.Errorf(pawl.CodeInvalid, "question %d has no answer %q: want one of %q", q.n, in.Choice, q.choices)
		case q.kind == pawl.AskClarify && in.Choice == choiceAnswer && strings.TrimSpace(in.Text) == "":
			return pawl.Errorf(pawl.CodeInvalid, "question %d wants an answer in words: give a text, or the choice %s", q.n, choiceSkip)
		case len(in.Text) > maxAnswer:
			return pawl.Errorf(pawl.CodeInvalid, "the answer has %d bytes of words: want at most %d", len(in.Text), maxAnswer)
		case !q.about.IsZero() && in.About != q.about:
			err := pawl.Errorf(pawl.CodeConflict, "question %d is about %s, and the answer about %s: look at it again", q.n, q.about.Short(), in.About.Short())
			if q.kind == pawl.AskPlan && l.Kind.Children.RestartsParent() {
				return err.WithHint("pawl plan show %s %s", d.s.Run, l.ID)
			}
			return err.WithHint("pawl answer %s %d", d.s.Run, q.n)
		}
		if err := d.continueFor(l); err != nil {
			return err
		}
		b := &pawl.QuestionAnswered{N: q.n, Choice: in.Choice, Text: in.Text, By: brief.Cut(in.By, 60)}
		if b.Text != "" {
			b.Said = pawl.HashOf([]byte(b.Text))
		}
		asked := *q
		d.emit(l.Ref, b)
		d.decided(d.s.Loop(l.Ref), &asked, in)
		return nil
	}
	for _, b := range d.s.recentAnswers {
		if b.N == in.Question {
			answer := b.Choice
			if b.Text != "" {
				answer += fmt.Sprintf(" (%q)", b.Text)
			}
			return pawl.Errorf(pawl.CodeConflict, "question %d of run %s was answered already: %s, by %s", b.N, d.s.Run, answer, cmp.Or(b.By, "someone"))
		}
	}
	if in.Question >= 1 && in.Question <= d.s.questions {
		return pawl.Errorf(pawl.CodeConflict, "question %d of run %s was withdrawn, or answered long ago", in.Question, d.s.Run)
	}
	return pawl.Errorf(pawl.CodeNotFound, "run %s has no question %d", d.s.Run, in.Question)
}
