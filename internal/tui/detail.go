package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pawl"
	"pawl/internal/view"
)

// tab is what is shown of the chosen loop.
type tab int

const (
	tabLog tab = iota
	tabDiff
	tabPrompt
	tabGates
	tabAttempts
	tabDecisions
	tabTurns
	tabs
)

var tabNames = [...]string{"log", "diff", "prompt", "gates", "attempts", "decisions", "turns"}

// follows reports whether a tab's text grows at its end, which is shown then.
func (t tab) follows() bool { return t == tabLog || t == tabTurns }

// detail is the text about the chosen loop.
type detail struct {
	tab   tab
	text  pane
	made  made // what the text was made of
	most  bool // the log has every event, and turns have all of their texts
	diff  diffMsg
	asked diffOf // the difference that was asked for
}

// made names what a text was made of: it is made again when that is another one.
type made struct {
	at            place
	tab           tab
	width, height int
	rev, blobs    int
	most, unread  bool
	diff          diffOf
}

// took keeps a difference.
func (d *detail) took(msg diffMsg) {
	if msg.of == d.asked {
		d.diff = msg
		d.made = made{}
	}
}

// turn shows another tab.
func (d *detail) turn(t tab) {
	if d.tab == t {
		return
	}
	d.tab = (t + tabs) % tabs
	d.text.top(d.tab.follows())
	d.text.search = ""
}

// fill makes the text of the detail anew where it has changed.
func (m *Model) fill() tea.Cmd {
	d := &m.detail
	s := m.run()
	width, height := m.textSize()
	now := made{at: m.tree.at, tab: d.tab, width: width, height: height, most: d.most, diff: d.diff.of}
	if s != nil {
		now.rev, now.unread = s.rev, !s.read
	}
	if d.tab != tabLog || s != nil && s.run.Outcome != "" { // else its lines were made with what was there
		now.blobs = m.blobs.rev
	}
	var cmd tea.Cmd
	if s != nil && d.tab == tabDiff {
		if of, ok := m.commits(s); ok && of != d.asked {
			d.asked = of
			cmd = m.src.compare(of)
		}
	}
	if now == d.made && d.text.rows != nil {
		return cmd
	}
	if d.made.at != now.at {
		d.text.top(d.tab.follows())
	}
	d.made = now
	d.text.set(m.detailRows(s, width), height)
	return cmd
}

// detailRows are the text of the present tab.
func (m *Model) detailRows(s *shown, width int) []row {
	switch {
	case s == nil:
		if p := m.project(m.tree.at.project); p != nil {
			return []row{say(dim, fmt.Sprintf("%s · %s", p.Root, plural(len(p.runs), "run")))}
		}
		return nil
	case !s.read && len(s.log) == 0:
		return []row{say(dim, "reading…")}
	}
	l := s.loop(m.tree.at.loop)
	if m.tree.at.loop == 0 {
		l = s.root()
	}
	if l == nil && !m.detail.tab.follows() {
		return []row{say(dim, "no loop has begun yet")}
	}
	var out []row
	switch m.detail.tab {
	case tabDiff:
		out = m.diffRows(s, width)
	case tabPrompt:
		out = m.promptRows(s, l, width)
	case tabGates:
		out = m.gateRows(s, l, width)
	case tabAttempts:
		out = m.attemptRows(s, l, width)
	case tabDecisions:
		out = m.decisionRows(s, l, width)
	case tabTurns:
		return m.turnRows(s, width)
	default:
		return m.logRows(s, width)
	}
	if len(out) > maxPane {
		out = append(out[:maxPane:maxPane], say(dim, fmt.Sprintf("… and %d more lines", len(out)-maxPane)))
	}
	return out
}

// texts are the lines of a text in one ink.
func (p pen) texts(i ink, indent, text string, width int) []row {
	var out []row
	for _, line := range p.fold(text, max(1, width-len(indent))) {
		out = append(out, say(i, indent+line))
	}
	return out
}

