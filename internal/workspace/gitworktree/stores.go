package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/git"
)

// Bounds of the object stores.
const (
	maxStoreSize  = 512 << 20   // bytes that the packs of a store may have
	maxStoreTime  = time.Minute // to build a store
	shallowStore  = 500         // commits in a store when the whole history exceeds these limits
	keptStores    = 8           // stores that are kept although nothing uses them
	maxBorrowing  = 3           // stores from which a store borrows, each from the next; git follows five
	searchedFirst = 100         // commits among which a store is looked for, then
	searchedLast  = 10_000
)

// errTooMuch means that a store exceeds its limits.
var errTooMuch = errors.New("too much history")

// stores keeps the object stores, one per base commit, in <state>/objects. A store
// is a folder of objects as git has it: those that its base commit reaches, and the
// tag objects that point to these. It never changes once it has its name.
//
// A store may borrow from that of an ancestor. Besides objects it has up to three
// files: "packed-refs" lists the tags there were when it was built, and "shallow" the
// commits whose parents are missing, both as git has them; "note" is a sentence for
// the user when history was left out because of the limits.
type stores struct {
	s     *Workspaces
	size  int64         // limits
	time  time.Duration //
	depth int           //
	keep  int           //

	turn chan struct{} // holds a token while a store is built

	mu   sync.Mutex
	held map[string]int // users of a store, by its base commit, besides worktrees
}

func newStores(s *Workspaces) *stores {
	return &stores{
		s: s, size: maxStoreSize, time: maxStoreTime, depth: shallowStore, keep: keptStores,
		turn: make(chan struct{}, 1), held: map[string]int{},
	}
}

// folder is where all stores are.
func (o *stores) folder() string { return filepath.Join(o.s.state, "objects") }

func (o *stores) dir(base string) string { return filepath.Join(o.folder(), base) }

