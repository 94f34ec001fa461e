package pawl

import (
	"slices"
	"strings"
	"time"
)

// The answers of effects: what the world said. A runner returns one of these,
// and the kernel appends it as it came, with what it decides filled in.

// WorkspaceOpened answers [OpenWorkspace].
type WorkspaceOpened struct {
	Effect Seq        `json:"effect"`
	Head   CommitHash `json:"head"`
	Tree   TreeHash   `json:"tree"`
	// Salvage is the ref that keeps what an earlier worktree held.
	Salvage string `json:"salvage,omitempty"`
	// Note is a sentence the user should read about what commands do not see.
	Note string `json:"note,omitempty"`
}

// PromptAssembled answers [AssemblePrompt].
type PromptAssembled struct {
	Effect Seq  `json:"effect"`
	System Hash `json:"system,omitzero"`
	Prompt Hash `json:"prompt"`
	Tools  Hash `json:"tools,omitzero"`
	// Bytes is the size of all three together; a token is at least 3 bytes on average.
	Bytes int64 `json:"bytes"`
	// Cut names what was left out to fit, in the order it was cut.
	Cut []string `json:"cut,omitempty"`
}

// ModelReplied answers [CallModel].
type ModelReplied struct {
	Effect  Seq        `json:"effect"`
	Message Hash       `json:"message"`       // a JSON Message
	Text    Hash       `json:"text,omitzero"` // what it said besides its calls; zero = nothing
	Bytes   int64      `json:"bytes"`         // the message's size
	Stop    StopReason `json:"stop"`
	Model   string     `json:"model"`
	Usage   Usage      `json:"usage"`
	Calls   []ToolUse  `json:"calls,omitempty"`
	// Cost is decided from Usage and the frozen prices.
	Cost Micros `json:"cost"`
	// Waited is how long it waited for places of the machine, which is not the session's
	// time; 0 = it had them at once.
	Waited time.Duration `json:"waited,omitempty"`
}

// ToolUse is one tool call of a reply, as far as decisions need it.
type ToolUse struct {
	Tool  string     `json:"tool"`
	Args  Hash       `json:"args"`
	Class CrashClass `json:"class,omitempty"` // of the tool; zero = unknown tool or a submit tool
	// Problem says what is wrong with the call, for the model; empty = fine.
	Problem string `json:"problem,omitempty"`
	// Submit reports a call that hands in the session's result; Facts is what it says.
	Submit bool  `json:"submit,omitempty"`
	Facts  Facts `json:"facts,omitempty"`
	// Harness reports a call that the harness answers itself from the run's
	// state: the blackboard, the memory. Facts is what it asks for.
	Harness bool `json:"harness,omitempty"`
	// Trimmed is the result as the harness would cut it, when its problem is only
	// that it is too long: after two refusals it is taken instead.
	Trimmed Hash `json:"trimmed,omitzero"`
}

// Facts are the few words of a structured result that decisions need, in a
// stable order: names may repeat.
type Facts []Fact

