package runner

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pawl/internal/secret"
)

// hear shows pieces and returns what was shown.
func hear(redact func([]byte) []byte, pieces ...string) string {
	var b strings.Builder
	l := &live{show: func(s string) { b.WriteString(s) }, redact: redact}
	for _, p := range pieces {
		l.say(p)
	}
	l.end()
	return b.String()
}

func TestLive(t *testing.T) {
	for name, test := range map[string]struct {
		pieces []string
		want   string
	}{
		"Plain":        {[]string{"I look", " at it.\n"}, "I look at it.\n"},
		"Runes":        {[]string{"gr\xc3", "\xbc\xc3", "\x9fe \xf0\x9f", "\x98\x80"}, "grüße 😀"},
		"NotUTF8":      {[]string{"a\xff\xfeb"}, "ab"},
		"Colours":      {[]string{"\x1b[31mred\x1b[0m and \x1b[1;3", "2mgreen\x1b", "[0m"}, "red and green"},
		"Title":        {[]string{"\x1b]0;owned\x07ok"}, "ok"},
		"Clear":        {[]string{"\x1b[2J\x1b[Hhello"}, "hello"},
		"Controls":     {[]string{"a\x00b\x08c\x7fd\u009be\u202ef"}, "abcdef"},
		"LineEnds":     {[]string{"a\r\nb\r", "\nc\r", "d"}, "a\nb\nc\nd"},
		"Progress":     {[]string{"10%\r20%\r", "30%"}, "10%\n20%\n30%"},
		"EndlessStart": {[]string{"\x1b]0;" + strings.Repeat("x", 200), "\x07then"}, "then"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hear(nil, test.pieces...); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	t.Run("Long", func(t *testing.T) {
		if got := hear(nil, strings.Repeat("é", 1<<20)); len(got) > maxLive || !strings.HasSuffix(got, "é") {
			t.Errorf("%d bytes are shown", len(got))
		}
	})
	t.Run("Nobody", func(t *testing.T) { (&live{}).say("x") })
}

// However text is cut into pieces, only what can be printed is shown.
func TestLiveIsPrintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "😀", "\x1b[1m", "\x1b", "\x9b2J", "\x1b]8;;x\x1b\\", "\r", "\n", "\t", "\xff", "\u200b", "\u2028", "[", "0m"})).Draw(t, "text"), "")
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got := hear(nil, pieces...)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
			t.Fatalf("%q is shown as %q", pieces, got)
		}
	})
}

func TestLiveRedacts(t *testing.T) {
	redact := func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2hunter2", "[redacted]")) }
	if got := hear(redact, "the key is hunter2hunter2, "+strings.Repeat("x", maxLive-8)); strings.Contains(got, "hunter2") {
		t.Errorf("got %.60q", got)
	}
}

// A secret that comes in pieces is not shown, whatever kind it is, and what is none is shown without waiting for
// more than the end of a word. F-07
func TestLiveRedactsPieces(t *testing.T) {
	token := "gh" + "p_" + "x7Gq2LmZ9vBnR4tYw8KdPf3HsJ6cAe1UoI5S"
	known := secret.NewRedactor(func(string) string { return "hunter2 of the shop" }, "SHOP_KEY")
	text := "It says:\n\x1b[1mid " + token + "\x1b[0m and hunter2 of the shop, password = " + token[4:21] + " here.\n-----BEGIN " + "EC PRIVATE KEY-----\r\n" +
		strings.Repeat("MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY9bT", 2)[:64] + "\r\nz1Xc9Lm2Qp==\r\n-----END EC PRIVATE KEY-----\r\nThat is all"
	const mark = "[redacted:private-key]\n"
	want := "It says:\nid [redacted:github-pat] and [redacted:SHOP_KEY], password = [redacted:generic-api-key] here.\n" + strings.Repeat(mark, 4) + "That is all"
	for size := 1; size < 60; size++ {
		var shown []string
		l := &live{show: func(s string) { shown = append(shown, s) }, redact: known.Bytes, undecided: known.Undecided}
		for piece := range slices.Chunk([]byte(text), size) {
			l.say(string(piece))
		}
		l.end()
		if got := strings.Join(shown, ""); got != want {
			t.Errorf("in pieces of %d bytes %q is shown, want %q", size, got, want)
		}
	}
	var shown string
	l := &live{show: func(s string) { shown += s }, redact: known.Bytes, undecided: known.Undecided}
	for _, piece := range []string{"I lo", "ok at", " it and see", "\n"} {
		l.say(piece)
	}
	if shown != "I look at it and see\n" {
		t.Errorf("%q is shown", shown)
	}
	if l.say("done: 3 of"); shown != "I look at it and see\ndone: 3 " {
		t.Errorf("%q is shown", shown)
	}
}

// Output of a command may come from several goroutines.
func TestLiveFromManyGoroutines(t *testing.T) {
	var mu sync.Mutex
	n := 0
	l := &live{show: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		n += strings.Count(s, "\n")
	}}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				l.say("line\n")
			}
		})
	}
	group.Wait()
	if n != 800 {
		t.Errorf("%d lines were shown", n)
	}
}
