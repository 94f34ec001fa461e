package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"pawl/internal/plain"
)

// input is a text that the user writes. It is our own and not a ready-made one,
// because those look for clipboard programs when they are loaded, which every
// command would pay for.
type input struct {
	label string
	note  string // what is to be known about it
	text  []rune
	at    int // the cursor, before this rune
	max   int // bytes
	lines bool
	// change is told every text while it is written; may be nil. done gets the whole.
	change func(*Model, string)
	done   func(*Model, string) tea.Cmd
	// must says that an empty text is not sent, and why.
	must string
	said string // what is wrong with it
}

func (in *input) String() string { return string(in.text) }

// insert puts text at the cursor, as much of it as there is room for.
func (in *input) insert(s string) {
	s = plain.Text(strings.ReplaceAll(s, "\r\n", "\n"))
	s = strings.ReplaceAll(s, "\r", "\n")
	if !in.lines {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	for _, r := range strings.ReplaceAll(s, "\t", "    ") {
		if len(in.String())+utf8.RuneLen(r) > in.max {
			in.said = "no room for more"
			return
		}
		in.text = slices.Insert(in.text, in.at, r)
		in.at++
	}
	in.said = ""
}

func (in *input) remove(from, to int) {
	in.text = slices.Delete(in.text, from, to)
	in.at, in.said = from, ""
}

// word is where the word before the cursor begins.
func (in *input) word() int {
	i := in.at
	for i > 0 && in.text[i-1] == ' ' {
		i--
	}
	for i > 0 && in.text[i-1] != ' ' && in.text[i-1] != '\n' {
		i--
	}
	return i
}

// key edits the text.
func (in *input) key(k tea.KeyPressMsg) {
	switch key := k.String(); key {
	case "left", "ctrl+b":
		in.at = max(0, in.at-1)
	case "right", "ctrl+f":
		in.at = min(len(in.text), in.at+1)
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.text)
	case "backspace", "ctrl+h":
		if in.at > 0 {
			in.remove(in.at-1, in.at)
		}
	case "delete", "ctrl+d":
		if in.at < len(in.text) {
			in.text = slices.Delete(in.text, in.at, in.at+1)
		}
	case "ctrl+w", "alt+backspace":
		in.remove(in.word(), in.at)
	case "ctrl+u":
		in.remove(0, in.at)
	case "ctrl+k":
		in.text = in.text[:in.at]
	case "ctrl+j", "alt+enter", "shift+enter":
		if in.lines {
			in.insert("\n")
		}
	default:
		if k.Text != "" {
			in.insert(k.Text)
		}
	}
}

// typed handles a key for the text that is written.
func (m *Model) typed(k tea.KeyPressMsg) tea.Cmd {
	in := m.input
	switch k.String() {
	case "esc", "ctrl+c":
		m.input = nil
		if in.change != nil {
			in.change(m, "")
		}
		return nil
	case "enter":
		text := strings.TrimSpace(in.String())
		if text == "" && in.must != "" {
			in.said = in.must
			return nil
		}
		m.input = nil
		return in.done(m, text)
	}
	in.key(k)
	if in.change != nil {
		in.change(m, in.String())
	}
	return nil
}

// box draws the text that is written in a few rows, and says where its cursor is.
func (in *input) box(p pen, width, height int) (rows []row, x, y int) {
	const sign = "_"
	room := max(1, width-4)
	before := p.fold(string(in.text[:in.at])+sign, room)
	all := p.fold(string(in.text)+" ", room)
	x, y = 2+p.width(strings.TrimSuffix(before[len(before)-1], sign)), len(before)-1
	from := max(0, y-(height-3))
	head := row{{in.label, bold}}
	if in.note != "" {
		head = append(head, span{"  " + in.note, dim})
	}
	rows = append(rows, head)
	for i := from; i < len(all) && len(rows) < height-1; i++ {
		rows = append(rows, row{{"  " + all[i], normal}})
	}
	how := "enter send · esc leave it"
	if in.lines {
		how = "enter send · ctrl+j new line · esc leave it"
	}
	if in.change != nil {
		how = "enter keep · esc clear"
	}
	if in.said != "" {
		how = in.said + " · " + how
	}
	count := ""
	if in.max-len(in.String()) < in.max/2 {
		count = itoa(len(in.String())) + " of " + itoa(in.max) + " bytes"
	}
	rows = append(rows, p.ends(say(dim, how), say(dim, count), width))
	return rows, x, 1 + y - from
}
