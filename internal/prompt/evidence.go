package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
	"pawl/internal/recipe"
)

// feedback is an objection to the last attempt for the one who is to settle it.
// base is what the same gate found on the base, if that was red.
func (r *reader) feedback(f pawl.Feedback, base *pawl.GateReport) recipe.Feedback {
	out := recipe.Feedback{From: f.From, Verdict: string(f.Verdict), Summary: valid(f.Summary)}
	out.Person, out.Said = r.said(f.From)
	if f.Evidence.IsZero() {
		return out
	}
	data := r.text("the evidence of "+f.From, f.Evidence)
	if out.Person {
		out.Evidence = r.fit("what a person said", data, maxAnswer)
		return out
	}
	if len(f.Findings) > 0 {
		var report pawl.EvidenceReport
		_ = json.Unmarshal([]byte(data), &report) // of what is missing it is said
		out.Summary = "the gates may pass only because of this, and nobody accepted it: undo it, or name the words of the goal that ask for it"
		out.Evidence = r.fit(f.From, unaccepted(r.shown(&report, f.Findings)), maxEvidence)
		return out
	}
	if rep, ok := gateReport(data); ok {
		out.Summary = rep.Reason
		out.Evidence = r.fit(f.From, objections(rep, base), maxEvidence)
		return out
	}
	if rv, ok := parseReview(data); ok {
		out.Summary = rv.short()
		out.Evidence = r.fit(f.From, rv.objections(), maxEvidence)
		out.Points = rv.points()
		return out
	}
	out.Evidence = r.fit(f.From, readable(data), maxEvidence)
	return out
}

// From whom feedback comes that a person gave: of an iteration, whose number may
// follow, else it is the last one; or to the loop, whatever it was at.
const (
	userFeedback = "user"
	aPerson      = "a person"
)

// said reports whether feedback is a person's, and of which iteration; 0 = of none.
func (r *reader) said(from string) (person bool, iteration int) {
	rest, ok := strings.CutPrefix(from, userFeedback)
	n, err := strconv.Atoi(strings.TrimPrefix(rest, " "))
	switch {
	case from == aPerson:
		return true, 0
	case ok && rest == "":
		return true, max(1, r.job.Effect.Place.Iteration-1)
	case ok && rest[0] == ' ' && err == nil && n > 0:
		return true, n
	}
	return false, 0
}

func gateReport(data string) (*pawl.GateReport, bool) {
	var rep pawl.GateReport
	if json.Unmarshal([]byte(data), &rep) != nil || rep.Verdict == "" {
		return nil, false
	}
	return &rep, true
}

// reports are the gates' reports that can be read, by name.
func (r *reader) reports(evidence []pawl.Input) map[string]*pawl.GateReport {
	out := make(map[string]*pawl.GateReport)
	for _, in := range evidence {
		if rep, ok := gateReport(r.text("the report on the base of "+in.Name, in.Blob)); ok {
			out[in.Name] = rep
		}
	}
	return out
}

// redAtBase says why a gate did not pass on the base.
func redAtBase(rep *pawl.GateReport) string {
	if rep == nil {
		return "did not pass"
	}
	return cmp.Or(rep.Reason, "did not pass")
}

// Of the tests that failed before the work began, a prompt names this many at most, in this many bytes.
const (
	maxRedTests = 200
	maxRedBytes = 12_000
)

// redTests names the tests that failed on the base, and says how many more there are.
func redTests(gates []pawl.Input, reports map[string]*pawl.GateReport) (names []string, more int) {
	size := 0
	for _, in := range gates {
		for _, t := range report.Red(in.Name, reports[in.Name]) {
			name := t.String()
			if size += len(name) + 1; len(names) == maxRedTests || size > maxRedBytes {
				more++
				continue
			}
			names = append(names, name)
		}
	}
	return names, more
}

// objections is a command gate's report for the one who is to fix what it found:
// the failing tests with their output, those the base does not have first; the
// tests that are gone; the findings; and if none of them says anything, what the
// command printed.
func objections(rep, base *pawl.GateReport) string {
	var fresh, old, rest strings.Builder
	there := make(map[string]bool)
	if base != nil {
		for _, t := range base.Tests {
			there[t.Name] = t.Status == pawl.TestFail
		}
	}
	outputs := false
	for _, t := range rep.Tests {
		switch {
		case t.Status != pawl.TestFail:
		case there[t.Name]:
			fmt.Fprintf(&old, "FAIL %s (it failed before the work began too)\n", t.Name)
		default:
			outputs = outputs || t.Output != ""
			fmt.Fprintf(&fresh, "FAIL %s\n%s", t.Name, indent(t.Output))
		}
	}
	for _, lost := range rep.Lost {
		fmt.Fprintf(&rest, "no longer runs: %s\n", lost)
	}
	if rep.Fewer > 0 {
		fmt.Fprintf(&rest, "%d fewer tests run than before the work began\n", rep.Fewer)
	}
	for _, f := range rep.Diagnostics {
		rest.WriteString(finding(f))
	}
	text := fresh.String() + rest.String() + old.String()
	if rest.Len() == 0 && !outputs && rep.Output != "" {
		text += "\n" + rep.Output
	}
	return strings.TrimLeft(text, "\n")
}

