package tui

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pawl"
	"pawl/internal/view"
)

// confirm asks before something is done that is not taken back easily.
type confirm struct {
	text string
	yes  func(*Model) tea.Cmd
}

// menu offers a few things by a key each.
type menu struct {
	title string
	items []item
}

type item struct {
	key, label string
	do         func(*Model) tea.Cmd
}

// key handles a key.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case m.input != nil:
		return m.typed(k)
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.confirm != nil:
		c := m.confirm
		m.confirm = nil
		if name == "y" || name == "Y" {
			return c.yes(m)
		}
		m.say("nothing is done")
		return nil
	case m.menu != nil:
		return m.menuKey(name)
	case name == "?" && m.screen != screenHelp:
		m.back, m.screen = m.screen, screenHelp
		m.help.top(false)
		return nil
	}
	m.note = ""
	switch m.screen {
	case screenAsk:
		return m.askKey(name)
	case screenMain:
		return m.mainKey(name)
	}
	switch name { // of the lists
	case "esc", "q", "backspace":
		if m.screen == screenHelp {
			m.screen = m.back
		} else {
			m.screen = screenMain
		}
		return nil
	}
	return m.listKey(name)
}

// listKey handles a key for what fills the screen besides the tree.
func (m *Model) listKey(name string) tea.Cmd {
	switch m.screen {
	case screenInbox:
		return m.inboxKey(name)
	case screenTodo:
		m.paneKey(&m.todo, name)
	case screenBudget:
		m.paneKey(&m.budget, name)
	case screenHelp:
		m.paneKey(&m.help, name)
	}
	return nil
}

// paneKey handles a key for a text.
func (m *Model) paneKey(p *pane, name string) {
	if name == "/" {
		m.searchIn(p)
		return
	}
	p.keys(name)
}

// searchIn asks what to search for in a text.
func (m *Model) searchIn(p *pane) {
	m.input = &input{label: "Search", max: 100, change: func(_ *Model, s string) { p.look(s) },
		done: func(_ *Model, s string) tea.Cmd { p.look(s); return nil }}
}

// mainKey handles a key for the tree and the text about what is chosen there.
func (m *Model) mainKey(name string) tea.Cmd {
	d := &m.detail
	switch name {
	case "q":
		return tea.Quit
	case "tab", "shift+tab":
		m.focus = onTree + onText - m.focus
	case "z":
		m.zoom = !m.zoom
	case "1", "2", "3", "4", "5", "6", "7":
		d.turn(tab(name[0] - '1'))
	case "[":
		d.turn(d.tab + tabs - 1)
	case "]":
		d.turn((d.tab + 1) % tabs)
	case "f":
		d.text.follow = !d.text.follow
		d.made = made{}
	case "v":
		d.most = !d.most
	case "i":
		m.screen = screenInbox
		m.inbox.asked(m.projects)
		return m.src.inbox(m.asking())
	case "t":
		m.screen = screenTodo
		m.todo.top(false)
	case "b":
		m.screen = screenBudget
		m.budget.top(false)
	case "/":
		m.slash()
	case "esc":
		m.leave()
	case "a":
		if k, n := m.waits(); n > 0 {
			return m.asks(k, n)
		}
		m.say("nothing in it waits for you")
	default:
		if cmd, ok := m.steerKey(name); ok {
			return cmd
		}
		m.moveKey(name)
	}
	return nil
}

// moveKey moves in the tree or in the text.
func (m *Model) moveKey(name string) {
	d := &m.detail
	if m.focus == onTree {
		if !m.treeKey(name) && (name == "n" || name == "N") {
			d.text.keys(name)
		}
		return
	}
	switch name {
	case "left", "h":
		d.turn(d.tab + tabs - 1)
	case "right", "l":
		d.turn((d.tab + 1) % tabs)
	default:
		d.text.keys(name)
		if name == "end" || name == "G" {
			d.text.follow = d.tab.follows()
		}
	}
}

// leave takes back, one after the other: a search, a filter, the zoom, the focus.
func (m *Model) leave() {
	switch {
	case m.detail.text.search != "":
		m.detail.text.look("")
	case m.tree.filter != "":
		m.tree.filter, m.tree.stale = "", true
	case m.zoom:
		m.zoom = false
	default:
		m.focus = onTree
	}
}

