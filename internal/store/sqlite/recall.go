package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/store"
)

var _ pawl.Memories = (*Log)(nil)

// Recall implements [pawl.Memories]. Of more entries than the limit, those that
// match best are found, or the newest ones. A damaged entry is left out. When
// this process writes the log, a damaged projection is made anew first.
func (l *Log) Recall(ctx context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	if l.forgetful {
		return nil, nil
	}
	entries, table, damaged, err := l.recall(ctx, q)
	if damaged || err != nil && memoryBroken(err) {
		// Where nobody can make it anew, somebody may just have done so.
		if err = l.renew(ctx, table); err == nil {
			entries, _, _, err = l.recall(ctx, q)
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("recall: %w", ctx.Err())
	case err != nil && memoryBroken(err):
		return nil, pawl.Errorf(pawl.CodeDamaged, "recall: %w", err).
			WithHint("the memory is rebuilt from the events when a run is next started or resumed; nothing is lost")
	case err != nil:
		return nil, l.files.explain("recall", err)
	}
	return entries, nil
}

// renew has the memory made anew that was found damaged.
func (l *Log) renew(ctx context.Context, seen string) error {
	if l.queue == nil {
		return nil
	}
	c := chore{func(w *writer) error { return w.renew(context.WithoutCancel(ctx), seen) }, make(chan error, 1)}
	select {
	case l.chores <- c:
		return <-c.done
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recall asks the memory in use once. damaged reports that there is something wrong with it.
func (l *Log) recall(ctx context.Context, q pawl.MemoryQuery) (entries []pawl.MemoryEntry, table string, damaged bool, err error) {
	table, _, err = memoryTable(ctx, l.read)
	if err != nil {
		return nil, table, false, err
	}
	query, args, some, err := recallQuery(table, q)
	if err != nil || !some {
		return nil, table, false, err
	}
	rows, err := l.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, table, false, err
	}
	defer rows.Close()
	limit := store.Limit(q)
	for len(entries) < limit && rows.Next() {
		r, intact, err := scanRow(rows.Scan)
		if err != nil {
			return nil, table, false, err
		}
		if !intact {
			damaged = true
			continue
		}
		entries = append(entries, r.MemoryEntry)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, table, false, err
	}
	if q.Text == "" { // the newest ones were read first
		slices.Reverse(entries)
	}
	return entries, table, damaged, nil
}

// recallQuery says a query in SQL; some is false when nothing can match. Each word
// of the text is a string of its own to FTS5, so that nothing in it is an operator.
func recallQuery(table string, q pawl.MemoryQuery) (query string, args []any, some bool, err error) {
	var b strings.Builder
	where := " WHERE "
	and := func(condition string, values ...any) {
		b.WriteString(where + condition)
		where = " AND "
		args = append(args, values...)
	}
	b.WriteString("SELECT m." + strings.ReplaceAll(memoryColumns, ", ", ", m."))
	if q.Text == "" {
		b.WriteString(" FROM " + table + " AS m")
	} else {
		words := store.Words(q.Text)
		if len(words) == 0 {
			return "", nil, false, nil
		}
		b.WriteString(" FROM " + table + "_words AS w CROSS JOIN " + table + " AS m ON m.id = w.rowid")
		and(table+"_words MATCH ?", `"`+strings.Join(words, `" OR "`)+`"`)
	}
	if q.Run != "" {
		and("(m.run = ? AND (? = 0 OR m.seq < ?) OR ? AND m.run <> ? AND m.scope = ?)", string(q.Run), int64(q.Before), int64(q.Before),
			q.Project, string(q.Run), string(pawl.ScopeProject))
	}
	if len(q.Kinds) > 0 {
		kinds, err := json.Marshal(q.Kinds)
		if err != nil {
			return "", nil, false, err
		}
		and("m.kind IN (SELECT value FROM json_each(?))", string(kinds))
	}
	if q.Passed {
		and("m.failed = 0")
	}
	if !q.Forgotten {
		and("m.forgotten = 0")
	}
	if q.Text == "" {
		b.WriteString(" ORDER BY m.id DESC")
	} else {
		b.WriteString(" ORDER BY w.rank, m.id DESC")
	}
	return b.String(), args, true, nil
}
