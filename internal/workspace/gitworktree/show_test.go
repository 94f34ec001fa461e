package gitworktree_test

import (
	"context"

	"pgregory.net/rapid"

	"pawl"
)

// mustShow shows a commit in the named worktree.
func mustShow(tb rapid.TB, w pawl.Workspaces, name string, commit pawl.CommitHash, salvage string) pawl.WorkspaceState {
	tb.Helper()
	state, err := w.Show(context.Background(), name, commit, salvage)
	if err != nil {
		tb.Fatalf("show %s: %v", commit, err)
	}
	return state
}
