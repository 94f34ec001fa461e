// Package prompt writes what a session begins with: it reads the texts a request
// names, cuts them to their limits and fills in the recipe's template. Stable
// parts stand first in the templates (role, rules, tools, task), what changes
// from attempt to attempt last, so that providers' prompt caches hit.
//
// The same request gives the same bytes: everything comes from the request, the
// run's blobs and the commits it names.
package prompt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/recipe"
	"pawl/internal/runner"
)

// The limits on texts in a prompt, in bytes. What is over a limit loses its
// middle, except a list of paths, which loses its end.
const (
	maxEvidence = 12_000 // of one gate
	maxInput    = 12_000 // of one named input
	maxDiff     = 24_000
	maxPaths    = 4_000
)

// Assembler implements [runner.Prompts].
type Assembler struct {
	// Diff is the patch between two commits.
	Diff func(ctx context.Context, from, to pawl.CommitHash) ([]byte, error)
}

var _ runner.Prompts = (*Assembler)(nil)

// Assemble implements [runner.Prompts].
func (a *Assembler) Assemble(ctx context.Context, job driver.Job, do *pawl.AssemblePrompt) (runner.Prompt, error) {
	r := &reader{ctx: ctx, job: job}
	template, err := r.template(do.Template)
	if err != nil {
		return runner.Prompt{}, err
	}
	data, err := a.data(r, do)
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
	// No template has to name the task. D-36
	user = fmt.Sprintf("Task id: %s\n\n%s", job.Run, user)
	return runner.Prompt{System: system, User: user, Cut: r.cut}, nil
}

// data is what the template is shown.
func (a *Assembler) data(r *reader, do *pawl.AssemblePrompt) (recipe.PromptData, error) {
	place := r.job.Effect.Place
	data := recipe.PromptData{
		Goal: r.text("the goal", do.Goal), Scope: r.job.Settings.Scope, Agent: r.job.Settings.Agent,
		Iteration: place.Iteration, Max: do.Max, Tier: place.Tier, Lens: place.Lens, Focus: do.Focus,
		History: do.History,
	}
	if !do.Criteria.IsZero() {
		text := r.text("the criteria", do.Criteria)
		if err := json.Unmarshal([]byte(text), &data.Criteria); err != nil {
			r.fail(pawl.Errorf(pawl.CodeDamaged, "read the criteria: %w", err))
		}
	}
	base := r.reports(do.RedAtBase)
	for _, in := range do.RedAtBase {
		data.RedAtBase = append(data.RedAtBase, in.Name+": "+redAtBase(base[in.Name]))
	}
	for _, f := range do.Feedback {
		data.Feedback = append(data.Feedback, r.feedback(f, base[f.From]))
	}
	data.Inputs = r.inputs(do.Inputs)
	if do.Commit != "" && do.Base != "" && do.Commit != do.Base && a.Diff != nil && r.err == nil {
		diff, err := a.Diff(r.ctx, do.Base, do.Commit)
		if err != nil {
			return data, fmt.Errorf("the changes so far: %w", err)
		}
		data.Inputs["diff"] = r.fit("diff", valid(diff), maxDiff)
	}
	return data, r.err
}

// inputs are the named texts. Proposals are one text, each indented below its
// letter, so that none can pass for several.
func (r *reader) inputs(named []pawl.Input) map[string]string {
	out := make(map[string]string)
	var proposals []string
	for _, in := range named {
		text := r.text(in.Name, in.Blob)
		letter, isProposal := strings.CutPrefix(in.Name, "proposal ")
		switch {
		case in.Name == "changed":
			out[in.Name] = r.head(in.Name, text, maxPaths)
		case isProposal:
			proposals = append(proposals, "Proposal "+letter+"\n"+indent(r.fit(in.Name, readable(text), maxInput)))
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
