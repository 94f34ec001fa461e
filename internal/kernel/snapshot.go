package kernel

import (
	"encoding/binary"
	"fmt"

	"pawl"
	"pawl/internal/kernel/snapshot"
)

// Snapshot encodes the state for [Restore] in the same program. It is read only while that
// program runs the same code: what another one wrote has to be left alone.
func (s *State) Snapshot() []byte {
	first := pawl.AppendEvent(nil, pawl.Event{Run: s.Run, Seq: 1, Time: s.began, Body: s.Started})
	to := binary.AppendUvarint(nil, uint64(len(first)))
	return snapshot.Append(append(to, first...), s, s.special(), s.shared()...)
}

// Restore returns the state that [State.Snapshot] encoded.
func Restore(run pawl.RunID, data []byte) (*State, error) {
	n, width := binary.Uvarint(data)
	if width <= 0 || n > uint64(len(data)-width) {
		return nil, fmt.Errorf("read a snapshot: it is cut short")
	}
	first, err := pawl.DecodeEvent(run, 1, data[width:width+int(n)]) //nolint:gosec // it is at most the length of the data
	if err != nil {
		return nil, fmt.Errorf("read the first event of a snapshot: %w", err)
	}
	started, ok := first.Body.(*pawl.RunStarted)
	if !ok {
		return nil, fmt.Errorf("a snapshot begins with a %T", first.Body)
	}
	s := &State{}
	if err := s.start(first, started); err != nil {
		return nil, fmt.Errorf("read a snapshot: %w", err)
	}
	if err := snapshot.Decode(data[width+int(n):], s, s.special(), s.shared()...); err != nil { //nolint:gosec // as above
		return nil, fmt.Errorf("read a snapshot: %w", err)
	}
	return s, nil
}

// shared returns pointers to what follows from the run's first event.
func (s *State) shared() []any {
	all := []any{s.Started, s.Recipe}
	for i := range s.Recipe.Kinds {
		all = append(all, &s.Recipe.Kinds[i], s.flows[i])
	}
	return all
}

// special returns how values are encoded that are not what their fields are. What an effect
// does is an interface, and encoded as in an event.
func (s *State) special() []snapshot.Special {
	return []snapshot.Special{snapshot.Time(), snapshot.For(func(to []byte, do *pawl.Do) []byte {
		return pawl.AppendEvent(to, pawl.Event{Time: s.began, Body: &pawl.EffectRequested{Effect: pawl.Effect{Do: *do}}})
	}, func(data []byte, do *pawl.Do) error {
		e, err := pawl.DecodeEvent(s.Run, 1, data)
		if err != nil {
			return err
		}
		b, ok := e.Body.(*pawl.EffectRequested)
		if !ok {
			return fmt.Errorf("what an effect does is a %T", e.Body)
		}
		*do = b.Effect.Do
		return nil
	})}
}
