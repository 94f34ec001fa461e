//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/daemon"
	"pawl/internal/driver"
)

// A key that a command gives is asked for again when the provider refuses it, and the call is
// sent once more if that gives another one. The account stays the same. Whatever is said of the
// key is taken out of what is stored.
func TestKeyThatIsReplaced(t *testing.T) {
	t.Parallel()
	server := newCounter(t)
	server.Key = "sk-first-key"
	home := t.TempDir()
	name := filepath.Join(home, "key")
	write := func(key string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sk-first-key")
	x := &models{environs: newEnvirons([]string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "PATH=" + os.Getenv("PATH"), "PAWL_PROVIDERS_OPENAI_CHAT_BASE_URL=" + server.address,
		"PAWL_PROVIDERS_OPENAI_CHAT_KEY_COMMAND=echo asked >> asked; cat key",
	})}
	ctx := context.WithValue(t.Context(), runKey{}, runOf{"p", "001-a"})
	account := pawl.Account{Provider: "openai-chat", Address: server.address, Key: config.KeySource{Command: "echo asked >> asked; cat key"}.Identity(nil)}
	choice := pawl.ModelChoice{Provider: "openai-chat", Name: "m", MaxOutput: 100, Address: account.Address, Key: account.Key}
	job := driver.Job{Run: "001-a", Settings: &pawl.Settings{Models: [3]pawl.ModelChoice{choice, choice, choice}}}
	call := func() error {
		t.Helper()
		m, err := x.model(ctx, job, job.Settings.Models[0])
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Call(t.Context(), pawl.ModelRequest{Model: "m", MaxOutput: 100,
			Messages: []pawl.Message{{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "go on"}}}}}, nil)
		return err
	}
	sent := func(err error, want int, asked string) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		if got := len(server.Forget()); got != want {
			t.Errorf("%d requests, want %d", got, want)
		}
		if got, _ := os.ReadFile(filepath.Join(home, "asked")); string(got) != asked {
			t.Errorf("the command was asked %q, want %q", got, asked)
		}
	}
	sent(call(), 1, "asked\n")
	server.Key = "sk-second-key"
	write("sk-second-key")
	sent(call(), 2, "asked\nasked\n")
	sent(call(), 1, "asked\nasked\n")
	server.Key = "sk-third-key" // which the command does not have
	err := call()
	if refused, ok := errors.AsType[*pawl.ModelError](err); !ok || refused.Kind != pawl.ModelAuth {
		t.Errorf("got %v, want that the key is refused", err)
	}
	sent(nil, 1, "asked\nasked\nasked\n")
	if got := string(x.environs.redact([]byte("first sk-first-key, then sk-second-key"))); got != "first [redacted:KEY], then [redacted:KEY]" {
		t.Errorf("what is stored says %q", got)
	}
	job.Settings.Models[0].Key = pawl.KeyOf("another")
	if _, err := x.model(ctx, job, job.Settings.Models[0]); err == nil {
		t.Error("the command's key serves a run that has another account")
	}
}

