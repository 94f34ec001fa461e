package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sqlite3 "modernc.org/sqlite/lib"

	"pawl"
)

var _ pawl.Deleter = (*Log)(nil)

// stone is the tombstone of a run, and the run's number.
type stone struct {
	num int64
	pawl.Tombstone
}

// chore is what the committer does between two groups.
type chore struct {
	do   func(*writer) error
	done chan error
}

// chore has the committer do something, and explains why it failed.
func (l *Log) chore(ctx context.Context, doing string, do func(*writer) error) error {
	if l.queue == nil {
		return pawl.Errorf(pawl.CodeState, "%s: the log is open for reading only", doing)
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	c := chore{do, make(chan error, 1)}
	select {
	case l.chores <- c:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	if err := <-c.done; err != nil {
		return l.files.explain(doing, err)
	}
	return nil
}

// Delete implements [pawl.Deleter]. The memory forgets the run in the same transaction.
func (l *Log) Delete(ctx context.Context, t pawl.Tombstone) error {
	return l.chore(ctx, fmt.Sprintf("delete run %s", t.Run.ID), func(w *writer) error { return w.bury(context.WithoutCancel(ctx), t) })
}

// Deleted implements [pawl.Deleter].
func (l *Log) Deleted(ctx context.Context) ([]pawl.Tombstone, error) {
	if err := l.refresh(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]pawl.Tombstone, 0, len(l.index.stones))
	for _, s := range l.index.stones {
		all = append(all, s.Tombstone)
	}
	slices.SortFunc(all, func(a, b pawl.Tombstone) int {
		return cmp.Or(a.Deleted.Compare(b.Deleted), cmp.Compare(a.Run.ID, b.Run.ID))
	})
	return all, nil
}

// Erase implements [pawl.Deleter]. The files of its blobs are removed by [Log.Sweep].
func (l *Log) Erase(ctx context.Context, id pawl.RunID) error {
	return l.chore(ctx, fmt.Sprintf("erase run %s", id), func(w *writer) error { return w.erase(context.WithoutCancel(ctx), id) })
}

// find returns what is known of a run, and its tombstone; nil = there is none.
func (x *index) find(id pawl.RunID) (*run, *stone) { return x.byID[id], x.stones[id] }

// listed returns the runs that are not deleted, oldest first.
func (x *index) listed() []*run {
	if len(x.stones) == 0 {
		return x.order
	}
	return slices.DeleteFunc(slices.Clone(x.order), func(r *run) bool { return x.stones[r.id] != nil })
}

// take takes in a tombstone. A run whose units are gone is forgotten; its number is not
// given again.
func (x *index) take(s *stone) {
	x.stones[s.Run.ID] = s
	x.next = max(x.next, s.num+1)
	if s.Erased {
		x.remove(s.num)
	}
}

func (x *index) remove(num int64) {
	r := x.byNum[num]
	if r == nil {
		return
	}
	delete(x.byNum, num)
	delete(x.byID, r.id)
	x.order = slices.DeleteFunc(x.order, func(o *run) bool { return o == r })
	x.indexed -= len(r.blobs)
}

// buried are the numbers of the deleted runs, and of those among them that are erased.
func (x *index) buried() (deleted, erased map[int64]bool) {
	deleted, erased = map[int64]bool{}, map[int64]bool{}
	for _, s := range x.stones {
		deleted[s.num] = true
		if s.Erased {
			erased[s.num] = true
		}
	}
	return deleted, erased
}

// loadDeleted takes in the tombstones that the file has. Where they are damaged those runs
// are taken for deleted whose tombstones were read before: runs that are not damaged can
// still be read.
func (l *Log) loadDeleted(ctx context.Context) error {
	if l.stoneless {
		return nil
	}
	err := l.readDeleted(ctx)
	if err == nil || !isDamage(err) && resultOf(err) != sqlite3.SQLITE_ERROR { // there is no such table
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	problem := "which runs were deleted cannot be read: " + say(err).Error()
	if !slices.Contains(l.problems, problem) {
		l.problems = append(l.problems, problem)
	}
	return nil
}

func (l *Log) readDeleted(ctx context.Context) error {
	rows, err := l.read.QueryContext(ctx, "SELECT run, id, stone, erased FROM deleted ORDER BY run")
	if err != nil {
		return err
	}
	defer rows.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for rows.Next() {
		var s stone
		var id, text string
		var erased bool
		if err := rows.Scan(&s.num, &id, &text, &erased); err != nil {
			return pawl.Errorf(pawl.CodeDamaged, "a tombstone cannot be read: %w", err)
		}
		if err := json.Unmarshal([]byte(text), &s.Tombstone); err != nil {
			s.Tombstone = pawl.Tombstone{Run: pawl.RunInfo{Reason: fmt.Sprintf("its tombstone cannot be read: %v", err)}}
		}
		s.Run.ID, s.Erased = pawl.RunID(id), erased
		l.index.take(&s)
	}
	return rows.Err()
}

// transactRemembering is transact for what changes the memory too. The memory is not the
// truth: where it cannot be written it is made anew, and stops nothing.
func (w *writer) transactRemembering(ctx context.Context, do func() error) error {
	if err := w.mend(ctx); err != nil {
		return err
	}
	err := w.transact(ctx, do)
	if errors.Is(err, errMemory) {
		_ = w.remake(ctx)
		if err = w.mend(ctx); err == nil {
			err = w.transact(ctx, do)
		}
	}
	return err
}

// bury makes a tombstone durable.
func (w *writer) bury(ctx context.Context, t pawl.Tombstone) error {
	id := t.Run.ID
	w.log.mu.Lock()
	r, known := w.log.index.find(id)
	w.log.mu.Unlock()
	switch {
	case known != nil:
		return nil
	case r == nil:
		return pawl.Errorf(pawl.CodeNotFound, "there is no run %s", id)
	}
	t.Erased = false
	text, err := json.Marshal(t)
	if err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "encode its tombstone: %w", err)
	}
	err = w.transactRemembering(ctx, func() error {
		_, err := w.conn.ExecContext(ctx, "INSERT INTO deleted (run, id, stone, erased) VALUES (?,?,?,0)", r.num, string(id), string(text))
		if err != nil {
			return err
		}
		return w.forgetRun(ctx, id)
	})
	if err != nil {
		return err
	}
	w.log.mu.Lock()
	w.log.index.take(&stone{r.num, t})
	w.log.mu.Unlock()
	_ = w.log.files.dropState(r.num) // or erase does
	w.settle()
	return nil
}

