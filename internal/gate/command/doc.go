// Package command judges candidates by running a command: the tests, a type
// checker, a linter, a scanner, a formatter.
//
// A judgement goes through these steps, and the first that fails decides:
//
//  1. The command ran: it is installed and ended in time. A command that is
//     not installed skips an optional gate, unless it ran on the base.
//  2. Its report can be read (package report). A format that was asked for by
//     name and is not there fails, and so does a report that is damaged or was
//     not written by this run of the command.
//  3. No test fails, no finding is too severe, and tests ran at all.
//  4. The command ended with 0. The exit code wins over a report that is all
//     green; only findings that are let through (low ones of a scanner,
//     warnings of a linter) may explain another code.
//
// Tests of the base that no longer run are listed and fail nothing, since a goal
// may ask for it; only where no test can be read that could be on the base does
// the gate fail. See inventory.go for what counts as lost. A base that could not
// be judged is named in the reason.
//
// Where the test runner behind the command is known (package suite), the results
// come from the runner itself, and what the command prints is only read where it
// gives none; the reason says so then. See channel.go.
//
// Where there is an earlier report on the same commit, tests that came out
// differently in it count as passed before these steps, and are named as flaky.
// If the request says so, those that the base does not have fail.
// See doubt.go. Only the tests that failed in it are run again where the runner
// can be told so.
//
// A failure of steps 3 and 4 that the base has too, whole and unchanged, is a
// pass with RedAtBase set, unless the gate requires green. See base.go.
package command
