package view

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pawl"
	"pawl/internal/plain"
)

// ProgressOptions say where and how a [Progress] writes. The zero value of all
// but Out works.
type ProgressOptions struct {
	Out io.Writer
	// Live keeps a few lines about the present moment below the log, redrawn in
	// place. Out must be a terminal that moves its cursor.
	Live bool
	// Color colours what passes and what fails.
	Color bool
	// Width is asked for the terminal's width at every drawing; nil, or zero
	// columns, means 80.
	Width func() int
	// Height is the same for its rows; nil, or zero rows, means 24. The live area is
	// always less than that.
	Height func() int
	// Least leaves out the lines of events below it.
	Least Level
	// Clock puts the time of day, UTC, before each line.
	Clock bool
	// Blobs gives tool calls their arguments; nil leaves them out.
	Blobs Blobs
	// Transcript shows what was said and done in sessions, entry by entry; nil shows a line for
	// each.
	Transcript *TranscriptOptions
	// Documents returns what a recipe's documents show at an event, in safe lines below its own; nil shows nothing
	// of them. On a terminal that redraws lines they are left out where they leave no room for others.
	Documents func(e pawl.Event, r *Run) string
}

// Terminal says what a terminal can do by its environment: nothing live on one
// that is dumb or is none, no colour where NO_COLOR is set.
func Terminal(isTerminal bool, getenv func(string) string) (live, color bool) {
	term := getenv("TERM")
	live = isTerminal && term != "" && term != "dumb"
	return live, live && getenv("NO_COLOR") == ""
}

// Progress writes a run's log as it happens. It folds the updates it is given,
// has no goroutine and no clock of its own, and is for one goroutine.
type Progress struct {
	o    ProgressOptions
	run  *Run
	now  time.Time
	said pawl.Live   // what the newest speaker said last
	live []string    // the lines below the log, as they are drawn, without colour
	todo []TodoState // of the tasks of plan, as they were shown last
	plan *Plan
}

// NewProgress begins at a run that was folded so far, or at [New].
func NewProgress(r *Run, o ProgressOptions) *Progress {
	p := &Progress{o: o, run: r, now: r.Updated}
	p.changedTodos()
	return p
}

// Run returns the run as far as the progress has seen it.
func (p *Progress) Run() *Run { return p.run }

// Write shows one update: a line for an event, a redrawn live area for both.
func (p *Progress) Write(u pawl.Update) error {
	var out []byte
	switch {
	case u.Event != nil:
		e := *u.Event
		p.run.Apply(e)
		if e.Time.After(p.now) {
			p.now = e.Time
		}
		out = append(p.event(e), p.documents(e)...)
		for _, t := range p.changedTodos() {
			if !p.o.Live { // which shows the list itself
				out = append(out, p.row(e, todoColor(t), t.String())...)
			}
		}
	case u.Live != nil && u.Live.Waiting != nil:
		w := u.Live.Waiting
		if text := p.run.Hear(w); text != "" && (!p.o.Live || w.Pool == pawl.PoolStore) { // which shows it as long as it lasts
			if p.o.Clock {
				text = Clock(w.Since.Add(w.For)) + "  " + text
			}
			out = []byte(p.color(yellow, text) + "\n")
		}
	case u.Live != nil && p.o.Live:
		p.hear(*u.Live)
	default:
		return nil
	}
	return p.draw(out)
}

// Tick lets time pass in the live area.
func (p *Progress) Tick(now time.Time) error {
	if now.After(p.now) {
		p.now = now
	}
	return p.draw(nil)
}

// Note writes a line of the caller's own among the log. Anything that goes to
// the same terminal on another way would tear the live area.
func (p *Progress) Note(text string) error {
	return p.draw([]byte(plain.Line(text, 0) + "\n"))
}

// Close takes the live area away. What was written stays.
func (p *Progress) Close() error {
	if len(p.live) == 0 {
		return nil
	}
	_, err := p.o.Out.Write(p.erase(nil))
	p.live = nil
	return err
}

// heard is how much of live text is kept: enough for one line of any terminal.
const heard = 2000

