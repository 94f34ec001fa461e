package pawl

import "time"

// The effects on worktrees.

// OpenWorkspace makes the loop's worktree and branch, or finds them.
// Answered by [WorkspaceOpened].
type OpenWorkspace struct {
	Name   string     `json:"name"`
	Branch string     `json:"branch"`
	Base   CommitHash `json:"base"`
	// Result, Known and Time are as in [WorkspaceSpec].
	Result string     `json:"result,omitempty"`
	Known  CommitHash `json:"known,omitempty"`
	Time   time.Time  `json:"time,omitzero"`
}

// Verb implements [Do].
func (*OpenWorkspace) Verb() Verb { return VerbOpenWorkspace }

func (d *OpenWorkspace) fields(c *coder) {
	str(c, 1, &d.Name)
	str(c, 2, &d.Branch)
	str(c, 3, &d.Base)
	str(c, 4, &d.Result)
	str(c, 5, &d.Known)
	instant(c, 6, &d.Time)
}

// InspectWorkspace looks what the worktree holds. Answered by [WorkspaceInspected].
type InspectWorkspace struct {
	// Salvage is the ref that keeps what the worktree holds, if that is not a commit; empty = none.
	Salvage string `json:"salvage,omitempty"`
}

// Verb implements [Do].
func (*InspectWorkspace) Verb() Verb { return VerbInspectWorkspace }

func (d *InspectWorkspace) fields(c *coder) { str(c, 1, &d.Salvage) }

// ResetWorkspace sets the worktree's content aside and returns it to a commit.
// Answered by [WorkspaceReset].
type ResetWorkspace struct {
	Commit  CommitHash `json:"commit"`
	Salvage string     `json:"salvage"` // the ref that keeps what was there
	// Detached leaves the branch where it is: the worktree only shows the commit.
	Detached bool `json:"detached,omitempty"`
	// Diff asks for a diff of what is removed.
	Diff bool `json:"diff,omitempty"`
}

// Verb implements [Do].
func (*ResetWorkspace) Verb() Verb { return VerbResetWorkspace }

func (d *ResetWorkspace) fields(c *coder) {
	str(c, 1, &d.Commit)
	str(c, 2, &d.Salvage)
	flag(c, 3, &d.Detached)
	flag(c, 4, &d.Diff)
}

// CloseWorkspace removes the worktree, its work saved. Answered by [WorkspaceClosed].
type CloseWorkspace struct {
	Salvage string `json:"salvage"`
}

// Verb implements [Do].
func (*CloseWorkspace) Verb() Verb { return VerbCloseWorkspace }

func (d *CloseWorkspace) fields(c *coder) { str(c, 1, &d.Salvage) }

// Commit records the worktree as a candidate. Answered by [Committed].
type Commit struct {
	Branch  string     `json:"branch"`
	Parent  CommitHash `json:"parent"`
	Base    CommitHash `json:"base"`
	Message string     `json:"message"`
	Time    time.Time  `json:"time"`
}

// Verb implements [Do].
func (*Commit) Verb() Verb { return VerbCommit }

func (d *Commit) fields(c *coder) {
	str(c, 1, &d.Branch)
	str(c, 2, &d.Parent)
	str(c, 3, &d.Base)
	str(c, 4, &d.Message)
	instant(c, 5, &d.Time)
}

// Prepare runs the commands of [Settings.Prepare] for a commit, unless what they left for
// a commit with the same inputs is still there. Answered by [Prepared].
type Prepare struct {
	Commit CommitHash `json:"commit"`
	// Furnish puts what they left into the loop's worktree, which is at the commit.
	Furnish bool `json:"furnish,omitempty"`
	// Fresh lets nothing that was prepared for another commit stand for this one.
	Fresh bool `json:"fresh,omitempty"`
}

// Verb implements [Do].
func (*Prepare) Verb() Verb { return VerbPrepare }

func (d *Prepare) fields(c *coder) {
	str(c, 1, &d.Commit)
	flag(c, 2, &d.Furnish)
	flag(c, 3, &d.Fresh)
}
