package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/credential"
	"pawl/internal/secret"
)

// secretNames are the variables of this process whose values must not become
// durable: those that are named like a key.
func secretNames(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}, func(word string) bool {
			return strings.Contains(strings.ToUpper(name), word)
		}) {
			out = append(out, name)
		}
	}
	return out
}

// heldSecrets returns what finds secrets in what a command reads from the repository and shows by itself. It knows the
// values of the command's environment, of files with keys and of the logins that agents are given. Keys that a command
// or the keyring has are not asked for: that may ask a person.
func heldSecrets(ctx context.Context, app *cli.App) *secret.Redactor {
	held := newEnvirons(app.Environ)
	cfg, err := providersOf(app)
	if err != nil { // pawl config says what is wrong with it
		cfg, _ = config.Load(config.Sources{})
	}
	var keys credential.Reader
	for _, source := range cfg.KeyFiles() {
		key, _ := keys.Key(ctx, source, app.Environ) // one that cannot be read is no file's secret
		held.know(key)
	}
	for _, d := range cfg.Delegates() {
		purse, err := d.Purse(app.Getenv("HOME"), app.Getenv)
		if err != nil || purse.Kind != config.PurseLogin {
			continue
		}
		data, _ := os.ReadFile(purse.File) // it was read a moment ago
		for _, text := range d.Login.Secrets(data) {
			held.know(text)
		}
	}
	return held.secrets()
}
