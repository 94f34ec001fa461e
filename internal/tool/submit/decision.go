package submit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// Bounds of decisions.
const (
	maxDecisions    = 12   // of one plan or result
	maxDecision     = 1000 // bytes of one of its texts
	maxAlternatives = 8
	maxSupports     = 10 // decisions that one depends on
)

// Decision is a choice that was not obvious, with its reason.
type Decision struct {
	Title    string        `json:"title"`
	Context  string        `json:"context"`
	Choice   string        `json:"choice"`
	Rejected []Alternative `json:"alternatives_rejected"`
	// DependsOn are decisions this one stands on, by their numbers or titles.
	DependsOn     []string `json:"depends_on"`
	InvalidatedIf string   `json:"invalidated_if"`
	Consequences  string   `json:"consequences,omitempty"`
	Notes         string   `json:"notes,omitempty"`
}

// Alternative is what was not chosen.
type Alternative struct {
	Alternative string `json:"alternative"`
	Reason      string `json:"reason"`
}

// Text is the decision as it is remembered: its title on the first line, then
// what it says in Markdown, less than 30 lines in all.
func (d *Decision) Text() string {
	var b strings.Builder
	b.WriteString(oneLine(d.Title) + "\n")
	say := func(name, text string) {
		if !blank(text) {
			fmt.Fprintf(&b, "\n**%s:** %s\n", name, oneLine(text))
		}
	}
	say("Context", d.Context)
	say("Choice", d.Choice)
	b.WriteString("\n**Alternatives Rejected:**\n")
	for _, a := range d.Rejected {
		fmt.Fprintf(&b, "- %s: %s\n", oneLine(a.Alternative), oneLine(a.Reason))
	}
	depends := strings.Join(d.DependsOn, ", ")
	if blank(depends) {
		depends = "none"
	}
	say("Depends On", depends)
	say("Invalidated If", d.InvalidatedIf)
	say("Consequences", d.Consequences)
	say("Notes", d.Notes)
	return b.String()
}

// facts are the text itself: whoever keeps it puts its hash in its place.
func (d Decision) facts() (pawl.Facts, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return pawl.Facts{{Name: "decision-text", Value: d.Text()}}, nil
}

func (d *Decision) check() error {
	for _, f := range []struct {
		name, text string
		most       int
	}{{"title", d.Title, maxTitle}, {"context", d.Context, maxDecision}, {"choice", d.Choice, maxDecision}, {"invalidated_if", d.InvalidatedIf, maxDecision}} {
		if blank(f.text) {
			return fmt.Errorf("the %s of a decision is empty", f.name)
		}
		if len(f.text) > f.most {
			return fmt.Errorf("the %s of decision %q has %d bytes: want at most %d", f.name, short(d.Title, 60), len(f.text), f.most)
		}
	}
	switch {
	case len(d.Rejected) == 0:
		return fmt.Errorf("decision %q names no rejected alternative: if there was none, it is not a decision", short(d.Title, 60))
	case len(d.Rejected) > maxAlternatives || len(d.DependsOn) > maxSupports:
		return fmt.Errorf("decision %q has %d alternatives and depends on %d others: want at most %d and %d", short(d.Title, 60),
			len(d.Rejected), len(d.DependsOn), maxAlternatives, maxSupports)
	case max(len(d.Consequences), len(d.Notes)) > maxDecision:
		return fmt.Errorf("the consequences or notes of decision %q are too long: want at most %d bytes", short(d.Title, 60), maxDecision)
	case slices.ContainsFunc(d.Rejected, func(a Alternative) bool {
		return blank(a.Alternative) || blank(a.Reason) || len(a.Alternative)+len(a.Reason) > maxDecision
	}):
		return fmt.Errorf("a rejected alternative of decision %q is empty, too long or has no reason", short(d.Title, 60))
	case slices.ContainsFunc(d.DependsOn, func(s string) bool { return blank(s) || len(s) > maxTitle }):
		return fmt.Errorf("what decision %q depends on is empty or too long: name decisions by number or title", short(d.Title, 60))
	}
	return nil
}

// checkDecisions checks those of a plan or result.
func checkDecisions(list []Decision) error {
	if len(list) > maxDecisions {
		return fmt.Errorf("there are %d decisions: want at most %d, those that are not obvious", len(list), maxDecisions)
	}
	for i := range list {
		if err := list[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// Bounds of the questions of one result.
const (
	maxQuestions = 5
	maxQuestion  = 500 // bytes of one
)

func checkQuestions(list []string) error {
	if len(list) > maxQuestions {
		return fmt.Errorf("there are %d questions: want at most %d, those that only a person can answer", len(list), maxQuestions)
	}
	for i, q := range list {
		if blank(q) {
			return errors.New("a question is empty")
		}
		if len(q) > maxQuestion {
			return fmt.Errorf("question %d has %d bytes: want at most %d", i+1, len(q), maxQuestion)
		}
	}
	return nil
}
