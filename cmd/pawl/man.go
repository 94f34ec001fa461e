//go:build man

package main

import (
	"fmt"
	"os"

	"pawl/internal/cli"
	"pawl/internal/cli/man"
)

// main writes the man pages into the folder that it is given: make man.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "want the folder to write man pages into")
		os.Exit(cli.ExitInvalid)
	}
	if err := man.Write(newRoot(&cli.App{Out: os.Stdout, Err: os.Stderr}), version, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(cli.ExitInternal)
	}
}
