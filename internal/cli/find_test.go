package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"context"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/view"
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
		"": "003-fix", "1-r2": "001-add-login-r2", "001-r1": "001-add-login", "001-add-login": "001-add-login", "3": "003-fix", "3-r1": "003-fix",
		"002-a": "002-add-logout", "003-fix": "003-fix", "0002": "002-add-logout",
	} {
		got, err := cli.Find(t.Context(), runs.service(), name)
		if err != nil || got.ID != want {
			t.Errorf("Find(%q) = %s, %v, want %s", name, got.ID, err, want)
		}
	}
	for name, want := range map[string]pawl.Code{"001-": pawl.CodeInvalid, "1": pawl.CodeInvalid, "001": pawl.CodeInvalid, "1-r3": pawl.CodeNotFound, "9": pawl.CodeNotFound, "login": pawl.CodeNotFound, "\x1b[2J": pawl.CodeNotFound} {
		_, err := cli.Find(t.Context(), runs.service(), name)
		if pawl.CodeOf(err) != want || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("Find(%q): %v", name, err)
		}
	}
	// F-96: the number of a task that has several runs is none of theirs alone.
	if _, err := cli.Find(t.Context(), runs.service(), "1"); err == nil || err.Error() != `"1" may be any of 001-add-login, 001-add-login-r2` {
		t.Errorf("got %v", err)
	}
	// One that there is not is not taken for a similar one: it is asked whether that was meant.
	for name, near := range map[string]string{
		"001-add-logins":     "did you mean 001-add-login-r2 or 001-add-login or 002-add-logout?",
		"001-add-login-r3":   "did you mean 001-add-login-r2 or 001-add-login or 002-add-logout?",
		"009-fix":            "did you mean 003-fix?",
		"002-something-else": "did you mean 002-add-logout?",
		"900-else":           "pawl list shows the runs",
	} {
		_, err := cli.Find(t.Context(), runs.service(), name)
		if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Code != pawl.CodeNotFound || !strings.HasPrefix(e.Hint, near) {
			t.Errorf("Find(%q): %v, hint %q, want %q", name, err, e.Hint, near)
		}
	}
	if _, err := cli.Find(t.Context(), lines{}.service(), ""); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("without runs: %v", err)
	}
}

// buried is a service with a run that was deleted and one that was erased.
type buried struct{ listed }

func (buried) DeletedRuns(context.Context) ([]pawl.Tombstone, error) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	return []pawl.Tombstone{{Run: pawl.RunInfo{ID: "001-old", Task: 1}, Deleted: at, Erased: true}, {Run: pawl.RunInfo{ID: "002-kept", Task: 2, Title: "Kept"}, Deleted: at}}, nil
}

// A deleted run is read by its whole id alone, for as long as it is kept. F-31
func TestOpenDeletedRun(t *testing.T) {
	var notes bytes.Buffer
	app := &cli.App{Err: &notes, Open: func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: buried{listed{runs: lines{{ID: "003-here", Task: 3}}}}, Close: func() error { return nil }}, nil
	}}
	_, info, err := app.OpenRun(t.Context(), cli.Read, []string{"002-kept"}, nil)
	if err != nil || info.Title != "Kept" || notes.String() != "pawl: run 002-kept was deleted on 2026-11-26; its log is kept until 2026-12-10\n" {
		t.Errorf("%+v, %v, %s", info, err, notes.String())
	}
	for _, test := range []struct {
		access     cli.Access
		name       string
		code       pawl.Code
		text, hint string
	}{
		{cli.Steer, "002-kept", pawl.CodeState, "run 002-kept was deleted on 2026-11-26", "its log can be read until 2026-12-10: pawl show 002-kept"},
		{cli.Read, "001-old", pawl.CodeNotFound, "there is no run 001-old any more: it was deleted on 2026-11-26", ""},
		{cli.Read, "2", pawl.CodeNotFound, `there is no run "2"`, "run 002-kept was deleted on 2026-11-26; its log is kept until 2026-12-10: pawl show 002-kept"},
		{cli.Read, "002-k", pawl.CodeNotFound, `there is no run "002-k"`, "run 002-kept was deleted on 2026-11-26; its log is kept until 2026-12-10: pawl show 002-kept"},
		{cli.Read, "1", pawl.CodeNotFound, `there is no run "1"`, "run 001-old was deleted on 2026-11-26"},
		{cli.Read, "9", pawl.CodeNotFound, `there is no run "9"`, "pawl list shows the runs"},
	} {
		_, _, err := app.OpenRun(t.Context(), test.access, []string{test.name}, nil)
		if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Code != test.code || e.Message != test.text || e.Hint != test.hint {
			t.Errorf("%s: %v, hint %q", test.name, err, e.Hint)
		}
	}
}

// Examining a run reads the blobs that its events name, in fields and in facts. The error of a run
// that is quarantined because of a blob names the blob. F-18
func TestExamine(t *testing.T) {
	output, fact := pawl.NewBlob([]byte("a verdict")), pawl.NewBlob([]byte("why"))
	damaged, quarantined := pawl.Errorf(pawl.CodeDamaged, "a blob"), pawl.Errorf(pawl.CodeDamaged, "it is quarantined")
	for _, c := range []struct{ blob, events, want error }{
		{nil, nil, nil}, {damaged, nil, damaged}, {damaged, quarantined, damaged}, {nil, quarantined, quarantined},
	} {
		for _, bad := range []pawl.Hash{output.Hash(), fact.Hash()} {
			s := examined{bad: bad, blob: c.blob, end: c.events, event: pawl.Event{Run: "001-a", Seq: 1, Body: &pawl.SessionEnded{Session: 1, Output: output.Hash(),
				Facts: pawl.Facts{{Name: "because", Value: fact.Hash().String()}, {Name: "of no blob", Value: pawl.HashOf([]byte("x")).String()}}}}}
			if err := cli.Examine(t.Context(), s, "001-a"); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

// examined is a service with one event, and a blob that may be damaged.
type examined struct {
	pawl.Service
	event     pawl.Event
	bad       pawl.Hash
	blob, end error
}

func (s examined) Events(context.Context, pawl.RunID, pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		if yield(s.event, nil) && s.end != nil {
			yield(pawl.Event{}, s.end)
		}
	}
}

func (s examined) Blob(_ context.Context, _ pawl.RunID, h pawl.Hash) ([]byte, error) {
	if h == s.bad {
		return nil, s.blob
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "there is none")
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
		{cli.StateExit(view.StateOf(pawl.OutcomeComplete)), 0, ""},
		{cli.StateExit(view.StateOf(pawl.OutcomeUnverified)), 10, ""},
		{cli.StateExit(view.StateOf(pawl.OutcomeIncomplete)), 11, ""},
		{cli.StateExit(view.StateOf(pawl.OutcomeBlocked)), 12, ""},
		{cli.StateExit(view.StateOf(pawl.OutcomeHalted)), 13, ""},
		{cli.StateExit(view.StateOf(pawl.OutcomeCancelled)), 14, ""},
		{cli.StateExit(view.StateOf(pawl.OutcomeFailed)), 15, ""},
		{cli.Exit(16), 16, ""},
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

// The help names each state's exit code with its word. F-50
func TestExitCodesInHelp(t *testing.T) {
	for _, state := range view.States() {
		if want := fmt.Sprintf("%2d %s", state.Exit, state.Word); state.Exit >= 10 && !strings.Contains(cli.RunExitCodes, want) {
			t.Errorf("the help has no %q:\n%s", want, cli.RunExitCodes)
		}
	}
}
