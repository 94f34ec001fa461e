package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// loopCouncils is the councils that were called for a loop.
type loopCouncils struct {
	Councils []*Council
}

// Council is one that convened.
type Council struct {
	pawl.CouncilCalled
	Seq      pawl.Seq
	After    int                  // the iteration it followed
	Decided  *pawl.CouncilDecided // nil until it has
	Sessions []*Session
}

// applyCouncil folds the events of councils.
func (r *Run) applyCouncil(l *Loop, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.CouncilCalled:
		c := &Council{CouncilCalled: *b, Seq: e.Seq}
		if it := l.last(); it != nil {
			c.After = it.N
		}
		l.Councils = append(l.Councils, c)
	case *pawl.CouncilDecided:
		if n := len(l.Councils); n > 0 {
			l.Councils[n-1].Decided = b
		}
	}
}

// maxAdvice bounds the bytes of a text of a council's advice in a line.
const maxAdvice = 160

// told returns what a council decided, and the advice that the next attempt was given, a line each.
func (c *Council) told(blobs Blobs) []string {
	switch d := c.Decided; {
	case d == nil:
		return []string{"it has not decided"}
	case d.Winner == "":
		return []string{"nobody made a proposal"}
	}
	lines := []string{fmt.Sprintf("proposal %s by %s won, %d%% sure of its diagnosis (%s)", c.Decided.Winner, c.Decided.Lens, c.Decided.Confidence, ballots(c.Decided.Rounds))}
	var advice struct {
		Diagnosis string `json:"diagnosis"`
		Location  string `json:"fix_location"`
		Approach  string `json:"fix_approach"`
	}
	if json.Unmarshal(blobs.bytes(c.Decided.Proposal), &advice) != nil {
		return lines
	}
	for _, part := range []struct{ name, text string }{{"diagnosis", advice.Diagnosis}, {"where", advice.Location}, {"advice", advice.Approach}} {
		if part.text != "" {
			lines = append(lines, part.name+": "+plain.Line(part.text, maxAdvice))
		}
	}
	return lines
}

// ballots returns the rounds of a council's vote, or why there were none.
func ballots(rounds string) string {
	switch {
	case strings.ContainsAny(rounds, "123456789"):
		return rounds
	case strings.Contains(rounds, " "):
		return "nobody cast a valid ballot, so the surest wins"
	}
	return "the only one"
}

// reportCouncils names the councils of a loop and what they advised.
func reportCouncils(t *text, l *Loop, blobs Blobs) {
	if len(l.Councils) == 0 {
		return
	}
	t.line("[Council]")
	for _, c := range l.Councils {
		t.line("  after iteration %d: %s", c.After, c.Reason)
		for _, line := range c.told(blobs) {
			t.line("    %s", line)
		}
	}
	t.line("")
}

func (t teller) tellCouncil() string {
	switch b := t.e.Body.(type) {
	case *pawl.CouncilCalled:
		return fmt.Sprintf("Council: %s convene · Reason: %s", count(b.Members, "member"), b.Reason)
	case *pawl.CouncilDecided:
		if b.Winner == "" {
			return "Council: nobody made a proposal"
		}
		return fmt.Sprintf("Council: proposal %s by %s wins, %d%% sure of its diagnosis (%s)", b.Winner, b.Lens, b.Confidence, ballots(b.Rounds))
	}
	return ""
}

func (k *Look) lookCouncil(e pawl.Event) {
	if _, ok := e.Body.(*pawl.CouncilCalled); ok {
		k.Tone = ToneWarning
	}
}
