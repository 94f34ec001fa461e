package view

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// Every kind of finding and every class of paths has words for people, each its own.
func TestEvidenceWords(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range pawl.FindingKinds {
		if words := k.Words(); words == "" || seen[words] {
			t.Errorf("kind %s has the words %q", k, words)
		} else {
			seen[words] = true
		}
	}
	for _, c := range pawl.PathClasses {
		if words := c.Words(); words == "" || seen[words] {
			t.Errorf("class %s has the words %q", c, words)
		} else {
			seen[words] = true
		}
	}
	if got := FindingWords("not_yet\nknown"); got != "not yet known" {
		t.Errorf("an unknown kind is %q", got)
	}
}

// docs/evidence.md has the words of all kinds, classes and states, and shows what is printed.
func TestEvidencePage(t *testing.T) {
	data, err := os.ReadFile("../../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	has := func(row string) {
		t.Helper()
		if !strings.Contains(page, row) {
			t.Errorf("docs/evidence.md has no row %s", row)
		}
	}
	for _, k := range pawl.FindingKinds {
		has(fmt.Sprintf("\n| `%s` | %s | ", k, FindingWords(k)))
	}
	for _, c := range pawl.PathClasses {
		has(fmt.Sprintf("\n| `%s` | %s | ", c, ClassWords(c)))
	}
	for _, s := range []FindingState{FindingOpen, FindingAccepted, FindingRefused, FindingGone} {
		has(fmt.Sprintf("\n| %s | `%s` | ", s.Words(), s))
	}
	var shown strings.Builder
	for _, name := range []string{"evidence-reviewing", "evidence-answered", "evidence-asks", "evidence-flaky"} {
		s := stories[name](t)
		r := fold(s.events)
		shown.WriteString(Show(r, s.read) + QuestionsText(Questions(r, r.Updated.Add(time.Hour), s.read)))
		for _, e := range s.events {
			shown.WriteString(Line(e, r, s.read) + "\n")
		}
	}
	held, _ := heldOut(t, "exit 1\nnobody: says hello there")
	shown.WriteString(Show(fold(held.events), held.read))
	blocks := strings.Split(page, "<!-- not run: TestEvidencePage in internal/view compares it -->\n```\n")[1:]
	if len(blocks) != 6 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		if block, _, _ = strings.Cut(block, "```\n"); !strings.Contains(shown.String(), block) {
			t.Errorf("nothing prints\n%s", block)
		}
	}
}

// A gate that judges another tree leaves the verdicts on the candidate, and all that follows from
// them, as they are.
func TestFurtherRunsAreNoVerdicts(t *testing.T) {
	s := evidenceReviewing(t)
	r := fold(s.events)
	it := r.root().last()
	for _, g := range it.Gates {
		if g.On != "" || g.red() || g.Gate == "tests" && g.Total != 14 {
			t.Errorf("a verdict on the candidate is %+v", g.GateJudged)
		}
	}
	if len(it.Gates) != 4 || len(it.Exam.Runs) != 2 || it.Exam.Runs[0].Judged.Passed != 12 {
		t.Errorf("%d verdicts, runs on other trees %+v", len(it.Gates), it.Exam.Runs)
	}
	for _, e := range s.events {
		if b, ok := e.Body.(*pawl.GateJudged); ok && b.On != "" && Name(e, r) != "" {
			t.Errorf("event %d is named %s", e.Seq, Name(e, r))
		}
	}
	for i := range s.events {
		if l := fold(s.events[:i+1]).Records.Loop(1); l != nil && len(l.gates) != 0 {
			t.Fatalf("after event %d the loop's record has objections %+v", i+1, l.gates)
		}
	}
}

// What a verdict on another tree means is seen by its colour: that new tests fail on the old code is
// good.
func TestFurtherTone(t *testing.T) {
	for _, c := range []struct {
		b    pawl.GateJudged
		want Tone
	}{
		{pawl.GateJudged{On: pawl.TreeExpected, Verdict: pawl.VerdictPass}, ToneGood},
		{pawl.GateJudged{On: pawl.TreeExpected, Verdict: pawl.VerdictFail}, ToneWarning},
		{pawl.GateJudged{On: pawl.TreeReverted, Verdict: pawl.VerdictPass}, ToneWarning},
		{pawl.GateJudged{On: pawl.TreeReverted, Verdict: pawl.VerdictFail}, ToneGood},
		{pawl.GateJudged{On: pawl.TreeReverted, Verdict: pawl.VerdictFail, Partial: true}, ToneWarning},
		{pawl.GateJudged{On: pawl.TreeExpected, Verdict: pawl.VerdictPass, Partial: true}, ToneWarning},
	} {
		if got := LookOf(pawl.Event{Body: &c.b}).Tone; got != c.want {
			t.Errorf("%s of %s, partial %t: tone %d, want %d", c.b.Verdict, c.b.On, c.b.Partial, got, c.want)
		}
	}
}

