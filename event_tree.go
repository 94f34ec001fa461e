package pawl

// The events of loops with children: lists of tasks, plans that change, merges,
// questions, what is remembered.

// TasksListed carries a part of the list of tasks that a TasksRead behind it
// closes: an event is small, a list need not be.
type TasksListed struct {
	Entries []TaskEntry `json:"entries"`
}

// PlanAccepted says that the list that was read is the loop's plan from now on.
// Tasks that had passed under the version before it keep their results.
type PlanAccepted struct {
	Version int  `json:"version"` // from 1
	Count   int  `json:"count"`
	List    Hash `json:"list"` // the list as it was handed in
	// Changed tells what is different from the version before, at most 300 bytes.
	Changed string `json:"changed,omitempty"`
}

// PlanRefused says why a list that was read cannot be the loop's plan. The one
// before it, if there is one, stays.
type PlanRefused struct {
	Reason string `json:"reason"` // at most 300 bytes
	List   Hash   `json:"list,omitzero"`
}

// ReplanCause says why a plan is made anew.
type ReplanCause string

// The causes.
const (
	ReplanFailure   ReplanCause = "failure"   // a task failed for good
	ReplanDiscovery ReplanCause = "discovery" // something was found that the plan did not know
	ReplanSchedule  ReplanCause = "schedule"  // so many tasks have passed since
	ReplanUser      ReplanCause = "user"
	ReplanHealth    ReplanCause = "health" // the batches do not get anywhere
)

// ReplanCalled says that the plan is to be made anew: no task starts before it
// is, and those that run come to their end.
type ReplanCalled struct {
	Cause  ReplanCause `json:"cause"`
	Reason string      `json:"reason"`
}

// TasksBlocked says that tasks can no longer run, because something they depend
// on, directly or not, can no longer pass.
type TasksBlocked struct {
	Cause string `json:"cause"` // the id of the task that cannot pass
	Tasks []int  `json:"tasks"` // positions in the list, from 0
}

// TasksSkipped says that tasks are not going to run.
type TasksSkipped struct {
	Tasks  []int  `json:"tasks"` // positions in the list, from 0
	Reason string `json:"reason"`
}

// Rerouted says that a gate's verdict sends the iteration back to a step.
type Rerouted struct {
	Gate    string  `json:"gate"`
	Verdict Verdict `json:"verdict"`
	Step    int     `json:"step"` // where it goes on
	N       int     `json:"n"`    // how often by this gate and verdict, from 1
	Max     int     `json:"max"`
}

// RoundsEnded says that a group of steps was repeated as often as it may be
// without the decision that ends it.
type RoundsEnded struct {
	Group string `json:"group"`
	Max   int    `json:"max"`
	Then  string `json:"then"` // continue, fail or ask
}

// QuestionKind says what a question is about.
type QuestionKind string

// The kinds of question.
const (
	AskPlan    QuestionKind = "plan"       // may these tasks be worked on
	AskStart   QuestionKind = "start"      // may this task start
	AskMerge   QuestionKind = "merge"      // may this work be merged, although confidence in it is low
	AskVotes   QuestionKind = "votes"      // reviewers do not agree
	AskReplan  QuestionKind = "plan_limit" // the plan was made anew as often as it may be
	AskStuck   QuestionKind = "stuck"      // everything was tried
	AskVerdict QuestionKind = "verdict"    // a gate asks a person
	AskClarify QuestionKind = "clarify"    // an agent asks what only a person knows
	AskBlocked QuestionKind = "blocked"    // a task needs what only a person can give
	AskHealth  QuestionKind = "health"     // the batches do not get anywhere
	AskMissing QuestionKind = "missing"    // a gate's program is not installed
)

// QuestionAsked says that a loop waits for a person.
type QuestionAsked struct {
	N    int          `json:"n"` // its number in the run, from 1
	Kind QuestionKind `json:"kind"`
	Text string       `json:"text"` // at most 400 bytes
	// Choices are the answers there are, the safe one last.
	Choices []string `json:"choices"`
	// About is what the answer is about: an answer names its hash, so that nobody
	// consents to what they have not seen. Zero = there is nothing to see.
	About Hash `json:"about,omitzero"`
}

// QuestionAnswered says what a person answered.
type QuestionAnswered struct {
	N      int    `json:"n"`
	Choice string `json:"choice"`
	Text   string `json:"text,omitempty"` // at most 1000 bytes
	By     string `json:"by,omitempty"`
	// Said is Text as a blob, for prompts; zero = nothing was said.
	Said Hash `json:"said,omitzero"`
}