// A run's calls go to the address that is frozen with it, wherever the provider's setting leads
// by now. F-14
func TestFrozenAddress(t *testing.T) {
	t.Parallel()
	frozen, now := newCounter(t), newCounter(t)
	frozen.Key, now.Key = "sk-one-key", "sk-one-key"
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "key"), []byte("sk-one-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "key")
	x := &models{environs: newEnvirons([]string{"HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"PAWL_PROVIDERS_OPENAI_CHAT_BASE_URL=" + now.address, "PAWL_PROVIDERS_OPENAI_CHAT_KEY_FILE=" + file})}
	choice := pawl.ModelChoice{Provider: "openai-chat", Name: "m", MaxOutput: 100, Address: frozen.address, Key: config.KeySource{File: file}.Identity(nil)}
	job := driver.Job{Run: "001-a", Settings: &pawl.Settings{Models: [3]pawl.ModelChoice{choice, choice, choice}}}
	m, err := x.model(context.WithValue(t.Context(), runKey{}, runOf{"p", "001-a"}), job, job.Settings.Models[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Call(t.Context(), pawl.ModelRequest{Model: "m", MaxOutput: 100,
		Messages: []pawl.Message{{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "go on"}}}}}, nil); err != nil {
		t.Error(err)
	}
	if there, elsewhere := len(frozen.Forget()), len(now.Forget()); there != 1 || elsewhere != 0 {
		t.Errorf("%d requests went to the run's address, %d to another one", there, elsewhere)
	}
}

// A key that was replaced in its file since it was last read starts and resumes runs.
func TestKeyReplacedBeforeARun(t *testing.T) {
	t.Parallel()
	server := newCounter(t)
	home := t.TempDir()
	file := filepath.Join(home, "key")
	x := &models{environs: newEnvirons([]string{"HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"PAWL_PROVIDERS_OPENAI_CHAT_BASE_URL=" + server.address, "PAWL_PROVIDERS_OPENAI_CHAT_KEY_FILE=" + file})}
	app := &cli.App{Environ: x.environs.own}
	choice := pawl.ModelChoice{Provider: "openai-chat", Name: "m", MaxOutput: 100}
	settings := &pawl.Settings{Models: [3]pawl.ModelChoice{choice, choice, choice}}
	for _, key := range []string{"sk-first-key", "sk-second-key"} {
		server.Key = key
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := x.answering(t.Context(), app, settings); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	server.Key = "sk-third-key"
	if _, err := x.answering(t.Context(), app, settings); err == nil || !strings.Contains(err.Error(), "refuses the key that the file") {
		t.Errorf("a key that is refused: %v", err)
	}
}

// The environment of the shell that started the daemon and those of shells that start and resume
// runs do not mix: the key of one is never sent to the address of another. F-14
func TestShellsDoNotMix(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	elsewhere := filepath.Join(home, "elsewhere") // of a user whose file has the key
	if err := os.MkdirAll(filepath.Join(elsewhere, "pawl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "pawl", "config.yaml"), []byte("providers: {openai: {key_file: /key}, openai-chat: {key_file: /key}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	both := func(x string) []string {
		return []string{"OPENAI_API_KEY=key-" + x, "OPENAI_BASE_URL=https://" + x + ".example/v1"}
	}
	const public = "https://api.openai.com/v1"
	address := func(x string) string { return "https://" + x + ".example/v1" }
	for name, c := range map[string]struct {
		daemon, first, second []string // the daemon's shell, the one that starts the run, and the one that resumes it
		address, key          string   // of the run then
	}{
		"TheDaemons":           {daemon: both("a"), first: []string{}, address: address("a"), key: "key-a"},
		"Nobodys":              {daemon: both("a"), first: nil, address: address("a"), key: "key-a"},
		"ItsOwn":               {daemon: both("a"), first: both("b"), address: address("b"), key: "key-b"},
		"KeyAlone":             {daemon: both("a"), first: both("b")[:1], address: public, key: "key-b"},
		"AddressAlone":         {daemon: both("a"), first: both("b")[1:], address: address("b"), key: ""},
		"KeyInAFile":           {daemon: both("a"), first: []string{"XDG_CONFIG_HOME=" + elsewhere}, address: public, key: config.KeySource{File: "/key"}.String()},
		"ResumedWithAll":       {daemon: both("a"), first: both("b"), second: both("c"), address: address("c"), key: "key-c"},
		"ResumedWithTheKey":    {daemon: nil, first: both("b"), second: both("c")[:1], address: public, key: "key-c"},
		"ResumedWithAnAddress": {daemon: nil, first: both("b"), second: both("c")[1:], address: address("c"), key: ""},
		"ResumedWithNothing":   {daemon: both("a"), first: both("b"), second: []string{}, address: address("b"), key: "key-b"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{environs: newEnvirons(append([]string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}, c.daemon...))}
			m.models = &models{environs: m.environs}
			run := runOf{"p", "001-a"}
			for _, shell := range [][]string{c.first, c.second} {
				m.hand(daemon.WithEnviron(t.Context(), shell), run)
			}
			cfg, err := m.environs.providers(run)
			if err != nil {
				t.Fatal(err)
			}
			for _, provider := range []string{"openai", "openai-chat"} {
				p := cfg.Provider(provider)
				if key := p.Key().Identity(m.environs.get(run)); p.Address() != c.address || key != pawl.KeyOf(c.key) {
					t.Errorf("%s is called at %s with key %s, want %s with %s", provider, p.Address(), key, c.address, pawl.KeyOf(c.key))
				}
			}
		})
	}
}

// A daemon that a command starts has nothing of what its shell says of providers. F-14
func TestDaemonInheritsNoProvider(t *testing.T) {
	t.Parallel()
	app := &cli.App{Environ: []string{"HOME=/nonexistent", "LANG=C", "OPENAI_BASE_URL=https://a.example/v1", "OLLAMA_HOST=a.example", "OPENAI_API_KEY=key",
		"PAWL_PROVIDERS_VLLM_BASE_URL=https://a.example", "PAWL_MODEL=vllm/x"}}
	if got := strings.Join(withoutKeys(app), " "); got != "HOME=/nonexistent LANG=C" {
		t.Errorf("it inherits %s", got)
	}
}
