package gitworktree

import (
	"context"
	"time"
)

// SetPatience sets how long lock files of living processes are waited for.
func (s *Workspaces) SetPatience(d time.Duration) { s.patience = d }

// Fingerprints are those of what differs between two trees.
func (s *Workspaces) Fingerprints(ctx context.Context, from, to string) ([]uint64, error) {
	return s.fingerprints(ctx, from, to)
}
