// Package confine is the innermost layer of the sandbox: what a small program
// does to itself, inside bubblewrap, before it becomes the command.
//
// [Main] is that program. In this order it
//
//  1. marks every descriptor but 0, 1 and 2 to be closed by exec, since
//     bubblewrap passes on what it inherited;
//  2. gives up gaining rights (no_new_privs);
//  3. applies Landlock: only the given paths and a few devices can be written,
//     and processes outside cannot be signalled;
//  4. sets resource limits;
//  5. applies a seccomp filter, which has a table with reasons in syscalls_linux.go;
//  6. executes the command.
//
// The limits come after Landlock because a low limit on processes or memory could
// otherwise stop this program's own runtime; between them and exec there are two
// system calls.
//
// Nothing is weakened silently. [Missing] says which of the features that a
// [Spec] asks for the kernel does not have. Main refuses to start the command
// unless the Spec accepts each of them by name.
//
// # Threads
//
// Landlock, seccomp and no_new_privs hold for one thread and survive its exec, which
// ends all other threads. So this package locks its thread and does not need what
// github.com/landlock-lsm/go-landlock brings to reach all threads (psx). That library
// also asks for what the kernel happens to have without saying what it left out. The
// three system calls are made directly instead.
//
// # What is not here
//
// Landlock cannot take a path away from a folder that is granted: a read-only
// .git within a worktree is the mount namespace's business, and so are the
// visibility of files, the network, and processes. On a kernel with ABI 1 every
// rename from one folder into another would fail, which builds cannot live with;
// it counts as a kernel without Landlock.
package confine
