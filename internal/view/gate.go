package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// runGates is what a run knows of its gates.
type runGates struct {
	Base []*Gate // what the command gates found on the base commit
	// LeftOut are the gates that are not part of the run, as their programs are missing.
	LeftOut []pawl.GateLeftOut
	// Overruled are the halts of reviews that persons overruled, oldest first.
	Overruled []*Overruling
}

// Overruling is a person's word against the halt of a review.
type Overruling struct {
	pawl.GateOverruled
	Loop *Loop
	Seq  pawl.Seq
}

// OverrulingRow is an overruling in a [Summary]. Its texts are safe to print.
type OverrulingRow struct {
	Gate      string    `json:"gate"`
	Task      string    `json:"task,omitempty"` // whose work was halted; missing = the run's own
	Iteration int       `json:"iteration"`      // that was halted
	By        string    `json:"by"`
	Reason    string    `json:"reason"`
	Evidence  pawl.Hash `json:"evidence,omitzero"` // what the review said
	Event     pawl.Seq  `json:"event"`
}

func (o *Overruling) row() OverrulingRow {
	return OverrulingRow{Gate: plain.Line(o.Gate, 0), Task: plain.Line(o.Loop.Task, 0), Iteration: o.Iteration, By: plain.Line(o.By, 0),
		Reason: plain.Line(o.Reason, 0), Evidence: o.Evidence, Event: o.Seq}
}

func (r OverrulingRow) text() string {
	of := ""
	if r.Task != "" {
		of = " of task " + r.Task
	}
	return fmt.Sprintf("%s overruled the halt of %s in iteration %d%s%s", r.By, r.Gate, r.Iteration, of, because(r.Reason))
}

// overruled returns the overrulings for other programs.
func (r *Run) overruled() []OverrulingRow {
	var out []OverrulingRow
	for _, o := range r.Overruled {
		out = append(out, o.row())
	}
	return out
}

// Halt is the verdict of a review that halted a run.
type Halt struct {
	*Gate
	Loop      *Loop
	Iteration *Iteration
}

// Halt returns the verdict of the review that halted the run, which a person may overrule; nil if the
// run has not ended so. Gate is the review's name; empty = any.
func (r *Run) Halt(gate string) *Halt {
	if r.Outcome != pawl.OutcomeHalted {
		return nil
	}
	for _, l := range r.Loops {
		it := l.last()
		if it == nil || it.End == nil || it.End.Outcome != pawl.OutcomeHalted {
			continue
		}
		for _, g := range it.Gates {
			if g.Kind == "" && g.Verdict == pawl.VerdictHalt && (gate == "" || g.Gate == gate) {
				return &Halt{g, l, it}
			}
		}
	}
	return nil
}

// Gate is a verdict with its event.
type Gate struct {
	pawl.GateJudged
	Seq    pawl.Seq
	From   int  // the iteration that judged the same tree; 0 = the one whose verdict it is
	Second bool // the review judged the same tree before
	judge  pawl.Judge
}

// Told returns the verdict's reason, safe to print, and whether it is one of an earlier iteration, a second look or a second answer.
func (g *Gate) Told() string {
	s := plain.Line(g.Reason, 0)
	switch note := g.note(); {
	case note == "":
	case s == "":
		s = note
	default:
		s += " (" + note + ")"
	}
	return s
}

func (g *Gate) note() string {
	switch {
	case g.From > 0 && g.Second:
		return fmt.Sprintf("from iteration %d, a second look", g.From)
	case g.From > 0:
		return fmt.Sprintf("from iteration %d", g.From)
	case g.Second:
		return "a second look"
	case g.Again:
		return "asked again"
	}
	return ""
}

// stands reports whether a verdict is one on the tree of the loop's own work, in full:
// it holds for a further attempt with the same tree. That the folder of the harness was
// touched, or that files were left out, is not in the tree.
func (g *Gate) stands() bool {
	return !g.Partial && g.judge == pawl.JudgeGate
}

func (g *Gate) red() bool { return g.Verdict != pawl.VerdictPass && g.Verdict != pawl.VerdictSkip }

