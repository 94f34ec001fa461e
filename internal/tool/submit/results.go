package submit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/tasks"
)

// Result is what an implementer says of its work. It is a claim: gates decide.
type Result struct {
	Summary string `json:"summary"`
	Agent   string `json:"agent,omitempty"`
	// Artifacts are the files it leaves for others, relative to the worktree.
	Artifacts []string `json:"artifacts,omitempty"`
	Status    string   `json:"status,omitempty"` // done or blocked; empty means done
	Reason    string   `json:"reason,omitempty"` // why it is blocked
	// Decision is Complete, which is what empty means, or Blocked: then the blocker
	// says what stands in the way, and whether waiting for another task helps.
	Decision    string     `json:"decision,omitempty"`
	BlockerType string     `json:"blocker_type,omitempty"` // dependency, external or fundamental
	Blocker     string     `json:"blocker,omitempty"`
	BlockedBy   string     `json:"blocked_by,omitempty"` // the id of the task it waits for
	Decisions   []Decision `json:"decisions,omitempty"`  // the choices that were not obvious
}

// Blocked is the decision of a result that cannot be completed here.
const Blocked = "BLOCKED"

// Blockers: what a blocked task needs.
const (
	BlockerDependency  = "dependency"  // the work of another task
	BlockerExternal    = "external"    // something outside of the repository
	BlockerFundamental = "fundamental" // another task than this one
)

func (r Result) facts() (pawl.Facts, error) {
	var facts pawl.Facts
	switch r.Status {
	case "":
	case "done", "blocked":
		facts = append(facts, pawl.Fact{Name: "status", Value: r.Status})
	default:
		return nil, fmt.Errorf("status %q is none of done, blocked", r.Status)
	}
	switch {
	case blank(r.Summary):
		return nil, errors.New("summary is empty")
	case r.Status == "blocked" && blank(r.Reason):
		return nil, errors.New("reason is empty: say why it is blocked, and what would have to change")
	case !blank(r.Reason):
		facts = append(facts, pawl.Fact{Name: "reason", Value: short(r.Reason, 300)})
	}
	if err := r.checkBlocker(); err != nil {
		return nil, err
	}
	if err := checkDecisions(r.Decisions); err != nil {
		return nil, err
	}
	if r.Decision == Blocked {
		facts = append(facts, pawl.Fact{Name: "decision", Value: Blocked}, pawl.Fact{Name: "blocker_type", Value: r.BlockerType},
			pawl.Fact{Name: "blocker", Value: short(r.Blocker, 300)})
		switch {
		case r.BlockedBy == "":
		case r.BlockerType == BlockerDependency:
			facts = append(facts, pawl.Fact{Name: "blocked_by", Value: r.BlockedBy})
		default:
			facts = append(facts, surplus("blocked_by "+r.BlockedBy))
		}
	}
	return append(facts, counts("decisions", len(r.Decisions))...), nil
}

func (r *Result) checkBlocker() error {
	switch {
	case !slices.Contains([]string{"", Complete, Blocked}, r.Decision):
		return fmt.Errorf("decision %q is none of %s, %s", short(r.Decision, 40), Complete, Blocked)
	case r.Decision != Blocked:
		if r.BlockerType != "" || r.Blocker != "" || r.BlockedBy != "" {
			return fmt.Errorf("there is a blocker, but the decision is not %s", Blocked)
		}
	case r.Status == "done":
		return fmt.Errorf("the status is done and the decision %s: want one of them", Blocked)
	case !slices.Contains([]string{BlockerDependency, BlockerExternal, BlockerFundamental}, r.BlockerType):
		return fmt.Errorf("blocker_type %q is none of %s, %s, %s", short(r.BlockerType, 40), BlockerDependency, BlockerExternal, BlockerFundamental)
	case blank(r.Blocker):
		return errors.New("blocker is empty: say what is missing, and who could give it")
	case r.BlockerType != BlockerDependency: // only such a blocker is another task
	case r.BlockedBy != "" && !tasks.IsID(r.BlockedBy):
		return fmt.Errorf("blocked_by %q is not a task's id", short(r.BlockedBy, 60))
	}
	return nil
}

// Risk is what can go wrong with a change.
type Risk string

