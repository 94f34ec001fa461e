package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"pawl"
)

const (
	// maxGroup and maxGroupBytes bound one transaction; the writer's page cache
	// holds it whole.
	maxGroup      = 1024
	maxGroupBytes = 8 << 20
	// copyAfter is how many bytes are appended before a checkpoint. A small WAL
	// is overwritten instead of grown, and quickly replayed after a crash.
	copyAfter = 4 << 20
	// groupBytes is what a transaction appends besides its units: the page that they
	// are added to is written whole each time.
	groupBytes = 4 << 10
	// flushAfter and flushAtLatest are how many units heads may be behind when
	// nothing waits, and when something does. A crash costs the next Open about
	// 3 µs for each.
	flushAfter    = 2048
	flushAtLatest = 16384
)

// writer is the only one that writes to the database. Its methods are called
// by one goroutine.
type writer struct {
	log  *Log
	db   *sql.DB // one connection
	conn *sql.Conn
	// broken is why there is no usable connection; the next group tries again.
	broken                          error
	begin, commit, rollback, insert *sql.Stmt

	last      int64 // the newest unit that was acknowledged
	stored    int64 // the newest unit that the file must have: those after it were erased
	lastGroup int
	group     []*request

	slots *os.File // where the ends of runs are told

	copier  *sql.DB // its connection copies the WAL into the file
	copying bool
	copied  chan struct{} // the copier is done
	grown   int           // about how many bytes the WAL got since the last checkpoint
	resting bool          // a run has come to rest since the WAL was emptied
	behind  int           // units that heads does not know
	// memory is the table of the memory; empty when it is not up to date, until
	// whoever reads it, or the next Open, has it made anew.
	memory string
}

// open connects. WAL and FULL make a commit one fsync; fullfsync makes that
// reach the disk on macOS.
func (w *writer) open(ctx context.Context) (err error) {
	durable := []string{"journal_mode(wal)", "synchronous(full)", "fullfsync(1)", "checkpoint_fullfsync(1)",
		"wal_autocheckpoint(0)", "journal_size_limit(67108864)"}
	if w.db, err = w.log.files.connect("rw", append(durable, "cache_size(-16384)")...); err != nil {
		return err
	}
	w.db.SetMaxOpenConns(1)
	if w.copier, err = w.log.files.connect("rw", append(durable, "cache_size(-256)")...); err != nil {
		return errors.Join(err, w.close())
	}
	w.copier.SetMaxOpenConns(1)
	if err := w.db.PingContext(ctx); err != nil {
		return errors.Join(err, w.close())
	}
	return nil
}

// prepare pins the connection and prepares what every commit needs.
func (w *writer) prepare(ctx context.Context) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.insert, "INSERT INTO units (" + unitColumns + ", blobs) VALUES (?,?,?,?,?,?,?,?,?,?,?)"},
	} {
		if *s.stmt, err = w.conn.PrepareContext(ctx, s.text); err != nil {
			return err
		}
	}
	return nil
}

// close closes what is open. A statement that stays open would keep SQLite's
// connection, and with it the file.
func (w *writer) close() error {
	var err error
	for _, stmt := range []**sql.Stmt{&w.begin, &w.commit, &w.rollback, &w.insert} {
		if *stmt != nil {
			err = errors.Join(err, (*stmt).Close())
			*stmt = nil
		}
	}
	if w.conn != nil {
		err = errors.Join(err, w.conn.Close())
	}
	for _, db := range []*sql.DB{w.db, w.copier} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	w.conn, w.db, w.copier = nil, nil, nil
	return err
}

// run commits what is queued until the queue is closed.
func (w *writer) run() error {
	for {
		select {
		case first, ok := <-w.log.queue:
			if !ok {
				return w.finish()
			}
			w.commitGroup(w.gather(first))
			clear(w.group)
			w.tidy()
		case <-w.copied:
			w.copying = false
			w.finishCopy()
		case <-w.log.nudge:
			w.flush()
		case c := <-w.log.chores:
			c.done <- c.do(w)
		}
	}
}

// gather takes everything that waits. After a group of several it yields a few
// times, because the callers it answered are about to come again: a larger
// group costs the same fsync.
func (w *writer) gather(first *request) []*request {
	w.group = append(w.group[:0], first)
	bytes := first.size()
	for yields := 0; len(w.group) < maxGroup && bytes < maxGroupBytes; {
		select {
		case q, ok := <-w.log.queue:
			if !ok {
				return w.group
			}
			w.group = append(w.group, q)
			bytes += q.size()
		default:
			if w.lastGroup < 2 || yields == 3 {
				return w.group
			}
			yields++
			runtime.Gosched()
		}
	}
	return w.group
}

// commitGroup stores the units in one transaction, or, when that fails, each in
// its own, and answers every caller.
func (w *writer) commitGroup(group []*request) {
	ctx := context.Background()
	ready := w.assign(group)
	w.lastGroup = len(ready)
	if len(ready) == 0 {
		return
	}
	err := w.store(ctx, ready)
	if err == nil || len(ready) == 1 || resultOf(err) == sqlite3.SQLITE_BUSY {
		w.answer(ready, err)
		return
	}
	for _, q := range ready {
		alone := w.assign([]*request{q})
		if len(alone) == 1 {
			w.answer(alone, w.store(ctx, alone))
		}
	}
}

