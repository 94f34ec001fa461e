package view

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/plain"
)

// runMemory is what a run remembers.
type runMemory struct {
	Memory []*Memory // in the order it was added
}

// loopBoard is what a loop's children share.
type loopBoard struct {
	Board []Note // oldest key first
}

// Note is an entry of a blackboard: the newest one of its key.
type Note struct {
	pawl.NotePosted
	Task string // who wrote it; empty = the loop itself
	Seq  pawl.Seq
}

// Memory is something the run remembers.
type Memory struct {
	pawl.MemoryAdded
	Loop      *Loop
	Forgotten bool
}

// post writes on the blackboard that a loop shares with its siblings.
func (r *Run) post(l *Loop, e pawl.Event, b *pawl.NotePosted) {
	board := l
	if parent := r.loop(l.Parent); parent != nil {
		board = parent
	}
	n := Note{NotePosted: *b, Task: l.Task, Seq: e.Seq}
	if i := slices.IndexFunc(board.Board, func(o Note) bool { return o.Key == b.Key }); i >= 0 {
		board.Board[i] = n
		return
	}
	board.Board = append(board.Board, n)
}

// applyMemory folds what is remembered, and what loops tell their siblings.
func (r *Run) applyMemory(l *Loop, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.MemoryAdded:
		r.Memory = append(r.Memory, &Memory{MemoryAdded: *b, Loop: l})
	case *pawl.MemoryForgotten:
		for _, m := range r.Memory {
			m.Forgotten = m.Forgotten || m.N == b.N
		}
	case *pawl.NotePosted:
		if l != nil {
			r.post(l, e, b)
		}
	}
}

func (t teller) tellMemory() string {
	switch b := t.e.Body.(type) {
	case *pawl.NotePosted:
		return fmt.Sprintf("posted for the others: %s = %s", b.Key, b.Value)
	case *pawl.MemoryAdded:
		s := fmt.Sprintf("remembered (%s", b.Kind)
		if b.Learning > 0 {
			s += fmt.Sprintf(" %03d", b.Learning)
		}
		s += ")"
		text := t.blobs.text(b.Text)
		if b.Learning > 0 {
			text = recordTitle(text)
		}
		if text = plain.Line(text, 120); text != "" {
			s += ": " + text
		}
		return s
	case *pawl.MemoryForgotten:
		return fmt.Sprintf("entry %d of the memory is not shown any more%s", b.N, because(b.Reason))
	}
	return ""
}

func (k *Look) lookMemory(e pawl.Event) {
	switch e.Body.(type) {
	case *pawl.NotePosted, *pawl.MemoryAdded, *pawl.MemoryForgotten:
		k.Level = Normal
	}
}
