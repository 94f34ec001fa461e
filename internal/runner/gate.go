package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/driver"
)

// runGate judges a commit in a clean checkout of it.
func (r *Runner) runGate(ctx context.Context, job driver.Job, do *pawl.RunGate, a *answer) (pawl.Answer, error) {
	req, release, err := r.gateRequest(ctx, job, do)
	if err != nil {
		return nil, err
	}
	defer release()
	report, problem, err := r.prepare(ctx, job, req)
	if err != nil {
		return nil, err
	}
	if !problem {
		if report, err = r.Gate.Judge(ctx, req); err != nil {
			return nil, fmt.Errorf("gate %s: %w", do.Gate, err)
		}
	}
	evidence, err := json.Marshal(report)
	if err != nil {
		return nil, fmt.Errorf("encode the report of gate %s: %w", do.Gate, err)
	}
	return judged(job.Effect.ID, do, req.Spec, report, a.blob(evidence)), nil
}

func (r *Runner) gateRequest(ctx context.Context, job driver.Job, do *pawl.RunGate) (req pawl.GateRequest, release func(), err error) {
	for _, g := range job.Settings.Gates {
		if g.Name == do.Gate {
			req.Spec = g
		}
	}
	if req.Spec.Name == "" {
		return req, nil, pawl.Errorf(pawl.CodeInvalid, "the run has no gate %q", do.Gate)
	}
	if !do.Base.IsZero() {
		data, err := job.Blob(ctx, do.Base)
		if err != nil {
			return req, nil, fmt.Errorf("read the base's report: %w", err)
		}
		req.Base = &pawl.GateReport{}
		if err := json.Unmarshal(data, req.Base); err != nil {
			return req, nil, fmt.Errorf("read the base's report: %w", err)
		}
	}
	if req.Temp, err = r.Temp(job.Run); err != nil {
		return req, nil, err
	}
	req.Dir, release, err = r.Spaces.Checkout(ctx, do.Commit)
	if err != nil {
		return req, nil, err
	}
	req.Timeout = job.Effect.Timeout
	req.Progress = func(b []byte) { job.Live(string(b)) }
	req.Env = []string{"PAWL_TASK_ID=" + string(job.Run), "PAWL_PROJECT_ROOT=" + req.Dir}
	if file := r.changedFiles(ctx, job, do, req.Temp); file != "" {
		req.Env = append(req.Env, "PAWL_CHANGED_FILES="+file)
	}
	return req, release, nil
}

// changedFiles leaves a list of the candidate's changed files for the gate.
func (r *Runner) changedFiles(ctx context.Context, job driver.Job, do *pawl.RunGate, temp string) string {
	if do.Start == "" || do.OnBase {
		return ""
	}
	diff, err := r.Spaces.Diff(ctx, do.Start, do.Commit)
	if err != nil {
		return ""
	}
	var paths []string
	for line := range strings.Lines(string(diff)) {
		if p, ok := strings.CutPrefix(line, "+++ b/"); ok {
			paths = append(paths, strings.TrimSuffix(p, "\n"))
		}
	}
	file := filepath.Join(temp, fmt.Sprintf("changed-%d", job.Effect.ID))
	if os.WriteFile(file, []byte(strings.Join(paths, "\n")+"\n"), 0o600) != nil {
		return ""
	}
	return file
}

// prepare runs the commands that make a clean checkout ready, with the network.
// One that fails is the gate's failure: problem is then true.
func (r *Runner) prepare(ctx context.Context, job driver.Job, req pawl.GateRequest) (report pawl.GateReport, problem bool, err error) {
	for _, line := range job.Settings.Prepare {
		res, err := r.Sandbox.Run(ctx, pawl.Command{Shell: line, Dir: req.Dir, Temp: req.Temp, Network: true, Timeout: req.Timeout, Progress: req.Progress})
		if err != nil {
			return report, false, fmt.Errorf("prepare %q: %w", line, err)
		}
		if res.ExitCode != 0 || res.TimedOut {
			reason := fmt.Sprintf("prepare %q failed with exit code %d", line, res.ExitCode)
			if res.TimedOut {
				reason = fmt.Sprintf("prepare %q timed out", line)
			}
			return pawl.GateReport{Verdict: pawl.VerdictFail, Reason: reason, Error: reason, ExitCode: res.ExitCode,
				Output: string(res.Output), Duration: res.Duration, Partial: res.TimedOut}, true, nil
		}
	}
	return report, false, nil
}

// judged makes the fact of a report.
func judged(id pawl.Seq, do *pawl.RunGate, spec pawl.GateSpec, rep pawl.GateReport, evidence pawl.Hash) *pawl.GateJudged {
	out := &pawl.GateJudged{
		Effect: id, Gate: spec.Name, Kind: spec.Kind, Verdict: rep.Verdict, Reason: short(rep.Reason, 300),
		Partial: rep.Partial, OnBase: do.OnBase, RedAtBase: rep.RedAtBase, Optional: spec.Optional,
		Passed: rep.Passed, Total: rep.Passed + rep.Failed, Evidence: evidence,
	}
	var failing, found []string
	for _, t := range rep.Tests {
		if t.Status == pawl.TestFail {
			failing = append(failing, t.Name)
		}
	}
	for _, f := range rep.Findings {
		found = append(found, string(f.Severity)+"\x00"+f.Rule+"\x00"+f.File+"\x00"+f.Message)
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
	out.Failing, out.Found = fingerprint(failing), fingerprint(found)
	if rep.Error != "" {
		out.Error = fingerprint([]string{rep.Error})
	}
	return out
}
