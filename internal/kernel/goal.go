package kernel

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/exam"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/verdict"
)

// A test that was red at the base and that the goal is about is a goal test: an attempt that leaves it
// red has failed, although nothing got worse than at the base. Weak ones are only likely to be what the
// goal is about. They fail an attempt too, but once no further attempt is allowed the loop ends
// unverified without them.

// gateGoal is the name under which people and prompts see the harness's own judge of goal tests.
const gateGoal = "goal-tests"

// weighTimeout bounds a look at which goal tests are red.
const weighTimeout = 5 * time.Minute

// mayHaveGoals reports whether there may be goal tests: a command gate judged the loop's base and failed there, or
// the user requires tests of it, which may be yet to be written. Held-out checks have no goal tests: nothing may
// become known of them.
func (s *State) mayHaveGoals(l *Loop) bool {
	for i := range l.base {
		required := l.Parent == 0 && len(s.Settings.Gates[i].Green) > 0
		if b := &l.base[i]; (b.red || required) && s.tellsOfBase(l, i) {
			return true
		}
	}
	return false
}

// tellsOfBase reports whether a command gate other than held-out checks judged the loop's base, and nothing
// kept it from doing so in full.
func (s *State) tellsOfBase(l *Loop, gate int) bool {
	b := &l.base[gate]
	return b.known && !b.cut && b.missing == "" && s.Settings.Gates[gate].Kind != pawl.GateHeldOut
}

// judgesOnly reports whether the loop does no work of its own: it judges what others made, and that is not
// worse than its base is all that is asked for.
func (l *Loop) judgesOnly() bool { return l.flow.Main == 0 }

// changedNothing reports whether the run's result is the base. What passes then passed before, so that it shows
// nothing. Of a task it may be that others have done its work.
func (l *Loop) changedNothing() bool {
	return l.Parent == 0 && !l.judgesOnly() && l.cand.Total == 0
}

// onlyAnswers reports whether the run answers its request without a step that can change files: it has to make
// no test pass, and there is nothing to prove.
func (l *Loop) onlyAnswers() bool {
	return l.changedNothing() && !l.gen.planned && !l.iter.rejudges && !l.iter.worked
}

// goalsAtStart has the goal tests picked that the goal names, and those that the session picked which
// assessed the request, before the work starts. It reports whether they are known.
func (d *draft) goalsAtStart(l *Loop) bool {
	known := l.goals.Known && l.goals.Assessment.IsZero()
	if l.Parent != 0 || l.judgesOnly() || known || l.Iteration > 0 || !d.s.mayHaveGoals(l) {
		return true
	}
	switch w := &l.goals.Picking; {
	case w.Effect != 0:
		return false
	case w.Failed != nil && w.Tries >= gateTries:
		d.stop(pawl.OutcomeBlocked, brief.Cut("it could not be said which tests the goal is about: "+w.Failed.Message, maxStop))
		return false
	}
	d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(gateGoal), Timeout: weighTimeout,
		Do: &pawl.WeighGoals{Base: l.Base, Goals: l.goals.Lists(), Reports: d.s.baseReports(l), Assessment: l.goals.Assessment}})
	return false
}

// baseReports returns what the command gates said of the base, where nothing cut them short.
func (s *State) baseReports(l *Loop) []pawl.GateEvidence {
	var out []pawl.GateEvidence
	for i := range l.base {
		if b := &l.base[i]; s.tellsOfBase(l, i) && !b.evidence.IsZero() {
			out = append(out, pawl.GateEvidence{Gate: s.Settings.Gates[i].Name, Base: b.evidence})
		}
	}
	return out
}

// hasGoals reports whether the present candidate may have goal tests: the loop may have some, and
// the gates have judged what the loop made.
func (s *State) hasGoals(l *Loop) bool {
	judged := slices.ContainsFunc(l.verdicts(), func(r *pawl.GateJudged) bool { return r.Kind != "" && r.Judge == pawl.JudgeGate })
	return judged && !l.judgesOnly() && !l.onlyAnswers() && (s.mayHaveGoals(l) || len(l.goals.Landed) > 0) && l.merge() == nil && l.iter.stepFailed == "" && (!l.spawns() || l.gen.planned)
}

