package view

import (
	"encoding/json"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Name returns an event's name in the words of the run's recipe: the kind of loop it
// is about and what happened to it, such as "task_plan_ready" and
// "subtask_retrying", or what happened besides: "model_call_started". An event
// that changes nothing of that kind has none. The run has had the event applied.
//
// A root loop is created, one that has children is planning and its plan ready,
// and it ends when the run does; a child is started, and ends by itself.
func Name(e pawl.Event, r *Run) string {
	l := r.loop(e.Loop)
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		return requestedName(&b.Effect)
	case *pawl.EffectFailed, *pawl.EffectLost, *pawl.EffectWithdrawn:
		return failedName(r.closed)
	case *pawl.ModelReplied:
		return "model_call_completed"
	case *pawl.ToolReturned:
		return "tool_call_completed"
	case *pawl.GateJudged:
		switch {
		case b.OnBase || b.On != "":
			return ""
		case b.Verdict == pawl.VerdictPass || b.Verdict == pawl.VerdictSkip:
			return "verification_passed"
		}
		return "verification_failed"
	case *pawl.QuestionAsked:
		return r.Question(b.N).name("requested", "asked")
	case *pawl.QuestionWithdrawn:
		return r.Question(b.N).name("withdrawn", "withdrawn")
	case *pawl.QuestionAnswered:
		if q := r.Question(b.N); q != nil && q.denied() {
			return q.name("denied", "answered")
		}
		return r.Question(b.N).name("granted", "answered")
	case *pawl.MemoryAdded:
		return "memory_entry_created"
	}
	return r.loopName(l, e)
}

// name returns what happened to a question: to one that asks for consent the first,
// to one that asks what only a person knows the second.
func (q *Question) name(consent, knowledge string) string {
	if q != nil && (q.Kind == pawl.AskClarify || q.Kind == pawl.AskBlocked || q.Kind == pawl.AskHealth) {
		return "question_" + knowledge
	}
	return "approval_" + consent
}

// denied reports an answer other than the first choice, which lets it be.
func (q *Question) denied() bool {
	return q.Answered != nil && len(q.Choices) > 0 && q.Choices[0] != q.Answered.Choice
}

func requestedName(f *pawl.Effect) string {
	switch do := f.Do.(type) {
	case *pawl.CallModel:
		return "model_call_started"
	case *pawl.CallTool:
		return "tool_call_started"
	case *pawl.RunGate:
		if !do.OnBase && do.On == "" {
			return "verification_started"
		}
	}
	return ""
}

func failedName(f *pawl.Effect) string {
	if _, ok := doOf[*pawl.CallModel](f); ok {
		return "model_call_failed"
	}
	if _, ok := doOf[*pawl.CallTool](f); ok {
		return "tool_call_failed"
	}
	if do, ok := doOf[*pawl.RunGate](f); ok && !do.OnBase && do.On == "" {
		return "verification_failed"
	}
	return ""
}

// loopName returns what happened to a loop, or to the run, which is its root loop.
func (r *Run) loopName(l *Loop, e pawl.Event) string {
	root := r.root()
	if l == nil {
		l = root
	}
	if l == nil {
		return ""
	}
	kind := plain.Line(l.Kind, 0)
	children := kind
	if k := r.Recipe.Kind(l.Kind); k != nil && k.Children != nil {
		children = plain.Line(k.Children.Kind, 0)
	}
	switch b := e.Body.(type) {
	case *pawl.LoopStarted:
		if l == root {
			return kind + "_created"
		}
		return kind + "_started"
	case *pawl.SessionStarted:
		if b.Purpose == pawl.ForReview {
			return "verification_started"
		}
		if k := r.Recipe.Kind(l.Kind); b.Purpose == pawl.ForStep && k != nil && k.Children != nil && k.Children.From == b.Place.Step {
			return kind + "_planning"
		}
	case *pawl.PlanAccepted:
		return kind + "_plan_ready"
	case *pawl.PlanRefused:
		return kind + "_plan_refused"
	case *pawl.ReplanCalled:
		return kind + "_replanning"
	case *pawl.TasksBlocked:
		if len(b.Tasks) > 0 {
			return children + "_blocked"
		}
	case *pawl.TasksSkipped:
		return children + "_skipped"
	case *pawl.BatchStarted, *pawl.BatchEnded, *pawl.HealthJudged, *pawl.RollbackCalled, *pawl.RolledBack, *pawl.CheckpointMarked:
		return e.Body.EventKind().String()
	case *pawl.IterationStarted:
		if b.N > 1 {
			return kind + "_retrying"
		}
	case *pawl.LoopEnded:
		if l != root {
			return kind + endedName(b.Outcome, b.Stopped)
		}
	case *pawl.RunPaused:
		return kind + "_paused"
	case *pawl.RunResumed:
		return kind + "_resumed"
	case *pawl.RunEnded:
		return kind + endedName(b.Outcome, false)
	}
	return ""
}

func endedName(o pawl.Outcome, stopped bool) string {
	switch {
	case o.Succeeded():
		return "_completed"
	case o == pawl.OutcomeCancelled:
		return "_cancelled"
	case stopped: // it goes on when the run does
		return "_stopped"
	}
	return "_failed"
}

// EventDocument is an event for other programs: as it is stored, and beside it
// its [Name] and what it is about.
type EventDocument struct {
	Run  pawl.RunID   `json:"run"`
	Seq  pawl.Seq     `json:"seq"`
	Loop pawl.LoopRef `json:"loop,omitempty"`
	Time time.Time    `json:"time"`
	Kind string       `json:"kind"`
	Name string       `json:"name,omitempty"`
	// Task is the id of the root loop, Subtask the id of the task of the event's
	// loop. Correlation is the loop's id, its iteration and the attempt at that.
	Task        string          `json:"task_id,omitempty"`
	Subtask     string          `json:"subtask_id,omitempty"`
	Correlation string          `json:"correlation_id,omitempty"`
	Timestamp   string          `json:"timestamp"` // the time in UTC, RFC 3339 to the millisecond
	Body        json.RawMessage `json:"body"`
	// Answer is what the run says, beside its end.
	Answer *Answer `json:"answer,omitempty"`
}

// Document returns the event with its name. The run has had it applied.
func Document(e pawl.Event, r *Run, blobs Blobs) (EventDocument, error) {
	body, err := json.Marshal(e.Body)
	if err != nil {
		return EventDocument{}, fmt.Errorf("encode event %d: %w", e.Seq, err)
	}
	d := EventDocument{Run: e.Run, Seq: e.Seq, Loop: e.Loop, Time: e.Time, Kind: e.Body.EventKind().String(), Name: Name(e, r),
		Timestamp: e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), Body: body}
	if root := r.root(); root != nil {
		d.Task = root.ID
	}
	if _, ok := e.Body.(*pawl.RunEnded); ok {
		d.Answer = AnswerOf(r, blobs)
	}
	l := r.loop(e.Loop)
	if l == nil {
		l = r.root() // whose run it is
	}
	if l != nil {
		d.Subtask, d.Correlation = l.Task, l.ID
		if it := l.last(); it != nil {
			d.Correlation = fmt.Sprintf("%s/%d/%d", l.ID, it.N, it.Attempt)
		}
	}
	return d, nil
}