// hear keeps the end of what the newest speaker says.
func (p *Progress) hear(l pawl.Live) {
	if l.Effect != p.said.Effect {
		p.said = pawl.Live{Effect: l.Effect, Place: l.Place}
	}
	p.said.Text += l.Text
	if n := len(p.said.Text) - heard; n > 0 {
		p.said.Text = p.said.Text[n:]
	}
}

// The room that a terminal must have besides the lines of a document.
const (
	leastColumns = 64 // a report's frame
	leastRows    = 8  // the live area and what came before
)

// documents returns what the recipe's documents show at an event, where there is room.
func (p *Progress) documents(e pawl.Event) []byte {
	if p.o.Documents == nil {
		return nil
	}
	text := p.o.Documents(e, p.run)
	if p.o.Live && (p.width() < leastColumns || p.height() < strings.Count(text, "\n")+leastRows) {
		return nil
	}
	return []byte(text)
}

// event returns what is written of an event.
func (p *Progress) event(e pawl.Event) []byte {
	if p.o.Transcript != nil {
		if entry, ok := EntryOf(e, p.run, p.o.Blobs); ok {
			return p.entry(e, &entry)
		}
		if b, ok := e.Body.(*pawl.EffectRequested); ok && b.Effect.Do.Verb() == pawl.VerbCallTool && p.o.Least > Detail {
			return nil // the reply has told the call
		}
	}
	if p.run.Look(e).Level < p.o.Least {
		return nil
	}
	return p.logLine(e)
}

// entry returns an entry of a conversation as rows.
func (p *Progress) entry(e pawl.Event, entry *TranscriptEntry) []byte {
	var out []byte
	for _, row := range entry.Rows(*p.o.Transcript) {
		if row.Head {
			out = append(out, p.row(e, row.Tone.color(), row.Text)...)
			continue
		}
		out = append(out, p.color(row.Tone.color(), row.Text)+"\n"...)
	}
	return out
}

// logLine returns an event's line with its newline.
func (p *Progress) logLine(e pawl.Event) []byte {
	out := p.row(e, p.run.Look(e).Tone.color(), Line(e, p.run, p.o.Blobs))
	if _, ok := e.Body.(*pawl.PlanAccepted); ok && e.Loop == 1 {
		for _, row := range p.tasks() {
			out = append(append(out, row...), '\n')
		}
	}
	return out
}

// row returns a line of the log about an event, with its newline.
func (p *Progress) row(e pawl.Event, color int, text string) []byte {
	if p.o.Clock {
		text = Clock(e.Time) + "  " + text
	}
	return append([]byte(p.color(color, text)), '\n')
}

// changedTodos returns those whose state is another one than when it was asked last.
// A list that is new as a whole has none: it is shown as a whole.
func (p *Progress) changedTodos() []Todo {
	l := p.run.root()
	plan := l.Plan()
	if plan == nil || !p.run.inBatches(l) {
		return nil
	}
	var changed []int
	now := make([]TodoState, len(plan.Tasks))
	for i, t := range plan.Tasks {
		if now[i] = l.todoState(t); i < len(p.todo) && p.todo[i] != now[i] {
			changed = append(changed, i)
		}
	}
	known := p.plan == plan
	p.todo, p.plan = now, plan
	if !known || len(changed) == 0 {
		return nil
	}
	var out []Todo
	all := Todos(p.run).Todos
	for _, i := range changed {
		out = append(out, all[i])
	}
	return out
}

// tableRows is how many tasks a table among the log shows.
const tableRows = 30

// tasks returns the list of what is to do, or the table, of the plan that has just
// been accepted.
func (p *Progress) tasks() []string {
	width := 0
	if p.o.Live {
		width = p.width() - 1
	}
	if p.run.inBatches(p.run.root()) {
		return p.todos(width)
	}
	list := Tasks(p.run, p.now)
	return p.run.taskTable(&list, width, tableRows)
}

// todoRows is how many todos are shown when a plan is accepted.
const todoRows = 200

