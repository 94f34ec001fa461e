// Package prompt writes what a session begins with: it reads the texts a request
// names, cuts them to their limits and fills in the recipe's template. Stable
// parts stand first in the templates (role, rules, goal, criteria, task), what
// changes from attempt to attempt last, so that providers' prompt caches hit.
//
// Each text has a limit of its own. When all together are still too much for one
// prompt, they give way in this order: memory, the repository's instructions, the
// plan's state, outputs of earlier steps, what the tasks of a batch handed in, the diff, evidence. The goal,
// the criteria, the task and answers of persons are never cut. [runner.Prompt] says
// what was.
//
// The same request gives the same bytes: everything comes from the request, the
// run's blobs, the commits it names and what the run remembered before it. Only
// what other runs remembered may have changed when a request is repeated.
package prompt

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/recipe"
	"pawl/internal/runner"
	"pawl/internal/tried"
)

// The limits on texts in a prompt, in bytes. What is over a limit loses its
// middle, except a list of paths, which loses its end.
const (
	maxEvidence = 12_000 // of one gate
	maxInput    = 12_000 // of one named input
	maxTried    = 3_000  // of what was tried of one task
	maxDiff     = 24_000
	maxPaths    = 4_000
	maxPlan     = 32_000 // who judges a plan has to see it
	maxAnswer   = 4_000  // of one person's answer

	// Of what is found about the work.
	maxDetail  = 4_000  // of the detail of one
	maxDetails = 24_000 // of all details

	// Of one task of a batch.
	maxMemberTask   = 3_000
	maxMemberResult = 3_000
	maxMemberPaths  = 1_000

	// maxPrompt is the limit on all of them together, about 25,000 tokens.
	maxPrompt = 100_000
	// leastText is what is left of a text that gives way to others.
	leastText = 1_000
	markSize  = 48 // of the mark where a text was cut, at most

	bytesPerToken = 4
)

// Assembler implements [runner.Prompts].
type Assembler struct {
	// Diff is the patch between two commits.
	Diff func(ctx context.Context, from, to pawl.CommitHash) ([]byte, error)
	// Recall finds what is remembered; nil means that nothing is.
	Recall func(ctx context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error)
}

var _ runner.Prompts = (*Assembler)(nil)

// Assemble implements [runner.Prompts].
func (a *Assembler) Assemble(ctx context.Context, job driver.Job, do *pawl.AssemblePrompt) (runner.Prompt, error) {
	r := &reader{ctx: ctx, job: job}
	template, err := r.template(do.Template)
	if err != nil {
		return runner.Prompt{}, err
	}
	data, err := a.data(r, do, template)
	if err != nil {
		return runner.Prompt{}, fmt.Errorf("recipe %s, prompt %s: %w", job.Recipe.Name, do.Template, err)
	}
	system, user, err := recipe.Render(template, data)
	if err == nil && strings.TrimSpace(user) == "" {
		err = pawl.Errorf(pawl.CodeInvalid, "its user part is empty")
	}
	if err != nil {
		return runner.Prompt{}, fmt.Errorf("recipe %s, prompt %s: %w", job.Recipe.Name, do.Template, err)
	}
	if !do.Bare {
		// No template has to name the task. D-36
		name := "Task id"
		if data.Task != nil { // which has an id of its own
			name = "Run"
		}
		user = fmt.Sprintf("%s: %s\n\n%s%s%s", name, job.Run, recipe.Instructions(r.instructions, job.Started.MoreInstructions), recipe.Decided(r.answered), user)
	}
	user += r.findings(do) + r.secondLook(do)
	reminder := r.reminder(do)
	if r.err != nil {
		return runner.Prompt{}, fmt.Errorf("recipe %s, prompt %s: %w", job.Recipe.Name, do.Template, r.err)
	}
	return runner.Prompt{System: system, User: user, Cut: r.cuts(), Reminder: reminder}, nil
}

// maxTriedTasks bounds how many tasks a prompt tells all attempts of.
const maxTriedTasks = 8

