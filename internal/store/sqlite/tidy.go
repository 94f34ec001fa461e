package sqlite

import (
	"context"
	"errors"

	"pawl"
)

// answer makes stored units known and tells their callers.
func (w *writer) answer(group []*request, err error) {
	if err == nil {
		w.tell(group)
		w.publish(group)
	}
	for _, q := range group {
		q.done <- err
	}
}

// tell writes the slots of the runs that the units are of. One that is not written, on a full
// disk, is behind the log until the run's next unit.
func (w *writer) tell(group []*request) {
	ends := make(map[int64]slot, len(group))
	for _, q := range group {
		ends[q.unit.run] = slot{num: q.unit.run, id: q.id, seq: q.unit.last()}
		w.resting = w.resting || q.line != nil && q.line.Status != pawl.StatusRunning && q.line.Status != pawl.StatusStopping
	}
	for _, s := range ends {
		_ = writeSlots(w.slots, []slot{s})
	}
}

func (w *writer) publish(group []*request) {
	x := w.log.index
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	for _, q := range group {
		u := &q.unit
		r := x.byNum[u.run]
		if r == nil {
			r = &run{id: q.id, num: u.run}
			x.insert(r)
		}
		before := r.seq
		x.advance(r, u)
		if q.line != nil {
			r.line, r.json = q.line, u.info
		}
		x.learn(r, q.places(), before, r.seq)
	}
}

// tidy does what is due between two groups.
func (w *writer) tidy() {
	idle := len(w.log.queue) == 0
	if w.behind >= flushAtLatest || idle && w.behind >= flushAfter {
		w.flush()
	}
	if w.resting && idle && !w.copying && w.broken == nil {
		w.empty()
	}
	if w.grown < w.log.copyAfter || w.copying || w.broken != nil {
		return
	}
	w.grown, w.copying = 0, true
	copier := w.copier
	go func() {
		// An error leaves the WAL as it is; the next checkpoint copies it again.
		_, _ = copier.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
		w.copied <- struct{}{}
	}()
}

// empty copies the whole WAL into the file and cuts it off, since a run has come to rest: then
// damage to the WAL cannot take anything of it. A reader that is at work, or an error, leaves
// the WAL for the next time.
func (w *writer) empty() {
	ctx := context.Background()
	for _, pragma := range []string{"busy_timeout(100)", "wal_checkpoint(TRUNCATE)", "busy_timeout(5000)"} {
		_, _ = w.conn.ExecContext(ctx, "PRAGMA "+pragma)
	}
	w.resting, w.grown = false, 0
}

// finishCopy copies what was appended while the copier was at work. Nothing is
// written now, so this reaches the end, and the next commit starts the WAL anew.
func (w *writer) finishCopy() {
	if w.broken == nil {
		_, _ = w.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
		if w.resting {
			w.empty()
		}
	}
}

// flush writes the ends of the runs that have moved to heads. When it fails,
// the next one writes them.
func (w *writer) flush() {
	ctx := context.Background()
	if w.mend(ctx) != nil {
		return
	}
	moved, total := w.moved()
	if len(moved) == 0 {
		return
	}
	err := w.transact(ctx, func() error {
		for _, r := range moved {
			var info, quarantine any
			if r.info != nil {
				info = string(r.info)
			}
			if r.lasts {
				quarantine = r.quarantine
			}
			_, err := w.conn.ExecContext(ctx,
				"INSERT OR REPLACE INTO heads (run, id, head, seq, info, quarantine) VALUES (?,?,?,?,?,?)",
				r.num, string(r.id), r.head, int64(r.seq), info, quarantine)
			if err != nil {
				return err
			}
		}
		_, err := w.conn.ExecContext(ctx, "INSERT OR REPLACE INTO progress (one, unit, runs) VALUES (1,?,?)", w.last, total)
		return err
	})
	if err != nil {
		w.stillBehind(moved)
		return
	}
	w.behind = 0
}

// moved copies the runs whose row in heads is out of date, and counts all runs.
func (w *writer) moved() (moved []run, total int) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	for _, r := range w.log.index.order {
		if r.behind {
			r.behind = false
			moved = append(moved, run{id: r.id, num: r.num, head: r.head, seq: r.seq, info: r.info,
				quarantine: r.quarantine, lasts: r.lasts})
		}
	}
	return moved, len(w.log.index.order)
}

func (w *writer) stillBehind(moved []run) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	for _, r := range moved {
		w.log.index.byNum[r.num].behind = true
	}
}

// finish leaves a file whose heads are up to date and whose WAL is empty, if it
// can: everything is durable without that.
func (w *writer) finish() error {
	if w.copying {
		<-w.copied
	}
	w.flush()
	if w.mend(context.Background()) == nil {
		_, _ = w.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return errors.Join(w.close(), w.slots.Close())
}
