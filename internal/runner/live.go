package runner

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pawl/internal/driver"
)

// Bounds of live text.
const (
	maxLive = 8 << 10 // bytes of one piece; of a longer one the end is shown
	maxHeld = 64      // bytes of an escape sequence that may still be going on
)

// live shows what a model or a command is saying. Only what can be printed
// passes, pieces may be cut anywhere, and known secrets that come in one piece
// are taken out. It never blocks, and may be called from many goroutines.
type live struct {
	show   func(string)
	redact func([]byte) []byte

	mu   sync.Mutex // guards held
	held string     // what only makes sense with the next piece
}

func (r *Runner) live(job driver.Job) *live { return &live{show: job.Live, redact: r.Redact} }

func (l *live) write(p []byte) { l.say(string(p)) }

func (l *live) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text = l.held + text
	cut := whole(text)
	text, l.held = text[:cut], text[cut:]
	if l.redact != nil && text != "" {
		text = string(l.redact([]byte(text)))
	}
	if n := len(text) - maxLive; n > 0 {
		text = text[n:]
	}
	if text = printable(ansi.Strip(text)); text != "" && l.show != nil {
		l.show(text)
	}
}

// whole is how much of a text can be shown now: not the beginning of an escape
// sequence, of a rune or of a line's end.
func whole(text string) int {
	if strings.HasSuffix(text, "\r") {
		return len(text) - 1
	}
	if i := strings.LastIndexByte(text, '\x1b'); i >= 0 && len(text)-i <= maxHeld && ansi.Strip(text[i:]) == "" {
		return i
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return len(text) - n
			}
			break
		}
	}
	return len(text)
}

// printable drops everything but what can be printed, newlines and tabs. A
// carriage return, with which programs write over a line, begins a new one.
func printable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			return r
		}
		return -1
	}, text)
}
