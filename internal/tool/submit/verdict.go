package submit

import (
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
}

// Criterion is the judgement of one criterion.
type Criterion struct {
	ID             string   `json:"id"`
	Status         Status   `json:"status"`
	Evidence       []string `json:"evidence"`
	Gap            string   `json:"gap,omitempty"`
	RecommendedFix string   `json:"recommended_fix,omitempty"`
}

// facts decides: halt when the reviewer says so, pass when every criterion is
// met, else fail. A verdict that leaves a criterion out, or passes one without
// evidence, is none.
func (v Verdict) facts(criteria []pawl.Criterion) (pawl.Facts, error) {
	if blank(v.Summary) {
		return nil, errors.New("summary is empty")
	}
	for _, c := range v.Criteria {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	wanted := wantedIDs(criteria)
	if err := v.covers(wanted); err != nil && blank(v.Halt) {
		return nil, err
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
	decision, reason := "pass", v.Summary
	switch {
	case !blank(v.Halt):
		decision, reason = "halt", v.Halt
	case len(unmet) > 0:
		decision = "fail"
		reason = fmt.Sprintf("%d of %d criteria met; %s", met, len(wanted), strings.Join(gaps, "; "))
	}
	return append(pawl.Facts{
		{Name: "decision", Value: decision},
		{Name: "reason", Value: short(reason, 300)},
		{Name: "met", Value: strconv.Itoa(met)},
		{Name: "total", Value: strconv.Itoa(len(wanted))},
	}, unmet...), nil
}

func (c Criterion) check() error {
	switch c.Status {
	case Pass:
		if !slices.ContainsFunc(c.Evidence, func(e string) bool { return !blank(e) }) {
			return fmt.Errorf("%s is a pass without evidence: name what you saw, with file and line", c.ID)
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

// covers makes sure that the verdict decides every criterion once and no other.
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
		if !slices.Contains(wanted, c.ID) {
			return fmt.Errorf("there is no criterion %q; the criteria are %s", c.ID, strings.Join(wanted, ", "))
		}
		if slices.ContainsFunc(v.Criteria[:i], func(o Criterion) bool { return o.ID == c.ID }) {
			return fmt.Errorf("%s is decided twice", c.ID)
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
