package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/tried"
)

// runQuestions is what a run's loops have asked.
type runQuestions struct {
	Questions []*Question // in the order they were asked

	story tried.Story // what was tried, and what was said of that
}

// OpenQuestion is a question that waits for a person, with what they need to
// decide it. Its texts are safe to print. Fields are added, never renamed.
type OpenQuestion struct {
	Run   pawl.RunID `json:"run"`
	Title string     `json:"title"` // of the run
	QuestionRow
	Gist
	Seconds float64 `json:"seconds"` // it has waited
	// Context is what led to it, one line each, most telling first.
	Context []string `json:"context"`
	// How is the command that answers it with its first choice, and the others.
	How string `json:"how"`
}

// Questions returns the run's open questions at a time, oldest first. The zero time is no time: how long they
// have waited is not known then.
func Questions(r *Run, now time.Time, blobs Blobs) []OpenQuestion {
	out := []OpenQuestion{}
	for _, q := range r.OpenQuestions() {
		out = append(out, OpenQuestion{Run: pawl.RunID(plain.Line(string(r.ID), 0)), Title: plain.Line(r.Start.Title, 0), QuestionRow: r.QuestionRow(q), Gist: r.Gist(q, blobs),
			Seconds: max(0, now.Sub(q.Asked).Seconds()), Context: append([]string{}, r.Context(q, blobs)...), How: r.HowToAnswer(q)})
	}
	return out
}

// Context returns what led to a question, whatever its kind, one safe line each: what was tried and what
// reviewers, gates and people said of that, what the run went back from, and how things stand. With the
// text and the meaning of the choices it is all that an answer needs.
func (r *Run) Context(q *Question, blobs Blobs) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, line(format, args...)) }
	if t := r.task(q.Loop); t != nil && q.Kind != pawl.AskStart {
		tries := "1 try"
		if n := len(r.story.Of(q.Loop.Parent, t.ID)); n != 1 {
			tries = fmt.Sprintf("%d tries", n)
		}
		add("task %s: %s, %s so far", t.ID, t.Title, tries)
	}
	out = append(out, r.story.Led(q.N, blobs.bytes)...)
	if q.Kind == pawl.AskStuck {
		out = append(out, q.Loop.rounds(blobs)...)
	}
	l := q.Loop
	if l != nil && l.Parent > 0 {
		l = r.loop(l.Parent)
	}
	if l == nil {
		return out
	}
	for _, h := range l.recovered() {
		add("%s", h.led())
	}
	if h := l.health(); q.Kind == pawl.AskHealth && h != nil && !strings.Contains(q.Text, h.Reason) { // asked by an earlier version
		add("%s", h.text())
	}
	if n := len(l.Batches); n > 0 && l.Batches[n-1].Ended != nil && l.Batches[n-1].Ended.Attempted > 0 {
		add("%s", l.Batches[n-1].head())
	}
	if p := l.Plan(); p != nil && (q.Kind == pawl.AskHealth || q.Kind == pawl.AskBlocked) {
		for _, t := range p.Tasks {
			if t.Held != nil {
				add("%s waits for %s%s", t.ID, t.HeldBehind, because(t.Held.Reason))
			}
		}
	}
	if k, p := l.lastGood(), l.Plan(); k != nil && p != nil && q.Kind == pawl.AskHealth {
		later := ""
		if n := p.Count(pawl.TaskPassed) - k.Approved; n > 0 {
			later = "; approved after it and still in the branch: " + count(n, "task")
		}
		add("the last good state is %s%s", l.checkpointName(k.N), later)
	}
	return out
}

// maxRounds bounds how many rounds are told of.
const maxRounds = 6

// rounds returns what the last rounds of the group of steps under way decided, a line each, and what
// it has made.
func (l *Loop) rounds(blobs Blobs) []string {
	if !l.trying() {
		return nil
	}
	var last *Session // the one that decides
	sessions := l.last().Sessions
	for _, s := range slices.Backward(sessions) {
		if last == nil && s.End != nil && s.Place.Round > 0 && s.End.Facts.Get("decision") != "" {
			last = s
		}
	}
	if last == nil {
		return nil
	}
	var made, said []string // the last result, and what was said
	in := map[string][]int{}
	for _, s := range sessions {
		if s.End == nil || s.End.Result != pawl.SessionDone {
			continue
		}
		gist := blobs.Gist(&pawl.QuestionAsked{About: s.End.Output})
		switch {
		case s.Place.Step == last.Place.Step && s.Place.Round > last.Place.Round-maxRounds:
			text := s.End.Facts.Get("decision") + because(gist.shortIssues())
			if in[text] == nil {
				said = append(said, text)
			}
			in[text] = append(in[text], s.Place.Round)
		case s.Place.Round == last.Place.Round && gist.Brief != "":
			made = []string{line("%s, round %d: %s", s.Place.Step, s.Place.Round, gist.Brief)}
		}
	}
	for _, text := range said {
		unit := "round"
		if len(in[text]) > 1 {
			unit = "rounds"
		}
		made = append(made, line("%s, %s %s: %s", last.Place.Step, unit, tried.Numbers(slices.Compact(in[text])), text))
	}
	return made
}

