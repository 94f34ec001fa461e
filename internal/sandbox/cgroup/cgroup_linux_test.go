package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// The test program is also what runs in groups.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__wait": // for a byte, and then become the command
			if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
				fmt.Println(err)
				syscall.Exit(1)
			}
			fmt.Println(unix.Exec(os.Args[2], os.Args[2:], os.Environ()))
			syscall.Exit(1)
		case "__use": // memory
			n, _ := strconv.Atoi(os.Args[2])
			data := make([]byte, n)
			for i := 0; i < n; i += 4096 {
				data[i] = 1
			}
			fmt.Println("used", len(data))
			syscall.Exit(0)
		case "__make": // a group, and be killed
			syscall.Exit(makeAndWait())
		}
	}
	os.Exit(m.Run())
}

// makeAndWait makes a group with a process in it, says where, and waits.
func makeAndWait() int {
	g, err := Probe().New("left", Limits{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	cmd := exec.Command("sleep", "3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(cmd.Start(), g.Add(cmd.Process.Pid)); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(cmd.Process.Pid, g.parts[0].folder)
	<-time.After(time.Hour)
	return 0
}

// MustProbe returns what there is, or skips.
func MustProbe(tb testing.TB, limits Limits) *Host {
	tb.Helper()
	h := Probe()
	if len(h.hierarchies) == 0 {
		tb.Skipf("no control groups can be used: %s", h.Describe())
	}
	if missing := h.Missing(limits); len(missing) > 0 {
		tb.Skipf("%s has no limit on %s", h.Describe(), strings.Join(missing, ", "))
	}
	return h
}

func MustNew(tb testing.TB, h *Host, limits Limits) *Group {
	tb.Helper()
	g, err := h.New(strings.ReplaceAll(tb.Name(), "/", "-"), limits)
	if err != nil {
		tb.Fatal(err)
	}
	parts := g.parts
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Error(err)
		}
		for _, part := range parts {
			if _, err := os.Stat(part.folder); !errors.Is(err, os.ErrNotExist) {
				tb.Errorf("%s is left: %v", part.folder, err)
			}
		}
	})
	return g
}

// started is a command in a group.
type started struct {
	*exec.Cmd
	out *bufio.Reader
}

// start runs a command that is in the group from its first moment.
func start(tb testing.TB, g *Group, argv ...string) *started {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), MustSelf(tb), append([]string{"__wait"}, argv...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if err := g.Add(cmd.Process.Pid); err != nil {
		tb.Fatal(err)
	}
	if _, err := in.Write([]byte("x")); err != nil {
		tb.Fatal(err)
	}
	in.Close()
	return &started{cmd, bufio.NewReader(out)}
}

func MustSelf(tb testing.TB) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return self
}

