package pawl

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// What the harness keeps in a repository. Tools do not write into KeptFolder, which configures people and
// their tools. No candidate may touch TasksFolder, which holds the folder of each task: commits have
// it, recorded trees do not.
const (
	KeptFolder  = ".pawl"
	TasksFolder = KeptFolder + "/tasks"
)

// AttemptsFolder begins the names of the refs that attempts are made on, where they are
// not made on the run's branch: see [CommitsTask].
const AttemptsFolder = "refs/pawl/attempts/"

// Workspaces makes and keeps the worktrees of runs. Implemented in
// internal/workspace/gitworktree. The user's own checkout, index, config,
// hooks and branches are never touched; only refs/heads/pawl/* and refs/pawl/*
// of the repository move, each with its old value named.
//
// Every method is idempotent: called again with the same arguments after a
// crash at any point, it ends where one call would have ended.
type Workspaces interface {
	// Open makes the worktree of a loop, or finds the one there is, and its branch.
	Open(ctx context.Context, spec WorkspaceSpec) (WorkspaceState, error)
	// Tree records the worktree's present content as a git tree. What .gitignore
	// names is not part of it, nor is .pawl/tasks. If paths are given, no other file can
	// have changed since the worktree was last recorded, so that no other is looked at.
	Tree(ctx context.Context, name string, wrote ...string) (Recording, error)
	// FileAt returns a file's content in a recorded tree; nil when it is not there.
	// It takes a commit's hash too and then reads the commit's whole tree.
	FileAt(ctx context.Context, tree TreeHash, path string) ([]byte, error)
	// WithFile returns the tree that results from writing one file into a recorded tree.
	WithFile(ctx context.Context, tree TreeHash, path string, content []byte) (TreeHash, error)
	// Commit records the worktree's content as one commit on the branch and
	// moves the branch from spec.Parent to it. Nothing changed is a commit too, and
	// so is what is left of the content without the files that are left out.
	Commit(ctx context.Context, spec CommitSpec) (CommitInfo, error)
	// Reset saves what the worktree holds beyond commit under a salvage ref and
	// makes the worktree equal to commit, which becomes the branch's head. What
	// cannot be recorded is moved out of the worktree and kept as files.
	Reset(ctx context.Context, name string, commit CommitHash, salvage string) (WorkspaceState, error)
	// Show makes the worktree equal to a commit as Reset does, but leaves the branch
	// where it is: the worktree is detached until the next Reset, Open or Commit.
	Show(ctx context.Context, name string, commit CommitHash, salvage string) (WorkspaceState, error)
	// Keep saves what the worktree holds beyond its branch's head under a salvage ref, and changes
	// nothing else. Saved is the ref; it is empty when there was nothing to save. The recording is
	// as of Tree.
	Keep(ctx context.Context, name, salvage string) (found Recording, saved string, err error)
	// Checkout makes a clean, detached checkout of a commit for gates. The same
	// commit gives the same folder while it is held; release lets it go.
	Checkout(ctx context.Context, commit CommitHash) (dir string, release func(), err error)
	// Close saves uncommitted work under the salvage ref, if there is any (saved names
	// it, empty when there was none), and
	// removes the worktree. The branch stays.
	Close(ctx context.Context, name, salvage string) (saved string, err error)
	// Merge makes a commit with both commits as parents, outside any worktree and
	// on no branch. The same arguments give the same commit.
	Merge(ctx context.Context, spec MergeSpec) (MergeInfo, error)
	// Advance moves a branch that no worktree needs to follow from one commit to
	// a descendant of it. Anything but From there is a conflict; To is done already.
	Advance(ctx context.Context, branch string, from, to CommitHash) error
	// Mark keeps a commit by a ref below refs/pawl/. A ref that names another commit
	// is a conflict.
	Mark(ctx context.Context, ref string, commit CommitHash) error
	// Restore makes a commit on spec.From whose tree is that of spec.To, but for
	// .pawl/tasks, which stays as it is in From, and moves the branch from From to it.
	Restore(ctx context.Context, spec RestoreSpec) (CommitInfo, error)
	// Publish makes a commit on spec.From that has the tree of spec.Of, and moves the
	// branch to it. When that is the tree it has, From is returned.
	Publish(ctx context.Context, spec PublishSpec) (CommitHash, error)
	// WriteFiles makes a commit on spec.From in which a folder holds exactly the given
	// files, and moves the branch to it. When nothing changes, From is returned.
	WriteFiles(ctx context.Context, spec FilesSpec) (CommitHash, error)
	// Files reads the files below a folder of a commit, by their paths: at most 2000
	// of at most 1 MiB each. A folder that is not there has none.
	Files(ctx context.Context, commit CommitHash, folder string) (map[string][]byte, error)
	// Marked are those of the paths whose files in a commit hold conflict markers.
	Marked(ctx context.Context, commit CommitHash, paths []string) ([]string, error)
	// Contents calls see with the content of each of the paths that is a file of a commit, in
	// their order, until it returns false. Files of more than 32 MB are passed over.
	Contents(ctx context.Context, commit CommitHash, paths []string, see func(path string, content []byte) bool) error
	// Diff is the patch between two commits, as git prints it.
	Diff(ctx context.Context, from, to CommitHash) ([]byte, error)
	// Changes returns the files that differ between two commits, sorted by path, with their
	// contents as far as [MaxChangedFile] and [MaxChangedBytes] allow. A renamed file is one
	// that was removed and one that was added. What is in .pawl/tasks is left out.
	Changes(ctx context.Context, from, to CommitHash) ([]FileChange, error)
	// Compose makes a commit on spec.Of, on no branch, that has the files of spec.Of except
	// where spec.Files says otherwise. The same spec gives the same commit.
	Compose(ctx context.Context, spec ComposeSpec) (CommitHash, error)
	// Snapshot makes a commit of a recorded tree, on no branch.
	Snapshot(ctx context.Context, tree TreeHash) (CommitHash, error)
	// Objects returns the files of a commit whose paths match, with their object ids.
	Objects(ctx context.Context, commit CommitHash, match func(path string) bool) (map[string]string, error)
	// Furnish puts what was prepared into the named worktree, in place of what an earlier
	// call put there. What the paths of both held is removed, and is not part of any
	// recording, as if .gitignore named them. Commands that run in the worktree are ended.
	// When the same is there already, as it was put there, nothing happens.
	Furnish(ctx context.Context, name string, prepared Furniture) error
	// Locate says where the files of the named worktree are.
	Locate(ctx context.Context, name string) (Location, error)
}

