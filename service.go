package pawl

import (
	"context"
	"iter"
)

// Service is Pawl as its faces see it: start, steer, watch. internal/engine
// implements it in the process that owns a project, internal/client over that
// process's socket. What a face shows beyond this it derives from events and
// blobs (internal/view), so that both ways show the same.
type Service interface {
	// Start begins a run and returns its line. The request is resolved, and what the run
	// depends on is frozen. Prepare commands that the repository chose and nobody allowed
	// are refused with [CodeConsent].
	Start(ctx context.Context, req StartRequest) (RunInfo, error)
	// Preview says what a request would start, and starts nothing. What can be known to be
	// wrong with the request is the same error as Start's.
	Preview(ctx context.Context, req StartRequest) (StartPreview, error)
	// Steer gives a running or ended run a command. A command that is not
	// possible in the present state is refused with [CodeState] and changes nothing.
	Steer(ctx context.Context, run RunID, s Steering) error
	// Runs lists the project's runs, oldest first.
	Runs(ctx context.Context) ([]RunInfo, error)
	// Events reads a run's events after a number, up to now.
	Events(ctx context.Context, run RunID, after Seq) iter.Seq2[Event, error]
	// Watch reads a run's events after a number and goes on with new ones as
	// they become durable, live text between them, until the run is at rest
	// (ended or quarantined) or ctx ends. Events are never lost, repeated or
	// reordered; live text may be dropped.
	Watch(ctx context.Context, run RunID, after Seq) iter.Seq2[Update, error]
	// Fork starts a run that has its first events, up to and including one, in
	// common with another, and goes on from there on a branch of its own.
	Fork(ctx context.Context, run RunID, at Seq) (RunInfo, error)
	// Recall finds what is remembered.
	Recall(ctx context.Context, q MemoryQuery) ([]MemoryEntry, error)
	// Blob reads a blob that an event of the run refers to.
	Blob(ctx context.Context, run RunID, hash Hash) ([]byte, error)
}

// SteerVerb names a command to a run.
type SteerVerb string

// The commands.
const (
	SteerPause  SteerVerb = "pause"
	SteerResume SteerVerb = "resume"
	SteerCancel SteerVerb = "cancel"
	SteerLimits SteerVerb = "limits"
	// SteerReplan makes the plan of the run's root loop anew.
	SteerReplan SteerVerb = "replan"
	// SteerAnswer answers a question.
	SteerAnswer SteerVerb = "answer"
	// SteerForget lets no prompt be shown an entry of the memory any more; it is
	// obeyed by ended runs too.
	SteerForget SteerVerb = "forget"
	// SteerRollback takes the run's branch and its tasks back to a checkpoint.
	SteerRollback SteerVerb = "rollback"
	// SteerContinue lets the run go on in spite of what the monitor says of its health.
	SteerContinue SteerVerb = "continue"
	// SteerSignal tells loops of a tree something.
	SteerSignal SteerVerb = "signal"
	// SteerOverride overrules the halt of a review and resumes the run. A person has to give it at
	// a terminal, with a reason.
	SteerOverride SteerVerb = "override"
	// SteerArchive puts the run out of the way, or a loop that has ended. Ended runs
	// obey it too; one that is at work does not.
	SteerArchive SteerVerb = "archive"
)

// Resumes reports whether the command lets a run that has ended go on.
func (v SteerVerb) Resumes() bool { return v == SteerResume || v == SteerOverride }

