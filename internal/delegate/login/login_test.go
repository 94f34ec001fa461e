package login

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// fields is what a made-up login holds.
type fields struct {
	Account string `json:"account,omitempty"`
	Token   string `json:"token,omitempty"`
}

func made(account, token string) []byte {
	data, _ := json.Marshal(fields{account, token})
	return data
}

func identify(data []byte) (string, bool) {
	var f fields
	if json.Unmarshal(data, &f) != nil {
		return "", false
	}
	return f.Account, f.Token != ""
}

const within = ".agent/login.json"

// bed is a user's file and an agent's home.
type bed struct {
	*Login
	t    *testing.T
	home string
}

// newBed makes a user's file with the first token of account ann.
func newBed(t *testing.T) *bed {
	t.Helper()
	dir := t.TempDir()
	b := &bed{&Login{File: filepath.Join(dir, "user", ".agent", "login.json"), Within: within, Identify: identify, Folder: filepath.Join(dir, "state", "logins")}, t, filepath.Join(dir, "home")}
	b.must(os.MkdirAll(filepath.Dir(b.File), 0o700))
	b.must(os.MkdirAll(filepath.Dir(b.inHome()), 0o700))
	b.must(os.WriteFile(b.File, made("ann", "first"), 0o600))
	return b
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) inHome() string { return filepath.Join(b.home, filepath.FromSlash(within)) }

// take takes the login and puts it into the home.
func (b *bed) take() []byte {
	b.t.Helper()
	taken, err := b.Take(b.t.Context())
	b.must(err)
	b.agent(taken)
	return taken
}

// agent writes the file in the home.
func (b *bed) agent(data []byte) {
	b.t.Helper()
	b.must(os.WriteFile(b.inHome(), data, 0o600))
}

// returns calls Return, which must say something with want in it; empty = nothing.
func (b *bed) returns(taken []byte, want string) string {
	b.t.Helper()
	said, err := b.Return(b.t.Context(), b.home, taken)
	b.must(err)
	if (said == "") != (want == "") || !strings.Contains(said, want) {
		b.t.Errorf("Return said %q, want %q", said, want)
	}
	return said
}

// user checks the user's file.
func (b *bed) user(want []byte) {
	b.t.Helper()
	if got, err := os.ReadFile(b.File); err != nil || !bytes.Equal(got, want) {
		b.t.Errorf("the user's file has %q (%v), want %q", got, err, want)
	}
	b.tidy(filepath.Dir(b.File))
	b.tidy(b.Folder)
}

// tidy checks that no temporary file was left in a folder.
func (b *bed) tidy(dir string) {
	b.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Error(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), leftover) {
			b.t.Errorf("%s was left in %s", e.Name(), dir)
		}
	}
}

// aside returns the content of what was set aside, sorted.
func (b *bed) aside(k kind) []string {
	b.t.Helper()
	names, err := filepath.Glob(filepath.Join(b.Folder, "*"+string(k)))
	b.must(err)
	var out []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		b.must(err)
		private(b.t, name, 0o600)
		out = append(out, string(data))
	}
	slices.Sort(out)
	return out
}

// asideIs checks what was set aside.
func (b *bed) asideIs(k kind, want ...string) {
	b.t.Helper()
	if got := b.aside(k); !slices.Equal(got, want) {
		b.t.Errorf("set aside as %s: %q, want %q", k, got, want)
	}
}

// at sets the time of a file's last change, counted from now.
func (b *bed) at(name string, from time.Duration) {
	b.t.Helper()
	when := time.Now().Add(from)
	b.must(os.Chtimes(name, when, when))
}

