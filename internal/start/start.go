package start

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/ecosystem"
	"pawl/internal/egress"
	"pawl/internal/recipe"
	"pawl/internal/tasks"
)

// MaxScript is how large the scripted model's file may be, in bytes.
const MaxScript = 4 << 20

// recipeFolder is where a repository keeps its own recipes.
const recipeFolder = ".pawl/recipes"

// Resolver makes specs of requests, for the runs of one work tree.
type Resolver struct {
	// Root is the work tree's folder, from which the repository's configuration is read.
	Root string
	// Environ is the environment of whoever asks, NAME=value: its PAWL_ variables are settings,
	// and it says where the user's own file is and how package managers are configured.
	Environ []string
	// Program returns the path of a program that whoever asks has installed, as [config.Sources] has it.
	Program func(name string) string
	// Earlier are the runs of the project, in which the work on a task is looked for.
	Earlier runs
	// Folders are the folders of tasks that the repository has. Nil finds none.
	Folders func(ctx context.Context) ([]Folder, error)
	// Seen reports whether commands in a room see a folder of the machine besides Root; nil = they
	// see none.
	Seen func(dir string) bool
}

// runs are those of a project, which a [pawl.Service] has.
type runs interface {
	Runs(ctx context.Context) ([]pawl.RunInfo, error)
	Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error]
	Blob(ctx context.Context, run pawl.RunID, hash pawl.Hash) ([]byte, error)
}

// starting is a request on its way.
type starting struct {
	Resolver
	req    pawl.StartRequest
	repo   fs.FS
	config config.Config
	spec   pawl.RunSpec
}

// Resolve returns what a request would start. What is wrong with it is a [pawl.CodeInvalid] error that
// names the field, its value and what would be right; a recipe or task that is not there is
// [pawl.CodeNotFound].
func (r Resolver) Resolve(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
	s := &starting{Resolver: r, req: req, repo: os.DirFS(r.Root)}
	s.spec = pawl.RunSpec{Goal: req.Goal, Dir: req.Dir, AllowPrepare: req.AllowPrepare, Task: req.Task}
	steps := []func(context.Context) error{s.configure, s.takeTasks, s.settle, s.choose, s.continues, s.script, s.holdOut}
	if req.Merge != nil {
		steps = []func(context.Context) error{s.merges}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return pawl.RunSpec{}, err
		}
	}
	return s.spec, s.checkGates()
}

func (s *starting) note(text string) { s.spec.Notes = append(s.spec.Notes, text) }

func (s *starting) recipes() []fs.FS {
	if dir, err := fs.Sub(s.repo, recipeFolder); err == nil {
		return []fs.FS{dir}
	}
	return nil
}

// configure reads the configuration. A task is worked on with its own recipe again, unless the request
// names another one.
func (s *starting) configure(ctx context.Context) (err error) {
	from := config.Sources{Repo: s.repo, UserFile: config.UserFile(s.Environ), Env: s.Environ, Flags: settings(&s.req.Flags), Program: s.Program}
	if s.req.Recipe != "" {
		from.Flags = append(from.Flags, config.Flag{Name: "--recipe", Key: "recipe", Value: s.req.Recipe})
	}
	s.config, err = config.Load(from)
	if err == nil && s.req.Task != "" && s.req.Recipe == "" {
		var again string
		if again, err = s.recipeAgain(ctx, s.config.Recipe); err != nil {
			return err
		}
		from.Flags = append(from.Flags, config.Flag{Name: "task " + s.req.Task, Key: "recipe", Value: again})
		s.config, err = config.Load(from)
	}
	if err != nil {
		return named(err, &s.req.Flags)
	}
	s.spec.Notes = append(s.spec.Notes, s.config.Notes...)
	return nil
}

