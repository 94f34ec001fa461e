//go:build unix

package project_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/project"
)

// nobody is a user that is neither root nor the one of the test.
const nobody = 65534

func mustOwn(tb testing.TB, path string, uid int) {
	tb.Helper()
	if err := os.Lchown(path, uid, uid); err != nil {
		tb.Fatal(err)
	}
}

func mustLink(tb testing.TB, target, path string) {
	tb.Helper()
	if err := os.Symlink(target, path); err != nil {
		tb.Fatal(err)
	}
}

func mustMake(tb testing.TB, path string) {
	tb.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		tb.Fatal(err)
	}
}

// A state folder that another user made, links to, or put something into is refused, by
// its path and its owner, and nothing is written there. F-19
func TestAnotherUsersStateIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	repo := pawl.Repository{GitDir: "/src/app/.git"}
	name := filepath.Base(mustAt(t, t.TempDir(), repo.GitDir).Dir)
	for _, c := range []struct {
		name string
		make func(t *testing.T, state, elsewhere string) (path string)
		what string
	}{
		{"LinkToTheState", func(t *testing.T, state, elsewhere string) string {
			mustMake(t, filepath.Dir(state))
			mustLink(t, elsewhere, state)
			mustOwn(t, state, nobody)
			return state
		}, "a symbolic link"},
		{"LinkToPawl", func(t *testing.T, state, elsewhere string) string {
			mustMake(t, state)
			mustLink(t, elsewhere, filepath.Join(state, "pawl"))
			mustOwn(t, filepath.Join(state, "pawl"), nobody)
			return filepath.Join(state, "pawl")
		}, "a symbolic link"},
		{"OwnLinkToALink", func(t *testing.T, state, elsewhere string) string {
			mustMake(t, state)
			theirs := filepath.Join(filepath.Dir(state), "theirs")
			mustLink(t, elsewhere, theirs)
			mustOwn(t, theirs, nobody)
			mustLink(t, "../theirs", filepath.Join(state, "pawl"))
			return theirs
		}, "a symbolic link"},
		{"Folder", func(t *testing.T, state, _ string) string {
			mustMake(t, filepath.Join(state, "pawl"))
			mustOwn(t, filepath.Join(state, "pawl"), nobody)
			return filepath.Join(state, "pawl")
		}, "a folder"},
		{"LinkToAProject", func(t *testing.T, state, elsewhere string) string {
			mustMake(t, filepath.Join(state, "pawl"))
			path := filepath.Join(state, "pawl", name)
			mustLink(t, elsewhere, path)
			mustOwn(t, path, nobody)
			return path
		}, "a symbolic link"},
		{"DaemonLock", func(t *testing.T, state, _ string) string {
			mustMake(t, filepath.Join(state, "pawl"))
			path := filepath.Join(state, "pawl", "daemon.lock")
			mustWrite(t, path, `{"pid":1}`)
			mustOwn(t, path, nobody)
			return path
		}, "a file"},
		{"LinkToALog", func(t *testing.T, state, elsewhere string) string {
			mustMake(t, filepath.Join(state, "pawl", name))
			path := filepath.Join(state, "pawl", name, "pawl.db")
			mustLink(t, filepath.Join(elsewhere, "pawl.db"), path)
			mustOwn(t, path, nobody)
			return path
		}, "a symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			state, elsewhere := filepath.Join(top, "state"), filepath.Join(top, "elsewhere")
			mustMake(t, elsewhere)
			path := c.make(t, state, elsewhere)
			_, err := project.At(state, repo)
			mustRefuse(t, err, path, c.what)
			if c.name != "LinkToALog" { // which is not the home's
				mustRefuse(t, project.HomeAt(state).Make(), path, c.what)
			}
			if made, err := os.ReadDir(elsewhere); err != nil || len(made) > 0 {
				t.Errorf("the other user's folder has %v, %v", made, err)
			}
		})
	}
	t.Run("AfterItWasOpened", func(t *testing.T) {
		p := mustAt(t, t.TempDir(), repo.GitDir)
		path := filepath.Join(p.Dir, "writer.lock")
		mustLink(t, "/etc/passwd", path)
		mustOwn(t, path, nobody)
		_, err := p.Lock("test")
		mustRefuse(t, err, path, "a symbolic link")
	})
}

func mustRefuse(t *testing.T, err error, path, what string) {
	t.Helper()
	if pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.HasPrefix(err.Error(), path+" is "+what+" of ") || !strings.Contains(err.Error(), "(uid 65534)") {
		t.Errorf("%v, want that %s is %s", err, path, what)
	}
}

// A user's own links and root's lead to the state as ever.
func TestOwnLinksAreFollowed(t *testing.T) {
	top := t.TempDir()
	mustMake(t, filepath.Join(top, "disk", "state"))
	mustLink(t, "disk/state", filepath.Join(top, "state"))
	mustLink(t, filepath.Join(top, "state", "pawl-on-disk"), filepath.Join(top, "disk", "state", "pawl"))
	mustMake(t, filepath.Join(top, "disk", "state", "pawl-on-disk"))
	p, err := project.At(filepath.Join(top, "state"), pawl.Repository{GitDir: "/src/app/.git"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top, "disk", "state", "pawl-on-disk", filepath.Base(p.Dir), "project.json")); err != nil {
		t.Error(err)
	}
}

// Nothing is sent to another user's socket. F-19
func TestCheckSocket(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := project.CheckSocket(socket); err != nil {
		t.Error(err)
	}
	mustOwn(t, socket, nobody)
	mustRefuse(t, project.CheckSocket(socket), socket, "a file")
	mustOwn(t, socket, 0)
	mustOwn(t, dir, nobody)
	mustRefuse(t, project.CheckSocket(socket), dir, "a folder")
}
