package runner

import (
	"context"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// notification is what a callback is told. What it says is the same at every try.
type notification struct {
	Event    string          `json:"event"`
	Delivery string          `json:"delivery"` // also in a header, but there it is not signed
	Run      pawl.RunID      `json:"run"`
	Task     int             `json:"task"`
	Title    string          `json:"title"`
	Recipe   string          `json:"recipe"`
	Outcome  pawl.Outcome    `json:"outcome"`
	Reason   string          `json:"reason,omitempty"`
	Findings int             `json:"findings,omitempty"` // of the result that nobody accepted
	Branch   string          `json:"branch"`
	Head     pawl.CommitHash `json:"head,omitempty"`
	Cost     *pawl.Micros    `json:"cost,omitempty"` // left out where reports leave money out
	Tokens   int64           `json:"tokens"`
	Time     time.Time       `json:"time"`
}

// notify tells the run's callback how the run ends.
func (r *Runner) notify(ctx context.Context, job driver.Job, do *pawl.Notify) (pawl.Answer, error) {
	to := job.Settings.Callback
	if to == nil || r.Callback == nil {
		return nil, pawl.Errorf(pawl.CodeInvalid, "there is no callback to tell")
	}
	a := &answer{redact: r.Redact}
	n := notification{
		Event: ending(do.Outcome), Run: job.Run, Task: job.Started.Task, Title: a.clean(job.Started.Title), Recipe: job.Recipe.Name,
		Outcome: do.Outcome, Reason: a.clean(do.Reason), Findings: do.Findings, Branch: job.Started.Branch, Head: do.Head, Tokens: do.Tokens, Time: do.Time.UTC(),
	}
	if !job.Settings.NoCost {
		n.Cost = &do.Cost
	}
	said, err := encode(n)
	if err != nil {
		return nil, err
	}
	// A run that goes on ends a second time, and says something else then. The
	// effect's id would not do: every try is an effect of its own.
	n.Delivery = string(job.Run) + "/" + pawl.HashOf(said).Short()
	body, err := encode(n)
	if err != nil {
		return nil, err
	}
	status, err := r.Callback(ctx, *to, n.Delivery, body)
	return &pawl.Notified{Effect: job.Effect.ID, Status: status}, ofSetting(err)
}

// ending is the name of the event that a run ended so.
func ending(o pawl.Outcome) string {
	switch {
	case o.Succeeded():
		return "task_completed"
	case o == pawl.OutcomeCancelled:
		return "task_cancelled"
	}
	return "task_failed"
}
