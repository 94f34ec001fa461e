package abuse_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/sandbox/abuse"
	"pawl/internal/sandbox/cgroup"
	"pawl/internal/sandbox/confine"
	"pawl/internal/sandbox/helper"
)

// The test program is also what runs in the boxes: the attempts, the shim, and
// the helpers of rooms.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case abuse.Word:
			syscall.Exit(abuse.Main(os.Args[2:]))
		case shimWord:
			syscall.Exit(confine.Main(os.Args[2:]))
		}
		if code, ok := helper.Run(os.Args); ok {
			syscall.Exit(code)
		}
	}
	os.Exit(m.Run())
}

const shimWord = "__confine"

// strangerID is a user without an account. Its processes are counted by no other test.
var strangerID = 63000 + os.Getpid()%1000

// layer is one layer of the sandbox, or a part of one.
type layer string

const (
	pidNamespace    layer = "pid namespace"
	netNamespace    layer = "network namespace"
	ipcNamespace    layer = "ipc namespace"
	utsNamespace    layer = "uts namespace"
	cgroupNamespace layer = "cgroup namespace"
	minimalRoot     layer = "minimal root"
	gitReadOnly     layer = "read-only .git"
	newSession      layer = "new session"
	cleanEnv        layer = "clean environment"
	shim            layer = "shim" // what is below, and closed descriptors
	landlock        layer = "Landlock"
	seccomp         layer = "seccomp"
	limits          layer = "limits" // both of the next two
	controlGroup    layer = "control group"
	processLimits   layer = "limits of a process"
	sizedMemory     layer = "sized file systems in memory"
	dropUID         layer = "uid drop"
)

// box is bubblewrap with the shim inside, composed as the measured design is, and with
// layers taken away.
type box struct {
	stage   *abuse.Stage
	without []layer
	uid     int  // who runs the command, if this is root
	bare    bool // no bubblewrap
	profile confine.Profile
}

func (b *box) has(l layer) bool { return !slices.Contains(b.without, l) }

// Run implements [abuse.Box].
func (b *box) Run(ctx context.Context, argv []string, dir string, env []string) (int, string, error) {
	if b.has(shim) {
		argv = b.shimmed(argv)
	}
	passed := append(slices.Clone(b.stage.Environ), "PATH=/usr/local/bin:/usr/bin:/bin", "HOME="+b.stage.Home)
	switch {
	case !b.bare:
		argv = b.wrapped(argv, dir, env)
	case b.has(cleanEnv):
		passed = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	}
	argv = append([]string{b.stage.Program, abuse.Word, "wait"}, argv...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(passed, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if b.stage.Terminal != nil {
		cmd.ExtraFiles = []*os.File{b.stage.Terminal}
		cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3
	}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS // what is mounted stays in there
		if b.uid != 0 {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid)}
		}
	}
	out, err := os.CreateTemp("", "abuse-")
	if err != nil {
		return 0, "", err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, "", err
	}
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	if b.has(limits) && b.has(controlGroup) {
		group, err := newGroup()
		if err == nil && group != nil {
			defer group.Close()
			err = group.Add(cmd.Process.Pid)
		}
		if err != nil {
			return 0, "", errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		}
	}
	if _, err := in.Write([]byte("x")); err != nil {
		return 0, "", err
	}
	err = cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return 0, "", err
	}
	text, err := os.ReadFile(out.Name())
	return cmd.ProcessState.ExitCode(), string(text), err
}

var groupLimits = cgroup.Limits{Processes: 150, Memory: 512 << 20}

// newGroup makes a control group, or none where that is not possible.
func newGroup() (*cgroup.Group, error) {
	host := cgroup.Probe()
	if strings.HasPrefix(host.Describe(), "none") || len(host.Missing(groupLimits)) > 0 {
		return nil, nil
	}
	return host.New("abuse-"+strconv.FormatInt(time.Now().UnixNano(), 36), groupLimits)
}

