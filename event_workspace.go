package pawl

import "time"

// The events of worktrees: how they are prepared, and what is committed of them.

// WorkspaceOpened answers [OpenWorkspace].
type WorkspaceOpened struct {
	Effect Seq        `json:"effect"`
	Head   CommitHash `json:"head"`
	Tree   TreeHash   `json:"tree"`
	// Salvage is the ref that keeps what an earlier worktree held.
	Salvage string `json:"salvage,omitempty"`
	// Note is a sentence the user should read about what commands do not see.
	Note string `json:"note,omitempty"`
	// Result is the head of the run's branch, where that is not the branch of the worktree.
	Result CommitHash `json:"result,omitempty"`
}

// EventKind implements [Body].
func (*WorkspaceOpened) EventKind() Kind { return KindWorkspaceOpened }

func (b *WorkspaceOpened) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Head)
	str(c, 3, &b.Tree)
	str(c, 4, &b.Salvage)
	str(c, 5, &b.Note)
	str(c, 6, &b.Result)
}

// Answers implements [Answer].
func (b *WorkspaceOpened) Answers() Seq { return b.Effect }

// WorkspaceInspected answers [InspectWorkspace].
type WorkspaceInspected struct {
	Effect  Seq      `json:"effect"`
	Tree    TreeHash `json:"tree"`
	Salvage string   `json:"salvage,omitempty"` // empty when there was nothing to save, or no wish to
}

// EventKind implements [Body].
func (*WorkspaceInspected) EventKind() Kind { return KindWorkspaceInspected }

func (b *WorkspaceInspected) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Tree)
	str(c, 3, &b.Salvage)
}

// Answers implements [Answer].
func (b *WorkspaceInspected) Answers() Seq { return b.Effect }

// WorkspaceReset answers [ResetWorkspace].
type WorkspaceReset struct {
	Effect  Seq        `json:"effect"`
	Head    CommitHash `json:"head"`
	Tree    TreeHash   `json:"tree"`
	Salvage string     `json:"salvage,omitempty"` // empty when there was nothing to save
	// Diff is what was removed, as git prints it, if that was asked for; zero = nothing was.
	Diff Hash `json:"diff,omitzero"`
}

// EventKind implements [Body].
func (*WorkspaceReset) EventKind() Kind { return KindWorkspaceReset }

func (b *WorkspaceReset) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Head)
	str(c, 3, &b.Tree)
	str(c, 4, &b.Salvage)
	sum(c, 5, &b.Diff)
}

// Answers implements [Answer].
func (b *WorkspaceReset) Answers() Seq { return b.Effect }

// WorkspaceClosed answers [CloseWorkspace].
type WorkspaceClosed struct {
	Effect  Seq    `json:"effect"`
	Salvage string `json:"salvage,omitempty"`
}

// EventKind implements [Body].
func (*WorkspaceClosed) EventKind() Kind { return KindWorkspaceClosed }

func (b *WorkspaceClosed) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Salvage)
}

// Answers implements [Answer].
func (b *WorkspaceClosed) Answers() Seq { return b.Effect }

// Committed answers [Commit].
type Committed struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"`
	Tree   TreeHash   `json:"tree"`
	// Files is how many paths differ from the parent, Total from the base.
	Files int `json:"files"`
	Total int `json:"total"`
	// FileSet is the fingerprint of the set of paths that differ from the parent; 0 = none.
	FileSet uint64 `json:"file_set,omitempty"`
	// Paths is a blob: one path that differs from the base per line.
	Paths   Hash   `json:"paths,omitzero"`
	PatchID string `json:"patch_id,omitempty"`
	// Hunks are what differs from the parent, as pairs of fingerprints: of the lines
	// that went and of those that came, each with its path. The pair the other way
	// round undoes it. At most 8 pairs, the same ones for a change and its undoing.
	Hunks []uint64 `json:"hunks,omitempty"`
	// Kept counts the paths below .pawl/tasks that differ from the base: the harness
	// keeps these, and no candidate may touch them.
	Kept int `json:"kept,omitempty"`
	// LeftOut is as in [ToolReturned]. Report is then a JSON [GateReport] that names the
	// files: the candidate has not passed.
	LeftOut []LimitMet `json:"left_out,omitempty"`
	Report  Hash       `json:"report,omitzero"`
	// Added and Removed count the lines that differ from the parent. Both are 0 if none does, if
	// there are too many to look at, or if the log is of an earlier version.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
}

// EventKind implements [Body].
func (*Committed) EventKind() Kind { return KindCommitted }

func (b *Committed) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
	str(c, 3, &b.Tree)
	num(c, 4, &b.Files)
	num(c, 5, &b.Total)
	num(c, 6, &b.FileSet)
	sum(c, 7, &b.Paths)
	str(c, 8, &b.PatchID)
	ints(c, 9, &b.Hunks)
	num(c, 10, &b.Kept)
	list(c, 11, &b.LeftOut, (*coder).limitMet)
	sum(c, 12, &b.Report)
	num(c, 13, &b.Added)
	num(c, 14, &b.Removed)
}

// Answers implements [Answer].
func (b *Committed) Answers() Seq { return b.Effect }

// Prepared answers [Prepare].
type Prepared struct {
	Effect Seq `json:"effect"`
	// Key identifies what was prepared: commits that have the same inputs have the same
	// key. It is the first half of a SHA-256, in hex, of the commands, of the files that
	// decide what they do, and of the toolchain.
	Key string `json:"key"`
	// Reused reports that no command ran, as what an earlier one left is still there.
	Reused   bool          `json:"reused,omitempty"`
	Duration time.Duration `json:"duration,omitempty"` // of the commands
	Bytes    int64         `json:"bytes,omitempty"`    // on disk, of what they left
	// Failed says why the commands failed, in at most 400 bytes; empty = they did not.
	Failed string `json:"failed,omitempty"`
	// Said are the lines that the command which failed printed and that tell most of why, at
	// most 160 bytes.
	Said string `json:"said,omitempty"`
	// Evidence is what the commands printed, a JSON GateReport; zero when none ran.
	Evidence Hash `json:"evidence,omitzero"`
	// Requests and Refused count what went through the egress proxy and what it refused;
	// Received is in bytes. Hosts are the first hosts it reached, RefusedHosts the first
	// it refused, at most 8 each, such as "registry.npmjs.org:443".
	Requests     int64    `json:"requests,omitempty"`
	Refused      int64    `json:"refused,omitempty"`
	Received     int64    `json:"received,omitempty"`
	Hosts        []string `json:"hosts,omitempty"`
	RefusedHosts []string `json:"refused_hosts,omitempty"`
}

// EventKind implements [Body].
func (*Prepared) EventKind() Kind { return KindPrepared }

func (b *Prepared) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Key)
	flag(c, 3, &b.Reused)
	num(c, 4, &b.Duration)
	num(c, 5, &b.Bytes)
	str(c, 6, &b.Failed)
	sum(c, 8, &b.Evidence)
	num(c, 9, &b.Requests)
	num(c, 10, &b.Refused)
	num(c, 11, &b.Received)
	words(c, 12, &b.Hosts)
	words(c, 13, &b.RefusedHosts)
	str(c, 14, &b.Said)
}

// Answers implements [Answer].
func (b *Prepared) Answers() Seq { return b.Effect }

// Why returns why the commands failed, with what they said; empty if they did not.
func (b *Prepared) Why() string {
	if b.Said == "" {
		return b.Failed
	}
	return b.Failed + ": " + b.Said
}
