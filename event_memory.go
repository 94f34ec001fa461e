package pawl

// The events of what is remembered.

// MemoryAdded says that something is remembered.
type MemoryAdded struct {
	N     int         `json:"n"` // its number in the run, from 1
	Kind  MemoryKind  `json:"kind"`
	Scope MemoryScope `json:"scope"`
	Task  string      `json:"task,omitempty"` // the id of the loop's task
	Place Place       `json:"place"`
	Text  Hash        `json:"text"`
	// Failed reports that the attempt had failed already when it was written down.
	Failed bool `json:"failed,omitempty"`
	// Learning is its number among the task's learnings, over all runs of the task
	// and without gaps; zero = it has no file there.
	Learning int `json:"learning,omitempty"`
	// Said is the text itself where no effect has kept it: what a person answered, as a decision. At most
	// 3000 bytes; empty = Text is kept already.
	Said string `json:"said,omitempty"`
}

// EventKind implements [Body].
func (*MemoryAdded) EventKind() Kind { return KindMemoryAdded }

func (b *MemoryAdded) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Kind)
	str(c, 3, &b.Scope)
	str(c, 4, &b.Task)
	sub(c, 5, b.Place.fields)
	sum(c, 6, &b.Text)
	flag(c, 7, &b.Failed)
	num(c, 8, &b.Learning)
	str(c, 9, &b.Said)
}

// MemoryForgotten says that no prompt is shown an entry any more.
type MemoryForgotten struct {
	N      int    `json:"n"`
	Reason string `json:"reason,omitempty"`
}

// EventKind implements [Body].
func (*MemoryForgotten) EventKind() Kind { return KindMemoryForgotten }

func (b *MemoryForgotten) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Reason)
}
