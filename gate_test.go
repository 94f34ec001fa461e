package pawl_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pawl"
)

// Reports of earlier versions are read: their findings, and their inventory of sentences.
func TestOldGateReport(t *testing.T) {
	for text, want := range map[string]pawl.GateReport{
		`{"verdict":"fail","inventory":["shop.TestC (removed)","shop.TestB (skipped now)","and 3 more"]}`: {
			Verdict: pawl.VerdictFail, Lost: []pawl.LostTest{{Name: "shop.TestC"}, {Name: "shop.TestB", Skipped: true}}},
		`{"inventory":["14 tests ran on the base, 12 now"]}`:     {Fewer: 2},
		`{"inventory":["1 test ran on the base, 0 now"]}`:        {Fewer: 1},
		`{"inventory":["x (removed)"],"lost":[{"name":"y"}]}`:    {Lost: []pawl.LostTest{{Name: "y"}}},
		`{"findings":[{"severity":"high","message":"m"}]}`:       {Diagnostics: []pawl.Diagnostic{{Severity: "high", Message: "m"}}},
		`{"lost":[{"name":"y","skipped":true}],"complete":true}`: {Lost: []pawl.LostTest{{Name: "y", Skipped: true}}, Complete: true},
	} {
		var got pawl.GateReport
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%+v\nwant %+v", text, err, got, want)
		}
	}
}
