package submit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/tool/submit"
)

// decided is a decision with its title and what else is changed in it.
func decided(title string, changes ...string) string {
	text := fmt.Sprintf(`{"title": %q, "context": "Sessions must end.", "choice": "Tokens that expire.",
		"alternatives_rejected": [{"alternative": "a table", "reason": "a query for each request"}], "depends_on": [], "invalidated_if": "tokens must be revoked"}`, title)
	return strings.NewReplacer(changes...).Replace(text)
}

func aContext(lists ...[]string) string {
	c := submit.Context{Phase: "EXECUTE", CurrentState: []string{}, Patterns: []string{}, Decisions: []string{}, AntiPatterns: []string{}}
	for i, into := range []*[]string{&c.CurrentState, &c.Patterns, &c.Decisions, &c.AntiPatterns} {
		if i < len(lists) {
			*into = append(*into, lists[i]...)
		}
	}
	data, _ := json.Marshal(c) // it is plain text
	return string(data)
}

func TestBatchesAccepted(t *testing.T) {
	for _, test := range []struct{ name, result, args, want string }{
		{"Context", "context", aContext([]string{"a.go"}, nil, nil, []string{"001: no globals"}), ""}, // V-26; no decision sees what it says: V-57 V-B17
		{ // V-27: a plan, with its decisions for the recorder V-08 V-29 V-33
			"PlanWithDecisions", "plan", `{"subtasks": [` + subtask("1.1", "") + `], "status": "DRAFT", "goal": "g", "context": "c", "risks": ["r"],
				"decisions": [` + decided("Tokens") + `, ` + decided("Cookies") + `]}`, "count=1 decisions=2",
		},
		{"PlanAsks", "plan", `{"subtasks": [], "status": "NEEDS_CLARIFICATION", "questions": ["Which database?", "Until when?"]}`, "count=0 questions=2 decision=NEEDS_CLARIFICATION"}, // V-27 V-28
		{"PlanAsksWithDraft", "plan", `{"subtasks": [` + subtask("1.1", "") + `], "questions": ["Which database?"]}`, "count=1 questions=1 decision=NEEDS_CLARIFICATION"},
		{ // V-30
			"PlanApproved", "review", `{"decision": "APPROVED", "issues": [{"severity": "Minor", "text": "a typo", "task": "1.1"}, {"severity": "Suggestion", "text": "b"}]}`,
			"decision=APPROVED",
		},
		{"PlanRejected", "review", `{"decision": "NEEDS_REVISION", "issues": [{"severity": "Critical", "text": "no tests"}], "questions": ["Is it public?"]}`, "decision=NEEDS_REVISION questions=1"}, // V-66
		{ // V-38
			"Batch", "batch", `{"verdicts": [{"task": "1.1", "verdict": "APPROVED", "issues": [{"severity": "Minor", "text": "m"}], "decisions": ["001"]},
				{"task": "1.2", "verdict": "CHANGES", "feedback": "Expire them.", "issues": [{"severity": "Critical", "text": "contradicts\n001"}], "decisions": ["001", "002"]}],
				"anti_patterns": ["Tokens in a table."]}`,
			"approved=1.1 changes=1.2 why=Expire them. because=Expire them.\n\nCritical: contradicts 001\nHeld against the decisions: 001, 002\n anti-pattern=Tokens in a table.",
		},
		{"Blocked", "result", `{"summary": "s", "decision": "BLOCKED", "blocker_type": "dependency", "blocker": "the\ntable", "blocked_by": "1.1"}`,
			"decision=BLOCKED blocker_type=dependency blocker=the table blocked_by=1.1"}, // V-46
		{"BlockedTwice", "result", `{"summary": "s", "status": "blocked", "reason": "r", "decision": "BLOCKED", "blocker_type": "external", "blocker": "a key"}`,
			"status=blocked reason=r decision=BLOCKED blocker_type=external blocker=a key"},
		{"CompleteWithDecisions", "result", `{"summary": "s", "decision": "COMPLETE", "decisions": [` + decided("Tokens") + `]}`, "decisions=1"}, // V-08 V-37
		{"Report", "report", `{"goal": "g", "completed": [], "verification": "v", "decision_adherence": "d", "summary": "s"}`, ""},               // V-78
	} {
		t.Run(test.name, func(t *testing.T) {
			got, problem := check(t, test.result, test.args, pawl.Submission{})
			if problem != "" || facts(got) != test.want {
				t.Errorf("got %q, problem %q, want %q", facts(got), problem, test.want)
			}
		})
	}
}

