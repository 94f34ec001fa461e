package pawl

// RunGate judges a commit with a command gate. Answered by [GateJudged].
type RunGate struct {
	// Gate is the name of one of the run's configured gates, or, where Task is given,
	// of the gate that runs that task's own validation command.
	Gate   string     `json:"gate"`
	Commit CommitHash `json:"commit"`
	// OnBase reports that this is the run's base commit being looked at;
	// otherwise Base is the evidence of the same gate there.
	OnBase bool `json:"on_base,omitempty"`
	Base   Hash `json:"base,omitzero"`
	// Start is the commit that the candidate is compared with for changed files.
	Start CommitHash `json:"start,omitempty"`
	// Before is an earlier report of the same gate, on what the candidate builds on:
	// what broke and what was mended is told against it.
	Before Hash `json:"before,omitzero"`
	// Doubt is a report of the same gate on this very commit: tests that fail in one
	// of the two and pass in the other are flaky, and do not fail the gate.
	Doubt Hash `json:"doubt,omitzero"`
	// FailsNew lets a flaky test that the report Base does not have fail the gate after all:
	// the candidate added it.
	FailsNew bool `json:"fails_new,omitempty"`
	// Task is a JSON TaskSpec whose ValidationCommand is what is run.
	Task Hash `json:"task,omitzero"`
	// Prepared is the key of what was prepared for the commit; see [Prepared].
	Prepared string `json:"prepared,omitempty"`
	// On is the tree that Commit is, if it is neither base nor candidate: see [FurtherRun].
	On Tree `json:"on,omitempty"`
	// Longer is how often the gate's time was doubled because it had given no verdict.
	Longer int `json:"longer,omitempty"`
	// Light reports that the gate took little time on the base, so that it need not wait for a heavy
	// place.
	Light bool `json:"light,omitempty"`
	// Part reports that the commit is a part of the run's work, so that [GateSpec.RequireGreen] and
	// [GateSpec.Green] require nothing of it: they are about the whole.
	Part bool `json:"part,omitempty"`
}

// Verb implements [Do].
func (*RunGate) Verb() Verb { return VerbRunGate }

func (d *RunGate) fields(c *coder) {
	str(c, 1, &d.Gate)
	str(c, 2, &d.Commit)
	flag(c, 3, &d.OnBase)
	sum(c, 4, &d.Base)
	str(c, 5, &d.Start)
	sum(c, 6, &d.Before)
	sum(c, 7, &d.Doubt)
	sum(c, 8, &d.Task)
	str(c, 9, &d.Prepared)
	str(c, 10, &d.On)
	flag(c, 11, &d.FailsNew)
	num(c, 12, &d.Longer)
	flag(c, 13, &d.Light)
	flag(c, 14, &d.Part)
}
