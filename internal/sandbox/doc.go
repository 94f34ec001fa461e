// Package sandbox runs commands that a model, or code a model wrote, decides
// about. It implements [pawl.Sandbox] twice over one process runner: confined
// by bubblewrap, and unconfined.
//
// # Owners
//
// No command is a direct child of Pawl. Between them stands an owner: the Pawl
// program once more, as a supervisor that holds the process tree of one command
// and ends it.
//
//		pawl ── pawl __supervise ── bwrap ── pid 1 of a namespace ── /bin/sh -c …   confined
//		pawl ── pawl __supervise ── /bin/sh -c …                                   unconfined
//
//	  - It is the subreaper of its descendants: whoever is orphaned below it, by
//	    setsid or a double fork, becomes its child. It ends when it has no child left.
//	  - A TERM ends everything below it by KILL. So does the end of the command
//	    itself: what it left behind is killed.
//	  - When Pawl dies, by kill -9 too, that TERM comes from the kernel, as its
//	    parent-death signal.
//	  - On descriptor 3 Pawl is told {"child-pid": N}, the leader of the command's
//	    session and process group, which a polite TERM goes to, and at the end
//	    {"exit-code": N}. Without an exit code the command never began. The
//	    supervisor or bwrap writes this; it is bwrap's format.
//
// bwrap can end its own tree, with --die-with-parent, but not at every moment:
// the first process of the namespace asks for its parent-death signal only
// after it has set everything up. If bwrap is killed before that, the command
// starts and nobody holds it. Hence the supervisor in both cases.
//
// # Limits
//
// Unconfined, a command runs with the same rights as Pawl. It may kill the
// supervisor; then its shell dies too and Pawl kills its process group, but a
// process that had started a session of its own goes on. A process in an
// uninterruptible system call can be ended by nobody; Run then returns an error
// rather than waiting for ever.
//
// bubblewrap alone does not limit memory, processes or disk space, and does not
// filter system calls.
package sandbox