// What a decision says is kept as its text, below 30 lines whatever it holds. V-54
func TestDecisionText(t *testing.T) {
	got, problem := check(t, "decision", decided("Tokens that\nexpire", `"depends_on": []`, `"depends_on": ["001", "002"], "notes": "See the RFC."`), pawl.Submission{})
	want := `Tokens that expire

**Context:** Sessions must end.

**Choice:** Tokens that expire.

**Alternatives Rejected:**
- a table: a query for each request

**Depends On:** 001, 002

**Invalidated If:** tokens must be revoked

**Notes:** See the RFC.
`
	if diff := cmp.Diff(pawl.Facts{{Name: "decision-text", Value: want}}, got); diff != "" || problem != "" {
		t.Errorf("problem %q (-want +got)\n%s", problem, diff)
	}
	full := submit.Decision{Title: "t", Context: "a\n\nb", Choice: "c\nd", Consequences: "e\nf", Notes: "g\nh", InvalidatedIf: "i\nj"}
	for range 8 {
		full.Rejected = append(full.Rejected, submit.Alternative{Alternative: "k\nl", Reason: "m\nn"})
	}
	if n := strings.Count(full.Text(), "\n"); n >= 30 || !strings.Contains(full.Text(), "**Depends On:** none\n") {
		t.Errorf("%d lines:\n%s", n, full.Text())
	}
}

