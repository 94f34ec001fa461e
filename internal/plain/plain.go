package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	escape      = '\x1b'
	zwj         = '\u200d' // joins emoji
	textStyle   = '\ufe0e' // shows the symbol before it as text
	emojiStyle  = '\ufe0f' // shows the symbol before it as an emoji
	lineSep     = '\u2028'
	paragraph   = '\u2029'
	maxStacked  = 6 // marks on one letter; more only deface the lines around it
	replacement = utf8.RuneError
)

// Text returns s with nothing in it that a terminal would obey or a reader
// would not see. Printable characters, newlines and tabs stay; CRLF becomes LF,
// and every kind of space becomes the ordinary one. Escape sequences go whole, so do all other
// controls, bidirectional controls, tags and invisible characters. What is not
// UTF-8, or has no agreed look, becomes U+FFFD. Text of its own result is that result.
func Text(s string) string {
	if harmless(s) {
		return s
	}
	var c cleaner
	c.out.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == escape || isC1(r) {
			i += sequence(s[i:])
			continue
		}
		i += n
		if r == replacement && n == 1 {
			c.write(replacement)
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i:])
		c.take(r, next)
	}
	return c.out.String()
}

// Line returns s as one safe line: as [Text], with every run of white space as
// one space, none at the ends, and cut to width columns with "…" at the cut.
// A width of zero or less means no limit.
func Line(s string, width int) string {
	s = strings.Join(strings.Fields(Text(s)), " ")
	if width <= 0 {
		return s
	}
	for cut := width; ; cut-- { // Truncate counts some emoji as narrower than StringWidth does
		if out := ansi.Truncate(s, cut, "…"); cut == 0 || ansi.StringWidth(out) <= width {
			return out
		}
	}
}

// Sprintf is [fmt.Sprintf] with each string among the arguments made a safe line. Only the
// format can indent, or begin another line.
func Sprintf(format string, args ...any) string {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = Line(s, 0)
		}
	}
	return fmt.Sprintf(format, args...)
}

// harmless reports whether s is plain ASCII, which most text is.
func harmless(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// cleaner keeps what earlier runes mean for the next one.
type cleaner struct {
	out     strings.Builder
	last    rune // the last rune written
	stacked int  // the marks written since the last rune that is none
}

func (c *cleaner) write(r rune) {
	c.out.WriteRune(r)
	c.last = r
	c.stacked = 0
}

// take writes r, something in its place, or nothing. next is the rune after it.
func (c *cleaner) take(r, next rune) {
	switch {
	case r == '\n' || r == '\t':
		c.write(r)
	case r == lineSep || r == paragraph:
		c.write('\n')
	case unicode.IsControl(r):
	case r == zwj:
		if (unicode.Is(unicode.So, c.last) || unicode.Is(unicode.Sk, c.last) || c.last == emojiStyle) && unicode.Is(unicode.So, next) {
			c.write(r)
		}
	case r == emojiStyle || r == textStyle:
		if unicode.In(c.last, unicode.So, unicode.Sm) || strings.ContainsRune("0123456789#*‼⁉", c.last) {
			c.write(r)
		}
	case invisible(r):
	case unicode.Is(unicode.Zs, r):
		c.write(' ')
	case unicode.In(r, unicode.Mn, unicode.Me):
		if c.stacked < maxStacked {
			n := c.stacked + 1
			c.write(r)
			c.stacked = n
		}
	case unicode.IsPrint(r):
		c.write(r)
	default: // private, unassigned
		c.write(replacement)
	}
}

// invisible reports whether r shows nothing by itself: format characters, bidi
// controls and tags among them, variation selectors, fillers, blanks.
func invisible(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// isC1 reports whether r is one of the controls that are an escape and a letter in one.
func isC1(r rune) bool { return r >= 0x80 && r <= 0x9f }

// sequence is the length of the control sequence that s begins with: an escape
// or a C1 control and what belongs to it.
func sequence(s string) int {
	if s[0] != escape {
		const size = 2 // of a C1 control in UTF-8
		switch r, _ := utf8.DecodeRuneInString(s); r {
		case 0x9b:
			return size + parameters(s[size:])
		case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
			return size + stringEnd(s[size:])
		}
		return size
	}
	if len(s) == 1 {
		return 1
	}
	switch s[1] {
	case '[':
		return 2 + parameters(s[2:])
	case 'P', 'X', ']', '^', '_':
		return 2 + stringEnd(s[2:])
	}
	i := 1
	for i < len(s) && s[i] >= ' ' && s[i] <= '/' {
		i++
	}
	if i < len(s) && s[i] >= '0' && s[i] <= '~' {
		i++
	}
	return i
}

// parameters is the length of what follows a control sequence introducer. A
// sequence that breaks off ends where it breaks off.
func parameters(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '?' {
		i++
	}
	for i < len(s) && s[i] >= ' ' && s[i] <= '/' {
		i++
	}
	if i < len(s) && s[i] >= '@' && s[i] <= '~' {
		i++
	}
	return i
}

// stringEnd is the length of a control string (OSC, DCS, APC, PM, SOS) with its
// terminator. One without a terminator goes as far as its line, so that it
// cannot take the rest of the text with it.
func stringEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\a', c == 0x18, c == 0x1a: // BEL ends it; CAN and SUB break it off
			return i + 1
		case c == escape && strings.HasPrefix(s[i+1:], `\`):
			return i + 2
		case c == escape:
			return i
		case c == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
			return i + 2
		case c == 0xc2 && i+1 < len(s) && s[i+1] >= 0x80 && s[i+1] <= 0x9f:
			return i
		}
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// Word returns s as one word for sh, whatever is in it.
func Word(s string) string {
	isPlain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,@+%", r)
	}
	if s != "" && strings.TrimFunc(s, isPlain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
