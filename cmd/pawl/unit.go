package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/cli"
	servecmd "pawl/internal/cli/serve"
	"pawl/internal/project"
	"pawl/internal/room"
	"pawl/internal/unit"
)

// daemonService is the daemon as a service of the user's. A run that goes on after a reboot
// finds the toolchains that it had in this shell. Keys stay out: units are no secret.
func daemonService(app *cli.App, o servecmd.Options) (unit.Service, error) {
	program, err := os.Executable()
	if err != nil {
		return unit.Service{}, fmt.Errorf("find this program: %w", err)
	}
	o.Background, o.OnDemand, o.Idle = true, false, 0
	s := unit.Service{
		Command: append([]string{program}, o.Args()...),
		Home:    app.Getenv("HOME"), Config: filepath.Dir(filepath.Dir(app.UserConfig())),
	}
	wanted, secret := append(room.Variables(), "XDG_STATE_HOME", "XDG_CONFIG_HOME"), secretNames(app.Environ)
	for _, kv := range app.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(wanted, name) && !slices.Contains(secret, name) {
			s.Env = append(s.Env, kv)
		}
	}
	slices.Sort(s.Env)
	return s, nil
}

// installService installs the daemon. One that serves already stays: runs have keys in it.
func installService(ctx context.Context, app *cli.App, o servecmd.Options) (servecmd.Installed, error) {
	s, err := daemonService(app, o)
	if err != nil {
		return servecmd.Installed{}, err
	}
	_, s.Later, err = project.HomeAt(app.StateHome).Holder(ctx)
	if err != nil {
		return servecmd.Installed{}, err
	}
	in, err := s.Install(ctx)
	return servecmd.Installed(in), err
}

func uninstallService(ctx context.Context, app *cli.App) (file string, err error) {
	s, err := daemonService(app, servecmd.Options{})
	if err != nil {
		return "", err
	}
	return s.Uninstall(ctx)
}
