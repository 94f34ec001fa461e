// Package initialize is pawl init: a first configuration for a repository.
package initialize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/ecosystem"
	"pawl/internal/plain"
)

type options struct {
	yes, force bool
	// localModels are models of local servers that answer, as PROVIDER/NAME.
	localModels func(context.Context) []string
}

// New returns the command. The function localModels returns models of local servers that
// answer, as PROVIDER/NAME.
func New(app *cli.App, localModels func(context.Context) []string) *cobra.Command {
	o := options{localModels: localModels}
	c := &cobra.Command{
		Use:   "init",
		Short: "Propose gates for this repository and write .pawl/config.yaml",
		Long: `Init looks for manifests and lock files at the root of the repository and, for
languages that the root does not have, up to two levels below it. It proposes
the commands that judge every attempt (format, types, lint, tests, security) and
those that install the dependencies first. It shows the configuration and, if
you agree, writes it to .pawl/config.yaml. It runs nothing, and replaces an
existing file only with --force. If the key of your models is not set, it looks
for a model server on this machine and says how to choose it; a repository
cannot choose one.

` + cli.ExitCodes,
		Example:           "  pawl init\n  pawl init --yes",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := app.Root(cmd.Context())
			if root == "" {
				return pawl.Errorf(pawl.CodeInvalid, "%s is not in a git repository", app.Dir).
					WithHint("run git init and make a first commit, or go to the folder of a repository")
			}
			return o.run(cmd.Context(), app, root)
		},
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "write without asking")
	c.Flags().BoolVar(&o.force, "force", false, "replace an existing file")
	return c
}

func (o *options) run(ctx context.Context, app *cli.App, root string) error {
	name := filepath.Join(root, filepath.FromSlash(config.RepoFile))
	if _, err := os.Lstat(name); !o.force && !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return fmt.Errorf("look for %s: %w", name, err)
		}
		return pawl.Errorf(pawl.CodeConflict, "%s is there already", config.RepoFile).
			WithHint("pawl config shows what it says; pawl init --force replaces it")
	}
	found := ecosystem.Detect(os.DirFS(root))
	content := Propose(found)
	if !app.JSON {
		app.Printf("%s\n%s\n", summary(found), content)
	}
	write := o.yes || o.agreed(ctx, app)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if write {
		if err := o.write(root, content); err != nil {
			return err
		}
	}
	keyEnv, models := o.models(ctx, app)
	switch {
	case app.JSON:
		return app.Encode(map[string]any{"file": config.RepoFile, "languages": append([]string{}, found.Languages...),
			"parts": append([]ecosystem.Part{}, found.Parts...), "gates": append([]pawl.GateSpec{}, found.Gates...),
			"prepare": append([]string{}, found.Prepare...), "notes": append([]string{}, found.Notes...), "content": content, "written": write,
			"local_models": append([]string{}, models...)})
	case write:
		app.Printf("Wrote %s. Commit it, check it with pawl doctor, and begin: pawl run \"what is to be done\"\n", config.RepoFile)
	default:
		app.Printf("Nothing is written. To write it: pawl init --yes\n")
	}
	if len(models) > 0 {
		app.Printf("\n%s is not set, and a model server on this machine answers. To use it:\n\n", keyEnv)
		for _, model := range models {
			app.Printf("  export PAWL_MODEL=%s\n", plain.Line(model, 0))
		}
		app.Printf("\nTo use it always, name it under models in %s.\n", app.UserConfig())
	}
	return nil
}

// models looks for local models where the key of those that are chosen is not set, and
// names the key's variable.
func (o *options) models(ctx context.Context, app *cli.App) (keyEnv string, found []string) {
	cfg, err := config.Load(config.Sources{UserFile: app.UserConfig(), Env: app.Environ, Program: app.Program})
	if err != nil {
		return "", nil // whoever starts a run is told
	}
	settings, err := cfg.Settings()
	if err != nil {
		return "", nil
	}
	if _, keyEnv = cfg.MissingKey(settings.AllModels(), app.Getenv); keyEnv == "" {
		return "", nil
	}
	return keyEnv, o.localModels(ctx)
}

