// Package pawl holds the nouns of Pawl and the small contracts between its
// packages: types and their validation, nothing that runs.
//
// Pawl runs autonomous software-development loops that converge. A [Recipe]
// says what a loop does; the kernel (internal/kernel) decides what follows
// from each fact; a driver (internal/driver) makes every decision durable in a
// [Log] and performs the effects that are pending; the engine
// (internal/engine) holds many runs and implements [Service], which every face
// (internal/cli, internal/server) is written against.
//
// Read the root files as a glossary. For almost every noun here there is a
// folder of the same name in internal/ that implements it.
package pawl
