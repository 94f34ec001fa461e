// Package room describes rooms: everything that one command sees. It is the only
// place that says which folders, variables and network a command has.
// internal/sandbox enforces what it says.
//
//	room     lives as long as   home, temp              cache                      network
//	agent    its loop           its own, kept           layers + own upper, kept   none
//	delegate its loop           its own, kept           that of the agent room     proxy or none, gateway
//	gate     one judgement      empty                   layers + upper, dropped    none
//	base     one judgement      empty                   grows the trusted cache    none
//	prepare  one preparation    empty, kept as a layer  kept as a layer            proxy or none
//
// The agent room is that of a loop's tools. A delegate room is that of a coding agent on the same
// worktree. Only one of them is open at a time, as one process holds what they write to.
//
// # Layers
//
// What a command writes in a room is kept apart from what it found, in the room's
// upper folder. Below that are layers, none of which ever changes while a room is
// open that has it: the host's toolchains, a clean checkout, what was prepared for it,
// and the project's trusted cache.
//
// Nothing that was written in a room in which a model's code ran is ever a layer of
// another room. The type [Layer] holds that: it cannot be made outside this
// package, and here only of a checkout that our git made, of a base room, and, as a
// [candidate] that fits only rooms of its own run and commit, of a prepare room.
//
// # Mechanisms
//
// Layers are joined by overlayfs where that works. Elsewhere each room has a copy of
// its layers, which shares blocks with them where the file system can do so.
package room
