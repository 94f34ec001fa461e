package room

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pawl"
	"pawl/internal/project"
)

// content is what a room is opened with.
type content struct {
	name  string
	tree  string  // a worktree's folder, which commands write to
	joint *joined // what is joined in that folder; nil when it is just files
	work  []Layer // or the layers of one, the strongest first
	over  []Layer // what is laid over these

	folders []pawl.RoomFolder // what commands see outside of the work tree

	home       string  // the name of the room's folder that is its home and is kept; empty = it is not
	homeLayers []Layer // what is below it
	cache      []Layer
	out        WayOut
	prepared   bool
	delegate   *pawl.DelegateSpec // of a coding agent's room; nil = it is another one
	limits     pawl.RoomLimits
}

// readOnly reports whether commands cannot change the work tree.
func (c *content) readOnly() bool { return c.delegate != nil && c.delegate.ReadOnly }

// source is the folder that the room's work tree comes from.
func (c *content) source() string {
	if c.tree == "" && len(c.work) > 0 {
		return c.work[0].dir // what was prepared is below the checkout
	}
	return c.tree
}

// room implements [pawl.Room].
type room struct {
	rooms    *Rooms
	folder   string // what it writes to
	kept     bool   // Close leaves the folder
	whole    bool   // its folders have copies of their layers in them
	release  func() // lets its layers go
	prepared string // the key of what was prepared for it
	tree     string
	joint    *joined
	work     string // the work tree below what is joined
	dir      string
	given    string // where commands see what is given to them
	opened   Opened
	proxy    Proxy             // nil when it has none
	listener net.Listener      // of the proxy; nil where the room has a loopback device of its own
	gateway  string            // the URL of the gateway; empty = there is none
	marks    *strings.Replacer // of what an agent is given
	once     sync.Once
	err      error       // of closing
	ended    atomic.Bool // it is closed

	relays  []string // the first words of a relay to one of its sockets
	connect string   // the folder that has its sockets; empty = that of given files
	mu      sync.Mutex
	sockets map[string]*socket // guarded by mu
}

// open makes the room's folders and opens it.
func (x *room) open(ctx context.Context, c content) error {
	d := &Description{Name: c.name, Limits: c.limits, Given: filepath.Join(x.folder, "given")}
	if err := x.rooms.mkdir(d.Given); err != nil {
		return err
	}
	host := x.rooms.o.Host(ctx)
	err := x.wayOut(ctx, d, c.out)
	if err == nil && c.delegate != nil {
		err = x.forDelegate(d)
	}
	if err != nil {
		return err
	}
	if x.rooms.o.Enforcer.Mounts() {
		err = x.confined(d, host, c)
	} else {
		err = x.plain(d, host, c)
	}
	if err != nil {
		return err
	}
	if c.delegate != nil {
		x.marks = strings.NewReplacer("{gateway}", x.gateway, "{home}", homeIn(d.Environ))
		for _, v := range c.delegate.Environ {
			d.Environ = append(d.Environ, x.marks.Replace(v))
		}
		d.Environ = lastOfEach(d.Environ)
	}
	x.dir, x.tree, x.given, x.joint = d.Dir, d.Tree, d.GivenPath, c.joint
	if c.joint != nil {
		x.work = c.tree
		c.joint.opened.Furnish(d)
		x.opened = c.joint.opened
		return nil
	}
	x.opened, err = x.rooms.o.Enforcer.Open(d)
	return err
}

// confined describes a room with mounts.
func (x *room) confined(d *Description, host Host, c content) error {
	d.Dir, d.GivenPath = workPath, givenPath
	own := []Mount{
		{Path: tempPath, Size: DefaultTempSize, Inodes: DefaultTempInodes},
		{Path: givenPath, Source: d.Given, ReadOnly: true},
	}
	for _, path := range x.rooms.o.Visible(c.source()) {
		if host.exposes(path) {
			return pawl.Errorf(pawl.CodeInvalid, "%s is not a folder that commands may see", path)
		}
		own = appendVisible(own, path)
	}
	folders, err := x.ownFolders(d, c.folders)
	if err != nil {
		return err
	}
	programs, err := x.programs(host, c)
	if err != nil {
		return err
	}
	own = append(own, folders...)
	for _, path := range programs {
		own = appendVisible(own, path)
	}
	work, err := x.workTree(d, c)
	if err != nil {
		return err
	}
	cache, err := x.joined(cachePath, "cache", c.cache)
	if err != nil {
		return err
	}
	var home Mount
	switch {
	case c.home != "" && len(c.homeLayers) > 0:
		home, err = x.joined(homePath, aboveHome, c.homeLayers)
	case c.home != "":
		dir := filepath.Join(x.folder, c.home)
		home, err = Mount{Path: homePath, Source: dir}, x.rooms.mkdir(dir)
	case len(c.homeLayers) > 0:
		home, err = x.joined(homePath, "home", c.homeLayers)
	default:
		home = Mount{Path: homePath, Size: DefaultTempSize, Inodes: DefaultTempInodes}
	}
	if err != nil {
		return err
	}
	d.confined(host, append(append(own, work...), home, cache))
	d.Environ = host.variables(places{workPath, homePath, tempPath, cachePath}, len(c.out.Rules) > 0, c.prepared)
	return x.throughProxy(d, host, c.out.Rules)
}

