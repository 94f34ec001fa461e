package room

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/project"
)

// maxLayers is how many layers the trusted cache may have before they are joined
// into one. Each lookup of a file looks through all of them.
const maxLayers = 12

// Cache is a project's trusted cache: what toolchains keep, such as compiled
// packages and downloaded archives. It grows by layers, of base rooms alone, and a
// layer never changes.
//
// If it exceeds its limit, its oldest layers are removed, and no others: rooms then see
// fewer files than before, but nothing that a newer layer replaced or deleted comes back.
// A whiteout or an opaque folder that hides nothing any more has no effect: overlayfs does
// not list it, since the folder it is in was copied up. What tools keep in several layers may lose its
// older part, as it does in any cache that is cleaned by age.
type Cache struct {
	dir   string
	limit int64 // bytes
	log   *slog.Logger

	mu    sync.Mutex // guards what follows
	state cacheState
	read  bool
	used  map[string]int // open rooms by the layer they have
}

// cacheState is what cache.json holds.
type cacheState struct {
	// Generation counts the times the cache has grown.
	Generation int          `json:"generation"`
	Layers     []cacheLayer `json:"layers"` // the strongest first
}

// cacheLayer is one layer of the cache, a folder of its own.
type cacheLayer struct {
	Name string    `json:"name"`
	Made time.Time `json:"made"`
	Size int64     `json:"size"` // bytes on disk when it was made
}

// public is the layer as it is listed.
func (l cacheLayer) public(inUse bool) pawl.CacheLayer {
	return pawl.CacheLayer{Name: l.Name, Made: l.Made, Size: l.Size, InUse: inUse}
}

// OpenCache returns the cache in a folder, which need not exist. Above the limit, in
// bytes, it is pruned.
func OpenCache(dir string, limit int64, log *slog.Logger) *Cache {
	return &Cache{dir: dir, limit: limit, log: log, used: make(map[string]int)}
}

// load reads the cache's state once. A file that cannot be read means an empty
// cache: nothing is lost but time.
func (c *Cache) load() error {
	if c.read {
		return nil
	}
	content, err := os.ReadFile(c.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the cache: %w", err)
	}
	var state cacheState
	if json.Unmarshal(content, &state) == nil {
		c.state = state
	}
	for i, l := range c.state.Layers {
		if info, err := os.Stat(c.layer(l.Name).dir); err != nil || !info.IsDir() {
			c.state.Layers = c.state.Layers[:i] // what it hid of older layers would come back
			break
		}
	}
	c.read = true
	return nil
}

func (c *Cache) file() string { return filepath.Join(c.dir, "cache.json") }

// layer is the layer of a name, which only this package gives.
func (c *Cache) layer(name string) Layer { return Layer{filepath.Join(c.dir, name, "upper")} }

// Generation is how often the cache has grown.
func (c *Cache) Generation() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.load() // then it is zero, and nothing grows on it
	return c.state.Generation
}

// use returns the cache's layers, the strongest first. They stay until release is
// called.
func (c *Cache) use() (layers []Layer, release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return nil, nil, err
	}
	var names []string
	for _, l := range c.state.Layers {
		layers = append(layers, c.layer(l.Name))
		names = append(names, l.Name)
		c.used[l.Name]++
	}
	return layers, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, name := range names {
			if c.used[name]--; c.used[name] == 0 {
				delete(c.used, name)
			}
		}
	}), nil
}

// grow adds what a base room wrote as a layer above those of the generation that the room
// had. It does nothing if the room wrote nothing, or if the cache has grown meanwhile. The
// folder, which has upper and work in it, must not be mounted any more. whole reports that
// it holds copies of all those layers, which are then dropped.
func (c *Cache) grow(from int, folder string, whole bool) error {
	entries, err := os.ReadDir(filepath.Join(folder, "upper"))
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := project.RemoveAll(filepath.Join(folder, "work")); err != nil {
		return err
	}
	size, err := diskUsage(folder)
	if err != nil {
		return err
	}
	_, err = c.update(c.limit, func(now cacheState) (cacheState, error) {
		if now.Generation != from {
			return now, nil
		}
		next := cacheState{Generation: from + 1}
		layer := cacheLayer{Name: strconv.Itoa(next.Generation), Made: time.Now().UTC(), Size: size}
		next.Layers = []cacheLayer{layer}
		if !whole {
			next.Layers = append(next.Layers, now.Layers...)
		}
		to := filepath.Join(c.dir, layer.Name)
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return now, fmt.Errorf("grow the cache: %w", err)
		}
		if err := project.RemoveAll(to); err != nil { // of a process that died before it wrote the file
			return now, err
		}
		if err := os.Rename(folder, to); err != nil {
			return now, fmt.Errorf("grow the cache: %w", err)
		}
		return next, nil
	})
	return err
}

// prune removes the oldest layers until the others take at most the given number of bytes,
// and the folders that a process that died left.
func (c *Cache) prune(most int64) (pawl.PruneResult, error) {
	return c.update(most, func(now cacheState) (cacheState, error) { return now, nil })
}

