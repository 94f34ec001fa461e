package evidence

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/evidence/source"
	"pawl/internal/gate/report"
)

// GoalSearch is what is known when it is asked which tests that were red at the base the goal is about.
type GoalSearch struct {
	// Survey is of the candidate, or of the base where the work has not started.
	Survey *Survey
	// Asked is everything that was asked of the loop: the goal and the criteria, or the task.
	Asked string
	// Root reports that the loop is the run's own: what its user requires binds it and not its tasks.
	Root bool
	// Picked are tests that were picked when the request was assessed, as [pawl.GoalTest.String] has them.
	Picked []string
	// Excluded are those that are no goal tests whatever else says so, by their names or the end of these.
	Excluded []string
	// Done are goal tests that others have made green before the loop began, though the base's reports have them red.
	Done []pawl.GoalTest
	// Known are the goal tests that are known.
	Known []pawl.GoalTest
	// Base, Own and Again are the reports of the gates on the base, on the candidate, and on the
	// candidate once more, by their names. Own and Again are nil where the work has not started.
	Base, Own, Again map[string]*pawl.GateReport
	// Findings are those in the candidate, where Examined is set; Examines reports that it will be.
	Findings           []pawl.Finding
	Examined, Examines bool
}

// Goals are the goal tests that were found.
type Goals struct {
	Tests  []pawl.GoalTest // all of them, the strong ones first
	Picked []pawl.GoalTest // those of them that were not known
	Red    []pawl.GoalTest // those that the candidate has red, the strong ones first
	// Again are the gates that have to run once more, because tests which the candidate mended become
	// goal tests if they stay green.
	Again []string
	// Unsure reports that mended tests become goal tests only if nothing is found in the candidate.
	Unsure bool
	// Flaky are tests that the candidate mended and that were red when they ran once more.
	Flaky []pawl.GoalTest
}

// Goals returns the goal tests.
func (g *GoalSearch) Goals() Goals {
	p := &picking{GoalSearch: g, why: map[pawl.GoalTest]pawl.GoalReason{}}
	p.w = &weighing{Survey: g.Survey, r: &Reports{Own: g.Own, Base: g.Base}}
	for _, gate := range g.Survey.c.Gates {
		p.red = append(p.red, report.Red(gate.Name, g.Base[gate.Name])...)
	}
	p.red = slices.DeleteFunc(p.red, p.isDone)
	for _, t := range g.Known {
		p.add(t, t.Why)
	}
	p.named()
	p.mended()
	p.beside()
	return p.found()
}

type picking struct {
	*GoalSearch
	w      *weighing
	red    []pawl.GoalTest                   // at the base; without a reason
	why    map[pawl.GoalTest]pawl.GoalReason // of the goal tests
	again  []string
	unsure bool
	files  map[string][]string // of the base's tests, by the names that sources give them; nil = not read
}

// bare returns a test without its reason.
func bare(t pawl.GoalTest) pawl.GoalTest { return pawl.GoalTest{Gate: t.Gate, Name: t.Name} }

// reasons are in order of their strength.
var reasons = []pawl.GoalReason{pawl.GoalRequired, pawl.GoalAsked, pawl.GoalPicked, pawl.GoalMended, pawl.GoalFile, pawl.GoalBeside}

// add makes a test a goal test, for the stronger reason if it is one.
func (p *picking) add(t pawl.GoalTest, why pawl.GoalReason) {
	t = bare(t)
	if p.excludes(t) || p.isDone(t) || p.isFlaky(t) {
		return
	}
	if had, ok := p.why[t]; !ok || slices.Index(reasons, why) < slices.Index(reasons, had) {
		p.why[t] = why
	}
}

func (p *picking) excludes(t pawl.GoalTest) bool {
	return slices.ContainsFunc(p.Excluded, func(name string) bool {
		gate, test, ok := strings.Cut(name, "=")
		return isTest(t, name) || ok && gate == t.Gate && isTest(t, test)
	})
}