// slash filters the tree, or searches in the text.
func (m *Model) slash() {
	if m.focus == onText {
		m.searchIn(&m.detail.text)
		return
	}
	filter := []rune(m.tree.filter)
	m.input = &input{label: "Filter", max: 100, text: filter, at: len(filter),
		change: func(m *Model, s string) { m.tree.filter, m.tree.stale = s, true }, done: func(*Model, string) tea.Cmd { return nil }}
}

// asking are the runs that have open questions.
func (m *Model) asking() []key {
	var out []key
	for _, p := range m.projects {
		for _, r := range p.runs {
			if r.Questions > 0 {
				out = append(out, key{p.ID, r.ID})
			}
		}
	}
	return out
}

func (m *Model) menuKey(name string) tea.Cmd {
	for _, it := range m.menu.items {
		if it.key == name {
			m.menu = nil
			return it.do(m)
		}
	}
	if name == "esc" || name == "q" {
		m.menu = nil
	}
	return nil
}

// steerKey handles a key that commands the chosen run or loop.
func (m *Model) steerKey(name string) (tea.Cmd, bool) {
	at := m.tree.at
	switch name {
	case "p", "r", "c", "s", "R", "X", "o":
	default:
		return nil, false
	}
	if at.run == "" {
		m.say("choose a run first")
		return nil, true
	}
	rec := m.record()
	loop := at.loop != 0 && rec != nil && rec.Parent != 0 // one below the root: signals are for it
	switch name {
	case "p":
		if loop {
			return m.signal(rec.ID, pawl.SignalPause, ""), true
		}
		return m.command(at.key, pawl.Steering{Verb: pawl.SteerPause, Reason: "asked for by " + m.by}, "run "+string(at.run)+" pauses"), true
	case "r":
		if loop {
			return m.signal(rec.ID, pawl.SignalResume, ""), true
		}
		return m.command(at.key, pawl.Steering{Verb: pawl.SteerResume}, "run "+string(at.run)+" continues"), true
	case "c":
		m.confirmCancel(at, rec, loop)
	case "s":
		m.signalMenu(rec)
	case "R":
		m.rollbackMenu(at.key)
	case "X":
		m.confirmArchive(at, rec, loop)
	case "o":
		m.overrule(at.key)
	}
	return nil, true
}

// overrule asks why the halt of the review that ended a run is overruled. Whoever types that is a person
// at a terminal. D-62
func (m *Model) overrule(k key) {
	s := m.run()
	if s == nil || !s.read {
		m.say("the run is not read yet")
		return
	}
	h := s.run.Halt("")
	if h == nil {
		m.say("no review has halted the run")
		return
	}
	gate := h.Gate.Gate
	m.input = &input{label: "Overrule the halt of " + gate, note: "why; it is part of the log. It said: " + h.Reason, max: maxWords, lines: true, must: "say why",
		done: func(m *Model, text string) tea.Cmd {
			return m.command(k, pawl.Steering{Verb: pawl.SteerOverride, Gate: gate, Reason: text, By: m.by, Terminal: true},
				"the halt of "+gate+" is overruled: run "+string(k.run)+" judges it once more")
		}}
}

func (m *Model) confirmCancel(at place, rec *view.Record, loop bool) {
	if loop {
		m.confirm = &confirm{"Stop loop " + rec.ID + "? It ends as cancelled; its branch stays.",
			func(m *Model) tea.Cmd { return m.signal(rec.ID, pawl.SignalStop, "") }}
		return
	}
	m.confirm = &confirm{"Cancel run " + string(at.run) + "? It ends as its recipe says; its branch stays.", func(m *Model) tea.Cmd {
		return m.command(at.key, pawl.Steering{Verb: pawl.SteerCancel, Reason: "asked for by " + m.by}, "run "+string(at.run)+" is being cancelled")
	}}
}

func (m *Model) confirmArchive(at place, rec *view.Record, loop bool) {
	st, what := pawl.Steering{Verb: pawl.SteerArchive, By: m.by}, "run "+string(at.run)
	if loop {
		st.Loop, what = rec.ID, "loop "+rec.ID
	}
	m.confirm = &confirm{"Archive " + what + "? Lists leave it out; nothing is removed.",
		func(m *Model) tea.Cmd { return m.command(at.key, st, what+" is archived") }}
}