func (s *started) line(tb testing.TB) string {
	tb.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		tb.Fatalf("read a line: %v after %q", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// A fork bomb stops at the limit.
func TestProcesses(t *testing.T) {
	limits := Limits{Processes: 20}
	g := MustNew(t, MustProbe(t, limits), limits)
	if met, err := g.Met(); err != nil || met != (Met{}) {
		t.Errorf("met before anything ran: %+v, %v", met, err)
	}
	cmd := start(t, g, "/bin/sh", "-c", "i=0; while [ $i -lt 40 ]; do sleep 3600 > /dev/null 2>&1 & i=$((i+1)); done; echo all started")
	said, err := io.ReadAll(cmd.out)
	if err != nil || strings.Contains(string(said), "all started") {
		t.Errorf("the command said %q, %v", said, err)
	}
	met, err := g.Met()
	if err != nil || met.Processes == 0 {
		t.Errorf("40 processes with a limit of 20: met %+v, %v", met, err)
	}
	if met.Memory != 0 || met.CPU != 0 {
		t.Errorf("met %+v, want only the limit on processes", met)
	}
}

// Who uses more memory than the limit is killed.
func TestMemory(t *testing.T) {
	limits := Limits{Memory: 64 << 20}
	h := MustProbe(t, limits)
	for name, size := range map[string]int{"Below": 8 << 20, "Above": 256 << 20} {
		t.Run(name, func(t *testing.T) {
			g := MustNew(t, h, limits)
			cmd := start(t, g, MustSelf(t), "__use", strconv.Itoa(size))
			text, _ := io.ReadAll(cmd.out)
			cmd.Wait()
			met, err := g.Met()
			if err != nil {
				t.Fatal(err)
			}
			if above := name == "Above"; above != (met.Memory > 0) || above == strings.HasPrefix(string(text), "used") {
				t.Errorf("met %+v, and the command said %q", met, text)
			}
		})
	}
}

func TestCPU(t *testing.T) {
	limits := Limits{CPU: 0.2}
	g := MustNew(t, MustProbe(t, limits), limits)
	start(t, g, "/bin/sh", "-c", "while :; do :; done")
	if err := until("be made to wait", func() (bool, error) {
		met, err := g.Met()
		return met.CPU > 0, err
	}); err != nil {
		t.Error(err)
	}
}

// only is a host that has only some of what there is.
func only(t *testing.T, keep func(*hierarchy) bool) *Host {
	h := MustProbe(t, Limits{})
	var kept []hierarchy
	for _, place := range placesOf(MustRead(t, "/proc/self/cgroup"), MustRead(t, "/proc/self/mountinfo")) {
		use := hierarchy{place.version, place.folder, place.controllers}
		if keep(&use) && h.tryOut(use.folder) == nil {
			kept = append(kept, use)
		}
	}
	if len(kept) == 0 {
		t.Skip("not possible here")
	}
	return &Host{hierarchies: kept, owner: h.owner, folders: h.folders}
}

func MustRead(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Whatever there is to kill with, no process stays: not one that ignores signals
// or has a session of its own.
func TestKill(t *testing.T) {
	for name, keep := range map[string]func(*hierarchy) bool{
		"Version2": func(h *hierarchy) bool { return h.version == 2 },
		"Freezer":  func(h *hierarchy) bool { return h.controls("freezer") },
		"OneByOne": func(h *hierarchy) bool { h.controllers = []string{"pids"}; return h.version == 1 },
		"All":      func(*hierarchy) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			g := MustNew(t, only(t, keep), Limits{})
			cmd := start(t, g, "/bin/sh", "-c", "trap '' TERM HUP INT; for i in 1 2 3 4; do setsid sleep 3600 & done; echo ready; wait")
			if line := cmd.line(t); line != "ready" {
				t.Fatalf("the command said %q", line)
			}
			pids, err := g.parts[0].processes()
			if err != nil || len(pids) < 5 {
				t.Errorf("processes %v, %v; want the shell and what it started", pids, err)
			}
			if err := g.Kill(); err != nil {
				t.Fatal(err)
			}
			for _, part := range g.parts {
				if left, err := part.processes(); err != nil || len(left) > 0 {
					t.Errorf("left: %v, %v", left, err)
				}
			}
			cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != unix.SIGKILL {
				t.Errorf("the command ended with %v", cmd.ProcessState)
			}
		})
	}
}

func TestCgroupFD(t *testing.T) {
	h := only(t, func(h *hierarchy) bool { return h.version == 2 })
	g := MustNew(t, h, Limits{})
	fd, whole := g.FD()
	if !whole {
		t.Error("one group of version 2 is not the whole")
	}
	cmd := exec.CommandContext(t.Context(), "cat", "/proc/self/cgroup")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(g.parts[0].folder); !strings.Contains(out.String(), name) {
		t.Errorf("the process is not in %s: %s", name, out.String())
	}
	t.Run("All", func(t *testing.T) {
		all := MustNew(t, MustProbe(t, Limits{}), Limits{})
		if _, whole := all.FD(); whole != (len(all.parts) == 1 && all.parts[0].version == 2) {
			t.Errorf("%d parts, whole: %v", len(all.parts), whole)
		}
	})
}

// What a killed process leaves is found by name; what a live one has is not touched.
func TestRemoveLeftovers(t *testing.T) {
	h := MustProbe(t, Limits{})
	own := MustNew(t, h, Limits{})
	sleeper := start(t, own, "/bin/sleep", "3600")
	maker := exec.CommandContext(t.Context(), MustSelf(t), "__make")
	maker.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := maker.StdoutPipe()
	if err := errors.Join(err, maker.Start()); err != nil {
		t.Fatal(err)
	}
	defer maker.Wait()
	defer maker.Process.Kill()
	var pid int
	var folder string
	if _, err := fmt.Fscan(out, &pid, &folder); err != nil {
		t.Fatal(err)
	}
	left, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(left)
	if _, err := h.RemoveLeftovers(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the group of a live process is gone: %v", err)
	}
	maker.Process.Kill()
	maker.Wait()
	if n, err := h.RemoveLeftovers(); err != nil || n < 1 {
		t.Errorf("removed %d, %v", n, err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group of a dead process is left: %v", err)
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(left), Events: unix.POLLIN}}, 60_000); n != 1 {
		t.Errorf("the process in it goes on: %v", err)
	}
	if err := sleeper.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("our own process: %v", err)
	}
}

