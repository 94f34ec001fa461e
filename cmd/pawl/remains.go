package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/document/loopfolder"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/room"
	"pawl/internal/store/sqlite"
	"pawl/internal/workspace/gitworktree"
)

// remains is what there is of a project's runs beside their events, for the engine that
// deletes runs. It implements [engine.Remains].
type remains struct {
	project project.Project
	spaces  *gitworktree.Workspaces
	rooms   *room.Rooms
	folders *loopfolder.Keeper
	log     *sqlite.Log
}

func made(r engine.Removal) gitworktree.Made {
	return gitworktree.Made{Commits: r.Made, Partial: r.Partial}
}

// Look implements [engine.Remains].
func (m remains) Look(ctx context.Context, r engine.Removal) error {
	_, err := m.spaces.Look(ctx, r.Run, made(r), r.Force)
	return err
}

// Remove implements [engine.Remains].
func (m remains) Remove(ctx context.Context, r engine.Removal) (pawl.Deletion, error) {
	found, err := m.spaces.Remove(ctx, r.Run, made(r), r.Force)
	out := pawl.Deletion{Branches: []pawl.DeletedBranch{}, Refs: len(found.Refs), Worktrees: append([]string{}, found.Worktrees...), Kept: []string{}, Foreign: found.Foreign}
	for _, b := range found.Branches {
		out.Branches = append(out.Branches, pawl.DeletedBranch{Name: strings.TrimPrefix(b.Name, "refs/heads/"), Head: b.Commit})
	}
	for _, ref := range found.Salvage {
		out.Kept = append(out.Kept, ref.Name)
	}
	return out, errors.Join(err, m.folders.Remove(ctx, r.Run))
}

// Erase implements [engine.Remains].
func (m remains) Erase(ctx context.Context, run pawl.RunID) error {
	return errors.Join(m.spaces.Erase(ctx, run), m.folders.Remove(ctx, run))
}

// CloseWorktree implements [engine.Remains].
func (m remains) CloseWorktree(ctx context.Context, name string, run pawl.RunID) error {
	_, err := m.spaces.Close(ctx, name, gitworktree.SalvageOf(run, name))
	return err
}

// SweepBlobs implements [engine.Remains].
func (m remains) SweepBlobs(ctx context.Context) (int64, error) { return m.log.Sweep(ctx) }

// CompactLog implements [engine.Remains].
func (m remains) CompactLog(ctx context.Context) (int64, error) { return m.log.Compact(ctx) }

// PruneCache implements [engine.Remains].
func (m remains) PruneCache(ctx context.Context) (int64, error) {
	r, err := m.rooms.PruneCache(ctx, pawl.PruneRequest{})
	return r.Freed, err
}

// Survey implements [engine.Remains].
func (m remains) Survey(ctx context.Context) (engine.Survey, error) {
	out := engine.Survey{Runs: map[pawl.RunID]engine.RunRemains{}}
	all, err := m.spaces.Remains(ctx)
	if err != nil {
		return out, err
	}
	files := project.MaxMeasured
	for run, r := range all {
		out.Runs[run] = engine.RunRemains{Refs: len(r.Branches) + len(r.Refs)}
		for _, name := range r.Worktrees {
			w := engine.Worktree{Name: name, Run: run}
			w.Size, w.Partial = m.spaces.MeasureWorktree(ctx, name, &files)
			out.Worktrees = append(out.Worktrees, w)
		}
	}
	usage, err := m.log.Usage(ctx)
	if err != nil {
		out.LogProblem = err.Error()
	}
	for run, size := range usage.Runs {
		r := out.Runs[run]
		r.Log = size
		if r.Aside, _, err = m.spaces.MeasureAside(ctx, run, &files); err != nil {
			return out, err
		}
		out.Runs[run] = r
	}
	out.Blobs, out.BlobsSize, out.LogFree = usage.Unnamed, usage.UnnamedSize, usage.Free
	cache, err := m.rooms.Cache(ctx)
	if err != nil {
		return out, err
	}
	out.Rooms, out.CacheOver = cache.Rooms, max(0, cache.Size-cache.Limit)
	out.Use, err = m.use(ctx)
	return out, err
}

// uses say what the files and folders of a state folder are for. What is in none of them is
// called other.
var uses = []struct{ name, paths string }{
	{"log", "pawl.db pawl.db-wal pawl.db-shm pawl.slots blobs snapshots"},
	{"worktrees", "worktrees layered git engine"},
	{"files of commits", "trees objects checkouts"},
	{"rooms", "rooms homes"},
	{"what was prepared", "layers"},
	{"trusted cache", "cache"},
	{"folders of loops", "loops archive"},
	{"set aside", "quarantine"},
}

// use measures the state folder.
func (m remains) use(ctx context.Context) ([]pawl.DiskUse, error) {
	entries, err := os.ReadDir(m.project.Dir)
	if err != nil {
		return nil, fmt.Errorf("measure the state folder: %w", err)
	}
	of := map[string]string{}
	for _, u := range uses {
		for path := range strings.FieldsSeq(u.paths) {
			of[path] = u.name
		}
	}
	const other = "other"
	sizes := map[string]*pawl.DiskUse{other: {Name: other}}
	left := map[string]*int{}
	for _, e := range entries {
		name := of[e.Name()]
		if name == "" {
			name = other
		}
		if sizes[name] == nil {
			sizes[name] = &pawl.DiskUse{Name: name}
		}
		if left[name] == nil {
			n := project.MaxMeasured
			left[name] = &n
		}
		size, partial := project.Measure(ctx, filepath.Join(m.project.Dir, e.Name()), left[name])
		sizes[name].Size += size
		sizes[name].Partial = sizes[name].Partial || partial
	}
	var all []pawl.DiskUse
	for _, u := range uses {
		if s := sizes[u.name]; s != nil {
			all = append(all, *s)
		}
	}
	return append(all, *sizes[other]), ctx.Err()
}
