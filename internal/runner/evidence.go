package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/evidence"
)

// examine looks for findings in a candidate. The first look may ask for gates to run on other trees,
// which it makes.
func (r *Runner) examine(ctx context.Context, job driver.Job, do *pawl.Examine, a *answer) (pawl.Answer, error) {
	c, readErr, err := r.change(ctx, job, do)
	if err != nil {
		return nil, fmt.Errorf("examine %s: %w", do.Commit, err)
	}
	reports, err := gateReports(ctx, job, do)
	if err != nil {
		return nil, fmt.Errorf("examine %s: %w", do.Commit, err)
	}
	survey := evidence.Look(c)
	out := &pawl.Examined{Effect: job.Effect.ID}
	var runs []evidence.Run
	if !do.Static {
		runs = survey.Runs(reports)
	}
	if len(do.Further) == 0 && len(runs) > 0 && *readErr == nil {
		out.Runs, err = r.furtherRuns(ctx, job, do, runs)
		return out, err
	}
	report := pawl.EvidenceReport{Commit: do.Commit, Base: do.Base, Paths: survey.Paths}
	report.Findings, report.Remarks, out.Added = survey.Weigh(reports)
	for _, run := range runs {
		report.Runs = append(report.Runs, pawl.FurtherRun{On: run.On, Gates: run.Gates, Fresh: run.Fresh, Reason: run.Reason})
	}
	if *readErr != nil {
		return nil, fmt.Errorf("examine %s: %w", do.Commit, *readErr)
	}
	doc, err := a.document(&report)
	if err != nil {
		return nil, fmt.Errorf("keep the evidence on %s: %w", do.Commit, err)
	}
	out.Evidence, out.Found, out.Remarks = doc.Hash(), boundFindings(report.Findings), report.Remarks
	out.Paths = survey.Counts()
	return out, nil
}

// change reads what a candidate changed. What goes wrong in a later reading is left in readErr.
func (r *Runner) change(ctx context.Context, job driver.Job, do *pawl.Examine) (c *evidence.Candidate, readErr *error, err error) {
	readErr = new(error)
	c = &evidence.Candidate{
		Base: do.Base, Commit: do.Commit, Gates: job.Settings.Gates, Prepare: job.Settings.Prepare, Rules: job.Settings.PathClasses,
		Allow: job.Settings.AllowPaths, Secrets: r.Secrets,
		Read: func(path string, ofBase bool) []byte {
			commit := do.Commit
			if ofBase {
				commit = do.Base
			}
			data, err := r.Spaces.FileAt(ctx, pawl.TreeHash(commit), path)
			if pawl.CodeOf(err) == pawl.CodeInvalid { // it is a folder: a command may name one
				return nil
			}
			*readErr = errors.Join(*readErr, err)
			return data
		},
	}
	var paths []string
	c.Paths = func() []string {
		if paths == nil {
			files, err := r.Spaces.Objects(ctx, do.Base, func(string) bool { return true })
			*readErr = errors.Join(*readErr, err)
			paths = slices.Sorted(maps.Keys(files))
		}
		return paths
	}
	c.Contents = func(paths []string, see func(string, []byte) bool) {
		if len(paths) > 0 {
			*readErr = errors.Join(*readErr, r.Spaces.Contents(ctx, do.Base, paths, see))
		}
	}
	if c.Files, err = r.Spaces.Changes(ctx, do.Base, do.Commit); err != nil {
		return nil, nil, err
	}
	c.Goal, err = asked(ctx, job, do)
	return c, readErr, err
}

// asked returns everything that was asked for: the goal, the criteria, the task.
func asked(ctx context.Context, job driver.Job, do *pawl.Examine) (string, error) {
	return textOf(ctx, job, "what was asked for", job.Started.Goal, job.Started.Criteria, do.Task)
}

// textOf returns documents as one text that words can be looked for in.
func textOf(ctx context.Context, job driver.Job, what string, of ...pawl.Hash) (string, error) {
	var text strings.Builder
	for _, h := range of {
		if h.IsZero() {
			continue
		}
		data, err := read(ctx, job, what, h)
		if err != nil {
			return "", err
		}
		if json.Valid(data) {
			data = []byte(strings.ReplaceAll(string(data), `\n`, "\n"))
		}
		text.Write(data)
		text.WriteString("\n")
	}
	return text.String(), nil
}

// gateReports reads what gates said of the candidate, the base and other trees.
func gateReports(ctx context.Context, job driver.Job, do *pawl.Examine) (*evidence.Reports, error) {
	out := &evidence.Reports{Own: map[string]*pawl.GateReport{}, Base: map[string]*pawl.GateReport{}, On: map[pawl.Tree]map[string]*pawl.GateReport{}}
	get := func(into map[string]*pawl.GateReport, gate string, h pawl.Hash) error {
		rep, err := reportOf(ctx, job, "the report of gate "+gate, h)
		if rep != nil {
			into[gate] = rep
		}
		return err
	}
	for _, e := range do.Reports {
		if err := errors.Join(get(out.Own, e.Gate, e.Report), get(out.Base, e.Gate, e.Base)); err != nil {
			return nil, err
		}
	}
	for _, e := range do.Further {
		if out.On[e.On] == nil {
			out.On[e.On] = map[string]*pawl.GateReport{}
		}
		if e.Report.IsZero() {
			out.On[e.On][e.Gate] = &pawl.GateReport{Verdict: pawl.VerdictFail, Partial: true, Reason: "it gave no verdict"}
			continue
		}
		if err := get(out.On[e.On], e.Gate, e.Report); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// furtherRuns makes the trees that gates have to judge. Refs keep them as long as the run is.
func (r *Runner) furtherRuns(ctx context.Context, job driver.Job, do *pawl.Examine, runs []evidence.Run) ([]pawl.FurtherRun, error) {
	var out []pawl.FurtherRun
	for _, run := range runs {
		commit, err := r.Spaces.Compose(ctx, pawl.ComposeSpec{Of: do.Commit, Files: run.Files})
		if err != nil {
			return nil, fmt.Errorf("make the %s tree of %s: %w", run.On, do.Commit, err)
		}
		if err := r.Spaces.Mark(ctx, fmt.Sprintf("refs/pawl/evidence/%s/%.12s", job.Run, commit), commit); err != nil {
			return nil, fmt.Errorf("keep the %s tree of %s: %w", run.On, do.Commit, err)
		}
		out = append(out, pawl.FurtherRun{On: run.On, Commit: commit, Gates: run.Gates, Fresh: run.Fresh, Reason: run.Reason})
	}
	return out, nil
}

// boundFindings returns findings as events have them: at most [pawl.MaxFindings], of which the last
// stands for all that are left out.
func boundFindings(all []pawl.Finding) []pawl.Finding {
	if len(all) <= pawl.MaxFindings {
		return all
	}
	out := append([]pawl.Finding(nil), all[:pawl.MaxFindings-1]...)
	rest := all[pawl.MaxFindings-1:]
	last := pawl.Finding{Kind: rest[0].Kind, Text: fmt.Sprintf("%d more findings, which the evidence has", len(rest))}
	var prints []string
	for _, f := range rest {
		prints = append(prints, fmt.Sprint(f.Print))
	}
	last.Print = fingerprint(prints)
	return append(out, last)
}