// takeTasks reads the list of tasks of the request, and what it says it is about.
func (s *starting) takeTasks(context.Context) error {
	if len(s.req.Tasks) == 0 || string(s.req.Tasks) == "null" {
		return nil
	}
	list, err := tasks.Parse(s.req.Tasks)
	if err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "tasks: %w", err).WithField("tasks")
	}
	if strings.TrimSpace(s.spec.Goal) == "" {
		s.spec.Goal = cmp.Or(list.Goal, list.Project)
	}
	if s.spec.Goal == "" && s.req.Task == "" {
		return pawl.Errorf(pawl.CodeInvalid, "the list of tasks does not say what it is about").WithField("goal").WithHint("say it as the goal: pawl run GOAL --tasks FILE")
	}
	if s.spec.Tasks, err = json.Marshal(list.Tasks); err != nil {
		return fmt.Errorf("encode the list of tasks: %w", err)
	}
	return nil
}

// settle makes the run's settings.
func (s *starting) settle(context.Context) (err error) {
	set, flags := &s.spec.Settings, &s.req.Flags
	if *set, err = s.config.Settings(); err != nil {
		return err
	}
	s.spec.Unsandboxed = s.config.Unsandboxed || flags.Unsandboxed
	set.Unattended = s.req.Unattended
	if _, err := egress.ParseAll(flags.Egress); err != nil {
		return wrong("egress", "%q: %w", strings.Join(flags.Egress, ", "), err)
	}
	set.Egress = append(set.Egress, flags.Egress...)
	if len(set.Prepare) > 0 {
		s.spec.Notes = append(s.spec.Notes, AddRegistries(s.Environ, set, ecosystem.Detect(s.repo))...)
	}
	return s.addGates(s.repo)
}

// choose loads the recipe.
func (s *starting) choose(context.Context) (err error) {
	name, own := s.config.Recipe, s.recipes()
	if name == MergeRecipe {
		return pawl.Errorf(pawl.CodeInvalid, "the recipe %s only judges merges: nobody would work on the goal", name).WithField("recipe").
			WithHint("name another recipe, or merge a run's work with pawl merge RUN")
	}
	whole, err := recipe.LoadWhole(name, recipeFolder+"/", own...)
	if err != nil {
		if e, ok := errors.AsType[*pawl.Error](err); ok && s.req.Recipe != "" {
			return e.WithField("recipe")
		}
		return err
	}
	s.spec.Recipe = whole.Recipe
	if err := s.config.Apply(&s.spec.Recipe); err != nil {
		return err
	}
	if s.req.Flags.NoFinalReview {
		if err := s.dropFinalReview(); err != nil {
			return err
		}
	}
	s.spec.Settings.Evidence = s.spec.Settings.Evidence.Stricter(s.spec.Recipe.Evidence)
	s.spec.Prompts, s.spec.Origin = whole.Prompts, whole.Origin
	criteria := s.config.Criteria
	if len(s.req.Flags.Criteria) > 0 {
		criteria = s.req.Flags.Criteria
	}
	for i, text := range criteria {
		s.spec.Criteria = append(s.spec.Criteria, pawl.Criterion{ID: fmt.Sprintf("AC-%03d", i+1), Text: text})
	}
	return nil
}

// script reads the scripted model's file, where a tier uses it.
func (s *starting) script(context.Context) error {
	if s.config.Script == "" {
		return nil
	}
	name := s.config.Script
	if !filepath.IsAbs(name) {
		name = filepath.Join(cmp.Or(s.req.Dir, s.Root), name)
	}
	text, err := readScript(name)
	if err != nil {
		e := pawl.Errorf(pawl.CodeInvalid, "read the scripted model's file: %w", err)
		if slices.ContainsFunc(s.req.Flags.Model, func(m string) bool { return strings.Contains(m, "script:"+s.config.Script) }) {
			return e.WithField(field("model"))
		}
		return e
	}
	s.spec.Script = text
	return nil
}

func readScript(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxScript {
		return "", fmt.Errorf("%s: want a file of at most %d bytes", name, MaxScript)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxScript))
	return string(text), err
}