// isDone reports whether a test was green where the loop began.
func (p *picking) isDone(t pawl.GoalTest) bool {
	return slices.ContainsFunc(p.Done, func(o pawl.GoalTest) bool { return bare(o) == bare(t) })
}

// isTest reports whether a person means a test by a name: the whole one, its local part, or that of a test
// around it. The gate as one test has the gate's name.
func isTest(t pawl.GoalTest, name string) bool {
	if t.Name == "" {
		return name == t.Gate
	}
	return t.Name == name || local(t.Name) == name || strings.HasPrefix(t.Name, name+"/") || strings.HasPrefix(local(t.Name), name+"/")
}

// isFlaky reports whether a test comes out both ways on one tree.
func (p *picking) isFlaky(t pawl.GoalTest) bool {
	for _, r := range []*pawl.GateReport{p.Base[t.Gate], p.Own[t.Gate], p.Again[t.Gate]} {
		if r != nil && t.Name != "" && slices.Contains(r.Flaky, t.Name) {
			return true
		}
	}
	return p.flips(t)
}

// flips reports whether a test is green on the candidate and red when it runs there once more.
func (p *picking) flips(t pawl.GoalTest) bool {
	own, again := p.Own[t.Gate], p.Again[t.Gate]
	return own != nil && again != nil && !again.Partial && p.isGreen(own, t) && !p.isGreen(again, t)
}

// isGreen reports whether a report has a test green. What could not be built is green if tests in its
// place pass and none fails. See [picking.ran] for runners that name no tests that pass.
func (p *picking) isGreen(r *pawl.GateReport, t pawl.GoalTest) bool {
	if t.Name == "" {
		return r.Verdict == pawl.VerdictPass && !r.RedAtBase
	}
	place := t.Name
	if report.IsWhole(t.Name) {
		place = t.Name[:strings.LastIndex(t.Name, " [")]
	}
	named, passed := false, false
	is := func(o pawl.TestResult) bool {
		return o.Name == t.Name || local(o.Name) == local(t.Name) && !report.IsWhole(t.Name)
	}
	if !slices.ContainsFunc(r.Tests, is) { // a person may name a test around others, which a gate does not show
		is = func(o pawl.TestResult) bool { return isTest(pawl.GoalTest{Gate: t.Gate, Name: o.Name}, t.Name) }
	}
	for _, o := range r.Tests {
		same := is(o)
		within := report.IsWhole(t.Name) && (o.Name == t.Name || report.Within(o.Name, place) || strings.HasPrefix(o.Name, place+" ["))
		switch {
		case !same && !within:
		case o.Status == pawl.TestFail:
			return false
		default:
			named, passed = true, passed || o.Status == pawl.TestPass
		}
	}
	return passed || !named && p.isKnown(t) && p.ran(r, t)
}

// isKnown reports whether a test is there at the base. One that is yet to be written has run only where a
// report names it.
func (p *picking) isKnown(t pawl.GoalTest) bool {
	return slices.ContainsFunc(p.red, func(o pawl.GoalTest) bool { return bare(o) == bare(t) }) || p.isOnBase(t) || len(p.filesOf(t)) > 0
}

// ran reports whether a test that a report does not name must have passed: its runner does not name those that
// do, the tests beside it ran or nothing failed at all, and no source says that it is gone.
func (p *picking) ran(r *pawl.GateReport, t pawl.GoalTest) bool {
	gone := func(c source.Change) bool {
		return (c.Kind == pawl.FindRemovedTest || c.Kind == pawl.FindSkippedTest) && slices.Contains(namesOf(t.Name), c.Test)
	}
	lost := slices.ContainsFunc(r.Lost, func(o pawl.LostTest) bool { return o.Name == t.Name })
	if r.Partial || lost || r.Fewer > 0 || slices.ContainsFunc(p.Survey.changes, gone) {
		return false
	}
	at, _ := report.Split(t.Name)
	crashed := strings.Contains(r.Output, "panic: ") // what follows a panic does not run
	for _, o := range r.Tests {
		place, _ := report.Split(o.Name)
		around := o.Status == pawl.TestPass && report.Within(t.Name, o.Name) // a package without -v, as one result
		if around || !r.Complete && !crashed && o.Status == pawl.TestFail && place == at && !report.IsWhole(o.Name) {
			return true
		}
	}
	return !r.Complete && r.Verdict == pawl.VerdictPass && !r.RedAtBase && r.Failed == 0 && r.Passed > 0
}

