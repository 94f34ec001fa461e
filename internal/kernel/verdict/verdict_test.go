package verdict

import (
	"testing"

	"pawl"
)

// Only the findings of a security gate that fails without a critical one are compared with
// those of the previous attempt. D-B02
func TestSecurityPrint(t *testing.T) {
	for _, row := range []struct {
		judged pawl.GateJudged
		want   bool
	}{
		{pawl.GateJudged{Kind: pawl.GateSecurity, Verdict: pawl.VerdictFail, Found: 7}, true},
		{pawl.GateJudged{Kind: pawl.GateSecurity, Verdict: pawl.VerdictFail, Found: 7, Critical: 1}, false},
		{pawl.GateJudged{Kind: pawl.GateSecurity, Verdict: pawl.VerdictPass, Found: 7}, false},
		{pawl.GateJudged{Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Found: 7}, false},
		{pawl.GateJudged{Kind: pawl.GateTests, Verdict: pawl.VerdictPass, Found: 7}, false},
	} {
		if got := Findings([]*pawl.GateJudged{&row.judged}) != 0; got != row.want {
			t.Errorf("%s %s, %d critical: findings are compared: %t", row.judged.Kind, row.judged.Verdict, row.judged.Critical, got)
		}
	}
}
