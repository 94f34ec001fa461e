package evidence_test

import (
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/evidence"
)

// A flaky test is a finding if the candidate added or changed it, in the file that it is in. One that it
// left as it was is none.
func TestFlaky(t *testing.T) {
	const head = "package shop\n\nimport \"testing\"\n\n"
	const sum = "func TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n"
	const changed = "func TestSum(t *testing.T) {\n\tif Sum(2, 2) != 4 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n"
	const slow = "func TestSlow(t *testing.T) {\n\tif !Slow() {\n\t\tt.Fatal(\"no\")\n\t}\n}\n"
	for name, test := range map[string]struct {
		files []pawl.FileChange
		flaky []string
		want  string
	}{
		"Untouched": {[]pawl.FileChange{file("cart/cart_test.go", head+sum, head+sum+slow)}, []string{"shop/cart.TestSum"}, ""},
		"Added":     {[]pawl.FileChange{file("cart/cart_test.go", head+sum, head+sum+slow)}, []string{"shop/cart.TestSlow"}, "cart/cart_test.go shop/cart.TestSlow"},
		"Changed":   {[]pawl.FileChange{file("cart/cart_test.go", head+sum, head+changed)}, []string{"shop/cart.TestSum"}, "cart/cart_test.go shop/cart.TestSum"},
		"Case":      {[]pawl.FileChange{file("cart/cart_test.go", head+sum, head+changed)}, []string{"shop/cart.TestSum/two"}, "cart/cart_test.go shop/cart.TestSum/two"},
		"InAnother": {[]pawl.FileChange{file("cart/cart_test.go", head, head+slow), file("pay/pay_test.go", head, head+slow)},
			[]string{"shop/pay.TestSlow"}, "pay/pay_test.go shop/pay.TestSlow"},
		"Moved": {[]pawl.FileChange{file("cart/cart_test.go", head+sum, head), file("cart/sum_test.go", "", head+sum)}, []string{"shop/cart.TestSum"}, ""},
		"None":  {[]pawl.FileChange{file("cart/cart_test.go", head+sum, head+sum+slow)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			survey := evidence.Look(&evidence.Candidate{
				Base: "b", Commit: "c", Files: test.files, Gates: []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}},
				Read: func(string, bool) []byte { return nil },
			})
			own := &pawl.GateReport{Verdict: pawl.VerdictPass, Flaky: test.flaky}
			for _, name := range test.flaky {
				own.Tests = append(own.Tests, pawl.TestResult{Name: name, Status: pawl.TestPass})
			}
			found, _, _ := survey.Weigh(&evidence.Reports{Own: map[string]*pawl.GateReport{"tests": own}})
			var got []string
			for _, f := range found {
				if f.Kind == pawl.FindFlaky {
					got = append(got, f.Path+" "+strings.Join(f.Tests, ","))
					if f.Print == 0 || !strings.Contains(f.Detail, "+++ b/"+f.Path) {
						t.Errorf("there is nothing to look at: %+v", f)
					}
				}
			}
			if !slices.Equal(got, strings.FieldsFunc(test.want, func(r rune) bool { return r == ';' })) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// file returns how a file changed; an empty text stands for a file that is not there.
func file(name, before, now string) pawl.FileChange {
	side := func(text string) pawl.FileState {
		if text == "" {
			return pawl.FileState{}
		}
		return pawl.FileState{Kind: pawl.FileRegular, Data: []byte(text)}
	}
	return pawl.FileChange{Path: name, Old: side(before), New: side(now)}
}
