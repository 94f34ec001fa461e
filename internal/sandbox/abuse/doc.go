// Package abuse is a suite of what a hostile command may try: read the user's
// keys, reach the daemon, outlive its command, exhaust the machine. Each abuse is
// one [Row]. It is for tests; nothing in production imports it.
//
// A [Stage] sets up what is attacked: a home with secrets, a repository with a
// worktree, and a process that plays the daemon with its sockets and memory. A [Box]
// runs commands, confined in some way or not at all. [Run] has this program run
// inside the box once more, where [Main] makes the attempts, and tells which got through.
//
// A suite in which nothing escapes shows nothing by itself: a box in which no
// command starts would pass. So Run fails unless a command works in the box, and the
// tests of this package show that most rows escape without a sandbox, and which row
// escapes when one layer of it is taken away.
//
// Every attempt is bounded and harmless even if it gets through: files are opened and
// not changed unless they belong to the stage, signals are 0, clocks are set to what they are.
package abuse
