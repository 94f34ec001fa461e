package view

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// loopGoals is what is known of a loop's goal tests.
type loopGoals struct {
	Goals *pawl.GoalsWeighed // as they were weighed last; nil = the loop has none
}

// flips are tests that a candidate had green at first and red when they ran once more on the same commit.
type flips struct {
	tests []pawl.GoalTest
	seq   pawl.Seq
}

// runGoals is what shows that the result of a run is what was asked for.
type runGoals struct {
	proof    pawl.Proof
	redGoals []string // goal tests that are red in the result
	// refusedPlan reports that a plan was carried out that its review had refused.
	refusedPlan bool
}

func (r *Run) applyGoals(l *Loop, e pawl.Event) {
	if b, ok := e.Body.(*pawl.GoalsWeighed); ok && l != nil && len(b.Again) == 0 {
		l.Goals = b
		if b.Count == 0 {
			l.Goals = nil
		}
		if it := l.last(); it != nil && len(b.Flaky) > 0 {
			it.flips = &flips{b.Flaky, e.Seq}
		}
	}
}

// endGoals records what shows that the result is what was asked for.
func (r *Run) endGoals(b *pawl.RunEnded) {
	r.runGoals = runGoals{proof: b.Proof, refusedPlan: b.RefusedPlan}
	r.proof.Person = plain.Line(b.Proof.Person, 0)
	for _, name := range b.Failing {
		r.redGoals = append(r.redGoals, plain.Line(name, 0))
	}
}

// tellGoals returns the line of an event about goal tests.
func (t teller) tellGoals() string {
	b, ok := t.e.Body.(*pawl.GoalsWeighed)
	if !ok {
		return ""
	}
	if t.l != nil && t.l.Parent != 0 {
		return goalsText(b, "the task")
	}
	return goalsText(b, "the goal")
}

// goalsText says which goal tests there are, and which of them fail. Asked is what may have named them.
func goalsText(b *pawl.GoalsWeighed, asked string) string {
	if len(b.Again) > 0 {
		return fmt.Sprintf("Goal tests: %s once more on the same commit, to see whether what was mended stays green", strings.Join(b.Again, " and "))
	}
	flaky := flakyText(b.Flaky)
	if b.Count == 0 && flaky != "" {
		return "Goal tests: none: " + flaky
	}
	if b.Count == 0 {
		return "Goal tests: none: no test that failed on the base is known to be what the goal is about"
	}
	s := "Goal tests: " + goalCount(b)
	if len(b.Picked) > 0 {
		s += " · " + pickedText(b, asked)
	}
	if flaky != "" {
		s += " · " + flaky
	}
	return s
}

// flakyText says of which mended tests one run says nothing.
func flakyText(tests []pawl.GoalTest) string {
	if len(tests) == 0 {
		return ""
	}
	var names []string
	for _, t := range tests {
		names = append(names, plain.Line(t.String(), 80))
	}
	return strings.Join(names, ", ") + " passed once and failed once on the same commit (flaky)"
}

// goalCount says how many goal tests there are and how many of them pass.
func goalCount(b *pawl.GoalsWeighed) string {
	red := b.Red + b.RedWeak
	switch {
	case b.Commit == "" && b.Count == 1:
		return "1 does not pass on the base"
	case b.Commit == "":
		return fmt.Sprintf("%d do not pass on the base", b.Count)
	case red == 0:
		return fmt.Sprintf("%d of %d pass", b.Count, b.Count)
	case red == 1:
		return fmt.Sprintf("%d of %d pass; %s fails", b.Count-red, b.Count, goalNames(b.Failing, red))
	}
	return fmt.Sprintf("%d of %d pass; %s fail", b.Count-red, b.Count, goalNames(b.Failing, red))
}

// goalNames names tests, of which there are n.
func goalNames(names []string, n int) string {
	var out []string
	for _, name := range names {
		out = append(out, plain.Line(name, 80))
	}
	if more := n - len(names); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	if last := len(out) - 1; last > 0 {
		return strings.Join(out[:last], ", ") + " and " + out[last]
	}
	return strings.Join(out, "")
}

// pickedText names the goal tests that were not known before, with the reason of each.
func pickedText(b *pawl.GoalsWeighed, asked string) string {
	var parts []string
	for i, t := range b.Picked {
		text := plain.Line(t.String(), 80)
		if i == len(b.Picked)-1 || b.Picked[i+1].Why != t.Why {
			text += " (" + strings.Replace(t.Why.Words(), "the goal", asked, 1) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (k *Look) lookGoals(e pawl.Event) {
	b, ok := e.Body.(*pawl.GoalsWeighed)
	if !ok {
		return
	}
	switch none := b.Count == 0 && len(b.Flaky) == 0 && len(b.Again) == 0; {
	case none && b.Commit != "": // as of the candidates before it
		k.Level = Detail
	case none || len(b.Again) > 0:
		k.Level = Normal
	case b.Red+b.RedWeak > 0:
		k.Tone = ToneWarning
	}
}

// proven returns what shows that the result is what was asked for, in words that stand behind a good end; ""
// of one of an earlier version.
func (r *Run) proven() string {
	if !r.Outcome.Succeeded() || r.proof.IsNone() {
		return ""
	}
	return r.proof.Words()
}

// RedGoals returns the words that stand beside a good end with goal tests that are red: ", TestB is red". It is
// empty when there are none.
func RedGoals(names string) string {
	if names == "" {
		return ""
	}
	return ", " + strings.Replace(goalAddition.Words, "TESTS", plain.Line(names, 200), 1)
}

// unsaidGoals are the goal tests that are red in the result and that the run's reason does not name.
func (r *Run) unsaidGoals() []string {
	return slices.DeleteFunc(slices.Clone(r.redGoals), func(name string) bool { return strings.Contains(r.Reason, name) })
}

// showGoals adds what is known of goal tests and of the proof.
func (r *Run) showGoals(t *text) {
	if goals := r.goals(); goals != "" {
		t.line("  Goal tests %s", goals)
	}
	if proof := r.proven(); proof != "" {
		t.line("  Proof      %s", proof)
	}
	if about := r.aboutRed(); about != "" {
		t.line("  Red tests  %s", about)
	}
}

// goals says which of the first loop's goal tests pass; "" if there are none, or the proof says it.
func (r *Run) goals() string {
	l := r.root()
	if l == nil || l.Goals == nil || r.proven() != "" && l.Goals.Red+l.Goals.RedWeak == 0 {
		return ""
	}
	return goalCount(l.Goals)
}

// aboutRed says, of a run that ended with tests red that may be what its goal is about, how a person says which are;
// "" if there are none.
func (r *Run) aboutRed() string {
	l := r.root()
	goals := l != nil && l.Goals != nil && l.Goals.Red+l.Goals.RedWeak > 0
	if r.Status != pawl.StatusEnded || !goals && len(r.redGoals) == 0 && r.stillRed() == "" {
		return ""
	}
	return "--green TEST requires a test that is red, --not-green TEST says that it is not asked for"
}

// reportGoals adds the same to a report.
func (r *Run) reportGoals(t *text) {
	goals, proof := r.goals(), r.proven()
	if goals == "" && proof == "" {
		return
	}
	if proof == "" {
		t.line("[Goal Tests]")
		t.line("  %s", goals)
		t.line("")
		return
	}
	t.line("[Proof]")
	t.line("  %s", proof)
	if goals != "" {
		t.line("  Goal tests: %s", goals)
	}
	t.line("")
}
