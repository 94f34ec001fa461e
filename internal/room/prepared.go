package room

import (
	"context"
	"encoding/json"
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
	"time"
	"unicode/utf8"

	"pawl"
	"pawl/internal/project"
)

// What the commands of prepare left is kept by its key, see [pawl.Prepared]:
//
//	layers/prepared/KEY   what was prepared for the commit a run started from, which no
//	                      model of the run has written. It serves all runs.
//	layers/runs/RUN/KEY   what was prepared for a candidate. It serves that run alone,
//	                      never a base room, and is removed with the run.
//
// Each has manifest.json and the folders that its room wrote to, work, home and cache, without
// what the commit itself has. It is below the checkout, so no file of a commit is ever hidden.

// manifest says what was prepared.
type manifest struct {
	Made  time.Time `json:"made"`
	Size  int64     `json:"size"`  // bytes on disk
	Paths []string  `json:"paths"` // see [pawl.PreparedLayer]
	// Below is the key of the trusted one that was below the cache, and has to be there;
	// empty = none was.
	Below string `json:"below,omitempty"`
}

// maxPrepared bounds the folders and files that a layer adds in a work tree, not counting
// what is in them: each of them is a line of what git ignores there.
const maxPrepared = 20_000

// preparedLayer is what was prepared under a key. Only [readPrepared] makes one.
type preparedLayer struct {
	dir, key string
	manifest
}

// readPrepared reads what was prepared in a folder; nil if nothing was.
func readPrepared(dir string) (*preparedLayer, error) {
	p := &preparedLayer{dir: dir, key: filepath.Base(dir)}
	content, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &p.manifest)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was prepared in %s: %w", dir, err)
	}
	return p, nil
}

const manifestName = "manifest.json"

func (p *preparedLayer) public() pawl.PreparedLayer {
	return pawl.PreparedLayer{Key: p.key, Paths: p.Paths, Size: p.Size}
}

// work is the layer of a room's work tree, tree that of a joined worktree, whose files are in
// a folder of their own.
func (p *preparedLayer) work() Layer { return Layer{filepath.Join(p.dir, workName, filesName)} }
func (p *preparedLayer) tree() Layer { return Layer{filepath.Join(p.dir, workName)} }

// home and cache are the layers of a room's home and caches.
func (p *preparedLayer) home() Layer  { return Layer{Upper{filepath.Join(p.dir, "home")}.Files()} }
func (p *preparedLayer) cache() Layer { return Layer{Upper{filepath.Join(p.dir, "cache")}.Files()} }

// workName is the folder of what a room wrote to its work tree.
const workName = "work"

// filesName is the folder of a joined worktree that has its files; see
// internal/workspace/gitworktree.
const filesName = "files"

// preparedDir returns the folder of the layer with a key: that of one run, unless the layer is
// trusted.
func (r *Rooms) preparedDir(run pawl.RunID, key string, trusted bool) (string, error) {
	if len(key) != 32 || strings.Trim(key, "0123456789abcdef") != "" || !filepath.IsLocal(string(run)) {
		return "", pawl.Errorf(pawl.CodeInvalid, "%q of run %q is not the key of what was prepared", key, run)
	}
	if trusted {
		return filepath.Join(r.trusted(), key), nil
	}
	return filepath.Join(r.ofRuns(), string(run), key), nil
}

// trusted returns the folder of the layers that serve all runs, ofRuns that of the layers that
// serve one run.
func (r *Rooms) trusted() string { return filepath.Join(r.layers(), "prepared") }
func (r *Rooms) ofRuns() string  { return filepath.Join(r.layers(), "runs") }

// preparedLayer returns what was prepared under a key for all runs, or else, unless trusted is
// set, for this one; nil if nothing was.
func (r *Rooms) preparedLayer(run pawl.RunID, key string, trusted bool) (*preparedLayer, error) {
	p, err := r.preparedIn(run, key, true)
	if p != nil || err != nil || trusted {
		return p, err
	}
	return r.preparedIn(run, key, false)
}

// preparedIn returns what was prepared under a key for all runs, if trusted is set, or else
// for this one; nil if nothing was, or if it cannot be used any more.
func (r *Rooms) preparedIn(run pawl.RunID, key string, trusted bool) (*preparedLayer, error) {
	dir, err := r.preparedDir(run, key, trusted)
	if err != nil {
		return nil, err
	}
	p, err := readPrepared(dir)
	if err != nil {
		r.o.Log.Warn("what was prepared is prepared again", "error", err)
		return nil, nil
	}
	if p == nil || p.Below != "" && !r.isTrusted(p.Below) {
		return nil, nil
	}
	return p, nil
}

