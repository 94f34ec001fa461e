package pawl

import "time"

// The events of notes: to a session, and to a loop's siblings.

// NoteAdded says that the harness itself spoke in a session.
type NoteAdded struct {
	Session int    `json:"session"`
	Text    string `json:"text"` // at most 400 bytes
	// Call is set when the note is the answer to tool call number Call-1.
	Call    int  `json:"call,omitempty"`
	IsError bool `json:"is_error,omitempty"`
	// Blob is a text that comes before Text: the reminder of the session's prompt; zero = none.
	Blob Hash `json:"blob,omitzero"`
	// More is set where the session's time was up: it goes on this much longer, in which a coding agent
	// hands in what it has.
	More time.Duration `json:"more,omitempty"`
}

// EventKind implements [Body].
func (*NoteAdded) EventKind() Kind { return KindNoteAdded }

func (b *NoteAdded) fields(c *coder) {
	num(c, 1, &b.Session)
	str(c, 2, &b.Text)
	num(c, 3, &b.Call)
	flag(c, 4, &b.IsError)
	sum(c, 5, &b.Blob)
	num(c, 6, &b.More)
}

// NotePosted says that a loop wrote an entry of its siblings' shared blackboard.
type NotePosted struct {
	Key   string `json:"key"`   // at most 60 bytes
	Value string `json:"value"` // at most 300 bytes
}

// EventKind implements [Body].
func (*NotePosted) EventKind() Kind { return KindNotePosted }

func (b *NotePosted) fields(c *coder) {
	str(c, 1, &b.Key)
	str(c, 2, &b.Value)
}