// todos returns the whole list of what is to do, no wider than width where that is not zero.
func (p *Progress) todos(width int) []string {
	list := Todos(p.run)
	var out []string
	for i, t := range list.Todos {
		if i == todoRows {
			out = append(out, fmt.Sprintf("and %s: pawl tasks %s", count(len(list.Todos)-i, "other"), list.Run))
			break
		}
		out = append(out, t.String())
	}
	if width > 0 {
		for i := range out {
			out[i] = ansi.Truncate(out[i], width, "…")
		}
	}
	return out
}

// draw writes log lines and the live area below them in one go. When nothing
// has changed it writes nothing.
func (p *Progress) draw(log []byte) error {
	if !p.o.Live {
		if len(log) == 0 {
			return nil
		}
		_, err := p.o.Out.Write(log)
		return err
	}
	lines := p.status()
	if len(log) == 0 && slices.Equal(plainOf(lines), p.live) {
		return nil
	}
	out := append(p.erase(nil), log...)
	for i, l := range lines {
		if i > 0 {
			out = append(out, '\n')
		}
		for _, s := range l {
			out = append(out, p.color(s.color, s.text)...)
		}
	}
	p.live = plainOf(lines)
	_, err := p.o.Out.Write(out)
	return err
}

// erase takes the drawn live area away: up to its first row, then clear to the
// end. Rows are counted at the present width, since a terminal that has become
// narrower has wrapped the lines.
func (p *Progress) erase(out []byte) []byte {
	if len(p.live) == 0 {
		return out
	}
	rows := 0
	for _, l := range p.live {
		rows += max(1, (ansi.StringWidth(l)+p.width()-1)/p.width())
	}
	if rows > 1 {
		out = fmt.Appendf(out, "\x1b[%dA", rows-1)
	}
	return append(out, "\r\x1b[J"...)
}

func (p *Progress) width() int {
	if p.o.Width != nil {
		if w := p.o.Width(); w > 0 {
			return w
		}
	}
	return 80
}

func (p *Progress) height() int {
	if p.o.Height != nil {
		if h := p.o.Height(); h > 0 {
			return h
		}
	}
	return 24
}

// segment is a piece of a live line; color is its SGR number, 0 = none.
type segment struct {
	text  string
	color int
}

// The colours.
const (
	dim    = 2
	redInk = 31
	green  = 32
	yellow = 33
	cyan   = 36
)

// color returns the colour of lines of this tone.
func (t Tone) color() int {
	return [...]int{TonePlain: 0, ToneQuiet: dim, ToneGood: green, ToneWarning: yellow, ToneBad: redInk, ToneActive: cyan}[t]
}

func (p *Progress) color(c int, text string) string {
	if !p.o.Color {
		return text
	}
	return inked(c, text)
}

// Paint returns a text in this colour, for a terminal that has colours.
func (t Tone) Paint(text string) string { return inked(t.color(), text) }

// inked returns a text in a colour.
func inked(c int, text string) string {
	if c == 0 || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}

// status returns the live area: where the run is, and what it does there. Each line
// is one column narrower than the terminal, so that none wraps.
func (p *Progress) status() [][]segment {
	switch p.run.Status {
	case pawl.StatusRunning, pawl.StatusStopping, pawl.StatusPaused:
	default:
		return nil
	}
	width := p.width() - 1
	out := [][]segment{fit(p.where(), width)}
	if open := p.run.OpenQuestions(); len(open) > 0 {
		out = append(out, fit([]segment{{"  " + line("waits for you: %s", p.run.howToAnswer(&open[0].QuestionAsked)), yellow}}, width))
	}
	if w := p.run.Waiting(); w != nil {
		w.For = max(w.For, p.now.Sub(w.Since).Round(time.Second))
		out = append(out, fit([]segment{{"  " + WaitingText(w), yellow}}, width))
	}
	for _, doing := range p.doings() {
		out = append(out, fit(doing, width))
	}
	for _, t := range p.todoLines(p.height() - 1 - len(out)) {
		out = append(out, fit(t, width))
	}
	return out
}

