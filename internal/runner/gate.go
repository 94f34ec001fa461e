package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/driver"
	"pawl/internal/kernel/brief"
	"pawl/internal/pattern"
)

// runGate judges a commit in a clean checkout of it, with what was prepared for it. All of it
// has to fit into the effect's time.
func (r *Runner) runGate(ctx context.Context, job driver.Job, do *pawl.RunGate, a *answer) (pawl.Answer, error) {
	began := time.Now()
	req, err := r.gateRequest(ctx, job, do)
	if err != nil {
		return nil, err
	}
	if why := unfit(req.Spec); why != "" {
		return judged(job, do, req.Spec, &pawl.GateReport{Verdict: pawl.VerdictFail, Reason: why, Error: why}, nil, nil, a)
	}
	if req.Spec.Kind == pawl.GateHeldOut {
		out, err := r.runHeldOut(ctx, job, do, req.Spec, a)
		if err != nil {
			return nil, fmt.Errorf("gate %s: %w", do.Gate, err)
		}
		return out, nil
	}
	dir, release, err := r.Spaces.Checkout(ctx, do.Commit)
	if err != nil {
		return nil, fmt.Errorf("gate %s: %w", do.Gate, err)
	}
	defer release()
	spec := pawl.GateRoom{Run: job.Run, Commit: do.Commit, Tree: dir, Limits: job.Settings.Room}
	prepared, report, err := r.forGate(ctx, job, do)
	if err != nil {
		return nil, fmt.Errorf("gate %s: %w", do.Gate, err)
	}
	spec.Prepared = prepared
	if report == nil {
		room, err := r.gateRoom(ctx, job, do, spec)
		if err != nil {
			return nil, fmt.Errorf("gate %s: %w", do.Gate, err)
		}
		defer func() { _ = room.Close() }() // what stays is removed when the project is opened again
		req.Room = discreet{room, r.Redact}
		if err := r.tell(ctx, job, do, &req); err != nil {
			return nil, fmt.Errorf("gate %s: %w", do.Gate, err)
		}
	}
	before, err := reportOf(ctx, job, "the report before", do.Before)
	if err != nil {
		return nil, fmt.Errorf("gate %s: %w", do.Gate, err)
	}
	if report == nil {
		takeTime(&req, time.Since(began))
		judged, err := r.Gate.Judge(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("gate %s: %w", do.Gate, err)
		}
		report = &judged
	}
	return judged(job, do, req.Spec, report, before, req.Base, a)
}

func (r *Runner) gateRequest(ctx context.Context, job driver.Job, do *pawl.RunGate) (req pawl.GateRequest, err error) {
	req = pawl.GateRequest{Timeout: job.Effect.Timeout, Limit: job.Effect.Timeout, Progress: written(job), Prepared: len(job.Settings.Prepare) > 0}
	if req.Spec, err = gateSpec(ctx, job, do); err != nil {
		return req, err
	}
	if req.Spec.Timeout > 0 { // a base that is judged again has more
		req.Spec.Timeout = max(req.Spec.Timeout, req.Timeout)
	}
	if req.Timeout == 0 && req.Spec.Kind == pawl.GateValidation {
		req.Timeout = validationTimeout
	}
	req.List = !do.OnBase
	if do.OnBase || do.On != "" || do.Part { // the tests may not exist there yet
		req.Spec.Green = nil
	}
	if do.Part && do.Task.IsZero() {
		req.Spec.RequireGreen = false
	}
	if !do.OnBase {
		if req.Base, err = reportOf(ctx, job, "the report on the base", do.Base); err != nil {
			return req, err
		}
	}
	req.FailsNew = do.FailsNew
	if req.Doubt, err = reportOf(ctx, job, "the earlier report on this commit", do.Doubt); err != nil {
		return req, err
	}
	return req, nil
}

// gateRoom opens the room for a judgement. What the gates leave in the cache on the
// commit a run starts from may be used by later ones, if that commit was in a branch
// of the user's own when the run started: no model of this run has written it.
func (r *Runner) gateRoom(ctx context.Context, job driver.Job, do *pawl.RunGate, spec pawl.GateRoom) (pawl.Room, error) {
	if do.OnBase && do.Task.IsZero() && isTrusted(job, do.Commit) {
		return r.Rooms.Base(ctx, spec)
	}
	return r.Rooms.Gate(ctx, spec)
}

// validationTimeout bounds a task's own command where its request does not.
const validationTimeout = 10 * time.Minute

