// Package ladder decides what follows from an attempt that has been judged: whether the loop is
// complete, tries again, goes to a stronger tier, holds a council or gives up. It also scores how
// complex a task is and counts the ballots of a council.
package ladder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/verdict"
)

// State is a loop's position on its ladder: its last attempts, and what its failures have led to.
// The zero value is not that of a new loop, whose Afterward is -1.
type State struct {
	History   []Attempt // the last attempts, oldest first, at most [Kept]
	Failures  int       // consecutive failures on the present tier
	Conflicts int       // consecutive attempts that ended in a conflict
	Freed     int       // attempts that do not count against the limit: a conflict cost them, or the run was resumed after them
	StuckFrom int       // stuck detection ignores attempts up to this iteration
	Council   *Council  // the council that is held; nil = none is
	Councils  int       // councils that were called
	Advice    pawl.Hash // the winning proposal of a council, for the next iteration; zero = none
	Afterward int       // iterations left after a council; -1 = no council was held, or the ladder goes on after it
	Resume    Rung      // where the ladder goes on after a council that the user asked for; zero = nowhere
}

// Rung is a place on a ladder.
type Rung struct {
	Tier     int
	Failures int // consecutive failures on it so far
}

// Attempt holds what later decisions need of an ended iteration.
type Attempt struct {
	N      int  // the number of the iteration
	Failed bool // it did not pass
	Passed bool // it passed, and another one follows because nothing shows that the goal is reached
	Mends  bool // it passed, and others may make more of the base green; of earlier versions
	// Files, Tests and Error are fingerprints of the modified files, of the failing tests and
	// of what was objected, as in [pawl.IterationEnded]; 0 = there is no such thing.
	Files, Tests, Error uint64
	Line                string // what was objected, in a few words

	// The fields below are kept of the last attempt only: see [Remember].

	Children   []pawl.Feedback    // from tasks that made it fail
	Security   uint64             // the fingerprint of security findings below critical; 0 = none
	Tree       pawl.TreeHash      // of its candidate
	Halted     *pawl.Committed    // its candidate, if a gate's halt ended the loop with it; else nil
	Shown      bool               // it passed, and more shows it than that nothing broke
	StepFailed string             // why its steps failed; empty = they did not
	Results    []*pawl.GateJudged // the verdicts on its candidate
	Looked     []string           // reviews that have judged this tree a second time
}

// Kept is how many attempts [State.History] keeps.
const Kept = pawl.MaxStuck

// Top is the strongest tier; tiers begin at 1.
const Top = 3

// Judgement is the result of one attempt: what its gates said, and what else decides whether it
// passes.
type Judgement struct {
	// Quality and Requirements are the verdicts of the command gates and of the reviews
	// together; empty = there were none.
	Quality, Requirements pawl.Verdict
	StepFailed            string       // why the steps failed; empty = they did not
	Green                 bool         // a command gate is green
	Proof                 pawl.Proof   // what shows that it is what was asked for
	RedWeak               string       // which weak goal tests are red; empty = none
	Mute                  string       // a gate of tests that is red and shows no single tests; empty = there is none
	Unjudged              int          // criteria of the user's that nobody judged
	NoWork                bool         // the loop only judges what others made, which needs no proof
	Answers               bool         // the run only answered its request, which changes nothing
	Unchanged             bool         // the run's result is the base
	Conflict              bool         // it conflicts with what was merged in the meantime
	Children              string       // why not every child passed; empty = they did, or there are none
	ChildrenOutcome       pawl.Outcome // the outcome of the loop if Children is not empty
}

// halt reports whether a gate halts.
func (j Judgement) halt() bool {
	return j.Quality == pawl.VerdictHalt || j.Requirements == pawl.VerdictHalt
}

// Pass reports whether the steps did not fail and all gates let the attempt pass. Children do not
// count.
func (j Judgement) Pass() bool {
	fine := func(v pawl.Verdict) bool { return v == "" || v == pawl.VerdictPass }
	return j.StepFailed == "" && fine(j.Quality) && fine(j.Requirements)
}

// Ruling is the decision on an attempt.
type Ruling struct {
	Decision pawl.Decision
	Reason   string       // for people
	Outcome  pawl.Outcome // of the loop; empty = it continues
	Tier     int          // the tier of the next attempt; of a council, where the ladder goes on after it; 0 = the same, or nowhere
	Stuck    bool         // stuck detection led to it
}

