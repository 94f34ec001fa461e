package sqlite

import (
	"context"
	"database/sql"

	"pawl"
)

// loadHeads takes the runs from heads. When heads is missing, damaged or not
// what progress says, nothing is taken and scan finds everything in units.
func (l *Log) loadHeads(ctx context.Context) {
	// One query, because the writer may be another process.
	rows, err := l.read.QueryContext(ctx, `SELECT run, id, head, seq, info, quarantine, unit, runs
		FROM heads CROSS JOIN progress ORDER BY run`)
	if err != nil {
		return
	}
	defer rows.Close()
	x := newIndex()
	var seq, runs int64
	for rows.Next() {
		var r run
		var quarantine sql.NullString
		if rows.Scan(&r.num, &r.id, &r.head, &seq, &r.info, &quarantine, &x.flushed, &runs) != nil ||
			r.head > x.flushed || r.id == "" {
			return
		}
		r.seq, r.quarantine, r.lasts = pawl.Seq(seq), quarantine.String, quarantine.Valid
		x.insert(&r)
	}
	if rows.Err() != nil || int64(len(x.order)) != runs {
		return
	}
	x.last = x.flushed
	l.index = x
}

// refresh takes in what another process has appended. The writer knows.
func (l *Log) refresh(ctx context.Context) error {
	if l.queue != nil {
		return nil
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	err := l.scan(ctx)
	if err == nil {
		err = l.loadDeleted(ctx)
	}
	if err != nil {
		return l.files.explain("read what was appended", err)
	}
	return nil
}

// scan takes in the units after the last one that is known. Where the file
// cannot be read it goes on with the next unit that can.
func (l *Log) scan(ctx context.Context) error {
	for {
		err := l.scanTail(ctx)
		if err == nil {
			l.mu.Lock()
			l.index.settle()
			l.mu.Unlock()
		}
		if !isDamage(err) {
			return err
		}
		l.mu.Lock()
		first := l.index.last + 1
		l.mu.Unlock()
		next, nextErr := l.readableFrom(ctx, first)
		if nextErr != nil {
			return err
		}
		l.mu.Lock()
		l.index.pass(first, next)
		if next == 0 {
			l.index.settle()
		}
		l.mu.Unlock()
		if next == 0 {
			return nil
		}
	}
}

// readableFrom is the first unit that can be read, from an id on; 0 when there
// is none. It looks further and further away, then for the edge.
func (l *Log) readableFrom(ctx context.Context, id int64) (int64, error) {
	var next int64
	unreadable := id - 1
	for step := int64(1); next == 0; step *= 2 {
		if step > 1<<32 {
			return 0, nil
		}
		found, err := l.firstFrom(ctx, id+step)
		switch {
		case err == nil && found == 0:
			return 0, nil
		case err == nil:
			next = found
		case !isDamage(err):
			return 0, err
		default:
			unreadable = id + step
		}
	}
	for next-unreadable > 1 {
		middle := unreadable + (next-unreadable)/2
		found, err := l.firstFrom(ctx, middle)
		switch {
		case err == nil && found >= next:
			unreadable = middle
		case err == nil:
			next = found
		case isDamage(err):
			unreadable = middle
		default:
			return 0, err
		}
	}
	return next, nil
}

// firstFrom is the first unit from an id on, read whole; 0 when there is none.
func (l *Log) firstFrom(ctx context.Context, id int64) (first int64, err error) {
	err = l.unitsAfter(ctx, id-1, func(u *unit) bool {
		first = u.id
		return false
	})
	return first, err
}

func (l *Log) scanTail(ctx context.Context) error {
	l.mu.Lock()
	last := l.index.last
	l.mu.Unlock()
	return l.unitsAfter(ctx, last, func(u *unit) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if u.id > l.index.last { // another reader may have been faster
			l.index.scanned(u)
		}
		return true
	})
}

// unitsAfter visits the units behind one, oldest first, until visit wants no more.
func (l *Log) unitsAfter(ctx context.Context, id int64, visit func(*unit) (more bool)) error {
	rows, err := l.queries.tail.QueryContext(ctx, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan := newUnitScanner(rows)
	for rows.Next() {
		u, err := scan.unit(0)
		if err != nil {
			return err
		}
		if !visit(&u) {
			return nil
		}
	}
	return rows.Err()
}
