package main

import (
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
	"pawl/internal/driver"
	"pawl/internal/plain"
	"pawl/internal/room"
)

// environs are what runs have of their user's environment. A daemon lives longer than
// the shells that it is asked from: each of them hands over what its runs need, which
// is kept here, in memory, and nowhere else. What a shell did not hand over is taken
// from this process's own environment.
type environs struct {
	own []string

	mu     sync.Mutex // guards what follows
	of     map[runOf][]string
	secret *plain.Redactor
}

// runOf is a run of a project.
type runOf struct {
	project string // the name of its state folder
	run     pawl.RunID
}

func newEnvirons(own []string) *environs {
	e := &environs{own: own, of: map[runOf][]string{}}
	e.learn()
	return e
}

// set keeps what was handed over for a run; nothing keeps what there is.
func (e *environs) set(r runOf, environ []string) {
	if environ == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of[r] = environ
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
	return over(e.own, e.of[r])
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
	for r, environ := range e.of {
		all = append(all, left{r.project, r.run, environ})
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
	known := plain.NewRedactor(nil)
	for _, environ := range slices.AppendSeq([][]string{e.own}, maps.Values(e.of)) {
		app := &cli.App{Environ: environ}
		known = known.And(plain.NewRedactor(app.Getenv, secretNames(environ)...))
	}
	e.secret = e.secret.And(known)
}

// know makes a key known that comes from nobody's environment.
func (e *environs) know(key string) {
	if key == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.secret = e.secret.And(plain.NewRedactor(func(string) string { return key }, "KEY"))
}

// redact takes secrets out of a document.
func (e *environs) redact(doc []byte) []byte {
	e.mu.Lock()
	known := e.secret
	e.mu.Unlock()
	return known.Bytes(doc)
}

// handing are the variables that a command hands over to the daemon: what its runs'
// providers need, and what their commands are to see of the user's environment.
func handing(app *cli.App) []string {
	wanted := slices.Concat(room.Variables(), config.AddressVariables(), []string{"XDG_CONFIG_HOME", config.CallbackSecret})
	cfg, err := config.Load(config.Sources{UserFile: app.UserConfig(), Env: app.Environ})
	if err == nil { // or the command says what is wrong with it
		wanted = append(wanted, cfg.KeyNames()...)
	}
	out := []string{}
	for _, kv := range app.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(wanted, name) || strings.HasPrefix(name, "PAWL_PROVIDERS_") {
			out = append(out, kv)
		}
	}
	return out
}

// withoutKeys is an environment for a daemon that outlives the shell which starts it:
// without what only that shell's own runs are to have.
func withoutKeys(app *cli.App) []string {
	secret := secretNames(app.Environ)
	if cfg, err := config.Load(config.Sources{UserFile: app.UserConfig(), Env: app.Environ}); err == nil {
		secret = append(secret, cfg.KeyNames()...)
	}
	return slices.DeleteFunc(slices.Clone(app.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(secret, name) || strings.HasPrefix(name, "PAWL_")
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
