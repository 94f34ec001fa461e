// Package review turns a review of a candidate against its acceptance criteria
// into a verdict. The review is written by a model; what follows from it is not.
package review

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// Status is what a review says of one criterion.
type Status string

// The statuses. Anything but [Pass] counts as not met.
const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Partial Status = "partial"
)

// Verdict is a review as it is submitted.
type Verdict struct {
	Criteria []Criterion `json:"criteria"`
	Summary  string      `json:"summary"`
	// Verdict is what the review says as a whole: pass, revise, retry, fail or
	// halt. It decides alone where there are no criteria, and may make the
	// outcome worse, never better, where there are. Empty says nothing.
	Verdict pawl.Verdict `json:"verdict,omitempty"`
}

// Criterion is the review of one acceptance criterion.
type Criterion struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Evidence says where it can be seen that the criterion is met. Without any
	// it cannot pass.
	Evidence       []string `json:"evidence"`
	Gap            string   `json:"gap,omitempty"`
	RecommendedFix string   `json:"recommended_fix,omitempty"`
}

// Outcome is what follows from a review.
type Outcome struct {
	Verdict pawl.Verdict
	// Reason says in one sentence why, naming the criteria that are not met.
	Reason string
	// Met and Total count criteria.
	Met, Total int
	// Unmet are the criteria that are not met, in the order of the task.
	Unmet []Unmet
	// Unknown are the ids that the review names and the task does not have, as
	// the review has them, in its order. They decide nothing.
	Unknown []string
}

// Unmet is a criterion that is not met.
type Unmet struct {
	ID string
	// Status is empty when the review leaves the criterion out.
	Status Status
	// Why says in a few words what is wrong with it.
	Why string
	// Gap and RecommendedFix are the review's own words.
	Gap, RecommendedFix string
}

// Judge decides on a review of a task with these criteria. Every criterion has
// to be there, pass and have evidence; of several reviews of one the worst
// counts. Ids are compared without regard to case and to space around them. A
// task without criteria is judged by those the review has, if it has any, and
// else by what the review says as a whole; a review that says nothing fails.
func Judge(v Verdict, ids []string) Outcome {
	var o Outcome
	if len(ids) == 0 {
		for _, c := range v.Criteria {
			ids = append(ids, c.ID)
		}
	} else {
		o.Unknown = unknown(v.Criteria, ids)
	}
	ids = unique(ids)
	o.Total = len(ids)
	for _, id := range ids {
		if u, ok := judgeOne(v.Criteria, id); !ok {
			o.Unmet = append(o.Unmet, u)
		}
	}
	o.Met = o.Total - len(o.Unmet)
	o.decide(v)
	return o
}

func key(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

func unique(ids []string) []string {
	var all []string
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(other string) bool { return key(other) == key(id) }) {
			all = append(all, strings.TrimSpace(id))
		}
	}
	return all
}

func unknown(criteria []Criterion, ids []string) []string {
	var names []string
	for _, c := range criteria {
		known := slices.ContainsFunc(ids, func(id string) bool { return key(id) == key(c.ID) })
		if !known && !slices.Contains(names, c.ID) {
			names = append(names, c.ID)
		}
	}
	return names
}

// judgeOne reports whether a criterion is met, and if not what is the worst
// that the review says of it.
func judgeOne(criteria []Criterion, id string) (Unmet, bool) {
	worst := Unmet{ID: id, Why: "not reviewed"}
	met, unmet := false, false
	for _, c := range criteria {
		if key(c.ID) != key(id) {
			continue
		}
		why := objection(c)
		switch {
		case why == "":
			met = true
		case !unmet || c.Status == Fail && worst.Status != Fail:
			worst = Unmet{ID: id, Status: c.Status, Why: why, Gap: c.Gap, RecommendedFix: c.RecommendedFix}
			unmet = true
		}
	}
	return worst, met && !unmet
}

// objection says why a criterion is not met; empty when it is.
func objection(c Criterion) string {
	switch Status(key(string(c.Status))) {
	case Pass:
		if !slices.ContainsFunc(c.Evidence, func(e string) bool { return strings.TrimSpace(e) != "" }) {
			return "no evidence"
		}
		return ""
	case Partial:
		return "partial"
	case Fail:
		return "fails"
	}
	return "no status"
}

// severity orders verdicts; an unknown word is a fail.
func severity(v pawl.Verdict) int {
	switch v {
	case pawl.VerdictPass:
		return 0
	case pawl.VerdictRevise:
		return 1
	case pawl.VerdictRetry:
		return 2
	case pawl.VerdictHalt:
		return 4
	}
	return 3
}

func (o *Outcome) decide(v Verdict) {
	overall := pawl.Verdict(key(string(v.Verdict)))
	if overall != "" && severity(overall) == 3 {
		overall = pawl.VerdictFail
	}
	summary := firstLine(v.Summary)
	switch {
	case o.Total == 0 && overall == "":
		o.Verdict, o.Reason = pawl.VerdictFail, "the review names no criterion and gives no verdict"
		return
	case o.Total == 0:
		o.Verdict, o.Reason = overall, fmt.Sprintf("the review says %s", overall)
		if summary != "" {
			o.Reason += ": " + summary
		}
		return
	case len(o.Unmet) > 0:
		o.Verdict = pawl.VerdictFail
		o.Reason = fmt.Sprintf("%d of %d criteria %s met: %s", o.Met, o.Total, are(o.Met), o.list())
	default:
		o.Verdict = pawl.VerdictPass
		o.Reason = fmt.Sprintf("%d of %d criteria %s met", o.Met, o.Total, are(o.Met))
	}
	if severity(overall) > severity(o.Verdict) && overall != "" {
		o.Verdict = overall
		o.Reason += fmt.Sprintf(", and the review says %s", overall)
		if summary != "" {
			o.Reason += ": " + summary
		}
	}
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// list names the first criteria that are not met, each with why.
func (o *Outcome) list() string {
	const most = 5
	var parts []string
	for _, u := range o.Unmet[:min(most, len(o.Unmet))] {
		s := u.ID + " " + u.Why
		if gap := firstLine(u.Gap); gap != "" {
			s += " (" + gap + ")"
		}
		parts = append(parts, s)
	}
	s := strings.Join(parts, "; ")
	if more := len(o.Unmet) - len(parts); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// firstLine is the beginning of a text, for a sentence.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	const most = 160
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return strings.TrimSpace(s)
}
