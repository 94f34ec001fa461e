// Package verdict says what the verdicts on one commit mean together.
package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Proves reports whether a verdict proves that a candidate does what it should: a
// command that the user configured passed, and did not fail on the base.
func Proves(r *pawl.GateJudged) bool {
	return r.Kind != "" && r.Kind != pawl.GateValidation && r.Verdict == pawl.VerdictPass && !r.RedAtBase
}

// Halt is the first verdict that halts, or nil.
func Halt(results []*pawl.GateJudged) *pawl.GateJudged {
	for _, r := range results {
		if r.Verdict == pawl.VerdictHalt {
			return r
		}
	}
	return nil
}

// reviewVerdict reads a reviewer's decision. What is no decision is a failure.
func OfReview(decision string, unmet int) pawl.Verdict {
	switch v := pawl.Verdict(decision); {
	case v == pawl.VerdictPass && unmet == 0:
		return v
	case v == pawl.VerdictHalt, v == pawl.VerdictRetry, v == pawl.VerdictRevise:
		return v
	}
	return pawl.VerdictFail
}

func Percent(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return min(max(n, 0), 100)
}

// Quality is the verdict of the command gates together; empty when none ran.
func Quality(results []*pawl.GateJudged) pawl.Verdict {
	return together(results, func(r *pawl.GateJudged) bool { return r.Kind != "" })
}

// Requirements is the verdict of the reviews together; empty when none ran.
func Requirements(results []*pawl.GateJudged) pawl.Verdict {
	return together(results, func(r *pawl.GateJudged) bool { return r.Kind == "" })
}

// together is halt before all pass, and anything else is a failure.
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

// testsPrint is the fingerprint of the failing tests of all test gates; 0 = none fail.
func FailingTests(results []*pawl.GateJudged) uint64 {
	var p uint64
	for _, r := range sorted(results) {
		if r.Kind == pawl.GateTests && r.Failing != 0 {
			p = brief.Mix(p, brief.Fingerprint(r.Gate), r.Failing)
		}
	}
	return p
}

// errorPrint is the fingerprint of everything that was objected, as far as it
// can be told apart; 0 = there is no such thing.
func Errors(results []*pawl.GateJudged, stepFailed string) uint64 {
	p := brief.Fingerprint(stepFailed)
	for _, r := range sorted(results) {
		if said := brief.Mix(r.Error, r.Failing, r.Found); said != 0 && !Passes(r.Verdict) {
			p = brief.Mix(p, brief.Fingerprint(r.Gate), said)
		}
	}
	return p
}

// securityPrint is the fingerprint of the security findings below critical that
// failed a gate; 0 = there are none.
func Findings(results []*pawl.GateJudged) uint64 {
	var p uint64
	for _, r := range sorted(results) {
		if r.Kind == pawl.GateSecurity && r.Verdict == pawl.VerdictFail && r.Critical == 0 {
			p = brief.Mix(p, r.Found)
		}
	}
	return p
}

// sortedByGate makes fingerprints independent of which gate was faster.
func sorted(results []*pawl.GateJudged) []*pawl.GateJudged {
	return slices.SortedStableFunc(slices.Values(results), func(a, b *pawl.GateJudged) int { return cmp.Compare(a.Gate, b.Gate) })
}

// Objections are the failures in short.
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

// MaxReason is how much of a verdict's reason the state keeps, in bytes.
const MaxReason = 120

// Remembered are an attempt's verdicts as the state keeps them: what decisions
// and the next attempt need. The reason is in the evidence, where there is any.
func Remembered(results []*pawl.GateJudged) []*pawl.GateJudged {
	var out []*pawl.GateJudged
	for _, b := range results {
		c := &pawl.GateJudged{
			Gate: b.Gate, Kind: b.Kind, Verdict: b.Verdict, Partial: b.Partial, RedAtBase: b.RedAtBase, Critical: b.Critical,
			Failing: b.Failing, Found: b.Found, Error: b.Error, Evidence: b.Evidence,
		}
		if !Passes(b.Verdict) && b.Evidence.IsZero() {
			c.Reason = b.Reason
		}
		out = append(out, c)
	}
	return out
}

// lets reports whether a verdict lets a candidate through.
func Passes(v pawl.Verdict) bool { return v == pawl.VerdictPass || v == pawl.VerdictSkip }

func HaltReason(results []*pawl.GateJudged) string {
	if r := Halt(results); r != nil {
		return fmt.Sprintf("%s halts: %s", r.Gate, r.Reason)
	}
	return "a gate halts"
}

func Object(results []*pawl.GateJudged) bool {
	return slices.ContainsFunc(results, func(r *pawl.GateJudged) bool { return !Passes(r.Verdict) })
}

func Reviews(results []*pawl.GateJudged) (out []*pawl.GateJudged) {
	for _, r := range results {
		if r.Kind == "" {
			out = append(out, r)
		}
	}
	return out
}

// Confidence is how sure the checks are of a candidate, in percent: three parts
// for the commands, three for the reviews where there were any, two for having
// needed no second attempt, one each for a last command that succeeded and for
// an attempt that was not cut short. The weights are those of Loom's gates.
func Confidence(results []*pawl.GateJudged, first, commandPassed, uncut bool) int {
	sum, of := 0, 0
	add := func(part, percent int) { sum, of = sum+part*percent, of+part }
	proven, reviewed, sure := 0, false, 100
	for _, r := range results {
		switch {
		case Proves(r):
			proven = 100
		case r.Kind == "" && r.Total > 0:
			reviewed, sure = true, min(sure, r.Passed*100/r.Total)
		}
		if r.Confidence > 0 {
			sure = min(sure, r.Confidence)
		}
	}
	add(3, proven)
	if reviewed {
		add(3, sure)
	}
	add(2, percentIf(first))
	add(1, percentIf(commandPassed))
	add(1, percentIf(uncut))
	return sum / of
}

func percentIf(ok bool) int {
	if ok {
		return 100
	}
	return 0
}
