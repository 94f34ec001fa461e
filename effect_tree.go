package pawl

import "time"

// The effects of loops with children.

// ReadTasks reads a list of tasks: one that a step handed in, or the one the run
// was started with. Answered by [TasksRead].
type ReadTasks struct {
	List Hash `json:"list"`
	// Goal and Criteria become the list's one task when it has none and must have one.
	Goal     Hash `json:"goal,omitzero"`
	Criteria Hash `json:"criteria,omitzero"`
	// Given reports a list that the user gave, which may say what is done already.
	Given bool `json:"given,omitempty"`
}

// Merge makes a commit of two others, outside any worktree. Answered by [Merged].
type Merge struct {
	Ours    CommitHash `json:"ours"` // its first parent
	Theirs  CommitHash `json:"theirs"`
	Message string     `json:"message"`
	Time    time.Time  `json:"time"`
	// Suspect are paths of an earlier conflict, one per line: do they still hold
	// conflict markers in Theirs?
	Suspect Hash `json:"suspect,omitzero"`
}

// AdvanceBranch moves a branch forward. Answered by [BranchAdvanced].
type AdvanceBranch struct {
	Branch string     `json:"branch"`
	From   CommitHash `json:"from"`
	To     CommitHash `json:"to"`
}

// ProbeConflicts looks whether a commit would conflict with those of siblings.
// Answered by [ConflictsProbed].
type ProbeConflicts struct {
	Commit CommitHash `json:"commit"`
	Others []Sibling  `json:"others"`
}

// Sibling is another child of the same parent, and where its work stands.
type Sibling struct {
	Loop   LoopRef    `json:"loop"`
	Task   string     `json:"task"`
	Commit CommitHash `json:"commit"`
}

// Notify tells the run's callback how the run ends. Answered by [Notified].
type Notify struct {
	Outcome Outcome    `json:"outcome"`
	Reason  string     `json:"reason"`
	Head    CommitHash `json:"head,omitempty"`
	Try     int        `json:"try"`
	// Cost and Tokens are what the run has used; Time is when it came to its end.
	// They are the same at every try.
	Cost   Micros    `json:"cost"`
	Tokens int64     `json:"tokens"`
	Time   time.Time `json:"time"`
}

// Verb implements [Do].
func (*ReadTasks) Verb() Verb { return VerbReadTasks }

// Verb implements [Do].
func (*Merge) Verb() Verb { return VerbMerge }

// Verb implements [Do].
func (*AdvanceBranch) Verb() Verb { return VerbAdvanceBranch }

// Verb implements [Do].
func (*ProbeConflicts) Verb() Verb { return VerbProbeConflicts }

// Verb implements [Do].
func (*Notify) Verb() Verb { return VerbNotify }

func (d *ReadTasks) fields(c *coder) {
	sum(c, 1, &d.List)
	sum(c, 2, &d.Goal)
	sum(c, 3, &d.Criteria)
	flag(c, 4, &d.Given)
}

func (d *Merge) fields(c *coder) {
	str(c, 1, &d.Ours)
	str(c, 2, &d.Theirs)
	str(c, 3, &d.Message)
	instant(c, 4, &d.Time)
	sum(c, 5, &d.Suspect)
}

func (d *AdvanceBranch) fields(c *coder) {
	str(c, 1, &d.Branch)
	str(c, 2, &d.From)
	str(c, 3, &d.To)
}

func (d *ProbeConflicts) fields(c *coder) {
	str(c, 1, &d.Commit)
	list(c, 2, &d.Others, func(c *coder, s *Sibling) {
		num(c, 1, &s.Loop)
		str(c, 2, &s.Task)
		str(c, 3, &s.Commit)
	})
}

func (d *Notify) fields(c *coder) {
	str(c, 1, &d.Outcome)
	str(c, 2, &d.Reason)
	str(c, 3, &d.Head)
	num(c, 4, &d.Try)
	num(c, 5, &d.Cost)
	num(c, 6, &d.Tokens)
	instant(c, 7, &d.Time)
}
