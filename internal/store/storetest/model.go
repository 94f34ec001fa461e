package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pawl"
)

// plain is the obvious log that model compares with.
type plain struct {
	order  []pawl.RunID
	runs   map[pawl.RunID]*plainRun
	stones []pawl.Tombstone
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
			"read":   func(rt *rapid.T) { want.read(t, rt, log) },
			"delete": func(rt *rapid.T) { want.delete(t, rt, log) },
			"erase":  func(rt *rapid.T) { want.erase(t, rt, log) },
			"": func(rt *rapid.T) {
				runs := MustRuns(t, log)
				if d := cmp.Diff(want.stones, MustDeleted(t, log), cmpopts.EquateEmpty()); d != "" {
					rt.Fatalf("tombstones (-want +got):\n%s", d)
				}
				order := slices.DeleteFunc(slices.Clone(want.order), want.isDeleted)
				if len(runs) != len(order) {
					rt.Fatalf("%d runs, want %d", len(runs), len(order))
				}
				for i, id := range order {
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
	if p.isDeleted(id) {
		if pawl.CodeOf(err) != pawl.CodeState {
			rt.Fatalf("append to a deleted run: %v", err)
		}
		return
	}
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
		r.blobs[b.Hash()] = b.Data()
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
	if p.isErased(id) {
		empty(t, log, id)
		return
	}
	after := rapid.IntRange(0, len(r.events)).Draw(rt, "after")
	wantEvents(t, MustEvents(t, log, id, pawl.Seq(after)), append([]pawl.Event(nil), r.events[after:]...))
	for _, data := range r.blobs {
		MustBlob(t, log, id, data)
	}
}

func (p *plain) stone(id pawl.RunID) *pawl.Tombstone {
	for i := range p.stones {
		if p.stones[i].Run.ID == id {
			return &p.stones[i]
		}
	}
	return nil
}

func (p *plain) isDeleted(id pawl.RunID) bool { return p.stone(id) != nil }

func (p *plain) isErased(id pawl.RunID) bool {
	s := p.stone(id)
	return s != nil && s.Erased
}

// draw is a run that was appended to, more or less.
func (p *plain) draw(rt *rapid.T) (id pawl.RunID, known bool) {
	id = pawl.RunID(fmt.Sprintf("%03d-run", rapid.IntRange(1, 4).Draw(rt, "run")))
	return id, p.runs[id] != nil
}

func (p *plain) delete(t testing.TB, rt *rapid.T, log pawl.Log) {
	if rapid.IntRange(0, 3).Draw(rt, "rarely") > 0 {
		return
	}
	id, known := p.draw(rt)
	stone := pawl.Tombstone{Run: pawl.RunInfo{ID: id, Title: "deleted"}, Deleted: start.Add(time.Duration(len(p.stones)) * time.Hour), By: "ada"}
	err := mustDeleter(t, log).Delete(t.Context(), stone)
	switch {
	case !known:
		WantCode(t, err, pawl.CodeNotFound)
	case err != nil:
		rt.Fatal(err)
	case !p.isDeleted(id):
		p.stones = append(p.stones, stone)
	}
}

func (p *plain) erase(t testing.TB, rt *rapid.T, log pawl.Log) {
	id, known := p.draw(rt)
	err := mustDeleter(t, log).Erase(t.Context(), id)
	switch s := p.stone(id); {
	case !known:
		WantCode(t, err, pawl.CodeNotFound)
	case s == nil:
		WantCode(t, err, pawl.CodeState)
	case err != nil:
		rt.Fatal(err)
	default:
		s.Erased = true
	}
}
