//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/config"
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
		m, err := x.forTier(ctx, job, 1)
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
	if _, err := x.forTier(ctx, job, 1); err == nil {
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
	m, err := x.forTier(context.WithValue(t.Context(), runKey{}, runOf{"p", "001-a"}), job, 1)
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