// QuestionsText returns an inbox for people: open questions of any runs, the one that
// has waited longest first.
func QuestionsText(all []OpenQuestion) string {
	var t text
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b OpenQuestion) int { return a.Asked.Compare(b.Asked) })
	for i, q := range all {
		if i > 0 {
			t.line("")
		}
		task := ""
		if q.Task != "" {
			task = " about task " + q.Task
		}
		open := ""
		if q.Seconds > 0 {
			open = ", open for " + pawl.Span(time.Duration(q.Seconds)*time.Second)
		}
		t.line("%s", fmt.Sprintf("Run %s, question %d (%s)%s%s", q.Run, q.N, q.Kind, task, open))
		t.line("  %s", q.Text)
		for i, ask := range q.Lines() {
			t.line("  %-7s %s", map[bool]string{true: q.label()}[i == 0], ask)
		}
		for _, c := range q.Context {
			t.line("  · %s", c)
		}
		if q.Brief != "" {
			t.line("  about   %s", q.Brief)
		}
		if q.Brief != "" || len(q.Findings) > 0 {
			t.line("  more    pawl answer %s %d", q.Run, q.N)
		}
		for i, means := range q.means() {
			t.line("  %-7s %s", map[bool]string{true: "choices"}[i == 0], means)
		}
		t.line("  answer  %s", q.How)
	}
	return t.String()
}

// Question is one that a loop asked, and what became of it.
type Question struct {
	pawl.QuestionAsked
	Loop      *Loop
	Seq       pawl.Seq
	Asked     time.Time
	Answered  *pawl.QuestionAnswered
	Withdrawn *pawl.QuestionWithdrawn

	findings []*Finding // that it asks about
}

// means returns the choices with what each does; nothing where their words say it.
func (q QuestionRow) means() []string { return meanings(q.Choices, q.Means) }

// Meanings returns the choices with what each does, a line each; nothing where their words say it.
func (q *Question) Meanings() []string { return meanings(lines(q.Choices), lines(q.Means)) }

func meanings(choices, means []string) []string {
	var out []string
	for i, c := range choices {
		if i < len(means) && means[i] != "" {
			out = append(out, c+": "+means[i])
		}
	}
	return out
}

// Open reports whether the question waits for an answer.
func (q *Question) Open() bool { return q.Answered == nil && q.Withdrawn == nil }

// OpenQuestions returns those that wait for an answer, oldest first.
func (r *Run) OpenQuestions() []*Question {
	var out []*Question
	for _, q := range r.Questions {
		if q.Open() {
			out = append(out, q)
		}
	}
	return out
}

// Question finds a question by its number, or nil.
func (r *Run) Question(n int) *Question {
	for _, q := range r.Questions {
		if q.N == n {
			return q
		}
	}
	return nil
}

// OfTree reports a question about the plan of a tree of loops: pawl plan decides it.
func (q *Question) OfTree() bool { return q != nil && ofTree(&q.QuestionAsked) }

func ofTree(q *pawl.QuestionAsked) bool {
	return q.Kind == pawl.AskPlan && slices.Contains(q.Choices, choiceIterate)
}

// HowToAnswer returns the command that answers a question, with the other choices.
func (r *Run) HowToAnswer(q *Question) string {
	return plain.Line(r.howToAnswer(&q.QuestionAsked), 0)
}

// howToAnswer returns the command that answers a question, with its first choice and
// the others behind it.
func (r *Run) howToAnswer(q *pawl.QuestionAsked) string {
	if ofTree(q) {
		s := fmt.Sprintf("pawl plan approve %s", r.ID)
		if asked := r.Question(q.N); asked != nil && asked.Loop.Parent > 0 {
			s += " " + asked.Loop.ID
		}
		return s + " (shows it first; or iterate, reject)"
	}
	s := fmt.Sprintf("pawl answer %s %d", r.ID, q.N)
	if len(q.Choices) == 0 {
		return s
	}
	s += " " + q.Choices[0]
	if q.Kind == pawl.AskClarify {
		s += ` --text "…"` // what only a person knows
	}
	if more := q.Choices[1:]; len(more) > 0 {
		s += " (or " + strings.Join(more, ", ") + ")"
	}
	return s
}

// applyQuestion folds the events of questions. A user's answer is the run's event, a loop's
// withdrawal the loop's: they name the question themselves.
func (r *Run) applyQuestion(l *Loop, e pawl.Event) {
	r.story.Take(e)
	switch b := e.Body.(type) {
	case *pawl.QuestionAsked:
		if l != nil {
			r.Questions = append(r.Questions, &Question{QuestionAsked: *b, Loop: l, Seq: e.Seq, Asked: e.Time, findings: r.toAsk(l, b)})
		}
	case *pawl.QuestionAnswered:
		if q := r.Question(b.N); q != nil {
			q.Answered = b
		}
	case *pawl.QuestionWithdrawn:
		if q := r.Question(b.N); q != nil {
			q.Withdrawn = b
		}
	}
}

func (t teller) tellQuestion() string {
	switch b := t.e.Body.(type) {
	case *pawl.QuestionAsked:
		return fmt.Sprintf("Question %d (%s): %s · waits for you: %s", b.N, b.Kind, t.r.asked(&Question{QuestionAsked: *b}, t.blobs), t.r.howToAnswer(b))
	case *pawl.QuestionAnswered:
		s := fmt.Sprintf("Question %d answered: %s", b.N, b.Choice)
		if b.By != "" {
			s += " by " + b.By
		}
		return s + because(b.Text)
	case *pawl.QuestionWithdrawn:
		return fmt.Sprintf("Question %d is not asked any more%s", b.N, because(b.Reason))
	}
	return ""
}

func (k *Look) lookQuestion(e pawl.Event) {
	if _, ok := e.Body.(*pawl.QuestionAsked); ok {
		k.Tone = ToneWarning
	}
}
