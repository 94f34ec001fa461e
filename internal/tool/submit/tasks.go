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

// Bounds of a list of tasks from a model. A person's may be longer.
const (
	maxTasks       = 200
	maxDepends     = 40 // of one task
	maxCriteria    = 40
	maxTitle       = 200  // bytes
	maxDescription = 8000 // bytes
	maxCriterion   = 1000 // bytes
)

// Decisions of planners.
const (
	PandoraLoop = "PANDORA_LOOP" // a list of tasks is worked on
	Execute     = "EXECUTE"      // the work is done at once
	Complete    = "COMPLETE"     // nothing is left to do
)

// Tasks says how a request is worked on, and the list of tasks if it is a list.
type Tasks struct {
	Decision  string `json:"decision"` // PandoraLoop, Execute or Complete
	Reasoning string `json:"reasoning"`
	Intent    string `json:"intent,omitempty"`
	Mode      string `json:"mode,omitempty"`
	// Tasks may be missing: the harness then makes one task of the whole request.
	Tasks []Task `json:"tasks,omitempty"`
}

// Task is an entry of [Tasks].
type Task struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Criteria    []string `json:"acceptance_criteria"`
	Priority    int      `json:"priority,omitempty"`
	DependsOn   []string `json:"depends_on,omitempty"`
}

func (t Tasks) facts() (pawl.Facts, error) {
	if !slices.Contains([]string{PandoraLoop, Execute, Complete}, t.Decision) {
		return nil, fmt.Errorf("decision %q is none of %s, %s, %s", t.Decision, PandoraLoop, Execute, Complete)
	}
	if blank(t.Reasoning) {
		return nil, errors.New("reasoning is empty")
	}
	var list []pawl.TaskSpec
	for _, e := range t.Tasks {
		if blank(e.Title) {
			return nil, fmt.Errorf("task %s has no title", short(e.ID, 60))
		}
		list = append(list, pawl.TaskSpec{ID: e.ID, Title: e.Title, Description: e.Description, Criteria: e.Criteria, DependsOn: e.DependsOn})
	}
	if err := checkList(list); err != nil {
		return nil, err
	}
	return pawl.Facts{
		{Name: "decision", Value: t.Decision},
		{Name: "count", Value: strconv.Itoa(len(t.Tasks))},
		{Name: "reason", Value: short(t.Reasoning, 300)},
	}, nil
}

// Statuses of a plan as it is handed in.
const (
	Draft         = "DRAFT"
	Clarification = "NEEDS_CLARIFICATION" // a person has to answer questions first
)

// Plan is a goal divided into subtasks.
type Plan struct {
	Reasoning string    `json:"reasoning,omitempty"`
	Subtasks  []Subtask `json:"subtasks"` // may be empty while there are questions
	// Status is Draft, which is what empty means, or Clarification.
	Status    string     `json:"status,omitempty"`
	Questions []string   `json:"questions,omitempty"` // for a person
	Decisions []Decision `json:"decisions,omitempty"` // the choices that are not obvious
	Goal      string     `json:"goal,omitempty"`
	Context   string     `json:"context,omitempty"`
	Risks     []string   `json:"risks,omitempty"`
}

// Subtask is an entry of a [Plan].
type Subtask struct {
	ID               string   `json:"id"`
	Description      string   `json:"description"`
	Title            string   `json:"title,omitempty"`
	Criteria         []string `json:"acceptance_criteria,omitempty"`
	DependsOn        []string `json:"depends_on"`
	ModelTier        int      `json:"model_tier"`        // 1 to 3
	VerificationTier int      `json:"verification_tier"` // 1 to 3
	Critical         bool     `json:"is_critical_path"`
	MaxRetries       *int     `json:"max_retries,omitempty"` // nil leaves it to the recipe
	Scaffold         bool     `json:"scaffold,omitempty"`
}

func (p Plan) facts() (pawl.Facts, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var list []pawl.TaskSpec
	for _, e := range p.Subtasks {
		switch {
		case e.ModelTier < 1 || e.ModelTier > 3 || e.VerificationTier < 1 || e.VerificationTier > 3:
			return nil, fmt.Errorf("subtask %s has the tiers %d and %d: want 1, 2 or 3", short(e.ID, 60), e.ModelTier, e.VerificationTier)
		case e.MaxRetries != nil && (*e.MaxRetries < 0 || *e.MaxRetries > 10):
			return nil, fmt.Errorf("subtask %s has max_retries %d: want 0 to 10", short(e.ID, 60), *e.MaxRetries)
		}
		list = append(list, pawl.TaskSpec{ID: e.ID, Title: e.Title, Description: e.Description, Criteria: e.Criteria, DependsOn: e.DependsOn})
	}
	if err := checkList(list); err != nil {
		return nil, err
	}
	facts := pawl.Facts{{Name: "count", Value: strconv.Itoa(len(list))}}
	facts = append(facts, counts("questions", len(p.Questions))...)
	facts = append(facts, counts("decisions", len(p.Decisions))...)
	if len(p.Questions) > 0 {
		facts = append(facts, pawl.Fact{Name: "decision", Value: Clarification})
	}
	return facts, nil
}

