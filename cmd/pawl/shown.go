package main

import (
	"context"
	"slices"

	"pawl"
)

// shown is a sandbox that shows every command some folders more: those that git
// in a worktree has to read. Each run's commands have that run's environment.
type shown struct {
	pawl.Sandbox // says what confines commands
	boxes        *boxes
	folders      []string
}

// Run implements [pawl.Sandbox].
func (s shown) Run(ctx context.Context, c pawl.Command) (pawl.CommandResult, error) {
	box, err := s.boxes.of(ctx)
	if err != nil {
		return pawl.CommandResult{}, err
	}
	c.Visible = slices.Concat(c.Visible, s.folders)
	return box.Run(ctx, c)
}
