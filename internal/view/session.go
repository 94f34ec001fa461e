package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// loopSessions is the sessions of a loop, apart from those of its iterations and councils.
type loopSessions struct {
	Before   []*Session       // those before the first iteration, such as the assessment
	sessions map[int]*Session // all of the loop, by number
}

// Session is one agent session.
type Session struct {
	pawl.SessionStarted
	Seq    pawl.Seq
	Began  time.Time
	Turn   int // replies so far
	Prompt *pawl.PromptAssembled
	// PromptSeq is the event of Prompt.
	PromptSeq pawl.Seq
	End       *pawl.SessionEnded // nil while it is under way
	EndSeq    pawl.Seq
	Spent     Spending
	Model     string // the one that replied last
	Said      []Said // its conversation so far

	loop      pawl.LoopRef
	iteration *Iteration // nil outside of one
}

func (l *Loop) startSession(e pawl.Event, b *pawl.SessionStarted) {
	s := &Session{SessionStarted: *b, Seq: e.Seq, Began: e.Time, loop: l.Ref}
	l.sessions[b.Session] = s
	it := l.last()
	switch council := b.Purpose == pawl.ForProposal || b.Purpose == pawl.ForBallot; {
	case council && len(l.Councils) > 0:
		c := l.Councils[len(l.Councils)-1]
		c.Sessions = append(c.Sessions, s)
	case it == nil:
		l.Before = append(l.Before, s)
	default:
		s.iteration = it
		it.Sessions = append(it.Sessions, s)
	}
}

// session returns the session an effect belongs to, or nil.
func (l *Loop) session(f *pawl.Effect) *Session {
	if f == nil {
		return nil
	}
	return l.sessions[f.Session]
}

// sessionOf returns the newest session that has not ended, or nil.
func (l *Loop) sessionOf() *Session {
	var found *Session
	in := func(all []*Session) {
		for _, s := range all {
			if s.End == nil && (found == nil || s.Seq > found.Seq) {
				found = s
			}
		}
	}
	in(l.Before)
	if it := l.last(); it != nil {
		in(it.Sessions)
	}
	if n := len(l.Councils); n > 0 {
		in(l.Councils[n-1].Sessions)
	}
	return found
}