// named adds the tests that the user, the goal or the assessment names, and those whose file the goal
// names.
func (p *picking) named() {
	for _, g := range p.Survey.c.Gates {
		for _, t := range p.red {
			if p.Root && t.Gate == g.Name && (g.RequireGreen || slices.ContainsFunc(g.Green, func(name string) bool { return isTest(t, name) })) {
				p.add(t, pawl.GoalRequired)
			}
		}
		for _, name := range g.Green {
			if t := (pawl.GoalTest{Gate: g.Name, Name: name}); p.Root && p.Base[g.Name] != nil && !p.isOnBase(t) {
				p.add(t, pawl.GoalRequired)
			}
		}
	}
	for _, t := range p.red {
		within := p.namedWithin(t)
		for _, name := range within {
			p.add(pawl.GoalTest{Gate: t.Gate, Name: name}, pawl.GoalAsked)
		}
		switch {
		case len(within) > 0:
		case p.asks(t):
			p.add(t, pawl.GoalAsked)
		case p.Root && slices.Contains(p.Picked, t.String()):
			p.add(t, pawl.GoalPicked)
		case t.Name != "" && slices.ContainsFunc(p.filesOf(t), func(f string) bool { return Names(p.Asked, f) }):
			p.add(t, pawl.GoalFile)
		}
	}
}

// isOnBase reports whether a gate shows a test at the base, or one around or within it.
func (p *picking) isOnBase(t pawl.GoalTest) bool {
	base := p.Base[t.Gate]
	return base != nil && slices.ContainsFunc(base.Tests, func(o pawl.TestResult) bool { return isTest(pawl.GoalTest{Gate: t.Gate, Name: o.Name}, t.Name) })
}