func TestOrphaned(t *testing.T) {
	self, err := ownerName()
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{owner: self}
	parts := strings.SplitN(self, "-", 5)
	for name, want := range map[string]bool{
		self + "x": false,
		fmt.Sprintf("pawl-%s-%d-1-x", parts[1], os.Getpid()): true,  // an earlier process with our pid
		fmt.Sprintf("pawl-%s-4194305-1-x", parts[1]):         true,  // no pid is that high
		"pawl-1-4194305-1-x":                                 false, // another namespace
		fmt.Sprintf("other-%s-4194305-1-x", parts[1]):        false,
		fmt.Sprintf("pawl-%s-0-1-x", parts[1]):               false,
		fmt.Sprintf("pawl-%s-x-1-x", parts[1]):               false,
		fmt.Sprintf("pawl-%s-%d", parts[1], os.Getpid()):     false,
		"user.slice": false,
	} {
		if got := h.orphaned(name); got != want {
			t.Errorf("orphaned(%s) = %v", name, got)
		}
	}
}

// A process that has ended and was not waited for holds no group.
func TestOrphanedByZombie(t *testing.T) {
	self, err := ownerName()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	pid := cmd.Process.Pid
	started, err := startTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{owner: self}
	name := fmt.Sprintf("pawl-%s-%d-%s-x", strings.SplitN(self, "-", 5)[1], pid, started)
	if h.orphaned(name) {
		t.Error("the group of a live process is orphaned")
	}
	in.Close()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if !h.orphaned(name) {
		t.Error("the group of a process that has ended is not orphaned")
	}
}

