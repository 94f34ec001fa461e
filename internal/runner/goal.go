package runner

import (
	"context"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/evidence"
	"pawl/internal/gate/report"
	"pawl/internal/kernel/brief"
)

// weighGoals finds out which tests that were red at the base the goal is about, and which of them the
// candidate has red.
func (r *Runner) weighGoals(ctx context.Context, job driver.Job, do *pawl.WeighGoals, a *answer) (pawl.Answer, error) {
	search, readErr, err := r.goalSearch(ctx, job, do)
	if err != nil {
		return nil, fmt.Errorf("weigh the goal tests: %w", err)
	}
	found := search.Goals()
	if *readErr != nil {
		return nil, fmt.Errorf("weigh the goal tests: %w", *readErr)
	}
	out := &pawl.GoalsWeighed{Effect: job.Effect.ID, Commit: do.Commit, Count: len(found.Tests), Unsure: found.Unsure}
	for _, gate := range found.Again {
		if ran := slices.ContainsFunc(do.Again, func(e pawl.GateEvidence) bool { return e.Gate == gate }); do.Commit != "" && !ran {
			out.Again = append(out.Again, gate)
		}
	}
	for _, t := range found.Tests {
		if t.Why.IsWeak() {
			out.Weak++
		}
	}
	for _, t := range found.Red {
		if t.Why.IsWeak() {
			out.RedWeak++
		} else {
			out.Red++
		}
		if len(out.Failing) < pawl.MaxGoalsNamed {
			out.Failing = append(out.Failing, brief.Cut(t.String(), maxName))
		}
	}
	for _, t := range found.Picked[:min(len(found.Picked), pawl.MaxGoalsNamed)] {
		t.Name = brief.Cut(t.Name, maxName)
		out.Picked = append(out.Picked, t)
	}
	for _, t := range found.Flaky[:min(len(found.Flaky), pawl.MaxGoalsNamed)] {
		t.Name = brief.Cut(t.Name, maxName)
		out.Flaky = append(out.Flaky, t)
	}
	if len(found.Tests) == 0 {
		return out, nil
	}
	doc, err := a.document(found.Tests)
	if err != nil {
		return nil, fmt.Errorf("keep the goal tests: %w", err)
	}
	out.Goals = doc.Hash()
	return out, nil
}

// resultAssessment is the result that picks goal tests.
const resultAssessment = "assessment"

// redTests returns the tests that the job's session was shown as red at the base.
func (r *Runner) redTests(ctx context.Context, job driver.Job) ([]string, error) {
	s, err := r.sourcesOf(ctx, job)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, in := range s.shown.RedAtBase {
		var base pawl.GateReport
		if err := decode(ctx, job, "the report on the base of "+in.Name, in.Blob, &base); err != nil {
			return nil, err
		}
		for _, t := range report.Red(in.Name, &base) {
			out = append(out, t.String())
		}
	}
	return out, nil
}

// goalSearch returns what is known for a search for goal tests.
func (r *Runner) goalSearch(ctx context.Context, job driver.Job, do *pawl.WeighGoals) (*evidence.GoalSearch, *error, error) {
	commit := do.Commit
	if commit == "" {
		commit = do.Base
	}
	look := &pawl.Examine{Commit: commit, Base: do.Base, Task: do.Task, Reports: do.Reports}
	c, readErr, err := r.change(ctx, job, look)
	if err != nil {
		return nil, nil, err
	}
	c.Secrets = nil
	s := &evidence.GoalSearch{
		Root: do.Task.IsZero(), Excluded: job.Settings.NotGreen, Survey: evidence.Look(c), Examined: !do.Evidence.IsZero(),
		Examines: job.Settings.Evidence != "" && job.Settings.Evidence != pawl.EvidenceOff,
	}
	if s.Asked, err = textOf(ctx, job, "what was asked for", job.Started.Goal, job.Started.Criteria); !s.Root {
		s.Asked, err = textOf(ctx, job, "the task", do.Task)
	}
	if err != nil {
		return nil, nil, err
	}
	reports, err := gateReports(ctx, job, look)
	if err != nil {
		return nil, nil, err
	}
	s.Base = reports.Base
	if !do.Assessment.IsZero() {
		var picks struct {
			GoalTests []string `json:"goal_tests"`
		}
		if err := decode(ctx, job, "the assessment of the request", do.Assessment, &picks); err != nil {
			return nil, nil, err
		}
		s.Picked = picks.GoalTests
	}
	if do.Commit != "" {
		s.Own = reports.Own
	}
	if len(do.Again) > 0 {
		again, err := gateReports(ctx, job, &pawl.Examine{Further: do.Again})
		if err != nil {
			return nil, nil, err
		}
		s.Again = map[string]*pawl.GateReport{}
		for gate, rep := range again.On[pawl.TreeAgain] {
			s.Again[gate] = rep
		}
	}
	if s.Known, err = goalTests(ctx, job, do.Goals); err != nil {
		return nil, nil, err
	}
	if s.Done, err = goalTests(ctx, job, do.Done); err != nil {
		return nil, nil, err
	}
	var found pawl.EvidenceReport
	if s.Examined {
		err = decode(ctx, job, "what was found in the candidate", do.Evidence, &found)
	}
	s.Findings = found.Findings
	return s, readErr, err
}

// goalTests returns the goal tests of lists.
func goalTests(ctx context.Context, job driver.Job, lists []pawl.Hash) ([]pawl.GoalTest, error) {
	var out []pawl.GoalTest
	for _, h := range lists {
		var list []pawl.GoalTest
		if err := decode(ctx, job, "the goal tests", h, &list); err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}
