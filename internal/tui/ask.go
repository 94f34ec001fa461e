package tui

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/view"
)

// maxWords is how many bytes an answer's text may have.
const maxWords = 1000

// The choices of a plan's approval.
const (
	approve = "approve"
	reject  = "reject"
	iterate = "iterate"
)

// ask is the question on the screen. What it is about is kept as it was shown: the
// answer names that, whatever the question becomes meanwhile.
type ask struct {
	key
	n       int
	about   pawl.Hash
	at      int // the choice that is pointed at
	text    pane
	refused string // why the last answer was not taken
	sending bool
	from    screen // where esc leads back to
}

func asError(err error) (*pawl.Error, bool) { return errors.AsType[*pawl.Error](err) }

// asks opens a question on the screen.
func (m *Model) asks(k key, n int) tea.Cmd {
	m.ask = ask{key: k, n: n, from: m.screen}
	m.screen = screenAsk
	for _, node := range m.tree.nodes {
		if node.key == k && m.tree.at.key != k {
			m.tree.at = node.place
			break
		}
	}
	return m.show(k)
}

// question is the question on the screen, or nil while its run is being read.
func (m *Model) question() (*shown, *view.Question) {
	s := m.shown[m.ask.key]
	if s == nil {
		return nil, nil
	}
	q := s.run.Question(m.ask.n)
	if q != nil && m.ask.about.IsZero() {
		m.ask.about = q.About // as it is shown from now on
	}
	return s, q
}

// waits is the oldest open question of the chosen loop, or of those below it; of a
// run, of any of its loops.
func (m *Model) waits() (key, int) {
	s := m.run()
	if s == nil {
		return key{}, 0
	}
	for _, q := range s.run.OpenQuestions() {
		for l := q.Loop; l != nil; l = s.loop(l.Parent) {
			if m.tree.at.loop == 0 || l.Ref == m.tree.at.loop {
				return s.key, q.N
			}
		}
	}
	return key{}, 0
}

// plan is the plan that a question is about, or nil when it is about something else.
func (m *Model) plan(q *view.Question) *artifact.Plan {
	if q.Kind != pawl.AskPlan {
		return nil
	}
	text, ok := m.blob(q.About)
	if !ok {
		return nil
	}
	a, err := artifact.Read(artifact.KindPlan, []byte(text))
	if err != nil {
		return nil
	}
	p, _ := a.(*artifact.Plan)
	return p
}

// askRows are the question with what it is about.
func (m *Model) askRows(width int) []row {
	s, q := m.question()
	switch {
	case s == nil || q == nil && !s.read:
		return []row{say(dim, "reading…")}
	case q == nil:
		return []row{say(red, fmt.Sprintf("run %s has no question %d", m.ask.run, m.ask.n))}
	}
	if p := m.plan(q); p != nil {
		return m.planRows(s, q, p, width)
	}
	out := []row{say(bold, fmt.Sprintf("QUESTION %d (%s)", q.N, q.Kind))}
	out = append(out, m.fact("Run", string(s.key.run), width)...)
	if q.Loop != nil {
		out = append(out, m.fact("Loop ID", q.Loop.ID, width)...)
		if q.Loop.Task != "" {
			out = append(out, m.fact("Task", q.Loop.Task, width)...)
		}
	}
	out = append(out, row{})
	out = append(out, m.pen.texts(normal, "", q.Text, width)...)
	for _, line := range s.run.Context(q, m.blobs.read) {
		out = append(out, m.pen.texts(dim, "  · ", line, width)...)
	}
	gist := s.run.Gist(q, m.blobs.read)
	if len(gist.Findings) > 0 {
		if text, ok := m.blob(q.About); !ok {
			out = append(out, say(dim, text))
		}
		return append(append(out, row{}), m.findingRows(gist.Findings, width)...)
	}
	for _, line := range gist.Lines() {
		out = append(out, m.pen.texts(normal, "  ", line, width)...)
	}
	if !q.About.IsZero() && len(gist.Asks) == 0 {
		out = append(out, row{})
		out = append(out, m.section("It is about "+q.About.Short(), q.About, width)...)
	}
	return out
}