// namedWithin returns the tests that what was asked for names and that a gate shows nothing of at the base,
// because their package or file could not be built there.
func (p *picking) namedWithin(t pawl.GoalTest) []string {
	if !report.IsWhole(t.Name) || p.Survey.c.Contents == nil {
		return nil
	}
	place := t.Name[:strings.LastIndex(t.Name, " [")]
	var out []string
	for name, files := range p.baseTests(p.testPaths()) {
		in := slices.ContainsFunc(files, func(f string) bool {
			return place == f || path.Dir(f) == "." || strings.HasSuffix("/"+place, "/"+path.Dir(f)) || strings.HasSuffix("/"+place, "/"+f)
		})
		shown := slices.ContainsFunc(p.Base[t.Gate].Tests, func(o pawl.TestResult) bool { return local(o.Name) == name })
		if in && !shown && namesTest(p.Asked, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// asks reports whether what was asked for names a test.
func (p *picking) asks(t pawl.GoalTest) bool {
	if t.Name == "" {
		return namesTest(p.Asked, t.Gate) || p.namesUnbuilt(t.Gate)
	}
	if report.IsWhole(t.Name) {
		return p.namesUnbuilt(t.Gate)
	}
	return slices.ContainsFunc(append(namesOf(t.Name), t.Name), func(name string) bool { return namesTest(p.Asked, name) })
}

// namesUnbuilt reports whether what was asked for names a file of tests that a gate says it could not
// build.
func (p *picking) namesUnbuilt(gate string) bool {
	base := p.Base[gate]
	for _, f := range p.Survey.c.Paths() {
		if p.Survey.holdsTests(f) && Names(p.Asked, f) && Names(base.Output+"\n"+base.Reason+"\n"+base.Error, f) {
			return true
		}
	}
	return false
}

// Names reports whether a text names a file, by its path or by its name.
func Names(text, file string) bool {
	return mentions(text, file) || len(path.Base(file)) > minMention && mentions(text, path.Base(file))
}

// quotes are what may stand around a test's name in a goal.
const quotes = "\"'`“”‘’«»"

// namesTest reports whether a text has a test's name in it as a whole word that is quoted or is no plain
// word: test names are often words that a goal has anyway.
func namesTest(text, name string) bool {
	if name == "" {
		return false
	}
	special := isSpecial(name)
	return contains(text, name, func(before, after string) bool {
		if before != "" && isWordByte(before[len(before)-1]) || after != "" && isWordByte(after[0]) {
			return false
		}
		return special || isQuoted(before, after)
	})
}

func isQuoted(before, after string) bool {
	return slices.ContainsFunc([]rune(quotes), func(r rune) bool { return strings.HasSuffix(before, string(r)) }) &&
		slices.ContainsFunc([]rune(quotes), func(r rune) bool { return strings.HasPrefix(after, string(r)) })
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// isSpecial reports whether a name is no plain word: it has a sign that words do not have or a digit beside
// letters, or is one like TestLogin.
func isSpecial(name string) bool {
	if strings.ContainsAny(name, " ") {
		return false // a phrase, which the goal may have anyway
	}
	letters := strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 })
	if letters && strings.ContainsAny(name, "_./:0123456789") {
		return true
	}
	rest, isTest := strings.CutPrefix(strings.ToLower(name), "test")
	return isTest && rest != "" && name[4] >= 'A' && name[4] <= 'Z'
}

// mended adds the tests that the candidate mended. They must be as on the base, nothing may be found in
// the candidate that is about them, and they must stay green. Those that are weak goal tests need not be tried
// where all goal tests are green.
func (p *picking) mended() {
	done := !slices.ContainsFunc(p.Known, func(k pawl.GoalTest) bool { return !p.isGreen(cmp.Or(p.Own[k.Gate], &pawl.GateReport{}), k) })
	for _, t := range p.red {
		own := p.Own[t.Gate]
		if why, known := p.why[t]; known && (done || !why.IsWeak()) || own == nil || !p.isGreen(own, t) || p.excludes(t) || p.isChanged(t) {
			continue
		}
		switch again := p.Again[t.Gate]; {
		case p.isFound(t):
		case !p.Examined && p.Examines && p.isTouched():
			p.unsure = true
		case again == nil:
			if !slices.Contains(p.again, t.Gate) {
				p.again = append(p.again, t.Gate)
			}
		case again != nil && !again.Partial && p.isGreen(again, t):
			p.add(t, pawl.GoalMended)
		}
	}
}

// isChanged reports whether the candidate changed a test: the file that it is in, or, of a gate as one test,
// any file of tests or of what they need.
func (p *picking) isChanged(t pawl.GoalTest) bool {
	if t.Name == "" || report.IsWhole(t.Name) {
		return len(p.Survey.touched(nil, pawl.ClassTest, pawl.ClassSupport, pawl.ClassGateInput)) > 0
	}
	return len(p.w.files(t.Name)) > 0
}

// isTouched reports whether the candidate changed anything that its gates look at besides the code.
func (p *picking) isTouched() bool {
	return len(p.Survey.standIns)+len(p.Survey.touched(nil, pawl.ClassTest, pawl.ClassSupport, pawl.ClassGateInput, pawl.ClassVendored)) > 0
}

// isFound reports whether something was found in the candidate that is about a test.
func (p *picking) isFound(t pawl.GoalTest) bool {
	return slices.ContainsFunc(p.Findings, func(f pawl.Finding) bool {
		switch f.Kind {
		case pawl.FindPolicy, pawl.FindSecret, pawl.FindProvesNothing:
			return false
		}
		return len(f.Tests) == 0 || t.Name == "" || slices.ContainsFunc(f.Tests, func(name string) bool { return local(name) == local(t.Name) })
	})
}

// beside adds, where nothing says which tests the goal is about, those that are red at the base in the file,
// or else the suite, of one that an attempt mended. They bind the run and none of its tasks: nobody can say
// which of these they belong to, and a sibling's red test fails no task.
func (p *picking) beside() {
	if !p.Root {
		return
	}
	var mended []pawl.GoalTest
	for t, why := range p.why {
		switch why {
		case pawl.GoalRequired, pawl.GoalAsked, pawl.GoalPicked:
			return
		case pawl.GoalMended:
			mended = append(mended, t)
		}
	}
	for _, t := range p.red {
		if _, known := p.why[t]; known || t.Name == "" {
			continue
		}
		if slices.ContainsFunc(mended, func(m pawl.GoalTest) bool { return m.Gate == t.Gate && p.areTogether(m, t) }) {
			p.add(t, pawl.GoalBeside)
		}
	}
}

// areTogether reports whether two tests of a gate are in one file, or in one suite where it is not known in
// which files they are.
func (p *picking) areTogether(a, b pawl.GoalTest) bool {
	if a.Name == "" || b.Name == "" {
		return true
	}
	in, of := p.filesOf(a), p.filesOf(b)
	if len(in) > 0 && len(of) > 0 {
		return slices.ContainsFunc(in, func(f string) bool { return slices.Contains(of, f) })
	}
	placeA, _ := report.Split(a.Name)
	placeB, _ := report.Split(b.Name)
	return placeA == placeB
}

// filesOf returns the files of the base that a test may be in; none = it is not known.
func (p *picking) filesOf(t pawl.GoalTest) []string {
	if t.Name == "" || p.Survey.c.Contents == nil {
		return nil
	}
	place, _ := report.Split(t.Name)
	paths := p.testPaths()
	for _, f := range paths {
		if place != "" && (place == f || strings.HasSuffix(place, "/"+f) || strings.HasSuffix(f, "/"+place)) {
			return []string{f}
		}
	}
	files := p.baseTests(paths)
	for _, n := range namesOf(t.Name) {
		if found := files[n]; len(found) > 0 {
			return inPlace(t.Name, found)
		}
	}
	return nil
}

// testPaths are the files of the base that hold tests.
func (p *picking) testPaths() []string {
	return slices.DeleteFunc(slices.Clone(p.Survey.c.Paths()), func(f string) bool { return !p.Survey.holdsTests(f) })
}

// baseTests returns the files of the base's tests, of those that hold tests, by the names that the sources give them.
func (p *picking) baseTests(paths []string) map[string][]string {
	if p.files == nil {
		p.files = map[string][]string{}
		size := 0
		p.Survey.c.Contents(paths, func(f string, text []byte) bool {
			tests, _ := source.Tests(source.File{Path: f, Data: text})
			for _, of := range tests {
				p.files[of.Name] = append(p.files[of.Name], f)
			}
			size += len(text)
			return size < maxSearched
		})
	}
	return p.files
}

// found returns what was found, in order.
func (p *picking) found() Goals {
	out := Goals{Again: p.again, Unsure: p.unsure}
	for _, t := range p.red {
		if t.Name != "" && p.flips(t) {
			out.Flaky = append(out.Flaky, t)
		}
	}
	for t, why := range p.why {
		t.Why = why
		out.Tests = append(out.Tests, t)
	}
	slices.SortFunc(out.Tests, func(a, b pawl.GoalTest) int {
		return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(a.Gate, b.Gate), cmp.Compare(a.Name, b.Name))
	})
	for _, t := range out.Tests {
		if !slices.ContainsFunc(p.Known, func(k pawl.GoalTest) bool { return bare(k) == bare(t) }) {
			out.Picked = append(out.Picked, t)
		}
		if own := p.Own[t.Gate]; p.Own != nil && (own == nil || !p.isGreen(own, t)) {
			out.Red = append(out.Red, t)
		}
	}
	return out
}

func weight(t pawl.GoalTest) int {
	if t.Why.IsWeak() {
		return 1
	}
	return 0
}
