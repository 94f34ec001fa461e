package runner

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/evidence"
	"pawl/internal/heldout"
	"pawl/internal/kernel/brief"
)

// Held-out checks judge a commit in a room of their own, which is the only place where their content
// ever is besides the run's blobs. Test support and gate inputs are those of the base, so that a
// candidate cannot mend the checks from there.

// holdOutTime bounds held-out checks where their request does not.
const holdOutTime = 10 * time.Minute

// runHeldOut judges a commit by the run's held-out checks.
func (r *Runner) runHeldOut(ctx context.Context, job driver.Job, do *pawl.RunGate, spec pawl.GateSpec, a *answer) (*pawl.GateJudged, error) {
	began := time.Now()
	if job.Started.HeldOut.IsZero() {
		return nil, pawl.Errorf(pawl.CodeDamaged, "the run has no held-out checks")
	}
	data, err := read(ctx, job, "the held-out checks", job.Started.HeldOut)
	if err != nil {
		return nil, err
	}
	checks, err := heldout.Decode(data)
	if err != nil {
		return nil, err
	}
	commit, err := r.withBaseSupport(ctx, job, do)
	if err != nil {
		return nil, fmt.Errorf("make the tree of %s with the base's test support: %w", do.Commit, err)
	}
	dir, release, err := r.Spaces.Checkout(ctx, commit)
	if err != nil {
		return nil, err
	}
	defer release()
	prepared, report, err := r.forGate(ctx, job, do)
	if err != nil {
		return nil, err
	}
	if report == nil {
		open := pawl.GateRoom{Run: job.Run, Commit: commit, Tree: dir, Prepared: prepared, Over: checks.Overlay, Limits: job.Settings.Room}
		if checks.IsHarbor() {
			open.Folders = []pawl.RoomFolder{{Path: testsPath, Files: checks.Tests}, {Path: logsPath}}
		}
		room, err := r.Rooms.Gate(ctx, open)
		if err != nil {
			return nil, err
		}
		defer func() { _ = room.Close() }() // what stays is removed when the project is opened again
		req := pawl.GateRequest{Spec: spec, Room: discreet{room, r.Redact}, Timeout: job.Effect.Timeout}
		if err := r.tell(ctx, job, do, &req); err != nil {
			return nil, err
		}
		if req.Timeout == 0 {
			req.Timeout = holdOutTime
		}
		takeTime(&req, time.Since(began))
		h := &holding{req: req, checks: checks, ends: time.Now().Add(req.Timeout)}
		if report, err = h.judge(ctx); err != nil {
			return nil, err
		}
	}
	return judgedHeldOut(job, do, spec, report, a)
}

// withBaseSupport returns a commit that is the candidate with the base's test support and gate inputs,
// where it changed these.
func (r *Runner) withBaseSupport(ctx context.Context, job driver.Job, do *pawl.RunGate) (pawl.CommitHash, error) {
	if do.Start == "" || do.Start == do.Commit {
		return do.Commit, nil
	}
	c, readErr, err := r.change(ctx, job, &pawl.Examine{Commit: do.Commit, Base: do.Start})
	if err != nil {
		return "", err
	}
	c.Secrets = nil
	files := evidence.Look(c).BaseSupport()
	if *readErr != nil || len(files) == 0 {
		return do.Commit, *readErr
	}
	return r.Spaces.Compose(ctx, pawl.ComposeSpec{Of: do.Commit, Files: files})
}

// Where the tests of a Harbor task are, and where they leave their reward.
const (
	testsPath = "/tests"
	logsPath  = "/logs"
	rewards   = logsPath + "/verifier"
)

// maxCheckOutput is how many bytes are kept of what a failing check printed, for each check.
const maxCheckOutput = 4 << 10

// holding runs held-out checks in an open room.
type holding struct {
	req    pawl.GateRequest
	checks *heldout.Checks
	ends   time.Time
}

// judge runs the checks and returns the whole report.
func (h *holding) judge(ctx context.Context) (*pawl.GateReport, error) {
	rep := &pawl.GateReport{Verdict: pawl.VerdictPass, Format: pawl.ReportExit}
	if h.checks.IsHarbor() {
		if err := h.harbor(ctx, rep); err != nil {
			return nil, err
		}
	}
	for _, script := range h.checks.Scripts {
		at, err := h.req.Room.Give(script.Path, script.Data)
		if err != nil {
			return nil, err
		}
		res, err := h.run(ctx, heldout.Command(script.Data, at))
		if err != nil {
			return nil, err
		}
		h.add(rep, script.Path, &res, exitWords(&res))
		if res.TimedOut {
			rep.Partial = true
			break
		}
	}
	sum(rep)
	return rep, nil
}

// harbor runs the tests of a Harbor task and reads their reward.
func (h *holding) harbor(ctx context.Context, rep *pawl.GateReport) error {
	const script = testsPath + "/test.sh"
	made, err := h.run(ctx, []string{"mkdir", "-p", rewards})
	if err != nil {
		return err
	}
	if made.ExitCode != 0 {
		return fmt.Errorf("make %s: %s", rewards, made.Output)
	}
	var text []byte
	for _, f := range h.checks.Tests {
		if testsPath+"/"+f.Path == script {
			text = f.Data
		}
	}
	res, err := h.run(ctx, heldout.Command(text, script))
	if err != nil {
		return err
	}
	why := ""
	if res.TimedOut {
		rep.Partial, why = true, "timed out"
	} else {
		files := make([][]byte, 2)
		for i, name := range []string{"reward.txt", "reward.json"} {
			// A link is not followed, and a pipe not waited for.
			found, err := h.run(ctx, []string{"/bin/sh", "-c", `test -f "$1" && test ! -h "$1" && head -c 65536 "$1"`, "sh", rewards + "/" + name})
			if err != nil {
				return err
			}
			if found.ExitCode == 0 {
				files[i] = append([]byte{}, found.Stdout...)
			}
		}
		says, passes, err := heldout.Reward(files[0], files[1])
		switch {
		case err != nil:
			why = fmt.Sprintf("exit %d, %v", res.ExitCode, err)
		case !passes:
			why = says
		}
	}
	h.add(rep, "test.sh", &res, why)
	return nil
}

