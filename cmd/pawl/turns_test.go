package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/runner"
)

// homeOf is a room of an agent that has nothing but a home folder.
type homeOf struct {
	pawl.DelegateRoom
	home string
	err  error
}

func (h homeOf) Home() (string, error) { return h.home, h.err }

// A login is given to an agent, and written back after each turn, or before the next one if a process died.
func TestLoginOfTurns(t *testing.T) {
	cfg, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := cfg.Delegate("codex")
	login := func(token string) string {
		return fmt.Sprintf(`{"tokens":{"account_id":"ann","access_token":"access-token-of-%s","refresh_token":"refresh-token-of-%[1]s"}}`, token)
	}
	dir := t.TempDir()
	file, room := filepath.Join(dir, "user", "auth.json"), homeOf{home: filepath.Join(dir, "home")}
	kept := filepath.Join(room.home, filepath.FromSlash(d.Login.File))
	m := &models{environs: newEnvirons(nil), logins: filepath.Join(dir, "logins")}
	var agent runner.Delegate
	m.withLogin(&agent, &d, config.Purse{File: file})
	fill := func(want string) {
		t.Helper()
		files, err := agent.Room.Fill(t.Context(), room.home)
		if err != nil || len(files) != 1 || files[0].Path != d.Login.File || string(files[0].Data) != want {
			t.Fatalf("the agent is given %+v, %v; want %s", files, err, want)
		}
		mustWrite(t, kept, want)
	}
	done := func(room homeOf, spoke error) (string, error) { return agent.Done(t.Context(), room, spoke) }
	isUsers := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("the user's login is %s, %v; want %s", got, err, want)
		}
	}

	_, err = agent.Room.Fill(t.Context(), room.home)
	if e, ok := errors.AsType[*pawl.ModelError](err); !ok || e.Kind != pawl.ModelAuth || !e.Unsent || e.Fix != "start codex and log in" {
		t.Errorf("without a login: %+v", err)
	}
	refused := &pawl.ModelError{Kind: pawl.ModelAuth, Message: "the token is not valid"}
	mustWrite(t, file, login("user-0001"))
	if _, err := done(room, refused); err != refused {
		t.Errorf("without a login that was given to the agent: %v", err)
	}
	fill(login("user-0001"))
	if got := m.environs.secrets().Text("it says refresh-token-of-user-0001"); strings.Contains(got, "user-0001") {
		t.Errorf("the token is not known as a secret: %s", got)
	}
	if said, err := done(room, nil); said != "" || err != nil {
		t.Errorf("without a change: %q, %v", said, err)
	}
	mustWrite(t, kept, login("agent-0002"))
	if said, err := done(room, nil); !strings.Contains(said, "updated "+file) || err != nil {
		t.Errorf("after a refresh: %q, %v", said, err)
	}
	isUsers(login("agent-0002"))

	fill(login("agent-0002"))
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, before, before); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, kept, login("agent-0003")) // and the process dies
	fill(login("agent-0003"))
	isUsers(login("agent-0003"))

	if said, err := done(room, refused); said != "" || err != refused {
		t.Errorf("after a refusal: %q, %v", said, err)
	}
	mustWrite(t, file, login("other-0004"))
	limited := &pawl.ModelError{Kind: pawl.ModelRateLimit}
	if _, err := done(room, limited); err != limited {
		t.Errorf("after another failure: %v", err)
	}
	_, err = done(room, refused)
	if e, ok := errors.AsType[*pawl.ModelError](err); !ok || e.Kind != pawl.ModelOverloaded || !strings.HasSuffix(e.Message, refused.Message) || refused.Kind != pawl.ModelAuth {
		t.Errorf("after another session's refresh: %+v", err)
	}

	room.err = errors.New("there is no home")
	if said, err := done(room, refused); said != "the login could not be written back: there is no home" || err != refused {
		t.Errorf("without a home: %q, %v", said, err)
	}
}
