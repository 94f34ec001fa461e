// Package serve is pawl serve: the daemon, and what to do with it.
package serve

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
)

// Options say how a daemon serves.
type Options struct {
	// Background says that it has no terminal: what it does is told to its log.
	Background bool
	// OnDemand says that a command needed it: it ends when nobody does any more, after
	// the time Idle; zero means the daemon's own.
	OnDemand bool
	Idle     time.Duration
	// IdleProject is how long a project is kept open that nobody uses; zero means the daemon's own.
	IdleProject time.Duration
	// Listen is an address of this machine where it serves browsers too, as host:port;
	// empty = nowhere.
	Listen string
	// PlanRecipe is the recipe that loop.create_plan of the line protocol begins a run of;
	// empty means the daemon's own.
	PlanRecipe string
}

// Args are the arguments of a program that serves so.
func (o Options) Args() []string {
	args := []string{"serve"}
	if o.Background {
		args = append(args, "--detached")
	}
	if o.OnDemand {
		args = append(args, "--on-demand")
	}
	for name, d := range map[string]time.Duration{"--idle": o.Idle, "--idle-project": o.IdleProject} {
		if d != 0 {
			args = append(args, name+"="+d.String())
		}
	}
	if o.Listen != "" {
		args = append(args, "--listen="+o.Listen)
	}
	if o.PlanRecipe != "" {
		args = append(args, "--plan-recipe="+o.PlanRecipe)
	}
	return args
}

// Status is what a daemon does.
type Status struct {
	pawl.DaemonInfo
	Log      string             `json:"log"`
	Projects []pawl.ProjectInfo `json:"projects"`
}

// Installed says what was installed.
type Installed struct {
	File    string `json:"file"`
	Started bool   `json:"started"`
	// Note says when it starts, if that is not at boot, and what changes it.
	Note string `json:"note,omitempty"`
}

// World is how the command reaches daemons.
type World struct {
	// Serve serves until it is told to end.
	Serve func(ctx context.Context, o Options) error
	// Background starts one in the background, and returns when it is ready.
	Background func(ctx context.Context, o Options) error
	// Status says what the daemon does; nil when there is none.
	Status func(ctx context.Context) (*Status, error)
	// Stop ends the daemon, and returns its process when it has ended; zero = there was none.
	Stop func(ctx context.Context) (pid int, err error)
	// Install makes it a service that is started with the user's session, and Uninstall takes
	// that back; the file is empty when there was none.
	Install   func(ctx context.Context, o Options) (Installed, error)
	Uninstall func(ctx context.Context) (file string, err error)
	// OpenAPI describes what a daemon can be asked over HTTP.
	OpenAPI func() []byte
}

// New is the command.
func New(app *cli.App, world World) *cobra.Command {
	var o Options
	var background, describe, install, uninstall bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon that drives all runs",
		Long: `Serve is the daemon: one process of yours that drives the runs of all your
repositories and continues when the terminals that started them are closed. A
command that starts or steers a run starts it if it is not running; such a
daemon ends itself after 30 minutes without a request and without an active run.
Started here, it stays and prints a line for each thing it does; with
--background it has no terminal and writes to its log.

It continues what it finds interrupted when it starts. Ctrl-C, SIGTERM and pawl
serve stop give what is in progress 10 seconds to finish; the rest is
interrupted and continues in the next daemon. A newer pawl takes over from an
older daemon by itself, without losing a run.

Runs get their keys from the shell that starts or resumes them, and the daemon
keeps keys in memory only. With --local, or with PAWL_LOCAL=1 in the
environment, commands work without a daemon.

--install makes it a service of yours, a unit of systemd's user manager or a
launch agent of macOS, which starts when you log in and again after a failure,
so that runs continue after a reboot. It has the search path and the toolchains'
folders of this shell, but no keys: runs whose key is only in a shell wait for
pawl resume. --uninstall removes it.

--openapi prints the HTTP API as OpenAPI 3.1 and serves nothing.

` + cli.ExitCodes,
		Example: "  pawl serve\n  pawl serve --background\n  pawl serve status\n  pawl serve stop\n  pawl serve --install",
		Args:    cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			modes := map[string]bool{"background": background, "openapi": describe, "install": install, "uninstall": uninstall}
			if err := check(cmd, modes, o); err != nil {
				return err
			}
			if describe {
				app.Printf("%s", world.OpenAPI())
				return nil
			}
			if install {
				return installed(cmd.Context(), app, world, o)
			}
			if uninstall {
				return uninstalled(cmd.Context(), app, world)
			}
			if background {
				if err := world.Background(cmd.Context(), o); err != nil {
					return err
				}
				return status(cmd.Context(), app, world)
			}
			return world.Serve(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&background, "background", false, "serve without a terminal; return when the daemon is ready")
	f.BoolVar(&describe, "openapi", false, "print the description of the HTTP API and exit")
	f.BoolVar(&install, "install", false, "start the daemon when you log in, as a service of systemd or launchd")
	f.BoolVar(&uninstall, "uninstall", false, "no longer start the daemon when you log in")
	f.StringVar(&o.Listen, "listen", "", "also serve browsers, at an `ADDRESS` of this machine such as 127.0.0.1:7777; they need the token in daemon.token")
	f.StringVar(&o.PlanRecipe, "plan-recipe", "", "the recipe `NAME` of runs that loop.create_plan starts, instead of loopr")
	f.DurationVar(&o.Idle, "idle", 0, "end after so much `TIME` in which nobody needs it, when it was started on demand")
	f.DurationVar(&o.IdleProject, "idle-project", 0, "close a project after so much `TIME` in which nobody needs it")
	f.BoolVar(&o.Background, "detached", false, "this process has no terminal")
	f.BoolVar(&o.OnDemand, "on-demand", false, "a command needs it")
	for _, internal := range []string{"detached", "on-demand"} {
		_ = f.MarkHidden(internal)
	}
	c.AddCommand(&cobra.Command{
		Use: "status", Short: "Show whether the daemon runs, and its projects", Args: cli.Args(0, 0),
		Long: "Status says which process serves, where, and which projects it has.\nIt starts no daemon; if none runs, the exit code is 3.\n\n" + cli.ExitCodes, Example: "  pawl serve status --json",
		RunE: func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), app, world) },
	}, &cobra.Command{
		Use: "stop", Short: "End the daemon", Args: cli.Args(0, 0),
		Long: "Stop ends the daemon when what is in progress has finished, after at most 10\nseconds, and returns when it has ended. Its runs continue in the next one.\n\n" + cli.ExitCodes, Example: "  pawl serve stop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			pid, err := world.Stop(cmd.Context())
			switch {
			case err != nil:
				return err
			case app.JSON:
				return app.Encode(map[string]int{"stopped": pid})
			case pid == 0:
				app.Printf("no daemon runs\n")
			default:
				app.Printf("process %d has ended\n", pid)
			}
			return nil
		},
	})
	return c
}

