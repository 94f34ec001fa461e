// Package start makes of what somebody asks for, a recipe's name, a goal and flags, all that a run
// will depend on: recipe, prompts, settings, gates and what is known of a task that is continued.
// The command line, HTTP and the protocol of lines have the same requests and the same errors,
// because the process that has the project resolves them here.
//
// Configuration is read from the repository's files, the user's file and the environment, in this
// order of strength (internal/config); the flags of a request are stronger than all of them. A
// request sets nothing but flags: what has none is the user's configuration to say.
package start