// gateSpec is the gate that a request means: one of the run's, or the one that runs a
// task's own command. An agent wrote that command, so its exit code is all that is
// taken from it, and that it fails on the base too excuses nothing.
func gateSpec(ctx context.Context, job driver.Job, do *pawl.RunGate) (pawl.GateSpec, error) {
	if !do.Task.IsZero() {
		var task pawl.TaskSpec
		err := decode(ctx, job, "the task", do.Task, &task)
		return pawl.GateSpec{Name: do.Gate, Kind: pawl.GateValidation, Command: task.ValidationCommand,
			Report: pawl.ReportExit, RequireGreen: true}, err
	}
	i := slices.IndexFunc(job.Settings.Gates, func(g pawl.GateSpec) bool { return g.Name == do.Gate })
	if i < 0 {
		return pawl.GateSpec{}, pawl.Errorf(pawl.CodeInvalid, "the run has no gate %q", do.Gate)
	}
	return job.Settings.Gates[i], nil
}

// unfit says why a task's own command is not run at all; empty = it is.
func unfit(spec pawl.GateSpec) string {
	switch n := len(spec.Command); {
	case spec.Kind != pawl.GateValidation:
		return ""
	case strings.TrimSpace(spec.Command) == "":
		return "the task has no validation command"
	case n > artifact.MaxCommand:
		return fmt.Sprintf("the task's validation command has %d bytes: want at most %d", n, artifact.MaxCommand)
	case strings.ContainsRune(spec.Command, 0):
		return "the task's validation command holds a zero byte, which no shell takes"
	}
	return ""
}

// reportOf is the report that is a gate's evidence; nil when there is none.
func reportOf(ctx context.Context, job driver.Job, what string, evidence pawl.Hash) (*pawl.GateReport, error) {
	if evidence.IsZero() {
		return nil, nil
	}
	var rep pawl.GateReport
	err := decode(ctx, job, what, evidence, &rep)
	return &rep, err
}

// takeTime leaves a gate the time that is left, and a second to say something.
func takeTime(req *pawl.GateRequest, used time.Duration) {
	if req.Timeout == 0 {
		return
	}
	req.Timeout = max(req.Timeout-used, min(req.Timeout, time.Second))
	if req.Spec.Timeout > 0 {
		req.Spec.Timeout = min(req.Spec.Timeout, req.Timeout)
	}
}

// tell leaves what a gate is told in its environment: the task, where the
// checkout is, and a list of the files that differ from the start, which is
// empty on the base.
func (r *Runner) tell(ctx context.Context, job driver.Job, do *pawl.RunGate, req *pawl.GateRequest) error {
	var paths []string
	if do.Start != "" && !do.OnBase && do.Start != do.Commit {
		diff, err := r.Spaces.Diff(ctx, do.Start, do.Commit)
		if err != nil {
			return fmt.Errorf("list the changed files: %w", err)
		}
		if paths, err = changedPaths(diff); err != nil {
			return fmt.Errorf("list the changed files: %w", err)
		}
	}
	file, err := req.Room.Give(fmt.Sprintf("changed-%d", job.Effect.ID), []byte(pathLines(paths)))
	if err != nil {
		return fmt.Errorf("list the changed files: %w", err)
	}
	req.Env = []string{"PAWL_TASK_ID=" + string(job.Run), "PAWL_PROJECT_ROOT=" + req.Room.Dir(), "PAWL_CHANGED_FILES=" + file}
	return nil
}

