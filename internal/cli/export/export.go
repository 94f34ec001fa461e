// Package export is pawl export: a run's files.
package export

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

type options struct {
	dir            string
	state, reports bool
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "export [RUN]",
		Short: "Write a run's state file and reports",
		Long: `Export writes state.yaml, a report on each iteration (iteration-001.txt and on)
and report.txt on the whole run, all made from its events, into a folder named
after the run or the one given. Each file is there whole or not at all; those of
an earlier export are replaced. With --dir - the state file, or the reports one
after the other, go to standard output. Without RUN it is the latest one.

` + cli.ExitCodes,
		Example: "  pawl export 7\n  pawl export 7 --reports --dir out\n  pawl export 7 --state --dir - | yq .tasks",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if o.dir == "-" && o.state == o.reports {
				return pawl.Errorf(pawl.CodeInvalid, "standard output has room for one kind of file").WithHint("add --state or --reports to --dir -")
			}
			s, info, err := app.OpenRun(ctx, cli.Read, args, nil)
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := cli.Fold(ctx, s, info.ID)
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
			return o.write(app, r.ID, all)
		},
	}
	cli.RunArgs(c, app, false)
	f := c.Flags()
	f.StringVar(&o.dir, "dir", "", "the folder `DIR` to write to; - for standard output")
	f.BoolVar(&o.state, "state", false, "only the state file")
	f.BoolVar(&o.reports, "reports", false, "only the reports")
	_ = c.MarkFlagDirname("dir")
	return c
}

func (o *options) write(app *cli.App, run pawl.RunID, all []cli.Document) error {
	written := []string{}
	for _, d := range all {
		if state := d.Name == cli.StateDocument; o.state != o.reports && state != o.state {
			continue
		}
		if o.dir == "-" {
			app.Printf("%s", d.Data)
			continue
		}
		name := filepath.Join(o.dir, d.Name)
		if err := cli.WriteFile(name, d.Data); err != nil {
			return err
		}
		written = append(written, name)
	}
	switch {
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
