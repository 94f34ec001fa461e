package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Start is how long the program takes from when it is executed.
type Start struct {
	Help    Spread `json:"help"`    // pawl --help, to its end
	Version Spread `json:"version"` // pawl version, to its end
	// Warm is until a daemon that finds a project's state has answered its first
	// request, WarmList until it has listed the project's runs.
	Warm     Spread `json:"daemon_warm"`
	WarmList Spread `json:"daemon_warm_list"`
	// Cold and ColdList are the same of a daemon that finds nothing: the project's
	// state is made, with all migrations.
	Cold     Spread `json:"daemon_cold"`
	ColdList Spread `json:"daemon_cold_list"`
}

// MeasureStart starts the program again and again.
func MeasureStart(ctx context.Context, o Options, times int) (s Start, err error) {
	u, err := newUser(o.Program, o.Dir)
	if err != nil {
		return s, err
	}
	defer u.remove()
	for _, c := range []struct {
		arg string
		to  *Spread
	}{{"--help", &s.Help}, {"version", &s.Version}} {
		var took []time.Duration
		for range times {
			cmd := u.command(c.arg)
			from := time.Now()
			if err := cmd.Run(); err != nil {
				return s, fmt.Errorf("pawl %s: %w", c.arg, err)
			}
			took = append(took, time.Since(from))
		}
		*c.to = spread(took)
	}
	if _, err := u.layProject(ctx, "repo", 1); err != nil {
		return s, err
	}
	measure := func(cold bool) (answer, list Spread, err error) {
		var answers, lists []time.Duration
		for range times {
			if cold {
				if err := os.RemoveAll(u.state()); err != nil {
					return answer, list, fmt.Errorf("forget the state: %w", err)
				}
			}
			a, l, err := startOnce(ctx, u)
			if err != nil {
				return answer, list, err
			}
			answers, lists = append(answers, a), append(lists, l)
		}
		return spread(answers), spread(lists), nil
	}
	if s.Cold, s.ColdList, err = measure(true); err != nil {
		return s, err
	}
	s.Warm, s.WarmList, err = measure(false)
	return s, err
}

// startOnce starts a daemon, asks who it is, and lists the runs of a project.
func startOnce(ctx context.Context, u *user) (answer, list time.Duration, err error) {
	d, err := u.serve()
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, d.end()) }()
	if _, err := d.About(ctx); err != nil {
		return 0, 0, err
	}
	answer = time.Since(d.began)
	info, err := d.Open(ctx, filepath.Join(u.dir, "repo"))
	if err != nil {
		return 0, 0, err
	}
	p, err := d.Project(ctx, info.ID)
	if err != nil {
		return 0, 0, err
	}
	_, err = p.Runs(ctx)
	return answer, time.Since(d.began), err
}

// Idle is what a daemon needs that has projects open and nothing to do.
type Idle struct {
	Projects int     `json:"projects"`
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu_percent"` // of one processor
	RSS      int64   `json:"rss_bytes"`   // 0 = not told on this system
	Private  int64   `json:"rss_private_bytes"`
}

// MeasureIdle lets a daemon open projects with a run each that has ended, waits until
// it has settled, and looks what it needs.
func MeasureIdle(ctx context.Context, o Options, projects int, settle, lasting time.Duration) (i Idle, err error) {
	i.Projects = projects
	u, err := newUser(o.Program, o.Dir)
	if err != nil {
		return i, err
	}
	defer u.remove()
	d, err := u.serve()
	if err != nil {
		return i, err
	}
	defer d.kill()
	for n := range projects {
		p, err := u.layProject(ctx, fmt.Sprintf("repo%d", n), 1)
		if err != nil {
			return i, err
		}
		if err := storeRuns(ctx, p, 1); err != nil {
			return i, err
		}
		if _, err := d.Open(ctx, p.Repo.Root); err != nil {
			return i, err
		}
		s, err := d.Project(ctx, filepath.Base(p.Dir))
		if err != nil {
			return i, err
		}
		if _, err := s.Runs(ctx); err != nil {
			return i, err
		}
	}
	if err := pause(ctx, settle); err != nil {
		return i, err
	}
	pid, from := d.cmd.Process.Pid, time.Now()
	before := processorTime(pid)
	if err := pause(ctx, lasting); err != nil {
		return i, err
	}
	i.Seconds = time.Since(from).Seconds()
	i.CPU = 100 * (processorTime(pid) - before).Seconds() / i.Seconds
	i.RSS, i.Private = memory(pid, "VmRSS:"), memory(pid, "RssAnon:")
	return i, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tick is the unit of times in /proc: 10 ms on every Linux there is.
const tick = 10 * time.Millisecond

// processorTime is what a process has used so far; zero where nobody tells.
func processorTime(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(string(fields[11])) // the fourteenth field of the line
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * tick
}

// memory is a line of a process's status, in bytes; zero where nobody tells.
func memory(pid int, line string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(data, []byte("\n"+line))
	if fields := bytes.Fields(rest); ok && len(fields) > 0 {
		kb, _ := strconv.ParseInt(string(fields[0]), 10, 64)
		return kb << 10
	}
	return 0
}
