package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"pawl"
	"pawl/internal/view"
)

// place is what a line of the tree is about: a project, a run, or a loop of it.
type place struct {
	key
	loop pawl.LoopRef // 0 = the run
}

// loopKey names a loop whose children are not shown.
type loopKey struct {
	key
	loop pawl.LoopRef
}

// tree is the list of runs, with the loops of those that are open.
type tree struct {
	at     place // the chosen line
	open   map[key]bool
	closed map[loopKey]bool
	all    bool // archived and invalidated ones too
	filter string
	stale  bool // the lines have to be made anew
	begun  bool // something has been chosen
	asks   bool // some line waits for a person
	holds  bool // there is a column for what calls under way hold
	loses  bool // and one for what was lost
	nodes  []node
	offset int
	height int
}

// node is a line of the tree.
type node struct {
	place
	depth int
	sign  string // whether there is more below it: open, closed or neither
	glyph string
	word  string
	ink   ink
	name  string
	round string // iteration n of max
	tier  string
	cost  string
	held  string
	lost  string
	since time.Time // from when its time counts
	until time.Time // to when; zero = now
	asks  int       // questions
	home  string    // the name of its project's folder
	note  string    // what else there is to say
}

// state fills a node in with a state, whose word always stands beside its sign.
func (n *node) state(s view.State) {
	n.word, n.glyph, n.ink = s.Word, s.Sign, toneInk(s.Tone)
}

// choose keeps the chosen line one that there is, and has what is open watched.
func (m *Model) choose() tea.Cmd {
	if m.tree.stale {
		m.tree.stale = false
		m.grow()
	}
	t := &m.tree
	if len(t.nodes) == 0 {
		t.at = place{}
		return nil
	}
	if m.want != "" && m.listed {
		m.begin(m.want)
		m.want = ""
	}
	if t.index() < 0 {
		at := place{key: t.at.key}
		if i := slices.IndexFunc(t.nodes, func(n node) bool { return n.place == at }); i >= 0 && at.run != "" {
			t.at = at // its loop is not shown any more, but the run is
		} else {
			t.at = m.liveliest()
		}
	}
	if t.at.run == "" {
		return nil
	}
	cmd := m.show(t.at.key)
	if !t.begun { // the first run is open, so that there is something to see
		t.begun, t.open[t.at.key], t.stale = true, true, true
	}
	if t.stale {
		t.stale = false
		m.grow()
	}
	return cmd
}

// begin chooses the run that the program was begun with. In a repository it is one of
// that repository's, whatever others there are of that name.
func (m *Model) begin(want string) {
	var found []key
	var names []string
	for _, p := range m.projects {
		if m.here != "" && p.ID != m.here {
			continue
		}
		for _, id := range named(p.runs, want) {
			found = append(found, key{p.ID, id})
			names = append(names, m.projectName(p.ID)+" "+string(id))
		}
	}
	switch len(found) {
	case 0:
		where := ""
		if m.here != "" {
			where = " in " + m.projectName(m.here)
		}
		m.trouble("there is no run " + want + where)
	case 1:
		m.tree.at = place{key: found[0]}
		if info := m.info(found[0]); info.Archived && !m.tree.all {
			m.tree.all = true
			m.grow()
		}
	default:
		m.trouble(want + " may be any of " + strings.Join(names, ", "))
	}
}

// projectName is what a project is called: the last folder of its root, with as many before
// it as tell it from the others.
func (m *Model) projectName(id string) string {
	p := m.project(id)
	if p == nil {
		return id
	}
	rest, name := filepath.Split(filepath.Clean(p.Root))
	for rest != "" && rest != string(filepath.Separator) && slices.ContainsFunc(m.projects, func(o project) bool {
		return o.ID != id && strings.HasSuffix(filepath.Clean(o.Root), string(filepath.Separator)+name)
	}) {
		var folder string
		rest, folder = filepath.Split(filepath.Clean(rest))
		name = filepath.Join(folder, name)
	}
	return name
}

// liveliest is the run that something happened in last, of the project that the program was
// begun in, if any. One that has no runs is chosen itself.
func (m *Model) liveliest() place {
	var best *pawl.RunInfo
	at := m.tree.nodes[0].place
	for _, p := range m.projects {
		if m.here != "" && p.ID != m.here {
			continue
		}
		if p.ID == m.here {
			at = place{key: key{project: p.ID}}
		}
		for i := range p.runs {
			if r := &p.runs[i]; !r.Archived && (best == nil || r.Updated.After(best.Updated)) {
				best, at = r, place{key: key{p.ID, r.ID}}
			}
		}
	}
	if slices.ContainsFunc(m.tree.nodes, func(n node) bool { return n.place == at }) {
		return at
	}
	return m.tree.nodes[0].place // a filter leaves others, or there is one project, whose line is not shown
}

