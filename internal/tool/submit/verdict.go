package submit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
)

// Goal is the id a verdict uses when the task has no criteria of its own.
const Goal = "GOAL"

// Status says whether a criterion is met. Only [Pass] is met.
type Status string

// The statuses.
const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Partial Status = "partial"
)

// Verdict is a reviewer's judgement of every acceptance criterion.
type Verdict struct {
	Criteria []Criterion `json:"criteria"`
	Summary  string      `json:"summary"`
	// Halt says why a person must look; empty as a rule.
	Halt string `json:"halt,omitempty"`
	// Decision is what becomes of the work: one of [Approve] and the rest, or
	// empty, when it follows from the criteria.
	Decision   string `json:"decision,omitempty"`
	Confidence *int   `json:"confidence,omitempty"` // percent; nil = it does not say
	Feedback   string `json:"feedback,omitempty"`   // for whoever works on it next
	// Findings are answers to what was found in the candidate. One without an answer is
	// not accepted.
	Findings []FindingAnswer `json:"findings,omitempty"`
}

// The decisions there are besides [Fail].
const (
	Approve = "approve"
	Retry   = "retry"  // it is worked on again
	Revise  = "revise" // its account is written again
	Halt    = "halt"   // a person must look
)

// Criterion is the judgement of one criterion.
type Criterion struct {
	ID             string   `json:"id"`
	Status         Status   `json:"status"`
	Evidence       []string `json:"evidence"`
	Gap            string   `json:"gap,omitempty"`
	RecommendedFix string   `json:"recommended_fix,omitempty"`
}

// facts decides: as the reviewer does, but never pass when a criterion is not
// met; without a decision of its own pass when every criterion is met, else
// fail. A verdict that leaves a criterion out, or passes one by evidence that does
// not exist, is none, unless it halts.
func (v Verdict) facts(about pawl.Submission) (pawl.Facts, error) {
	switch {
	case blank(v.Summary):
		return nil, errors.New("summary is empty")
	case v.Confidence != nil && (*v.Confidence < 0 || *v.Confidence > 100):
		return nil, fmt.Errorf("confidence is a percentage, got %d", *v.Confidence)
	case !slices.Contains([]string{"", Approve, Retry, Revise, string(Fail), Halt}, v.Decision):
		return nil, fmt.Errorf("decision %q is none of %s, %s, %s, %s, %s", v.Decision, Approve, Retry, Revise, string(Fail), Halt)
	}
	wanted := wantedIDs(about.Criteria)
	v, ignored := v.asked(wanted)
	for _, c := range v.Criteria {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	loose, err := v.lookUp(about.Sources)
	answers, wrong := v.answers(about)
	if halts := !blank(v.Halt) || v.Decision == Halt; !halts {
		if err := cmp.Or(v.covers(wanted), err, wrong); err != nil {
			return nil, err
		}
	}
	var unmet pawl.Facts
	var gaps []string
	for _, id := range wanted {
		i := slices.IndexFunc(v.Criteria, func(c Criterion) bool { return c.ID == id })
		if i >= 0 && v.Criteria[i].Status == Pass {
			continue
		}
		unmet = append(unmet, pawl.Fact{Name: "unmet", Value: id})
		if i >= 0 {
			gaps = append(gaps, id+": "+v.Criteria[i].Gap)
		}
	}
	met := len(wanted) - len(unmet)
	decision, reason := v.decide(met, len(wanted), gaps)
	facts := pawl.Facts{
		{Name: "decision", Value: decision},
		{Name: "reason", Value: short(reason, 300)},
		{Name: "met", Value: strconv.Itoa(met)},
		{Name: "total", Value: strconv.Itoa(len(wanted))},
	}
	if v.Confidence != nil {
		facts = append(facts, pawl.Fact{Name: "confidence", Value: strconv.Itoa(*v.Confidence)})
	}
	return slices.Concat(facts, unmet, loose, answers, ignored), nil
}

// decide is the verdict and the reason for it.
func (v Verdict) decide(met, total int, gaps []string) (decision, reason string) {
	why := v.Summary
	if met < total {
		why = fmt.Sprintf("%d of %d criteria met; %s", met, total, strings.Join(gaps, "; "))
	}
	if !blank(v.Feedback) && met == total {
		why = v.Feedback
	}
	switch {
	case !blank(v.Halt):
		return "halt", v.Halt
	case v.Decision == Halt:
		return "halt", v.Summary
	case v.Decision == Retry, v.Decision == Revise:
		return v.Decision, why
	case met < total || v.Decision == string(Fail):
		return "fail", why
	}
	return "pass", v.Summary
}

func (c Criterion) check() error {
	switch c.Status {
	case Pass:
		if !slices.ContainsFunc(c.Evidence, func(e string) bool { return !blank(e) }) {
			return fmt.Errorf("%s is a pass without evidence: name what you saw, as a file with the line or a test", c.ID)
		}
	case Fail, Partial:
		if blank(c.Gap) {
			return fmt.Errorf("%s is not met: say in gap what is missing and where it belongs", c.ID)
		}
	default:
		return fmt.Errorf("%s has the status %q, which is none of pass, fail, partial", c.ID, c.Status)
	}
	return nil
}

// asked returns the verdict without the criteria that nobody asked for and those that are decided once
// more and alike, and these as facts.
func (v Verdict) asked(wanted []string) (Verdict, pawl.Facts) {
	var kept []Criterion
	var ignored pawl.Facts
	for _, c := range v.Criteria {
		switch {
		case !slices.Contains(wanted, c.ID):
			ignored = append(ignored, surplus("criterion "+c.ID))
		case slices.ContainsFunc(kept, func(o Criterion) bool { return o.ID == c.ID && o.Status == c.Status }):
			ignored = append(ignored, surplus("second decision on "+c.ID))
		default:
			kept = append(kept, c)
		}
	}
	v.Criteria = kept
	return v, ignored
}

// covers makes sure that the verdict decides every criterion once.
func (v Verdict) covers(wanted []string) error {
	var missing []string
	for _, id := range wanted {
		if !slices.ContainsFunc(v.Criteria, func(c Criterion) bool { return c.ID == id }) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("undecided: %s", strings.Join(missing, ", "))
	}
	for i, c := range v.Criteria {
		if slices.ContainsFunc(v.Criteria[:i], func(o Criterion) bool { return o.ID == c.ID }) {
			return fmt.Errorf("%s is decided twice, and not alike", c.ID)
		}
	}
	return nil
}

func wantedIDs(criteria []pawl.Criterion) []string {
	if len(criteria) == 0 {
		return []string{Goal}
	}
	var ids []string
	for _, c := range criteria {
		ids = append(ids, c.ID)
	}
	return ids
}
