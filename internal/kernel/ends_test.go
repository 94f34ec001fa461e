package kernel

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/kernel/brief"
	"pawl/internal/recipe"
	"pawl/internal/testsize"
	"pawl/internal/view"
)

var readEnds = flag.Int("ends", 0, "print so many ends of TestEnds whole, drawn with the number of the turn as the seed")

// situation is one in which a run ends: what is red at the base, what every attempt makes of it, what else the
// gates see, and what was asked for.
type situation struct {
	base   string // what the tests say of the base
	mends  string // which of the red tests every attempt mends; idle = it changes nothing
	added  string // the tests that it adds
	other  string // the gate beside the tests
	judged bool   // somebody judges by the user's criteria
	named  bool   // the goal names the red tests
	recipe string
}

var (
	endBases   = []string{"green", "red", "partly", "unjudged", "unbuilt", "code"}
	endMends   = []string{"none", "some", "all", "breaks", "flaky", "late", "idle"}
	endAdded   = []string{"proven", "unproven", "none"}
	endOthers  = []string{"green", "red", "old", "exit", "none"}
	endRecipes = []string{"pawl", "taskloop", "pandora", "loom", "coherence", "loopr"}
)

// situations are all combinations.
func situations() []situation {
	var out []situation
	for _, r := range endRecipes {
		for _, base := range endBases {
			for _, mends := range endMends {
				for _, added := range endAdded {
					if base == "code" && added == "proven" {
						continue // a gate that names no tests cannot show it
					}
					if mends == "idle" && added != "none" {
						continue
					}
					for _, other := range endOthers {
						for i := range 4 {
							out = append(out, situation{base, mends, added, other, i&1 == 0, i&2 == 0, r})
						}
					}
				}
			}
		}
	}
	return out
}

func (c situation) String() string {
	s := fmt.Sprintf("%s: base %s, attempts mend %s, new tests %s, other gate %s", c.recipe, c.base, c.mends, c.added, c.other)
	if !c.judged {
		s += ", nobody judges"
	}
	if c.named {
		s += ", named"
	}
	return s
}

// In every situation a run ends, and its end is earned: it is not complete with a red goal test, without proof,
// with a gate that gave no verdict, or by criteria that nobody judged; and no line that people see says
// otherwise. F-67 F-69 F-86 F-96
func TestEnds(t *testing.T) {
	t.Parallel()
	all := situations()
	read := rand.New(rand.NewPCG(uint64(testsize.Turn()), 0)).Perm(len(all))[:min(*readEnds, len(all))]
	for i, c := range all {
		if !testsize.Every(i, 97) && !slices.Contains(read, i) {
			continue
		}
		e := endOf(t, c)
		for _, wrong := range e.contradictions() {
			t.Errorf("%s: %s\n%s", c, wrong, e.text)
			break
		}
		if slices.Contains(read, i) {
			t.Logf("situation %d, %s\n%s", i, c, e.text)
		}
		if t.Failed() && testsize.Of(true, true, false) {
			return
		}
	}
}

// end is a run in a situation.
type end struct {
	situation
	*story
	survey  *evidence.Survey
	reports map[pawl.Hash][]byte
	looks   map[pawl.CommitHash]int // how often the tests judged a commit
	text    string                  // all that people are shown
	run     *view.Run
}

// endOf has a run end.
func endOf(t *testing.T, c situation) *end {
	e := &end{situation: c, story: &story{w: newWorld(t), sessions: map[seat]string{}, isStep: map[seat]bool{}}, reports: map[pawl.Hash][]byte{}, looks: map[pawl.CommitHash]int{}}
	e.w.compares = 1 << 20
	e.script = &script{w: e.w}
	e.w.happens = e.happens
	e.world(t, "list: one, two\nlist one: a\nlist two: b\nlist a: code\nlist b: more\n"+
		"task one spec: submits list=one\ntask two spec: submits list=two\ntask a phase: submits list=a\ntask b phase: submits list=b\n"+
		"plan-review: submits decision=APPROVED")
	r, err := recipe.Load(c.recipe)
	if err != nil {
		t.Fatal(err)
	}
	if !c.judged {
		withoutReviews(&r)
	}
	set := settings()
	set.Evidence, set.Limits.Iterations, set.AnswerTime = pawl.EvidenceReview, 0, 24*time.Hour
	two := 2
	set.Complexity = &two
	set.Gates = []pawl.GateSpec{gate("tests")}
	switch c.other {
	case "exit":
		set.Gates = append(set.Gates, gate("smoke"))
	case "none":
	default:
		set.Gates = append(set.Gates, gate("lint"))
	}
	first := started(t, &r, set)
	first.CriteriaGiven = true
	e.survey = e.look(set.Gates)
	e.w.mustTake(Input{Start: &Start{Run: worldRun, Started: first}})
	e.finish()
	e.tell()
	return e
}

