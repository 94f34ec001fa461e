//go:build !linux

package project

// Flush does nothing: only Linux can flush the file system of one folder. A power cut may
// take what was just written.
func Flush(string) error { return nil }
