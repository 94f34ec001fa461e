// Package kernel decides. It holds a run's state as a fold over its events and
// says, for every fact that comes in, which events follow and which effects
// should be under way. It has no clock, no I/O, no randomness and no goroutine:
// time comes with each input, ids come from the fold, waiting is an effect.
//
// Whoever drives a run keeps to this order, and nothing else is needed to
// survive a crash at any point:
//
//  1. decide: [Decide] turns an input into events and changes nothing;
//  2. append: the events become durable, all or none;
//  3. apply: [Apply] folds them into the state;
//  4. perform: what [Pending] lists and is not under way is started, what is
//     under way and not listed is cancelled; each answer is an input again.
//
// After a crash: apply all events, decide a [Recover], perform what is pending.
//
// A loop goes through these phases:
//
//	opening → base → ready → steps → commit → gates ─┬→ closing → done
//	   ▲               ▲ ▲                           │             │
//	   │               │ ├──── iterate, escalate ────┤             │
//	   │               │ └──────── council ◄─────────┘             │
//	   └───────────────┴─────────── resumed ───────────────────────┘
//
// What a candidate goes through in the phase gates follows from the state: the gates, what
// the attempt taught, the children, the final gates, the way into the parent's branch, the
// final steps. Verdicts may send it back to a step.
//
// # Lifetimes
//
// [State] is a run and [Loop] a loop of it. What a loop drops together is behind one pointer:
// [Generation] is what it makes of one artifact (its plan, its batches, the blackboard of its
// children), [Iteration] what one attempt at its steps has done so far, [Candidate] the commit
// that led to with all that is known of it. A reset puts another one, or nil, in its place.
//
// # The packages below
//
// These know no loop, and no run. The kernel puts them together.
//
//	session   one conversation: what is asked next, reminders, retries, caps
//	flow      the order of steps and groups, and what steps leave
//	verdict   what verdicts on one commit mean together
//	ladder    what follows from an attempt: tiers, stuck detection, council, complexity
//	plan      the tasks of a loop with children: graph, order, ready set, versions
//	land      a candidate of children: merge commits, gates, blame
//	monitor   how batches develop, checkpoints, recoveries
//	signal    what a loop was told and has not acknowledged
//	worktree  how far a worktree can be trusted, and how commits were prepared
//	budget    what was spent, what is reserved, what limits leave room for
//	brief     texts cut at a bound, and fingerprints
//
// # How an input is decided
//
// First the input itself becomes events: an answer is recorded, a command obeyed (decide.go,
// answer.go, steer.go). Then, as long as anything follows from the state alone, that follows:
// advance.go says what comes next where a loop is. So pausing is simply not advancing, and
// resuming, recovering and going on are the same thing. The events are tried on a [State] that
// shares all but the loops they touch with the original (draft.go).
//
// A child works from its parent's head and comes back through the merge queue (merge.go), or as
// part of a batch that is judged as a whole (batch.go, assembly.go). Children may stand on the
// artifact that their parent made (admission.go, cascade.go). What loops are told, by persons and
// by each other, is signals (signal.go).
//
// A worktree is trusted only as far as it is recorded. After a crash it is looked at before
// anything goes on; when it is not as recorded, what it holds is set aside under a salvage ref
// and the iteration's steps start again.
//
// check.go refuses recipes and settings that cannot be decided to their end.
package kernel
