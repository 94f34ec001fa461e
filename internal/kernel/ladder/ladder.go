package ladder

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/verdict"
)

// ladder is how far a loop's failures have led it up its ladder.
type State struct {
	History   []Attempt // the last of them, oldest first
	Failures  int       // consecutive, on this tier
	Conflicts int       // in a row
	Freed     int       // attempts that do not count: a conflict cost them, or the run has been resumed since
	StuckFrom int       // attempts up to this iteration do not count as stuck
	Council   *Council  // under way; nil = none is
	Councils  int
	Advice    pawl.Hash // the winning proposal, for the next iteration
	Afterward int       // iterations left after a council; -1 = no council was held
}

// Attempt is what later decisions need of an ended iteration. Only the last one
// keeps what was said in detail.
type Attempt struct {
	N                   int
	Failed              bool
	Files, Tests, Error uint64
	Line                string // what was objected, in a few words

	Children   []pawl.Feedback // of tasks that failed it
	Security   uint64          // the fingerprint of findings below critical
	Tree       pawl.TreeHash
	StepFailed string
	Results    []*pawl.GateJudged
}

// Kept is how many attempts a loop's state keeps.
const Kept = 8

// topTier is the strongest tier there is.
const Top = 3

// Judgement is what the gates said of one attempt.
type Judgement struct {
	Quality, Requirements pawl.Verdict // empty = nothing judged
	StepFailed            string       // why the steps failed; empty = they did not
	Proven                bool         // a command gate passed
	Conflict              bool         // it conflicts with what was merged in the meantime
	Children              string       // why not every child passed; empty = they did, or there are none
	ChildrenOutcome       pawl.Outcome // what that makes of the loop
}

func (j Judgement) halt() bool {
	return j.Quality == pawl.VerdictHalt || j.Requirements == pawl.VerdictHalt
}

func (j Judgement) Pass() bool {
	fine := func(v pawl.Verdict) bool { return v == "" || v == pawl.VerdictPass }
	return j.StepFailed == "" && fine(j.Quality) && fine(j.Requirements)
}

// Ruling is what follows from an attempt.
type Ruling struct {
	Decision pawl.Decision
	Reason   string
	Outcome  pawl.Outcome // of the loop; empty = it goes on
	Tier     int          // to escalate to
	Stuck    bool         // stuck detection decided
}

// attemptCase is what the rules are asked about: an attempt that has just been judged.
type Case struct {
	Ladder    *pawl.Ladder
	Judgement Judgement
	Results   []*pawl.GateJudged
	Ended     *pawl.IterationEnded // its fingerprints, and what was objected
	Tier, Top int                  // its tier, and the strongest of the ladder

	HaltsOnSecurity bool // a halt ends the run
	DetectsStuck    bool
	WantsCouncil    bool    // the user does, once
	Again           bool    // a person wants another iteration
	Refused         *Ruling // what follows from a list of tasks that is refused as such; nil = it is not
	Last            string  // why it does not pass, as the last allowed iteration; empty = it is not the last
	FailsUpward     bool    // the last one fails the loop, if the ladder ends so
}

