package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pawl"
)

// A commit that an event names was made by the run, or there is a reason why it does not say
// so: else a deletion would take what the run made for somebody else's work.
func TestMadeCommits(t *testing.T) {
	elsewhere := map[string]string{
		"Forked":            "the other run made it, and the fork's events say so",
		"LoopStarted":       "where a loop starts: another event has it",
		"LoopAdmitted":      "the same",
		"GenerationStarted": "the same",
		"IterationStarted":  "the same",
		"WorkspaceOpened":   "where the branch is: anybody may have moved it",
		"WorkspaceReset":    "the same",
		"RunEnded":          "the same",
		"IterationEnded":    "the commit of the attempt, which Committed has",
		"MergeQueued":       "the same, of the child",
		"BranchAdvanced":    "a merge, which Merged has",
		"GateOverruled":     "the commit of the halted attempt, which Committed has",
		"GoalsWeighed":      "the candidate, which Committed has",
	}
	commits := 0
	for k := pawl.Kind(1); k < 250; k++ {
		var e pawl.Event
		if err := json.Unmarshal(fmt.Appendf(nil, `{"kind":%q,"body":{}}`, k), &e); err != nil {
			continue // there is no such kind
		}
		v, has := reflect.ValueOf(e.Body).Elem(), false
		for i := range v.NumField() {
			if f := v.Field(i); f.Type() == reflect.TypeFor[pawl.CommitHash]() {
				f.SetString("c")
				has = true
			}
		}
		if !has {
			continue
		}
		commits++
		if made, listed := madeCommit(e.Body) != "", elsewhere[v.Type().Name()] != ""; made == listed {
			t.Errorf("%s has a commit: say in madeCommit that the run made it, or here why not", v.Type().Name())
		}
	}
	if commits < 15 {
		t.Errorf("only %d kinds of events have a commit", commits)
	}
}
