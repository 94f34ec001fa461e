package pawl

import (
	"context"
	"time"
)

// KeepDeleted is how long the log of a deleted run is kept, and with it the refs that
// keep its commits and what its worktrees held: long enough to regret a deletion.
const KeepDeleted = 14 * 24 * time.Hour

// Tombstone is what stays of a deleted run for good, so that its number and its name are
// never given again.
type Tombstone struct {
	// Run is its line when it was deleted.
	Run RunInfo `json:"run"`
	// Deleted is when that was, and By who asked for it; empty = nobody said.
	Deleted time.Time `json:"deleted"`
	By      string    `json:"by,omitempty"`
	// Learnings is the highest number among the learnings that the run knew of, so that
	// later runs of its task do not give it again; 0 = it knew of none.
	Learnings int `json:"learnings,omitempty"`
	// Erased reports that its log is gone too.
	Erased bool `json:"erased,omitempty"`
}

// Until returns the time from which on what is kept of the run may be removed.
func (t Tombstone) Until() time.Time { return t.Deleted.Add(KeepDeleted) }

// Deleter deletes runs from a [Log], which may implement it.
//
// A deleted run is not listed and not remembered any more, and an append to it fails with
// [CodeState]. Its events and blobs can be read until it is erased; then it is
// [CodeNotFound]. Its name stays used: no other run can have it.
type Deleter interface {
	// Delete makes a tombstone durable for the run that it names. A run that is deleted
	// keeps the tombstone it has.
	Delete(ctx context.Context, t Tombstone) error
	// Deleted lists the tombstones of all deleted runs, the oldest deletion first.
	Deleted(ctx context.Context) ([]Tombstone, error)
	// Erase removes the events and blobs of a deleted run for good. Erasing it again does
	// nothing; a run that is not deleted is refused with [CodeState].
	Erase(ctx context.Context, run RunID) error
}

// Deletions deletes runs of a project and removes what nobody needs any more. A [Service]
// may implement it; see [DeleteRun], [DeletedRuns], [FindGarbage] and [CollectGarbage].
type Deletions interface {
	// DeleteRun deletes a run: its branches, worktrees and refs, and its line in lists.
	// What it keeps, and until when, is in the answer. A run that has not ended, that was
	// forked, whose branch is checked out, or whose branches have commits that the run did
	// not make, is refused with [CodeState], and nothing has changed then. Called again
	// after a crash it does what is left to do.
	DeleteRun(ctx context.Context, run RunID, req DeleteRequest) (Deletion, error)
	// DeletedRuns lists the tombstones of the project, the oldest deletion first.
	DeletedRuns(ctx context.Context) ([]Tombstone, error)
	// Garbage says what of the project's state nobody needs, and how much disk its
	// removal frees. It changes nothing.
	Garbage(ctx context.Context) (Garbage, error)
	// CollectGarbage removes what Garbage lists.
	CollectGarbage(ctx context.Context) (Garbage, error)
}

// DeleteRequest says how a run is deleted.
type DeleteRequest struct {
	// Now removes at once what would be kept for [KeepDeleted].
	Now bool `json:"now,omitempty"`
	// Force deletes branches in spite of commits that the run did not make.
	Force bool `json:"force,omitempty"`
	// By is who wants it; empty = nobody says.
	By string `json:"by,omitempty"`
}

// Deletion says what became of a deleted run.
type Deletion struct {
	Run     RunID     `json:"run"`
	Deleted time.Time `json:"deleted"`
	// Until is when what is kept of it becomes garbage; zero = nothing is kept.
	Until time.Time `json:"until,omitzero"`
	// Branches are those that were deleted, with their last commits, and Refs counts the
	// other refs.
	Branches []DeletedBranch `json:"branches"`
	Refs     int             `json:"refs"`
	// Worktrees are the names of those that were removed.
	Worktrees []string `json:"worktrees"`
	// Kept are the refs that keep its commits and what was set aside, until Until.
	Kept []string `json:"kept"`
	// Foreign are commits on its branches that the run did not make.
	Foreign []ForeignCommit `json:"foreign,omitempty"`
}

// DeletedBranch is a branch of a deleted run.
type DeletedBranch struct {
	Name string     `json:"name"` // such as "pawl/001-add-login"
	Head CommitHash `json:"head"`
}

