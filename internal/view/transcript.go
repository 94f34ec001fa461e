package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
	"pawl/internal/plain"
)

// Transcript is what was said and done in sessions of a run.
type Transcript struct {
	run      *Run
	blobs    Blobs
	sessions []*Session // oldest first
	most     int        // updates of a turn that an entry has; 0 = all
}

// Shorten makes the entries have no more of a turn's updates than their rows show with these options.
func (t *Transcript) Shorten(o TranscriptOptions) { t.most = o.Lines * updatesPerLine }

// TranscriptEntry is one thing that was said or done in a session, for other programs. Its texts
// are whole and safe to print. Fields are added, never renamed.
type TranscriptEntry struct {
	Event pawl.Seq     `json:"event"`
	Time  time.Time    `json:"time"`
	Loop  pawl.LoopRef `json:"loop"`
	// Task is the path of tasks down to that of the loop; missing = the root's.
	Task    string `json:"task,omitempty"`
	Session int    `json:"session"` // its number in the loop
	Place   string `json:"place"`   // of the session, such as task/2/implement
	Turn    int    `json:"turn"`    // the newest reply of the session then, from 1; 0 = before the first
	Role    Role   `json:"role"`
	// Text is the prompt, the reply's text, the tool's output, what the harness said, or why the
	// session ended.
	Text string `json:"text,omitempty"`
	// Of a prompt: the system prompt, what all that was sent has in bytes, and what was left out of it
	// to fit. Of a tool's output the bytes are its own.
	System string   `json:"system,omitempty"`
	Bytes  int64    `json:"bytes,omitempty"`
	Cut    []string `json:"cut,omitempty"`
	// Of a reply: the model, its tool calls, the tokens, and the charge in millionths of a dollar. A
	// call that failed may have a charge, too.
	Model string           `json:"model,omitempty"`
	Calls []TranscriptCall `json:"calls,omitempty"`
	Usage *pawl.Usage      `json:"usage,omitempty"`
	Cost  pawl.Micros      `json:"cost,omitempty"`
	// Of what answers a tool call: which one of the last reply, from 1, and what it was.
	Call    int                `json:"call,omitempty"`
	Tool    string             `json:"tool,omitempty"`
	Args    json.RawMessage    `json:"args,omitempty"`
	IsError bool               `json:"is_error,omitempty"`
	Result  pawl.SessionResult `json:"result,omitempty"` // of the session's end
	// Of a turn of a coding agent, one that failed too: what it said and did, and, of one that ended
	// well, what it cost at list prices in millionths of a dollar, even if a plan paid for it.
	Updates []pawl.AgentUpdate `json:"updates,omitempty"`
	Worth   pawl.Micros        `json:"worth,omitempty"`

	left    int // updates that are left out
	said    *Said
	session *Session
	run     *Run
}

// TranscriptCall is a tool call of a reply in a [TranscriptEntry].
type TranscriptCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// Transcribe returns what was said in the sessions that a selector names. It is as for [Prompt],
// but for the root loop's sessions and an empty one it names all of them, and a step's name those
// of all rounds; it may also be a loop's id or the end of it, and "loop-N".
func Transcribe(r *Run, selector string, blobs Blobs) (*Transcript, error) {
	t := &Transcript{run: r, blobs: blobs}
	all := r.sessions(func(s *Session) bool { return len(s.Said) > 0 })
	for _, s := range all {
		if selects(selector, s) || selects(selector, s.inAnyRound()) {
			t.sessions = append(t.sessions, s)
		}
	}
	if len(t.sessions) > 0 || len(all) == 0 && selector == "" {
		return t, nil
	}
	rec, err := r.Records.Find(selector)
	switch {
	case err == nil:
		for _, s := range all {
			if s.loop == rec.Ref {
				t.sessions = append(t.sessions, s)
			}
		}
	case pawl.CodeOf(err) == pawl.CodeInvalid: // it may be any of several
		return nil, err
	}
	if len(t.sessions) == 0 {
		return nil, r.errNoSession(selector, all)
	}
	return t, nil
}