func TestReturn(t *testing.T) {
	t.Run("a login that the agent did not change", func(t *testing.T) {
		b := newBed(t)
		taken := b.take()
		b.returns(taken, "")
		b.user(taken)
	})
	t.Run("a refreshed login is written back", func(t *testing.T) {
		b := newBed(t)
		taken := b.take()
		if b.Changed(taken) {
			t.Error("Changed before the refresh")
		}
		b.agent(made("ann", "second"))
		b.at(b.inHome(), -48*time.Hour) // only what was taken counts
		b.returns(taken, "updated "+b.File)
		b.user(made("ann", "second"))
		b.asideIs(displaced)
		if !b.Changed(taken) {
			t.Error("not Changed after the refresh")
		}
		b.returns(taken, "") // a second call
		private(t, b.File, 0o600)
		private(t, b.Folder, 0o700)
	})
	t.Run("a login that begins to say its account", func(t *testing.T) {
		b := newBed(t)
		b.must(os.WriteFile(b.File, made("", "first"), 0o600))
		taken := b.take()
		b.agent(made("ann", "second"))
		b.returns(taken, "updated")
		b.user(made("ann", "second"))
	})
	for name, data := range map[string][]byte{
		"half written": []byte(`{"account":"ann","tok`), "empty": {}, "without a token": made("ann", ""),
		"of another account": made("bob", "second"), "of no account": made("", "second"),
	} {
		t.Run("a file that is "+name, func(t *testing.T) {
			b := newBed(t)
			taken := b.take()
			b.agent(data)
			said := b.returns(taken, "unchanged")
			b.user(taken)
			b.asideIs(rejected, string(data))
			if strings.Contains(said, "second") {
				t.Errorf("the token was said: %s", said)
			}
		})
	}
}

// The user has logged out or in while the agent ran.
func TestReturnToAnotherUser(t *testing.T) {
	t.Run("logged out", func(t *testing.T) {
		b := newBed(t)
		taken := b.take()
		b.must(os.Remove(b.File))
		b.agent(made("ann", "second"))
		b.returns(taken, "logged out")
		b.asideIs(displaced, string(made("ann", "second")))
		if _, err := os.Lstat(b.File); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file was made again: %v", err)
		}
		if b.Changed(taken) {
			t.Error("Changed without a file")
		}
	})
	t.Run("logged out and left a file", func(t *testing.T) {
		b := newBed(t)
		taken := b.take()
		b.must(os.WriteFile(b.File, []byte(`{}`), 0o600))
		b.agent(made("ann", "second"))
		b.at(b.File, -time.Hour)
		b.returns(taken, "logged out")
		b.asideIs(displaced, string(made("ann", "second")))
		b.user([]byte(`{}`))
	})
	t.Run("logged in to another account", func(t *testing.T) {
		b := newBed(t)
		taken := b.take()
		b.must(os.WriteFile(b.File, made("bob", "other"), 0o600))
		b.at(b.File, -time.Hour)
		b.agent(made("ann", "second"))
		b.returns(taken, "another account")
		b.asideIs(displaced, string(made("ann", "second")))
		b.user(made("bob", "other"))
	})
}

func TestReturnConflict(t *testing.T) {
	for _, c := range []struct {
		name        string
		user, agent time.Duration
		agentWins   bool
	}{
		{"the agent is later", -time.Hour, -time.Minute, true},
		{"the user is later", -time.Minute, -time.Hour, false},
		{"both at once", -time.Hour, -time.Hour, false},
		{"the agent's time is in the future", -time.Minute, time.Hour, true},
		{"the user's time is in the future", time.Minute, -time.Hour, false},
		{"both are in the future", time.Minute, time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			taken := b.take()
			b.agent(made("ann", "agent"))
			b.must(os.WriteFile(b.File, made("ann", "user"), 0o600))
			same := time.Now().Add(c.user) // both at once is exactly that
			b.must(os.Chtimes(b.File, same, same))
			same = same.Add(c.agent - c.user)
			b.must(os.Chtimes(b.inHome(), same, same))
			if c.agentWins {
				b.returns(taken, "previous content")
				b.user(made("ann", "agent"))
				b.asideIs(displaced, string(made("ann", "user")))
			} else {
				b.returns(taken, "refreshed elsewhere")
				b.user(made("ann", "user"))
				b.asideIs(displaced, string(made("ann", "agent")))
			}
			if !b.Changed(taken) {
				t.Error("not Changed")
			}
		})
	}
}