// record adds a verdict in place of an earlier one of the same gate.
func record(all []*Gate, g *Gate) []*Gate {
	if i := slices.IndexFunc(all, func(o *Gate) bool { return o.Gate == g.Gate && o.judge == g.judge }); i >= 0 {
		all[i] = g
		return all
	}
	return append(all, g)
}

// HaltText returns what a review halted and what it said, for whoever is to overrule it.
func HaltText(r *Run, h *Halt, blobs Blobs) string {
	var t text
	of := ""
	if h.Loop.Task != "" {
		of = " of task " + h.Loop.Task
	}
	t.line("Run %s: the review %s halted iteration %d%s%s", string(r.ID), h.Gate.Gate, h.Iteration.N, of, because(h.Reason))
	var said struct {
		Summary  string `json:"summary"`
		Halt     string `json:"halt"`
		Feedback string `json:"feedback"`
		Criteria []struct {
			ID     string `json:"id"`
			Status string `json:"status"`
			Gap    string `json:"gap"`
		} `json:"criteria"`
	}
	blobs.into(h.Evidence, &said)
	for _, words := range []string{said.Halt, said.Summary, said.Feedback} {
		if words != "" && words != h.Reason {
			t.line("  %s", plain.Line(words, 600))
		}
	}
	for _, c := range said.Criteria {
		if c.Status != "pass" {
			t.line("  %s: %s%s", c.ID, c.Status, because(plain.Line(c.Gap, 300)))
		}
	}
	if c := h.Iteration.Commit; c != nil {
		t.line("  look    git show %s", short(c.Commit))
	}
	return strings.TrimRight(t.String(), "\n")
}

// howToOverrule returns the command that overrules the halt of a review; empty if none halted the run.
func (r *Run) howToOverrule() string {
	h := r.Halt("")
	if h == nil {
		return ""
	}
	return line("pawl override %s %s --reason WHY, if the halt is a mistake", r.ID, h.Gate.Gate)
}

// isEvidence reports whether the harness failed a candidate because of findings, or because it could
// not look for them: it is no review.
func (g *Gate) isEvidence() bool { return g.judge == pawl.JudgeEvidence }

// mayBeFlaky is why a gate is asked again about the same commit.
const mayBeFlaky = "a test that fails may be flaky"

// noVerdict stands for the verdict of a gate that came to none.
const noVerdict = "NO VERDICT"

// saysNothing reports whether a gate was cut short before it showed a single result; of the base, whether it
// was cut short at all, which excuses no failure.
func saysNothing(b *pawl.GateJudged) bool {
	return b.Partial && (b.OnBase || b.Total == 0 && b.Verdict == pawl.VerdictFail)
}

// verdictWord returns a gate's verdict for people.
func verdictWord(b *pawl.GateJudged) string {
	if saysNothing(b) {
		return noVerdict
	}
	if b.Judge == pawl.JudgeGoal && b.Weak && b.Verdict == pawl.VerdictPass { // no attempt is left to mend them
		return "LEFT RED"
	}
	return strings.ToUpper(string(b.Verdict))
}

func judgedText(b *pawl.GateJudged) string {
	said := verdictWord(b)
	s := fmt.Sprintf("Gate %s: %s", b.Gate, said)
	switch {
	case b.Again:
		s = fmt.Sprintf("Gate %s once more on %s (%s): %s", b.Gate, treeWords(b.On), mayBeFlaky, said)
	case b.Judge == pawl.JudgeEvidence:
		return fmt.Sprintf("Evidence: %s%s", strings.ToUpper(string(b.Verdict)), because(b.Reason))
	case b.OnBase && b.Partial: // it proves nothing, so it is no failure
		return fmt.Sprintf("Gate %s on the base: %s, so it excuses no failure%s", b.Gate, said, because(b.Reason))
	case b.OnBase:
		s = fmt.Sprintf("Gate %s on the base: %s", b.Gate, said)
	}
	if b.Total > 0 {
		s += fmt.Sprintf(" (%d/%d)", b.Passed, b.Total)
	}
	s += tookLong(b.Duration)
	if b.RedAtBase {
		s += ", red at base"
	}
	if b.Partial && !saysNothing(b) {
		s += ", partial"
	}
	s += because(b.Reason)
	if b.OnBase && b.Lacks != "" {
		s += " · " + lacking(b)
	}
	return s
}

