package cgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// emptyLimit is how long killed processes may take to be gone.
	emptyLimit = 10 * time.Second
	// emptyInterval is how often that is looked at.
	emptyInterval = 2 * time.Millisecond
	// cpuPeriod is the time, in microseconds, in which a share of CPU time is used up.
	cpuPeriod = 100_000
)

// Group is a group of processes. Its methods may be called concurrently.
type Group struct {
	parts   []hierarchy // each with the folder of the group itself
	fd      int         // of the folder in version 2, or -1
	folders folders
}

// New makes an empty group. It fails if a limit cannot be enforced.
func (h *Host) New(name string, limits Limits) (*Group, error) {
	if len(h.hierarchies) == 0 {
		return nil, fmt.Errorf("make control group %s: %s", name, h.why)
	}
	if missing := h.Missing(limits); len(missing) > 0 {
		return nil, fmt.Errorf("make control group %s: no limit on %s is possible here", name, strings.Join(missing, ", "))
	}
	if strings.ContainsAny(name, "/\x00\n") {
		return nil, fmt.Errorf("make control group %q: not a name", name)
	}
	g := &Group{fd: -1, folders: h.folders}
	for _, use := range h.hierarchies {
		use.folder = filepath.Join(use.folder, h.owner+name)
		if err := h.folders.mkdir(use.folder); err != nil {
			return nil, errors.Join(fmt.Errorf("make control group %s: %w", name, err), g.Close())
		}
		g.parts = append(g.parts, use)
		if err := use.limit(limits); err != nil {
			return nil, errors.Join(fmt.Errorf("limit control group %s: %w", name, err), g.Close())
		}
		if use.version == 2 {
			var err error
			if g.fd, err = unix.Open(use.folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
				return nil, errors.Join(fmt.Errorf("open control group %s: %w", name, err), g.Close())
			}
		}
	}
	return g, nil
}

// Limit sets limits of the group that were not given to New.
func (g *Group) Limit(limits Limits) error {
	for _, part := range g.parts {
		if err := part.limit(limits); err != nil {
			return fmt.Errorf("limit a control group: %w", err)
		}
	}
	return nil
}