// Rule says what follows from an attempt. The rules are tried in this order:
//
//  1. a halt ends the run, if the halt condition is in force;
//  2. everything passed: complete, or unverified when no command gate did; with
//     children that have not all passed, what they make of it;
//     a conflict with what was merged in the meantime: again, twice in a row;
//     a person wants another iteration: it has it; the list of tasks is refused as such: what that leads to;
//  3. the last allowed iteration has failed: incomplete;
//  4. the last attempt after a council has failed: the ladder is used up;
//  5. the user wants a council: now, once;
//  6. a halt that is not in force, or the same security finding twice: the top tier;
//  7. stuck: the next tier, or at the top a council;
//  8. the tier's patience is used up: the next tier, or at the top a council;
//  9. once more on the same tier.
func (lad *State) Rule(c *Case) Ruling {
	switch j := &c.Judgement; {
	case j.halt() && c.HaltsOnSecurity:
		return Ruling{Decision: pawl.DecideHalt, Reason: verdict.HaltReason(c.Results), Outcome: pawl.OutcomeHalted}
	case j.Pass() && j.Children != "":
		return Ruling{Decision: pawl.DecideHalt, Reason: j.Children, Outcome: j.ChildrenOutcome}
	case j.Pass() && j.Proven:
		return Ruling{Decision: pawl.DecideComplete, Reason: "every gate passed", Outcome: pawl.OutcomeComplete}
	case j.Pass():
		return Ruling{Decision: pawl.DecideComplete, Reason: "nothing failed, but no command gate passed either", Outcome: pawl.OutcomeUnverified}
	case j.Conflict && lad.Conflicts+1 < ConflictTries, c.Again:
		return Ruling{Decision: pawl.DecideIterate, Reason: j.StepFailed}
	case c.Refused != nil:
		return *c.Refused
	case c.Last != "":
		r := Ruling{Decision: pawl.DecideHalt, Outcome: pawl.OutcomeIncomplete, Reason: c.Last}
		if c.Ladder.Then == "fail" && c.FailsUpward { // as when a child does not pass
			r.Outcome = pawl.OutcomeFailed
		}
		return r
	case lad.Afterward == 0:
		return UsedUp(c.Ladder, "the attempt after the council failed too")
	case c.WantsCouncil && lad.Councils == 0 && c.Ladder.Council != nil:
		return Ruling{Decision: pawl.DecideCouncil, Reason: "the user asked for a council"}
	}
	if reason := lad.insecure(c); reason != "" && c.Tier < c.Top {
		return Ruling{Decision: pawl.DecideEscalate, Reason: reason, Tier: c.Top}
	}
	if reason := lad.stuck(c); reason != "" {
		return lad.climb(c, reason, true)
	}
	failures := lad.Failures + 1 // with this one
	if n := patience(c.Ladder, c.Tier); n > 0 && failures >= n {
		return lad.climb(c, consecutive(failures), false)
	}
	return Ruling{Decision: pawl.DecideIterate, Reason: FirstError(c.Ended)}
}

// insecure says why security asks for the strongest model; empty = it does not.
func (lad *State) insecure(c *Case) string {
	if c.Judgement.halt() {
		return verdict.HaltReason(c.Results)
	}
	if a := lad.Last(); a != nil && a.Security != 0 && a.Security == verdict.Findings(c.Results) {
		return "the same security finding twice in a row"
	}
	return ""
}

// Last is the attempt that ended last, or nil.
func (lad *State) Last() *Attempt {
	if len(lad.History) == 0 {
		return nil
	}
	return &lad.History[len(lad.History)-1]
}

// climb goes to the ladder's next rung. As long as attempts are left that a
// council has advised, there is no other one.
func (lad *State) climb(c *Case, reason string, stuck bool) Ruling {
	switch next := nextRung(c.Ladder, c.Tier); {
	case next > 0:
		return Ruling{Decision: pawl.DecideEscalate, Reason: reason, Tier: next, Stuck: stuck}
	case lad.Afterward > 0:
		return Ruling{Decision: pawl.DecideIterate, Reason: FirstError(c.Ended)}
	case c.Ladder.Council != nil:
		return Ruling{Decision: pawl.DecideCouncil, Reason: reason, Stuck: stuck}
	}
	return UsedUp(c.Ladder, reason)
}

func consecutive(failures int) string {
	if failures == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d consecutive failures", failures)
}

func UsedUp(lad *pawl.Ladder, reason string) Ruling {
	r := Ruling{Decision: pawl.DecideHalt, Reason: "the ladder is used up: " + reason, Outcome: pawl.OutcomeBlocked}
	if lad.Then == "fail" {
		r.Outcome = pawl.OutcomeFailed
	}
	return r
}

// patience is how many consecutive failures a tier may have; 0 = no limit.
func patience(lad *pawl.Ladder, tier int) int {
	for _, r := range lad.Rungs {
		if r.Tier == tier {
			return r.Failures
		}
	}
	return 0
}

// nextRung is the tier of the rung after this tier's; 0 = there is none.
func nextRung(lad *pawl.Ladder, tier int) int {
	for _, r := range lad.Rungs {
		if r.Tier > tier {
			return r.Tier
		}
	}
	return 0
}

// Remember is a history with one more attempt: the last ones, and details only of
// the very last, as those of others are never used again.
func Remember(history []Attempt, a Attempt) []Attempt {
	out := slices.Clone(history[max(0, len(history)-Kept+1):])
	if n := len(out); n > 0 {
		last := &out[n-1]
		last.Security, last.Tree, last.StepFailed, last.Results, last.Children = 0, "", "", nil, nil
	}
	return append(out, a)
}

func FirstError(b *pawl.IterationEnded) string {
	if len(b.Errors) > 0 {
		return b.Errors[0]
	}
	return b.Reason
}

// ConflictTries is how many conflicts in a row an attempt is made again for
// before the ladder decides.
const ConflictTries = 3

func IsTier(n int) bool { return n >= 1 && n <= Top }
