package kernel

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/kernel/plan"
)

// loops is how many loops are at work in the run of the benchmarks.
const loops = 500

// crowd is a run with many loops besides the root, the children of its plan.
// Each works on attempts of six turns that fail and go on.
func crowd(tb testing.TB, loops int) *driver {
	return crowdOf(tb, loops, loops, func(r *pawl.Recipe) { r.Kinds[0].Children.Parallel = loops })
}

// crowdOf is such a run with a plan of so many tasks and another recipe.
func crowdOf(tb testing.TB, loops, tasks int, change func(*pawl.Recipe)) *driver {
	d := &driver{tb: tb, now: worldBegin}
	s := &script{w: &world{t: tb, state: &d.state}}
	s.rules = []rule{parseRule(tb, "implement turn 6: submits"), parseRule(tb, "implement turn 2: calls read grep"), parseRule(tb, "implement turn 4: calls run"),
		parseRule(tb, "implement: calls write"), parseRule(tb, "base tests: pass"), parseRule(tb, "tests: fail TestA")}
	well := d.well(s, many(tasks))
	d.answer = func(f *pawl.Effect) pawl.Answer {
		a := well(f)
		if b, ok := a.(*pawl.Committed); ok {
			b.Commit, b.Tree = "c1", pawl.TreeHash(print64String(f.ID))
		}
		return a
	}
	r, set := treeLoop(), settings()
	k := &r.Kinds[1]
	k.Gates = taskLoop().Kinds[0].Gates
	k.Iterations, k.Ladder = 0, pawl.Ladder{}
	change(r)
	set.Limits, set.Gates = pawl.Limits{}, []pawl.GateSpec{gate("tests"), gate("lint")}
	d.plan(r, set, tasks+1)
	return d
}

func print64String(id pawl.Seq) string { return string(rune('a'+id%26)) + string(rune('a'+id/26%26)) }

// waiting is a run whose plan has so many loops as crowd's at work, all of one kind,
// and some more that wait for a place, which none gives up.
func waiting(tb testing.TB, loops, more int) *driver {
	d := crowdOf(tb, loops, loops+more, func(r *pawl.Recipe) {
		c := r.Kinds[0].Children
		c.Admit, c.OnFailure, c.Order, c.Parallel = pawl.AdmitEager, pawl.FailRestartParent, "score", loops+more
		r.Kinds[1].Concurrent, r.Loops = loops, 2*(loops+more)
	})
	if n := len(d.state.queue); n != more {
		tb.Fatalf("%d loops wait", n)
	}
	return d
}

// driver drives a run as fast as it can, without any of the world's checks.
type driver struct {
	tb     testing.TB
	state  State
	now    time.Time
	keep   bool
	log    []pawl.Event
	answer func(*pawl.Effect) pawl.Answer
}

func (d *driver) apply(e pawl.Event) {
	if err := Apply(&d.state, e); err != nil {
		d.tb.Fatal(err)
	}
	if d.keep {
		d.log = append(d.log, e)
	}
}

func (d *driver) take(in Input) []pawl.Event {
	in.At = d.now
	events, err := Decide(&d.state, in)
	if err != nil {
		d.tb.Fatal(err)
	}
	for _, e := range events {
		d.apply(e)
	}
	return events
}

// step answers one pending effect, looks what is pending in its loop, and
// returns how many events that made.
func (d *driver) step(i int) int {
	d.now = d.now.Add(time.Millisecond)
	pending := Pending(&d.state)
	f := pending[(i*7919)%len(pending)]
	n := len(d.take(Input{Answer: d.answer(f)}))
	for _, o := range PendingOf(&d.state, f.Loop) {
		_ = o.ID
	}
	return n
}

// longLog is a log of a million events: 50 loops at work besides the root.
var longLog = sync.OnceValue(func() []pawl.Event {
	d := crowd(&testing.B{}, 50)
	d.keep = true
	whole := []pawl.Event{}
	d.log = nil
	for i := 0; len(d.log) < 1_000_000; i++ {
		d.step(i)
	}
	return append(whole, d.log[:1_000_000]...)
})

