// Package top is pawl top: what the places of the machine are used for, and by whom.
package top

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

// every is the time between two pictures.
const every = time.Second

// Reach reaches what serves the user's projects, until close is called.
type Reach func(ctx context.Context) (p pawl.Projects, close func() error, err error)

// New is the command.
func New(app *cli.App, reach Reach) *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use:   "top",
		Short: "Show what the machine is used for, and which runs wait",
		Long: `Top shows the places for model calls, tool calls and gates: how many there are,
how many are used, how many effects wait for one, and until when a provider's
account is closed. For each run it shows what it uses, its share of the last
minute, for how long it had places, what it waits for, and its money: spent,
held for calls in progress, and lost to calls of unknown cost. On a terminal it
updates every second until Ctrl-C.

The setting machine says how many places there are.

With --json it is one object: at, pools (name, slots, used, waiting, until,
why), runs (project, run, running, waiting, share, used in nanoseconds, for,
money) and projects (id, root, live).

` + cli.ExitCodes,
		Example:           "  pawl top\n  pawl top --once\n  pawl top --json | jq '.pools[] | select(.waiting > 0)'",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			p, end, err := reach(cmd.Context())
			if err != nil {
				return err
			}
			defer func() {
				if cerr := end(); err == nil {
					err = cerr
				}
			}()
			w := &watch{app: app, projects: p, titles: map[place]string{}}
			if live, _ := app.Screen(); live && !once {
				return w.live(cmd.Context())
			}
			return w.once(cmd.Context())
		},
	}
	c.Flags().BoolVar(&once, "once", false, "print once instead of updating")
	return c
}

// watch is one reader of the load.
type watch struct {
	app      *cli.App
	projects pawl.Projects
	titles   map[place]string // of runs that have been looked up
}

// place names a run.
type place struct {
	project string
	run     pawl.RunID
}

// seen is what one picture shows.
type seen struct {
	pawl.Load
	Projects []pawl.ProjectInfo `json:"projects"`
}

func (w *watch) look(ctx context.Context) (seen, error) {
	load, err := w.projects.Load(ctx)
	if err != nil {
		return seen{}, fmt.Errorf("read the load: %w", err)
	}
	projects, err := w.projects.Projects(ctx)
	if err != nil {
		return seen{}, fmt.Errorf("list the projects: %w", err)
	}
	if projects == nil {
		projects = []pawl.ProjectInfo{}
	}
	return seen{load, projects}, nil
}

// learn looks up the titles of runs that are new. One that cannot be had stays empty:
// what the machine does is to be seen all the same.
func (w *watch) learn(ctx context.Context, s seen) {
	for _, r := range s.Runs {
		if _, known := w.titles[place{r.Project, r.Run}]; known {
			continue
		}
		w.titles[place{r.Project, r.Run}] = ""
		project, err := w.projects.Project(ctx, r.Project)
		if err != nil {
			continue
		}
		runs, err := project.Runs(ctx)
		if err != nil {
			continue
		}
		for _, info := range runs {
			w.titles[place{r.Project, info.ID}] = info.Title
		}
	}
}

func (w *watch) once(ctx context.Context) error {
	s, err := w.look(ctx)
	if err != nil {
		return err
	}
	if w.app.JSON {
		return w.app.Encode(s)
	}
	w.learn(ctx, s)
	width := 0
	if w.app.Terminal {
		width = w.app.Width()
	}
	for _, line := range picture(s, w.titles, width) {
		w.app.Printf("%s\n", line)
	}
	return nil
}

// The controls of a terminal: another screen without a cursor and back, the first
// place, the rest of a line and of the screen.
const (
	enter, leave       = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	home, wipe, bottom = "\x1b[H", "\x1b[K", "\x1b[J"
)

// live draws until ctx ends, which is how one leaves.
func (w *watch) live(ctx context.Context) error {
	w.app.Printf(enter)
	defer w.app.Printf(leave)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s, err := w.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		w.learn(ctx, s)
		w.draw(picture(s, w.titles, w.app.Width()))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// draw shows as many lines as there is room for.
func (w *watch) draw(lines []string) {
	rows := 24
	if w.app.Rows != nil {
		if n := w.app.Rows(); n > 0 {
			rows = n
		}
	}
	if most := max(2, rows-1); len(lines) > most {
		hidden := len(lines) - most + 1
		lines = append(lines[:most-1:most-1], fmt.Sprintf("… %d more", hidden))
	}
	out := home
	for _, l := range lines {
		out += l + wipe + "\r\n"
	}
	w.app.Printf("%s", out+bottom)
}