// Case is an attempt that has just been judged, with all that the rules need to know of it.
type Case struct {
	Ladder    *pawl.Ladder
	Judgement Judgement
	Results   []*pawl.GateJudged
	Ended     *pawl.IterationEnded // its fingerprints and objections
	Tier, Top int                  // the attempt's tier, and the strongest of the ladder

	HaltsOnSecurity bool    // a gate that halts ends the run
	DetectsStuck    bool    // stuck detection is on
	WantsCouncil    bool    // the user wants a council, once
	Again           bool    // a person wants another iteration
	Refused         *Ruling // what follows if the list of tasks is refused; nil = it is not
	Last            string  // why the last allowed iteration does not pass; empty = it is not the last
	AsksForProof    bool    // an attempt that nothing shows the goal of is followed by another one
	FailsUpward     bool    // the last iteration fails the loop instead of leaving it incomplete, if Ladder.Then is "fail"
}

// Rule decides what follows from an attempt. It changes nothing. The rules are tried in this order:
//
//  1. a halt ends the run, if the halt condition is in force;
//  2. everything passed: complete, or unverified if that is not shown (see [Judgement.finished]); with
//     children that have not all passed, their outcome; again, if nothing shows that the goal is reached
//     and the recipe asks for it;
//     a conflict with what was merged in the meantime: again, twice in a row;
//     a person wants another iteration: again; the list of tasks is refused: what that leads to;
//  3. the last allowed iteration has failed: incomplete;
//  4. the last attempt after a council has failed: the ladder goes on where it was, on no lower tier,
//     if the user asked for the council, else it is used up;
//  5. the user wants a council: now, once, unless what follows is one anyway;
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
	case j.Pass() && j.Proof.IsNone() && !j.NoWork && !j.Answers && c.AsksForProof && c.Last == "":
		return Ruling{Decision: pawl.DecideIterate, Reason: NoProof}
	case j.Pass():
		return j.finished(c.Results)
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
	case lad.Afterward == 0 && lad.Resume.Tier > 0:
		return Ruling{Decision: pawl.DecideIterate, Reason: ResumesLadder, Tier: max(lad.Resume.Tier, c.Tier)}
	case lad.Afterward == 0:
		return UsedUp(c.Ladder, "the attempt after the council failed too: "+FirstError(c.Ended))
	}
	r := lad.next(c)
	if c.WantsCouncil && lad.Councils == 0 && c.Ladder.Council != nil && r.Decision != pawl.DecideCouncil {
		return Ruling{Decision: pawl.DecideCouncil, Reason: "the user asked for a council", Tier: cmp.Or(r.Tier, c.Tier)}
	}
	return r
}

// NoProof is why an attempt that passes is not enough.
const NoProof = "every gate lets it pass, and nothing shows that the goal is reached"

// finished returns how a loop ends whose attempt passed: complete if a command gate is green, or a test
// that names the work or the tasks stand for it, and there is proof; else unverified.
func (j *Judgement) finished(results []*pawl.GateJudged) Ruling {
	r := Ruling{Decision: pawl.DecideComplete, Outcome: pawl.OutcomeUnverified}
	named := j.Proof.Goals+j.Proof.Added+j.Proof.Tasks+j.Proof.Unbroken > 0
	var why []string
	switch {
	case j.Answers:
	case j.RedWeak != "":
		why = append(why, j.RedWeak)
	case j.Proof.IsNone() && j.Unchanged:
		why = append(why, "nothing was changed, and nothing shows that the goal is reached")
	case j.Mute != "" && j.Proof.Goals == 0 && j.Proof.Person == "" && !j.Proof.Docs:
		why = append(why, fmt.Sprintf("gate %s is as red as on the base and names no tests: nobody can say whether the goal is reached", j.Mute))
	case !j.Green && !named:
		why = append(why, passed(results, "nothing failed, but no command gate passed either", "nothing got worse, but no command gate is green"))
	case j.Proof.IsNone() && !j.NoWork:
		why = append(why, NoProof)
	}
	if j.Unjudged > 0 {
		why = append(why, "nobody judged whether the criteria are met")
	}
	switch r.Reason = strings.Join(why, "; "); {
	case r.Reason != "":
	case j.Answers:
		r.Outcome, r.Reason = pawl.OutcomeComplete, "it answered, and changed nothing"
	default:
		r.Outcome, r.Reason = pawl.OutcomeComplete, passed(results, "every gate passed", "every gate passed or is no worse than at the base")
	}
	return r
}

