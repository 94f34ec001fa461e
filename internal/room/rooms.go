package room

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/project"
)

// Enforcer opens rooms as they are described. Implemented in internal/sandbox.
type Enforcer interface {
	// Confined reports whether commands are kept from the rest of the machine.
	Confined() bool
	// Describe says in one line what confines a command.
	Describe() string
	// Mounts reports whether a room can show things elsewhere than where they are.
	Mounts() bool
	// Overlay reports whether layers can be joined by overlayfs in a folder.
	Overlay(dir string) bool
	// Owner is who commands run as outside their rooms.
	Owner() pawl.Owner
	// Relay returns the first words of a command that, followed by the path of a Unix socket,
	// passes its standard input and output to that socket in a room.
	Relay() ([]string, error)
	// Open opens a room. What it needs of the machine may be set up by the first command.
	Open(d *Description) (Opened, error)
	// Join opens a room that has only what d.Joined describes, in a folder for which Overlay
	// reports true.
	Join(d *Description) (Held, error)
}

// Proxy is the only way out of a room. Implemented in internal/egress.
type Proxy interface {
	// Serve answers the clients of a listener until that is closed.
	Serve(l net.Listener) error
	// Traffic says with whom commands were in contact so far.
	Traffic() []pawl.Contact
	// Close ends all connections.
	Close() error
}

// Opened is an open room as the [Enforcer] has it.
type Opened interface {
	Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error)
	// Reach is the path by which this process reaches one that commands see.
	Reach(path string) (string, error)
	// Close ends everything in the room. It may be called again.
	Close() error
}

