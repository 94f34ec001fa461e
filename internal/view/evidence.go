package view

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// Examination is a look at a candidate: at how it changed what its gates look at.
type Examination struct {
	Runs    []*FurtherRun // the gates that had to run once more
	Remarks []string      // what is only worth knowing
	Over    pawl.Seq      // the event that ended it; 0 = it is not over
	Report  pawl.Hash     // a JSON [pawl.EvidenceReport]
	// Findings are the IDs of those that the candidate has, Paths counts its changed paths.
	Findings []string
	Paths    []pawl.ClassCount

	tree pawl.TreeHash // that was looked at; empty = not known
}

// FurtherRun is a gate that had to judge another tree than base and candidate, or the candidate once
// more. What it says of another tree is no verdict on the candidate.
type FurtherRun struct {
	Gate   string
	On     pawl.Tree // empty = the candidate
	Fresh  bool      // the tree was prepared by itself
	Reason string
	Judged *Gate // nil = it has not judged yet
}

// FurtherRuns returns the gates that judged the candidate a second time, or another tree.
func (it *Iteration) FurtherRuns() []*FurtherRun {
	runs := slices.Clone(it.asked)
	if it.Exam != nil {
		runs = append(runs, it.Exam.Runs...)
	}
	return runs
}

// loopEvidence is what is known of how a loop changed what its gates look at.
type loopEvidence struct {
	Exam *Examination // the last one that is over; nil = there is none
}

// runEvidence is what was found in a run's candidates.
type runEvidence struct {
	Findings     []*Finding // in the order they were raised
	findingsLeft int        // of the result that nobody accepted
}

// newExamination begins to look at an iteration's candidate.
func newExamination(it *Iteration) *Examination {
	x := &Examination{}
	if it.Commit != nil {
		x.tree = it.Commit.Tree
	}
	return x
}

// run returns the run of a gate on a tree, or nil.
func (x *Examination) run(gate string, on pawl.Tree) *FurtherRun {
	if x == nil {
		return nil
	}
	if i := slices.IndexFunc(x.Runs, func(f *FurtherRun) bool { return f.Gate == gate && f.On == on }); i >= 0 {
		return x.Runs[i]
	}
	return nil
}

// examined records what a look at a candidate led to.
func (x *Examination) examined(e pawl.Event, b *pawl.Examined) {
	if len(b.Runs) == 0 || len(x.Runs) > 0 {
		x.Over, x.Report, x.Findings, x.Paths = e.Seq, b.Evidence, b.Findings, b.Paths
		return
	}
	for _, run := range b.Runs {
		for _, gate := range run.Gates {
			x.Runs = append(x.Runs, &FurtherRun{Gate: gate, On: run.On, Fresh: run.Fresh, Reason: run.Reason})
		}
	}
}

// applyEvidence folds the events about what was found in candidates.
func (r *Run) applyEvidence(l *Loop, e pawl.Event) {
	it := l.last()
	switch b := e.Body.(type) {
	case *pawl.FindingRaised:
		r.Findings = append(r.Findings, &Finding{Finding: b.Finding, Loop: l, Seq: e.Seq, evidence: b.Evidence})
		return
	case *pawl.FindingAnswered:
		if f := r.Finding(b.ID); f != nil {
			f.Answer, f.AnswerSeq = b, e.Seq
		}
		return
	}
	if it == nil {
		return
	}
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		if do, ok := b.Effect.Do.(*pawl.Examine); ok && len(do.Further) == 0 {
			it.Exam = newExamination(it)
		}
	case *pawl.Committed: // of the same tree everything is known
		if it.Exam = nil; l.Exam != nil && b.Tree != "" && l.Exam.tree == b.Tree {
			it.Exam = l.Exam
		}
	case *pawl.RemarkMade:
		if it.Exam != nil {
			it.Exam.Remarks = append(it.Exam.Remarks, b.Text)
		}
	case *pawl.Examined:
		if it.Exam == nil {
			it.Exam = newExamination(it)
		}
		if it.Exam.examined(e, b); it.Exam.Over != 0 {
			l.Exam = it.Exam
		}
	case *pawl.GateJudged:
		if run := it.Exam.run(b.Gate, b.On); run != nil && b.On != "" {
			run.Judged = &Gate{GateJudged: *b, Seq: e.Seq, judge: b.Judge}
		}
	}
}

// toAsk returns the findings that a question about findings asks about: those in the loop's candidate
// that nobody accepted and no person has answered for. Unless a person answers all of them, these are
// the secrets and policy paths.
func (r *Run) toAsk(l *Loop, b *pawl.QuestionAsked) []*Finding {
	if b.Kind != pawl.AskFinding || l.Exam == nil {
		return nil
	}
	var out []*Finding
	for _, f := range r.FindingsOf(l.Exam) {
		switch {
		case f.isAnswered():
		case r.Settings.Evidence == pawl.EvidenceStrict || f.isPersons():
			out = append(out, f)
		}
	}
	return out
}

// tellEvidence returns the line of an event about what was found in a candidate.
func (t teller) tellEvidence() string {
	switch b := t.e.Body.(type) {
	case *pawl.Examined:
		return examinedText(b)
	case *pawl.FindingRaised:
		return "Finding " + findingText(&b.Finding)
	case *pawl.FindingAnswered:
		s := "Finding " + b.ID
		if f := t.r.Finding(b.ID); f != nil {
			s += " " + f.what()
		}
		return s + ": " + answeredText(b)
	case *pawl.RemarkMade:
		return "Remark: " + b.Text
	}
	return ""
}