// withoutReviews takes everybody away who judges the work and is no command.
func withoutReviews(r *pawl.Recipe) {
	for i := range r.Kinds {
		k := &r.Kinds[i]
		reviews := func(st pawl.Stage) bool { return st.Review != nil }
		k.Gates, k.FinalGates = slices.DeleteFunc(slices.Clone(k.Gates), reviews), slices.DeleteFunc(slices.Clone(k.FinalGates), reviews)
	}
}

// finish answers plans as a person does who wants them, and lets all other questions wait until nobody answers in time.
func (e *end) finish() {
	for e.w.state.Status != pawl.StatusEnded {
		if e.w.land() {
			continue
		}
		q := e.asked()
		switch {
		case q == nil:
			e.w.t.Fatalf("%s: nothing is under way, nothing is asked, and the run has not ended", e.situation)
		case slices.Contains(q.Choices, "approve"):
			e.w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: q.N, Choice: "approve", About: q.About, By: "kim"}}})
		default:
			e.w.mustTake(Input{Unanswered: true})
		}
	}
}

// asked is the question that waits; nil = none does.
func (e *end) asked() *pawl.QuestionAsked {
	open := map[int]*pawl.QuestionAsked{}
	var last *pawl.QuestionAsked
	for _, ev := range e.w.log {
		switch b := ev.Body.(type) {
		case *pawl.QuestionAsked:
			open[b.N] = b
		case *pawl.QuestionAnswered:
			delete(open, b.N)
		}
	}
	for _, q := range open {
		if last == nil || q.N < last.N {
			last = q
		}
	}
	return last
}

const unbuilt = "example.com/shop [build failed]"

// endFiles are the base's, endChanges what an attempt makes of them.
var endFiles = map[string]string{
	"go.mod": "module example.com/shop\n", "shop.go": "package shop\n",
	"a_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Error(1) }\n\nfunc TestB(t *testing.T) { t.Error(1) }\n",
	"c_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestC(t *testing.T) {}\n\nfunc TestD(t *testing.T) {}\n",
}

// look is what evidence knows of every attempt's candidate.
func (e *end) look(gates []pawl.GateSpec) *evidence.Survey {
	now := map[string]string{"shop.go": "package shop\n\nvar Mended = true\n"}
	if e.added != "none" {
		now["new_test.go"] = "package shop\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {}\n"
	}
	state := func(files map[string]string, p string) pawl.FileState {
		if text, is := files[p]; is {
			return pawl.FileState{Kind: pawl.FileRegular, Object: fmt.Sprintf("%x", len(text)), Data: []byte(text)}
		}
		return pawl.FileState{}
	}
	c := &evidence.Candidate{Base: "c0", Commit: "c1", Gates: gates}
	for _, p := range []string{"new_test.go", "shop.go"} {
		if _, is := now[p]; is {
			c.Files = append(c.Files, pawl.FileChange{Path: p, Old: state(endFiles, p), New: state(now, p)})
		}
	}
	c.Read = func(p string, ofBase bool) []byte {
		if text, is := now[p]; is && !ofBase {
			return []byte(text)
		}
		if text, is := endFiles[p]; is {
			return []byte(text)
		}
		return nil
	}
	c.Paths = func() []string { return []string{"a_test.go", "c_test.go", "go.mod", "shop.go"} }
	c.Contents = func(paths []string, see func(string, []byte) bool) {
		for _, p := range paths {
			if !see(p, []byte(endFiles[p])) {
				return
			}
		}
	}
	return evidence.Look(c)
}

// redBase are the tests that are red at the base.
func (e *end) redBase() []string {
	return map[string][]string{"red": {"TestA", "TestB", "TestC", "TestD"}, "partly": {"TestA", "TestB"}, "unbuilt": {unbuilt}}[e.base]
}

