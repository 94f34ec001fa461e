package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/store/sqlite"
)

// Recovery is what a user waits for after a daemon was killed with runs under way:
// from when the next one is executed until the last of the runs is at work again.
type Recovery struct {
	Runs   int `json:"runs"`
	Events int `json:"events_each"` // at least
	Rounds int `json:"rounds"`
	// Effect is until the last run's first new effect is requested, which begins as soon
	// as that is durable; Call until the last run's model call has reached the model.
	Effect   Spread `json:"new_effect"`
	Call     Spread `json:"model_call"`
	Commands Spread `json:"model_call_after_commands"` // as Call, of runs that were in commands
	// Orphans are processes that were left over [orphanPatience] after a daemon died
	// whose runs were all in commands; -1 = not told on this system. Gone is until there
	// was none.
	Orphans int    `json:"orphans"`
	Gone    Spread `json:"processes_gone"`
}

// MeasureRecovery makes runs that are under way, and kills their daemon again and again.
func MeasureRecovery(ctx context.Context, o Options, runs, events, rounds int) (r Recovery, err error) {
	r = Recovery{Runs: runs, Events: events, Rounds: rounds, Orphans: -1}
	m, err := newModelServer(ctx)
	if err != nil {
		return r, err
	}
	defer m.close()
	u, err := newUser(o.Program, o.Dir)
	if err != nil {
		return r, err
	}
	defer u.remove()
	u.model = m.url
	p, err := u.layProject(ctx, "repo", liveFiles)
	if err != nil {
		return r, err
	}
	if err := interrupt(ctx, p, runs, events); err != nil {
		return r, err
	}
	o.Progress(fmt.Sprintf("%d × kill -9 of a daemon with %d runs in model calls", rounds, runs))
	var effects, calls []time.Duration
	for i := range rounds + 1 {
		effect, call, err := recoverOnce(ctx, u, p, m, runs)
		if err != nil {
			return r, err
		}
		if i > 0 { // the first finds the disk's caches cold
			effects, calls = append(effects, effect), append(calls, call)
		}
	}
	r.Effect, r.Call = spread(effects), spread(calls)
	o.Progress(fmt.Sprintf("%d × the same, in commands", rounds))
	var commands, gone []time.Duration
	for range rounds {
		orphans, took, err := dieInCommands(ctx, u, m, runs)
		if err != nil {
			return r, err
		}
		r.Orphans, gone = max(r.Orphans, orphans), append(gone, took)
		_, call, err := recoverOnce(ctx, u, p, m, runs)
		if err != nil {
			return r, err
		}
		commands = append(commands, call)
	}
	r.Commands, r.Gone = spread(commands), spread(gone)
	return r, nil
}

// recoverOnce starts a daemon, waits until all runs are at work, and kills it.
func recoverOnce(ctx context.Context, u *user, p project.Project, m *modelServer, runs int) (effect, call time.Duration, err error) {
	m.expect(nil)
	d, err := u.serve()
	if err != nil {
		return 0, 0, err
	}
	last, err := m.heard(ctx, runs)
	d.kill()
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, d.said.Bytes())
	}
	first, err := firstEffects(ctx, p, d.cmd.Process.Pid, runs)
	return first.Sub(d.began), last.Sub(d.began), err
}

// firstEffects is when the last of the runs requested its first effect after a process
// had taken it over.
func firstEffects(ctx context.Context, p project.Project, pid, runs int) (last time.Time, err error) {
	log, err := sqlite.OpenReadOnly(p.Dir)
	if err != nil {
		return last, err
	}
	defer log.Close()
	all, err := log.Runs(ctx)
	if err != nil {
		return last, err
	}
	found := 0
	for _, r := range all {
		taken := false
		for e, err := range log.Events(ctx, r.ID, 0) {
			if err != nil {
				return last, err
			}
			if b, ok := e.Body.(*pawl.Recovered); ok {
				taken = b.Pid == pid
			}
			if _, ok := e.Body.(*pawl.EffectRequested); taken && ok {
				found++
				if e.Time.After(last) {
					last = e.Time
				}
				break
			}
		}
	}
	if found < runs {
		err = fmt.Errorf("%d of %d runs were taken over by process %d", found, runs, pid)
	}
	return last, err
}

// orphanPatience is how long commands may take to end whose daemon was killed.
const orphanPatience = 10 * time.Second

// dieInCommands lets all runs of a daemon call a command, kills it, and waits until
// nothing is left of the commands.
func dieInCommands(ctx context.Context, u *user, m *modelServer, runs int) (orphans int, gone time.Duration, err error) {
	m.expect([]byte(sayCommand))
	d, err := u.serve()
	if err != nil {
		return 0, 0, err
	}
	for begun := 0; begun < runs; {
		load, err := d.Load(ctx)
		if err != nil {
			d.kill()
			return 0, 0, fmt.Errorf("wait for commands: %w", err)
		}
		begun = 0
		for _, p := range load.Pools {
			if p.Name == "lane:no-net" {
				begun = p.Used
			}
		}
		if time.Since(d.began) > daemonPatience {
			d.kill()
			return 0, 0, fmt.Errorf("%d of %d runs began a command: %s", begun, runs, d.said.Bytes())
		}
		_ = pause(ctx, 50*time.Millisecond) // what is asked next fails when ctx has ended
	}
	_ = pause(ctx, 200*time.Millisecond) // their processes have begun
	watch := inherit(d.cmd.Process.Pid)
	from := time.Now()
	d.kill()
	for orphans = watch(); orphans > 0 && time.Since(from) < orphanPatience; orphans = watch() {
		_ = pause(ctx, 5*time.Millisecond)
	}
	return orphans, time.Since(from), nil
}

// Spread is the middle of some times, and both ends.
type Spread struct {
	Median time.Duration `json:"median_ns"`
	Min    time.Duration `json:"min_ns"`
	Max    time.Duration `json:"max_ns"`
}

func spread(times []time.Duration) Spread {
	slices.Sort(times)
	n := len(times)
	return Spread{times[n/2], times[0], times[n-1]}
}

// String implements [fmt.Stringer].
func (s Spread) String() string {
	return fmt.Sprintf("%s (%s to %s)", ms(s.Median), ms(s.Min), ms(s.Max))
}