// signal tells loops of the chosen run something.
func (m *Model) signal(to string, kind pawl.SignalKind, text string) tea.Cmd {
	st := pawl.Steering{Verb: pawl.SteerSignal, By: m.by, Signal: &pawl.Signaling{Signal: kind, To: to, Text: text}}
	said := fmt.Sprintf("%s is told: %s", to, kind)
	if hear := m.hears(to); kind == pawl.SignalInfo && hear != "" { // as it is now; the log says how it was
		said = "sent: " + hear
	}
	return m.command(m.tree.at.key, st, said)
}

// hears says when the coding agent of a loop receives an info; empty = it is in the next prompt. Of
// several loops the log says it.
func (m *Model) hears(to string) string {
	s := m.run()
	if s == nil {
		return ""
	}
	for _, rec := range s.run.Records.Loops {
		if rec.ID == to {
			return s.run.Hears(rec.Ref)
		}
	}
	return ""
}

// signalMenu offers the signals to the chosen loop, and to those below it.
func (m *Model) signalMenu(rec *view.Record) {
	if rec == nil {
		m.say("the run's loops are not read yet")
		return
	}
	to := func(key, label string, kind pawl.SignalKind, selector string) item {
		return item{key, label, func(m *Model) tea.Cmd {
			switch kind {
			case pawl.SignalStop:
				m.confirm = &confirm{"Stop " + selector + "? What is stopped ends as cancelled; branches stay.",
					func(m *Model) tea.Cmd { return m.signal(selector, kind, "") }}
				return nil
			case pawl.SignalInfo:
				m.input = &input{label: "Tell " + selector, note: cmp.Or(m.hears(selector), "it is in the next prompt"), max: maxWords, lines: true, must: "say something",
					done: func(m *Model, text string) tea.Cmd { return m.signal(selector, kind, text) }}
				return nil
			}
			return m.signal(selector, kind, "")
		}}
	}
	below := "descendants:" + rec.ID
	m.menu = &menu{title: "Signal " + rec.LoopType + " " + rec.Name() + " · capital letters: all loops below it", items: []item{
		to("s", "stop", pawl.SignalStop, rec.ID), to("p", "pause", pawl.SignalPause, rec.ID), to("r", "resume", pawl.SignalResume, rec.ID),
		to("b", "rebase", pawl.SignalRebase, rec.ID), to("i", "info", pawl.SignalInfo, rec.ID),
		to("S", "stop", pawl.SignalStop, below), to("P", "pause", pawl.SignalPause, below), to("R", "resume", pawl.SignalResume, below),
		to("B", "rebase", pawl.SignalRebase, below), to("I", "info", pawl.SignalInfo, below),
	}}
}

// rollbackMenu offers the last checkpoints to go back to.
func (m *Model) rollbackMenu(k key) {
	s := m.run()
	if s == nil || !s.read {
		m.say("the run is not read yet")
		return
	}
	list := view.Checkpoints(s.run)
	if len(list.Checkpoints) == 0 {
		m.say("the run has no checkpoint to go back to")
		return
	}
	mn := &menu{title: "Roll back to a checkpoint"}
	const offered = 9
	from := max(0, len(list.Checkpoints)-offered)
	for i, c := range list.Checkpoints[from:] {
		label := fmt.Sprintf("%d %s, %d approved", c.N, pawl.CheckpointAfter(c.Label), c.Approved)
		if c.LastGood {
			label += " (last good)"
		}
		mn.items = append(mn.items, item{itoa(i + 1), label, func(m *Model) tea.Cmd {
			m.confirm = &confirm{fmt.Sprintf("Roll run %s back to checkpoint %d? What came later is done again; nothing is removed.", k.run, c.N), func(m *Model) tea.Cmd {
				return m.command(k, pawl.Steering{Verb: pawl.SteerRollback, Checkpoint: c.N, By: m.by}, fmt.Sprintf("run %s goes back to checkpoint %d", k.run, c.N))
			}}
			return nil
		}})
	}
	m.menu = mn
}

// hint is a key and what it does.
type hint struct{ key, does string }

