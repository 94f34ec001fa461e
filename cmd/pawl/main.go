// Command pawl runs autonomous software-development loops on a repository. It is
// the only place where implementations are chosen and joined: open.go reaches a
// project, root.go joins the commands.
package main

import (
	"context"
	"os"

	"github.com/adrg/xdg"
	"golang.org/x/term"

	"pawl/internal/cli"
	"pawl/internal/sandbox/helper"
)

func main() {
	if code, ok := helper.Run(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:]))
}

// run is the program without its process: it returns the exit code.
func run(args []string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := watchSignals(cancel)
	app := &cli.App{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Dir: ".", StateHome: xdg.StateHome, Version: version,
		Terminal: term.IsTerminal(int(os.Stdout.Fd())), Interactive: term.IsTerminal(int(os.Stdin.Fd())),
		Columns: columns, Rows: rows,
		Interrupts: s.interrupts,
		Leave:      os.Exit,
	}
	app.MergedInto = mergedInto(app)
	return app.Report(execute(ctx, app, args...))
}

// columns is the width of the terminal, 0 when there is none; rows its height.
func columns() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func rows() int {
	_, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return height
}