// of returns the store of a commit, built if there is none yet, and holds it:
// it is not pruned until release is called.
func (o *stores) of(ctx context.Context, base string) (release func(), err error) {
	if release := o.hold(base); release != nil {
		return release, nil
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if release := o.hold(base); release != nil { // somebody built it while we waited
		return release, nil
	}
	if err := o.build(ctx, base); err != nil {
		return nil, explain("copy the history of "+base, err)
	}
	if release = o.hold(base); release == nil {
		return nil, fmt.Errorf("copy the history of %s: somebody removed %s", base, o.dir(base))
	}
	if err := o.prune(); err != nil {
		o.s.log.WarnContext(ctx, "stores of objects could not be pruned", "error", err)
	}
	return release, nil
}

// near is of for a commit that may do with the store of a near ancestor. It
// returns that store's base.
func (o *stores) near(ctx context.Context, commit string) (base string, release func(), err error) {
	if base, err = o.ancestor(ctx, commit, o.exists); err != nil {
		return "", nil, err
	}
	if base != "" {
		if release := o.hold(base); release != nil {
			return base, release, nil
		}
	}
	release, err = o.of(ctx, commit)
	return commit, release, err
}

// hold returns nil when there is no such store.
func (o *stores) hold(base string) (release func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.exists(base) {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(o.dir(base), now, now) // what was used last is pruned last
	o.held[base]++
	return sync.OnceFunc(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.held[base]--; o.held[base] == 0 {
			delete(o.held, base)
		}
	})
}

// exists reports whether there is a store of a commit whose lenders are there too.
func (o *stores) exists(base string) bool {
	for _, dir := range append(lenders(o.dir(base)), o.dir(base)) {
		if info, err := os.Lstat(filepath.Join(dir, "pack")); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// lenders are the folders of objects that one borrows from, directly or not.
func lenders(dir string) []string {
	var found []string
	for next := []string{dir}; len(next) > 0; next = next[1:] {
		for line := range strings.Lines(readPlain(filepath.Join(next[0], "info", "alternates"))) {
			line = strings.TrimSuffix(line, "\n")
			if !slices.Contains(found, line) {
				found, next = append(found, line), append(next, line)
			}
		}
	}
	return found
}

// ancestor is the base of a store that suits, nearest to the commit, which is one
// itself; empty when there is none.
func (o *stores) ancestor(ctx context.Context, commit string, suits func(base string) bool) (string, error) {
	if suits(commit) {
		return commit, nil
	}
	entries, err := os.ReadDir(o.folder())
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return "", nil
	}
	for _, limit := range []int{searchedFirst, searchedLast} {
		commits, err := o.s.engine.Reachable(ctx, commit, limit)
		if err != nil {
			return "", err
		}
		if at := slices.IndexFunc(commits, suits); at >= 0 || len(commits) < limit {
			if at < 0 {
				return "", nil
			}
			return commits[at], nil
		}
	}
	return "", nil
}

// lends reports whether a new store may borrow from that of a commit.
func (o *stores) lends(base string) bool {
	return o.exists(base) && !exists(filepath.Join(o.dir(base), "shallow")) && len(lenders(o.dir(base))) < maxBorrowing
}

// build makes the store of a commit under a temporary name, so that a crash
// leaves only what Recover removes.
func (o *stores) build(ctx context.Context, base string) error {
	lender, err := o.ancestor(ctx, base, o.lends)
	if err != nil {
		return err
	}
	var dir string
	var why error
	for _, depth := range []int{0, o.depth, 1} {
		if dir, err = o.fill(ctx, base, lender, depth, why); err == nil {
			break
		}
		if dir != "" {
			_ = removeAll(dir)
		}
		if ctx.Err() != nil || depth == 1 {
			return err
		}
		why = err
		o.s.log.WarnContext(ctx, "commands will not see all history", "commit", base, "because", err)
	}
	if err := removeAll(o.dir(base)); err != nil { // its lender is gone
		return err
	}
	if err := os.MkdirAll(o.folder(), 0o755); err != nil {
		return err
	}
	return os.Rename(dir, o.dir(base))
}

// fill makes the folder of a store. A depth other than 0 is the number of commits
// in it, and why is the reason; it borrows nothing then. A single commit has no limits.
func (o *stores) fill(ctx context.Context, base, lender string, depth int, why error) (dir string, err error) {
	packing, tags, files := git.Packing{Want: []string{base}}, o.s.tags(ctx, base), map[string]string{}
	known, lends := "", ""
	if depth > 0 {
		var within map[string]bool
		if within, packing.Shallow, err = o.s.latest(ctx, base, depth); err != nil {
			return "", err
		}
		tags = slices.DeleteFunc(tags, func(t git.Tag) bool { return !within[t.Commit] })
		files["note"] = o.explain(len(within), why)
	} else if lender != "" {
		packing.Have, lends = []string{lender}, o.dir(lender)+"\n"
		known = tagsIn(o.dir(lender))
	}
	packing.Want = append(packing.Want, unknown(tags, known)...)
	if dir, err = o.s.newObjects(); err != nil {
		return dir, err
	}
	if err := o.copy(ctx, dir, packing, depth == 1); err != nil {
		return dir, err
	}
	if err := os.WriteFile(filepath.Join(dir, "info", "alternates"), []byte(lends), 0o644); err != nil {
		return dir, err
	}
	shallow := packing.Shallow
	if depth == 0 {
		if shallow, err = o.s.ends(ctx, dir); err != nil {
			return dir, err
		}
	}
	files["packed-refs"], files["shallow"] = packedRefs(tags), lineEach(shallow)
	for name, content := range files {
		if content != "" {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		}
	}
	return dir, err
}

// note is the sentence for the user about a store that does not hold all history;
// empty when it does.
func (o *stores) note(base string) string { return readPlain(filepath.Join(o.dir(base), "note")) }

// explain makes the note of a store of the latest commits.
func (o *stores) explain(commits int, why error) string {
	reason := "copying all history failed"
	if errors.Is(why, errTooMuch) {
		reason = fmt.Sprintf("copying all history would take more than %d MB or %v", o.size>>20, o.time)
	}
	return fmt.Sprintf("Commands see only the latest %s of the history before the run: %s.", count(commits, "commit"), reason)
}

// watchInterval is how often the size of a store is looked at that is being built.
const watchInterval = 50 * time.Millisecond

// copy packs into a new folder of objects, within the limits unless there are none.
func (o *stores) copy(ctx context.Context, dir string, p git.Packing, unlimited bool) error {
	repo := o.s.engine
	repo.Store = dir
	if unlimited {
		return repo.Pack(ctx, p)
	}
	limited, end := context.WithTimeoutCause(ctx, o.time, errTooMuch)
	defer end()
	limited, refuse := context.WithCancelCause(limited)
	packed, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-packed:
				return
			case <-time.After(watchInterval):
				if packSize(dir) > o.size {
					refuse(errTooMuch)
				}
			}
		}
	}()
	err := repo.Pack(limited, p)
	close(packed)
	<-watched
	refuse(nil)
	if err == nil && packSize(dir) > o.size {
		return errTooMuch
	}
	return err
}

