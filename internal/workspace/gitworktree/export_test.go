package gitworktree

import (
	"context"
	"time"
)

// SetPatience sets how long lock files of living processes are waited for.
func (s *Workspaces) SetPatience(d time.Duration) { s.patience = d }

// State is the state folder.
func (s *Workspaces) State() string { return s.state }

// Fingerprints are those of what differs between two trees.
func (s *Workspaces) Fingerprints(ctx context.Context, from, to string) ([]uint64, error) {
	c, err := s.change(ctx, from, to)
	return c.hunks, err
}

// SetStoreLimits sets the limits of object stores: bytes, time, and the commits that
// are in one when it would exceed them.
func (s *Workspaces) SetStoreLimits(size int64, d time.Duration, depth int) {
	s.stores.size, s.stores.time, s.stores.depth = size, d, depth
}

// SetKeptStores sets how many stores are kept that nothing uses.
func (s *Workspaces) SetKeptStores(n int) { s.stores.keep = n }

// MaxPacks is how many packs a view may have.
const MaxPacks = maxPacks
