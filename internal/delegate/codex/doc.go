// Package codex drives OpenAI's Codex CLI: `codex exec --json`. The vendor documents its output under
// non-interactive mode. What the documentation leaves open was found out with version 0.169.0.
//
// Each turn is a process of its own. The user's configuration and plugins are not loaded, and Codex
// never asks for approval. If the room confines commands, Codex's own sandbox is turned off.
package codex
