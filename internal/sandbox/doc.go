// Package sandbox enforces rooms as internal/room describes them. It implements
// [room.Enforcer] twice over one way to run a command to its end: confined by
// namespaces and bubblewrap, and unconfined.
//
// # Confined rooms
//
// The first command in a room starts its holder, a process of ours that is the first
// of a PID namespace and has a mount namespace, and unless the room has a network,
// a network namespace. It puts the room's root together once; each command then is
// one bubblewrap over that root, in a user, PID and IPC namespace of its own. See
// internal/sandbox/helper. This process reaches the room's files through
// /proc/HOLDER/root.
//
// Started by root, the holder stays root, as it mounts layers that only root may
// read, and commands run as a user of their own without an account ([DefaultUID]).
//
// # Owners
//
// No command is a direct child of Pawl. Confined, its holder starts it; with the
// holder everything in the PID namespace ends, and the holder ends when its socket
// does, so also when Pawl is killed. Unconfined, a supervisor stands between:
//
//	pawl ── pawl __supervise ── /bin/sh -c …
//
//	  - It is the subreaper of its descendants: whoever is orphaned below it, by
//	    setsid or a double fork, becomes its child. It ends when it has no child left.
//	  - A TERM ends everything below it by KILL. So does the end of the command
//	    itself: what it left behind is killed.
//	  - When Pawl dies, by kill -9 too, that TERM comes from the kernel, as its
//	    parent-death signal.
//	  - On descriptor 3 Pawl is told {"child-pid": N}, the leader of the command's
//	    session and process group, which a polite TERM goes to, and at the end
//	    {"exit-code": N}. Without an exit code the command never began.
//
// # Limits
//
// Unconfined, a command runs with the same rights as Pawl. It may kill the
// supervisor; then its shell dies too and Pawl kills its process group, but a
// process that had started a session of its own goes on. A process in an
// uninterruptible system call can be ended by nobody; Run then returns an error
// rather than waiting for ever.
package sandbox
