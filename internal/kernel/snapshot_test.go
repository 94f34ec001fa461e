package kernel

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/kernel/snapshot"
)

// snapshotDistance is the distance between two events of a world at which its second state is
// replaced by what its snapshot has.
const snapshotDistance = 5

// restored returns the state that a state's snapshot has. What follows from the first event is
// that of the state itself, so that worlds compare their states quickly.
func (w *world) restored(s *State) *State {
	w.t.Helper()
	data := s.Snapshot()
	n, width := binary.Uvarint(data)
	out := &State{Run: s.Run, Started: s.Started, Recipe: s.Recipe, flows: s.flows}
	if err := snapshot.Decode(data[width+int(n):], out, out.special(), out.shared()...); err != nil {
		w.t.Fatalf("the snapshot at event %d: %v", s.Seq, err)
	}
	if !equal(s, out) {
		w.t.Fatalf("the snapshot at event %d has another state (-folded +restored):\n%s", s.Seq, difference(s, out))
	}
	return out
}

func difference(a, b *State) string {
	return cmp.Diff(a, b, cmp.Exporter(func(reflect.Type) bool { return true }))
}

// A state that was restored from a snapshot is the state after the fold of the whole log, after
// every event of a run.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	for _, of := range []*simulation{&plain, &trees, &judged, &cascaded} {
		full := of.seeded(t, 2)
		s := &State{}
		for n, e := range full.log {
			if err := Apply(s, e); err != nil {
				t.Fatal(err)
			}
			if n == 0 || !isTried(n, 2, 1) {
				continue
			}
			data := s.Snapshot()
			r, err := Restore(s.Run, data)
			if err != nil {
				t.Fatalf("%s, event %d: %v", of.env, e.Seq, err)
			}
			if !reflect.DeepEqual(s, r) {
				t.Fatalf("%s, event %d: the snapshot has another state (-folded +restored):\n%s", of.env, e.Seq, difference(s, r))
			}
			if again := r.Snapshot(); string(again) != string(data) {
				t.Fatalf("%s, event %d: the snapshot of the restored state differs", of.env, e.Seq)
			}
			s = r
		}
	}
}

// What is not a whole snapshot is an error and never a state, and costs no memory to speak of.
func TestBrokenSnapshots(t *testing.T) {
	t.Parallel()
	s := fold(t, trees.seeded(t, 3).log)
	data := s.Snapshot()
	for n := range data {
		if _, err := Restore(s.Run, data[:n]); err == nil {
			t.Fatalf("%d bytes of %d are taken for a snapshot", n, len(data))
		}
	}
	if _, err := Restore(s.Run, append(data[:len(data):len(data)], 0)); err == nil || !strings.Contains(err.Error(), "left over") {
		t.Errorf("a byte too many: %v", err)
	}
	event := pawl.AppendEvent(nil, pawl.Event{Seq: 1, Body: &pawl.RunPaused{}})
	if _, err := Restore(s.Run, append([]byte{byte(len(event))}, event...)); err == nil || !strings.Contains(err.Error(), "RunPaused") {
		t.Errorf("a snapshot that begins with another event: %v", err)
	}
	for n := range data { // they are protected by a checksum where they are kept; this must only not panic
		damaged := append([]byte(nil), data...)
		damaged[n] ^= 0xff
		_, _ = Restore(s.Run, damaged)
	}
}

// BenchmarkSnapshot measures the snapshot of a run with one loop at work, and with many.
func BenchmarkSnapshot(b *testing.B) {
	for _, of := range []struct {
		name  string
		loops int
	}{{"one loop", 1}, {"many loops", loops}} {
		d := crowd(b, of.loops)
		for i := range 20 * of.loops {
			d.step(i)
		}
		data := d.state.Snapshot()
		b.Run(of.name+", taken", func(b *testing.B) {
			for b.Loop() {
				d.state.Snapshot()
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
		b.Run(of.name+", restored", func(b *testing.B) {
			for b.Loop() {
				if _, err := Restore(d.state.Run, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
