package evidence

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"pawl"
	"pawl/internal/evidence/source"
	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

// Weigh returns what is found in a candidate, with what gates say of other trees, and how many tests that it
// added or changed fail, or do not build, on the base's code.
func (s *Survey) Weigh(r *Reports) (found []pawl.Finding, remarks []string, added int) {
	s.settle(r)
	r = s.withBase(r)
	w := &weighing{Survey: s, r: r, lost: map[string]bool{}}
	w.found, w.remarks = slices.Clone(s.found), slices.Clone(s.remarks)
	for _, g := range s.c.Gates {
		own := r.Own[g.Name]
		if own == nil {
			continue
		}
		if g.Kind == pawl.GateTests {
			w.inventory(g.Name, own)
			added += w.proof(g.Name, own)
			w.flaky(own)
		}
		w.expectations(&g, own)
	}
	w.sources()
	return grouped(w.once(w.found)), w.remarks, added
}

type weighing struct {
	*Survey
	result
	r      *Reports
	lost   map[string]bool // local names of tests that are gone or skipped
	static bool            // a gate's tests cannot be compared by running them
	named  bool            // a gate names the tests that it ran, on the base too
}

// inventory compares which tests ran.
func (w *weighing) inventory(gate string, own *pawl.GateReport) {
	w.named = w.named || len(own.Tests) > 0 && w.r.Base[gate] != nil
	if w.r.Base[gate] == nil {
		w.remark("gate %s did not judge the base, so it is not known which tests are gone", gate)
	}
	for _, t := range own.Lost {
		if !t.Skipped && w.isElsewhere(t.Name) {
			continue
		}
		name := local(t.Name)
		w.lost[name] = true
		kind, text := pawl.FindRemovedTest, "a test of the base no longer runs"
		if t.Skipped {
			kind, text = pawl.FindSkippedTest, "a test that ran on the base is skipped"
		}
		in := w.pathOf(t.Name)
		w.raise(pawl.Finding{Kind: kind, Path: in, Tests: []string{t.Name}, Text: text, Detail: w.lossOf(t.Name, in)})
	}
	if own.Fewer > 0 && !w.isRegrouped() {
		w.raise(pawl.Finding{Kind: pawl.FindRemovedTest, Text: fmt.Sprintf("gate %s ran %s fewer than on the base", gate, counted(own.Fewer, "test"))})
	}
	if len(own.Unlisted) > 0 {
		w.raise(pawl.Finding{Kind: pawl.FindUnlisted, Tests: own.Unlisted, Text: "there are results of tests that the runner does not list"})
	}
	if len(own.Unreported) > 0 {
		w.remark("%s that the runner lists had no result: %s", counted(len(own.Unreported), "test"), listed(own.Unreported))
	}
}

// local returns the name of a test without its file or package.
func local(name string) string {
	_, test := report.Split(name)
	return cmp.Or(test, name)
}

// namesOf returns the names that a source may have for a test of a report: its own, that of the test
// whose case it is, those of the tests and suites around it.
func namesOf(name string) []string {
	out := []string{local(name)}
	for parent := report.Parent(name); parent != ""; parent = report.Parent(parent) {
		out = append(out, local(parent))
	}
	for _, n := range slices.Clone(out) {
		plain, _, _ := strings.Cut(n, "[")
		out = append(out, plain)
		for _, sep := range []string{"::", " > ", "/", "."} {
			if i := strings.LastIndex(plain, sep); i >= 0 {
				out = append(out, plain[i+len(sep):])
			}
		}
	}
	return out
}

// isKept reports whether the candidate's sources still have a test of the base.
func (w *weighing) isKept(name string) bool {
	return slices.ContainsFunc(namesOf(name), func(n string) bool { return len(w.kept[n]) > 0 })
}

