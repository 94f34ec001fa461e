package pawl

import "time"

// The effects on branches that are merged.

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

// Verb implements [Do].
func (*Merge) Verb() Verb { return VerbMerge }

func (d *Merge) fields(c *coder) {
	str(c, 1, &d.Ours)
	str(c, 2, &d.Theirs)
	str(c, 3, &d.Message)
	instant(c, 4, &d.Time)
	sum(c, 5, &d.Suspect)
}

// AdvanceBranch moves a branch forward. Answered by [BranchAdvanced].
type AdvanceBranch struct {
	Branch string     `json:"branch"`
	From   CommitHash `json:"from"`
	To     CommitHash `json:"to"`
}

// Verb implements [Do].
func (*AdvanceBranch) Verb() Verb { return VerbAdvanceBranch }

func (d *AdvanceBranch) fields(c *coder) {
	str(c, 1, &d.Branch)
	str(c, 2, &d.From)
	str(c, 3, &d.To)
}

// ProbeConflicts looks whether a commit would conflict with those of siblings.
// Answered by [ConflictsProbed].
type ProbeConflicts struct {
	Commit CommitHash `json:"commit"`
	Others []Sibling  `json:"others"`
}

// Verb implements [Do].
func (*ProbeConflicts) Verb() Verb { return VerbProbeConflicts }

func (d *ProbeConflicts) fields(c *coder) {
	str(c, 1, &d.Commit)
	list(c, 2, &d.Others, func(c *coder, s *Sibling) {
		num(c, 1, &s.Loop)
		str(c, 2, &s.Task)
		str(c, 3, &s.Commit)
	})
}

// Sibling is another child of the same parent, and where its work stands.
type Sibling struct {
	Loop   LoopRef    `json:"loop"`
	Task   string     `json:"task"`
	Commit CommitHash `json:"commit"`
}
