package main

import (
	"context"
	"slices"

	"pawl"
)

// shown is a sandbox that shows every command some folders more: those that git
// in a worktree has to read.
type shown struct {
	pawl.Sandbox
	folders []string
}

// Run implements [pawl.Sandbox].
func (s shown) Run(ctx context.Context, c pawl.Command) (pawl.CommandResult, error) {
	c.Visible = slices.Concat(c.Visible, s.folders)
	return s.Sandbox.Run(ctx, c)
}
