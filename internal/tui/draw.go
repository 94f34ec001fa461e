package tui

import (
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/view"
)

// layOut gives each part of the screen its text and its size.
func (m *Model) layOut() {
	width, height := m.bodySize()
	switch m.screen {
	case screenAsk:
		foot := len(m.askFoot(width))
		m.ask.text.set(m.askRows(width-2), max(1, height-foot-1))
	case screenTodo:
		m.todo.set(m.todoRows(width), height)
	case screenBudget:
		m.budget.set(m.budgetRows(width), height)
	case screenHelp:
		m.help.set(helpRows(m.pen), height)
	}
}

// bodySize is what is left between the first and the last line, and above what is
// asked or written.
func (m *Model) bodySize() (width, height int) {
	return m.width, max(1, m.height-2-m.boxHeight())
}

// boxHeight is how many lines are taken for what is asked or written.
func (m *Model) boxHeight() int {
	switch {
	case m.input != nil:
		const least = 3
		rows := len(m.pen.fold(m.input.String()+" ", max(1, m.width-4))) + 2
		return min(max(least, rows), max(least, m.height/3)) + 1
	case m.confirm != nil:
		return 2
	case m.menu != nil:
		return min(len(m.menuRows(m.width))+1, m.height-3)
	}
	return 0
}

// beside reports whether the tree is beside the text, not above it.
func (m *Model) beside() bool { return m.width >= besideFrom }

// treeSize is the room of the tree, textSize that of the text with no line about it.
func (m *Model) treeSize() (width, height int) {
	width, height = m.bodySize()
	switch {
	case m.zoom && m.focus == onTree:
	case m.beside():
		width = width * 9 / 20
	default:
		height = max(2, min(height/2, len(m.tree.nodes)+1))
	}
	return width, height
}

func (m *Model) textSize() (width, height int) {
	width, height = m.bodySize()
	switch {
	case m.zoom:
	case m.beside():
		w, _ := m.treeSize()
		width -= w + 1
	default:
		_, h := m.treeSize()
		height -= h
	}
	return max(1, width), max(1, height-1)
}

// draw is the screen as lines, and where the cursor is, if there is one.
func (m *Model) draw() (lines []string, cursor *[2]int) {
	p := m.pen
	if m.width < minWidth || m.height < minHeight {
		text := fmt.Sprintf("pawl needs %d×%d, this is %d×%d", minWidth, minHeight, m.width, m.height)
		var rows []row
		for _, l := range p.fold(text, max(1, m.width)) {
			rows = append(rows, say(normal, l))
		}
		return p.lines(rows, max(0, m.width), max(0, m.height)), nil
	}
	width, height := m.bodySize()
	lines = append(lines, p.line(m.header(), width))
	lines = append(lines, m.body(width, height)...)
	if n := m.boxHeight(); n > 0 {
		lines = append(lines, p.line(say(dim, strings.Repeat("─", width)), width))
		rows := []row{}
		switch {
		case m.input != nil:
			var x, y int
			rows, x, y = m.input.box(p, width, n-1)
			cursor = &[2]int{min(x, width-1), len(lines) + y}
		case m.confirm != nil:
			rows = []row{say(yellow, m.confirm.text)}
		case m.menu != nil:
			rows = m.menuRows(width)
		}
		lines = append(lines, p.lines(rows, width, n-1)...)
	}
	return append(lines, p.line(m.footer(width), width)), cursor
}

// body is the screen between the first and the last line.
func (m *Model) body(width, height int) []string {
	p := m.pen
	switch m.screen {
	case screenAsk:
		return m.askBody(width, height)
	case screenInbox:
		return p.lines(m.inboxRows(width, height), width, height)
	case screenTodo:
		return p.lines(m.todo.shown(), width, height)
	case screenBudget:
		return p.lines(m.budget.shown(), width, height)
	case screenHelp:
		return p.lines(m.help.shown(), width, height)
	}
	if len(m.tree.nodes) == 0 {
		return p.lines(m.empty(width), width, height)
	}
	return m.mainBody(width, height)
}

// empty is what is said when there is nothing to show.
func (m *Model) empty(width int) []row {
	switch {
	case m.lost != nil && !m.listed:
		out := append([]row{{}}, m.pen.texts(red, "  ", "The runs cannot be read: "+errorText(m.lost), width)...)
		return append(out, row{}, say(dim, "  It is tried again. pawl doctor says more."))
	case !m.listed:
		return []row{{}, say(dim, "  reading…")}
	case m.tree.filter != "":
		return []row{{}, say(dim, "  no run or open loop has “"+m.tree.filter+"”: esc shows all")}
	}
	return []row{{}, say(bold, "  No runs yet."), {}, {{"  pawl run ", cyan}, {"\"what is to be done\"", cyan}, {"   begins one", normal}},
		{{"  pawl demo", cyan}, {"                       shows one, offline", normal}}}
}

