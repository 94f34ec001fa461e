// Package taskfolder makes the files of a task, .pawl/tasks/NNN-slug, from a run's
// events, and reads them again. Whoever commits them is the only one who writes
// there: what agents hand in is the source of the words, the events are the source
// of what is done.
//
//	context.md      what a session must know, below 500 tokens
//	plan.md         the tasks with boxes, for people
//	plan.json       the same for programs: the goal, its criteria, the tasks
//	loop-state.md   how the batches went, below 50 lines
//	report.md       the last account, once there is one
//	learnings/      NNN-slug.md: decisions and anti-patterns, each written once
//
// The same events, and the same learnings that are there already, make the same
// files. Every text that a model or a person wrote is cleaned and cut, and cannot
// pass for a heading or a status.
package taskfolder
