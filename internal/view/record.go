package view

import (
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Record is a loop of a run as Loopr keeps it. Texts in it are as they came; those
// made of blobs are empty until [Records.Full] reads them. Paths are relative to the
// project's state folder and lead into the folders of loops, see internal/document/loopfolder.
// Fields are added, never renamed.
type Record struct {
	ID       string `json:"id"`
	LoopType string `json:"loop_type"` // the recipe's word: plan, spec, phase, code
	ParentID string `json:"parent_id,omitempty"`
	// InputArtifact is the artifact of the parent's it was spawned from.
	InputArtifact string `json:"input_artifact,omitempty"`
	// OutputArtifacts are what it handed in, the newest first.
	OutputArtifacts []string `json:"output_artifacts"`
	// PromptPath is the template of the prompts it begins with, as the run froze it.
	// What was sent is the prompt.md of each iteration.
	PromptPath string `json:"prompt_path"`
	// ValidationCommand is what says whether an iteration passed: the commands of the
	// configured gates and of its own task, and review:NAME for a model that judges.
	ValidationCommand string `json:"validation_command"`
	MaxIterations     int    `json:"max_iterations"` // 0 = no limit
	Worktree          string `json:"worktree"`
	// Status is derived from the events; nobody sets it.
	Status pawl.LoopStatus `json:"status"`
	// Iteration counts from 0 and goes up with each one that failed: people are shown
	// [Record.Shown].
	Iteration int `json:"iteration"`
	// Progress is what was said of each iteration that failed, and by persons.
	Progress string `json:"progress"`
	// Context is what it was spawned to do: the name, description and place of its
	// task in the parent's artifact, or the goal.
	Context   pawl.JSON `json:"context"`
	CreatedAt int64     `json:"created_at"` // milliseconds since 1970
	UpdatedAt int64     `json:"updated_at"`

	Run pawl.RunID `json:"run"`
	// Approval is what a person made of its plan; none where none is asked.
	Approval pawl.ApprovalState `json:"approval"`
	// Generation counts how often it has begun anew, from 1.
	Generation int `json:"generation"`
	// Task is its entry in the parent's artifact, Index its place there from 1.
	Task  string `json:"task,omitempty"`
	Title string `json:"title,omitempty"`
	Index int    `json:"index,omitempty"`
	// Spawned is how many loops its present artifact has led to.
	Spawned  int  `json:"spawned,omitempty"`
	Archived bool `json:"archived,omitempty"`
	// Money is what it has spent, holds and has lost, with the loops below it. Cost and
	// Tokens are what it was charged: spent and lost together. Lost and LostTokens are as
	// in Money.
	Money      pawl.Money  `json:"money"`
	Cost       pawl.Micros `json:"cost"`
	Tokens     int64       `json:"tokens"`
	Lost       pawl.Micros `json:"lost,omitempty"`
	LostTokens int64       `json:"lost_tokens,omitempty"`
	Tier       string      `json:"tier,omitempty"` // in the recipe's word
	Branch     string      `json:"branch,omitempty"`
	Score      int         `json:"score,omitempty"`     // what it was admitted by
	Questions  []int       `json:"questions,omitempty"` // the numbers of those that are open
	// Reason says why it is held, failed or invalidated, one line; empty = nothing to say.
	Reason string `json:"reason,omitempty"`
	// ParentIteration and ParentGeneration are those of the artifact it was spawned
	// from; zero where the parent cannot begin anew.
	ParentIteration  int `json:"parent_iteration,omitempty"`
	ParentGeneration int `json:"parent_generation,omitempty"`

	Ref    pawl.LoopRef `json:"-"`
	Parent pawl.LoopRef `json:"-"`
	// About is the list its open or answered question about the plan was asked with,
	// List the plan it has accepted last.
	About pawl.Hash `json:"-"`
	List  pawl.Hash `json:"-"`
	// Artifacts are what OutputArtifacts name, the oldest first.
	Artifacts []HandedIn `json:"-"`
	// Depth is how far below the root it is, which is at 0.
	Depth int `json:"-"`

	recordState
}

// HandedIn is an artifact as a session handed it in: JSON, by the iteration's number
// from 1. Of several of one iteration it is the last.
type HandedIn struct {
	Iteration int
	Blob      pawl.Hash
}

// Shown returns the number of its iteration for people, from 1.
func (r *Record) Shown() int { return r.Iteration + 1 }

// Ended reports a status that lasts unless the run goes on.
func (r *Record) Ended() bool {
	return r.Status == pawl.LoopFailed || r.Status == pawl.LoopInvalidated || r.Status == pawl.LoopComplete && r.end != nil
}

// Plans reports a kind of loop whose plan a person decides about.
func (r *Record) Plans() bool {
	return r.kind != nil && r.kind.Approval != nil && r.kind.Approval.By == "human"
}

// Name returns what people call it: its task, or what kind of loop it is.
func (r *Record) Name() string {
	if r.Task != "" {
		return plain.Line(r.Task, 0)
	}
	return plain.Line(r.LoopType, 0)
}

// Folder returns where its files are, relative to the state folder.
func (r *Record) Folder() string {
	if r.away() {
		return "archive/" + r.ID
	}
	return "loops/" + r.ID
}

// away reports whether its files are in the archive.
func (r *Record) away() bool { return r.Archived || r.Status == pawl.LoopInvalidated }

// ArtifactFile returns the name of the file that what it hands in is in: plan.md, spec.md or
// phase.md for people, and beside it the same as .json; empty = its kind hands in nothing
// that children are spawned from. Other lists of tasks are only .json.
func (r *Record) ArtifactFile() string { return r.file }

// artifactPath returns the artifact of an iteration, counted from 1.
func (r *Record) artifactPath(n int) string {
	return fmt.Sprintf("%s/iterations/%03d/artifacts/%s", r.Folder(), n, r.file)
}

// SignalRecord is a signal to one loop. A selector that named several led to one of
// these for each.
type SignalRecord struct {
	ID         string          `json:"id"`
	SignalType pawl.SignalKind `json:"signal_type"`
	// SourceLoop is the loop that sent it; empty = a person did, By.
	SourceLoop     string `json:"source_loop,omitempty"`
	TargetLoop     string `json:"target_loop"`
	TargetSelector string `json:"target_selector,omitempty"`
	Reason         string `json:"reason"`
	// Payload is what there is to read about it; [Records.Signal] fills it.
	Payload        string     `json:"payload,omitempty"`
	CreatedAt      int64      `json:"created_at"` // milliseconds since 1970
	AcknowledgedAt int64      `json:"acknowledged_at,omitempty"`
	Run            pawl.RunID `json:"run"`
	By             string     `json:"by,omitempty"`
	// Expired reports that it was acknowledged for the loop, when its time was up.
	Expired bool `json:"expired,omitempty"`
	// Agent is, of an info, the coding agent whose turn was open then. Now reports that it receives the
	// info in that turn; otherwise the info is in its next session's prompt.
	Agent string `json:"agent,omitempty"`
	Now   bool   `json:"now,omitempty"`

	N       int          `json:"-"`
	Target  pawl.LoopRef `json:"-"`
	payload pawl.Hash
}

// Change says that a loop has another status or approval than before an event. From
// is empty of a loop that has begun to be.
type Change struct {
	Record       *Record
	From         pawl.LoopStatus
	FromApproval pawl.ApprovalState
}

// Records are the loops of a run as records, and the signals between them, folded
// from the run's events by [Records.Add]. The zero value is before the first event.
type Records struct {
	Run      pawl.RunID
	Loops    []*Record // in the order they came to be; the first is the root
	Signals  []*SignalRecord
	Archived bool // the run is

	recordsState
}

// Loop finds a record by its loop's ordinal, or nil.
func (rs *Records) Loop(ref pawl.LoopRef) *Record {
	if i := int(ref) - 1; i >= 0 && i < len(rs.Loops) && rs.Loops[i].Ref == ref {
		return rs.Loops[i]
	}
	for _, r := range rs.Loops {
		if r.Ref == ref && ref > 0 {
			return r
		}
	}
	return nil
}

// Kinds are the types of loops that the run's recipe has.
func (rs *Records) Kinds() []string {
	var out []string
	for _, k := range rs.recipe.Kinds {
		out = append(out, k.Name)
	}
	return out
}

// ByID finds a record by its id, or nil.
func (rs *Records) ByID(id string) *Record {
	for _, r := range rs.Loops {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Find finds the loop that a person means: by its id or the end of it, or by its path or
// the end of that, such as b3 or b3/code of beta/b3/code. What names several is refused.
func (rs *Records) Find(name string) (*Record, error) {
	if r := rs.ByID(name); r != nil {
		return r, nil
	}
	var found []*Record
	for _, r := range rs.Loops {
		if name != "" && (strings.HasSuffix("/"+rs.Path(r), "/"+name) || strings.HasSuffix(r.ID, "-"+name)) {
			found = append(found, r)
		}
	}
	if len(found) > 1 { // the newest generation's is meant, if one of them still counts
		var alive []*Record
		for _, r := range found {
			if r.Status != pawl.LoopInvalidated {
				alive = append(alive, r)
			}
		}
		if len(alive) == 1 {
			found = alive
		}
	}
	switch len(found) {
	case 0:
		return nil, pawl.Errorf(pawl.CodeNotFound, "run %s has no loop %q", rs.Run, name).WithHint("pawl loops %s", rs.Run)
	case 1:
		return found[0], nil
	}
	const most = 8
	var names []string
	for _, r := range found[:min(most, len(found))] {
		names = append(names, rs.Path(r)+" ("+r.ID+")")
	}
	if n := len(found) - most; n > 0 {
		names = append(names, count(n, "other"))
	}
	return nil, pawl.Errorf(pawl.CodeInvalid, "%q may be any of the loops %s", name, strings.Join(names, ", ")).WithHint("pawl loops %s", rs.Run)
}

// Path returns what a loop is called among all of a run: the tasks from the root's children
// down to its own, such as beta/b3/code; of the root what kind of loop it is.
func (rs *Records) Path(rec *Record) string {
	above := rs.Loop(rec.Parent)
	name := rec.Name()
	if above != nil && above.Task != "" && above.Task == rec.Task { // the one piece of work its parent is about
		name = plain.Line(rec.LoopType, 0)
	}
	if above == nil || above.Parent == 0 {
		return name
	}
	return rs.Path(above) + "/" + name
}

// Children returns the loops spawned from a loop, of every generation.
func (rs *Records) Children(of *Record) []*Record {
	var out []*Record
	for _, r := range rs.Loops {
		if of != nil && r.Parent == of.Ref {
			out = append(out, r)
		}
	}
	return out
}

// Stale reports whether a loop was spawned from an artifact that its parent has
// replaced since.
func (rs *Records) Stale(r *Record) bool {
	p := rs.Loop(r.Parent)
	if p == nil || r.ParentIteration == 0 {
		return false
	}
	return r.ParentGeneration < p.Generation || r.ParentIteration < p.Shown()
}

// Awaiting returns the loops whose plan waits for a person.
func (rs *Records) Awaiting() []*Record {
	var out []*Record
	for _, r := range rs.Loops {
		if r.Approval == pawl.ApprovalAwaiting {
			out = append(out, r)
		}
	}
	return out
}

// Nested reports whether there are loops below the root's children: a tree that the
// root's list of tasks does not tell.
func (rs *Records) Nested() bool {
	for _, r := range rs.Loops {
		if r.Depth > 1 {
			return true
		}
	}
	return false
}

func millis(t time.Time) int64 { return t.UnixMilli() }