// planRows are the screen that a plan is approved on. R-50
func (m *Model) planRows(s *shown, q *view.Question, p *artifact.Plan, width int) []row {
	out := []row{say(yellow, view.PlanHeading(q.Approval())), {}}
	out = append(out, m.fact("Plan", p.Title, width)...)
	if q.Loop != nil {
		out = append(out, m.fact("Loop ID", q.Loop.ID, width)...)
		out = append(out, m.fact("Iterations", itoa(len(q.Loop.Iterations)), width)...)
	}
	out = append(out, m.fact("Run", string(s.key.run), width)...)
	out = append(out, m.fact("Hash", q.About.Short(), width)...)
	out = append(out, row{}, say(bold, "Overview"))
	out = append(out, m.pen.texts(normal, "  ", p.Overview, width)...)
	out = append(out, row{}, say(bold, "Phases"))
	phases := p.Phases
	if len(phases) == 0 { // the specs in their order are the phases
		for _, x := range p.Specs {
			phases = append(phases, x.Title)
		}
	}
	for i, x := range phases {
		out = append(out, m.pen.texts(normal, "  ", fmt.Sprintf("%d. %s", i+1, x), width)...)
	}
	out = append(out, row{}, say(bold, fmt.Sprintf("Specs to Create (%d)", len(p.Specs))))
	for _, x := range p.Specs {
		lines := m.pen.fold(x.Name+": "+x.Description, max(1, width-4))
		for i, line := range lines {
			if name, rest, ok := strings.Cut(line, ": "); i == 0 && ok {
				out = append(out, row{{"  - ", dim}, {name, bold}, {": " + rest, normal}})
				continue
			}
			out = append(out, say(normal, "    "+line))
		}
		if len(x.Dependencies) > 0 {
			out = append(out, m.pen.texts(dim, "    ", "builds upon "+strings.Join(x.Dependencies, ", "), width)...)
		}
	}
	for _, list := range []struct {
		head string
		of   []string
	}{{"Success Criteria", p.SuccessCriteria}, {"Non-goals", p.NonGoals}, {"Risks", p.Risks}} {
		if len(list.of) == 0 {
			continue
		}
		out = append(out, row{}, say(bold, list.head))
		for _, x := range list.of {
			out = append(out, m.pen.texts(normal, "  - ", x, width)...)
		}
	}
	return out
}

// fact is a named word of a question.
func (m *Model) fact(name, value string, width int) []row {
	const wide = 12
	lines := m.pen.fold(value, max(1, width-wide))
	return []row{{{name + ":" + strings.Repeat(" ", max(1, wide-1-len(name))), dim}, {lines[0], bold}}}
}

// askFoot is what is known of the question beside its text, and how to answer.
func (m *Model) askFoot(width int) []row {
	_, q := m.question()
	if q == nil {
		return nil
	}
	var out []row
	switch {
	case q.Answered != nil:
		text := "Answered already: " + answered(q.Answered)
		if m.ask.refused == "" && q.Answered.By == m.by {
			text = "Answered: " + answered(q.Answered)
		}
		return append(out, m.pen.texts(green, "", text, width)...)
	case q.Withdrawn != nil:
		return append(out, m.pen.texts(yellow, "", "Not asked any more: "+q.Withdrawn.Reason, width)...)
	}
	if m.ask.refused != "" {
		out = append(out, m.pen.texts(red, "", m.ask.refused, width)...)
	}
	switch {
	case m.ask.sending:
		return append(out, say(dim, "sending…"))
	case m.plan(q) != nil:
		return append(out, row{{"[A]", bold}, {" Approve   ", normal}, {"[R]", bold}, {" Reject   ", normal}, {"[I]", bold}, {" Iterate with feedback", normal}})
	}
	for i, c := range q.Choices {
		mark, ink := "  ", normal
		if i == m.ask.at {
			mark, ink = "> ", bold
		}
		out = append(out, row{{mark, bold}, {fmt.Sprintf("%d ", i+1), dim}, {c, ink}})
		if i < len(q.Means) && q.Means[i] != "" {
			out = append(out, m.pen.texts(dim, "      ", q.Means[i], width)...)
		}
	}
	return out
}