// Furniture is what [Workspaces.Furnish] puts into a worktree: a layer that was prepared for
// the worktree's present commit.
type Furniture struct {
	PreparedFor
	Paths []string `json:"paths,omitempty"` // as in [PreparedLayer]
}

// Location is where the files of a worktree are.
type Location struct {
	// Furniture is what was last put into it.
	Furniture
	// Dir is the folder as our git and rooms find it.
	Dir string
	// Reach is the path by which this process reaches it. It is good until the worktree
	// is closed or the process ends that holds what it is joined from; see [Joined].
	Reach string
}

// CommitHash and TreeHash are git object ids in hex.
type (
	CommitHash string
	TreeHash   string
)

// WorkspaceSpec asks for a worktree.
type WorkspaceSpec struct {
	Name   string     // unique in the project; the run's id, with the loop's when it is not the first
	Branch string     // such as "pawl/001-add-login", without refs/heads/, or a ref below [AttemptsFolder]
	Base   CommitHash // where the branch starts when it does not exist yet
	// Result is the branch that gets what lands, if that is not Branch; empty = there is
	// none. Opening makes it at Known if it does not exist yet. What somebody else has
	// added to it since Known is merged into Branch; Time dates that commit.
	Result string
	Known  CommitHash
	Time   time.Time
}

// RecordingLimits bound what one recording of a worktree takes up. A field that is zero
// means its default.
type RecordingLimits struct {
	// MaxFile bounds the length of a file in bytes, whether it is sparse or not.
	MaxFile int64 `json:"max_file,omitempty"`
	// MaxNewFiles bounds the files that the worktree's commit does not have.
	MaxNewFiles int `json:"max_new_files,omitempty"`
	// MaxNewBytes bounds the new and changed files together.
	MaxNewBytes int64 `json:"max_new_bytes,omitempty"`
}

// DefaultRecordingLimits are the limits of a recording when nothing else is set.
var DefaultRecordingLimits = RecordingLimits{MaxFile: 50_000_000, MaxNewFiles: 50_000, MaxNewBytes: 1_000_000_000}

// Check reports limits under which nothing could be recorded.
func (l RecordingLimits) Check() error {
	if l.MaxFile < 0 || l.MaxNewFiles < 0 || l.MaxNewBytes < 0 {
		return Errorf(CodeInvalid, "a limit of recordings below zero: want a positive number, or 0 for the default")
	}
	return nil
}

// Filled returns the limits with a default for each that is not set.
func (l RecordingLimits) Filled() RecordingLimits {
	d := DefaultRecordingLimits
	return RecordingLimits{cmp.Or(l.MaxFile, d.MaxFile), cmp.Or(l.MaxNewFiles, d.MaxNewFiles), cmp.Or(l.MaxNewBytes, d.MaxNewBytes)}
}

