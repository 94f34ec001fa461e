package pawl

import "time"

// The effects that tell others of a run: how it ends, and what it asks.

// Notify tells the run's callback how the run ends. Answered by [Notified].
type Notify struct {
	Outcome Outcome    `json:"outcome"`
	Reason  string     `json:"reason"`
	Head    CommitHash `json:"head,omitempty"`
	Try     int        `json:"try"`
	// Cost and Tokens are what the run has used; Time is when it came to its end.
	// They are the same at every try.
	Cost   Micros    `json:"cost"`
	Tokens int64     `json:"tokens"`
	Time   time.Time `json:"time"`
	// Findings counts those of the result that nobody accepted.
	Findings int `json:"findings,omitempty"`
}

// Verb implements [Do].
func (*Notify) Verb() Verb { return VerbNotify }

func (d *Notify) fields(c *coder) {
	str(c, 1, &d.Outcome)
	str(c, 2, &d.Reason)
	str(c, 3, &d.Head)
	num(c, 4, &d.Try)
	num(c, 5, &d.Cost)
	num(c, 6, &d.Tokens)
	instant(c, 7, &d.Time)
	num(c, 8, &d.Findings)
}

// Announce tells whoever is to be told that a question is open: the command and the
// address of the settings. Answered by [Notified].
type Announce struct {
	// Question is its number, Kind, Text, Choices and Means are what was asked.
	Question int          `json:"question"`
	Kind     QuestionKind `json:"kind"`
	Text     string       `json:"text"`
	Choices  []string     `json:"choices"`
	Try      int          `json:"try"` // from 1
	Means    []string     `json:"means,omitempty"`
}

// Verb implements [Do].
func (*Announce) Verb() Verb { return VerbAnnounce }

func (d *Announce) fields(c *coder) {
	num(c, 1, &d.Question)
	str(c, 2, &d.Kind)
	str(c, 3, &d.Text)
	words(c, 4, &d.Choices)
	num(c, 5, &d.Try)
	words(c, 6, &d.Means)
}
