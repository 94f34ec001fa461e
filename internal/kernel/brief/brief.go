// Package brief makes what events and the state keep of a text small: the text cut at a
// bound, or its fingerprint.
package brief

import (
	"encoding/binary"
	"hash/fnv"
)

// Cut shortens s to at most n bytes, at a rune's boundary and with an ellipsis.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// Fingerprint is the fingerprint of a text (FNV-1a, with its lowest bit set); 0 when it is empty.
func Fingerprint(s string) uint64 {
	if s == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() | 1
}

// Mix makes one fingerprint of several; 0 when all are 0.
func Mix(parts ...uint64) uint64 {
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
