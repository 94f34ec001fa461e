package cli

import (
	"context"
	"errors"
	"fmt"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// The exit codes of pawl. Commands that follow a run to its end answer with the code that
// [view.State] has for it, 10 to 16.
const (
	ExitOK          = 0
	ExitInternal    = 1
	ExitInvalid     = 2
	ExitNotFound    = 3
	ExitState       = 4 // conflict, not possible in the present state, or not allowed yet
	ExitUnavailable = 5
	ExitDamaged     = 6
	ExitWhich       = 17 // it is not clear which task is meant, and nobody can be asked
	ExitStopped     = 18 // the daemon was stopped; the run it drove is interrupted
	ExitInterrupted = 130
)

// RunExitCodes explains the exit codes of commands that follow a run to its end.
const RunExitCodes = `Exit codes:
  0 done, the run complete    1 internal error     2 bad input
  3 not found                 4 not possible now   5 something needed is missing
  6 stored data is damaged   10 unverified        11 incomplete
 12 blocked                  13 halted            14 cancelled
 15 failed                   16 paused            17 unclear which task
 18 the daemon was stopped; the run continues in the next one
130 interrupted by Ctrl-C`

// ExitCodes explains the exit codes of all other commands.
const ExitCodes = `Exit codes:
  0 done                      1 internal error     2 bad input
  3 not found                 4 not possible now   5 something needed is missing
  6 stored data is damaged  130 interrupted by Ctrl-C`

// FollowExitCodes explains the exit codes of commands that show a run until it ends.
const FollowExitCodes = ExitCodes + `
 18 the daemon was stopped; the run continues in the next one`

// Exit is an error that only carries an exit code: everything is said already.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// StateExit returns the exit code of a command that followed a run to this state, as an error; nil
// when it is 0.
func StateExit(s view.State) error {
	if s.Exit <= 0 {
		return nil
	}
	return Exit(s.Exit)
}

// Report writes an error for the user and returns the exit code it means. With
// JSON it is an object {"error": {"code", "message", "hint"}}.
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
	code, hint := ExitInternal, ""
	if e, ok := errors.AsType[*pawl.Error](err); ok {
		code, hint = exitCode(e.Code), e.Hint
	}
	if code == ExitDamaged && hint == "" {
		hint = "pawl doctor looks at all that is stored; commits are not affected"
	}
	if a.JSON {
		_ = encode(a.Err, map[string]any{"error": map[string]string{
			"code": string(pawl.CodeOf(err)), "message": err.Error(), "hint": hint}}, "")
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
	case pawl.CodeInvalid, pawl.CodeFolder:
		return ExitInvalid
	case pawl.CodeNotFound:
		return ExitNotFound
	case pawl.CodeConflict, pawl.CodeState, pawl.CodeConsent:
		return ExitState
	case pawl.CodeUnavailable, pawl.CodeKey:
		return ExitUnavailable
	case pawl.CodeDamaged:
		return ExitDamaged
	case pawl.CodeStopped:
		return ExitStopped
	}
	return ExitInternal
}