// ownFolders are the folders of the room's own, outside of the work tree.
func (x *room) ownFolders(d *Description, folders []pawl.RoomFolder) ([]Mount, error) {
	var out []Mount
	for i, f := range folders {
		if !filepath.IsAbs(f.Path) || filepath.Clean(f.Path) != f.Path || inSystem(f.Path) || slices.ContainsFunc(Writable(), func(w string) bool { return contains(w, f.Path) || contains(f.Path, w) }) {
			return nil, pawl.Errorf(pawl.CodeInvalid, "%q cannot be a folder of a room", f.Path)
		}
		if f.Files == nil {
			d.Own = append(d.Own, f.Path)
			out = append(out, Mount{Path: f.Path, Size: DefaultTempSize, Inodes: DefaultTempInodes})
			continue
		}
		dir := filepath.Join(x.folder, fmt.Sprintf("folder-%d", i))
		if err := x.rooms.lay(dir, f.Files); err != nil {
			return nil, err
		}
		out = append(out, Mount{Path: f.Path, Source: dir, ReadOnly: true})
	}
	return out, nil
}

// aboveHome is the folder of a home that is kept above what was prepared for it.
const aboveHome = "above-home"

// workTree shows the work tree. The .git file of a worktree is kept from commands,
// as our git goes by it; that of a checkout is in the room's own layer.
func (x *room) workTree(d *Description, c content) ([]Mount, error) {
	if c.tree == "" {
		m, err := x.joined(workPath, "work", slices.Concat(c.over, c.work))
		return []Mount{m}, err
	}
	reach := c.tree
	if c.joint == nil {
		d.Tree = c.tree
	} else {
		d.Joined = c.joint.mount
		var err error
		if reach, err = c.joint.reach(c.tree); err != nil {
			return nil, err
		}
	}
	hidden, err := x.hidden(c, reach)
	if err != nil {
		return nil, err
	}
	mounts := append([]Mount{{Path: workPath, Source: c.tree, ReadOnly: c.readOnly()}}, hidden...)
	git := filepath.Join(c.tree, ".git")
	info, err := os.Lstat(filepath.Join(reach, ".git"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return mounts, nil
	case err != nil:
		return nil, err
	case info.Mode()&os.ModeSymlink != 0:
		// Only what a link points to can be mounted read-only, never the link.
		return nil, pawl.Errorf(pawl.CodeState, "%s is a symbolic link; it must be a file or a folder to be protected", git)
	}
	return append(mounts, Mount{Path: filepath.Join(workPath, ".git"), Source: git, ReadOnly: true}), nil
}

// joined shows layers with a folder of the room's above them.
func (x *room) joined(path, name string, layers []Layer) (Mount, error) {
	upper := Upper{filepath.Join(x.folder, name)}
	if err := x.rooms.mkdir(upper.dir); err != nil {
		return Mount{}, err
	}
	if len(layers) == 0 {
		below, err := x.rooms.empty()
		if err != nil {
			return Mount{}, err
		}
		layers = []Layer{below}
	}
	if x.rooms.o.Enforcer.Overlay(upper.dir) {
		if err := errors.Join(x.rooms.mkdir(upper.Files()), x.rooms.mkdir(upper.Work())); err != nil {
			return Mount{}, err
		}
		return Mount{Path: path, Lower: layers, Upper: upper}, nil
	}
	x.whole = true
	if err := x.rooms.copyLayers(layers, upper); err != nil {
		return Mount{}, err
	}
	return Mount{Path: path, Source: upper.Files()}, nil
}

// plain describes a room that shows everything where it is.
func (x *room) plain(d *Description, host Host, c content) error {
	if len(c.folders) > 0 {
		return pawl.Errorf(pawl.CodeUnavailable, "a room on this machine shows everything where it is, and cannot have a folder %s", c.folders[0].Path)
	}
	x.whole = true
	dirs := places{dir: c.tree, home: filepath.Join(x.folder, cmp.Or(c.home, "home")), temp: filepath.Join(x.folder, "temp")}
	for _, p := range []struct {
		name   string
		layers []Layer
		to     *string
	}{{"work", slices.Concat(c.over, c.work), &dirs.dir}, {"cache", c.cache, &dirs.cache}, {"home", c.homeLayers, &dirs.home}} {
		if p.name == "work" && c.tree != "" || p.name == "home" && len(p.layers) == 0 {
			continue
		}
		name := p.name
		if name == "home" && c.home != "" {
			name = aboveHome
		}
		upper := Upper{filepath.Join(x.folder, name)}
		if err := x.rooms.copyLayers(p.layers, upper); err != nil {
			return err
		}
		*p.to = upper.Files()
	}
	for _, dir := range []string{dirs.home, dirs.temp, dirs.cache} {
		if err := x.rooms.mkdir(dir); err != nil {
			return err
		}
	}
	d.Dir, d.Tree, d.GivenPath = dirs.dir, dirs.dir, d.Given
	d.Environ = host.variables(dirs, len(c.out.Rules) > 0, c.prepared)
	if err := x.throughProxy(d, host, c.out.Rules); err != nil {
		return err
	}
	programs, err := x.programs(host, c)
	if err != nil {
		return err
	}
	switch hidden, err := x.hidden(c, c.tree); {
	case err != nil:
		return err
	case len(hidden) > 0:
		return pawl.Errorf(pawl.CodeUnavailable, "agent %s would use %s of the repository, which cannot be hidden without a sandbox", c.delegate.Agent, strings.TrimPrefix(hidden[0].Path, workPath+"/")).
			WithHint("run it in a sandbox, or choose another agent or model")
	}
	d.Writable = []string{dirs.dir, dirs.home, dirs.temp, dirs.cache}
	d.Readable = slices.Concat(host.programs(), programs, x.relays[:min(len(x.relays), 1)], []string{d.Given})
	for _, path := range x.rooms.o.Visible(c.source()) {
		if host.exposes(path) {
			return pawl.Errorf(pawl.CodeInvalid, "%s is not a folder that commands may see", path)
		}
		d.Readable = append(d.Readable, path)
	}
	if c.tree != "" {
		d.Protected = []string{filepath.Join(c.tree, ".git")}
	}
	if c.readOnly() {
		d.Protected = append(d.Protected, c.tree)
	}
	return nil
}

// Run implements [pawl.Room].
func (x *room) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	if x.ended.Load() { // what is joined may be part of another room now
		return pawl.CommandResult{}, pawl.Errorf(pawl.CodeState, "the room %s is closed", filepath.Base(x.folder))
	}
	return x.opened.Run(ctx, cmd)
}

