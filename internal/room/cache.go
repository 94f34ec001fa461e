package room

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"pawl/internal/project"
)

// maxLayers is how many layers the trusted cache may have before they are joined
// into one. Each lookup of a file looks through all of them.
const maxLayers = 12

// Cache is a project's trusted cache: what toolchains keep, such as compiled
// packages and downloaded archives. It grows by layers, of base rooms alone, and a
// layer never changes.
type Cache struct {
	dir string

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

// OpenCache is the cache in a folder, which need not be there.
func OpenCache(dir string) *Cache { return &Cache{dir: dir, used: make(map[string]int)} }

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
	for _, l := range c.state.Layers {
		if info, err := os.Stat(c.layer(l.Name).dir); err != nil || !info.IsDir() {
			c.state.Layers = nil // the layers above it make no sense without it
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

// grow puts what a base room wrote above the layers of the generation it had, and
// reports whether it did: nothing grows that wrote nothing, or that has grown
// meanwhile. The folder, with upper and work in it, must not be mounted any more.
// whole reports that it has all of those layers in it, which then are dropped.
func (c *Cache) grow(from int, folder string, whole bool) (grown bool, err error) {
	entries, err := os.ReadDir(filepath.Join(folder, "upper"))
	if err != nil || len(entries) == 0 {
		return false, err
	}
	if err := project.RemoveAll(filepath.Join(folder, "work")); err != nil {
		return false, err
	}
	size, err := diskUsage(folder)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil || c.state.Generation != from {
		return false, err
	}
	next := cacheState{Generation: from + 1}
	layer := cacheLayer{Name: strconv.Itoa(next.Generation), Made: time.Now().UTC(), Size: size}
	next.Layers = []cacheLayer{layer}
	if !whole {
		next.Layers = append(next.Layers, c.state.Layers...)
	}
	to := filepath.Join(c.dir, layer.Name)
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return false, fmt.Errorf("grow the cache: %w", err)
	}
	if err := project.RemoveAll(to); err != nil { // of a process that died before it wrote the file
		return false, err
	}
	if err := os.Rename(folder, to); err != nil {
		return false, fmt.Errorf("grow the cache: %w", err)
	}
	if len(next.Layers) > maxLayers {
		if next, err = c.joined(next); err != nil {
			return false, err
		}
	}
	if err := c.write(next); err != nil {
		return false, err
	}
	return true, nil
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

// sweep removes the folders that no layer is in: of a process that died.
func (c *Cache) sweep() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return err
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clean the cache up: %w", err)
	}
	known := make(map[string]bool)
	for _, l := range c.state.Layers {
		known[l.Name] = true
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() && !known[e.Name()] && c.used[e.Name()] == 0 {
			errs = append(errs, project.RemoveAll(filepath.Join(c.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
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