// QuestionWithdrawn says that an answer is not wanted any more.
type QuestionWithdrawn struct {
	N      int    `json:"n"`
	Reason string `json:"reason"`
}

// MergeQueued says that a loop's work has passed and waits for its turn to be
// merged into its parent's branch.
type MergeQueued struct {
	Commit CommitHash `json:"commit"`
	// Confidence is how sure the checks are of it, in percent.
	Confidence int `json:"confidence"`
}

// NotePosted says that a loop wrote an entry of its siblings' shared blackboard.
type NotePosted struct {
	Key   string `json:"key"`   // at most 60 bytes
	Value string `json:"value"` // at most 300 bytes
}

// MemoryAdded says that something is remembered.
type MemoryAdded struct {
	N     int         `json:"n"` // its number in the run, from 1
	Kind  MemoryKind  `json:"kind"`
	Scope MemoryScope `json:"scope"`
	Task  string      `json:"task,omitempty"` // the id of the loop's task
	Place Place       `json:"place"`
	Text  Hash        `json:"text"`
	// Failed reports that the attempt had failed already when it was written down.
	Failed bool `json:"failed,omitempty"`
	// Learning is its number among the task's learnings, over all runs of the task
	// and without gaps; zero = it has no file there.
	Learning int `json:"learning,omitempty"`
}

// MemoryForgotten says that no prompt is shown an entry any more.
type MemoryForgotten struct {
	N      int    `json:"n"`
	Reason string `json:"reason,omitempty"`
}

// TasksRead answers [ReadTasks]. In the log its entries are in the TasksListed
// before it.
type TasksRead struct {
	Effect  Seq         `json:"effect"`
	Entries []TaskEntry `json:"-"`
	Count   int         `json:"count"`
	// Problem says why the list cannot be read; empty = it can.
	Problem string `json:"problem,omitempty"` // at most 300 bytes
}

// Merged answers [Merge].
type Merged struct {
	Effect Seq `json:"effect"`
	// Commit has both sides as parents and is on no branch. Where the sides
	// conflict, its files hold conflict markers.
	Commit CommitHash `json:"commit"`
	Tree   TreeHash   `json:"tree"`
	// Conflicts counts the paths in conflict; Hunks is what conflicts, for people
	// and prompts, and Paths one of them per line.
	Conflicts int  `json:"conflicts,omitempty"`
	Hunks     Hash `json:"hunks,omitzero"`
	Paths     Hash `json:"paths,omitzero"`
	// Unresolved counts the suspect paths that still hold conflict markers.
	Unresolved int `json:"unresolved,omitempty"`
	// Changes are what differs from Ours, as [Committed] has its hunks.
	Changes []uint64 `json:"changes,omitempty"`
}

// BranchAdvanced answers [AdvanceBranch].
type BranchAdvanced struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"`
}

// ConflictsProbed answers [ProbeConflicts].
type ConflictsProbed struct {
	Effect Seq `json:"effect"`
	// With are the loops whose work conflicts with this one's, Hunks what does.
	With  []LoopRef `json:"with,omitempty"`
	Hunks Hash      `json:"hunks,omitzero"`
}

// Notified answers [Notify].
type Notified struct {
	Effect Seq `json:"effect"`
	Status int `json:"status"` // of HTTP
}

// Answers implements [Answer].
func (b *TasksRead) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *Merged) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *BranchAdvanced) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *ConflictsProbed) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *Notified) Answers() Seq { return b.Effect }

func (b *TasksListed) fields(c *coder) {
	list(c, 1, &b.Entries, func(c *coder, e *TaskEntry) { e.fields(c) })
}

// EventKind implements [Body].
func (*TasksListed) EventKind() Kind { return KindTasksListed }

func (b *PlanAccepted) fields(c *coder) {
	num(c, 1, &b.Version)
	num(c, 2, &b.Count)
	sum(c, 3, &b.List)
	str(c, 4, &b.Changed)
}

// EventKind implements [Body].
func (*PlanAccepted) EventKind() Kind { return KindPlanAccepted }

func (b *PlanRefused) fields(c *coder) {
	str(c, 1, &b.Reason)
	sum(c, 2, &b.List)
}

// EventKind implements [Body].
func (*PlanRefused) EventKind() Kind { return KindPlanRefused }

