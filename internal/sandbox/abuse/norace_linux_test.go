//go:build linux && !race

package abuse_test

const raceEnabled = false
