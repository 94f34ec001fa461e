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
	same := map[string]bool{"tests": b.Tests != 0, "error": b.Error != 0, "files": b.Files != 0}
	seen := 1
	for i := len(l.history) - 1; i >= 0 && seen < window; i-- {
		a := &l.history[i]
		if a.n <= l.stuckFrom || !a.failed {
			return ""
		}
		same["tests"] = same["tests"] && a.tests == b.Tests
		same["error"] = same["error"] && a.error == b.Error
		same["files"] = same["files"] && a.files == b.Files
		seen++
	}
	if seen < window {
		return ""
	}
	switch {
	case same["tests"]:
		return fmt.Sprintf("stuck: the same tests fail in %d attempts", window)
	case same["error"]:
		return fmt.Sprintf("stuck: the same error in %d attempts", window)
	case same["files"]:
		return fmt.Sprintf("stuck: the same files modified in %d failed attempts", window)
	}
	return ""
}