// Held is a room whose work tree can be used before the rest of it is there.
type Held interface {
	Opened
	// Furnish adds the rest of the room: from the next command on it is as described. What
	// is joined stays the same.
	Furnish(d *Description)
	// Unfurnish ends everything that runs in the room and undoes Furnish.
	Unfurnish()
	// ReachJoined is the path by which this process reaches what is joined.
	ReachJoined() (string, error)
	// Exec runs a program of ours where it finds what is joined; see [pawl.Joined].
	Exec(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error
}

// Options say whose rooms there are and what they are made of.
type Options struct {
	// State is the project's state folder.
	State string
	// Host is what the rooms of whoever ctx belongs to take of the machine.
	Host func(ctx context.Context) Host
	// Visible are the folders that git in a work tree has to read.
	Visible  func(tree string) []string
	Enforcer Enforcer
	// Proxy makes the egress proxy of one room, with the upstream proxy of whoever ctx belongs
	// to; nil means that no room has a way out.
	Proxy func(ctx context.Context, out WayOut) (Proxy, error)
	// Needed returns the keys of what was prepared that worktrees have below them; nil means
	// that none do.
	Needed func() []string
	// CacheSize is how many bytes the trusted cache may take on disk; zero means
	// [pawl.DefaultCacheSize].
	CacheSize int64
	// Log is told which layers of the trusted cache are removed; nil means nothing is
	// logged.
	Log *slog.Logger
}

// WayOut says what the commands of one room can reach through its egress proxy. The zero value
// means nothing.
type WayOut struct {
	Rules   []string      // as in [pawl.PrepareSpec]
	Gateway *pawl.Gateway // answers requests to the proxy itself; nil = they are refused
	// Refused is called at the first request of each kind that the proxy refuses. It must not
	// block; it may be nil.
	Refused func(pawl.Contact)
}

// isZero reports whether commands can reach nothing.
func (w WayOut) isZero() bool { return len(w.Rules) == 0 && w.Gateway == nil }

// Rooms implements [pawl.Rooms] for one project.
type Rooms struct {
	o     Options
	cache *Cache

	mu     sync.Mutex       // guards what follows
	next   int              // numbers rooms that last as long as one judgement
	slots  map[string]*slot // by the folder of the agent's room
	bases  map[baseKey]*base
	joined map[string]*joined // by the folder

	preparing sync.Mutex     // guards using and the folders of what was prepared
	using     map[string]int // open rooms by the key of what was prepared for them
}

var (
	_ pawl.Rooms = (*Rooms)(nil)
	_ pawl.Trees = (*Rooms)(nil)
)

// New is the rooms of a project. Call Recover before the first is opened.
func New(o Options) *Rooms {
	if real, err := filepath.EvalSymlinks(o.State); err == nil { // which is how our git names what is in it
		o.State = real
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Rooms{o: o, slots: make(map[string]*slot), bases: make(map[baseKey]*base), joined: make(map[string]*joined), using: make(map[string]int)}
	r.cache = OpenCache(filepath.Join(o.State, "cache"), cmp.Or(o.CacheSize, pawl.DefaultCacheSize), o.Log)
	return r
}

// folder is where rooms keep what they write, layers where layers are that no
// room writes to.
func (r *Rooms) folder() string { return filepath.Join(r.o.State, "rooms") }
func (r *Rooms) layers() string { return filepath.Join(r.o.State, "layers") }

// Recover removes what a process that died left of rooms that last as long as one
// judgement, and prunes the trusted cache. What agents' rooms keep is left alone, but
// given to whoever commands run as.
func (r *Rooms) Recover() error {
	err := errors.Join(project.RemoveAll(filepath.Join(r.folder(), once)), r.recoverPrepared())
	_, pruning := r.prune(r.cache.limit)
	return errors.Join(err, pruning, r.handOver())
}

// once is the folder of rooms that keep nothing.
const once = "once"

// Confined implements [pawl.Rooms].
func (r *Rooms) Confined() bool { return r.o.Enforcer.Confined() }

// Describe implements [pawl.Rooms].
func (r *Rooms) Describe() string { return r.o.Enforcer.Describe() }

// Owner implements [pawl.Rooms].
func (r *Rooms) Owner() pawl.Owner { return r.o.Enforcer.Owner() }

// Close closes all rooms.
func (r *Rooms) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.slots {
		if s.room != nil {
			errs = append(errs, s.room.shut())
		}
		s.leave()
	}
	for _, b := range r.bases {
		errs = append(errs, b.room.opened.Close())
	}
	for _, j := range r.joined {
		errs = append(errs, j.opened.Close())
	}
	clear(r.slots)
	clear(r.bases)
	clear(r.joined)
	return errors.Join(errs...)
}

// Agent implements [pawl.Rooms].
func (r *Rooms) Agent(ctx context.Context, spec pawl.AgentRoom) (pawl.Room, error) {
	folder, err := r.agentFolder(spec.Run, spec.Name)
	if err != nil {
		return nil, err
	}
	s, err := r.lockSlot(ctx, folder, func(*slot) bool { return false })
	if err != nil {
		return nil, fmt.Errorf("open the room of %s: %w", spec.Name, err)
	}
	defer r.mu.Unlock()
	joint := r.joinedAt(spec.Tree)
	if x := s.room; x != nil && s.delegate == nil && x.joint == joint && x.prepared == spec.Prepared {
		return x, nil
	}
	if err := r.vacate(s); err != nil { // or the worktree has other dependencies now
		return nil, err
	}
	x, err := r.openKept(ctx, folder, spec, content{home: "home"})
	if err != nil {
		return nil, err
	}
	s.room = x
	return x, nil
}

// openKept opens a room that is kept until Leave, in a folder. The caller holds the mutex.
func (r *Rooms) openKept(ctx context.Context, folder string, spec pawl.AgentRoom, c content) (*room, error) {
	x := &room{rooms: r, folder: folder, kept: true, prepared: spec.Prepared}
	c.name, c.tree, c.joint, c.limits = spec.Name, spec.Tree, r.joinedAt(spec.Tree), spec.Limits
	err := r.fill(&c, x, spec.Run, spec.Prepared, false)
	if c.delegate != nil {
		c.homeLayers = nil
	}
	if err == nil {
		err = r.forget(folder, spec.Prepared)
	}
	if err == nil {
		err = x.open(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("open the room of %s: %w", spec.Name, errors.Join(err, x.abandon()))
	}
	return x, nil
}

// fill adds to a room's content the cache and what was prepared under a key, unless that is
// empty; see usePrepared. The room releases both.
func (r *Rooms) fill(c *content, x *room, run pawl.RunID, key string, trusted bool) error {
	layers, release, err := r.cache.use()
	if err != nil {
		x.release = func() {}
		return err
	}
	c.cache, x.release = layers, release
	if key == "" {
		return nil
	}
	p, leave, err := r.usePrepared(run, key, trusted)
	if err != nil {
		return err
	}
	x.release = func() { release(); leave() }
	c.add(r, p)
	return nil
}

// forget removes what an agent's room copied of other layers than it is to have now. Layers
// that are joined are exchanged instead.
func (r *Rooms) forget(folder, key string) error {
	if r.Joins(folder) {
		return nil
	}
	note := filepath.Join(folder, "prepared")
	if content, err := os.ReadFile(note); err == nil && string(content) == key || errors.Is(err, fs.ErrNotExist) && key == "" {
		return nil
	}
	err := errors.Join(project.RemoveAll(filepath.Join(folder, "cache")), project.RemoveAll(filepath.Join(folder, aboveHome)), r.mkdir(folder))
	if err == nil {
		err = os.WriteFile(note, []byte(key), 0o600)
	}
	return err
}

// Leave implements [pawl.Rooms].
func (r *Rooms) Leave(run pawl.RunID, name string) error {
	folder, err := r.agentFolder(run, name)
	if err != nil {
		return err
	}
	r.mu.Lock()
	var x *room
	if s := r.slots[folder]; s != nil {
		x = s.room
		s.leave()
	}
	delete(r.slots, folder)
	if x != nil && x.joint != nil {
		delete(r.joined, x.joint.dir) // it ends with the room
	}
	r.mu.Unlock()
	if x != nil {
		err = x.shut()
	}
	return errors.Join(err, project.RemoveAll(folder))
}

// Remove removes what all rooms of a run kept, and what was prepared for its candidates. None of them may be open.
func (r *Rooms) Remove(run pawl.RunID) error {
	if !filepath.IsLocal(string(run)) {
		return pawl.Errorf(pawl.CodeInvalid, "%q is not the id of a run", run)
	}
	return errors.Join(project.RemoveAll(filepath.Join(r.folder(), "agents", string(run))), project.RemoveAll(filepath.Join(r.ofRuns(), string(run))))
}

// agentFolder is where an agent's room keeps its home and its upper folders.
func (r *Rooms) agentFolder(run pawl.RunID, name string) (string, error) {
	key := strings.ReplaceAll(name, "/", "@")
	if !filepath.IsLocal(string(run)) || !filepath.IsLocal(key) {
		return "", pawl.Errorf(pawl.CodeInvalid, "%q of run %q cannot be the name of a room", name, run)
	}
	return filepath.Join(r.folder(), "agents", string(run), key), nil
}

// Gate implements [pawl.Rooms].
func (r *Rooms) Gate(ctx context.Context, spec pawl.GateRoom) (pawl.Room, error) {
	x, err := r.judge(ctx, spec, r.temporary(), false)
	if err != nil {
		return nil, fmt.Errorf("open a room for commit %s: %w", spec.Commit, err)
	}
	return x, nil
}

// judge opens a room over a clean checkout. If trusted is set, nothing that was prepared for a
// candidate is below it.
func (r *Rooms) judge(ctx context.Context, spec pawl.GateRoom, folder string, trusted bool) (*room, error) {
	work, err := r.checkout(spec.Tree)
	if err != nil {
		return nil, err
	}
	c := content{name: filepath.Base(folder), work: []Layer{work}, folders: spec.Folders, limits: spec.Limits}
	x := &room{rooms: r, folder: folder}
	err = r.fill(&c, x, spec.Run, spec.Prepared, trusted)
	if err == nil && len(spec.Over) > 0 {
		var over Layer
		over, err = r.over(filepath.Join(folder, "over"), spec.Over)
		c.over = []Layer{over}
	}
	if err == nil {
		err = x.open(ctx, c)
	}
	if err != nil {
		x.release()
		return nil, errors.Join(err, project.RemoveAll(folder))
	}
	return x, nil
}

// temporary is the folder of a room that lasts as long as one judgement.
func (r *Rooms) temporary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	return filepath.Join(r.folder(), once, fmt.Sprintf("%d", r.next))
}

// baseKey tells base rooms apart.
type baseKey struct {
	commit   pawl.CommitHash
	prepared string
	limits   pawl.RoomLimits
}

// base is the room of the gates that judge a trusted commit at the same time, under
// the same limits.
type base struct {
	room    *room
	holders int
	ready   chan struct{} // closed when room or err is set
	err     error
	from    int // the cache's generation below it
}

// Base implements [pawl.Rooms].
func (r *Rooms) Base(ctx context.Context, spec pawl.GateRoom) (pawl.Room, error) {
	if spec.Prepared != "" && !r.isTrusted(spec.Prepared) {
		return nil, pawl.Errorf(pawl.CodeInvalid, "what was prepared under %s may come from code of a model: it cannot be below a base room", spec.Prepared)
	}
	if len(spec.Over)+len(spec.Folders) > 0 {
		return nil, pawl.Errorf(pawl.CodeInvalid, "a base room, which serves several gates, has no files of one of them")
	}
	key := baseKey{spec.Commit, spec.Prepared, spec.Limits}
	r.mu.Lock()
	b := r.bases[key]
	mine := b == nil
	if mine {
		b = &base{ready: make(chan struct{}), from: r.cache.Generation()}
		r.bases[key] = b
	}
	b.holders++
	r.mu.Unlock()
	if mine {
		b.room, b.err = r.judge(context.WithoutCancel(ctx), spec, r.temporary(), true)
		close(b.ready)
	}
	select {
	case <-b.ready:
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), r.leaveBase(key, b))
	}
	if b.err != nil {
		err := b.err
		return nil, fmt.Errorf("open a room for commit %s: %w", spec.Commit, errors.Join(err, r.leaveBase(key, b)))
	}
	return &baseRoom{room: b.room, leave: sync.OnceValue(func() error { return r.leaveBase(key, b) })}, nil
}

