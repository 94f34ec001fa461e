package submit_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/tool"
	"pawl/internal/tool/submit"
)

var criteria = []pawl.Criterion{{ID: "AC-001", Text: "one"}, {ID: "AC-002", Text: "two"}}

// facts writes facts as words.
func facts(f pawl.Facts) string {
	var words []string
	for _, x := range f {
		words = append(words, x.Name+"="+x.Value)
	}
	return strings.Join(words, " ")
}

// check does what happens to a result that is handed in: the schema, then what
// lies beyond it.
func check(tb testing.TB, name, args string, about pawl.Submission) (pawl.Facts, string) {
	tb.Helper()
	spec, ok := submit.Results{}.Spec(name)
	if !ok {
		tb.Fatalf("there is no result %s", name)
	}
	pruned, _, _ := tool.New().Prune(spec, json.RawMessage(args))
	if problem := tool.New().Check(spec, pruned); problem != "" {
		return nil, problem
	}
	return submit.Results{}.Facts(name, pruned, about)
}

func verdict(status, gap, more string) string {
	return fmt.Sprintf(`{"criteria": [{"id": "AC-001", "status": %q, "evidence": ["a.go:1"], "gap": %q}], "summary": "s", %s}`, status, gap, more)
}

func subtask(id, depends string) string {
	return fmt.Sprintf(`{"id": %q, "description": "d", "depends_on": [%s], "model_tier": 1, "verification_tier": 2, "is_critical_path": false}`, id, depends)
}

func task(id, depends string) string {
	return fmt.Sprintf(`{"id": %q, "title": "t", "description": "d", "acceptance_criteria": ["c"], "depends_on": [%s]}`, id, depends)
}

// many are so many tasks, and ids what names them.
func many(n int, tail ...string) []string {
	var out []string
	for i := range n {
		out = append(out, task(fmt.Sprint("t", i, strings.Join(tail, "")), ""))
	}
	return out
}

func ids(n int, tail ...string) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%q", fmt.Sprint("t", i, strings.Join(tail, ""))))
	}
	return strings.Join(out, ", ")
}

// planned is the plan of these subtasks.
func planned(subtasks ...string) string {
	return `{"subtasks": [` + strings.Join(subtasks, ", ") + `]}`
}

// listed is the list of these tasks.
func listed(list ...string) string {
	return `{"decision": "PANDORA_LOOP", "reasoning": "r", "tasks": [` + strings.Join(list, ", ") + `]}`
}

