// Package verdict combines the verdicts of gates and reviews on one commit: into one verdict, into
// fingerprints that tell whether two attempts failed alike, and into a confidence. A verdict with
// a Kind is that of a command gate; one without counts as that of a review.
package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Green reports whether a verdict is that of a command gate that the user configured, which passed, and
// not only because it is no worse than on the base.
func Green(r *pawl.GateJudged) bool {
	return r.Kind != "" && r.Judge == pawl.JudgeGate && r.Kind != pawl.GateValidation && r.Verdict == pawl.VerdictPass && !r.RedAtBase
}

// Halt returns the first verdict that halts, or nil.
func Halt(results []*pawl.GateJudged) *pawl.GateJudged {
	for _, r := range results {
		if r.Verdict == pawl.VerdictHalt {
			return r
		}
	}
	return nil
}

// OfReview returns the verdict of a reviewer's decision, with the number of criteria that it found
// unmet. A pass with unmet criteria is a failure, and so is any word that is no verdict of a
// reviewer.
func OfReview(decision string, unmet int) pawl.Verdict {
	switch v := pawl.Verdict(decision); {
	case v == pawl.VerdictPass && unmet == 0:
		return v
	case v == pawl.VerdictHalt, v == pawl.VerdictRetry, v == pawl.VerdictRevise:
		return v
	}
	return pawl.VerdictFail
}

// Percent returns the number in s, limited to 0 to 100, or 0 if s is no integer.
func Percent(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return min(max(n, 0), 100)
}

// Quality returns the verdict of the command gates together: halt if one halts, else fail if one
// does not pass, else pass. It is empty if there is none.
func Quality(results []*pawl.GateJudged) pawl.Verdict {
	return together(results, func(r *pawl.GateJudged) bool { return r.Kind != "" })
}

// Requirements returns the verdict of the reviews together, as [Quality] does of the gates.
func Requirements(results []*pawl.GateJudged) pawl.Verdict {
	return together(results, func(r *pawl.GateJudged) bool { return r.Kind == "" })
}

// together returns the verdict of those results that in reports true for.
func together(results []*pawl.GateJudged, in func(*pawl.GateJudged) bool) pawl.Verdict {
	v := pawl.Verdict("")
	for _, r := range results {
		switch {
		case !in(r):
		case r.Verdict == pawl.VerdictHalt:
			return pawl.VerdictHalt
		case Passes(r.Verdict):
			if v == "" {
				v = pawl.VerdictPass
			}
		default:
			v = pawl.VerdictFail
		}
	}
	return v
}

// FailingTests returns the fingerprint of the failing tests of all test gates, or 0 if none fail.
// It does not depend on the order of results.
func FailingTests(results []*pawl.GateJudged) uint64 {
	var p uint64
	for _, r := range sorted(results) {
		if r.Kind == pawl.GateTests && r.Failing != 0 {
			p = brief.Mix(p, brief.Fingerprint(r.Gate), r.Failing)
		}
	}
	return p
}

// Errors returns the fingerprint of all objections: why the steps failed, which may be empty, and
// the errors, failing tests and findings of gates that did not pass. It returns 0 if there is
// none. It does not depend on the order of results.
func Errors(results []*pawl.GateJudged, stepFailed string) uint64 {
	p := brief.Fingerprint(stepFailed)
	for _, r := range sorted(results) {
		if said := brief.Mix(r.Error, r.Failing, r.Found); said != 0 && !Passes(r.Verdict) {
			p = brief.Mix(p, brief.Fingerprint(r.Gate), said)
		}
	}
	return p
}

// Diagnostics returns the fingerprint of the findings of security gates that failed without a
// critical finding, or 0 if there are none. It does not depend on the order of results.
func Diagnostics(results []*pawl.GateJudged) uint64 {
	var p uint64
	for _, r := range sorted(results) {
		if r.Kind == pawl.GateSecurity && r.Verdict == pawl.VerdictFail && r.Critical == 0 {
			p = brief.Mix(p, r.Found)
		}
	}
	return p
}

// sorted returns results in the order of their gates' names, so that fingerprints do not depend
// on which gate was faster.
func sorted(results []*pawl.GateJudged) []*pawl.GateJudged {
	return slices.SortedStableFunc(slices.Values(results), func(a, b *pawl.GateJudged) int { return cmp.Compare(a.Gate, b.Gate) })
}

// Objections returns what was objected in texts of at most 160 bytes: first the others that are
// not empty, then, up to three in all, the gates that did not pass, by name.
func Objections(results []*pawl.GateJudged, others ...string) []string {
	var out []string
	for _, text := range others {
		if text != "" {
			out = append(out, brief.Cut(text, 160))
		}
	}
	for _, r := range sorted(results) {
		if !Passes(r.Verdict) && len(out) < 3 {
			out = append(out, brief.Cut(fmt.Sprintf("%s: %s", r.Gate, cmp.Or(r.Reason, string(r.Verdict))), 160))
		}
	}
	return out
}

