// Package gitworktree implements [pawl.Workspaces] with git worktrees.
//
// # Whose repository is what
//
// Git folders of three kinds take part, and each is used for one thing only:
//
//	the user's      refs are read and moved, new objects are stored; nothing else
//	<state>/engine  where git runs for us: an own empty repository, which borrows
//	                the user's objects and whose configuration no agent and no user
//	                wrote, and our indexes
//	views           for the eyes of agents and gates: <state>/git/worktrees/NAME, which
//	                a worktree's .git file points to, and the .git of a clean checkout.
//	                They are written here, and nothing depends on what is in them.
//
// Every call names its git folder, its
// worktree, its index and where objects go, so what stands in a worktree's .git,
// in the user's configuration, hooks and filters, or in a .gitattributes file
// never makes git run a program. The .git file of a worktree is put right before
// every call, and reported when it was not; nested repositories are moved aside
// to <state>/quarantine, so that their files count as files.
//
// The branch in the user's repository is the only truth about its head. New
// objects and refs are flushed to disk before they are reported.
//
// # Layers
//
// Where overlayfs works, a worktree is the files of a commit, shared and never written
// to, and what was written above them; see trees.go. Such a worktree exists only in the
// namespace of the process that holds it, through which [pawl.Trees] runs git and
// reaches its files. Elsewhere a worktree is a folder like others. Once made, it stays
// what it is.
//
// # What commands see
//
// A command must not find what its run does not need: the user's stash, other
// branches, what no ref reaches any more. So a view borrows nothing of the user's but
// from <state>/objects/BASE, a store of the objects that its base commit reaches. A
// store is built once, when a worktree of that base is first opened, by copying packed
// objects as they are; it never changes, and may borrow from the store of an
// ancestor. What came after the base is copied into the view itself whenever another
// commit is shown. HEAD and the user's tags in its history are the only refs.
//
// A history that exceeds the limits of a store is cut, as in a shallow clone, and Open
// says so. A view shows another commit only after it has its objects, and view.json
// names the store in use only when that is complete; views and stores can be removed
// at any time while nothing runs, and are made again.
//
// # Crashes
//
// Every method can be called again after a crash at any point. What decides is
// written in this order: what would be lost is committed and its salvage ref
// made; <state>/engine/worktrees/NAME/worktree.json says where the worktree is
// going; the branch moves; files change; worktree.json says that it arrived.
// Whoever finds "restoring" in that file finishes the restoring first. Nothing
// is deleted before it is reachable from a ref.
//
// Lock files that a killed git left are removed if they are older than the
// Workspaces and no process has them open, and that is logged.
//
// # Merges
//
// A merge is made of objects alone, in our own repository: no worktree, index or
// ref takes part until its result is worth a branch. So are the way back to an
// earlier tree and the files that the harness writes; these move the branch
// themselves, and only from the commit they were made on. A branch that goes on in
// such a way leaves its worktree behind. worktree.json tells what the files lie on,
// so Reset and Close save only what goes beyond that, and Commit refuses until a
// Reset has brought the files up to the branch.
//
// A commit composed of files of several is made in the same way, and no branch gets it.
//
// A worktree can show a commit that its branch does not have, such as a merge that is
// looked at before it counts. worktree.json names both then. What is shown is no work
// of the worktree's, what is written on it is: it is saved as a commit on that one.
//
// # Fingerprints
//
// A change is known by pairs of fingerprints, of what went and of what came, wherever
// in a file it is. Undoing it gives the same pairs the other way round: each file is
// compared in the direction in which its hash grows, and where there are more pairs
// than are told, both choose the same. What is undone along with other changes is
// therefore known as well, as far as the pairs told are the same.
//
// # Recording
//
// A worktree is recorded in this process where that certainly gives the tree that git would
// record, and by git otherwise; see package index, direct.go and docs/decisions/041. Objects,
// refs and patches are read through git processes that stay for the next call; see
// [git.Resident].
//
// # What cannot be recorded
//
// Names and contents that git refuses, and files beyond the limits of [Options], are left
// out of what is recorded, and the answer names them. They are found by names, kinds and
// lengths before a file is read. What is left out of a salvage is moved to
// <state>/quarantine. A recording's objects are made in engine/worktrees/NAME/objects and
// moved to the user's repository when its tree is complete, so that a git that is ended
// leaves nothing there; temporary objects of other calls are removed by
// [Workspaces.Recover].
//
// # Limits
//
// What .gitignore names, and the user's own .git/info/exclude, is no work: it is
// not recorded, not saved, and Reset keeps it unless a file of the commit is in
// its place or the commit's own .gitignore does not name it. Recorded trees that
// no commit holds are safe from the user's git gc for its grace period, two
// weeks by default.
package gitworktree