// Steering is a command to a run.
type Steering struct {
	Verb    SteerVerb `json:"verb"`
	Reason  string    `json:"reason,omitempty"`
	Running Draining  `json:"running,omitempty"` // of cancel; empty means what the recipe says
	Limits  *Limits   `json:"limits,omitempty"`  // of limits, and of resume and override when they change with it
	Answer  *Reply    `json:"answer,omitempty"`  // of answer
	Memory  int       `json:"memory,omitempty"`  // of forget: the entry's number
	// Checkpoint is the number of the one to go back to, of rollback; 0 = the last good one.
	Checkpoint int        `json:"checkpoint,omitempty"`
	Signal     *Signaling `json:"signal,omitempty"` // of signal
	Loop       string     `json:"loop,omitempty"`   // of archive: the loop's id; empty = the run
	By         string     `json:"by,omitempty"`     // who wants it, of rollback, continue, signal, override and archive
	Gate       string     `json:"gate,omitempty"`   // of override: the review
	// Terminal declares, of override, that a person gives the command at a terminal. It counts
	// over the socket of the owner alone.
	Terminal bool `json:"terminal,omitempty"`
	// Accounts are those that whoever resumes the run has with its providers, and Timeouts the time
	// limits of gates as their settings have them now. The engine sets them; no request does.
	Accounts []Account     `json:"-"`
	Timeouts []GateTimeout `json:"-"`
}

// Signaling is a signal of a person's to loops of a run: stop, pause, resume, rebase
// or info. The others are between loops.
type Signaling struct {
	Signal SignalKind `json:"signal"`
	// To is a loop's id, or a selector within the run: descendants:ID, children:ID,
	// type:KIND or status:STATUS. One that names no loop is refused with
	// [CodeNotFound].
	To string `json:"to"`
	// Text is what an info says, at most 1000 bytes.
	Text string `json:"text,omitempty"`
}

// Reply is an answer to a question. The first one counts; a later one is
// refused with [CodeConflict] and told what was answered.
type Reply struct {
	Question int    `json:"question"` // its number in the run
	Choice   string `json:"choice"`
	Text     string `json:"text,omitempty"` // at most 1000 bytes
	By       string `json:"by,omitempty"`
	// About is the hash of what the answer is about, as it was shown.
	About Hash `json:"about,omitzero"`
	// Asked are the questions that it answers, one a line, in the words of who asked, as the engine finds them.
	Asked string `json:"-"`
}

// Update is one thing a watcher sees: exactly one field is set.
type Update struct {
	Event *Event `json:"event,omitempty"`
	Live  *Live  `json:"live,omitempty"`
}

// Live is what is not durable: what a model or a command is saying now, or that an effect
// waits for its places.
type Live struct {
	Effect Seq    `json:"effect"`
	Place  Place  `json:"place"`
	Text   string `json:"text"`
	// Waiting is repeated while the effect waits, and said once more when that is over;
	// nil = it is at work.
	Waiting *Waiting `json:"waiting,omitempty"`
}

// Projects is what a daemon serves: the repositories of a user, each with a Service
// of its own. internal/daemon implements it in the daemon, internal/client over its
// socket.
type Projects interface {
	// Open reaches the project of the repository that a folder is in, and takes it
	// over unless another process has it.
	Open(ctx context.Context, dir string) (ProjectInfo, error)
	// Projects lists those that have been opened, in the order of their roots.
	Projects(ctx context.Context) ([]ProjectInfo, error)
	// Project is the service of one, by its id; [CodeNotFound] when it is not open.
	Project(ctx context.Context, id string) (Service, error)
	// Load says what the places of the machine are used for.
	Load(ctx context.Context) (Load, error)
}

// ProjectInfo is a project that a daemon serves.
type ProjectInfo struct {
	ID   string `json:"id"`   // the name of its state folder
	Root string `json:"root"` // of the repository
	Live int    `json:"live"` // runs that are driven
	// Holder is the process that has the project when it is not the daemon: its runs
	// can be read and not steered. Zero = the daemon has it.
	Holder int `json:"holder,omitempty"`
	// Closed reports that no process has it, so that nothing happens in it. Whatever
	// is asked of it opens it.
	Closed bool `json:"closed,omitempty"`
	// Problem is why it could not be opened, or what is wrong since; empty = nothing, or
	// nobody has asked for it.
	Problem string `json:"problem,omitempty"`
	// Needs are the interrupted runs that go on as soon as somebody hands over what they lack.
	Needs []Need `json:"needs,omitempty"`
}

// Need is what an interrupted run lacks to go on, such as a key.
type Need struct {
	Run  RunID  `json:"run"`
	What string `json:"what"`
}