// end is where a run ends if everything that is assigned is stored.
type end struct {
	num  int64
	head int64
	seq  pawl.Seq
}

// assign gives each unit its place behind its run's last, and answers those
// that have none. Units of one run may follow each other in one group.
func (w *writer) assign(group []*request) []*request {
	x := w.log.index
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	ready := make([]*request, 0, len(group))
	ends := make(map[pawl.RunID]end, len(group))
	id, num := w.last, x.next
	for _, q := range group {
		if !q.take() {
			continue
		}
		if s := x.stones[q.id]; s != nil {
			q.done <- pawl.Errorf(pawl.CodeState, "it was deleted on %s", s.Deleted.Format(time.DateTime))
			continue
		}
		e, ok := ends[q.id]
		if r := x.byID[q.id]; !ok && r != nil {
			if r.quarantine != "" {
				q.done <- pawl.Errorf(pawl.CodeDamaged, "it is quarantined: %s", r.quarantine)
				continue
			}
			e, ok = end{num: r.num, head: r.head, seq: r.seq}, true
		}
		if q.after != e.seq {
			q.done <- pawl.Errorf(pawl.CodeConflict, "it is at event %d, not %d", e.seq, q.after)
			continue
		}
		if !ok {
			e.num = num
			num++
		}
		id++
		q.unit.id, q.unit.run, q.unit.prev = id, e.num, e.head
		q.unit.sum = q.unit.seal()
		ends[q.id] = end{num: e.num, head: id, seq: q.unit.last()}
		ready = append(ready, q)
	}
	return ready
}

// store makes the units durable in one transaction, or leaves none of them.
func (w *writer) store(ctx context.Context, group []*request) error {
	if err := w.transactRemembering(ctx, func() error { return w.write(ctx, group) }); err != nil {
		return err
	}
	w.grown += groupBytes
	for _, q := range group {
		w.grown += q.size()
	}
	w.behind += len(group)
	w.last += int64(len(group))
	w.stored = w.last
	return nil
}

// write inserts the units, and what they say into the memory.
func (w *writer) write(ctx context.Context, group []*request) error {
	remembers := false
	for _, q := range group {
		u := &q.unit
		var name, info any // NULL where there is none
		if u.name != "" {
			name = u.name
		}
		if u.info != nil {
			info = string(u.info)
		}
		_, err := w.insert.ExecContext(ctx, u.id, u.run, int64(u.seq), u.count, u.prev, int64(u.sum),
			name, info, u.refs, u.data, q.blobs)
		if err != nil {
			return err
		}
		remembers = remembers || len(q.memory) > 0
	}
	if remembers {
		return w.project(ctx, group)
	}
	return nil
}

// transact runs do in a transaction. After an error that leaves doubts about
// the connection, the connection is given up.
func (w *writer) transact(ctx context.Context, do func() error) error {
	_, err := w.begin.ExecContext(ctx)
	if err == nil {
		if err = do(); err == nil {
			_, err = w.commit.ExecContext(ctx)
		}
		if err != nil {
			// SQLite has rolled back by itself after most errors.
			_, _ = w.rollback.ExecContext(ctx)
		}
	}
	if err != nil && spoiled(err) {
		w.broken = err
	}
	return err
}

// mend replaces a connection that was given up. The new one must show
// everything acknowledged; what it shows beyond that was answered with an error
// and is removed.
func (w *writer) mend(ctx context.Context) error {
	if w.broken == nil {
		return nil
	}
	if w.copying {
		<-w.copied
		w.copying = false
	}
	// What closing says about the old connection is of no use any more. Readers
	// that are idle begin anew as well.
	_ = w.close()
	w.log.read.SetMaxIdleConns(0)
	w.log.read.SetMaxIdleConns(maxReaders)
	if err := w.reopen(ctx); err != nil {
		w.broken = err
		return fmt.Errorf("reopen %s: %w", fileName, err)
	}
	w.broken = nil
	return nil
}

func (w *writer) reopen(ctx context.Context) error {
	if err := w.open(ctx); err != nil {
		return err
	}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	last, err := w.newest(ctx)
	if err != nil {
		return err
	}
	if last < w.stored {
		return pawl.Errorf(pawl.CodeDamaged, "it ends at unit %d, but unit %d was acknowledged", last, w.stored)
	}
	if last <= w.last {
		return nil
	}
	// What those units said may be in the memory too.
	w.memory = ""
	return w.transact(ctx, func() error {
		if _, err := w.conn.ExecContext(ctx, "DELETE FROM units WHERE id > ?", w.last); err != nil {
			return err
		}
		return w.outdate(ctx)
	})
}

// newest is the id of the newest unit in the file; 0 when there is none.
func (w *writer) newest(ctx context.Context) (id int64, err error) {
	err = w.conn.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM units").Scan(&id)
	return id, err
}
