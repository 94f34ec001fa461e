// Package recipes is pawl recipes: the loop systems there are.
package recipes

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/recipe"
	"pawl/internal/start"
)

// line is a recipe in the list.
type line struct {
	Name   string `json:"name"`
	Origin string `json:"origin"` // built-in, or where its file is
	// Files are those of the repository that it is made of, recipes and templates; Replaces are the
	// built-in recipes in whose place such a file stands.
	Files       []string `json:"files,omitempty"`
	Replaces    []string `json:"replaces,omitempty"`
	Default     bool     `json:"default,omitempty"`
	Description string   `json:"description,omitempty"`
	// Error says why it cannot be read.
	Error string `json:"error,omitempty"`
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "recipes",
		Short: "List, explain and check recipes",
		Long: `Recipes are loop systems written in YAML. The built-in ones come with pawl;
files in .pawl/recipes of the repository add to them, or replace them by name.
This command lists both.

` + cli.ExitCodes,
		Example:           "  pawl recipes\n  pawl recipes show taskloop\n  pawl recipes check mine",
		Args:              cli.NoCommand,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return list(app, folder(cmd.Context(), app)) },
	}
	c.AddCommand(newShow(app), newSchema(app), newCheck(app))
	return c
}

// folder is where the repository keeps its own recipes; nil when it has none.
func folder(ctx context.Context, app *cli.App) fs.FS {
	root := app.Root(ctx)
	if root == "" {
		return nil
	}
	dir := filepath.Join(root, ".pawl", "recipes")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil
	}
	return os.DirFS(dir)
}

// inRepository is what comes before the files of a repository's recipes.
const inRepository = ".pawl/recipes/"

// madeOf names the repository's files of a recipe, and what they replace.
func madeOf(of pawl.RecipeOrigin) string {
	text := strings.Join(of.Files, ", ")
	if len(of.Replaces) > 0 {
		text += " in place of the built-in " + strings.Join(of.Replaces, ", ")
	}
	return text
}

func list(app *cli.App, own fs.FS) error {
	lines := []line{}
	for _, name := range recipe.Names(own) {
		lines = append(lines, describe(name, own))
	}
	if app.JSON {
		return app.Encode(lines)
	}
	for _, l := range lines {
		about := l.Description
		switch {
		case l.Error != "":
			about = "cannot be read: " + l.Error
		case l.Default:
			about = "(default) " + about
		}
		if of := (pawl.RecipeOrigin{Files: l.Files, Replaces: l.Replaces}); len(l.Replaces) > 0 {
			about = "(" + madeOf(of) + ") " + about
		}
		width := 0
		if app.Terminal {
			width = max(20, app.Width()-14)
		}
		app.Printf("%-12s  %s\n", l.Name, plain.Line(about, width))
	}
	return nil
}

func describe(name string, own fs.FS) line {
	l := line{Name: name, Origin: "built-in", Default: name == recipe.Default}
	if own != nil {
		if _, err := fs.Stat(own, name+".yaml"); err == nil {
			l.Origin = ".pawl/recipes/" + name + ".yaml"
		}
	}
	r, err := recipe.Load(name, own)
	if err == nil {
		var of pawl.RecipeOrigin
		of, err = recipe.Origin(name, inRepository, own)
		l.Files, l.Replaces = of.Files, of.Replaces
	}
	if err != nil {
		l.Error = plain.Line(err.Error(), 0)
		return l
	}
	l.Description = plain.Line(r.Description, 0)
	return l
}

func newShow(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Explain a recipe: what happens, in order",
		Long: `Show explains a recipe as an outline: its steps, gates and ladder, with every
limit. With --json it prints the recipe as a run freezes it.

` + cli.ExitCodes,
		Example: "  pawl recipes show taskloop\n  pawl recipes show taskloop --json",
		Args:    cli.Args(1, 1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return recipe.Names(folder(cmd.Context(), app)), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			own := folder(cmd.Context(), app)
			r, err := recipe.Load(args[0], own)
			if err != nil {
				return err
			}
			of, err := recipe.Origin(args[0], inRepository, own)
			if err != nil {
				return err
			}
			return explain(app, r, of)
		},
	}
}

func explain(app *cli.App, r pawl.Recipe, of pawl.RecipeOrigin) error {
	if app.JSON {
		return app.Encode(r)
	}
	app.Printf("%s", plain.Text(recipe.Explain(r)))
	if len(of.Files) > 0 {
		app.Printf("\n%s\n", plain.Line("made of "+madeOf(of), 0))
	}
	return nil
}

func newSchema(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of recipes",
		Long: `Schema prints the JSON Schema that recipe files are checked against, for
editors.

` + cli.ExitCodes,
		Example:           "  pawl recipes schema > recipe.schema.json",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			app.Printf("%s\n", strings.TrimRight(string(recipe.Schema()), "\n"))
			return nil
		},
	}
}

func newCheck(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "check NAME",
		Short: "Check a recipe",
		Long: `Check reads a recipe and its prompt templates and reports what is wrong, with
file and line, and whether this version can run it. NAME is the name of a
recipe, as pawl recipes lists them, or a file that is called NAME.yaml.

` + cli.ExitCodes,
		Example: "  pawl recipes check mine\n  pawl recipes check drafts/mine.yaml",
		Args:    cli.Args(1, 1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return recipe.Names(folder(cmd.Context(), app)), cobra.ShellCompDirectiveDefault // files too
		},
		RunE: func(cmd *cobra.Command, args []string) error { return check(cmd.Context(), app, args[0]) },
	}
}

func check(ctx context.Context, app *cli.App, what string) error {
	name, dirs, err := place(what, folder(ctx, app))
	if err != nil {
		return err
	}
	r, err := recipe.Load(name, dirs...)
	if err != nil {
		return err
	}
	if _, err := recipe.Prompts(name, dirs...); err != nil {
		return err
	}
	how := "can be run: pawl run GOAL --recipe " + r.Name
	if r.Name == start.MergeRecipe {
		how = "judges merges: pawl merge RUN"
	}
	if app.JSON {
		return app.Encode(map[string]any{"name": r.Name, "runnable": r.Name != start.MergeRecipe})
	}
	app.Printf("%s is well formed and %s\n", plain.Line(what, 0), how)
	return nil
}

// place returns the name of a recipe, and the folders where it is looked for: that of the
// file when it is one, and the repository's own, which may be nil.
func place(what string, own fs.FS) (name string, dirs []fs.FS, err error) {
	name, yaml := strings.CutSuffix(filepath.Base(what), ".yaml")
	switch _, err := os.Stat(what); {
	case yaml && err != nil:
		return "", nil, pawl.Errorf(pawl.CodeNotFound, "read the recipe: %w", err)
	case yaml:
		return name, []fs.FS{os.DirFS(filepath.Dir(what)), own}, nil
	case name != what || err == nil && !slices.Contains(recipe.Names(own), what):
		return "", nil, pawl.Errorf(pawl.CodeInvalid, "%s: a recipe's file is called NAME.yaml", what).WithHint("pawl recipes lists the names of recipes")
	}
	return what, []fs.FS{own}, nil
}