// forgetRun removes what the memory has of a run, in the present transaction.
func (w *writer) forgetRun(ctx context.Context, id pawl.RunID) error {
	if w.memory == "" {
		return w.outdate(ctx)
	}
	err := w.forgetRows(ctx, id)
	if err != nil && memoryBroken(err) {
		return fmt.Errorf("%w: %w", errMemory, err)
	}
	return err
}

func (w *writer) forgetRows(ctx context.Context, id pawl.RunID) error {
	type entry struct {
		id   int64
		text string
	}
	var entries []entry
	rows, err := w.conn.QueryContext(ctx, "SELECT id, text FROM "+w.memory+" WHERE run = ?", string(id))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.id, &e.text); err != nil {
			return err
		}
		entries = append(entries, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(entries) == 0 {
		return err
	}
	for _, e := range entries { // an index of texts that are kept elsewhere is told what goes
		_, err := w.conn.ExecContext(ctx, "INSERT INTO "+w.memory+"_words ("+w.memory+"_words, rowid, text) VALUES ('delete',?,?)", e.id, e.text)
		if err != nil {
			return err
		}
	}
	if _, err := w.conn.ExecContext(ctx, "DELETE FROM "+w.memory+" WHERE run = ?", string(id)); err != nil {
		return err
	}
	_, err = w.conn.ExecContext(ctx, "UPDATE "+w.memory+stateSuffix+" SET entries = entries - ?", len(entries))
	return err
}

// erase removes the units of a deleted run. Its number in the file stays used, as do the
// numbers of its units while this process has the file.
func (w *writer) erase(ctx context.Context, id pawl.RunID) error {
	w.log.mu.Lock()
	r, s := w.log.index.find(id)
	w.log.mu.Unlock()
	switch {
	case s == nil && r == nil:
		return pawl.Errorf(pawl.CodeNotFound, "there is no run %s", id)
	case s == nil:
		return pawl.Errorf(pawl.CodeState, "it is not deleted")
	case s.Erased:
		return nil
	}
	gone := *s
	gone.Erased = true
	text, err := json.Marshal(gone.Tombstone)
	if err != nil {
		return err
	}
	var ids []int64
	if r != nil { // a run that lost all its units has none
		if ids, err = w.log.unitIDs(ctx, end{num: r.num, head: r.head, seq: r.seq}, 0); err != nil {
			return err
		}
	}
	if err := w.log.files.dropState(gone.num); err != nil {
		return err
	}
	if err := w.mend(ctx); err != nil {
		return err
	}
	if err := w.transact(ctx, func() error { return w.eraseUnits(ctx, gone.num, ids, string(text)) }); err != nil {
		return err
	}
	w.log.mu.Lock()
	w.log.index.take(&gone)
	w.log.mu.Unlock()
	_ = clearSlot(w.slots, gone.num) // or whoever opens the log next does
	w.settle()
	newest, err := w.newest(ctx)
	if err == nil {
		w.stored = newest
	}
	return err
}

func (w *writer) eraseUnits(ctx context.Context, num int64, ids []int64, text string) error {
	for chunk := range slices.Chunk(ids, chunkSize) {
		list, err := json.Marshal(chunk)
		if err != nil {
			return err
		}
		if _, err := w.conn.ExecContext(ctx, "DELETE FROM units WHERE run = ? AND id IN (SELECT value FROM json_each(?))", num, string(list)); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		text string
		args []any
	}{
		{"DELETE FROM heads WHERE run = ?", []any{num}},
		{"UPDATE progress SET runs = (SELECT count(*) FROM heads)", nil},
		{"UPDATE deleted SET erased = 1, stone = ? WHERE run = ?", []any{text, num}},
	} {
		if _, err := w.conn.ExecContext(ctx, s.text, s.args...); err != nil {
			return err
		}
	}
	return nil
}

// settle copies the WAL into the file after a chore: damage to it cannot undo the chore then.
func (w *writer) settle() {
	w.resting = true
	w.tidy()
}

// isErased reports whether a run was erased, also by another process since this one read it.
func (l *Log) isErased(ctx context.Context, id pawl.RunID) bool {
	if l.queue == nil {
		_ = l.loadDeleted(ctx) // what cannot be read says nothing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.index.stones[id]
	return s != nil && s.Erased
}
