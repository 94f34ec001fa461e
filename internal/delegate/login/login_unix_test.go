//go:build unix

package login

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl"
)

// private checks the mode of a file.
func private(t *testing.T, name string, want fs.FileMode) {
	t.Helper()
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
		t.Errorf("%s has the wrong mode, want %v: %v, %v", name, want, info, err)
	}
}

func TestReturnKeepsMode(t *testing.T) {
	b := newBed(t)
	b.must(os.Chmod(b.File, 0o640))
	taken := b.take()
	b.agent(made("ann", "second"))
	b.returns(taken, "updated")
	private(t, b.File, 0o640)
}

func TestReturnKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	b := newBed(t)
	b.must(os.Chown(b.File, 1234, 5678))
	taken := b.take()
	b.agent(made("ann", "second"))
	b.returns(taken, "updated")
	b.user(made("ann", "second"))
	info, err := os.Stat(b.File)
	b.must(err)
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 1234 || stat.Gid != 5678 {
		t.Errorf("the file belongs to %d:%d", stat.Uid, stat.Gid)
	}
}

func TestPipes(t *testing.T) {
	b := newBed(t)
	taken := b.take()
	b.must(os.Remove(b.inHome()))
	b.must(syscall.Mkfifo(b.inHome(), 0o600))
	b.returns(taken, "not a regular file")

	b.must(os.RemoveAll(filepath.Dir(b.inHome())))
	b.must(syscall.Mkfifo(filepath.Dir(b.inHome()), 0o600))
	b.returns(taken, "not a regular file")

	b.must(os.RemoveAll(b.home))
	b.must(syscall.Mkfifo(b.home, 0o600))
	b.returns(taken, "not a regular file")
	b.user(taken)

	b.must(os.Remove(b.File))
	b.must(syscall.Mkfifo(b.File, 0o600))
	if _, err := b.Take(t.Context()); err == nil {
		t.Error("a pipe was taken")
	}
}

func TestReturnToReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere")
	}
	b := newBed(t)
	taken := b.take()
	b.agent(made("ann", "second"))
	b.must(os.Chmod(filepath.Dir(b.File), 0o500))
	defer os.Chmod(filepath.Dir(b.File), 0o700)
	_, err := b.Return(t.Context(), b.home, taken)
	if !errors.Is(err, fs.ErrPermission) || pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), b.Folder) {
		t.Errorf("got the error %v", err)
	}
	b.user(taken)
	b.asideIs(displaced, string(made("ann", "second")))
}

func TestReturnFromLockedHome(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read everything")
	}
	b := newBed(t)
	taken := b.take()
	b.agent(made("ann", "second"))
	b.must(os.Chmod(b.inHome(), 0))
	if _, err := b.Return(t.Context(), b.home, taken); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got the error %v", err)
	}
	b.user(taken)
}
