// Package modeltest holds the suite every adapter of a remote model passes,
// and the server it is run against: a stand-in for a provider that speaks
// Anthropic's Messages, OpenAI's Responses or Chat Completions as event
// streams, from one description of what to say and what to break.
//
// The server is of use beyond the suite. A test that needs a model behind a
// real connection starts one with [NewServer]; a program serves a [Handler].
// It checks that requests have the shape the protocol demands and answers 400
// with the reason when they do not.
package modeltest