// update replaces the state with what next returns, without the oldest layers if together
// they take more than most bytes, and removes the folders that no longer belong to a layer
// or an open room.
//
// A layer never changes, so one that exceeds the limit by itself, perhaps because it was
// joined or copied from all older ones, is removed whole: the cache starts anew with what
// later base rooms write.
func (c *Cache) update(most int64, next func(cacheState) (cacheState, error)) (pawl.PruneResult, error) {
	c.mu.Lock()
	removed, err := c.change(most, next)
	folders, moveErr := c.takeOut()
	left := c.state.Layers
	c.mu.Unlock()
	err = errors.Join(err, moveErr)
	for _, folder := range folders { // without the mutex, so that rooms can be opened
		err = errors.Join(err, project.RemoveAll(folder))
	}
	result := pawl.PruneResult{Removed: []pawl.CacheLayer{}, Freed: bytesOf(removed), Size: bytesOf(left), Target: most}
	var names []string
	for _, l := range removed {
		result.Removed = append(result.Removed, l.public(false))
		names = append(names, l.Name)
	}
	if len(removed) > 0 {
		c.log.Info("removed layers of the trusted cache", "layers", names, "bytes", result.Freed, "left", result.Size, "limit", most)
	}
	return result, err
}

// change replaces the state and returns the layers that it removed to save space. It writes
// the state before it touches a folder, so that the state never names a layer that is
// gone. The caller holds the mutex.
func (c *Cache) change(most int64, next func(cacheState) (cacheState, error)) (removed []cacheLayer, err error) {
	if err := c.load(); err != nil {
		return nil, err
	}
	state, err := next(c.state)
	if err != nil {
		return nil, err
	}
	n := c.fit(state.Layers, most)
	state.Layers, removed = state.Layers[:n:n], state.Layers[n:]
	if state.Generation == c.state.Generation && len(removed) == 0 {
		return nil, nil
	}
	if len(state.Layers) > maxLayers {
		if state, err = c.joined(state); err != nil {
			return nil, err
		}
	}
	if err := c.write(state); err != nil {
		return nil, err
	}
	return removed, nil
}

// fit returns how many of the newest layers remain when the oldest are removed until the
// rest take at most the given number of bytes. It keeps a layer that an open room uses and
// all newer ones: without a newer layer, what that hides in older ones would come back.
func (c *Cache) fit(layers []cacheLayer, most int64) int {
	n := len(layers)
	for n > 0 && bytesOf(layers[:n]) > most && c.used[layers[n-1].Name] == 0 {
		n--
	}
	return n
}

// removedPrefix begins the names of folders that are about to be removed.
const removedPrefix = "removed-"

// takeOut renames the folders that belong to no layer and no open room, and returns them:
// those of layers that were removed or joined, and those that a process that died left.
// Nothing uses them under their new names, whereas a later layer may get one of the old
// names. The caller holds the mutex.
func (c *Cache) takeOut() (folders []string, err error) {
	if !c.read {
		return nil, nil // nobody knows the layers
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clean the cache up: %w", err)
	}
	known := make(map[string]bool)
	for _, l := range c.state.Layers {
		known[l.Name] = true
	}
	for _, e := range entries {
		if !e.IsDir() || known[e.Name()] || c.used[e.Name()] > 0 {
			continue
		}
		folder := filepath.Join(c.dir, e.Name())
		if !strings.HasPrefix(e.Name(), removedPrefix) {
			to := filepath.Join(c.dir, removedPrefix+e.Name()+"-"+strconv.FormatInt(time.Now().UnixNano(), 10))
			if err := os.Rename(folder, to); err != nil {
				return folders, fmt.Errorf("clean the cache up: %w", err)
			}
			folder = to
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

// list returns the cache's layers, the newest first.
func (c *Cache) list() ([]pawl.CacheLayer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return nil, err
	}
	out := []pawl.CacheLayer{}
	for _, l := range c.state.Layers {
		out = append(out, l.public(c.used[l.Name] > 0))
	}
	return out, nil
}

// bytesOf returns how many bytes layers take.
func bytesOf(layers []cacheLayer) (bytes int64) {
	for _, l := range layers {
		bytes += l.Size
	}
	return bytes
}

// joined is a state with all its layers in one.
func (c *Cache) joined(state cacheState) (cacheState, error) {
	name := strconv.Itoa(state.Generation) + "-joined"
	to := filepath.Join(c.dir, name)
	if err := project.RemoveAll(to); err != nil {
		return cacheState{}, err
	}
	var layers []Layer
	for _, l := range state.Layers {
		layers = append(layers, c.layer(l.Name))
	}
	if err := os.MkdirAll(c.layer(name).dir, 0o755); err != nil {
		return cacheState{}, fmt.Errorf("join the cache's layers: %w", err)
	}
	if err := flatten(layers, c.layer(name).dir); err != nil {
		return cacheState{}, err
	}
	size, err := diskUsage(to)
	return cacheState{state.Generation, []cacheLayer{{name, state.Layers[0].Made, size}}}, err
}

// write makes a state the cache's.
func (c *Cache) write(next cacheState) error {
	content, err := json.MarshalIndent(next, "", "  ")
	if err == nil {
		err = os.WriteFile(c.file()+".new", append(content, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(c.file()+".new", c.file())
	}
	if err != nil {
		return fmt.Errorf("write the cache's state: %w", err)
	}
	c.state = next
	return nil
}

// diskUsage is how many bytes the files below a folder take on disk, as far as they
// can be looked at.
func diskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total += DiskSize(info)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return total, nil
}