// shimmed is a command in the shim.
func (b *box) shimmed(argv []string) []string {
	spec := confine.Spec{ReadWrite: []string{b.stage.Work}, NoNetwork: b.bare, Profile: b.profile}
	if !b.bare {
		spec.ReadWrite = append(spec.ReadWrite, "/tmp")
	}
	if b.has(limits) {
		if b.has(processLimits) {
			spec.Limits = confine.Limits{FileSize: 64 << 20, OpenFiles: 1024, CPU: 60}
		}
		if group, err := newGroup(); group != nil && err == nil {
			group.Close()
		} else {
			if !b.bare {
				spec.Limits.Processes = 200 // within bubblewrap's user namespace; outside it would count all of the user's
			}
			if !raceEnabled {
				spec.Limits.Data = 512 << 20
			}
		}
	}
	spec.Accept = confine.Missing(spec) // skipped where that matters; see MustConfine
	var prefix []string
	take := func(l layer, call int, features ...confine.Feature) {
		if !b.has(l) {
			spec.Accept = append(spec.Accept, features...)
			prefix = append(prefix, b.stage.Program, abuse.Word, "without", strconv.Itoa(call))
		}
	}
	take(landlock, unix.SYS_LANDLOCK_CREATE_RULESET, confine.Landlock, confine.LandlockTruncate, confine.LandlockDevices, confine.LandlockTCP, confine.LandlockScope)
	take(seccomp, unix.SYS_SECCOMP, confine.Seccomp)
	return append(append(prefix, b.stage.Program, shimWord), spec.Args(argv...)...)
}

// wrapped is a command in bubblewrap.
func (b *box) wrapped(argv []string, dir string, env []string) []string {
	args := []string{bubblewrap(), "--die-with-parent", "--cap-drop", "ALL", "--unshare-user"}
	option := func(l layer, options ...string) {
		if b.has(l) {
			args = append(args, options...)
		}
	}
	option(pidNamespace, "--unshare-pid")
	option(netNamespace, "--unshare-net")
	option(ipcNamespace, "--unshare-ipc")
	option(utsNamespace, "--unshare-uts", "--hostname", "pawl")
	option(cgroupNamespace, "--unshare-cgroup")
	option(newSession, "--new-session")
	option(cleanEnv, "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/tmp")
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		option(cleanEnv, "--setenv", name, value)
	}
	if b.has(minimalRoot) {
		args = append(args, "--ro-bind", "/usr", "/usr")
		for _, name := range []string{"/bin", "/lib", "/lib64", "/sbin"} {
			if target, err := os.Readlink(name); err == nil {
				args = append(args, "--symlink", target, name)
			} else {
				args = append(args, "--ro-bind-try", name, name)
			}
		}
		for _, name := range []string{"ssl", "alternatives", "passwd", "group", "ld.so.cache"} {
			args = append(args, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
		}
	} else {
		args = append(args, "--ro-bind", "/", "/")
	}
	if b.has(pidNamespace) {
		args = append(args, "--proc", "/proc")
	} else { // a new one can only be mounted for a new namespace
		args = append(args, "--ro-bind", "/proc", "/proc")
	}
	args = append(args, "--dev", "/dev")
	for _, folder := range []string{"/tmp", "/dev/shm"} {
		if b.has(minimalRoot) {
			option(sizedMemory, "--size", strconv.Itoa(64<<20))
			args = append(args, "--tmpfs", folder)
		}
	}
	option(minimalRoot, "--ro-bind", b.stage.Main+"/.git", b.stage.Main+"/.git")
	args = append(args, "--ro-bind", b.stage.Program, b.stage.Program, "--bind", b.stage.Work, b.stage.Work)
	option(gitReadOnly, "--ro-bind", b.stage.Work+"/.git", b.stage.Work+"/.git")
	return append(append(args, "--chdir", dir, "--"), argv...)
}

