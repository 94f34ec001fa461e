// Package prompt writes what a session begins with: it reads the texts a request
// names, cuts them to their limits and fills in the recipe's template. Stable
// parts stand first in the templates (role, rules, tools, task), what changes
// from attempt to attempt last, so that providers' prompt caches hit.
//
// The same request gives the same bytes: everything comes from the request, the
// run's blobs and the commits it names.
package prompt

import (
	"bytes"
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

// Assemble implements [runner.Prompts].
func (a *Assembler) Assemble(ctx context.Context, job driver.Job, do *pawl.AssemblePrompt) (runner.Prompt, error) {
	w := &writer{ctx: ctx, job: job}
	data, err := a.data(w, do)
	if err != nil {
		return runner.Prompt{}, err
	}
	template := w.template(do.Template)
	if w.err != nil {
		return runner.Prompt{}, w.err
	}
	system, user, err := recipe.Render(template, data)
	if err != nil {
		return runner.Prompt{}, fmt.Errorf("prompt %s: %w", do.Template, err)
	}
	return runner.Prompt{System: system, User: user, Cut: w.cut}, nil
}

func (a *Assembler) data(w *writer, do *pawl.AssemblePrompt) (recipe.PromptData, error) {
	place := w.job.Effect.Place
	data := recipe.PromptData{
		Goal: w.text(do.Goal), Scope: w.job.Settings.Scope, Agent: w.job.Settings.Agent,
		Iteration: place.Iteration, Max: do.Max, Tier: place.Tier, Lens: place.Lens, Focus: do.Focus,
		Inputs: make(map[string]string), History: do.History,
	}
	if err := json.Unmarshal([]byte(w.text(do.Criteria)), &data.Criteria); err != nil && w.err == nil {
		w.err = fmt.Errorf("read the criteria: %w", err)
	}
	for _, f := range do.Feedback {
		fb := recipe.Feedback{From: f.From, Verdict: string(f.Verdict), Summary: f.Summary}
		if !f.Evidence.IsZero() {
			fb.Summary, fb.Evidence = w.evidence(f)
		}
		data.Feedback = append(data.Feedback, fb)
	}
	for _, in := range do.RedAtBase {
		summary, _ := w.evidence(pawl.Feedback{From: in.Name, Evidence: in.Blob})
		data.RedAtBase = append(data.RedAtBase, in.Name+": "+summary)
	}
	var proposals []string
	for _, in := range do.Inputs {
		text := w.text(in.Blob)
		switch {
		case in.Name == "changed":
			data.Inputs[in.Name] = w.head(in.Name, text, maxPaths)
		case strings.HasPrefix(in.Name, "proposal "):
			proposals = append(proposals, "Proposal "+strings.TrimPrefix(in.Name, "proposal ")+"\n"+w.fit(in.Name, readable(text), maxInput))
		default:
			data.Inputs[in.Name] = w.fit(in.Name, readable(text), maxInput)
		}
	}
	if len(proposals) > 0 {
		data.Inputs["proposals"] = strings.Join(proposals, "\n\n")
	}
	if do.Commit != "" && do.Base != "" && do.Commit != do.Base && a.Diff != nil {
		diff, err := a.Diff(w.ctx, do.Base, do.Commit)
		if err != nil {
			return data, fmt.Errorf("the changes so far: %w", err)
		}
		data.Inputs["diff"] = w.fit("diff", string(diff), maxDiff)
	}
	return data, w.err
}

// writer reads blobs and remembers the first error and what was cut.
type writer struct {
	ctx context.Context
	job driver.Job
	err error
	cut []string
}

func (w *writer) text(h pawl.Hash) string {
	if w.err != nil || h.IsZero() {
		return ""
	}
	data, err := w.job.Blob(w.ctx, h)
	if err != nil {
		w.err = err
	}
	return string(data)
}

func (w *writer) template(name string) string {
	for _, p := range w.job.Started.Prompts {
		if p.Name == name {
			return w.text(p.Blob)
		}
	}
	if w.err == nil {
		w.err = pawl.Errorf(pawl.CodeInvalid, "the run has no prompt %q", name)
	}
	return ""
}

// fit cuts the middle out of a text that is too long.
func (w *writer) fit(name, text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	w.cut = append(w.cut, name)
	head, tail := text[:limit/2], text[len(text)-limit/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[… %d bytes left out …]\n", len(text)-limit) + strings.ToValidUTF8(tail, "")
}

// head keeps the first lines of a list.
func (w *writer) head(name, text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	w.cut = append(w.cut, name)
	text = text[:limit]
	if i := strings.LastIndexByte(text, '\n'); i > 0 {
		text = text[:i]
	}
	return text + "\n[… and more]"
}

// evidence is a gate's report as a sentence and a text.
func (w *writer) evidence(f pawl.Feedback) (summary, text string) {
	data := w.text(f.Evidence)
	var rep pawl.GateReport
	if json.Unmarshal([]byte(data), &rep) == nil && rep.Verdict != "" {
		return rep.Reason, w.fit(f.From, report(&rep), maxEvidence)
	}
	return string(f.Verdict), w.fit(f.From, readable(data), maxEvidence)
}

// report is a command gate's report for the one who is to fix what it found:
// the failing tests with their output, the findings, and if there is neither,
// what the command printed.
func report(rep *pawl.GateReport) string {
	var b strings.Builder
	for _, t := range rep.Tests {
		if t.Status == pawl.TestFail {
			fmt.Fprintf(&b, "FAIL %s\n%s\n", t.Name, strings.TrimRight(t.Output, "\n"))
		}
	}
	for _, f := range rep.Findings {
		fmt.Fprintf(&b, "%s %s:%d %s %s\n", f.Severity, f.File, f.Line, f.Rule, f.Message)
	}
	for _, lost := range rep.Inventory {
		fmt.Fprintf(&b, "no longer run: %s\n", lost)
	}
	if b.Len() == 0 {
		return rep.Output
	}
	return b.String()
}

// readable turns a structured result into lines "name: value"; anything else
// stays as it is.
func readable(text string) string {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return text
	}
	var b strings.Builder
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return text
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return text
		}
		fmt.Fprintf(&b, "%v: %s\n", name, plain(value))
	}
	return b.String()
}

// plain prints a JSON value for people.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var lines []string
		for _, x := range v {
			lines = append(lines, "\n- "+strings.ReplaceAll(plain(x), "\n", "\n  "))
		}
		return strings.Join(lines, "")
	case map[string]any:
		out, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(out)
	}
	return fmt.Sprint(v)
}