// ForeignCommit is a commit on a branch of a run that the run did not make, and that no
// branch, tag or remote of the user's has.
type ForeignCommit struct {
	Commit  CommitHash `json:"commit"`
	Subject string     `json:"subject"`
}

// Garbage is what a project keeps on disk, and what of it nobody needs.
type Garbage struct {
	// Items are what can be removed, or was.
	Items []GarbageItem `json:"items"`
	// Freed is how many bytes that frees, or freed.
	Freed int64 `json:"freed"`
	// Waiting are deleted runs whose time has not come.
	Waiting []DeletedRun `json:"waiting"`
	// Use is what all of the project's state takes, by what it is for, the most first; Used
	// is the sum. After a collection it is what is left.
	Use  []DiskUse `json:"use"`
	Used int64     `json:"used"`
}

// GarbageKind says what kind of thing nobody needs.
type GarbageKind string

// The kinds of garbage.
const (
	GarbageRun      GarbageKind = "run"      // the log of a deleted run whose time has come, and what else is kept of it
	GarbageRefs     GarbageKind = "refs"     // branches and refs that an interrupted deletion left
	GarbageWorktree GarbageKind = "worktree" // of a run that has ended or is not known
	GarbageRoom     GarbageKind = "room"     // what rooms of such a run keep
	GarbageBlobs    GarbageKind = "blobs"    // files of blobs that no event names
	GarbageCache    GarbageKind = "cache"    // layers of the trusted cache above its limit
	GarbageLog      GarbageKind = "log"      // space in the log's file that nothing uses
)

// GarbageItem is one thing that nobody needs.
type GarbageItem struct {
	Kind GarbageKind `json:"kind"`
	// Run is the run it is of; empty = of none.
	Run RunID `json:"run,omitempty"`
	// Name says which one, in words.
	Name string `json:"name"`
	// Size is how many bytes on disk its removal frees. Partial reports that there are so
	// many files that not all were measured: Size is the least it can be.
	Size    int64 `json:"size"`
	Partial bool  `json:"partial,omitempty"`
	// Problem is why it could not be removed; empty = it was, or nobody tried.
	Problem string `json:"problem,omitempty"`
}

// DeletedRun is a deleted run that is still kept.
type DeletedRun struct {
	Run     RunID     `json:"run"`
	Deleted time.Time `json:"deleted"`
	Until   time.Time `json:"until"`
	Size    int64     `json:"size"` // bytes on disk that its removal frees
}

// DiskUse is what one part of a project's state takes on disk.
type DiskUse struct {
	Name string `json:"name"` // such as "log" or "worktrees"
	Size int64  `json:"size"` // bytes
	// Partial reports that not all files were measured: Size is the least it can be.
	Partial bool `json:"partial,omitempty"`
}

// DeleteRun calls [Deletions.DeleteRun] of a service that implements it.
func DeleteRun(ctx context.Context, s Service, run RunID, req DeleteRequest) (Deletion, error) {
	if d, ok := s.(Deletions); ok {
		return d.DeleteRun(ctx, run, req)
	}
	return Deletion{}, noDeletions()
}

// DeletedRuns calls [Deletions.DeletedRuns] of a service that implements it; another one
// has deleted none.
func DeletedRuns(ctx context.Context, s Service) ([]Tombstone, error) {
	if d, ok := s.(interface {
		DeletedRuns(ctx context.Context) ([]Tombstone, error)
	}); ok {
		return d.DeletedRuns(ctx)
	}
	return nil, nil
}

// FindGarbage calls [Deletions.Garbage] of a service that implements it.
func FindGarbage(ctx context.Context, s Service) (Garbage, error) {
	if d, ok := s.(Deletions); ok {
		return d.Garbage(ctx)
	}
	return Garbage{}, noDeletions()
}

// CollectGarbage calls [Deletions.CollectGarbage] of a service that implements it.
func CollectGarbage(ctx context.Context, s Service) (Garbage, error) {
	if d, ok := s.(Deletions); ok {
		return d.CollectGarbage(ctx)
	}
	return Garbage{}, noDeletions()
}

func noDeletions() error {
	return Errorf(CodeUnavailable, "runs of this project cannot be deleted from here")
}