// Recording is a worktree's content as a git tree.
type Recording struct {
	Tree TreeHash
	// LeftOut are the files that the tree does not have because git cannot hold them
	// or must not. Where the tree had such a file before, it has that one still.
	LeftOut []LeftOut
	// Stale reports that Tree is the one recorded before, as nothing can be recorded.
	Stale bool
}

// LeftOut are the files that a recording left out for one reason.
type LeftOut struct {
	LimitMet
	Paths []LeftPath // at most [MaxLeftPaths], sorted
}

// MaxLeftPaths bounds how many files are named that a recording left out.
const MaxLeftPaths = 20

// LeftPath is a file or folder that a recording left out.
type LeftPath struct {
	Path string
	Why  string // continues a sentence about the path
}

// LimitMet says that a recording left files out.
type LimitMet struct {
	Limit LimitName `json:"limit"`
	// Max is the limit in bytes or files; 0 where it is git itself that refuses.
	Max   int64 `json:"max,omitempty"`
	Files int   `json:"files"` // how many were left out
}

// Setting returns the key of the setting that changes a limit on recordings; it is empty
// where git itself is the limit.
func (l LimitName) Setting() string {
	return map[LimitName]string{
		LimitFile: "recording.max_file", LimitNewFiles: "recording.max_new_files", LimitNewBytes: "recording.max_new_bytes",
	}[l]
}

