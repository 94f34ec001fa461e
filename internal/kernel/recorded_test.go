package kernel

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pawl/internal/recorded"
)

// The logs of runs of earlier versions fold, event by event, to the same effects that should
// be under way, to the same loops and to the same money.
func TestRecordedLogs(t *testing.T) {
	t.Parallel()
	recorded.Compare(t, func(tb testing.TB, l *recorded.Log) []byte {
		var out bytes.Buffer
		var s State
		var before []string
		for _, e := range l.Events {
			if err := Apply(&s, e); err != nil {
				tb.Fatal(err)
			}
			fmt.Fprintf(&out, "event %d of loop %d: %s\n", e.Seq, e.Loop, e.Body.EventKind())
			now := stands(tb, &s)
			for _, line := range now {
				if !slices.Contains(before, line) {
					fmt.Fprintf(&out, "  + %s\n", line)
				}
			}
			for _, line := range before {
				if !slices.Contains(now, line) {
					fmt.Fprintf(&out, "  - %s\n", line)
				}
			}
			before = now
		}
		return out.Bytes()
	})
}

// stands says where a run stands, in lines that do not depend on how the state holds it.
func stands(tb testing.TB, s *State) []string {
	out := []string{
		fmt.Sprintf("run: %s", mustJSON(tb, Info(s))),
		fmt.Sprintf("money: spent %d, lost %d, reserved %d; limits %+v; alive %s", s.Spent, s.Lost, s.Reserved, s.Limits, s.Alive),
	}
	for _, f := range Pending(s) {
		out = append(out, fmt.Sprintf("pending: %s", mustJSON(tb, f)))
	}
	for _, l := range s.Loops() {
		out = append(out, fmt.Sprintf("loop %d %s of %d, %s: %s %s %q; iteration %d, attempt %d, tier %d; head %s, base %s; money %d; %s",
			l.Ref, l.ID, l.Parent, l.Kind.Name, l.Phase, l.Outcome, l.Reason, l.Iteration, l.Attempt, l.Tier, l.Head, l.Base, l.spent, l.status()))
		for _, r := range l.verdicts() {
			out = append(out, fmt.Sprintf("loop %d: %s says %s %q %x", l.Ref, r.Gate, r.Verdict, r.Reason, r.Error))
		}
		for _, a := range l.ladder.History {
			out = append(out, fmt.Sprintf("loop %d: attempt %d failed %t: %s", l.Ref, a.N, a.Failed, a.Line))
		}
		if p := l.gen.plan; p != nil {
			out = append(out, fmt.Sprintf("loop %d: plan %d of %d tasks, %d started: %s", l.Ref, p.Version, len(p.Entries), p.Started, p.States()))
		}
	}
	return out
}
