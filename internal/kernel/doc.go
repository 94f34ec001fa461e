// Package kernel decides what happens in a run. It holds a run's state as a fold
// over its events, and for every input it returns which events follow and which
// effects should be in flight. It has no clock, no I/O, no randomness and no
// goroutine: time comes with each input, ids come from the fold, and waiting is an
// effect.
//
// A driver does these four steps in this order. Nothing else is needed to survive
// a crash at any point:
//
//  1. decide: [Decide] turns an input into events and changes nothing;
//  2. append: the events become durable, all or none;
//  3. apply: [Apply] folds them into the state;
//  4. perform: effects that [Pending] lists are started unless they are in flight,
//     and effects in flight that it does not list are cancelled. Each answer is
//     the next input.
//
// After a crash, the driver applies all events, decides a [Recover] and performs
// what is pending.
//
// A loop goes through these phases:
//
//	opening → base → ready → steps → commit → gates ─┬→ closing → done
//	   ▲               ▲ ▲                           │             │
//	   │               │ ├──── iterate, escalate ────┤             │
//	   │               │ └──────── council ◄─────────┘             │
//	   └───────────────┴─────────── resumed ───────────────────────┘
//
// In the phase gates, a candidate goes through the gates, the extraction of learnings, the
// children, the final gates, the merge into the parent's branch and the final steps. Its state
// says which of these is next. Verdicts may send it back to a step.
//
// # Lifetimes
//
// [State] is a run and [Loop] one of its loops. What a loop drops at the same time is behind one
// pointer, so that a reset replaces the pointer. [Generation] holds what belongs to one artifact
// (the loop's plan, its batches, its children's blackboard), [Iteration] holds what one attempt at
// the steps has done so far, and [land.Candidate] holds the commit of that attempt with the
// verdicts on it.
//
// # The packages below
//
// These packages know neither loops nor runs. The kernel combines them.
//
//	session   one conversation: what is asked next, reminders, retries, caps
//	flow      the order of steps and groups, and what steps leave for later ones
//	verdict   what the verdicts on one commit mean together
//	ladder    what follows from an attempt: tiers, stuck detection, council, complexity
//	plan      the tasks of a loop with children: graph, order, ready set, versions
//	land      a candidate of children: merge commits, gates, blame
//	monitor   how batches develop, checkpoints, recoveries
//	signal    signals that a loop has not acknowledged
//	worktree  what is recorded of a worktree, and how commits were prepared
//	budget    what was spent, what is reserved, and the room that the limits leave
//	brief     cuts of texts at a bound, and fingerprints
//
// # How an input is decided
//
// First the input itself becomes events: an answer is recorded, a command is obeyed (decide.go,
// answer.go, steer.go). Then advance.go emits what follows from the state alone, until nothing
// does. So a paused run is simply one that is not advanced, and resuming, recovering and
// continuing are the same thing. The events are applied to a draft, a [State] that shares
// everything with the original except the loops they change (draft.go).
//
// A child starts from its parent's head. Its work returns through the merge queue (landing.go), or
// as part of a batch that is judged as a whole (batch.go, assembly.go). Children may be built on an
// artifact that their parent made (admission.go, cascade.go). Persons and loops send signals to
// loops (signal.go).
//
// A worktree is trusted only as far as it is recorded. After a crash it is inspected before the
// loop continues. If it is not as recorded, its content is set aside under a salvage ref and the
// iteration's steps start again.
//
// check.go refuses recipes and settings with which a decision would fail.
package kernel
