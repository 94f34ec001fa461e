package kernel

import (
	"fmt"
	"slices"
	"strconv"

	"pawl"
	"pawl/internal/kernel/session"
)

// unclear is a step whose session submitted questions that only a person can answer.
type unclear struct {
	step  int
	about pawl.Hash // the result that contains them
	count int
}

// maxRounds bounds the rounds of questions that a step may have in an iteration or
// around a batch. After that its result is accepted as it is.
const maxRounds = 3

// maxKeptAnswers bounds how many answers of persons later prompts contain: the last ones.
const maxKeptAnswers = 8

// The choices in answer to a step's questions.
const (
	choiceAnswer = "answer"
	choiceSkip   = "skip"
)

// questionsOf returns how many questions a step's session submitted; 0 = none, or the
// recipe does not allow them.
func questionsOf(st *pawl.Step, r pawl.SessionResult, f pawl.Facts) int {
	if !st.Questions || r != pawl.SessionDone {
		return 0
	}
	n, err := strconv.Atoi(f.Get("questions"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// questionRounds returns how many rounds of questions a step has had.
func (l *Loop) questionRounds(step int) int {
	for _, r := range l.iter.questionRoundsByStep {
		if r.step == step {
			return r.n
		}
	}
	return 0
}

// recordQuestions records the questions in a step's result, and reports whether there are any
// to ask. If so, the step is not over.
func (l *Loop) recordQuestions(x *session.Session, b *pawl.SessionEnded) bool {
	n := questionsOf(l.flow.Steps[x.Index], b.Result, b.Facts)
	if n == 0 || l.questionRounds(x.Index) >= maxRounds {
		return false
	}
	l.iter.unclear = &unclear{x.Index, b.Output, n}
	return true
}

// clarify asks a person the questions of a step.
func (d *draft) clarify(l *Loop) {
	u := l.iter.unclear
	step := "Step " + l.flow.Steps[u.step].Name
	if l.task.ID != "" {
		step += " of task " + l.task.ID
	}
	d.ask(l, pawl.AskClarify, fmt.Sprintf("%s asks %s (round %d of %d).", step, plural(u.count, "question"), l.questionRounds(u.step)+1, maxRounds),
		u.about, option{choiceAnswer, "the step runs again " + withWords},
		option{choiceSkip, "the step's result is used as it is; its questions stay unanswered"})
}

// clarified applies a person's choice in answer to a step's questions: the step runs
// again, or its result is accepted as it is.
func (l *Loop) clarified(choice string) {
	u := l.iter.unclear
	l.iter.unclear, l.person.reply = nil, nil
	if u == nil {
		return
	}
	if choice != choiceAnswer {
		l.stepOver(u.step, pawl.SessionDone, "")
		return
	}
	n := l.questionRounds(u.step) + 1
	l.iter.questionRoundsByStep = slices.DeleteFunc(slices.Clone(l.iter.questionRoundsByStep), func(r route) bool { return r.step == u.step })
	l.iter.questionRoundsByStep = append(l.iter.questionRoundsByStep, route{step: u.step, n: n})
	if u.step < l.flow.Main {
		l.iter.Try = 1
	}
}

// keepAnswer keeps a person's answer for later prompts.
func (l *Loop) keepAnswer(said pawl.Hash) {
	if !said.IsZero() {
		l.person.answers = append(slices.Clone(l.person.answers[max(0, len(l.person.answers)-maxKeptAnswers+1):]), said)
	}
}

// tooManyRounds reports the limit on rounds if a step has questions and no rounds left.
func (d *draft) tooManyRounds(l *Loop, x *session.Session, r pawl.SessionResult, f pawl.Facts) {
	if st := l.stepOf(x); x.Purpose == pawl.ForStep && questionsOf(st, r, f) > 0 && l.questionRounds(x.Index) >= maxRounds {
		d.emit(l.Ref, &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitQuestions, Max: maxRounds, Value: maxRounds + 1})
	}
}
