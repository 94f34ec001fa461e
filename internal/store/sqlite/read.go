package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"pawl"
)

// queries are prepared once for all readers.
type queries struct {
	chain, chunk, owned, tail, blob *sql.Stmt
}

// chunkSize is how many units are read at once. No transaction stays open while
// a caller looks at them, so a slow caller never holds up a checkpoint.
const chunkSize = 512

const maxReaders = 4

// readerCache is the page cache of each reader, in KiB. A run is read from one page to the next, so
// only the inner pages of the tree are of use again; the rest of a larger cache is allocated in vain.
const readerCache = 512

func (l *Log) openReaders(ctx context.Context) (err error) {
	if l.read, err = l.files.connect("ro", fmt.Sprintf("cache_size(-%d)", readerCache)); err != nil {
		return err
	}
	l.read.SetMaxOpenConns(maxReaders)
	l.read.SetMaxIdleConns(maxReaders)
	l.read.SetConnMaxIdleTime(time.Minute)
	q := &l.queries
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		// From a run's newest unit back to the one with the event after ?2. A unit
		// that does not fit ends it early.
		{&q.chain, `WITH RECURSIVE chain (id, run, seq, prev) AS (
			SELECT id, run, seq, prev FROM units WHERE id = ?1
			UNION ALL
			SELECT u.id, u.run, u.seq, u.prev FROM chain AS c JOIN units AS u ON u.id = c.prev
			WHERE c.seq > ?2 + 1 AND u.id < c.id AND u.run = c.run AND u.seq + u.count = c.seq
		) SELECT id, seq FROM chain`},
		{&q.chunk, "SELECT " + unitColumns + " FROM units WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"},
		{&q.owned, "SELECT id, seq FROM units WHERE run = ? AND id <= ? ORDER BY id"},
		{&q.tail, "SELECT " + unitColumns + " FROM units WHERE id > ? ORDER BY id"},
		{&q.blob, "SELECT substr(blobs, ?, ?) FROM units WHERE id = ?"},
	} {
		if *s.stmt, err = l.read.PrepareContext(ctx, s.text); err != nil {
			return err
		}
	}
	return nil
}

// cell is a value in the row that is read. Bytes in it are the driver's until the next row is read.
type cell struct{ value any }

// Scan implements [sql.Scanner].
func (c *cell) Scan(value any) error {
	c.value = value
	return nil
}

// unitScanner reads rows of unitColumns.
type unitScanner struct {
	rows  *sql.Rows
	cells [10]cell
	into  [10]any
}

func newUnitScanner(rows *sql.Rows) *unitScanner {
	s := &unitScanner{rows: rows}
	for i := range s.cells {
		s.into[i] = &s.cells[i]
	}
	return s
}

// unit returns the unit in the row, without its events if none of them is after bare.
func (s *unitScanner) unit(bare pawl.Seq) (unit, error) {
	var u unit
	if err := s.rows.Scan(s.into[:]...); err != nil {
		return unit{}, err
	}
	number := func(c cell) int64 {
		n, ok := c.value.(int64)
		u.odd = u.odd || !ok
		return n
	}
	bytes := func(c cell) []byte {
		switch v := c.value.(type) {
		case []byte:
			return v
		case string:
			return []byte(v)
		case nil:
			return nil
		}
		u.odd = true
		return nil
	}
	c := s.cells[:]
	u.id, u.run, u.seq, u.count = number(c[0]), number(c[1]), pawl.Seq(number(c[2])), int(number(c[3]))
	u.prev, u.sum = number(c[4]), uint32(number(c[5]))
	u.name, u.info, u.refs, u.data = string(bytes(c[6])), bytes(c[7]), bytes(c[8]), bytes(c[9])
	u.content = u.contentSum()
	u.info, u.refs = slices.Clone(u.info), slices.Clone(u.refs)
	if u.last() > bare {
		u.data = slices.Clone(u.data)
	} else {
		u.data = nil
	}
	return u, nil
}

// Events implements [pawl.Log]. The events before damage are given, then the
// error. Whoever reads a run that has not ended may go on with it, and wants its
// blobs then: their places are learned on the way.
func (l *Log) Events(ctx context.Context, id pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		stopped := false
		learn := l.learner(id, after)
		defer learn.end()
		err := l.walk(ctx, id, span{after: after}, func(u *unit) (bool, error) {
			learn.from(u)
			return u.events(id, after, func(e pawl.Event) bool {
				stopped = !yield(e, nil)
				return !stopped
			})
		})
		if err != nil && !stopped {
			yield(pawl.Event{}, err)
		}
	}
}

// span is a part of a run.
type span struct {
	// after is the event before the first one.
	after pawl.Seq
	// bare is the last event that is checked and not read: units up to it are visited without their events.
	bare pawl.Seq
}

// allBare as [span.bare] means that no events are read.
const allBare = math.MaxInt64

// snapshot is a run's end at the moment a reader asked for it.
type snapshot struct {
	end
	quarantine string
}

