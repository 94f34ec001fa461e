package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// Sent is what a session was sent at its beginning.
type Sent struct {
	Session int          `json:"session"`
	Loop    pawl.LoopRef `json:"loop"`
	Place   pawl.Place   `json:"place"`
	Event   pawl.Seq     `json:"event"` // its PromptAssembled
	// Parts are the system prompt, the prompt and the tools, in this order,
	// those that there are.
	Parts []SentPart `json:"parts"`
	Bytes int64      `json:"bytes"`
	Cut   []string   `json:"cut,omitempty"` // what was left out to fit
}

// SentPart is one part of what was sent.
type SentPart struct {
	Name string    `json:"name"` // system, prompt or tools
	Blob pawl.Hash `json:"blob"`
}

// Prompt finds what a session was sent. The selector is empty for the newest
// session; successive parts of a session's place, such as "implement", "2/implement" or
// "parser/1", for the newest one there; a task's id for the newest one
// of that task; "session-N" for the root loop's session of that number; or
// "event-N" for the one that this event started or said something in. Behind
// "loop-N/" all but the last of them are looked for in that loop alone.
func Prompt(r *Run, selector string) (Sent, error) {
	all := r.sessions(func(s *Session) bool { return s.Prompt != nil })
	var found *Session
	for _, s := range all {
		if selects(selector, s) {
			found = s
		}
	}
	if found == nil {
		return Sent{}, r.errNoSession(selector, all)
	}
	b := found.Prompt
	sent := Sent{Session: found.Session, Loop: found.loop, Place: found.Place, Event: found.PromptSeq, Bytes: b.Bytes, Cut: b.Cut}
	for _, p := range []SentPart{{"system", b.System}, {"prompt", b.Prompt}, {"tools", b.Tools}} {
		if !p.Blob.IsZero() {
			sent.Parts = append(sent.Parts, p)
		}
	}
	return sent, nil
}

// errNoSession is the error of a selector that names none of the sessions there are.
func (r *Run) errNoSession(selector string, all []*Session) error {
	id := plain.Line(string(r.ID), 0)
	if len(all) == 0 {
		return pawl.Errorf(pawl.CodeNotFound, "run %s has sent no prompt yet", id)
	}
	var places []string
	for _, s := range all {
		if place := s.Place.String(); !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return pawl.Errorf(pawl.CodeNotFound, "run %s has no session at %q", id, plain.Line(selector, 80)).
		WithHint("there are: %s", plain.Line(strings.Join(places, ", "), 1000))
}

// sessions returns those of all loops for which are returns true, oldest first.
func (r *Run) sessions(are func(*Session) bool) []*Session {
	var out []*Session
	for _, l := range r.Loops {
		for _, s := range l.sessions {
			if are(s) {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Session) int { return int(a.Seq) - int(b.Seq) })
	return out
}

// selects reports whether a selector names a session; see [Prompt].
func selects(selector string, s *Session) bool {
	if n, ok := strings.CutPrefix(selector, "event-"); ok {
		return n == fmt.Sprint(s.Seq) || slices.ContainsFunc(s.Said, func(x Said) bool { return n == fmt.Sprint(x.Seq) })
	}
	loop := pawl.LoopRef(1) // of a session's number
	if rest, ok := strings.CutPrefix(selector, "loop-"); ok {
		n, inner, _ := strings.Cut(rest, "/")
		if n != fmt.Sprint(s.loop) {
			return false
		}
		loop, selector = s.loop, inner
	}
	if n, ok := strings.CutPrefix(selector, "session-"); ok {
		return s.loop == loop && n == strconv.Itoa(s.Session)
	}
	segments := strings.NewReplacer(":", "/")
	return selector == "" || strings.Contains("/"+segments.Replace(s.Place.String())+"/", "/"+segments.Replace(selector)+"/")
}
