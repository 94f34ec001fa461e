package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pawl"
	"pawl/internal/plain"
)

// Answer is what a run that has ended says at its end: an answer to the goal, or an account of what
// became of it. Agents wrote it, so that it is a claim: what holds is the outcome. Its texts are
// safe to print. Fields are added, never renamed.
type Answer struct {
	Text  string       `json:"text"`  // of all parts
	Parts []AnswerPart `json:"parts"` // in the order they were written
}

// AnswerPart is what one session wrote.
type AnswerPart struct {
	Step string `json:"step"` // its name in the recipe
	// Task is the path of tasks down to that of its loop; missing = the root's, which speaks for the
	// run.
	Task      string       `json:"task,omitempty"`
	Iteration int          `json:"iteration"` // 0 = it was written outside of one
	Text      string       `json:"text"`
	Event     pawl.Seq     `json:"event"` // the end of the session
	Loop      pawl.LoopRef `json:"loop"`
	Session   int          `json:"session"`
	// Passed reports that the iteration passed, or the task.
	Passed bool      `json:"passed"`
	Output pawl.Hash `json:"output"` // the blob with all that the session left
}

// AnswerOf returns what a run says at its end; nil until it has ended, or if nothing was written.
//
// A summary or a report that a step of the root loop wrote speaks for the run, such as Pandora's
// answer, and so does what a final step wrote, such as Pandora's close. Without either it is
// the last result of the root loop: of the iteration that the branch is as after. If the root loop
// has none because its tasks are worked on by loops of their own, it is what each of these wrote.
func AnswerOf(r *Run, blobs Blobs) *Answer {
	l := r.root()
	if l == nil || r.Outcome == "" {
		return nil
	}
	parts := r.answers(l, blobs)
	if len(parts) == 0 {
		return nil
	}
	var texts []string
	for _, p := range parts {
		text := p.Text
		if p.Task != "" {
			text = p.Task + ": " + text
		}
		if !slices.Contains(texts, text) { // a close may repeat the answer
			texts = append(texts, text)
		}
	}
	return &Answer{Text: strings.Join(texts, "\n\n"), Parts: parts}
}

// answers returns what a loop says, or the loops of its tasks.
func (r *Run) answers(l *Loop, blobs Blobs) []AnswerPart {
	var out []AnswerPart
	for _, s := range r.speakers(l) {
		if text := answerText(blobs.bytes(s.End.Output)); text != "" {
			out = append(out, r.answerPart(l, s, text))
		}
	}
	if p := l.Plan(); len(out) == 0 && p != nil {
		for _, t := range p.Tasks {
			if child := t.Loop(); child != nil {
				out = append(out, r.answers(child, blobs)...)
			}
		}
	}
	return out
}

func (r *Run) answerPart(l *Loop, s *Session, text string) AnswerPart {
	p := AnswerPart{Step: plain.Line(s.Place.Step, 0), Task: plain.Line(r.path(l), 0), Text: text, Event: s.Said[len(s.Said)-1].Seq, Loop: l.Ref, Session: s.Session, Output: s.End.Output}
	if s.iteration != nil {
		p.Iteration, p.Passed = s.iteration.N, s.iteration.End != nil && s.iteration.End.Decision == pawl.DecideComplete
	}
	if t := r.task(l); t != nil {
		p.Passed = t.Status == pawl.TaskPassed
	}
	return p
}

// The results that are an account of a loop's work.
var accounts = []string{"summary", "report"}

// speakers returns the sessions that speak for a loop, oldest first.
func (r *Run) speakers(l *Loop) []*Session {
	kind := r.Recipe.Kind(l.Kind)
	if kind == nil {
		return nil
	}
	if it := l.backAt(); it != nil {
		return r.speakersIn(kind, it)
	}
	for _, it := range slices.Backward(l.Iterations) {
		if out := r.speakersIn(kind, it); len(out) > 0 || it.End != nil { // one that was cut short has changed nothing
			return out
		}
	}
	return nil
}

// speakersIn is [Run.speakers] for one iteration.
func (r *Run) speakersIn(kind *pawl.LoopKind, it *Iteration) []*Session {
	newest := map[string]*Session{}
	var work *Session
	for _, s := range it.Sessions {
		if s.Purpose != pawl.ForStep || !s.left() {
			continue
		}
		step := slices.IndexFunc(kind.FinalSteps, func(x pawl.Step) bool { return x.Name == s.Place.Step })
		switch output, ok := stepOutput(kind.Steps, s.Place.Step); {
		case step >= 0 && s.Seq > r.since: // an earlier end of the run does not count any more
			newest[s.Place.Step] = s
		case step >= 0 || !ok:
		case slices.Contains(accounts, output):
			newest[s.Place.Step] = s
		case output == "" || output == "result":
			work = s
		}
	}
	if len(newest) == 0 && work != nil {
		return []*Session{work}
	}
	var out []*Session
	for _, s := range it.Sessions {
		if newest[s.Place.Step] == s {
			out = append(out, s)
		}
	}
	return out
}

