//go:build !linux

package sandbox

// machineMemory is how much memory the machine has, in bytes. Nothing limits it here.
func machineMemory() uint64 { return 0 }
