//go:build linux && race

package abuse_test

// raceEnabled says that the detector takes memory of its own.
const raceEnabled = true
