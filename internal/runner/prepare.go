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

// prepare runs the commands that make a clean checkout ready, in a room of their own that
// has the network if the user chose them, and puts what they leave below the room that
// spec asks for. Gates that judge side by side share a checkout, and it is prepared once for
// all of them. A command that fails is the gates' failure: report is then not
// nil. leave must be called when the checkout is not needed any more.
func (r *Runner) prepare(ctx context.Context, job driver.Job, spec *pawl.GateRoom, req pawl.GateRequest) (report *pawl.GateReport, leave func(), err error) {
	if len(job.Settings.Prepare) == 0 {
		return nil, func() {}, nil
	}
	made, leave, err := r.prepared.once(ctx, string(job.Run)+" "+spec.Tree, func() (preparedTree, error) {
		return r.prepareIn(ctx, job, *spec, req)
	})
	if err != nil {
		return nil, nil, err
	}
	spec.Prepared = made.layer
	return made.report, leave, nil
}

// preparedTree is how a preparation came out: the layer, or the report of a command
// that failed.
type preparedTree struct {
	layer  pawl.Prepared
	report *pawl.GateReport
}

func (r *Runner) prepareIn(ctx context.Context, job driver.Job, spec pawl.GateRoom, req pawl.GateRequest) (made preparedTree, err error) {
	began := time.Now()
	room, err := r.Rooms.Prepare(ctx, pawl.PrepareSpec{
		Run: spec.Run, Commit: spec.Commit, Tree: spec.Tree, Network: job.Settings.PrepareHasNetwork(),
		Limits: job.Settings.Room,
	})
	if err != nil {
		return made, err
	}
	for _, line := range job.Settings.Prepare {
		left := req
		left.Env = []string{"PAWL_TASK_ID=" + string(job.Run), "PAWL_PROJECT_ROOT=" + room.Dir()}
		takeTime(&left, time.Since(began))
		if made.report, err = prepareWith(ctx, room, line, left); made.report != nil || err != nil {
			return made, errors.Join(err, room.Close())
		}
	}
	made.layer, err = room.Keep()
	return made, err
}

func prepareWith(ctx context.Context, room pawl.Room, line string, req pawl.GateRequest) (*pawl.GateReport, error) {
	res, err := room.Run(ctx, pawl.Command{
		Shell: line, Env: req.Env, Timeout: req.Timeout, Progress: req.Progress,
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
	done    chan struct{} // closed when made and err are set
	made    preparedTree
	err     error
}

// once runs a preparation unless whoever else holds the folder has run it, or is
// running it: then it waits for theirs. One that did not come to an end is begun
// anew by whoever still waits.
func (p *preparations) once(ctx context.Context, dir string, run func() (preparedTree, error)) (preparedTree, func(), error) {
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
			return preparedTree{}, nil, ctx.Err()
		}
		if x.err == nil {
			return x.made, leave, nil
		}
		p.drop(dir, x)
		leave()
		if mine {
			return preparedTree{}, nil, x.err
		}
	}
}

// end runs the preparation; also when that panics, nobody waits for it any more.
func (x *preparation) end(run func() (preparedTree, error)) {
	defer close(x.done)
	x.err = errors.New("the preparation broke off")
	x.made, x.err = run()
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
	x.holders--
	last := x.holders == 0
	if last && p.dirs[dir] == x {
		delete(p.dirs, dir)
	}
	p.mu.Unlock()
	if last && x.made.layer != nil {
		_ = x.made.layer.Remove() // what stays is removed when the project is opened again
	}
}
