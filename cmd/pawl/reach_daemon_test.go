package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/project"
)

// Who has lost a daemon that was stopped starts no other. F-30
func TestRejoinStartsNothingAfterAStop(t *testing.T) {
	app := &cli.App{StateHome: t.TempDir()}
	home := project.HomeAt(app.StateHome)
	if err := home.Make(); err != nil {
		t.Fatal(err)
	}
	_, _, err := rejoin(t.Context(), app)
	if pawl.CodeOf(err) != pawl.CodeStopped {
		t.Errorf("%v", err)
	}
	if _, held, err := home.Holder(t.Context()); held || err != nil {
		t.Errorf("a daemon runs: %v", err)
	}
}

// What became of a daemon is known by its lock: held, given back, or left by a process
// that died or is becoming another program. F-30
func TestDaemonGone(t *testing.T) {
	mustHome := func(t *testing.T) project.Home {
		home := project.HomeAt(t.TempDir())
		if err := home.Make(); err != nil {
			t.Fatal(err)
		}
		return home
	}
	left := func(t *testing.T, home project.Home, pid int) {
		text, err := json.Marshal(project.Holder{Pid: pid, Started: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, filepath.Join(home.Dir, "daemon.lock"), string(text))
	}
	var now time.Time
	before := time.Now().Add(-2 * replacing)
	for _, c := range []struct {
		name string
		lock func(t *testing.T, home project.Home)
		none time.Time // since when there is no daemon; zero = since now
		want pawl.Code // empty = it is waited for
	}{
		{"Held", func(t *testing.T, home project.Home) {
			lock, err := home.Lock("test")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lock.Release() })
		}, before, ""},
		{"GivenBack", func(t *testing.T, home project.Home) {
			lock, err := home.Lock("test")
			if err != nil {
				t.Fatal(err)
			}
			if err := lock.Release(); err != nil {
				t.Fatal(err)
			}
		}, now, pawl.CodeStopped},
		{"Died", func(t *testing.T, home project.Home) { left(t, home, -1) }, now, pawl.CodeUnavailable},
		{"BecomesAnotherProgram", func(t *testing.T, home project.Home) { left(t, home, os.Getpid()) }, now, ""},
		{"DidNotBecomeOne", func(t *testing.T, home project.Home) { left(t, home, os.Getpid()) }, before, pawl.CodeUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := mustHome(t)
			c.lock(t, home)
			absent := absence{since: c.none, asked: time.Now()}
			err := daemonGone(t.Context(), home, &absent)
			if c.name == "Held" && !absent.since.IsZero() {
				t.Errorf("there is none since %s", absent.since)
			}
			if (err != nil) != (c.want != "") || err != nil && pawl.CodeOf(err) != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("BecomesAnotherProgramOnceMore", func(t *testing.T) {
		home := mustHome(t)
		left(t, home, os.Getpid())
		absent := absence{since: before, asked: before}
		if err := daemonGone(t.Context(), home, &absent); err != nil {
			t.Error(err)
		}
	})
}
