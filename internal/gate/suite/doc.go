// Package suite knows the test runner behind a gate's command, and how the same command is
// written to list the runner's tests, to run only some of them, and to have their results
// from the runner itself. It runs nothing; it reads the Makefile and package.json of a tree.
//
// It understands simple commands joined by && or ;, with assignments in front, and the
// programs in between that start another (env, npx, npm test, make, sh -c). Nothing is
// guessed: of a command with anything else in it, or with a runner that has no such option,
// the error says what that is.
//
// # What results from the runner are worth
//
// Each runner has a channel for programs: events of go test -json, the JUnit file of pytest, the TAP
// file of node --test, the JSON file of jest and vitest. What a test prints is text in it and no
// result: a test that prints "--- PASS: TestX" or "5 passed" adds none. A program that stands
// in for the runner (a fake go, a script that prints what a runner prints) leaves the channel
// empty. But the runner loads the tests into its own process or believes what their process
// says, so that code of the candidate can still write into it:
//
//   - Go: a TestMain, or an init function, that prints lines of results and exits before any
//     test has run. go test takes them for results, since the process of the tests says what
//     passes. The same TestMain lists no tests ([Suite.List]): all results are unlisted then,
//     unless it prints that list too.
//   - pytest: a conftest.py or plug-in that changes outcomes (pytest_runtest_makereport) or
//     rewrites the file when the session ends.
//   - node, jest, vitest: a test that replaces functions of the runner in its own process, or
//     finds the file by the environment and writes it after the runner has.
//
// Such files are test support and changes of them are findings of their own. cargo test,
// unittest and mocha have no channel beside what they print: there a test can print results,
// and for cargo the list of tests shows those that do not exist.
package suite
