// Package exchange runs the program of a coding agent in a room and exchanges messages with it: lines
// of JSON on the program's standard input and output. It holds what all protocols need: tolerance for
// output that is not JSON, limits on silence, tokens and money, and an end that leaves no process
// behind.
package exchange
