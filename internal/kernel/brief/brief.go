// Package brief shortens texts for events and for the state, which must stay small: it cuts a
// text at a bound, or keeps only its fingerprint.
package brief

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut returns s if it has at most n bytes. Otherwise it returns the longest prefix of s that
// ends at a rune's boundary and that has at most n bytes together with the ellipsis, which takes
// three bytes, behind it. A text that is cut needs an n of at least 3.
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

// Fingerprint returns the 64-bit FNV-1a hash of s with its lowest bit set. It returns 0 only for
// the empty string, so that 0 can mean "no text".
func Fingerprint(s string) uint64 {
	if s == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() | 1
}

// Words returns the fingerprint of the words of s, whatever their case, without numbers, marks and space, so
// that two objections are alike that differ in a line's number. A text without a word has the fingerprint
// of the whole of it.
func Words(s string) uint64 {
	said := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	said = slices.DeleteFunc(said, func(w string) bool { return !strings.ContainsFunc(w, unicode.IsLetter) })
	if len(said) == 0 {
		return Fingerprint(s)
	}
	return Fingerprint(strings.Join(said, " "))
}

// Mix combines fingerprints into one, which depends on their order. It returns 0 if there are
// none or all are 0, and only then.
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

// Clause returns a text as a part of a sentence: without full stops at its end, and with a small first letter where
// its first word is one that is never a name.
func Clause(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), ". ")
	word, _, _ := strings.Cut(s, " ")
	if lower := strings.ToLower(word); lower != word && strings.Contains(ordinary, " "+lower+" ") {
		return lower + s[len(word):]
	}
	return s
}

// ordinary are words that begin sentences and are no names, each between blanks.
const ordinary = " " +
	"a an the this that these those some any no none one two another other more both all each every either it its " +
	"he she they we you your our their his her there here someone somebody something anyone anything what which who " +
	"when where how if as in on at of for from to with without by before after since until while because please " +
	"only access permission permissions credentials approval network is are was were has have must should can " +
	"cannot could need needs missing waiting waits "

// Capital returns a text with a capital as its first letter.
func Capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}