// What became of a finding follows from the newest candidates that count.
func TestStateOfFinding(t *testing.T) {
	states := func(r *Run) []FindingState {
		var out []FindingState
		for _, f := range r.Findings {
			out = append(out, r.StateOfFinding(f))
		}
		return out
	}
	for name, want := range map[string][]FindingState{
		"evidence-reviewing": {FindingOpen, FindingOpen},
		"evidence-answered":  {FindingAccepted, FindingGone},
		"evidence-rejected":  {FindingRefused, FindingRefused},
		"evidence-listed":    {FindingOpen, FindingOpen},
	} {
		if got := states(fold(stories[name](t).events)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	child := &Loop{Ref: 2, LoopStarted: pawl.LoopStarted{Parent: 1}}
	root := &Loop{Ref: 1}
	r := &Run{Loops: []*Loop{root, child}}
	r.Findings = []*Finding{{Finding: pawl.Finding{ID: "F-1"}}}
	want := func(what string, want FindingState) {
		t.Helper()
		if got := states(r)[0]; got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	want("no candidate was examined", FindingGone)
	child.Exam = &Examination{Over: 10, Findings: []string{"F-1"}}
	want("a child's candidate has it", FindingOpen)
	root.Exam = &Examination{Over: 20}
	want("the root's later one does not", FindingGone)
	child.Exam = &Examination{Over: 30, Findings: []string{"F-1"}}
	want("a child's later one has it again", FindingOpen)
	child.End = &pawl.LoopEnded{Outcome: pawl.OutcomeBlocked}
	want("that child has failed", FindingGone)
}

// A candidate with the tree of one that was examined is not examined again: what is known of that one
// is known of it. One with another tree has nothing yet.
func TestSameTreeIsExamined(t *testing.T) {
	s := examining(t, pawl.EvidenceReview)
	s.found([]pawl.Finding{provesNothing}, nil, nil)
	for tree, want := range map[pawl.TreeHash]bool{"tree2": true, "tree9": false, "": false} {
		again := *s
		again.events = slices.Clone(s.events)
		again.iterate(1, "")
		again.passing(tree)
		r := fold(again.events)
		if got := r.root().last().Exam != nil; got != want {
			t.Errorf("tree %q: examined %t, want %t", tree, got, want)
		}
	}
}

// What is known of a candidate is not known of another one of the same iteration, nor of the iteration's
// next attempt.
func TestOtherCandidatesAreNotExamined(t *testing.T) {
	for name, next := range map[string]func(*story){
		"committed again": func(s *story) { s.add(s.ref, &pawl.Committed{Commit: "c0ffee9", Tree: "tree9"}) },
		"restarted":       func(s *story) { s.add(s.ref, &pawl.IterationRestarted{Attempt: 2, Reason: "resumed"}) },
	} {
		s := examining(t, pawl.EvidenceReview)
		s.found([]pawl.Finding{provesNothing}, nil, nil)
		if r := fold(s.events); r.root().last().Exam == nil {
			t.Fatal("the candidate is not examined")
		}
		next(s)
		r := fold(s.events)
		if x := r.root().last().Exam; x != nil {
			t.Errorf("%s: examined: %+v", name, x)
		}
		if got := r.StateOfFinding(r.Findings[0]); got != FindingOpen {
			t.Errorf("%s: the finding is %s", name, got)
		}
	}
}

// A review has to answer for what it did not accept before, as long as it is there, and not for what
// is accepted or a person's.
func TestWaitsForAnswers(t *testing.T) {
	s := examining(t, pawl.EvidenceReview)
	s.found([]pawl.Finding{changedExpectation, provesNothing, policyPath, changedExpectation, changedExpectation}, nil, nil)
	s.add(s.ref, &pawl.FindingAnswered{ID: "F-2", Why: "no", Gate: "requirements"})
	s.add(s.ref, &pawl.FindingAnswered{ID: "F-4", Accepted: true, Quote: "yes", Gate: "requirements"})
	s.add(s.ref, &pawl.FindingAnswered{ID: "F-5", Why: "no", By: "ann"})
	var got []string
	for _, link := range Why(fold(s.events)) {
		if of, ok := strings.CutPrefix(link.Text, "for requirements to answer for "); ok {
			got = append(got, of[:3])
		}
	}
	if want := []string{"F-1", "F-2"}; !slices.Equal(got, want) {
		t.Errorf("waits for answers about %q, want %q", got, want)
	}
	s.add(s.ref, &pawl.GateJudged{Gate: "requirements", Verdict: pawl.VerdictFail})
	if text := WhyText(fold(s.events)); strings.Contains(text, "to answer for") {
		t.Errorf("it still waits for answers:\n%s", text)
	}
}

// That the harness fails a candidate because of findings is no review.
func TestEvidenceIsNoReview(t *testing.T) {
	r := fold(evidenceRefused(t).events)
	gates := r.Verdicts(r.root())
	last := gates[len(gates)-1]
	if last.Gate != "evidence" || r.IsReview(r.root(), last) {
		t.Errorf("%s is a review", last.Gate)
	}
	if got := together(gates, ""); got.verdict != "" || got.total != 0 {
		t.Errorf("the reviews say %+v", got)
	}
}

// A question about findings asks about those that are left for a person: without strict these are the
// secrets and policy paths.
func TestAskedFindings(t *testing.T) {
	for mode, want := range map[pawl.EvidenceMode]string{pawl.EvidenceStrict: "F-1 F-2 F-3", pawl.EvidenceReview: "F-2"} {
		s := examining(t, mode)
		h := s.found([]pawl.Finding{changedExpectation, policyPath, provesNothing, secret}, nil, nil)
		s.add(s.ref, &pawl.FindingAnswered{ID: "F-1", Why: "no", Gate: "requirements"})
		s.add(s.ref, &pawl.FindingAnswered{ID: "F-4", Why: "no", By: "ann"})
		s.askFindings(h, "Is this intended?")
		s.add(s.ref, &pawl.FindingAnswered{ID: "F-2", Accepted: true, By: "ann"})
		r := fold(s.events)
		var got []string
		for _, row := range r.Gist(r.Question(1), s.read).Findings {
			got = append(got, row.ID)
			if row.ID == "F-2" && (row.Detail != "+run: make test || true" || row.State != FindingAccepted || !row.Person || row.By != "ann") {
				t.Errorf("%s: got %+v", mode, row)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: asks about %s, want %s", mode, s, want)
		}
	}
}

// The live area says which tree gates judge.
func TestProgressOfFurtherRuns(t *testing.T) {
	s := examining(t, pawl.EvidenceReview)
	s.look(bothTrees...)
	s.ask(0, s.place("tests", "", 1), &pawl.RunGate{Gate: "tests", Commit: "a1b2", On: pawl.TreeExpected})
	p := NewProgress(fold(s.events), ProgressOptions{Live: true})
	if got, want := strings.Join(plainOf(p.status()), "\n"), "\n  gates on the candidate with the base's tests: tests …"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q at its end", got, want)
	}
}

// The paths of a commit are those of its examination against the commit that it is compared with.
func TestChangedPaths(t *testing.T) {
	s := examining(t, pawl.EvidenceReview)
	h := s.blob(s.json(pawl.EvidenceReport{Commit: s.head, Base: "base5e1fbeefcafe", Paths: []pawl.ChangedPath{
		{Path: "a\x1b[2Jb.go", Class: pawl.ClassCode}, {Path: "go.mod", Class: pawl.ClassDependency}, {Path: "go.sum", Class: "no\nclass"}, {Path: "x_test.go", Class: pawl.ClassTest}, {Path: "z.go", Class: pawl.ClassCode}}}))
	s.look()
	s.events[len(s.events)-1].Body.(*pawl.Examined).Evidence = h
	r := fold(s.events)
	const want = "CLASS       PATH\ncode        ab.go\ncode        z.go\ntest        x_test.go\ndependency  go.mod\nno class    go.sum\n"
	if got := ChangedPathsText(r.ChangedPaths("base5e1fbeefcafe", s.head, s.read)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, of := range [][2]pawl.CommitHash{{"base5e1fbeefcafe", "another"}, {"another", s.head}} {
		if got := r.ChangedPaths(of[0], of[1], s.read); got != nil {
			t.Errorf("%s: %v", of, got)
		}
	}
}

// A review that would have passed but for findings does not read as one whose criteria are not met.
func TestReportOfUnansweredReview(t *testing.T) {
	s := evidenceAnswered(t)
	i := slices.IndexFunc(s.events, func(e pawl.Event) bool { _, ok := e.Body.(*pawl.IterationEnded); return ok })
	report, err := CompletionReport(fold(s.events[:i+1]), s.read)
	if want := "\n  All criteria met: NO, 1 finding nobody accepted (5/5)\n"; err != nil || !strings.Contains(report, want) {
		t.Errorf("%v: no %q in\n%s", err, want, report)
	}
}
