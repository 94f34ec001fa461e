//go:build !linux

package main

import "runtime/debug"

// rest gives back the memory that a daemon with nothing to do does not need.
func rest() { debug.FreeOSMemory() }