// logRows are the log of the chosen loop, or of the whole run; the end of what
// somebody says at the moment comes last.
func (m *Model) logRows(s *shown, width int) []row {
	const clock = "15:04:05 "
	least := view.Normal
	if m.detail.most {
		least = view.Detail
	}
	var out []row
	at := m.tree.at.loop
	n := 0
	for i := len(s.log) - 1; i >= 0 && n < maxPane; i-- { // the end is what is kept
		e := &s.log[i]
		if e.level < least || at != 0 && e.loop != at {
			continue
		}
		text := e.text
		if at != 0 && e.lead <= len(text) { // it is known which one
			text = text[e.lead:]
		}
		lines := m.pen.fold(text, max(1, width-len(clock)))
		for j, line := range slices.Backward(lines) {
			head := strings.Repeat(" ", len(clock))
			if j == 0 {
				head = e.time.Local().Format(clock)
			}
			out = append(out, row{{head, dim}, {line, e.ink}})
			n++
		}
	}
	slices.Reverse(out)
	if n >= maxPane || s.cut > 0 && at == 0 {
		out = append([]row{say(dim, "… what was before: pawl logs "+string(s.key.run))}, out...)
	}
	if len(out) == 0 {
		out = append(out, say(dim, "nothing yet"))
	}
	if w := s.run.Waiting(); w != nil && (at == 0 || at == s.doing[w.Effect]) {
		out = append(out, m.pen.texts(yellow, "  ", view.WaitingText(w), width)...)
	}
	return append(append(out, m.heardRows(s, width)...), m.answerRows(s, width)...)
}

// heardRows are the end of what is being said now.
func (m *Model) heardRows(s *shown, width int) []row {
	var out []row
	for _, loop := range s.speakers(m.tree.at.loop) {
		out = append(out, m.pen.texts(dim, "  ", strings.TrimRight(s.heard[loop].text, "\n"), width)...)
	}
	return out
}

// speakers are the loops that say something now, of those that are shown.
func (s *shown) speakers(at pawl.LoopRef) []pawl.LoopRef {
	var out []pawl.LoopRef
	for loop := range s.heard {
		if at == 0 || at == loop {
			out = append(out, loop)
		}
	}
	slices.Sort(out)
	return out
}

// commits are what the chosen loop has changed, if it has.
func (m *Model) commits(s *shown) (diffOf, bool) {
	p := m.project(s.key.project)
	if p == nil || s.run.Start.Base == "" {
		return diffOf{}, false
	}
	of := diffOf{root: p.Root, from: s.run.Start.Base, to: s.run.Head}
	if l := s.loop(m.tree.at.loop); l != nil && l.Parent != 0 {
		of.from, of.to = l.Base, ""
		for _, it := range l.Iterations {
			if of.from == "" {
				of.from = it.From
			}
			if it.Commit != nil {
				of.to = it.Commit.Commit
			}
		}
	}
	return of, of.from != "" && of.to != "" && of.from != of.to
}

func (m *Model) diffRows(s *shown, width int) []row {
	of, ok := m.commits(s)
	d := m.detail.diff
	switch {
	case !ok:
		return []row{say(dim, "no commit yet")}
	case d.of != of:
		return []row{say(dim, "comparing…")}
	case d.err != nil:
		return m.pen.texts(red, "", errorText(d.err), width)
	case d.text == "":
		return []row{say(dim, "no difference")}
	}
	out := []row{say(dim, fmt.Sprintf("%s → %s", short(of.from), short(of.to)))}
	for line := range strings.SplitSeq(strings.TrimRight(d.text, "\n"), "\n") {
		out = append(out, m.pen.texts(diffInk(line), "", line, width)...)
	}
	if len(d.text) == maxBlob {
		out = append(out, say(dim, "… the rest: pawl diff "+string(s.key.run)))
	}
	return out
}

func diffInk(line string) ink {
	switch {
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return bold
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "@@"):
		return cyan
	}
	return normal
}

