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

// jitter returns a number that looks random but is the same in every replay.
func jitter(seed uint64, seq pawl.Seq) uint64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(seq))
	_, _ = h.Write(b[:])
	return h.Sum64() >> 1
}

// loopID returns an id for a loop that begins at a time: milliseconds since 1970 and four hex
// digits that look random. No two loops of a run have the same id.
func (s *State) loopID(at time.Time, seed uint64, ref pawl.LoopRef) string {
	when := strconv.FormatInt(at.UnixMilli(), 10) + "-"
	for try := uint64(0); ; try++ {
		id := when + fmt.Sprintf("%04x", jitter(seed+try, pawl.Seq(ref))&0xffff)
		if !s.isIDTaken(when, id) {
			return id
		}
	}
}

// isIDTaken reports whether a loop has the id. Only the latest loops can have it: those that began
// in the same millisecond, whose ids begin with when.
func (s *State) isIDTaken(when, id string) bool {
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
