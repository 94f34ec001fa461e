package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
)

// ProblemRow is something that went wrong besides failing gates.
type ProblemRow struct {
	Mark
	// Times is how often it happened in a row when that was more than once, Last the last time. Of
	// parallel calls that fail alike, only the first is a problem of its own.
	Times int       `json:"times,omitempty"`
	Last  time.Time `json:"last,omitzero"`

	why pawl.Failure // of an effect that failed; zero for any other problem
}

// keptProblems is how many problems a run shows.
const keptProblems = 20

// runFailures is what a run has said of failures, so that each is said once.
type runFailures struct {
	// told are the failures since a model last answered, and what their sessions wait for.
	told    []string
	awaited map[pawl.Account]time.Time // until when the account is waited for, as was told
	// repeated is the last event that said nothing new.
	repeated pawl.Seq
}

// problem returns a mark that is also kept among the run's problems.
func (r *Run) problem(e pawl.Event, format string, args ...any) Mark {
	m := mark(e, format, args...)
	if r.Problems = append(r.Problems, ProblemRow{Mark: m}); len(r.Problems) > keptProblems {
		r.Problems = slices.Delete(r.Problems, 0, 1)
	}
	return m
}

// fail keeps that an effect gave no fact. A failure that was told since a model last answered is
// counted with the first one.
func (r *Run) fail(e pawl.Event, f *pawl.Effect, why pawl.Failure) {
	text := why.Text()
	r.stops.why = why
	if r.repeats(e, text) {
		for i := range slices.Backward(r.Problems) {
			if p := &r.Problems[i]; p.why.Code != "" && p.why.Text() == text {
				p.Times, p.Last = max(p.Times, 1)+1, e.Time
				r.stops.failure = mark(e, "%s", r.failedText(f, &why))
				return
			}
		}
	}
	r.stops.failure = r.problem(e, "%s", r.failedText(f, &why))
	r.Problems[len(r.Problems)-1].why = why
	r.told = append(r.told, earlier(&why))
}

// repeats reports whether something was already told since a model last answered.
func (r *Run) repeats(e pawl.Event, text string) bool {
	if slices.Contains(r.told, text) {
		r.repeated = e.Seq
		return true
	}
	r.told = append(r.told, text)
	return false
}

// waitAgain keeps that a session waits before its next try. Sessions side by side wait for the same.
func (r *Run) waitAgain(e pawl.Event, do *pawl.Wait) {
	if do.Account == (pawl.Account{}) {
		r.repeats(e, "wait: "+do.Reason)
		return
	}
	if e.Time.Before(r.awaited[do.Account]) {
		r.repeated = e.Seq
		return
	}
	if r.awaited == nil {
		r.awaited = map[pawl.Account]time.Time{}
	}
	r.awaited[do.Account] = e.Time.Add(do.For)
}

// failedText says which effect failed and why, and which model was called if the tier has several.
func (r *Run) failedText(f *pawl.Effect, why *pawl.Failure) string {
	model := ""
	if do, ok := doOf[*pawl.CallModel](f); ok && r.Settings.Model(do.Tier, 1) != nil {
		model = " to " + r.choiceName(do.Tier, do.Choice)
	}
	return line("%s%s failed: %s", effectName(f), model, why.Text())
}

func lostText(f *pawl.Effect) string {
	return effectName(f) + " was lost when the process died"
}

// Look returns how the line of the run's last event looks: as [LookOf] says, unless it only repeats
// what was said.
func (r *Run) Look(e pawl.Event) Look {
	if e.Seq == r.repeated {
		return Look{Level: Detail, Tone: ToneQuiet}
	}
	if b, ok := e.Body.(*pawl.HealthJudged); ok && b.Health == pawl.HealthProgressing && e.Loop == 1 && r.blockedQuestion() != nil {
		return Look{Level: Important, Tone: ToneWarning}
	}
	return LookOf(e)
}

// unsaid returns ": reason" without a failure at its end that has a line of its own.
func (r *Run) unsaid(reason string) string { return because(cutFailure(reason, r.told)) }

// cutFailure returns a reason without what was said at its end.
func cutFailure(reason string, said []string) string {
	for _, s := range said {
		if rest, ok := strings.CutSuffix(reason, s); ok && (rest == "" || strings.HasSuffix(rest, ": ")) {
			return strings.TrimSuffix(rest, ": ")
		}
	}
	return reason
}

// endedBy returns the failure that ended the run, or nil.
func (r *Run) endedBy() *pawl.Failure {
	if !isReason(&r.stops.why, r.Reason) {
		return nil
	}
	return &r.stops.why
}

// isReason reports whether a failure is what a reason ends with.
func isReason(why *pawl.Failure, reason string) bool {
	return why.Code != "" && (strings.HasSuffix(reason, why.Text()) || strings.HasSuffix(reason, earlier(why)))
}

// earlier returns a failure as earlier versions have it in reasons.
func earlier(why *pawl.Failure) string { return string(why.Code) + ": " + why.Message }

// fix says what the user can do about the failure that ended the run; empty when that is not known.
func (r *Run) fix() string {
	why := r.endedBy()
	switch {
	case why == nil:
		return ""
	case why.Fix == "" && pawl.ModelErrorKind(why.Code) == pawl.ModelAuth:
		return "give it a key that is valid (pawl doctor says which setting it is read from)"
	}
	return line("%s", why.Fix)
}

// nextStep says what the user does next: what mends the failure that ended the run, then the
// command.
func (r *Run) nextStep() string {
	if fix := r.fix(); fix != "" {
		return fix + ", then " + r.next()
	}
	return r.next()
}

// shownProblems is how many problems a screen shows.
const shownProblems = 5

// unsaidProblems returns the last problems but the one that is the reason for the run's end.
func (r *Run) unsaidProblems() []ProblemRow {
	var out []ProblemRow
	for _, p := range r.Problems {
		if !isReason(&p.why, r.Reason) {
			out = append(out, p)
		}
	}
	return out[max(0, len(out)-shownProblems):]
}

// text returns the problem with its event and how often it happened.
func (p *ProblemRow) text() string {
	if p.Times < 2 {
		return fmt.Sprintf("%s (event %d)", p.Text, p.Seq)
	}
	return fmt.Sprintf("%s (event %d, and %s like it until %s)", p.Text, p.Seq, count(p.Times-1, "other"), Clock(p.Last))
}