// left reports whether a session ended with something to read, at its turn cap too.
func (s *Session) left() bool {
	return s.End != nil && !s.End.Output.IsZero() && (s.End.Result == pawl.SessionDone || s.End.Result == pawl.SessionTurns) && len(s.Said) > 0
}

// stepOutput returns the output of a step, of those of groups too, and whether there is the step.
func stepOutput(steps []pawl.Step, name string) (string, bool) {
	for _, s := range steps {
		if s.Name == name && s.Repeat == nil {
			return s.Output, true
		}
		if s.Repeat != nil {
			if output, ok := stepOutput(s.Repeat.Steps, name); ok {
				return output, true
			}
		}
	}
	return "", false
}

// answerText returns what a session left, for people: a text as it is, and of a result what it
// says at length.
func answerText(data []byte) string {
	var said struct {
		Summary      string   `json:"summary"`
		Details      string   `json:"details"`
		Reason       string   `json:"reason"`
		Blocker      string   `json:"blocker"`
		Goal         string   `json:"goal"`
		Completed    []string `json:"completed"`
		Verification string   `json:"verification"`
		Adherence    string   `json:"decision_adherence"`
	}
	if json.Unmarshal(data, &said) != nil {
		return strings.TrimSpace(plain.Text(string(data)))
	}
	var out []string
	add := func(lead, text string) {
		if text = strings.TrimSpace(plain.Text(text)); text != "" {
			out = append(out, lead+text)
		}
	}
	add("", said.Summary)
	add("", said.Details)
	add("Blocked: ", cmp.Or(said.Reason, said.Blocker))
	add("Goal: ", said.Goal)
	if list := lines(said.Completed); len(list) > 0 {
		add("Completed:\n- ", strings.Join(list, "\n- "))
	}
	add("Verification: ", said.Verification)
	add("Decision adherence: ", said.Adherence)
	if len(out) == 0 { // a text that happens to be JSON
		add("", string(data))
	}
	return strings.Join(out, "\n\n")
}

// The limits on an answer among other things: on the lines of one part, and on the tasks that are
// quoted where nobody speaks for the run.
const (
	answerLines = 24
	answerTasks = 12
	answerWidth = 90 // columns
)

// AnswerHeading returns the line above an answer of the run: it says so when nobody speaks for the
// run, and when the attempt that wrote the answer did not pass. Of a run that did not end complete it says whose
// words they are, since they may claim more than holds.
func (r *Run) AnswerHeading(a *Answer) string {
	last := a.Parts[len(a.Parts)-1]
	switch {
	case a.ByTask():
		return "No answer was written for the whole run. What its tasks say:"
	case r.root().isAlone() && !last.Passed:
		return fmt.Sprintf("The agent's answer at attempt %d, which did not pass:", last.Iteration)
	case r.Outcome == pawl.OutcomeUnverified:
		return fmt.Sprintf("The agent's answer in step %s, which nothing verified:", last.Step)
	case !r.Outcome.Succeeded():
		return fmt.Sprintf("The agent's answer in step %s, though the run ended %s:", last.Step, plain.Line(string(r.Outcome), 0))
	}
	return "Answer:"
}

// ByTask reports whether nobody speaks for the run: the parts are what its tasks say.
func (a *Answer) ByTask() bool { return a.Parts[0].Task != "" }

// Who returns the task that wrote the part, and says so if it did not pass.
func (p *AnswerPart) Who() string {
	if p.Passed {
		return p.Task
	}
	return p.Task + ", which did not pass"
}

// answer writes what a run says at its end below a heading, and reports whether it says anything.
func (r *Run) answer(t *text, blobs Blobs) bool {
	a := AnswerOf(r, blobs)
	if a == nil {
		return false
	}
	all := fmt.Sprintf("pawl show %s --answer", r.ID)
	t.line("%s", r.AnswerHeading(a))
	if a.ByTask() {
		for i, p := range a.Parts {
			if i == answerTasks {
				t.line("  … and %s: %s", count(len(a.Parts)-i, "other"), all)
				break
			}
			t.line("  %s: %s", p.Who(), plain.Line(p.Text, 200))
		}
		return true
	}
	o := TranscriptOptions{Lines: answerLines, More: all}
	for _, line := range o.excerpt(textLines(a.Text)) {
		if ansi.StringWidth(line) > answerWidth {
			t.wrapped("  ", "  ", line, answerWidth)
			continue
		}
		t.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	return true
}