// red are the tests that a candidate has red.
func (e *end) red(f *pawl.Effect, commit pawl.CommitHash) []string {
	mends, last := strings.Replace(e.mends, "idle", "none", 1), f.Place.Iteration > 1 || f.Place.Task == "" && len(e.w.state.Loops()) > 1
	if mends == "late" {
		mends = map[bool]string{false: "some", true: "all"}[last]
	}
	red := slices.DeleteFunc(slices.Clone(e.redBase()), func(name string) bool { return mends != "none" && name == unbuilt })
	if e.base == "unbuilt" && mends != "none" {
		red = []string{"TestA", "TestB"}
	}
	flips := func(name string) bool {
		switch mends {
		case "none":
			return false
		case "all":
			return true
		case "flaky":
			return name == "TestB" || e.looks[commit]%2 == 1
		}
		return name == "TestA"
	}
	red = slices.DeleteFunc(red, flips)
	if mends == "breaks" && !slices.Contains(red, "TestD") {
		red = append(red, "TestD")
	}
	if mends == "flaky" && e.base == "green" && e.looks[commit]%2 == 0 {
		red = append(red, "TestA")
	}
	return red
}

// happens is what performing an effect gives: what the situation says, and otherwise what goes well.
func (e *end) happens(f *pawl.Effect) (pawl.Answer, time.Duration) {
	switch do := f.Do.(type) {
	case *pawl.RunGate:
		return e.judge(f, do), 10 * time.Second
	case *pawl.WeighGoals:
		return e.weigh(f, do), time.Second
	case *pawl.Examine:
		b := e.script.examined(f, do, &rule{})
		b.Paths = []pawl.ClassCount{{Class: pawl.ClassCode, Count: 1}}
		if e.added != "none" {
			b.Paths = append(b.Paths, pawl.ClassCount{Class: pawl.ClassTest, Count: 1})
		}
		if e.added == "proven" {
			b.Added = 1
		}
		return b, time.Second
	case *pawl.Commit:
		if e.mends == "idle" {
			return e.script.committed(f, &rule{what: []string{"nothing"}}), time.Second
		}
	}
	return e.script.happens(f)
}

func (e *end) keep(v any) pawl.Hash {
	data := mustJSON(e.w.t, v)
	h := pawl.HashOf(data)
	e.reports[h] = data
	return h
}

// judge is a gate's verdict.
func (e *end) judge(f *pawl.Effect, do *pawl.RunGate) *pawl.GateJudged {
	rep := &pawl.GateReport{Verdict: pawl.VerdictPass, Reason: "passed"}
	b := &pawl.GateJudged{Effect: f.ID, Gate: do.Gate, Again: !do.Doubt.IsZero()}
	switch {
	case do.Gate == "tests" && e.base == "unjudged":
		rep.Verdict, rep.Partial, rep.Reason, rep.ExitCode = pawl.VerdictFail, true, "its time was up after 2m0s", -1
	case do.Gate == "tests" && e.base == "code":
		if last := f.Place.Iteration > 1 || f.Place.Task == ""; do.OnBase || e.mends != "all" && (e.mends != "late" || !last) {
			rep.Verdict, rep.Reason, rep.ExitCode = pawl.VerdictFail, "exit 1: make: *** [check] Error 1", 1
			if !do.OnBase {
				rep.Verdict, rep.RedAtBase, rep.Reason = pawl.VerdictPass, true, "not worse than the base: exit 1 there too"
			}
		}
	case do.Gate == "tests":
		e.runTests(f, do, rep, b)
	case e.other == "old", e.other == "red" && !do.OnBase:
		rep.Verdict, rep.Reason, rep.ExitCode = pawl.VerdictFail, "2 findings", 1
		if e.other == "old" && !do.OnBase {
			rep.Verdict, rep.RedAtBase, rep.Reason = pawl.VerdictPass, true, "not worse than the base: 2 findings there too"
		}
		b.Found = 1
	case e.other == "exit" && !do.OnBase:
		rep.Kept = 1
	}
	b.Verdict, b.Reason, b.Partial, b.RedAtBase, b.Kept, b.Evidence = rep.Verdict, rep.Reason, rep.Partial, rep.RedAtBase, rep.Kept, e.keep(rep)
	if b.Verdict == pawl.VerdictFail {
		b.Error = brief.Fingerprint(b.Reason)
	}
	return b
}

