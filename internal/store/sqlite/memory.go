package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"pawl"
	"pawl/internal/store"
)

// memoryVersion is that of memory.sql and of what is made of events below.
// Another number makes the next Open throw the projection away and make it anew.
const memoryVersion = 2

//go:embed memory.sql
var memoryTables string

// maxPerUnit is above the number of events of any unit.
const maxPerUnit = 1 << 20

// change is what one event does to the memory: one of the bodies that
// [store.Remembers] names.
type change struct {
	event pawl.Event
	index int64 // of the event in its unit
	// text is the content of the blob of a MemoryAdded; known when there is one.
	text  []byte
	known bool
}

// changes are what the unit of a caller does to the memory. A text is in the
// unit or in one before it; one that cannot be read, or is not there yet because
// its unit waits too, stays unknown.
func (l *Log) changes(ctx context.Context, u pawl.Unit) ([]change, error) {
	var all []change
	for i, e := range u.Events {
		if !store.Remembers(e.Body) {
			continue
		}
		c := change{event: e, index: int64(i)}
		if b, ok := e.Body.(*pawl.MemoryAdded); ok {
			if err := l.textOf(ctx, u, b.Text, &c); err != nil && !lost(err) {
				return nil, fmt.Errorf("read the text of memory entry %d: %w", b.N, err)
			}
		}
		all = append(all, c)
	}
	return all, nil
}

func (l *Log) textOf(ctx context.Context, u pawl.Unit, hash pawl.Hash, c *change) error {
	if i := slices.IndexFunc(u.Blobs, func(b pawl.Blob) bool { return b.Hash() == hash }); i >= 0 {
		c.text, c.known = u.Blobs[i].Data(), true
		return nil
	}
	if u.After == 0 {
		return nil // there is no run to look into
	}
	text, err := l.Blob(ctx, u.Run, hash)
	c.text, c.known = text, err == nil
	return err
}

// lateText finds a text in a unit that was queued when this one was, and that
// is stored now or in this group.
func (w *writer) lateText(ctx context.Context, group []*request, q *request, hash pawl.Hash) (text []byte, known bool) {
	for _, other := range group {
		if other.id != q.id || other.unit.id > q.unit.id {
			continue
		}
		for _, p := range other.places() {
			if p.hash == hash {
				text, err := w.queued(other, p)
				return text, err == nil
			}
		}
	}
	p, ok := w.log.known(q.id, hash)
	if !ok {
		return nil, false
	}
	text, err := w.log.content(ctx, p)
	return text, err == nil
}

// queued reads a blob of a unit whose row is not written yet.
func (w *writer) queued(q *request, p place) ([]byte, error) {
	if p.form&inFile == 0 {
		return w.log.pack.unpack(p.ref, q.blobs[p.offset:p.offset+p.stored])
	}
	stored, err := readBlobFile(w.log.files, p.ref)
	if err != nil {
		return nil, err
	}
	return w.log.pack.unpack(p.ref, stored)
}

// project brings the memory up to what a group of units says, in their transaction.
func (w *writer) project(ctx context.Context, group []*request) error {
	if w.memory == "" {
		return w.outdate(ctx)
	}
	for _, q := range group {
		for _, c := range q.memory {
			if b, ok := c.event.Body.(*pawl.MemoryAdded); ok && !c.known {
				c.text, c.known = w.lateText(ctx, group, q, b.Text)
			}
			if err := w.change(ctx, w.memory, q.unit.id, c); err != nil {
				if memoryBroken(err) {
					err = fmt.Errorf("%w: %w", errMemory, err)
				}
				return err
			}
		}
	}
	return nil
}

// change does to a memory what an event of a unit says. An entry whose text is
// not known is left out: damage to a text costs that entry.
func (w *writer) change(ctx context.Context, table string, unit int64, c change) error {
	exec := func(query string, args ...any) error {
		_, err := w.conn.ExecContext(ctx, query, args...)
		return err
	}
	e := c.event
	switch b := e.Body.(type) {
	case *pawl.MemoryForgotten:
		return exec("UPDATE "+table+" SET forgotten = 1 WHERE run = ? AND n = ?", string(e.Run), b.N)
	case *pawl.IterationEnded:
		return exec("UPDATE "+table+" SET failed = 1 WHERE run = ? AND loop = ? AND iteration = ?", string(e.Run), int64(e.Loop), b.N)
	case *pawl.MemoryAdded:
		if !c.known {
			return nil
		}
		r := row{id: unit*maxPerUnit + c.index, loop: int64(e.Loop), iteration: b.Place.Iteration, MemoryEntry: store.Entry(e, b, c.text)}
		err := exec("INSERT INTO "+table+" ("+memoryColumns+") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			r.id, string(r.Run), r.N, int64(r.Seq), r.loop, r.iteration, string(r.Kind), string(r.Scope), r.Task, r.Source,
			r.Time.UnixNano(), r.Text, r.Failed, r.Forgotten, r.Learning, int64(r.seal()))
		if err == nil {
			err = exec("INSERT INTO "+table+"_words (rowid, text) VALUES (?,?)", r.id, r.Text)
		}
		if err == nil {
			err = exec("UPDATE " + table + stateSuffix + " SET entries = entries + 1")
		}
		return err
	}
	return nil
}