// askKey handles a key for the question on the screen.
func (m *Model) askKey(k string) tea.Cmd {
	_, q := m.question()
	if k == "esc" || k == "q" || k == "backspace" {
		m.screen = m.ask.from
		return nil
	}
	if k == "/" {
		m.searchIn(&m.ask.text)
		return nil
	}
	if q == nil || !q.Open() || m.ask.sending {
		m.ask.text.keys(k)
		return nil
	}
	if m.plan(q) != nil {
		return m.planKey(q, k)
	}
	if !m.seen(q) && (k == "enter" || len(k) == 1 && k[0] >= '1' && k[0] <= '9') {
		m.trouble("what the question is about is not on the screen: nobody agrees to what they have not seen")
		return nil
	}
	switch k {
	case "up", "k":
		m.ask.at = max(0, m.ask.at-1)
	case "down", "j":
		m.ask.at = min(len(q.Choices)-1, m.ask.at+1)
	case "enter":
		return m.choice(q, m.ask.at)
	default:
		if len(k) == 1 && k[0] >= '1' && k[0] <= '9' && int(k[0]-'1') < len(q.Choices) {
			m.ask.at = int(k[0] - '1')
			return m.choice(q, m.ask.at)
		}
		m.ask.text.keys(k)
	}
	return nil
}

// seen reports whether what a question is about is on the screen.
func (m *Model) seen(q *view.Question) bool {
	_, ok := m.blob(q.About)
	return ok || q.About.IsZero()
}

// choice asks what else is to be said with a choice, and sends both.
func (m *Model) choice(q *view.Question, i int) tea.Cmd {
	if i < 0 || i >= len(q.Choices) {
		return nil
	}
	in := &input{label: "Answer: " + q.Choices[i], note: "what else you want to say; may be empty", max: maxWords, lines: true}
	if q.Kind == pawl.AskClarify && i == 0 {
		in.note, in.must = "what only you know", "say it in words"
	}
	in.done = func(m *Model, text string) tea.Cmd { return m.reply(q.Choices[i], text) }
	m.input = in
	return nil
}

// planKey handles a key for a plan that awaits approval.
func (m *Model) planKey(q *view.Question, k string) tea.Cmd {
	has := func(choice string) string {
		for _, c := range q.Choices {
			if c == choice || choice == iterate && c == "revise" { // Loom's word
				return c
			}
		}
		return ""
	}
	switch k { // capitals, so that a key that opened the question does not decide it
	case "A":
		return m.reply(has(approve), "")
	case "R":
		m.input = &input{label: "Reject the plan", note: "why; may be empty", max: maxWords, lines: true,
			done: func(m *Model, text string) tea.Cmd { return m.reply(has(reject), text) }}
	case "I":
		m.input = &input{label: "Iterate with feedback", note: "what the next plan is to do better", max: maxWords, lines: true, must: "say what is to be better",
			done: func(m *Model, text string) tea.Cmd { return m.reply(has(iterate), text) }}
	default:
		m.ask.text.keys(k)
	}
	return nil
}

// reply sends the answer to the question on the screen. It is for what was shown.
func (m *Model) reply(choice, text string) tea.Cmd {
	if choice == "" {
		m.trouble("the question has no such answer")
		return nil
	}
	m.ask.sending, m.ask.refused = true, ""
	r := &pawl.Reply{Question: m.ask.n, Choice: choice, Text: text, By: m.by, About: m.ask.about}
	return m.command(m.ask.key, pawl.Steering{Verb: pawl.SteerAnswer, Answer: r}, fmt.Sprintf("question %d is answered: %s", r.Question, r.Choice))
}
