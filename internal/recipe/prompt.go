package recipe

import (
	"errors"
	"regexp"
	"strings"

	"github.com/DataDog/datadog-agent/pkg/template/text"

	"pawl"
)

// PromptData is what a prompt template is shown. The goal, the criteria and the
// scope are the user's own words and stand in the prompt as they are. All the
// rest comes from models, tools and the repository: a template shows each as a
// fenced block ({{.Evidence}}), as a quoted line ({{.Summary}}) or as plain
// words that stay on their line ({{.Task.Title}}), whatever it holds, so that it
// cannot pass for instructions.
type PromptData struct {
	Goal string // the run's, whatever loop the prompt is for
	// Criteria are the goal's, or with a Task the task's, which are not the user's words.
	Criteria []pawl.Criterion
	Scope    []string // sentences that bound what may be changed
	Agent    string   // the specialist the task asks for; empty when it asks for none
	// Iteration of Max; Max is 0 when there is no limit.
	Iteration, Max int
	Tier           int // 1 to 3
	// Feedback is why the last attempt failed, and what persons said of iterations.
	Feedback []Feedback
	// Inputs are named texts: earlier outputs, what has changed, proposals. A
	// template reads one that must be there with {{.Inputs.NAME}} and one that
	// may be missing with {{with index .Inputs "NAME"}}.
	Inputs map[string]string
	// History tells the attempts so far, one line each, oldest first.
	History []string
	// RedAtBase tells what did not pass before the work began, one line each.
	RedAtBase []string
	// RedTests names the tests that failed before the work began, one a line, for the session that assesses
	// the request; MoreRed is how many are left out.
	RedTests []string
	MoreRed  int
	// Lens and Focus are a council member's point of view.
	Lens, Focus string
	// Task is the loop's own entry in its parent's list; nil for the root loop.
	// Number of Count is its place in the order in which tasks were begun.
	Task          *pawl.TaskSpec
	Number, Count int
	// Plan is the loop's list of tasks as it was handed in, State where its tasks
	// stand, in YAML.
	Plan, State string
	// Memory is what is remembered, in the order it was asked for.
	Memory []Memory
	// Signs are what the harness sees in the goal, such as "7 steps".
	Signs []string
	// Cause is why a plan is made anew, in a sentence.
	Cause string
	// Item is the entry of a list that a step is about which runs for each of them.
	Item string
	// Answers are what persons answered to questions, oldest first.
	Answers []string
	// Batch are the tasks that a review of a batch judges.
	Batch []Member
}

// Member is a task of a batch that is to be judged.
type Member struct {
	Task pawl.TaskSpec
	// Result is what its session handed in, Paths what it changed, a path a line.
	Result, Paths string
	// Diff is what it changed, where a judge picks the best; else the input diff is that of all.
	Diff string
}

// Memory is one thing remembered.
type Memory struct {
	Kind pawl.MemoryKind
	Task string // the id of the task it was learned at; empty = the run's own loop
	Text string
	// Failed reports that the attempt it comes from failed.
	Failed bool
	// Learning is its number among the task's learnings; 0 = it has none.
	Learning int
}

// Feedback is one objection to the previous attempt.
type Feedback struct {
	From     string // the gate's or step's name
	Verdict  string
	Summary  string // one line
	Evidence string // the whole report; may be empty
	// Points are the single things objected to, a line each; none = the summary is all.
	Points []string
	// Person reports that a person said it: of the iteration Said, or, if that is 0, to
	// the loop while it ran.
	Person bool
	Said   int
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
// that [PromptData] does not have. Which inputs there will be is not known here. Root says that it
// is a template of the root loop.
func checkTemplate(name, text string, root bool) error {
	system, user, err := parseTemplate(name, text)
	if err != nil {
		return err
	}
	full := PromptData{Goal: "x", Criteria: []pawl.Criterion{{ID: "x", Text: "x"}}, Scope: []string{"x"}, Agent: "x",
		Iteration: 3, Max: 3, Tier: 1, Feedback: []Feedback{{From: "x", Verdict: "x", Summary: "x", Evidence: "x"}, {From: "x", Evidence: "x", Person: true, Said: 1}, {From: "x", Evidence: "x", Person: true}}, Inputs: map[string]string{"x": "x"},
		History: []string{"x"}, RedAtBase: []string{"x"}, RedTests: []string{"x"}, MoreRed: 1, Lens: "x", Focus: "x",
		Task:   &pawl.TaskSpec{ID: "x", Title: "x", Description: "x", Criteria: []string{"x"}, DependsOn: []string{"x"}, Notes: "x", Intent: "x", Mode: "x", ValidationCommand: "x"},
		Number: 1, Count: 1, Plan: "x", State: "x", Signs: []string{"x"}, Cause: "x", Item: "x", Answers: []string{"x"}}
	full.Batch = []Member{{*full.Task, "x", "x", "x"}}
	for _, kind := range pawl.MemoryKinds {
		full.Memory = append(full.Memory, Memory{Kind: kind, Task: "x", Text: "x", Failed: true, Learning: 1}, Memory{Kind: kind, Task: "x", Text: "x"})
	}
	least := PromptData{Task: &pawl.TaskSpec{}}
	if root {
		least.Task, full.Task = nil, nil
	}
	for _, part := range []*template.Template{system, user} {
		for _, data := range []PromptData{least, full} {
			_, err := execute(part.Option("missingkey=zero"), viewOf(data))
			if err != nil && root && strings.Contains(err.Error(), "nil pointer evaluating *recipe.taskView") {
				return pawl.Errorf(pawl.CodeInvalid, "%s asks for .Task, and the root loop is nobody's child: it has no entry in a parent's list", name).
					WithHint("write {{with .Task}}...{{end}} around what only a child has")
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
