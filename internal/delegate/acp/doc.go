// Package acp is a client for coding agents that speak version 1 of the Agent Client Protocol
// (https://agentclientprotocol.com): JSON-RPC 2.0 on the agent's standard input and output, one object
// per line.
//
// It tolerates what agents send beyond the protocol. Unknown updates and notifications are ignored,
// unknown requests are answered with an error, responses without a request are dropped, and lines that
// are not JSON are skipped with a note. Nothing is queued without bound: the agent waits while its
// updates are handled.
package acp