// After a crash nobody knows what was taken.
func TestReturnAfterCrash(t *testing.T) {
	b := newBed(t)
	b.returns(nil, "") // no file in the home
	first := b.take()
	b.returns(nil, "")
	b.agent(made("ann", "second"))
	b.at(b.File, -time.Hour)
	b.returns(nil, "previous content")
	b.user(made("ann", "second"))
	b.asideIs(displaced, string(first))

	// An old copy is not mistaken for a refreshed login, however late it was written.
	b.at(b.File, -time.Hour)
	b.agent(first)
	b.returns(nil, "")
	b.must(os.WriteFile(b.File, made("ann", "third"), 0o600))
	b.at(b.File, -time.Hour)
	b.agent(made("ann", "second")) // Return wrote it
	b.returns(nil, "")
	b.user(made("ann", "third"))
	b.agent(made("bob", "second"))
	b.returns(nil, "another account")
	b.user(made("ann", "third"))
}

func TestRememberIsBounded(t *testing.T) {
	b := newBed(t)
	for i := range maxRemembered + 5 {
		b.must(os.WriteFile(b.File, made("ann", fmt.Sprint(i)), 0o600))
		b.take()
	}
	h, err := b.hold(t.Context())
	b.must(err)
	defer h.lock.Unlock()
	lines, err := h.remembered()
	b.must(err)
	if len(lines) != maxRemembered || h.remembers(made("ann", "4")) || !h.remembers(made("ann", "5")) {
		t.Errorf("%d logins are remembered", len(lines))
	}
}

func TestReturnWithoutFileInHome(t *testing.T) {
	for _, c := range []struct {
		name, want string
		leave      func(b *bed) error
	}{
		{"absent", "removed its login", func(*bed) error { return nil }},
		{"without its folder", "removed its login", func(b *bed) error { return os.Remove(filepath.Dir(b.inHome())) }},
		{"a folder", "not a regular file", func(b *bed) error { return os.Mkdir(b.inHome(), 0o700) }},
		{"too large", "larger than 1 MiB", func(b *bed) error {
			return os.WriteFile(b.inHome(), bytes.Repeat([]byte(" "), maxSize+1), 0o600)
		}},
		{"a huge hole", "larger than 1 MiB", func(b *bed) error {
			return errors.Join(os.WriteFile(b.inHome(), nil, 0o600), os.Truncate(b.inHome(), 1<<40))
		}},
		{"in a file", "not a regular file", func(b *bed) error {
			dir := filepath.Dir(b.inHome())
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		}},
		{"a link out of the home", "not a regular file", func(b *bed) error {
			out := filepath.Join(filepath.Dir(b.home), "out.json")
			return errors.Join(os.WriteFile(out, made("ann", "second"), 0o600), os.Symlink(out, b.inHome()))
		}},
		{"a link in the home", "not a regular file", func(b *bed) error {
			return errors.Join(os.WriteFile(b.inHome()+"2", made("ann", "second"), 0o600), os.Symlink("login.json2", b.inHome()))
		}},
		{"a link to nothing", "not a regular file", func(b *bed) error { return os.Symlink("nothing", b.inHome()) }},
		{"below a link", "not a regular file", func(b *bed) error {
			dir := filepath.Dir(b.inHome())
			return errors.Join(os.WriteFile(b.inHome(), made("ann", "second"), 0o600), os.Rename(dir, dir+"2"), os.Symlink(filepath.Base(dir)+"2", dir))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			taken := b.take()
			b.must(os.Remove(b.inHome()))
			b.must(c.leave(b))
			b.returns(taken, c.want)
			b.user(taken)
			b.asideIs(displaced)
			b.asideIs(rejected)
		})
	}
	t.Run("the largest login", func(t *testing.T) {
		b := newBed(t)
		taken := b.take()
		large := made("ann", "second")
		large = append(large, bytes.Repeat([]byte(" "), maxSize-len(large))...)
		b.agent(large)
		b.returns(taken, "updated")
		b.user(large)
	})
}

