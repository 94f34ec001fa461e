package recipe

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"pawl"
	"pawl/internal/strictyaml"
)

// promptView is PromptData with what is not to be trusted in types that show it
// as data.
type promptView struct {
	PromptData
	Criteria  []criterionView
	Feedback  []feedbackView
	Inputs    map[string]block
	History   []line
	RedAtBase []line
	RedTests  []line
	Task      *taskView
	// What a prompt says of earlier iterations when it says it as Loopr does. Attempts
	// are all of them, once there are two; Objections what was objected to the last one,
	// one line a point, and Reports what there is to read about them; UserFeedback is
	// what persons said of iterations, Told what they told the loop while it ran. These
	// two stand in Feedback too, and in none of the others.
	Attempts     []attemptView
	Objections   []objectionView
	Reports      []feedbackView
	UserFeedback []saidView
	Told         []block
	Plan         block
	State        block
	Memory       []memoryView
	// Instructions are what of the memory a person said; Memory is all the rest.
	// The others are parts of that: Learnings those of tasks, from attempts that did
	// not fail; Other is what is neither a decision nor an anti-pattern.
	Instructions, Learnings, Discoveries, Errors, Decisions, AntiPatterns, Other []memoryView
	Signs                                                                        []line
	Cause                                                                        line
	Item                                                                         block
	Answers                                                                      []block
	Batch                                                                        []memberView
}

// criterionView has plain texts when they are the user's.
type criterionView struct {
	N        int // its place in the list, from 1
	ID, Text any
}

type feedbackView struct {
	From     line
	Verdict  line
	Summary  line
	Evidence block
}

// attemptView is one earlier iteration, or several of which no more is known.
type attemptView struct {
	Iterations words
	Text       line
}

type objectionView struct{ From, Text line }

type saidView struct {
	N    int // the iteration it was said of
	Text block
}

type taskView struct {
	ID, Title, Description, Notes, Intent, Mode words
	// Details are the description and the notes with their line breaks.
	Details block
	// ValidationCommand is the shell line that says whether the work is done.
	ValidationCommand block
	Priority          int
	DependsOn         words
}

type memoryView struct {
	Kind, Task, Text words
	Failed           bool
	Number           words // its number among the task's learnings, such as 003
}

type memberView struct {
	*taskView
	Scaffold      bool
	Criteria      []criterionView
	Result, Paths block
	Diff          block
}

func viewOf(d PromptData) promptView {
	v := promptView{PromptData: d, Inputs: map[string]block{}, History: lines(d.History), RedAtBase: lines(d.RedAtBase), RedTests: lines(d.RedTests),
		Plan: block(d.Plan), State: block(d.State), Signs: lines(d.Signs), Cause: line(d.Cause), Item: block(d.Item), Criteria: criteria(d.Criteria, d.Task == nil)}
	for _, text := range d.Answers {
		v.Answers = append(v.Answers, block(text))
	}
	for i := range d.Batch {
		m := &d.Batch[i]
		v.Batch = append(v.Batch, memberView{task(&m.Task), m.Task.Scaffold, criteria(m.Task.CriteriaList(), false), block(m.Result), block(m.Paths), block(m.Diff)})
	}
	for name, text := range d.Inputs {
		v.Inputs[name] = block(text)
	}
	for _, f := range d.Feedback {
		v.object(f)
	}
	v.Attempts = attempts(d.Iteration, d.History)
	if d.Task != nil {
		v.Task = task(d.Task)
	}
	v.remember(d.Memory)
	return v
}

// object adds one objection, or what a person said.
func (v *promptView) object(f Feedback) {
	view := feedbackView{line(f.From), line(f.Verdict), line(f.Summary), block(f.Evidence)}
	v.Feedback = append(v.Feedback, view)
	switch text := block(orElse(f.Evidence, f.Summary)); {
	case f.Person && f.Said > 0:
		v.UserFeedback = append(v.UserFeedback, saidView{f.Said, text})
		return
	case f.Person:
		v.Told = append(v.Told, text)
		return
	}
	points := f.Points
	if len(points) == 0 {
		points = []string{orElse(f.Summary, f.Verdict)}
	}
	for _, p := range points {
		v.Objections = append(v.Objections, objectionView{view.From, line(p)})
	}
	if f.Evidence != "" {
		v.Reports = append(v.Reports, view)
	}
}