// maxTodos is how many rows of the live area show what is to do.
const maxTodos = 9

// todoLines shows what is to do in at most so many rows, of a run whose plan is
// worked on in batches.
func (p *Progress) todoLines(rows int) [][]segment {
	if !p.run.inBatches(p.run.root()) {
		return nil
	}
	list := Todos(p.run)
	shown, left := list.window(min(rows, maxTodos))
	var out [][]segment
	for _, t := range shown {
		row := []segment{{"  " + t.String(), todoColor(t)}}
		if t.Note != "" {
			row = append(row, segment{" · " + t.Note, yellow})
		}
		out = append(out, row)
	}
	if len(shown) > 0 && len(left) > 0 {
		out = append(out, []segment{{fmt.Sprintf("  and %s: %s", count(len(left), "other"), countStates(left)), dim}})
	}
	return out
}

// todoColor returns the colour of a todo.
func todoColor(t Todo) int {
	switch t.State {
	case TodoCompleted:
		return green
	case TodoInProgress:
		return yellow
	}
	return dim
}

// maxDoings is for how many loops side by side the live area has a line.
const maxDoings = 6

// doings returns a line for each loop that works on a task; else one for the run.
func (p *Progress) doings() [][]segment {
	r := p.run
	newest := map[pawl.LoopRef]pending{}
	var order []pawl.LoopRef
	for _, f := range r.open {
		if l := r.loop(f.Loop); l == nil || l.Task == "" {
			continue
		}
		if _, known := newest[f.Loop]; !known {
			order = append(order, f.Loop)
		}
		newest[f.Loop] = f
	}
	slices.Sort(order)
	if len(order) == 0 && len(r.open) == 0 && len(r.OpenQuestions()) > 0 {
		return nil // it waits, as the line before says
	}
	if len(order) == 0 {
		return [][]segment{p.doing()}
	}
	var out [][]segment
	for i, ref := range order {
		if i == maxDoings {
			return append(out, []segment{{fmt.Sprintf("  and %s active", count(len(order)-i, "other")), dim}})
		}
		l := r.loop(ref)
		head := line("%s", r.lead(l)) + " "
		if it := l.last(); it != nil {
			head += fmt.Sprintf("%s %s · ", of(it.N, it.Max), r.TierOf(l, it.Tier))
		}
		out = append(out, append([]segment{{"  " + head, dim}}, p.effect(newest[ref])...))
	}
	return out
}

// where returns the run, its iteration, its tier, the time and the money.
func (p *Progress) where() []segment {
	r := p.run
	parts := []string{plain.Line(string(r.ID), 0)}
	if l := r.root(); l != nil {
		if it := l.last(); it != nil && !(it.Max == 1 && len(l.Batches) > 0) {
			parts = append(parts, "iteration "+of(it.N, it.Max))
		}
		if n := r.Recipe.Kind(l.Kind).WorkTier(l.Tier); n > 0 && len(l.Batches) == 0 { // its tasks have their own
			parts = append(parts, r.tier(n))
		}
		if plan := l.Plan(); plan != nil {
			parts = append(parts, fmt.Sprintf("tasks %d/%d", plan.Count(pawl.TaskPassed), len(plan.Tasks)))
		}
		if r.Tree() && len(r.Loops) > 1 {
			parts = append(parts, r.atWork())
		}
		if n := len(l.Batches); n > 0 {
			parts = append(parts, fmt.Sprintf("batch %d", l.Batches[n-1].N))
		}
		if h := l.health(); h != nil {
			parts = append(parts, plain.Line(string(r.healthNow(h)), 20))
		}
		if back := l.goingBack(); back != nil {
			parts = append(parts, fmt.Sprintf("going back to %s", l.checkpointName(back.To)))
		}
	}
	if r.Status != pawl.StatusRunning {
		parts = append(parts, string(r.Status))
	}
	parts = append(parts, pawl.Span(r.AliveAt(p.now).Truncate(time.Second)))
	if !r.Settings.NoCost {
		m := r.Money()
		money, of := m.Spent.String(), "/"
		if more := Beside(pawl.Micros.String, m.Held, m.Lost); more != "" {
			money, of = money+more, " of "
		}
		if r.Limits.Money > 0 {
			money += of + r.Limits.Money.String()
		}
		parts = append(parts, money)
	}
	return []segment{{strings.Join(parts, " · "), 0}}
}

