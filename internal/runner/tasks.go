package runner

import (
	"context"

	"pawl"
	"pawl/internal/driver"
)

func (r *Runner) readTasks(ctx context.Context, job driver.Job, do *pawl.ReadTasks, a *answer) (pawl.Answer, error) {
	return nil, pawl.Errorf(pawl.CodeInvalid, "not there yet")
}
