// Package claude drives Claude Code: `claude -p` with stream-json as input and output format.
//
// No settings, hooks, servers, plugins, skills or commands of the repository or the user are loaded,
// and subagents and web tools are turned off. The repository's instructions are part of the prompt.
//
// The format is that of the vendor's Agent SDK. What its documentation leaves open was found out with
// version 2.1.330.
package claude
