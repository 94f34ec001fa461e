package kernel

import (
	"cmp"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Bounds of the record of an answer, in bytes.
const (
	maxAsks     = 5   // questions of an agent
	maxAskWords = 200 // of each
	maxRecTitle = 110
)

// decided remembers as a decision what a person answered, so that later sessions and later runs are told it
// and do not ask again. Consent to one piece of work, such as an approval, decides nothing beyond it and is
// not remembered.
func (d *draft) decided(l *Loop, q *question, in *pawl.Reply) {
	if !decides(q.kind, in.Choice, strings.TrimSpace(in.Text)) {
		return
	}
	said := recordOf(q, in)
	d.learn(l, pawl.MemoryAdded{Kind: pawl.MemoryDecision, Scope: pawl.ScopeProject, Place: l.place(pawl.PersonStep), Text: pawl.HashOf([]byte(said)), Said: said})
}

// decides reports whether an answer says something beyond the work that it is about.
func decides(kind pawl.QuestionKind, choice, text string) bool {
	switch kind {
	case pawl.AskClarify:
		return choice == choiceAnswer
	case pawl.AskPlan:
		return choice != choiceApprove && text != ""
	case pawl.AskReplan, pawl.AskBlocked:
		return text != ""
	case pawl.AskStuck: // to let pass what was refused decides nothing beyond it
		return choice != choiceCarryOut && choice != choiceContinue && text != ""
	case pawl.AskHealth:
		return true
	}
	return false
}

// recordOf returns an answer in the form of a decision: a title, then its sections (V-54).
func recordOf(q *question, in *pawl.Reply) string {
	line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	choice := strings.TrimSuffix(in.Choice+": "+line(in.Text), ": ")
	title, asked := choice, line(q.text)
	if in.Text == "" {
		title += " (" + strings.TrimRight(strings.SplitN(asked, ". ", 2)[0], ".?") + ")"
	}
	var rejected []string
	if q.kind == pawl.AskClarify {
		choice = line(in.Text)
		title = choice
		var asks []string
		for a := range strings.SplitSeq(in.Asked, "\n") {
			if a = line(a); a != "" && len(asks) < maxAsks {
				asks = append(asks, brief.Cut(a, maxAskWords))
			}
		}
		if len(asks) > 0 {
			asked, title = strings.Join(asks, " "), asks[0]
		}
	} else {
		for i, c := range q.choices {
			if c == in.Choice {
				continue
			}
			if i < len(q.means) && q.means[i] != "" {
				c += " (" + q.means[i] + ")"
			}
			rejected = append(rejected, "- "+c+": not chosen")
		}
	}
	parts := []string{brief.Cut(line(title), maxRecTitle), "**Context:** " + pawl.AskedOf + ": " + asked, "**Choice:** " + choice}
	if len(rejected) > 0 {
		parts = append(parts, "**Alternatives Rejected:**\n"+strings.Join(rejected, "\n"))
	}
	return strings.Join(append(parts, "**Depends On:** none", "**Invalidated If:** a person answers it otherwise",
		fmt.Sprintf("**Notes:** answered by %s, question %d", cmp.Or(line(brief.Cut(in.By, 60)), "a person"), q.n)), "\n\n") + "\n"
}