func (r *Rooms) isTrusted(key string) bool {
	p, err := readPrepared(filepath.Join(r.trusted(), key))
	return err == nil && p != nil
}

// Prepared implements [pawl.Rooms].
func (r *Rooms) Prepared(run pawl.RunID, key string, trusted bool) (pawl.PreparedLayer, bool, error) {
	p, err := r.preparedLayer(run, key, trusted)
	if p == nil || err != nil {
		return pawl.PreparedLayer{}, false, err
	}
	now := time.Now()
	_ = os.Chtimes(p.dir, now, now) // what was used last is pruned last
	return p.public(), true, nil
}

// usePrepared returns what was prepared under a key, as preparedLayer does, which must be there,
// and keeps it from being pruned until release is called.
func (r *Rooms) usePrepared(run pawl.RunID, key string, trusted bool) (p *preparedLayer, release func(), err error) {
	r.preparing.Lock()
	defer r.preparing.Unlock()
	if p, err = r.preparedLayer(run, key, trusted); err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, pawl.Errorf(pawl.CodeNotFound, "what was prepared under %s no longer exists", key)
	}
	keys := []string{p.key}
	if p.Below != "" {
		keys = append(keys, p.Below)
	}
	for _, k := range keys {
		r.using[k]++
	}
	return p, sync.OnceFunc(func() {
		r.preparing.Lock()
		defer r.preparing.Unlock()
		for _, k := range keys {
			if r.using[k]--; r.using[k] == 0 {
				delete(r.using, k)
			}
		}
	}), nil
}

// add puts what was prepared below the room's checkout and above its other layers. A
// worktree has its own, see [pawl.Workspaces].
func (c *content) add(r *Rooms, p *preparedLayer) {
	c.prepared = true
	if c.tree == "" {
		c.work = append(c.work, p.work())
	}
	c.homeLayers = append([]Layer{p.home()}, c.homeLayers...)
	cache := []Layer{p.cache()}
	if p.Below != "" {
		below := preparedLayer{dir: filepath.Join(r.trusted(), p.Below)}
		cache = append(cache, below.cache())
	}
	c.cache = append(cache, c.cache...)
}

// Prepare implements [pawl.Rooms]. The trusted cache is not below such a room: what it leaves
// has to be whole whatever is pruned.
func (r *Rooms) Prepare(ctx context.Context, spec pawl.PrepareSpec) (pawl.PrepareRoom, error) {
	dir, err := r.preparedDir(spec.Run, spec.Key, spec.Trusted)
	if err != nil {
		return nil, err
	}
	work, err := r.checkout(spec.Tree)
	if err != nil {
		return nil, err
	}
	below, err := r.empty()
	if err != nil {
		return nil, err
	}
	folder := r.temporary()
	p := &prepareRoom{room: &room{rooms: r, folder: folder, release: func() {}}, spec: spec, to: dir, leave: func() {}}
	c := content{
		name: filepath.Base(folder), work: []Layer{work}, homeLayers: []Layer{below},
		out: WayOut{Rules: spec.Egress, Refused: spec.Refused}, prepared: true, limits: spec.Limits,
	}
	if !spec.Trusted && spec.Below != "" && r.isTrusted(spec.Below) {
		base, leave, err := r.usePrepared(spec.Run, spec.Below, true)
		if err != nil {
			return nil, err
		}
		p.below, p.leave, c.cache = spec.Below, leave, []Layer{base.cache()}
	}
	if err := p.open(ctx, c); err != nil {
		p.leave()
		return nil, fmt.Errorf("open a room to prepare commit %s: %w", spec.Commit, errors.Join(err, p.abandon(), project.RemoveAll(folder)))
	}
	return p, nil
}

// prepareRoom implements [pawl.PrepareRoom].
type prepareRoom struct {
	*room
	spec  pawl.PrepareSpec
	below string // see [manifest]
	leave func() // lets below go
	to    string
}

// Contacts implements [pawl.PrepareRoom].
func (p *prepareRoom) Contacts() []pawl.Contact {
	if p.proxy == nil {
		return nil
	}
	return p.proxy.Traffic()
}

// Close implements [pawl.Room].
func (p *prepareRoom) Close() error {
	defer p.leave()
	return p.room.Close()
}

