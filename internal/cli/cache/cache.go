// Package cache is pawl cache: what a project keeps on disk for later runs.
package cache

import (
	"fmt"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	c := list(app)
	c.Use = "cache"
	c.Short = "List and prune what is kept on disk for later runs"
	c.Long = `Cache shows the project's trusted cache: what the base gates of its runs have
compiled, which later runs find again. What one of them adds is a layer. Above a
limit (the setting cache.size, 10GB by default) the oldest layers are removed by
themselves, never one that an open room uses. Below stands what rooms of runs
that have not ended keep; it is removed with them.

` + cli.ExitCodes
	c.Example = "  pawl cache\n  pawl cache prune --size 2GB"
	c.Args = cli.NoCommand
	c.AddCommand(list(app), prune(app))
	return c
}

func list(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the layers of the trusted cache, the newest first",
		Long: `List shows each layer of the trusted cache: when it was made, how much disk it
takes, and whether an open room uses it; then what the rooms of unfinished runs
keep. It changes nothing.

With --json it is an object: limit, size (bytes), layers (name, made, size,
in_use), use_unknown (if the process that has the project does not answer) and
rooms (kind: agent or prepared, run, name, size, partial).

` + cli.ExitCodes,
		Example:           "  pawl cache list\n  pawl cache list --json | jq .size",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var info pawl.CacheInfo
			s, err := app.With(cmd.Context(), cli.Read, func(s *cli.Session) (err error) {
				info, err = pawl.ListCache(cmd.Context(), s.Service)
				return err
			})
			if err != nil {
				return err
			}
			defer s.Close()
			if app.JSON {
				return app.Encode(info)
			}
			width := 0
			if app.Terminal {
				width = app.Width()
			}
			for _, line := range lines(info) {
				if width > 0 {
					line = ansi.Truncate(line, width, "…")
				}
				app.Printf("%s\n", line)
			}
			return nil
		},
	}
}

func prune(app *cli.App) *cobra.Command {
	var all bool
	var size string
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove the oldest layers of the trusted cache",
		Long: `Prune removes layers of the trusted cache, the oldest first, until the rest fits
into the limit or --size; --all removes every layer. A layer that an open room
uses stays, and so do all newer ones. What was removed is compiled again when it
is needed. The process that has the project does the work, so runs may be
active.

With --json it is an object: removed (the layers), freed, size (what is left)
and target (what was allowed to stay), in bytes.

` + cli.ExitCodes,
		Example:           "  pawl cache prune --size 2GB\n  pawl cache prune --all --json | jq .freed",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			req, err := request(all, size, cmd.Flags().Changed("size"))
			if err != nil {
				return err
			}
			var result pawl.PruneResult
			s, err := app.With(ctx, cli.Steer, func(s *cli.Session) (err error) {
				result, err = pawl.PruneCache(ctx, s.Service, req)
				return err
			})
			if err != nil {
				return err
			}
			if app.JSON {
				err = app.Encode(result)
			} else {
				report(app, result)
			}
			if cerr := s.Close(); err == nil {
				err = cerr
			}
			return err
		},
	}
	f := c.Flags()
	f.BoolVar(&all, "all", false, "remove all layers")
	f.StringVar(&size, "size", "", "remove layers until the rest takes at most `SIZE`, such as 500MB or 2GB; by default the limit")
	c.MarkFlagsMutuallyExclusive("all", "size")
	return c
}

// request returns what the flags ask for. A size is read as in a configuration.
func request(all bool, size string, given bool) (req pawl.PruneRequest, err error) {
	switch {
	case all:
		req.Size = new(int64)
	case given:
		cfg, err := config.Load(config.Sources{Flags: []config.Flag{{Name: "--size", Key: "cache.size", Value: size}}})
		if err != nil {
			return req, err
		}
		n := cfg.CacheSize()
		req.Size = &n
	}
	return req, nil
}

func report(app *cli.App, r pawl.PruneResult) {
	switch n := len(r.Removed); {
	case n == 0 && r.Size > r.Target:
		app.Printf("No layer was removed.\n")
	case n == 0:
		app.Printf("There was nothing to remove: the trusted cache takes %s.\n", pawl.Bytes(r.Size))
	default:
		app.Printf("Removed %s: %s freed, %s left.\n", layers(n), pawl.Bytes(r.Freed), pawl.Bytes(r.Size))
	}
	if r.Size > r.Target {
		app.Notef("%s stay because open rooms use them; prune again when their runs have ended", pawl.Bytes(r.Size))
	}
}

func layers(n int) string {
	if n == 1 {
		return "1 layer"
	}
	return fmt.Sprintf("%d layers", n)
}

// lines returns a table of the layers and one of the rooms, each with a sentence below it.
func lines(info pawl.CacheInfo) (out []string) {
	if len(info.Layers) > 0 {
		rows := [][]string{{"LAYER", "MADE", "SIZE", "IN USE"}}
		for _, l := range info.Layers {
			use := "no"
			switch {
			case info.UseUnknown:
				use = "unknown"
			case l.InUse:
				use = "yes"
			}
			rows = append(rows, []string{plain.Line(l.Name, 0), l.Made.Local().Format("2006-01-02 15:04"), pawl.Bytes(l.Size).String(), use})
		}
		out = append(view.Columns(rows, 0), fmt.Sprintf("The trusted cache takes %s of at most %s.", pawl.Bytes(info.Size), pawl.Bytes(info.Limit)))
	} else {
		out = append(out, fmt.Sprintf("The trusted cache is empty; it may take %s.", pawl.Bytes(info.Limit)))
	}
	if len(info.Rooms) == 0 {
		return out
	}
	rows := [][]string{{"ROOM", "SIZE"}}
	var total int64
	least := ""
	for _, r := range info.Rooms {
		name, size := plain.Line(r.Name, 0), pawl.Bytes(r.Size).String()
		if r.Kind == pawl.RoomPrepared {
			name = "prepared " + name
		}
		if r.Partial {
			size, least = "at least "+size, "at least "
		}
		total += r.Size
		rows = append(rows, []string{name, size})
	}
	out = append(append(out, ""), view.Columns(rows, 0)...)
	return append(out, fmt.Sprintf("Rooms of runs that have not ended take %s%s, until they end.", least, pawl.Bytes(total)))
}
