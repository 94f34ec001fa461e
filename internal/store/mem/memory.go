package mem

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/store"
)

var _ pawl.Memories = (*Log)(nil)

// memory is an entry, and where it was made.
type memory struct {
	pawl.MemoryEntry
	loop      pawl.LoopRef
	iteration int
	words     []string
}

// remember takes in what a unit says about the memory. The content is locked.
func (c *content) remember(r *run, u pawl.Unit) {
	for _, e := range u.Events {
		if !store.Remembers(e.Body) {
			continue
		}
		switch b := e.Body.(type) {
		case *pawl.MemoryAdded:
			if text, ok := r.blobs[b.Text]; ok {
				entry := store.Entry(e, b, text)
				c.memory = append(c.memory, memory{entry, e.Loop, b.Place.Iteration, store.AllWords(entry.Text)})
			}
		case *pawl.MemoryForgotten:
			c.mark(e, func(m *memory) bool { return m.N == b.N }, func(m *memory) { m.Forgotten = true })
		case *pawl.IterationEnded:
			c.mark(e, func(m *memory) bool { return m.loop == e.Loop && m.iteration == b.N }, func(m *memory) { m.Failed = true })
		}
	}
}

func (c *content) mark(e pawl.Event, which func(*memory) bool, mark func(*memory)) {
	for i := range c.memory {
		if m := &c.memory[i]; m.Run == e.Run && which(m) {
			mark(m)
		}
	}
}

// Recall implements [pawl.Memories]. An entry matches the better the more of the
// words it has.
func (l *Log) Recall(ctx context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	l.content.mu.Lock()
	defer l.content.mu.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	type match struct {
		entry pawl.MemoryEntry
		score int
	}
	var found []match
	words := store.Words(q.Text)
	for i := len(l.content.memory) - 1; i >= 0; i-- { // newest first
		m := &l.content.memory[i]
		score := 0
		for _, w := range words {
			if slices.Contains(m.words, w) {
				score++
			}
		}
		if store.Selects(q, &m.MemoryEntry) && (score > 0 || q.Text == "") {
			found = append(found, match{m.MemoryEntry, score})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	var entries []pawl.MemoryEntry
	for _, m := range found[:min(len(found), store.Limit(q))] {
		entries = append(entries, m.entry)
	}
	if q.Text == "" {
		slices.Reverse(entries)
	}
	return entries, nil
}
