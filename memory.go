package pawl

import (
	"context"
	"slices"
	"strings"
	"time"
)

// MemoryKind says what an entry of the memory is.
type MemoryKind string

// The kinds of memory.
const (
	MemoryDecision    MemoryKind = "decision"     // what was decided, and why
	MemoryLearning    MemoryKind = "learning"     // a pattern that worked
	MemoryDiscovery   MemoryKind = "discovery"    // something about the code that the plan did not know
	MemoryError       MemoryKind = "error"        // what went wrong
	MemoryArtifact    MemoryKind = "artifact"     // what was left, and where
	MemoryAntiPattern MemoryKind = "anti-pattern" // what must not be tried again
	MemoryInstruction MemoryKind = "instruction"  // what a person said
)

// MemoryKinds are all kinds, in the order they are listed.
var MemoryKinds = []MemoryKind{MemoryDecision, MemoryLearning, MemoryDiscovery, MemoryError, MemoryArtifact, MemoryAntiPattern, MemoryInstruction}

// Learned reports whether an agent may remember something of this kind: what a
// person said, a person says.
func (k MemoryKind) Learned() bool { return k != MemoryInstruction && slices.Contains(MemoryKinds, k) }

// MemoryScope says for whom an entry is.
type MemoryScope string

// The scopes.
const (
	ScopeRun     MemoryScope = "run"     // the run it was made in
	ScopeProject MemoryScope = "project" // later runs of the project too
)

// MemoryEntry is one thing remembered. The events MemoryAdded and
// MemoryForgotten are the truth; this is their projection.
type MemoryEntry struct {
	Run   RunID       `json:"run"`
	N     int         `json:"n"` // its number in the run, from 1
	Seq   Seq         `json:"seq"`
	Kind  MemoryKind  `json:"kind"`
	Scope MemoryScope `json:"scope"`
	// Task is the id of the task it was learned at; empty = the run's own loop.
	Task   string    `json:"task,omitempty"`
	Source string    `json:"source"` // who said it, where: such as "subtask/2/executor/turn-3"
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
	// Failed reports that the attempt it comes from failed, or was rolled back.
	Failed bool `json:"failed,omitempty"`
	// Forgotten reports an entry that no prompt is shown any more.
	Forgotten bool `json:"forgotten,omitempty"`
	// Learning is its number among the task's learnings; 0 = it has no file there.
	Learning int `json:"learning,omitempty"`
}

// PersonStep is the step in the source of what a person answered to a question.
const PersonStep = "person"

// Answered reports whether the entry is what a person answered to a question.
func (e *MemoryEntry) Answered() bool {
	return e.Kind == MemoryDecision && (e.Source == PersonStep || strings.HasSuffix(e.Source, "/"+PersonStep))
}

// AskedOf begins the context of a decision that is what a person answered.
const AskedOf = "A person was asked"

// MemoryQuery selects entries.
type MemoryQuery struct {
	// Run is the run whose entries are wanted. With Project also those of other
	// runs whose scope is the project. An empty Run means every entry of the project. Of a run
	// that is not here, nothing is remembered: a prompt asks about those of another clone, too.
	Run     RunID `json:"run,omitempty"`
	Project bool  `json:"project,omitempty"`
	// Before leaves out what Run learned at or after this event; zero = nothing.
	Before Seq `json:"before,omitempty"`
	// Text asks for the entries that share words with it, the best match first;
	// empty means all, oldest first. It is a text, not a query language.
	Text  string       `json:"text,omitempty"`
	Kinds []MemoryKind `json:"kinds,omitempty"` // empty = all
	// Passed leaves out what comes from attempts that failed.
	Passed bool `json:"passed,omitempty"`
	// Forgotten includes what was forgotten.
	Forgotten bool `json:"forgotten,omitempty"`
	Limit     int  `json:"limit,omitempty"` // 0 = 200
}

// Memories finds what is remembered. A [Log] implements it: the entries are a
// projection that becomes durable with the events it is made from.
type Memories interface {
	Recall(ctx context.Context, q MemoryQuery) ([]MemoryEntry, error)
}