// Keep implements [pawl.PrepareRoom].
func (p *prepareRoom) Keep() (pawl.PreparedLayer, error) {
	defer p.leave() // until then what is below it must not be pruned
	made, err := p.keep()
	if err != nil {
		err = fmt.Errorf("keep what it left: %w", err)
		return pawl.PreparedLayer{}, errors.Join(err, project.RemoveAll(p.folder))
	}
	if p.spec.Trusted {
		if _, release, err := p.rooms.usePrepared(p.spec.Run, p.spec.Key, true); err == nil { // this one stays
			_, err = p.rooms.prune(p.rooms.cache.limit)
			release()
			return made, err
		}
	}
	return made, nil
}

func (p *prepareRoom) keep() (pawl.PreparedLayer, error) {
	if err := p.shut(); err != nil {
		return pawl.PreparedLayer{}, err
	}
	remove := []string{"given", "work/work", "home/work", "cache/work"}
	if !p.spec.Trusted {
		// Commands of the candidate's own may have run: what they say a package compiles to is
		// not to be believed.
		remove = append(remove, "cache/upper/go-build")
	}
	for _, name := range remove {
		if err := project.RemoveAll(filepath.Join(p.folder, name)); err != nil {
			return pawl.PreparedLayer{}, err
		}
	}
	// Pawl may be an ordinary user, who can read, copy and remove no more than commands can.
	if err := project.OpenUp(p.folder); err != nil {
		return pawl.PreparedLayer{}, err
	}
	m := manifest{Made: time.Now().UTC()}
	if !p.whole {
		m.Below = p.below
	}
	var err error
	work := Upper{filepath.Join(p.folder, workName)}
	if m.Paths, err = sift(work.Files(), p.spec.Tree); err != nil {
		return pawl.PreparedLayer{}, err
	}
	if err = os.Rename(work.Files(), filepath.Join(p.folder, workName, filesName)); err != nil {
		return pawl.PreparedLayer{}, err
	}
	if m.Size, err = diskUsage(p.folder); err != nil {
		return pawl.PreparedLayer{}, err
	}
	content, err := json.Marshal(m)
	if err != nil {
		return pawl.PreparedLayer{}, err
	}
	if err = os.WriteFile(filepath.Join(p.folder, manifestName), content, 0o600); err != nil {
		return pawl.PreparedLayer{}, err
	}
	if p.spec.Trusted { // it outlives the run: a power cut must not leave empty files in it
		if err = project.Flush(p.folder); err != nil {
			return pawl.PreparedLayer{}, err
		}
	}
	return p.place(pawl.PreparedLayer{Key: p.spec.Key, Paths: m.Paths, Size: m.Size})
}

// place makes the room's folder the layer of its key, unless another run was faster. What
// cannot be used any more gives way.
func (p *prepareRoom) place(made pawl.PreparedLayer) (pawl.PreparedLayer, error) {
	r := p.rooms
	r.preparing.Lock()
	defer r.preparing.Unlock()
	there, err := r.preparedIn(p.spec.Run, p.spec.Key, p.spec.Trusted)
	if there != nil {
		return there.public(), project.RemoveAll(p.folder)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.to), 0o700)
	}
	if err == nil {
		err = os.Rename(p.folder, p.to)
	}
	if errors.Is(err, fs.ErrExist) {
		if err = project.RemoveAll(p.to); err == nil {
			err = os.Rename(p.folder, p.to)
		}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok { // whose two paths leave no room for the reason
		err = fmt.Errorf("move it to %s: %w", p.to, e.Err)
	}
	return made, err
}

// sift removes from a folder that was written above a checkout what hides or changes files of
// the checkout, and returns the paths that are left, with slashes: of a folder that the
// checkout does not have, only that folder.
func sift(upper, checkout string) (paths []string, err error) {
	var walk func(rel string) (left bool, err error)
	walk = func(rel string) (bool, error) {
		entries, err := os.ReadDir(filepath.Join(upper, rel))
		if err != nil {
			return false, err
		}
		left := false
		for _, e := range entries {
			name := path.Join(rel, e.Name())
			at := filepath.Join(upper, filepath.FromSlash(name))
			below, err := os.Lstat(filepath.Join(checkout, filepath.FromSlash(name)))
			switch {
			case err == nil && below.IsDir() && e.IsDir():
				more, err := walk(name)
				if err != nil {
					return false, err
				}
				if more {
					left = true
					continue
				}
			case err == nil || name == ".git" || !excludable(name):
			case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
				return false, err
			case e.IsDir() || e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
				if len(paths) == maxPrepared {
					return false, pawl.Errorf(pawl.CodeInvalid, "its commands left more than %d files and folders beside those of the commit", maxPrepared)
				}
				paths, left = append(paths, name), true
				continue
			}
			if err := project.RemoveAll(at); err != nil {
				return false, err
			}
		}
		return left, nil
	}
	_, err = walk("")
	slices.Sort(paths)
	return paths, err
}

