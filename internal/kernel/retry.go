package kernel

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// backoff is how long to wait before the next dispatch of a prompt or a model
// call, and false when there is none: First doubling up to Cap with jitter,
// Tries times, then a pause and the same again, Pauses times. What a provider
// asks for wins.
func (s *State) backoff(x *Session) (wait time.Duration, reason string, more bool) {
	p := s.Settings.Retry
	try, round := x.dispatches%p.Tries, x.dispatches/p.Tries
	switch {
	case try != 0:
		wait = p.First << min(try-1, 30)
		if wait <= 0 || wait > p.Cap {
			wait = p.Cap
		}
		// A quarter of jitter either way, so that many runs do not come back at once.
		if spread := uint64(wait / 2); spread > 0 {
			wait = min(wait-wait/4+time.Duration(jitter(s.Started.Seed, s.Seq)%spread), p.Cap)
		}
		reason = fmt.Sprintf("back-off %d of %d", try, p.Tries-1)
	case round <= p.Pauses:
		wait, reason = p.Pause, fmt.Sprintf("pause %d of %d", round, p.Pauses)
	default:
		return 0, "", false
	}
	if x.failed.Wait > 0 {
		wait, reason = x.failed.Wait, "the provider asked for it"
	}
	return wait, reason + ": " + string(x.failed.Code), true
}

// jitter is a number that looks random and is the same at every replay.
func jitter(seed uint64, seq pawl.Seq) uint64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(seq))
	_, _ = h.Write(b[:])
	return h.Sum64() >> 1
}

// loopID names a loop by when it began, in milliseconds since 1970, and four hex
// digits that look random. No two loops of a run have the same.
func (s *State) loopID(at time.Time, seed uint64, ref pawl.LoopRef) string {
	when := strconv.FormatInt(at.UnixMilli(), 10) + "-"
	for try := uint64(0); ; try++ {
		id := when + fmt.Sprintf("%04x", jitter(seed+try, pawl.Seq(ref))&0xffff)
		if !s.named(when, id) {
			return id
		}
	}
}

// named reports whether one of the loops that began when no other did since has the id.
func (s *State) named(when, id string) bool {
	for _, l := range slices.Backward(s.loops) {
		if !strings.HasPrefix(l.ID, when) {
			return false
		}
		if l.ID == id {
			return true
		}
	}
	return false
}