// inAnyRound returns the session as one of its group's first round.
func (s *Session) inAnyRound() *Session {
	out := *s
	out.Place.Round = 0
	return &out
}

// EntryOf returns what an event added to the conversation of a session, and whether it added
// anything. The run has had the event applied.
func EntryOf(e pawl.Event, r *Run, blobs Blobs) (TranscriptEntry, bool) {
	l := r.loop(e.Loop)
	if _, late := e.Body.(*pawl.AnswerIgnored); late && r.closed != nil {
		l = r.loop(r.closed.Loop)
	}
	x, ok := SaidBy(e, r.closed)
	if !ok || l == nil || l.sessions[x.Session] == nil {
		return TranscriptEntry{}, false
	}
	s := l.sessions[x.Session]
	if n := len(s.Said); n > 0 && s.Said[n-1].Seq == e.Seq {
		return r.entry(s, &s.Said[n-1], blobs, 0), true
	}
	return TranscriptEntry{}, false
}

// BySession yields the entries session by session.
func (t *Transcript) BySession(yield func(TranscriptEntry) bool) {
	for _, s := range t.sessions {
		for i := range s.Said {
			if !yield(t.run.entry(s, &s.Said[i], t.blobs, t.most)) {
				return
			}
		}
	}
}

// ByEvent yields the entries after an event in the order of their events.
func (t *Transcript) ByEvent(after pawl.Seq) iter.Seq[TranscriptEntry] {
	return t.each(slices.Values(t.inOrder(after)))
}

// Backward yields the entries from the newest to the oldest.
func (t *Transcript) Backward() iter.Seq[TranscriptEntry] {
	all := t.inOrder(0)
	slices.Reverse(all)
	return t.each(slices.Values(all))
}

// spoken is an entry before its texts are read.
type spoken struct {
	s *Session
	x *Said
}

// inOrder returns the entries after an event in the order of their events.
func (t *Transcript) inOrder(after pawl.Seq) []spoken {
	var out []spoken
	for _, s := range t.sessions {
		for i := range s.Said {
			if s.Said[i].Seq > after {
				out = append(out, spoken{s, &s.Said[i]})
			}
		}
	}
	slices.SortFunc(out, func(a, b spoken) int { return cmp.Compare(a.x.Seq, b.x.Seq) })
	return out
}

// each reads the texts of entries.
func (t *Transcript) each(all iter.Seq[spoken]) iter.Seq[TranscriptEntry] {
	return func(yield func(TranscriptEntry) bool) {
		for x := range all {
			if !yield(t.run.entry(x.s, x.x, t.blobs, t.most)) {
				return
			}
		}
	}
}

// entry reads the texts of an entry, and most of a turn's updates; zero = all.
func (r *Run) entry(s *Session, x *Said, blobs Blobs, most int) TranscriptEntry {
	e := TranscriptEntry{Event: x.Seq, Time: x.Time, Loop: s.loop, Task: plain.Line(r.path(r.loop(s.loop)), 0), Session: s.Session, Place: plain.Line(s.Place.String(), 0),
		Turn: x.Turn, Role: x.Role, Text: plain.Text(x.Note), System: blobs.text(x.System), Bytes: x.Bytes, Cut: lines(x.Cut), Model: plain.Line(x.Model, 0), Cost: x.Cost,
		Call: x.Call, Tool: plain.Line(x.Tool, 0), IsError: x.IsError, Result: pawl.SessionResult(plain.Line(string(x.Result), 0)), said: x, session: s, run: r}
	if x.Failed != "" {
		e.Text = plain.Text(x.Words())
	}
	if x.Switched != nil {
		e.Text = r.switchedText(r.loop(s.loop), x.Switched)
	}
	if !x.Text.IsZero() {
		e.Text = blobs.text(x.Text) + plain.Text(x.Note)
	}
	if x.Tool != "" {
		e.Args = blobs.JSON(x.Args)
	}
	if x.Role == RoleAssistant {
		e.Usage = &x.Usage
	}
	e.Updates, e.left = blobs.updates(x.Transcript, most)
	if x.Agent != nil {
		e.Worth = x.Agent.Worth
	}
	for _, c := range x.Calls {
		e.Calls = append(e.Calls, TranscriptCall{plain.Line(c.Tool, 0), blobs.JSON(c.Args)})
	}
	return e
}

