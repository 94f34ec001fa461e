package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/daemon"
	"pawl/internal/driver"
	"pawl/internal/ecosystem"
	"pawl/internal/evidence"
	"pawl/internal/room"
	"pawl/internal/secret"
)

// environs are what runs have of their user's environment. A daemon lives longer than
// the shells that it is asked from: each of them hands over what its runs need, which
// is kept here, in memory, and nowhere else. What a shell did not hand over is taken
// from this process's own environment.
type environs struct {
	own []string
	// configs are those of this process's environment and of the ones that were handed over.
	configs loadedConfigs

	mu    sync.Mutex // guards what follows
	of    map[runOf]handover
	known *secret.Redactor
}

// handover is what a shell has handed over for a run.
type handover struct {
	environ []string       // with what was lent to it
	config  *config.Config // of providers; nil if the user's file could not be read
}

// runOf is a run of a project.
type runOf struct {
	project string // the name of its state folder
	run     pawl.RunID
}

func newEnvirons(own []string) *environs {
	e := &environs{own: own, of: map[runOf]handover{}}
	e.learn()
	return e
}

// set keeps what was handed over for a run; nothing keeps what there is.
func (e *environs) set(r runOf, environ []string) {
	if environ == nil {
		return
	}
	h := handover{environ: e.lend(r, environ)}
	if cfg, err := e.configs.get(h.environ); err == nil {
		h.config = &cfg
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of[r] = h
	e.learn()
}

// forget drops what a run had.
func (e *environs) forget(r runOf) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.of, r)
}

// get is the environment of a run.
func (e *environs) get(r runOf) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h, ok := e.of[r]; ok {
		return h.environ
	}
	return e.own
}

// providers returns the settings of a run's providers, as they were when the run was handed its
// environment. Later changes of the user's file are for later runs.
func (e *environs) providers(r runOf) (config.Config, error) {
	e.mu.Lock()
	h := e.of[r]
	e.mu.Unlock()
	if h.config != nil {
		return *h.config, nil
	}
	return e.configs.get(e.get(r))
}

// asked returns the environment that the caller has handed over for a run, or the run's if there
// is none.
func (e *environs) asked(ctx context.Context, r runOf) []string {
	if environ := daemon.Environ(ctx); environ != nil {
		return e.lend(r, environ)
	}
	return e.get(r)
}

// settings returns the environment by which a request is resolved: that of the shell that asks, with
// providers that were lent to it, or this process's own if none was handed over.
func (e *environs) settings(ctx context.Context) []string {
	environ := daemon.Environ(ctx)
	if environ == nil {
		return e.own
	}
	cfg, _ := e.configs.get(e.own) // the request says what is wrong with it
	keys := cfg.KeyNames()
	lent := slices.DeleteFunc(e.lend(runOf{}, environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !isProviders(name, keys)
	})
	return over(lent, environ)
}

// lend returns an environment that was handed over for a run, completed from this process's own.
// Variables of providers are added only as [config.Config.Lend] allows, from what the run has
// already or else from this process: a key of one shell must not be used with an address of
// another.
// F-14
func (e *environs) lend(r runOf, environ []string) []string {
	cfg, err := e.configs.get(e.own)
	if err != nil {
		cfg, _ = config.Load(config.Sources{})
	}
	keys := cfg.KeyNames()
	environ = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { // settings are for the start alone
		name, _, _ := strings.Cut(kv, "=")
		return config.IsSetting(name) && !isProviders(name, keys)
	})
	others := slices.DeleteFunc(slices.Clone(e.own), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return isProviders(name, keys)
	})
	whole := over(others, environ)
	cfg, err = e.configs.get(whole)
	if err != nil {
		return whole // whoever uses it is told what is wrong
	}
	return over(whole, cfg.Lend(e.get(r), environ))
}

// isProviders reports whether a variable sets how a provider is reached. keys are the names of
// the variables that have keys.
func isProviders(name string, keys []string) bool {
	return strings.HasPrefix(name, "PAWL_PROVIDERS_") || slices.Contains(config.AddressVariables(), name) || slices.Contains(keys, name)
}

// over is an environment with some variables replaced.
func over(environ, by []string) []string {
	all := map[string]string{}
	for _, kv := range slices.Concat(environ, by) {
		name, _, _ := strings.Cut(kv, "=")
		all[name] = kv
	}
	return slices.Sorted(maps.Values(all))
}