func (b *ReplanCalled) fields(c *coder) {
	str(c, 1, &b.Cause)
	str(c, 2, &b.Reason)
}

// EventKind implements [Body].
func (*ReplanCalled) EventKind() Kind { return KindReplanCalled }

func (b *TasksBlocked) fields(c *coder) {
	str(c, 1, &b.Cause)
	ints(c, 2, &b.Tasks)
}

// EventKind implements [Body].
func (*TasksBlocked) EventKind() Kind { return KindTasksBlocked }

func (b *TasksSkipped) fields(c *coder) {
	ints(c, 1, &b.Tasks)
	str(c, 2, &b.Reason)
}

// EventKind implements [Body].
func (*TasksSkipped) EventKind() Kind { return KindTasksSkipped }

func (b *Rerouted) fields(c *coder) {
	str(c, 1, &b.Gate)
	str(c, 2, &b.Verdict)
	num(c, 3, &b.Step)
	num(c, 4, &b.N)
	num(c, 5, &b.Max)
}

// EventKind implements [Body].
func (*Rerouted) EventKind() Kind { return KindRerouted }

func (b *RoundsEnded) fields(c *coder) {
	str(c, 1, &b.Group)
	num(c, 2, &b.Max)
	str(c, 3, &b.Then)
}

// EventKind implements [Body].
func (*RoundsEnded) EventKind() Kind { return KindRoundsEnded }

func (b *QuestionAsked) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Kind)
	str(c, 3, &b.Text)
	words(c, 4, &b.Choices)
	sum(c, 5, &b.About)
}

// EventKind implements [Body].
func (*QuestionAsked) EventKind() Kind { return KindQuestionAsked }

func (b *QuestionAnswered) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Choice)
	str(c, 3, &b.Text)
	str(c, 4, &b.By)
	sum(c, 5, &b.Said)
}

// EventKind implements [Body].
func (*QuestionAnswered) EventKind() Kind { return KindQuestionAnswered }

func (b *QuestionWithdrawn) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Reason)
}

// EventKind implements [Body].
func (*QuestionWithdrawn) EventKind() Kind { return KindQuestionWithdrawn }

func (b *MergeQueued) fields(c *coder) {
	str(c, 1, &b.Commit)
	num(c, 2, &b.Confidence)
}

// EventKind implements [Body].
func (*MergeQueued) EventKind() Kind { return KindMergeQueued }

func (b *NotePosted) fields(c *coder) {
	str(c, 1, &b.Key)
	str(c, 2, &b.Value)
}

// EventKind implements [Body].
func (*NotePosted) EventKind() Kind { return KindNotePosted }

func (b *MemoryAdded) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Kind)
	str(c, 3, &b.Scope)
	str(c, 4, &b.Task)
	sub(c, 5, b.Place.fields)
	sum(c, 6, &b.Text)
	flag(c, 7, &b.Failed)
	num(c, 8, &b.Learning)
}

// EventKind implements [Body].
func (*MemoryAdded) EventKind() Kind { return KindMemoryAdded }

func (b *MemoryForgotten) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Reason)
}

// EventKind implements [Body].
func (*MemoryForgotten) EventKind() Kind { return KindMemoryForgotten }

func (b *TasksRead) fields(c *coder) {
	num(c, 1, &b.Effect)
	num(c, 2, &b.Count)
	str(c, 3, &b.Problem)
}

// EventKind implements [Body].
func (*TasksRead) EventKind() Kind { return KindTasksRead }

func (b *Merged) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
	str(c, 3, &b.Tree)
	num(c, 4, &b.Conflicts)
	sum(c, 5, &b.Hunks)
	sum(c, 6, &b.Paths)
	num(c, 7, &b.Unresolved)
	ints(c, 8, &b.Changes)
}

// EventKind implements [Body].
func (*Merged) EventKind() Kind { return KindMerged }

func (b *BranchAdvanced) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
}

// EventKind implements [Body].
func (*BranchAdvanced) EventKind() Kind { return KindBranchAdvanced }

func (b *ConflictsProbed) fields(c *coder) {
	num(c, 1, &b.Effect)
	ints(c, 2, &b.With)
	sum(c, 3, &b.Hunks)
}

// EventKind implements [Body].
func (*ConflictsProbed) EventKind() Kind { return KindConflictsProbed }

func (b *Notified) fields(c *coder) {
	num(c, 1, &b.Effect)
	num(c, 2, &b.Status)
}

// EventKind implements [Body].
func (*Notified) EventKind() Kind { return KindNotified }