// TranscriptLines is how many lines of each text a face shows unless it is asked for another
// number.
const TranscriptLines = 20

// maxTranscriptLine is how many bytes of one line are shown where lines are cut.
const maxTranscriptLine = 1_000

// TranscriptOptions say how entries are shown to people.
type TranscriptOptions struct {
	// Lines is how many lines of each text are shown, the first and the last ones, and what is more
	// is counted; 0 = all.
	Lines int
	// More says how to see what is left out, such as "--lines 0 shows all".
	More string
	// Place has the first row of an entry name the session.
	Place bool
}

// Write writes the entries session by session, each session below a heading.
func (t *Transcript) Write(w io.Writer, color bool, o TranscriptOptions) error {
	t.Shorten(o)
	var in *Session
	for e := range t.BySession {
		var out strings.Builder
		if e.session != in {
			if in != nil {
				out.WriteByte('\n')
			}
			in = e.session
			fmt.Fprintf(&out, "=== %s\n", e.heading())
		}
		for _, row := range e.Rows(o) {
			text := row.Text
			if row.Head {
				text = Clock(e.Time) + "  " + text
			}
			if color {
				text = inked(row.Tone.color(), text)
			}
			out.WriteString(text + "\n")
		}
		if _, err := io.WriteString(w, out.String()); err != nil {
			return err
		}
	}
	return nil
}

// heading names the session of an entry.
func (e *TranscriptEntry) heading() string {
	s := e.session
	out := fmt.Sprintf("%s, session %d", e.Place, s.Session)
	if s.Place.Tier > 0 {
		out += ", " + e.run.tier(s.Place.Tier)
	}
	if e.Loop > 1 {
		out += fmt.Sprintf(", loop %d (%s)", e.Loop, e.Task)
	}
	if s.Try > 1 {
		out += fmt.Sprintf(", try %d", s.Try)
	}
	return plain.Line(out, 0)
}

// TranscriptRow is a row of an entry as people see it, safe to print.
type TranscriptRow struct {
	Text string
	Tone Tone
	Head bool // it says what follows
}

// Rows returns an entry as rows, the first of which is its head. They are indented from the
// second on.
func (e *TranscriptEntry) Rows(o TranscriptOptions) []TranscriptRow {
	head, tone := e.head(o), TonePlain
	if o.Place {
		head = e.where() + ": " + head
	}
	if e.IsError {
		tone = ToneBad
	}
	out := []TranscriptRow{{plain.Line(head, 0), tone, true}}
	out = append(out, o.updateRows(e.Updates, e.left)...)
	body := func(lead string, tone Tone, lines []string) {
		for _, line := range o.excerpt(lines) {
			out = append(out, TranscriptRow{Text: strings.TrimRight(lead+line, " "), Tone: tone})
		}
	}
	switch e.Role {
	case RolePrompt, RoleTool:
		body(quoted, ToneQuiet, textLines(e.Text))
	case RoleAssistant:
		if e.Text != lastText(e.Updates) {
			body(indent, TonePlain, textLines(e.Text))
		}
		for _, c := range e.Calls {
			all := argumentLines(c.Args)
			first := "→ " + c.Tool
			if len(all) == 1 {
				first, all = first+" "+all[0], nil
			}
			body(indent, TonePlain, []string{first})
			body(indent+"    ", ToneQuiet, all)
		}
	}
	return out
}

// where names the session of an entry: "task/1/implement", or "[parser] 1/executor".
func (e *TranscriptEntry) where() string {
	lead := e.run.lead(e.run.loop(e.Loop))
	if lead == "" {
		return e.Place
	}
	_, place, _ := strings.Cut(e.Place, "/")
	return lead + place
}

// maxNote is how many columns of a note are shown where texts are cut: reminders repeat the task
// after every batch of calls.
const maxNote = 120

