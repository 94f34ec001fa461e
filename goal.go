package pawl

import (
	"fmt"
	"strings"
)

// That nothing got worse than at the base says nothing about the goal. What says something are the
// tests that were red at the base and that the goal is about, and what else can only be so if the work
// was done.

// GoalTest is a test that was red at the base and that the goal is about: a loop that it binds is not
// done while it is red.
type GoalTest struct {
	Gate string `json:"gate"`
	// Name is the test's, as the gate has it. Empty = the gate as one test: it shows no single tests, or
	// named none on the base because it did not build.
	Name string     `json:"name,omitempty"`
	Why  GoalReason `json:"why"`
}

// String returns the test's name, or the gate's if it is one test.
func (t GoalTest) String() string {
	if t.Name == "" {
		return "gate " + t.Gate
	}
	return t.Name
}

// GoalReason says why a test is a goal test.
type GoalReason string

// The reasons, the strongest first. The last two are weak.
const (
	GoalRequired GoalReason = "required" // the user names it (--green), or wants all green (--require-green)
	GoalAsked    GoalReason = "asked"    // the goal, a criterion or the task names it
	GoalPicked   GoalReason = "picked"   // the session that assessed the request picked it
	GoalMended   GoalReason = "mended"   // an attempt mended it, without changing it
	GoalFile     GoalReason = "file"     // the goal names the file that it is in
	GoalBeside   GoalReason = "beside"   // it is in the file, or the suite, of a test that an attempt mended
)

// IsWeak reports whether a loop whose other goal tests are green may end without it, unverified.
func (r GoalReason) IsWeak() bool { return r == GoalFile || r == GoalBeside }

// Words says why in words that follow the names of tests.
func (r GoalReason) Words() string {
	switch r {
	case GoalRequired:
		return "required by the user"
	case GoalAsked:
		return "named by the goal"
	case GoalPicked:
		return "picked by the assessment"
	case GoalMended:
		return "mended by an attempt"
	case GoalFile:
		return "in a file that the goal names"
	case GoalBeside:
		return "beside one that an attempt mended"
	}
	return string(r)
}

// Proof is what shows that a result is what was asked for. The zero value is no proof.
type Proof struct {
	Goals   int    `json:"goals,omitempty"`    // goal tests that are green
	Added   int    `json:"added,omitempty"`    // added or changed tests that fail, or do not build, on the base's code
	HeldOut bool   `json:"held_out,omitempty"` // held-out checks pass that fail on the base
	Person  string `json:"person,omitempty"`   // who passed the result, at most 60 bytes
	Tasks   int    `json:"tasks,omitempty"`    // tasks that something of this shows, where every task is proven
	// Unbroken are the other tasks, of which only Kept is known, where every task is proven.
	Unbroken int `json:"unbroken,omitempty"`
	// Unproven are the tasks that passed and whose work nothing shows, which is no proof but the lack of it.
	Unproven int `json:"unproven,omitempty"`
	// Kept are the tests that were green on the base and are green now, where none went red; a gate
	// of tests that shows no single ones counts as one.
	Kept int `json:"kept,omitempty"`
	// Docs reports that only documentation changed, which needs no proof.
	Docs bool `json:"docs,omitempty"`
}

// IsNone reports whether there is no proof.
func (p Proof) IsNone() bool { p.Unproven = 0; return p == Proof{} }

// ShowsGoal reports whether something shows the goal, and not only that nothing broke.
func (p Proof) ShowsGoal() bool { p.Kept, p.Unbroken, p.Unproven = 0, 0, 0; return !p.IsNone() }

// Words says what the proof is.
func (p Proof) Words() string {
	said := p.words()
	switch {
	case p.IsNone() || p.Unproven == 0:
		return said
	case p.Unproven == 1:
		return said + "; nothing shows the work of 1 task"
	}
	return fmt.Sprintf("%s; nothing shows the work of %d tasks", said, p.Unproven)
}

func (p Proof) words() string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, one)
		case n > 1:
			parts = append(parts, fmt.Sprintf(many, n))
		}
	}
	add(p.Goals, "1 goal test is green", "%d goal tests are green")
	add(p.Added, "1 new or changed test fails on the base's code", "%d new or changed tests fail on the base's code")
	if p.HeldOut {
		parts = append(parts, "the held-out checks fail on the base and pass now")
	}
	if p.Person != "" {
		parts = append(parts, p.Person+" passed the result")
	}
	add(p.Tasks, "1 task is proven", "%d tasks are proven")
	switch {
	case p.Tasks > 0 && p.Unbroken > 0:
		return fmt.Sprintf("%s; of %d more only that nothing broke", strings.Join(parts, ", "), p.Unbroken)
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case p.Docs:
		return "only documentation changed"
	case p.Unbroken == 1:
		return "nothing broke in 1 task; no test shows the goal"
	case p.Unbroken > 1:
		return fmt.Sprintf("nothing broke in %d tasks; no test shows the goal", p.Unbroken)
	case p.Kept == 1:
		return "nothing broke (1 test); no test shows the goal"
	case p.Kept > 1:
		return fmt.Sprintf("nothing broke (%d tests); no test shows the goal", p.Kept)
	}
	return "nothing shows that the goal is reached"
}

func (c *coder) proof(p *Proof) {
	num(c, 1, &p.Goals)
	num(c, 2, &p.Added)
	flag(c, 3, &p.HeldOut)
	str(c, 4, &p.Person)
	num(c, 5, &p.Tasks)
	num(c, 6, &p.Kept)
	flag(c, 7, &p.Docs)
	num(c, 8, &p.Unbroken)
	num(c, 9, &p.Unproven)
}

func (c *coder) goalTest(t *GoalTest) {
	str(c, 1, &t.Gate)
	str(c, 2, &t.Name)
	str(c, 3, &t.Why)
}
