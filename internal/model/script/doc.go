// Package script is a [pawl.Model] that answers from a YAML file: for
// demonstrations, for tests, and for trying a recipe without a model.
//
// # The file
//
// A file holds a list of answers. They are tried in order, and the first whose
// `when` matches speaks:
//
//	answers:
//	  - when: {role: implementation, turn: 1}
//	    say: I add the function.
//	    calls:
//	      - write:
//	          path: add.go
//	          content: |
//	            package add
//	      - run: {command: go vet ./...}
//	  - when: {role: implementation, turn: [2, 3]}
//	    say: Done.
//
// An answer has these keys, all optional, but it needs one of say, calls and error:
//
//	when      what must hold; absent means that the answer fits everywhere
//	say       the text of the reply
//	calls     the tools it calls: a list of one `tool: arguments` each. Arguments
//	          are a mapping; nothing means none, and a text stands for arguments
//	          that are not valid JSON
//	stop      end, tool_use or max_output; by default it follows from the calls
//	usage     {input, output, cache_read, cache_write} in tokens; by default a
//	          token per four bytes of the request and the reply
//	delay_ms  how long the model thinks first
//	error     {kind, wait_ms, status, message, times}: the call fails. kind is
//	          one of rate_limit, overloaded, network, timeout, auth,
//	          bad_request, context_too_long, refused and quota
//
// And `when` has these, each a value or a list of values of which one must hold:
//
//	role, step, loop, lens   where in the recipe the session stands
//	task                     the id of the loop's task, in a list of tasks
//	round                    of the step's group, from 1
//	iteration, attempt       of the loop, from 1
//	tier                     1, 2 or 3
//	turn                     the model call of the session, from 1
//	last                     how the tool calls of the turn before ended: ok;
//	                         error, when one of them failed; interrupted
//
// A file is at most 1 MiB. Unknown and repeated keys, anchors, aliases and tags
// are errors that name the file and the line.
//
// # Crashes
//
// An answer depends on the request alone, so a run that was killed and resumed
// hears the same as one that was not. A tool call the crash interrupted is in
// the transcript as a result that begins with "interrupted:". Such a turn, the
// answer and its results, counts for nothing: turn does not count it, last
// looks past it, and so the script repeats the answer that was interrupted. An
// answer whose `last` names interrupted is tried before that, and its turn then
// takes the place of the one that was lost.
//
// The one exception is an error with times: it holds for the first so many
// dispatches of a turn only, then the answer's say and calls are heard, or, if
// it has none, the next answer that matches. A request does not tell how often
// it was made before, so these are counted in memory and start again with the
// process.
package script
