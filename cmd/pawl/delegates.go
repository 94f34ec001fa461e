package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	processes "pawl/internal/process"
)

// How long an agent's program may take to print its version, and how long it then gets to end.
const (
	versionTime  = 10 * time.Second
	versionGrace = time.Second
)

// maxVersion bounds what is read of a program's version.
const maxVersion = 64 << 10 // bytes

// agentVersion returns the version that the program of an agent prints. The program gets an empty home
// and PATH, and nothing else of the user's environment.
func agentVersion(ctx context.Context, app *cli.App, d config.Delegate, program string) (string, error) {
	home, err := os.MkdirTemp("", "pawl-version-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := processes.Command(ctx, versionGrace, program, append(d.Command[1:len(d.Command):len(d.Command)], d.VersionArgs...)...)
	cmd.Env, cmd.Dir = []string{"HOME=" + home, "PATH=" + app.Getenv("PATH"), "NO_COLOR=1"}, home
	var out beginning
	cmd.Stdout = &out
	if err := processes.Run(cmd); err != nil {
		return "", err
	}
	return d.Version(out.String()), nil
}

// beginning keeps the first bytes of an output.
type beginning struct{ bytes.Buffer }

// Write implements [io.Writer].
func (b *beginning) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), maxVersion-b.Len())]) // it never fails
	return len(p), nil
}

// payer returns the coding agent that is chosen for a tier and what pays for it. An agent that is not
// installed, or that nothing pays for as the run began, is an error that says what to do.
func payer(app *cli.App, cfg *config.Config, choice pawl.ModelChoice) (config.Delegate, config.Purse, *pawl.Error) {
	name := choice.Provider + "/" + choice.Name
	d, ok := cfg.Delegate(choice.Provider)
	if !ok {
		return d, config.Purse{}, pawl.Errorf(pawl.CodeKey, "%s cannot be used: there is no coding agent %s any more", name, choice.Provider).
			WithHint("describe it under delegates in %s", app.UserConfig())
	}
	if app.Program(d.Command[0]) == "" {
		return d, config.Purse{}, pawl.Errorf(pawl.CodeKey, "%s cannot be used: %s is not on PATH", name, d.Command[0]).
			WithHint("install %s, or choose another model with --model PROVIDER/NAME; pawl delegates lists what is installed", d.Title)
	}
	purse, err := d.PurseFor(choice.Plan, app.Getenv("HOME"), app.Getenv)
	if err != nil {
		refusal := pawl.Errorf(pawl.CodeKey, "%s cannot be used: %w", name, err)
		if why, ok := errors.AsType[*pawl.Error](err); ok {
			refusal = refusal.WithHint("%s", why.Hint)
		}
		return d, purse, refusal
	}
	if frozen := choice.Account(); frozen.Key != "" && frozen != purse.Account {
		return d, purse, pawl.Errorf(pawl.CodeKey, "%s cannot be used: the run has account %s, and %s now has another one", name, frozen, d.Title).
			WithHint("log in with the account of the run, or start a new run")
	}
	if choice.Name == config.DefaultModel && d.SetupFor(purse.Kind, config.Filling{}).NeedsModel {
		return d, purse, pawl.Errorf(pawl.CodeInvalid, "%s cannot be used: %s does not choose a model itself if a key pays", name, d.Title).
			WithHint("name one: --model %s/NAME", d.Name)
	}
	return d, purse, nil
}
