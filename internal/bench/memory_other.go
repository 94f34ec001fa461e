//go:build !linux

package bench

// watchMemory measures nothing here.
func watchMemory() (end func() (helpers, growth int64)) {
	return func() (int64, int64) { return -1, -1 }
}

// memoryBelow knows nothing here.
func memoryBelow(int) int64 { return 0 }
