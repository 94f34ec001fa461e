package runner

import (
	"context"
	"strconv"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel/brief"
	"pawl/internal/tried"
)

// announcement is what those are told who hear of questions. It is the same at
// every try.
type announcement struct {
	Event    string            `json:"event"`
	Delivery string            `json:"delivery"` // also in a header, but there it is not signed
	Run      pawl.RunID        `json:"run"`
	Project  string            `json:"project,omitempty"`
	Goal     string            `json:"goal,omitempty"` // the run's title
	Task     string            `json:"task,omitempty"` // that asks; empty = the run itself does
	Question int               `json:"question"`
	Kind     pawl.QuestionKind `json:"kind"`
	Text     string            `json:"text"`
	Asks     []string          `json:"asks,omitempty"`    // the questions of an agent, at most 10
	Context  []string          `json:"context,omitempty"` // what led to it: what was tried and what was said of that
	Choices  []string          `json:"choices"`
	Means    []string          `json:"means,omitempty"` // what each choice does, in their order
	About    pawl.Hash         `json:"about,omitzero"`  // what an answer must name
	Answer   string            `json:"answer"`          // the command that answers it
	At       time.Time         `json:"at,omitzero"`     // when it was asked
}

// Bounds of what is told of the questions of an agent.
const (
	maxAsks = 10
	maxAsk  = 400 // bytes of one
)

// announce tells of an open question.
func (r *Runner) announce(ctx context.Context, job driver.Job, do *pawl.Announce) (pawl.Answer, error) {
	to := job.Settings.Announce
	if to == nil || r.Announce == nil {
		return nil, pawl.Errorf(pawl.CodeInvalid, "there is nobody to tell of a question")
	}
	a := &answer{redact: r.Redact}
	n := announcement{
		Event: "question_asked", Run: job.Run, Project: a.clean(r.Project), Question: do.Question, Kind: do.Kind,
		Goal: a.clean(job.Started.Title), Task: a.clean(job.Effect.Place.Task),
		Text: a.clean(do.Text), Choices: []string{}, Delivery: string(job.Run) + "/question-" + strconv.Itoa(do.Question),
		Answer: "pawl answer " + string(job.Run) + " " + strconv.Itoa(do.Question),
	}
	if err := n.asked(ctx, job, a); err != nil {
		return nil, err
	}
	for _, c := range do.Choices {
		n.Choices = append(n.Choices, a.clean(c))
	}
	for _, m := range do.Means {
		n.Means = append(n.Means, a.clean(m))
	}
	body, err := encode(n)
	if err != nil {
		return nil, err
	}
	env := []string{"PAWL_RUN=" + string(job.Run), "PAWL_QUESTION=" + strconv.Itoa(do.Question), "PAWL_KIND=" + string(do.Kind)}
	status, err := r.Announce(ctx, *to, n.Delivery, body, env)
	return &pawl.Notified{Effect: job.Effect.ID, Status: status}, ofSetting(err)
}

// asked adds what the run's events say of the question: when it was asked, and about what.
func (n *announcement) asked(ctx context.Context, job driver.Job, a *answer) error {
	var story tried.Story
	for e, err := range job.Events(ctx) {
		if err != nil {
			return err
		}
		story.Take(e)
		if b, ok := e.Body.(*pawl.QuestionAsked); ok && b.N == n.Question {
			n.At, n.About = e.Time.UTC(), b.About
		}
	}
	for _, line := range story.Led(n.Question, blobsOf(ctx, job)) {
		n.Context = append(n.Context, a.clean(line))
	}
	if n.Kind != pawl.AskClarify || n.About.IsZero() {
		return nil
	}
	var result struct {
		Questions []string `json:"questions"`
	}
	if decode(ctx, job, "what the question is about", n.About, &result) == nil { // that there is a question is worth telling all the same
		for _, q := range result.Questions[:min(len(result.Questions), maxAsks)] {
			n.Asks = append(n.Asks, brief.Cut(a.clean(q), maxAsk))
		}
	}
	return nil
}
