package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/exam"
	"pawl/internal/kernel/verdict"
)

// A candidate that would pass is examined for findings: for changes of what its gates look at that
// may be why it passes. It is done before the first review, or at the end if there is none. The
// reviewer answers for what was found by quoting the goal, or a person does. Secrets and policy paths
// are feedback to one attempt first, and a question to a person at the end of the run if they stay.

// examineTimeout bounds a look at a candidate. The gates that have to run have their own limits.
const examineTimeout = 10 * time.Minute

// gateEvidence is the name under which people and prompts see the harness's own judge of evidence.
const gateEvidence = "evidence"

// examines reports whether the present candidate is to be examined: its work is finished, and
// everything that has judged it lets it pass.
func (s *State) examines(l *Loop) bool {
	switch {
	case !s.looksForEvidence(), l.merge() != nil, l.spawns() && !l.gen.planned:
		return false
	case l.iter.stepFailed != "" || l.cand.Commit == s.evidenceBase(l):
		return false
	}
	return !verdict.Object(l.verdicts())
}

// evidenceBase returns what a loop's candidate is compared with.
func (s *State) evidenceBase(l *Loop) pawl.CommitHash {
	if l.Parent == 0 {
		return s.Started.Base
	}
	return l.Base
}

// examine reports whether all findings in the candidate are known and those that are not a
// reviewer's are answered.
func (d *draft) examine(l *Loop) bool {
	if !d.s.examines(l) {
		return true
	}
	if !d.judgeBaseAgain(l) {
		return false
	}
	x := l.gen.exam
	switch {
	case !x.Is(l.cand.Committed, d.s.evidenceBase(l)):
		d.look(l, nil)
		return false
	case x.Effect != 0:
		return false
	case x.Failed != nil && x.Tries >= gateTries:
		d.unexamined(l, x.Failed)
		return false
	case !x.Looked:
		d.look(l, nil)
		return false
	case !x.Over && !x.Runs.Ran():
		d.runFurther(l)
		return false
	case !x.Over:
		d.look(l, x.Runs.Further())
		return false
	}
	return d.answerFindings(l)
}

// unexamined fails a candidate that could not be examined.
func (d *draft) unexamined(l *Loop, why *pawl.Failure) {
	d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeEvidence, Gate: gateEvidence, Verdict: pawl.VerdictFail, Partial: true,
		Reason: brief.Cut("what its gates look at could not be examined: "+why.Message, 300), Error: brief.Fingerprint(why.Message)})
}

// look requests an examination of the candidate.
func (d *draft) look(l *Loop, further []pawl.GateEvidence) {
	do := &pawl.Examine{Commit: l.cand.Commit, Base: d.s.evidenceBase(l), Task: l.task.Spec, Further: further,
		Static: l.Parent != 0 && !l.hasReviewer()}
	for _, r := range l.verdicts() {
		if i := d.s.gateIndex(r.Gate); i >= 0 && r.Kind != "" && r.Kind != pawl.GateHeldOut && !r.Evidence.IsZero() {
			e := pawl.GateEvidence{Gate: r.Gate, Report: r.Evidence}
			if b := &l.base[i]; b.known && !b.cut {
				e.Base = b.evidence
			}
			do.Reports = append(do.Reports, e)
		}
	}
	d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(gateEvidence), Timeout: examineTimeout, Do: do})
}

// hasReviewer reports whether a model or a person judges the loop's work.
func (l *Loop) hasReviewer() bool {
	for i := range l.stages() {
		if st := l.stage(i); st.Review != nil || st.Human {
			return true
		}
	}
	return false
}

// runFurther requests the gates that have to judge other trees.
func (d *draft) runFurther(l *Loop) {
	d.runTrees(l, func(l *Loop) exam.Runs { return l.gen.exam.Runs })
}

// runTrees requests the gates that judge trees besides the candidate, or the candidate once more.
func (d *draft) runTrees(l *Loop, runs func(*Loop) exam.Runs) {
	for i := range runs(l) {
		r := &runs(d.s.Loop(l.Ref))[i]
		if r.Done || r.Effect != 0 {
			continue
		}
		gate := d.s.gateIndex(r.Gate)
		do := &pawl.RunGate{Gate: r.Gate, Commit: r.Commit, On: r.On, Light: l.isLight(gate)}
		prepared, why := "", r.Failed
		if d.s.prepares() {
			p := d.preparedTree(l, r)
			switch {
			case p == nil:
				continue
			case !p.Ok():
				why = &pawl.Failure{Code: pawl.FailTimeout, Message: p.Told()}
			}
			prepared = p.Key
		}
		if why != nil && (r.Tries >= gateTries || why.Code == pawl.FailTimeout) {
			d.emit(l.Ref, &pawl.GateJudged{Gate: r.Gate, Kind: d.s.Settings.Gates[gate].Kind, On: r.On, Verdict: pawl.VerdictFail, Partial: true,
				Reason: brief.Cut("it gave no verdict: "+why.Message, 300)})
			continue
		}
		do.Prepared = prepared
		d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(r.Gate), Do: do,
			Timeout: d.s.furtherTimeout(l, gate, &d.s.Settings.Gates[gate])})
	}
}

