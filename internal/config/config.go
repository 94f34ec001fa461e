package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/strictyaml"
)

// The repository's files, weaker first.
const (
	TaskLoopFile = ".devteam/task-loop-config.yaml"
	RepoFile     = ".pawl/config.yaml"
)

// CallbackSecret is the variable with the secret under which callbacks are signed.
// It is no setting: no configuration, log or event holds it.
const CallbackSecret = "PAWL_CALLBACK_SECRET"

// Local is the variable that makes commands work without a daemon; see [IsLocal]. It is not a
// setting, because where a process works does not depend on a project.
const Local = "PAWL_LOCAL"

// IsLocal reports whether a value of [Local] makes commands work without a daemon. The empty
// string, 0 and false do not; any other value does.
func IsLocal(value string) bool {
	is, err := strconv.ParseBool(value)
	return value != "" && (is || err != nil)
}

// IsSetting reports whether a variable of this name sets a setting, or looks as if it should.
func IsSetting(name string) bool {
	return strings.HasPrefix(name, "PAWL_") && name != CallbackSecret && name != Local
}

// UserFile returns the path of the file with the settings of the user whose environment it is.
func UserFile(environ []string) string {
	home := Variable(environ, "XDG_CONFIG_HOME")
	if home == "" {
		home = filepath.Join(Variable(environ, "HOME"), ".config")
	}
	return filepath.Join(home, "pawl", "config.yaml")
}

// Minutes is a time in minutes, as a configuration has it, of a time as people write it:
// "90m" and "1h30m" are "90". Other words stay as they are, for whoever reads them to accept or
// to refuse.
func Minutes(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return text
	}
	return strconv.FormatInt(int64((d+time.Minute-1)/time.Minute), 10)
}

// Sources are where a configuration comes from. Each may be left out.
type Sources struct {
	// Repo is the repository at the commit the run starts from, not the user's
	// working tree.
	Repo fs.FS
	// UserFile is the path of the user's file, which need not exist.
	UserFile string
	// Env are variables, "NAME=value". Those that do not begin with PAWL_ are
	// passed over, but for those in which providers' own programs look for an
	// address ([AddressVariables]), and so are those that are empty.
	Env []string
	// Flags are the settings of the command line; of two for one key the later
	// one holds.
	Flags []Flag
	// Program returns the path of a program that the user has installed; empty if there is none of
	// the name. Nil means that no coding agent is looked for.
	Program func(name string) string
}

// Flag is a setting of the command line.
type Flag struct {
	Name string // as it was typed, such as "--recipe"
	// Key is the key's path, such as "limits.money_usd", or "model", whose value
	// is PROVIDER/NAME or script:FILE for all tiers, or fast=…, medium=…, large=…
	// for one of them.
	Key   string
	Value string
}

// Config is what all layers together decide.
type Config struct {
	// Recipe is the name of the recipe.
	Recipe string
	// Criteria are the acceptance criteria of a run that gives none.
	Criteria []string
	// Unsandboxed allows commands to run unconfined where no sandbox works.
	Unsandboxed bool
	// Script is the scripted model's file; empty when no tier uses it.
	Script string
	// Notes are sentences the user should read, such as keys that were ignored.
	Notes []string

	values  values
	origins strictyaml.Where
}

// Load reads all layers. What is wrong in a file, a variable or a flag is a
// [pawl.CodeInvalid] error that says where.
//
// If no layer chooses a model and there is no key of any provider, the models are those of a coding
// agent that is installed: the first that something pays for, or else the first.
func Load(src Sources) (Config, error) {
	c := Config{values: defaults(), origins: strictyaml.Where{}}
	if err := c.repository(src.Repo); err != nil {
		return Config{}, err
	}
	asked, at := pawl.EvidenceMode(c.values.evidence), c.origins["evidence"]
	if err := c.userFile(src.UserFile); err != nil {
		return Config{}, err
	}
	if own := pawl.EvidenceMode(c.values.evidence); inRepository(at) && own.Stricter(asked) != own {
		c.values.evidence, c.origins["evidence"] = string(asked), at
	}
	env, err := c.values.variables(src.Env)
	if err != nil {
		return Config{}, err
	}
	for _, pairs := range [][]strictyaml.Pair{env, c.values.flags(src.Flags)} {
		where, err := strictyaml.ReadPairs(pairs, c.values.fields)
		if err != nil {
			return Config{}, err
		}
		c.from(where)
	}
	if err := c.twoKeys(); err != nil {
		return Config{}, err
	}
	if err := c.excessive(); err != nil {
		return Config{}, err
	}
	if err := c.usable(src.Env); err != nil {
		return Config{}, err
	}
	c.chooseInstalled(src)
	c.plans(src.Env)
	return c, c.resolve()
}

// usable reports a provider's own variable that names an address which cannot be
// used, when a model needs it: a server that the variable is for may do without us.
func (c *Config) usable(env []string) error {
	for key, mo := range c.values.allModels() {
		p := c.values.providers[mo.provider]
		if _, given := c.origins["providers."+mo.provider+".base_url"]; given || p.address == nil {
			continue
		}
		if address := p.addressIn(env); address != "" {
			if err := checkURL(address); err != nil {
				path := "providers." + mo.provider + ".base_url"
				return problem(strictyaml.Pos{Origin: "$" + p.addressEnv}, path, "%s is for %s: %v", address, key, err)
			}
		}
	}
	return nil
}

// from remembers where a layer's values were written.
func (c *Config) from(layer strictyaml.Where) {
	delete(layer, "")
	for path, canonical := range aliases() {
		if pos, ok := layer[path]; ok {
			layer[canonical] = pos
		}
	}
	for _, key := range []string{"sandbox", "evidence"} {
		if pos, ok := layer[key+".mode"]; ok {
			layer[key] = pos
		}
	}
	c.origins.Add(layer)
}

