package pawl

import (
	"slices"
	"strings"
	"time"
)

// The events of gates and reviews.

// Judge is who reached a verdict.
type Judge string

// The judges.
const (
	JudgeGate   Judge = ""       // a gate of the recipe or the settings
	JudgeBatch  Judge = "batch"  // the batch that the work was part of, with its gates or its review
	JudgeMerge  Judge = "merge"  // that batch, because the work conflicts with other work
	JudgeFolder Judge = "folder" // the harness: the work changes the folder that the harness keeps
	JudgeFiles  Judge = "files"  // the harness: the commit lacks files of the worktree
	// JudgeEvidence is the harness, or a person whom it asked: nobody accepts what was found.
	JudgeEvidence Judge = "evidence"
	JudgeGoal     Judge = "goal" // the harness: tests that the goal is about are red
)

// JudgeOf returns who reached a verdict of a run of the recipe. Logs of earlier versions say so
// by the name of the gate, if no gate of the recipe has that name.
func (r *Recipe) JudgeOf(b *GateJudged) Judge {
	if b.Judge != JudgeGate || b.Kind != "" {
		return b.Judge
	}
	for i := range r.Kinds {
		for _, st := range slices.Concat(r.Kinds[i].Gates, r.Kinds[i].FinalGates) {
			if st.Name == b.Gate {
				return JudgeGate
			}
		}
	}
	switch {
	case b.Gate == "batch-merge":
		return JudgeMerge
	case strings.HasPrefix(b.Gate, "batch-"):
		return JudgeBatch
	case b.Gate == "pawl-folder":
		return JudgeFolder
	case b.Gate == "unrecorded-files":
		return JudgeFiles
	}
	return JudgeGate
}

// GateJudged says what a gate found: a command gate (it answers [RunGate]), or
// a review, which is a session (Effect is then 0).
type GateJudged struct {
	Effect    Seq      `json:"effect,omitempty"`
	Gate      string   `json:"gate"`
	Kind      GateKind `json:"kind,omitempty"` // empty for a review
	Verdict   Verdict  `json:"verdict"`
	Reason    string   `json:"reason"` // at most 300 bytes
	Partial   bool     `json:"partial,omitempty"`
	OnBase    bool     `json:"on_base,omitempty"`
	RedAtBase bool     `json:"red_at_base,omitempty"`
	Optional  bool     `json:"optional,omitempty"`
	// Passed of Total tests, or criteria met.
	Passed int `json:"passed"`
	Total  int `json:"total"`
	// Diagnostics count by severity: critical, high, medium, low.
	Critical int `json:"critical,omitempty"`
	High     int `json:"high,omitempty"`
	Medium   int `json:"medium,omitempty"`
	Low      int `json:"low,omitempty"`
	// Failing, Found and Error are fingerprints of the set of failing tests or
	// unmet criteria, of the set of diagnostics and of the normalised error; 0 = none.
	Failing uint64 `json:"failing,omitempty"`
	Found   uint64 `json:"found,omitempty"`
	Error   uint64 `json:"error,omitempty"`
	// Evidence is the whole report, a JSON GateReport or a review's verdict.
	Evidence Hash `json:"evidence,omitzero"`
	// Confidence is how sure a reviewer is, in percent; 0 = it did not say.
	Confidence int `json:"confidence,omitempty"`
	// By is the person who decided; empty = no person did.
	By string `json:"by,omitempty"`
	// Broke and Mended name tests that passed, or failed, before and now do not:
	// against the report the request names, and Mended, where it names none, against the one
	// on the base. Flaky are those that came out
	// differently on the same commit. At most 8 each, of at most 80 bytes.
	Broke  []string `json:"broke,omitempty"`
	Mended []string `json:"mended,omitempty"`
	Flaky  []string `json:"flaky,omitempty"`
	// WasGreen reports that a test that fails now passed on the base or in the report that the
	// request names.
	WasGreen bool `json:"was_green,omitempty"`
	// Again reports that the gate was asked a second time about the same commit. This is what
	// both answers say together, in place of the first.
	Again bool `json:"again,omitempty"`
	// Met are the limits of its room that the gate's command met.
	Met []ResourceMet `json:"met,omitempty"`
	// Duration is how long the gate's command ran; 0 = not known, as in older logs.
	Duration time.Duration `json:"duration,omitempty"`
	// Missing is the program that the gate's command needs and the machine does not have,
	// Lacks what of the repository it needs and the commit does not have, such as a script
	// or tests. Empty = nothing, as far as is known. At most 100 bytes each.
	Missing string `json:"missing,omitempty"`
	Lacks   string `json:"lacks,omitempty"`
	// Judge is who reached the verdict; see [Recipe.JudgeOf] for logs of earlier versions. For
	// a judge that is no gate, Gate is only what people read.
	Judge Judge `json:"judge,omitempty"`
	// On is the tree that was judged, if it is neither base nor candidate.
	On Tree `json:"on,omitempty"`
	// Unanswered is a JSON [EvidenceReport] with the findings that nobody accepted, if these are why
	// it failed; zero = they are not.
	Unanswered Hash `json:"unanswered,omitzero"`
	// Findings are these findings.
	Findings []OpenFinding `json:"findings,omitempty"`
	// Full is the whole report where Evidence is only the part of it that agents and reviewers may
	// see: see [GateHeldOut]. Nothing of it is in a prompt. Zero = Evidence is whole.
	Full Hash `json:"full,omitzero"`
	// Kept is how many tests passed on the base and pass now; 1 of a gate that passed on the base
	// and shows no single tests.
	Kept int `json:"kept,omitempty"`
	// Weak reports, of [JudgeGoal], that only weak goal tests are red: see [GoalReason.IsWeak].
	Weak bool `json:"weak,omitempty"`
}

