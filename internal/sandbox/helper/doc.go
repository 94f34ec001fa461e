// Package helper is the part of Pawl that runs as processes of its own around the
// commands of a room. It depends on little, so that a program that has only this
// starts in about a millisecond; the whole Pawl program can stand in for it.
//
// # Holders
//
// A room that is open has one holder. It is the first process of a PID namespace
// and keeps the room's mount namespace, in which it has put the room's root
// together. It starts what Pawl asks for over a socket of packets: commands,
// confined further by bubblewrap, and Pawl's own git, unconfined, which sees the
// room's work tree at its place.
//
//	pawl ── holder (pid 1 of a namespace) ─┬─ bwrap ── pid 1 ── enter ── /bin/sh -c …
//	                                       └─ git …
//
// When the socket ends, the holder does, and with the first process of a PID
// namespace the kernel ends every other process in it, at whatever moment. So
// nothing outlives Pawl, even when it is killed.
//
// # Supervisors
//
// Where nothing can be confined each command has a supervisor instead, which is
// the subreaper of what the command starts and ends it all.
//
// # Relays
//
// A program in a room that can only start other programs reaches a socket of Pawl's
// through a relay, which connects its standard input and output to it.
package helper
