package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pawl"
)

// Survey is what there is on disk of a project's runs.
type Survey struct {
	Runs      map[pawl.RunID]RunRemains
	Worktrees []Worktree
	Rooms     []pawl.KeptRoom
	// Blobs counts the files of blobs that no event names, and BlobsSize is what they take;
	// LogFree is what of the log's file nothing uses, and CacheOver what of the trusted cache is
	// above its limit. Sizes are in bytes.
	Blobs                         int
	BlobsSize, LogFree, CacheOver int64
	// LogProblem is why the log could not be measured; empty = it was.
	LogProblem string
	Use        []pawl.DiskUse
}

// RunRemains is what there is of one run.
type RunRemains struct {
	// Refs counts its branches, and its refs but those that keep what was set aside.
	Refs int
	// Log is what its log takes, and Aside what was set aside and git cannot keep, in bytes.
	Log, Aside int64
}

// Worktree is a worktree that is on disk.
type Worktree struct {
	Name    string
	Run     pawl.RunID
	Size    int64 // bytes
	Partial bool  // Size is the least it can be
}

// junk is one thing that nobody needs, and how it is removed: freed is how many bytes that
// freed, where that is not what was expected.
type junk struct {
	pawl.GarbageItem
	remove func(ctx context.Context) (freed int64, err error)
}

// Garbage implements [pawl.Deletions].
func (e *Engine) Garbage(ctx context.Context) (pawl.Garbage, error) {
	all, out, err := e.garbage(ctx)
	for _, j := range all {
		out.Items = append(out.Items, j.GarbageItem)
		out.Freed += j.Size
	}
	return out, err
}

// CollectGarbage implements [pawl.Deletions]. One thing that cannot be removed keeps no
// other from it.
func (e *Engine) CollectGarbage(ctx context.Context) (pawl.Garbage, error) {
	if _, _, err := e.deleter(); err != nil {
		return pawl.Garbage{}, err
	}
	e.starting.Lock() // what is nobody's stays so
	defer e.starting.Unlock()
	all, out, err := e.garbage(ctx)
	if err != nil {
		return out, err
	}
	for _, j := range all {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		freed, err := j.remove(context.WithoutCancel(ctx))
		j.Size = freed
		if err != nil {
			j.Problem = err.Error()
		}
		out.Freed += j.Size
		out.Items = append(out.Items, j.GarbageItem)
	}
	// What erased runs have left in the log's file is only known now.
	freed, err := e.c.Remains.CompactLog(context.WithoutCancel(ctx))
	if freed > 0 || err != nil {
		item := pawl.GarbageItem{Kind: pawl.GarbageLog, Name: "space in the log's file that nothing used", Size: freed}
		if err != nil {
			item.Problem = err.Error()
		}
		out.Items = append(out.Items, item)
		out.Freed += freed
	}
	left, err := e.c.Remains.Survey(ctx)
	out.Use, out.Used = used(left)
	return out, err
}

// garbage finds what nobody needs. Its answer has no items yet.
func (e *Engine) garbage(ctx context.Context) ([]junk, pawl.Garbage, error) {
	out := pawl.Garbage{Items: []pawl.GarbageItem{}, Waiting: []pawl.DeletedRun{}, Use: []pawl.DiskUse{}}
	_, remains, err := e.deleter()
	if err != nil {
		return nil, out, err
	}
	found, err := remains.Survey(ctx)
	if err != nil {
		return nil, out, err
	}
	stones, err := e.DeletedRuns(ctx)
	if err != nil {
		return nil, out, err
	}
	runs, err := e.Runs(ctx)
	if err != nil {
		return nil, out, err
	}
	unfinished := map[pawl.RunID]bool{}
	for _, r := range runs {
		unfinished[r.ID] = !atRest(r) || e.Driven(r.ID)
	}
	out.Use, out.Used = used(found)
	var all []junk
	for _, t := range stones {
		all = append(all, e.ofDeleted(t, found, &out)...)
	}
	for _, w := range found.Worktrees {
		if !unfinished[w.Run] {
			all = append(all, e.worktree(w))
		}
	}
	all = append(all, e.rooms(found.Rooms, unfinished)...)
	return append(all, e.stored(found)...), out, nil
}

