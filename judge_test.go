package pawl_test

import (
	"testing"

	"pawl"
)

// Logs of earlier versions say by a gate's name that no gate judged. A gate of the recipe or
// the settings may have such a name. F-41
func TestJudgeOf(t *testing.T) {
	named := &pawl.Recipe{Kinds: []pawl.LoopKind{{FinalGates: []pawl.Stage{{Name: "batch-quality"}}}, {Gates: []pawl.Stage{{Name: "pawl-folder"}}}}}
	for _, row := range []struct {
		recipe *pawl.Recipe
		b      pawl.GateJudged
		want   pawl.Judge
	}{
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests}, pawl.JudgeGate},
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "requirements"}, pawl.JudgeGate},
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "batch-merge"}, pawl.JudgeMerge},
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "batch-review"}, pawl.JudgeBatch},
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "batch-tests"}, pawl.JudgeBatch},
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "pawl-folder"}, pawl.JudgeFolder},
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "unrecorded-files"}, pawl.JudgeFiles},
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "batch-merge", Kind: pawl.GateLint}, pawl.JudgeGate},
		{&pawl.Recipe{}, pawl.GateJudged{Gate: "tests", Judge: pawl.JudgeBatch}, pawl.JudgeBatch},
		{named, pawl.GateJudged{Gate: "batch-quality"}, pawl.JudgeGate},
		{named, pawl.GateJudged{Gate: "pawl-folder"}, pawl.JudgeGate},
		{named, pawl.GateJudged{Gate: "pawl-folder", Judge: pawl.JudgeFolder}, pawl.JudgeFolder},
		{named, pawl.GateJudged{Gate: "batch-review"}, pawl.JudgeBatch},
	} {
		if got := row.recipe.JudgeOf(&row.b); got != row.want {
			t.Errorf("%s of kind %q by %q: judged by %q, want %q", row.b.Gate, row.b.Kind, row.b.Judge, got, row.want)
		}
	}
}