func TestBatchesRefused(t *testing.T) {
	long := strings.Repeat("x", 3000)
	judged := func(task, verdict, more string) string {
		return fmt.Sprintf(`{"verdicts": [{"task": %q, "verdict": %q, "decisions": [], %s}], "anti_patterns": []}`, task, verdict, more)
	}
	for _, test := range []struct{ name, result, args, says string }{
		{"NoPhase", "context", strings.Replace(aContext(), "EXECUTE", "DONE", 1), `"phase" must be one of "SCAFFOLD", "EXECUTE"`},
		{"BlankEntry", "context", aContext([]string{" "}), "an entry is empty"},
		{"LongContext", "context", aContext([]string{long}), "780 tokens, 500 at most: say it shorter"},
		{"NoAlternative", "decision", decided("T", `[{"alternative": "a table", "reason": "a query for each request"}]`, "[]"), `"alternatives_rejected" must have at least 1 entries`},
		{"NoReason", "decision", decided("T", "a query for each request", " "), "empty, too long or has no reason"},
		{"NoChoice", "decision", decided("T", "Tokens that expire.", " "), "the choice of a decision is empty"},
		{"LongChoice", "decision", decided("T", "Tokens that expire.", long), "has 3000 bytes: want at most 1000"},
		{"LongNotes", "decision", decided("T", `"depends_on"`, `"notes": "`+long+`", "depends_on"`), "too long: want at most 1000 bytes"},
		{"DependsOnNothing", "decision", decided("T", `"depends_on": []`, `"depends_on": [" "]`), "empty or too long: name decisions"},
		{"BadDecisionOfPlan", "plan", `{"subtasks": [` + subtask("a", "") + `], "decisions": [` + decided("T", "a query for each request", " ") + `]}`, "has no reason"},
		{"BadDecisionOfResult", "result", `{"summary": "s", "decisions": [` + decided("T", "a query for each request", " ") + `]}`, "has no reason"},
		{"SixQuestions", "plan", `{"subtasks": [], "questions": ["1", "2", "3", "4", "5", "6"]}`, "at most 5 entries"},
		{"BlankQuestion", "plan", `{"subtasks": [], "questions": [" "]}`, "a question is empty"},
		{"LongQuestion", "plan", `{"subtasks": [], "questions": ["` + long + `"]}`, "question 1 has 3000 bytes: want at most 500"},
		{"NothingToClarify", "plan", `{"subtasks": [` + subtask("a", "") + `], "status": "NEEDS_CLARIFICATION"}`, "NEEDS_CLARIFICATION without questions"},
		{"ApprovesOwnPlan", "plan", `{"subtasks": [` + subtask("a", "") + `], "status": "APPROVED"}`, `"status" must be one of "DRAFT", "NEEDS_CLARIFICATION"`},
		{"ApprovedMajor", "review", `{"decision": "APPROVED", "issues": [{"severity": "Major", "text": "x"}]}`, "the plan is APPROVED with a Major issue"},
		{"ApprovedQuestion", "review", `{"decision": "APPROVED", "issues": [], "questions": ["x"]}`, "a plan with open questions is not APPROVED"},
		{"NoIssue", "review", `{"decision": "NEEDS_REVISION", "issues": []}`, "NEEDS_REVISION without an issue"},
		{"BlankIssue", "review", `{"decision": "NEEDS_REVISION", "issues": [{"severity": "Major", "text": " "}]}`, "an issue of the plan is empty"},
		{"NoVerdicts", "batch", `{"verdicts": [], "anti_patterns": []}`, "at least 1 entries"},
		{"ApprovedCritical", "batch", judged("a", "APPROVED", `"issues": [{"severity": "Critical", "text": "contradicts 001"}]`), "subtask a is APPROVED with a Critical issue"}, // V-56 V-79
		{"ChangesWithoutFeedback", "batch", judged("a", "CHANGES", `"feedback": " ", "issues": []`), "subtask a is to be changed: say in feedback"},
		{"NoTask", "batch", judged(" ", "APPROVED", `"issues": []`), "which is not the id of a subtask"},
		{"TwiceJudged", "batch", `{"verdicts": [{"task": "a", "verdict": "APPROVED", "issues": [], "decisions": []}, {"task": "a", "verdict": "CHANGES", "feedback": "f", "issues": [], "decisions": []}], "anti_patterns": []}`, "subtask a is judged twice, and not alike"},
		{"ManyAntiPatterns", "batch", strings.Replace(judged("a", "APPROVED", `"issues": []`), `[]}`, `["1", "2", "3", "4", "5"]}`, 3), "at most 4 entries"},
		{"BlankAntiPattern", "batch", strings.Replace(judged("a", "APPROVED", `"issues": []`), `"anti_patterns": []`, `"anti_patterns": [" "]`, 1), "anti-pattern 1 has 0 bytes"},
		{"BlockedByWhat", "result", `{"summary": "s", "decision": "BLOCKED"}`, `blocker_type "" is none of dependency, external, fundamental`},
		{"BlankBlocker", "result", `{"summary": "s", "decision": "BLOCKED", "blocker_type": "external", "blocker": " "}`, "blocker is empty"},
		{"DoneAndBlocked", "result", `{"summary": "s", "status": "done", "decision": "BLOCKED", "blocker_type": "external", "blocker": "x"}`, "the status is done and the decision BLOCKED"},
		{"BlockerOfNothing", "result", `{"summary": "s", "blocker": "x"}`, "there is a blocker, but the decision is not BLOCKED"},
		{"BlankReport", "report", `{"goal": "g", "completed": [], "verification": " ", "decision_adherence": "d", "summary": "s"}`, "verification is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, problem := check(t, test.result, test.args, pawl.Submission{}); !strings.Contains(problem, test.says) {
				t.Errorf("problem %q with facts %q, want one that says %q", problem, facts(got), test.says)
			}
		})
	}
	t.Run("WithoutSchema", func(t *testing.T) { // what the schemas refuse, the types refuse too
		for result, args := range map[string]string{
			"context": strings.Replace(aContext(), "EXECUTE", "x", 1), "decision": decided("T", `[{"alternative": "a table", "reason": "a query for each request"}]`, "[]"),
			"plan": `{"subtasks": [], "questions": ["1", "2", "3", "4", "5", "6"]}`, "review": `{"decision": "x", "issues": []}`,
			"batch": `{"verdicts": [], "anti_patterns": []}`, "result": `{"summary": "s", "decision": "x"}`, "report": `{}`,
		} {
			if got, problem := (submit.Results{}).Facts(result, json.RawMessage(args), pawl.Submission{}); problem == "" {
				t.Errorf("%s is accepted with %s", result, facts(got))
			}
		}
	})
}

