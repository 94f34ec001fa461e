package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// searched is a search in a repository with these files at the base and these changes.
func searched(base, changed map[string]string, gates ...pawl.GateSpec) *GoalSearch {
	now := map[string]string{}
	var files []pawl.FileChange
	for p, text := range base {
		now[p] = text
	}
	state := func(text string, is bool) pawl.FileState {
		if !is {
			return pawl.FileState{}
		}
		return pawl.FileState{Kind: pawl.FileRegular, Object: fmt.Sprintf("%x", len(text)), Data: []byte(text)}
	}
	for p, text := range changed {
		old, was := base[p]
		now[p] = text
		files = append(files, pawl.FileChange{Path: p, Old: state(old, was), New: state(text, true)})
	}
	slices.SortFunc(files, func(a, b pawl.FileChange) int { return strings.Compare(a.Path, b.Path) })
	if gates == nil {
		gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "go test ./..."}}
	}
	c := &Candidate{
		Base: "b", Commit: "c", Files: files, Gates: gates,
		Read: func(p string, ofBase bool) []byte {
			from := now
			if ofBase {
				from = base
			}
			if text, is := from[p]; is {
				return []byte(text)
			}
			return nil
		},
		Paths: func() []string {
			var out []string
			for p := range base {
				out = append(out, p)
			}
			slices.Sort(out)
			return out
		},
	}
	c.Contents = func(paths []string, see func(string, []byte) bool) {
		for _, p := range paths {
			if !see(p, []byte(base[p])) {
				return
			}
		}
	}
	return &GoalSearch{Root: true, Survey: Look(c)}
}

// reported is a report of tests: "-name" fails, "+name" passes.
func reportedTests(words string) *pawl.GateReport {
	r := &pawl.GateReport{Verdict: pawl.VerdictPass, Complete: true}
	for _, w := range strings.Split(words, ",") {
		if w = strings.TrimSpace(w); w == "" {
			continue
		}
		t := pawl.TestResult{Name: w[1:], Status: pawl.TestPass}
		if r.Passed++; w[0] == '-' {
			r.Passed--
			r.Failed++
			t.Status, r.Verdict, r.ExitCode = pawl.TestFail, pawl.VerdictFail, 1
		}
		r.Tests = append(r.Tests, t)
	}
	return r
}

func spellGoals(all []pawl.GoalTest) string {
	var out []string
	for _, t := range all {
		out = append(out, t.String()+" "+string(t.Why))
	}
	return strings.Join(out, ", ")
}

var goFiles = map[string]string{
	"shop.go":      "package shop\n",
	"cart_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) { t.Error(1) }\n\nfunc TestSub(t *testing.T) { t.Error(1) }\n",
	"till_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestTill(t *testing.T) { t.Error(1) }\n",

	"pay/pay_test.go": "package pay\n\nimport \"testing\"\n\nfunc TestPay(t *testing.T) { t.Error(1) }\n",
}

