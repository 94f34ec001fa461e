package pawl

// The events of merges, and of branches that move forward.

// MergeQueued says that a loop's work has passed and waits for its turn to be
// merged into its parent's branch.
type MergeQueued struct {
	Commit CommitHash `json:"commit"`
	// Confidence is how sure the checks are of it, in percent.
	Confidence int `json:"confidence"`
}

// EventKind implements [Body].
func (*MergeQueued) EventKind() Kind { return KindMergeQueued }

func (b *MergeQueued) fields(c *coder) {
	str(c, 1, &b.Commit)
	num(c, 2, &b.Confidence)
}

// Merged answers [Merge].
type Merged struct {
	Effect Seq `json:"effect"`
	// Commit has both sides as parents and is on no branch. Where the sides
	// conflict, its files hold conflict markers.
	Commit CommitHash `json:"commit"`
	Tree   TreeHash   `json:"tree"`
	// Conflicts counts the paths in conflict; Hunks is what conflicts, for people
	// and prompts, and Paths one of them per line.
	Conflicts int  `json:"conflicts,omitempty"`
	Hunks     Hash `json:"hunks,omitzero"`
	Paths     Hash `json:"paths,omitzero"`
	// Unresolved counts the suspect paths that still hold conflict markers.
	Unresolved int `json:"unresolved,omitempty"`
	// Changes are what differs from Ours, as [Committed] has its hunks.
	Changes []uint64 `json:"changes,omitempty"`
}

// EventKind implements [Body].
func (*Merged) EventKind() Kind { return KindMerged }

func (b *Merged) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
	str(c, 3, &b.Tree)
	num(c, 4, &b.Conflicts)
	sum(c, 5, &b.Hunks)
	sum(c, 6, &b.Paths)
	num(c, 7, &b.Unresolved)
	ints(c, 8, &b.Changes)
}

// Answers implements [Answer].
func (b *Merged) Answers() Seq { return b.Effect }

// BranchAdvanced answers [AdvanceBranch].
type BranchAdvanced struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"`
}

// EventKind implements [Body].
func (*BranchAdvanced) EventKind() Kind { return KindBranchAdvanced }

func (b *BranchAdvanced) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
}

// Answers implements [Answer].
func (b *BranchAdvanced) Answers() Seq { return b.Effect }

// ConflictsProbed answers [ProbeConflicts].
type ConflictsProbed struct {
	Effect Seq `json:"effect"`
	// With are the loops whose work conflicts with this one's, Hunks what does.
	With  []LoopRef `json:"with,omitempty"`
	Hunks Hash      `json:"hunks,omitzero"`
}

// EventKind implements [Body].
func (*ConflictsProbed) EventKind() Kind { return KindConflictsProbed }

func (b *ConflictsProbed) fields(c *coder) {
	num(c, 1, &b.Effect)
	ints(c, 2, &b.With)
	sum(c, 3, &b.Hunks)
}

// Answers implements [Answer].
func (b *ConflictsProbed) Answers() Seq { return b.Effect }