// contextText returns what the user gave besides the goal, as a list below it.
func contextText(entries []string) string {
	if len(entries) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nContext:\n")
	for _, kv := range entries {
		name, value, _ := strings.Cut(kv, "=")
		b.WriteString("- " + name + ": " + strings.Join(strings.Fields(value), " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// data is what the template is shown. What is large and not in the template is
// left out: it must not make others give way.
func (a *Assembler) data(r *reader, do *pawl.AssemblePrompt, template string) (recipe.PromptData, error) {
	place := r.job.Effect.Place
	data := recipe.PromptData{
		Goal: r.text("the goal", do.Goal) + contextText(r.job.Settings.Context), Scope: r.job.Settings.Scope, Agent: r.job.Settings.Agent,
		Iteration: place.Iteration, Max: do.Max, Tier: place.Tier, Lens: place.Lens, Focus: do.Focus,
		History: do.History, Number: do.Number, Count: do.Count, Signs: do.Signs, Cause: do.Cause,
	}
	r.json("the criteria", do.Criteria, &data.Criteria)
	if !do.Task.IsZero() {
		data.Task = &pawl.TaskSpec{}
		r.json("the task", do.Task, data.Task)
		data.Criteria = data.Task.CriteriaList()
	}
	r.plan(do, &data, template)
	base := r.reports(do.RedAtBase)
	for _, in := range do.RedAtBase {
		data.RedAtBase = append(data.RedAtBase, in.Name+": "+redAtBase(base[in.Name]))
	}
	if strings.Contains(template, ".RedTests") {
		data.RedTests, data.MoreRed = redTests(do.RedAtBase, base)
	}
	for _, in := range do.Inputs {
		if in.Name == signalInput {
			data.Feedback = append(data.Feedback, r.feedback(pawl.Feedback{From: aPerson, Evidence: in.Blob}, nil))
		}
	}
	for _, f := range do.Feedback {
		data.Feedback = append(data.Feedback, r.feedback(f, base[f.From]))
	}
	if do.Tried {
		data.Feedback = append(data.Feedback, r.tried()...)
	}
	data.Inputs = r.inputs(do.Inputs)
	shown := regexp.MustCompile(`(?i)\bdiff\b`).MatchString(template)
	diff := func(from, to pawl.CommitHash, most int) (text string, ok bool) {
		if !shown || from == "" || to == "" || from == to || a.Diff == nil || r.err != nil {
			return "", false
		}
		out, err := a.Diff(r.ctx, from, to)
		if err != nil {
			r.fail(fmt.Errorf("the changes so far: %w", err))
			return "", false
		}
		return r.fit("diff", valid(out), most), true
	}
	r.batch(do, &data, diff)
	if text, ok := diff(do.Base, do.Commit, maxDiff); ok {
		data.Inputs["diff"] = text
	}
	if !do.Bare {
		r.repository()
		r.answered = a.decided(r, do)
	}
	var err error
	choice := choice(do)
	if data.Memory, err = a.memory(r, choice, &data); err != nil {
		return data, err
	}
	r.squeeze(&data, choice != nil && choice.Select == "all")
	return data, r.err
}

// tried tells what was tried of the loop's open tasks, and what reviewers and gates kept saying of that.
func (r *reader) tried() []recipe.Feedback {
	var story tried.Story
	for e, err := range r.job.Events(r.ctx) {
		if err != nil {
			r.fail(fmt.Errorf("what was tried: %w", err))
			return nil
		}
		story.Take(e)
	}
	read := func(h pawl.Hash) []byte { return []byte(r.text("what was said", h)) }
	var out []recipe.Feedback
	for _, id := range story.Open(r.job.Effect.Loop) {
		lines := tried.Tried(id, story.Of(r.job.Effect.Loop, id), read)
		out = append(out, recipe.Feedback{From: "all attempts at " + id, Verdict: string(pawl.VerdictRevise), Evidence: r.fit("what was tried", strings.Join(lines, "\n"), maxTried)})
	}
	return out[:min(len(out), maxTriedTasks)]
}

// plan reads the list of tasks the loop works on, and where they stand.
func (r *reader) plan(do *pawl.AssemblePrompt, data *recipe.PromptData, template string) {
	text := r.text("the plan", do.Plan)
	if text == "" {
		return
	}
	tasks, err := planned(text)
	if err != nil {
		r.fail(pawl.Errorf(pawl.CodeDamaged, "read the plan: %w", err))
	}
	if strings.Contains(template, ".Plan") {
		data.Plan = r.fit("plan", readable(text), maxPlan)
	}
	if strings.Contains(template, ".State") {
		data.State = r.fit("state", stateYAML(tasks, do.States), maxState)
	}
}

// repository reads what the repository tells those who work on it. No template names
// it: every session of a run is shown it, unless its prompt is bare.
func (r *reader) repository() {
	first := map[pawl.Hash]string{} // the path of the first file with a text
	for _, f := range r.job.Started.Instructions {
		in := recipe.Instruction{Path: f.Path, Folder: f.Folder, Bytes: f.Bytes, Cut: f.Cut, SameAs: first[f.Blob]}
		if in.SameAs == "" && !f.Blob.IsZero() {
			first[f.Blob] = f.Path
			in.Text = r.text(f.Path, f.Blob)
		}
		r.instructions = append(r.instructions, in)
	}
}

// signalInput is the name of a text that a person told the loop while it ran.
const signalInput = "signal"

// inputs are the named texts. Proposals are one text, each indented below its
// letter, so that none can pass for several.
func (r *reader) inputs(named []pawl.Input) map[string]string {
	out := make(map[string]string)
	var proposals []string
	for _, in := range named {
		text := r.text(in.Name, in.Blob)
		letter, isProposal := strings.CutPrefix(in.Name, "proposal ")
		switch {
		case in.Name == signalInput: // it stands with what else persons said
		case in.Name == "changed":
			out[in.Name] = r.head(in.Name, text, maxPaths)
		case isProposal:
			proposals = append(proposals, "Proposal "+letter+"\n"+indent(r.fit(in.Name, readable(text), maxInput)))
		case in.Name == "plan" || pawl.IsArtifact(in.Name): // the one that counts is the last
			out[in.Name] = r.fit(in.Name, readable(text), maxPlan)
		case out[in.Name] != "": // a step that appends has left several
			out[in.Name] += "\n\n" + r.fit(in.Name, readable(text), maxInput)
		default:
			out[in.Name] = r.fit(in.Name, readable(text), maxInput)
		}
	}
	if len(proposals) > 0 {
		out["proposals"] = strings.Join(proposals, "\n\n")
	}
	return out
}
