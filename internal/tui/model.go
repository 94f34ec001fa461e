package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// How often the list of runs is asked for, and how slowly a daemon that is not there
// is looked for at most. Of very many runs the list is asked for less often.
const (
	refresh     = 2 * time.Second
	refreshMany = 10 * time.Second
	manyRuns    = 1000
	retryFirst  = 250 * time.Millisecond
	retryMost   = 2 * time.Second
)

// maxShown is how many runs are watched at once: those that were looked at last.
const maxShown = 8

// The smallest screen that something can be shown on, and from which width the tree
// is beside the text instead of above it.
const (
	minWidth, minHeight = 40, 10
	besideFrom          = 120
)

// Model is the program's state. It is for one goroutine: bubbletea's.
type Model struct {
	src  *source
	pen  pen
	by   string // who answers
	want string // the run to begin at, until it is found

	width, height int
	now           time.Time

	listed   bool   // the runs are known
	lists    int    // how often they were read
	here     string // the project that the program was begun in; empty = none
	projects []project
	load     *pawl.Load
	lost     error // why the daemon cannot be reached; nil = it can
	tries    int   // since it was lost
	shown    map[key]*shown
	uses     int
	blobs    *cache

	tree   tree
	detail detail
	focus  focus
	zoom   bool

	screen  screen
	ask     ask   // the question that is on the screen
	inbox   inbox // all that wait
	todo    pane
	budget  pane
	help    pane
	back    screen // where help leads back to
	input   *input
	confirm *confirm
	menu    *menu

	note string // what was said last
	warn bool   // it is trouble
}

// screen is what fills the screen.
type screen int

const (
	screenMain screen = iota
	screenAsk
	screenInbox
	screenTodo
	screenBudget
	screenHelp
)

// focus is what the keys move in.
type focus int

const (
	onTree focus = iota
	onText
)

func newModel(src *source, p pen, by, want string) *Model {
	m := &Model{src: src, pen: p, by: by, want: want, width: 80, height: 24, shown: map[key]*shown{}, blobs: newCache()}
	m.tree.open = map[key]bool{}
	m.tree.closed = map[loopKey]bool{}
	m.detail.text.follow = true
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return m.src.list() }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.PasteMsg:
		if m.input != nil {
			m.input.insert(msg.Content)
			if m.input.change != nil {
				m.input.change(m, m.input.String())
			}
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tickMsg:
		cmd = m.src.list()
	case listMsg:
		cmd = m.list(msg)
	case watchMsg:
		cmd = m.watched(msg)
	case blobsMsg:
		m.blobs.took(msg)
	case diffMsg:
		m.detail.took(msg)
	case inboxMsg:
		m.inboxed(msg)
	case steeredMsg:
		cmd = m.steered(msg)
	}
	return m, tea.Batch(cmd, m.settle())
}

// settle brings what is drawn in line with what is known, and asks for what is missing.
func (m *Model) settle() tea.Cmd {
	cmds := []tea.Cmd{m.choose()}
	m.layOut()
	cmds = append(cmds, m.fill())
	if want := m.blobs.wanted(); len(want) > 0 {
		cmds = append(cmds, m.src.read(m.reading(), want))
	}
	return tea.Batch(cmds...)
}

// reading is the run whose blobs are shown.
func (m *Model) reading() key {
	if m.screen == screenAsk {
		return m.ask.key
	}
	return m.tree.at.key
}

// list takes what runs there are, or that the daemon is not there.
func (m *Model) list(msg listMsg) tea.Cmd {
	m.now = msg.at
	if msg.err != nil {
		m.lost = msg.err
		m.tries++
		return m.src.after(min(retryMost, retryFirst<<min(m.tries, 4)))
	}
	if m.lost != nil && m.listed {
		m.say("the daemon is back")
	}
	m.lost, m.tries, m.listed = nil, 0, true
	m.lists++
	m.here, m.projects, m.load = msg.here, msg.projects, msg.load
	m.tree.stale = true
	var asking []key
	runs := 0
	for _, p := range m.projects {
		runs += len(p.runs)
		for _, r := range p.runs {
			if r.Questions > 0 {
				asking = append(asking, key{p.ID, r.ID})
			}
		}
	}
	after := refresh
	if runs > manyRuns {
		after = refreshMany
	}
	cmds := []tea.Cmd{m.src.after(after), m.rewatch()}
	if m.screen == screenInbox || m.inbox.stale(m.projects) {
		m.inbox.asked(m.projects)
		cmds = append(cmds, m.src.inbox(asking))
	}
	return tea.Batch(cmds...)
}

// info is a run's line in the list, or nil.
func (m *Model) info(k key) *pawl.RunInfo {
	for i := range m.projects {
		if m.projects[i].ID != k.project {
			continue
		}
		for j := range m.projects[i].runs {
			if m.projects[i].runs[j].ID == k.run {
				return &m.projects[i].runs[j]
			}
		}
	}
	return nil
}

