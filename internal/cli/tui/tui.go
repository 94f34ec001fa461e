// Package tui is pawl tui: the full-screen program.
package tui

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/tui"
)

// Diff is what differs between two commits of the repository at a root, as git prints
// it; nil shows no differences.
type Diff func(ctx context.Context, root string, from, to pawl.CommitHash) ([]byte, error)

// New is the command.
func New(app *cli.App, diff Diff) *cobra.Command {
	c := &cobra.Command{
		Use:   "tui [RUN]",
		Short: "Watch and steer runs on a full screen",
		Long: `Tui shows the runs of all projects with their trees of loops, live: status,
tier, iteration, cost and age of each, and for the selected one its log, diff,
prompt, gate output, attempts and decisions. You can approve plans, answer
questions, and pause, resume, signal and cancel runs and loops. ? lists the
keys. q quits; runs continue.

In a repository it starts at that repository's latest run, and RUN is one of
that repository's runs.

It needs at least 40 columns and 10 lines, and works without colours (NO_COLOR),
over ssh, and in ASCII if the locale is not UTF-8. A terminal that cannot move
its cursor is refused: pawl list, pawl logs -f and pawl inbox show the same in
lines.

` + cli.ExitCodes,
		Example: "  pawl tui\n  pawl tui 7\n  NO_COLOR=1 pawl tui",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := possible(app); err != nil {
				return err
			}
			_, color := app.Screen()
			r := reach{app: app}
			defer r.close()
			o := tui.Options{Open: r.open, Diff: diff, In: app.In, Out: app.Out, Environ: app.Environ, Color: color, ASCII: !unicode(app.Getenv), By: app.User()}
			if len(args) > 0 {
				o.Run = args[0]
			}
			defer r.leave(cmd.Context())
			return tui.Run(cmd.Context(), o)
		},
	}
	cli.RunArgs(c, app, false)
	return c
}

// reach reaches the projects, again where they were lost.
type reach struct {
	app      *cli.App
	projects pawl.Projects
	held     func() error // lets go of what was reached last
}

// leave says what becomes of runs that this process drives.
func (r *reach) leave(ctx context.Context) {
	if !r.app.Local || r.projects == nil {
		return
	}
	all, _ := r.projects.Projects(ctx) // what is not known is not said
	for _, p := range all {
		if p.Live > 0 && p.Holder == 0 {
			r.app.Notef("without a daemon, runs stop when you leave the screen: pawl resume continues them")
		}
	}
}

func (r *reach) close() {
	if r.held != nil {
		_ = r.held() // nothing is written through it
	}
	r.held = nil
}

// open reaches the projects, with that of the present folder among them. It is called
// by one goroutine at a time.
func (r *reach) open(ctx context.Context) (p pawl.Projects, here string, err error) {
	r.close()
	reach := r.app.Projects
	if r.projects != nil {
		reach = r.app.Rejoin
	}
	p, held, err := reach(ctx)
	if err != nil {
		return nil, "", err
	}
	r.projects, r.held = p, held
	if root := r.app.Root(ctx); root != "" {
		info, err := p.Open(ctx, root)
		if err != nil {
			return nil, "", err
		}
		here = info.ID
	}
	return p, here, nil
}

// possible refuses terminals that nothing can be drawn on.
func possible(app *cli.App) error {
	const hint = "pawl list, pawl logs -f RUN, pawl inbox and pawl answer work everywhere"
	live, _ := app.Screen()
	switch {
	case app.JSON:
		return pawl.Errorf(pawl.CodeInvalid, "pawl tui draws on a terminal and prints no JSON").WithHint("pawl list --json, pawl inbox --json, pawl events --json")
	case !app.Terminal || !app.Interactive:
		return pawl.Errorf(pawl.CodeUnavailable, "pawl tui needs a terminal for its input and its output").WithHint(hint)
	case !live:
		return pawl.Errorf(pawl.CodeUnavailable, "the terminal (TERM=%s) cannot be drawn on", app.Getenv("TERM")).WithHint(hint)
	}
	return nil
}

// unicode reports whether the locale says that the terminal shows more than ASCII, by
// the first of its variables that is set.
func unicode(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
