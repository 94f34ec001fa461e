package kernel

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pawl"
	"pawl/internal/kernel/flow"
)

// size estimates how many bytes a value would have when it is stored as events
// are: a byte of key for each field that is not zero, numbers as varints, and a
// text that several fields share only once.
func size(v reflect.Value, seen map[*byte]bool) int {
	switch v.Kind() {
	case reflect.Bool, reflect.Uint8:
		return 1
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return varint(uint64(max(v.Int(), -v.Int())) << 1)
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return min(varint(v.Uint()), 9)
	case reflect.String:
		if p := unsafe.StringData(v.String()); v.Len() > 0 && !seen[p] {
			seen[p] = true
			return 1 + v.Len()
		}
		return 1
	case reflect.Array:
		return 1 + v.Len() // of bytes: a hash
	case reflect.Slice:
		n := 1
		for i := range v.Len() {
			n += size(v.Index(i), seen)
		}
		return n
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 1
		}
		return size(v.Elem(), seen)
	case reflect.Struct:
		n := 0
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Type == reflect.TypeFor[*pawl.LoopKind]() || f.Type == reflect.TypeFor[*flow.Flow]() || f.Name == "Transcript" || v.Field(i).IsZero() {
				continue // the recipe is stored once, its steps too, and a transcript is the session's
			}
			n += 1 + size(v.Field(i), seen)
		}
		return n
	}
	panic("no size of a " + v.Type().String())
}

func varint(n uint64) (bytes int) {
	for bytes = 1; n >= 0x80; n >>= 7 {
		bytes++
	}
	return bytes
}

func sizeOf(l *Loop) int { return size(reflect.ValueOf(*l), map[*byte]bool{}) }

// crowded is a world in which everything that is kept is as long as it may be:
// four gates that are red on the base and fail, each with a long reason, and
// sessions of 20 turns with two calls each.
func crowded(t testing.TB) (*world, *pawl.Recipe, *pawl.Settings) {
	w := newWorld(t)
	w.long = true
	s := &script{w: w}
	w.happens = func(f *pawl.Effect) (pawl.Answer, time.Duration) {
		a, takes := s.happens(f)
		if b, ok := a.(*pawl.GateJudged); ok {
			*b = pawl.GateJudged{Effect: f.ID, Verdict: pawl.VerdictFail, Reason: strings.Repeat("x", 1000), Passed: 12345, Total: 23456, High: 12, Medium: 34,
				Failing: ^uint64(0) - uint64(f.ID), Found: ^uint64(0) / 2, Error: ^uint64(0) / uint64(3+f.ID), Evidence: blobOf(fmt.Sprint(f.ID))}
		}
		return a, min(takes, time.Second)
	}
	s.rules = []rule{parseRule(t, "implement turn 20: submits"), parseRule(t, "implement: calls read write"), parseRule(t, "requirements: calls read read")}
	r, set := taskLoop(), settings()
	k := &r.Kinds[0]
	k.Complexity, k.Iterations, k.Ladder.Rungs, k.Ladder.Stuck = nil, 0, nil, 0
	k.Steps = k.Steps[1:]
	k.Steps[0].Timeout, k.Steps[0].Turns, k.Gates[1].Timeout = time.Hour, 20, time.Hour
	set.Limits = pawl.Limits{Iterations: 12}
	for _, name := range []string{"tests", "types", "lint", "security"} {
		set.Gates = append(set.Gates, gate(name))
	}
	return w, r, set
}