// Where version 2 cannot be used, the freezer stops a group before the others look at it.
func TestFreezer(t *testing.T) {
	top := t.TempDir()
	var own, mounts strings.Builder
	for i, controller := range []string{"memory", "pids", "freezer", "unified"} {
		folder := filepath.Join(top, controller)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if controller == "unified" {
			fmt.Fprintf(&own, "0::/\n")
			fmt.Fprintf(&mounts, "3%d 2 0:3%d / %s rw - cgroup2 cgroup2 rw\n", i, i, folder)
			continue
		}
		fmt.Fprintf(&own, "%d:%s:/\n", i+1, controller)
		fmt.Fprintf(&mounts, "3%d 2 0:3%d / %s rw - cgroup cgroup rw,%s\n", i, i, folder, controller)
	}
	for want, own := range map[string]string{
		"cgroup v1 (freezer, pids, memory)":      strings.ReplaceAll(own.String(), "0::/\n", ""),
		"cgroup v2 (kill) and v1 (memory, pids)": own.String(),
	} {
		h := probe(own, mounts.String(), "pawl-1-2-3-", fakeKernel(""))
		if got := h.Describe(); got != want {
			t.Errorf("described as %q, want %q", got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := (&Host{why: "nothing is mounted"}).New("x", Limits{}); err == nil || !strings.Contains(err.Error(), "nothing is mounted") {
		t.Errorf("without control groups: %v", err)
	}
	h := only(t, func(h *hierarchy) bool { h.controllers = nil; return h.version == 2 })
	if _, err := h.New("x", Limits{Memory: 1, CPU: 1}); err == nil || !strings.Contains(err.Error(), "memory, CPU time") {
		t.Errorf("without controllers: %v", err)
	}
	if _, err := h.New("../x", Limits{}); err == nil {
		t.Error("a name with a slash was taken")
	}
	g := MustNew(t, h, Limits{})
	if _, err := h.New(t.Name(), Limits{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second group with the name: %v", err)
	}
	if _, err := g.parts[0].processes(); err != nil {
		t.Errorf("the first one: %v", err)
	}
}

// A group that something else removed does not make Close fail.
func TestCloseTwice(t *testing.T) {
	g := MustNew(t, MustProbe(t, Limits{}), Limits{})
	for _, part := range g.parts {
		if err := unix.Rmdir(part.folder); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Layouts of real machines.
func TestPlaces(t *testing.T) {
	const (
		unified = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
			"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
			"33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
			"34 31 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" +
			"35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		docker = "40 39 0:33 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	)
	for _, test := range []struct {
		name, own, mounts string
		want              []string
	}{
		{"Unified", "0::/user.slice/a.scope\n", unified, []string{"2 /sys/fs/cgroup /sys/fs/cgroup/user.slice/a.scope "}},
		{"Hybrid", "12:cpu,cpuacct:/a\n3:memory:/b\n1:name=systemd:/c\n9:devices:/d\n0::/e\n", hybrid, []string{
			"2 /sys/fs/cgroup/unified /sys/fs/cgroup/unified/e ",
			"1 /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup/cpu,cpuacct/a cpu",
			"1 /sys/fs/cgroup/memory /sys/fs/cgroup/memory/b memory",
		}},
		{"PartMounted", "3:memory:/docker/abc/x\n", docker, []string{"1 /sys/fs/cgroup/memory /sys/fs/cgroup/memory/x memory"}},
		{"OtherPartMounted", "3:memory:/docker/other\n", docker, nil},
		{"OutsideOfNamespace", "0::/../x\n", unified, nil},
		{"NotMounted", "3:memory:/\n0::/\n", "", nil},
		{"Nonsense", "x\n\n", "y\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, p := range placesOf(test.own, test.mounts) {
				got = append(got, fmt.Sprint(p.version, " ", p.root, " ", p.folder, " ", strings.Join(p.controllers, " ")))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fakeKernel fills new folders as the kernel does for version 2.
func fakeKernel(delegated string) folders {
	return folders{
		mkdir: func(path string) error {
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			files := map[string]string{"cgroup.procs": "", "cgroup.kill": "", "cgroup.subtree_control": ""}
			for controller, text := range map[string]map[string]string{
				"pids":   {"pids.max": "", "pids.events": "max 3\n"},
				"memory": {"memory.max": "", "memory.swap.max": "", "memory.events": "low 0\nmax 9\noom 2\noom_kill 1\n"},
				"cpu":    {"cpu.max": "", "cpu.stat": "usage_usec 5\nnr_throttled 4\n"},
			} {
				if strings.Contains(delegated, controller) {
					for name, content := range text {
						files[name] = content
					}
				}
			}
			for name, content := range files {
				if err := os.WriteFile(filepath.Join(path, name), []byte(content), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		rmdir: os.RemoveAll,
	}
}

// Version 2 with controllers, in the two layouts in which groups get them.
func TestVersion2(t *testing.T) {
	for name, fill := range map[string]struct {
		own  string // where this process is
		from string // whose subtree_control has the controllers
		made string // where groups are made
	}{
		"Own":    {"a", "a", "a"},
		"Beside": {"user/app.scope", "user", "user"},
		"Root":   {".", ".", "."},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			own := filepath.Join(top, fill.own)
			if err := os.MkdirAll(own, 0o700); err != nil {
				t.Fatal(err)
			}
			for folder := own; ; folder = filepath.Dir(folder) {
				control := filepath.Join(folder, "cgroup.subtree_control")
				// A group with processes refuses to delegate, as a file that cannot be written does.
				content, mode := "", os.FileMode(0o400)
				if folder == filepath.Join(top, fill.from) {
					content = "         cpuset cpu memory pids" // what is written lands on the blanks
				}
				if err := errors.Join(os.WriteFile(control, []byte(content), 0o600), os.Chmod(control, mode),
					os.WriteFile(filepath.Join(folder, "cgroup.procs"), nil, 0o600)); err != nil {
					t.Fatal(err)
				}
				if folder == top {
					break
				}
			}
			if os.Getuid() == 0 && name == "Beside" { // root may write to any file
				control := filepath.Join(own, "cgroup.subtree_control")
				if err := errors.Join(os.Remove(control), os.Symlink("/nowhere/at/all", control)); err != nil {
					t.Fatal(err)
				}
			}
			h := probe("0::/"+fill.own+"\n", "35 24 0:30 / "+top+" rw - cgroup2 cgroup2 rw\n", "pawl-1-2-3-", fakeKernel("cpu memory pids"))
			limits := Limits{Processes: 100, Memory: 1 << 30, CPU: 1.5}
			if missing := h.Missing(limits); len(missing) > 0 {
				t.Fatalf("missing: %v; %s", missing, h.Describe())
			}
			if got := h.Describe(); !strings.HasPrefix(got, "cgroup v2 (") || !strings.HasSuffix(got, ", kill)") {
				t.Errorf("described as %s", got)
			}
			g, err := h.New("x", limits)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			made := filepath.Join(top, fill.made, "pawl-1-2-3-x")
			for file, want := range map[string]string{"pids.max": "100", "memory.max": "1073741824", "memory.swap.max": "0", "cpu.max": "150000 100000"} {
				if got := MustRead(t, filepath.Join(made, file)); got != want {
					t.Errorf("%s is %q, want %q", file, got, want)
				}
			}
			if met, err := g.Met(); err != nil || met != (Met{Processes: 3, Memory: 1, CPU: 4}) {
				t.Errorf("met %+v, %v", met, err)
			}
			if err := g.Add(0); err != nil || MustRead(t, filepath.Join(made, "cgroup.procs")) != "0" {
				t.Errorf("add: %v", err)
			}
			if err := os.WriteFile(filepath.Join(made, "cgroup.procs"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the group is left: %v", err)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	for want, h := range map[string]*Host{
		"none: no control groups are mounted":    probe("", "", "x", folders{}),
		"cgroup v2 (kill)":                       {hierarchies: []hierarchy{{2, "", nil}}},
		"cgroup v2 (kill) and v1 (pids, memory)": {hierarchies: []hierarchy{{2, "", nil}, {1, "", []string{"pids"}}, {1, "", []string{"memory"}}}},
		"cgroup v1 (freezer, pids)":              {hierarchies: []hierarchy{{1, "", []string{"freezer"}}, {1, "", []string{"pids"}}}},
	} {
		if got := h.Describe(); got != want {
			t.Errorf("described as %q, want %q", got, want)
		}
	}
	t.Logf("here: %s", Probe().Describe())
}