// inRoom is an agent's room.
type inRoom struct{ pawl.Room }

// WorkInside implements [abuse.Mover].
func (b inRoom) WorkInside() string { return b.Dir() }

// Run implements [abuse.Box].
func (b inRoom) Run(ctx context.Context, argv []string, _ string, env []string) (int, string, error) {
	result, err := b.Room.Run(ctx, pawl.Command{Argv: argv, Env: env, Timeout: 2 * time.Minute, Keep: 1 << 20})
	return result.ExitCode, string(result.Output), err
}

// user is who runs the daemon and who the commands.
type user struct {
	name        string
	owner, user int
}

// users are those that this process can be: itself, and if it is root, an
// ordinary user, and root that drops to one.
func users() []user {
	self := os.Getuid()
	if self != 0 {
		return []user{{"User", self, self}}
	}
	return []user{{"User", strangerID, strangerID}, {"Root", 0, strangerID}}
}

// bubblewrap is where bubblewrap is, or no path at all.
func bubblewrap() string {
	path, _ := exec.LookPath("bwrap")
	return path
}

// MustConfine skips a test where the whole sandbox is not possible.
func MustConfine(tb testing.TB) {
	tb.Helper()
	if bubblewrap() == "" {
		tb.Skip("bubblewrap is not installed")
	}
	if err := exec.CommandContext(tb.Context(), bubblewrap(), "--unshare-all", "--ro-bind", "/", "/", "true").Run(); err != nil {
		tb.Skipf("bubblewrap does not work here: %v", err)
	}
	if missing := confine.Missing(confine.Spec{NoNetwork: true}); len(missing) > 0 {
		tb.Skipf("this kernel does not have %s", missing)
	}
}

// costly rows fill memory and disks.
var costly = []int{44, 45, 46, 47, 48}

// notLimited are what no layer here limits: disk space and inodes, which need a
// file system with a size.
var notLimited = []int{47, 48}

func rowsFor(u user) []abuse.Row {
	return slices.DeleteFunc(abuse.Rows(), func(r abuse.Row) bool {
		return testing.Short() && slices.Contains(costly, r.Number) || r.Root && u.owner != 0
	})
}

// Without a sandbox most abuses get through, so that the rows show something.
func TestNothing(t *testing.T) {
	list := users()
	if os.Getuid() == 0 {
		list[1].user = 0 // root that does not drop
	}
	for _, u := range list {
		t.Run(u.name, func(t *testing.T) {
			s := abuse.NewStage(t, u.owner, u.user)
			nothing := &box{stage: s, uid: u.user, bare: true, without: []layer{shim, limits, cleanEnv}}
			table := abuse.Run(t, nothing, s, rowsFor(u))
			escaped := table.Escaped()
			t.Logf("%d of %d escape:\n%s", len(escaped), len(table), table)
			want := 45
			if testing.Short() {
				want -= len(costly)
			}
			if len(escaped) < want {
				t.Errorf("only %d rows escape, want %d", len(escaped), want)
			}
		})
	}
}

// With all layers nothing gets through but what fills a disk.
func TestAllLayers(t *testing.T) {
	MustConfine(t)
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			s := abuse.NewStage(t, u.owner, u.user)
			table := abuse.Run(t, &box{stage: s, uid: u.user}, s, rowsFor(u))
			for _, o := range table {
				if o.Escaped && !slices.Contains(notLimited, o.Number) {
					t.Errorf("%d %s: escaped", o.Number, o.Name)
				}
			}
			t.Logf("\n%s", table)
		})
	}
}