// Which tests that were red at the base the goal names. F-67
func TestNamedGoals(t *testing.T) {
	for _, row := range []struct {
		name, asked, base, want string
		gate                    pawl.GateSpec
		picked, excluded        []string
		child                   bool
	}{
		{name: "nothing is named", asked: "Make it work", base: "-shop.TestAdd, -shop.TestTill"},
		{name: "a name that is no plain word", asked: "Make TestAdd pass", base: "-shop.TestAdd, -shop.TestTill", want: "shop.TestAdd asked"},
		{name: "not as a part of a longer one", asked: "Make TestAdder pass", base: "-shop.TestAdd"},
		{name: "the whole name", asked: "shop.TestTill is red", base: "-shop.TestAdd, -shop.TestTill", want: "shop.TestTill asked"},
		{name: "a plain word", asked: "add a and b", base: "-a, -b, +c"},
		{name: "a plain word in quotes", asked: "mend `a`, not b", base: "-a, -b, +c", want: "a asked"},
		{name: "other quotes", asked: `mend "a" and 'b'`, base: "-a, -b, +c", want: "a asked, b asked"},
		{name: "a phrase without quotes", asked: "the cart adds numbers", base: "-cart > adds numbers"},
		{name: "a phrase with quotes", asked: `make "adds numbers" pass`, base: "-cart > adds numbers", want: "cart > adds numbers asked"},
		{name: "a digit beside letters", asked: "solve case7 first", base: "-case7, -case8", want: "case7 asked"},
		{name: "the test around them", asked: "mend TestAdd", base: "-shop.TestAdd, -shop.TestAdd/zero, -shop.TestAdd/one, -shop.TestTill", want: "shop.TestAdd/one asked, shop.TestAdd/zero asked"},
		{name: "within what does not build", asked: "make TestAdd pass", base: "-shop [build failed], -till.TestTill", want: "TestAdd asked"},
		{name: "within a file that cannot be loaded", asked: "make TestSub and TestAdd pass", base: "-cart_test.go [collection failed]", want: "TestAdd asked, TestSub asked"},
		{name: "within another file", asked: "make TestTill pass", base: "-cart_test.go [collection failed], +till_test.go::TestTill"},
		{name: "within its package", asked: "make TestPay pass", base: "-shop/pay [build failed]", want: "TestPay asked"},
		{name: "within another package", asked: "make TestPay pass", base: "-shop/till [build failed]"},
		{name: "in no file", asked: "make TestNew pass", base: "-shop [build failed]"},
		{name: "its file, weakly", asked: "Make till_test.go pass", base: "-shop.TestAdd, -shop.TestTill", want: "shop.TestTill file"},
		{name: "a file of code says nothing", asked: "Mend shop.go", base: "-shop.TestAdd"},
		{name: "what is green is no goal test", asked: "TestAdd", base: "+shop.TestAdd, -shop.TestTill"},
		{name: "the user requires one", asked: "x", base: "-shop.TestAdd, -shop.TestTill", gate: pawl.GateSpec{Green: []string{"TestTill"}}, want: "shop.TestTill required"},
		{name: "all have to be green", asked: "x", base: "-shop.TestAdd, -shop.TestTill", gate: pawl.GateSpec{RequireGreen: true}, want: "shop.TestAdd required, shop.TestTill required"},
		{name: "the user requires one that is yet to be written", asked: "x", base: "-shop.TestAdd, +shop.TestSub", gate: pawl.GateSpec{Green: []string{"TestNew", "TestSub"}}, want: "TestNew required"},
		{name: "and of a task it is not required", asked: "x", base: "-shop.TestAdd", gate: pawl.GateSpec{Green: []string{"TestNew"}}, child: true},
		{name: "what the user requires is not a task's", asked: "x", base: "-shop.TestAdd", gate: pawl.GateSpec{RequireGreen: true}, child: true},
		{name: "the assessment", asked: "x", base: "-shop.TestAdd, -shop.TestTill", picked: []string{"shop.TestTill", "shop.TestGone"}, want: "shop.TestTill picked"},
		{name: "the assessment names a gate", asked: "x", base: "-shop.TestAdd", picked: []string{"gate tests"}},
		{name: "what the assessment picks is not a task's", asked: "x", base: "-shop.TestTill", picked: []string{"shop.TestTill"}, child: true},
		{name: "it may add, and removes none", asked: "TestAdd", base: "-shop.TestAdd, -shop.TestTill", picked: []string{"shop.TestTill"}, want: "shop.TestAdd asked, shop.TestTill picked"},
		{name: "what a person excludes", asked: "x", base: "-shop.TestAdd, -shop.TestTill", picked: []string{"shop.TestTill"}, excluded: []string{"TestTill"}},
		{name: "excluded", asked: "TestAdd TestTill", base: "-shop.TestAdd, -shop.TestTill", excluded: []string{"TestAdd"}, want: "shop.TestTill asked"},
		{name: "excluded by gate and name", asked: "TestAdd TestTill", base: "-shop.TestAdd, -shop.TestTill", excluded: []string{"tests=TestAdd", "other=TestTill"}, want: "shop.TestTill asked"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.gate.Name, row.gate.Kind = "tests", pawl.GateTests
			s := searched(goFiles, nil, row.gate)
			s.Root, s.Asked, s.Picked, s.Excluded = !row.child, row.asked, row.picked, row.excluded
			s.Base = map[string]*pawl.GateReport{"tests": reportedTests(row.base)}
			if got := s.Goals(); spellGoals(got.Tests) != row.want || len(got.Red) > 0 || len(got.Again) > 0 {
				t.Errorf("got %s, red %v, again %v; want %s", spellGoals(got.Tests), got.Red, got.Again, row.want)
			}
		})
	}
}

