package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/tried"
)

// Gist is what a question is about, in short. Its texts are safe to print; the
// zero value says that there is nothing short to say of it. Fields are added,
// never renamed.
type Gist struct {
	// Asks are the questions themselves, where an agent asks what only a person knows.
	Asks []string `json:"asks,omitempty"`
	// Issues are what a review objects to, the most severe first: "[Critical] 1.2: …".
	Issues []string `json:"issues,omitempty"`
	// Findings are what a person is asked to accept.
	Findings []FindingRow `json:"findings,omitempty"`
	// Tasks are those that a person is asked to consent to: "b: Build the form, after a".
	Tasks []string `json:"tasks,omitempty"`
	// Brief is what else it is about, one line: "a plan of 2 tasks: 1 (…), 2 (…)".
	Brief string `json:"brief,omitempty"`

	named int // how many of the findings the question's text names
}

// The limits on what is said of a question: how many of what it asks, how many issues,
// the bytes of each, and those of what it is about.
const (
	maxAsks   = 10
	maxTasks  = 50
	maxIssues = 40
	maxAsk    = 400
	maxBrief  = 240
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
		Issues    []issue         `json:"issues"`
	}
	if q.Kind == pawl.AskMerge || q.Kind == pawl.AskVerdict { // about paths, which are told with what was tried
		return Gist{}
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
	out.Issues = issues(doc.Issues)
	switch {
	case len(doc.Subtasks) > 0 && q.Kind == pawl.AskPlan:
		for _, t := range doc.Subtasks[:min(len(doc.Subtasks), maxTasks)] {
			out.Tasks = append(out.Tasks, taskLine(&t))
		}
		if more := len(doc.Subtasks) - maxTasks; more > 0 {
			out.Tasks = append(out.Tasks, fmt.Sprintf("and %d more", more))
		}
	case len(doc.Subtasks) > 0:
		var tasks []string
		for _, t := range doc.Subtasks {
			tasks = append(tasks, fmt.Sprintf("%s (%s)", plain.Line(t.ID, 40), plain.Line(t.Title, 60)))
		}
		out.Brief = plain.Line(fmt.Sprintf("a plan of %s: %s", count(len(tasks), "task"), strings.Join(tasks, ", ")), maxBrief)
	case doc.Summary != "":
		out.Brief = plain.Line(doc.Summary, maxBrief)
	case len(out.Issues) == 0:
		out.Brief = plain.Line(doc.Blocker, maxBrief)
	}
	return out
}

// taskLine returns a task of a list with what it builds upon: "b: Build the form, after a".
func taskLine(t *pawl.TaskSpec) string {
	s := plain.Line(t.ID, 60) + ": " + plain.Line(t.Title, 120)
	if t.Scaffold {
		s += " (scaffold)"
	}
	if len(t.DependsOn) > 0 {
		s += ", after " + tried.Some(t.DependsOn, 6)
	}
	return s
}

// Gist returns what a question is about, as far as the blobs tell.
func (r *Run) Gist(q *Question, blobs Blobs) Gist {
	if q.Kind != pawl.AskFinding {
		return blobs.Gist(&q.QuestionAsked)
	}
	rows := r.FindingRows(q.findings, blobs)
	out := Gist{Findings: rows}
	for out.named < len(rows) && strings.Contains(q.Text, rows[out.named].ID+" "+rows[out.named].What()) {
		out.named++
	}
	return out
}

// issue is an objection of a review.
type issue struct {
	Severity string `json:"severity"`
	Task     string `json:"task"`
	Text     string `json:"text"`
}

// severities are those of issues, the most severe first.
var severities = []string{"Critical", "Major", "Minor", "Suggestion"}

// issues returns objections in words, the most severe first.
func issues(all []issue) []string {
	rank := func(i issue) int {
		if n := slices.Index(severities, i.Severity); n >= 0 {
			return n
		}
		return len(severities)
	}
	all = slices.SortedStableFunc(slices.Values(all[:min(len(all), maxIssues)]), func(a, b issue) int { return cmp.Compare(rank(a), rank(b)) })
	var out []string
	for _, i := range all {
		text := i.Text
		if i.Task != "" {
			text = i.Task + ": " + text
		}
		out = append(out, plain.Line("["+i.Severity+"] "+text, maxAsk))
	}
	return out
}

// shortIssues returns the first issues in one line, and how many more there are; empty if there
// are none.
func (a Gist) shortIssues() string {
	const most = 3
	s := strings.Join(a.Issues[:min(len(a.Issues), most)], "; ")
	if n := len(a.Issues) - most; n > 0 {
		s += fmt.Sprintf("; and %d more", n)
	}
	return s
}

// asked returns a question's text with what it asks, or what is objected, one line.
func (r *Run) asked(q *Question, blobs Blobs) string {
	gist := r.Gist(q, blobs)
	asks := gist.Asks
	switch len(asks) {
	case 0:
		if short := gist.shortIssues(); short != "" {
			return q.Text + " " + short
		}
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

// Lines returns what is asked, numbered where there are several questions, or what is objected, or
// what was found, one line each.
func (a Gist) Lines() []string {
	if len(a.Findings) > 0 {
		var out []string
		for i := range a.Findings {
			if row := &a.Findings[i]; i < a.named {
				out = append(out, strings.TrimSpace(row.ID+" "+row.Said()))
			} else {
				out = append(out, row.String())
			}
		}
		return out
	}
	if len(a.Tasks) > 0 {
		return a.Tasks
	}
	switch len(a.Asks) {
	case 0:
		return a.Issues
	case 1:
		return a.Asks
	}
	var out []string
	for i, ask := range a.Asks {
		out = append(out, fmt.Sprintf("%d. %s", i+1, ask))
	}
	return out
}

// label returns what the lines are.
func (a Gist) label() string {
	switch {
	case len(a.Findings) > 0:
		return "found"
	case len(a.Tasks) > 0:
		return "plan"
	case len(a.Asks) == 0:
		return "issues"
	}
	return "asks"
}
