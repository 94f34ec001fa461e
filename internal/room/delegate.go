package room

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"pawl"
)

// Delegate implements [pawl.Rooms].
func (r *Rooms) Delegate(ctx context.Context, spec pawl.DelegateSpec) (pawl.DelegateRoom, error) {
	folder, err := r.agentFolder(spec.Run, spec.Name)
	if err == nil {
		err = checkDelegate(&spec)
	}
	if err == nil {
		err = r.findHidden(&spec)
	}
	if err != nil {
		return nil, err
	}
	fits := func(s *slot) bool {
		return s.delegate != nil && sameDelegate(s.delegate, &spec) && s.room.joint == r.joinedAt(spec.Tree)
	}
	s, err := r.lockSlot(ctx, folder, fits)
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	home := homeOf(spec.Agent)
	if s.users == 0 && !fits(s) {
		if err := r.vacate(s); err != nil {
			return nil, fmt.Errorf("open the room of agent %s: %w", spec.Agent, err)
		}
	}
	if s.room == nil {
		out := WayOut{Rules: spec.Egress, Gateway: spec.Gateway, Refused: spec.Refused}
		x, err := r.openKept(ctx, folder, spec.AgentRoom, content{home: home, out: out, delegate: &spec})
		if err != nil {
			return nil, err
		}
		s.room, s.delegate = x, &spec
	}
	if s.users == 0 {
		if err := r.layHome(ctx, filepath.Join(folder, home), &spec, s.room.marks); err != nil {
			return nil, fmt.Errorf("open the room of agent %s: %w", spec.Agent, err)
		}
	}
	s.users++
	d := &delegateRoom{room: s.room, slot: s, home: filepath.Join(folder, home)}
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return d, nil
}

// homeIn returns the home that variables name.
func homeIn(environ []string) string {
	for _, v := range slices.Backward(environ) {
		if home, ok := strings.CutPrefix(v, "HOME="); ok {
			return home
		}
	}
	return ""
}

// findHidden adds to what a room hides by name what it hides of the work tree as it is now. Of a link, what it points to
// is hidden, because a link cannot be.
func (r *Rooms) findHidden(spec *pawl.DelegateSpec) error {
	if spec.Hides == nil || !r.o.Enforcer.Mounts() {
		return nil
	}
	reach, err := r.reach(spec.Tree)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(reach)
	if err != nil {
		return err
	}
	defer root.Close()
	found := slices.Clone(spec.Hide)
	shows := func(name string) bool { return spec.Shows != nil && spec.Shows(name) }
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name != ".": // a command may be removing it
			return nil
		case err != nil:
			return err
		case name == ".":
			return nil
		case e.Name() == ".git", e.IsDir() && e.Name() == "node_modules": // agents take nothing from there
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		link := e.Type()&fs.ModeSymlink != 0
		if shows(name) || !spec.Hides(name, e.IsDir()) && !(link && spec.Hides(name, true)) {
			return nil
		}
		if link {
			if name, err = target(root, name); name == "" || err != nil || shows(name) {
				return err
			}
		}
		found = append(found, name)
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	slices.Sort(found)
	spec.Hide = topmost(slices.Compact(found))
	return err
}

// topmost returns those of sorted paths that are not below another one.
func topmost(paths []string) (out []string) {
	for _, name := range paths {
		below := slices.ContainsFunc(out, func(above string) bool { return strings.HasPrefix(name, above+"/") })
		if !below {
			out = append(out, name)
		}
	}
	return out
}

// reach returns the path by which this process reaches a worktree.
func (r *Rooms) reach(tree string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.joinedAt(tree); j != nil {
		return j.reach(tree)
	}
	return tree, nil
}

// maxLinks bounds the links that lead to what is hidden.
const maxLinks = 40

// target returns the file or folder of a work tree that a link leads to; "" = it leads nowhere, or out of it, where a
// room shows nothing of the user's. It is an error if it leads to a folder that the link is in.
func target(root *os.Root, name string) (string, error) {
	from := name
	for range maxLinks {
		info, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP), escapes(err):
			return "", nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0 && (name == "." || strings.HasPrefix(from, name+"/")):
			return "", pawl.Errorf(pawl.CodeState, "%s of the repository is a link to a folder that it is in, and so cannot be hidden from coding agents: make it a file or a folder", from)
		case info.IsDir() || info.Mode().IsRegular():
			return name, nil
		case info.Mode()&fs.ModeSymlink == 0: // a pipe or the like, which nobody reads settings from
			return "", nil
		}
		to, err := root.Readlink(name)
		switch {
		case err != nil:
			return "", err
		case path.IsAbs(to):
			return "", nil
		}
		if name = path.Join(path.Dir(name), to); name == ".." || strings.HasPrefix(name, "../") {
			return "", nil
		}
	}
	return "", nil
}