// index is the chosen line's place in the list, -1 when it is not there.
func (t *tree) index() int {
	return slices.IndexFunc(t.nodes, func(n node) bool { return n.place == t.at })
}

// grow makes the lines.
func (m *Model) grow() {
	t := &m.tree
	t.nodes = t.nodes[:0]
	for _, p := range m.projects {
		depth := 0
		if len(m.projects) > 1 {
			n := node{place: place{key: key{project: p.ID}}, name: m.projectName(p.ID), sign: "▾"}
			n.word, n.ink, n.glyph = "project", bold, " "
			if p.Holder > 0 {
				n.name += fmt.Sprintf(" (process %d has it: read only)", p.Holder)
			}
			if p.err != nil {
				n.name += " (" + errorText(p.err) + ")"
			}
			t.nodes = append(t.nodes, n)
			depth = 1
		}
		for i := len(p.runs) - 1; i >= 0; i-- { // the newest first
			if r := &p.runs[i]; !r.Archived || t.all {
				m.growRun(&p, r, depth)
			}
		}
	}
	if t.filter != "" {
		t.sift()
	}
	one := func(is func(node) bool) bool { return slices.ContainsFunc(t.nodes, is) }
	t.asks = one(func(n node) bool { return n.asks > 0 })
	t.loses = one(func(n node) bool { return n.lost != "" })
	// Between two calls nothing is held: the column stays as long as anything runs.
	t.holds = one(func(n node) bool { return n.held != "" }) || t.holds && one(func(n node) bool { return n.word == string(pawl.StatusRunning) })
}

// money fills in what there is of the three figures.
func (n *node) money(m pawl.Money) {
	for _, f := range []struct {
		cell *string
		m    pawl.Micros
	}{{&n.cost, m.Spent}, {&n.held, m.Held}, {&n.lost, m.Lost}} {
		if f.m > 0 {
			*f.cell = f.m.String()
		}
	}
}

// words are what a filter looks in.
func (n *node) words() string {
	return strings.Join([]string{n.word, n.name, n.note, string(n.run), n.home}, " ")
}

// sift leaves the lines that the filter fits, and those they hang from.
func (t *tree) sift() {
	want := strings.ToLower(t.filter)
	keep := make([]bool, len(t.nodes))
	depth := -1 // of what is still to be kept above a line that fits
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		fits := strings.Contains(strings.ToLower(n.words()), want) && n.run != ""
		if fits || n.depth < depth {
			keep[i] = true
			depth = n.depth
		}
	}
	var out []node
	for i, n := range t.nodes {
		if keep[i] {
			out = append(out, n)
		}
	}
	t.nodes = out
}

func (m *Model) growRun(p *project, r *pawl.RunInfo, depth int) {
	k := key{p.ID, r.ID}
	n := node{place: place{key: k}, home: m.projectName(p.ID), depth: depth, sign: "▸", name: string(r.ID), tier: r.Tier, asks: r.Questions, since: r.Started}
	if r.Title != "" {
		n.name = number(r.ID) + " " + r.Title
	}
	n.round = view.Iterations(r.Iteration, r.Max)
	if r.Tasks > 0 {
		n.note = fmt.Sprintf("%d of %d tasks", r.Passed, r.Tasks)
	}
	n.money(r.Figures())
	if r.Status == pawl.StatusEnded || r.Outcome != "" {
		n.until = r.Updated
	}
	n.state(view.StateOfRun(*r))
	n.note = strings.TrimPrefix(n.note+view.LeftOpen(*r), ", ")
	s := m.shown[k]
	waiting := r.Waiting
	if s != nil && s.run.Waiting() != nil {
		waiting = s.run.Waiting()
	}
	switch {
	case waiting == nil:
	case waiting.Pool == pawl.PoolStore:
		n.note = strings.TrimPrefix(n.note+", waits for its log", ", ")
	case waiting.Pool == pawl.PoolDisk:
		n.note = strings.TrimPrefix(n.note+", waits for disk space", ", ")
	case waiting.Pool == pawl.PoolModel:
		n.note = strings.TrimPrefix(n.note+", waits for its model", ", ")
	case waiting.Until.IsZero():
		n.note = strings.TrimPrefix(n.note+", waits for a place", ", ")
	default:
		n.note = strings.TrimPrefix(n.note+", waits until "+view.ClockFrom(waiting.Until, waiting.Since.Add(waiting.For))+" for "+waiting.Account, ", ")
	}
	open := m.tree.open[k] && s != nil
	if open {
		n.sign = "▾"
	}
	m.tree.nodes = append(m.tree.nodes, n)
	if !open {
		return
	}
	rows, _ := view.LoopTree(s.run, view.TreeOptions{All: m.tree.all, Now: m.now})
	closed := -1 // the depth of a loop that is closed, whose loops are passed over
	for i := range rows {
		row := &rows[i]
		if closed >= 0 && row.Depth > closed {
			continue
		}
		closed = -1
		n := m.growLoop(s, row, depth+1)
		if i+1 < len(rows) && rows[i+1].Depth > row.Depth {
			n.sign = "▾"
			if m.tree.closed[loopKey{k, row.Ref}] {
				n.sign, closed = "▸", row.Depth
			}
		}
		m.tree.nodes = append(m.tree.nodes, n)
	}
}

