// Package bench is pawl bench: how fast pawl is on this machine.
package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
)

// World is what can be measured.
type World struct {
	// Sections are the names of what can be measured by itself.
	Sections []string
	// Times is how many times the section rooms runs each command by default, and Rounds how many times
	// each of two programs is measured.
	Times, Rounds int
	// Run measures what is asked for and says on the way what it measures. Its report is printed as text
	// where it is a [fmt.Stringer], else as JSON.
	Run func(ctx context.Context, r Request, progress func(string)) (report any, err error)
}

// Request is what is to be measured.
type Request struct {
	Sections []string // none = all but evidence
	Times    int      // how often the section rooms runs each command; 0 = as often as by default
	Program  string   // the program that is started; empty = this one
	Dir      string   // the folder whose source is compared
	Against  string   // the revision that it is compared with; empty = no comparison
	Rounds   int      // how often each of the two programs is measured
}

// New is the command.
func New(app *cli.App, w World) *cobra.Command {
	req, half := Request{Times: w.Times, Rounds: w.Rounds}, len(w.Sections)/2 // which are too many for one line
	cmd := &cobra.Command{
		Use:   "bench [SECTION...]",
		Short: "Measure pawl on this machine",
		Long: `Bench measures what pawl itself costs: from its start to its first answer, an
idle daemon, a run from its start to its first model call, durable steps per
second next to what the disk can do, folding and deciding, the harness's own
time per iteration, confined commands next to plain bubblewrap, sessions of
coding agents next to their programs, lists of many runs, many watchers of one
run, and a daemon that is killed during runs. It uses real processes, sockets
and files in a folder of its own, calls no model but a built-in one, and leaves
nothing behind. All sections together take some minutes. Compare figures of the
same machine only.

--against REV compares two revisions of Pawl in one go. In a repository of
Pawl's source it builds REV and the working tree with the same flags, and
measures each section with both programs in turn. It prints the medians and the
ratio of each figure, newer to older. It needs git and Go. A section that REV
lacks is measured by the newer program if it only starts processes.

The section evidence measures no time and runs only if it is named: it makes the
changes of a corpus, cheats and honest ones, and says which are found. Its gates
need Go, Node.js, Python with pytest, Rust and make.

The sections are
  ` + strings.Join(w.Sections[:half], " ") + "\n  " + strings.Join(w.Sections[half:], " ") + `

` + cli.ExitCodes,
		Example: "  pawl bench start idle\n  pawl bench rooms -n 500\n  pawl bench evidence\n  pawl bench --json > bench.json\n" +
			"  pawl bench --against v1.4.0 iteration start run",
		ValidArgs: w.Sections,
		Args:      cli.Args(0, len(w.Sections)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := req.check(cmd.Flags().Changed); err != nil {
				return err
			}
			if !cmd.Flags().Changed("times") && req.Against != "" {
				req.Times = 0
			}
			req.Sections, req.Dir = args, app.Dir
			report, err := w.Run(cmd.Context(), req, func(what string) { app.Notef("%s", what) })
			if err != nil {
				return err
			}
			if text, ok := report.(fmt.Stringer); ok && !app.JSON {
				app.Printf("%s\n", plain.Text(text.String()))
				return nil
			}
			return app.Encode(report)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&req.Times, "times", "n", req.Times, "how often the section rooms runs each command")
	f.StringVar(&req.Against, "against", "", "compare the source here with its revision `REV`")
	f.IntVar(&req.Rounds, "rounds", req.Rounds, "how often --against measures each program")
	f.StringVar(&req.Program, "program", "", "start `FILE`, another pawl, instead of this one")
	return cmd
}

// check returns an error if the flags that were given cannot be used together, or have values that are not
// possible. An empty revision is mostly a variable that is not set.
func (r Request) check(given func(flag string) bool) error {
	switch {
	case given("against") && r.Against == "":
		return pawl.Errorf(pawl.CodeInvalid, "--against: the revision is empty").WithHint("give a commit, a tag or a branch")
	case given("program") && r.Program == "":
		return pawl.Errorf(pawl.CodeInvalid, "--program: the path is empty").WithHint("give the path of a pawl program")
	case r.Times < 1:
		return pawl.Errorf(pawl.CodeInvalid, "--times %d: it must be at least 1", r.Times)
	case r.Rounds < 1:
		return pawl.Errorf(pawl.CodeInvalid, "--rounds %d: it must be at least 1", r.Rounds)
	case given("rounds") && r.Against == "":
		return pawl.Errorf(pawl.CodeInvalid, "--rounds only works with --against")
	case r.Program != "" && r.Against != "":
		return pawl.Errorf(pawl.CodeInvalid, "--program and --against exclude each other: --against builds both programs that it measures")
	}
	return nil
}
