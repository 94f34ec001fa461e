package kernel

import (
	"strings"
	"testing"

	"pawl"
)

// What a person answers is remembered where it says something beyond the work that it is about: clarifications,
// words about a plan or a blocked task, and answers about the health. Approvals and overrides are not. F-72
func TestAnswersThatDecide(t *testing.T) {
	for _, row := range []struct {
		kind         pawl.QuestionKind
		choice, text string
		want         bool
	}{
		{pawl.AskClarify, choiceAnswer, "SQLite", true},
		{pawl.AskClarify, choiceSkip, "", false},
		{pawl.AskPlan, choiceRevise, "two is too much", true},
		{pawl.AskPlan, choiceIterate, "split it", true},
		{pawl.AskPlan, choiceReject, "we buy this", true},
		{pawl.AskPlan, choiceReject, "", false},
		{pawl.AskPlan, choiceApprove, "good", false},
		{pawl.AskReplan, choiceOneMore, "without the cart", true},
		{pawl.AskReplan, choiceStop, "", false},
		{pawl.AskHealth, choiceContinue, "", true},
		{pawl.AskHealth, choiceStop, "enough", true},
		{pawl.AskBlocked, choiceAgain, "the key is in the vault", true},
		{pawl.AskBlocked, choiceAgain, "", false},
		{pawl.AskStuck, choiceAgain, "use the old parser", true},
		{pawl.AskStuck, choiceCarryOut, "it is about wording", false},
		{pawl.AskStuck, choiceContinue, "it will do", false},
		{pawl.AskStart, choiceReject, "not now", false},
		{pawl.AskMerge, choiceApprove, "it is fine", false},
		{pawl.AskVotes, choicePass, "it is fine", false},
		{pawl.AskVerdict, choiceFail, "no", false},
		{pawl.AskFinding, choiceAccept, "intended", false},
		{pawl.AskMissing, choiceWithout, "later", false},
	} {
		if got := decides(row.kind, row.choice, row.text); got != row.want {
			t.Errorf("%s answered with %s (%q) is remembered: %t, want %t", row.kind, row.choice, row.text, got, row.want)
		}
	}
}

// An answer has the form of a decision: what was asked, what was chosen, what was not, by whom. V-54
func TestAnswersAreRecords(t *testing.T) {
	clarify := recordOf(&question{n: 3, kind: pawl.AskClarify, text: "The step plan has 2 questions (round 1 of 3).", choices: []string{choiceAnswer, choiceSkip}},
		&pawl.Reply{Choice: choiceAnswer, Text: "SQLite;\nno limit", By: "ada", Asked: "Which database?\nWhat limit?"})
	const want = "Which database?\n\n**Context:** A person was asked: Which database? What limit?\n\n**Choice:** SQLite; no limit\n\n**Depends On:** none\n\n" +
		"**Invalidated If:** a person answers it otherwise\n\n**Notes:** answered by ada, question 3\n"
	if clarify != want {
		t.Errorf("got\n%s\nwant\n%s", clarify, want)
	}
	health := recordOf(&question{n: 4, kind: pawl.AskHealth, text: "STALLED after batch 3: nothing was approved. What now?", choices: []string{choiceContinue, choiceStop},
		means: []string{"the open tasks are tried again", "no task is begun any more"}}, &pawl.Reply{Choice: choiceStop})
	for _, part := range []string{"stop (STALLED after batch 3: nothing was approved)\n", "**Choice:** stop\n", "**Alternatives Rejected:**\n- continue (the open tasks are tried again): not chosen\n", "answered by a person"} {
		if !strings.Contains(health, part) {
			t.Errorf("it lacks %q:\n%s", part, health)
		}
	}
	long := strings.Repeat("very ", 190)
	all := recordOf(&question{kind: pawl.AskHealth, text: strings.Repeat("x", 400), choices: []string{"a", "b", "c", "d"}, means: []string{strings.Repeat("m", 160), strings.Repeat("m", 160), strings.Repeat("m", 160), strings.Repeat("m", 160)}},
		&pawl.Reply{Choice: "a", Text: long, By: strings.Repeat("y", 60)})
	if len(all) > 3000 {
		t.Errorf("it has %d bytes", len(all))
	}
}
