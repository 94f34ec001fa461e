package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/sandbox"
)

// Run is how long pawl run takes on a daemon that is ready, and how much memory that daemon has. It is
// measured with processes of the program alone.
type Run struct {
	// Sandbox is what confines the runs' commands; empty = nothing does on this machine.
	Sandbox string `json:"sandbox,omitempty"`
	Files   int    `json:"files"` // in each project's repository
	Runs    int    `json:"runs"`  // that were timed, one after the other in one project
	// Call is from when pawl run is executed until the run's first model call has reached the model.
	// Started and Opened are until the run's first event and until its worktree is open.
	Call    Percentiles `json:"model_call"`
	Started Percentiles `json:"started"`
	Opened  Percentiles `json:"opened"`
	Memory  RunMemory   `json:"memory"`
}

// RunMemory is the memory of a daemon at rest and with live runs.
type RunMemory struct {
	Projects int `json:"projects"`
	Runs     int `json:"live_runs"`
	// Rest is with the projects open and no run, and Live with runs that wait for their first model call.
	Rest Resident `json:"rest"`
	Live Resident `json:"live"`
	// Each is the difference, divided by the number of live runs.
	Each Resident `json:"each_live_run"`
}

// Resident is resident memory, in bytes; 0 = not known on this system.
type Resident struct {
	RSS int64 `json:"rss_bytes"`
	// Private is without pages of files. Of the program's own file, the system maps more or less.
	Private int64 `json:"rss_private_bytes"`
	// Children is RSS of all processes below the daemon. Memory that they share counts several times.
	Children int64 `json:"children_rss_bytes"`
}

// Live says how many projects a daemon opens, how many runs are live at once, and how long the daemon
// settles before its memory is measured.
type Live struct {
	Projects, Runs int
	Settle         time.Duration
}

// MeasureRun measures the memory of a daemon at rest and with live runs, and then how long runs take to
// call their model.
func MeasureRun(ctx context.Context, o Options, files, times int, live Live) (r Run, err error) {
	r.Files, r.Runs = files, times
	box, err := sandbox.Probe(ctx)
	switch {
	case err == nil:
		r.Sandbox = box.Describe()
	case pawl.CodeOf(err) != pawl.CodeUnavailable:
		return r, err
	}
	b, err := newRunBed(ctx, o, files, live, r.Sandbox != "")
	if err != nil {
		return r, err
	}
	defer b.close()
	o.Progress(fmt.Sprintf("the memory of a daemon with %d projects, and with %d live runs", live.Projects, live.Runs))
	if r.Memory, err = b.memory(ctx, live); err != nil {
		return r, b.explain(err)
	}
	o.Progress(fmt.Sprintf("%d × pawl run, until its first model call", times))
	var called, started, opened []time.Duration
	for range times {
		t, err := b.run(ctx)
		if err != nil {
			return r, b.explain(err)
		}
		called, started, opened = append(called, t.called), append(started, t.started), append(opened, t.opened)
	}
	r.Call, r.Started, r.Opened = percentiles(called), percentiles(started), percentiles(opened)
	return r, nil
}

// runBed is a daemon with projects, and the model that their runs call.
type runBed struct {
	user     *user
	model    *modelServer
	daemon   *daemon
	projects []project.Project
	services []pawl.Service
	confined bool
}

func newRunBed(ctx context.Context, o Options, files int, live Live, confined bool) (b *runBed, err error) {
	b = &runBed{confined: confined}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.model, err = newModelServer(ctx); err != nil {
		return nil, err
	}
	if b.user, err = newUser(o.Program, o.Dir); err != nil {
		return nil, err
	}
	b.user.model = b.model.url
	for _, limit := range []string{"PLACES", "CALLS"} { // all live runs call their model at once
		b.user.environ = append(b.user.environ, fmt.Sprintf("PAWL_MACHINE_%s=%d", limit, live.Runs+1))
	}
	for n := range live.Projects {
		p, err := b.user.layProject(ctx, fmt.Sprintf("repo%d", n), files)
		if err != nil {
			return nil, err
		}
		b.projects = append(b.projects, p)
	}
	if b.daemon, err = b.user.serve(); err != nil {
		return nil, err
	}
	for _, p := range b.projects {
		if _, err := b.daemon.Open(ctx, p.Repo.Root); err != nil {
			return nil, b.explain(err)
		}
		s, err := b.daemon.Project(ctx, p.ID())
		if err != nil {
			return nil, b.explain(err)
		}
		if _, err := s.Runs(ctx); err != nil {
			return nil, b.explain(err)
		}
		b.services = append(b.services, s)
	}
	return b, nil
}

// close ends the daemon and removes everything.
func (b *runBed) close() {
	if b.daemon != nil {
		b.daemon.kill()
	}
	if b.model != nil {
		b.model.close()
	}
	if b.user != nil {
		b.user.remove()
	}
}

// explain adds to an error what the daemon printed.
func (b *runBed) explain(err error) error {
	b.daemon.kill()
	return fmt.Errorf("%w: %s", err, b.daemon.said.Bytes())
}

