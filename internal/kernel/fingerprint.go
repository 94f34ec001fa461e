package kernel

import (
	"encoding/binary"
	"hash/fnv"
)

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

// print64 is the fingerprint of a text; 0 when it is empty.
func print64(s string) uint64 {
	if s == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() | 1
}