// excludable reports whether a line can exclude a path from what git records, and a manifest
// name it.
func excludable(path string) bool {
	return utf8.ValidString(path) && !strings.Contains(path, "\n") && !strings.HasSuffix(path, "\r")
}

// prune removes what was prepared and is not needed, what was not used for longest first, and
// then the oldest layers of the trusted cache, until the rest takes at most the given number
// of bytes.
func (r *Rooms) prune(most int64) (pawl.PruneResult, error) {
	all, err := r.listTrusted()
	if err != nil {
		return pawl.PruneResult{}, err
	}
	layers, err := r.cache.list()
	if err != nil {
		return pawl.PruneResult{}, err
	}
	total := int64(0)
	for _, l := range layers {
		total += l.Size
	}
	for _, p := range all {
		total += p.Size
	}
	removed := []pawl.CacheLayer{}
	prepared := int64(0)
	for _, p := range all { // the one that was used last comes last
		gone := false
		if total > most {
			if gone, err = r.removeTrusted(p); err != nil {
				return pawl.PruneResult{}, err
			}
		}
		if gone {
			total -= p.Size
			removed = append(removed, p.listed(false))
		} else {
			prepared += p.Size
		}
	}
	result, err := r.cache.prune(max(most-prepared, 0))
	result.Removed = append(removed, result.Removed...)
	for _, l := range removed {
		result.Freed += l.Size
	}
	result.Size += prepared
	result.Target = most
	if len(removed) > 0 {
		r.o.Log.Info("removed what was prepared", "layers", len(removed), "limit", most)
	}
	return result, err
}

// listed returns a trusted layer as lists of the cache show it.
func (p *preparedLayer) listed(inUse bool) pawl.CacheLayer {
	return pawl.CacheLayer{Name: "prepared-" + p.key[:12], Made: p.Made, Size: p.Size, InUse: inUse}
}

// listTrusted lists what was prepared for all runs, what was used last coming last.
func (r *Rooms) listTrusted() ([]*preparedLayer, error) {
	names, err := folders(r.trusted())
	if err != nil {
		return nil, err
	}
	var all []*preparedLayer
	used := make(map[string]time.Time)
	for _, name := range names {
		if p, err := readPrepared(filepath.Join(r.trusted(), name)); err == nil && p != nil {
			if info, err := os.Stat(p.dir); err == nil {
				used[name] = info.ModTime()
			}
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *preparedLayer) int { return used[a.key].Compare(used[b.key]) })
	return all, nil
}

// removeTrusted removes what was prepared, unless an open room or a worktree needs it.
func (r *Rooms) removeTrusted(p *preparedLayer) (bool, error) {
	away := filepath.Join(r.folder(), once, "removed-"+p.key)
	r.preparing.Lock()
	var err error
	needed := r.needed()[p.key]
	if !needed {
		if err = os.MkdirAll(filepath.Dir(away), 0o700); err == nil {
			err = os.Rename(p.dir, away)
		}
	}
	r.preparing.Unlock()
	if needed || err != nil {
		return false, err
	}
	return true, project.RemoveAll(away)
}

// needed returns the keys of what open rooms, worktrees and what was prepared for candidates
// need. The caller holds r.preparing.
func (r *Rooms) needed() map[string]bool {
	needed := make(map[string]bool)
	for key := range r.using {
		needed[key] = true
	}
	if r.o.Needed != nil {
		for _, key := range r.o.Needed() {
			needed[key] = true
		}
	}
	runs, _ := folders(r.ofRuns()) // what cannot be listed serves nobody
	for _, run := range runs {
		keys, _ := folders(filepath.Join(r.ofRuns(), run))
		for _, key := range keys {
			if p, err := readPrepared(filepath.Join(r.ofRuns(), run, key)); err == nil && p != nil {
				needed[p.Below] = true
			}
		}
	}
	return needed
}

// recoverPrepared removes what an earlier version left, and what has no manifest that can be
// read.
func (r *Rooms) recoverPrepared() error {
	names, err := folders(r.trusted())
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if !r.isTrusted(name) {
			errs = append(errs, project.RemoveAll(filepath.Join(r.trusted(), name)))
		}
	}
	return errors.Join(errs...)
}