// isElsewhere reports whether the sources show that a test of the base is in another place or has
// another name: it was there, it is in no file that it was in, and nothing says that it is gone.
func (w *weighing) isElsewhere(name string) bool {
	files := w.files(name)
	if len(files) == 0 || w.unread {
		return false
	}
	for _, n := range namesOf(name) {
		if slices.ContainsFunc(w.kept[n], func(p string) bool { return slices.Contains(files, p) }) {
			return false
		}
		if slices.ContainsFunc(w.changes, func(c source.Change) bool { return c.Test == n && w.isGone(&c) }) {
			return false
		}
	}
	return true
}

// isRegrouped reports whether tests have become parts of others, and none is gone.
func (w *weighing) isRegrouped() bool {
	return len(w.regrouped) > 0 && !slices.ContainsFunc(w.changes, func(c source.Change) bool { return w.isGone(&c) })
}

// isGone reports whether a change is a test that nothing has taken the place of. One whose values are
// in another test has become a part of it if the base's passes on the candidate too.
func (w *weighing) isGone(c *source.Change) bool {
	return c.Kind == pawl.FindRemovedTest && !(c.Kept && w.stillPasses(c.Test))
}

// stillPasses reports whether a test of the base that a source names passes on the candidate's code.
func (w *weighing) stillPasses(test string) bool {
	there := w.r.On[pawl.TreeExpected]
	if passed, named := passes(there, test); named {
		return passed
	}
	for _, r := range there {
		if len(r.Tests) == 0 && r.Verdict == pawl.VerdictPass {
			return true
		}
	}
	return false
}

// passes reports whether a test that a source names passed in reports, and none of its name did anything
// else; named is false if no report names it.
func passes(reports map[string]*pawl.GateReport, test string) (passed, named bool) {
	for _, r := range reports {
		for _, t := range r.Tests {
			if !slices.Contains(namesOf(t.Name), test) {
				continue
			}
			if t.Status != pawl.TestPass {
				return false, true
			}
			passed, named = true, true
		}
	}
	return passed, named
}

// files returns the changed files of the base that have a test of this name. If several do, those
// that the name says it is in go first.
func (w *weighing) files(name string) []string {
	var found []string
	for _, n := range namesOf(name) {
		if found = w.tests[n]; len(found) > 0 {
			break
		}
	}
	return inPlace(name, found)
}

// inPlace returns those of the files that the name of a test says it is in, or all of them.
func inPlace(name string, files []string) []string {
	place, _ := report.Split(name)
	var near []string
	for _, p := range files {
		if place != "" && (strings.Contains(place, p) || strings.HasSuffix(place, path.Dir(p))) {
			near = append(near, p)
		}
	}
	if len(near) > 0 {
		return near
	}
	return files
}

func (w *weighing) pathOf(name string) string {
	if files := w.files(name); len(files) > 0 {
		return files[0]
	}
	return ""
}

// lossOf returns how the sources show that a test of the base is gone or skipped, or how the file
// changed that it is in if they do not.
func (w *weighing) lossOf(name, file string) string {
	for _, n := range namesOf(name) {
		for _, c := range w.changes {
			if (c.Kind == pawl.FindRemovedTest || c.Kind == pawl.FindSkippedTest) && c.Test == n && c.Path == file {
				return c.Detail
			}
		}
	}
	return w.diffOf(file)
}

// newTests returns the tests that a gate ran on the candidate and not on the base, by the names it
// gives them, without those that are only moved or renamed.
func (s *Survey) newTests(own, base *pawl.GateReport) []string {
	had := map[string]bool{}
	if base != nil {
		for _, t := range base.Tests {
			had[local(t.Name)] = true
		}
	}
	added := map[string]bool{}
	for _, t := range s.added {
		added[t.Name] = true
	}
	var out []string
	for _, t := range own.Tests {
		if s.takesPlace(t.Name) {
			continue
		}
		if name := local(t.Name); t.Status == pawl.TestPass && !report.IsWhole(t.Name) && !had[name] && (isAdded(added, t.Name) || s.unread) {
			out = append(out, t.Name)
		}
	}
	if len(own.Tests) == 0 { // the gate names no tests: what the sources show is all there is
		for _, t := range s.added {
			if len(s.tests[t.Name]) == 0 {
				out = append(out, t.Name)
			}
		}
	}
	return out
}