// minFurther is the least time that a gate has to judge another tree.
const minFurther = 2 * time.Minute

// furtherTimeout returns the time limit of a gate on another tree. Tests that do not end there must not
// cost what a candidate may take.
func (s *State) furtherTimeout(l *Loop, gate int, spec *pawl.GateSpec) time.Duration {
	most := longerTimeout(l.gateTimeout(gate, spec, false), s.longerOf(gate))
	if r := l.result(spec.Name); r != nil && r.Duration > 0 {
		return min(most, max(minFurther, slowGate*r.Duration))
	}
	return most
}

// answerFindings asks those who have to answer for findings before a reviewer does, and reports
// whether judging may continue.
func (d *draft) answerFindings(l *Loop) bool {
	open := d.s.unaccepted(l)
	if refused := slices.DeleteFunc(slices.Clone(open), func(e exam.Entry) bool { return !e.Person }); len(refused) > 0 {
		d.refuseFindings(l, refused, "", "") // a person's answer holds
		return true
	}
	if d.s.Settings.Evidence == pawl.EvidenceStrict {
		return d.askAbout(l, slices.DeleteFunc(open, func(e exam.Entry) bool { return e.Person }))
	}
	untold := slices.DeleteFunc(open, func(e exam.Entry) bool { return e.Told || !isPolicy(e.Kind) })
	if len(untold) > 0 && !d.s.isLastIteration(l) {
		d.refuseFindings(l, untold, "", "")
	}
	return true
}

// isPolicy reports whether findings of a kind are for a person and not for a reviewer.
func isPolicy(k pawl.FindingKind) bool { return k == pawl.FindPolicy || k == pawl.FindSecret }

// askAtEnd asks a person about the secrets and policy paths that a run ends with, and reports whether
// nothing is left to answer.
func (d *draft) askAtEnd(l *Loop) bool {
	if l.Parent != 0 || !d.s.isExamined(l) {
		return true
	}
	return d.askAbout(l, slices.DeleteFunc(d.s.unaccepted(l), func(e exam.Entry) bool { return e.Person || !isPolicy(e.Kind) }))
}

// isExamined reports whether the findings in the candidate are known.
func (s *State) isExamined(l *Loop) bool {
	return l.cand != nil && l.gen.exam.Is(l.cand.Committed, s.evidenceBase(l)) && l.gen.exam.Over
}

// unaccepted returns the findings in the candidate that nobody has accepted.
func (s *State) unaccepted(l *Loop) []exam.Entry {
	if !s.isExamined(l) {
		return nil
	}
	return slices.DeleteFunc(s.findings.Of(l.gen.exam.Findings), func(e exam.Entry) bool { return e.Accepted })
}

// askAbout asks a person about findings, and reports whether they are answered.
func (d *draft) askAbout(l *Loop, open []exam.Entry) bool {
	if len(open) == 0 {
		return true
	}
	r := l.lastAnswerTo(pawl.AskFinding)
	if r == nil {
		need, intended, it := "needs", "Is this change intended?", "it"
		accept := "this is allowed for the rest of the run as long as it stays the same"
		if len(open) > 1 {
			need, intended, it = "need", "Are these changes intended?", "one of them"
			accept = "these are allowed for the rest of the run as long as they stay the same"
		}
		reject := d.s.ifFails(l, "the attempt fails, and the next one gets your words; any later attempt that still has "+it+" fails without a question")
		d.ask(l, pawl.AskFinding, fmt.Sprintf("%s %s your decision: %s. %s", numberOf(open), need, nameFindings(open), intended), l.gen.exam.Report,
			option{choiceAccept, accept}, option{choiceReject, reject})
		return false
	}
	by := cmp.Or(r.by, "a person")
	for i := range open {
		e := &open[i]
		e.Why = brief.Cut(r.text, 160)
		d.emit(l.Ref, &pawl.FindingAnswered{ID: e.ID, Accepted: r.choice == choiceAccept, Why: e.Why, By: by})
	}
	if r.choice == choiceReject {
		d.refuseFindings(l, open, by, r.text)
	}
	return false
}