// packSize is the size of the packs in a folder of objects, and of those that git
// is writing, in bytes.
func packSize(dir string) int64 {
	var size int64
	entries, _ := os.ReadDir(filepath.Join(dir, "pack"))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}

// prune removes all stores but those that are in use, the ones that were used last,
// and those that they borrow from. Only one that builds may call it.
func (o *stores) prune() error {
	used, err := o.s.basesInUse()
	if err != nil {
		return err
	}
	o.mu.Lock()
	away, err := o.takeAway(used)
	o.mu.Unlock()
	return errors.Join(err, removeEach(away))
}

// takeAway moves the stores to the trash that prune removes.
func (o *stores) takeAway(used map[string]bool) (away []string, err error) {
	entries, err := os.ReadDir(o.folder())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	last := map[string]time.Time{}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			last[entry.Name()] = info.ModTime()
		}
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return last[b.Name()].Compare(last[a.Name()]) })
	kept, spare := map[string]bool{}, 0
	for _, entry := range entries {
		name := entry.Name()
		if checkHashes(name) != nil { // not ours, or a store that was never one
			continue
		}
		inUse := used[name] || o.held[name] > 0
		if !inUse {
			if spare++; spare > o.keep {
				continue
			}
		}
		kept[o.dir(name)] = true
		for _, lender := range lenders(o.dir(name)) {
			kept[lender] = true
		}
	}
	for _, entry := range entries {
		if dir := filepath.Join(o.folder(), entry.Name()); !kept[dir] {
			moved, err := moveAway(dir, filepath.Join(o.s.state, "trash"), "objects")
			if err != nil {
				return away, err
			}
			away = append(away, filepath.Dir(moved))
		}
	}
	return away, nil
}

func removeEach(folders []string) error {
	var errs []error
	for _, folder := range folders {
		errs = append(errs, removeAll(folder))
	}
	return errors.Join(errs...)
}

// newObjects makes a folder of objects in which git finds the user's, too.
func (s *Workspaces) newObjects() (dir string, err error) {
	parent := filepath.Join(s.state, "tmp")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(parent, "objects-*"); err != nil {
		return "", err
	}
	return dir, errors.Join(
		os.Chmod(dir, 0o755), // commands may have another owner
		os.Mkdir(filepath.Join(dir, "pack"), 0o755),
		os.Mkdir(filepath.Join(dir, "info"), 0o755),
		os.WriteFile(filepath.Join(dir, "info", "alternates"), []byte(s.engine.Store+"\n"), 0o644),
	)
}

// latest are the commits nearest to one, at most so many, with it and in the order
// of their distance; shallow are those of which not all parents are among them.
func (s *Workspaces) latest(ctx context.Context, commit string, limit int) (within map[string]bool, shallow []string, err error) {
	within = map[string]bool{}
	parents := map[string][]string{}
	err = s.reading(ctx, func(objects *git.Objects) error {
		for next := []string{commit}; len(next) > 0 && len(within) < limit; next = next[1:] {
			if within[next[0]] {
				continue
			}
			c, err := objects.Commit(next[0])
			if errors.Is(err, git.ErrMissing) && next[0] != commit {
				continue // the user's own repository is shallow
			}
			if err != nil {
				return err
			}
			within[c.Hash], parents[c.Hash] = true, c.Parents
			next = append(next, c.Parents...)
		}
		return nil
	})
	for commit, of := range parents {
		if slices.ContainsFunc(of, func(p string) bool { return !within[p] }) {
			shallow = append(shallow, commit)
		}
	}
	slices.Sort(shallow)
	return within, shallow, err
}

// ends are the commits in a folder of objects at which the user's repository ends.
func (s *Workspaces) ends(ctx context.Context, dir string) ([]string, error) {
	list, err := os.ReadFile(filepath.Join(s.engine.Dir, "shallow"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.among(ctx, dir, strings.Fields(string(list)))
}

// among are those of the commits that a folder of objects has, with those that it borrows.
func (s *Workspaces) among(ctx context.Context, dir string, commits []string) (there []string, err error) {
	repo := s.engine
	repo.Store = dir
	reader := repo.Resident(time.Minute)
	defer func() { err = errors.Join(err, reader.Close()) }()
	err = reader.Objects(ctx, func(objects *git.Objects) error {
		for _, commit := range commits {
			_, err := objects.Commit(commit)
			if err == nil {
				there = append(there, commit)
			} else if !errors.Is(err, git.ErrMissing) {
				return err
			}
		}
		return nil
	})
	return there, err
}

// lineEach is a text with a line for each of the words.
func lineEach(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, "\n") + "\n"
}