// takesPlace reports whether a test is in a file that lost tests of which nothing says that they are gone: it
// is what they were regrouped into.
func (s *Survey) takesPlace(name string) bool {
	for _, n := range namesOf(name) {
		for _, p := range s.kept[n] {
			if s.regrouped[p] {
				return true
			}
		}
	}
	return false
}

// changedTests returns the tests that a gate ran on base and candidate, that pass now and that the candidate
// changed.
func (s *Survey) changedTests(own, base *pawl.GateReport) []string {
	if base == nil {
		return nil
	}
	had, changed := map[string]bool{}, map[string]bool{}
	for _, t := range base.Tests {
		had[t.Name] = true
	}
	for _, t := range s.added {
		changed[t.Name] = true
	}
	var out []string
	for _, t := range own.Tests {
		if t.Status == pawl.TestPass && had[t.Name] && !report.IsWhole(t.Name) && isAdded(changed, t.Name) {
			out = append(out, t.Name)
		}
	}
	return out
}

func isAdded(added map[string]bool, name string) bool {
	return slices.ContainsFunc(namesOf(name), func(n string) bool { return added[n] })
}

// proof returns how many new and changed tests fail, or do not build, on the base's code. It raises it if there
// are new ones and none of them does.
func (w *weighing) proof(gate string, own *pawl.GateReport) int {
	tests, changed := w.newTests(own, w.r.Base[gate]), w.changedTests(own, w.r.Base[gate])
	if len(tests)+len(changed) == 0 {
		return 0
	}
	if len(w.touched(nil, pawl.ClassCode)) == 0 {
		if len(w.touched(nil, pawl.ClassVendored, pawl.ClassDependency)) > 0 {
			if len(tests) > 0 {
				w.remark("only code of others changed: it was not reverted to try %s", counted(len(tests), "new test"))
			}
			return 0
		}
		if len(tests) > 0 {
			w.remark("no code changed: what the code already does is described by %s", counted(len(tests), "new test"))
		}
		return 0
	}
	there := w.r.On[pawl.TreeReverted][gate]
	switch {
	case there == nil || there.Partial:
		return 0
	case len(own.Tests) == 0 && own.RedAtBase:
		return 0 // it is red with the change as well, and says no more
	case there.Verdict != pawl.VerdictPass && len(report.Failing(there)) == 0:
		return len(tests) + len(changed) // without the code they do not build, or are nothing
	}
	passed := map[string]bool{}
	for _, t := range there.Tests {
		passed[t.Name] = t.Status == pawl.TestPass
	}
	fail := func(names []string) int {
		n := 0
		for _, name := range names {
			if len(own.Tests) > 0 && !passed[name] || slices.ContainsFunc(report.Failing(there), func(t string) bool { return slices.Contains(namesOf(t), name) }) {
				n++
			}
		}
		return n
	}
	n := fail(tests)
	if n == 0 && len(tests) > 0 {
		text := "new tests pass on the base's code too, so they do not show what the change does"
		if len(own.Tests) == 0 {
			text = "the gate passes on the base's code too, with the new tests, and shows no single tests: nothing shows what the change does"
		}
		w.raise(pawl.Finding{Kind: pawl.FindProvesNothing, Path: w.addedIn(tests), Tests: tests, Text: text})
	}
	return n + fail(changed)
}

// addedIn returns the file of the first of new tests.
func (w *weighing) addedIn(tests []string) string {
	for _, name := range tests {
		for _, t := range w.added {
			if slices.Contains(namesOf(name), t.Name) {
				return t.Path
			}
		}
	}
	return ""
}

