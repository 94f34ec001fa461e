// Package cli is what the commands of pawl share: the world they are given, how
// they reach a project's runs, how errors become exit codes. Each command is a
// package of its own below this one.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/project"
	"pawl/internal/view"
)

// App is the world of a command. Everything is set by main.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string // "NAME=value"
	Dir      string   // where the command was called
	Version  string
	// JSON asks for machine-readable output.
	JSON bool
	// Terminal reports that Out is a terminal; Width is its columns (80 when it is not).
	Terminal bool
	Width    int
	// Open reaches the project at Dir.
	Open func(ctx context.Context, a Access) (*Session, error)
}

// Access is what a command wants of a project.
type Access int

// The kinds of access.
const (
	// Read shows what there is: over the owner's socket, or from the store.
	Read Access = iota
	// Steer changes runs: over the owner's socket, or as the owner.
	Steer
)

// Session is a project that was reached.
type Session struct {
	pawl.Service
	Project project.Project
	// Owner reports that runs are driven by this process: they stop when it does.
	Owner bool
	// Confined says whether commands can be confined here; Sandbox says how.
	Confined bool
	Sandbox  string
	// Close lets go of the project.
	Close func() error
}

// Getenv is a variable of the environment.
func (a *App) Getenv(name string) string {
	for _, kv := range a.Environ {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// Printf writes to Out. What cannot be written is lost: the reader has gone.
func (a *App) Printf(format string, args ...any) { _, _ = fmt.Fprintf(a.Out, format, args...) }

// Notef writes a remark for people to Err, one line.
func (a *App) Notef(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Err, "pawl: "+format+"\n", args...)
}

// Encode writes v to Out as indented JSON.
func (a *App) Encode(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Find resolves what a user calls a run: its id, its number ("7", "007"; the
// latest run of that task), a beginning of its id that is unique, or nothing
// for the latest run.
func Find(ctx context.Context, s pawl.Service, name string) (pawl.RunInfo, error) {
	runs, err := s.Runs(ctx)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	if len(runs) == 0 {
		return pawl.RunInfo{}, pawl.Errorf(pawl.CodeNotFound, "this project has no runs yet").WithHint(`start one: pawl run "what should be there when it is done"`)
	}
	if name == "" {
		return runs[len(runs)-1], nil
	}
	var found []pawl.RunInfo
	number, numErr := strconv.Atoi(name)
	for _, r := range runs {
		switch {
		case string(r.ID) == name:
			return r, nil
		case numErr == nil && r.Task == number:
			found = []pawl.RunInfo{r} // a later run of the task wins
		case numErr != nil && strings.HasPrefix(string(r.ID), name):
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return pawl.RunInfo{}, pawl.Errorf(pawl.CodeNotFound, "there is no run %q", plain.Line(name, 60)).WithHint("pawl list shows the runs")
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, r := range found {
		ids = append(ids, string(r.ID))
	}
	return pawl.RunInfo{}, pawl.Errorf(pawl.CodeInvalid, "%q may be any of %s", plain.Line(name, 60), strings.Join(ids, ", "))
}

// Fold reads a run whole.
func Fold(ctx context.Context, s pawl.Service, run pawl.RunID) (*view.Run, error) {
	return view.Fold(s.Events(ctx, run, 0))
}

// Blobs reads a run's blobs for a view.
func Blobs(ctx context.Context, s pawl.Service, run pawl.RunID) view.Blobs {
	return func(h pawl.Hash) ([]byte, error) { return s.Blob(ctx, run, h) }
}

// The exit codes of pawl. Commands that follow a run to its end answer with its
// outcome's code.
const (
	ExitOK          = 0
	ExitInternal    = 1
	ExitInvalid     = 2
	ExitNotFound    = 3
	ExitState       = 4 // conflict, or not possible in the present state
	ExitUnavailable = 5
	ExitDamaged     = 6
	ExitUnverified  = 10
	ExitIncomplete  = 11
	ExitBlocked     = 12
	ExitHalted      = 13
	ExitCancelled   = 14
	ExitFailed      = 15
	ExitPaused      = 16
	ExitInterrupted = 130
)

// ExitCodes explains them, for help texts.
const ExitCodes = `Exit codes:
  0 done, the run complete    1 internal error       2 bad input
  3 not found                 4 not possible now     5 something needed is missing
  6 stored data is damaged   10 unverified          11 incomplete
 12 blocked                  13 halted              14 cancelled
 15 failed                   16 paused             130 left by Ctrl-C`

// Exit is an error that only carries an exit code: everything is said already.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// OutcomeExit is the exit code of a run that ended so, as an error; nil when it is complete.
func OutcomeExit(o pawl.Outcome) error {
	codes := map[pawl.Outcome]Exit{
		pawl.OutcomeUnverified: ExitUnverified, pawl.OutcomeIncomplete: ExitIncomplete, pawl.OutcomeBlocked: ExitBlocked,
		pawl.OutcomeHalted: ExitHalted, pawl.OutcomeCancelled: ExitCancelled, pawl.OutcomeFailed: ExitFailed,
	}
	if code, ok := codes[o]; ok {
		return code
	}
	return nil
}

// Report writes an error for the user and returns the exit code it means.
func (a *App) Report(err error) int {
	if err == nil {
		return ExitOK
	}
	if code, ok := errors.AsType[Exit](err); ok {
		return int(code)
	}
	if errors.Is(err, context.Canceled) {
		return ExitInterrupted
	}
	e, ok := errors.AsType[*pawl.Error](err)
	hint := ""
	code := ExitInternal
	if ok {
		hint, code = e.Hint, exitCode(e.Code)
	}
	if a.JSON {
		_ = json.NewEncoder(a.Err).Encode(map[string]any{"error": map[string]string{
			"code": string(pawl.CodeOf(err)), "message": err.Error(), "hint": hint}})
		return code
	}
	_, _ = fmt.Fprintf(a.Err, "pawl: %s\n", plain.Text(err.Error()))
	if hint != "" {
		_, _ = fmt.Fprintf(a.Err, "  → %s\n", plain.Text(hint))
	}
	return code
}

func exitCode(c pawl.Code) int {
	switch c {
	case pawl.CodeInvalid:
		return ExitInvalid
	case pawl.CodeNotFound:
		return ExitNotFound
	case pawl.CodeConflict, pawl.CodeState:
		return ExitState
	case pawl.CodeUnavailable:
		return ExitUnavailable
	case pawl.CodeDamaged:
		return ExitDamaged
	}
	return ExitInternal
}

// UserConfig is where the user's own configuration is.
func (a *App) UserConfig() string {
	home := a.Getenv("XDG_CONFIG_HOME")
	if home == "" {
		home = filepath.Join(a.Getenv("HOME"), ".config")
	}
	return filepath.Join(home, "pawl", "config.yaml")
}
