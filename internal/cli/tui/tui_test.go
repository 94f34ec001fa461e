package tui

import (
	"context"
	"io"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
)

// A terminal that cannot be drawn on is refused, with what to use instead.
func TestRefusesOtherTerminals(t *testing.T) {
	for _, c := range []struct {
		name              string
		app               cli.App
		want, code, hints string
	}{
		{"dumb", cli.App{Terminal: true, Interactive: true, Environ: []string{"TERM=dumb"}}, "TERM=dumb", "unavailable", "pawl logs -f RUN"},
		{"no TERM", cli.App{Terminal: true, Interactive: true}, "cannot be drawn on", "unavailable", "pawl inbox"},
		{"a pipe", cli.App{Interactive: true, Environ: []string{"TERM=xterm"}}, "needs a terminal", "unavailable", "pawl list"},
		{"no keys", cli.App{Terminal: true, Environ: []string{"TERM=xterm"}}, "needs a terminal", "unavailable", "pawl list"},
		{"json", cli.App{Terminal: true, Interactive: true, JSON: true, Environ: []string{"TERM=xterm"}}, "no JSON", "invalid", "pawl list --json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.app.Projects = func(context.Context) (pawl.Projects, func() error, error) {
				t.Error("the daemon is reached")
				return nil, nil, nil
			}
			cmd := New(&c.app, nil)
			cmd.SetArgs(nil)
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			cmd.SilenceUsage = true
			err := cmd.Execute()
			if err == nil || !strings.Contains(err.Error(), c.want) || string(pawl.CodeOf(err)) != c.code {
				t.Fatalf("it says %v", err)
			}
			if e, ok := err.(*pawl.Error); !ok || !strings.Contains(e.Hint, c.hints) { //nolint:errorlint // as it is returned
				t.Errorf("its hint is %v", err)
			}
		})
	}
}

func TestUnicode(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, false},
		{map[string]string{"LC_CTYPE": "C.utf8"}, true},
	} {
		if got := unicode(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}
