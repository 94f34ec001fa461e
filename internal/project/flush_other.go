//go:build !linux

package gitworktree

import "errors"

// syncAll is for joined worktrees, of which there are none here.
func syncAll(string) error { return errors.ErrUnsupported }