// doing returns the gates when they judge, else the newest effect under way with
// what is heard of it.
func (p *Progress) doing() []segment {
	r := p.run
	if gates := p.gates(); gates != nil {
		return gates
	}
	if len(r.open) == 0 {
		return []segment{{"  …", dim}}
	}
	out := p.effect(r.open[len(r.open)-1])
	out[0].text = "  " + out[0].text
	return out
}

// effect returns what is under way with what is heard of it.
func (p *Progress) effect(f pending) []segment {
	text := effectName(f.Effect)
	if do, ok := f.Do.(*pawl.CallTool); ok {
		text = line("%s: %s", f.Place.String(), toolCall(do.Tool, p.o.Blobs.bytes(do.Args)))
	}
	if do, ok := f.Do.(*pawl.Wait); ok {
		left := f.at.Add(do.For).Sub(p.now).Truncate(time.Second)
		text = line("waiting %s more%s%s", pawl.Span(max(0, left)), accountText(do), because(do.Reason))
	}
	out := []segment{{text, 0}}
	if said := plain.Line(lastLine(p.said.Text), 0); said != "" && p.said.Effect == f.ID {
		out = append(out, segment{"  " + said, dim})
	}
	return out
}

// lastLine returns the last line of a text that says something.
func lastLine(s string) string {
	s = strings.TrimRight(s, " \r\n\t")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// gates shows the command gates with ticks while one of them judges; nil when none does.
func (p *Progress) gates() []segment {
	r := p.run
	running := map[string]bool{}
	onBase, on := false, pawl.Tree("")
	for _, f := range r.open {
		if do, ok := f.Do.(*pawl.RunGate); ok {
			running[do.Gate], onBase, on = true, do.OnBase, do.On
		}
	}
	if len(running) == 0 {
		return nil
	}
	if on != "" {
		return p.furtherGates(running, on)
	}
	judged := r.Base
	lead := "  gates on the base:"
	if l := r.root(); !onBase && l != nil && l.last() != nil {
		judged, lead = l.last().Gates, "  gates:"
	}
	out := []segment{{lead, 0}}
	for _, spec := range r.Settings.Gates {
		name := " " + plain.Line(spec.Name, 24) + " "
		tick := segment{"·", dim}
		if running[spec.Name] {
			tick = segment{"…", yellow}
		}
		for _, g := range judged {
			switch {
			case g.Gate != spec.Name:
			case g.OnBase && g.Partial:
				tick = segment{"?", yellow}
			default:
				tick = segment{map[bool]string{true: "✗", false: "✓"}[g.red()], verdictTone(g.Verdict).color()}
			}
		}
		out = append(out, segment{name, 0}, tick)
	}
	return out
}

// furtherGates shows the gates that judge another tree than base and candidate.
func (p *Progress) furtherGates(running map[string]bool, on pawl.Tree) []segment {
	out := []segment{{"  gates on " + treeWords(on) + ":", 0}}
	for _, spec := range p.run.Settings.Gates {
		if running[spec.Name] {
			out = append(out, segment{" " + plain.Line(spec.Name, 24) + " ", 0}, segment{"…", yellow})
		}
	}
	return out
}

// fit cuts the segments of a line to a width.
func fit(parts []segment, width int) []segment {
	var out []segment
	for _, s := range parts {
		if width <= 0 {
			break
		}
		s.text = ansi.Truncate(s.text, width, "…")
		width -= ansi.StringWidth(s.text)
		out = append(out, s)
	}
	return out
}

// plainOf returns the lines without colours.
func plainOf(lines [][]segment) []string {
	var out []string
	for _, l := range lines {
		var b bytes.Buffer
		for _, s := range l {
			b.WriteString(s.text)
		}
		out = append(out, b.String())
	}
	return out
}