// The risks.
const (
	RiskSecurity    Risk = "security_sensitive"
	RiskIntegration Risk = "external_integration"
	RiskBreaking    Risk = "breaking_change"
)

// Assessment says how large a task looks.
type Assessment struct {
	Files           int    `json:"files"`
	Lines           int    `json:"lines"`
	NewDependencies int    `json:"new_dependencies"`
	Type            string `json:"type"` // documentation, test, implementation or architecture
	Risks           []Risk `json:"risks"`
	Why             string `json:"why"`
	// GoalTests are the tests, of those that fail before any work, that the task asks to mend.
	GoalTests []string `json:"goal_tests,omitempty"`
}

func (a Assessment) facts(about pawl.Submission) (pawl.Facts, error) {
	switch {
	case a.Files < 0 || a.Lines < 0 || a.NewDependencies < 0:
		return nil, errors.New("files, lines and new_dependencies are counts: none can be negative")
	case !slices.Contains([]string{"documentation", "test", "implementation", "architecture"}, a.Type):
		return nil, fmt.Errorf("type %q is none of documentation, test, implementation, architecture", a.Type)
	case blank(a.Why):
		return nil, errors.New("why is empty")
	}
	facts := pawl.Facts{
		{Name: "files", Value: strconv.Itoa(a.Files)},
		{Name: "lines", Value: strconv.Itoa(a.Lines)},
		{Name: "new_dependencies", Value: strconv.Itoa(a.NewDependencies)},
		{Name: "type", Value: a.Type},
	}
	for i, r := range a.Risks {
		if !slices.Contains([]Risk{RiskSecurity, RiskIntegration, RiskBreaking}, r) {
			return nil, fmt.Errorf("risk %q is none of %s, %s, %s", r, RiskSecurity, RiskIntegration, RiskBreaking)
		}
		if slices.Contains(a.Risks[:i], r) {
			return nil, fmt.Errorf("risk %q is there twice", r)
		}
		facts = append(facts, pawl.Fact{Name: "risk", Value: string(r)})
	}
	picked := 0
	for _, t := range a.GoalTests {
		if slices.Contains(about.Red, t) {
			picked++
		} else {
			facts = append(facts, surplus("goal test "+t))
		}
	}
	facts = append(facts, counts(pawl.FactGoalTests, picked)...)
	return facts, nil
}

// Proposal is a council member's diagnosis.
type Proposal struct {
	Diagnosis             string   `json:"diagnosis"`
	Confidence            int      `json:"confidence"` // percent
	Evidence              []string `json:"evidence"`
	FixLocation           string   `json:"fix_location"`
	FixApproach           string   `json:"fix_approach"`
	ArchitecturalInsights string   `json:"architectural_insights,omitempty"`
}

func (p Proposal) facts() (pawl.Facts, error) {
	switch {
	case p.Confidence < 0 || p.Confidence > 100:
		return nil, fmt.Errorf("confidence is a percentage, got %d", p.Confidence)
	case slices.IndexFunc(p.Evidence, func(e string) bool { return !blank(e) }) < 0:
		return nil, errors.New("evidence is empty: name at least one thing you saw in the code")
	}
	for _, f := range []struct{ name, text string }{{"diagnosis", p.Diagnosis}, {"fix_location", p.FixLocation}, {"fix_approach", p.FixApproach}} {
		if blank(f.text) {
			return nil, fmt.Errorf("%s is empty", f.name)
		}
	}
	return pawl.Facts{{Name: "confidence", Value: strconv.Itoa(p.Confidence)}}, nil
}

// Ballot is a council member's ranking of the proposals, best first.
type Ballot struct {
	Ranking []string `json:"ranking"` // letters from A
	Why     string   `json:"why"`
}

func (b Ballot) facts() (pawl.Facts, error) {
	if len(b.Ranking) == 0 {
		return nil, errors.New("ranking is empty")
	}
	var facts pawl.Facts
	for i, letter := range b.Ranking {
		if len(letter) != 1 || letter[0] < 'A' || letter[0] > 'Z' {
			return nil, fmt.Errorf("ranking holds %q, which is not the letter of a proposal", letter)
		}
		if slices.Contains(b.Ranking[:i], letter) {
			return nil, fmt.Errorf("ranking holds %s twice", letter)
		}
		facts = append(facts, pawl.Fact{Name: "rank", Value: letter})
	}
	return facts, nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