// A gate that shows no single tests is one test, and one that could not be built is named by its file. F-67
func TestGateAsOneTest(t *testing.T) {
	base := &pawl.GateReport{Verdict: pawl.VerdictFail, ExitCode: 2, Reason: "exit 2", Output: "cart_test.go:4:1: undefined: Cart"}
	for _, row := range []struct{ asked, want string }{
		{"make the tests pass", ""},
		{"make the gate `tests` pass", "gate tests asked"},
		{"make cart_test.go build", "gate tests asked"},
		{"make till_test.go build", ""},
	} {
		s := searched(goFiles, nil)
		s.Asked, s.Base = row.asked, map[string]*pawl.GateReport{"tests": base}
		if got := spellGoals(s.Goals().Tests); got != row.want {
			t.Errorf("%s: got %q, want %q", row.asked, got, row.want)
		}
	}
	for name, rep := range map[string]*pawl.GateReport{
		"cut short": {Verdict: pawl.VerdictFail, Partial: true}, "killed": {Verdict: pawl.VerdictFail, ExitCode: -1},
		"its program is missing": {Verdict: pawl.VerdictFail, Missing: "node"}, "skipped": {Verdict: pawl.VerdictSkip}, "green": {Verdict: pawl.VerdictPass},
	} {
		s := searched(goFiles, nil)
		s.Asked, s.Base = "`tests`", map[string]*pawl.GateReport{"tests": rep}
		if got := s.Goals().Tests; len(got) > 0 {
			t.Errorf("%s: it says nothing of the base, and %v are goal tests", name, got)
		}
	}
}