// head says what an entry is, on one line.
func (e *TranscriptEntry) head(o TranscriptOptions) string {
	switch e.Role {
	case RolePrompt:
		s := fmt.Sprintf("prompt · %s with the system prompt and the tools", count(int(e.Bytes), "byte"))
		if len(e.Cut) > 0 {
			s += ", left out to fit: " + strings.Join(e.Cut, ", ")
		}
		return s + fmt.Sprintf(" · whole text: pawl show %s --prompt=event-%d", e.run.ID, e.Event)
	case RoleAssistant:
		in := e.Usage.Total() - e.Usage.Output
		return fmt.Sprintf("turn %d · %s · %s in, %s out", e.Turn, e.Model, count(int(in), "token"), pawl.Thousands(e.Usage.Output)) + e.costOf()
	case RoleTool:
		s := toolCall(e.Tool, e.Args) + " · "
		if e.IsError {
			s += "error, "
		}
		return s + count(int(e.Bytes), "byte")
	case RoleResult:
		return "session " + sessionResults[e.Result] + because(e.Text) + " · " + e.run.spending(e.session.Spent)
	}
	s := e.Text
	if e.said.Failed == "" && e.said.Switched == nil && o.Lines > 0 {
		s = plain.Line(s, maxNote)
	}
	switch {
	case e.said.Failed != "", e.said.Switched != nil:
	case e.Call > 0:
		s = e.Tool + ": " + s
	default:
		s = "note: " + s
	}
	if e.Cost > 0 && !e.run.Settings.NoCost {
		s += " (" + e.Cost.String() + ")"
	}
	return s
}

// textLines returns the lines of a text without empty ones at its end.
func textLines(s string) []string {
	if s = strings.TrimRight(s, "\n \t"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// argumentLines returns a tool call's arguments for people: on one line where they are short, else
// an argument a line, with those of several lines below their names.
func argumentLines(args json.RawMessage) []string {
	const short = 100 // bytes of all arguments, or of one value
	var in map[string]any
	if json.Unmarshal(args, &in) != nil {
		return textLines(readable(args))
	}
	if len(args) <= short && !bytes.Contains(args, []byte(`\n`)) {
		return []string{string(args)}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(in)) {
		text, isText := in[name].(string)
		if !isText {
			raw, _ := json.Marshal(in[name]) // what was JSON is JSON
			if text = string(raw); len(raw) > short {
				text = readable(raw)
			}
		}
		value := textLines(text)
		switch len(value) {
		case 0:
			out = append(out, name+":")
		case 1:
			out = append(out, name+": "+value[0])
		default:
			out = append(out, name+":")
			for _, line := range value {
				out = append(out, "  "+line)
			}
		}
	}
	return out
}

// readable returns a JSON value for people: a text as it is, others as indented JSON.
func readable(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// excerpt returns the first and the last of some lines, with a line between them that counts
// those left out.
func (o *TranscriptOptions) excerpt(all []string) []string {
	if o.Lines <= 0 {
		return all
	}
	tail := o.Lines / 3
	head := o.Lines - tail
	var out []string
	show := func(lines []string) {
		for _, line := range lines {
			out = append(out, o.cutLine(line))
		}
	}
	if len(all) <= o.Lines {
		show(all)
		return out
	}
	show(all[:head])
	left := all[head : len(all)-tail]
	size := 0
	for _, line := range left {
		size += len(line) + 1
	}
	out = append(out, fmt.Sprintf("… %s left out, %s: %s", count(len(left), "line"), count(size, "byte"), o.More))
	show(all[len(all)-tail:])
	return out
}

// cutLines returns the lines of a text that has one, as they are shown.
func (o *TranscriptOptions) cutLines(line string) []string { return o.excerpt(textLines(line)) }

// cutLine returns the beginning of a line that is too long, with a count of what is left out.
func (o *TranscriptOptions) cutLine(line string) string {
	if len(line) <= maxTranscriptLine {
		return line
	}
	at := maxTranscriptLine
	for at > 0 && !utf8.RuneStart(line[at]) {
		at--
	}
	return line[:at] + fmt.Sprintf("… %s left out: %s", count(len(line)-at, "byte"), o.More)
}