// escapes reports whether an error of [os.Root] says that a path leads out of it, which has no error of its own.
func escapes(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Err.Error() == "path escapes from parent"
}

// hidden returns what takes the place of the files and folders that an agent must not see, as far as
// they are in the work tree, which this process reaches at a path.
func (x *room) hidden(c content, reach string) ([]Mount, error) {
	if c.delegate == nil || len(c.delegate.Hide) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(reach)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out []Mount
	for _, name := range c.delegate.Hide {
		if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || name == "." {
			return nil, pawl.Errorf(pawl.CodeInvalid, "%q cannot be hidden: it is not the path of a file in the work tree", name)
		}
		info, err := root.Lstat(name)
		m := Mount{Path: path.Join(workPath, name), ReadOnly: true}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case info.IsDir():
			empty, err := x.rooms.empty()
			if err != nil {
				return nil, err
			}
			m.Source = empty.dir
		case info.Mode().IsRegular():
			m.Source = filepath.Join(x.folder, "hidden")
			f, err := os.OpenFile(m.Source, os.O_CREATE, 0o444) // an earlier room may have made it
			if err != nil {
				return nil, err
			}
			if err := f.Close(); err != nil {
				return nil, err
			}
		default: // only what a link points to could be hidden, never the link
			return nil, pawl.Errorf(pawl.CodeState, "agent %s would use %s of the repository, which cannot be hidden: it is neither a file nor a folder", c.delegate.Agent, name)
		}
		out = append(out, m)
	}
	return out, nil
}

// homeOf returns the name of the folder in which an agent has its home.
func homeOf(agent string) string { return "home-" + agent }

// maxName bounds the name of an agent or of a socket, in bytes: the path of a socket has 104 on
// some systems.
const maxName = 50

// checkDelegate reports what a room of a coding agent cannot be opened with.
func checkDelegate(spec *pawl.DelegateSpec) error {
	odd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	}
	if spec.Agent == "" || len(spec.Agent) > maxName || strings.ContainsFunc(spec.Agent, odd) {
		return pawl.Errorf(pawl.CodeInvalid, "%q cannot be the name of an agent: want up to %d letters, digits, dots, hyphens and underscores", spec.Agent, maxName)
	}
	for _, v := range spec.Environ {
		if strings.Index(v, "=") < 1 || strings.ContainsRune(v, 0) {
			name, _, _ := strings.Cut(v, "=") // the value may be a secret
			return pawl.Errorf(pawl.CodeInvalid, "open the room of agent %s: the variable %q is not NAME=value", spec.Agent, name)
		}
	}
	return nil
}

// forDelegate adds what only the room of a coding agent has: sockets.
func (x *room) forDelegate(d *Description) error {
	var err error
	if x.relays, err = x.rooms.o.Enforcer.Relay(); err != nil {
		return fmt.Errorf("find the relay to sockets: %w", err)
	}
	if !x.rooms.o.Enforcer.Mounts() {
		x.connect, err = socketFolder()
		d.Sockets = x.connect
	}
	return err
}

// programs returns the folders that a coding agent's program needs, or an error if commands must
// not see one of them. Where commands are not confined they see all folders anyway.
func (x *room) programs(host Host, c content) ([]string, error) {
	if c.delegate == nil || !x.rooms.Confined() {
		return nil, nil
	}
	var out []string
	for _, folder := range c.delegate.Programs {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return nil, pawl.Errorf(pawl.CodeInvalid, "show agent %s its program: %w", c.delegate.Agent, err)
		}
		info, err := os.Stat(real)
		switch {
		case err != nil:
			return nil, err
		case !filepath.IsAbs(folder) || filepath.Clean(folder) != folder || !info.IsDir():
			return nil, pawl.Errorf(pawl.CodeInvalid, "%q, which agent %s needs for its program, is not the absolute path of a folder", folder, c.delegate.Agent)
		case host.exposes(folder) || host.exposes(real) || x.hides(folder) || x.hides(real):
			return nil, pawl.Errorf(pawl.CodeInvalid, "%s, which agent %s needs for its program, is not a folder that commands may see", folder, c.delegate.Agent).
				WithHint("install the program in a folder of its own, outside of the folders in which keys and settings are kept")
		case !inSystem(folder): // or every room has it
			out = append(out, folder)
		}
	}
	return out, nil
}

// hides reports whether a folder has something of the project's state, or something that is not in
// every room or not the same there.
func (x *room) hides(folder string) bool {
	for _, own := range append(Writable(), x.rooms.o.State, givenPath, "/proc", "/sys", "/dev", "/etc") {
		// The temporary folder is new in every room, so what is mounted in it is where it seems to be.
		if contains(folder, own) || contains(own, folder) && own != tempPath {
			return true
		}
	}
	return false
}