// choiceAccept is the answer that accepts findings.
const choiceAccept = "accept"

// numberOf says how many findings there are.
func numberOf(open []exam.Entry) string {
	if len(open) == 1 {
		return "1 finding"
	}
	return fmt.Sprintf("%d findings", len(open))
}

// maxNamedFindings bounds the findings that a sentence names.
const maxNamedFindings = 4

// nameFindings names the first findings.
func nameFindings(open []exam.Entry) string {
	var parts []string
	for _, e := range open[:min(len(open), maxNamedFindings)] {
		parts = append(parts, e.ID+" "+e.Kind.At(e.Path))
	}
	if n := len(open) - maxNamedFindings; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(parts, ", ")
}

// nobodyAccepted says which findings nobody accepts.
func nobodyAccepted(open []exam.Entry) string {
	return fmt.Sprintf("%s nobody accepted: %s", numberOf(open), nameFindings(open))
}

// refuseFindings fails the candidate because of findings that nobody accepts.
func (d *draft) refuseFindings(l *Loop, open []exam.Entry, by, why string) {
	reason := nobodyAccepted(open)
	if by != "" {
		reason = strings.TrimSuffix(fmt.Sprintf("%s did not accept %s: %s", by, nameFindings(open), why), ": ")
	}
	d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeEvidence, Gate: gateEvidence, Verdict: pawl.VerdictFail, By: by, Total: len(open), Error: fingerprintOf(open),
		Reason: brief.Cut(reason, 300), Unanswered: l.gen.exam.Report, Findings: openOf(open)})
}

func openOf(open []exam.Entry) []pawl.OpenFinding {
	var out []pawl.OpenFinding
	for _, e := range open {
		out = append(out, pawl.OpenFinding{ID: e.ID, Print: e.Print, Refused: e.Answered, Why: e.Why})
	}
	return out
}

// fingerprintOf returns a fingerprint of what findings are about. It does not depend on their IDs.
func fingerprintOf(open []exam.Entry) uint64 {
	var texts []string
	for _, e := range open {
		texts = append(texts, string(e.Kind)+" "+e.Path)
	}
	slices.Sort(texts)
	return brief.Fingerprint(strings.Join(texts, "\n"))
}

// reviewFindings records what a reviewer answered for findings, and fails its verdict if it would
// pass with findings that nobody accepted.
func (d *draft) reviewFindings(l *Loop, b *pawl.GateJudged, f pawl.Facts) {
	for i, fact := range f {
		if fact.Name != "accepted" && fact.Name != "refused" {
			continue
		}
		quote := ""
		if i+1 < len(f) && (f[i+1].Name == "quote" || f[i+1].Name == "why") {
			quote = brief.Cut(f[i+1].Value, 160)
		}
		d.answerFinding(l, b.Gate, fact.Value, fact.Name == "accepted", quote)
	}
	d.failUnanswered(l, b)
}

// answerFinding records a reviewer's answer for a finding that it may answer for.
func (d *draft) answerFinding(l *Loop, gate, id string, accepted bool, said string) {
	if !slices.ContainsFunc(d.s.reviewable(l), func(e exam.Entry) bool { return e.ID == id }) {
		return
	}
	b := &pawl.FindingAnswered{ID: id, Accepted: accepted, Why: said, Gate: gate}
	if accepted {
		b.Quote, b.Why = said, ""
	}
	d.emit(l.Ref, b)
}

// reviewable returns the findings in the candidate that a reviewer may still accept.
func (s *State) reviewable(l *Loop) []exam.Entry {
	return slices.DeleteFunc(s.unaccepted(l), func(e exam.Entry) bool { return e.Person || isPolicy(e.Kind) })
}

// failUnanswered fails a review's verdict that would pass with findings that nobody accepted. One that fails
// anyway has them beside its own reason.
func (d *draft) failUnanswered(l *Loop, b *pawl.GateJudged) {
	open := d.s.reviewable(d.s.Loop(l.Ref))
	if len(open) == 0 {
		return
	}
	b.Unanswered, b.Findings = l.gen.exam.Report, openOf(open)
	if verdict.Passes(b.Verdict) {
		b.Verdict, b.Error, b.Reason = pawl.VerdictFail, fingerprintOf(open), brief.Cut(nobodyAccepted(open), 300)
	}
}

// acceptAll records that a person who passed the work accepted its findings with it.
func (d *draft) acceptAll(l *Loop, by string) {
	for _, e := range d.s.reviewable(l) {
		d.emit(l.Ref, &pawl.FindingAnswered{ID: e.ID, Accepted: true, Why: "with the work", By: cmp.Or(by, "a person")})
	}
}