// baseRoom is one gate's hold on a [base].
type baseRoom struct {
	*room
	leave func() error
}

// Close implements [pawl.Room].
func (b *baseRoom) Close() error { return b.leave() }

// leaveBase closes the room after its last gate. Its cache then becomes the trusted
// one, unless that has grown meanwhile: what two rooms wrote is not mixed.
func (r *Rooms) leaveBase(key baseKey, b *base) error {
	r.mu.Lock()
	if b.holders--; b.holders > 0 {
		r.mu.Unlock()
		return nil
	}
	if r.bases[key] == b {
		delete(r.bases, key)
	}
	r.mu.Unlock()
	<-b.ready
	if b.room == nil {
		return nil
	}
	err := b.room.shut()
	if err == nil {
		err = r.cache.grow(b.from, filepath.Join(b.room.folder, "cache"), b.room.whole)
	}
	if err != nil { // whoever closes a room has its verdict already
		r.o.Log.Warn("the trusted cache did not grow", "commit", key.commit, "error", err)
	}
	return errors.Join(err, project.RemoveAll(b.room.folder))
}

// mkdir makes a folder that belongs to whoever commands run as.
func (r *Rooms) mkdir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a room: %w", err)
	}
	return r.own(dir)
}

// own gives a file to whoever commands run as.
func (r *Rooms) own(path string) error {
	owner := r.Owner()
	if owner == (pawl.Owner{}) {
		return nil
	}
	if err := os.Lchown(path, owner.UID, owner.GID); err != nil {
		return fmt.Errorf("make a room: %w", err)
	}
	return nil
}