// tookLong returns how long a gate's command ran; empty for less than a second.
func tookLong(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return " in " + pawl.Span(d)
}

// lacking returns what a gate needs that the base does not have.
func lacking(b *pawl.GateJudged) string {
	return fmt.Sprintf("gate %s needs %s, which the repository does not have yet; the run continues, as its goal may be to add it", b.Gate, b.Lacks)
}

// leftOutText returns why a gate is not part of the run.
func leftOutText(b *pawl.GateLeftOut) string {
	by := "allowed in advance"
	if b.By != "" {
		by = "allowed by " + b.By
	}
	return fmt.Sprintf("Gate %s is left out of this run: %s is not installed (%s)", b.Gate, b.Missing, by)
}

// applyGate folds the events of gates and reviews.
func (r *Run) applyGate(l *Loop, e pawl.Event) {
	it := l.last()
	switch b := e.Body.(type) {
	case *pawl.GateJudged:
		g := &Gate{GateJudged: *b, Seq: e.Seq, judge: r.Recipe.JudgeOf(b)}
		switch {
		case b.On != "": // it is no verdict on the candidate: see applyEvidence
		case b.OnBase:
			r.Base = record(r.Base, g)
			if b.Lacks != "" {
				r.Notes = append(r.Notes, lacking(b))
			}
		case it != nil:
			if b.Again {
				it.asked = append(it.asked, &FurtherRun{Gate: b.Gate, Reason: mayBeFlaky, Judged: g})
			}
			g.Second = slices.Contains(it.second, b.Gate) && b.Kind == ""
			it.Gates = record(it.Gates, g)
		}
	case *pawl.GatesReused:
		if from := l.iteration(b.From); it != nil && from != nil {
			gates := from.Gates
			it.Gates, it.second = nil, b.Anew
			for _, g := range gates {
				if !g.stands() || len(b.Gates)+len(b.Anew) > 0 && !slices.Contains(b.Gates, g.Gate) {
					continue
				}
				kept := *g
				if from != it {
					kept.From = cmp.Or(g.From, b.From)
				}
				it.Gates = append(it.Gates, &kept)
			}
		}
	case *pawl.GateLeftOut:
		r.LeftOut = append(r.LeftOut, *b)
	case *pawl.GateOverruled:
		r.Overruled = append(r.Overruled, &Overruling{*b, l, e.Seq})
	}
}

func (t teller) tellGate() string {
	switch b := t.e.Body.(type) {
	case *pawl.GateJudged:
		if b.On != "" {
			return furtherText(b, t.furtherRun(b))
		}
		return judgedText(b)
	case *pawl.GatesReused:
		return ReusedText(b)
	case *pawl.GateLeftOut:
		return leftOutText(b)
	case *pawl.GateOverruled:
		return (&Overruling{GateOverruled: *b, Loop: &Loop{}}).row().text()
	}
	return ""
}

// ReusedText says which verdicts of an earlier iteration stand.
func ReusedText(b *pawl.GatesReused) string {
	which := "its verdicts stand"
	switch n := len(b.Gates); {
	case n == 1:
		which = "its verdict of " + b.Gates[0] + " stands"
	case n > 1:
		which = "its verdicts of " + strings.Join(b.Gates, ", ") + " stand"
	}
	if len(b.Gates) == 0 && len(b.Anew) > 0 {
		which = "no verdict stands"
	}
	s := fmt.Sprintf("the same tree as in iteration %d: %s", b.From, which)
	if len(b.Anew) > 0 {
		s += "; a second look by " + strings.Join(b.Anew, ", ")
	}
	return s
}

func (k *Look) lookGate(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.GateJudged:
		if k.Tone = verdictTone(b.Verdict); b.On != "" {
			k.Tone = furtherTone(b)
		}
		if b.OnBase && (b.Verdict == pawl.VerdictPass || b.Verdict == pawl.VerdictSkip) {
			k.Level = Normal
		}
	case *pawl.GateLeftOut, *pawl.GateOverruled:
		k.Tone = ToneWarning
	}
}

func verdictTone(v pawl.Verdict) Tone {
	switch v {
	case pawl.VerdictPass:
		return ToneGood
	case pawl.VerdictSkip:
		return ToneQuiet
	}
	return ToneBad
}
