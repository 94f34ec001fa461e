//go:build !linux

package confine

import "errors"

// Missing is every feature: confine works on Linux only.
func Missing(Spec) []Feature { return features }

// ABI is the version of Landlock in use: none.
func ABI() int { return 0 }

// Apply fails: confine works on Linux only.
func Apply(Spec) error { return errors.ErrUnsupported }

// Main fails: confine works on Linux only.
func Main([]string) int { return ExitRefused }
