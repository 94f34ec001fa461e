// Package tool holds the tools a model can call in its worktree, one file each
// beside the .md file that describes it to the model.
//
// File tools reach the worktree through an [os.Root], so no "..", absolute path
// or symbolic link leads out of it. The tools that write go further: no part of
// their path may be a link, they take relative paths only, and .git and .pawl are
// out of bounds. So a call's effect is known from its arguments and the file's
// content before it, which recovery relies on ([pawl.Replayer]).
//
// Results are bounded and valid UTF-8. They are not cleaned of terminal
// controls: whoever shows them to people does that.
package tool

// outputLimit is how many bytes of text a tool answers at most, but for a line
// that says what was left out.
const outputLimit = 100_000