// weighGoals has it found out which goal tests the candidate has red, fails it if strong ones are, and
// reports whether all is known that can be known so far.
func (d *draft) weighGoals(l *Loop) bool {
	if !d.s.hasGoals(l) {
		return true
	}
	w := l.cand.Goals
	switch {
	case w == nil:
		d.weigh(l, nil, pawl.Hash{})
		return false
	case w.Effect != 0:
		return false
	case w.Failed != nil && w.Tries >= gateTries:
		d.unweighed(l, w.Failed)
		return true
	case !w.Looked:
		d.weigh(l, nil, pawl.Hash{})
		return false
	case !w.Over && !w.Runs.Ran():
		d.runAgain(l)
		return false
	case !w.Over:
		found := pawl.Hash{}
		if w.Examined && d.s.isExamined(l) {
			found = l.gen.exam.Report
		}
		d.weigh(l, w.Runs.Further(), found)
		return false
	case w.Unsure && !w.Examined && d.s.isExamined(l):
		d.weigh(l, w.Runs.Further(), l.gen.exam.Report)
		return false
	}
	// A command gate that fails says more.
	if w.Red > 0 && l.cand.Refusal(pawl.JudgeGoal) == nil && verdict.Passes(verdict.Quality(l.verdicts())) {
		d.failGoals(l, w)
	}
	return true
}

// weigh requests a look at which goal tests the candidate has red.
func (d *draft) weigh(l *Loop, again []pawl.GateEvidence, evidence pawl.Hash) {
	do := &pawl.WeighGoals{Commit: l.gateCommit(), Base: l.Base, Task: l.task.Spec, Goals: l.goals.Lists(), Again: again, Evidence: evidence, Done: d.s.goalsDone(l)}
	for _, e := range d.s.baseReports(l) {
		if r := l.result(e.Gate); r != nil && r.Kind != "" && !r.Partial {
			e.Report = r.Evidence
			do.Reports = append(do.Reports, e)
		}
	}
	d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(gateGoal), Timeout: weighTimeout, Do: do})
}

// goalsDone returns the lists of goal tests that siblings of the loop, or of one above it, have made green: the
// base that gates compare with is the run's, and the loop began after them.
func (s *State) goalsDone(l *Loop) []pawl.Hash {
	var done []pawl.Hash
	for p := s.Loop(l.Parent); p != nil; p = s.Loop(p.Parent) {
		done = append(done, p.goals.Landed...)
	}
	return done
}

// runAgain requests the gates that judge the candidate once more.
func (d *draft) runAgain(l *Loop) {
	d.runTrees(l, func(l *Loop) exam.Runs { return l.cand.Goals.Runs })
}

// unweighed fails a candidate of which it could not be said which goal tests are red.
func (d *draft) unweighed(l *Loop, why *pawl.Failure) {
	if l.cand.Refusal(pawl.JudgeGoal) == nil {
		d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeGoal, Gate: gateGoal, Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Partial: true,
			Reason: brief.Cut("it could not be said which tests of the goal fail: "+why.Message, 300), Error: brief.Fingerprint(why.Message)})
	}
}

// failGoals fails the candidate because of the goal tests that it has red.
func (d *draft) failGoals(l *Loop, w *exam.Weighing) {
	red := w.Red + w.RedWeak
	b := &pawl.GateJudged{Judge: pawl.JudgeGoal, Gate: gateGoal, Kind: pawl.GateTests, Verdict: pawl.VerdictFail,
		Passed: w.Count - red, Total: w.Count, Weak: w.Red == 0, Failing: brief.Fingerprint(strings.Join(w.Failing, "\n")),
		Reason: brief.Cut(redGoals(w), 300)}
	b.Error = b.Failing
	d.emit(l.Ref, b)
}

