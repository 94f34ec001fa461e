package land

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/monitor"
)

// The tests on the branch are what the gates say of a batch that moved it, and else what they were
// after the last batch.
func TestFacts(t *testing.T) {
	broken := brief.Fingerprint("TestA")
	before := []monitor.Batch{{N: 1, Passing: 3, Broke: []uint64{7}}, {N: 2, Passing: 5, Broke: []uint64{8}}}
	unit := pawl.GateJudged{Gate: "unit", Kind: pawl.GateTests, Passed: 4, Broke: []string{"TestA"}}
	race := pawl.GateJudged{Gate: "race", Kind: pawl.GateTests, Passed: 2}
	lint := pawl.GateJudged{Gate: "lint", Kind: pawl.GateLint, Passed: 9, Broke: []string{"TestB"}}
	none := pawl.GateJudged{Gate: "unit", Kind: pawl.GateTests}
	for _, row := range []struct {
		name    string
		moved   bool
		before  []monitor.Batch
		results []pawl.GateJudged
		passing int
		broke   []uint64
		names   []string // that are broken, after TestOld was
	}{
		{"the first, which moved nothing", false, nil, []pawl.GateJudged{unit}, -1, nil, []string{"TestOld"}},
		{"one that moved nothing", false, before, []pawl.GateJudged{unit}, 5, []uint64{8}, []string{"TestOld"}},
		{"one without tests", true, before, nil, -1, nil, nil},
		{"one that no test judged", true, before, []pawl.GateJudged{lint}, -1, nil, []string{"TestB"}},
		{"one of which no test passes", true, before, []pawl.GateJudged{none}, 0, nil, nil},
		{"one gate", true, before, []pawl.GateJudged{unit}, 4, []uint64{broken}, []string{"TestA"}},
		{"two gates", true, before, []pawl.GateJudged{unit, race}, 6, []uint64{broken}, []string{"TestA"}},
	} {
		b := &Batch{N: 3, Moved: row.moved, Results: row.results}
		got := b.Facts(&pawl.BatchEnded{N: 3, Attempted: 2, Approved: 1}, row.before, "tree", nil)
		want := monitor.Batch{N: 3, Attempted: 2, Approved: 1, Tree: brief.Fingerprint("tree"), Passing: row.passing, Broke: row.broke}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", row.name, diff)
		}
		if diff := cmp.Diff(row.names, b.Broken([]string{"TestOld"})); diff != "" {
			t.Errorf("%s, the names: (-want +got)\n%s", row.name, diff)
		}
	}
}

// The facts have how each member ended, and the changes of those in the candidate.
func TestFactsOfMembers(t *testing.T) {
	b := batchOf(2)
	b.Members[0].Facts, b.Members[1].Facts = monitor.Task{Task: 10, Error: 5}, monitor.Task{Task: 11, Passing: 3}
	for i := range b.Chain {
		for n := range 20 {
			b.Chain[i].Made.Changes = append(b.Chain[i].Made.Changes, uint64(100*i+n)) //nolint:gosec // small
		}
	}
	result := func(m *Member) monitor.Result {
		return []monitor.Result{monitor.Failed, monitor.Approved, monitor.Waiting}[m.Task-10]
	}
	got := b.Facts(&pawl.BatchEnded{}, nil, "", result)
	want := []monitor.Task{{Task: 10, Error: 5, Result: monitor.Failed}, {Task: 11, Passing: 3, Result: monitor.Approved}, {Result: monitor.Waiting}}
	if diff := cmp.Diff(want, got.Tasks); diff != "" || got.Hunks != nil {
		t.Errorf("what did not land has the changes %v, (-want +got)\n%s", got.Hunks, diff)
	}
	b.Moved = true
	if got = b.Facts(&pawl.BatchEnded{}, nil, "", result); len(got.Hunks) != maxHunks || got.Hunks[19] != 19 || got.Hunks[20] != 100 {
		t.Errorf("the changes are %v", got.Hunks)
	}
}

// A run that is resumed judges its batch anew, with what it is and without what was said of it.
func TestAgain(t *testing.T) {
	b := batchOf(2)
	b.Scaffold, b.Land = true, pawl.LandBest
	b.Members[1].Begun = true
	b.Judged(12, pawl.VerdictRevise)
	want := &Batch{N: 1, Scaffold: true, Land: pawl.LandBest, Members: []Member{{Task: 10}, {Task: 11, In: true, Begun: true}, {Task: 12, In: true}}}
	if diff := cmp.Diff(want, b.Again(), cmp.AllowUnexported(Batch{}, Retries{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if b.Members[2].Verdict != pawl.VerdictRevise {
		t.Error("the batch before has changed")
	}
	if b.Moved = true; b.Again() != b || (*Batch)(nil).Again() != nil {
		t.Error("a batch that has landed, or none, is not as it was")
	}
}
