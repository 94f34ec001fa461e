//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl"
)

// home is an environment with a user's file, whose address of OpenAI's API it can change.
type home struct {
	testing.TB
	environ []string
	file    string
}

func newHome(tb testing.TB) home {
	dir := tb.TempDir()
	h := home{tb, []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir}, filepath.Join(dir, "pawl", "config.yaml")}
	if err := os.Mkdir(filepath.Dir(h.file), 0o755); err != nil {
		tb.Fatal(err)
	}
	return h
}

func (h home) write(text string) {
	h.Helper()
	if err := os.WriteFile(h.file, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// date sets the time at which the file says that it was written.
func (h home) date(at time.Time) {
	h.Helper()
	if err := os.Chtimes(h.file, at, at); err != nil {
		h.Fatal(err)
	}
}

func addressed(host string) string {
	return "providers:\n  openai:\n    base_url: https://" + host + "\n"
}

// has reports an error unless the configuration has an address, and is kept or not.
func (h home) has(l *loadedConfigs, environ []string, want string, kept bool) {
	h.Helper()
	for range 2 {
		cfg, err := l.get(environ)
		if got := cfg.Provider("openai").BaseURL; err != nil || got != want {
			h.Errorf("the address is %q, %v, want %q", got, err, want)
		}
	}
	if (len(l.by) > 0) != kept {
		h.Errorf("%d configurations are kept", len(l.by))
	}
}

// later is a clock by which every file was written long ago.
func later() time.Time { return time.Now().Add(time.Hour) }

// The next run after a change of the user's file has what it says then, however little of the file
// has changed.
func TestLoadedConfigs(t *testing.T) {
	h := newHome(t)
	l := &loadedConfigs{now: later}
	h.has(l, h.environ, "", true) // that there is no file is kept, too

	h.write(addressed("one.example"))
	h.has(l, h.environ, "https://one.example", true)

	before, err := os.Stat(h.file)
	if err != nil {
		t.Fatal(err)
	}
	h.write(addressed("two.example"))
	h.date(before.ModTime())
	h.has(l, h.environ, "https://two.example", true)

	target := h.file + ".other"
	if err := os.WriteFile(target, []byte(addressed("ten.example")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(h.file); err != nil {
		t.Fatal(err)
	}
	h.has(l, h.environ, "", true)
	if err := os.Symlink(target, h.file); err != nil {
		t.Fatal(err)
	}
	h.has(l, h.environ, "https://ten.example", true)

	// Another environment has another configuration.
	h.has(l, append(h.environ, "OPENAI_BASE_URL=https://env.example"), "https://env.example", true)
	h.has(l, append(h.environ, "PAWL_PROVIDERS_OPENAI_BASE_URL=https://own.example"), "https://own.example", true)
}

// A file that was changed a moment ago may change again with the same times: it is read each time.
func TestLoadedConfigsOfAFreshFile(t *testing.T) {
	h := newHome(t)
	h.write(addressed("one.example"))
	l := &loadedConfigs{}
	h.has(l, h.environ, "https://one.example", false)
	h.write(addressed("two.example"))
	h.has(l, h.environ, "https://two.example", false)

	// Its time of modification can be set to anything.
	h.date(time.Now().Add(-time.Hour))
	h.has(l, h.environ, "https://two.example", false)
	l.now = later
	h.date(later().Add(time.Hour))
	h.has(l, h.environ, "https://two.example", false)
}

// Two files that were written together differ in nothing but their content: a link to one of them may become a
// link to the other.
func TestLoadedConfigsOfTwoFiles(t *testing.T) {
	h := newHome(t)
	l := &loadedConfigs{now: later}
	one, two := h.file+".one", h.file+".two"
	write := func(file, host string) fileState {
		if err := os.WriteFile(file, []byte(addressed(host)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := stateOf(file)
		s.inode = 0
		return s
	}
	for tries := 1; write(one, "one.example") != write(two, "two.example"); tries++ {
		if tries == 1000 {
			t.Skip("the file system gives no two files the same time")
		}
	}
	for _, to := range []string{one, two, one} {
		_ = os.Remove(h.file) // there is none at first
		if err := os.Symlink(to, h.file); err != nil {
			t.Fatal(err)
		}
		h.has(l, h.environ, "https://"+filepath.Ext(to)[1:]+".example", true)
	}
}

// A mistake in the file is told each time until it is corrected.
func TestLoadedConfigsOfAMistake(t *testing.T) {
	h := newHome(t)
	l := &loadedConfigs{now: later}
	for range 2 {
		h.write("mistake: true\n")
		if _, err := l.get(h.environ); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("the error is %v", err)
		}
	}
	h.write(addressed("one.example"))
	h.has(l, h.environ, "https://one.example", true)
	if _, err := l.get([]string{"XDG_CONFIG_HOME=" + h.file}); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("below a file the error is %v", err)
	}
	if err := os.Chmod(filepath.Dir(h.file), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Dir(h.file), 0o755) }()
	if _, err := l.get(h.environ); err == nil && os.Geteuid() != 0 {
		t.Error("a file that cannot be looked at is taken for what it was")
	}
}

// Not more than a hundred are kept, whoever asks.
func TestLoadedConfigsAreBounded(t *testing.T) {
	h := newHome(t)
	l := &loadedConfigs{now: later}
	for i := range maxLoaded + 20 {
		if _, err := l.get(append(h.environ, "N="+string(rune('0'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.by) > maxLoaded {
		t.Errorf("%d are kept", len(l.by))
	}
}
