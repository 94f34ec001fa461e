package runner

import (
	"context"

	"pawl"
	"pawl/internal/driver"
)

func (r *Runner) notify(ctx context.Context, job driver.Job, do *pawl.Notify) (pawl.Answer, error) {
	return nil, pawl.Errorf(pawl.CodeInvalid, "not there yet")
}
