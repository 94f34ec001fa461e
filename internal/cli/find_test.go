package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"context"

	"pawl"
	"pawl/internal/cli"
)

type lines []pawl.RunInfo

func (l lines) service() pawl.Service { return listed{runs: l} }

type listed struct {
	pawl.Service
	runs lines
}

func (l listed) Runs(context.Context) ([]pawl.RunInfo, error) { return l.runs, nil }

func TestFind(t *testing.T) {
	runs := lines{{ID: "001-add-login", Task: 1}, {ID: "002-add-logout", Task: 2}, {ID: "001-add-login-r2", Task: 1}, {ID: "003-fix", Task: 3}}
	for name, want := range map[string]pawl.RunID{
		"": "003-fix", "1": "001-add-login-r2", "001": "001-add-login-r2", "001-add-login": "001-add-login",
		"002-a": "002-add-logout", "003-fix": "003-fix", "0002": "002-add-logout",
	} {
		got, err := cli.Find(t.Context(), runs.service(), name)
		if err != nil || got.ID != want {
			t.Errorf("Find(%q) = %s, %v, want %s", name, got.ID, err, want)
		}
	}
	for name, want := range map[string]pawl.Code{"001-": pawl.CodeInvalid, "9": pawl.CodeNotFound, "login": pawl.CodeNotFound, "\x1b[2J": pawl.CodeNotFound} {
		_, err := cli.Find(t.Context(), runs.service(), name)
		if pawl.CodeOf(err) != want || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("Find(%q): %v", name, err)
		}
	}
	if _, err := cli.Find(t.Context(), lines{}.service(), ""); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("without runs: %v", err)
	}
}

func TestReport(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{nil, 0, ""},
		{errors.New("odd"), 1, "pawl: odd\n"},
		{pawl.Errorf(pawl.CodeInvalid, "bad").WithHint("do better"), 2, "pawl: bad\n  → do better\n"},
		{fmt.Errorf("outer: %w", pawl.Errorf(pawl.CodeNotFound, "none")), 3, "pawl: outer: none\n"},
		{pawl.Errorf(pawl.CodeConflict, "there"), 4, "pawl: there\n"},
		{pawl.Errorf(pawl.CodeState, "not now"), 4, "pawl: not now\n"},
		{pawl.Errorf(pawl.CodeUnavailable, "gone"), 5, "pawl: gone\n"},
		{pawl.Errorf(pawl.CodeStopped, "stopped"), 18, "pawl: stopped\n"},
		{pawl.Errorf(pawl.CodeDamaged, "broken"), 6, "pawl: broken\n  → pawl doctor looks at all that is stored; commits are not affected\n"},
		{cli.OutcomeExit(pawl.OutcomeComplete), 0, ""},
		{cli.OutcomeExit(pawl.OutcomeUnverified), 10, ""},
		{cli.OutcomeExit(pawl.OutcomeIncomplete), 11, ""},
		{cli.OutcomeExit(pawl.OutcomeBlocked), 12, ""},
		{cli.OutcomeExit(pawl.OutcomeHalted), 13, ""},
		{cli.OutcomeExit(pawl.OutcomeCancelled), 14, ""},
		{cli.OutcomeExit(pawl.OutcomeFailed), 15, ""},
		{cli.Exit(cli.ExitPaused), 16, ""},
		{fmt.Errorf("read: %w", context.Canceled), 130, ""},
		{pawl.Errorf(pawl.CodeInvalid, "a \x1b[31mred\x1b[0m \u202eword"), 2, "pawl: a red word\n"},
	} {
		var out bytes.Buffer
		app := &cli.App{Err: &out}
		if code := app.Report(c.err); code != c.code || out.String() != c.says {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.err, code, out.String(), c.code, c.says)
		}
		if c.says == "" {
			continue
		}
		out.Reset()
		app.JSON = true
		var got struct {
			Error struct{ Code, Message, Hint string }
		}
		if code := app.Report(c.err); code != c.code {
			t.Errorf("%v as JSON: exit code %d", c.err, code)
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Error.Message != c.err.Error() || got.Error.Code != string(pawl.CodeOf(c.err)) {
			t.Errorf("%v as JSON: %s", c.err, out.String())
		}
	}
}
