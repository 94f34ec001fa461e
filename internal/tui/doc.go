// Package tui is pawl's full-screen terminal program: the runs of all projects
// with their trees of loops, what each loop says, the approval of plans, the inbox
// and the budget. It is given [pawl.Projects] and shows folds from internal/view.
//
// [Model] is a function of messages: Update does no I/O, commands do, and View draws
// what the model holds. There is one watcher for each run that is open or chosen; the
// list of runs is asked for again and again. When the daemon cannot be reached the
// screen says so, keeps what it shows, and a watcher goes on later where it stopped.
//
// Nothing that a model, a repository or an event says is drawn as it came: every
// piece of text passes through internal/plain at the one place where rows become
// bytes, see [pen].
package tui