// RedAtBase returns the names of the gates that pass only because they are no worse than at the
// base, in order.
func RedAtBase(results []*pawl.GateJudged) []string {
	var out []string
	for _, r := range sorted(results) {
		if r.Verdict == pawl.VerdictPass && r.RedAtBase {
			out = append(out, r.Gate)
		}
	}
	return out
}

// Mute returns the first gate of tests that is as red as on the base and shows no single tests, but for those in
// except: whether the goal is among what is red there, nobody can say. It is "" if there is none.
func Mute(results []*pawl.GateJudged, except []string) string {
	for _, r := range sorted(results) {
		if r.Kind == pawl.GateTests && r.Judge == pawl.JudgeGate && r.Verdict == pawl.VerdictPass && r.RedAtBase && r.Total == 0 && !slices.Contains(except, r.Gate) {
			return r.Gate
		}
	}
	return ""
}

// MaxReason bounds the bytes that the state keeps of a verdict's reason.
const MaxReason = 120

// Remembered returns an attempt's verdicts as the state keeps them: with what decisions and the
// next attempt need. The verdicts of the next one are these, if it has the same tree, so those that did
// not pass keep their reason.
func Remembered(results []*pawl.GateJudged) []*pawl.GateJudged {
	var out []*pawl.GateJudged
	for _, b := range results {
		c := &pawl.GateJudged{
			Gate: b.Gate, Judge: b.Judge, Kind: b.Kind, Verdict: b.Verdict, Partial: b.Partial, RedAtBase: b.RedAtBase, Critical: b.Critical,
			Passed: b.Passed, Total: b.Total, Broke: b.Broke, Failing: b.Failing, Found: b.Found, Error: b.Error, Evidence: b.Evidence, By: b.By,
			Unanswered: b.Unanswered, Findings: b.Findings, WasGreen: b.WasGreen, Again: b.Again, Kept: b.Kept, Weak: b.Weak,
		}
		if !Passes(b.Verdict) {
			c.Reason = b.Reason
		}
		out = append(out, c)
	}
	return out
}

// Passes reports whether a verdict lets a commit through: it passed, or the gate was skipped.
func Passes(v pawl.Verdict) bool { return v == pawl.VerdictPass || v == pawl.VerdictSkip }

// HaltReason returns in words which gate halts first, and why.
func HaltReason(results []*pawl.GateJudged) string {
	if r := Halt(results); r != nil {
		return fmt.Sprintf("%s halts: %s", r.Gate, r.Reason)
	}
	return "a gate halts"
}

// Object reports whether any verdict does not let the commit through.
func Object(results []*pawl.GateJudged) bool {
	return slices.ContainsFunc(results, func(r *pawl.GateJudged) bool { return !Passes(r.Verdict) })
}

// Confidence returns how sure the checks are of a commit, in percent, as a weighted mean. The
// weights are those of Loom's gates:
//
//	3  a command gate is green (see [Green])
//	3  the lowest of the reviews' shares of met criteria and of all stated confidences; it does
//	   not count if no review has criteria
//	2  first: it is the first attempt
//	1  commandPassed: the last command that the agent ran succeeded
//	1  uncut: the attempt was not cut short
//
// Why says, as parts of a sentence, what it is lower for than 100.
func Confidence(results []*pawl.GateJudged, first, commandPassed, uncut bool) (percent int, why []string) {
	sum, of := 0, 0
	add := func(part, percent int, less string) {
		if sum, of = sum+part*percent, of+part; percent < 100 {
			why = append(why, less)
		}
	}
	proven, reviewed, sure := 0, false, 100
	for _, r := range results {
		switch {
		case Green(r):
			proven = 100
		case r.Kind == "" && r.Total > 0:
			reviewed, sure = true, min(sure, r.Passed*100/r.Total)
		}
		if r.Confidence > 0 {
			sure = min(sure, r.Confidence)
		}
	}
	add(3, proven, "no command gate is green")
	if reviewed {
		add(3, sure, fmt.Sprintf("the reviews are only %d%% sure", sure))
	}
	add(2, percentIf(first), "it did not pass at the first attempt")
	add(1, percentIf(commandPassed), "the last command of the agent failed")
	add(1, percentIf(uncut), "the attempt was begun more than once")
	return sum / of, why
}

// percentIf returns 100 if ok, and 0 otherwise.
func percentIf(ok bool) int {
	if ok {
		return 100
	}
	return 0
}