// Each layer holds something that no other does.
func TestLayersTakenAway(t *testing.T) {
	MustConfine(t)
	for _, test := range []struct {
		layer layer
		also  []layer // away in both runs
		rows  []int   // held with the layer and not without it
		root  bool    // only if root starts it
		wide  bool    // in the wide profile of system calls
	}{
		// A control group ends what is in it too, but not every machine has one.
		{layer: pidNamespace, also: []layer{limits}, rows: []int{49}},
		{layer: netNamespace, rows: []int{28, 30, 37}},
		{layer: ipcNamespace, rows: []int{59}, wide: true},
		{layer: utsNamespace, rows: []int{68}},
		{layer: cgroupNamespace, rows: []int{69}},
		{layer: minimalRoot, rows: []int{2, 3, 7, 18, 31, 60}},
		{layer: gitReadOnly, rows: []int{24}},
		{layer: cleanEnv, rows: []int{6, 64}},
		{layer: seccomp, rows: []int{35, 36, 38, 39, 61}},
		{layer: limits, rows: []int{44, 45, 46}},
		{layer: controlGroup, rows: []int{44, 45}},
		{layer: processLimits, rows: []int{46}},
		{layer: sizedMemory, rows: []int{71}},
		{layer: shim, rows: []int{50}},
		// What needs a network shares the machine's, and with it the abstract sockets.
		{layer: landlock, also: []layer{netNamespace}, rows: []int{32}},
		// The filter denies typing too; a new session is for kernels without it.
		{layer: newSession, rows: []int{43}},
		{layer: dropUID, rows: []int{70}, root: true},
	} {
		t.Run(string(test.layer), func(t *testing.T) {
			if testing.Short() && slices.Contains([]layer{limits, controlGroup, processLimits}, test.layer) {
				t.Skip("fills memory and disk")
			}
			if test.layer == controlGroup {
				group, err := newGroup()
				if group == nil || err != nil {
					t.Skipf("no control group can be made here: %v", err)
				}
				group.Close()
			}
			u := users()[0]
			if test.root {
				if os.Getuid() != 0 {
					t.Skip("for root only")
				}
				u = users()[1]
			}
			s := abuse.NewStage(t, u.owner, u.user)
			rows := abuse.Rows(test.rows...)
			with := &box{stage: s, uid: u.user, without: test.also}
			if test.wide {
				with.profile = confine.Wide
			}
			if table := abuse.Run(t, with, s, rows); len(table.Escaped()) > 0 {
				t.Errorf("with it, %v escape:\n%s", table.Escaped(), table)
			}
			without := *with
			without.without = append(slices.Clone(test.also), test.layer)
			switch test.layer {
			case dropUID:
				s = abuse.NewStage(t, u.owner, u.owner)
				without.stage, without.uid = s, u.owner
			}
			if table := abuse.Run(t, &without, s, rows); len(table.Escaped()) != len(test.rows) {
				t.Errorf("without it only %v escape:\n%s", table.Escaped(), table)
			}
		})
	}
}

// What the shim holds by itself, where there are no namespaces.
func TestShimAlone(t *testing.T) {
	MustConfine(t)
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			s := abuse.NewStage(t, u.owner, u.user)
			table := abuse.Run(t, &box{stage: s, uid: u.user, bare: true}, s, rowsFor(u))
			t.Logf("\n%s", table)
			// Reading, metadata, unix sockets by path, what /proc shows, and processes that go on
			// need namespaces.
			// Without a control group processes cannot be counted either.
			may := []int{2, 3, 4, 5, 7, 9, 18, 24, 31, 37, 42, 43, 44, 47, 48, 49, 58, 60, 67, 68, 69, 71}
			for _, o := range table {
				if o.Escaped && !slices.Contains(may, o.Number) {
					t.Errorf("%d %s: escaped", o.Number, o.Name)
				}
			}
		})
	}
}

// roomsVariable marks the process that makes the attempts of TestRooms.
const roomsVariable = "PAWL_TEST_ROOMS"