// leave hands what runs were given over to the program that this process becomes, and
// returns the number of the open file.
func (e *environs) leave() (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []left
	for r, h := range e.of {
		all = append(all, left{r.project, r.run, h.environ})
	}
	data, err := json.Marshal(all)
	if err != nil {
		return 0, err
	}
	return handOver(data)
}

// take reads what another process has left.
func (e *environs) take(from io.Reader) error {
	var all []left
	if err := json.NewDecoder(from).Decode(&all); err != nil {
		return err
	}
	for _, l := range all {
		e.set(runOf{l.Project, l.Run}, l.Environ)
	}
	return nil
}

// left is what a run was handed, on its way from one program to the next.
type left struct {
	Project string
	Run     pawl.RunID
	Environ []string
}

// learn makes secrets known whose values must not become durable. Those of runs that
// are over stay known: they may still be in somebody's hands. The caller holds mu.
func (e *environs) learn() {
	known := secret.NewRedactor(nil)
	all := [][]string{e.own}
	for _, h := range e.of {
		all = append(all, h.environ)
	}
	for _, environ := range all {
		app := &cli.App{Environ: environ}
		known = known.And(secret.NewRedactor(app.Getenv, secretNames(environ)...))
	}
	e.known = e.known.And(known)
}

// know makes a key known that comes from nobody's environment.
func (e *environs) know(key string) {
	if key == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known = e.known.And(secret.NewRedactor(func(string) string { return key }, "KEY"))
}

// secrets returns what finds secrets and takes them out: what it is given becomes durable or is shown.
func (e *environs) secrets() *secret.Redactor {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known
}

// redact takes secrets out of a document.
func (e *environs) redact(doc []byte) []byte { return e.secrets().Bytes(doc) }

// found returns the secrets in a file. A file that as a whole is one has its content as the value.
func (e *environs) found(path string, text []byte) (out []evidence.Secret) {
	for _, f := range e.secrets().Find(path, text) {
		out = append(out, evidence.Secret{Rule: f.Rule, Value: cmp.Or(f.Secret, string(text)), Line: f.Line})
	}
	return out
}

// undecided returns where the end of a text begins that may turn out to be a part of a secret.
func (e *environs) undecided(text []byte) int { return e.secrets().Undecided(text) }

// handing are the variables that a command hands over with a request: what its runs'
// providers need, what their commands are to see of the user's environment, and, for the start of a
// run, its settings and how the user's package managers are configured. Of credentials of the latter
// only the names are handed over.
func handing(app *cli.App) []string {
	wanted := append(room.Variables(), "XDG_CONFIG_HOME", config.CallbackSecret)
	cfg, _ := providersOf(app) // the command says what is wrong with it
	keys := cfg.KeyNames()
	out := []string{}
	for _, kv := range app.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case slices.Contains([]string{readyFD, keysFD}, name):
		case slices.Contains(wanted, name) || isProviders(name, keys) || config.IsSetting(name):
			out = append(out, kv)
		case ecosystem.IsClientVariable(name) && len(secretNames([]string{kv})) > 0:
			out = append(out, name+"=")
		case ecosystem.IsClientVariable(name):
			out = append(out, kv)
		}
	}
	return out
}

// withoutKeys is an environment for a daemon that outlives the shell which starts it:
// without what only that shell's own runs are to have.
func withoutKeys(app *cli.App) []string {
	keyed := secretNames(app.Environ)
	cfg, _ := providersOf(app) // the command says what is wrong with it
	keys := cfg.KeyNames()
	return slices.DeleteFunc(slices.Clone(app.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(keyed, name) || isProviders(name, keys) || strings.HasPrefix(name, "PAWL_")
	})
}

// Keys of the values that a context carries about its run.
type (
	runKey      struct{} // a runOf
	settingsKey struct{} // its frozen settings, a *pawl.Settings
)

// ofRun performs a run's effects in a context that says whose they are.
type ofRun struct {
	driver.Performer
	project string
}

// Perform implements [driver.Performer].
func (o ofRun) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	ctx = context.WithValue(ctx, runKey{}, runOf{o.project, job.Run})
	return o.Performer.Perform(context.WithValue(ctx, settingsKey{}, job.Settings), job)
}

// recordingLimits returns the limits on recordings of the run that ctx belongs to.
func recordingLimits(ctx context.Context) pawl.RecordingLimits {
	if settings, ok := ctx.Value(settingsKey{}).(*pawl.Settings); ok {
		return settings.Recording
	}
	return pawl.RecordingLimits{}
}

// environ is the environment of the run that ctx belongs to.
func (e *environs) environ(ctx context.Context) []string {
	r, _ := ctx.Value(runKey{}).(runOf)
	return e.get(r)
}