// examinedText says what a look at a candidate led to.
func examinedText(b *pawl.Examined) string {
	if len(b.Runs) > 0 {
		var parts []string
		for _, run := range b.Runs {
			verb := "runs"
			if len(run.Gates) > 1 {
				verb = "run"
			}
			parts = append(parts, fmt.Sprintf("%s %s once more on %s%s", strings.Join(run.Gates, " and "), verb, treeWords(run.On), whyFurther(run.Fresh, run.Reason)))
		}
		return "Evidence: " + strings.Join(parts, "; ")
	}
	s := "Evidence: nothing to answer for"
	if n := len(b.Findings); n > 0 {
		s = fmt.Sprintf("Evidence: %s (%s)", count(n, "finding"), strings.Join(b.Findings, ", "))
	}
	if paths := ClassCounts(b.Paths); paths != "" {
		s += " · changed paths: " + paths
	}
	return s
}

// furtherRun returns why a gate judged another tree, or nil.
func (t teller) furtherRun(b *pawl.GateJudged) *FurtherRun {
	if t.l == nil || t.l.last() == nil {
		return nil
	}
	return t.l.last().Exam.run(b.Gate, b.On)
}

// furtherTone returns how a verdict on another tree looks. With the base's tests a pass is good, and
// with the base's code a failure is: the new tests notice it.
func furtherTone(b *pawl.GateJudged) Tone {
	passes := b.Verdict == pawl.VerdictPass || b.Verdict == pawl.VerdictSkip
	if b.On == pawl.TreeAgain && b.Total > 0 && !b.Partial { // what it means is said of the goal tests
		return TonePlain
	}
	if !b.Partial && passes == (b.On != pawl.TreeReverted) {
		return ToneGood
	}
	return ToneWarning
}

// furtherText says what a gate found on another tree than base and candidate, and why it ran there.
func furtherText(b *pawl.GateJudged, run *FurtherRun) string {
	s := fmt.Sprintf("Gate %s once more on %s", b.Gate, treeWords(b.On))
	if run != nil {
		s += whyFurther(run.Fresh, run.Reason)
	}
	return s + ": " + furtherVerdict(b) + because(b.Reason)
}

// furtherVerdict returns a verdict with its counts: "FAIL, 12/14 in 3s". One on the same commit is not compared with
// the base, so that only the counts say something of it.
func furtherVerdict(b *pawl.GateJudged) string {
	s := strings.ToUpper(string(b.Verdict))
	if b.Partial {
		s = noVerdict
	}
	switch counts := fmt.Sprintf("%d/%d", b.Passed, b.Total); {
	case b.Total > 0 && b.On == pawl.TreeAgain && !b.Partial:
		s = counts
	case b.Total > 0:
		s += ", " + counts
	}
	if b.Duration > 0 { // every further run costs the user's time
		s += " in " + pawl.Span(b.Duration)
	}
	return s
}

// whyFurther says in brackets why a gate runs on another tree.
func whyFurther(fresh bool, reason string) string {
	if fresh {
		reason = strings.TrimSuffix("prepared on its own; "+reason, "; ")
	}
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// String returns the run in one line.
func (f *FurtherRun) String() string {
	s := fmt.Sprintf("%s on %s: ", f.Gate, treeWords(f.On))
	if f.Judged == nil {
		s += "not judged"
	} else {
		s += furtherVerdict(&f.Judged.GateJudged)
	}
	return s + whyFurther(f.Fresh, f.Reason)
}

// treeWords returns what a gate judges that judges neither base nor candidate.
func treeWords(t pawl.Tree) string {
	switch t {
	case pawl.TreeExpected:
		return "the candidate with the base's tests"
	case pawl.TreeReverted:
		return "the candidate's tests with the base's code"
	case "", pawl.TreeAgain:
		return "the same commit"
	}
	return "another tree (" + plain.Line(string(t), 40) + ")"
}

// ClassCounts lists how many changed paths there are of each class: "2 code, 1 test".
func ClassCounts(all []pawl.ClassCount) string {
	var parts []string
	for _, n := range inClassOrder(all) {
		parts = append(parts, fmt.Sprintf("%d %s", n.Count, ClassWords(n.Class)))
	}
	return strings.Join(parts, ", ")
}

// inClassOrder returns counts in the order in which classes are listed.
func inClassOrder(all []pawl.ClassCount) []pawl.ClassCount {
	return slices.SortedStableFunc(slices.Values(all), func(a, b pawl.ClassCount) int { return classRank(a.Class) - classRank(b.Class) })
}

func classRank(c pawl.PathClass) int {
	if i := slices.Index(pawl.PathClasses, c); i >= 0 {
		return i
	}
	return len(pawl.PathClasses)
}

// ClassWords returns what people call a class of paths, whatever a log says it is.
func ClassWords(c pawl.PathClass) string { return plain.Line(c.Words(), 40) }

// lookEvidence says how the lines about findings look.
func (k *Look) lookEvidence(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.Examined:
		if len(b.Findings) == 0 { // what runs once more is a line of its own when it has
			k.Level = Normal
		}
	case *pawl.FindingRaised:
		k.Tone = ToneWarning
	case *pawl.FindingAnswered:
		k.Tone = ToneBad
		if b.Accepted {
			k.Tone = ToneGood
		}
	case *pawl.RemarkMade:
		k.Level = Normal
	}
}
