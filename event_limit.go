package pawl

import (
	"time"
)

// The events of limits on money, tokens, time and numbers of things.

// LimitsChanged replaces the run's limits.
type LimitsChanged struct {
	Limits Limits `json:"limits"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
}

// EventKind implements [Body].
func (*LimitsChanged) EventKind() Kind { return KindLimitsChanged }

func (b *LimitsChanged) fields(c *coder) {
	sub(c, 1, b.Limits.fields)
	num(c, 2, &b.Max)
}

// MaxSaid returns the limit on the root's iterations as an event says it: 0 for none. An event says
// it as a positive number, and -1 for none; ok is false for 0, which says nothing. The limit
// includes iterations that do not count.
func MaxSaid(said int) (limit int, ok bool) { return max(0, said), said != 0 }

// SayMax returns a limit as an event says it.
func SayMax(limit int) int {
	if limit == 0 {
		return -1
	}
	return limit
}

// LimitName names a limit.
type LimitName string

// The limits.
const (
	LimitMoney      LimitName = "money"       // micro-dollars
	LimitTokens     LimitName = "tokens"      // tokens
	LimitTime       LimitName = "time"        // nanoseconds the driver was alive
	LimitIterations LimitName = "iterations"  // attempts of a loop
	LimitTurns      LimitName = "turns"       // model calls of a session
	LimitRetries    LimitName = "retries"     // dispatches of one model call
	LimitTasks      LimitName = "tasks"       // children a loop has started
	LimitPlans      LimitName = "plans"       // versions of a loop's plan
	LimitRounds     LimitName = "rounds"      // of a group of steps
	LimitRoutes     LimitName = "routes"      // returns to a step by one verdict of a gate
	LimitCalls      LimitName = "calls"       // of one tool in a session
	LimitConflicts  LimitName = "conflicts"   // merges in a row that conflicted
	LimitQuestions  LimitName = "questions"   // rounds of questions of one step
	LimitRecoveries LimitName = "recoveries"  // from one health since the last good checkpoint
	LimitSize       LimitName = "size"        // tokens of a structured result that must be short
	LimitLoops      LimitName = "loops"       // active at once, of a kind or in the whole run
	LimitAnswer     LimitName = "answer"      // nanoseconds until a question is answered that nobody is there for
	LimitSignal     LimitName = "signal"      // nanoseconds until a signal is acknowledged
	LimitFile       LimitName = "file"        // bytes of a file that a recording may have
	LimitNewFiles   LimitName = "new_files"   // files of a recording that its worktree's commit does not have
	LimitNewBytes   LimitName = "new_bytes"   // bytes of a recording's new and changed files
	LimitGitName    LimitName = "git_name"    // names that git takes
	LimitGitContent LimitName = "git_content" // contents that git can store
)

// Amount returns a value of the limit for people, in its unit: "$1.50", "4m12s", "5,000,000".
func (l LimitName) Amount(v int64) string {
	switch l {
	case LimitMoney:
		return Micros(v).String()
	case LimitTime, LimitSignal, LimitAnswer:
		return Span(time.Duration(v))
	}
	return Thousands(v)
}

// LimitReached says that a limit stops something. Limits are inclusive: the
// last allowed use is allowed.
type LimitReached struct {
	Scope string    `json:"scope"` // "run", or the label of a loop or session
	Limit LimitName `json:"limit"`
	Max   int64     `json:"max"`
	Value int64     `json:"value"` // what there is, or what was asked for
}

// Amounts returns the limit and what there is, or what was asked for, for people. Money has as many digits as tell
// the two apart.
func (b *LimitReached) Amounts() (limit, value string) {
	limit, value = b.Limit.Amount(b.Max), b.Limit.Amount(b.Value)
	if limit == value && b.Max != b.Value && b.Limit == LimitMoney {
		return apart(Micros(b.Max), Micros(b.Value))
	}
	return limit, value
}

// EventKind implements [Body].
func (*LimitReached) EventKind() Kind { return KindLimitReached }

func (b *LimitReached) fields(c *coder) {
	str(c, 1, &b.Scope)
	str(c, 2, &b.Limit)
	num(c, 3, &b.Max)
	num(c, 4, &b.Value)
}

// BudgetWarned says once per limit that four fifths of it are spent.
type BudgetWarned struct {
	Limit LimitName `json:"limit"`
	Max   int64     `json:"max"`
	Value int64     `json:"value"`
}

// EventKind implements [Body].
func (*BudgetWarned) EventKind() Kind { return KindBudgetWarned }

func (b *BudgetWarned) fields(c *coder) {
	str(c, 1, &b.Limit)
	num(c, 2, &b.Max)
	num(c, 3, &b.Value)
}
