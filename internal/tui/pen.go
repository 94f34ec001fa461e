package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pawl/internal/plain"
)

// ink is how a piece of text looks where there are colours. Nothing is told by
// colour alone.
type ink uint8

const (
	normal ink = iota
	dim
	red
	green
	yellow
	cyan
	bold
	chosen // the line the keys are about
	match  // found by a search
)

var inks = [...]string{"", "2", "31", "32", "33", "36", "1", "7", "1;33"}

// span is a piece of a row; row is one line of the screen.
type span struct {
	text string
	ink  ink
}

type row []span

// say is a row of one piece.
func say(i ink, text string) row { return row{{text, i}} }

// pen turns rows into what the terminal is sent. It is the only place that does.
type pen struct {
	color bool
	ascii bool // the locale is not UTF-8
}

// unspoken are marks that make the width of an emoji depend on the terminal: the
// joiner, the style, the tones of skin.
func unspoken(r rune) bool { return r == '\u200d' || r == '\ufe0f' || r >= 0x1f3fb && r <= 0x1f3ff }

// plainer are words for signs, for terminals that have no others than ASCII.
var plainer = strings.NewReplacer("↑↓", "up/down", "←→", "left/right", "…", "...", "·", "-", "→", "->", "←", "<-", "↑", "up", "↓", "down", "─", "-", "│", "|", "✓", "+", "✗", "x", "●", "*", "○", ".",
	"‖", "=", "↻", "@", "⊘", "-", "▸", "+", "▾", "-", "»", ">", "×", "x", "█", "#", "░", ".", "–", "-", "—", "-", "“", `"`, "”", `"`, "’", "'")

// clean is a text as it may be drawn on one line.
func (p pen) clean(s string) string {
	s = plain.Text(s)
	easy := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			easy = false
			break
		}
	}
	if easy {
		return s
	}
	if p.ascii {
		s = plainer.Replace(s)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unspoken(r):
			return -1
		case p.ascii && r > '~':
			return '?'
		}
		return r
	}, s)
}

// cut is a clean text in at most so many columns.
func (p pen) cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	end := "…"
	if p.ascii {
		end = "~"
	}
	for n := width; n > 0; n-- { // Truncate counts some signs as narrower than StringWidth does
		if out := ansi.Truncate(s, n, end); ansi.StringWidth(out) <= width {
			return out
		}
	}
	return ""
}

// line is a row in exactly so many columns.
func (p pen) line(r row, width int) string {
	var b strings.Builder
	left := width
	for _, s := range r {
		text := p.cut(p.clean(s.text), left)
		if text == "" {
			continue
		}
		left -= ansi.StringWidth(text)
		p.paint(&b, s.ink, text)
		if left <= 0 {
			break
		}
	}
	if left > 0 {
		last := normal
		if len(r) > 0 && r[len(r)-1].ink == chosen {
			last = chosen
		}
		p.paint(&b, last, strings.Repeat(" ", left))
	}
	return b.String()
}

func (p pen) paint(b *strings.Builder, i ink, text string) {
	if !p.color || i == normal {
		b.WriteString(text)
		return
	}
	b.WriteString("\x1b[" + inks[i] + "m" + text + "\x1b[m")
}

// width is how many columns a text takes.
func (p pen) width(s string) int { return ansi.StringWidth(p.clean(s)) }

// widest is how many columns a row takes.
func (p pen) widest(r row) int {
	n := 0
	for _, s := range r {
		n += p.width(s.text)
	}
	return n
}

// ends is a row with something at its right end, in so many columns; the right end wins.
func (p pen) ends(left, right row, width int) row {
	free := width - p.widest(right)
	if free < 1 {
		return right
	}
	out, used := row{}, 0
	for _, s := range left {
		text := p.cut(p.clean(s.text), free-used-1)
		used += ansi.StringWidth(text)
		out = append(out, span{text, s.ink})
	}
	pad := span{strings.Repeat(" ", free-used), normal}
	return append(append(out, pad), right...)
}

// fold breaks a text into lines of so many columns, at words where it can.
func (p pen) fold(text string, width int) []string {
	text = strings.ReplaceAll(plain.Text(text), "\t", "    ")
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = p.clean(line)
		for len(line) > width && ansi.StringWidth(line) > width {
			head := ansi.Truncate(line, width, "")
			if at := strings.LastIndexByte(head, ' '); !strings.HasPrefix(line[len(head):], " ") && strings.TrimSpace(head[:max(0, at)]) != "" {
				head = head[:at]
			}
			if head == "" { // not even one sign fits
				break
			}
			out = append(out, strings.TrimRight(head, " "))
			line = strings.TrimLeft(line[len(head):], " ")
		}
		out = append(out, line)
	}
	return out
}

// lines draws rows, as many as the height, each in full width.
func (p pen) lines(rows []row, width, height int) []string {
	out := make([]string, height)
	for i := range out {
		if i < len(rows) {
			out[i] = p.line(rows[i], width)
		} else {
			out[i] = strings.Repeat(" ", width)
		}
	}
	return out
}