// redGoals says which goal tests a candidate has red.
func redGoals(w *exam.Weighing) string {
	red := w.Red + w.RedWeak
	names := strings.Join(w.Failing, ", ")
	if more := red - len(w.Failing); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	verb := "fail"
	if red == 1 {
		verb = "fails"
	}
	return fmt.Sprintf("%d of %s %s: %s", red, plural(w.Count, "goal test"), verb, names)
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// times says how often something was done.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// failWeak fails a candidate that everything else lets pass because of the weak goal tests that it has
// red, unless the loop ends without them, and reports whether it did. A loop with children
// judges them at its end, where there is nothing left to try.
func (d *draft) failWeak(l *Loop) bool {
	if l.redWeak() == 0 || l.goals.Waived || !l.ratchets() || l.cand.Refusal(pawl.JudgeGoal) != nil || !l.judgement().Pass() {
		return false
	}
	d.failGoals(l, l.cand.Goals)
	return true
}

// redWeak returns how many weak goal tests the candidate has red, where it has no strong ones red.
func (l *Loop) redWeak() int {
	if l.cand == nil || l.cand.Goals == nil || !l.cand.Goals.Over || l.cand.Goals.Red > 0 {
		return 0
	}
	return l.cand.Goals.RedWeak
}

// redAtEnd says which weak goal tests the candidate has red, or that no gate judged the goal tests of the whole
// that the children made; "" if neither is so.
func (l *Loop) redAtEnd() string {
	switch {
	case l.redWeak() > 0:
		return redGoals(l.cand.Goals)
	case l.goals.Left != "" && (l.cand == nil || l.cand.Goals == nil || !l.cand.Goals.Over): // it has landed
		return l.goals.Left
	case l.Parent == 0 && l.gen.planned && l.goals.Count > 0 && (l.cand == nil || l.cand.Goals == nil || !l.cand.Goals.Over):
		return fmt.Sprintf("no gate judged the whole, which has %s", plural(l.goals.Count, "goal test"))
	}
	return ""
}

// endWithWeak ends a loop for which no further attempt is allowed on an attempt that has only weak goal tests
// red, if there is one: the present one, or of the run's own loop the best one, which is judged once more. The
// best one of a task may lack what others have landed since. It reports whether it does; if so and again is
// not 0, that is the attempt.
func (d *draft) endWithWeak(l *Loop, r ladder.Ruling) (again int, does bool) {
	switch r.Outcome {
	case pawl.OutcomeIncomplete, pawl.OutcomeBlocked, pawl.OutcomeFailed:
	default:
		return 0, false
	}
	best := d.s.bestAfter(l, l.Iteration)
	switch {
	case !l.ratchets() || l.goals.Waived:
		return 0, false
	case onlyWeak(l.verdicts()) && l.iter.stepFailed == "":
		d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeGoal, Gate: gateGoal, Kind: pawl.GateTests, Verdict: pawl.VerdictPass, Weak: true,
			Passed: l.cand.Goals.Green(), Total: l.cand.Goals.Count, Reason: brief.Cut("no attempt is left: "+redGoals(l.cand.Goals), 300)})
		return 0, true
	case l.Parent == 0 && best.Weak && best.Strong == l.goals.Strong() && best.N != l.Iteration && best.Candidate != nil:
		return best.N, true
	}
	return 0, false
}

// onlyWeak reports whether nothing objects but that weak goal tests are red.
func onlyWeak(results []*pawl.GateJudged) bool {
	weak := false
	for _, r := range results {
		switch {
		case verdict.Passes(r.Verdict):
		case r.Judge == pawl.JudgeGoal && r.Weak:
			weak = true
		default:
			return false
		}
	}
	return weak
}

// settles records that the loop ends with an attempt that is judged once more.
func (l *Loop) settles(n int) error {
	best := l.best()
	if best.N != n || best.Candidate == nil {
		return fmt.Errorf("attempt %d is not the best state of loop %d", n, l.Ref)
	}
	l.goals.Waived = true
	kept := l.person.overrulings[max(0, len(l.person.overrulings)-maxOverrulings+1):]
	l.person.overrulings = append(slices.Clone(kept), overruling{attempt: n, candidate: best.Candidate})
	l.person.rejudge = true
	l.ladder.Freed++ // for the iteration without steps
	return nil
}