// judged makes the fact of a report. What is let through has no fingerprints:
// they tell objections apart, and what the base has too is none. The first attempt, which has no
// report before it, mends what was red at the base.
func judged(job driver.Job, do *pawl.RunGate, spec pawl.GateSpec, rep, before, base *pawl.GateReport, a *answer) (*pawl.GateJudged, error) {
	evidence, err := a.document(rep)
	var kept pawl.GateReport // what is counted and quoted is what is kept
	if err == nil {
		err = json.Unmarshal(evidence.Data(), &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the report of gate %s: %w", do.Gate, err)
	}
	out := &pawl.GateJudged{
		Effect: job.Effect.ID, Gate: spec.Name, Kind: spec.Kind, Verdict: verdictOf(kept.Verdict), Reason: brief.Cut(kept.Reason, 300),
		Partial: kept.Partial, OnBase: do.OnBase, RedAtBase: kept.RedAtBase, Optional: spec.Optional,
		Passed: kept.Passed, Total: kept.Passed + kept.Failed, Evidence: evidence.Hash(),
	}
	out.Met, out.Duration, out.Kept = kept.Met, kept.Duration, kept.Kept
	out.Missing, out.Lacks = brief.Cut(kept.Missing, 100), brief.Cut(kept.Lacks, 100)
	count(out, kept.Diagnostics)
	if out.Verdict != pawl.VerdictPass && out.Verdict != pawl.VerdictSkip {
		out.Failing, out.Found = fingerprint(failing(kept.Tests)), fingerprint(found(kept.Diagnostics))
		if kept.Error != "" {
			out.Error = fingerprint([]string{hexes.ReplaceAllString(kept.Error, "")})
		}
	}
	out.Flaky, out.Again = firstNames(kept.Flaky), !do.Doubt.IsZero()
	if out.Verdict == pawl.VerdictFail {
		out.WasGreen = wasGreen(base, &kept) || wasGreen(before, &kept)
	}
	if before != nil {
		flaky := append(slices.Clone(kept.Flaky), before.Flaky...)
		out.Broke = firstNames(turned(before.Tests, kept.Tests, pawl.TestPass, pawl.TestFail, flaky))
		out.Mended = firstNames(turned(before.Tests, kept.Tests, pawl.TestFail, pawl.TestPass, flaky))
	} else if base != nil {
		out.Mended = firstNames(turned(base.Tests, kept.Tests, pawl.TestFail, pawl.TestPass, append(slices.Clone(kept.Flaky), base.Flaky...)))
	}
	fitNames(out)
	return out, nil
}

// Bounds of the tests that a verdict names.
const (
	maxNames = 8
	maxName  = 80 // bytes; a longer one ends in its fingerprint
)

// wasGreen reports whether a test that passed in an earlier report, which may be nil, fails now.
func wasGreen(earlier, now *pawl.GateReport) bool {
	return earlier != nil && len(turned(earlier.Tests, now.Tests, pawl.TestPass, pawl.TestFail, now.Flaky)) > 0
}

// turned are the tests that had one status and have another now, without the
// flaky ones: these say nothing.
func turned(before, now []pawl.TestResult, from, to pawl.TestStatus, flaky []string) []string {
	had := make(map[string]pawl.TestStatus, len(before))
	for _, t := range before {
		had[t.Name] = t.Status
	}
	var names []string
	for _, t := range now {
		if t.Status == to && had[t.Name] == from && !slices.Contains(flaky, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// firstNames are the first names in their order, fit for an event; of a test and
// its subtests, the subtests are named.
func firstNames(names []string) []string {
	sorted := slices.Sorted(slices.Values(names))
	var out []string
	for _, name := range sorted {
		if len(out) == maxNames {
			break
		}
		if i, _ := slices.BinarySearch(sorted, name+"/"); i < len(sorted) && strings.HasPrefix(sorted[i], name+"/") {
			continue
		}
		if len(name) > maxName {
			name = brief.Cut(name, maxName-17) + fmt.Sprintf("#%016x", fingerprint([]string{name}))
		}
		out = append(out, name)
	}
	return out
}

// fitNames leaves out the last names where the event would be too large.
func fitNames(out *pawl.GateJudged) {
	for _, names := range []*[]string{&out.Mended, &out.Flaky, &out.Broke} {
		for len(*names) > 1 && eventSize(out) > maxEvent {
			*names = (*names)[:len(*names)-1]
		}
	}
}

// verdictOf is a verdict a gate can give; anything else is a failure.
func verdictOf(v pawl.Verdict) pawl.Verdict {
	switch v {
	case pawl.VerdictPass, pawl.VerdictRevise, pawl.VerdictRetry, pawl.VerdictHalt, pawl.VerdictSkip:
		return v
	}
	return pawl.VerdictFail
}

func count(out *pawl.GateJudged, findings []pawl.Diagnostic) {
	for _, f := range findings {
		switch f.Severity {
		case pawl.SeverityCritical:
			out.Critical++
		case pawl.SeverityHigh:
			out.High++
		case pawl.SeverityMedium:
			out.Medium++
		case pawl.SeverityLow:
			out.Low++
		}
	}
}

func failing(tests []pawl.TestResult) []string {
	var names []string
	for _, t := range tests {
		if t.Status == pawl.TestFail {
			names = append(names, t.Name)
		}
	}
	return names
}

// numbers are lines, columns and counts in a message, which move; not those that
// are part of a name, as in int32 or CVE-2024-3094.
var numbers = pattern.Of(`(^|[\s(:,])[0-9]+\b`)

// hexes are hashes, and what is left of them when a # has taken the place of
// their digits: a checkout's path ends in the hash of its commit, which no two
// attempts share.
var hexes = pattern.Of(`[0-9a-f]{16,}|[a-f#]{10,}`)

// found tells findings apart by all but where in their file they are.
func found(findings []pawl.Diagnostic) []string {
	var out []string
	for _, f := range findings {
		message := numbers.ReplaceAllString(hexes.ReplaceAllString(f.Message, ""), "${1}0")
		out = append(out, fmt.Sprintf("%q %q %q %q", f.Severity, f.Rule, f.File, message))
	}
	return out
}