// summary lists what was found: each part with its gates and whether it is prepared.
func summary(found ecosystem.Project) string {
	if len(found.Parts) == 0 {
		return "Found no package manager and no Makefile that is known here: name the commands that judge an attempt yourself.\n"
	}
	var b strings.Builder
	b.WriteString("Found:\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, p := range found.Parts {
		folder := "the root"
		if p.Folder != ecosystem.Root {
			folder = p.Folder
		}
		gates := "no gates"
		if len(p.Gates) > 0 {
			gates = "gates: " + strings.Join(p.Gates, ", ")
		}
		prepare := "nothing to prepare"
		if len(p.Prepare) > 0 {
			prepare = "prepare"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", p.Ecosystem, plain.Line(folder, 0), plain.Line(gates, 0), prepare)
	}
	_ = w.Flush() // of a strings.Builder
	for _, note := range found.Notes {
		fmt.Fprintf(&b, "Note: %s.\n", note)
	}
	return b.String()
}

// agreed asks the user; without one to ask the answer is no.
func (o *options) agreed(ctx context.Context, app *cli.App) bool {
	if app.JSON || !app.Interactive {
		return false
	}
	app.Printf("Write it to %s? [Y/n] ", config.RepoFile)
	answer, err := app.ReadAnswer(ctx)
	if err != nil {
		app.Printf("\n")
		return false
	}
	switch strings.ToLower(answer) {
	case "", "y", "yes":
		return true
	}
	return false
}

// write makes the file, within the repository whatever links are in it. Without
// --force it fails when one has come in between; with it readers see the old
// file or the new one.
func (o *options) write(root, content string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	defer dir.Close()
	name, flags := config.RepoFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY
	if o.force {
		name, flags = name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY
	}
	err = dir.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = writeNew(dir, name, flags, content)
	}
	if err == nil && o.force {
		err = dir.Rename(name, config.RepoFile)
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

func writeNew(dir *os.Root, name string, flags int, content string) error {
	f, err := dir.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// Propose returns a configuration file for what was found, with a comment on each part.
func Propose(found ecosystem.Project) string {
	var b strings.Builder
	gates := found.Gates
	b.WriteString(`# How pawl works on this repository. pawl config shows every setting in force;
# pawl config schema is what editors check this file against.

# What judges every attempt, run at the root of a clean checkout without the
# network. What the base commit already fails is listed and must not grow.
`)
	if len(gates) == 0 {
		b.WriteString(`# Without a gate a run can only end unverified.
#gates:
#  - name: tests
#    kind: tests        # or types, lint, security, format
#    command: make test
`)
	} else {
		b.WriteString("gates:\n")
	}
	for _, g := range gates {
		fmt.Fprintf(&b, "  - name: %s\n    kind: %s\n    command: %s\n", quote(g.Name), g.Kind, quote(g.Command))
		if g.Report != "" {
			fmt.Fprintf(&b, "    report: %s\n", g.Report)
		}
		if g.File != "" {
			fmt.Fprintf(&b, "    file: %s\n", quote(g.File))
		}
		if g.Optional {
			b.WriteString("    optional: true # skipped where it is not installed\n")
		}
	}
	b.WriteString(`
# What puts the dependencies in place, in a room of its own, once for each state of
# the manifests and lock files. Gates and agents work without a network: this is the
# only time that packages are fetched, through a proxy that allows the registries
# alone. Whoever starts a run is asked once whether these commands may run.
`)
	if len(found.Prepare) == 0 {
		b.WriteString("#prepare: # nothing was found that needs it\n#  - ./scripts/fetch-dependencies.sh\n")
	} else {
		b.WriteString("prepare:\n")
	}
	for _, command := range found.Prepare {
		fmt.Fprintf(&b, "  - %s\n", quote(command))
	}
	b.WriteString(`
# What a run may use up; a repository may lower these limits, not raise them.
#limits:
#  money_usd: 5
#  iterations: 10
`)
	return b.String()
}

// quote writes a text as YAML: as it is where that is plain, else in quotes.
func quote(s string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ./_=-"
	plainWord := s != "" && strings.Trim(s, harmless) == "" && strings.TrimSpace(s) == s && strings.ContainsAny(s[:1], harmless[:52]) &&
		!strings.Contains(" true false yes no on off null ", " "+strings.ToLower(s)+" ")
	switch {
	case plainWord:
		return s
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.Quote(s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
