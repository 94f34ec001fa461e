package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/answer"
	"pawl/internal/cli/archive"
	"pawl/internal/cli/attach"
	"pawl/internal/cli/bench"
	"pawl/internal/cli/cache"
	"pawl/internal/cli/cancel"
	"pawl/internal/cli/checkpoints"
	"pawl/internal/cli/config"
	"pawl/internal/cli/continues"
	"pawl/internal/cli/cost"
	"pawl/internal/cli/delegates"
	"pawl/internal/cli/demo"
	"pawl/internal/cli/diff"
	"pawl/internal/cli/doctor"
	"pawl/internal/cli/events"
	"pawl/internal/cli/export"
	"pawl/internal/cli/fork"
	"pawl/internal/cli/gc"
	"pawl/internal/cli/inbox"
	"pawl/internal/cli/initialize"
	"pawl/internal/cli/list"
	"pawl/internal/cli/logs"
	"pawl/internal/cli/loops"
	"pawl/internal/cli/man"
	"pawl/internal/cli/memory"
	"pawl/internal/cli/merge"
	"pawl/internal/cli/override"
	"pawl/internal/cli/pause"
	plancmd "pawl/internal/cli/plan"
	"pawl/internal/cli/recipes"
	"pawl/internal/cli/replan"
	"pawl/internal/cli/replay"
	"pawl/internal/cli/resume"
	"pawl/internal/cli/rm"
	"pawl/internal/cli/rollback"
	runcmd "pawl/internal/cli/run"
	servecmd "pawl/internal/cli/serve"
	"pawl/internal/cli/show"
	"pawl/internal/cli/signal"
	"pawl/internal/cli/tasks"
	"pawl/internal/cli/top"
	tuicmd "pawl/internal/cli/tui"
	versioncmd "pawl/internal/cli/version"
	"pawl/internal/cli/why"
	configs "pawl/internal/config"
	"pawl/internal/kernel"
	"pawl/internal/project"
	"pawl/internal/sandbox"
	"pawl/internal/server"
	"pawl/internal/start"
)

// version is set by the build.
var version = "dev"

