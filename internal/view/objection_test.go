package view

import (
	"slices"
	"testing"
)

// A gate's evidence has its failures, under the names of earlier versions too. A review's answers to findings
// are none.
func TestObjections(t *testing.T) {
	for evidence, want := range map[string][]string{
		`{"verdict": "fail", "tests": [{"name": "TestA", "status": "fail"}, {"name": "TestB", "status": "pass"}]}`: {"TestA"},
		`{"verdict": "fail", "findings": [{"severity": "high", "file": "a.go", "line": 3, "message": "unused"}]}`:  {"a.go:3: unused (high)"},
		`{"criteria": [], "summary": "no", "findings": [{"id": "F-1", "accepted": false, "why": "put it back"}]}`:  nil,
		`{"verdict": "fail"}`: nil,
		``:                    nil,
	} {
		if got := objections([]byte(evidence)); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", evidence, got, want)
		}
	}
}
