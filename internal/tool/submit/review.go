package submit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/tasks"
)

// Verdicts of reviews of plans and batches.
const (
	Approved = "APPROVED"
	Revision = "NEEDS_REVISION" // of a plan
	Changes  = "CHANGES"        // of a subtask's work
)

// Severity says how much an issue weighs. Critical and Major stand against an approval.
type Severity string

// The severities.
const (
	Critical   Severity = "Critical"
	Major      Severity = "Major"
	Minor      Severity = "Minor"
	Suggestion Severity = "Suggestion"
)

func (s Severity) blocks() bool { return s == Critical || s == Major }

func (s Severity) known() bool {
	return slices.Contains([]Severity{Critical, Major, Minor, Suggestion}, s)
}

// Review is a judgement of a plan.
type Review struct {
	Decision  string   `json:"decision"` // Approved or Revision
	Issues    []Issue  `json:"issues"`
	Questions []string `json:"questions,omitempty"` // for a person
}

// Issue is something about a plan.
type Issue struct {
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Task     string   `json:"task,omitempty"` // the subtask's id; empty = the plan's
}

func (r Review) facts() (pawl.Facts, error) {
	if r.Decision != Approved && r.Decision != Revision {
		return nil, fmt.Errorf("decision %q is none of %s, %s", r.Decision, Approved, Revision)
	}
	for _, i := range r.Issues {
		if err := checkIssue("the plan", r.Decision, i.Severity, i.Text); err != nil {
			return nil, err
		}
	}
	if err := checkQuestions(r.Questions); err != nil {
		return nil, err
	}
	switch {
	case r.Decision == Approved && len(r.Questions) > 0:
		return nil, fmt.Errorf("a plan with open questions is not %s: say %s, or ask nothing", Approved, Revision)
	case r.Decision == Revision && len(r.Issues)+len(r.Questions) == 0:
		return nil, fmt.Errorf("%s without an issue: say what is to be changed", Revision)
	}
	return append(pawl.Facts{{Name: "decision", Value: r.Decision}}, counts("questions", len(r.Questions))...), nil
}

// checkIssue refuses an approval of what has a blocking issue.
func checkIssue(of, verdict string, severity Severity, text string) error {
	switch {
	case !severity.known():
		return fmt.Errorf("the severity %q of an issue is none of %s, %s, %s, %s", short(string(severity), 40), Critical, Major, Minor, Suggestion)
	case blank(text):
		return fmt.Errorf("an issue of %s is empty", of)
	case verdict == Approved && severity.blocks():
		return fmt.Errorf("%s is %s with a %s issue: such an issue stands against it", of, Approved, severity)
	}
	return nil
}

// Batch is a judgement of subtasks that were worked side by side.
type Batch struct {
	Verdicts []TaskVerdict `json:"verdicts"` // each of the batch's tasks once
	// AntiPatterns are what must not be tried again.
	AntiPatterns []string `json:"anti_patterns"`
}

// TaskVerdict is a judgement of one subtask's work.
type TaskVerdict struct {
	Task     string    `json:"task"`    // its id
	Verdict  string    `json:"verdict"` // Approved or Changes
	Feedback string    `json:"feedback,omitempty"`
	Issues   []Finding `json:"issues"`
	// Decisions are those the work was held against, by their numbers.
	Decisions []string `json:"decisions"`
}

// Finding is something about a subtask's work.
type Finding struct {
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
}

// Bounds of a review of a batch.
const (
	maxAntiPatterns = 4
	maxAntiPattern  = 1000 // bytes of one
)

// facts are a verdict for each task, and texts: whoever keeps them puts their
// hashes in their place.
func (b Batch) facts() (pawl.Facts, error) {
	if len(b.Verdicts) == 0 {
		return nil, errors.New("there is no verdict: want one for every subtask of the batch")
	}
	var facts, ignored pawl.Facts
	for i := range b.Verdicts {
		v := &b.Verdicts[i]
		switch first := slices.IndexFunc(b.Verdicts, func(o TaskVerdict) bool { return o.Task == v.Task }); {
		case first < i && b.Verdicts[first].Verdict == v.Verdict:
			ignored = append(ignored, surplus("second verdict on "+v.Task))
			continue
		case first < i:
			return nil, fmt.Errorf("subtask %s is judged twice, and not alike", short(v.Task, 60))
		}
		if err := v.check(); err != nil {
			return nil, err
		}
		if v.Verdict == Approved {
			facts = append(facts, pawl.Fact{Name: "approved", Value: v.Task})
			continue
		}
		facts = append(facts, pawl.Fact{Name: "changes", Value: v.Task},
			pawl.Fact{Name: "why", Value: short(v.Feedback, 60)}, pawl.Fact{Name: "because", Value: v.because()})
	}
	if len(b.AntiPatterns) > maxAntiPatterns {
		return nil, fmt.Errorf("there are %d anti-patterns: want at most %d", len(b.AntiPatterns), maxAntiPatterns)
	}
	for i, text := range b.AntiPatterns {
		if blank(text) || len(text) > maxAntiPattern {
			return nil, fmt.Errorf("anti-pattern %d has %d bytes: want 1 to %d", i+1, len(strings.TrimSpace(text)), maxAntiPattern)
		}
		facts = append(facts, pawl.Fact{Name: "anti-pattern", Value: text})
	}
	return append(facts, ignored...), nil
}

func (v *TaskVerdict) check() error {
	of := "subtask " + short(v.Task, 60)
	switch {
	case !tasks.IsID(v.Task):
		return fmt.Errorf("a verdict is of %q, which is not the id of a subtask", short(v.Task, 60))
	case v.Verdict != Approved && v.Verdict != Changes:
		return fmt.Errorf("%s has the verdict %q, which is none of %s, %s", of, short(v.Verdict, 40), Approved, Changes)
	case v.Verdict == Changes && blank(v.Feedback):
		return fmt.Errorf("%s is to be changed: say in feedback what, and where", of)
	}
	for _, i := range v.Issues {
		if err := checkIssue(of, v.Verdict, i.Severity, i.Text); err != nil {
			return err
		}
	}
	return nil
}

// because is what whoever works on the subtask next has to know.
func (v *TaskVerdict) because() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(v.Feedback) + "\n")
	for _, i := range v.Issues {
		fmt.Fprintf(&b, "\n%s: %s", i.Severity, oneLine(i.Text))
	}
	if len(v.Decisions) > 0 {
		fmt.Fprintf(&b, "\nHeld against the decisions: %s", oneLine(strings.Join(v.Decisions, ", ")))
	}
	return strings.TrimSpace(b.String()) + "\n"
}
