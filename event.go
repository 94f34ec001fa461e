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

// Body is what an event says: a type of one of the event_*.go files, always as a pointer.
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

// The kinds. A new one takes the number after the highest.
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
	KindExamined           Kind = 49

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
	KindPublished          Kind = 107
	KindGateOverruled      Kind = 108
	KindFindingRaised      Kind = 109
	KindFindingAnswered    Kind = 110
	KindRemarkMade         Kind = 111
	KindAgentProgressed    Kind = 112
	KindModelSwitched      Kind = 113
	KindGoalsWeighed       Kind = 114
)

// kinds has the name and the body of each kind. The name is the body's type in snake case.
var kinds = map[Kind]struct {
	name string
	body func() Body
}{
	KindRunStarted:         {"run_started", empty[RunStarted]},
	KindRunPaused:          {"run_paused", empty[RunPaused]},
	KindRunResumed:         {"run_resumed", empty[RunResumed]},
	KindCancelRequested:    {"cancel_requested", empty[CancelRequested]},
	KindLimitsChanged:      {"limits_changed", empty[LimitsChanged]},
	KindLimitReached:       {"limit_reached", empty[LimitReached]},
	KindBudgetWarned:       {"budget_warned", empty[BudgetWarned]},
	KindRecovered:          {"recovered", empty[Recovered]},
	KindRunEnded:           {"run_ended", empty[RunEnded]},
	KindRunStopping:        {"run_stopping", empty[RunStopping]},
	KindAccountChanged:     {"account_changed", empty[AccountChanged]},
	KindClockJumped:        {"clock_jumped", empty[ClockJumped]},
	KindEffectRequested:    {"effect_requested", empty[EffectRequested]},
	KindEffectFailed:       {"effect_failed", empty[EffectFailed]},
	KindEffectLost:         {"effect_lost", empty[EffectLost]},
	KindEffectWithdrawn:    {"effect_withdrawn", empty[EffectWithdrawn]},
	KindAnswerIgnored:      {"answer_ignored", empty[AnswerIgnored]},
	KindWorkspaceOpened:    {"workspace_opened", empty[WorkspaceOpened]},
	KindPromptAssembled:    {"prompt_assembled", empty[PromptAssembled]},
	KindModelReplied:       {"model_replied", empty[ModelReplied]},
	KindToolReturned:       {"tool_returned", empty[ToolReturned]},
	KindGateJudged:         {"gate_judged", empty[GateJudged]},
	KindCommitted:          {"committed", empty[Committed]},
	KindWorkspaceInspected: {"workspace_inspected", empty[WorkspaceInspected]},
	KindWorkspaceReset:     {"workspace_reset", empty[WorkspaceReset]},
	KindWorkspaceClosed:    {"workspace_closed", empty[WorkspaceClosed]},
	KindWaitEnded:          {"wait_ended", empty[WaitEnded]},
	KindTasksRead:          {"tasks_read", empty[TasksRead]},
	KindMerged:             {"merged", empty[Merged]},
	KindBranchAdvanced:     {"branch_advanced", empty[BranchAdvanced]},
	KindConflictsProbed:    {"conflicts_probed", empty[ConflictsProbed]},
	KindNotified:           {"notified", empty[Notified]},
	KindCheckpointMarked:   {"checkpoint_marked", empty[CheckpointMarked]},
	KindRestored:           {"restored", empty[Restored]},
	KindRecorded:           {"recorded", empty[Recorded]},
	KindPublished:          {"published", empty[Published]},
	KindPrepared:           {"prepared", empty[Prepared]},
	KindLoopStarted:        {"loop_started", empty[LoopStarted]},
	KindComplexityScored:   {"complexity_scored", empty[ComplexityScored]},
	KindIterationStarted:   {"iteration_started", empty[IterationStarted]},
	KindIterationRestarted: {"iteration_restarted", empty[IterationRestarted]},
	KindSessionStarted:     {"session_started", empty[SessionStarted]},
	KindNoteAdded:          {"note_added", empty[NoteAdded]},
	KindSessionEnded:       {"session_ended", empty[SessionEnded]},
	KindGatesReused:        {"gates_reused", empty[GatesReused]},
	KindIterationEnded:     {"iteration_ended", empty[IterationEnded]},
	KindEscalated:          {"escalated", empty[Escalated]},
	KindCouncilCalled:      {"council_called", empty[CouncilCalled]},
	KindCouncilDecided:     {"council_decided", empty[CouncilDecided]},
	KindLoopEnded:          {"loop_ended", empty[LoopEnded]},
	KindGateLeftOut:        {"gate_left_out", empty[GateLeftOut]},
	KindGateOverruled:      {"gate_overruled", empty[GateOverruled]},
	KindTasksListed:        {"tasks_listed", empty[TasksListed]},
	KindPlanAccepted:       {"plan_accepted", empty[PlanAccepted]},
	KindPlanRefused:        {"plan_refused", empty[PlanRefused]},
	KindReplanCalled:       {"replan_called", empty[ReplanCalled]},
	KindTasksBlocked:       {"tasks_blocked", empty[TasksBlocked]},
	KindTasksSkipped:       {"tasks_skipped", empty[TasksSkipped]},
	KindRerouted:           {"rerouted", empty[Rerouted]},
	KindRoundsEnded:        {"rounds_ended", empty[RoundsEnded]},
	KindQuestionAsked:      {"question_asked", empty[QuestionAsked]},
	KindQuestionAnswered:   {"question_answered", empty[QuestionAnswered]},
	KindQuestionWithdrawn:  {"question_withdrawn", empty[QuestionWithdrawn]},
	KindMergeQueued:        {"merge_queued", empty[MergeQueued]},
	KindNotePosted:         {"note_posted", empty[NotePosted]},
	KindMemoryAdded:        {"memory_added", empty[MemoryAdded]},
	KindMemoryForgotten:    {"memory_forgotten", empty[MemoryForgotten]},
	KindBatchStarted:       {"batch_started", empty[BatchStarted]},
	KindTaskJudged:         {"task_judged", empty[TaskJudged]},
	KindBatchEnded:         {"batch_ended", empty[BatchEnded]},
	KindHealthJudged:       {"health_judged", empty[HealthJudged]},
	KindHealthOverridden:   {"health_overridden", empty[HealthOverridden]},
	KindRollbackCalled:     {"rollback_called", empty[RollbackCalled]},
	KindRolledBack:         {"rolled_back", empty[RolledBack]},
	KindTaskHeld:           {"task_held", empty[TaskHeld]},
	KindForked:             {"forked", empty[Forked]},
	KindSignalSent:         {"signal_sent", empty[SignalSent]},
	KindSignalAcknowledged: {"signal_acknowledged", empty[SignalAcknowledged]},
	KindLoopAdmitted:       {"loop_admitted", empty[LoopAdmitted]},
	KindGenerationStarted:  {"generation_started", empty[GenerationStarted]},
	KindInvalidated:        {"invalidated", empty[Invalidated]},
	KindArchived:           {"archived", empty[Archived]},
	KindTaskRetried:        {"task_retried", empty[TaskRetried]},
	KindExamined:           {"examined", empty[Examined]},
	KindFindingRaised:      {"finding_raised", empty[FindingRaised]},
	KindFindingAnswered:    {"finding_answered", empty[FindingAnswered]},
	KindRemarkMade:         {"remark_made", empty[RemarkMade]},
	KindAgentProgressed:    {"agent_progressed", empty[AgentProgressed]},
	KindModelSwitched:      {"model_switched", empty[ModelSwitched]},
	KindGoalsWeighed:       {"goals_weighed", empty[GoalsWeighed]},
}

// empty returns an empty body of the type T.
func empty[T any, P interface {
	*T
	Body
}]() Body {
	return P(new(T))
}

func (k Kind) String() string {
	if s := kinds[k].name; s != "" {
		return s
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

func kindNamed(name string) Kind {
	for k, row := range kinds {
		if row.name == name {
			return k
		}
	}
	return 0
}

// newBody returns an empty body of the kind, or nil for a kind that there is not.
func newBody(k Kind) Body {
	if row, ok := kinds[k]; ok {
		return row.body()
	}
	return nil
}
