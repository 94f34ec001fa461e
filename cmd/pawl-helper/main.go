// Command pawl-helper is the part of Pawl that runs around the commands of a room,
// and nothing else. It starts several times faster than the whole program, which
// stands in for it where it is not installed beside it.
package main

import (
	"fmt"
	"os"

	"pawl/internal/sandbox/helper"
)

func main() {
	if code, ok := helper.Run(os.Args); ok {
		os.Exit(code)
	}
	fmt.Fprintln(os.Stderr, "pawl-helper: this is for Pawl's own use")
	os.Exit(2)
}