// Whole returns the whole report, for people.
func (b *GateJudged) Whole() Hash {
	if !b.Full.IsZero() {
		return b.Full
	}
	return b.Evidence
}

// EventKind implements [Body].
func (*GateJudged) EventKind() Kind { return KindGateJudged }

func (b *GateJudged) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Gate)
	str(c, 3, &b.Kind)
	str(c, 4, &b.Verdict)
	str(c, 5, &b.Reason)
	flag(c, 6, &b.Partial)
	flag(c, 7, &b.OnBase)
	flag(c, 8, &b.RedAtBase)
	flag(c, 9, &b.Optional)
	num(c, 10, &b.Passed)
	num(c, 11, &b.Total)
	num(c, 12, &b.Critical)
	num(c, 13, &b.High)
	num(c, 14, &b.Medium)
	num(c, 15, &b.Low)
	num(c, 16, &b.Failing)
	num(c, 17, &b.Found)
	num(c, 18, &b.Error)
	sum(c, 19, &b.Evidence)
	num(c, 20, &b.Confidence)
	str(c, 21, &b.By)
	words(c, 22, &b.Broke)
	words(c, 23, &b.Mended)
	words(c, 24, &b.Flaky)
	list(c, 25, &b.Met, (*coder).resourceMet)
	num(c, 26, &b.Duration)
	str(c, 27, &b.Missing)
	str(c, 28, &b.Lacks)
	str(c, 29, &b.Judge)
	str(c, 30, &b.On)
	sum(c, 31, &b.Unanswered)
	list(c, 32, &b.Findings, (*coder).openFinding)
	flag(c, 33, &b.WasGreen)
	flag(c, 34, &b.Again)
	sum(c, 35, &b.Full)
	num(c, 36, &b.Kept)
	flag(c, 37, &b.Weak)
}

// Answers implements [Answer].
func (b *GateJudged) Answers() Seq { return b.Effect }

// GatesReused says that the candidate's tree is the one judged before, so that
// verdicts of that iteration stand.
type GatesReused struct {
	// From is the iteration; the present one if it was sent back and came with the same tree again.
	From int `json:"from"`
	// Gates are those whose verdicts stand. In logs of before they were named it is empty, and all
	// verdicts stand that gates and reviews had reached in full.
	Gates []string `json:"gates,omitempty"`
	// Anew are reviews that did not pass and judge this tree a second time, one tier stronger.
	Anew []string `json:"anew,omitempty"`
}

// EventKind implements [Body].
func (*GatesReused) EventKind() Kind { return KindGatesReused }

func (b *GatesReused) fields(c *coder) {
	num(c, 1, &b.From)
	words(c, 2, &b.Gates)
	words(c, 3, &b.Anew)
}

// GateLeftOut says that a gate of the settings is not part of this run: its program is not
// installed, and somebody allowed the run to go on without it. It judges nothing.
type GateLeftOut struct {
	Gate    string `json:"gate"`
	Missing string `json:"missing"` // the program
	// By is the person who allowed it; empty = the settings did, before the run began.
	By string `json:"by,omitempty"`
}

// EventKind implements [Body].
func (*GateLeftOut) EventKind() Kind { return KindGateLeftOut }

func (b *GateLeftOut) fields(c *coder) {
	str(c, 1, &b.Gate)
	str(c, 2, &b.Missing)
	str(c, 3, &b.By)
}

// GateOverruled says that a person overruled the halt of a review. What the review halted is judged
// once more: on the same tree it passes by the person's word.
type GateOverruled struct {
	Gate string `json:"gate"` // the review
	// Iteration is the one that was halted, Commit and Tree what was judged in it.
	Iteration int        `json:"iteration"`
	Commit    CommitHash `json:"commit,omitempty"`
	Tree      TreeHash   `json:"tree,omitempty"`
	// Evidence is what the review said; zero = it left nothing.
	Evidence Hash   `json:"evidence,omitzero"`
	Reason   string `json:"reason"` // at most 1000 bytes
	By       string `json:"by"`     // the person
}

// EventKind implements [Body].
func (*GateOverruled) EventKind() Kind { return KindGateOverruled }

func (b *GateOverruled) fields(c *coder) {
	str(c, 1, &b.Gate)
	num(c, 2, &b.Iteration)
	str(c, 3, &b.Commit)
	str(c, 4, &b.Tree)
	sum(c, 5, &b.Evidence)
	str(c, 6, &b.Reason)
	str(c, 7, &b.By)
}