// BenchmarkFold folds a log of a million events. The first events, which make
// the loops, are folded beforehand.
func BenchmarkFold(b *testing.B) {
	log := longLog()
	b.Run("events", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d := crowd(b, 50)
			for _, e := range log {
				if err := Apply(&d.state, e); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(len(log)*b.N)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("stored", func(b *testing.B) {
		var stored [][]byte
		bytes := 0
		for _, e := range log {
			stored = append(stored, pawl.AppendEvent(nil, e))
			bytes += len(stored[len(stored)-1])
		}
		b.ReportAllocs()
		b.ResetTimer()
		for b.Loop() {
			d := crowd(b, 50)
			for i, data := range stored {
				e, err := pawl.DecodeEvent(worldRun, log[i].Seq, data)
				if err == nil {
					err = Apply(&d.state, e)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(len(log)*b.N)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric(float64(bytes)/float64(len(log)), "bytes/event")
	})
}

// BenchmarkDecide is one step of a run: an answer is decided, the events are
// applied, and what is pending in the loop is looked at.
func BenchmarkDecide(b *testing.B) {
	for _, of := range []struct {
		name string
		run  func() *driver
	}{
		{"one loop", func() *driver { return crowd(b, 1) }},
		{"many loops", func() *driver { return crowd(b, loops) }},
		{"many loops, and some wait", func() *driver { return waiting(b, loops-20, 20) }},
	} {
		b.Run(of.name, func(b *testing.B) {
			d := of.run()
			var took []time.Duration
			events := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				events += d.step(i)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(events)/float64(len(took)), "events/step")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
		})
	}
}

// forest is a run whose plan has so many tasks, each waiting for a few before it.
func forest(tb testing.TB, n int) *driver {
	d := &driver{tb: tb, now: worldBegin}
	s := &script{w: &world{t: tb, state: &d.state}}
	list := many(n)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range list {
		for range min(i/8, 3) {
			list[i].DependsOn = append(list[i].DependsOn, list[rng.IntN(i)].ID)
		}
		list[i].Priority = rng.IntN(5)
	}
	d.answer = d.well(s, list)
	r, set := treeLoop(), settings()
	r.Kinds[0].Children.Parallel, r.Kinds[0].Children.Order = 8, "score"
	set.Limits, set.Gates = pawl.Limits{}, []pawl.GateSpec{gate("tests")}
	d.plan(r, set, 9)
	return d
}

// BenchmarkPlan is what a plan of 10,000 tasks costs: to check it and put it in
// order, once for each version; to take over that a task is done and start the
// next, at each; and a step of any other kind.
func BenchmarkPlan(b *testing.B) {
	const tasks = 10_000
	b.Run("graph", func(b *testing.B) {
		list := forest(b, tasks).state.Loop(1).gen.plan.Entries
		b.ReportAllocs()
		for b.Loop() {
			if _, err := plan.NewGraph(list, "score"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("steps", func(b *testing.B) {
		d := forest(b, tasks)
		var done, other []time.Duration
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if len(Pending(&d.state)) == 0 {
				d = forest(b, tasks)
			}
			f := Pending(&d.state)[0]
			ends := f.Loop != 1 && f.Do.Verb() == pawl.VerbCloseWorkspace
			began := time.Now()
			d.step(0)
			if took := time.Since(began); ends {
				done = append(done, took)
			} else {
				other = append(other, took)
			}
		}
		for _, of := range []struct {
			name string
			took []time.Duration
		}{{"done", done}, {"other", other}} {
			if slices.Sort(of.took); len(of.took) > 0 {
				b.ReportMetric(float64(of.took[len(of.took)/2].Nanoseconds()), of.name+"-p50-ns")
				b.ReportMetric(float64(of.took[len(of.took)*99/100].Nanoseconds()), of.name+"-p99-ns")
			}
		}
	})
}