// flaky raises the flaky tests that the candidate added or changed. A gate excuses those that the base
// has; what made one of them flaky may be the candidate.
func (w *weighing) flaky(own *pawl.GateReport) {
	for _, name := range own.Flaky {
		for _, p := range w.addedAs(name) {
			w.raise(pawl.Finding{Kind: pawl.FindFlaky, Path: p, Tests: []string{name},
				Text: "a test that is new or changed failed once and passed once on the same commit", Detail: w.diffOf(p)})
		}
	}
}

// addedAs returns the files with an added or changed test that a report may give this name. If there
// are several, those that the name says it is in.
func (w *weighing) addedAs(name string) []string {
	names := namesOf(name)
	var found []string
	for _, t := range w.added {
		if slices.Contains(names, t.Name) && !slices.Contains(found, t.Path) {
			found = append(found, t.Path)
		}
	}
	return inPlace(name, found)
}

// expectations compares a gate's verdict on the candidate with the one with the base's expectations.
func (w *weighing) expectations(g *pawl.GateSpec, own *pawl.GateReport) {
	there := w.r.On[pawl.TreeExpected][g.Name]
	switch {
	case there == nil:
		return
	case there.Partial:
		w.static = true
		if !w.unended(g, there) {
			w.remark("gate %s gave no verdict with the base's expectations: %s", g.Name, there.Reason)
		}
		return
	}
	known := w.compareInputs(g, own, there)
	if judges := w.touched(hadIt, pawl.ClassGateInput); there.Verdict == pawl.VerdictPass && len(judges) > 0 && !w.leavesCode() {
		w.remark("gate %s was not judged with the base's %s: no code of the candidate is left there", g.Name, listed(judges))
	}
	if g.Kind != pawl.GateTests || there.Verdict == pawl.VerdictPass {
		return
	}
	bad := report.Failing(there)
	red := report.Failing(own)
	bad = slices.DeleteFunc(bad, func(name string) bool { return slices.Contains(red, name) })
	if len(bad) == 0 && len(red) > 0 && there.Failed <= own.Failed {
		return // no more than what fails on the base as well
	}
	if len(bad) == 0 && there.Failed > own.Failed && w.unnamed(g.Name, there, own.Failed) {
		return
	}
	if len(bad)+len(red) == 0 && there.Passed+there.Failed == 0 && own.Verdict == pawl.VerdictPass && !w.excused(there.Output) {
		text := fmt.Sprintf("gate %s fails: %s", g.Name, there.Reason)
		if w.blame(pawl.FindExpectation, "with the base's file "+text, w.silent(there.Output)...) || known != nil || w.blame(pawl.FindExpectation, "without it "+text, w.suspects("")...) {
			return // it shows no more than that it fails
		}
	}
	if len(bad) == 0 || slices.ContainsFunc(bad, report.IsWhole) {
		w.static = true
		w.remark("gate %s cannot be run with the base's expectations, so the sources of its tests are compared: %s", g.Name, there.Reason)
	}
	other := map[string]bool{} // files whose tests are written for other code
	for _, name := range bad {
		if w.misfits(there, name) {
			w.static = true
			for _, p := range w.expectedIn(name) {
				other[p] = true
			}
		}
	}
	for _, name := range bad {
		files, output := w.expectedIn(name), outputOf(there, name)
		switch left := w.leftOut(output); {
		case w.lost[local(name)], len(w.files(name)) == 0 && w.isNewCase(g.Name, name):
		case len(left) > 0:
			w.without(name, left)
		case report.IsWhole(name):
			if w.onlyAdds() && !w.excused(output) {
				w.without(name, w.suspects(name))
			}
		case len(w.parts[name]) > 0: // a whole file, of which no test ran
			w.static = true
		case w.misfits(there, name), len(files) > 0 && other[files[0]]: // its source is compared
		case len(files) == 0:
			if !slices.Contains(known, name) && !w.without(name, w.suspects(name)) {
				w.remark("test %s fails with the base's expectations, and nothing that it is known to use changed: it may be flaky", name)
			}
		default:
			for _, p := range files {
				w.raise(pawl.Finding{Kind: pawl.FindExpectation, Path: p, Tests: []string{name},
					Text: "with the base's file the candidate fails", Detail: w.diffOf(p)})
			}
		}
	}
}