func TestTakeRefuses(t *testing.T) {
	for name, spoil := range map[string]func(b *bed) error{
		"no file":    func(b *bed) error { return os.Remove(b.File) },
		"a folder":   func(b *bed) error { return errors.Join(os.Remove(b.File), os.Mkdir(b.File, 0o700)) },
		"no login":   func(b *bed) error { return os.WriteFile(b.File, []byte("{}"), 0o600) },
		"too large":  func(b *bed) error { return os.Truncate(b.File, maxSize+1) },
		"no folders": func(b *bed) error { return os.RemoveAll(filepath.Dir(filepath.Dir(b.File))) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.must(spoil(b))
			if _, err := b.Take(t.Context()); pawl.CodeOf(err) != pawl.CodeKey {
				t.Errorf("got the error %v, want one with the code %s", err, pawl.CodeKey)
			}
			if b.Changed(made("ann", "first")) {
				t.Error("Changed")
			}
		})
	}
}

// Take and Return wait for the lock, as long as they may.
func TestLock(t *testing.T) {
	b := newBed(t)
	taken := b.take()
	b.agent(made("ann", "second"))
	h, err := b.hold(t.Context())
	b.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() { _, err := b.Take(ctx); errs <- err }()
	go func() { _, err := b.Return(ctx, b.home, taken); errs <- err }()
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got the error %v, want that of the context", err)
		} else if strings.Contains(err.Error(), "still in") != strings.Contains(err.Error(), b.inHome()) {
			t.Errorf("the error does not say where the login is: %v", err)
		}
	}
	b.user(taken)
	done := make(chan error)
	go func() { _, err := b.Return(t.Context(), b.home, taken); done <- err }()
	b.must(h.lock.Unlock())
	b.must(<-done)
	b.user(made("ann", "second"))
}

func TestAsideIsBounded(t *testing.T) {
	b := newBed(t)
	taken := b.take()
	b.must(os.Remove(b.File))
	b.agent(made("ann", "real"))
	b.returns(taken, "logged out")
	for i := range maxAside + 5 {
		b.agent(fmt.Appendf(nil, "garbage %02d", i))
		b.returns(taken, "not a valid login")
	}
	got := b.aside(rejected)
	if len(got) != maxAside || got[0] != "garbage 05" || got[maxAside-1] != fmt.Sprintf("garbage %02d", maxAside+4) {
		t.Errorf("set aside: %q", got)
	}
	b.asideIs(displaced, string(made("ann", "real")))
	b.tidy(b.Folder)
}

func TestReturnFollowsUsersLink(t *testing.T) {
	b := newBed(t)
	target := filepath.Join(filepath.Dir(b.home), "dotfiles", "login.json")
	b.must(os.Mkdir(filepath.Dir(target), 0o700))
	b.must(os.Rename(b.File, target))
	b.must(os.Symlink(target, b.File))
	taken := b.take()
	direct := *b.Login
	direct.File = target
	h, err := direct.hold(t.Context())
	b.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the link has a lock of its own: %v", err)
	}
	b.must(h.lock.Unlock())
	b.agent(made("ann", "second"))
	b.returns(taken, "updated")
	b.user(made("ann", "second"))
	if to, err := os.Readlink(b.File); err != nil || to != target {
		t.Errorf("the user's link was replaced: %q, %v", to, err)
	}
	b.tidy(filepath.Dir(target))
}

// A process that was killed left temporary files.
func TestReturnRemovesLeftovers(t *testing.T) {
	b := newBed(t)
	taken := b.take()
	b.must(os.WriteFile(b.File+leftover+"123", made("ann", "half"), 0o600))
	b.agent(made("ann", "second"))
	b.returns(taken, "updated")
	b.user(made("ann", "second"))
}