// memory measures the daemon's memory at rest and with live runs, which it ends again.
func (b *runBed) memory(ctx context.Context, live Live) (m RunMemory, err error) {
	m.Projects, m.Runs = live.Projects, live.Runs
	if err := pause(ctx, live.Settle); err != nil {
		return m, err
	}
	m.Rest = b.resident()
	b.model.expect(nil)
	ids := make([]pawl.RunID, live.Runs)
	for i := range ids {
		info, err := b.services[i%len(b.services)].Start(ctx, pawl.StartRequest{Goal: goalOf(i + 1), Flags: pawl.StartFlags{
			Model: []string{benchModel}, Complexity: new(benchComplexity), Unsandboxed: !b.confined,
		}})
		if err != nil {
			return m, err
		}
		ids[i] = info.ID
	}
	if _, err := b.model.heard(ctx, live.Runs); err != nil {
		return m, err
	}
	if err := pause(ctx, live.Settle); err != nil {
		return m, err
	}
	m.Live = b.resident()
	n := int64(max(live.Runs, 1))
	m.Each = Resident{(m.Live.RSS - m.Rest.RSS) / n, (m.Live.Private - m.Rest.Private) / n, (m.Live.Children - m.Rest.Children) / n}
	for i, id := range ids {
		if err := endRun(ctx, b.services[i%len(b.services)], id); err != nil {
			return m, err
		}
	}
	return m, nil
}

// resident returns the memory of the daemon.
func (b *runBed) resident() Resident {
	pid := b.daemon.cmd.Process.Pid
	return Resident{memory(pid, "VmRSS:"), memory(pid, "RssAnon:"), memoryBelow(pid)}
}

// endRun cancels a run and returns when it has ended.
func endRun(ctx context.Context, s pawl.Service, run pawl.RunID) error {
	if err := s.Steer(ctx, run, pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}); err != nil {
		return err
	}
	for _, err := range s.Watch(ctx, run, 0) {
		if err != nil {
			return err
		}
	}
	return nil
}

// benchModel is the model of runs, benchComplexity how hard their goal is said to be, so that no model is
// asked about it first.
const (
	benchModel      = "openai-chat/bench"
	benchComplexity = 1
)

// goalOf returns the goal by which the model's server knows a run.
func goalOf(n int) string { return fmt.Sprintf("bench goal %d", n) }

// runTimes says how long after pawl run was executed its run reached certain points.
type runTimes struct{ started, opened, called time.Duration }

// run executes pawl run in the first project and returns when its run has ended, which is cancelled in its
// first model call.
func (b *runBed) run(ctx context.Context) (t runTimes, err error) {
	b.model.expect(nil)
	args := []string{"run", goalOf(1), "--model", benchModel, "--complexity", strconv.Itoa(benchComplexity)}
	if !b.confined {
		args = append(args, "--unsandboxed")
	}
	cmd := b.user.command(args...)
	cmd.Dir = filepath.Join(b.user.dir, "repo0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	from := time.Now()
	if err := cmd.Start(); err != nil {
		return t, fmt.Errorf("pawl run: %w", err)
	}
	called, err := b.model.heard(ctx, 1)
	if err == nil {
		t.called = called.Sub(from)
		err = b.points(ctx, from, &t)
	}
	if err != nil {
		_ = cmd.Process.Kill()
	}
	// It exits with the code of a run that was cancelled.
	if waited := cmd.Wait(); err == nil && !errors.As(waited, new(*exec.ExitError)) {
		err = fmt.Errorf("it did not exit as for a run that was cancelled: %w", waited)
	}
	if err != nil {
		return t, fmt.Errorf("pawl run: %w: %s", err, said.Bytes())
	}
	return t, nil
}

// points reads from the newest run's events when it reached the other points, and ends the run.
func (b *runBed) points(ctx context.Context, from time.Time, t *runTimes) error {
	s := b.services[0]
	all, err := s.Runs(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("the daemon lists no run")
	}
	run := all[len(all)-1].ID
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return err
		}
		if e.Seq == 1 {
			t.started = e.Time.Sub(from)
		}
		if _, is := e.Body.(*pawl.WorkspaceOpened); is && t.opened == 0 {
			t.opened = e.Time.Sub(from)
		}
	}
	if t.opened == 0 {
		return fmt.Errorf("run %s has no worktree", run)
	}
	return endRun(ctx, s, run)
}

func (r *Run) print(p printer) {
	how := "unconfined"
	if r.Sandbox != "" {
		how = "with rooms"
	}
	p("\npawl run on %d files, with a daemon that is ready, %d times, %s", r.Files, r.Runs, how)
	p("  %-38s %s", "the run's first event", r.Started)
	p("  %-38s %s", "its worktree is open", r.Opened)
	p("  %-38s %s", "its first model call", r.Call)
	m := &r.Memory
	p("  %-38s %s", fmt.Sprintf("memory at rest, %d projects", m.Projects), m.Rest)
	p("  %-38s %s", fmt.Sprintf("memory with %d live runs", m.Runs), m.Live)
	p("  %-38s %s", "each live run adds", m.Each)
}

// String implements [fmt.Stringer].
func (r Resident) String() string {
	return fmt.Sprintf("%.1f MiB, of which %.1f of its own; processes below it %.1f", mib(r.RSS), mib(r.Private), mib(r.Children))
}
