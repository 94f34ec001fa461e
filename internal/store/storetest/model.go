package storetest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"pawl"
)

// plain is the obvious log that model compares with.
type plain struct {
	order []pawl.RunID
	runs  map[pawl.RunID]*plainRun
}

type plainRun struct {
	events []pawl.Event
	line   pawl.RunInfo
	blobs  map[pawl.Hash][]byte
}

func (s suite) model(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// rapid has no folder of its own for each try.
		dir := t.TempDir()
		log := s.open(t, dir)
		defer func() { _ = log.Close() }()
		want := &plain{runs: map[pawl.RunID]*plainRun{}}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) { want.append(t, rt, log) },
			"reopen": func(rt *rapid.T) {
				if rapid.IntRange(0, 3).Draw(rt, "rarely") > 0 {
					return
				}
				if err := log.Close(); err != nil {
					rt.Fatal(err)
				}
				log = s.open(t, dir)
			},
			"read": func(rt *rapid.T) { want.read(t, rt, log) },
			"": func(rt *rapid.T) {
				runs := MustRuns(t, log)
				if len(runs) != len(want.order) {
					rt.Fatalf("%d runs, want %d", len(runs), len(want.order))
				}
				for i, id := range want.order {
					if runs[i] != want.runs[id].line {
						rt.Fatalf("run %d is %+v, want %+v", i, runs[i], want.runs[id].line)
					}
				}
			},
		})
	})
}

func (p *plain) append(t testing.TB, rt *rapid.T, log pawl.Log) {
	id := pawl.RunID(fmt.Sprintf("%03d-run", rapid.IntRange(1, 4).Draw(rt, "run")))
	r := p.runs[id]
	if r == nil {
		r = &plainRun{line: pawl.RunInfo{ID: id}, blobs: map[pawl.Hash][]byte{}}
	}
	last := len(r.events)
	after := max(0, last+rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1}).Draw(rt, "off by"))
	u := Unit(id, pawl.Seq(after), rapid.IntRange(1, 5).Draw(rt, "events"))
	for range rapid.IntRange(0, 3).Draw(rt, "blobs") {
		size := rapid.SampledFrom([]int{0, 10, 3000, 5000, 70_000}).Draw(rt, "size")
		u.Blobs = append(u.Blobs, pawl.NewBlob(Noise(rapid.Uint64Range(0, 3).Draw(rt, "seed"), size)))
	}
	if rapid.Bool().Draw(rt, "line") {
		u.Info = &pawl.RunInfo{ID: id, Iteration: after, Title: rapid.String().Draw(rt, "title")}
	}
	err := log.Append(t.Context(), u)
	if after != last {
		if pawl.CodeOf(err) != pawl.CodeConflict {
			rt.Fatalf("append after %d to a run at %d: %v", after, last, err)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	if last == 0 {
		p.order = append(p.order, id)
		p.runs[id] = r
	}
	r.events = append(r.events, u.Events...)
	for _, b := range u.Blobs {
		r.blobs[b.Hash] = b.Data
	}
	if u.Info != nil {
		r.line = *u.Info
	}
}

func (p *plain) read(t testing.TB, rt *rapid.T, log pawl.Log) {
	if len(p.order) == 0 {
		return
	}
	id := rapid.SampledFrom(p.order).Draw(rt, "of")
	r := p.runs[id]
	after := rapid.IntRange(0, len(r.events)).Draw(rt, "after")
	wantEvents(t, MustEvents(t, log, id, pawl.Seq(after)), append([]pawl.Event(nil), r.events[after:]...))
	for _, data := range r.blobs {
		MustBlob(t, log, id, data)
	}
}
