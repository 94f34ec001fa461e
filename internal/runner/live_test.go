package runner

import (
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// hear shows pieces and returns what was shown.
func hear(redact func([]byte) []byte, pieces ...string) string {
	var b strings.Builder
	l := &live{show: func(s string) { b.WriteString(s) }, redact: redact}
	for _, p := range pieces {
		l.write([]byte(p))
	}
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
				l.write([]byte("line\n"))
			}
		})
	}
	group.Wait()
	if n != 800 {
		t.Errorf("%d lines were shown", n)
	}
}
