package runner

import (
	"context"
	"strconv"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// announcement is what those are told who hear of questions. It is the same at
// every try.
type announcement struct {
	Event    string            `json:"event"`
	Delivery string            `json:"delivery"` // also in a header, but there it is not signed
	Run      pawl.RunID        `json:"run"`
	Project  string            `json:"project,omitempty"`
	Question int               `json:"question"`
	Kind     pawl.QuestionKind `json:"kind"`
	Text     string            `json:"text"`
	Choices  []string          `json:"choices"`
	At       time.Time         `json:"at,omitzero"` // when it was asked
}

// announce tells of an open question.
func (r *Runner) announce(ctx context.Context, job driver.Job, do *pawl.Announce) (pawl.Answer, error) {
	to := job.Settings.Announce
	if to == nil || r.Announce == nil {
		return nil, pawl.Errorf(pawl.CodeInvalid, "there is nobody to tell of a question")
	}
	at, err := askedAt(ctx, job, do.Question)
	if err != nil {
		return nil, err
	}
	a := &answer{redact: r.Redact}
	n := announcement{
		Event: "question_asked", Run: job.Run, Project: a.clean(r.Project), Question: do.Question, Kind: do.Kind,
		Text: a.clean(do.Text), Choices: []string{}, At: at, Delivery: string(job.Run) + "/question-" + strconv.Itoa(do.Question),
	}
	for _, c := range do.Choices {
		n.Choices = append(n.Choices, a.clean(c))
	}
	body, err := encode(n)
	if err != nil {
		return nil, err
	}
	env := []string{"PAWL_RUN=" + string(job.Run), "PAWL_QUESTION=" + strconv.Itoa(do.Question), "PAWL_KIND=" + string(do.Kind)}
	status, err := r.Announce(ctx, *to, n.Delivery, body, env)
	return &pawl.Notified{Effect: job.Effect.ID, Status: status}, err
}

// askedAt is when a question was asked; zero when no event says so.
func askedAt(ctx context.Context, job driver.Job, question int) (time.Time, error) {
	for e, err := range job.Events(ctx) {
		if err != nil {
			return time.Time{}, err
		}
		if b, ok := e.Body.(*pawl.QuestionAsked); ok && b.N == question {
			return e.Time.UTC(), nil
		}
	}
	return time.Time{}, nil
}
