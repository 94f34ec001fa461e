// Package message says in words of its own what happens to the loops of runs:
// loop.created, loop.updated, plan.awaiting_approval and so on. They are the names
// that Loopr's protocol has for them, and mean the same on every wire.
//
// A [Run] is a fold over a run's events that gives the messages each of them leads
// to. A [Feed] follows many runs and gives their messages, in the order they came,
// to whoever subscribes. Messages are derived: one that was missed is found again in
// the log.
package message
