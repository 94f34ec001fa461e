package view

import (
	"strings"
	"testing"

	"pawl"
)

// heldOut is a run whose first candidate fails a held-out check.
func heldOut(tb testing.TB, output string) (*story, *pawl.GateJudged) {
	s := begin(tb, 3, 1, func(set *pawl.Settings, _ *pawl.RunStarted) {
		set.HeldOutFeedback = pawl.HeldOutNone
		set.Gates = append(set.Gates, pawl.GateSpec{Name: pawl.HeldOutGate, Kind: pawl.GateHeldOut, Command: "held-out checks"})
	})
	s.iterate(1, "")
	s.passing("tree2")
	b := &pawl.GateJudged{Gate: pawl.HeldOutGate, Kind: pawl.GateHeldOut, Verdict: pawl.VerdictFail, Reason: "the held-out checks fail",
		Evidence: s.blob(s.json(pawl.GateReport{Verdict: pawl.VerdictFail, Reason: "the held-out checks fail"})),
		Full: s.blob(s.json(pawl.GateReport{Verdict: pawl.VerdictFail, Passed: 1, Failed: 1, Tests: []pawl.TestResult{
			{Name: "01-greets.sh", Status: pawl.TestPass}, {Name: "02-nobody.sh", Status: pawl.TestFail, Output: output}}}))}
	b.Effect = s.ask(0, s.place(b.Gate, "", s.tier), &pawl.RunGate{Gate: b.Gate, Commit: s.head})
	s.add(s.ref, b)
	return s, b
}

// People are shown what held-out checks print, whatever agents are told.
func TestHeldOutIsShown(t *testing.T) {
	s, b := heldOut(t, "exit 3\n"+strings.Repeat("noise\n", maxHeldOutLines)+"\x1b[31mwrong answer\x1b[0m\n")
	r := fold(s.events)
	shown := Show(r, s.read)
	for _, want := range []string{"Held-out checks that fail (the agent is told only that there are some)\n  02-nobody.sh: exit 3\n    noise\n", "    wrong answer\n", "the held-out checks fail\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("it is not shown: %q in\n%s", want, shown)
		}
	}
	if n := strings.Count(shown, "noise"); n != maxHeldOutLines-1 {
		t.Errorf("%d lines of noise are shown", n)
	}
	report, err := CompletionReport(r, s.read)
	if err != nil || !strings.Contains(report, "  held-out: the held-out checks fail\n    02-nobody.sh\n") {
		t.Errorf("the report does not name it: %v\n%s", err, report)
	}
	gates := Summarize(r, s.read).Gates
	if g := gates[len(gates)-1]; g.Full != b.Full || g.Evidence != b.Evidence {
		t.Errorf("other programs are told %+v", g)
	}
	// The records of a task, which agents read, have what agents may see.
	record := r.Records.Loop(1)
	if len(record.gates) != 1 || record.gates[0].evidence != b.Evidence {
		t.Errorf("the record has %+v", record.gates)
	}
}