// outputOf returns what a gate printed about a test, or all that it printed if the tests did not run.
func outputOf(r *pawl.GateReport, name string) string {
	i := slices.IndexFunc(r.Tests, func(t pawl.TestResult) bool { return t.Name == name })
	switch {
	case i >= 0 && r.Tests[i].Output != "":
		return r.Tests[i].Output
	case report.IsWhole(name):
		return r.Output
	}
	return ""
}

// isNewCase reports whether a test that fails with the base's expectations is none of the base's, which all
// passed: the code makes the cases of some tests.
func (w *weighing) isNewCase(gate, name string) bool {
	base := w.r.Base[gate]
	return base != nil && !report.IsWhole(name) && base.Verdict == pawl.VerdictPass && len(base.Tests) > 0 &&
		!slices.ContainsFunc(base.Tests, func(t pawl.TestResult) bool { return t.Name == name })
}

// without raises that a test of the base fails without added files, and reports whether there are any.
func (w *weighing) without(test string, files []string) bool {
	for _, p := range files {
		text := "without it a test of the base fails"
		if i := slices.IndexFunc(w.standIns, func(in standIn) bool { return in.path == p }); i >= 0 {
			text = "without it the candidate fails: " + w.standIns[i].why
		}
		w.raise(pawl.Finding{Kind: pawl.FindExpectation, Path: p, Tests: []string{test}, Text: text, Detail: w.diffOf(p)})
	}
	return len(files) > 0
}

// unended raises that a gate does not end with the base's expectations, if that may be because of a changed file
// whose source does not say what it expects, and reports whether it did.
func (w *weighing) unended(g *pawl.GateSpec, there *pawl.GateReport) bool {
	text := fmt.Sprintf("with the base's file gate %s gives no verdict: %s", g.Name, there.Reason)
	raised := w.blame(pawl.FindGateInput, text, w.touched(nil, pawl.ClassGateInput)...)
	if g.Kind == pawl.GateTests {
		raised = w.blame(pawl.FindExpectation, text, w.silent(there.Output)...) || raised
		if !raised && len(w.touched(hadIt, pawl.ClassTest)) == 0 {
			raised = w.blame(pawl.FindExpectation, fmt.Sprintf("without it gate %s gives no verdict: %s", g.Name, there.Reason), w.suspects("")...)
		}
	}
	return raised
}

// silent returns the changed files of what the base expects whose source does not say it, besides gate inputs:
// test support, or else tests of which a comparison of the sources shows nothing, because their language is not
// known or they expect something outside of tests that have a name. The latter are left out if output is that of
// tests that do not fit the code, or a compiler may have refused them.
func (w *weighing) silent(output string) []string {
	if files := w.touched(hadIt, pawl.ClassSupport); len(files) > 0 {
		return files
	}
	return w.touched(func(f *pawl.FileChange) bool {
		_, known := source.Tests(source.File{Path: f.Path, Data: f.Old.Data})
		shown := slices.ContainsFunc(w.changes, func(c source.Change) bool { return c.Path == f.Path })
		return hadIt(f) && (!known || !shown && isInterpreted(f.Path) && !misfit.MatchString(output))
	}, pawl.ClassTest)
}

// blame raises a finding for each of the files, and reports whether there are any.
func (w *weighing) blame(kind pawl.FindingKind, text string, files ...string) bool {
	for _, p := range files {
		w.raise(pawl.Finding{Kind: kind, Path: p, Text: text, Detail: w.diffOf(p)})
	}
	return len(files) > 0
}

