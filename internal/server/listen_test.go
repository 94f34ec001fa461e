package server

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"pawl"
)

// mustTemp is a folder whose path is short enough for a socket.
func mustTemp(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pawl")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func mustBe(tb testing.TB, name string, mode fs.FileMode) {
	tb.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		tb.Fatal(err)
	}
	if info.Mode() != mode {
		tb.Errorf("%s is %s, want %s", name, info.Mode(), mode)
	}
}

// TRUST rows 21, 26
func TestServe(t *testing.T) {
	// whileServing serves on the socket for as long as f runs.
	whileServing := func(t *testing.T, socket string, f func()) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		served := false
		err := Serve(ctx, socket, &fake{}, nil, func() {
			served = true
			f()
			cancel()
		})
		if served != (err == nil) {
			t.Errorf("it served: %v, and said %v", served, err)
		}
		return err
	}
	t.Run("IsForTheUserAlone", func(t *testing.T) {
		socket := filepath.Join(mustTemp(t), "new", "pawl.sock")
		err := whileServing(t, socket, func() {
			mustBe(t, filepath.Dir(socket), fs.ModeDir|0o700)
			mustBe(t, socket, fs.ModeSocket|0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(socket); !os.IsNotExist(err) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	t.Run("ReplacesTheSocketOfADeadProcess", func(t *testing.T) {
		socket := filepath.Join(mustTemp(t), "pawl.sock")
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		err = whileServing(t, socket, func() {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		})
		if err != nil {
			t.Error(err)
		}
	})
	refused := map[string]func(t *testing.T, dir string) (socket string){
		"SomethingElseInItsPlace": func(t *testing.T, dir string) string {
			socket := filepath.Join(dir, "pawl.sock")
			if err := os.WriteFile(socket, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			return socket
		},
		"FolderThatOthersEnter": func(t *testing.T, dir string) string {
			if err := os.Chmod(dir, 0o711); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "pawl.sock")
		},
		"FolderThatIsALink": func(t *testing.T, dir string) string {
			link := filepath.Join(dir, "link")
			if err := os.Symlink(mustTemp(t), link); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(link, "pawl.sock")
		},
		"FolderThatIsAFile": func(t *testing.T, dir string) string {
			file := filepath.Join(dir, "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(file, "pawl.sock")
		},
		"FolderOfAnotherUser": func(t *testing.T, dir string) string {
			if os.Geteuid() != 0 {
				return "/pawl.sock"
			}
			if err := os.Chown(dir, 12345, -1); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "pawl.sock")
		},
	}
	for name, prepare := range refused {
		t.Run(name, func(t *testing.T) {
			socket := prepare(t, mustTemp(t))
			before, _ := os.ReadFile(socket)
			err := whileServing(t, socket, func() {})
			if err == nil {
				t.Fatal("it served")
			}
			if code := pawl.CodeOf(err); code != pawl.CodeUnavailable && name != "FolderThatIsAFile" {
				t.Errorf("%v has code %s", err, code)
			}
			if after, _ := os.ReadFile(socket); string(after) != string(before) {
				t.Errorf("what was there is now %q", after)
			}
		})
	}
	t.Run("PathThatIsTooLong", func(t *testing.T) {
		dir := filepath.Join(mustTemp(t), "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789")
		if err := whileServing(t, filepath.Join(dir, "pawl.sock"), func() {}); err == nil {
			t.Error("it served")
		}
	})
	t.Run("ListenerThatBreaks", func(t *testing.T) {
		p := newPipes()
		_ = p.Close()
		if err := serve(t.Context(), &served{p, Handler(&fake{})}); err == nil {
			t.Error("it served")
		}
	})
}
