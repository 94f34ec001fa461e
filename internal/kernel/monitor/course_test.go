package monitor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func TestRateBelow(t *testing.T) {
	for _, row := range []struct {
		r, o Rate
		want bool
	}{
		{Rate{1, 2}, Rate{2, 3}, true},
		{Rate{2, 3}, Rate{1, 2}, false},
		{Rate{1, 2}, Rate{2, 4}, false},
		{Rate{0, 1}, Rate{1, 9}, true},
		{Rate{0, 1}, Rate{0, 9}, false},
		{Rate{3, 3}, Rate{1, 1}, false},
		{Rate{1, 2}, Rate{1, 1}, true},
		{Rate{0, 0}, Rate{1, 1}, false},
		{Rate{0, 1}, Rate{1, 0}, false},
		{Rate{}, Rate{}, false},
	} {
		if got := row.r.Below(row.o); got != row.want {
			t.Errorf("%v is below %v: %t", row.r, row.o, got)
		}
	}
	c := Course{Last: LastBatch{N: 4, Attempted: 3, Approved: 2}}
	if c.Rate() != (Rate{2, 3}) {
		t.Errorf("the rate is %v", c.Rate())
	}
}

// A good checkpoint adds a proof, of which that of the base and the last ones are kept, and sets
// the recoveries back.
func TestMarked(t *testing.T) {
	base, latest := []pawl.Hash{pawl.HashOf([]byte("base"))}, []pawl.Hash{pawl.HashOf([]byte("latest"))}
	c := Course{Proofs: []Proof{{Reports: base}}, Latest: latest, Last: LastBatch{Attempted: 3, Approved: 2}}
	for n := 1; n <= 2*MaxProofs; n++ {
		c.Unmarked, c.Recoveries = true, []Recoveries{{pawl.HealthStalled, 1}}
		good := n%2 == 0
		before := c
		c.Marked(pawl.Checkpoint{N: n, Good: good})
		if c.Unmarked || c.Marks != n || len(c.Checkpoints) != n || (c.Recoveries == nil) != good {
			t.Fatalf("after checkpoint %d the course is %+v", n, c)
		}
		want := Proof{N: n - n%2, Rate: Rate{2, 3}, Reports: latest}
		if want.N == 0 {
			want = Proof{Reports: base}
		}
		if !cmp.Equal(*c.Proof(), want) || !cmp.Equal(c.Proofs[0], Proof{Reports: base}) || len(c.Proofs) != min(1+n/2, MaxProofs) {
			t.Fatalf("after checkpoint %d the proofs are %+v", n, c.Proofs)
		}
		if len(before.Checkpoints) != n-1 || len(before.Proofs) != min(1+(n-1)/2, MaxProofs) {
			t.Fatalf("checkpoint %d has changed the course before: %+v", n, before)
		}
	}
	var kept []int
	for _, p := range c.Proofs {
		kept = append(kept, p.N)
	}
	if want := []int{0, 4, 6, 8, 10, 12, 14, 16, 18}; !cmp.Equal(kept, want) {
		t.Errorf("the proofs are those of %v, want %v", kept, want)
	}
}

func TestCheckpoints(t *testing.T) {
	var c Course
	if c.LastGood() != nil || c.Checkpoint(1) != nil || c.Checkpoint(0) != nil {
		t.Error("a new course has a checkpoint")
	}
	for n, good := range []bool{false, true, true, false} {
		c.Checkpoints = append(c.Checkpoints, pawl.Checkpoint{N: n + 1, Good: good})
		want := []int{0, 2, 3, 3}[n]
		if k := c.LastGood(); k == nil && want != 0 || k != nil && (k.N != want || k != &c.Checkpoints[want-1]) {
			t.Errorf("with %d checkpoints the last good one is %+v, want %d", n+1, k, want)
		}
	}
	if k := c.Checkpoint(4); k != &c.Checkpoints[3] || c.Checkpoint(5) != nil {
		t.Errorf("checkpoint 4 is %+v", k)
	}
}

// A recovery that is done is done with all before it. To gather at the end is left to the batch.
func TestRecoveries(t *testing.T) {
	const gather, revise, back, ask = pawl.RecoverGather, pawl.RecoverRevise, pawl.RecoverRollback, pawl.RecoverAsk
	for _, row := range []struct {
		all  []pawl.Recovery
		done pawl.Recovery
		want []pawl.Recovery
	}{
		{[]pawl.Recovery{gather, revise, back}, gather, []pawl.Recovery{revise, back}},
		{[]pawl.Recovery{gather, revise, back}, revise, []pawl.Recovery{back}},
		{[]pawl.Recovery{gather, revise, back}, back, nil},
		{[]pawl.Recovery{back, gather, revise, gather, gather}, back, []pawl.Recovery{gather, revise}},
		{[]pawl.Recovery{revise, gather, gather}, revise, nil},
		{[]pawl.Recovery{revise, back, revise, ask}, revise, []pawl.Recovery{back, revise, ask}},
		{[]pawl.Recovery{gather, revise}, back, []pawl.Recovery{gather, revise}},
	} {
		c := Course{Recover: row.all}
		c.RecoveredBy(row.done)
		if len(c.Recover) != len(row.want) || len(row.want) > 0 && !cmp.Equal(c.Recover, row.want) {
			t.Errorf("of %v, after %s: %v are left, want %v", row.all, row.done, c.Recover, row.want)
		}
	}
	rest := []pawl.Recovery{revise, gather}
	var c Course
	c.RecoverRest(rest)
	if c.Recover[0] = ask; rest[0] != revise {
		t.Error("the list that was given has changed")
	}
	c.Recoveries = []Recoveries{{pawl.HealthStalled, 2}, {pawl.HealthRegressing, 1}}
	if c.Recovered(pawl.HealthStalled) != 2 || c.Recovered(pawl.HealthRegressing) != 1 || c.Recovered(pawl.HealthFlipFlop) != 0 {
		t.Errorf("recovered: %+v", c.Recoveries)
	}
}

func TestCourseClone(t *testing.T) {
	c := Course{Checkpoints: []pawl.Checkpoint{{N: 1}}, Recoveries: []Recoveries{{N: 1}}, Recover: []pawl.Recovery{pawl.RecoverAsk}, Back: &Back{}}
	n := c.Clone()
	n.Checkpoints[0].N, n.Recoveries[0].N, n.Recover[0], n.Back.Requested = 2, 2, pawl.RecoverGather, true
	if c.Checkpoints[0].N != 1 || c.Recoveries[0].N != 1 || c.Recover[0] != pawl.RecoverAsk || c.Back.Requested {
		t.Errorf("the original has changed: %+v", c)
	}
	if n = (&Course{}).Clone(); n.Back != nil {
		t.Error("the clone goes back")
	}
}
