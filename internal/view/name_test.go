package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pawl"
)

// twoLoops returns a run of the recipe loom with a plan and one subtask, which is loop 2.
func twoLoops(t *testing.T) *story {
	t.Helper()
	s := grow(t, loom, "Write a parser", settings())
	s.plan(1, pawl.ForStep, "", "", parser...)
	s.spawn(2, "lexer", 1, 1)
	return s
}

// name adds an event to the story and returns its name.
func (s *story) name(ref pawl.LoopRef, body pawl.Body) string {
	s.add(ref, body)
	return Name(s.events[len(s.events)-1], fold(s.events))
}

// nameOfKind maps a kind to the names of an event of this kind without any fields: its
// name for a task and its name for a subtask. Events of other kinds have no name.
var nameOfKind = map[pawl.Kind][2]string{
	pawl.KindRunPaused:         {"task_paused", "subtask_paused"},
	pawl.KindRunResumed:        {"task_resumed", "subtask_resumed"},
	pawl.KindRunEnded:          {"task_failed", "subtask_failed"},
	pawl.KindModelReplied:      {"model_call_completed", "model_call_completed"},
	pawl.KindToolReturned:      {"tool_call_completed", "tool_call_completed"},
	pawl.KindGateJudged:        {"verification_failed", "verification_failed"},
	pawl.KindLoopStarted:       {"task_created", "subtask_started"},
	pawl.KindLoopEnded:         {"", "subtask_failed"}, // the task ends with the run
	pawl.KindPlanAccepted:      {"task_plan_ready", "subtask_plan_ready"},
	pawl.KindPlanRefused:       {"task_plan_refused", "subtask_plan_refused"},
	pawl.KindReplanCalled:      {"task_replanning", "subtask_replanning"},
	pawl.KindTasksSkipped:      {"subtask_skipped", "subtask_skipped"},
	pawl.KindQuestionAsked:     {"approval_requested", "approval_requested"},
	pawl.KindQuestionAnswered:  {"approval_granted", "approval_granted"},
	pawl.KindQuestionWithdrawn: {"approval_withdrawn", "approval_withdrawn"},
	pawl.KindMemoryAdded:       {"memory_entry_created", "memory_entry_created"},
	pawl.KindBatchStarted:      {"batch_started", "batch_started"},
	pawl.KindBatchEnded:        {"batch_ended", "batch_ended"},
	pawl.KindHealthJudged:      {"health_judged", "health_judged"},
	pawl.KindCheckpointMarked:  {"checkpoint_marked", "checkpoint_marked"},
	pawl.KindRollbackCalled:    {"rollback_called", "rollback_called"},
	pawl.KindRolledBack:        {"rolled_back", "rolled_back"},
}

// Each kind of event has its name in nameOfKind. F-63 L-B22
func TestNamesOfKinds(t *testing.T) {
	for k := range pawl.Kind(255) {
		if strings.HasPrefix(k.String(), "kind ") || k == pawl.KindEffectRequested {
			continue // not a kind, or never without an effect
		}
		for i, want := range nameOfKind[k] {
			var e pawl.Event
			if err := json.Unmarshal(fmt.Appendf(nil, `{"kind": %q, "body": {}}`, k), &e); err != nil {
				t.Fatal(err)
			}
			if got := twoLoops(t).name(pawl.LoopRef(i+1), e.Body); got != want {
				t.Errorf("%s of loop %d is named %q, want %q", k, i+1, got, want)
			}
		}
	}
}

// An effect that has a name is called <what>_started when it is requested and
// <what>_failed when it fails, is lost or is withdrawn. F-63 L-B22
func TestNamesOfEffects(t *testing.T) {
	told := map[pawl.Verb]string{pawl.VerbCallModel: "model_call", pawl.VerbCallTool: "tool_call", pawl.VerbRunGate: "verification"}
	for v := pawl.VerbOpenWorkspace; !strings.HasPrefix(v.String(), "verb "); v++ {
		var request pawl.EffectRequested
		if err := json.Unmarshal(fmt.Appendf(nil, `{"effect": {"verb": %q, "do": {}}}`, v), &request); err != nil {
			t.Fatal(err)
		}
		if do, ok := request.Effect.Do.(*pawl.CallModel); ok {
			do.Tier = 1
		}
		started, failed := "", ""
		if what := told[v]; what != "" {
			started, failed = what+"_started", what+"_failed"
		}
		s := twoLoops(t)
		if got := s.name(2, &request); got != started {
			t.Errorf("%s requested is named %q, want %q", v, got, started)
		}
		id := request.Effect.ID
		for _, end := range []pawl.Body{&pawl.EffectFailed{Effect: id}, &pawl.EffectLost{Effect: id}, &pawl.EffectWithdrawn{Effect: id}} {
			before := len(s.events)
			if got := s.name(2, end); got != failed {
				t.Errorf("%s %s is named %q, want %q", v, end.EventKind(), got, failed)
			}
			s.events = s.events[:before]
		}
	}
}

// A question that asks for consent is called an approval. One that asks for information
// is called a question. F-63 L-B22
func TestNamesOfQuestions(t *testing.T) {
	for kind, consent := range map[pawl.QuestionKind]bool{
		pawl.AskPlan: true, pawl.AskStart: true, pawl.AskMerge: true, pawl.AskVotes: true, pawl.AskReplan: true,
		pawl.AskStuck: true, pawl.AskVerdict: true, pawl.AskClarify: false, pawl.AskBlocked: false, pawl.AskHealth: false,
	} {
		want := []string{"question_asked", "question_answered", "question_answered", "question_withdrawn"}
		if consent {
			want = []string{"approval_requested", "approval_granted", "approval_denied", "approval_withdrawn"}
		}
		s := twoLoops(t)
		for i, body := range []pawl.Body{
			&pawl.QuestionAsked{N: 1, Kind: kind, Choices: []string{"yes", "no"}},
			&pawl.QuestionAnswered{N: 1, Choice: "yes"},
			&pawl.QuestionAnswered{N: 1, Choice: "no"},
			&pawl.QuestionWithdrawn{N: 1},
		} {
			if i > 1 {
				s.events = s.events[:len(s.events)-1] // the question is still open
			}
			if got := s.name(2, body); got != want[i] {
				t.Errorf("%s of kind %s is named %q, want %q", body.EventKind(), kind, got, want[i])
			}
		}
	}
}