// layHome writes files into an agent's home. The agent could write anything there the last time, so
// nothing that is in it is followed.
func (r *Rooms) layHome(ctx context.Context, dir string, spec *pawl.DelegateSpec, marks *strings.Replacer) error {
	if err := r.mkdir(dir); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the agent may have locked it
		return fmt.Errorf("open the agent's home: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the agent's home: %w", err)
	}
	defer root.Close()
	if spec.Fill != nil {
		more, err := spec.Fill(ctx, dir)
		if err != nil {
			return err
		}
		for _, f := range more {
			if err := r.layHomeFile(root, f); err != nil {
				return fmt.Errorf("write %s to the agent's home: %w", f.Path, err)
			}
		}
	}
	for _, f := range spec.Home {
		f.Data = []byte(marks.Replace(string(f.Data)))
		if err := r.layHomeFile(root, f); err != nil {
			return fmt.Errorf("write %s to the agent's home: %w", f.Path, err)
		}
	}
	return nil
}

func (r *Rooms) layHomeFile(root *os.Root, f pawl.RoomFile) error {
	if !filepath.IsLocal(filepath.FromSlash(f.Path)) || path.Clean(f.Path) != f.Path || f.Path == "." {
		return pawl.Errorf(pawl.CodeInvalid, "%q is not the path of a file in a folder", f.Path)
	}
	for i, c := range f.Path {
		if c != '/' {
			continue
		}
		if err := r.layHomeFolder(root, f.Path[:i]); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o600)
	if f.Executable {
		mode = 0o700
	}
	next := f.Path + ".pawl-new"
	if err := root.RemoveAll(next); err != nil {
		return err
	}
	to, err := root.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = to.Write(f.Data)
	err = errors.Join(err, to.Chmod(mode))
	if owner := r.Owner(); owner != (pawl.Owner{}) {
		err = errors.Join(err, to.Chown(owner.UID, owner.GID))
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if info, err := root.Lstat(f.Path); err == nil && info.IsDir() {
		if err := root.RemoveAll(f.Path); err != nil {
			return err
		}
	}
	return root.Rename(next, f.Path)
}

// layHomeFolder makes a folder in a home that can be written to, in place of anything else that is
// there.
func (r *Rooms) layHomeFolder(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return root.Chmod(name, info.Mode().Perm()|0o700)
	case err == nil:
		err = root.Remove(name)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		err = root.Mkdir(name, 0o700)
	}
	if owner := r.Owner(); err == nil && owner != (pawl.Owner{}) {
		err = root.Lchown(name, owner.UID, owner.GID)
	}
	return err
}

// delegateRoom is one use of the room of a coding agent. It implements [pawl.DelegateRoom].
type delegateRoom struct {
	*room
	slot *slot
	home string

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup // commands
	mu      sync.Mutex     // guards what follows, and running.Add
	closed  bool
	own     []*socket
}

// closedError is the error of a use that has ended.
func (d *delegateRoom) closedError() error {
	return pawl.Errorf(pawl.CodeState, "the room of agent %s is closed", strings.TrimPrefix(filepath.Base(d.home), "home-"))
}

// Run implements [pawl.Room].
func (d *delegateRoom) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return pawl.CommandResult{}, d.closedError()
	}
	d.running.Add(1)
	d.mu.Unlock()
	defer d.running.Done()
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	result, err := d.room.Run(both, cmd)
	if err != nil && d.ctx.Err() != nil && ctx.Err() == nil {
		err = d.closedError()
	}
	return result, err
}

// Home implements [pawl.DelegateRoom].
func (d *delegateRoom) Home() (string, error) { return d.home, nil }

// Gateway implements [pawl.DelegateRoom].
func (d *delegateRoom) Gateway() string { return d.gateway }

// Traffic implements [pawl.DelegateRoom].
func (d *delegateRoom) Traffic() (out []pawl.Contact, all bool) {
	if d.proxy != nil {
		out = d.proxy.Traffic()
	}
	return out, d.rooms.Confined() || d.gateway != ""
}

// Close implements [pawl.Room]. It ends the commands and the sockets of this use. The room stays
// open for the next use until another one needs the worktree, or until Leave.
func (d *delegateRoom) Close() error {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	own := slices.Clone(d.own)
	d.mu.Unlock()
	d.cancel()
	d.running.Wait()
	if !first {
		return nil
	}
	var errs []error
	for _, s := range own {
		errs = append(errs, s.end())
	}
	d.rooms.free(d.slot)
	return errors.Join(errs...)
}
