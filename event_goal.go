package pawl

// GoalsWeighed says which goal tests a loop has, and which of them its candidate has green. It answers
// [WeighGoals].
type GoalsWeighed struct {
	Effect Seq `json:"effect"`
	// Commit is the candidate; empty = the work had not started.
	Commit CommitHash `json:"commit,omitempty"`
	// Goals is the whole list, a JSON list of [GoalTest]; zero = there is none.
	Goals Hash `json:"goals,omitzero"`
	// Count is how many there are, Weak how many of these are weak.
	Count int `json:"count"`
	Weak  int `json:"weak,omitempty"`
	// Picked are the first of those that were not known before, at most [MaxGoalsNamed].
	Picked []GoalTest `json:"picked,omitempty"`
	// Red and RedWeak are how many strong and weak ones the candidate has red, and Failing the first of
	// them, the strong ones before the weak ones, at most [MaxGoalsNamed] of at most 80 bytes.
	Red     int      `json:"red,omitempty"`
	RedWeak int      `json:"red_weak,omitempty"`
	Failing []string `json:"failing,omitempty"`
	// Again are the gates that have to judge the candidate once more before the rest is known.
	Again []string `json:"again,omitempty"`
	// Unsure reports that tests which the candidate mended are goal tests only if nothing is found in
	// it: it has not been examined, and changed what its gates look at.
	Unsure bool `json:"unsure,omitempty"`
	// Flaky are the first tests that the candidate mended and that were red when they ran once more, at
	// most [MaxGoalsNamed], without reasons. They are no goal tests.
	Flaky []GoalTest `json:"flaky,omitempty"`
}

// MaxGoalsNamed bounds the goal tests that an event names.
const MaxGoalsNamed = 6

// EventKind implements [Body].
func (*GoalsWeighed) EventKind() Kind { return KindGoalsWeighed }

// Answers implements [Answer].
func (b *GoalsWeighed) Answers() Seq { return b.Effect }

func (b *GoalsWeighed) fields(c *coder) {
	num(c, 1, &b.Effect)
	sum(c, 2, &b.Goals)
	num(c, 3, &b.Count)
	num(c, 4, &b.Weak)
	list(c, 5, &b.Picked, (*coder).goalTest)
	num(c, 6, &b.Red)
	num(c, 7, &b.RedWeak)
	words(c, 8, &b.Failing)
	words(c, 9, &b.Again)
	flag(c, 10, &b.Unsure)
	str(c, 11, &b.Commit)
	list(c, 12, &b.Flaky, (*coder).goalTest)
}
