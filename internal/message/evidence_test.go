package message_test

import (
	"testing"
	"time"

	"pawl"
	"pawl/internal/message"
)

// A gate that judges another tree than the candidate's is no validation of the work, and the line of a
// run that ended well counts the findings that nobody accepted.
func TestEvidence(t *testing.T) {
	r := &message.Run{}
	seq := pawl.Seq(0)
	add := func(loop pawl.LoopRef, body pawl.Body) (names []string, line message.RunLine) {
		seq++
		for _, m := range r.Add(pawl.Event{Run: "001-x", Seq: seq, Loop: loop, Time: time.Unix(1_700_000_000+int64(seq), 0), Body: body}) {
			names = append(names, m.Event)
			if l, ok := m.Data.(message.RunLine); ok {
				line = l
			}
		}
		return names, line
	}
	add(0, &pawl.RunStarted{Title: "X", Recipe: pawl.JSON(`{"kinds":[{"name":"task"}]}`), Settings: pawl.JSON("{}")})
	add(1, &pawl.LoopStarted{ID: "a", Kind: "task"})
	for on, want := range map[pawl.Tree]int{"": 1, pawl.TreeExpected: 0} {
		for _, answer := range []func(pawl.Seq) pawl.Body{
			func(id pawl.Seq) pawl.Body {
				return &pawl.GateJudged{Effect: id, Gate: "tests", On: on, Verdict: pawl.VerdictFail}
			},
			func(id pawl.Seq) pawl.Body { return &pawl.EffectFailed{Effect: id} },
		} {
			names, _ := add(1, &pawl.EffectRequested{Effect: pawl.Effect{ID: seq + 1, Loop: 1, Do: &pawl.RunGate{Gate: "tests", On: on}}})
			after, _ := add(1, answer(seq))
			if count(names, message.ValidationStarted) != want || count(after, message.ValidationDone) != want {
				t.Errorf("on %q: %v, then %v", on, names, after)
			}
		}
	}
	if _, line := add(0, &pawl.RunEnded{Outcome: pawl.OutcomeComplete, Findings: 2}); line.Findings != 2 {
		t.Errorf("got %+v", line)
	}
	if _, line := add(0, &pawl.RunResumed{From: pawl.OutcomeComplete}); line.Findings != 0 {
		t.Errorf("got %+v", line)
	}
}

func count(all []string, name string) (n int) {
	for _, s := range all {
		if s == name {
			n++
		}
	}
	return n
}