// runTests is what the tests give on a tree.
func (e *end) runTests(f *pawl.Effect, do *pawl.RunGate, rep *pawl.GateReport, b *pawl.GateJudged) {
	base := e.redBase()
	red := base
	if !do.OnBase {
		e.looks[do.Commit]++
		red = e.red(f, do.Commit)
	}
	if !slices.Contains(red, unbuilt) {
		for _, name := range []string{"TestA", "TestB", "TestC", "TestD"} {
			st := pawl.TestPass
			switch {
			case slices.Contains(red, name):
				st = pawl.TestFail
				rep.Failed++
			default:
				rep.Passed++
				if !do.OnBase && len(base) < 4 && !slices.Contains(base, name) && e.base != "unbuilt" {
					rep.Kept++
				}
			}
			rep.Tests = append(rep.Tests, pawl.TestResult{Name: "example.com/shop." + name, Status: st})
		}
	} else {
		rep.Failed = 1
		rep.Tests = []pawl.TestResult{{Name: unbuilt, Status: pawl.TestFail}}
	}
	b.Passed, b.Total, b.Failing = rep.Passed, rep.Passed+rep.Failed, brief.Fingerprint(strings.Join(red, "\n"))
	if len(red) == 0 {
		b.Failing = 0
	}
	fresh := slices.DeleteFunc(slices.Clone(red), func(name string) bool { return slices.Contains(base, name) })
	if !do.OnBase {
		b.Broke = append(b.Broke, fresh...)
		for _, name := range base {
			if !slices.Contains(red, name) {
				b.Mended = append(b.Mended, name)
			}
		}
		b.WasGreen = len(fresh) > 0 && e.base != "unbuilt"
	}
	verb := "tests fail"
	if len(red) == 1 {
		verb = "test fails"
	}
	switch {
	case len(red) == 0:
	case do.OnBase || len(fresh) > 0:
		rep.Verdict, rep.ExitCode, rep.Reason = pawl.VerdictFail, 1, fmt.Sprintf("%d of %d %s: %s", len(red), b.Total, verb, strings.Join(red, ", "))
	default:
		rep.RedAtBase, rep.ExitCode, rep.Reason = true, 1, fmt.Sprintf("not worse than the base: %d %s there too: %s", len(red), verb, strings.Join(red, ", "))
	}
}

// weigh finds the goal tests, as the runner has it done.
func (e *end) weigh(f *pawl.Effect, do *pawl.WeighGoals) *pawl.GoalsWeighed {
	read := func(h pawl.Hash) *pawl.GateReport {
		var rep pawl.GateReport
		if err := json.Unmarshal(e.reports[h], &rep); err != nil {
			e.w.t.Fatal(err)
		}
		return &rep
	}
	s := &evidence.GoalSearch{Root: do.Task.IsZero(), Survey: e.survey, Asked: "Add login", Examines: true, Examined: !do.Evidence.IsZero(), Base: map[string]*pawl.GateReport{}}
	if e.named && s.Root {
		s.Asked = "Make TestA and TestB in a_test.go pass"
	}
	for _, g := range do.Reports {
		s.Base[g.Gate] = read(g.Base)
		if do.Commit != "" {
			if s.Own == nil {
				s.Own = map[string]*pawl.GateReport{}
			}
			s.Own[g.Gate] = read(g.Report)
		}
	}
	for _, g := range do.Again {
		if s.Again == nil {
			s.Again = map[string]*pawl.GateReport{}
		}
		s.Again[g.Gate] = read(g.Report)
	}
	lists := func(all []pawl.Hash) (out []pawl.GoalTest) {
		for _, h := range all {
			var list []pawl.GoalTest
			if err := json.Unmarshal(e.reports[h], &list); err != nil {
				e.w.t.Fatal(err)
			}
			out = append(out, list...)
		}
		return out
	}
	s.Known, s.Done = lists(do.Goals), lists(do.Done)
	found := s.Goals()
	b := &pawl.GoalsWeighed{Effect: f.ID, Commit: do.Commit, Count: len(found.Tests), Unsure: found.Unsure}
	for _, gate := range found.Again {
		if do.Commit != "" && !slices.ContainsFunc(do.Again, func(g pawl.GateEvidence) bool { return g.Gate == gate }) {
			b.Again = append(b.Again, gate)
		}
	}
	for _, g := range found.Tests {
		if g.Why.IsWeak() {
			b.Weak++
		}
	}
	for _, g := range found.Red {
		if g.Why.IsWeak() {
			b.RedWeak++
		} else {
			b.Red++
		}
		b.Failing = append(b.Failing, g.String())
	}
	b.Picked = found.Picked[:min(len(found.Picked), pawl.MaxGoalsNamed)]
	if len(found.Tests) > 0 {
		b.Goals = e.keep(found.Tests)
	}
	return b
}

