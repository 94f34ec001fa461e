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
	"unicode"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/ecosystem"
	"pawl/internal/plain"
)

type options struct{ yes, force bool }

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "init",
		Short: "Find the language, propose gates, write .pawl/config.yaml",
		Long: `Init looks at the files at the root of the repository, finds the languages and
proposes the commands that judge every attempt: format, types, lint, tests,
security. It shows the configuration and, once you agree, writes it to
.pawl/config.yaml. It runs nothing. A file that is there stays, unless you say
--force.

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
	c.Flags().BoolVar(&o.force, "force", false, "replace the file there is")
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
	dir := os.DirFS(root)
	found := ecosystem.Detect(dir)
	languages, gates := found.Languages, found.Gates
	content := Propose(gates)
	if !app.JSON {
		app.Printf("%s\n\n%s\n", summary(languages, gates), content)
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
	switch {
	case app.JSON:
		return app.Encode(map[string]any{"file": config.RepoFile, "languages": append([]string{}, languages...),
			"gates": append([]pawl.GateSpec{}, gates...), "content": content, "written": write})
	case write:
		app.Printf("Wrote %s. Commit it, and try: pawl doctor\n", config.RepoFile)
	default:
		app.Printf("Nothing is written. Write it: pawl init --yes\n")
	}
	return nil
}

// summary says in a line what the proposal rests on.
func summary(languages []string, gates []pawl.GateSpec) string {
	switch {
	case len(languages) > 0:
		return "Found: " + plain.Line(strings.Join(languages, ", "), 0)
	case len(gates) > 0:
		return "Found: a Makefile"
	}
	return "Found no language that is known here: name the commands that judge an attempt yourself."
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

// Propose is a configuration file with these gates, with a word on each part.
func Propose(gates []pawl.GateSpec) string {
	var b strings.Builder
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
# Run before the gates in each clean checkout, without a network. Whoever starts a
# run is asked once whether these commands may run.
#prepare:
#  - make deps

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
