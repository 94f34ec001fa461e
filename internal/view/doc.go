// Package view turns a run's events into what people and other programs read:
// lists, reports, the state file, log lines, the live display, and the answer
// to "why". Everything here is a projection: a pure function of the events and
// of the blobs they refer to, the same bytes at every replay. Nothing here
// decides anything, and the kernel's state is not used.
//
// [Run] is the fold that the projections share. The nouns that events are about (gate.go,
// question.go, plan.go and so on) have a file each, with what is known of them, how their
// events are folded, in which words they are told and how their lines look; event.go lists
// them. Each projection is one file:
// [StateYAML], [IterationReport] and [CompletionReport], [Why], [Line], [Show],
// [Prompt]. [Transcribe] is what was said and done in sessions, [AnswerOf] what a run says at its
// end. [Todos] is what is to do, [Checkpoints] where a branch can go back to,
// [Questions] what waits for a person, [Records] the loops of a tree as records and
// [LoopTree] the tree itself. [Progress] draws a run while it happens. Of
// runs with a list of tasks there is also [Tasks]. [Name] says what an event is
// called in the recipe's words. What only one loop system has is not here: its
// documents are the packages below internal/document.
//
// Whatever a model, a tool, git or a file said passes through [plain] before it
// is part of a result.
package view
