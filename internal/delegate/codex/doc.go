// Package codex drives OpenAI's Codex: `codex exec --json`, whose lines are described in the
// vendor's documentation of non-interactive mode; what is not described there was measured with
// version 0.169.0.
//
// Each turn is a process. The user's own configuration is not loaded, nor are plugins, and it asks
// nobody for anything: inside a room its own sandbox is off, because the room is the sandbox.
package codex