// blobs reads what the gates reported.
func (e *end) blobs(h pawl.Hash) ([]byte, error) {
	if data, is := e.reports[h]; is {
		return data, nil
	}
	return e.blob(h)
}

// tell keeps all that people are shown of the run: its lines, its report and what show says.
func (e *end) tell() {
	e.run = view.New()
	var b strings.Builder
	for _, ev := range e.w.log {
		e.run.Apply(ev)
		if view.LookOf(ev).Level >= view.Normal {
			fmt.Fprintln(&b, view.Line(ev, e.run, e.blobs))
		}
	}
	report, err := view.CompletionReport(e.run, e.blobs)
	if err != nil {
		e.w.t.Fatal(err)
	}
	fmt.Fprintf(&b, "\n%s\n%s\n", report, view.Show(e.run, e.blobs))
	e.text = b.String()
}

// endClaims are texts that may stand only where something is so.
var endClaims = []struct {
	name  string
	text  *regexp.Regexp
	holds func(e *end) bool
}{
	{"all tests pass", regexp.MustCompile(`All tests passing: YES`), func(e *end) bool { return len(e.lastRed()) == 0 && e.base != "unjudged" }},
	{"it is complete", regexp.MustCompile(`(?m)^ *Status:? +.*\bCOMPLETE\b`), func(e *end) bool { return e.w.state.Outcome == pawl.OutcomeComplete }},
	{"nothing broke", regexp.MustCompile(`nothing broke`), func(e *end) bool { return e.mends != "breaks" || e.base == "red" || e.base == "code" }},
	{"every gate passed", regexp.MustCompile(`(?m)^[^\[\n]*every gate passed *($|·|\()`), func(e *end) bool {
		return len(e.lastRed()) == 0 && e.other != "red" && e.other != "old" && e.base != "unjudged"
	}},
	{"singular", regexp.MustCompile(`\b1 (tests|goal tests|gates|attempts|iterations|calls|findings|tasks) `), func(*end) bool { return false }},
	{"a hash", hash, func(*end) bool { return false }},
	{"a broken text", regexp.MustCompile(`%!|\(\)| ,|: *\.|· *$`), func(*end) bool { return false }},
}

// lastRed are the tests that are red in what was judged last of the run's own work, or of a task's.
func (e *end) lastRed() []string {
	var out []string
	for _, ev := range e.w.log {
		if b, ok := ev.Body.(*pawl.GateJudged); ok && b.Gate == "tests" && b.On == "" && !b.OnBase && b.Kind != "" {
			var rep pawl.GateReport
			if err := json.Unmarshal(e.reports[b.Evidence], &rep); err != nil {
				e.w.t.Fatal(err)
			}
			out = nil
			for _, t := range rep.Tests {
				if t.Status == pawl.TestFail {
					out = append(out, t.Name)
				}
			}
		}
	}
	return out
}

// tasksShown is how many tasks of the run's only plan passed by what shows their work; 0 if any has no proof at all.
func (e *end) tasksShown() (n int) {
	for _, ev := range e.w.log {
		b, is := ev.Body.(*pawl.IterationEnded)
		switch {
		case is && ev.Loop == 1 && b.Decision != pawl.DecideComplete:
			return 0 // another one may follow
		case is && ev.Loop != 1 && b.Outcome == pawl.OutcomeUnverified:
			return 0
		case is && ev.Loop != 1 && b.Decision == pawl.DecideComplete && b.Proof.ShowsGoal() && e.w.state.Loop(ev.Loop).Parent == 1:
			n++
		}
	}
	return n
}

// unverifiedTask reports whether the last attempt at a task of the run's own loop ended unverified.
func (e *end) unverifiedTask() bool {
	last := map[string]pawl.Outcome{}
	for _, ev := range e.w.log {
		if b, is := ev.Body.(*pawl.IterationEnded); is && ev.Loop != 1 && e.w.state.Loop(ev.Loop).Parent == 1 && b.Decision == pawl.DecideComplete {
			last[e.w.state.Loop(ev.Loop).task.ID] = b.Outcome
		}
	}
	for _, o := range last {
		if o == pawl.OutcomeUnverified && e.situation.recipe != "loopr" { // whose loops have a table of their own
			return true
		}
	}
	return false
}

