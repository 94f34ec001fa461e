// Package exchange runs the program of a coding agent in a room and speaks with it: a line of JSON
// is a message, both ways, on the program's standard input and output. It is what the protocols
// have in common: lines that may be anything, limits on silence, on tokens and on money, and an
// end that leaves no process.
package exchange
