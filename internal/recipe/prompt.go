package recipe

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"pawl"
	"pawl/internal/strictyaml"
)

// PromptData is what a prompt template is shown. The goal, the criteria and the
// scope are the user's own words and stand in the prompt as they are. Feedback,
// inputs, history and what is red at the base come from models, tools and the
// repository: a template shows each as a fenced block ({{.Evidence}}) or as a
// quoted line ({{.Summary}}), whatever it holds, so that it cannot pass for
// instructions.
type PromptData struct {
	Goal     string
	Criteria []pawl.Criterion
	Scope    []string // sentences that bound what may be changed
	Agent    string   // the specialist the task asks for; empty when it asks for none
	// Iteration of Max; Max is 0 when there is no limit.
	Iteration, Max int
	Tier           int // 1 to 3
	Feedback       []Feedback
	// Inputs are named texts: earlier outputs, what has changed, proposals. A
	// template reads one that must be there with {{.Inputs.NAME}} and one that
	// may be missing with {{with index .Inputs "NAME"}}.
	Inputs map[string]string
	// History tells the attempts so far, one line each, oldest first.
	History []string
	// RedAtBase tells what did not pass before the work began, one line each.
	RedAtBase []string
	// Lens and Focus are a council member's point of view.
	Lens, Focus string
}

// Feedback is one objection to the previous attempt.
type Feedback struct {
	From     string // the gate's or step's name
	Verdict  string
	Summary  string // one line
	Evidence string // the whole report; may be empty
}

// divider separates a template's system part from its user part.
const divider = "---user---"

// Render fills in a template. The part above the line ---user--- is the system
// prompt, which should be the same for every iteration so that providers cache
// it; the part below is the first message. A template without that line, one
// that does not parse and one that asks for something that is not there are
// errors.
func Render(text string, data PromptData) (system, user string, err error) {
	systemPart, userPart, err := parseTemplate("prompt", text)
	if err != nil {
		return "", "", err
	}
	view := viewOf(data)
	if system, err = execute(systemPart, view); err != nil {
		return "", "", err
	}
	if user, err = execute(userPart, view); err != nil {
		return "", "", err
	}
	return system, user, nil
}

// parseTemplate splits a template and parses both parts.
func parseTemplate(name, text string) (system, user *template.Template, err error) {
	above, below, found := strings.Cut("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n"+divider+"\n")
	if !found || strings.Contains("\n"+below, "\n"+divider+"\n") {
		return nil, nil, pawl.Errorf(pawl.CodeInvalid, "%s: want a system part and a user part with one line %s between them", name, divider)
	}
	if system, err = template.New(name).Option("missingkey=error").Parse(strings.TrimPrefix(above, "\n")); err == nil {
		// Lines are counted from the top of the file, in messages.
		below = strings.Repeat("\n", strings.Count(above, "\n")+1) + below
		user, err = template.New(name).Option("missingkey=error").Parse(below)
	}
	if err == nil {
		err = errors.Join(subset(system), subset(user))
	}
	if err != nil {
		return nil, nil, pawl.Errorf(pawl.CodeInvalid, "%w", err)
	}
	return system, user, nil
}

func execute(t *template.Template, view promptView) (string, error) {
	var b strings.Builder
	if err := t.Execute(&b, view); err != nil {
		return "", pawl.Errorf(pawl.CodeInvalid, "%w", err)
	}
	// Conditions that do not hold leave empty lines behind.
	return strings.TrimSpace(regexp.MustCompile(`\n\s*\n\s*\n`).ReplaceAllString(b.String(), "\n\n")) + "\n", nil
}

// checkTemplate reports a template that does not parse or asks for something
// that [PromptData] does not have. Which inputs there will be is not known here.
func checkTemplate(name, text string) error {
	system, user, err := parseTemplate(name, text)
	if err != nil {
		return err
	}
	full := PromptData{Goal: "x", Criteria: []pawl.Criterion{{ID: "x", Text: "x"}}, Scope: []string{"x"}, Agent: "x",
		Iteration: 2, Max: 2, Tier: 1, Feedback: []Feedback{{"x", "x", "x", "x"}}, Inputs: map[string]string{"x": "x"},
		History: []string{"x"}, RedAtBase: []string{"x"}, Lens: "x", Focus: "x"}
	for _, part := range []*template.Template{system, user} {
		for _, data := range []PromptData{{}, full} {
			if _, err := execute(part.Option("missingkey=zero"), viewOf(data)); err != nil {
				return err
			}
		}
	}
	return nil
}

// promptView is PromptData with what is not to be trusted in types that show it
// as data.
type promptView struct {
	PromptData
	Feedback  []feedbackView
	Inputs    map[string]block
	History   []line
	RedAtBase []line
}

type feedbackView struct {
	From     line
	Verdict  line
	Summary  line
	Evidence block
}

func viewOf(d PromptData) promptView {
	v := promptView{PromptData: d, Inputs: map[string]block{}, History: lines(d.History), RedAtBase: lines(d.RedAtBase)}
	for name, text := range d.Inputs {
		v.Inputs[name] = block(text)
	}
	for _, f := range d.Feedback {
		v.Feedback = append(v.Feedback, feedbackView{line(f.From), line(f.Verdict), line(f.Summary), block(f.Evidence)})
	}
	return v
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
