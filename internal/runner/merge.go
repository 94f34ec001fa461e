package runner

import (
	"context"

	"pawl"
	"pawl/internal/driver"
)

func (r *Runner) merge(ctx context.Context, job driver.Job, do *pawl.Merge, a *answer) (pawl.Answer, error) {
	return nil, pawl.Errorf(pawl.CodeInvalid, "not there yet")
}

func (r *Runner) probeConflicts(ctx context.Context, job driver.Job, do *pawl.ProbeConflicts, a *answer) (pawl.Answer, error) {
	return nil, pawl.Errorf(pawl.CodeInvalid, "not there yet")
}
