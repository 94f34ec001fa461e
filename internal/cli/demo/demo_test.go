package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/cli"
)

// stopped is what becomes of a demo that gets two signals while its run is at work.
func stopped(t *testing.T, args ...string) (said string, left []os.DirEntry, err error) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var out bytes.Buffer
	signals := make(chan os.Signal, 2)
	app := &cli.App{
		Out: &out, Err: &out, StateHome: t.TempDir(),
		Interrupts: func() (<-chan os.Signal, func()) { return signals, func() {} },
		Leave:      func(code int) { t.Errorf("it left at once with %d", code) },
	}
	c := New(app, World{
		Commit:   func(context.Context, string) error { return nil },
		Confined: func(context.Context) error { return nil },
		Run: func(ctx context.Context, in cli.App, _ ...string) error {
			if in.Interrupts != nil {
				return errors.New("the run gets the signals, and would pause")
			}
			signals <- os.Interrupt
			<-ctx.Done()
			signals <- os.Interrupt
			return errors.New("pawl resume 001 continues")
		},
		Result: func(context.Context, string) (string, error) { t.Error("it shows a result"); return "", nil },
	})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	left, lerr := os.ReadDir(tmp)
	if lerr != nil {
		t.Fatal(lerr)
	}
	return out.String(), left, err
}

// A demo that is told to stop, however often, removes what it made and does not suggest resuming
// it. F-20
func TestStopped(t *testing.T) {
	t.Run("Removed", func(t *testing.T) {
		said, left, err := stopped(t)
		if code, ok := errors.AsType[cli.Exit](err); !ok || code != cli.ExitInterrupted {
			t.Error(err)
		}
		if len(left) > 0 {
			t.Errorf("it leaves %v", left)
		}
		if !strings.Contains(said, "the demo was stopped; it left nothing behind") || strings.Contains(said, "resume") {
			t.Error(said)
		}
	})
	t.Run("Kept", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "slug")
		said, left, err := stopped(t, "--keep", dir)
		if code, ok := errors.AsType[cli.Exit](err); !ok || code != cli.ExitInterrupted {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "slug.go")); err != nil || len(left) > 0 {
			t.Errorf("%v, and it leaves %v", err, left)
		}
		if !strings.Contains(said, "its repository stays in "+dir) || strings.Contains(said, "resume") {
			t.Error(said)
		}
	})
}
