// Package acp drives coding agents that speak the Agent Client Protocol: JSON-RPC 2.0 on the
// agent's standard input and output, one object a line. It is a client of version 1 of the protocol
// (https://agentclientprotocol.com), as far as a loop needs it.
//
// The connection is our own. Agents send what is in no schema, or not yet: kinds of updates and
// methods that are unknown here are ignored, requests that are unknown are answered so, answers to
// nothing are dropped, and lines that are no JSON are told of and passed over. Updates are read as
// fast as the run takes them, and the agent waits for it otherwise: none is lost, and no queue grows.
package acp