// limit writes the limits that this part's controllers enforce.
func (p hierarchy) limit(l Limits) error {
	type setting struct {
		file, value string
		optional    bool
	}
	var settings []setting
	if l.Processes > 0 && p.controls("pids") {
		settings = append(settings, setting{"pids.max", strconv.FormatInt(l.Processes, 10), false})
	}
	if l.Memory > 0 && p.controls("memory") {
		// A kernel may be built without accounting of swap. Memory comes first: the limit
		// on both together must not be the lower one.
		bytes := strconv.FormatInt(l.Memory, 10)
		if p.version == 2 {
			settings = append(settings, setting{"memory.max", bytes, false}, setting{"memory.swap.max", "0", true})
		} else {
			settings = append(settings, setting{"memory.limit_in_bytes", bytes, false}, setting{"memory.memsw.limit_in_bytes", bytes, true})
		}
	}
	if l.CPU > 0 && p.controls("cpu") {
		quota := strconv.FormatInt(int64(math.Ceil(l.CPU*cpuPeriod)), 10)
		if p.version == 2 {
			settings = append(settings, setting{"cpu.max", quota + " " + strconv.Itoa(cpuPeriod), false})
		} else {
			settings = append(settings, setting{"cpu.cfs_period_us", strconv.Itoa(cpuPeriod), false}, setting{"cpu.cfs_quota_us", quota, false})
		}
	}
	for _, set := range settings {
		err := write(filepath.Join(p.folder, set.file), set.value)
		if err != nil && !(set.optional && errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// Add puts a process into the group; 0 is this one. Its future children are in
// the group too, those it has already are not. So a process must be added before it
// goes on to start others.
func (g *Group) Add(pid int) error {
	for _, part := range g.parts {
		if err := write(filepath.Join(part.folder, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("add process %d to a control group: %w", pid, err)
		}
	}
	return nil
}

// FD is a descriptor of the group for SysProcAttr.CgroupFD, which starts a
// process in the group. It is enough only if whole is true; otherwise the process
// must be put into the groups of version 1 by Add.
func (g *Group) FD() (fd int, whole bool) { return g.fd, g.fd >= 0 && len(g.parts) == 1 }

// Met says how often the limits were met.
func (g *Group) Met() (Met, error) {
	var met Met
	var errs error
	for _, part := range g.parts {
		for _, c := range []struct {
			controller, file, name string
			count                  *int64
			version                int // 0 is both
		}{
			{"pids", "pids.events", "max", &met.Processes, 0},
			{"memory", "memory.events", "oom_kill", &met.Memory, 2},
			{"memory", "memory.oom_control", "oom_kill", &met.Memory, 1},
			{"cpu", "cpu.stat", "nr_throttled", &met.CPU, 0},
		} {
			if !part.controls(c.controller) || c.version != 0 && c.version != part.version {
				continue
			}
			n, err := counter(filepath.Join(part.folder, c.file), c.name)
			*c.count += n
			errs = errors.Join(errs, err)
		}
	}
	return met, errs
}

// counter reads one line of a file with lines of a name and a number.
func counter(path, name string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, name)
}

// Kill ends all processes of the group and waits until they are gone, though not for
// ever: a process may hang in the kernel.
func (g *Group) Kill() error {
	var errs error
	for _, part := range g.parts {
		errs = errors.Join(errs, part.kill())
	}
	return errs
}

// Close kills what is in the group and removes it. It returns an error if it
// could not be removed in time; RemoveLeftovers may, once this process has ended.
func (g *Group) Close() error {
	var errs error
	for _, part := range g.parts {
		errs = errors.Join(errs, part.remove(g.folders))
	}
	if g.fd >= 0 {
		errs = errors.Join(errs, unix.Close(g.fd))
		g.fd = -1
	}
	g.parts = nil
	return errs
}

// remove kills and removes the group of one hierarchy and the groups below it.
func (p hierarchy) remove(f folders) error {
	if err := p.kill(); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			below := p
			below.folder = filepath.Join(p.folder, entry.Name())
			if err := below.remove(f); err != nil {
				return err
			}
		}
	}
	return until("remove "+p.folder, func() (bool, error) {
		err := f.rmdir(p.folder)
		if errors.Is(err, os.ErrNotExist) {
			return true, nil
		}
		if errors.Is(err, unix.EBUSY) { // for a moment after the last process has ended
			return false, nil
		}
		return err == nil, err
	})
}

// kill ends the processes of one hierarchy's group and waits until they are gone.
func (p hierarchy) kill() error {
	return until("kill the processes of "+p.folder, func() (bool, error) {
		pids, err := p.processes()
		if errors.Is(err, os.ErrNotExist) {
			return true, nil
		}
		if err != nil || len(pids) == 0 {
			return err == nil, err
		}
		if p.version == 2 && write(filepath.Join(p.folder, "cgroup.kill"), "1") == nil {
			return false, nil
		}
		// One by one, which a group that forks could outrun for a while. A frozen one
		// cannot; it dies when it is thawed.
		thaw := p.freeze()
		if thaw != nil {
			defer thaw()
			if pids, err = p.processes(); err != nil {
				return false, err
			}
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL) // already gone is as good
		}
		return false, nil
	})
}

// freeze stops the group's processes and returns what lets them go on, or nil
// if this hierarchy cannot.
func (p hierarchy) freeze() (thaw func()) {
	file, stop, start := "cgroup.freeze", "1", "0"
	if p.version == 1 {
		if !p.controls("freezer") {
			return nil
		}
		file, stop, start = "freezer.state", "FROZEN", "THAWED"
	}
	file = filepath.Join(p.folder, file)
	if write(file, stop) != nil {
		return nil
	}
	return func() { _ = write(file, start) }
}

// processes lists the processes of the group and of the groups below it.
func (p hierarchy) processes() ([]int, error) {
	text, err := os.ReadFile(filepath.Join(p.folder, "cgroup.procs"))
	if err != nil {
		if errors.Is(err, unix.ENODEV) { // the group was removed meanwhile
			err = os.ErrNotExist
		}
		return nil, err
	}
	var pids []int
	for _, field := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			below := p
			below.folder = filepath.Join(p.folder, entry.Name())
			more, err := below.processes()
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			pids = append(pids, more...)
		}
	}
	return pids, nil
}

// until tries something again and again, for emptyLimit at most.
func until(what string, done func() (bool, error)) error {
	deadline := time.NewTimer(emptyLimit)
	defer deadline.Stop()
	tick := time.NewTicker(emptyInterval)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("%s: not possible within %s", what, emptyLimit)
		}
	}
}

// write writes to a file of the kernel's, which takes a value in one write.
func write(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}
