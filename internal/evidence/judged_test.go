package evidence

import (
	"slices"
	"strings"
	"testing"

	"pawl"
)

// judged are reports of one gate that shows no single tests.
func judged(base, own, there pawl.Verdict) *Reports {
	report := func(v pawl.Verdict) map[string]*pawl.GateReport {
		if v == "" {
			return map[string]*pawl.GateReport{}
		}
		r := &pawl.GateReport{Verdict: v, Format: pawl.ReportExit}
		if v != pawl.VerdictPass {
			r.ExitCode, r.Reason = 1, "exit 1"
		}
		return map[string]*pawl.GateReport{"tests": r}
	}
	r := &Reports{Base: report(base), Own: report(own), On: map[pawl.Tree]map[string]*pawl.GateReport{}}
	if there != "" {
		r.On[pawl.TreeExpected] = report(there)
	}
	return r
}

// What a gate judges stays the candidate's where the base's expectations are asked, and a tree without any of
// its code concludes nothing. F-98
func TestBaseDoesNotJudgeItself(t *testing.T) {
	base := tree{
		"Makefile":      "test:\n\tpython3 app.py <cases/a.in | diff cases/a.out -\n\tsh tools/page.sh | diff page.txt -\n\ttr a-z A-Z <words.txt | diff upper.txt -\n",
		"app.py":        "print(1)\n",
		"cases/a.in":    "1\n",
		"cases/a.out":   "1\n",
		"tools/page.sh": "echo one\n",
		"page.txt":      "one\n",
		"words.txt":     "a\n",
		"upper.txt":     "A\n",
	}
	const pass, fail = pawl.VerdictPass, pawl.VerdictFail
	tests := []struct {
		name    string
		now     tree
		reports *Reports
		runs    bool
		kept    string // files of the candidate's that stay
		found   string
		remark  string
	}{
		{"output that changed", tree{"app.py": "print(2)\n", "cases/a.out": "2\n"}, judged(pass, pass, fail), true, "app.py", "cases/a.out", ""},
		{"a program that changed", tree{"app.py": "print(1)  # one\n"}, judged(pass, pass, ""), false, "app.py", "", ""},
		{"a program that was mended", tree{"app.py": "print('1')\n"}, judged(fail, pass, ""), false, "app.py", "", ""},
		{"a program among tools", tree{"tools/page.sh": "echo two\n", "page.txt": "two\n"}, judged(pass, pass, fail), true, "tools/page.sh", "page.txt", ""},
		{"a tool besides code", tree{"app.py": "print('1')\n", "tools/page.sh": "echo one # 1\n"}, judged(pass, pass, pass), true, "app.py", "", ""},
		{"a recipe that is the program", tree{"Makefile": strings.ReplaceAll(base["Makefile"], "A-Z", "B-Z"), "upper.txt": "B\n"}, judged(pass, pass, pass), true, "", "",
			"gate tests was not judged with the base's Makefile, upper.txt: no code of the candidate is left there"},
		{"a judge that gives up", tree{"Makefile": "test:\n\ttrue\n"}, judged(fail, pass, fail), true, "", "Makefile", ""},
		{"a role that the candidate gives", tree{"Makefile": base["Makefile"] + "\tpython3 lib.py\n", "lib.py": "y = 1\n"}, judged(pass, pass, pass), true, "lib.py", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := base.with(tree{"lib.py": "x = 1\n"})
			c := between(old, old.with(tt.now))
			c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "make test"}}
			s := Look(c)
			runs := s.Runs(tt.reports)
			if len(runs) > 0 != tt.runs {
				t.Fatalf("runs are %+v, want any: %t", runs, tt.runs)
			}
			var kept []string
			for p := range tt.now {
				if len(runs) == 0 && s.has(p, pawl.ClassCode) || len(runs) > 0 && !slices.ContainsFunc(runs[0].Files, func(f pawl.ComposedFile) bool { return f.Path == p }) {
					kept = append(kept, p)
				}
			}
			if got := strings.Join(kept, " "); got != tt.kept {
				t.Errorf("of the candidate %q stays, want %q", got, tt.kept)
			}
			found, remarks, _ := s.Weigh(tt.reports)
			var in []string
			for _, f := range found {
				in = append(in, f.Path)
			}
			if got := strings.Join(in, " "); got != tt.found {
				t.Errorf("found in %q, want %q: %+v", got, tt.found, found)
			}
			if got := strings.Join(remarks, "; "); !strings.Contains(got, tt.remark) || strings.Contains(got, "flaky") || tt.remark == "" && strings.Contains(got, "not judged") {
				t.Errorf("remarks are %q, want %q", got, tt.remark)
			}
		})
	}
}
