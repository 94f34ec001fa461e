package serve

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

// serve runs the command, and says what it did.
func serve(t *testing.T, args ...string) (did string, o Options, err error) {
	t.Helper()
	var out bytes.Buffer
	app := &cli.App{Out: &out, Err: &out}
	do := func(what string) func(context.Context, Options) error {
		return func(_ context.Context, with Options) error { did, o = what, with; return nil }
	}
	root := &cobra.Command{Use: "pawl", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().BoolVar(&app.Local, "local", true, "") // as PAWL_LOCAL=1 has it
	root.AddCommand(New(app, World{
		Serve: do("serve"), Background: do("background"),
		Status:    func(context.Context) (*Status, error) { return &Status{}, nil },
		Install:   func(ctx context.Context, o Options) (Installed, error) { return Installed{}, do("install")(ctx, o) },
		Uninstall: func(ctx context.Context) (string, error) { return "", do("uninstall")(ctx, Options{}) },
		OpenAPI:   func() []byte { did = "openapi"; return nil },
	}))
	root.SetArgs(append([]string{"serve"}, args...))
	err = root.ExecuteContext(t.Context())
	return did, o, err
}

// Flags that a daemon would fail with or ignore are refused before anything is served or
// installed. F-29
func TestRefused(t *testing.T) {
	const address = "want an address of this machine only, such as 127.0.0.1:0"
	for args, want := range map[string]string{
		"--listen foo":                       "--listen foo: " + address,
		"--install --listen foo":             "--listen foo: " + address,
		"--install --listen 0.0.0.0:80":      "--listen 0.0.0.0:80: " + address,
		"--install --listen :80":             "--listen :80: " + address,
		"--install --listen 127.0.0.1":       "--listen 127.0.0.1: " + address,
		"--install --listen 127.0.0.1:x":     `--listen 127.0.0.1:x: "x" is not a port: want a number from 0 to 65535`,
		"--install --listen 127.0.0.1:65536": `--listen 127.0.0.1:65536: "65536" is not a port: want a number from 0 to 65535`,
		"--background --listen foo":          "--listen foo: " + address,
		"--install --uninstall":              "--install and --uninstall exclude each other",
		"--uninstall --install --background": "--background, --install and --uninstall exclude each other",
		"--install --local":                  "pawl serve --install: --local asks to work without the daemon",
		"--install --idle 5m":                "pawl serve --install: --idle has no effect here",
		"--uninstall --listen 127.0.0.1:0":   "pawl serve --uninstall: --listen has no effect here",
		"--uninstall --idle-project 5m":      "pawl serve --uninstall: --idle-project has no effect here",
		"--openapi --listen 127.0.0.1:0":     "pawl serve --openapi: --listen has no effect here",
		"--openapi --plan-recipe mine":       "pawl serve --openapi: --plan-recipe has no effect here",
	} {
		did, _, err := serve(t, strings.Fields(args)...)
		if did != "" || pawl.CodeOf(err) != pawl.CodeInvalid || err.Error() != want {
			t.Errorf("%s: %q, %v", args, did, err)
		}
	}
}

func TestModes(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "serve",
		"--listen 127.0.0.1:0":           "serve",
		"--listen [::1]:7777":            "serve",
		"--background --idle-project 5m": "background",
		"--install --listen 127.0.0.1:0 --idle-project 5m": "install",
		"--uninstall": "uninstall",
		"--openapi":   "openapi",
	} {
		fields := strings.Fields(args)
		did, o, err := serve(t, fields...)
		if did != want || err != nil || strings.Contains(args, "--listen") != (o.Listen != "") {
			t.Errorf("%s: %q, %+v, %v", args, did, o, err)
		}
	}
}

// A daemon that another one takes the place of, or that a service starts, serves as it was
// told to.
func TestArgs(t *testing.T) {
	want := Options{Background: true, Listen: "127.0.0.1:0", PlanRecipe: "mine", IdleProject: time.Minute}
	if _, got, err := serve(t, want.Args()[1:]...); err != nil || got != want {
		t.Errorf("%v: %+v", err, got)
	}
}
