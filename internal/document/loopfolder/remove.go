package loopfolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"pawl"
)

// Remove removes the folders of a run's loops below a state folder, archived ones included. No
// [Writer] of the run may be at work.
func Remove(dir string, run pawl.RunID) error {
	if !run.Valid() { // none was written
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the folders of loops: %w", err)
	}
	w := &Writer{root: root, run: run}
	defer root.Close()
	for _, kind := range []string{"loops", "archive"} {
		entries, err := fs.ReadDir(root.FS(), kind)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the folders of run %s: %w", run, err)
		}
		for _, e := range entries {
			at := path.Join(kind, e.Name())
			if owner, ok := w.owner(at); !ok || owner != run {
				continue
			}
			if err := root.RemoveAll(at); err != nil {
				return fmt.Errorf("remove the folders of run %s: %w", run, err)
			}
		}
	}
	if err := root.Remove(w.positionFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the folders of run %s: %w", run, err)
	}
	return nil
}

// removal asks for the folders of a run to be removed.
type removal struct {
	run  pawl.RunID
	done chan error
}

// Remove removes the folders of a run that gets no more events. What was to be written of it
// is not written any more. It fails when the keeper is closed.
func (k *Keeper) Remove(ctx context.Context, run pawl.RunID) error {
	r := removal{run, make(chan error, 1)}
	k.mu.Lock()
	k.removals = append(k.removals, r)
	k.mu.Unlock()
	k.wake()
	select {
	case err := <-r.done:
		return err
	case <-k.done:
		return pawl.Errorf(pawl.CodeUnavailable, "remove the folders of run %s: the project is being closed", run)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// remove does what was asked of Remove. It is called by the goroutine that writes.
func (k *Keeper) remove() {
	k.mu.Lock()
	all := k.removals
	k.removals = nil
	for _, r := range all {
		delete(k.pending, r.run)
	}
	k.mu.Unlock()
	for _, r := range all {
		if w := k.writers[r.run]; w != nil {
			delete(k.writers, r.run)
			_ = w.Close() // what it cannot write goes anyway
		}
		r.done <- Remove(k.dir, r.run)
	}
}