// proof returns what shows that the candidate is what was asked for.
func (s *State) proof(l *Loop) pawl.Proof {
	if l.cand == nil {
		return pawl.Proof{}
	}
	p := pawl.Proof{Goals: l.cand.Goals.Green()}
	if s.isExamined(l) {
		p.Added, p.Docs = l.gen.exam.Added, l.gen.exam.Docs
	}
	for _, r := range l.verdicts() {
		i := s.gateIndex(r.Gate)
		switch {
		case r.Verdict != pawl.VerdictPass || r.Judge != pawl.JudgeGate:
		case r.Kind == "" && r.By != "":
			p.Person = brief.Cut(r.By, 60)
		case r.Kind == pawl.GateTests && !l.changedNothing():
			p.Kept += r.Kept
		case r.Kind == pawl.GateHeldOut && i >= 0:
			p.HeldOut = l.base[i].known && l.base[i].red
		}
	}
	if t := l.gen.plan; t != nil && l.gen.planned && l.Head != l.Base {
		p.Tasks, p.Unbroken = t.Proven()
		p.Unproven = t.Unproven
	}
	return p
}

// judgeHeldOutBase has the held-out checks judge the base, where they are what could show that the
// work was done, and reports whether that is known.
func (d *draft) judgeHeldOutBase(l *Loop) bool {
	r := l.result(pawl.HeldOutGate)
	i := d.s.gateIndex(pawl.HeldOutGate)
	if r == nil || r.Kind != pawl.GateHeldOut || r.Verdict != pawl.VerdictPass || i < 0 || l.base[i].known || d.s.proof(l).ShowsGoal() {
		return true
	}
	d.runGate(l, i, pawl.RunGate{Gate: pawl.HeldOutGate, Commit: d.s.evidenceBase(l), Start: d.s.evidenceBase(l), OnBase: true})
	return false
}

// unjudgedCriteria returns how many criteria the user gave that nobody has judged the result by.
func (s *State) unjudgedCriteria(l *Loop) int {
	if l.Parent != 0 || !s.Started.CriteriaGiven {
		return 0
	}
	for i := range l.stages() {
		st := l.stage(i)
		if whole := !l.spawns() || i >= len(l.Kind.Gates); !whole || st.Review == nil && !st.Human {
			continue
		}
		if r := l.result(st.Name); r != nil && verdict.Passes(r.Verdict) {
			return 0
		}
	}
	return s.Started.Count
}

// weighing returns how far a request to weigh goal tests has come, or nil if its candidate was dropped.
func (l *Loop) weighing(do *pawl.WeighGoals) *exam.Request {
	switch {
	case do.Commit == "":
		return &l.goals.Picking
	case l.cand != nil && l.cand.Goals != nil:
		return &l.cand.Goals.Request
	}
	return nil
}

// weighRequested records that it is found out which goal tests there are, and which the candidate has red.
func (l *Loop) weighRequested(id pawl.Seq, do *pawl.WeighGoals) error {
	if do.Commit != "" && l.cand == nil {
		return fmt.Errorf("loop %d has no candidate to weigh", l.Ref)
	}
	if do.Commit != "" && l.cand.Goals == nil {
		l.cand.Goals = &exam.Weighing{}
	}
	l.weighing(do).Requested(id)
	if !do.Evidence.IsZero() {
		l.cand.Goals.Examined = true
	}
	return nil
}

// goalsWeighed records which goal tests there are, and which the candidate has red.
func (l *Loop) goalsWeighed(do *pawl.WeighGoals, b *pawl.GoalsWeighed) {
	if do.Commit == "" {
		l.goals.Weighed(b)
		l.goals.Picking = exam.Request{}
		if !do.Assessment.IsZero() {
			l.goals.Assessment = pawl.Hash{}
		}
		return
	}
	over := len(b.Again) == 0
	if l.cand != nil && l.cand.Goals != nil {
		l.cand.Goals.Weighed(b, do.Commit)
		over = l.cand.Goals.Over
	}
	if over {
		l.goals.Weighed(b)
	}
}

// further returns the gates that judge a tree besides the candidate; nil = none do.
func (l *Loop) further(on pawl.Tree) exam.Runs {
	switch {
	case on == pawl.TreeAgain && l.cand != nil && l.cand.Goals != nil:
		return l.cand.Goals.Runs
	case on != pawl.TreeAgain && l.gen.exam != nil:
		return l.gen.exam.Runs
	}
	return nil
}