// check refuses flags that contradict each other or have no effect, and an address that
// no daemon could listen at. modes are the flags that say what to do instead of serving.
func check(cmd *cobra.Command, modes map[string]bool, o Options) error {
	var set []string
	for mode, on := range modes {
		if on {
			set = append(set, "--"+mode)
		}
	}
	slices.Sort(set)
	what := cmd.CommandPath()
	switch len(set) {
	case 0:
	case 1:
		what += " " + set[0]
	default:
		last := len(set) - 1
		return pawl.Errorf(pawl.CodeInvalid, "%s and %s exclude each other", strings.Join(set[:last], ", "), set[last])
	}
	if cmd.Flags().Changed("local") {
		return pawl.Errorf(pawl.CodeInvalid, "%s: --local asks to work without the daemon", what).WithHint("leave --local out")
	}
	var useless []string
	switch {
	case modes["install"]:
		useless = []string{"idle"} // a service stays
	case modes["uninstall"], modes["openapi"]:
		useless = []string{"listen", "plan-recipe", "idle", "idle-project"}
	}
	for _, flag := range useless {
		if cmd.Flags().Changed(flag) {
			return pawl.Errorf(pawl.CodeInvalid, "%s: --%s has no effect here", what, flag).WithHint("leave --%s out", flag)
		}
	}
	return checkListen(cmd.Context(), o.Listen)
}

// checkListen reports whether a daemon could listen at an address; empty means nowhere.
func checkListen(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil && net.ParseIP(host).IsLoopback() {
		if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
			return pawl.Errorf(pawl.CodeInvalid, "--listen %s: %q is not a port: want a number from 0 to 65535", address, port).
				WithHint("port 0 lets the daemon choose a free port")
		}
	}
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return pawl.Errorf(pawl.CodeInvalid, "--listen %s: want an address of this machine only, such as 127.0.0.1:0", address).
			WithHint("port 0 lets the daemon choose a free port")
	}
	return nil
}

func installed(ctx context.Context, app *cli.App, world World, o Options) error {
	in, err := world.Install(ctx, o)
	if err != nil {
		return err
	}
	if app.JSON {
		return app.Encode(in)
	}
	app.Printf("installed %s\n", in.File)
	if in.Started {
		app.Notef("the daemon is started: pawl serve status says what it does")
	} else {
		app.Notef("a daemon is running and stays, with the keys of its runs; the service takes its place when it is next started")
	}
	if in.Note != "" {
		app.Notef("%s", in.Note)
	}
	app.Notef("it has no keys from shells; with a key in a file, from a command or in the keyring, runs continue by themselves (docs/config.md)")
	return nil
}

func uninstalled(ctx context.Context, app *cli.App, world World) error {
	file, err := world.Uninstall(ctx)
	switch {
	case err != nil:
		return err
	case app.JSON:
		return app.Encode(map[string]string{"removed": file})
	case file == "":
		app.Printf("no service is installed\n")
	default:
		app.Printf("removed %s\n", file)
		app.Notef("the daemon it started keeps running: pawl serve stop ends it")
	}
	return nil
}

func status(ctx context.Context, app *cli.App, world World) error {
	s, err := world.Status(ctx)
	if err != nil {
		return err
	}
	if s == nil {
		return pawl.Errorf(pawl.CodeNotFound, "no daemon runs").WithHint("the next command that needs one starts it, and so does pawl serve --background")
	}
	if app.JSON {
		return app.Encode(s)
	}
	app.Printf("pawl %s serves as process %d since %s\n", s.Version, s.PID, s.Started.Local().Format(time.DateTime))
	app.Printf("  socket  %s\n", s.Socket)
	if s.Address != "" {
		app.Printf("  http    %s\n", s.Address)
	}
	app.Printf("  log     %s\n", s.Log)
	for _, p := range s.Projects {
		what := fmt.Sprintf("%d active", p.Live)
		switch {
		case p.Problem != "" && p.Live > 0:
			what += ": " + plain.Line(p.Problem, 500)
		case p.Problem != "":
			what = "cannot be opened: " + plain.Line(p.Problem, 500)
		case p.Holder != 0 && p.Holder != s.PID:
			what = fmt.Sprintf("with process %d", p.Holder)
		case p.Closed:
			what = "closed"
		}
		app.Printf("  %s  %s  %s\n", p.ID, plain.Line(p.Root, 0), what)
		for _, n := range p.Needs {
			app.Printf("    run %s is interrupted: %s. Continue: pawl resume %s there\n", n.Run, plain.Line(n.What, 0), n.Run)
		}
	}
	return nil
}