// attempts are the iterations before this one, once there are two. A line of the
// history begins with "attempt N: "; it reaches back some way only.
func attempts(iteration int, history []string) (out []attemptView) {
	if iteration < 3 {
		return nil
	}
	next := 1
	upTo := func(n int) {
		switch n - next {
		case 0:
		case 1:
			out = append(out, attemptView{words(fmt.Sprintf("Iteration %d", next)), "it is not known here"})
		default:
			out = append(out, attemptView{words(fmt.Sprintf("Iterations %d to %d", next, n-1)), "they are not known here"})
		}
	}
	for _, text := range history {
		var n int
		if _, err := fmt.Sscanf(text, "attempt %d:", &n); err != nil || n < next || n >= iteration {
			continue
		}
		upTo(n)
		_, text, _ = strings.Cut(text, ": ")
		out = append(out, attemptView{words(fmt.Sprintf("Iteration %d", n)), line(text)})
		next = n + 1
	}
	upTo(iteration)
	return out
}

// criteria are shown as they are when they are the user's.
func criteria(list []pawl.Criterion, users bool) (out []criterionView) {
	for i, c := range list {
		view := criterionView{i + 1, c.ID, c.Text}
		if !users {
			view.ID, view.Text = words(c.ID), words(c.Text)
		}
		out = append(out, view)
	}
	return out
}

func task(t *pawl.TaskSpec) *taskView {
	return &taskView{words(t.ID), words(t.Title), words(t.Description), words(t.Notes), words(t.Intent), words(t.Mode),
		details(t), block(t.ValidationCommand), t.Priority, words(strings.Join(t.DependsOn, ", "))}
}

func details(t *pawl.TaskSpec) block {
	return block(strings.TrimSpace(strings.TrimSpace(t.Description) + "\n\n" + strings.TrimSpace(t.Notes)))
}

func (v *promptView) remember(entries []Memory) {
	for _, m := range entries {
		view := memoryView{Kind: words(m.Kind), Task: words(m.Task), Text: words(m.Text), Failed: m.Failed}
		if m.Learning > 0 {
			view.Number = words(fmt.Sprintf("%03d", m.Learning))
		}
		if m.Kind == pawl.MemoryInstruction {
			v.Instructions = append(v.Instructions, view)
			continue
		}
		v.Memory = append(v.Memory, view)
		switch m.Kind {
		case pawl.MemoryDecision:
			v.Decisions = append(v.Decisions, view)
		case pawl.MemoryAntiPattern:
			v.AntiPatterns = append(v.AntiPatterns, view)
		default:
			v.Other = append(v.Other, view)
		}
		switch {
		case m.Kind == pawl.MemoryLearning && m.Task != "" && !m.Failed:
			v.Learnings = append(v.Learnings, view)
		case m.Kind == pawl.MemoryDiscovery:
			v.Discoveries = append(v.Discoveries, view)
		case m.Kind == pawl.MemoryError:
			v.Errors = append(v.Errors, view)
		}
	}
}

// block is text that is shown between fences.
type block string

func (b block) String() string {
	run, longest := 0, 2
	for i := range len(b) {
		if run++; b[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + strings.TrimRight(string(b), "\n") + "\n" + fence
}

// line is text that is shown on one line: as it is when it is a plain word,
// else in quotes.
type line string

func (l line) String() string {
	const most = 300
	text := string(l)
	if strictyaml.IsName(text) {
		return text
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strconv.Quote(text)
}

func lines(list []string) []line {
	var out []line
	for _, text := range list {
		out = append(out, line(text))
	}
	return out
}

// words is text that is shown without quotes and cannot leave its line, its
// table cell or its list item: it has no line breaks and nothing that is not
// printed, begins nothing in Markdown, and opens no fence.
type words string

func (w words) String() string {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, string(w))
	text = strings.Join(strings.Fields(text), " ")
	text = strings.NewReplacer("```", "'''", "|", `\|`).Replace(text)
	if text != "" && strings.ContainsRune("#>*+-=~<`", rune(text[0])) {
		text = `\` + text
	}
	return text
}