// ResumesLadder is why an attempt has the tier at which the ladder stood before a council.
const ResumesLadder = "the ladder continues where it was before the council"

// next decides by security, stuck detection and the patience of the tier.
func (lad *State) next(c *Case) Ruling {
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

// passed returns why an attempt that passes ends its loop: green, or red if a gate passes only
// because it is no worse than at the base.
func passed(results []*pawl.GateJudged, green, red string) string {
	if len(verdict.RedAtBase(results)) > 0 {
		return red
	}
	return green
}

// insecure returns why security calls for the strongest tier, or "".
func (lad *State) insecure(c *Case) string {
	if h := verdict.Halt(c.Results); h != nil {
		return h.Gate + ": " + h.Reason // it does not halt the run
	}
	if a := lad.Last(); a != nil && a.Security != 0 && a.Security == verdict.Diagnostics(c.Results) {
		return "the same security finding twice in a row"
	}
	return ""
}

// Last returns the attempt that ended last, or nil.
func (lad *State) Last() *Attempt {
	if len(lad.History) == 0 {
		return nil
	}
	return &lad.History[len(lad.History)-1]
}

// climb goes to the next rung of the ladder, or at the top to a council. While attempts are left
// after a council, there is no other council.
func (lad *State) climb(c *Case, reason string, stuck bool) Ruling {
	switch next := Next(c.Ladder, c.Tier); {
	case next > 0:
		return Ruling{Decision: pawl.DecideEscalate, Reason: reason, Tier: next, Stuck: stuck}
	case lad.Afterward > 0:
		return Ruling{Decision: pawl.DecideIterate, Reason: FirstError(c.Ended)}
	case c.Ladder.Council != nil:
		return Ruling{Decision: pawl.DecideCouncil, Reason: reason, Stuck: stuck}
	}
	return UsedUp(c.Ladder, reason)
}

// consecutive returns a number of failures in words.
func consecutive(failures int) string {
	if failures == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d consecutive failures", failures)
}

// AllUsed begins the reason of a ruling for a ladder on which nothing is left to try.
const AllUsed = "the ladder is used up: "

// UsedUp returns the ruling for a ladder on which nothing is left to try: the loop is blocked, or
// has failed if the ladder ends so.
func UsedUp(lad *pawl.Ladder, reason string) Ruling {
	r := Ruling{Decision: pawl.DecideHalt, Reason: AllUsed + reason, Outcome: pawl.OutcomeBlocked}
	if lad.Then == "fail" {
		r.Outcome = pawl.OutcomeFailed
	}
	return r
}

// patience returns after how many consecutive failures a tier is left; 0 = never.
func patience(lad *pawl.Ladder, tier int) int {
	for _, r := range lad.Rungs {
		if r.Tier == tier {
			return r.Failures
		}
	}
	return 0
}

// Next returns the tier of the first rung above a tier; 0 = there is none.
func Next(lad *pawl.Ladder, tier int) int {
	for _, r := range lad.Rungs {
		if r.Tier > tier {
			return r.Tier
		}
	}
	return 0
}

// Remember returns a copy of history with one more attempt, cut to the last [Kept]. Only the
// last attempt keeps its details, because those of the others are never used again.
func Remember(history []Attempt, a Attempt) []Attempt {
	out := slices.Clone(history[max(0, len(history)-Kept+1):])
	if n := len(out); n > 0 {
		last := &out[n-1]
		last.Security, last.Tree, last.StepFailed, last.Results, last.Children, last.Looked = 0, "", "", nil, nil, nil
		last.Halted = nil
	}
	return append(out, a)
}

// FirstError returns the first objection to an iteration, or the reason of its decision if there
// is none.
func FirstError(b *pawl.IterationEnded) string {
	if len(b.Errors) > 0 {
		return b.Errors[0]
	}
	return b.Reason
}

// ConflictTries is how many attempts in a row may end in a conflict before the ladder decides.
const ConflictTries = 3

// IsTier reports whether n is a tier: 1 to [Top].
func IsTier(n int) bool { return n >= 1 && n <= Top }
