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

// live shows what a model and commands say during an effect. Only what can be printed
// passes, without secrets; pieces may be cut anywhere. It never blocks, and may be called
// from many goroutines.
type live struct {
	show      func(string)
	redact    func([]byte) []byte
	undecided func([]byte) int

	mu     sync.Mutex // guards what follows
	cut    string     // the beginning of a rune, of a line's end or of an escape sequence
	unsure string     // what may be a part of a secret, as it would be shown
}

// written returns what shows the output of a command.
func written(job driver.Job) func([]byte) { return func(p []byte) { job.Live(string(p)) } }

func (l *live) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text = l.cut + text
	n := whole(text)
	text, l.cut = text[:n], text[n:]
	text = l.unsure + printable(ansi.Strip(text))
	if n = len(text); l.undecided != nil {
		n = l.undecided([]byte(text))
	}
	text, l.unsure = text[:n], text[n:]
	l.pass(text)
}

// end shows what was held back: nothing more comes.
func (l *live) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass(l.unsure + printable(ansi.Strip(l.cut)))
	l.cut, l.unsure = "", ""
}

func (l *live) pass(text string) {
	if l.redact != nil && text != "" {
		text = string(l.redact([]byte(text)))
	}
	if n := len(text) - maxLive; n > 0 {
		text = strings.ToValidUTF8(text[n:], "")
	}
	if text != "" && l.show != nil {
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
