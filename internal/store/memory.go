package store

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"pawl"
)

// Limits of what is remembered and of what is looked for.
const (
	// MaxText is how much of a text is remembered, in bytes.
	MaxText = 32 << 10
	// maxWords is how many different words of a text are looked for.
	maxWords = 128
	// maxWord is the longest word that is looked for, in bytes.
	maxWord = 100
	// recallLimit is how many entries a query without a limit finds.
	recallLimit = 200
)

// Remembers reports whether an event changes what is remembered.
func Remembers(b pawl.Body) bool {
	switch b := b.(type) {
	case *pawl.MemoryAdded, *pawl.MemoryForgotten:
		return true
	case *pawl.IterationEnded:
		return b.Decision != pawl.DecideComplete // its entries come from an attempt that failed
	}
	return false
}

// Entry is what an event adds to the memory. text is the content of its blob.
func Entry(e pawl.Event, b *pawl.MemoryAdded, text []byte) pawl.MemoryEntry {
	return pawl.MemoryEntry{
		Run: e.Run, N: b.N, Seq: e.Seq, Kind: b.Kind, Scope: b.Scope, Task: b.Task, Source: b.Place.String(),
		Time: time.Unix(0, e.Time.UnixNano()).UTC(), Text: shorten(text), Failed: b.Failed, Learning: b.Learning,
	}
}

// shorten makes a text one that a database and JSON give back as it is.
func shorten(text []byte) string {
	if len(text) > MaxText {
		return strings.ToValidUTF8(string(text[:MaxText]), "") + "…"
	}
	return strings.ToValidUTF8(string(text), "�")
}

// Limit is how many entries a query may find.
func Limit(q pawl.MemoryQuery) int {
	if q.Limit <= 0 {
		return recallLimit
	}
	return q.Limit
}

// Selects reports whether a query wants an entry, whatever its text.
func Selects(q pawl.MemoryQuery, e *pawl.MemoryEntry) bool {
	switch {
	case q.Run != "" && e.Run == q.Run && q.Before > 0 && e.Seq >= q.Before,
		q.Run != "" && e.Run != q.Run && (!q.Project || e.Scope != pawl.ScopeProject),
		q.Passed && e.Failed, !q.Forgotten && e.Forgotten:
		return false
	}
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)
}

// Words are the words of a text that are looked for: runs of letters and digits,
// in small letters, each once. Nothing else of a text means anything, so that no
// text is a query in anybody's language.
func Words(text string) []string { return words(text, maxWords) }

// AllWords are all words of a text.
func AllWords(text string) []string { return words(text, len(text)) }

func words(text string, most int) (words []string) {
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if len(words) == most {
			break
		}
		word = strings.ToLower(word)
		if len(word) > maxWord || seen[word] {
			continue
		}
		seen[word] = true
		words = append(words, word)
	}
	return words
}
