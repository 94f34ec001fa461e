// Package demo is pawl demo: the main job from end to end, offline. It makes a
// small repository, and runs pawl on it with a scripted model; everything but
// the model is real.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
)

//go:embed repo script.yaml
var files embed.FS

const goal = "Make collapses runs of separators into one dash and leaves none at the ends"

var criteria = []string{
	"a run of characters that are not letters or digits becomes one dash",
	"a slug neither begins nor ends with a dash",
}

// World is what the demo needs of pawl and of the machine.
type World struct {
	// Run executes pawl itself in a world of its own.
	Run func(ctx context.Context, app cli.App, args ...string) error
	// Commit makes a folder a git repository with one commit of what is in it.
	Commit func(ctx context.Context, dir string) error
	// Result shows what is on the branches a run has made in a repository.
	Result func(ctx context.Context, dir string) (string, error)
	// Confined is why commands cannot be confined here; nil when they can.
	Confined func(ctx context.Context) error
}

type options struct{ keep string }

// New is the command.
func New(app *cli.App, w World) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a run offline: fail, feedback, fail, escalate, succeed",
		Long: `Demo makes a small Go repository and lets the task loop work on it with a
scripted model. Everything else is real: worktrees, files, go vet and go test as
gates, commits, the log. It needs git and Go, but no key and no network. It
removes everything it made, unless --keep keeps the repository; the state is
then in the usual place, for pawl show and the rest. Ctrl-C stops it at once.

` + cli.RunExitCodes,
		Example:           "  pawl demo\n  pawl demo --keep ./slug && cd slug && pawl show",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), app, w)
		},
	}
	c.Flags().StringVar(&o.keep, "keep", "", "make the repository in the folder `DIR` and keep it")
	_ = c.MarkFlagDirname("keep")
	return c
}

// run shows the demo in a folder of its own and removes that, however the demo ends.
func (o *options) run(ctx context.Context, app *cli.App, w World) error {
	if _, err := exec.LookPath("go"); err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "the demo works on Go code, and there is no go in PATH").WithHint("install Go from go.dev/dl")
	}
	ctx, release := stoppable(ctx, app)
	defer release()
	tmp, err := os.MkdirTemp("", "pawl-demo-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	err = o.show(ctx, app, w, tmp)
	removed := removeAll(tmp)
	switch {
	case ctx.Err() == nil:
		return errors.Join(err, removed)
	case removed != nil:
		return removed
	case o.keep != "":
		app.Notef("the demo was stopped; its repository stays in %s", o.keep)
	default:
		app.Notef("the demo was stopped; it left nothing behind")
	}
	return cli.Exit(cli.ExitInterrupted)
}

// stoppable is a context that ends with the first Ctrl-C or its like. Until release is
// called, further ones do nothing: the process has to live on to remove what it made.
func stoppable(ctx context.Context, app *cli.App) (stopped context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	if app.Interrupts == nil {
		return ctx, cancel
	}
	signals, stop := app.Interrupts()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(); cancel() }
}

func (o *options) show(ctx context.Context, app *cli.App, w World, tmp string) error {
	dir := o.keep
	if dir == "" {
		dir = filepath.Join(tmp, "slug")
	}
	if err := lay(dir); err != nil {
		return err
	}
	if err := w.Commit(ctx, dir); err != nil {
		return err
	}
	script := filepath.Join(tmp, "script.yaml")
	if err := copyOut("script.yaml", script); err != nil {
		return err
	}
	args := []string{"run", goal, "--recipe", "taskloop", "--model", "script:" + script,
		"--gate", "types=go vet ./...", "--gate", "tests=go test -json ./..."}
	for _, c := range criteria {
		args = append(args, "--criteria", c)
	}
	app.Notef("a small Go package is in %s; the model is scripted, everything else is real", dir)
	if err := w.Confined(ctx); err != nil && ctx.Err() == nil {
		app.Notef("without a sandbox, because %s", err)
		args = append(args, "--unsandboxed")
	}
	if err := w.Run(ctx, o.world(app, dir, tmp), args...); err != nil {
		return err
	}
	return o.result(ctx, app, w, dir)
}

// world is the app's, in another folder, with settings and, unless the
// repository is kept, a state of its own. Signals are not for it: a run that is
// about to be removed is not worth pausing.
func (o *options) world(app *cli.App, dir, tmp string) cli.App {
	in := *app
	in.Dir, in.Local = dir, true // a daemon would outlive the demo
	in.Interrupts = nil
	in.Environ = slices.DeleteFunc(slices.Clone(app.Environ), func(kv string) bool {
		return strings.HasPrefix(kv, "PAWL_") || strings.HasPrefix(kv, "XDG_CONFIG_HOME=")
	})
	in.Environ = append(in.Environ, "XDG_CONFIG_HOME="+filepath.Join(tmp, "config"))
	if o.keep == "" {
		in.StateHome = filepath.Join(tmp, "state")
	}
	return in
}

func (o *options) result(ctx context.Context, app *cli.App, w World, dir string) error {
	if app.JSON {
		return nil
	}
	text, err := w.Result(ctx, dir)
	if err != nil {
		return err
	}
	app.Printf("\nThe result is a branch; main is unchanged.\n\n%s", plain.Text(text))
	if o.keep == "" {
		app.Printf("The repository of the demo is removed. To keep one: pawl demo --keep DIR\n")
		return nil
	}
	app.Printf("Look around: cd %s && pawl show; pawl why; pawl diff; pawl logs -v\n", plain.Line(dir, 0))
	return nil
}

// removeAll removes a folder, also what tools have made unwritable in it.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // only this user needs to enter it
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the demo: %w", err)
	}
	return nil
}

// lay writes the package's files into an empty folder.
func lay(dir string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return pawl.Errorf(pawl.CodeConflict, "%s is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the repository: %w", err)
	}
	entries, err := files.ReadDir("repo")
	if err != nil {
		return fmt.Errorf("read the demo: %w", err)
	}
	for _, e := range entries {
		if err := copyOut("repo/"+e.Name(), filepath.Join(dir, strings.TrimSuffix(e.Name(), ".txt"))); err != nil {
			return err
		}
	}
	return nil
}

func copyOut(name, to string) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the demo: %w", err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		return fmt.Errorf("write the demo: %w", err)
	}
	return nil
}
