package room

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"pawl"
)

// maxSocketPath is how many bytes the path of a Unix socket may have on any system.
const maxSocketPath = 103

// socketFolder makes a folder for the sockets of a room that shows everything where it is. The path
// of the room's own folder is too long for them.
func socketFolder() (string, error) {
	dir, err := os.MkdirTemp("", "pawl-")
	if err == nil && len(dir)+1+maxName > maxSocketPath {
		err = os.Remove(dir)
		if err == nil {
			dir, err = os.MkdirTemp("/tmp", "pawl-")
		}
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for sockets: %w", err)
	}
	return dir, nil
}

// socket is a listener that commands of a room can connect to.
type socket struct {
	*net.UnixListener
	room       *room
	name, path string
}

// Close implements [net.Listener].
func (s *socket) Close() error {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	return s.close()
}

// end closes the socket, which may be closed.
func (s *socket) end() error {
	if err := s.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// close closes the socket and removes its file. The caller holds the room's mutex.
func (s *socket) close() error {
	if s.room.sockets[s.name] != s {
		return net.ErrClosed
	}
	delete(s.room.sockets, s.name)
	return errors.Join(s.UnixListener.Close(), os.Remove(s.path))
}

// Listen implements [pawl.DelegateRoom].
func (d *delegateRoom) Listen(name string) (net.Listener, []string, error) {
	if name != filepath.Base(name) || name == "." || !filepath.IsLocal(name) || len(name) > maxName {
		return nil, nil, pawl.Errorf(pawl.CodeInvalid, "%q is not the name of a socket", name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, d.closedError()
	}
	s, shown, err := d.room.listen(name)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for commands: %w", err)
	}
	d.own = append(d.own, s)
	return s, append(slices.Clone(d.relays), shown), nil
}

// listen makes a socket and returns the path by which commands see it.
func (x *room) listen(name string) (s *socket, shown string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended.Load() {
		return nil, "", pawl.Errorf(pawl.CodeState, "the room %s is closed", filepath.Base(x.folder))
	}
	if earlier := x.sockets[name]; earlier != nil {
		if err := earlier.close(); err != nil {
			return nil, "", err
		}
	}
	dir, shown := x.connect, x.connect
	if dir == "" {
		dir, shown = filepath.Join(x.folder, "given"), x.given
	}
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return nil, "", err
	}
	l, err := listenUnix(dir, name)
	if err != nil {
		return nil, "", err
	}
	// Commands cannot write to the folder, or have the rights of this process: the file is the socket.
	if err := errors.Join(os.Chmod(path, 0o600), x.rooms.own(path)); err != nil {
		return nil, "", errors.Join(err, l.Close(), os.Remove(path))
	}
	s = &socket{UnixListener: l, room: x, name: name, path: path}
	if x.sockets == nil {
		x.sockets = make(map[string]*socket)
	}
	x.sockets[name] = s
	return s, filepath.Join(shown, name), nil
}

// listenUnix listens on a Unix socket in a folder. Where the path is too long for a socket, it is
// reached through a descriptor of the folder.
func listenUnix(dir, name string) (*net.UnixListener, error) {
	path := filepath.Join(dir, name)
	if len(path) > maxSocketPath {
		folder, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		path = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), name)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the path may mean another file by then
	return l, nil
}

// closeSockets closes the room's sockets and removes their folder.
func (x *room) closeSockets() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for _, s := range x.sockets {
		errs = append(errs, s.close())
	}
	if x.connect != "" {
		errs = append(errs, os.RemoveAll(x.connect))
	}
	return errors.Join(errs...)
}
