// Package early makes a test program that imports it a helper, as [helper.Run] does, before most other
// packages of the program are initialized.
//
// Go initializes packages in the order of their import paths as soon as what they import is initialized.
// So a process of a room does not wait for packages that take long, such as pgregory.net/rapid.
package early

import (
	"os"
	"syscall"

	"pawl/internal/sandbox/helper"
)

func init() { //nolint:gochecknoinits // nothing else runs before the other packages
	if code, ok := helper.Run(os.Args); ok {
		syscall.Exit(code) // unlike os.Exit, it skips the race detector's wait of one second
	}
}
