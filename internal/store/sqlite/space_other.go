//go:build !unix

package sqlite

import "pawl"

// FreeSpace is how much may still be written to the file system that a folder is on. It
// reports false when that is not known.
func FreeSpace(string) (pawl.Bytes, bool) { return 0, false }

// writable reports whether files can be made in a folder, as far as that is known.
func writable(string) bool { return true }