func short(c pawl.CommitHash) string { return string(c[:min(10, len(c))]) }

// blob is a text of a blob, or what is to be said while it is not there.
func (m *Model) blob(h pawl.Hash) (text string, ok bool) {
	if h.IsZero() {
		return "", false
	}
	if data, err := m.blobs.read(h); err == nil {
		return string(data), true
	}
	if m.blobs.failed[h] {
		return "it cannot be read", false
	}
	return "reading…", false
}

// section is a heading and a text of a blob below it.
func (m *Model) section(head string, h pawl.Hash, width int) []row {
	out := []row{say(bold, head)}
	text, ok := m.blob(h)
	if !ok {
		return append(out, say(dim, "  "+text))
	}
	out = append(out, m.pen.texts(normal, "  ", strings.TrimRight(readable(text), "\n"), width)...)
	if len(text) == maxBlob {
		out = append(out, say(dim, "  … it is longer"))
	}
	return append(out, row{})
}

// readable is a JSON document in lines, anything else as it is.
func readable(text string) string {
	var doc any
	if t := strings.TrimSpace(text); !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, "[") || json.Unmarshal([]byte(t), &doc) != nil {
		return text
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(doc) != nil {
		return text
	}
	return b.String()
}

// promptRows are what the loop's newest session was sent.
func (m *Model) promptRows(_ *shown, l *view.Loop, width int) []row {
	x := prompted(l)
	if x == nil {
		return []row{say(dim, "no prompt yet")}
	}
	out := []row{say(dim, fmt.Sprintf("%s · session %d · %d bytes", x.Place, x.Session, x.Prompt.Bytes))}
	if len(x.Prompt.Cut) > 0 {
		out = append(out, m.pen.texts(yellow, "", "left out to fit: "+strings.Join(x.Prompt.Cut, ", "), width)...)
	}
	out = append(out, row{})
	out = append(out, m.section("Prompt", x.Prompt.Prompt, width)...)
	if !x.Prompt.System.IsZero() {
		out = append(out, m.section("System", x.Prompt.System, width)...)
	}
	return out
}

// prompted is the loop's newest session that was sent something, or nil.
func prompted(l *view.Loop) *view.Session {
	var found *view.Session
	in := func(all []*view.Session) {
		for _, x := range all {
			if x.Prompt != nil && (found == nil || x.Seq > found.Seq) {
				found = x
			}
		}
	}
	in(l.Before)
	for _, it := range l.Iterations {
		in(it.Sessions)
	}
	for _, c := range l.Councils {
		in(c.Sessions)
	}
	return found
}

// gateRows are the verdicts on the loop's newest candidate, with what they rest on.
func (m *Model) gateRows(s *shown, l *view.Loop, width int) []row {
	var gates []*view.Gate
	head := ""
	for _, it := range slices.Backward(l.Iterations) {
		if len(it.Gates) > 0 {
			gates, head = it.Gates, fmt.Sprintf("Iteration %d", it.N)
			break
		}
	}
	if gates == nil && l.Parent == 0 {
		gates, head = s.run.Base, "On the base commit"
	}
	if len(gates) == 0 {
		return []row{say(dim, "no verdict yet")}
	}
	out := []row{say(dim, head)}
	for _, g := range gates {
		out = append(out, row{{verdictSign(g.Verdict) + " ", verdictInk(g.Verdict)}, {g.Gate, bold}, {gateCount(g), dim}})
		out = append(out, m.pen.texts(normal, "    ", g.Told(), width)...)
	}
	out = append(out, m.evidenceRows(s, l, width)...)
	for _, g := range gates {
		if g.Whole().IsZero() {
			continue
		}
		out = append(out, row{}, row{{"── ", dim}, {g.Gate, bold}})
		out = append(out, m.evidence(g.Whole(), width)...)
	}
	return out
}

