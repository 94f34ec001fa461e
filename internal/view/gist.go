package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// Gist is what a question is about, in short. Its texts are safe to print; the
// zero value says that there is nothing short to say of it. Fields are added,
// never renamed.
type Gist struct {
	// Asks are the questions themselves, where an agent asks what only a person knows.
	Asks []string `json:"asks,omitempty"`
	// Brief is what else it is about, one line: "a plan of 2 tasks: 1 …, 2 …".
	Brief string `json:"brief,omitempty"`
}

// The limits on what is said of a question: how many of what it asks, the bytes of
// each, and those of what it is about.
const (
	maxAsks  = 10
	maxAsk   = 400
	maxBrief = 240
)

// Gist returns what a question is about, as far as the blobs tell.
func (b Blobs) Gist(q *pawl.QuestionAsked) Gist {
	data := b.bytes(q.About)
	if len(data) == 0 {
		return Gist{}
	}
	var doc struct {
		Questions []string        `json:"questions"`
		Subtasks  []pawl.TaskSpec `json:"subtasks"`
		Blocker   string          `json:"blocker"`
		Summary   string          `json:"summary"`
	}
	if json.Unmarshal(data, &doc) != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(data[:min(len(data), 4*maxBrief)])), "\n")
		if json.Valid(data) || strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") {
			first = "" // what it is nobody can say in short
		}
		return Gist{Brief: plain.Line(first, maxBrief)}
	}
	var out Gist
	if q.Kind == pawl.AskClarify {
		for _, ask := range doc.Questions[:min(len(doc.Questions), maxAsks)] {
			out.Asks = append(out.Asks, plain.Line(ask, maxAsk))
		}
	}
	switch {
	case len(doc.Subtasks) > 0:
		var tasks []string
		for _, t := range doc.Subtasks {
			tasks = append(tasks, plain.Line(t.ID, 40)+" "+plain.Line(t.Title, 60))
		}
		out.Brief = plain.Line(fmt.Sprintf("a plan of %s: %s", count(len(tasks), "task"), strings.Join(tasks, ", ")), maxBrief)
	case doc.Summary != "":
		out.Brief = plain.Line(doc.Summary, maxBrief)
	default:
		out.Brief = plain.Line(doc.Blocker, maxBrief)
	}
	return out
}

// asked returns a question's text with what it asks, one line.
func (b Blobs) asked(q *pawl.QuestionAsked) string {
	asks := b.Gist(q).Asks
	switch len(asks) {
	case 0:
		return q.Text
	case 1:
		return strings.TrimSuffix(q.Text, ".") + ": " + asks[0]
	}
	s := strings.TrimSuffix(q.Text, ".") + ":"
	for i, ask := range asks {
		s += fmt.Sprintf(" %d. %s", i+1, ask)
	}
	return s
}

// Lines returns what is asked, one line each, numbered where there are several.
func (a Gist) Lines() []string {
	if len(a.Asks) == 1 {
		return a.Asks
	}
	var out []string
	for i, ask := range a.Asks {
		out = append(out, fmt.Sprintf("%d. %s", i+1, ask))
	}
	return out
}
