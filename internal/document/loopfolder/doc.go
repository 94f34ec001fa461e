// Package loopfolder writes what happens in the loops of a run as files for people and
// their tools, below a project's state folder:
//
//	loops/<loop-id>/
//	    loop.json                   the loop's record, see view.Record
//	    current                     → iterations/NNN, the newest
//	    stdout.log, stderr.log      what its tools printed, and what failed, the newest last
//	    iterations/NNN/
//	        prompt.md               what was sent to models, session by session
//	        conversation.jsonl      what they replied, the tools they called, what these said
//	        validation.log          what the gates found, and what followed from it
//	        artifacts/              plan.md, spec.md or phase.md, and the same as JSON
//	archive/<loop-id>/              the same, of loops that do not count any more
//
// [Loops] and [Signals] are the files loops.jsonl and signals.jsonl of a whole run.
//
// The folders are a projection: the same events make the same files, and nothing is
// read from them. A [Writer] may be lost with its process at any moment; the next one
// folds the run's events again and writes what was not there. Folders are moved to the
// archive and never removed, files are replaced as a whole or not at all, and nothing is
// written outside of the state folder.
package loopfolder