func finding(f pawl.Diagnostic) string {
	words := []string{string(f.Severity)}
	switch {
	case f.File != "" && f.Line > 0:
		words = append(words, fmt.Sprintf("%s:%d", f.File, f.Line))
	case f.File != "":
		words = append(words, f.File)
	}
	if f.Rule != "" {
		words = append(words, f.Rule)
	}
	return strings.Join(append(words, f.Message), " ") + "\n"
}

// review is a reviewer's verdict on criteria, as far as it is an objection.
type review struct {
	Criteria []struct {
		ID             string   `json:"id"`
		Status         string   `json:"status"`
		Evidence       []string `json:"evidence"`
		Gap            string   `json:"gap"`
		RecommendedFix string   `json:"recommended_fix"`
	} `json:"criteria"`
	Summary  string `json:"summary"`
	Halt     string `json:"halt"`
	Feedback string `json:"feedback"`
}

func parseReview(data string) (*review, bool) {
	var rv review
	if json.Unmarshal([]byte(data), &rv) != nil || len(rv.Criteria) == 0 {
		return nil, false
	}
	return &rv, true
}

// met is how many criteria are met.
func (rv *review) met() int {
	n := 0
	for _, c := range rv.Criteria {
		if c.Status == "pass" {
			n++
		}
	}
	return n
}

func (rv *review) short() string {
	return fmt.Sprintf("%d of %d criteria are met", rv.met(), len(rv.Criteria))
}

// points are what is objected to, one a criterion that is not met.
func (rv *review) points() []string {
	var out []string
	for _, c := range rv.Criteria {
		if c.Status != "pass" {
			out = append(out, c.ID+": "+cmp.Or(strings.TrimSpace(c.Gap), c.Status))
		}
	}
	if text := strings.TrimSpace(cmp.Or(rv.Feedback, rv.Summary)); len(out) == 0 && text != "" {
		out = append(out, text)
	}
	return out
}

// objections leaves out what is met: the next attempt has to see every gap.
func (rv *review) objections() string {
	var b strings.Builder
	say := func(name, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString(named(name, strings.Split(text, "\n")))
		}
	}
	say("a person must look", rv.Halt)
	for _, c := range rv.Criteria {
		if c.Status == "pass" {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", c.ID, c.Status)
		for _, part := range [][2]string{{"what is missing", c.Gap}, {"recommended fix", c.RecommendedFix}, {"seen", strings.Join(c.Evidence, "\n")}} {
			if text := strings.TrimSpace(part[1]); text != "" {
				b.WriteString(indent(named(part[0], strings.Split(text, "\n"))))
			}
		}
	}
	say("feedback", rv.Feedback)
	say("summary", rv.Summary)
	return b.String()
}

// secondLook is what a reviewer's prompt ends with at a second look; empty at the first.
func (r *reader) secondLook(do *pawl.AssemblePrompt) string {
	if do.Second == nil {
		return ""
	}
	reply := r.fit("the author's answer", readable(r.text("the author's answer", do.Reply)), maxAnswer)
	return recipe.SecondLook(r.feedback(*do.Second, nil), reply)
}

// findings is what a reviewer's prompt says of the classes of the changed paths and of what is
// to be answered; empty when the request names no report.
func (r *reader) findings(do *pawl.AssemblePrompt) string {
	var report pawl.EvidenceReport
	r.json("what was found about the work", do.Evidence, &report)
	return recipe.Findings(r.head("classes of the changed paths", recipe.PathsByClass(report.Paths), maxPaths), r.shown(&report, do.Findings))
}

// shown returns the findings that are open, as a report has them.
func (r *reader) shown(report *pawl.EvidenceReport, all []pawl.OpenFinding) []recipe.Finding {
	var shown []recipe.Finding
	for _, open := range all {
		f := recipe.Finding{Finding: pawl.Finding{Text: "The report of what was found no longer has it."}, Refused: open.Refused, Why: open.Why}
		if i := slices.IndexFunc(report.Findings, func(f pawl.Finding) bool { return f.Print == open.Print }); i >= 0 {
			f.Finding = report.Findings[i]
		}
		f.ID, f.Detail = open.ID, r.fit("detail of "+open.ID, valid(f.Detail), min(maxDetail, maxDetails/len(all)))
		shown = append(shown, f)
	}
	return shown
}

// unaccepted says what nobody has accepted, for whoever is to undo it.
func unaccepted(findings []recipe.Finding) string {
	var b strings.Builder
	for i := range findings {
		f := &findings[i]
		fmt.Fprintf(&b, "%s: %s\n", f.ID, f.Text)
		for _, part := range [][2]string{{"kind", f.Kind.Words()}, {"file", f.Path}, {"tests", strings.Join(f.Tests, "\n")}, {"not accepted", f.Why}} {
			if text := strings.TrimRight(part[1], "\n"); text != "" {
				b.WriteString(indent(named(part[0], strings.Split(text, "\n"))))
			}
		}
		if text := strings.TrimRight(f.Detail, "\n"); text != "" {
			b.WriteString("  the change:\n" + indent(indent(text)))
		}
	}
	return b.String()
}