func (l *Log) snapshot(ctx context.Context, id pawl.RunID) (snapshot, error) {
	if err := l.refresh(ctx); err != nil {
		return snapshot{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.index.byID[id]
	if r == nil {
		return snapshot{}, pawl.Errorf(pawl.CodeNotFound, "there is no run %s", id)
	}
	return snapshot{end{num: r.num, head: r.head, seq: r.seq}, r.quarantine}, nil
}

// walk visits the units that have events of a part of a run, oldest first,
// each only when it and its place in the chain are sound, until visit wants no
// more. Damage quarantines the run and is the error after the sound units; so
// is the quarantine of a run that was found damaged before.
func (l *Log) walk(ctx context.Context, id pawl.RunID, part span, visit func(*unit) (more bool, err error)) error {
	s, err := l.snapshot(ctx, id)
	if err != nil {
		return err
	}
	if err := l.walkTo(ctx, s, id, part, visit); err != nil {
		return l.files.explain(fmt.Sprintf("read run %s", id), err)
	}
	return nil
}

// walkTo is walk up to the end of a snapshot. Its errors do not say what was being done.
func (l *Log) walkTo(ctx context.Context, s snapshot, id pawl.RunID, part span, visit func(*unit) (more bool, err error)) (err error) {
	more, readable := true, true
	if part.after < s.seq {
		err = l.walkUnits(ctx, s.end, part, func(u *unit) (bool, error) {
			var err error
			more, err = visit(u)
			readable = err == nil
			return more, err
		})
	}
	if isDamage(err) {
		if l.isErased(ctx, id) { // its units went while it was read
			return pawl.Errorf(pawl.CodeNotFound, "there is no run %s any more", id)
		}
		l.quarantine(id, err, readable)
	}
	if err != nil {
		return err
	}
	if more && s.quarantine != "" {
		return pawl.Errorf(pawl.CodeDamaged, "it is quarantined: %s", s.quarantine)
	}
	return nil
}

// walkUnits visits the units of a run's chain. The list of units that is kept beside the log
// may be of another log, such as one that was put back from a copy: what does not follow is
// looked up in the chain before it is called damage.
func (l *Log) walkUnits(ctx context.Context, end end, part span, visit func(*unit) (more bool, err error)) error {
	v := visitor{log: l, end: end, part: part, visit: visit}
	if ids := l.keptIDs(ctx, end, part.after); ids != nil {
		if err := v.all(ctx, ids); !isDamage(err) || v.failed {
			return err
		}
		if !l.readOnly {
			_ = l.files.dropState(end.num)
		}
	}
	ids, err := l.unitIDs(ctx, end, max(part.after, v.last.last()))
	if err != nil {
		return err
	}
	// Units that were visited are among them if the chain is broken, or if it ends there.
	return v.all(ctx, slices.DeleteFunc(ids, func(id int64) bool { return id <= v.last.id }))
}

// visitor visits the units of a run, oldest first.
type visitor struct {
	log    *Log
	end    end
	part   span
	visit  func(*unit) (more bool, err error)
	last   unit // the last one that was sound
	failed bool // visit returned an error
}

func (v *visitor) all(ctx context.Context, ids []int64) error {
	for chunk := range slices.Chunk(ids, chunkSize) {
		units, err := v.log.loadUnits(ctx, chunk, v.part.bare)
		for i := range units {
			u := &units[i]
			if err := ctx.Err(); err != nil { // it ended during a visit
				return err
			}
			if err := u.follows(&v.last, v.end.num, v.part.after); err != nil {
				return err
			}
			v.last = *u
			if u.last() <= v.part.after {
				continue
			}
			if more, err := v.visit(u); !more || err != nil {
				v.failed = err != nil
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	if v.last.id != v.end.head {
		return pawl.Errorf(pawl.CodeDamaged, "the events after %d are missing", v.last.last())
	}
	return nil
}

// follows checks a unit and its link to the one before it. The first unit that
// is read has none before it, and must reach back to the event after after.
func (u *unit) follows(last *unit, run int64, after pawl.Seq) error {
	if !u.intact() {
		return pawl.Errorf(pawl.CodeDamaged, "unit %d, after event %d, does not match its checksum", u.id, last.last())
	}
	linked := u.prev == last.id && u.seq == last.last()+1
	if last.id == 0 {
		linked = u.seq <= after+1 && (u.prev == 0) == (u.seq == 1)
	}
	if u.run != run || !linked {
		return pawl.Errorf(pawl.CodeDamaged, "unit %d does not follow unit %d: events after %d are missing", u.id, last.id, last.last())
	}
	return nil
}

// unitIDs are the ids of the run's units that have events after a number,
// oldest first. When the chain is broken they are all that a search of the
// whole table finds, so that what is before the damage can still be read.
func (l *Log) unitIDs(ctx context.Context, end end, after pawl.Seq) ([]int64, error) {
	ids, oldest, err := l.listIDs(ctx, l.queries.chain, end.head, int64(after))
	if err == nil && len(ids) > 0 && oldest <= after+1 {
		slices.Reverse(ids)
		return ids, nil
	}
	if err != nil && !isDamage(err) {
		return nil, err
	}
	ids, _, err = l.listIDs(ctx, l.queries.owned, end.num, end.head)
	if isDamage(err) {
		err = nil // what was found before it is of use, and the end is missed below
	}
	return ids, err
}

// listIDs reads ids, and the first event of the last one.
func (l *Log) listIDs(ctx context.Context, query *sql.Stmt, args ...any) (ids []int64, last pawl.Seq, err error) {
	if err := l.enter(); err != nil {
		return nil, 0, err
	}
	defer l.leave()
	rows, err := query.QueryContext(ctx, args...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, seq int64
		if err := rows.Scan(&id, &seq); err != nil {
			return ids, 0, pawl.Errorf(pawl.CodeDamaged, "find its units: %w", err)
		}
		ids, last = append(ids, id), pawl.Seq(seq)
	}
	return ids, last, rows.Err()
}

// loadUnits reads units, in the order of their ids. Units up to the event bare come without their events.
// After an error it also returns those it could read before it.
func (l *Log) loadUnits(ctx context.Context, ids []int64, bare pawl.Seq) (units []unit, err error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := l.queries.chunk.QueryContext(ctx, string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	scan := newUnitScanner(rows)
	for rows.Next() {
		u, err := scan.unit(bare)
		if err != nil {
			return units, err
		}
		units = append(units, u)
	}
	return units, rows.Err()
}