// The user's file can be read and not replaced.
func TestReturnCannotWrite(t *testing.T) {
	unwritable := func(t *testing.T) *bed {
		b := newBed(t)
		long := filepath.Join(filepath.Dir(b.File), strings.Repeat("l", 250)) // too long for a temporary name
		b.must(os.Rename(b.File, long))
		b.File = long
		return b
	}
	t.Run("and sets the login aside", func(t *testing.T) {
		b := unwritable(t)
		taken := b.take()
		b.agent(made("ann", "second"))
		said, err := b.Return(t.Context(), b.home, taken)
		if said != "" || pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), b.Folder) || strings.Contains(err.Error(), "still in") {
			t.Errorf("Return said %q, %v", said, err)
		}
		b.asideIs(displaced, string(made("ann", "second")))
		b.user(taken)
	})
	t.Run("and cannot set the login aside", func(t *testing.T) {
		b := unwritable(t)
		taken := b.take()
		b.agent(made("ann", "second"))
		b.must(os.RemoveAll(b.Folder))
		b.must(os.WriteFile(b.Folder, nil, 0o600)) // a file in its place
		said, err := b.Return(t.Context(), b.home, taken)
		if said != "" || pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), "still in "+b.inHome()) {
			t.Errorf("Return said %q, %v", said, err)
		}
		b.must(os.Remove(b.Folder))
		b.user(taken)
	})
}

// The user's own agent writes the file while Return is replacing it.
func TestReplaceOvertaken(t *testing.T) {
	b := newBed(t)
	old, err := readUser(b.File)
	b.must(err)
	b.must(os.WriteFile(b.File, made("ann", "user"), 0o600))
	if err := replace(b.File, made("ann", "second"), &old); !errors.Is(err, errOvertaken) {
		t.Errorf("got the error %v", err)
	}
	b.user(made("ann", "user"))
	b.must(os.Remove(b.File))
	if err := replace(b.File, made("ann", "second"), &old); !errors.Is(err, errOvertaken) {
		t.Errorf("got the error %v", err)
	}
	if _, err := os.Lstat(b.File); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was made again: %v", err)
	}
	b.tidy(filepath.Dir(b.File))
}

// When the user's own agent writes the file while Return decides, Return decides again. It sets the
// login aside if that goes on.
func TestReturnOvertaken(t *testing.T) {
	for _, times := range []int{maxAttempts - 1, maxAttempts} {
		b := newBed(t)
		taken := b.take()
		second := made("ann", "second")
		b.agent(second)
		b.at(b.inHome(), time.Hour)
		writes := 0
		b.Identify = func(data []byte) (string, bool) {
			if bytes.Equal(data, second) && writes < times {
				writes++
				b.must(os.WriteFile(b.File, made("ann", fmt.Sprint("user ", writes)), 0o600))
				b.at(b.File, -time.Minute)
			}
			return identify(data)
		}
		said, err := b.Return(t.Context(), b.home, taken)
		first, next := string(made("ann", "user 1")), string(made("ann", "user 2"))
		if times < maxAttempts {
			if err != nil || !strings.Contains(said, "previous content") {
				t.Errorf("Return said %q, %v", said, err)
			}
			b.asideIs(displaced, first, next)
			b.user(second)
			continue
		}
		if said != "" || pawl.CodeOf(err) != pawl.CodeUnavailable || !errors.Is(err, errOvertaken) || strings.Contains(err.Error(), "still in") {
			t.Errorf("Return said %q, %v", said, err)
		}
		b.asideIs(displaced, string(second), first, next)
		b.user(made("ann", "user 3"))
	}
}

// A login has the same lock whether its file exists or not.
func TestResolve(t *testing.T) {
	b := newBed(t)
	link := filepath.Join(filepath.Dir(b.home), "link")
	b.must(os.Symlink(filepath.Dir(b.File), link))
	name := filepath.Join(link, filepath.Base(b.File))
	with, err := resolve(name)
	b.must(err)
	b.must(os.Remove(b.File))
	if without, err := resolve(name); err != nil || without != with {
		t.Errorf("the file is %s, and %s without it, %v", with, without, err)
	}
}