// execute runs the command line.
func execute(ctx context.Context, app *cli.App, args ...string) error {
	app.Open = func(ctx context.Context, a cli.Access) (*cli.Session, error) { return open(ctx, app, a) }
	app.Root = func(ctx context.Context) string {
		repo, err := locate(ctx, app.Dir)
		if err != nil {
			return ""
		}
		return repo.Root
	}
	app.Folders = func(ctx context.Context, p project.Project) ([]start.Folder, error) { return folders(ctx, app.Dir, p) }
	app.Each = func(ctx context.Context, a cli.Access, do func(project.Project, *cli.Session, error) error) error {
		return each(ctx, app, a, do)
	}
	app.Projects = func(ctx context.Context) (pawl.Projects, func() error, error) { return projects(ctx, app) }
	app.Rejoin = func(ctx context.Context) (pawl.Projects, func() error, error) { return rejoin(ctx, app) }
	root := newRoot(app)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

func newRoot(app *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "pawl",
		Short: "Run autonomous development loops that converge",
		Long: `Pawl turns a goal into commits. An agent attempts it in a worktree of its own;
gates judge each attempt on a clean checkout; the next attempt is told what
failed, and gets a stronger model if it stays stuck. Nothing is lost when a
process dies, and nothing is called done unless a gate passed it.

RUN is a run's id, its number, or the beginning of its id.

` + cli.RunExitCodes,
		Example: `  pawl demo                          see it work, offline
  pawl init && pawl doctor           set up a repository
  pawl run "list has a --json flag"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, _ := cmd.Flags().GetBool("version"); asked {
				return versioncmd.Print(app)
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateFlagGroups(); err != nil {
				return flagsTogether(cmd, err)
			}
			return nil
		},
	}
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	root.SetUsageFunc(printUsage)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return pawl.Errorf(pawl.CodeInvalid, "%s: %w", cmd.CommandPath(), err).WithHint("%s --help lists the flags", cmd.CommandPath())
	})
	root.Flags().Bool("version", false, "print the version, as pawl version does")
	f := root.PersistentFlags()
	f.BoolVar(&app.JSON, "json", app.JSON, "print JSON, errors included")
	f.BoolVar(&app.NoColor, "no-color", app.NoColor, "print no colours (as NO_COLOR=1)")
	f.StringVarP(&app.Dir, "directory", "C", app.Dir, "work in the folder `DIR` instead")
	_ = root.MarkPersistentFlagDirname("directory")
	f.BoolVar(&app.Local, "local", app.Local || configs.IsLocal(app.Getenv(configs.Local)), "work without a daemon (as PAWL_LOCAL=1)")
	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range commands {
			c.GroupID = id
		}
		root.AddCommand(commands...)
	}
	add("work", "Work:", runcmd.New(app), resume.New(app), pause.New(app), cancel.New(app),
		tuicmd.New(app, difference(app)), inbox.New(app, time.Now), answer.New(app), plancmd.New(app), signal.New(app), replan.New(app), continues.New(app), override.New(app), rollback.New(app), fork.New(app), merge.New(app, usersGit(app)))
	add("look", "Look:", list.New(app, time.Now), top.New(app, app.Projects), tasks.New(app, time.Now), loops.New(app, time.Now), checkpoints.New(app), show.New(app), logs.New(app), diff.New(app, comparing(app)), why.New(app), events.New(app), memory.New(app))
	add("keep", "Keep and prove:", export.New(app), replay.New(app, refold), cost.New(app), archive.New(app), rm.New(app), gc.New(app), attach.New(app, attachWorld(app)), cache.New(app))
	add("setup", "Set up:", servecmd.New(app, serveWorld(app)), initialize.New(app, func(ctx context.Context) []string { return localModels(ctx, app) }), doctor.New(app, probes(app)), delegates.New(app, delegateWorld(app)), config.New(app), recipes.New(app),
		demo.New(app, demoWorld()), bench.New(app, benchWorld()), versioncmd.New(app), man.New(app))
	root.SetHelpCommandGroupID("setup")
	root.SetCompletionCommandGroupID("setup")
	completion(root)
	return root
}

// flagsTogether says in plain words what cobra reports of flags that exclude each other.
func flagsTogether(cmd *cobra.Command, err error) error {
	_, set, ok := strings.Cut(err.Error(), "none of the others can be; [")
	set, _, all := strings.Cut(set, "] were all set")
	if !ok || !all {
		return pawl.Errorf(pawl.CodeInvalid, "%w", err)
	}
	return pawl.Errorf(pawl.CodeInvalid, "--%s cannot be used together", strings.Join(strings.Fields(set), " and --")).
		WithHint("give one of them; %s --help lists the flags", cmd.CommandPath())
}

// completion finishes the command that cobra makes.
func completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Short = "Print the completion script of a shell"
		c.Long += "\n" + cli.ExitCodes
		c.Example = "  source <(pawl completion bash)\n  pawl completion fish > ~/.config/fish/completions/pawl.fish"
		c.Args = cli.NoCommand
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range c.Commands() {
			shell.Args = cli.Args(0, 0)
			shell.Example = "  pawl completion " + shell.Name()
			shell.Long = strings.ReplaceAll(shell.Long, "via your OS's package manager", "with your package manager")
			shell.Long += "\n" + cli.ExitCodes
		}
	}
}

// refold is a run's line as the kernel makes it.
func refold(events []pawl.Event) (pawl.RunInfo, error) {
	var s kernel.State
	for _, e := range events {
		if err := kernel.Apply(&s, e); err != nil {
			return pawl.RunInfo{}, pawl.Errorf(pawl.CodeDamaged, "%w", err)
		}
	}
	return kernel.Info(&s), nil
}

// serveWorld is how pawl serve reaches daemons.
func serveWorld(app *cli.App) servecmd.World {
	return servecmd.World{
		Serve:      func(ctx context.Context, o servecmd.Options) error { return serveProjects(ctx, app, o) },
		Background: func(ctx context.Context, o servecmd.Options) error { return startBackground(ctx, app, o) },
		Status:     func(ctx context.Context) (*servecmd.Status, error) { return daemonStatus(ctx, app) },
		Install: func(ctx context.Context, o servecmd.Options) (servecmd.Installed, error) {
			return installService(ctx, app, o)
		},
		Uninstall: func(ctx context.Context) (string, error) { return uninstallService(ctx, app) },
		OpenAPI:   server.OpenAPI,
		Stop:      func(ctx context.Context) (int, error) { return stopDaemon(ctx, app) },
	}
}

// delegateWorld is how pawl delegates looks at agents.
func delegateWorld(app *cli.App) delegates.World {
	probes := newProber(app)
	return delegates.World{
		Version: func(ctx context.Context, d configs.Delegate, program string) (string, error) {
			return agentVersion(ctx, app, d, program)
		},
		Probe: probes.probe,
	}
}

// demoWorld is how pawl demo runs pawl and git.
func demoWorld() demo.World {
	return demo.World{
		Run:    func(ctx context.Context, in cli.App, args ...string) error { return execute(ctx, &in, args...) },
		Commit: commitAll,
		Result: results,
		Confined: func(ctx context.Context) error {
			_, err := sandbox.Probe(ctx)
			return err
		},
	}
}
