package pawl

// ReadTasks reads a list of tasks: one that a step handed in, or the one the run
// was started with. Answered by [TasksRead].
type ReadTasks struct {
	List Hash `json:"list"`
	// Goal and Criteria become the list's one task when it has none and must have one.
	Goal     Hash `json:"goal,omitzero"`
	Criteria Hash `json:"criteria,omitzero"`
	// Given reports a list that the user gave, which may say what is done already.
	Given bool `json:"given,omitempty"`
}

// Verb implements [Do].
func (*ReadTasks) Verb() Verb { return VerbReadTasks }

func (d *ReadTasks) fields(c *coder) {
	sum(c, 1, &d.List)
	sum(c, 2, &d.Goal)
	sum(c, 3, &d.Criteria)
	flag(c, 4, &d.Given)
}
