//go:build !linux

package gitworktree

import "os"

// writeOut makes what was written durable.
func writeOut(f *os.File) error { return f.Sync() }
