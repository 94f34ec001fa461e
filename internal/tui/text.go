package tui

import (
	"fmt"
	"strings"
)

// maxPane is how many lines of one text are kept to scroll in. Of a longer one the
// end is kept, or of one that is read from its beginning the beginning.
const maxPane = 5000

// pane is a text with a place in it, and a search.
type pane struct {
	rows   []row
	offset int  // the first row shown
	follow bool // the end is shown when the text grows
	search string
	hits   []int // rows that have what is searched for
	hit    int   // the present one
	height int   // as it was shown last
}

// set replaces the text.
func (p *pane) set(rows []row, height int) {
	p.rows, p.height = rows, height
	p.find()
	if p.follow {
		p.offset = len(rows)
	}
	p.scroll(0)
}

// top shows another text from its beginning, or its end.
func (p *pane) top(follow bool) { p.offset, p.follow, p.hit = 0, follow, 0 }

// scroll moves by rows. Whoever is at the end follows it.
func (p *pane) scroll(by int) {
	last := max(0, len(p.rows)-p.height)
	p.offset = min(max(0, p.offset+by), last)
}

// keys moves by a key.
func (p *pane) keys(key string) {
	page := max(1, p.height-1)
	switch key {
	case "up", "k":
		p.follow = false
		p.scroll(-1)
	case "down", "j":
		p.scroll(1)
	case "pgup", "ctrl+b":
		p.follow = false
		p.scroll(-page)
	case "pgdown", "ctrl+f", "space":
		p.scroll(page)
	case "home", "g":
		p.follow = false
		p.scroll(-len(p.rows))
	case "end", "G":
		p.scroll(len(p.rows))
	case "n":
		p.next(1)
	case "N":
		p.next(-1)
	}
}

// look searches from what is shown on.
func (p *pane) look(search string) {
	p.search, p.hit = search, 0
	p.find()
	for i, at := range p.hits {
		if at >= p.offset {
			p.hit = i
			break
		}
	}
	p.next(0)
}

func (p *pane) find() {
	p.hits = nil
	if p.search == "" {
		return
	}
	want := strings.ToLower(p.search)
	for i, r := range p.rows {
		if strings.Contains(strings.ToLower(r.text()), want) {
			p.hits = append(p.hits, i)
		}
	}
	p.hit = min(p.hit, max(0, len(p.hits)-1))
}

// next shows another hit.
func (p *pane) next(by int) {
	if len(p.hits) == 0 {
		return
	}
	p.follow = false
	p.hit = (p.hit + by + len(p.hits)) % len(p.hits)
	if at := p.hits[p.hit]; at < p.offset || at >= p.offset+p.height {
		p.offset = max(0, at-p.height/2)
	}
	p.scroll(0)
}

// shown are the rows in view. While something is searched for, hits are marked.
func (p *pane) shown() []row {
	end := min(len(p.rows), p.offset+p.height)
	out := append([]row{}, p.rows[min(p.offset, end):end]...)
	if p.search == "" {
		return out
	}
	is := map[int]string{}
	for i, at := range p.hits {
		is[at] = "* "
		if i == p.hit {
			is[at] = "> "
		}
	}
	for i := range out {
		mark := is[p.offset+i]
		if mark == "" {
			out[i] = append(row{{"  ", normal}}, out[i]...)
		} else {
			out[i] = row{{mark, match}, {out[i].text(), match}}
		}
	}
	return out
}

// where says what part is shown, and how a search does.
func (p *pane) where() string {
	var parts []string
	if p.search != "" {
		n := 0
		if len(p.hits) > 0 {
			n = p.hit + 1
		}
		parts = append(parts, fmt.Sprintf("/%s %d of %d", p.search, n, len(p.hits)))
	}
	if len(p.rows) > p.height && !(p.follow && p.offset+p.height >= len(p.rows)) {
		parts = append(parts, fmt.Sprintf("%d-%d/%d", p.offset+1, min(len(p.rows), p.offset+p.height), len(p.rows)))
	}
	return strings.Join(parts, "  ")
}

// text is what a row says.
func (r row) text() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.text)
	}
	return b.String()
}
