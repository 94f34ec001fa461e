package recipe

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/strictyaml"
)

//go:embed builtin
var embedded embed.FS

// builtin is the folder of the built-in recipes.
func builtin() fs.FS {
	dir, err := fs.Sub(embedded, "builtin")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return dir
}

// Default is the name of the recipe a run has when its user names none.
const Default = "pawl"

// Parse reads a recipe from its file's content and checks it. What it extends
// is a built-in recipe.
func Parse(name string, data []byte) (pawl.Recipe, error) {
	r, err := newLoader(nil).parse(name, name+".yaml", data, -1, 1)
	return r.recipe, err
}

// Load reads and checks the recipe of this name: from the first of dirs that
// has a file NAME.yaml, or else the built-in one. dirs are recipe folders,
// strongest first; a nil one is passed over.
func Load(name string, dirs ...fs.FS) (pawl.Recipe, error) {
	r, err := newLoader(dirs).load(name)
	return r.recipe, err
}

// Whole is a recipe with all that it is made of.
type Whole struct {
	Recipe  pawl.Recipe
	Prompts map[string]string // as of [Prompts]
	Origin  pawl.RecipeOrigin // as of [Origin]
}

// LoadWhole is [Load], [Prompts] and [Origin] with each file read once. The built-in recipes are read once where
// no folder of dirs exists.
func LoadWhole(name, prefix string, dirs ...fs.FS) (Whole, error) {
	l := newLoader(dirs)
	if kept := wholeBuiltins()[name]; kept != nil && !slices.ContainsFunc(l.dirs[:len(l.dirs)-1], mayExist) {
		if whole, err := kept(); err == nil {
			return whole.clone()
		}
	}
	return l.whole(name, prefix)
}

// mayExist reports whether a folder exists. It is also true if that cannot be found out.
func mayExist(dir fs.FS) bool {
	_, err := fs.Stat(dir, ".")
	return !errors.Is(err, fs.ErrNotExist)
}

// wholeBuiltins has, by name, functions that read a built-in recipe where there are no others. Each reads it
// once; what they return must not be changed.
var wholeBuiltins = sync.OnceValue(func() map[string]func() (Whole, error) {
	out := map[string]func() (Whole, error){}
	for _, name := range Builtin() {
		out[name] = sync.OnceValues(func() (Whole, error) { return newLoader(nil).whole(name, "") })
	}
	return out
})

// clone returns a copy that shares nothing which can be changed.
func (w *Whole) clone() (Whole, error) {
	out := Whole{Prompts: maps.Clone(w.Prompts), Origin: w.Origin}
	out.Origin.Files, out.Origin.Replaces = slices.Clone(w.Origin.Files), slices.Clone(w.Origin.Replaces)
	data, err := json.Marshal(w.Recipe) // as it is frozen with a run
	if err == nil {
		err = json.Unmarshal(data, &out.Recipe)
	}
	return out, err
}

func (l *loader) whole(name, prefix string) (Whole, error) {
	origin := l.origin(name, prefix)
	r, err := l.load(name)
	if err != nil {
		return Whole{}, err
	}
	prompts, err := l.prompts(name, r)
	if err != nil {
		return Whole{}, err
	}
	return Whole{Recipe: r.recipe, Prompts: prompts, Origin: origin()}, nil
}

// Origin says what the recipe of this name is made of: which files of dirs, recipes and templates,
// and which built-in recipes files of dirs replace. prefix is put before the names of
// files.
func Origin(name, prefix string, dirs ...fs.FS) (pawl.RecipeOrigin, error) {
	l := newLoader(dirs)
	origin := l.origin(name, prefix)
	r, err := l.load(name)
	if err != nil {
		return pawl.RecipeOrigin{}, err
	}
	for _, file := range templates(r.recipe) {
		if _, _, err := l.template(r.names, file); err != nil {
			return pawl.RecipeOrigin{}, err
		}
	}
	return origin(), nil
}

// origin records which files are used from now on, and returns a function that reports them.
func (l *loader) origin(name, prefix string) func() pawl.RecipeOrigin {
	out := pawl.RecipeOrigin{Name: name}
	own := map[string]bool{}
	l.read = func(dir int, file string) {
		if dir == len(l.dirs)-1 {
			return
		}
		own[prefix+file] = true
		if name, isRecipe := strings.CutSuffix(file, ".yaml"); isRecipe && slices.Contains(Builtin(), name) && !slices.Contains(out.Replaces, name) {
			out.Replaces = append(out.Replaces, name)
		}
	}
	return func() pawl.RecipeOrigin {
		out.Files = slices.Sorted(maps.Keys(own))
		return out
	}
}

