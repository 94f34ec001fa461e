package pawl_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// What recipes in the logs of earlier versions say of children is read as what it means today.
func TestOldChildren(t *testing.T) {
	judge := &pawl.Review{Role: "judge", Prompt: "review.md", Tier: 3, Output: "batch"}
	for name, row := range map[string]struct {
		in   string
		want pawl.Children
	}{
		"rolling":       {`{"kind":"task","batch":"rolling"}`, pawl.Children{Kind: "task", Admit: pawl.AdmitReady, Group: 1}},
		"barrier":       {`{"kind":"task","batch":"barrier"}`, pawl.Children{Kind: "task", Admit: pawl.AdmitReady, Group: 1}},
		"neither":       {`{"kind":"task"}`, pawl.Children{Kind: "task", Admit: pawl.AdmitReady, Group: 1}},
		"goes on":       {`{"on_failure":"continue"}`, pawl.Children{Admit: pawl.AdmitReady, Group: 1, OnFailure: pawl.FailBlock}},
		"stops":         {`{"on_failure":"stop"}`, pawl.Children{Admit: pawl.AdmitReady, Group: 1, OnFailure: pawl.FailStop}},
		"cascade":       {`{"cascade":true}`, pawl.Children{Admit: pawl.AdmitEager, Group: 1, OnFailure: pawl.FailRestartParent}},
		"goes anew":     {`{"cascade":true,"on_failure":"continue"}`, pawl.Children{Admit: pawl.AdmitEager, Group: 1, OnFailure: pawl.FailRestartParent}},
		"review":        {`{"batch":"barrier","review":{"role":"judge","prompt":"review.md","tier":3,"output":"batch"}}`, pawl.Children{Admit: pawl.AdmitReady, Group: 12, Judge: judge}},
		"before":        {`{"before_batch":[{"name":"look"}]}`, pawl.Children{Admit: pawl.AdmitReady, Group: 12, BeforeBatch: []pawl.Step{{Name: "look"}}}},
		"after":         {`{"after_batch":[{"name":"look"}]}`, pawl.Children{Admit: pawl.AdmitReady, Group: 12, AfterBatch: []pawl.Step{{Name: "look"}}}},
		"monitor":       {`{"monitor":{"BLOCKED":["ask"]}}`, pawl.Children{Admit: pawl.AdmitReady, Group: 12, Monitor: map[string][]string{"BLOCKED": {"ask"}}}},
		"checkpoint":    {`{"checkpoint":true}`, pawl.Children{Admit: pawl.AdmitReady, Group: 12, Checkpoint: true}},
		"scaffold":      {`{"scaffold_first":true}`, pawl.Children{Admit: pawl.AdmitReady, Group: 12, ScaffoldFirst: true}},
		"of today":      {`{"admit":"eager","group":3,"land":"best","on_failure":"continue"}`, pawl.Children{Admit: pawl.AdmitEager, Group: 3, Land: pawl.LandBest, OnFailure: pawl.FailContinue}},
		"of today, all": {`{"admit":"","group":-1,"checkpoint":true}`, pawl.Children{Group: pawl.GroupAll, Checkpoint: true}},
	} {
		var got pawl.Children
		if err := json.Unmarshal([]byte(row.in), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		again, err := json.Marshal(&got)
		if err != nil {
			t.Fatal(err)
		}
		var same pawl.Children
		if err := json.Unmarshal(again, &same); err != nil || !cmp.Equal(got, same) {
			t.Errorf("%s: %s is read as %+v, %v", name, again, same, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"parallel":"many"}`), &pawl.Children{}); err == nil {
		t.Error("a text for a number is read")
	}
}

func TestChildrenKeys(t *testing.T) {
	for _, row := range []struct {
		c                       *pawl.Children
		groups, eager, restarts bool
	}{
		{nil, false, false, false},
		{&pawl.Children{}, false, false, false},
		{&pawl.Children{Group: 1, Admit: pawl.AdmitReady, OnFailure: pawl.FailStop}, false, false, false},
		{&pawl.Children{Group: 2}, true, false, false},
		{&pawl.Children{Group: pawl.GroupAll}, true, false, false},
		{&pawl.Children{Admit: pawl.AdmitEager}, false, true, false},
		{&pawl.Children{OnFailure: pawl.FailRestartParent}, false, false, true},
	} {
		if row.c.Groups() != row.groups || row.c.IsEager() != row.eager || row.c.RestartsParent() != row.restarts {
			t.Errorf("%+v: groups %t, eager %t, restarts %t", row.c, row.c.Groups(), row.c.IsEager(), row.c.RestartsParent())
		}
	}
}

// Held-out checks run in the last stage that runs command gates on the finished work, whatever the
// circumstances.
func TestHeldOutStage(t *testing.T) {
	commands, review := pawl.Stage{Commands: []string{"*"}}, pawl.Stage{Review: &pawl.Review{}}
	sometimes := pawl.Stage{Commands: []string{"tests"}, When: &pawl.When{Tier: []int{2}}}
	for _, row := range []struct {
		why          string
		gates, final []pawl.Stage
		spawns       bool
		want         int
	}{
		{"its only stage", []pawl.Stage{commands}, nil, false, 0},
		{"before a review", []pawl.Stage{commands, review}, nil, false, 0},
		{"the last of several", []pawl.Stage{commands, review, commands, review}, nil, false, 2},
		{"a final one", []pawl.Stage{commands}, []pawl.Stage{review, commands}, false, 2},
		{"one that may be left out", []pawl.Stage{commands, sometimes}, nil, false, 0},
		{"none but such", []pawl.Stage{review, sometimes}, nil, false, -1},
		{"none", nil, nil, false, -1},
		{"of a loop with children", []pawl.Stage{commands}, []pawl.Stage{commands}, true, 1},
		{"that judges only the plan", []pawl.Stage{commands}, []pawl.Stage{review}, true, -1},
	} {
		k := pawl.LoopKind{Gates: row.gates, FinalGates: row.final}
		if row.spawns {
			k.Children = &pawl.Children{}
		}
		if got := k.HeldOutStage(); got != row.want {
			t.Errorf("%s: stage %d, want %d", row.why, got, row.want)
		}
	}
}

// A loop that plans works on its planner's tier, whatever its ladder. R-09
func TestWorkTier(t *testing.T) {
	plan, work := pawl.Step{Name: "plan", Tier: 3}, pawl.Step{Name: "work"}
	children := &pawl.Children{From: "plan"}
	for name, row := range map[string]struct {
		kind *pawl.LoopKind
		want int
	}{
		"plans":    {&pawl.LoopKind{Steps: []pawl.Step{{Name: "gather", Tier: 1}, plan}, Children: children}, 3},
		"in group": {&pawl.LoopKind{Steps: []pawl.Step{{Repeat: &pawl.Repeat{Steps: []pawl.Step{plan}}}}, Children: children}, 3},
		"as well":  {&pawl.LoopKind{Steps: []pawl.Step{plan, work}, Children: children}, 0},
		"ladder":   {&pawl.LoopKind{Steps: []pawl.Step{{Name: "plan"}, work}, Children: children}, 2},
		"works":    {&pawl.LoopKind{Steps: []pawl.Step{plan, work}}, 2},
		"unknown":  {nil, 2},
	} {
		if got := row.kind.WorkTier(2); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
}