// evidenceRows are what the loop's newest examined candidate changed of what its gates look at.
func (m *Model) evidenceRows(s *shown, l *view.Loop, width int) []row {
	x := l.Exam
	if x == nil {
		return nil
	}
	var out []row
	if paths := view.ClassCounts(x.Paths); paths != "" {
		out = append(out, m.pen.texts(dim, "", "changed paths: "+paths, width)...)
	}
	for _, f := range x.Runs {
		out = append(out, m.pen.texts(normal, "", "once more: "+f.String(), width)...)
	}
	if rows := s.run.FindingRows(s.run.FindingsOf(x), m.blobs.read); len(rows) > 0 {
		out = append(out, row{})
		out = append(out, m.findingRows(rows, width)...)
	}
	for _, remark := range x.Remarks {
		out = append(out, m.pen.texts(dim, "", "remark: "+remark, width)...)
	}
	return out
}

// findingRows are findings, each with what became of it and with what to look at, such as a diff.
func (m *Model) findingRows(all []view.FindingRow, width int) []row {
	var out []row
	for i := range all {
		f := &all[i]
		head := m.pen.fold(f.What(), max(1, width-len(f.ID)-len(f.State.Words())-3))
		out = append(out, row{{f.ID + " ", bold}, {f.State.Words(), toneInk(f.State.Tone())}, {": " + head[0], bold}})
		for _, line := range head[1:] {
			out = append(out, say(bold, "  "+line))
		}
		out = append(out, m.pen.texts(normal, "  ", f.Said(), width)...)
		if answer := f.Answer(); answer != "" {
			out = append(out, m.pen.texts(toneInk(f.State.Tone()), "  ", answer, width)...)
		}
		if f.Detail != "" {
			for line := range strings.SplitSeq(f.Detail, "\n") {
				out = append(out, m.pen.texts(diffInk(line), "    ", line, width)...)
			}
		}
		out = append(out, row{})
	}
	return out
}

func verdictSign(v pawl.Verdict) string {
	switch v {
	case pawl.VerdictPass:
		return "✓ pass"
	case pawl.VerdictSkip:
		return "· skip"
	}
	return "✗ " + string(v)
}

func gateCount(g *view.Gate) string {
	if g.Total == 0 {
		return ""
	}
	return fmt.Sprintf("  %d of %d", g.Passed, g.Total)
}

// evidence is a gate's report: what the command said, or what a reviewer wrote.
func (m *Model) evidence(h pawl.Hash, width int) []row {
	text, ok := m.blob(h)
	if !ok {
		return []row{say(dim, "  "+text)}
	}
	var g pawl.GateReport
	if json.Unmarshal([]byte(text), &g) != nil || g.Output == "" && len(g.Tests)+len(g.Diagnostics) == 0 {
		return m.pen.texts(normal, "  ", readable(text), width)
	}
	var out []row
	for _, t := range g.Tests {
		if t.Status == pawl.TestFail {
			out = append(out, m.pen.texts(red, "  ", "failed: "+t.Name, width)...)
			out = append(out, m.pen.texts(normal, "    ", strings.TrimRight(t.Output, "\n"), width)...)
		}
	}
	for _, f := range g.Diagnostics {
		out = append(out, m.pen.texts(yellow, "  ", fmt.Sprintf("%s %s:%d %s %s", f.Severity, f.File, f.Line, f.Rule, f.Message), width)...)
	}
	return append(out, m.pen.texts(normal, "  ", strings.TrimRight(g.Output, "\n"), width)...)
}

