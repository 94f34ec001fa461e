package pawl

import "time"

// Publish makes one commit of work that has landed, on the run's branch: see [CommitsTask]. The
// harness adds to the message what the work was asked for. Answered by [Published].
type Publish struct {
	Branch string     `json:"branch"`
	From   CommitHash `json:"from"` // the branch's head
	Of     CommitHash `json:"of"`   // the commit whose tree the new one gets
	Title  string     `json:"title"`
	// TaskID names the task that landed, and Task is its description and what is required of it;
	// zero = the run's goal.
	TaskID string    `json:"task_id,omitempty"`
	Task   Hash      `json:"task,omitzero"`
	Author Identity  `json:"author,omitzero"` // zero = Pawl
	Time   time.Time `json:"time"`
}

// Verb implements [Do].
func (*Publish) Verb() Verb { return VerbPublish }

func (d *Publish) fields(c *coder) {
	str(c, 1, &d.Branch)
	str(c, 2, &d.From)
	str(c, 3, &d.Of)
	str(c, 4, &d.Title)
	str(c, 5, &d.TaskID)
	sum(c, 6, &d.Task)
	str(c, 7, &d.Author.Name)
	str(c, 8, &d.Author.Email)
	instant(c, 9, &d.Time)
}
