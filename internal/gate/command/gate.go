package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/gate/report"
)

// Gate judges candidates with commands. It is made by [New].
type Gate struct{}

// New makes the gate that runs its commands in the rooms it is given.
func New() pawl.Gate { return &Gate{} }

// Judge runs the gate's command and reads its result; see [pawl.Gate].
func (g *Gate) Judge(ctx context.Context, req pawl.GateRequest) (pawl.GateReport, error) {
	if strings.TrimSpace(req.Spec.Command) == "" {
		return pawl.GateReport{Verdict: pawl.VerdictFail, Reason: "the gate has no command", Error: "the gate has no command"}, nil
	}
	tree, err := req.Room.Tree()
	if err != nil {
		return pawl.GateReport{}, fmt.Errorf("run gate %s: %w", req.Spec.Name, err)
	}
	a := newAttempt(req, tree)
	defer a.close()
	j, err := a.judge(ctx)
	if err != nil {
		return pawl.GateReport{}, err
	}
	r := j.report()
	if err := a.list(ctx, &r); err != nil {
		return pawl.GateReport{}, err
	}
	r.Notes = a.notes
	return r, nil
}

// judge runs the command, for the tests that are in doubt alone where that can be, and reads
// its results.
func (a *attempt) judge(ctx context.Context) (*judgement, error) {
	j, err := a.again(ctx)
	if j != nil || err != nil {
		return j, err
	}
	res, reading, err := a.run(ctx)
	if err != nil {
		return nil, err
	}
	j = &judgement{req: a.req, res: res, reading: reading, attempt: a}
	if !res.TimedOut && res.ExitCode != 0 && !reading.Recognised() {
		j.readMissing()
	}
	return j, nil
}

func timeout(req pawl.GateRequest) time.Duration {
	switch {
	case req.Spec.Timeout > 0:
		return req.Spec.Timeout
	case req.Timeout > 0:
		return req.Timeout
	}
	return pawl.DefaultCommandTimeout
}

// read makes a reading of what the command left. A report file that cannot be
// read is damage, for which nothing else makes up.
func read(req pawl.GateRequest, res pawl.CommandResult, files *fileWatch) report.Reading {
	src := report.Source{
		Format: req.Spec.Report, Kind: req.Spec.Kind, Stdout: res.Stdout, Output: res.Output,
		OutputCut: res.Dropped > 0, Roots: roots(req.Room.Dir()), ExitOK: res.ExitCode == 0 && !res.TimedOut,
	}
	if files == nil || req.Spec.Report == pawl.ReportExit {
		return report.Read(src)
	}
	contents, err := files.read()
	if err != nil {
		return report.Reading{Format: req.Spec.Report, Damage: err.Error()}
	}
	src.Files = contents
	r := report.Read(src)
	if !r.Recognised() {
		r.Damage = req.Spec.File + " is in no format that is known"
	}
	return r
}

// roots are the paths the checkout is known by: tools print either the one
// they were given or the one it resolves to.
func roots(dir string) []string {
	var all []string
	for _, d := range []string{dir, resolved(dir)} {
		if d = filepath.Clean(d); filepath.IsAbs(d) && d != "/" && (len(all) == 0 || all[0] != d) {
			all = append(all, d)
		}
	}
	return all
}

func resolved(dir string) string {
	if d, err := filepath.EvalSymlinks(dir); err == nil {
		return d
	}
	return dir
}