// attemptRows tell the loop's attempts, the newest first.
func (m *Model) attemptRows(s *shown, l *view.Loop, width int) []row {
	if len(l.Iterations) == 0 {
		return []row{say(dim, "no attempt yet")}
	}
	var out []row
	for _, it := range slices.Backward(l.Iterations) {
		head := "Iteration " + view.Iterations(it.N, it.Max)
		what := fmt.Sprintf("  %s · %s", s.run.TierOf(l, it.Tier), plural(it.Files, "file"))
		if !s.run.Settings.NoCost {
			sum := s.run.MoneyOf(it)
			what += " · " + sum.Spent.String() + view.Beside(pawl.Micros.String, sum.Held, sum.Lost)
		}
		if it.Commit != nil {
			what += " · " + short(it.Commit.Commit)
		}
		out = append(out, row{{head, bold}, {what, dim}})
		if it.Reason != "" {
			out = append(out, m.pen.texts(dim, "  ", it.Reason, width)...)
		}
		if it.End == nil {
			out = append(out, say(cyan, "  active"), row{})
			continue
		}
		i := yellow
		if it.End.Decision == pawl.DecideComplete {
			i = green
		}
		out = append(out, m.pen.texts(i, "  ", l.Decision(it.End)+": "+it.End.Reason, width)...)
		if it.End.Quality != "" || it.End.Requirements != "" {
			out = append(out, say(normal, fmt.Sprintf("  quality %s, requirements %s", dashed(it.End.Quality), dashed(it.End.Requirements))))
		}
		for _, e := range it.End.Errors {
			out = append(out, m.pen.texts(normal, "  - ", e, width)...)
		}
		out = append(out, row{})
	}
	for _, e := range slices.Backward(l.Escalations) {
		out = append(out, m.pen.texts(yellow, "", fmt.Sprintf("%s → %s from iteration %d: %s", s.run.Recipe.Tier(e.From), s.run.Recipe.Tier(e.To), e.Iteration, e.Reason), width)...)
	}
	return out
}

func dashed[S ~string](s S) string {
	if s == "" {
		return "-"
	}
	return string(s)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}

func itoa(n int) string { return fmt.Sprint(n) }

// decisionRows are what was answered, decided and remembered, and signals.
func (m *Model) decisionRows(s *shown, l *view.Loop, width int) []row {
	var out []row
	mine := func(x *view.Loop) bool { return m.tree.at.loop == 0 || x == l }
	for _, q := range slices.Backward(s.run.Questions) {
		if !mine(q.Loop) {
			continue
		}
		out = append(out, m.pen.texts(bold, "", fmt.Sprintf("Question %d (%s): %s", q.N, q.Kind, q.Text), width)...)
		switch {
		case q.Answered != nil:
			out = append(out, m.pen.texts(green, "  ", answered(q.Answered), width)...)
		case q.Withdrawn != nil:
			out = append(out, m.pen.texts(dim, "  ", "withdrawn: "+q.Withdrawn.Reason, width)...)
		default:
			out = append(out, say(yellow, "  waits for you: a answers it"))
		}
	}
	for _, x := range slices.Backward(s.run.Records.Signals) {
		if m.tree.at.loop != 0 && x.Target != m.tree.at.loop {
			continue
		}
		text := fmt.Sprintf("Signal %s", x.SignalType)
		if m.tree.at.loop == 0 {
			text += " to " + x.TargetLoop
		}
		if who := x.By + x.SourceLoop; who != "" {
			text += " from " + who
		}
		if x.Reason != "" {
			text += ": " + x.Reason
		}
		if x.AcknowledgedAt == 0 {
			text += " (not seen yet)"
		}
		out = append(out, m.pen.texts(normal, "", text, width)...)
	}
	for _, x := range slices.Backward(s.run.Memory) {
		if x.Loop != nil && !mine(x.Loop) {
			continue
		}
		head := fmt.Sprintf("%d %s", x.N, x.Kind)
		if x.Forgotten {
			head += " (forgotten)"
		}
		out = append(out, m.section(head, x.Text, width)...)
	}
	if len(out) == 0 {
		return []row{say(dim, "no decision or memory yet")}
	}
	return out
}

// answered says what a person answered.
func answered(b *pawl.QuestionAnswered) string {
	s := b.Choice
	if b.By != "" {
		s += " by " + b.By
	}
	if b.Text != "" {
		s += ": " + b.Text
	}
	return s
}
