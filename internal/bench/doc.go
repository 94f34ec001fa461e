// Package bench measures Pawl: durable steps per second beside what the disk
// itself can do, the harness's overhead per iteration, folding and deciding, start-up,
// a daemon at rest, and what many runs and watchers cost it. What is said of daemons
// is measured with processes of the very program, over its sockets. pawl bench prints
// it; docs/benchmarks.md keeps figures. Nothing here is a test: machines differ, so
// figures are compared within one run.
package bench
