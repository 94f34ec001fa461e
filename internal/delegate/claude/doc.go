// Package claude drives Claude Code: `claude -p` with lines of JSON both ways ("stream-json").
//
// Nothing of the repository or of the user configures it: no settings, hooks, servers, plugins,
// skills or commands are loaded, and its subagents and its web tools are off. What it knows of the
// repository's instructions it is told in the prompt, as data.
//
// The format of its lines is documented by the vendor's Agent SDK; what is not documented there was
// measured with version 2.1.330.
package claude
