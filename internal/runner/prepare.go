package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// prepare runs the commands that make a clean checkout ready, with the network.
// Gates that judge side by side share a checkout, and it is prepared once for
// all of them. A command that fails is the gates' failure: report is then not
// nil. leave must be called when the checkout is not needed any more.
func (r *Runner) prepare(ctx context.Context, job driver.Job, req pawl.GateRequest) (report *pawl.GateReport, leave func(), err error) {
	if len(job.Settings.Prepare) == 0 {
		return nil, func() {}, nil
	}
	return r.prepared.once(ctx, req.Dir, func() (*pawl.GateReport, error) {
		began := time.Now()
		for _, line := range job.Settings.Prepare {
			left := req
			takeTime(&left, time.Since(began))
			if report, err := r.prepareWith(ctx, line, left); report != nil || err != nil {
				return report, err
			}
		}
		return nil, nil
	})
}

func (r *Runner) prepareWith(ctx context.Context, line string, req pawl.GateRequest) (*pawl.GateReport, error) {
	res, err := r.Sandbox.Run(ctx, pawl.Command{
		Shell: line, Dir: req.Dir, Temp: req.Temp, Env: req.Env, Network: true, Timeout: req.Timeout, Progress: req.Progress,
	})
	var reason string
	switch {
	case err != nil:
		return nil, fmt.Errorf("prepare %q: %w", line, err)
	case res.TimedOut:
		reason = fmt.Sprintf("prepare %q timed out", line)
	case res.Missing:
		reason = fmt.Sprintf("prepare %q: the program is not installed (exit %d)", line, res.ExitCode)
	case res.ExitCode != 0:
		reason = fmt.Sprintf("prepare %q failed (exit %d)", line, res.ExitCode)
	default:
		return nil, nil
	}
	return &pawl.GateReport{
		Verdict: pawl.VerdictFail, Reason: reason, Error: reason, ExitCode: res.ExitCode,
		Output: string(res.Output), Duration: res.Duration, Partial: res.TimedOut,
	}, nil
}

// preparations are the checkouts that are being prepared, or are prepared and held.
type preparations struct {
	mu   sync.Mutex // guards dirs and the holders in it
	dirs map[string]*preparation
}

type preparation struct {
	holders int
	done    chan struct{} // closed when report and err are set
	report  *pawl.GateReport
	err     error
}

// once runs a preparation unless whoever else holds the folder has run it, or is
// running it: then it waits for theirs. One that did not come to an end is begun
// anew by whoever still waits.
func (p *preparations) once(ctx context.Context, dir string, run func() (*pawl.GateReport, error)) (*pawl.GateReport, func(), error) {
	for {
		x, mine := p.hold(dir)
		leave := sync.OnceFunc(func() { p.leave(dir, x) })
		if mine {
			x.end(run)
		}
		select {
		case <-x.done:
		case <-ctx.Done():
			leave()
			return nil, nil, ctx.Err()
		}
		if x.err == nil {
			return x.report, leave, nil
		}
		p.drop(dir, x)
		leave()
		if mine {
			return nil, nil, x.err
		}
	}
}

// end runs the preparation; also when that panics, nobody waits for it any more.
func (x *preparation) end(run func() (*pawl.GateReport, error)) {
	defer close(x.done)
	x.err = errors.New("the preparation broke off")
	x.report, x.err = run()
}

func (p *preparations) hold(dir string) (x *preparation, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x = p.dirs[dir]; x == nil {
		if p.dirs == nil {
			p.dirs = make(map[string]*preparation)
		}
		x, mine = &preparation{done: make(chan struct{})}, true
		p.dirs[dir] = x
	}
	x.holders++
	return x, mine
}

// drop lets the next one that holds the folder begin anew.
func (p *preparations) drop(dir string, x *preparation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dirs[dir] == x {
		delete(p.dirs, dir)
	}
}

func (p *preparations) leave(dir string, x *preparation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.holders--; x.holders == 0 && p.dirs[dir] == x {
		delete(p.dirs, dir)
	}
}