// A context that is too long is cut, the current state first and the
// anti-patterns last, within an entry where that is enough.
func TestTrim(t *testing.T) {
	long := func(name string, n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%s %d %s", name, i, strings.Repeat("x", 180)))
		}
		return out
	}
	for _, test := range []struct {
		name string
		in   [4][]string
		want [4]int // entries left
	}{
		{"State", [4][]string{long("s", 4), long("p", 3), long("d", 2), long("a", 2)}, [4]int{3, 3, 2, 2}},
		{"Patterns", [4][]string{long("s", 4), long("p", 4), long("d", 4), long("a", 4)}, [4]int{0, 2, 4, 4}},
		{"Decisions", [4][]string{long("s", 2), long("p", 2), long("d", 5), long("a", 8)}, [4]int{0, 0, 2, 8}},
		{"AntiPatterns", [4][]string{long("s", 2), long("p", 2), long("d", 5), long("a", 20)}, [4]int{0, 0, 0, 10}},
		{"OneEntry", [4][]string{nil, nil, nil, {strings.Repeat("y", 5000)}}, [4]int{0, 0, 0, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cut, ok := submit.Results{}.Trim("submit_context", json.RawMessage(aContext(test.in[:]...)))
			if !ok {
				t.Fatal("nothing is cut")
			}
			c, err := submit.Decode[submit.Context](cut)
			if err != nil {
				t.Fatal(err)
			}
			got := [4]int{len(c.CurrentState), len(c.Patterns), len(c.Decisions), len(c.AntiPatterns)}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if n := len(c.Markdown()); n > 2000 || n < 1750 {
				t.Errorf("%d bytes are left", n)
			}
			if _, problem := check(t, "context", string(cut), pawl.Submission{}); problem != "" {
				t.Errorf("it is refused again: %s", problem)
			}
		})
	}
	for name, args := range map[string]string{"context": aContext([]string{"short"}), "plan": planned(subtask("a", "")), "submit_context": `{"phase": 1}`} {
		if cut, ok := (submit.Results{}).Trim(name, json.RawMessage(args)); ok {
			t.Errorf("%s is cut to %s", name, cut)
		}
	}
}

// Whatever a context holds: it fits when it is cut, and what it says is the same
// but for what gives way.
func TestTrimAlwaysFits(t *testing.T) {
	entry := rapid.SampledFrom([]string{"é ", "x", "long words ", "\n", "\u2028", "\xff", "# "})
	list := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string {
		return "e" + strings.Repeat(entry.Draw(rt, "part"), rapid.IntRange(1, 400).Draw(rt, "times"))
	}), 0, 20)
	rapid.Check(t, func(rt *rapid.T) {
		var lists [][]string
		for range 4 {
			lists = append(lists, list.Draw(rt, "list"))
		}
		args := json.RawMessage(aContext(lists...))
		_, problem := submit.Results{}.Facts("context", args, pawl.Submission{})
		cut, ok := submit.Results{}.Trim("context", args)
		if ok != (problem != "") {
			rt.Fatalf("problem %q, cut %v", problem, ok)
		}
		if ok {
			if _, problem := (submit.Results{}).Facts("context", cut, pawl.Submission{}); problem != "" {
				rt.Fatal(problem)
			}
		}
	})
}

func TestContextMarkdown(t *testing.T) {
	c, err := submit.Decode[submit.Context](json.RawMessage(aContext([]string{"login.go has\nthe form"}, []string{"make test"}, nil, []string{"003: no globals"})))
	want := "**Phase:** EXECUTE\n\n## Key Decisions\n\nnone\n\n## Anti-Patterns\n\n- 003: no globals\n\n## Relevant Patterns\n\n- make test\n\n## Current State\n\n- login.go has the form\n"
	if diff := cmp.Diff(want, c.Markdown()); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
