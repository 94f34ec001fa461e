package pawl

import (
	"fmt"
	"slices"
)

// TaskSpec is one entry of a list of tasks as people, planners and files write
// it: the contract from which a child loop is spawned. Its JSON form, one blob
// an entry, is what the child's prompts are made from.
type TaskSpec struct {
	// ID names the task within its list: a letter or digit, then letters, digits,
	// points, dashes and underscores, at most 60 in all.
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// Criteria say when the task is done.
	Criteria []string `json:"acceptance_criteria,omitempty"`
	// Priority 1 is the highest; zero means that none was given, which is last.
	Priority  int      `json:"priority,omitempty"`
	DependsOn []string `json:"depends_on,omitempty"`
	// ModelTier, 1 to 3, is where the task's ladder starts; zero leaves it to the recipe.
	ModelTier int `json:"model_tier,omitempty"`
	// VerificationTier is how hard the work is looked at: 1 by checks of the
	// harness, 2 by a second model too, 3 by several. Zero means 1.
	VerificationTier int `json:"verification_tier,omitempty"`
	// Critical reports that its failure blocks what depends on it, also where the recipe lets that go on.
	Critical bool `json:"is_critical_path,omitempty"`
	// MaxRetries is how often a failed attempt is made again; nil leaves it to the recipe.
	MaxRetries *int `json:"max_retries,omitempty"`
	// Scaffold reports a task that lays the ground for the others.
	Scaffold bool   `json:"scaffold,omitempty"`
	Notes    string `json:"notes,omitempty"`
	// ValidationCommand is a shell line that says whether the work is done; empty = none.
	ValidationCommand string `json:"validation_command,omitempty"`
	// Intent and Mode say what kind of work it is, such as "edit" and "code".
	Intent string `json:"intent,omitempty"`
	Mode   string `json:"mode,omitempty"`
	// Done reports a task that a file says has passed already. No model can say so.
	Done bool `json:"done,omitempty"`
}

// TaskEntry is what decisions need of a [TaskSpec].
type TaskEntry struct {
	ID         string   `json:"id"`
	Title      string   `json:"title,omitempty"` // at most 80 bytes
	Spec       Hash     `json:"spec"`            // a JSON TaskSpec
	DependsOn  []string `json:"depends_on,omitempty"`
	Priority   int      `json:"priority,omitempty"`
	Tier       int      `json:"tier,omitempty"`
	Verify     int      `json:"verify,omitempty"`  // the verification tier
	Retries    int      `json:"retries,omitempty"` // max_retries plus one; zero = not given
	Critical   bool     `json:"critical,omitempty"`
	Scaffold   bool     `json:"scaffold,omitempty"`
	Done       bool     `json:"done,omitempty"`
	Incomplete string   `json:"incomplete,omitempty"` // what it lacks to be worked on, at most 80 bytes
	Validated  bool     `json:"validated,omitempty"`  // it names a validation command
}

func (e *TaskEntry) fields(c *coder) {
	str(c, 1, &e.ID)
	str(c, 2, &e.Title)
	sum(c, 3, &e.Spec)
	words(c, 4, &e.DependsOn)
	num(c, 5, &e.Priority)
	num(c, 6, &e.Tier)
	num(c, 7, &e.Verify)
	num(c, 8, &e.Retries)
	flag(c, 9, &e.Critical)
	flag(c, 10, &e.Scaffold)
	flag(c, 11, &e.Done)
	str(c, 12, &e.Incomplete)
	flag(c, 13, &e.Validated)
}

// TaskStatus is where a task of a parent's list stands. That a task waits for
// another one is not a status: it is pending, and what it depends on has not passed.
type TaskStatus uint8

// The statuses.
const (
	TaskPending TaskStatus = iota
	TaskRunning
	TaskPassed
	TaskFailed
	TaskBlocked // something it depends on can no longer pass
	TaskSkipped // the run ended, or the plan was made anew, without it
	TaskDropped // another one of its group was picked
)

// TaskLetters are the letters of the statuses, in their order, as [AssemblePrompt]
// tells where tasks stand.
const TaskLetters = "prafbsd"

var taskStatuses = [...]string{"pending", "running", "passed", "failed", "blocked", "skipped", "dropped"}

func (s TaskStatus) String() string {
	if int(s) < len(taskStatuses) {
		return taskStatuses[s]
	}
	return "unknown"
}

// TaskStatusOf returns the status of this word. It is false if there is none.
func TaskStatusOf(word string) (TaskStatus, bool) {
	i := slices.Index(taskStatuses[:], word)
	return TaskStatus(max(0, i)), i >= 0 //nolint:gosec // at most 6
}

// MarshalText writes the status as its word.
func (s TaskStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// CriteriaList returns the task's criteria as reviewers judge them. A task without
// any has one: that it is done.
func (t *TaskSpec) CriteriaList() []Criterion {
	if len(t.Criteria) == 0 {
		return []Criterion{{ID: "AC-001", Text: "The task is done: " + t.Title}}
	}
	out := make([]Criterion, len(t.Criteria))
	for i, text := range t.Criteria {
		out[i] = Criterion{ID: fmt.Sprintf("AC-%03d", i+1), Text: text}
	}
	return out
}