// unnamed raises what fails with the base's expectations where the runner only counts tests, and reports
// whether there is anything: it may be any of the changed files that a compiler looks at, or that are data.
// red is how many tests fail anyway.
func (w *weighing) unnamed(gate string, there *pawl.GateReport, red int) bool {
	compares := func(f *pawl.FileChange) bool { return hadIt(f) && !isInterpreted(f.Path) }
	files := w.touched(compares, pawl.ClassSupport)
	if len(files) == 0 {
		files = w.touched(compares, pawl.ClassTest)
	}
	for _, p := range files {
		w.raise(pawl.Finding{Kind: pawl.FindExpectation, Path: p, Text: fmt.Sprintf("with the base's file %d more tests of gate %s fail", there.Failed-red, gate), Detail: w.diffOf(p)})
	}
	return len(files) > 0
}

// isInterpreted reports whether a source may not fit the code without anybody noticing before it runs.
func isInterpreted(p string) bool {
	return moduleLanguage(p) != "" || slices.Contains([]string{".rb", ".php", ".sh", ".bash", ".bats", ".pl", ".lua"}, path.Ext(p))
}

// misfit matches the errors by which a test of an interpreted language fails that does not fit the
// code: a compiler would have refused it.
var misfit = pattern.Of(`(?m)\b(?:TypeError: .*(?:argument|positional|keyword|is not a (?:function|constructor))|AttributeError|ImportError|ModuleNotFoundError|NameError|ReferenceError|SyntaxError)\b|Cannot find module|does not provide an export|Promise \{|\[object Promise\]|<coroutine object`)

// misfits reports whether a test fails because it does not fit the code. Where the candidate has changed the
// test, its source is compared too; for any other one the error has to be at what the code declares anew.
func (w *weighing) misfits(r *pawl.GateReport, name string) bool {
	i := slices.IndexFunc(r.Tests, func(t pawl.TestResult) bool { return t.Name == name })
	if i < 0 {
		return false
	}
	if len(w.files(name)) > 0 {
		return misfit.MatchString(r.Tests[i].Output)
	}
	return w.excused(r.Tests[i].Output)
}

// expectedIn returns the changed files that say what a test of the base expects.
func (w *weighing) expectedIn(name string) []string {
	files := w.files(name)
	if len(files) == 0 {
		files = w.near(name, w.touched(hadIt, pawl.ClassSupport))
	}
	if len(files) == 0 && len(w.touched(nil, pawl.ClassGateInput)) == 0 {
		files = w.touched(func(f *pawl.FileChange) bool {
			return hadIt(f) && source.SharesChanges(source.File{Path: f.Path, Data: f.Old.Data}, source.File{Path: f.Path, Data: f.New.Data})
		}, pawl.ClassTest)
		if shared := w.placedWith(name, files); len(shared) > 0 || slices.ContainsFunc(files, func(p string) bool { return path.Ext(p) == ".go" }) {
			files = shared // no package of Go uses tests of another one
		}
	}
	return files
}

// near returns those of the files that are in the place of a test, or all of them.
func (w *weighing) near(name string, files []string) []string {
	if found := w.placedWith(name, files); len(found) > 0 {
		return found
	}
	return files
}

// placedWith returns those of the files that are in the place of a test, or in a folder above it; files at
// the root are in that of tests of the module itself.
func (w *weighing) placedWith(name string, files []string) []string {
	place, _ := report.Split(name)
	var near []string
	for _, p := range files {
		if path.Dir(p) == "." && path.Ext(p) == ".go" && w.isModule(place) {
			near = append(near, p)
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if strings.HasSuffix(path.Dir(place), dir) || strings.HasSuffix(place, dir) {
				near = append(near, p)
				break
			}
		}
	}
	return near
}

