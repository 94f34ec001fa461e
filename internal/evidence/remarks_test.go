package evidence_test

import (
	"slices"
	"testing"

	"pawl"
	"pawl/internal/evidence"
)

// Tests that come without code are a remark, which says what changed with them. A policy path that the goal
// names is one too.
func TestRemarks(t *testing.T) {
	const head, sum = "package shop\n\nimport \"testing\"\n\n", "func TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n"
	tests := file("shop_test.go", "", head+sum)
	for name, test := range map[string]struct {
		files []pawl.FileChange
		want  []string
	}{
		"Tests": {[]pawl.FileChange{tests}, []string{"no code changed: what the code already does is described by 1 new test"}},
		"Vendored": {[]pawl.FileChange{
			file("go.mod", "require example.org/wrap v1.0.0\n", "require example.org/wrap v1.1.0\n"), tests,
			file("vendor/example.org/wrap/wrap.go", "package wrap\n", "package wrap // new\n"),
			file("vendor/modules.txt", "# example.org/wrap v1.0.0\nexample.org/wrap\n", "# example.org/wrap v1.1.0\nexample.org/wrap\n"),
		}, []string{"1 vendored file of vendor/example.org/wrap changed together with its entry in the lock", "only code of others changed: it was not reverted to try 1 new test"}},
		"NewWorkflow":     {[]pawl.FileChange{file(".github/workflows/ci.yml", "", "on: push\n")}, []string{".github/workflows/ci.yml, a policy path, is new: the goal or allow_paths names it"}},
		"ChangedWorkflow": {[]pawl.FileChange{file(".github/workflows/ci.yml", "on: tag\n", "on: push\n")}, []string{".github/workflows/ci.yml, a policy path, changed: the goal or allow_paths names it"}},
		"GoneWorkflow":    {[]pawl.FileChange{file(".github/workflows/ci.yml", "on: tag\n", "")}, []string{".github/workflows/ci.yml, a policy path, is gone: the goal or allow_paths names it"}},
	} {
		t.Run(name, func(t *testing.T) {
			survey := evidence.Look(&evidence.Candidate{
				Base: "b", Commit: "c", Files: test.files, Goal: "Add .github/workflows/ci.yml", Gates: []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}},
				Read: func(path string, ofBase bool) []byte {
					for i := range test.files {
						if f := &test.files[i]; f.Path == path && ofBase {
							return f.Old.Data
						} else if f.Path == path {
							return f.New.Data
						}
					}
					return nil
				},
			})
			base := &pawl.GateReport{Verdict: pawl.VerdictPass}
			own := &pawl.GateReport{Verdict: pawl.VerdictPass, Tests: []pawl.TestResult{{Name: "example.org/shop.TestSum", Status: pawl.TestPass}}}
			found, remarks, _ := survey.Weigh(&evidence.Reports{Own: map[string]*pawl.GateReport{"tests": own}, Base: map[string]*pawl.GateReport{"tests": base}})
			if len(found) > 0 || !slices.Equal(remarks, test.want) {
				t.Errorf("remarks %q, want %q; found %+v", remarks, test.want, found)
			}
		})
	}
}

// F-96: of single tests is said only what a gate shows of single tests.
func TestWordsOfNewTests(t *testing.T) {
	const head, sum = "package shop\n\nimport \"testing\"\n\n", "func TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n"
	passes := []pawl.TestResult{{Name: "example.org/shop.TestSum", Status: pawl.TestPass}}
	for name, test := range map[string]struct {
		tests []pawl.TestResult
		want  string
	}{
		"Tests":    {passes, "new tests pass on the base's code too, so they do not show what the change does"},
		"ExitCode": {nil, "the gate passes on the base's code too, with the new tests, and shows no single tests: nothing shows what the change does"},
	} {
		t.Run(name, func(t *testing.T) {
			files := []pawl.FileChange{file("shop_test.go", "", head+sum), file("shop.go", "package shop\n", "package shop // sums\n")}
			survey := evidence.Look(&evidence.Candidate{
				Base: "b", Commit: "c", Files: files, Goal: "Sum", Gates: []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}},
				Read: func(path string, ofBase bool) []byte {
					i := slices.IndexFunc(files, func(f pawl.FileChange) bool { return f.Path == path })
					switch {
					case i < 0:
						return nil
					case ofBase:
						return files[i].Old.Data
					}
					return files[i].New.Data
				},
			})
			own := &pawl.GateReport{Verdict: pawl.VerdictPass, Tests: test.tests}
			found, _, _ := survey.Weigh(&evidence.Reports{
				Own: map[string]*pawl.GateReport{"tests": own}, Base: map[string]*pawl.GateReport{"tests": {Verdict: pawl.VerdictPass}},
				On: map[pawl.Tree]map[string]*pawl.GateReport{pawl.TreeReverted: {"tests": own}},
			})
			if len(found) != 1 || found[0].Text != test.want {
				t.Errorf("found %+v, want %q", found, test.want)
			}
		})
	}
}