// check looks at what a plan holds besides its subtasks.
func (p *Plan) check() error {
	switch {
	case !slices.Contains([]string{"", Draft, Clarification}, p.Status):
		return fmt.Errorf("status %q is none of %s, %s", short(p.Status, 40), Draft, Clarification)
	case p.Status == Clarification && len(p.Questions) == 0:
		return fmt.Errorf("%s without questions: ask, or plan", Clarification)
	case len(p.Subtasks) == 0 && len(p.Questions) == 0:
		return errors.New("the plan has no subtasks: want at least one")
	}
	if err := checkQuestions(p.Questions); err != nil {
		return err
	}
	return checkDecisions(p.Decisions)
}

// checkList says what keeps a model's list from being worked on, so that it can
// mend it while it still knows why it wrote it.
func checkList(list []pawl.TaskSpec) error {
	if len(list) > maxTasks {
		return fmt.Errorf("the list has %d tasks: want at most %d; put together what belongs together", len(list), maxTasks)
	}
	if err := tasks.Check(list); err != nil {
		return err
	}
	for _, t := range list {
		switch {
		case blank(t.Description):
			return fmt.Errorf("task %s has no description", t.ID)
		case len(t.DependsOn) > maxDepends:
			return fmt.Errorf("task %s depends on %d others: want at most %d", t.ID, len(t.DependsOn), maxDepends)
		case len(t.Criteria) > maxCriteria:
			return fmt.Errorf("task %s has %d acceptance criteria: want at most %d", t.ID, len(t.Criteria), maxCriteria)
		case len(t.Title) > maxTitle:
			return fmt.Errorf("the title of task %s has %d bytes: want at most %d", t.ID, len(t.Title), maxTitle)
		case len(t.Description) > maxDescription:
			return fmt.Errorf("the description of task %s has %d bytes: want at most %d", t.ID, len(t.Description), maxDescription)
		}
		for i, c := range t.Criteria {
			if blank(c) || len(c) > maxCriterion {
				return fmt.Errorf("acceptance criterion %d of task %s has %d bytes: want 1 to %d", i+1, t.ID, len(strings.TrimSpace(c)), maxCriterion)
			}
		}
	}
	return nil
}

// Next is what a planner inside a task wants done.
type Next struct {
	Decision     string `json:"decision"` // Execute or Complete
	Instructions string `json:"instructions"`
	Reasoning    string `json:"reasoning,omitempty"`
}

func (n Next) facts() (pawl.Facts, error) {
	switch {
	case n.Decision != Execute && n.Decision != Complete:
		return nil, fmt.Errorf("decision %q is none of %s, %s", n.Decision, Execute, Complete)
	case n.Decision == Execute && blank(n.Instructions):
		return nil, errors.New("instructions are empty: with EXECUTE, say what is to be done")
	}
	return pawl.Facts{{Name: "decision", Value: n.Decision}}, nil
}

// Summary is an account of what was done.
type Summary struct {
	Summary string `json:"summary"`
	Details string `json:"details,omitempty"`
}

func (s Summary) facts() (pawl.Facts, error) {
	if blank(s.Summary) {
		return nil, errors.New("summary is empty")
	}
	return nil, nil
}

// Report is the last account of a task.
type Report struct {
	Goal              string   `json:"goal"`
	Completed         []string `json:"completed"`
	Verification      string   `json:"verification"`
	DecisionAdherence string   `json:"decision_adherence"`
	Summary           string   `json:"summary"`
}

func (r Report) facts() (pawl.Facts, error) {
	for _, f := range []struct{ name, text string }{{"goal", r.Goal}, {"verification", r.Verification},
		{"decision_adherence", r.DecisionAdherence}, {"summary", r.Summary}} {
		if blank(f.text) {
			return nil, fmt.Errorf("%s is empty", f.name)
		}
	}
	return nil, nil
}

// maxLearnings is how many entries of [Learnings] there may be: all their facts
// have to fit into an event.
const maxLearnings = 12

// Learnings are what is worth remembering of an attempt.
type Learnings struct {
	Entries []Learning `json:"entries"`
}

// Learning is one of them.
type Learning struct {
	Kind pawl.MemoryKind `json:"kind"`
	Text string          `json:"text"`
}

// facts are the texts themselves: whoever keeps them puts their hashes in their place.
func (l Learnings) facts() (pawl.Facts, error) {
	if len(l.Entries) > maxLearnings {
		return nil, fmt.Errorf("there are %d entries: want at most %d, the ones that matter most", len(l.Entries), maxLearnings)
	}
	var facts pawl.Facts
	for i, e := range l.Entries {
		if !e.Kind.Learned() {
			return nil, fmt.Errorf("entry %d has the kind %q: want decision, learning, discovery, error, artifact or anti-pattern", i+1, short(string(e.Kind), 40))
		}
		if blank(e.Text) {
			return nil, fmt.Errorf("the text of entry %d is empty", i+1)
		}
		facts = append(facts, pawl.Fact{Name: string(e.Kind), Value: e.Text})
	}
	return facts, nil
}
