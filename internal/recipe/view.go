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
	Task      *taskView
	Plan      block
	State     block
	Memory    []memoryView
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

type taskView struct {
	ID, Title, Description, Notes, Intent, Mode words
	// Details are the description and the notes with their line breaks.
	Details   block
	Priority  int
	DependsOn words
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
}

func viewOf(d PromptData) promptView {
	v := promptView{PromptData: d, Inputs: map[string]block{}, History: lines(d.History), RedAtBase: lines(d.RedAtBase),
		Plan: block(d.Plan), State: block(d.State), Signs: lines(d.Signs), Cause: line(d.Cause), Item: block(d.Item), Criteria: criteria(d.Criteria, d.Task == nil)}
	for _, text := range d.Answers {
		v.Answers = append(v.Answers, block(text))
	}
	for i := range d.Batch {
		m := &d.Batch[i]
		v.Batch = append(v.Batch, memberView{task(&m.Task), m.Task.Scaffold, criteria(m.Task.CriteriaList(), false), block(m.Result), block(m.Paths)})
	}
	for name, text := range d.Inputs {
		v.Inputs[name] = block(text)
	}
	for _, f := range d.Feedback {
		v.Feedback = append(v.Feedback, feedbackView{line(f.From), line(f.Verdict), line(f.Summary), block(f.Evidence)})
	}
	if d.Task != nil {
		v.Task = task(d.Task)
	}
	v.remember(d.Memory)
	return v
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
		details(t), t.Priority, words(strings.Join(t.DependsOn, ", "))}
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
