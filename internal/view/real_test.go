package view

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/recorded"
)

// transitions are those a loop's status may make; any may become invalidated.
var transitions = map[pawl.LoopStatus][]pawl.LoopStatus{
	"":                   {pawl.LoopPending, pawl.LoopRunning},
	pawl.LoopPending:     {pawl.LoopRunning, pawl.LoopPaused, pawl.LoopFailed},
	pawl.LoopRunning:     {pawl.LoopComplete, pawl.LoopFailed, pawl.LoopPaused, pawl.LoopRebasing},
	pawl.LoopPaused:      {pawl.LoopRunning, pawl.LoopPending, pawl.LoopFailed},
	pawl.LoopRebasing:    {pawl.LoopRunning, pawl.LoopPaused, pawl.LoopFailed},
	pawl.LoopComplete:    {pawl.LoopRunning, pawl.LoopFailed},
	pawl.LoopFailed:      {pawl.LoopRunning},
	pawl.LoopInvalidated: {},
}

// realLog is a run of the recipe loopr as a store had it.
func realLog(tb testing.TB) ([]pawl.Event, Blobs) {
	l := recorded.Read(tb, "loopr-begins-anew")
	return l.Events, l.Blob
}

// The records of a real run of loopr in which a phase begins anew, event by event.
func TestRealTree(t *testing.T) {
	events, read := realLog(t)
	r := New()
	var rs Records
	seen := map[pawl.LoopStatus]bool{}
	for _, e := range events {
		r.Apply(e)
		if root := r.Records.Loop(1); root != nil && root.Money != r.Money() { // F-38
			t.Errorf("event %d: the root's record has %+v, the run %+v", e.Seq, root.Money, r.Money())
		}
		for _, c := range rs.Add(e) {
			seen[c.Record.Status] = true
			if to := c.Record.Status; to != c.From && to != pawl.LoopInvalidated && !slices.Contains(transitions[c.From], to) { // R-18 R-19 R-20 R-23 R-B08
				t.Errorf("event %d: loop %d goes from %q to %s", e.Seq, c.Record.Ref, c.From, to)
			}
		}
	}
	for _, s := range []pawl.LoopStatus{pawl.LoopPending, pawl.LoopRunning, pawl.LoopComplete, pawl.LoopFailed, pawl.LoopInvalidated} {
		if !seen[s] {
			t.Errorf("no loop is ever %s", s)
		}
	}
	count := map[string]int{}
	var parse, code *Record
	for _, rec := range rs.Loops {
		count[rec.LoopType]++
		if p := rs.Loop(rec.Parent); p != nil && spawns[p.LoopType] != rec.LoopType { // R-01 R-14
			t.Errorf("a %s is spawned from a %s", rec.LoopType, p.LoopType)
		}
		switch {
		case rec.LoopType == "phase" && rec.Task == "parse":
			parse = rec
		case rec.Status == pawl.LoopInvalidated:
			code = rec
		}
	}
	if count["plan"] != 1 || count["spec"] != 2 || count["phase"] != 6 || count["code"] != 7 { // R-10 R-11 R-12 R-13 R-B30
		t.Errorf("there are %v", count)
	}
	if parse.Generation != 2 || parse.Iteration != 1 || // R-54 R-81 R-B15
		!rs.Stale(code) || code.Parent != parse.Ref || parse.Spawned != 1 || len(parse.OutputArtifacts) != 2 {
		t.Errorf("what began anew is %+v, what it made before %+v", parse, code)
	}
	//
	if got := rs.Full(parse, read).Progress; !strings.HasPrefix(got, "---\n## Iteration 1 Failed\nthe code parse failed") {
		t.Errorf("its progress is %q", got)
	}
	full := rs.Full(code, read)
	if full.ValidationCommand != "( echo no reason; false ) && test -e README" || !strings.Contains(string(full.Context), `"name":"parse"`) {
		t.Errorf("the code loop validates by %q, in the context %s", full.ValidationCommand, full.Context)
	}
	page, err := os.ReadFile("../../docs/loopr.md")
	if err != nil {
		t.Fatal(err)
	}
	log := ""
	again := New()
	for _, e := range events {
		again.Apply(e)
		if line := Line(e, again, read); LevelOf(e) == Important && strings.HasPrefix(line, "[core/parse") {
			log += line + "\n"
		}
	}
	_, log, _ = strings.Cut(log, "[core/parse/code] Code starts: Reading (score 130)\n")
	_, log, _ = strings.Cut(log, "\n") // its commit
	log, _, _ = strings.Cut(log, "[core/parse] Commit")
	p, err := r.PlanPreview(r.Records.Loops[0], read)
	if err != nil {
		t.Fatal(err)
	}
	p.Approval, p.By = pawl.ApprovalAwaiting, "" // as it was then
	for name, text := range map[string]string{
		"the tree": TreeText(r, TreeOptions{Now: r.Updated, All: true}), "the plan": PlanText(p, 0), "the log of what begins anew": log, "the signals": SignalsText(r, 0),
	} {
		if !strings.Contains(string(page), strings.TrimRight(strings.TrimLeft(text, "\n"), "\n")) {
			t.Errorf("docs/loopr.md does not show %s:\n%s", name, text)
		}
	}
	if p, err := r.PlanPreview(rs.Loops[0], read); err != nil || p.Approval != pawl.ApprovalApproved || p.By != "ada" || len(p.Specs) != 2 || p.Specs[1].Dependencies[0] != "core" {
		t.Errorf("the plan is %+v, %v", p, err)
	}
}

// spawns are the types of what loops of a type spawn.
var spawns = map[string]string{"plan": "spec", "spec": "phase", "phase": "code"}
