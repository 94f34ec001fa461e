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
// What a candidate goes through in the phase gates follows from the state too:
// the gates, what the attempt taught, the children, the final gates, the way into
// the parent's branch, the final steps. Verdicts may send it back to a step.
//
// A loop with children has a plan: a graph of tasks (graph.go), where each stands
// (plan.go), which start and what failure does to the rest (children.go), how the
// plan is made anew (replan.go). A child works from its parent's head and comes
// back through the merge queue (merge.go). flow.go has the order of steps and
// groups, foreach.go steps that run for each entry of a list, clarify.go steps that
// ask, review.go votes and ways back, question.go waits for people and announce.go
// tells them, memory.go what is remembered and shared, signs.go what a goal looks
// like, fork.go how a run goes on from the events of another one.
//
// Children may stand on the artifact that their parent made (admission.go lets them in):
// cascade.go says what becomes of them when one fails or the parent begins anew, as a
// further generation. What loops are told, by persons and by each other, is signals
// (signal.go): a signal is an event of the loop that is told, and part of its state until
// that loop has acknowledged it, which for what holds or ends it means that nothing of
// its own is in flight.
//
// An input is decided in two parts. First the input itself becomes events (an
// answer is recorded, a command obeyed). Then, as long as anything follows from
// the state alone, that follows: [State] says where each loop is, and advance.go
// says what comes next there. So pausing is simply not advancing, and resuming,
// recovering and going on are the same thing.
//
// A worktree is trusted only as far as it is recorded. After a crash it is
// looked at before anything goes on; when it is not as recorded, what it holds
// is set aside under a salvage ref and the iteration's steps start again.
//
// Policies are files of their own: ladder.go (what a failed attempt leads to),
// stuck.go, council.go and vote.go, complexity.go, budget.go, retry.go,
// worktree.go. check.go refuses what no policy here knows.
package kernel
