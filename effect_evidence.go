package pawl

// Examine looks for findings in a candidate that would pass: for changes of what its gates look at
// that may be why it passes. Where that takes further runs of gates, it is answered with these and
// requested once more with their reports. Answered by [Examined].
type Examine struct {
	Commit CommitHash `json:"commit"`
	// Base is what the candidate is compared with: the loop's base, or the run's at its final
	// verification.
	Base CommitHash `json:"base"`
	// Task is a JSON TaskSpec, which may name paths as the goal does; zero = the loop has the goal.
	Task Hash `json:"task,omitzero"`
	// Static lets no gate run once more.
	Static bool `json:"static,omitempty"`
	// Reports are those of the gates that judged the candidate.
	Reports []GateEvidence `json:"reports,omitempty"`
	// Further are those of the runs that an earlier answer asked for; empty = it is the first look.
	Further []GateEvidence `json:"further,omitempty"`
}

// GateEvidence is what is known of a gate's run.
type GateEvidence struct {
	Gate string `json:"gate"`
	// On is the tree that the gate judged; empty = the candidate.
	On Tree `json:"on,omitempty"`
	// Report is a JSON GateReport; zero = the gate gave no verdict.
	Report Hash `json:"report,omitzero"`
	// Base is the report of the same gate on the base; zero = there is none, or it says nothing.
	Base Hash `json:"base,omitzero"`
}

// Tree says what a gate judges besides base and candidate.
type Tree string

// The trees of further runs.
const (
	TreeExpected Tree = "expected" // the candidate with the base's tests, support, gate inputs and vendored files
	TreeReverted Tree = "reverted" // the candidate with the base's code
	TreeAgain    Tree = "again"    // the candidate itself, once more: do its goal tests stay green?
)

// Verb implements [Do].
func (*Examine) Verb() Verb { return VerbExamine }

func (d *Examine) fields(c *coder) {
	str(c, 1, &d.Commit)
	str(c, 2, &d.Base)
	sum(c, 3, &d.Task)
	flag(c, 4, &d.Static)
	list(c, 5, &d.Reports, (*coder).gateEvidence)
	list(c, 6, &d.Further, (*coder).gateEvidence)
}

func (c *coder) gateEvidence(e *GateEvidence) {
	str(c, 1, &e.Gate)
	str(c, 2, &e.On)
	sum(c, 3, &e.Report)
	sum(c, 4, &e.Base)
}
