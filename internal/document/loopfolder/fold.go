package loopfolder

import (
	"encoding/json"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/view"
)

// folder is what is known of one loop's files.
type folder struct {
	at         string // where it is, relative to the state folder; empty = nowhere yet
	refused    bool   // its id is no name for a folder, or another run has it
	changed    bool   // the record or an iteration was
	iterations map[int]*iteration
	newest     int
	sessions   map[int]*session
	out, err   tail
}

// iteration is what is known of one that is not written in full, or may still change.
type iteration struct {
	n        int
	sessions []*session
	entries  []entry
	gates    []*pawl.GateJudged
	notes    []string // what followed, a line each
	ended    bool
	changed  bool
}

// session is an agent session of an iteration.
type session struct {
	n              int
	place          string
	try            int
	system, prompt pawl.Hash
	iteration      *iteration
}

// entry is a line of a conversation, before its texts are read.
type entry struct {
	Time    time.Time   `json:"time"`
	Session int         `json:"session,omitempty"`
	Place   string      `json:"place,omitempty"`
	Role    string      `json:"role"` // assistant, tool, harness or result
	Model   string      `json:"model,omitempty"`
	Text    string      `json:"text,omitempty"`
	Calls   []call      `json:"calls,omitempty"`
	Tool    string      `json:"tool,omitempty"`
	Args    string      `json:"args,omitempty"`
	Error   bool        `json:"is_error,omitempty"`
	Tokens  int64       `json:"tokens,omitempty"`
	Cost    pawl.Micros `json:"cost,omitempty"`

	text, args pawl.Hash // text comes before Text
	calls      []pawl.ToolUse
}

type call struct {
	Tool string `json:"tool"`
	Args string `json:"args"`
}

// asked is an effect under way whose answer is told in a file.
type asked struct {
	session int
	tool    string
	args    pawl.Hash
	what    string
}

// take folds an event into the files of its loop.
func (w *Writer) take(e pawl.Event) {
	for _, c := range w.records.Add(e) {
		if f := w.folder(c.Record.Ref); f != nil {
			f.changed = f.changed || w.live
		}
	}
	rec := w.records.Loop(e.Loop)
	if rec == nil {
		if _, ok := e.Body.(*pawl.Archived); ok { // of the run
			for _, f := range w.folders {
				f.changed = f.changed || w.live
			}
		}
		return
	}
	f := w.folder(e.Loop)
	f.changed = f.changed || w.live
	it := f.iteration(max(f.newest, 1))
	switch b := e.Body.(type) {
	case *pawl.IterationStarted:
		f.newest = b.N
		f.iteration(b.N).changed = w.live
	case *pawl.SessionStarted:
		s := &session{n: b.Session, place: b.Place.String(), try: b.Try, iteration: it}
		it.sessions = append(it.sessions, s)
		f.sessions[b.Session] = s
	case *pawl.SessionEnded:
		w.ended(f, e, b)
	case *pawl.NoteAdded:
		w.say(f, b.Session, entry{Time: e.Time, Role: "harness", text: b.Blob, Text: b.Text, Error: b.IsError})
	case *pawl.EffectRequested:
		w.request(e.Seq, &b.Effect)
	case *pawl.EffectFailed:
		w.failed(f, it, e, b.Effect, string(b.Failure.Code)+": "+b.Failure.Message)
	case *pawl.EffectLost:
		w.failed(f, it, e, b.Effect, "lost when the process died")
	case *pawl.EffectWithdrawn:
		delete(w.asked, b.Effect)
	case *pawl.GateJudged:
		delete(w.asked, b.Effect)
		if !b.OnBase {
			it.gates, it.changed = append(it.gates, b), w.live || it.changed
		}
	case *pawl.GatesReused:
		it.notes = append(it.notes, view.ReusedText(b))
	case *pawl.IterationEnded:
		it.end(b, w.live)
	case *pawl.PromptAssembled:
		a := w.answered(b.Effect)
		if s := f.sessions[a.session]; s != nil {
			s.system, s.prompt = b.System, b.Prompt
			s.iteration.changed = w.live || s.iteration.changed
		}
	case *pawl.ModelReplied:
		a := w.answered(b.Effect)
		w.say(f, a.session, entry{Time: e.Time, Role: "assistant", Model: b.Model, Tokens: b.Usage.Total(), Cost: b.Cost, text: b.Text, calls: b.Calls})
	case *pawl.ToolReturned:
		a := w.answered(b.Effect)
		w.say(f, a.session, entry{Time: e.Time, Role: "tool", Tool: a.tool, Error: b.IsError, text: b.Output, args: a.args})
		to := &f.out
		if b.IsError {
			to = &f.err
		}
		to.add(piece{head: fmt.Sprintf("==> %s iteration %03d %s", stamp(e.Time), max(f.newest, 1), a.tool), args: a.args, text: b.Output, size: b.Bytes})
	}
}

