package attach

import (
	"bytes"
	"context"
	"testing"

	"pawl"
	"pawl/internal/cli"
)

// lines is a repository's service that has runs and nothing else.
type lines struct {
	pawl.Service
	runs []pawl.RunInfo
}

func (l lines) Runs(context.Context) ([]pawl.RunInfo, error) { return l.runs, nil }

func attach(t *testing.T, runs int, separated bool, args ...string) (said string, err error) {
	t.Helper()
	var out bytes.Buffer
	app := &cli.App{Out: &out, Err: &out, Open: func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: lines{runs: make([]pawl.RunInfo, runs)}, Close: func() error { return nil }}, nil
	}}
	c := New(app, World{
		Attach:   func(context.Context, string) (string, error) { return "/shop", nil },
		Separate: func(context.Context) (bool, error) { return separated, nil },
	})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCount(t *testing.T) {
	for runs, want := range map[int]string{0: "/shop has no runs now\n", 1: "/shop has 1 run now\n", 3: "/shop has 3 runs now\n"} {
		if said, err := attach(t, runs, false); said != want || err != nil {
			t.Errorf("%q, %v", said, err)
		}
	}
}

// Asking for a repository without runs is no error where it has an identity of its own.
func TestNew(t *testing.T) {
	if said, err := attach(t, 0, true, "--new"); said != "pawl: this repository has no runs, and an identity of its own\n" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
	if said, err := attach(t, 2, false, "--new"); said != "pawl: nothing to do: this repository has an identity of its own already, and 2 runs\n" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := attach(t, 0, false, "--new", "--from", "/old"); pawl.CodeOf(err) != pawl.CodeInvalid || err.Error() != "--from and --new exclude each other" {
		t.Error(err)
	}
}
