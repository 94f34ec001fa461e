package pawl

// WeighGoals says which tests that were red at the base the goal is about, and which of these a
// candidate has green. Before the work starts, there is no candidate. Where a candidate mended tests that
// become goal tests if they stay green, it is answered with the gates that have to run once more, and
// requested again with their reports. Answered by [GoalsWeighed].
type WeighGoals struct {
	// Commit is the candidate; empty = the work has not started.
	Commit CommitHash `json:"commit,omitempty"`
	Base   CommitHash `json:"base"`
	// Task is a JSON TaskSpec, which names tests as the goal does; zero = the loop has the goal.
	Task Hash `json:"task,omitzero"`
	// Goals are the lists of goal tests that are known, each a JSON list of [GoalTest]; the first is
	// the loop's own.
	Goals []Hash `json:"goals,omitempty"`
	// Reports are those of the gates on the candidate and on the base.
	Reports []GateEvidence `json:"reports,omitempty"`
	// Again are those of the gates that judged the candidate once more; empty = it is the first look.
	Again []GateEvidence `json:"again,omitempty"`
	// Evidence is the JSON [EvidenceReport] on the candidate; zero = it has not been examined.
	Evidence Hash `json:"evidence,omitzero"`
	// Assessment is the result of the session that assessed the request, which picks tests of those that
	// were red at the base; zero = it picked none, or they are known.
	Assessment Hash `json:"assessment,omitzero"`
	// Done are the lists of goal tests of loops whose work had landed in the branch that this one's work is to
	// land in, so that they are not red where it began.
	Done []Hash `json:"done,omitempty"`
}

// Verb implements [Do].
func (*WeighGoals) Verb() Verb { return VerbWeighGoals }

func (d *WeighGoals) fields(c *coder) {
	str(c, 1, &d.Commit)
	str(c, 2, &d.Base)
	sum(c, 3, &d.Task)
	sums(c, 4, &d.Goals)
	list(c, 5, &d.Reports, (*coder).gateEvidence)
	list(c, 6, &d.Again, (*coder).gateEvidence)
	sum(c, 7, &d.Evidence)
	sum(c, 8, &d.Assessment)
	sums(c, 9, &d.Done)
}