// F-04: rooms hold everything but what fills the disk, which is watched and not enforced: of an
// ordinary user, and of root in a mount namespace of its own, whose mounts nobody else sees.
func TestRooms(t *testing.T) {
	MustConfine(t)
	if os.Getuid() != 0 || os.Getenv(roomsVariable) != "" {
		holdInRooms(t)
		return
	}
	attempts := "/proc/" + strconv.Itoa(os.Getpid()) + "/exe"
	if raceEnabled { // the detector needs more memory than a process of the room may have
		attempts = filepath.Join(t.TempDir(), "abuse.test")
		if out, err := exec.Command("go", "test", "-c", "-o", attempts, "pawl/internal/sandbox/abuse").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			home := t.TempDir()
			for dir := home; dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			program := filepath.Join(home, "test")
			if out, err := exec.Command("cp", attempts, program).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := os.Chown(home, u.owner, u.owner); err != nil {
				t.Fatal(err)
			}
			args := []string{"-test.run=^TestRooms$", "-test.v", "-test.timeout=10m"}
			if testing.Short() {
				args = append(args, "-test.short")
			}
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Dir = home
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, roomsVariable + "=1"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Credential: &syscall.Credential{Uid: uint32(u.owner), Gid: uint32(u.owner)}}
			out, err := cmd.CombinedOutput()
			switch {
			case err != nil:
				t.Errorf("%v:\n%s", err, out)
			case strings.Contains(string(out), "--- SKIP: TestRooms"):
				t.Skipf("%s", out)
			case !strings.Contains(string(out), "--- PASS: TestRooms"):
				t.Errorf("the attempts were not made:\n%s", out)
			}
			t.Logf("%s", out)
		})
	}
}

// holdInRooms makes all attempts in a room of this process.
func holdInRooms(t *testing.T) {
	enforcer, err := sandbox.Probe(t.Context())
	if err != nil {
		t.Skipf("no sandbox: %v", err)
	}
	u := user{"Self", os.Getuid(), os.Getuid()}
	if owner := enforcer.Owner(); owner != (pawl.Owner{}) {
		u.user = owner.UID
	}
	s := abuse.NewStage(t, u.owner, u.user)
	rooms := room.New(room.Options{
		State: t.TempDir(), Enforcer: enforcer,
		Visible: func(string) []string { return []string{s.Program} },
		Host: func(context.Context) room.Host {
			return room.NewHost(append(s.Environ, "PATH=/usr/local/bin:/usr/bin:/bin"), s.Home)
		},
	})
	defer rooms.Close()
	r, err := rooms.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: s.Work,
		Limits: pawl.RoomLimits{Processes: 200, Memory: 400 << 20, FileSize: 100 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	table := abuse.Run(t, inRoom{r}, s, rowsFor(u))
	t.Logf("\n%s", table)
	may := []int{47, 48}
	for _, o := range table {
		if o.Escaped && !slices.Contains(may, o.Number) {
			t.Errorf("%d %s: escaped", o.Number, o.Name)
		}
	}
}

// The numbers 1 to 63 are the abuses that were measured when the sandbox was designed.
func TestRows(t *testing.T) {
	seen := map[int]bool{}
	for _, row := range abuse.Rows() {
		if seen[row.Number] || row.Name == "" || row.StoppedBy == "" {
			t.Errorf("row %d: there twice, or without a name or a mechanism", row.Number)
		}
		seen[row.Number] = true
	}
	for n := range 63 {
		if !seen[n+1] {
			t.Errorf("there is no row %d", n+1)
		}
	}
}

// A box in which nothing works must not pass for one that holds everything.
func TestControl(t *testing.T) {
	s := abuse.NewStage(t, os.Getuid(), os.Getuid())
	recorder := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		abuse.Run(recorder, broken{}, s, abuse.Rows(1))
	}()
	<-done
	if !strings.Contains(recorder.fatal, "no command works in the box") {
		t.Errorf("a box that starts nothing: %q", recorder.fatal)
	}
}

type broken struct{}

func (broken) Run(context.Context, []string, string, []string) (int, string, error) {
	return 125, "no such thing", nil
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	fatal string
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