// Fact is one named word.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Get is the first value with this name, or the empty string.
func (f Facts) Get(name string) string {
	for _, x := range f {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

// All are the values with this name.
func (f Facts) All(name string) []string {
	var out []string
	for _, x := range f {
		if x.Name == name {
			out = append(out, x.Value)
		}
	}
	return out
}

// ToolReturned answers [CallTool].
type ToolReturned struct {
	Effect  Seq   `json:"effect"`
	Output  Hash  `json:"output"`
	Bytes   int64 `json:"bytes"`
	IsError bool  `json:"is_error,omitempty"`
	// Interrupted reports a call that a crash cut off and that is not run again.
	Interrupted bool `json:"interrupted,omitempty"`
	// Tree is the worktree's tree afterwards; empty when the tool cannot write.
	Tree TreeHash `json:"tree,omitempty"`
	// Conflict reports that recovery found the worktree neither before nor after the call.
	Conflict bool `json:"conflict,omitempty"`
	// Waited is as in [ModelReplied].
	Waited time.Duration `json:"waited,omitempty"`
	// LeftOut says which files of the worktree Tree does not have, by the limits they meet.
	LeftOut []LimitMet `json:"left_out,omitempty"`
	// Met are the limits of its room that a command met.
	Met []ResourceMet `json:"met,omitempty"`
	// Prepared is the key of the dependencies that the tool put into the worktree; empty =
	// those that were there are still there. See [Prepared].
	Prepared string `json:"prepared,omitempty"`
}

// Judge is who reached a verdict.
type Judge string

// The judges.
const (
	JudgeGate   Judge = ""       // a gate of the recipe or the settings
	JudgeBatch  Judge = "batch"  // the batch that the work was part of, with its gates or its review
	JudgeMerge  Judge = "merge"  // that batch, because the work conflicts with other work
	JudgeFolder Judge = "folder" // the harness: the work changes the folder that the harness keeps
	JudgeFiles  Judge = "files"  // the harness: the commit lacks files of the worktree
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
	// Findings count by severity: critical, high, medium, low.
	Critical int `json:"critical,omitempty"`
	High     int `json:"high,omitempty"`
	Medium   int `json:"medium,omitempty"`
	Low      int `json:"low,omitempty"`
	// Failing, Found and Error are fingerprints of the set of failing tests or
	// unmet criteria, of the set of findings and of the normalised error; 0 = none.
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
	// against the report the request names. Flaky are those that came out
	// differently on the same commit. At most 8 each, of at most 80 bytes.
	Broke  []string `json:"broke,omitempty"`
	Mended []string `json:"mended,omitempty"`
	Flaky  []string `json:"flaky,omitempty"`
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
}

// Prepared answers [Prepare].
type Prepared struct {
	Effect Seq `json:"effect"`
	// Key identifies what was prepared: commits that have the same inputs have the same
	// key. It is the first half of a SHA-256, in hex, of the commands, of the files that
	// decide what they do, and of the toolchain.
	Key string `json:"key"`
	// Reused reports that no command ran, as what an earlier one left is still there.
	Reused   bool          `json:"reused,omitempty"`
	Duration time.Duration `json:"duration,omitempty"` // of the commands
	Bytes    int64         `json:"bytes,omitempty"`    // on disk, of what they left
	// Failed says why the commands failed, in at most 400 bytes; empty = they did not.
	Failed string `json:"failed,omitempty"`
	// Said are the lines that the command which failed printed and that tell most of why, at
	// most 160 bytes.
	Said string `json:"said,omitempty"`
	// Evidence is what the commands printed, a JSON GateReport; zero when none ran.
	Evidence Hash `json:"evidence,omitzero"`
	// Requests and Refused count what went through the egress proxy and what it refused;
	// Received is in bytes. Hosts are the first hosts it reached, RefusedHosts the first
	// it refused, at most 8 each, such as "registry.npmjs.org:443".
	Requests     int64    `json:"requests,omitempty"`
	Refused      int64    `json:"refused,omitempty"`
	Received     int64    `json:"received,omitempty"`
	Hosts        []string `json:"hosts,omitempty"`
	RefusedHosts []string `json:"refused_hosts,omitempty"`
}

// Committed answers [Commit].
type Committed struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"`
	Tree   TreeHash   `json:"tree"`
	// Files is how many paths differ from the parent, Total from the base.
	Files int `json:"files"`
	Total int `json:"total"`
	// FileSet is the fingerprint of the set of paths that differ from the parent; 0 = none.
	FileSet uint64 `json:"file_set,omitempty"`
	// Paths is a blob: one path that differs from the base per line.
	Paths   Hash   `json:"paths,omitzero"`
	PatchID string `json:"patch_id,omitempty"`
	// Hunks are what differs from the parent, as pairs of fingerprints: of the lines
	// that went and of those that came, each with its path. The pair the other way
	// round undoes it. At most 8 pairs, the same ones for a change and its undoing.
	Hunks []uint64 `json:"hunks,omitempty"`
	// Kept counts the paths below .pawl/ that differ from the base: the harness
	// keeps these, and no candidate may touch them.
	Kept int `json:"kept,omitempty"`
	// LeftOut is as in [ToolReturned]. Report is then a JSON [GateReport] that names the
	// files: the candidate has not passed.
	LeftOut []LimitMet `json:"left_out,omitempty"`
	Report  Hash       `json:"report,omitzero"`
}

// WorkspaceInspected answers [InspectWorkspace].
type WorkspaceInspected struct {
	Effect Seq      `json:"effect"`
	Tree   TreeHash `json:"tree"`
}

// WorkspaceReset answers [ResetWorkspace].
type WorkspaceReset struct {
	Effect  Seq        `json:"effect"`
	Head    CommitHash `json:"head"`
	Tree    TreeHash   `json:"tree"`
	Salvage string     `json:"salvage,omitempty"` // empty when there was nothing to save
}

// WorkspaceClosed answers [CloseWorkspace].
type WorkspaceClosed struct {
	Effect  Seq    `json:"effect"`
	Salvage string `json:"salvage,omitempty"`
}

// WaitEnded answers [Wait].
type WaitEnded struct {
	Effect Seq `json:"effect"`
}

// Answer is an event body that answers an effect.
type Answer interface {
	Body
	// Answers is the effect it answers.
	Answers() Seq
}

// Answers implements [Answer].
func (b *WorkspaceOpened) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *PromptAssembled) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *ModelReplied) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *ToolReturned) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *GateJudged) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *Prepared) Answers() Seq { return b.Effect }

// Why returns why the commands failed, with what they said; empty if they did not.
func (b *Prepared) Why() string {
	if b.Said == "" {
		return b.Failed
	}
	return b.Failed + ": " + b.Said
}

// Answers implements [Answer].
func (b *Committed) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *WorkspaceInspected) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *WorkspaceReset) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *WorkspaceClosed) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *WaitEnded) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *EffectFailed) Answers() Seq { return b.Effect }
