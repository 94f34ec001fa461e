// Package daemon keeps the projects of a user open in one process, which serves all
// of them. It implements [pawl.Projects].
//
// A project is closed, open or with another process:
//
//	closed   nobody has its lock; it is opened by whoever asks for it
//	open     the lock is ours, an engine drives its runs
//	away     another process has the lock: it can be read and not steered
//
// What is authoritative is each project's lock and log. At its start the daemon opens
// every project that has runs which are at work by its log and that no process
// drives, and lets them go on; only those stay interrupted that a process left which
// had the project for itself, because whoever left it did so on purpose. A project
// that cannot be opened, or a run that cannot go on, is told of and left as it is:
// the others are served. A project that nobody uses and whose runs are all at rest is
// closed again. Nothing here polls.
//
// What a run needs of its user's environment, keys above all, comes with the requests
// that start or steer it ([WithEnviron]) and is kept by engines, in memory only.
package daemon
