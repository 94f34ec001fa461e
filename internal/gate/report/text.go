package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/pattern"
)

// Escapes are matched only where they end on their line, so that a stray byte
// does not swallow the rest of an output.
var escapes = pattern.Of(`\x1b\[[0-9;:?<=>]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]`)

// Plain is the text without terminal escapes and with plain line ends. It is
// valid UTF-8.
func Plain(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.Contains(text, "\x1b") {
		text = escapes.ReplaceAllString(text, "")
	}
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	return text
}

// clean makes one line of a text: no escapes, no control characters, no
// characters that change the direction or are not seen.
func clean(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return strings.TrimSpace(s)
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\v' || r == '\f':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			return -1
		}
		return r
	}, Plain(s))
	return strings.TrimSpace(s)
}

// cut shortens a text to at most n bytes, at a character's boundary.
func cut(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ends shortens a text to about n bytes, half from its head and half from its tail.
func ends(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "\n… %d bytes left out …\n"
	half := (n - len(mark) - 10) / 2
	head := cut(s, half)
	from := len(s) - half
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return head + fmt.Sprintf(mark, from-len(head)) + s[from:]
}

// clip keeps the head and the tail of a text that comes in pieces.
type clip struct {
	head, tail []byte
	dropped    bool
}

func (c *clip) write(s string) {
	if room := maxOutput/2 - len(c.head); room > 0 && !c.dropped {
		n := min(room, len(s))
		c.head = append(c.head, s[:n]...)
		s = s[n:]
	}
	if s == "" {
		return
	}
	c.tail = append(c.tail, s...)
	if len(c.tail) > maxOutput {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-maxOutput/2:]...)
		c.dropped = true
	}
}

func (c *clip) String() string {
	if c == nil {
		return ""
	}
	if c.dropped {
		return string(c.head) + "\n…\n" + string(c.tail)
	}
	return string(c.head) + string(c.tail)
}

// maxLines is how many lines of a text are read, half from its head and half
// from its tail. Real output of 16 MiB has fewer.
const maxLines = 1_000_000

func splitLines(text string) []string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.TrimRight(text, "\n")
	if strings.Count(text, "\n") < maxLines {
		return strings.Split(text, "\n")
	}
	head := strings.SplitN(text, "\n", maxLines/2+1)
	text = head[maxLines/2]
	var tail []string
	for len(tail) < maxLines/2 {
		at := strings.LastIndexByte(text, '\n')
		tail = append(tail, text[at+1:])
		if at < 0 {
			break
		}
		text = text[:at]
	}
	slices.Reverse(tail)
	return append(head[:maxLines/2], tail...)
}
