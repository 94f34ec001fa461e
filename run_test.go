package pawl

import (
	"fmt"
	"testing"
)

func TestTaskOfARun(t *testing.T) {
	for run, want := range map[RunID]string{
		"001-a": "001-a 1", "001-a-r2": "001-a 2", "001-a-r10": "001-a 10", "001-a-r1": "001-a-r1 1", "001-a-r02": "001-a-r02 1",
		"001-a-r": "001-a-r 1", "001-a-rx": "001-a-rx 1", "001-a-r+2": "001-a-r+2 1", "001-r2": "001-r2 1", "001-a-r2-r3": "001-a-r2 3", "": " 1",
	} {
		id, n := run.Task()
		if fmt.Sprint(id, " ", n) != want {
			t.Errorf("%q is run %d of task %q, want %s", run, n, id, want)
		}
		if again := RunOf(id, n); again != run {
			t.Errorf("run %d of task %q is %q, want %q", n, id, again, run)
		}
	}
}

func TestValidRunID(t *testing.T) {
	for id, want := range map[RunID]bool{
		"001-a": true, "007-add-login-r2": true, "123456789-2": true,
		"": false, "7-a": false, "001": false, "001-": false, "001-A": false, "001-a--b": false, "001-a/b": false, "../001-a": false, "001-a\n": false,
	} {
		if got := id.Valid(); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}