// A gate as one test is mended where it passes, and not where it is as red as on the base, nor where the candidate
// changed what it reads or runs. F-67
func TestGateAsOneTestIsMended(t *testing.T) {
	base := map[string]string{"check.sh": "diff want.txt out.txt\n", "want.txt": "1\n", "shop.go": "package shop\n"}
	red, green := &pawl.GateReport{Verdict: pawl.VerdictFail, ExitCode: 1}, &pawl.GateReport{Verdict: pawl.VerdictPass}
	for _, row := range []struct {
		name, changed string
		own           *pawl.GateReport
		want          string
	}{
		{"code changed", "shop.go", green, "gate tests mended"},
		{"it is as red as on the base", "shop.go", &pawl.GateReport{Verdict: pawl.VerdictPass, RedAtBase: true, ExitCode: 1}, ""},
		{"what it runs changed", "check.sh", green, ""},
		{"what it reads changed", "want.txt", green, ""},
	} {
		s := searched(base, map[string]string{row.changed: base[row.changed] + "\n"}, pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "sh check.sh"})
		s.Base = map[string]*pawl.GateReport{"tests": red}
		s.Own, s.Again = map[string]*pawl.GateReport{"tests": row.own}, map[string]*pawl.GateReport{"tests": row.own}
		if got := spellGoals(s.Goals().Tests); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// What an attempt mends becomes a goal test if it did so without changing it and if it stays green, and
// what stands beside it a weak one. F-67
func TestMendedGoals(t *testing.T) {
	code := map[string]string{"shop.go": "package shop\n\nvar A = 1\n"}
	test := map[string]string{"cart_test.go": strings.Replace(goFiles["cart_test.go"], "t.Error(1)", "", 1)}
	mended := []pawl.GoalTest{{Gate: "tests", Name: "shop.TestAdd", Why: pawl.GoalMended}}
	for _, row := range []struct {
		name, base, own, again string
		changed                map[string]string
		known, done            []pawl.GoalTest
		findings               []pawl.Finding
		examined, off, child   bool
		cut                    bool // the second run
		flaky                  []string
		asked                  string
		want, red, rerun       string
		unsure                 bool
	}{
		{name: "it has to run again", base: "-shop.TestAdd, -shop.TestSub, -shop.TestTill", own: "+shop.TestAdd, -shop.TestSub, -shop.TestTill", changed: code, rerun: "tests"},
		{name: "it stays green", base: "-shop.TestAdd, -shop.TestSub, -shop.TestTill", own: "+shop.TestAdd, -shop.TestSub, -shop.TestTill", again: "+shop.TestAdd, -shop.TestSub", changed: code,
			want: "shop.TestAdd mended, shop.TestSub beside", red: "shop.TestSub"},
		{name: "of a task, nothing is beside it", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, -shop.TestSub", again: "+shop.TestAdd, -shop.TestSub", changed: code, child: true, want: "shop.TestAdd mended"},
		{name: "of a task, one before it mended it", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, -shop.TestSub", changed: code, child: true, done: mended},
		{name: "… and its words name it", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, -shop.TestSub", changed: code, child: true, done: mended, asked: "keep TestAdd green"},
		{name: "… and it mends another", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, +shop.TestSub", again: "+shop.TestAdd, +shop.TestSub", changed: code, child: true, done: mended, known: mended, want: "shop.TestSub mended"},
		{name: "the next attempt breaks it", base: "-shop.TestAdd, -shop.TestSub", own: "-shop.TestAdd, +shop.TestSub", again: "-shop.TestAdd, +shop.TestSub", changed: code, known: mended,
			want: "shop.TestAdd mended, shop.TestSub mended", red: "shop.TestAdd"},
		{name: "it is red when it runs again", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, -shop.TestSub", again: "-shop.TestAdd, -shop.TestSub", changed: code},
		{name: "its second run is cut short", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, -shop.TestSub", again: "+shop.TestAdd", cut: true, changed: code},
		{name: "it is flaky", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, -shop.TestSub", again: "+shop.TestAdd", flaky: []string{"shop.TestAdd"}, changed: code},
		{name: "a known one that is flaky is none any more", base: "-shop.TestAdd", own: "+shop.TestAdd", again: "-shop.TestAdd", known: mended, changed: code},
		{name: "the attempt changed it", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, -shop.TestSub", again: "+shop.TestAdd", changed: test},
		{name: "another file of tests changed: it has to be examined", base: "-shop.TestTill, -shop.TestSub", own: "+shop.TestTill, -shop.TestSub", changed: test, unsure: true},
		{name: "an added file is called like what the gate runs: it has to be examined", base: "-shop.TestAdd", own: "+shop.TestAdd", changed: map[string]string{"bin/go": "exit 0\n"}, unsure: true},
		{name: "… which nobody does", base: "-shop.TestTill, -shop.TestSub", own: "+shop.TestTill, -shop.TestSub", again: "+shop.TestTill", changed: test, off: true, want: "shop.TestTill mended"},
		{name: "… and nothing was found", base: "-shop.TestTill, -shop.TestSub", own: "+shop.TestTill, -shop.TestSub", again: "+shop.TestTill", changed: test, examined: true, want: "shop.TestTill mended"},
		{name: "… or something about it", base: "-shop.TestTill, -shop.TestSub", own: "+shop.TestTill, -shop.TestSub", again: "+shop.TestTill", changed: test, examined: true,
			findings: []pawl.Finding{{Kind: pawl.FindExpectation, Tests: []string{"shop.TestTill"}}}},
		{name: "… or about another one", base: "-shop.TestTill, -shop.TestSub", own: "+shop.TestTill, -shop.TestSub", again: "+shop.TestTill", changed: test, examined: true,
			findings: []pawl.Finding{{Kind: pawl.FindExpectation, Tests: []string{"shop.TestSub"}}, {Kind: pawl.FindPolicy}}, want: "shop.TestTill mended"},
		{name: "where the goal names one, nothing is beside it", base: "-shop.TestAdd, -shop.TestSub, -shop.TestTill", own: "+shop.TestAdd, -shop.TestSub, -shop.TestTill", again: "+shop.TestAdd", changed: code,
			asked: "mend TestTill", want: "shop.TestAdd mended, shop.TestTill asked", red: "shop.TestTill"},
		{name: "without files, the suite counts", base: "-a, -b, +c", own: "+a, -b, +c", again: "+a, -b, +c", changed: code, want: "a mended, b beside", red: "b"},
		{name: "a test of the base that is gone is red", base: "-shop.TestAdd", own: "+shop.TestOther", changed: code, known: mended, want: "shop.TestAdd mended", red: "shop.TestAdd"},
		{name: "all known ones are green: nothing runs again", base: "-shop.TestAdd, -shop.TestSub", own: "+shop.TestAdd, +shop.TestSub", changed: code,
			known: append([]pawl.GoalTest{{Gate: "tests", Name: "shop.TestSub", Why: pawl.GoalBeside}}, mended...), want: "shop.TestAdd mended, shop.TestSub beside"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := searched(goFiles, row.changed)
			s.Done = row.done
			s.Root, s.Asked, s.Known, s.Findings, s.Examined, s.Examines = !row.child, row.asked, row.known, row.findings, row.examined, !row.off
			s.Base = map[string]*pawl.GateReport{"tests": reportedTests(row.base)}
			s.Own = map[string]*pawl.GateReport{"tests": reportedTests(row.own)}
			s.Own["tests"].Flaky = row.flaky
			if row.again != "" {
				s.Again = map[string]*pawl.GateReport{"tests": reportedTests(row.again)}
				s.Again["tests"].Partial = row.cut
			}
			got := s.Goals()
			var red []string
			for _, t := range got.Red {
				red = append(red, t.String())
			}
			if spellGoals(got.Tests) != row.want || strings.Join(red, ", ") != row.red || strings.Join(got.Again, " ") != row.rerun || got.Unsure != row.unsure {
				t.Errorf("got %s, red %v, again %v, unsure %t", spellGoals(got.Tests), red, got.Again, got.Unsure)
			}
		})
	}
}

// What could not be built at the base is green when its tests run and none fails. F-67
func TestUnbuiltGoals(t *testing.T) {
	for _, row := range []struct {
		own  string
		want bool
	}{
		{"+shop.TestAdd", true}, {"+shop.TestAdd, -shop.TestSub", false}, {"-shop [build failed]", false}, {"+till.TestAdd", false}, {"", false},
	} {
		p := &picking{GoalSearch: searched(goFiles, nil)}
		if got := p.isGreen(reportedTests(row.own), pawl.GoalTest{Gate: "tests", Name: "shop [build failed]"}); got != row.want {
			t.Errorf("with %q it is green: %t", row.own, got)
		}
	}
}

// A runner may name no test that passes: what it does not name is green if it must have run. F-67
func TestUnnamedGoals(t *testing.T) {
	for _, row := range []struct {
		name, own, output string
		removed           bool
		edit              func(*pawl.GateReport)
		want              bool
	}{
		{name: "its package passes", own: "+shop", want: true},
		{name: "another one passes", own: "+till, -desk.TestX"},
		{name: "beside it one fails", own: "-shop.TestSub", want: true},
		{name: "what fails beside it ended the run", own: "-shop.TestSub", output: "panic: no"},
		{name: "its package does not build", own: "-shop [build failed]"},
		{name: "it fails", own: "-shop.TestAdd, +till"},
		{name: "only counted", edit: func(r *pawl.GateReport) { r.Passed = 3 }, want: true},
		{name: "only counted, one fails", edit: func(r *pawl.GateReport) { r.Passed, r.Failed, r.Verdict = 3, 1, pawl.VerdictFail }},
		{name: "only counted, fewer", edit: func(r *pawl.GateReport) { r.Passed, r.Fewer = 3, 1 }},
		{name: "nothing ran"},
		{name: "its time was up", own: "+shop", edit: func(r *pawl.GateReport) { r.Partial = true }},
		{name: "no longer run", own: "+shop", edit: func(r *pawl.GateReport) { r.Lost = []pawl.LostTest{{Name: "shop.TestAdd"}} }},
		{name: "no longer in the source", own: "+shop", removed: true},
		{name: "the runner names all that failed", own: "-shop.TestSub", edit: func(r *pawl.GateReport) { r.Complete = true }},
	} {
		t.Run(row.name, func(t *testing.T) {
			changed := map[string]string{"shop.go": "package shop\n\nvar A = 1\n"}
			if row.removed {
				changed["cart_test.go"] = strings.ReplaceAll(goFiles["cart_test.go"], "func TestAdd(t *testing.T) { t.Error(1) }", "")
			}
			r := reportedTests(row.own)
			r.Complete, r.Output = false, row.output
			if row.edit != nil {
				row.edit(r)
			}
			p := &picking{GoalSearch: searched(goFiles, changed)}
			if got := p.isGreen(r, pawl.GoalTest{Gate: "tests", Name: "shop.TestAdd"}); got != row.want {
				t.Errorf("it is green: %t", got)
			}
		})
	}
}

// A test that the user requires and that is yet to be written is green once it has run and passed, whatever the
// runner says of tests that it does not name. F-67
func TestRequiredTestsThatAreNew(t *testing.T) {
	for _, row := range []struct {
		own      string
		complete bool
		want     string
	}{
		{"+shop.TestAdd", true, "TestNew required"},
		{"+shop.TestAdd", false, "TestNew required"},
		{"+shop.TestAdd, -shop.TestNew", true, "TestNew required"},
		{"+shop.TestAdd, +shop.TestNew", true, ""},
		{"+shop.TestAdd, +shop.TestNew/one, -shop.TestNew/two", true, "TestNew required"},
		{"+shop.TestAdd, +shop.TestNew/one", false, ""},
	} {
		s := searched(goFiles, nil, pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Green: []string{"TestNew"}})
		own := reportedTests(row.own)
		own.Complete = row.complete
		s.Base, s.Own = map[string]*pawl.GateReport{"tests": reportedTests("+shop.TestAdd")}, map[string]*pawl.GateReport{"tests": own}
		if got := spellGoals(s.Goals().Red); got != row.want {
			t.Errorf("%s, complete %t: got %q, want %q", row.own, row.complete, got, row.want)
		}
	}
}
