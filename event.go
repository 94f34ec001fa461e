package pawl

import (
	"encoding/json"
	"fmt"
	"time"
)

// LoopRef is a loop's ordinal within its run, from 1 for the root loop. Zero
// means the run itself.
type LoopRef uint32

// Event is one fact of a run's log, in the past tense. Events are the truth:
// everything else Pawl shows or stores is derived from them.
type Event struct {
	Run  RunID
	Seq  Seq
	Loop LoopRef
	Time time.Time // of the input that led to it, UTC
	Body Body
}

// Body is what an event says: one of the types below, always as a pointer.
// Bodies are never changed once they are part of an event.
type Body interface {
	EventKind() Kind
	fields(*coder)
}

type eventJSON struct {
	Run  RunID           `json:"run"`
	Seq  Seq             `json:"seq"`
	Loop LoopRef         `json:"loop,omitempty"`
	Time time.Time       `json:"time"`
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// MarshalJSON writes the event for people and for the wire.
func (e Event) MarshalJSON() ([]byte, error) {
	body, err := json.Marshal(e.Body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(eventJSON{e.Run, e.Seq, e.Loop, e.Time, e.Body.EventKind().String(), body})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Event) UnmarshalJSON(data []byte) error {
	var in eventJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	body := newBody(kindNamed(in.Kind))
	if body == nil {
		return fmt.Errorf("event %d: unknown kind %q", in.Seq, in.Kind)
	}
	if err := json.Unmarshal(in.Body, body); err != nil {
		return fmt.Errorf("event %d (%s): %w", in.Seq, in.Kind, err)
	}
	*e = Event{Run: in.Run, Seq: in.Seq, Loop: in.Loop, Time: in.Time, Body: body}
	return nil
}

// Kind numbers the kinds of event in the log. Numbers are never used again.
type Kind uint8

// The kinds, grouped as the bodies below.
const (
	KindRunStarted      Kind = 1
	KindRunPaused       Kind = 2
	KindRunResumed      Kind = 3
	KindCancelRequested Kind = 4
	KindLimitsChanged   Kind = 5
	KindLimitReached    Kind = 6
	KindBudgetWarned    Kind = 7
	KindRecovered       Kind = 8
	KindRunEnded        Kind = 9
	KindRunStopping     Kind = 10
	KindAccountChanged  Kind = 11
	KindClockJumped     Kind = 12

	KindEffectRequested Kind = 20
	KindEffectFailed    Kind = 21
	KindEffectLost      Kind = 22
	KindEffectWithdrawn Kind = 23
	KindAnswerIgnored   Kind = 24

	KindWorkspaceOpened    Kind = 30
	KindPromptAssembled    Kind = 31
	KindModelReplied       Kind = 32
	KindToolReturned       Kind = 33
	KindGateJudged         Kind = 34
	KindCommitted          Kind = 35
	KindWorkspaceInspected Kind = 36
	KindWorkspaceReset     Kind = 37
	KindWorkspaceClosed    Kind = 38
	KindWaitEnded          Kind = 39
	KindTasksRead          Kind = 40
	KindMerged             Kind = 41
	KindBranchAdvanced     Kind = 42
	KindConflictsProbed    Kind = 43
	KindNotified           Kind = 44
	KindCheckpointMarked   Kind = 45
	KindRestored           Kind = 46
	KindRecorded           Kind = 47
	KindPrepared           Kind = 48

	KindLoopStarted        Kind = 50
	KindComplexityScored   Kind = 51
	KindIterationStarted   Kind = 52
	KindIterationRestarted Kind = 53
	KindSessionStarted     Kind = 54
	KindNoteAdded          Kind = 55
	KindSessionEnded       Kind = 56
	KindGatesReused        Kind = 57
	KindIterationEnded     Kind = 58
	KindEscalated          Kind = 59
	KindCouncilCalled      Kind = 60
	KindCouncilDecided     Kind = 61
	KindLoopEnded          Kind = 62
	KindGateLeftOut        Kind = 63

	KindTasksListed       Kind = 70
	KindPlanAccepted      Kind = 71
	KindPlanRefused       Kind = 72
	KindReplanCalled      Kind = 73
	KindTasksBlocked      Kind = 74
	KindTasksSkipped      Kind = 75
	KindRerouted          Kind = 76
	KindRoundsEnded       Kind = 77
	KindQuestionAsked     Kind = 78
	KindQuestionAnswered  Kind = 79
	KindQuestionWithdrawn Kind = 80
	KindMergeQueued       Kind = 81
	KindNotePosted        Kind = 82
	KindMemoryAdded       Kind = 83
	KindMemoryForgotten   Kind = 84

	KindBatchStarted     Kind = 85
	KindTaskJudged       Kind = 86
	KindBatchEnded       Kind = 87
	KindHealthJudged     Kind = 88
	KindHealthOverridden Kind = 89
	KindRollbackCalled   Kind = 90
	KindRolledBack       Kind = 91
	KindTaskHeld         Kind = 92
	KindForked           Kind = 93

	KindSignalSent         Kind = 100
	KindSignalAcknowledged Kind = 101
	KindLoopAdmitted       Kind = 102
	KindGenerationStarted  Kind = 103
	KindInvalidated        Kind = 104
	KindArchived           Kind = 105
	KindTaskRetried        Kind = 106
)

var kinds = map[Kind]string{
	KindRunStarted: "run_started", KindRunPaused: "run_paused", KindRunResumed: "run_resumed",
	KindCancelRequested: "cancel_requested", KindLimitsChanged: "limits_changed", KindLimitReached: "limit_reached",
	KindBudgetWarned: "budget_warned", KindRecovered: "recovered", KindRunEnded: "run_ended", KindRunStopping: "run_stopping",
	KindAccountChanged: "account_changed", KindClockJumped: "clock_jumped",
	KindEffectRequested: "effect_requested", KindEffectFailed: "effect_failed", KindEffectLost: "effect_lost",
	KindEffectWithdrawn: "effect_withdrawn", KindAnswerIgnored: "answer_ignored",
	KindWorkspaceOpened: "workspace_opened", KindPromptAssembled: "prompt_assembled", KindModelReplied: "model_replied",
	KindToolReturned: "tool_returned", KindGateJudged: "gate_judged", KindCommitted: "committed",
	KindWorkspaceInspected: "workspace_inspected", KindWorkspaceReset: "workspace_reset",
	KindWorkspaceClosed: "workspace_closed", KindWaitEnded: "wait_ended",
	KindLoopStarted: "loop_started", KindComplexityScored: "complexity_scored", KindIterationStarted: "iteration_started",
	KindIterationRestarted: "iteration_restarted", KindSessionStarted: "session_started", KindNoteAdded: "note_added",
	KindSessionEnded: "session_ended", KindGatesReused: "gates_reused", KindIterationEnded: "iteration_ended",
	KindEscalated: "escalated", KindCouncilCalled: "council_called", KindCouncilDecided: "council_decided",
	KindLoopEnded: "loop_ended", KindGateLeftOut: "gate_left_out",
	KindTasksRead: "tasks_read", KindMerged: "merged", KindBranchAdvanced: "branch_advanced",
	KindConflictsProbed: "conflicts_probed", KindNotified: "notified",
	KindTasksListed: "tasks_listed", KindPlanAccepted: "plan_accepted", KindPlanRefused: "plan_refused",
	KindReplanCalled: "replan_called", KindTasksBlocked: "tasks_blocked", KindTasksSkipped: "tasks_skipped",
	KindRerouted: "rerouted", KindRoundsEnded: "rounds_ended", KindQuestionAsked: "question_asked",
	KindQuestionAnswered: "question_answered", KindQuestionWithdrawn: "question_withdrawn",
	KindMergeQueued: "merge_queued", KindNotePosted: "note_posted", KindMemoryAdded: "memory_added",
	KindMemoryForgotten: "memory_forgotten",
	KindBatchStarted:    "batch_started", KindTaskJudged: "task_judged", KindBatchEnded: "batch_ended",
	KindHealthJudged: "health_judged", KindHealthOverridden: "health_overridden",
	KindRollbackCalled: "rollback_called", KindRolledBack: "rolled_back", KindTaskHeld: "task_held", KindForked: "forked",
	KindCheckpointMarked: "checkpoint_marked", KindRestored: "restored", KindRecorded: "recorded",
	KindSignalSent: "signal_sent", KindSignalAcknowledged: "signal_acknowledged", KindLoopAdmitted: "loop_admitted",
	KindGenerationStarted: "generation_started", KindInvalidated: "invalidated", KindArchived: "archived",
	KindTaskRetried: "task_retried", KindPrepared: "prepared",
}

func (k Kind) String() string {
	if s := kinds[k]; s != "" {
		return s
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

func kindNamed(name string) Kind {
	for k, s := range kinds {
		if s == name {
			return k
		}
	}
	return 0
}

func newBody(k Kind) Body {
	switch k {
	case KindRunStarted:
		return &RunStarted{}
	case KindRunPaused:
		return &RunPaused{}
	case KindRunResumed:
		return &RunResumed{}
	case KindCancelRequested:
		return &CancelRequested{}
	case KindLimitsChanged:
		return &LimitsChanged{}
	case KindLimitReached:
		return &LimitReached{}
	case KindBudgetWarned:
		return &BudgetWarned{}
	case KindRecovered:
		return &Recovered{}
	case KindRunEnded:
		return &RunEnded{}
	case KindRunStopping:
		return &RunStopping{}
	case KindAccountChanged:
		return &AccountChanged{}
	case KindClockJumped:
		return &ClockJumped{}
	case KindEffectRequested:
		return &EffectRequested{}
	case KindEffectFailed:
		return &EffectFailed{}
	case KindEffectLost:
		return &EffectLost{}
	case KindEffectWithdrawn:
		return &EffectWithdrawn{}
	case KindAnswerIgnored:
		return &AnswerIgnored{}
	case KindWorkspaceOpened:
		return &WorkspaceOpened{}
	case KindPromptAssembled:
		return &PromptAssembled{}
	case KindModelReplied:
		return &ModelReplied{}
	case KindToolReturned:
		return &ToolReturned{}
	case KindGateJudged:
		return &GateJudged{}
	case KindCommitted:
		return &Committed{}
	case KindWorkspaceInspected:
		return &WorkspaceInspected{}
	case KindWorkspaceReset:
		return &WorkspaceReset{}
	case KindWorkspaceClosed:
		return &WorkspaceClosed{}
	case KindWaitEnded:
		return &WaitEnded{}
	case KindLoopStarted:
		return &LoopStarted{}
	case KindComplexityScored:
		return &ComplexityScored{}
	case KindIterationStarted:
		return &IterationStarted{}
	case KindIterationRestarted:
		return &IterationRestarted{}
	case KindSessionStarted:
		return &SessionStarted{}
	case KindNoteAdded:
		return &NoteAdded{}
	case KindSessionEnded:
		return &SessionEnded{}
	case KindGatesReused:
		return &GatesReused{}
	case KindIterationEnded:
		return &IterationEnded{}
	case KindEscalated:
		return &Escalated{}
	case KindCouncilCalled:
		return &CouncilCalled{}
	case KindCouncilDecided:
		return &CouncilDecided{}
	case KindLoopEnded:
		return &LoopEnded{}
	case KindGateLeftOut:
		return &GateLeftOut{}
	case KindTasksRead:
		return &TasksRead{}
	case KindMerged:
		return &Merged{}
	case KindBranchAdvanced:
		return &BranchAdvanced{}
	case KindConflictsProbed:
		return &ConflictsProbed{}
	case KindNotified:
		return &Notified{}
	case KindTasksListed:
		return &TasksListed{}
	case KindPlanAccepted:
		return &PlanAccepted{}
	case KindPlanRefused:
		return &PlanRefused{}
	case KindReplanCalled:
		return &ReplanCalled{}
	case KindTasksBlocked:
		return &TasksBlocked{}
	case KindTasksSkipped:
		return &TasksSkipped{}
	case KindRerouted:
		return &Rerouted{}
	case KindRoundsEnded:
		return &RoundsEnded{}
	case KindQuestionAsked:
		return &QuestionAsked{}
	case KindQuestionAnswered:
		return &QuestionAnswered{}
	case KindQuestionWithdrawn:
		return &QuestionWithdrawn{}
	case KindMergeQueued:
		return &MergeQueued{}
	case KindNotePosted:
		return &NotePosted{}
	case KindMemoryAdded:
		return &MemoryAdded{}
	case KindMemoryForgotten:
		return &MemoryForgotten{}
	case KindBatchStarted:
		return &BatchStarted{}
	case KindTaskJudged:
		return &TaskJudged{}
	case KindBatchEnded:
		return &BatchEnded{}
	case KindHealthJudged:
		return &HealthJudged{}
	case KindHealthOverridden:
		return &HealthOverridden{}
	case KindRollbackCalled:
		return &RollbackCalled{}
	case KindRolledBack:
		return &RolledBack{}
	case KindTaskHeld:
		return &TaskHeld{}
	case KindForked:
		return &Forked{}
	case KindCheckpointMarked:
		return &CheckpointMarked{}
	case KindRestored:
		return &Restored{}
	case KindRecorded:
		return &Recorded{}
	case KindPrepared:
		return &Prepared{}
	case KindSignalSent:
		return &SignalSent{}
	case KindSignalAcknowledged:
		return &SignalAcknowledged{}
	case KindLoopAdmitted:
		return &LoopAdmitted{}
	case KindGenerationStarted:
		return &GenerationStarted{}
	case KindInvalidated:
		return &Invalidated{}
	case KindArchived:
		return &Archived{}
	case KindTaskRetried:
		return &TaskRetried{}
	}
	return nil
}
