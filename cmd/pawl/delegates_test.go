package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/driver"
)

// agentBed returns an environment with programs on PATH and a login to Claude Code.
func agentBed(t *testing.T, programs map[string]string) []string {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude", ".credentials.json"), []byte(`{"claudeAiOauth": {"accessToken": "a", "accountUuid": "u"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin"}
}

// A run with a coding agent begins only if the agent is installed and something pays for it.
func TestSuppliedAgents(t *testing.T) {
	environ := agentBed(t, map[string]string{"claude": "#!/bin/sh\n", "codex": "#!/bin/sh\n", "opencode": "#!/bin/sh\n"})
	withKey := append([]string{"OPENAI_API_KEY=k"}, environ...)
	choice := func(provider, name string) pawl.ModelChoice {
		return pawl.ModelChoice{Provider: provider, Name: name, Agent: true}
	}
	plan := choice("claude-code", "sonnet")
	plan.Plan = true
	another := plan
	another.Key = "0123456789ab"
	for _, c := range []struct {
		name    string
		environ []string
		choice  pawl.ModelChoice
		want    string // the beginning of the error
	}{
		{"Login", environ, plan, ""},
		{"Key", withKey, choice("codex", "gpt-6.1-sol"), ""},
		{"NotInstalled", environ, choice("gemini", "x"), "gemini/x cannot be used: gemini is not on PATH"},
		{"NothingPays", environ, choice("codex", "default"), "codex/default cannot be used: nothing pays for Codex"},
		{"Unknown", environ, choice("clippy", "x"), "clippy/x cannot be used: there is no coding agent clippy any more"},
		{"AnotherAccount", environ, another, "claude-code/sonnet cannot be used: the run has account claude-code with key 012345"},
		{"PlanIsGone", append([]string{"HOME=/nowhere", "ANTHROPIC_API_KEY=k"}, environ[1]), plan, "claude-code/sonnet cannot be used: the run began with a login"},
		{"NoModel", withKey, choice("opencode", "default"), "opencode/default cannot be used: opencode does not choose a model itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &models{environs: newEnvirons(nil)}
			app := &cli.App{Environ: c.environ}
			choices := []pawl.ModelChoice{c.choice, c.choice, c.choice}
			err := m.supplied(t.Context(), app, choices)
			switch {
			case c.want == "" && err == nil:
				if _, err := m.answering(t.Context(), app, &pawl.Settings{Models: [3]pawl.ModelChoice(choices)}); err != nil {
					t.Error(err)
				}
			case err == nil || c.want == "" || !strings.HasPrefix(err.Error(), c.want) || err.Hint == "":
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if _, err := (&models{environs: newEnvirons(nil)}).make(t.Context(), driver.Job{}, plan); pawl.CodeOf(err) != pawl.CodeInternal {
		t.Errorf("an agent answers model calls: %v", err)
	}
}

// The account of an agent is that of its login, or that of its key at the address that calls go to.
func TestAccountsOfAgents(t *testing.T) {
	environ := append([]string{"OPENAI_API_KEY=k"}, agentBed(t, nil)...)
	m := &machine{environs: newEnvirons(environ), alone: true}
	got, err := m.accounts(t.Context(), runOf{}, []pawl.ModelChoice{
		{Provider: "claude-code", Agent: true, Plan: true}, {Provider: "codex", Agent: true}, {Provider: "gemini", Agent: true},
	})
	if err != nil || len(got) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if a := got[0]; a.Provider != "claude-code" || a.Address != "" || len(a.Key) != 12 {
		t.Errorf("got %+v", a)
	}
	if want := (pawl.Account{Provider: "codex", Address: "https://api.openai.com/v1", Key: pawl.KeyOf("k")}); got[1] != want {
		t.Errorf("got %+v, want %+v", got[1], want)
	}
}

// The program of an agent that prints its version sees none of the user's variables.
func TestVersionOfAnAgent(t *testing.T) {
	environ := append([]string{"ANTHROPIC_API_KEY=secret"}, agentBed(t, map[string]string{
		"claude": "#!/bin/sh\n[ \"$1\" = --version ] && [ -z \"$ANTHROPIC_API_KEY\" ] && [ ! -e \"$HOME/.claude\" ] && [ \"$PWD\" = \"$HOME\" ] && echo '2.1.330 (Claude Code)'\n",
		"codex":  "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' x\nexit 0\n",
	})...)
	app := &cli.App{Environ: environ}
	cfg, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"claude-code": "2.1.330", "codex": ""} {
		d, _ := cfg.Delegate(name)
		if got, err := agentVersion(t.Context(), app, d, app.Program(d.Command[0])); err != nil || got != want {
			t.Errorf("%s has version %q, %v, want %q", name, got, err, want)
		}
	}
}
