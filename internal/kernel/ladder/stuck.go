package ladder

import (
	"fmt"
)

// stuck returns why the loop is stuck with the attempt that has just ended, or "". It is stuck if
// the last attempts, as many as the ladder's window, all failed and modified the same files, had
// the same failing tests or the same error. Empty sets are never the same. Attempts before the
// last escalation or council do not count.
func (lad *State) stuck(c *Case) string {
	window, b := c.Ladder.Stuck, c.Ended
	if window <= 0 || !c.DetectsStuck {
		return ""
	}
	tests, errors, files := b.Tests != 0, b.Error != 0, b.Files != 0
	seen := 1
	for i := len(lad.History) - 1; i >= 0 && seen < window; i-- {
		a := &lad.History[i]
		if a.N <= lad.StuckFrom || !a.Failed {
			return ""
		}
		tests = tests && a.Tests == b.Tests
		errors = errors && a.Error == b.Error
		files = files && a.Files == b.Files
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