// run runs a command in the time that is left.
func (h *holding) run(ctx context.Context, argv []string) (pawl.CommandResult, error) {
	env := append(append([]string{}, h.checks.Env...), h.req.Env...)
	return h.req.Room.Run(ctx, pawl.Command{Argv: argv, Env: env, Timeout: max(time.Until(h.ends), time.Second)})
}

// exitWords says how a script failed; empty = it did not.
func exitWords(res *pawl.CommandResult) string {
	switch {
	case res.TimedOut:
		return "timed out"
	case res.ExitCode != 0:
		return fmt.Sprintf("exit %d", res.ExitCode)
	}
	return ""
}

// add adds the result of a check. why says how it failed; empty = it passed.
func (h *holding) add(rep *pawl.GateReport, name string, res *pawl.CommandResult, why string) {
	test := pawl.TestResult{Name: name, Status: pawl.TestPass}
	out := string(bytes.TrimRight(res.Output, "\n"))
	rep.Duration, rep.Met = rep.Duration+res.Duration, append(rep.Met, res.Met...)
	rep.Output += fmt.Sprintf("$ %s: %s\n", name, orPasses(why))
	if out != "" {
		rep.Output += brief.Cut(out, pawl.DefaultOutputLimit/max(1, len(h.checks.Scripts))) + "\n"
	}
	if why == "" {
		rep.Passed++
	} else {
		test.Status, test.Output = pawl.TestFail, why+"\n"+tail(out, maxCheckOutput)
		rep.Failed++
		rep.Error += name + ": " + why + "\n"
		if rep.ExitCode == 0 {
			rep.ExitCode = res.ExitCode
		}
	}
	rep.Tests = append(rep.Tests, test)
}

func orPasses(why string) string {
	if why == "" {
		return "passes"
	}
	return why
}

// tail returns the end of a text, which says most of why a command failed.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return "[…]" + strings.ToValidUTF8(text[len(text)-n:], "")
}

// sum makes the verdict of what the single checks said. Without a check that ran there is none that
// passes.
func sum(rep *pawl.GateReport) {
	var names []string
	for _, t := range rep.Tests {
		if t.Status == pawl.TestFail {
			names = append(names, t.Name)
		}
	}
	n := rep.Passed + rep.Failed
	switch {
	case rep.Failed > 0:
		rep.Verdict = pawl.VerdictFail
		rep.Reason = fmt.Sprintf("%d of %d held-out checks fail: %s", rep.Failed, n, strings.Join(names, ", "))
		if n == 1 {
			rep.Reason = "the held-out check fails: " + names[0]
		}
		if rep.Partial {
			rep.Reason += ", which timed out"
		}
	case n == 0:
		rep.Verdict, rep.Reason = pawl.VerdictFail, "no held-out check ran"
	case n == 1:
		rep.Reason = "the held-out check passes"
	default:
		rep.Reason = fmt.Sprintf("all %d held-out checks pass", n)
	}
}

// shown returns what agents and reviewers may see of a report.
func shown(rep *pawl.GateReport, feedback pawl.HeldOutFeedback) *pawl.GateReport {
	if feedback == pawl.HeldOutFull {
		return rep
	}
	out := &pawl.GateReport{Verdict: rep.Verdict, Partial: rep.Partial, Format: rep.Format, Met: rep.Met, Duration: rep.Duration}
	if feedback == pawl.HeldOutNone {
		out.Reason = "the held-out checks pass"
		if rep.Verdict != pawl.VerdictPass {
			out.Reason = "the held-out checks fail"
		}
		return out
	}
	out.Reason, out.Passed, out.Failed = rep.Reason, rep.Passed, rep.Failed
	for _, t := range rep.Tests {
		if t.Status == pawl.TestFail {
			out.Tests = append(out.Tests, pawl.TestResult{Name: t.Name, Status: t.Status})
		}
	}
	return out
}

// judgedHeldOut makes the fact of a whole report. What tells failures apart is taken from all of it.
func judgedHeldOut(job driver.Job, do *pawl.RunGate, spec pawl.GateSpec, rep *pawl.GateReport, a *answer) (*pawl.GateJudged, error) {
	out, err := judged(job, do, spec, shown(rep, job.Settings.HeldOutFeedback), nil, nil, a)
	if err != nil || job.Settings.HeldOutFeedback == pawl.HeldOutFull {
		return out, err
	}
	whole, err := a.document(rep)
	if err != nil {
		return nil, fmt.Errorf("keep the whole report: %w", err)
	}
	out.Full = whole.Hash()
	if rep.Verdict != pawl.VerdictPass {
		out.Failing, out.Error = fingerprint(failing(rep.Tests)), fingerprint([]string{rep.Error})
	}
	return out, nil
}
