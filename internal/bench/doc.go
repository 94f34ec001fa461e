// Package bench measures Pawl: durable steps per second beside what the disk
// itself can do, the harness's overhead per iteration, folding, start-up and
// memory. pawl bench prints it. Nothing here is a test: machines differ, so
// figures are compared within one run.
package bench