// ofDeleted is the garbage that a deleted run has left, or its line among those that wait.
func (e *Engine) ofDeleted(t pawl.Tombstone, found Survey, out *pawl.Garbage) (all []junk) {
	id := t.Run.ID
	of := found.Runs[id]
	if of.Refs > 0 { // its deletion was cut off
		all = append(all, junk{pawl.GarbageItem{Kind: pawl.GarbageRefs, Run: id, Name: fmt.Sprintf("what its deletion left in the repository: %s", counted(of.Refs, "ref"))},
			func(ctx context.Context) (int64, error) {
				r := Removal{Run: id, Partial: true, Made: map[pawl.CommitHash]bool{}}
				if !t.Erased {
					var err error
					if r.Made, r.Partial, err = e.made(ctx, id); err != nil {
						return 0, err
					}
				}
				_, err := e.remove(ctx, r)
				return 0, err
			}})
	}
	switch size := of.Log + of.Aside; {
	case t.Erased:
	case e.now().Before(t.Until()):
		out.Waiting = append(out.Waiting, pawl.DeletedRun{Run: id, Deleted: t.Deleted, Until: t.Until(), Size: size})
	default:
		all = append(all, junk{pawl.GarbageItem{Kind: pawl.GarbageRun, Run: id, Size: size, Name: "deleted on " + t.Deleted.Format(time.DateOnly)},
			func(ctx context.Context) (int64, error) { return ifDone(size, e.erase(ctx, id)) }})
	}
	return all
}

func (e *Engine) worktree(w Worktree) junk {
	return junk{pawl.GarbageItem{Kind: pawl.GarbageWorktree, Run: w.Run, Name: w.Name, Size: w.Size, Partial: w.Partial},
		func(ctx context.Context) (int64, error) {
			return ifDone(w.Size, e.c.Remains.CloseWorktree(ctx, w.Name, w.Run))
		}}
}

// rooms are what rooms keep of runs that will not use it, one item a run.
func (e *Engine) rooms(kept []pawl.KeptRoom, unfinished map[pawl.RunID]bool) (all []junk) {
	of := map[pawl.RunID]*pawl.GarbageItem{}
	for _, k := range kept {
		if k.Run == "" || unfinished[k.Run] {
			continue
		}
		i := of[k.Run]
		if i == nil {
			i = &pawl.GarbageItem{Kind: pawl.GarbageRoom, Run: k.Run, Name: "what its rooms keep"}
			of[k.Run] = i
		}
		i.Size, i.Partial = i.Size+k.Size, i.Partial || k.Partial
	}
	for _, run := range slices.Sorted(maps.Keys(of)) {
		item := *of[run]
		all = append(all, junk{item, func(context.Context) (int64, error) {
			if e.c.Clean == nil {
				return 0, nil
			}
			return ifDone(item.Size, e.c.Clean(item.Run))
		}})
	}
	return all
}

// stored are what nobody needs of the log's files and of the trusted cache.
func (e *Engine) stored(found Survey) (all []junk) {
	if found.LogProblem != "" {
		all = append(all, junk{pawl.GarbageItem{Kind: pawl.GarbageLog, Name: "the log", Problem: found.LogProblem},
			func(context.Context) (int64, error) { return 0, pawl.Errorf(pawl.CodeDamaged, "%s", found.LogProblem) }})
	}
	if found.Blobs > 0 {
		all = append(all, junk{pawl.GarbageItem{Kind: pawl.GarbageBlobs, Name: counted(found.Blobs, "file") + " that no run names", Size: found.BlobsSize},
			e.c.Remains.SweepBlobs})
	}
	if found.CacheOver > 0 {
		all = append(all, junk{pawl.GarbageItem{Kind: pawl.GarbageCache, Name: "layers of the trusted cache above its limit", Size: found.CacheOver},
			e.c.Remains.PruneCache})
	}
	if found.LogFree > 0 {
		all = append(all, junk{pawl.GarbageItem{Kind: pawl.GarbageLog, Name: "space in the log's file that nothing uses", Size: found.LogFree},
			e.c.Remains.CompactLog})
	}
	return all
}

// ifDone is what the removal of something freed: nothing if it failed.
func ifDone(size int64, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return size, nil
}

// used sorts what everything takes, the most first, and adds it up.
func used(found Survey) (all []pawl.DiskUse, sum int64) {
	all = []pawl.DiskUse{}
	for _, u := range found.Use {
		if sum += u.Size; u.Size > 0 {
			all = append(all, u)
		}
	}
	slices.SortStableFunc(all, func(a, b pawl.DiskUse) int { return cmp.Compare(b.Size, a.Size) })
	return all, sum
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
