// Package unit installs the daemon as a service of the user's own: a unit of systemd's user
// manager, or a launch agent of macOS.
package unit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"pawl"
	"pawl/internal/project"
)

// mark is in each file that is installed. One without it is somebody else's, and is kept.
const mark = "Written by Pawl for its daemon"

// patience is how long a service manager has for one request.
const patience = 20 * time.Second

// Service is a program that is started when its user logs in, and again when it fails.
type Service struct {
	// Command is the program, absolute, and its arguments.
	Command []string
	// Env are the variables it has besides the manager's, as NAME=value. Every program of
	// the user can read them.
	Env []string
	// Home is the user's home, and Config the folder of their settings ($XDG_CONFIG_HOME).
	Home, Config string
	// Later says not to start it now, as another one is at work.
	Later bool
}

// Installed says what was installed.
type Installed struct {
	File    string
	Started bool
	// Note says when it starts, if that is not at boot, and what changes it.
	Note string
}

// manager is what starts services.
type manager interface {
	file() string
	text() string
	// check fails when the manager cannot be reached.
	check(ctx context.Context) error
	// load makes it take a written file, unless it has, and starts the service if that is wanted.
	load(ctx context.Context, start bool) error
	// unload makes it forget the service, before the file is removed.
	unload(ctx context.Context) error
	// note is [Installed.Note].
	note(ctx context.Context) string
}

func (s Service) manager() (manager, error) {
	for _, text := range append(s.Command, s.Env...) {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return nil, pawl.Errorf(pawl.CodeInvalid, "%q has a control character, which no unit may have", text)
		}
	}
	switch runtime.GOOS {
	case "linux":
		return systemd{s}, nil
	case "darwin":
		return launchd{s}, nil
	}
	return nil, pawl.Errorf(pawl.CodeUnavailable, "pawl knows no service manager on %s", runtime.GOOS).
		WithHint("start pawl serve --background when you log in")
}

// Install installs the service, or brings it up to date. It fails with
// [pawl.CodeUnavailable] when there is no manager that answers, and with
// [pawl.CodeConflict] when there is a file of the name that Pawl did not write; after an
// error everything is as it was.
func (s Service) Install(ctx context.Context) (Installed, error) {
	m, err := s.manager()
	if err != nil {
		return Installed{}, err
	}
	return install(ctx, m, !s.Later)
}

func install(ctx context.Context, m manager, start bool) (Installed, error) {
	if err := m.check(ctx); err != nil {
		return Installed{}, err
	}
	before, err := own(m.file())
	if err != nil {
		return Installed{}, err
	}
	if err := os.MkdirAll(filepath.Dir(m.file()), 0o700); err != nil {
		return Installed{}, unwritten(err)
	}
	if err := project.Replace(m.file(), []byte(m.text())); err != nil {
		return Installed{}, unwritten(err)
	}
	if err := m.load(ctx, start); err != nil {
		return Installed{}, errors.Join(err, restore(context.WithoutCancel(ctx), m, before))
	}
	return Installed{File: m.file(), Started: start, Note: m.note(ctx)}, nil
}

// restore puts back what was there before; nil if nothing was.
func restore(ctx context.Context, m manager, before []byte) error {
	if before != nil {
		return errors.Join(project.Replace(m.file(), before), m.load(ctx, false))
	}
	_ = m.unload(ctx) // it may never have been loaded
	return os.Remove(m.file())
}

func unwritten(err error) error {
	return pawl.Errorf(pawl.CodeUnavailable, "install the service: %w", err)
}

// own is what is in a file of Pawl's; nil when there is none.
func own(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, unwritten(err)
	case !bytes.Contains(data, []byte(mark)):
		return nil, pawl.Errorf(pawl.CodeConflict, "%s was not written by pawl", name).WithHint("move it away, and try again")
	}
	return data, nil
}

// Uninstall removes the service, and returns its file; empty when it was not installed. A
// daemon that it has started goes on, but on macOS, where launchd ends it.
func (s Service) Uninstall(ctx context.Context) (file string, err error) {
	m, err := s.manager()
	if err != nil {
		return "", err
	}
	return uninstall(ctx, m)
}

func uninstall(ctx context.Context, m manager) (file string, err error) {
	before, err := own(m.file())
	if err != nil || before == nil {
		return "", err
	}
	if err := m.check(ctx); err != nil {
		return "", err
	}
	if err := m.unload(ctx); err != nil {
		return "", err
	}
	return m.file(), os.Remove(m.file())
}

// run asks a service manager for something.
func run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(out))
		if said != "" {
			said = ": " + said
		}
		return "", fmt.Errorf("%s %s: %w%s", name, strings.Join(args, " "), err, said)
	}
	return strings.TrimSpace(string(out)), nil
}