func (m *Model) mainBody(width, height int) []string {
	p := m.pen
	textWidth, textHeight := m.textSize()
	text := append([]string{p.line(m.tabLine(textWidth), textWidth)}, p.lines(m.detail.text.shown(), textWidth, textHeight)...)
	treeWidth, treeHeight := m.treeSize()
	switch {
	case m.zoom && m.focus == onText:
		return text
	case m.zoom:
		return p.lines(m.drawTree(width, height), width, height)
	case !m.beside():
		return append(p.lines(m.drawTree(treeWidth, treeHeight), treeWidth, treeHeight), text...)[:height]
	}
	tree := p.lines(m.drawTree(treeWidth, height), treeWidth, height)
	bar := p.line(say(dim, "│"), 1)
	out := make([]string, height)
	for i := range out {
		out[i] = tree[i] + bar + text[i]
	}
	return out
}

// tabLine names what is chosen and the tabs, with the one that is shown.
func (m *Model) tabLine(width int) row {
	var right row
	for i, name := range tabNames {
		if tab(i) == m.detail.tab {
			right = append(right, span{fmt.Sprintf(" [%d %s]", i+1, name), bold})
		} else {
			right = append(right, span{fmt.Sprintf(" %d %s", i+1, name), dim})
		}
	}
	name := string(m.tree.at.run)
	if rec := m.record(); rec != nil && m.tree.at.loop != 0 {
		name = rec.LoopType
		if rec.Task != "" {
			name += " " + rec.Name()
		}
		if width > 100 {
			name += " · " + rec.ID
		}
	}
	where := m.detail.text.where()
	if m.detail.tab.follows() && !m.detail.text.follow {
		where = strings.TrimSpace(where + "  stays")
	}
	if where != "" {
		where = "  " + where
	}
	head := "── "
	if m.focus == onText {
		head = "─> "
	}
	left := row{{head, dim}, {name, map[bool]ink{true: bold}[m.focus == onText]}, {where, dim}}
	least := 16 // columns for the run
	if where != "" {
		least = 24 // the search and the place are worth more than names
	}
	if room := width - m.pen.widest(right) - 1; room < least {
		right = row{{fmt.Sprintf(" [%d %s] 1-%d", m.detail.tab+1, tabNames[m.detail.tab], tabs), bold}}
	}
	return m.pen.ends(left, right, width)
}

func (m *Model) askBody(width, height int) []string {
	p := m.pen
	foot := m.askFoot(width)
	rows := p.lines(m.ask.text.shown(), width, max(1, height-len(foot)-1))
	rule := p.ends(say(dim, "──"), say(dim, m.ask.text.where()), width)
	rows = append(rows, p.line(rule, width))
	return append(rows, p.lines(foot, width, height-len(rows))...)
}

func (m *Model) menuRows(width int) []row {
	out := []row{say(bold, m.menu.title)}
	line := row{}
	for _, it := range m.menu.items {
		next := row{{"  [" + it.key + "]", bold}, {" " + it.label, normal}}
		if m.pen.widest(line)+m.pen.widest(next) > width {
			out = append(out, line)
			line = row{}
		}
		line = append(line, next...)
	}
	return append(out, line)
}

// header is the first line: what there is, and whether the daemon is.
func (m *Model) header() row {
	runs, work, asks := 0, 0, 0
	var cost pawl.Money
	for _, p := range m.projects {
		runs += len(p.runs)
		for _, r := range p.runs {
			asks += r.Questions
			cost.Add(r.Figures())
			if r.Status == pawl.StatusRunning {
				work++
			}
		}
	}
	left := row{{"pawl", bold}}
	switch m.screen {
	case screenAsk:
		left = append(left, span{" · question", normal})
	case screenInbox:
		left = append(left, span{" · inbox", normal})
	case screenTodo:
		left = append(left, span{" · todo", normal})
	case screenBudget:
		left = append(left, span{" · budget", normal})
	case screenHelp:
		left = append(left, span{" · keys", normal})
	}
	if m.listed {
		left = append(left, span{fmt.Sprintf("  %s, %d active · %s", plural(runs, "run"), work, cost.Spent.String()+view.Beside(pawl.Micros.String, cost.Held, cost.Lost)), dim})
	}
	if asks > 0 {
		left = append(left, span{fmt.Sprintf(" · %s for you", plural(asks, "question")), yellow})
	}
	var right row
	switch {
	case pawl.CodeOf(m.lost) == pawl.CodeStopped && m.listed:
		right = say(red, m.pen.cut("the daemon was stopped; pawl serve --background starts another", m.width*2/3))
	case m.lost != nil && m.listed:
		what := "no daemon"
		if m.tries > 0 {
			what += fmt.Sprintf(", try %d", m.tries)
		}
		right = say(red, fmt.Sprintf("%s: %s", what, m.pen.cut(m.pen.clean(errorText(m.lost)), max(10, m.width/3))))
	case m.note != "" && m.warn:
		right = say(red, m.pen.cut(m.pen.clean(m.note), m.width*2/3))
	case m.note != "":
		right = say(green, m.pen.cut(m.pen.clean(m.note), m.width*2/3))
	}
	return m.pen.ends(left, right, m.width)
}

// footer is the last line: the keys there are.
func (m *Model) footer(width int) row {
	if m.input != nil {
		return row{}
	}
	var out row
	all := m.hints()
	left := width
	for i, h := range all {
		text := h.key + " " + h.does
		if n := m.pen.width(text) + 2; n <= left {
			left -= n
		} else if i < len(all)-1 {
			continue // what is shorter may still fit
		} else {
			break
		}
		out = append(out, span{h.key, bold}, span{" " + h.does + "  ", dim})
	}
	return out
}