// moduleLine matches the line of a go.mod that names the module.
var moduleLine = pattern.Of(`(?m)^module[ \t]+"?([^\s"]+)`)

// isModule reports whether a place is the package at the root of the module of Go, as far as is known.
func (w *weighing) isModule(place string) bool {
	m := moduleLine.FindSubmatch(w.c.Read("go.mod", true))
	return m == nil || string(m[1]) == place
}

// onlyBuild reports whether files only build the code: they are parts of it as much as inputs of a gate.
func onlyBuild(inputs []string) bool {
	return !slices.ContainsFunc(inputs, func(p string) bool { return path.Base(p) != "build.rs" && path.Base(p) != "setup.py" })
}

// unbuilt reports whether a gate that has results of tests on the candidate has none on another tree: it
// did not get as far as running them.
func unbuilt(own, there *pawl.GateReport) bool {
	return own.Passed+own.Failed > 0 && there.Passed+there.Failed == 0
}

// compareInputs looks whether changed gate inputs are why a gate says something else, and returns the tests of
// which it does. They are not nil if it found that.
func (w *weighing) compareInputs(g *pawl.GateSpec, own, there *pawl.GateReport) []string {
	inputs := w.touched(nil, pawl.ClassGateInput)
	if len(inputs) == 0 {
		return nil
	}
	var why string
	names := map[string]pawl.TestStatus{} // also by their local names: a test may be in another file
	for _, t := range own.Tests {
		if names[local(t.Name)] != pawl.TestPass {
			names[local(t.Name)] = t.Status
		}
	}
	for _, t := range own.Tests {
		names[t.Name] = t.Status
	}
	var tests []string
	for _, t := range there.Tests {
		status, ran := names[t.Name]
		if !ran {
			status, ran = names[local(t.Name)]
		}
		changed := len(w.files(t.Name)) > 0
		switch {
		case report.IsWhole(t.Name) || t.Status == pawl.TestSkip:
		case changed && (ran && status != pawl.TestSkip || !w.isKept(t.Name)):
		case !ran, status == pawl.TestSkip:
			tests, why = append(tests, t.Name), "tests that the base's runs are not run"
		case t.Status == pawl.TestFail && status == pawl.TestPass && len(w.touched(hadIt, pawl.ClassSupport)) == 0 && !w.excused(t.Output):
			tests, why = append(tests, t.Name), "with the base's, tests fail that pass with the candidate's"
		}
	}
	if why == "" && there.Verdict != pawl.VerdictPass && own.Verdict == pawl.VerdictPass && (g.Kind != pawl.GateTests || len(report.Failing(there)) == 0) && !(onlyBuild(inputs) && unbuilt(own, there)) && !w.excused(there.Output) {
		why = "with the base's, gate " + g.Name + " fails: " + there.Reason
	}
	if why == "" {
		return nil
	}
	for _, p := range inputs {
		w.raise(pawl.Finding{Kind: pawl.FindGateInput, Path: p, Tests: tests, Text: why, Detail: w.diffOf(p)})
	}
	return append([]string{}, tests...)
}

// sources adds what the sources of tests show and a run cannot.
func (w *weighing) sources() {
	for _, c := range w.changes {
		switch {
		case c.Sometimes && w.ran(c.Test):
			w.remark("test %q of %s is skipped under another condition than on the base; here it ran", c.Test, c.Path)
			continue
		case c.Kind == pawl.FindRemovedTest && (w.named || !w.isGone(&c)), c.Kind == pawl.FindExpectation && !w.static, w.lost[c.Test]:
			continue
		}
		w.raise(pawl.Finding{Kind: c.Kind, Path: c.Path, Tests: []string{c.Test}, Text: c.Text, Detail: c.Detail})
	}
	for _, c := range w.docs {
		if c.Kind == pawl.FindExpectation && w.runsFile(c.Path) {
			w.raise(pawl.Finding{Kind: c.Kind, Path: c.Path, Tests: []string{c.Test}, Text: c.Text, Detail: c.Detail})
		}
	}
}

