package engine

import (
	"context"

	"pawl"
)

// Fork implements [pawl.Service].
func (e *Engine) Fork(context.Context, pawl.RunID, pawl.Seq) (pawl.RunInfo, error) {
	return pawl.RunInfo{}, pawl.Errorf(pawl.CodeState, "runs cannot be forked yet")
}