func TestAccepted(t *testing.T) {
	for _, test := range []struct {
		name, result, args, want string
		criteria                 []pawl.Criterion
	}{
		{name: "Result", result: "result", args: `{"summary": "done", "agent": "frontend"}`, want: ""},
		{
			name: "Assessment", result: "assessment",
			args: `{"files": 2, "lines": 40, "new_dependencies": 0, "type": "implementation", "risks": ["breaking_change", "security_sensitive"], "why": "x"}`,
			want: "files=2 lines=40 new_dependencies=0 type=implementation risk=breaking_change risk=security_sensitive",
		},
		{name: "Blocked", result: "result", args: `{"summary": "s", "status": "blocked", "reason": "no\nkey", "artifacts": ["a.go"]}`, want: "status=blocked reason=no key"},
		{name: "Done", result: "result", args: `{"summary": "s", "status": "done"}`, want: "status=done"},
		{ // P-33 P-67 P-91
			name: "Tasks", result: "tasks",
			args: `{"decision": "PANDORA_LOOP", "reasoning": "three\nsteps", "intent": "edit", "mode": "code", "tasks": [
				{"id": "TASK-001", "title": "t", "description": "d", "acceptance_criteria": ["Tests pass"], "priority": 1, "depends_on": []},
				{"id": "TASK-002", "title": "t", "description": "d", "acceptance_criteria": [], "depends_on": ["TASK-001"]}]}`,
			want: "decision=PANDORA_LOOP count=2 reason=three steps",
		},
		{name: "TasksWithoutList", result: "tasks", args: `{"decision": "PANDORA_LOOP", "reasoning": "r"}`, want: "decision=PANDORA_LOOP count=0 reason=r"},
		{name: "TasksAtOnce", result: "tasks", args: `{"decision": "EXECUTE", "reasoning": "r", "tasks": []}`, want: "decision=EXECUTE count=0 reason=r"},
		{ // L-34 L-37
			name: "Plan", result: "plan",
			args: `{"subtasks": [` + subtask("a", `"b"`) + `, {"id": "b", "title": "B", "description": "d", "acceptance_criteria": ["c"], "depends_on": [],
				"model_tier": 3, "verification_tier": 1, "is_critical_path": true, "max_retries": 0, "scaffold": true}], "reasoning": "r"}`,
			want: "count=2",
		},
		{name: "Next", result: "next", args: `{"decision": "EXECUTE", "instructions": "do it", "reasoning": "r"}`, want: "decision=EXECUTE"},
		{name: "NextIsNothing", result: "next", args: `{"decision": "COMPLETE", "instructions": ""}`, want: "decision=COMPLETE"},
		{name: "Summary", result: "summary", args: `{"summary": "s", "details": "d"}`, want: ""},
		{name: "Learnings", result: "learnings", args: `{"entries": [{"kind": "learning", "text": "one"}, {"kind": "anti-pattern", "text": "two"}]}`, want: "learning=one anti-pattern=two"},
		{name: "NoLearnings", result: "learnings", args: `{"entries": []}`, want: ""}, // P-79
		{ // P-10 P-54
			name: "Approve", result: "verdict", criteria: criteria[:1],
			args: verdict("pass", "", `"decision": "approve", "confidence": 90`),
			want: "decision=pass reason=s met=1 total=1 confidence=90",
		},
		{
			name: "NothingUnmetPassesOnly", result: "verdict", criteria: criteria[:1],
			args: verdict("fail", "no test", `"decision": "approve", "confidence": 0`),
			want: "decision=fail reason=0 of 1 criteria met; AC-001: no test met=0 total=1 confidence=0 unmet=AC-001",
		},
		{ // P-74
			name: "Retry", result: "verdict", criteria: criteria[:1],
			args: verdict("fail", "no test", `"decision": "retry", "feedback": "write one"`),
			want: "decision=retry reason=0 of 1 criteria met; AC-001: no test met=0 total=1 unmet=AC-001",
		},
		{ // P-B21
			name: "Revise", result: "verdict", criteria: criteria[:1],
			args: verdict("pass", "", `"decision": "revise", "feedback": "the account leaves out the cache"`),
			want: "decision=revise reason=the account leaves out the cache met=1 total=1",
		},
		{name: "FailAlthoughMet", result: "verdict", criteria: criteria[:1], args: verdict("pass", "", `"decision": "fail"`), want: "decision=fail reason=s met=1 total=1"},
		{name: "Halt", result: "verdict", criteria: criteria, args: verdict("pass", "", `"decision": "halt"`), want: "decision=halt reason=s met=1 total=2 unmet=AC-002"},
		{name: "HaltWins", result: "verdict", criteria: criteria[:1], args: verdict("pass", "", `"decision": "approve", "halt": "a key"`), want: "decision=halt reason=a key met=1 total=1"},
		{ // D-42
			name: "Proposal", result: "proposal",
			args: `{"diagnosis": "d", "confidence": 70, "evidence": ["a.go:3"], "fix_location": "a.go", "fix_approach": "f", "architectural_insights": "i"}`,
			want: "confidence=70",
		},
		{ // F-68
			name: "Share", result: "proposal",
			args: `{"diagnosis": "d", "confidence": 0.9, "evidence": "a.go:3", "fix_location": "a.go", "fix_approach": "f", "architectural_insights": null}`,
			want: "confidence=90",
		},
		{ // F-68
			name: "ShareOfVerdict", result: "verdict", criteria: criteria[:1],
			args: verdict("pass", "", `"decision": "approve", "confidence": "85%", "halt": null, "findings": null`),
			want: "decision=pass reason=s met=1 total=1 confidence=85",
		},
		{ // F-68
			name: "NumbersAsTexts", result: "assessment",
			args: `{"files": "2", "lines": 40.0, "new_dependencies": "0", "type": "test", "risks": "security_sensitive", "why": "w"}`,
			want: "files=2 lines=40 new_dependencies=0 type=test risk=security_sensitive",
		},
		{name: "Ballot", result: "ballot", args: `{"ranking": ["C", "A", "B"], "why": "w"}`, want: "rank=C rank=A rank=B"},
		{
			name: "Pass", result: "verdict", criteria: criteria,
			args: `{"criteria": [{"id": "AC-002", "status": "pass", "evidence": ["b.go:1"]}, {"id": "AC-001", "status": "pass", "evidence": ["a.go:1"]}], "summary": "both are met"}`,
			want: "decision=pass reason=both are met met=2 total=2",
		},
		{
			name: "Fail", result: "verdict", criteria: criteria,
			args: `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["a.go:1"]}, {"id": "AC-002", "status": "fail", "evidence": [], "gap": "no test"}], "summary": "s"}`,
			want: "decision=fail reason=1 of 2 criteria met; AC-002: no test met=1 total=2 unmet=AC-002",
		},
		{
			name: "PartlyMetIsNotMet", result: "verdict", criteria: criteria[:1],
			args: `{"criteria": [{"id": "AC-001", "status": "partial", "evidence": ["a.go:1"], "gap": "the error path"}], "summary": "s"}`,
			want: "decision=fail reason=0 of 1 criteria met; AC-001: the error path met=0 total=1 unmet=AC-001",
		},
		{
			name: "NoCriteria", result: "verdict",
			args: `{"criteria": [{"id": "GOAL", "status": "pass", "evidence": ["a.go:1"]}], "summary": "it does"}`,
			want: "decision=pass reason=it does met=1 total=1",
		},
		{
			name: "HaltNeedsNotDecideAll", result: "verdict", criteria: criteria,
			args: `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["a.go:1"]}], "summary": "s", "halt": "a key is committed\nin a.go"}`,
			want: "decision=halt reason=a key is committed in a.go met=1 total=2 unmet=AC-002",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, problem := check(t, test.result, test.args, pawl.Submission{Criteria: test.criteria})
			if problem != "" || facts(got) != test.want {
				t.Errorf("got %q, problem %q, want %q", facts(got), problem, test.want)
			}
		})
	}
}

