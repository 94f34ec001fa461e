package gitworktree

import "time"

// SetPatience sets how long lock files of living processes are waited for.
func (s *Workspaces) SetPatience(d time.Duration) { s.patience = d }
