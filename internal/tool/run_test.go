package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pawl"
	"pawl/internal/tool"
)

// scripted is a room that answers what it was told and keeps what it was asked.
type scripted struct {
	pawl.Room
	result pawl.CommandResult
	err    error
	asked  pawl.Command
}

func (s *scripted) Run(_ context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	s.asked = cmd
	return s.result, s.err
}

// open is how a tool opens the room.
func (s *scripted) open(context.Context) (pawl.Room, error) { return s, nil }

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		result  pawl.CommandResult
		want    string
		isError bool
	}{
		"Success":  {pawl.CommandResult{Output: []byte("hi\n"), Duration: time.Second}, "exit code 0\n\nhi\n", false},
		"NoOutput": {pawl.CommandResult{}, "exit code 0, no output\n", false},
		"Failure":  {pawl.CommandResult{ExitCode: 3, Output: []byte("oops\n")}, "exit code 3\n\noops\n", true},
		"Signal":   {pawl.CommandResult{ExitCode: -1}, "ended by a signal, no output\n", true},
		"Missing":  {pawl.CommandResult{ExitCode: 127, Missing: true, Output: []byte("sh: x\n")}, "exit code 127: the program is not installed, or not on PATH\n\nsh: x\n", true},
		"TimedOut": {pawl.CommandResult{ExitCode: -1, TimedOut: true, Output: []byte("so far\n")}, "timed out: ended after 2m\n\nso far\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := MustWorld(t, nil)
			w.env.Room = (&scripted{result: test.result}).open
			got := w.call(t, tool.Run{}, map[string]any{"command": "x"})
			if got.Text != test.want || got.IsError != test.isError {
				t.Errorf("got %+v, want %q, error %v", got, test.want, test.isError)
			}
		})
	}
}

// F-107: a command that held a secret runs with the mark in its place, and the model is told so, however it ends.
func TestRunWithoutTheSecret(t *testing.T) {
	for _, result := range []pawl.CommandResult{{Output: []byte("hi\n")}, {ExitCode: 7, Output: []byte("401\n")}, {TimedOut: true}} {
		w := MustWorld(t, nil)
		w.env.Room = (&scripted{result: result}).open
		got := w.call(t, tool.Run{}, map[string]any{"command": "psql postgres://shop:[redacted:url-password]@db/shop"})
		if !strings.HasPrefix(got.Text, "note: there was a secret in the command. A secret is never passed on, so the text [redacted:url-password] stood in its place") ||
			!strings.HasSuffix(got.Text, string(result.Output)) {
			t.Errorf("got %q", got.Text)
		}
	}
}

func TestRunAsks(t *testing.T) {
	box := &scripted{}
	w := MustWorld(t, nil)
	w.env.Room = box.open
	w.call(t, tool.Run{}, map[string]any{"command": "go test ./...", "timeout_ms": 5000})
	want := pawl.Command{Shell: "go test ./...", Timeout: 5 * time.Second, Keep: 100_000}
	if diff := cmp.Diff(want, box.asked, cmpopts.IgnoreFields(pawl.Command{}, "Progress")); diff != "" {
		t.Errorf("the command differs (-want +got):\n%s", diff)
	}
	w.call(t, tool.Run{}, map[string]any{"command": "x", "timeout_ms": 999_999_999})
	if box.asked.Timeout != 10*time.Minute {
		t.Errorf("the timeout is %s", box.asked.Timeout)
	}
}

func TestRunRefuses(t *testing.T) {
	w := MustWorld(t, nil)
	w.env.Room = (&scripted{}).open
	w.refuses(t, tool.Run{}, map[string]any{"command": " "}, "the command is empty")
	w.refuses(t, tool.Run{}, map[string]any{"command": "a\x00b"}, "NUL byte")
	w.refuses(t, tool.Run{}, map[string]any{"command": strings.Repeat("a", 100_001)}, "write a file and run it")
}

func TestRunErrors(t *testing.T) {
	w := MustWorld(t, nil)
	raw := json.RawMessage(`{"command": "x"}`)
	if _, err := (tool.Run{}).Call(t.Context(), w.env, raw); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("without a room the error is %v", err)
	}
	w.env.Room = (&scripted{err: context.Canceled}).open
	if _, err := (tool.Run{}).Call(t.Context(), w.env, raw); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
}
