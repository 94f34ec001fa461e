package kernel

import (
	"testing"

	"pawl"
)

// What is for tasks that lay the ground is left out of others, and the other way round.
func TestWhenScaffold(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		when     *bool
		scaffold bool
		skips    bool
	}{{nil, true, false}, {nil, false, false}, {&yes, true, false}, {&yes, false, true}, {&no, true, true}, {&no, false, false}} {
		l := newLoop(1, nil)
		l.task.Scaffold = tc.scaffold
		if got := l.skips(&pawl.When{Scaffold: tc.when}); got != tc.skips {
			t.Errorf("%v of a task with scaffold %v is skipped: %v", mustJSON(t, tc.when), tc.scaffold, got)
		}
	}
}