// Who hands in more than was asked for is not refused for it. F-68
func TestSurplus(t *testing.T) {
	pass := `{"id": "AC-001", "status": "pass", "evidence": ["a.go:1"], "severity": "none"}, {"id": "AC-002", "status": "pass", "evidence": ["x"]}`
	met := "decision=pass reason=s met=2 total=2"
	for _, test := range []struct{ name, result, args, want string }{
		{"Field", "result", `{"summary": "x", "confidence": 80}`, ""},
		{"FieldOfTask", "tasks", listed(`{"id": "TASK-001", "title": "t", "description": "d", "acceptance_criteria": [], "done": true}`), "decision=PANDORA_LOOP count=1 reason=r"},
		{"RiskTwice", "assessment", `{"files": 1, "lines": 1, "new_dependencies": 0, "type": "test", "risks": ["breaking_change", "breaking_change"], "why": "x"}`,
			"files=1 lines=1 new_dependencies=0 type=test risk=breaking_change"},
		{"GoalTests", "assessment", `{"files": 1, "lines": 1, "new_dependencies": 0, "type": "test", "risks": [], "why": "x", "goal_tests": ["shop.TestAdd", "gate lint", "shop.TestOther"]}`,
			"files=1 lines=1 new_dependencies=0 type=test surplus=goal test shop.TestOther goal_tests=2"},
		{"RankTwice", "ballot", `{"ranking": ["B", "A", "B"], "why": "w", "voter": "me"}`, "rank=B rank=A"},
		{"Criterion", "verdict", `{"criteria": [` + pass + `, {"id": "AC-003", "status": "fail", "evidence": []}], "summary": "s"}`, met + " surplus=criterion AC-003"},
		{"CriterionTwice", "verdict", `{"criteria": [` + pass + `, {"id": "AC-001", "status": "pass", "evidence": ["y"]}], "summary": "s"}`, met + " surplus=second decision on AC-001"},
		{"NoFindings", "verdict", `{"criteria": [` + pass + `], "summary": "s", "findings": [{"id": "F-1", "accepted": true}, {"id": "` + strings.Repeat("F", 80) + `", "accepted": false}]}`,
			met + " surplus=answer to F-1 surplus=answer to " + strings.Repeat("F", 47) + "…"},
		{"BlockedBy", "result", `{"summary": "s", "decision": "BLOCKED", "blocker_type": "external", "blocker": "x", "blocked_by": "no id"}`,
			"decision=BLOCKED blocker_type=external blocker=x surplus=blocked_by no id"},
		{"JudgedTwice", "batch", `{"verdicts": [{"task": "a", "verdict": "APPROVED", "issues": [], "decisions": []}, {"task": "a", "verdict": "APPROVED", "issues": [], "decisions": []}], "anti_patterns": []}`,
			"approved=a surplus=second verdict on a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, problem := check(t, test.result, test.args, pawl.Submission{Criteria: criteria, Red: []string{"shop.TestAdd", "gate lint"}}); problem != "" || facts(got) != test.want {
				t.Errorf("got %q, problem %q, want %q", facts(got), problem, test.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	pass := `{"id": "AC-001", "status": "pass", "evidence": ["a.go:1"]}`
	for _, test := range []struct{ name, result, args, says string }{
		{"NoSummary", "result", `{}`, `"summary" is missing`},
		{"BlankSummary", "result", `{"summary": " "}`, "summary is empty"},
		{"UnknownField", "result", `{"summary": "x", "state": "done"}`, `"state" is unknown`},
		{"NegativeFiles", "assessment", `{"files": -1, "lines": 1, "new_dependencies": 0, "type": "test", "risks": [], "why": "x"}`, `"files" must be an integer`},
		{"UnknownType", "assessment", `{"files": 1, "lines": 1, "new_dependencies": 0, "type": "magic", "risks": [], "why": "x"}`, `"type" must be one of`},
		{"UnknownRisk", "assessment", `{"files": 1, "lines": 1, "new_dependencies": 0, "type": "test", "risks": ["boring"], "why": "x"}`, `"risks[0]" must be one of`},
		{"TooSure", "proposal", `{"diagnosis": "d", "confidence": 101, "evidence": ["e"], "fix_location": "l", "fix_approach": "a"}`, `"confidence" must be an integer from 0 to 100`},
		{"BlankEvidence", "proposal", `{"diagnosis": "d", "confidence": 1, "evidence": [" "], "fix_location": "l", "fix_approach": "a"}`, "evidence is empty"},
		{"BlankApproach", "proposal", `{"diagnosis": "d", "confidence": 1, "evidence": ["e"], "fix_location": "l", "fix_approach": " "}`, "fix_approach is empty"},
		{"UnsurePercent", "proposal", `{"diagnosis": "d", "confidence": "high", "evidence": ["e"], "fix_location": "l", "fix_approach": "a"}`, `"confidence" must be an integer from 0 to 100`},
		{"SpelledVerdict", "verdict", verdict("PASS", "", `"confidence": 0.9`), `"criteria[0].status" must be one of "pass", "fail", "partial"`},
		{"NoVerdict", "verdict", `{"criteria": [{"id": "AC-001", "status": null, "evidence": ["a.go:1"]}], "summary": "s"}`, `"criteria[0].status" must be`},
		{"AnswerAsText", "verdict", verdict("pass", "", `"findings": [{"id": "F-1", "accepted": "true"}]`), `"findings[0].accepted" must be true or false`},
		{"NotALetter", "ballot", `{"ranking": ["A", "first"], "why": "w"}`, `"ranking[1]" must match`},
		{"PassWithoutEvidence", "verdict", `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": [""]}], "summary": "s"}`, "AC-001 is a pass without evidence"},
		{"FailWithoutGap", "verdict", `{"criteria": [{"id": "AC-001", "status": "fail", "evidence": []}], "summary": "s"}`, "say in gap what is missing"},
		{"Undecided", "verdict", `{"criteria": [` + pass + `], "summary": "s"}`, "undecided: AC-002"},
		{"DecidedTwice", "verdict", `{"criteria": [` + pass + `, {"id": "AC-002", "status": "pass", "evidence": ["x"]}, {"id": "AC-001", "status": "fail", "evidence": [], "gap": "g"}], "summary": "s"}`, "AC-001 is decided twice, and not alike"},
		{"NoCriteria", "verdict", `{"criteria": [], "summary": "s"}`, "at least 1 entries"},
		{"BlockedWithoutReason", "result", `{"summary": "s", "status": "blocked"}`, "say why it is blocked"},
		{"OtherStatus", "result", `{"summary": "s", "status": "fine"}`, `"status" must be one of "done", "blocked"`},
		{"OtherDecision", "tasks", `{"decision": "LOOP", "reasoning": "r"}`, `"decision" must be one of "PANDORA_LOOP", "EXECUTE", "COMPLETE"`},
		{"NoReasoning", "tasks", `{"decision": "EXECUTE", "reasoning": " "}`, "reasoning is empty"},
		{"TaskID", "tasks", listed(task("TASK 1", "")), `task 1 has the id "TASK 1": want a letter or digit, then letters`},
		{"SameID", "tasks", listed(task("TASK-001", ""), task("TASK-001", "")), "the id TASK-001 is there twice, for tasks 1 and 2"},
		{"UnknownTask", "tasks", listed(task("TASK-001", `"TASK-009"`)), `task TASK-001 depends on "TASK-009", which is not in the list`},
		{"Itself", "plan", planned(subtask("a", `"a"`)), "task a depends on itself"},
		{"Circle", "plan", planned(subtask("a", `"c"`), subtask("b", `"a"`), subtask("c", `"b"`), subtask("d", "")), "in a circle: a → c → b → a"},
		{"EmptyPlan", "plan", `{"subtasks": []}`, "the plan has no subtasks"},
		{"ManyTasks", "tasks", listed(many(201, "")...), "at most 200 entries"},
		{"ManyDepends", "tasks", listed(append(many(41, ""), task("x", ids(41)))...), "task x depends on 41 others: want at most 40"},
		{"LongIDs", "tasks", listed(append(many(30, strings.Repeat("x", 50)), task("x", ids(30, strings.Repeat("x", 50))))...), "the ids task x depends on are too long"},
		{"LongTitle", "tasks", listed(strings.Replace(task("x", ""), `"title": "t"`, `"title": "`+strings.Repeat("t", 201)+`"`, 1)), "the title of task x has 201 bytes: want at most 200"},
		{"BlankTitle", "tasks", listed(strings.Replace(task("x", ""), `"title": "t"`, `"title": " "`, 1)), "task x has no title"},
		{"BlankDescription", "plan", planned(strings.Replace(subtask("x", ""), `: "d"`, `: " "`, 1)), "task x has no description"},
		{"LongDescription", "plan", planned(strings.Replace(subtask("x", ""), `: "d"`, `: "`+strings.Repeat("d", 8001)+`"`, 1)), "has 8001 bytes: want at most 8000"},
		{"BlankCriterion", "tasks", listed(strings.Replace(task("x", ""), `["c"]`, `["c", " "]`, 1)), "acceptance criterion 2 of task x has 0 bytes: want 1 to 1000"},
		{"ManyCriteria", "tasks", listed(strings.Replace(task("x", ""), `["c"]`, `["c"`+strings.Repeat(`, "c"`, 40)+`]`, 1)), "at most 40 entries"},
		{"Tier", "plan", planned(strings.Replace(subtask("x", ""), `"model_tier": 1`, `"model_tier": 4`, 1)), `"subtasks[0].model_tier" must be an integer from 1 to 3`},
		{"NextWithoutInstructions", "next", `{"decision": "EXECUTE", "instructions": " "}`, "instructions are empty"},
		{"NextOther", "next", `{"decision": "PANDORA_LOOP", "instructions": "x"}`, `must be one of "EXECUTE", "COMPLETE"`},
		{"BlankAccount", "summary", `{"summary": " "}`, "summary is empty"},
		{"ManyLearnings", "learnings", `{"entries": [{"kind": "error", "text": "x"}` + strings.Repeat(`, {"kind": "error", "text": "x"}`, 12) + `]}`, "at most 12 entries"},
		{"LearningIsBlank", "learnings", `{"entries": [{"kind": "error", "text": " "}]}`, "the text of entry 1 is empty"},
		{"NoPersonSaidSo", "learnings", `{"entries": [{"kind": "instruction", "text": "obey"}]}`, `must be one of "decision", "learning"`},
		{"VerdictOther", "verdict", `{"criteria": [` + pass + `], "summary": "s", "decision": "pass"}`, `must be one of "approve", "retry", "revise", "fail", "halt"`},
		{"TooConfident", "verdict", `{"criteria": [` + pass + `], "summary": "s", "confidence": 101}`, `"confidence" must be an integer from 0 to 100`},
		{"RetryUndecided", "verdict", `{"criteria": [` + pass + `], "summary": "s", "decision": "retry"}`, "undecided: AC-002"},
		{"UnknownStatus", "verdict", `{"criteria": [{"id": "AC-001", "status": "met", "evidence": []}], "summary": "s"}`, `must be one of "pass", "fail", "partial"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, problem := check(t, test.result, test.args, pawl.Submission{Criteria: criteria}); !strings.Contains(problem, test.says) {
				t.Errorf("problem %q with facts %q, want one that says %q", problem, facts(got), test.says)
			}
		})
	}
	t.Run("WithoutSchema", func(t *testing.T) { // what the schemas refuse, the types refuse too
		for result, args := range map[string]string{
			"tasks": listed(many(201)...), "plan": planned(), "next": `{"decision": "x", "instructions": "y"}`,
			"learnings": `{"entries": [{"kind": "instruction", "text": "x"}]}`, "result": `{"summary": "s", "status": "x"}`,
			"verdict": `{"criteria": [` + pass + `], "summary": "s", "decision": "x"}`,
		} {
			if got, problem := (submit.Results{}).Facts(result, json.RawMessage(args), pawl.Submission{Criteria: criteria}); problem == "" {
				t.Errorf("%s is accepted with %s", result, facts(got))
			}
		}
	})
	t.Run("NoSuchResult", func(t *testing.T) {
		if _, problem := (submit.Results{}).Facts("haiku", nil, pawl.Submission{}); !strings.Contains(problem, "haiku") {
			t.Errorf("problem %q", problem)
		}
	})
}

// The reason goes into an event, which is small.
func TestReasonIsShort(t *testing.T) {
	args := fmt.Sprintf(`{"criteria": [{"id": "GOAL", "status": "fail", "evidence": [], "gap": %q}], "summary": "s"}`, strings.Repeat("é ", 1000))
	got, problem := check(t, "verdict", args, pawl.Submission{})
	if reason := got.Get("reason"); problem != "" || len(reason) > 300 || !strings.HasSuffix(reason, "…") {
		t.Errorf("a reason of %d bytes, problem %q: %s", len(reason), problem, reason)
	}
}

// The schemas and the Go types name the same fields, and require those that are
// not optional.
func TestSchemasFitTypes(t *testing.T) {
	types := map[string]reflect.Type{
		"assessment": reflect.TypeFor[submit.Assessment](), "ballot": reflect.TypeFor[submit.Ballot](),
		"batch": reflect.TypeFor[submit.Batch](), "context": reflect.TypeFor[submit.Context](), "create_phase": reflect.TypeFor[artifact.Phase](), "create_plan": reflect.TypeFor[artifact.Plan](), "create_spec": reflect.TypeFor[artifact.Spec](), "decision": reflect.TypeFor[submit.Decision](),
		"report": reflect.TypeFor[submit.Report](), "review": reflect.TypeFor[submit.Review](),
		"learnings": reflect.TypeFor[submit.Learnings](), "next": reflect.TypeFor[submit.Next](), "plan": reflect.TypeFor[submit.Plan](),
		"summary": reflect.TypeFor[submit.Summary](), "tasks": reflect.TypeFor[submit.Tasks](),
		"proposal": reflect.TypeFor[submit.Proposal](), "result": reflect.TypeFor[submit.Result](), "verdict": reflect.TypeFor[submit.Verdict](),
	}
	for _, name := range submit.Names() {
		called := "submit_" + name
		if strings.HasPrefix(name, "create_") {
			called = name
		}
		spec, ok := submit.Spec(called)
		if byName, _ := submit.Spec(name); !ok || spec.Name != called || byName.Name != called || len(spec.Description) < 20 {
			t.Errorf("%s has the spec %+v", name, spec)
		}
		compare(t, name, spec.Schema, types[name])
	}
	if _, ok := submit.Spec("../submit"); ok {
		t.Error("there is a result of a strange name")
	}
}

func compare(t *testing.T, at string, raw json.RawMessage, typ reflect.Type) {
	t.Helper()
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
		Closed     *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if schema.Closed == nil || *schema.Closed {
		t.Errorf("%s takes unknown fields", at)
	}
	var fields, required []string
	for f := range typ.Fields() {
		name, optional, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
		if optional == "" {
			required = append(required, name)
		}
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			var array struct{ Items json.RawMessage }
			if err := json.Unmarshal(schema.Properties[name], &array); err != nil {
				t.Fatalf("%s.%s: %v", at, name, err)
			}
			compare(t, at+"."+name, array.Items, f.Type.Elem())
		}
	}
	var properties []string
	for name := range schema.Properties {
		properties = append(properties, name)
	}
	slices.Sort(fields)
	slices.Sort(properties)
	if diff := cmp.Diff(fields, properties); diff != "" {
		t.Errorf("%s: fields differ (-type +schema):\n%s", at, diff)
	}
	if diff := cmp.Diff(required, schema.Required); diff != "" {
		t.Errorf("%s: required fields differ (-type +schema):\n%s", at, diff)
	}
}