// hints are the keys of what is on the screen, the most useful first.
func (m *Model) hints() []hint {
	all := hint{"?", "all keys"}
	switch {
	case m.confirm != nil:
		return []hint{{"y", "yes"}, {"any other key", "no"}}
	case m.menu != nil:
		return []hint{{"esc", "leave"}}
	}
	switch m.screen {
	case screenAsk:
		if _, q := m.question(); q != nil && q.Open() {
			if m.plan(q) != nil {
				return []hint{{"A", "approve"}, {"R", "reject"}, {"I", "iterate"}, {"pgdn pgup", "scroll"}, {"esc", "back"}, all}
			}
			return []hint{{"1-9", "answer"}, {"↑↓ enter", "choose"}, {"pgdn pgup", "scroll"}, {"esc", "back"}, all}
		}
		return []hint{{"↑↓", "scroll"}, {"esc", "back"}, all}
	case screenInbox:
		return []hint{{"enter", "look and answer"}, {"↑↓", "move"}, {"/", "filter"}, {"esc", "back"}, all}
	case screenTodo, screenBudget:
		return []hint{{"↑↓", "scroll"}, {"/", "search"}, {"n N", "next"}, {"esc", "back"}, all}
	case screenHelp:
		return []hint{{"↑↓", "scroll"}, {"/", "search"}, {"esc", "back"}}
	}
	if m.focus == onText {
		return []hint{{"↑↓", "scroll"}, {"←→", "tabs"}, {"f", "follow"}, {"/", "search"}, {"n N", "next"}, {"tab", "tree"}, all, {"z", "zoom"}, {"q", "quit"}}
	}
	return []hint{{"↑↓", "move"}, {"enter", "open"}, {"a", "answer"}, {"i", "inbox"}, {"t", "todo"}, {"b", "budget"}, all, {"tab", "text"}, {"q", "quit"}, {"/", "filter"}, {"p r c s", "pause resume cancel signal"}, {"z", "zoom"}}
}

// helps are all keys, by what they are for.
var helps = []struct {
	head string
	keys []hint
}{
	{"Moving", []hint{{"↑ ↓ k j", "one line up or down"}, {"pgup pgdn", "a page up or down"}, {"g G", "the first or last line"}, {"← → h l", "close or open a run or loop; in the text: another tab"},
		{"enter", "open or close; on a loop without children: its text"}, {"tab", "switch between tree and text"}, {"z", "tree or text on the whole screen"}}},
	{"What is shown", []hint{{"1 … 7", "log, diff, prompt, gates, attempts, decisions, turns"}, {"[ ]", "the previous or next tab"}, {"f", "follow the end of the log or the turns, or stop following"}, {"v", "the log with or without details, turns with whole or short texts"},
		{"x", "show or hide archived and invalidated loops"}, {"/", "filter the tree or the inbox; search in a text"}, {"n N", "the next or previous match"}, {"esc", "leave a search, a filter, a screen"}}},
	{"Screens", []hint{{"i", "inbox: what waits for you in all runs"}, {"t", "todo: the tasks of the run"}, {"b", "budget: how much of the limits is used"}, {"?", "this page"}, {"q", "quit; runs continue"}, {"ctrl+z", "suspend; fg comes back"}}},
	{"Deciding", []hint{{"a", "answer the question of the run or loop"}, {"A R I", "a plan: approve, reject, iterate with feedback"}, {"1 … 9", "other questions: answer with this choice"}}},
	{"Steering", []hint{{"p r", "pause or resume the run; a loop below the root by a signal"}, {"c", "cancel the run, or stop the loop (asks first)"}, {"s", "signal the loop, or all loops below it"},
		{"R", "roll back to a checkpoint (asks first)"}, {"o", "overrule the reviewer that halted the run (asks why)"}, {"X", "archive (asks first)"}}},
	{"Writing", []hint{{"enter", "send"}, {"ctrl+j", "a new line"}, {"esc", "leave without sending"}, {"ctrl+a ctrl+e", "to the start or end"}, {"ctrl+w ctrl+u", "delete a word, or everything before the cursor"}}},
	{"Signs", []hint{{"● running", "active"}, {"○ pending", "waits for its turn"}, {"‖ paused", "paused or waiting"}, {"↻ rebasing", "takes over what a sibling merged"}, {"✓ complete", "its own work passed"},
		{"✗ failed", "failed permanently"}, {"⊘ invalidated", "its parent started over"}, {"?2", "two questions wait for you"}}},
}

func helpRows(p pen) []row {
	var out []row
	for i, h := range helps {
		if i > 0 {
			out = append(out, row{})
		}
		out = append(out, say(bold, h.head))
		for _, k := range h.keys {
			key := p.clean(k.key)
			out = append(out, row{{"  " + key + strings.Repeat(" ", max(1, 16-p.width(key))), cyan}, {k.does, normal}})
		}
	}
	return out
}