// Dir implements [pawl.Room].
func (x *room) Dir() string { return x.dir }

// Tree implements [pawl.Room].
func (x *room) Tree() (string, error) {
	if x.tree != "" {
		return x.tree, nil
	}
	if x.joint != nil {
		return x.joint.reach(x.work)
	}
	return x.opened.Reach(x.dir)
}

// Give implements [pawl.Room].
func (x *room) Give(name string, content []byte) (string, error) {
	if name != filepath.Base(name) || name == "." || !filepath.IsLocal(name) {
		return "", pawl.Errorf(pawl.CodeInvalid, "%q is not the name of a file", name)
	}
	given := filepath.Join(x.folder, "given")
	f, err := os.CreateTemp(given, ".new-*")
	if err != nil {
		return "", fmt.Errorf("give a file to commands: %w", err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o444), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(given, name))
	}
	if err != nil {
		return "", fmt.Errorf("give a file to commands: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return filepath.Join(x.given, name), nil
}

// Close implements [pawl.Room].
func (x *room) Close() error {
	if x.kept {
		return nil // until Leave
	}
	return errors.Join(x.shut(), project.RemoveAll(x.folder))
}

// shut ends everything in the room.
func (x *room) shut() error {
	return x.end(x.opened.Close)
}

// abandon gives up a room that could not be opened.
func (x *room) abandon() error { return x.end(func() error { return nil }) }

// end closes the room by a function and removes what only this process has of it.
func (x *room) end(closeOpened func() error) error {
	x.once.Do(func() {
		x.ended.Store(true)
		x.err = errors.Join(closeOpened(), x.closeSockets())
		if x.proxy != nil {
			x.err = errors.Join(x.err, x.proxy.Close())
		}
		if x.listener != nil {
			_ = x.listener.Close() // the proxy may have closed it
		}
		x.release()
	})
	return x.err
}
