package pawl

// The events of batches: the rounds of a loop's children.

// BatchStarted says that a round of a loop's children begins. Its steps come
// first, then the loops of its tasks, or the next attempts of those that have one.
type BatchStarted struct {
	N int `json:"n"` // from 1; a rollback does not set it back
	// Tasks are positions in the list, from 0, in list order.
	Tasks []int `json:"tasks"`
	// Scaffold reports that they lay the ground for the others.
	Scaffold bool `json:"scaffold,omitempty"`
}

// EventKind implements [Body].
func (*BatchStarted) EventKind() Kind { return KindBatchStarted }

func (b *BatchStarted) fields(c *coder) {
	num(c, 1, &b.N)
	ints(c, 2, &b.Tasks)
	flag(c, 3, &b.Scaffold)
}

// BatchEnded says how a batch came out. What was approved is in the parent's branch.
type BatchEnded struct {
	N int `json:"n"`
	// Attempted counts the tasks that came to an end of their own: those that wait
	// for a person are not among them.
	Attempted int `json:"attempted"`
	Approved  int `json:"approved"`
}

// EventKind implements [Body].
func (*BatchEnded) EventKind() Kind { return KindBatchEnded }

func (b *BatchEnded) fields(c *coder) {
	num(c, 1, &b.N)
	num(c, 2, &b.Attempted)
	num(c, 3, &b.Approved)
}