func (c *Config) repository(repo fs.FS) error {
	if repo == nil {
		return nil
	}
	for _, file := range []string{TaskLoopFile, RepoFile} {
		data, err := strictyaml.ReadFile(repo, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return pawl.Errorf(pawl.CodeInvalid, "read %s: %w", file, err)
		}
		fields := c.values.fields
		if file == TaskLoopFile {
			fields = c.lenient
		}
		where, err := strictyaml.Read(file, data, fields)
		if err != nil {
			return err
		}
		if err := errors.Join(forbidden(where, &c.values), doubles(where)); err != nil {
			return err
		}
		c.from(where)
	}
	return nil
}

// lenient reads the task loop's own file, which has other shapes too: what is
// not known is noted and passed over.
// D-B15
func (c *Config) lenient(m *strictyaml.Map) {
	ignored := func(key string, pos strictyaml.Pos) {
		c.Notes = append(c.Notes, pos.String()+": "+key+" is not a setting of Pawl and was passed over")
	}
	m.Key("task_loop", "").Map(func(m *strictyaml.Map) {
		c.values.taskLoopFields(m)
		m.Other(ignored)
	})
	m.Other(ignored)
}

// doubles reports a setting that one file writes in both ways.
func doubles(where strictyaml.Where) error {
	var problems strictyaml.Problems
	for path, canonical := range aliases() {
		_, here := where[path]
		if _, there := where[canonical]; here && there {
			problems.Add(where[path], path, "the file says this in %s too; keep one of them", canonical)
		}
	}
	return problems.Err()
}

func (c *Config) userFile(name string) error {
	if name == "" {
		return nil
	}
	target, err := filepath.EvalSymlinks(name) // one's own file may be a link
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var data []byte
	if err == nil {
		data, err = strictyaml.ReadFile(os.DirFS(filepath.Dir(target)), filepath.Base(target))
	}
	if err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "read %s: %w", name, err)
	}
	where, err := strictyaml.Read(name, data, c.values.fields)
	if err != nil {
		return err
	}
	if err := doubles(where); err != nil {
		return err
	}
	c.from(where)
	return nil
}

// flags turns flags into pairs; one model for all tiers becomes three.
func (v *values) flags(list []Flag) []strictyaml.Pair {
	var out []strictyaml.Pair
	for _, f := range list {
		if f.Key == "model" {
			out = append(out, v.modelPairs(f.Value, f.Name)...)
			continue
		}
		out = append(out, strictyaml.Pair{Path: f.Key, Value: f.Value, Origin: f.Name})
	}
	return out
}

func (v *values) modelPairs(value, origin string) []strictyaml.Pair {
	if tier, model, ok := strings.Cut(value, "="); ok && !strings.ContainsAny(tier, "/:") {
		return []strictyaml.Pair{{Path: "models." + tier, Value: model, Origin: origin}}
	}
	var out []strictyaml.Pair
	for _, tier := range tierNames {
		out = append(out, strictyaml.Pair{Path: "models." + tier, Value: value, Origin: origin})
	}
	for one := range strings.SplitSeq(value, ",") {
		if new(model).parse(strings.TrimSpace(one), v.delegateNames()) != nil {
			return out[:1] // what is wrong with it is said once
		}
	}
	return out
}

// variables turns PAWL_… variables into pairs. A variable's name is PAWL_ and
// the key's path in capitals. Variables that mean nothing here are another
// program's business, unless they look like a slip.
func (v *values) variables(env []string) ([]strictyaml.Pair, error) {
	var problems strictyaml.Problems
	var out []strictyaml.Pair
	for _, p := range providers() { // the providers' own variables, which PAWL_… wins over
		if address := p.addressIn(env); address != "" && (p.address == nil || checkURL(address) == nil) {
			out = append(out, strictyaml.Pair{Path: "providers." + p.Name + ".base_url", Value: address, Origin: "$" + p.addressEnv})
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !IsSetting(name) || value == "" {
			continue
		}
		origin := "$" + name
		if name == "PAWL_MODEL" {
			for part := range strings.SplitSeq(value, ",") {
				out = append(out, v.modelPairs(strings.TrimSpace(part), origin)...)
			}
			continue
		}
		path, near := variable(name, settingVariables())
		switch {
		case path != "":
			out = append(out, strictyaml.Pair{Path: path, Value: value, Origin: origin})
		case near != "":
			problems.Add(strictyaml.Pos{Origin: origin}, "", "there is no such setting; did you mean %s?", near)
		}
	}
	return out, problems.Err()
}

// Variables are the names of the variables that are read, with the path of the
// key each one sets. PAWL_MODEL, which sets several, is not among them; in a
// name that ends in _* the star stands for the name of a step or gate.
func Variables() map[string]string { return maps.Clone(settingVariables()) }

// settingVariables is [Variables] for this package, which must not change them.
var settingVariables = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	inName := strings.NewReplacer(".", "_", "-", "_")
	for _, path := range strictyaml.Paths(new(values).fields) {
		out["PAWL_"+strings.ToUpper(inName.Replace(path))] = path
	}
	return out
})

func variable(name string, names map[string]string) (path, near string) {
	if path, ok := names[name]; ok {
		return path, ""
	}
	var known []string
	for n, path := range names {
		if stem, ok := strings.CutSuffix(n, "*"); ok && strings.HasPrefix(name, stem) && name != stem {
			return strings.TrimSuffix(path, "*") + strings.ToLower(strings.TrimPrefix(name, stem)), ""
		}
		known = append(known, n)
	}
	slices.Sort(known)
	return "", strictyaml.Nearest(name, append(known, "PAWL_MODEL"))
}
