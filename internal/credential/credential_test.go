//go:build unix

package credential_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/credential"
)

func TestMain(m *testing.M) {
	keyring.MockInit()
	os.Exit(m.Run())
}

func MustWrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestKey(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "A_KEY=old", "A_KEY= sk-env\n", "FROM=sk-command"}
	file := filepath.Join(home, "key")
	MustWrite(t, file, "sk-file\n")
	MustWrite(t, filepath.Join(home, "empty"), "\n")
	MustWrite(t, filepath.Join(home, "two"), "sk-a\nsk-b\n")
	MustWrite(t, filepath.Join(home, "large"), strings.Repeat("x", 1<<20))
	if err := keyring.Set("pawl", "anthropic", "sk-keyring"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		source config.KeySource
		want   string
		says   string // of the error
	}{
		{config.KeySource{}, "", ""},
		{config.KeySource{Env: "A_KEY"}, "sk-env", ""},
		{config.KeySource{Env: "B_KEY"}, "", ""},
		{config.KeySource{Env: "A_KEY", File: file}, "sk-file", ""},
		{config.KeySource{File: "~/key"}, "sk-file", ""},
		{config.KeySource{File: "~/none"}, "", "the file ~/none gives no key: no such file or directory"},
		{config.KeySource{File: home}, "", "the file " + home + " gives no key: it is not a regular file"},
		{config.KeySource{File: "~/empty"}, "", "the file ~/empty gives no key: it is empty"},
		{config.KeySource{File: "~/two"}, "", "the file ~/two gives no key: want the key alone, one word of ASCII characters"},
		{config.KeySource{File: "~/large"}, "", "the file ~/large gives no key: it has more than 16384 bytes"},
		{config.KeySource{Command: `echo "$FROM"`}, "sk-command", ""},
		{config.KeySource{Command: `cat key`}, "sk-file", ""}, // in the user's home
		{config.KeySource{Command: "echo sk-half; echo locked >&2; exit 3"}, "", "the command `echo sk-half; echo locked >&2; exit 3` gives no key: exit status 3: locked"},
		{config.KeySource{Command: "true"}, "", "the command `true` gives no key: it is empty"},
		{config.KeySource{Keyring: "pawl/anthropic"}, "sk-keyring", ""},
		{config.KeySource{Keyring: "pawl/openai"}, "", "the keyring's entry pawl/openai gives no key: it does not exist"},
	} {
		var r credential.Reader
		got, err := r.Key(t.Context(), test.source, environ)
		said := ""
		if err != nil {
			said = err.Error()
			if pawl.CodeOf(err) != pawl.CodeUnavailable {
				t.Errorf("%s: code %s", test.source, pawl.CodeOf(err))
			}
		}
		if got != test.want || said != test.says {
			t.Errorf("%+v: %q, %q\nwant %q, %q", test.source, got, said, test.want, test.says)
		}
	}
}

// A command that does not end is ended when nobody waits for it any more.
func TestSilentCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began := filepath.Join(t.TempDir(), "began")
	if err := unix.Mkfifo(began, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		var r credential.Reader
		_, err := r.Key(ctx, config.KeySource{Command: "echo > " + began + "; exec tail -f /dev/null"}, []string{"PATH=" + os.Getenv("PATH")})
		got <- err
	}()
	if _, err := os.ReadFile(began); err != nil { // it has begun
		t.Fatal(err)
	}
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was given up", err)
	}
}

// A command has a time limit.
func TestSlowCommand(t *testing.T) {
	r := credential.Reader{Timeout: 50 * time.Millisecond}
	_, err := r.Key(t.Context(), config.KeySource{Command: "echo sk-1; exec tail -f /dev/null"}, []string{"PATH=" + os.Getenv("PATH")})
	if want := "no key came within 50ms"; err == nil || !strings.HasSuffix(err.Error(), want) || pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A command is asked once for all runs, and again only after the key it gave was refused.
func TestAskedOnce(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	MustWrite(t, filepath.Join(home, "key"), "sk-1")
	source := config.KeySource{Command: "echo asked >> asked; cat key"}
	asked := func() int {
		data, _ := os.ReadFile(filepath.Join(home, "asked"))
		return strings.Count(string(data), "\n")
	}
	var r credential.Reader
	all := func(ask func() (string, error), want string, times int) {
		t.Helper()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if got, err := ask(); got != want || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			})
		}
		wg.Wait()
		if asked() != times {
			t.Errorf("the command was run %d times, want %d", asked(), times)
		}
	}
	key := func() (string, error) { return r.Key(t.Context(), source, environ) }
	all(key, "sk-1", 1)
	MustWrite(t, filepath.Join(home, "key"), "sk-2")
	all(key, "sk-1", 1)
	all(func() (string, error) { return r.Again(t.Context(), source, environ, "sk-1") }, "sk-2", 2)
	all(key, "sk-2", 2)
	if err := os.Remove(filepath.Join(home, "key")); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Again(t.Context(), source, environ, "sk-2"); err == nil {
		t.Errorf("got %q without a key", got)
	}
	other := t.TempDir()
	MustWrite(t, filepath.Join(other, "key"), "sk-other")
	if got, err := r.Key(t.Context(), source, []string{"HOME=" + other, "PATH=" + os.Getenv("PATH")}); got != "sk-other" || err != nil {
		t.Errorf("another home has %q, %v", got, err)
	}
}
