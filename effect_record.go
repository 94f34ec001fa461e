package pawl

import "time"

// WriteRecords commits the task's folder, .pawl/tasks/NNN-slug, to a branch: what
// the run's events up to this request make of it. Answered by [Recorded].
type WriteRecords struct {
	Branch  string     `json:"branch"`
	From    CommitHash `json:"from"` // the branch's head
	Message string     `json:"message"`
	Time    time.Time  `json:"time"`
}

// Verb implements [Do].
func (*WriteRecords) Verb() Verb { return VerbWriteRecords }

func (d *WriteRecords) fields(c *coder) {
	str(c, 1, &d.Branch)
	str(c, 2, &d.From)
	str(c, 3, &d.Message)
	instant(c, 4, &d.Time)
}
