package worktree

import (
	"fmt"
	"testing"

	"pawl"
)

// A loop remembers how its last commits were prepared, not those of a run without end.
func TestPreparationsAreBounded(t *testing.T) {
	var p Preparations
	for i := range 2 * maxPreparations {
		p.Requested(pawl.CommitHash(fmt.Sprint(i)))
	}
	if n := len(p); n != maxPreparations || p.Of("0") != nil || p.Of(pawl.CommitHash(fmt.Sprint(2*maxPreparations-1))) == nil {
		t.Errorf("%d are known: %+v", n, p)
	}
}
