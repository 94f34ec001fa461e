package gitworktree_test

import (
	"time"

	"pawl"
)

// restoring is the way of the run's branch back to an earlier tree.
func restoring(from, to pawl.CommitHash) pawl.RestoreSpec {
	return pawl.RestoreSpec{Branch: runBranch, From: from, To: to, Message: "Roll back", ID: "21", Time: time.Unix(1_780_000_200, 0)}
}