// row is a row of memory.
type row struct {
	id, loop  int64
	iteration int
	pawl.MemoryEntry
}

const memoryColumns = "id, run, n, seq, loop, iteration, kind, scope, task, source, time, text, failed, forgotten, learning, sum"

// seal is the checksum of what never changes in a row.
func (r *row) seal() uint32 {
	var data []byte
	for _, n := range [...]int64{r.id, r.loop, int64(r.iteration), int64(r.N), int64(r.Seq), r.Time.UnixNano(), int64(r.Learning)} {
		data = binary.AppendVarint(data, n)
	}
	for _, s := range [...]string{string(r.Run), string(r.Kind), string(r.Scope), r.Task, r.Source, r.Text} {
		data = binary.AppendUvarint(data, uint64(len(s)))
		data = append(data, s...)
	}
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}

// errMemory marks an error of the memory, which can be made again.
var errMemory = errors.New("the memory cannot be written")

// memoryBroken reports that an error means a memory that is damaged or missing.
func memoryBroken(err error) bool {
	switch resultOf(err) {
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH: // no such table, or other rows in it
		return true
	}
	return isDamage(err)
}

// querier is a connection or a pool of them.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

const generationPrefix, stateSuffix = "memory_", "_state"

// generations are the memories in the file, the one in use last. Damaged tables
// cannot always be removed, so a new memory is made beside the old one.
func generations(ctx context.Context, db querier) ([]int, error) {
	rows, err := db.QueryContext(ctx, "SELECT name FROM sqlite_schema WHERE name GLOB ?", generationPrefix+"[0-9]*")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []int
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(name, generationPrefix), "_")
		if n, err := strconv.Atoi(number); err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), rows.Err()
}

func tableOf(generation int) string { return generationPrefix + strconv.Itoa(generation) }

// memoryTable is the table of the memory in use, and how many entries it should
// have. It is an error that is [memoryBroken] when there is none, or none that
// is up to date.
func memoryTable(ctx context.Context, db querier) (table string, entries int64, err error) {
	all, err := generations(ctx, db)
	if err != nil {
		return "", 0, err
	}
	if len(all) == 0 {
		return "", 0, pawl.Errorf(pawl.CodeDamaged, "the memory is missing")
	}
	table = tableOf(all[len(all)-1])
	var version int
	err = db.QueryRowContext(ctx, "SELECT version, entries FROM "+table+stateSuffix).Scan(&version, &entries)
	if errors.Is(err, sql.ErrNoRows) || err == nil && version != memoryVersion {
		err = pawl.Errorf(pawl.CodeDamaged, "the memory is not up to date")
	}
	return table, entries, err
}

// openMemory makes the memory anew unless it is up to date and whole, as far as
// the number of its rows tells; what else is wrong with it shows when it is read
// or written. Without a memory the log is of use, too.
func (w *writer) openMemory(ctx context.Context) {
	table, want, err := memoryTable(ctx, w.conn)
	if err == nil {
		var entries int64
		err = w.conn.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&entries)
		if err == nil && entries == want {
			w.memory = table
			return
		}
	}
	_ = w.remake(ctx) // who recalls tries again, and is told why it fails
}

// renew makes the memory anew, unless somebody else has asked for it before. seen is the one
// that was found damaged; empty = there was none.
func (w *writer) renew(ctx context.Context, seen string) error {
	if table, _, err := memoryTable(ctx, w.conn); err == nil && table == w.memory && table != seen {
		return nil
	}
	return w.remake(ctx)
}

