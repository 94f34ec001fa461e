package mem

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"pawl"
)

var _ pawl.Deleter = (*Log)(nil)

// Delete implements [pawl.Deleter].
func (l *Log) Delete(ctx context.Context, t pawl.Tombstone) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete run %s: %w", t.Run.ID, err)
	}
	c := l.content
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	id := t.Run.ID
	if _, known := c.stones[id]; known {
		return nil
	}
	if c.runs[id] == nil {
		return pawl.Errorf(pawl.CodeNotFound, "there is no run %s", id)
	}
	t.Erased = false
	c.stones[id] = t
	c.memory = slices.DeleteFunc(c.memory, func(m memory) bool { return m.Run == id })
	return nil
}

// Deleted implements [pawl.Deleter].
func (l *Log) Deleted(context.Context) ([]pawl.Tombstone, error) {
	l.content.mu.Lock()
	defer l.content.mu.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(l.content.stones), func(a, b pawl.Tombstone) int {
		return cmp.Or(a.Deleted.Compare(b.Deleted), cmp.Compare(a.Run.ID, b.Run.ID))
	}), nil
}

// Erase implements [pawl.Deleter].
func (l *Log) Erase(ctx context.Context, id pawl.RunID) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("erase run %s: %w", id, err)
	}
	c := l.content
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	t, deleted := c.stones[id]
	switch {
	case !deleted && c.runs[id] == nil:
		return pawl.Errorf(pawl.CodeNotFound, "there is no run %s", id)
	case !deleted:
		return pawl.Errorf(pawl.CodeState, "erase run %s: it is not deleted", id)
	}
	t.Erased = true
	c.stones[id] = t
	delete(c.runs, id)
	c.order = slices.DeleteFunc(c.order, func(r *run) bool { return r.id == id })
	return nil
}