// project is a project by its id, or nil.
func (m *Model) project(id string) *project {
	for i := range m.projects {
		if m.projects[i].ID == id {
			return &m.projects[i]
		}
	}
	return nil
}

// show has a run watched, and lets go of the one that was looked at longest ago.
func (m *Model) show(k key) tea.Cmd {
	m.uses++
	if s := m.shown[k]; s != nil {
		s.used = m.uses
		return nil
	}
	s := newShown(k)
	s.used = m.uses
	m.shown[k] = s
	if len(m.shown) > maxShown {
		var oldest *shown
		for _, x := range m.shown {
			if oldest == nil || x.used < oldest.used {
				oldest = x
			}
		}
		m.hide(oldest.key)
	}
	return m.watch(s)
}

// hide lets go of a run.
func (m *Model) hide(k key) {
	if s := m.shown[k]; s != nil && s.watch != nil {
		s.watch.cancel()
	}
	delete(m.shown, k)
	delete(m.tree.open, k)
	m.tree.stale = true
}

// watch begins to watch a run, or goes on where its watcher stopped.
func (m *Model) watch(s *shown) tea.Cmd {
	full := pawl.Seq(0)
	if info := m.info(s.key); info != nil && info.Seq > recent {
		full = info.Seq - recent
	}
	s.watch, s.err, s.since = m.src.newWatch(s.key), nil, m.lists
	return m.src.follow(s.watch, s.run.Seq, full)
}

// rewatch begins anew where a watcher stopped although there is more to see.
func (m *Model) rewatch() tea.Cmd {
	var cmds []tea.Cmd
	for k, s := range m.shown {
		info := m.info(k)
		if info == nil || s.watch != nil {
			continue
		}
		if s.err != nil && info.Status != pawl.StatusQuarantined || info.Seq > s.run.Seq {
			cmds = append(cmds, m.watch(s))
		}
	}
	return tea.Batch(cmds...)
}

// watched takes what a watcher has seen.
func (m *Model) watched(msg watchMsg) tea.Cmd {
	s := m.shown[msg.w.key]
	if s == nil || s.watch != msg.w {
		return nil // nobody looks any more
	}
	for h, data := range msg.blobs {
		m.blobs.put(h, data)
	}
	for _, e := range msg.events {
		s.apply(e, m.blobs.read)
		if e.Time.After(m.now) {
			m.now = e.Time
		}
	}
	m.blobs.missing = nil // what old lines would say more
	for _, l := range msg.live {
		s.hear(l)
	}
	if info := m.info(s.key); info == nil || s.run.Seq >= info.Seq || msg.done {
		s.read = true
	}
	m.tree.stale = true
	if msg.done {
		s.watch.cancel()
		s.watch, s.err = nil, msg.err
		if away(msg.err) && m.lists > s.since { // else only the run may be out of reach
			m.lost = msg.err
		}
		return nil
	}
	return m.src.next(msg.w)
}

// steered says what became of a command.
func (m *Model) steered(msg steeredMsg) tea.Cmd {
	if m.screen == screenAsk && m.ask.key == msg.key && msg.answer != nil {
		m.ask.sending = false
		m.ask.refused = ""
		if msg.err != nil {
			m.ask.refused = errorText(msg.err)
		}
	}
	if msg.err != nil {
		m.trouble(errorText(msg.err))
	} else {
		m.say(msg.said)
	}
	return m.src.list()
}

// errorText is an error with its hint, in one line.
func errorText(err error) string {
	s := err.Error()
	if e, ok := asError(err); ok && e.Hint != "" {
		s += " · " + e.Hint
	}
	return plain.Line(s, 0)
}

func (m *Model) say(s string)     { m.note, m.warn = s, false }
func (m *Model) trouble(s string) { m.note, m.warn = s, true }

// command steers the chosen run.
func (m *Model) command(k key, st pawl.Steering, said string) tea.Cmd {
	m.say("asking…")
	return m.src.steer(k, st, said)
}

// run is the fold of the chosen run, or nil.
func (m *Model) run() *shown { return m.shown[m.tree.at.key] }

// record is the chosen loop's record, or nil.
func (m *Model) record() *view.Record {
	s := m.run()
	if s == nil || len(s.run.Records.Loops) == 0 {
		return nil
	}
	if m.tree.at.loop == 0 {
		return s.run.Records.Loops[0]
	}
	return s.run.Records.Loop(m.tree.at.loop)
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	lines, cursor := m.draw()
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	if cursor != nil {
		v.Cursor = tea.NewCursor(cursor[0], cursor[1])
		v.Cursor.Blink = false
	}
	return v
}