// RefusedName returns the part of a clean path, relative to a worktree, that git refuses:
// .git, and what other file systems take for it. It is empty when git takes the path.
func RefusedName(path string) string {
	for part := range strings.SplitSeq(path, "/") {
		if isDotGitHFS(part) {
			return part
		}
		for i, name := range strings.Split(part, `\`) { // which separates folders on Windows
			if isDotGitNTFS(name) && (i != 1 || part[0] != '\\') { // git does not look at a first one
				return part
			}
		}
	}
	return ""
}

// isDotGitHFS reports whether HFS+ takes a name for .git: in any case, with characters
// that it ignores, and up to what is no UTF-8.
func isDotGitHFS(name string) bool {
	rest := ".git"
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && size == 1 {
			break
		}
		name = name[size:]
		switch {
		case r >= 0x200C && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x206A && r <= 0x206F, r == 0xFEFF:
		case rest == "" || unicode.ToLower(r) != rune(rest[0]) || r > unicode.MaxASCII:
			return false
		default:
			rest = rest[1:]
		}
	}
	return rest == ""
}

// isDotGitNTFS reports whether NTFS takes a name for .git: in any case, by its short
// name, with spaces and dots at the end, or as one of its streams.
func isDotGitNTFS(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// WorkspaceState is a worktree as it was found.
type WorkspaceState struct {
	Head    CommitHash
	Tree    TreeHash // of its present content
	Salvage string   // the ref that keeps what was set aside; empty when nothing was
	// Note is a sentence the user should read about what commands in it do not see;
	// empty when there is none. Only Open fills it in.
	Note string
	// Result is the head of the branch that gets what lands; empty when there is none.
	// Only Open fills it in.
	Result CommitHash
}

// CommitSpec asks for a commit.
type CommitSpec struct {
	Name    string // the worktree
	Branch  string
	Parent  CommitHash // the branch's present head: anything else is a conflict
	Base    CommitHash // what PatchID and Files are taken against
	Message string
	// ID makes the commit findable: it becomes a trailer, and a second call
	// with the same ID returns the first one's commit.
	ID string
	// Time dates the commit, so that a repeated call makes the same one.
	Time time.Time
}

// RestoreSpec asks for the way back to an earlier tree.
type RestoreSpec struct {
	Branch   string
	From, To CommitHash // the branch's head, and the commit whose tree is wanted
	Message  string
	ID       string // makes the commit findable, as in [CommitSpec]
	Time     time.Time
}

// PublishSpec asks for a commit of work that has landed.
type PublishSpec struct {
	Branch  string
	From    CommitHash // the branch's head
	Of      CommitHash // the commit whose tree the new one gets
	Author  Identity   // of the new commit; the zero Identity means Pawl
	Message string
	// Trailers follow the message, such as "Pawl-Run: 001-add-login".
	Trailers []string
	ID       string // makes the commit findable, as in [CommitSpec]
	Time     time.Time
}

// Identity is whom git names as the author of a commit.
type Identity struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// IsSet reports whether git takes the identity: it needs a name and an address.
func (i Identity) IsSet() bool { return i.Name != "" && i.Email != "" }

// FilesSpec asks for a commit of files that the harness writes.
type FilesSpec struct {
	Branch  string
	From    CommitHash // the branch's head
	Folder  string     // below [TasksFolder]
	Files   map[string][]byte
	Message string
	ID      string
	Time    time.Time
}

// CommitInfo describes a commit.
type CommitInfo struct {
	Commit CommitHash
	Tree   TreeHash
	// Files are the paths that differ from Parent, sorted; Total those that differ from Base.
	Files []string
	Total []string
	// PatchID identifies the change against Base whatever its line numbers;
	// empty when there is none.
	PatchID string
	// Hunks are what differs from Parent, as [Committed] has them; Kept counts the
	// paths below .pawl/tasks among Total.
	Hunks []uint64
	Kept  int
	// Added and Removed count the lines that differ from Parent, as [Committed] has them.
	Added, Removed int
	// LeftOut is as in [Recording]; for a commit that an earlier call made, it is what
	// the worktree holds now.
	LeftOut []LeftOut
}

// Bounds of the contents that [Workspaces.Changes] returns, in bytes.
const (
	MaxChangedFile  = 1 << 20  // of one file
	MaxChangedBytes = 64 << 20 // of all files together; equal contents count once
)

// FileKind says what git has at a path.
type FileKind string

// The kinds of files. Folders are not files.
const (
	FileRegular    FileKind = "regular"
	FileExecutable FileKind = "executable"
	FileSymlink    FileKind = "symlink"
	FileSubmodule  FileKind = "submodule"
)

// FileState is a file as a commit has it. The zero value means that the commit has no file
// at the path.
type FileState struct {
	Kind FileKind
	// Object is git's id of the content; a submodule's is its commit.
	Object string
	Size   int64 // of the content in bytes; 0 for a submodule
	// Data is the content; a symlink's is its target. It is nil for a submodule, for a file
	// larger than [MaxChangedFile] and for one that would exceed [MaxChangedBytes], but not
	// for an empty file. Files with the same content share it, so it must not be changed.
	Data []byte
}

// Exists reports whether there is a file.
func (s FileState) Exists() bool { return s.Kind != "" }

// FileChange is a file that differs between two commits. At least one of Old and New exists.
type FileChange struct {
	Path     string
	Old, New FileState
}

// ComposeSpec asks for a commit that has files of several commits.
type ComposeSpec struct {
	Of    CommitHash     // the parent, and the source of all files that Files does not name
	Files []ComposedFile // in any order, each path once
}

// ComposedFile says what a composed commit has at a path. Exactly one of From, Data and
// Remove is set. A file replaces what spec.Of has in its way: a folder at its path with all
// that is in it, or a file where its path needs a folder. Only a file is removed, never a
// folder.
type ComposedFile struct {
	Path string
	// From is the commit whose file it is, of the same kind. Where From has no file, the
	// composed commit has none.
	From CommitHash
	// Data is the content, which may be empty but not nil.
	Data []byte
	// Kind is the kind of a file with Data, any but [FileSubmodule]. Empty means the kind
	// that the file has in spec.Of, or regular if that has no file or a submodule there.
	Kind FileKind
	// Remove means that there is no file.
	Remove bool
}

// MergeSpec asks for a merge commit.
type MergeSpec struct {
	Ours, Theirs CommitHash // its parents, in this order
	// Labels name the two sides in conflict markers.
	OursLabel, TheirsLabel string
	Message                string
	Time                   time.Time
}

// MergeInfo is a merge commit. Where the sides conflict, the files in its tree
// hold conflict markers.
type MergeInfo struct {
	Commit CommitHash
	Tree   TreeHash
	// Conflicts are the paths in conflict, sorted; Hunks is what conflicts in
	// them, as far as it is text, cut to 24 kB.
	Conflicts []string
	Hunks     string
	// Changes are what differs from Ours, as [Committed] has its hunks.
	Changes []uint64
}

// Repository is what Pawl needs to know of the user's repository before a run.
type Repository struct {
	Root   string     // the work tree's root; of a bare repository its folder
	GitDir string     // the common git folder
	Head   CommitHash // where a run starts
	Branch string     // empty when HEAD is detached
	Bare   bool
	// Trusted reports that a branch outside pawl/ has Head.
	Trusted bool
	// Author is the user as their configuration of git has it; it may not be set.
	Author Identity
	// Dirty reports uncommitted changes; a run starts from Head and does not see them.
	Dirty bool
	// Notes are sentences the user should read: what a run will not see or do here.
	Notes []string
}