// remake makes a memory anew from the units, and removes the others.
func (w *writer) remake(ctx context.Context) error {
	w.memory = ""
	if err := w.mend(ctx); err != nil {
		return err
	}
	all, err := w.log.remembered(ctx, w.last)
	if err != nil {
		return fmt.Errorf("read what is remembered: %w", err)
	}
	old, err := generations(ctx, w.conn)
	if err != nil {
		return err
	}
	generation := 1
	if len(old) > 0 {
		generation = old[len(old)-1] + 1
	}
	table := tableOf(generation)
	err = w.transact(ctx, func() error {
		if _, err := w.conn.ExecContext(ctx, strings.ReplaceAll(memoryTables, "NAME", table)); err != nil {
			return err
		}
		_, err := w.conn.ExecContext(ctx, "INSERT INTO "+table+stateSuffix+" (one, version, entries) VALUES (1, ?, 0)", memoryVersion)
		if err != nil {
			return err
		}
		for i := range all {
			if err := w.change(ctx, table, all[i].unit, all[i].change); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("rebuild the memory: %w", err)
	}
	for _, n := range old {
		w.drop(ctx, tableOf(n))
	}
	if err := w.mend(ctx); err != nil {
		return err
	}
	w.memory = table
	return nil
}

// drop removes what can be removed of a memory.
func (w *writer) drop(ctx context.Context, table string) {
	for _, part := range []string{"_words", "", stateSuffix} {
		if w.mend(ctx) == nil {
			_ = w.transact(ctx, func() error {
				_, err := w.conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+table+part)
				return err
			})
		}
	}
}

// outdate says that the memory in use does not hold what the units say. One in
// which that cannot be said is found damaged by whoever reads it.
func (w *writer) outdate(ctx context.Context) error {
	all, err := generations(ctx, w.conn)
	if err != nil || len(all) == 0 {
		return err
	}
	_, err = w.conn.ExecContext(ctx, "DELETE FROM "+tableOf(all[len(all)-1])+stateSuffix)
	if err != nil && memoryBroken(err) {
		return nil
	}
	return err
}

// found is a change that was found in a unit.
type found struct {
	unit int64
	change
}

// remembered are the changes to the memory in all units up to one, in their order.
// Units behind damage of their run have none.
func (l *Log) remembered(ctx context.Context, last int64) ([]found, error) {
	var all []found
	type end struct {
		id   pawl.RunID
		head int64
		seq  pawl.Seq
	}
	ends := map[int64]end{}
	l.mu.Lock()
	deleted, _ := l.index.buried()
	l.mu.Unlock()
	err := l.eachUnit(ctx, last, func(u *unit) {
		if deleted[u.run] {
			return
		}
		at, known := ends[u.run]
		if !known {
			at.id = pawl.RunID(u.name)
		}
		if !u.intact() || u.prev != at.head || u.seq != at.seq+1 {
			return // nor does any of the run behind it fit
		}
		at.head, at.seq = u.id, u.last()
		ends[u.run] = at
		if !u.mayRemember() {
			return
		}
		// Damage ends the unit's events; a newer event ends this Pawl's reading too.
		_, _ = u.events(at.id, 0, func(e pawl.Event) bool {
			if store.Remembers(e.Body) {
				all = append(all, found{u.id, change{event: e, index: int64(e.Seq - u.seq)}})
			}
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	for i := range all {
		c := &all[i]
		if b, ok := c.event.Body.(*pawl.MemoryAdded); ok {
			if err := l.textIn(ctx, c.unit, b.Text, &c.change); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// textIn finds a text in the units of a run up to one. A text that is missing or
// damaged stays unknown.
func (l *Log) textIn(ctx context.Context, last int64, hash pawl.Hash, c *change) error {
	p, err := l.find(ctx, c.event.Run, hash)
	if err == nil && p.unit <= last {
		c.text, err = l.content(ctx, p)
		c.known = err == nil
	}
	if err != nil && !lost(err) {
		return err
	}
	return nil
}

// lost reports that an error means a text that is missing or damaged.
func lost(err error) bool {
	code := pawl.CodeOf(err)
	return code == pawl.CodeNotFound || code == pawl.CodeDamaged
}

// mayRemember looks at the kinds of a unit's events without decoding them. A
// wrong yes costs time only.
func (u *unit) mayRemember() bool {
	for rest := u.data; len(rest) > 0; {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) || size < 2 {
			return false
		}
		switch pawl.Kind(rest[n+1]) {
		case pawl.KindMemoryAdded, pawl.KindMemoryForgotten, pawl.KindIterationEnded:
			return true
		}
		rest = rest[n+int(size):]
	}
	return false
}

// eachUnit visits every unit up to one that can be read.
func (l *Log) eachUnit(ctx context.Context, last int64, visit func(*unit)) error {
	for from := int64(0); ; {
		err := l.unitsAfter(ctx, from, func(u *unit) bool {
			from = u.id
			if u.id <= last {
				visit(u)
			}
			return u.id < last
		})
		if !isDamage(err) {
			return err
		}
		next, nextErr := l.readableFrom(ctx, from+1)
		if nextErr != nil || next == 0 {
			return nextErr
		}
		from = next - 1
	}
}

// scanRow reads a row of memoryColumns; intact is false when it is damaged.
func scanRow(scan func(...any) error) (r row, intact bool, err error) {
	var cells [16]any
	at := make([]any, len(cells))
	for i := range cells {
		at[i] = &cells[i]
	}
	if err := scan(at...); err != nil {
		return r, false, err
	}
	intact = true
	number := func(i int) int64 {
		n, ok := cells[i].(int64)
		intact = intact && ok
		return n
	}
	text := func(i int) string {
		s, ok := cells[i].(string)
		intact = intact && ok
		return s
	}
	r = row{id: number(0), loop: number(4), iteration: int(number(5)), MemoryEntry: pawl.MemoryEntry{
		Run: pawl.RunID(text(1)), N: int(number(2)), Seq: pawl.Seq(number(3)), Kind: pawl.MemoryKind(text(6)),
		Scope: pawl.MemoryScope(text(7)), Task: text(8), Source: text(9), Time: time.Unix(0, number(10)).UTC(), Text: text(11),
		Failed: number(12) != 0, Forgotten: number(13) != 0, Learning: int(number(14)),
	}}
	return r, number(15) == int64(r.seal()) && intact, nil
}
