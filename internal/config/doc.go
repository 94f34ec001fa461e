// Package config reads what a user and a repository decide about runs, in
// layers of growing strength:
//
//	built-in defaults
//	.devteam/task-loop-config.yaml   in the repository
//	.pawl/config.yaml                in the repository
//	the user's file                  $XDG_CONFIG_HOME/pawl/config.yaml
//	PAWL_… variables                 of the environment
//	flags                            of the command line
//
// Every value remembers where it came from ([Config.Explain]). A stronger layer
// replaces lists whole and mappings key by key.
//
// A repository's files are data from a stranger. They may name gates, the
// recipe, criteria and timeouts; they may lower the limits on money, tokens and
// time, rooms and recordings but not raise them, may not choose models or providers,
// who is told how runs end, how much is done at once on the machine, how much disk
// caches take, or who commands run as and what they may ask of the kernel, and may not
// turn the sandbox or approval off.
package config
