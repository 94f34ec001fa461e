package tui

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pawl"
)

// inbox is the list of open questions of all runs.
type inbox struct {
	all    []waiting
	at     int
	offset int
	filter string
	read   bool
	err    error
	// seen are the runs that ask, at which event they were read.
	seen map[key]pawl.Seq
}

// asking are the runs that ask, with their last events.
func asking(projects []project) map[key]pawl.Seq {
	out := map[key]pawl.Seq{}
	for _, p := range projects {
		for _, r := range p.runs {
			if r.Questions > 0 {
				out[key{p.ID, r.ID}] = r.Seq
			}
		}
	}
	return out
}

// stale reports whether runs that ask have changed since they were read.
func (b *inbox) stale(projects []project) bool {
	now := asking(projects)
	if !b.read || len(now) != len(b.seen) {
		return true
	}
	for k, seq := range now {
		if b.seen[k] != seq {
			return true
		}
	}
	return false
}

func (b *inbox) asked(projects []project) { b.seen = asking(projects) }

// inboxed takes the questions. The one that was chosen stays so.
func (m *Model) inboxed(msg inboxMsg) {
	b := &m.inbox
	var at waiting
	if all := b.sifted(); b.at < len(all) {
		at = all[b.at]
	}
	b.read, b.err = true, msg.err
	if msg.err == nil || len(msg.all) > 0 {
		b.all = msg.all
	}
	for i, q := range b.sifted() {
		if q.key == at.key && q.N == at.N {
			b.at = i
		}
	}
	b.move(0)
}

// sifted are the questions that the filter fits.
func (b *inbox) sifted() []waiting {
	if b.filter == "" {
		return b.all
	}
	want := strings.ToLower(b.filter)
	var out []waiting
	for _, q := range b.all {
		if strings.Contains(strings.ToLower(string(q.key.run)+" "+string(q.Kind)+" "+q.Text+" "+q.Task), want) {
			out = append(out, q)
		}
	}
	return out
}

func (b *inbox) move(by int) { b.at = max(0, min(b.at+by, len(b.sifted())-1)) }

// inboxKey handles a key for the inbox.
func (m *Model) inboxKey(k string) tea.Cmd {
	b := &m.inbox
	switch k {
	case "up", "k":
		b.move(-1)
	case "down", "j":
		b.move(1)
	case "pgup":
		b.move(-5)
	case "pgdown":
		b.move(5)
	case "home", "g":
		b.move(-len(b.all))
	case "end", "G":
		b.move(len(b.all))
	case "enter", "a":
		if all := b.sifted(); b.at < len(all) {
			return m.asks(all[b.at].key, all[b.at].N)
		}
	case "/":
		m.input = &input{label: "Filter", max: 100, text: []rune(b.filter), at: len([]rune(b.filter)),
			change: func(m *Model, s string) { m.inbox.filter = s; m.inbox.move(0) }, done: func(*Model, string) tea.Cmd { return nil }}
	}
	return nil
}

// inboxRows are the questions, the chosen one in view.
func (m *Model) inboxRows(width, height int) []row {
	b := &m.inbox
	all := b.sifted()
	switch {
	case !b.read:
		return []row{say(dim, "reading…")}
	case len(all) == 0 && b.filter != "":
		return []row{say(dim, "nothing that waits for you has “"+b.filter+"”")}
	case len(all) == 0:
		return []row{say(green, "✓ nothing waits for you")}
	}
	var out []row
	var first, last int // the rows of the chosen one
	for i, q := range all {
		if i > 0 {
			out = append(out, row{})
		}
		mark, ink := "  ", normal
		if i == b.at {
			mark, ink, first = "> ", bold, len(out)
		}
		where := string(q.key.run)
		if p := m.project(q.key.project); p != nil && len(m.projects) > 1 {
			where = m.projectName(p.ID) + " " + where
		}
		head := fmt.Sprintf("%s · question %d (%s)", where, q.N, q.Kind)
		if q.Task != "" {
			head += " · " + q.Task
		}
		out = append(out, m.pen.ends(row{{mark, bold}, {head, ink}}, say(dim, coarse(max(0, m.now.Sub(q.Asked)))), width))
		for _, line := range m.pen.fold(q.Text, max(1, width-4)) {
			out = append(out, say(normal, "    "+line))
		}
		for _, line := range append(q.Lines(), q.Context...) {
			out = append(out, m.pen.texts(dim, "    ", line, width)...)
		}
		if about := cmp.Or(q.plan, q.Brief); about != "" {
			out = append(out, m.pen.texts(dim, "    ", "about "+about, width)...)
		}
		if i == b.at {
			last = len(out)
		}
	}
	if last > b.offset+height {
		b.offset = last - height
	}
	if first < b.offset {
		b.offset = first
	}
	b.offset = max(0, min(b.offset, len(out)-height))
	return out[b.offset:]
}
