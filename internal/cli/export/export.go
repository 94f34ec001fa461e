// Package export is pawl export: a run's files.
package export

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/document/loopfolder"
	"pawl/internal/plain"
	"pawl/internal/view"
)

type options struct {
	dir            string
	state, reports bool
	only           string
	at             uint64
	folders        bool
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "export [RUN]",
		Short: "Write a run's state file and reports",
		Long: `Export writes state.yaml, a report on each iteration (iteration-001.txt, ...),
report.txt on the whole run and answer.md, what the run says at its end, all
made from its events, into a folder named after the run or given by --dir.
loops.jsonl has the records of its loops and signals.jsonl the signals between
them, as Loopr keeps them: one JSON document per line. A run with a list of
tasks also has tasks.json (as the Pandora loop keeps it) and prd.json (as Ralph
does), which pawl run --tasks reads; result.json; task.json (the task, its plan,
the subtasks with their results and tool calls); plan.md, validation.md,
completion.md, trace.txt, learnings.json. state.yaml and the reports say what
was spent and lost, and what calls in progress hold. Each file is written whole
or not at all, and replaces that of an earlier export.

With --folders it also writes the folders of its loops, loops/ID and archive/ID,
as they are in the project's state folder: the prompts, conversations, verdicts
and artifacts of each iteration.

--only writes one of these files, --state those for programs, --reports those
for people. With --dir - one file, or the reports one after another, go to
standard output. With --at the files say what was true after the event of that
number. Without RUN it exports the latest run.

` + cli.ExitCodes,
		Example: "  pawl export 7\n  pawl export 7 --reports --dir out\n  pawl export 7 --folders --dir out\n  pawl export 7 --only state.yaml --dir - | yq .tasks\n  pawl export 7 --only tasks.json --at 120 --dir -",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if o.dir == "-" && o.state == o.reports && o.only == "" {
				return pawl.Errorf(pawl.CodeInvalid, "standard output takes only one kind of file").WithHint("add --only FILE, --state or --reports to --dir -")
			}
			if o.dir == "-" && o.folders {
				return pawl.Errorf(pawl.CodeInvalid, "folders cannot be written to standard output").WithHint("give --dir DIR")
			}
			s, info, err := app.OpenRun(ctx, cli.Read, args, nil)
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := o.fold(ctx, s, info.ID)
			if err != nil {
				return err
			}
			all, err := cli.Documents(r, cli.Blobs(ctx, s, r.ID))
			if err != nil {
				return err
			}
			if o.dir == "" {
				o.dir = string(r.ID)
			}
			if err := o.write(app, r.ID, all); err != nil || !o.folders {
				return err
			}
			return o.writeFolders(ctx, app, s, r)
		},
	}
	cli.RunArgs(c, app, false)
	f := c.Flags()
	f.StringVar(&o.dir, "dir", "", "write to the folder `DIR`; - is standard output")
	f.BoolVar(&o.state, "state", false, "write only the state file")
	f.BoolVar(&o.reports, "reports", false, "write only the reports")
	f.StringVar(&o.only, "only", "", "write only the file `NAME`, such as tasks.json")
	f.BoolVar(&o.folders, "folders", false, "also write the folders of its loops")
	f.Uint64Var(&o.at, "at", 0, "as it was after event number `SEQ`")
	c.MarkFlagsMutuallyExclusive("only", "state")
	c.MarkFlagsMutuallyExclusive("only", "reports")
	_ = c.MarkFlagDirname("dir")
	return c
}

// fold reads the run, up to the event that was asked for.
func (o *options) fold(ctx context.Context, s *cli.Session, run pawl.RunID) (*view.Run, error) {
	if o.at == 0 {
		return cli.Fold(ctx, s, run)
	}
	r := view.New()
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		r.Apply(e)
		if uint64(e.Seq) == o.at {
			return r, nil
		}
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "run %s has no event %d: its last one is %d", run, o.at, r.Seq)
}

// writeFolders writes the folders of the run's loops beside its files.
func (o *options) writeFolders(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run) error {
	events := func(yield func(pawl.Event, error) bool) {
		for e, err := range s.Events(ctx, r.ID, 0) {
			if e.Seq > r.Seq || !yield(e, err) {
				return
			}
		}
	}
	if err := loopfolder.Rebuild(o.dir, r.ID, events, cli.Blobs(ctx, s, r.ID)); err != nil {
		return err
	}
	if !app.JSON {
		app.Printf("%s\n", filepath.Join(o.dir, "loops"))
	}
	return nil
}

// wants reports whether a document is to be written.
func (o *options) wants(name string) bool {
	switch {
	case o.only != "":
		return name == o.only
	case o.state == o.reports:
		return true
	case o.dir == "-" && o.state:
		return name == cli.StateDocument
	}
	return cli.IsState(name) == o.state
}

func (o *options) write(app *cli.App, run pawl.RunID, all []cli.Document) error {
	written := []string{}
	for _, d := range all {
		if !o.wants(d.Name) {
			continue
		}
		if o.dir == "-" {
			app.Printf("%s", d.Data)
			written = append(written, d.Name)
			continue
		}
		name := filepath.Join(o.dir, d.Name)
		if err := cli.WriteFile(name, d.Data); err != nil {
			return err
		}
		written = append(written, name)
	}
	switch {
	case len(written) == 0:
		var names []string
		for _, d := range all {
			names = append(names, d.Name)
		}
		return pawl.Errorf(pawl.CodeNotFound, "run %s has no file %q", run, plain.Line(o.only, 60)).WithHint("there are: %s", strings.Join(names, ", "))
	case o.dir == "-":
		return nil
	case app.JSON:
		return app.Encode(map[string]any{"run": run, "files": written})
	}
	for _, name := range written {
		app.Printf("%s\n", name)
	}
	return nil
}