// A session of 20 turns with two calls each fits into 5.5 kB with all that is known
// of the loop. While a candidate is judged, the verdicts come on top of that. Verdicts
// of the last attempts that did not pass have their reasons.
func TestSizes(t *testing.T) {
	const maxWorking, maxJudged, maxAtRest, maxFinished = 5632, 6656, 2944, 300
	w, r, set := crowded(t)
	w.start(r, set)
	working, judged := 0, 0
	for w.land() {
		l := w.state.Loop(1)
		if n := sizeOf(l); l.Phase == PhaseGates {
			judged = max(judged, n)
		} else {
			working = max(working, n)
		}
	}
	atRest := sizeOf(w.state.Loop(1))
	if w.state.Outcome != pawl.OutcomeIncomplete {
		t.Fatalf("the run ended %s", w.state.Outcome)
	}
	w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerResume, Limits: &pawl.Limits{}}})
	for range 40 {
		w.land()
	}
	w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}})
	for w.land() {
		continue
	}
	finished := sizeOf(w.state.Loop(1))
	if working > maxWorking || judged > maxJudged || atRest > maxAtRest || finished > maxFinished {
		t.Errorf("want at most %d bytes at work, %d judged, %d at rest and %d finished", maxWorking, maxJudged, maxAtRest, maxFinished)
	}
	t.Logf("at work %d bytes, judged %d, at rest %d, finished %d", working, judged, atRest, finished)
}

// However much the world has to say, an event stays small: texts are blobs, and
// what is left of them is cut where it enters the log. The world checks each event.
func TestEventSizes(t *testing.T) {
	long := strings.Repeat("äußerst lang ", 200)
	w := newWorld(t)
	w.long = true
	s := &script{w: w}
	for _, line := range []string{
		"implement turn 1: calls read read read read read read read read read read nosuch broken", "implement turn 2: error overloaded x2",
		"implement turn 3: calls write", "write: breaks machine x1", "prompt: breaks machine x1", "commit: breaks machine x1", "ballot tester: error refused",
		"lint: breaks machine x2", "proposal analyst: says",
	} {
		s.rules = append(s.rules, parseRule(t, line))
	}
	w.happens = func(f *pawl.Effect) (pawl.Answer, time.Duration) {
		a, takes := s.happens(f)
		switch b := a.(type) {
		case *pawl.GateJudged:
			b.Verdict, b.Reason, b.Failing = pawl.VerdictFail, long, ^uint64(0)-uint64(f.ID)
		case *pawl.EffectFailed:
			b.Failure.Message = long
		case *pawl.ModelReplied:
			b.Model = long
			for i := range b.Calls {
				if use := &b.Calls[i]; !use.Submit {
					use.Problem = strings.Repeat(use.Problem, 100)
					use.Tool += strings.Repeat("x", len(use.Tool)/6*1000) // nosuch
				}
			}
		}
		return a, takes
	}
	r, set := taskLoop(), settings()
	k := &r.Kinds[0]
	k.Ladder.Rungs, k.Iterations = []pawl.Rung{{Tier: 1, Failures: 9}}, 12
	k.Ladder.Stuck = 0
	for i := range k.Ladder.Council.Lenses {
		k.Ladder.Council.Lenses[i].Focus = long
	}
	set.Limits = pawl.Limits{Iterations: 12}
	for i := range 8 {
		set.Gates = append(set.Gates, pawl.GateSpec{Name: fmt.Sprintf("integration-tests-%d", i), Kind: pawl.GateTests})
	}
	set.Gates = append(set.Gates, gate("lint"))
	w.start(r, set)
	for range 60 {
		w.land()
	}
	w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerPause, Reason: long}})
	w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerResume, Reason: long}})
	for w.state.Status != pawl.StatusEnded && w.state.Loop(1).Iteration < 10 {
		w.land()
	}
	w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainFinish, Reason: long}})
	for w.land() {
		continue
	}
	largest, kind := 0, pawl.Kind(0)
	for _, e := range w.log[1:] {
		if n := len(pawl.AppendEvent(nil, e)); n > largest {
			largest, kind = n, e.Body.EventKind()
		}
	}
	if w.state.Status != pawl.StatusEnded || w.state.Loop(1).ladder.Councils == 0 {
		t.Errorf("the run is %s %s", w.state.Status, w.state.Outcome)
	}
	t.Logf("the largest of %d events is %s with %d bytes", len(w.log), kind, largest)
}