// Sessions returns all sessions of the loop, oldest first.
func (l *Loop) Sessions() []*Session {
	out := slices.Collect(maps.Values(l.sessions))
	slices.SortFunc(out, func(a, b *Session) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// Summary returns what a session left, in one line no wider than width; empty when it only
// decided.
func (s *Session) Summary(blobs Blobs, width int) string {
	if s.End == nil {
		return ""
	}
	data := blobs.bytes(s.End.Output)
	var said struct{ Summary, Result string }
	if json.Unmarshal(data, &said) == nil {
		return plain.Line(cmp.Or(said.Summary, said.Result), width)
	}
	if first, _, _ := strings.Cut(string(data), "\n"); !strings.HasPrefix(first, "{") {
		return plain.Line(first, width)
	}
	return ""
}

// sessionOf returns the session of an effect under way, or nil.
func (r *Run) sessionOf(p pending) *Session {
	l := r.loop(p.Loop)
	if l == nil {
		return nil
	}
	return l.session(p.Effect)
}

// implementations returns the sessions of an iteration that do its work: its steps
// without the one that only rates the task.
func (r *Run) implementations(l *Loop, it *Iteration) []*Session {
	var out []*Session
	kind := r.Recipe.Kind(l.Kind)
	for _, s := range it.Sessions {
		rates := kind != nil && kind.Complexity != nil && kind.Complexity.From == s.Place.Step
		if s.Purpose == pawl.ForStep && !rates {
			out = append(out, s)
		}
	}
	return out
}

// made returns the newest session of the loop that left this output, or nil.
func (l *Loop) made(output pawl.Hash) *Session {
	var found *Session
	for _, s := range l.sessions {
		if s.End != nil && s.End.Output == output && (found == nil || s.Seq > found.Seq) {
			found = s
		}
	}
	return found
}

func (t teller) sessionStarted(b *pawl.SessionStarted) string {
	s := fmt.Sprintf("%s (%s): up to %s", b.Place.String(), t.r.Recipe.Tier(b.Place.Tier), count(b.Turns, "turn"))
	if b.Timeout > 0 {
		s += ", " + pawl.Span(b.Timeout)
	}
	switch {
	case b.Item > 0 && b.Purpose == pawl.ForBatch:
		s += fmt.Sprintf(", of batch %d", b.Item)
	case b.Item > 0:
		s += fmt.Sprintf(", entry %d", b.Item)
	}
	if b.Try > 1 {
		s += fmt.Sprintf(", try %d", b.Try)
	}
	return s
}

// sessionResults says for people how a session ended.
var sessionResults = map[pawl.SessionResult]string{
	pawl.SessionDone: "done", pawl.SessionTurns: "out of turns", pawl.SessionTimeout: "timeout",
	pawl.SessionNoResult: "no valid result", pawl.SessionFailed: "failed", pawl.SessionAbandoned: "abandoned",
}

func (t teller) sessionEnded(b *pawl.SessionEnded) string {
	reason := t.r.unsaid(b.Reason)
	if b.Reason == t.r.stops.reason { // the run stops, as was told
		reason = ""
	}
	place := t.place(b.Session)
	if x := t.session(b.Session); x != nil && b.Result != pawl.SessionDone {
		place = fmt.Sprintf("%s (%s)", t.words(x.Place), t.r.Recipe.Tier(x.Place.Tier))
	}
	s := fmt.Sprintf("%s: %s%s", place, sessionResults[b.Result], reason)
	if ignored := b.Facts.All(pawl.FactSurplus); len(ignored) > 0 {
		s += fmt.Sprintf(" (ignored in its result: %s)", strings.Join(ignored, ", "))
	}
	if read := b.Facts.All(pawl.FactRead); len(read) > 0 {
		s += fmt.Sprintf(" (read in its result: %s)", strings.Join(read, ", "))
	}
	if had := b.Facts.Get(factOverruled); had != "" {
		s += fmt.Sprintf(" · it decided %s, and the harness decides %s: %s", had, b.Facts.Get("decision"), strings.Join(t.r.Start.Signs, "; "))
	}
	if x := t.session(b.Session); x != nil {
		s += " · " + t.r.spending(x.Spent)
	}
	return s
}

// factOverruled is the fact of a result that has the decision which a check of the recipe replaced.
const factOverruled = "overruled"

func (t teller) session(n int) *Session {
	if t.l == nil {
		return nil
	}
	return t.l.sessions[n]
}

// place returns where a session is, or its number.
func (t teller) place(n int) string {
	if x := t.session(n); x != nil {
		return x.Place.String()
	}
	return fmt.Sprintf("session %d", n)
}

// words returns a place for people; the task of the event's loop stands before the line already.
func (t teller) words(p pawl.Place) string {
	if t.l != nil && t.l.Task == p.Task {
		p.Task = ""
	}
	return p.Words()
}

func (t teller) reply(b *pawl.ModelReplied) string {
	s := b.Model + " replied"
	if b.Agent != nil {
		s = b.Model + " " + turnEnds[b.Agent.Stop]
		if b.Agent.Tools > 0 {
			s += fmt.Sprintf(" after %s", count(b.Agent.Tools, "tool call"))
		}
		if b.Agent.Failed > 0 {
			s += fmt.Sprintf(", %d of which failed", b.Agent.Failed)
		}
		if b.Agent.Heard > 0 {
			s += ", and heard " + count(b.Agent.Heard, "info")
		}
	}
	if text := plain.Line(t.blobs.text(b.Text), 100); text != "" {
		s += ": " + text
	}
	if len(b.Calls) > 0 {
		s += " · calls"
		for _, c := range b.Calls {
			s += " " + c.Tool
		}
	}
	s += fmt.Sprintf(" · %s", count(int(b.Usage.Total()), "token"))
	switch {
	case t.r.Settings.NoCost:
	case b.Agent != nil && b.Cost == 0 && b.Agent.Worth > 0:
		s += fmt.Sprintf(", worth %s, paid by the plan", b.Agent.Worth)
	default:
		s += ", " + b.Cost.String()
	}
	if b.Agent == nil {
		return s
	}
	if b.Agent.Changed {
		s += " · it changed files that it may only read"
	}
	return s + leftOut(b.Agent.LeftOut)
}

// turnEnds says for people how a turn of a coding agent ended.
var turnEnds = map[pawl.AgentStop]string{
	pawl.AgentEnded: "ended its turn", pawl.AgentCapped: "was ended at its limit", pawl.AgentTurns: "stopped at a limit of its own",
	pawl.AgentRefused: "refused",
}

func (t teller) returned(b *pawl.ToolReturned) string {
	tool := t.asked(b.Effect)
	switch {
	case b.Interrupted:
		return tool + ": interrupted when the process died"
	case len(b.LeftOut) > 0:
		return tool + ": the worktree holds what cannot be recorded" + leftOut(b.LeftOut)
	case len(b.Met) > 0:
		return tool + ": " + b.Met[0].String()
	case b.IsError:
		return tool + ": error: " + plain.Line(t.blobs.text(b.Output), 160)
	}
	return tool + ": " + count(int(b.Bytes), "byte")
}

// mainArguments are the names under which tools take what they are about, the
// most telling first.
var mainArguments = [...]string{"path", "file", "command", "pattern", "query", "url", "name"}

// toolCall returns a tool's name with the argument that tells most: "edit main.go".
func toolCall(tool string, args []byte) string {
	var in map[string]any
	if json.Unmarshal(args, &in) != nil {
		return tool
	}
	for _, name := range mainArguments {
		if s, ok := in[name].(string); ok && s != "" {
			return tool + " " + plain.Line(s, 100)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if s, ok := in[name].(string); ok && s != "" {
			return tool + " " + plain.Line(s, 100)
		}
	}
	return tool
}

// applySession folds the events of sessions; f is the effect that the event answers, or nil.
func (r *Run) applySession(l *Loop, e pawl.Event, f *pawl.Effect) {
	switch b := e.Body.(type) {
	case *pawl.SessionStarted:
		r.worksAgain()
		l.startSession(e, b)
	case *pawl.PromptAssembled:
		if s := l.session(f); s != nil {
			s.Prompt, s.PromptSeq = b, e.Seq
		}
	case *pawl.ModelReplied:
		if s := l.session(f); s != nil {
			s.Turn++
			s.Model = b.Model
		}
		r.told = nil
		r.charge(l, f, Spending{Calls: 1, Cost: b.Cost, Tokens: b.Usage.Total()})
	case *pawl.SessionEnded:
		if s := l.sessions[b.Session]; s != nil {
			s.End, s.EndSeq = b, e.Seq
		}
	}
	if x, ok := SaidBy(e, f); ok && l.sessions[x.Session] != nil {
		l.sessions[x.Session].hear(x)
	}
}

func (t teller) tellSession() string {
	switch b := t.e.Body.(type) {
	case *pawl.SessionStarted:
		return t.sessionStarted(b)
	case *pawl.NoteAdded:
		if b.Call > 0 {
			if b.IsError {
				return fmt.Sprintf("%s: call %d refused: %s", t.place(b.Session), b.Call, b.Text)
			}
			return fmt.Sprintf("%s: call %d answered: %s", t.place(b.Session), b.Call, b.Text)
		}
		return fmt.Sprintf("%s: note: %s", t.place(b.Session), t.blobs.note(b))
	case *pawl.PromptAssembled:
		s := "prompt assembled: " + count(int(b.Bytes), "byte")
		if len(b.Cut) > 0 {
			s += ", left out to fit: " + strings.Join(b.Cut, ", ")
		}
		return s
	case *pawl.ModelReplied:
		return t.reply(b)
	case *pawl.ToolReturned:
		return t.returned(b)
	case *pawl.AgentProgressed:
		if b.Used == (pawl.Usage{}) {
			return "the agent works in its session " + plain.Line(b.Session, 60)
		}
		return fmt.Sprintf("the agent has used %s so far", count(int(b.Used.Total()), "token"))
	case *pawl.ModelSwitched:
		return t.r.switchedText(t.l, b)
	case *pawl.SessionEnded:
		return t.sessionEnded(b)
	}
	return ""
}

// note returns what the harness said in a session, whole.
func (b Blobs) note(n *pawl.NoteAdded) string { return b.text(n.Blob) + n.Text }

func (k *Look) lookSession(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.SessionStarted, *pawl.ModelReplied:
		k.Level = Normal
	case *pawl.PromptAssembled, *pawl.AgentProgressed:
		k.Level = Detail
	case *pawl.ModelSwitched:
		if k.Tone = ToneWarning; b.Session == 0 || b.SessionOnly {
			k.Level, k.Tone = Normal, TonePlain
		}
	case *pawl.NoteAdded:
		if k.Level = Detail; b.IsError {
			k.Level = Normal
		}
	case *pawl.ToolReturned:
		if k.Level = Detail; b.IsError || b.Interrupted {
			k.Level = Normal
		}
	case *pawl.SessionEnded:
		if b.Facts.Get(factOverruled) == "" && (b.Result == pawl.SessionDone || b.Result == pawl.SessionAbandoned) { // a line before says why
			k.Level = Normal
		}
	}
}