// withFindings adds to a question about the work which findings are part of the answer.
func (d *draft) withFindings(l *Loop, text string) string {
	if open := d.s.reviewable(l); len(open) > 0 {
		return text + fmt.Sprintf(" To pass it accepts %s: %s.", numberOf(open), nameFindings(open))
	}
	return text
}

// addEvidence adds to a reviewer's prompt what was found in the candidate.
func (s *State) addEvidence(l *Loop, do *pawl.AssemblePrompt) {
	if !s.isExamined(l) {
		return
	}
	do.Evidence = l.gen.exam.Report
	do.Findings = openOf(s.reviewable(l))
}

// examineRequested records that the candidate is being examined.
func (l *Loop) examineRequested(id pawl.Seq, do *pawl.Examine) error {
	if l.cand == nil {
		return fmt.Errorf("loop %d has no candidate to examine", l.Ref)
	}
	if !l.gen.exam.Is(l.cand.Committed, do.Base) {
		l.gen.exam = &exam.Exam{Commit: do.Commit, Base: do.Base, Tree: l.cand.Tree}
	}
	l.gen.exam.Requested(id)
	return nil
}

// applyExamined records what a look at a candidate led to.
func (l *Loop) applyExamined(b *pawl.Examined) {
	if l.gen.exam != nil {
		l.gen.exam.Examined(b)
	}
}

// applyFinding folds an event about a finding.
func (s *State) applyFinding(l *Loop, body pawl.Body) {
	switch b := body.(type) {
	case *pawl.FindingRaised:
		s.findings.Raise(l.Ref, &b.Finding)
	case *pawl.FindingAnswered:
		s.findings.Answer(b)
		if b.Gate == "" {
			l.person.reply = nil
		}
	}
}

// raise emits what a look at a candidate found, and returns the answer as it goes into the log.
func (d *draft) raise(ref pawl.LoopRef, b *pawl.Examined) *pawl.Examined {
	c := *b
	c.Found, c.Remarks, c.Findings = nil, nil, nil
	for _, f := range b.Found[:min(len(b.Found), pawl.MaxFindings)] {
		id := d.s.findings.Find(f.Print)
		if id == "" {
			id = d.s.findings.Next()
			f.ID, f.Path, f.Text, f.Detail = id, brief.Cut(f.Path, 200), brief.Cut(f.Text, 200), ""
			f.Tests = slices.Clone(f.Tests[:min(len(f.Tests), maxFindingTests)])
			for i, name := range f.Tests {
				f.Tests[i] = brief.Cut(name, 80)
			}
			whole := len(b.Found) <= pawl.MaxFindings && len(f.Tests) < maxFindingTests
			d.emit(ref, &pawl.FindingRaised{Finding: f, Evidence: b.Evidence})
			if parts := d.s.findings.Parts(ref, &f); whole && d.s.Loop(ref).Parent == 0 && len(parts) > 0 {
				d.emit(ref, &pawl.FindingAnswered{ID: id, Accepted: true, Gate: gateEvidence, Why: brief.Cut("what it consists of is accepted: "+strings.Join(parts, ", "), 160)})
			}
		}
		if !slices.Contains(c.Findings, id) {
			c.Findings = append(c.Findings, id)
		}
	}
	for _, text := range b.Remarks[:min(len(b.Remarks), pawl.MaxRemarks)] {
		d.emit(ref, &pawl.RemarkMade{Text: brief.Cut(text, 200)})
	}
	return &c
}

// maxFindingTests bounds the tests that an event about a finding names.
const maxFindingTests = 8

// judgeBaseAgain has the gates that were cut short on the base judge it once more, with twice the
// time, and reports whether all have. A base that takes longer than that is not known: what the goal asks
// for may be that it ends. Changes of what its gates look at are found without it. The run ends if a program
// is missing that was there.
func (d *draft) judgeBaseAgain(l *Loop) bool {
	if l.Parent != 0 {
		return true
	}
	for i := range l.base {
		b := &l.base[i]
		if !b.cut || d.s.isLeftOut(i) || d.s.Settings.Gates[i].Kind == pawl.GateHeldOut {
			continue
		}
		g := &d.s.Settings.Gates[i]
		if b.again && b.missing == "" {
			continue
		}
		if b.again {
			d.stop(pawl.OutcomeBlocked, brief.Cut(fmt.Sprintf("gate %s could not judge the base, so nothing can be compared with it: install %s and resume the run", g.Name, b.missing), maxStop))
			return false
		}
		d.runGate(l, i, pawl.RunGate{Gate: g.Name, Commit: l.Base, OnBase: true})
		return false
	}
	return true
}