// folder is what is known of a loop's files; nil for a loop that is not known.
func (w *Writer) folder(ref pawl.LoopRef) *folder {
	f := w.folders[ref]
	if f == nil && w.records.Loop(ref) != nil {
		f = &folder{iterations: map[int]*iteration{}, sessions: map[int]*session{}}
		w.folders[ref] = f
	}
	return f
}

func (f *folder) iteration(n int) *iteration {
	it := f.iterations[n]
	if it == nil {
		it = &iteration{n: n}
		f.iterations[n] = it
	}
	return it
}

// say adds a line to a conversation.
func (w *Writer) say(f *folder, n int, e entry) {
	s := f.sessions[n]
	if s == nil {
		return
	}
	e.Session, e.Place = n, s.place
	s.iteration.entries = append(s.iteration.entries, e)
	s.iteration.changed = s.iteration.changed || w.live
}

// ended tells how a session ended.
func (w *Writer) ended(f *folder, e pawl.Event, b *pawl.SessionEnded) {
	text := string(b.Result)
	if b.Reason != "" {
		text += ": " + b.Reason
	}
	w.say(f, b.Session, entry{Time: e.Time, Role: "result", Text: text, args: b.Output})
	delete(f.sessions, b.Session)
}

// request notes an effect whose answer is told in a file.
func (w *Writer) request(seq pawl.Seq, f *pawl.Effect) {
	switch do := f.Do.(type) {
	case *pawl.CallTool:
		w.asked[seq] = asked{f.Session, do.Tool, do.Args, "tool " + do.Tool}
	case *pawl.CallModel:
		w.asked[seq] = asked{session: f.Session, what: "model call " + f.Place.String()}
	case *pawl.AssemblePrompt:
		w.asked[seq] = asked{session: f.Session, what: "prompt of " + f.Place.String()}
	case *pawl.RunGate:
		w.asked[seq] = asked{what: "gate " + do.Gate}
	case *pawl.Prepare:
		w.asked[seq] = asked{what: "prepare"}
	}
}

func (w *Writer) answered(seq pawl.Seq) asked {
	a := w.asked[seq]
	delete(w.asked, seq)
	return a
}

// failed tells of an effect that gave no fact.
func (w *Writer) failed(f *folder, it *iteration, e pawl.Event, seq pawl.Seq, why string) {
	a := w.answered(seq)
	if a.what == "" {
		return
	}
	f.err.add(piece{head: fmt.Sprintf("==> %s iteration %03d %s", stamp(e.Time), it.n, a.what), said: why, size: int64(len(why))})
	w.say(f, a.session, entry{Time: e.Time, Role: "harness", Text: a.what + " failed: " + why, Error: true})
}

// end notes what follows from an iteration.
func (it *iteration) end(b *pawl.IterationEnded, live bool) {
	it.notes = append(it.notes, fmt.Sprintf("%s: %s", b.Decision, b.Reason))
	for _, line := range b.Errors {
		if line != b.Reason {
			it.notes = append(it.notes, "- "+line)
		}
	}
	it.ended, it.changed = true, live || it.changed
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// piece is one text of an aggregate.
type piece struct {
	head       string
	said       string // by the harness
	args, text pawl.Hash
	size       int64
}

// tail keeps the last texts of an aggregate, up to [MaxAggregate].
type tail struct {
	pieces []piece
	size   int64
	cut    bool
}

func (t *tail) add(p piece) {
	p.size = min(p.size, MaxText) + int64(len(p.head))
	t.pieces = append(t.pieces, p)
	for t.size += p.size; t.size > MaxAggregate && len(t.pieces) > 1; t.cut = true {
		t.size -= t.pieces[0].size
		t.pieces = t.pieces[1:]
	}
}

// read writes an entry with its texts as a line.
func (e *entry) read(blobs view.Blobs) ([]byte, error) {
	out := *e
	if !e.text.IsZero() {
		out.Text = cut(blobs.Text(e.text)+e.Text, MaxText)
	}
	out.Args = cut(blobs.Text(e.args), MaxText)
	for _, c := range e.calls {
		out.Calls = append(out.Calls, call{c.Tool, cut(blobs.Text(c.Args), MaxText)})
	}
	return json.Marshal(out)
}