// growLoop is the line of a loop.
func (m *Model) growLoop(s *shown, row *view.LoopRow, depth int) node {
	n := node{place: place{s.key, row.Ref}, depth: depth + row.Depth, name: row.LoopType, note: row.Note, tier: row.Tier, asks: len(row.Questions),
		since: m.now.Add(-row.Time), until: m.now}
	if row.Label != row.LoopType {
		n.name += " " + row.Label
	}
	if row.Generation > 1 {
		n.name += fmt.Sprintf(" (generation %d)", row.Generation)
	}
	n.round = view.Iterations(0, 0)
	if it := newest(s.loop(row.Ref)); it != nil {
		n.round = view.Iterations(it.N, row.MaxIterations)
	}
	if !s.run.Settings.NoCost {
		n.money(row.Money)
	}
	n.state(view.StateOf(row.Status))
	return n
}

// named are the runs of a project that may be meant by an id, the beginning of one, or a number.
func named(runs []pawl.RunInfo, want string) (found []pawl.RunID) {
	for _, r := range runs {
		switch {
		case string(r.ID) == want:
			return []pawl.RunID{r.ID}
		case r.ID.IsCalled(want):
			found = append(found, r.ID)
		}
	}
	return found
}

// number is the number of a run's task, with which of its runs it is.
func number(id pawl.RunID) string {
	task, n := id.Task()
	num, _, _ := strings.Cut(task, "-")
	if n > 1 {
		return fmt.Sprintf("%s-r%d", num, n)
	}
	return num
}

