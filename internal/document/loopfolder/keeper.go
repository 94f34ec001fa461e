package loopfolder

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"pawl"
)

// Keeper keeps the folders of a project's runs up with their events, behind the runs'
// backs: nothing waits for it, and what it has not come to when it is closed it finds
// in the log when the run goes on. Its methods may be called from many goroutines.
type Keeper struct {
	dir    string
	log    pawl.Log
	logger *slog.Logger

	mu       sync.Mutex // guards what follows, up to closing
	pending  map[pawl.RunID]bool
	order    []pawl.RunID
	removals []removal
	closing  bool
	woken    chan struct{}

	writers map[pawl.RunID]*Writer // of runs that are at work; the goroutine's own
	refused map[pawl.RunID]bool    // whose folders cannot be written: it was said once
	cancel  context.CancelFunc
	done    chan struct{}
}

// Keep begins to keep the folders below a state folder.
func Keep(dir string, log pawl.Log, logger *slog.Logger) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &Keeper{dir: dir, log: log, logger: logger, pending: map[pawl.RunID]bool{}, woken: make(chan struct{}, 1),
		writers: map[pawl.RunID]*Writer{}, refused: map[pawl.RunID]bool{}, cancel: cancel, done: make(chan struct{})}
	go k.work(ctx)
	return k
}

// Notice says that a run has events that were not there before, and whether it is at
// rest with them. It never blocks.
func (k *Keeper) Notice(run pawl.RunID, rests bool) {
	k.mu.Lock()
	if _, known := k.pending[run]; !known {
		k.order = append(k.order, run)
	}
	k.pending[run] = rests
	k.mu.Unlock()
	k.wake()
}

func (k *Keeper) wake() {
	select {
	case k.woken <- struct{}{}:
	default:
	}
}

// Close writes what it was given notice of, until ctx ends, and stops.
func (k *Keeper) Close(ctx context.Context) {
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	k.wake()
	select {
	case <-k.done:
	case <-ctx.Done():
		k.cancel()
		<-k.done
	}
	k.cancel()
}

func (k *Keeper) work(ctx context.Context) {
	defer close(k.done)
	defer func() {
		for run, w := range k.writers {
			k.told(run, w.Close())
		}
	}()
	for {
		k.remove()
		run, rests, ok, last := k.next()
		switch {
		case ctx.Err() != nil || last:
			return
		case ok:
			k.told(run, k.write(ctx, run, rests))
			continue
		}
		select {
		case <-k.woken:
			k.linger(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// lag is how far folders may be behind the events of a run that is at work. What comes
// together is written together, and runs that are taken over go on first.
const lag = 500 * time.Millisecond

// linger waits until there is a reason to write.
func (k *Keeper) linger(ctx context.Context) {
	t := time.NewTimer(lag)
	defer t.Stop()
	for !k.pressed() {
		select {
		case <-k.woken:
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// pressed reports that somebody may look at once: a run is at rest, or this is the end.
func (k *Keeper) pressed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.removals) > 0 {
		return true
	}
	for _, rests := range k.pending {
		if rests {
			return true
		}
	}
	return k.closing
}

// next is the run to write next; last reports that there is none and will be none.
func (k *Keeper) next() (run pawl.RunID, rests, ok, last bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.order) > 0 {
		run = k.order[0]
		rests, ok = k.pending[run]
		k.order = k.order[1:]
		delete(k.pending, run)
		if ok { // else it was removed
			return run, rests, true, false
		}
	}
	return "", false, false, k.closing
}

// write brings the folders of one run up to its log.
func (k *Keeper) write(ctx context.Context, run pawl.RunID, rests bool) error {
	w := k.writers[run]
	if w == nil {
		var err error
		if w, err = Open(k.dir, run, func(h pawl.Hash) ([]byte, error) { return k.log.Blob(context.WithoutCancel(ctx), run, h) }); err != nil {
			return err
		}
		k.writers[run] = w
	}
	var first error
	for e, err := range k.log.Events(ctx, run, w.Seen()) {
		if err == nil {
			err = w.Add(e)
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	if rests {
		delete(k.writers, run)
		if err := w.Close(); first == nil {
			first = err
		}
	}
	return first
}

// told says once per run that its folders cannot be written: the log has everything.
func (k *Keeper) told(run pawl.RunID, err error) {
	if err == nil || k.refused[run] {
		return
	}
	k.refused[run] = true
	k.logger.Warn("the folders of a run's loops are incomplete; pawl export --folders makes them again", "run", run, "error", err)
}
