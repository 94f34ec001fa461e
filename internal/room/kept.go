package room

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/project"
)

var _ pawl.Caches = (*Rooms)(nil)

// Cache implements [pawl.Caches]. It only reads, and needs no Enforcer. In a process that
// does not have the project no layer appears to be in use.
func (r *Rooms) Cache(ctx context.Context) (pawl.CacheInfo, error) {
	layers, err := r.cache.list()
	if err != nil {
		return pawl.CacheInfo{}, err
	}
	info := pawl.CacheInfo{Limit: r.cache.limit, Layers: layers, Rooms: []pawl.KeptRoom{}}
	all, err := r.listTrusted()
	if err != nil {
		return info, err
	}
	r.preparing.Lock()
	needed := r.needed()
	r.preparing.Unlock()
	for _, p := range all {
		info.Layers = append(info.Layers, p.listed(needed[p.key]))
	}
	slices.SortStableFunc(info.Layers, func(a, b pawl.CacheLayer) int { return b.Made.Compare(a.Made) })
	for _, l := range info.Layers {
		info.Size += l.Size
	}
	files := project.MaxMeasured
	runs, err := folders(filepath.Join(r.folder(), "agents"))
	if err != nil {
		return info, err
	}
	for _, run := range runs {
		names, err := folders(filepath.Join(r.folder(), "agents", run))
		if err != nil {
			return info, err
		}
		for _, name := range names {
			k := pawl.KeptRoom{Kind: pawl.RoomAgent, Run: pawl.RunID(run), Name: strings.ReplaceAll(name, "@", "/")}
			k.Size, k.Partial = project.Measure(ctx, filepath.Join(r.folder(), "agents", run, name), &files)
			info.Rooms = append(info.Rooms, k)
		}
	}
	if runs, err = folders(r.ofRuns()); err != nil {
		return info, err
	}
	for _, run := range runs {
		keys, err := folders(filepath.Join(r.ofRuns(), run))
		if err != nil {
			return info, err
		}
		for _, key := range keys {
			k := pawl.KeptRoom{Kind: pawl.RoomPrepared, Run: pawl.RunID(run), Name: key}
			k.Size, k.Partial = project.Measure(ctx, filepath.Join(r.ofRuns(), run, key), &files)
			info.Rooms = append(info.Rooms, k)
		}
	}
	return info, ctx.Err()
}

// PruneCache implements [pawl.Caches].
func (r *Rooms) PruneCache(_ context.Context, req pawl.PruneRequest) (pawl.PruneResult, error) {
	most := r.cache.limit
	if req.Size != nil {
		most = *req.Size
	}
	if most < 0 {
		return pawl.PruneResult{}, pawl.Errorf(pawl.CodeInvalid, "size %d: want the number of bytes that may stay, 0 or more", most)
	}
	return r.prune(most)
}

// folders returns the names of the folders in a folder, which need not exist.
func folders(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list what rooms keep: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// DiskSize is [project.DiskSize], for those who enforce rooms.
func DiskSize(info fs.FileInfo) int64 { return project.DiskSize(info) }