// mendedTwice is a test that a task is said to have mended after it was in its parent's branch; "" if there is none.
func (e *end) mendedTwice() string {
	mended, landed := map[pawl.LoopRef][]string{}, map[pawl.LoopRef][]string{}
	for _, ev := range e.w.log {
		l := e.w.state.Loop(ev.Loop)
		switch b := ev.Body.(type) {
		case *pawl.GenerationStarted:
			clear(landed)
		case *pawl.GoalsWeighed:
			for _, t := range b.Picked {
				if l.Parent != 0 && t.Why == pawl.GoalMended && slices.Contains(landed[l.Parent], t.Name) {
					return t.Name
				}
				mended[l.Ref] = append(mended[l.Ref], t.Name)
			}
		case *pawl.IterationEnded:
			if l.Parent != 0 && b.Decision == pawl.DecideComplete {
				landed[l.Parent] = append(landed[l.Parent], mended[l.Ref]...)
			}
		}
	}
	return ""
}

// contradictions are what is wrong with the end of a run, or with what is said of it.
func (e *end) contradictions() (out []string) {
	wrong := func(is bool, what string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(what, args...))
		}
	}
	ended := all[*pawl.RunEnded](e.w)
	if len(ended) != 1 {
		return []string{fmt.Sprintf("it ended %d times", len(ended))}
	}
	end := ended[0]
	if weighed := all[*pawl.GoalsWeighed](e.w); end.Outcome == pawl.OutcomeComplete {
		last := &pawl.GoalsWeighed{}
		if n := len(weighed); n > 0 {
			last = weighed[n-1]
		}
		wrong(last.Red+last.RedWeak > 0, "complete with red goal tests: %q", last.Failing)
		wrong(e.named && slices.ContainsFunc(e.lastRed(), func(t string) bool { return strings.HasSuffix(t, "TestA") || strings.HasSuffix(t, "TestB") }) && e.base != "green", "complete with a test red that the goal names")
		wrong(end.Proof.IsNone(), "complete without proof")
		wrong(e.base == "code" && e.mends != "all" && e.mends != "late", "complete with a red gate of which the exit code is all there is")
		wrong(e.base == "unjudged", "complete with a gate that gave no verdict")
		wrong(e.other == "red", "complete with a red gate")
		wrong(!e.judged, "complete by criteria that nobody judged")
		wrong(e.mends == "idle", "complete by a run that changed nothing") // F-96
		wrong(e.mends == "none" && !slices.Contains([]string{"green", "code"}, e.base) && e.named, "complete without anything that was asked for")
		wrong(e.mends == "breaks" && e.base != "red" && e.base != "code", "complete with a broken test")
	}
	if e.added != "proven" && (e.mends == "none" || e.base == "green") {
		wrong(end.Proof.ShowsGoal(), "%s shows the goal, though nothing does: %s", end.Outcome, end.Proof.Words())
	}
	wrong(end.Outcome == pawl.OutcomeComplete && e.added == "proven" && !end.Proof.ShowsGoal(), "complete by new tests that show the goal, and only %s", end.Proof.Words())
	wrong(e.unverifiedTask() && !strings.Contains(e.text, "passed, unverified"), "a task passed unverified, and the table does not say it")
	wrong(e.mendedTwice() != "", "two tasks of one plan mended %s", e.mendedTwice())
	wrong(end.Outcome == pawl.OutcomeComplete && e.tasksShown() > end.Proof.Tasks, "%d tasks passed with proof, and it says %s", e.tasksShown(), end.Proof.Words())
	wrong(e.unverifiedTask() && !end.Proof.IsNone() && end.Proof.Unproven == 0, "a task passed unverified, and the end says %s", end.Proof.Words())
	wrong(!end.Outcome.Succeeded() && !end.Proof.IsNone(), "%s with proof", end.Outcome)
	wrong(end.Reason == "", "%s without a reason", end.Outcome)
	for _, claim := range endClaims {
		if found := claim.text.FindString(e.text); found != "" && !claim.holds(e) {
			wrong(true, "it says %q: %s", found, claim.name)
		}
	}
	return out
}
