// Package report reads what test runners, linters and scanners print: bytes
// in, tests and findings out. It runs nothing and opens nothing.
//
// Everything it reads was written by code that a model may have written, so
// all of it is hostile: every list, name and text that comes out is bounded,
// control characters are taken out of names and messages, and no input makes
// it panic. What it cannot make sense of it leaves out or, when the report as
// a whole cannot be trusted, says in [Reading.Damage].
package report
