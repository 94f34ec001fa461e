package kernel

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"pawl"
)

// backoff is how long to wait before the next dispatch of a model call, and
// false when there is none: First doubling up to Cap with jitter, Tries times,
// then a pause and the same again, Pauses times. What a provider asks for wins.
func (s *State) backoff(x *Session) (wait time.Duration, reason string, more bool) {
	p := s.Settings.Retry
	try, round := x.dispatches%p.Tries, x.dispatches/p.Tries
	switch {
	case try != 0:
		wait = p.First << min(max(try-1, 0), 30)
		if wait <= 0 || wait > p.Cap {
			wait = p.Cap
		}
		// A quarter of jitter either way, so that many runs do not come back at once.
		if spread := int64(wait / 2); spread > 0 {
			wait += time.Duration(int64(jitter(s.Started.Seed, s.Seq)%uint64(spread)) - spread/2)
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

// loopID names a loop by when it began and a little of its run's seed.
func loopID(at time.Time, seed uint64, ordinal pawl.LoopRef) string {
	return fmt.Sprintf("%s-%04x", at.UTC().Format("20060102-150405"), jitter(seed, pawl.Seq(ordinal))&0xffff)
}

// mix makes one fingerprint of several; 0 when all are 0.
func mix(parts ...uint64) uint64 {
	h := fnv.New64a()
	var any uint64
	var b [8]byte
	for _, p := range parts {
		any |= p
		binary.LittleEndian.PutUint64(b[:], p)
		_, _ = h.Write(b[:])
	}
	if any == 0 {
		return 0
	}
	return h.Sum64() | 1
}

// print is the fingerprint of a text; 0 when it is empty.
func print64(s string) uint64 {
	if s == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() | 1
}