// coarse is how long something has been active, for people: coarse, so that little is redrawn.
func coarse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "<1m"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 10*time.Hour:
		return fmt.Sprintf("%dh%02d", int(d.Hours()), int(d.Minutes())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// move chooses another line.
func (t *tree) move(by int) {
	if len(t.nodes) == 0 {
		return
	}
	t.at = t.nodes[min(max(0, t.index()+by), len(t.nodes)-1)].place
}

// treeKey handles a key for the tree; it reports whether it was one.
func (m *Model) treeKey(k string) bool {
	t := &m.tree
	page := max(1, t.height-1)
	switch k {
	case "up", "k":
		t.move(-1)
	case "down", "j":
		t.move(1)
	case "pgup", "ctrl+b":
		t.move(-page)
	case "pgdown", "ctrl+f":
		t.move(page)
	case "home", "g":
		t.move(-len(t.nodes))
	case "end", "G":
		t.move(len(t.nodes))
	case "right", "l":
		m.unfold(true)
	case "left", "h":
		if !m.unfold(false) {
			t.up()
		}
	case "enter":
		if !m.unfold(true) && !m.unfold(false) {
			m.focus = onText
		}
	case "x":
		t.all = !t.all
		m.say(map[bool]string{true: "archived and invalidated ones are shown too", false: "archived and invalidated ones are left out"}[t.all])
	default:
		return false
	}
	t.stale = true
	return true
}

// unfold opens or closes what is chosen; it reports whether that changed something.
func (m *Model) unfold(open bool) bool {
	t := &m.tree
	i := t.index()
	if i < 0 || t.at.run == "" || t.nodes[i].sign == "" {
		return false
	}
	if t.at.loop == 0 {
		if t.open[t.at.key] == open {
			return false
		}
		t.open[t.at.key] = open
		return true
	}
	k := loopKey{t.at.key, t.at.loop}
	if t.closed[k] == !open {
		return false
	}
	t.closed[k] = !open
	return true
}

// up chooses the line that the chosen one hangs from.
func (t *tree) up() {
	i := t.index()
	for j := i - 1; j >= 0; j-- {
		if t.nodes[j].depth < t.nodes[i].depth {
			t.at = t.nodes[j].place
			return
		}
	}
}

// The widths of the columns of the tree, and from which width of it they are shown.
const (
	wordWidth  = 12
	roundWidth = 6
	tierWidth  = 7
	costWidth  = 8
	ageWidth   = 6
	asksWidth  = 4
	tierFrom   = 70
	costFrom   = 52
	moreFrom   = 78 // for one of held and lost; both need a column more
	roomyTree  = 88 // from where loops are set in more
)

// draw shows the lines of the tree that fit.
func (m *Model) drawTree(width, height int) []row {
	t := &m.tree
	head := height > 4
	if head {
		height--
	}
	t.height = height
	at := max(0, t.index())
	if at < t.offset {
		t.offset = at
	}
	if at >= t.offset+height {
		t.offset = at - height + 1
	}
	t.offset = max(0, min(t.offset, len(t.nodes)-height))
	var out []row
	if head {
		left, right := "    STATUS        RUN OR LOOP", t.columns(width, node{round: "ITER", tier: "TIER", cost: "COST", held: "HELD", lost: "LOST"}, "TIME")
		if t.filter != "" {
			left += " /" + t.filter
		}
		if t.asks {
			right += pad("ASK", asksWidth)
		}
		out = append(out, m.pen.ends(say(dim, left), say(dim, right), width))
	}
	for i := t.offset; i < len(t.nodes) && i < t.offset+height; i++ {
		out = append(out, m.drawNode(&t.nodes[i], i == at, width))
	}
	return out
}

// columns are the right-hand columns, those that there is room for. What is lost stays lost, so
// it comes before what is held for a moment.
func (t *tree) columns(width int, n node, age string) string {
	s := pad(n.round, roundWidth)
	if width >= tierFrom {
		s += pad(n.tier, tierWidth)
	}
	if width >= costFrom {
		s += pad(n.cost, costWidth)
	}
	loses := t.loses && width >= moreFrom
	if loses {
		width -= costWidth
	}
	if t.holds && width >= moreFrom {
		s += pad(n.held, costWidth)
	}
	if loses {
		s += pad(n.lost, costWidth)
	}
	return s + pad(age, ageWidth)
}

// pad puts a short clean text at the right of a column.
func pad(s string, width int) string {
	if ansi.StringWidth(s) >= width {
		s = ansi.Truncate(s, width-1, "")
	}
	return strings.Repeat(" ", width-ansi.StringWidth(s)) + s
}

func (m *Model) drawNode(n *node, at bool, width int) row {
	mark := "  "
	if at {
		mark = "> "
	}
	if n.run == "" {
		return row{{mark, normal}, {n.name, bold}}
	}
	sign := n.sign
	if sign == "" {
		sign = " "
	}
	step := 1
	if width >= roomyTree {
		step = 2
	}
	left := row{{mark, normal}, {n.glyph + " " + n.word + strings.Repeat(" ", max(1, wordWidth-len(n.word))), n.ink},
		{strings.Repeat(" ", step*min(n.depth, 12)) + sign + " ", dim}, {n.name, normal}}
	end := n.until
	if end.IsZero() {
		end = m.now
	}
	cells := *n
	cells.round, cells.tier = m.pen.clean(n.round), m.pen.clean(n.tier)
	right := row{{m.tree.columns(width, cells, coarse(max(0, end.Sub(n.since)))), dim}}
	if m.tree.asks {
		asks := ""
		if n.asks > 0 {
			asks = fmt.Sprintf("?%d", n.asks)
		}
		right = append(right, span{pad(asks, asksWidth), yellow})
	}
	const least = 10 // columns that a note is worth beginning in
	note := "  " + n.note
	if room := width - m.pen.widest(left) - m.pen.widest(right) - 1; n.note != "" && (room >= least || m.pen.width(note) <= room) {
		left = append(left, span{note, map[bool]ink{true: yellow, false: dim}[n.asks > 0]})
	}
	r := m.pen.ends(left, right, width)
	switch {
	case at && m.pen.color && m.focus == onTree:
		return say(chosen, r.text())
	case at:
		for i := range r {
			if r[i].ink == normal {
				r[i].ink = bold
			}
		}
	}
	return r
}