// Prompts reads the templates the recipe of this name uses, by file name. Each
// comes from the first folder that has it among the recipe's own, the built-in
// one's of the same name and those of the recipes it extends. A template that
// is nowhere, or that does not parse, is an error.
func Prompts(name string, dirs ...fs.FS) (map[string]string, error) {
	l := newLoader(dirs)
	r, err := l.load(name)
	if err != nil {
		return nil, err
	}
	return l.prompts(name, r)
}

// prompts reads the templates of a recipe.
func (l *loader) prompts(name string, r loaded) (map[string]string, error) {
	out := map[string]string{}
	for _, file := range templates(r.recipe) {
		text, found, err := l.template(r.names, file)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, pawl.Errorf(pawl.CodeInvalid, "recipe %s: the prompt template %s/%s does not exist", name, name, file).
				WithHint("write it beside %s.yaml, in the folder %s", name, name)
		}
		if err := checkTemplate(file, text, ofRoot(&r.recipe, file)); err != nil {
			return nil, pawl.Errorf(pawl.CodeInvalid, "recipe %s: %w", name, err)
		}
		out[file] = text
	}
	return out, nil
}

// Builtin are the names of the built-in recipes, sorted.
func Builtin() []string { return Names() }

// Names are the names of all recipes [Load] finds, sorted.
func Names(dirs ...fs.FS) []string {
	var out []string
	for _, dir := range newLoader(dirs).dirs {
		files, err := fs.Glob(dir, "*.yaml")
		if err != nil {
			panic(err) // the pattern is malformed
		}
		for _, file := range files {
			if name := strings.TrimSuffix(file, ".yaml"); strictyaml.IsName(name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Schema is the JSON Schema of a recipe's file.
func Schema() []byte { return strictyaml.SchemaOver("A Pawl recipe", new(file).fields) }

// Reference is the language in Markdown tables.
func Reference() string { return strictyaml.Reference(new(file).fields) }

// loader finds recipes in folders, strongest first, the built-in one last.
type loader struct {
	dirs []fs.FS
	read func(dir int, file string) // is called with each file that is used; it may be nil
}

// used tells that a file of a folder is used.
func (l *loader) used(dir int, file string) {
	if l.read != nil {
		l.read(dir, file)
	}
}

func newLoader(dirs []fs.FS) *loader {
	l := &loader{}
	for _, dir := range dirs {
		if dir != nil {
			l.dirs = append(l.dirs, dir)
		}
	}
	l.dirs = append(l.dirs, builtin())
	return l
}

// loaded is a recipe with where each of its values was written and the names
// under which its templates are looked for, strongest first.
type loaded struct {
	recipe pawl.Recipe
	where  strictyaml.Where
	names  []string
}

// maxExtends bounds how many recipes may stand on each other.
const maxExtends = 8

func (l *loader) load(name string) (loaded, error) { return l.find(name, 0, 1) }

// find reads the recipe from the first folder, from this one on, that has it.
func (l *loader) find(name string, from, depth int) (loaded, error) {
	if !strictyaml.IsName(name) {
		return loaded{}, pawl.Errorf(pawl.CodeInvalid, "%q cannot be the name of a recipe", name).
			WithHint("names are lower-case letters, digits, - and _")
	}
	for i := from; i < len(l.dirs); i++ {
		data, err := strictyaml.ReadFile(l.dirs[i], name+".yaml")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		label := path.Join("recipes", name+".yaml")
		if i == len(l.dirs)-1 {
			label = "built-in " + name + ".yaml"
		}
		if err != nil {
			return loaded{}, pawl.Errorf(pawl.CodeInvalid, "read %s: %w", label, err)
		}
		l.used(i, name+".yaml")
		return l.parse(name, label, data, i, depth)
	}
	known := Names(l.dirs[:len(l.dirs)-1]...)
	err := pawl.Errorf(pawl.CodeNotFound, "there is no recipe %s", name)
	if near := strictyaml.Nearest(name, known); near != "" {
		return loaded{}, err.WithHint("did you mean %s? recipes: %s", near, strings.Join(known, ", "))
	}
	return loaded{}, err.WithHint("recipes: %s", strings.Join(known, ", "))
}

// parse reads a recipe that was found in a folder. One that extends its own
// name means the next weaker recipe of that name.
func (l *loader) parse(name, label string, data []byte, dir, depth int) (loaded, error) {
	out := loaded{where: strictyaml.Where{}}
	base, at := extends(label, data)
	if base != "" {
		var err error
		if out, err = l.base(name, base, at, dir, depth); err != nil {
			return loaded{}, err
		}
	}
	over := file{recipe: out.recipe}
	where, err := strictyaml.ReadOver(label, data, out.where, over.fields)
	if err != nil {
		return loaded{}, err
	}
	out.where.Add(where)
	out.recipe, out.names = over.recipe, append([]string{name}, out.names...)
	out.recipe.Name = name
	return out, validate(&out.recipe, out.where)
}

// extends is what a file says it extends, and where. Whatever else is wrong with it is found when
// all of it is read.
func extends(label string, data []byte) (base string, at strictyaml.Pos) {
	where, err := strictyaml.Read(label, data, func(m *strictyaml.Map) {
		m.Key("extends", "").Name(&base)
		m.Other(func(string, strictyaml.Pos) {})
	})
	if err != nil {
		return "", strictyaml.Pos{}
	}
	return base, where.Find("extends")
}

// base reads the recipe that another one of this name extends.
func (l *loader) base(name, base string, at strictyaml.Pos, dir, depth int) (loaded, error) {
	var problems strictyaml.Problems
	if depth >= maxExtends {
		problems.Add(at, "extends", "more than %d recipes extend each other; is it a circle?", maxExtends)
		return loaded{}, problems.Err()
	}
	from := 0
	if base == name {
		from = dir + 1
	}
	under, err := l.find(base, from, depth+1)
	if pawl.CodeOf(err) == pawl.CodeNotFound {
		problems.Add(at, "extends", "%s", err)
		return loaded{}, problems.Err()
	}
	return under, err
}

// template reads a template from the first folder that has it.
func (l *loader) template(names []string, file string) (string, bool, error) {
	for _, name := range slices.Compact(slices.Clone(names)) {
		for i, dir := range l.dirs {
			data, err := strictyaml.ReadFile(dir, path.Join(name, file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return "", false, pawl.Errorf(pawl.CodeInvalid, "read %s/%s: %w", name, file, err)
			}
			l.used(i, path.Join(name, file))
			return string(data), true, nil
		}
	}
	return "", false, nil
}

// ofRoot reports whether a template is one of the root loop, which has no task of its own.
func ofRoot(r *pawl.Recipe, file string) bool {
	root := pawl.Recipe{}
	if k := r.Kind(r.Start); k != nil {
		root.Kinds = []pawl.LoopKind{*k}
	}
	return slices.Contains(templates(root), file)
}

// templates are the file names of the templates a recipe uses, sorted.
func templates(r pawl.Recipe) []string {
	var out []string
	Walk(&r, func(s *pawl.Step) { out = append(out, s.Prompt) }, func(v *pawl.Review) { out = append(out, v.Prompt) })
	for _, k := range r.Kinds {
		if c := k.Ladder.Council; c != nil {
			out = append(out, c.Propose, c.Ballot)
		}
		if c := k.Children; c != nil && c.Replan != nil {
			out = append(out, c.Replan.Prompt)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(file string) bool { return file == "" })
}

// Walk goes through every step and review of a recipe, those of groups included.
func Walk(r *pawl.Recipe, step func(*pawl.Step), review func(*pawl.Review)) {
	var steps func([]pawl.Step)
	steps = func(list []pawl.Step) {
		for i := range list {
			step(&list[i])
			if list[i].Repeat != nil {
				steps(list[i].Repeat.Steps)
			}
		}
	}
	for i := range r.Kinds {
		k := &r.Kinds[i]
		steps(k.Steps)
		steps(k.FinalSteps)
		if k.Extract != nil {
			step(k.Extract)
		}
		for _, stage := range slices.Concat(k.Gates, k.FinalGates) {
			if stage.Review != nil {
				review(stage.Review)
			}
		}
		if c := k.Children; c != nil {
			steps(c.BeforeBatch)
			steps(c.AfterBatch)
			if c.Judge != nil {
				review(c.Judge)
			}
		}
	}
}
