package loopfolder

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/view"
)

// folder is what is known of one loop's files.
type folder struct {
	at         string // where it is, relative to the state folder; empty = nowhere yet
	refused    bool   // its id cannot be a folder's name, or another run has it
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
	entries  []said
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

// entry is a line of a conversation.
type entry struct {
	Time    time.Time   `json:"time"`
	Session int         `json:"session,omitempty"`
	Place   string      `json:"place,omitempty"`
	Role    view.Role   `json:"role"` // assistant, tool, harness or result
	Model   string      `json:"model,omitempty"`
	Text    string      `json:"text,omitempty"`
	Calls   []call      `json:"calls,omitempty"`
	Tool    string      `json:"tool,omitempty"`
	Args    string      `json:"args,omitempty"`
	Error   bool        `json:"is_error,omitempty"`
	Tokens  int64       `json:"tokens,omitempty"`
	Cost    pawl.Micros `json:"cost,omitempty"`
}

type call struct {
	Tool string `json:"tool"`
	Args string `json:"args"`
}

// said is an entry before its texts are read.
type said struct {
	view.Said
	place string
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
	effect := w.ended(e)
	x, speaks := view.SaidBy(e, effect)
	if speaks {
		w.say(f, x)
	}
	switch b := e.Body.(type) {
	case *pawl.IterationStarted:
		f.newest = b.N
		f.iteration(b.N).changed = w.live
	case *pawl.SessionStarted:
		s := &session{n: b.Session, place: b.Place.String(), try: b.Try, iteration: it}
		it.sessions = append(it.sessions, s)
		f.sessions[b.Session] = s
	case *pawl.SessionEnded:
		delete(f.sessions, b.Session)
	case *pawl.EffectRequested:
		w.request(e.Seq, &b.Effect)
	case *pawl.EffectFailed:
		f.failed(it, e, cmp.Or(x.Failed, judging(effect)), string(b.Failure.Code)+": "+b.Failure.Message)
	case *pawl.EffectLost:
		f.failed(it, e, cmp.Or(x.Failed, judging(effect)), "lost when the process died")
	case *pawl.GateJudged:
		if !b.OnBase && b.On == "" {
			it.gates, it.changed = append(it.gates, b), w.live || it.changed
		}
	case *pawl.GatesReused:
		it.notes = append(it.notes, view.ReusedText(b))
	case *pawl.IterationEnded:
		it.end(b, w.live)
	case *pawl.PromptAssembled:
		if s := f.sessions[x.Session]; s != nil {
			s.system, s.prompt = b.System, b.Prompt
			s.iteration.changed = w.live || s.iteration.changed
		}
	case *pawl.ToolReturned:
		to := &f.out
		if b.IsError {
			to = &f.err
		}
		to.add(piece{head: fmt.Sprintf("==> %s iteration %03d %s", stamp(e.Time), max(f.newest, 1), x.Tool), args: x.Args, text: b.Output, size: b.Bytes})
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

// say adds a line to a conversation. What was sent is in a file of its own.
func (w *Writer) say(f *folder, x view.Said) {
	s := f.sessions[x.Session]
	if s == nil || x.Role == view.RolePrompt {
		return
	}
	s.iteration.entries = append(s.iteration.entries, said{x, s.place})
	s.iteration.changed = s.iteration.changed || w.live
}

// request notes an effect whose end is told in a file.
func (w *Writer) request(seq pawl.Seq, f *pawl.Effect) {
	switch f.Do.(type) {
	case *pawl.CallTool, *pawl.CallModel, *pawl.AssemblePrompt, *pawl.RunGate, *pawl.Prepare:
		w.asked[seq] = f
	}
}

// ended returns the effect that an event ends, if it was noted.
func (w *Writer) ended(e pawl.Event) *pawl.Effect {
	var seq pawl.Seq
	switch b := e.Body.(type) {
	case *pawl.EffectLost:
		seq = b.Effect
	case *pawl.EffectWithdrawn:
		seq = b.Effect
	case pawl.Answer:
		seq = b.Answers()
	}
	f := w.asked[seq]
	delete(w.asked, seq)
	return f
}

// judging names what is done to a candidate; empty for what is done in a session.
func judging(f *pawl.Effect) string {
	if f == nil {
		return ""
	}
	switch do := f.Do.(type) {
	case *pawl.RunGate:
		return "gate " + do.Gate
	case *pawl.Prepare:
		return "prepare"
	}
	return ""
}

// failed tells of an effect that gave no fact.
func (f *folder) failed(it *iteration, e pawl.Event, what, why string) {
	if what != "" {
		f.err.add(piece{head: fmt.Sprintf("==> %s iteration %03d %s", stamp(e.Time), it.n, what), said: why, size: int64(len(why))})
	}
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

// line returns an entry with its texts as a line.
func (x *said) line(blobs view.Blobs) ([]byte, error) {
	out := entry{Time: x.Time, Session: x.Session, Place: x.place, Role: x.Role, Model: x.Model, Text: x.Words(), Error: x.IsError}
	switch x.Role {
	case view.RoleAssistant:
		out.Tokens, out.Cost = x.Usage.Total(), x.Cost
	case view.RoleTool:
		out.Tool, out.Args = x.Tool, cut(blobs.Text(x.Args), MaxText)
	case view.RoleResult:
		out.Args = cut(blobs.Text(x.Output), MaxText)
	}
	if !x.Text.IsZero() {
		out.Text = cut(blobs.Text(x.Text)+out.Text, MaxText)
	}
	for _, c := range x.Calls {
		out.Calls = append(out.Calls, call{c.Tool, cut(blobs.Text(c.Args), MaxText)})
	}
	return json.Marshal(out)
}
