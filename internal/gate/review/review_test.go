package review

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
)

func met(id string) Criterion {
	return Criterion{ID: id, Status: Pass, Evidence: []string{"login.go:12"}}
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name   string
		review Verdict
		ids    []string
		want   Outcome
	}{
		{"all are met", Verdict{Criteria: []Criterion{met("AC-1"), met("AC-2")}}, []string{"AC-1", "AC-2"},
			Outcome{Verdict: pawl.VerdictPass, Reason: "2 of 2 criteria are met", Met: 2, Total: 2}},
		{"partial is a fail", Verdict{Criteria: []Criterion{met("AC-1"), {ID: "AC-2", Status: Partial, Evidence: []string{"x"}, Gap: "no test for logout\nmore", RecommendedFix: "write one"}}},
			[]string{"AC-1", "AC-2"},
			Outcome{Verdict: pawl.VerdictFail, Reason: "1 of 2 criteria is met: AC-2 partial (no test for logout)", Met: 1, Total: 2,
				Unmet: []Unmet{{ID: "AC-2", Status: Partial, Why: "partial", Gap: "no test for logout\nmore", RecommendedFix: "write one"}}}},
		{"a pass needs evidence", Verdict{Criteria: []Criterion{{ID: "AC-1", Status: Pass, Evidence: []string{" "}}}}, []string{"AC-1"},
			Outcome{Verdict: pawl.VerdictFail, Reason: "0 of 1 criteria are met: AC-1 no evidence", Total: 1,
				Unmet: []Unmet{{ID: "AC-1", Status: Pass, Why: "no evidence"}}}},
		{"a criterion is left out", Verdict{Criteria: []Criterion{met("AC-1")}}, []string{"AC-1", "AC-2"},
			Outcome{Verdict: pawl.VerdictFail, Reason: "1 of 2 criteria is met: AC-2 not reviewed", Met: 1, Total: 2,
				Unmet: []Unmet{{ID: "AC-2", Why: "not reviewed"}}}},
		{"unknown ids are listed", Verdict{Criteria: []Criterion{met("AC-9"), met(" ac-1 "), met("AC-9"), {ID: "AC-8", Status: Fail}}}, []string{"AC-1"},
			Outcome{Verdict: pawl.VerdictPass, Reason: "1 of 1 criteria is met", Met: 1, Total: 1, Unknown: []string{"AC-9", "AC-8"}}},
		{"the worse of two counts", Verdict{Criteria: []Criterion{met("AC-1"), {ID: "AC-1", Status: Partial}, {ID: "AC-1", Status: Fail, Gap: "gone"}, met("AC-1")}}, []string{"AC-1"},
			Outcome{Verdict: pawl.VerdictFail, Reason: "0 of 1 criteria are met: AC-1 fails (gone)", Total: 1, Unmet: []Unmet{{ID: "AC-1", Status: Fail, Why: "fails", Gap: "gone"}}}},
		{"a word that is no status", Verdict{Criteria: []Criterion{{ID: "AC-1", Status: "great", Evidence: []string{"x"}}}}, []string{"AC-1"},
			Outcome{Verdict: pawl.VerdictFail, Reason: "0 of 1 criteria are met: AC-1 no status", Total: 1, Unmet: []Unmet{{ID: "AC-1", Status: "great", Why: "no status"}}}},
		{"capitals", Verdict{Criteria: []Criterion{{ID: "AC-1", Status: "PASS", Evidence: []string{"x"}}}, Verdict: "PASS"}, []string{"AC-1"},
			Outcome{Verdict: pawl.VerdictPass, Reason: "1 of 1 criteria is met", Met: 1, Total: 1}},
		{"the whole may be worse", Verdict{Criteria: []Criterion{met("AC-1")}, Verdict: pawl.VerdictHalt, Summary: "It logs passwords."}, []string{"AC-1"},
			Outcome{Verdict: pawl.VerdictHalt, Reason: "1 of 1 criteria is met, and the review says halt: It logs passwords.", Met: 1, Total: 1}},
		{"the whole is never better", Verdict{Criteria: []Criterion{{ID: "AC-1", Status: Fail}}, Verdict: pawl.VerdictPass}, []string{"AC-1"},
			Outcome{Verdict: pawl.VerdictFail, Reason: "0 of 1 criteria are met: AC-1 fails", Total: 1, Unmet: []Unmet{{ID: "AC-1", Status: Fail, Why: "fails"}}}},
		{"no criteria, the review decides", Verdict{Verdict: pawl.VerdictRevise, Summary: "Name the flag better."}, nil,
			Outcome{Verdict: pawl.VerdictRevise, Reason: "the review says revise: Name the flag better."}},
		{"no criteria, it passes", Verdict{Verdict: pawl.VerdictPass}, nil, Outcome{Verdict: pawl.VerdictPass, Reason: "the review says pass"}},
		{"no criteria and a word of its own", Verdict{Verdict: "lgtm"}, nil, Outcome{Verdict: pawl.VerdictFail, Reason: "the review says fail"}},
		{"no criteria and nothing said", Verdict{Summary: "Fine."}, nil, Outcome{Verdict: pawl.VerdictFail, Reason: "the review names no criterion and gives no verdict"}},
		{"the task has none, the review some", Verdict{Criteria: []Criterion{met("a"), {ID: "b", Status: Fail}}, Verdict: pawl.VerdictPass}, nil,
			Outcome{Verdict: pawl.VerdictFail, Reason: "1 of 2 criteria is met: b fails", Met: 1, Total: 2, Unmet: []Unmet{{ID: "b", Status: Fail, Why: "fails"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Judge(tt.review, tt.ids)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyUnmet(t *testing.T) {
	o := Judge(Verdict{}, strings.Fields("a b c d e f g"))
	want := "0 of 7 criteria are met: a not reviewed; b not reviewed; c not reviewed; d not reviewed; e not reviewed and 2 more"
	if o.Reason != want {
		t.Errorf("%s\nwant %s", o.Reason, want)
	}
}

func TestSubmittedJSON(t *testing.T) {
	var v Verdict
	err := json.Unmarshal([]byte(`{"criteria":[{"id":"AC-1","status":"partial","evidence":["a.go:3"],"gap":"g","recommended_fix":"f"}],"summary":"s"}`), &v)
	want := Verdict{Criteria: []Criterion{{ID: "AC-1", Status: Partial, Evidence: []string{"a.go:3"}, Gap: "g", RecommendedFix: "f"}}, Summary: "s"}
	if diff := cmp.Diff(want, v); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Whatever a review says, it passes exactly when each criterion of the task
// is there and everything said of it is a pass with evidence.
func TestJudgeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID).Draw(t, "ids")
		criteria := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Criterion {
			return Criterion{
				ID:       rapid.SampledFrom([]string{"a", "b", "c", "x"}).Draw(t, "id"),
				Status:   rapid.SampledFrom([]Status{Pass, Pass, Pass, Fail, Partial, ""}).Draw(t, "status"),
				Evidence: rapid.SliceOfN(rapid.Just("e"), 0, 2).Draw(t, "evidence"),
			}
		}), 0, 6).Draw(t, "criteria")
		good := 0
		for _, id := range ids {
			said, fine := 0, true
			for _, c := range criteria {
				if c.ID == id {
					said++
					fine = fine && c.Status == Pass && len(c.Evidence) > 0
				}
			}
			if said > 0 && fine {
				good++
			}
		}
		o := Judge(Verdict{Criteria: criteria}, ids)
		if o.Met != good || o.Total != len(ids) || len(o.Unmet) != o.Total-o.Met || (o.Verdict == pawl.VerdictPass) != (good == len(ids)) {
			t.Fatalf("%d are met: %+v", good, o)
		}
	})
}
