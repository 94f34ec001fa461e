package kernel

import (
	"fmt"

	"pawl"
)

// stuck says why the loop is stuck with the attempt that has just ended, or
// nothing. It is stuck when the last attempts, as many as the ladder's window,
// all failed and modified the same files, or had the same failing tests, or the
// same error; empty sets are never the same. Attempts before the last
// escalation or council that stuck detection itself caused do not count.
func (s *State) stuck(l *Loop, b *pawl.IterationEnded) string {
	window := l.Kind.Ladder.Stuck
	if window <= 0 || s.Settings.NoStuckDetection {
		return ""
	}
	tests, errors, files := b.Tests != 0, b.Error != 0, b.Files != 0
	seen := 1
	for i := len(l.ladder.history) - 1; i >= 0 && seen < window; i-- {
		a := &l.ladder.history[i]
		if a.n <= l.ladder.stuckFrom || !a.failed {
			return ""
		}
		tests = tests && a.tests == b.Tests
		errors = errors && a.error == b.Error
		files = files && a.files == b.Files
		seen++
	}
	switch {
	case seen < window:
		return ""
	case tests:
		return fmt.Sprintf("stuck: the same tests fail in %d attempts", window)
	case errors:
		return fmt.Sprintf("stuck: the same error in %d attempts", window)
	case files:
		return fmt.Sprintf("stuck: the same files modified in %d failed attempts", window)
	}
	return ""
}