// ran reports whether a test that a source names passed on the candidate.
func (w *weighing) ran(test string) bool {
	passed, _ := passes(w.r.Own, test)
	return passed
}

// runsFile reports whether a gate runs tests that it names by this file.
func (w *weighing) runsFile(file string) bool {
	for _, own := range w.r.Own {
		if slices.ContainsFunc(own.Tests, func(t pawl.TestResult) bool { return strings.Contains(t.Name, file) }) {
			return true
		}
	}
	return false
}

// stronger are the kinds of findings that say more of the same change than a kind does: that a verdict changes with a
// file, or that it is set up before every test, says less than which expectation it changes.
var stronger = map[pawl.FindingKind][]pawl.FindingKind{
	pawl.FindGateInput: {pawl.FindExpectation},
	pawl.FindSetUp:     {pawl.FindExpectation, pawl.FindGateInput},
}

// once leaves out what a stronger finding says of the same change. A file of tests may have changed twice.
func (w *weighing) once(found []pawl.Finding) []pawl.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f pawl.Finding) bool {
		if f.Path == "" || w.has(f.Path, pawl.ClassTest) {
			return false
		}
		return slices.ContainsFunc(found, func(o pawl.Finding) bool { return o.Path == f.Path && slices.Contains(stronger[f.Kind], o.Kind) })
	})
}

// grouped joins findings of one kind and path, and gives each a print of its content.
func grouped(found []pawl.Finding) []pawl.Finding {
	type key struct {
		kind pawl.FindingKind
		path string
	}
	groups := map[key]*pawl.Finding{}
	var order []key
	for _, f := range found {
		k := key{f.Kind, f.Path}
		g := groups[k]
		if g == nil {
			groups[k] = &f
			order = append(order, k)
			continue
		}
		g.Tests = append(g.Tests, f.Tests...)
		if f.Detail != "" && !strings.Contains(g.Detail, f.Detail) {
			g.Detail += "\n" + f.Detail
		}
	}
	out := make([]pawl.Finding, 0, len(order))
	for _, k := range order {
		f := *groups[k]
		f.Tests = slices.Compact(slices.Sorted(slices.Values(f.Tests)))
		f.Print = fingerprint(&f)
		f.Detail = cut(f.Detail)
		out = append(out, f)
	}
	return out
}

// fingerprint returns a hash (FNV-1a) of what a finding is about.
func fingerprint(f *pawl.Finding) uint64 {
	h := fnv.New64a()
	for _, s := range slices.Concat([]string{string(f.Kind), f.Path, f.Detail}, f.Tests) {
		_, _ = h.Write([]byte(s))
		_, _ = h.Write([]byte{0})
	}
	return max(h.Sum64(), 1)
}

// maxDetail bounds the bytes of a finding's detail.
const maxDetail = 4000

func cut(s string) string {
	if len(s) <= maxDetail {
		return s
	}
	return strings.ToValidUTF8(s[:maxDetail], "") + "\n…"
}

func (w *weighing) diffOf(name string) string {
	for i := range w.c.Files {
		if f := &w.c.Files[i]; f.Path == name {
			return diff(f)
		}
	}
	return ""
}

// diff returns how a file changed.
func diff(f *pawl.FileChange) string {
	switch {
	case f.Old.Exists() && f.Old.Data == nil || f.New.Exists() && f.New.Data == nil:
		return "it is too large to show, or not a file: " + f.Old.Object + " → " + f.New.Object
	case isBinary(f.Old.Data) || isBinary(f.New.Data):
		return "binary: " + f.Old.Object + " → " + f.New.Object
	}
	return udiff.Unified("a/"+f.Path, "b/"+f.Path, string(f.Old.Data), string(f.New.Data))
}

func isBinary(data []byte) bool { return slices.Contains(data[:min(len(data), 8000)], 0) }
