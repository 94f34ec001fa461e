package message

import (
	"pawl"
	"pawl/internal/view"
)

// Message is one thing a face is told.
type Message struct {
	Event string `json:"event"` // what happened: one of the names below
	Data  any    `json:"data"`
	// Project, Run and Seq say which event of which run led to it. An event may lead
	// to several; the last of them has Last set.
	Project string     `json:"-"`
	Run     pawl.RunID `json:"-"`
	Seq     pawl.Seq   `json:"-"`
	Last    bool       `json:"-"`
}

// The names of messages. Beside each is the type of its data.
const (
	LoopCreated       = "loop.created"            // view.Record
	LoopUpdated       = "loop.updated"            // view.Record
	LoopStarted       = "loop.started"            // Status
	LoopStatusChange  = "loop.status_change"      // Status
	LoopIteration     = "loop.iteration"          // Iteration
	LoopIterationEnd  = "loop.iteration_complete" // Iteration
	LoopArtifact      = "loop.artifact"           // Artifact
	LoopRecovered     = "loop.recovered"          // Recovered
	LoopComplete      = "loop.complete"           // Status
	LoopFailed        = "loop.failed"             // Status
	LoopInvalidated   = "loop.invalidated"        // Status
	PlanAwaiting      = "plan.awaiting_approval"  // Plan
	PlanApproved      = "plan.approved"           // Approved
	PlanRejected      = "plan.rejected"           // Rejected
	ToolStarted       = "tool.started"            // Work
	ToolCompleted     = "tool.completed"          // Work
	ValidationStarted = "validation.started"      // Work
	ValidationDone    = "validation.completed"    // Work
	MergeStarted      = "merge.started"           // Work
	MergeCompleted    = "merge.completed"         // Work
	MergeConflict     = "merge.conflict"          // Work
	SignalSent        = "signal.sent"             // view.SignalRecord
	SignalAcked       = "signal.acknowledged"     // view.SignalRecord
	MetricsUpdate     = "metrics.update"          // Metrics
	RunUpdated        = "run.updated"             // RunLine
	Error             = "error"                   // Problem
)

// Status is the status of a loop, and the one it had before.
type Status struct {
	ID     string          `json:"id"`
	Run    pawl.RunID      `json:"run"`
	From   pawl.LoopStatus `json:"from,omitempty"`
	To     pawl.LoopStatus `json:"to"`
	Reason string          `json:"reason,omitempty"`
}

// Iteration is an iteration of a loop, counted from 1.
type Iteration struct {
	ID        string          `json:"id"`
	Run       pawl.RunID      `json:"run"`
	Iteration int             `json:"iteration"`
	Status    pawl.LoopStatus `json:"status"`
	Decision  pawl.Decision   `json:"decision,omitempty"`
	Reason    string          `json:"reason,omitempty"`
}

// Artifact is where what a loop handed in is, below the project's state folder.
type Artifact struct {
	ID   string     `json:"id"`
	Run  pawl.RunID `json:"run"`
	Path string     `json:"path"`
}

// Recovered says that a loop goes on in another process than it began in.
type Recovered struct {
	ID   string          `json:"id"`
	Run  pawl.RunID      `json:"run"`
	From pawl.LoopStatus `json:"from_status"`
	To   pawl.LoopStatus `json:"to_status"`
}

// Plan is a plan that waits for a person.
type Plan struct {
	ID  string     `json:"id"`
	Run pawl.RunID `json:"run"`
	Preview
}

// SpecInfo is a spec of a plan.
type SpecInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Approved says how many loops an approved plan has led to.
type Approved struct {
	ID           string     `json:"id"`
	Run          pawl.RunID `json:"run"`
	SpecsSpawned int        `json:"specs_spawned"`
}

// Rejected says why a person rejected a plan.
type Rejected struct {
	ID     string     `json:"id"`
	Run    pawl.RunID `json:"run"`
	Reason string     `json:"reason,omitempty"`
}

// Work is a tool call, a gate or a merge of a loop.
type Work struct {
	ID      string       `json:"id"`
	Run     pawl.RunID   `json:"run"`
	Name    string       `json:"name,omitempty"` // of the tool or the gate
	Verdict pawl.Verdict `json:"verdict,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	IsError bool         `json:"is_error,omitempty"`
}

// Metrics is what a run has used.
type Metrics struct {
	Run pawl.RunID `json:"run"`
	// Cost and Tokens are what it was charged; Lost and LostTokens the part that calls were
	// charged whose cost nobody knows.
	Cost       pawl.Micros `json:"cost"`
	Tokens     int64       `json:"tokens"`
	Lost       pawl.Micros `json:"lost,omitempty"`
	LostTokens int64       `json:"lost_tokens,omitempty"`
	// Loops counts the loops by status.
	Loops map[pawl.LoopStatus]int `json:"loops"`
}

// RunLine says that a run has another status.
type RunLine struct {
	Run     pawl.RunID     `json:"run"`
	Title   string         `json:"title,omitempty"`
	Status  pawl.RunStatus `json:"status"`
	Outcome pawl.Outcome   `json:"outcome,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	// Findings counts those of the result that nobody accepted, of a run that ended well.
	Findings int `json:"findings,omitempty"`
}

// Problem is why a run cannot go on.
type Problem struct {
	Run     pawl.RunID `json:"run"`
	Message string     `json:"message"`
}

// loopOf is what most messages begin with.
func loopOf(r *view.Record) (id string, run pawl.RunID) { return r.ID, r.Run }
