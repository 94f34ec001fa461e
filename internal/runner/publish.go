package runner

import (
	"context"
	"strings"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel/brief"
)

// Bounds of a commit's message. Git and its hosts cut subjects that are longer.
const (
	maxSubject = 72   // bytes
	maxBody    = 8000 // bytes of what was asked for
)

// publish puts work that has landed on the run's branch, as one commit that says what was asked
// for.
func (r *Runner) publish(ctx context.Context, job driver.Job, do *pawl.Publish, a *answer) (pawl.Answer, error) {
	message, err := landedMessage(ctx, job, do)
	if err != nil {
		return nil, err
	}
	trailers := []string{"Pawl-Run: " + string(job.Run)}
	if do.TaskID != "" {
		trailers = append(trailers, "Pawl-Task: "+do.TaskID)
	}
	commit, err := r.Spaces.Publish(ctx, pawl.PublishSpec{
		Branch: do.Branch, From: do.From, Of: do.Of, Author: do.Author, Message: a.clean(message), Trailers: trailers, ID: commitID(job), Time: do.Time,
	})
	if err != nil {
		return nil, err
	}
	return &pawl.Published{Effect: job.Effect.ID, Commit: commit}, nil
}

// landedMessage returns the message of the commit: the task's title, its description, and what is
// required of it.
func landedMessage(ctx context.Context, job driver.Job, do *pawl.Publish) (string, error) {
	about, required, err := askedFor(ctx, job, do)
	if err != nil {
		return "", err
	}
	parts := []string{brief.Cut(oneLine(do.Title), maxSubject)}
	about = strings.TrimSpace(about)
	if first, rest, _ := strings.Cut(about, "\n"); first == do.Title {
		about = strings.TrimSpace(rest)
	}
	if about != "" {
		parts = append(parts, brief.Cut(about, maxBody))
	}
	if len(required) > 0 {
		list := "Requirements:"
		for _, text := range required {
			list += "\n- " + oneLine(text)
		}
		parts = append(parts, brief.Cut(list, maxBody))
	}
	return strings.Join(parts, "\n\n"), nil
}

// askedFor returns the description of what a commit is for, and what is required of it in so many
// words.
func askedFor(ctx context.Context, job driver.Job, do *pawl.Publish) (about string, required []string, err error) {
	if !do.Task.IsZero() {
		var task pawl.TaskSpec
		err := decode(ctx, job, "the task", do.Task, &task)
		return task.Description, task.Criteria, err
	}
	if do.Title != job.Started.Title { // such as a return to a checkpoint
		return "", nil, nil
	}
	goal, err := read(ctx, job, "the goal", job.Started.Goal)
	if err != nil {
		return "", nil, err
	}
	var criteria []pawl.Criterion
	if err := decode(ctx, job, "the criteria", job.Started.Criteria, &criteria); err != nil {
		return "", nil, err
	}
	for _, c := range criteria {
		if !strings.HasSuffix(c.Text, strings.TrimSpace(string(goal))) { // which says no more
			required = append(required, c.Text)
		}
	}
	return string(goal), required, nil
}
