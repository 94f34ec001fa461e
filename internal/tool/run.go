package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl"
)

// maxCommand is how long a command may be: a little less than the kernel takes.
const maxCommand = 100_000

// maxTimeout is the longest a command may take.
const maxTimeout = 10 * time.Minute

//go:embed run.md
var runText string

// Run runs a shell command in the sandbox.
type Run struct{}

type runArgs struct {
	Command string `json:"command"`
	Timeout int64  `json:"timeout_ms"`
}

// Spec implements [pawl.Tool].
func (Run) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "run", Description: strings.TrimSpace(runText), Schema: json.RawMessage(fmt.Sprintf(`{
  "type": "object",
  "properties": {
    "command": {"type": "string", "minLength": 1, "description": "The command line."},
    "timeout_ms": {"type": "integer", "minimum": 1000, "maximum": %d, "description": "When to end it, in milliseconds. Default %d."}
  },
  "required": ["command"],
  "additionalProperties": false
}`, maxTimeout.Milliseconds(), pawl.DefaultCommandTimeout.Milliseconds()))}
}

// Class implements [pawl.Tool].
func (Run) Class() pawl.CrashClass { return pawl.CrashOnce }

// Call implements [pawl.Tool].
func (Run) Call(ctx context.Context, env pawl.ToolEnv, raw json.RawMessage) (pawl.ToolResult, error) {
	args, err := decode[runArgs](raw)
	switch {
	case err != nil:
	case strings.TrimSpace(args.Command) == "":
		err = refuse("the command is empty")
	case strings.ContainsRune(args.Command, 0):
		err = refuse("the command has a NUL byte")
	case len(args.Command) > maxCommand:
		err = refuse("the command has %d bytes, %d are allowed: write a file and run it", len(args.Command), maxCommand)
	}
	if err != nil {
		return answer("run", "", err)
	}
	if env.Room == nil {
		return pawl.ToolResult{}, pawl.Errorf(pawl.CodeUnavailable, "run: there is no room to run commands in")
	}
	timeout := pawl.DefaultCommandTimeout
	if args.Timeout > 0 {
		timeout = min(time.Duration(args.Timeout)*time.Millisecond, maxTimeout)
	}
	room, err := env.Room(ctx)
	if err != nil {
		return pawl.ToolResult{}, fmt.Errorf("run: %w", err)
	}
	result, err := room.Run(ctx, pawl.Command{
		Shell: args.Command, Timeout: timeout, Keep: outputLimit, Progress: env.Progress,
	})
	if err != nil {
		return pawl.ToolResult{}, fmt.Errorf("run: %w", err)
	}
	return pawl.ToolResult{
		Text:    markedNote("command", args.Command) + commandText(result, timeout),
		IsError: result.ExitCode != 0 || result.TimedOut,
		Met:     result.Met,
	}, nil
}

// commandText tells how a command ended, then what it printed. How long it took
// is left out, so that two attempts that do the same compare equal.
func commandText(r pawl.CommandResult, timeout time.Duration) string {
	var how string
	switch {
	case r.TimedOut:
		how = fmt.Sprintf("timed out: ended after %s", pawl.Span(timeout))
	case r.ExitCode < 0:
		how = "ended by a signal"
	case r.Missing:
		how = "exit code 127: the program is not installed, or not on PATH"
	default:
		how = fmt.Sprintf("exit code %d", r.ExitCode)
	}
	for _, m := range r.Met {
		how += "; " + m.String()
	}
	if len(r.Output) == 0 {
		return how + ", no output\n"
	}
	return how + "\n\n" + string(r.Output)
}
