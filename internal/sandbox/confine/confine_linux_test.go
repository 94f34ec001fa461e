package confine_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/sandbox/confine"
)

// MustHave skips a test of a feature that this kernel lacks.
func MustHave(tb testing.TB, features ...confine.Feature) {
	tb.Helper()
	for _, missing := range confine.Missing(confine.Spec{NoNetwork: true}) {
		if slices.Contains(features, missing) {
			tb.Skipf("this kernel does not have %s", missing)
		}
	}
}

// all is every feature.
var all = []confine.Feature{confine.Landlock, confine.LandlockTruncate, confine.LandlockTCP, confine.LandlockDevices, confine.LandlockScope, confine.Seccomp}

// Everything but the granted folders can be read and not changed.
func TestFiles(t *testing.T) {
	MustHave(t, confine.Landlock, confine.LandlockTruncate)
	eachUser(t, func(t *testing.T, u user) {
		base := u.folder(t)
		for _, name := range []string{"in", "also", "out", "in/sub"} {
			u.mkdir(t, filepath.Join(base, name))
		}
		for _, name := range []string{"file", "granted", "in/file", "in/other", "in/third", "out/file"} {
			u.write(t, filepath.Join(base, name))
		}
		spec := confine.Spec{
			ReadWrite: []string{filepath.Join(base, "in"), filepath.Join(base, "also"), filepath.Join(base, "granted")},
			Accept:    all,
		}
		for _, test := range []struct{ attempt, want string }{
			{"write in/new", "ok"},
			{"write in/sub/new", "ok"},
			{"truncate in/file", "ok"},
			{"rename in/file in/sub/file", "ok"},
			{"rename in/sub/file also/file", "ok"},
			{"link in/other also/other", "ok"},
			{"mkdir in/folder", "ok"},
			{"symlink in/symlink", "ok"},
			{"mkfifo in/fifo", "ok"},
			{"remove in/sub/new", "ok"},
			{"write granted", "ok"},
			{"truncate granted", "ok"},
			{"remove granted", "EACCES"},
			{"read out/file", "ok"},
			{"write out/file", "EACCES"},
			{"write out/new", "EACCES"},
			{"truncate out/file", "EACCES"},
			{"remove out/file", "EACCES"},
			{"mkdir out/folder", "EACCES"},
			{"symlink out/symlink", "EACCES"},
			{"mkfifo out/fifo", "EACCES"},
			{"rename in/other out/other", "EXDEV"},
			{"rename out/file in/stolen", "EXDEV"},
			{"link out/file in/linked", "EXDEV"},
			{"write file", "EACCES"},
		} {
			args := strings.Fields(test.attempt)
			for i := range args[1:] {
				args[i+1] = filepath.Join(base, args[i+1])
			}
			if got := u.try(t, spec, args...); got != test.want && !(test.want == "EXDEV" && got == "EACCES") {
				t.Errorf("%s: %s, want %s", test.attempt, got, test.want)
			}
		}
	})
}

func TestReadWriteMustExist(t *testing.T) {
	MustHave(t, confine.Landlock)
	eachUser(t, func(t *testing.T, u user) {
		r := u.confined(t, confine.Spec{ReadWrite: []string{"/nowhere/at/all"}, Accept: all}, "true")
		if r.code != confine.ExitRefused || !strings.Contains(r.out, "/nowhere/at/all") {
			t.Errorf("got %+v", r)
		}
	})
}

func TestDevices(t *testing.T) {
	MustHave(t, confine.Landlock, confine.LandlockDevices)
	eachUser(t, func(t *testing.T, u user) {
		for _, device := range []string{"null", "zero", "full", "random", "urandom"} {
			if got := u.try(t, confine.Spec{Accept: all}, "open-to-write", "/dev/"+device); got != "ok" {
				t.Errorf("open /dev/%s to write: %s", device, got)
			}
		}
		if got := u.try(t, confine.Spec{Accept: all}, "terminal"); got != "ok" {
			t.Errorf("make a terminal: %s", got)
		}
		// Pipes are not in a folder.
		r := u.confined(t, confine.Spec{Accept: all}, "sh", "-c", "(echo here > /dev/stderr) 2>&1 | cat; (echo there > /dev/stdout) | cat; : > /dev/null")
		if r.code != 0 || r.out != "here\nthere\n" {
			t.Errorf("write to /dev/stderr and /dev/stdout: %+v", r)
		}
		if !u.root {
			return
		}
		// Root may open the machine's own devices and settings; Landlock does not let it.
		for _, path := range []string{"/dev/kmsg", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"} {
			if _, err := os.Stat(path); err != nil {
				continue
			}
			if got := u.tryFree(t, "open-to-write", path); got != "ok" {
				t.Logf("without the shim, %s: %s", path, got)
			}
			if got := u.try(t, confine.Spec{Accept: all}, "open-to-write", path); got != "EACCES" {
				t.Errorf("open %s to write: %s, want EACCES", path, got)
			}
		}
	})
}

// Landlock stops what the filter stops too, on a kernel without seccomp.
func TestLandlockByItself(t *testing.T) {
	MustHave(t, all...)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	eachUser(t, func(t *testing.T, u user) {
		base := u.folder(t)
		try := func(spec confine.Spec, attempt ...string) string {
			spec.Accept = []confine.Feature{confine.Seccomp}
			args := append([]string{"__without", strconv.Itoa(unix.SYS_SECCOMP), MustProgram(t), "__confine"},
				spec.Args(append([]string{MustProgram(t), "__try"}, attempt...)...)...)
			return u.said(t, u.run(t, nil, args...), attempt)
		}
		for _, attempt := range [][]string{{"tcp", port}, {"listen"}} {
			if got := try(confine.Spec{}, attempt...); got != "ok" {
				t.Errorf("%s with network: %s", attempt, got)
			}
			if got := try(confine.Spec{NoNetwork: true}, attempt...); got != "EACCES" {
				t.Errorf("%s without network: %s, want EACCES", attempt, got)
			}
		}
		if !u.root {
			return
		}
		spec := confine.Spec{ReadWrite: []string{base}}
		for _, mode := range []int{unix.S_IFCHR, unix.S_IFBLK} {
			if got := try(spec, "mknod", base+"/device", strconv.Itoa(mode|0o600), "0x103"); got != "EACCES" {
				t.Errorf("make a device: %s, want EACCES", got)
			}
		}
		for _, device := range []string{"/dev/kmsg", "/dev/hwrng", "/dev/loop-control", "/dev/fuse"} {
			if got := u.tryFree(t, "ioctl", device); got != "EINVAL" && got != "ENOTTY" {
				t.Logf("%s: %s", device, got)
				continue
			}
			if got := try(spec, "ioctl", device); got != "EACCES" {
				t.Errorf("ioctl on %s: %s, want EACCES", device, got)
			}
		}
	})
}

// What older versions of Landlock lack, and that they are not asked for it.
func TestOlderLandlock(t *testing.T) {
	for abi, want := range map[int]string{
		0: "landlock landlock-truncate landlock-tcp landlock-devices landlock-scope",
		1: "landlock landlock-truncate landlock-tcp landlock-devices landlock-scope",
		2: "landlock-truncate landlock-tcp landlock-devices landlock-scope",
		3: "landlock-tcp landlock-devices landlock-scope",
		4: "landlock-devices landlock-scope",
		5: "landlock-scope",
		6: "",
		7: "",
	} {
		missing := confine.MissingLandlock(confine.Spec{NoNetwork: true}, abi)
		if got := strings.Trim(fmt.Sprint(missing), "[]"); got != want {
			t.Errorf("ABI %d lacks %q, want %q", abi, got, want)
		}
		if slices.Contains(confine.MissingLandlock(confine.Spec{}, abi), confine.LandlockTCP) {
			t.Errorf("ABI %d lacks TCP, which was not asked for", abi)
		}
		if abi < 2 {
			continue
		}
		attr := confine.Handled(confine.Spec{NoNetwork: true}, abi)
		for feature, handled := range map[confine.Feature]bool{
			confine.LandlockTruncate: attr.Handled_access_fs&unix.LANDLOCK_ACCESS_FS_TRUNCATE != 0,
			confine.LandlockTCP:      attr.Handled_access_net != 0,
			confine.LandlockDevices:  attr.Handled_access_fs&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV != 0,
			confine.LandlockScope:    attr.Scoped != 0,
		} {
			if handled == slices.Contains(missing, feature) {
				t.Errorf("ABI %d: %s is handled: %v, and missing: %v", abi, feature, handled, !handled)
			}
		}
	}
}

// Processes and abstract sockets outside are out of reach even if they are in sight.
func TestScope(t *testing.T) {
	MustHave(t, confine.LandlockScope)
	eachUser(t, func(t *testing.T, u user) {
		outside := exec.CommandContext(t.Context(), "sleep", "3600")
		outside.SysProcAttr = u.attr
		if err := outside.Start(); err != nil {
			t.Fatal(err)
		}
		defer outside.Wait()
		defer outside.Process.Kill()
		name := fmt.Sprintf("confine-test-%d", os.Getpid())
		listener, err := net.Listen("unix", "@"+name)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		for _, args := range [][]string{{"kill", strconv.Itoa(outside.Process.Pid)}, {"abstract", name}} {
			if got := u.tryFree(t, args...); got != "ok" {
				t.Fatalf("%s without the shim: %s", args, got)
			}
			if got := u.try(t, confine.Spec{Accept: all}, args...); got != "EPERM" {
				t.Errorf("%s: %s, want EPERM", args, got)
			}
		}
		if got := u.try(t, confine.Spec{Accept: all}, "kill-child"); got != "ok" {
			t.Errorf("kill an own child: %s", got)
		}
	})
}

// The calls that the filter refuses, each made for real.
func TestRefusedCalls(t *testing.T) {
	MustHave(t, confine.Seccomp)
	eachUser(t, func(t *testing.T, u user) {
		for name, spec := range map[string]confine.Spec{"Default": {}, "Wide": {Profile: confine.Wide}} {
			t.Run(name, func(t *testing.T) {
				spec.Accept = all
				lines := strings.Split(u.try(t, spec, "calls"), "\n")
				if len(lines) != len(refusedCalls)+1 {
					t.Fatalf("%d lines for %d calls: %s", len(lines), len(refusedCalls), lines)
				}
				for i, c := range refusedCalls {
					got := strings.TrimPrefix(lines[i], c.name+" ")
					want := unix.ErrnoName(c.want)
					if c.wide && spec.Profile == confine.Wide {
						if got == want {
							t.Errorf("%s is refused with %s", c.name, got)
						}
					} else if got != want {
						t.Errorf("%s: %s, want %s", c.name, got, want)
					}
				}
			})
		}
		if !u.root {
			return // without rights most calls are refused by the kernel itself
		}
		lines := strings.Split(u.tryFree(t, "calls"), "\n")
		same := 0
		for i, c := range refusedCalls {
			if lines[i] == c.name+" "+unix.ErrnoName(c.want) {
				same++
				t.Logf("also without the filter: %s", lines[i])
			}
		}
		if same > len(refusedCalls)/4 {
			t.Errorf("%d of %d calls are refused without the filter too, so they show nothing", same, len(refusedCalls))
		}
	})
}

func TestSockets(t *testing.T) {
	MustHave(t, confine.Seccomp)
	const icmp, mptcp, sctp, udplite = unix.IPPROTO_ICMP, unix.IPPROTO_MPTCP, unix.IPPROTO_SCTP, unix.IPPROTO_UDPLITE
	tests := []struct {
		name                   string
		family, kind, protocol int
		internet, none         string
	}{
		{"UnixStream", unix.AF_UNIX, unix.SOCK_STREAM, 0, "ok", "ok"},
		{"UnixDatagram", unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0, "ok", "ok"},
		{"UnixSequence", unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, "ok", "ok"},
		{"TCP", unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC, 0, "ok", "EAFNOSUPPORT"},
		{"TCPByName", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP, "ok", "EAFNOSUPPORT"},
		{"UDP", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP, "ok", "EAFNOSUPPORT"},
		{"TCP6", unix.AF_INET6, unix.SOCK_STREAM, 0, "ok", "EAFNOSUPPORT"},
		{"UDP6", unix.AF_INET6, unix.SOCK_DGRAM, 0, "ok", "EAFNOSUPPORT"},
		{"MPTCP", unix.AF_INET, unix.SOCK_STREAM, mptcp, "EPROTONOSUPPORT", "EAFNOSUPPORT"},
		{"SCTP", unix.AF_INET, unix.SOCK_STREAM, sctp, "EPROTONOSUPPORT", "EAFNOSUPPORT"},
		{"UDPLite", unix.AF_INET, unix.SOCK_DGRAM, udplite, "EPROTONOSUPPORT", "EAFNOSUPPORT"},
		{"Ping", unix.AF_INET, unix.SOCK_DGRAM, icmp, "EPROTONOSUPPORT", "EAFNOSUPPORT"},
		{"Raw", unix.AF_INET, unix.SOCK_RAW, icmp, "ESOCKTNOSUPPORT", "EAFNOSUPPORT"},
		{"Raw6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, "ESOCKTNOSUPPORT", "EAFNOSUPPORT"},
		{"Sequence", unix.AF_INET, unix.SOCK_SEQPACKET, 0, "ESOCKTNOSUPPORT", "EAFNOSUPPORT"},
		{"Packet", unix.AF_PACKET, unix.SOCK_RAW, 0, "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"Netlink", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"Vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0, "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"Alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"Key", unix.AF_KEY, unix.SOCK_RAW, 2, "EAFNOSUPPORT", "EAFNOSUPPORT"},
	}
	eachUser(t, func(t *testing.T, u user) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				args := []string{"socket", strconv.Itoa(test.family), strconv.Itoa(test.kind), strconv.Itoa(test.protocol)}
				if got := u.try(t, confine.Spec{Accept: all}, args...); got != test.internet {
					t.Errorf("got %s, want %s", got, test.internet)
				}
				if got := u.try(t, confine.Spec{NoNetwork: true, Accept: all}, args...); got != test.none {
					t.Errorf("without network: %s, want %s", got, test.none)
				}
			})
		}
		for family, want := range map[int]string{unix.AF_UNIX: "ok", unix.AF_TIPC: "EAFNOSUPPORT", unix.AF_INET: "EAFNOSUPPORT"} {
			if got := u.try(t, confine.Spec{Accept: all}, "socketpair", strconv.Itoa(family)); got != want {
				t.Errorf("socketpair of family %d: %s, want %s", family, got, want)
			}
		}
	})
}

func TestFIFOsButNoDevices(t *testing.T) {
	MustHave(t, confine.Seccomp)
	eachUser(t, func(t *testing.T, u user) {
		base := u.folder(t)
		spec := confine.Spec{ReadWrite: []string{base}, Accept: all}
		for name, mode := range map[string]int{"fifo": unix.S_IFIFO, "socket": unix.S_IFSOCK, "file": unix.S_IFREG} {
			if got := u.try(t, spec, "mknod", filepath.Join(base, name), strconv.Itoa(mode|0o600), "0"); got != "ok" {
				t.Errorf("make a %s: %s", name, got)
			}
		}
		for name, mode := range map[string]int{"null": unix.S_IFCHR, "disk": unix.S_IFBLK} {
			if got := u.try(t, spec, "mknod", filepath.Join(base, name), strconv.Itoa(mode|0o600), "0x103"); got != "EPERM" {
				t.Errorf("make a device: %s, want EPERM", got)
			}
		}
	})
}

func TestWideHasSharedMemory(t *testing.T) {
	MustHave(t, confine.Seccomp)
	eachUser(t, func(t *testing.T, u user) {
		if got := u.try(t, confine.Spec{Accept: all}, "shared-memory"); got != "EPERM" {
			t.Errorf("default: %s, want EPERM", got)
		}
		if got := u.try(t, confine.Spec{Profile: confine.Wide, Accept: all}, "shared-memory"); got != "ok" {
			t.Errorf("wide: %s", got)
		}
	})
}

func TestWideHasTracers(t *testing.T) {
	MustHave(t, confine.Seccomp)
	strace := MustFind(t, "strace")
	eachUser(t, func(t *testing.T, u user) {
		argv := []string{strace, "-f", "-e", "trace=exit_group", "/bin/sh", "-c", "exit 7"}
		if r := u.confined(t, confine.Spec{Accept: all}, argv...); r.code == 7 {
			t.Errorf("default: %+v", r)
		}
		if r := u.confined(t, confine.Spec{Profile: confine.Wide, Accept: all}, argv...); r.code != 7 || !strings.Contains(r.out, "exit_group(7)") {
			t.Errorf("wide: %+v", r)
		}
	})
}

func TestForeignCallsAreKilled(t *testing.T) {
	MustHave(t, confine.Seccomp)
	if foreign32 == nil {
		t.Skip("this architecture has no second ABI in the test")
	}
	eachUser(t, func(t *testing.T, u user) {
		r := u.confined(t, confine.Spec{Accept: all}, MustProgram(t), "__try", "call", strconv.Itoa(x32getpid))
		if r.signal != unix.SIGSYS {
			t.Errorf("a call of the x32 ABI: %+v, want SIGSYS", r)
		}
		if got := u.try(t, confine.Spec{Accept: all}, "call", "-1"); got != "ENOSYS" {
			t.Errorf("call -1: %s, want ENOSYS", got)
		}
		program := filepath.Join(u.folder(t), "program")
		if err := os.WriteFile(program, foreign32, 0o755); err != nil {
			t.Fatal(err)
		}
		free := exec.CommandContext(t.Context(), program)
		free.Run()
		if code := free.ProcessState.ExitCode(); code != 7 {
			t.Skipf("a 32-bit program ends with code %d even without the shim", code)
		}
		if r := u.confined(t, confine.Spec{Accept: all}, program); r.signal != unix.SIGSYS {
			t.Errorf("a 32-bit program: %+v, want SIGSYS", r)
		}
	})
}

func TestDescriptors(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		var files []*os.File
		for range 3 {
			file, err := os.Open("/")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			files = append(files, file)
		}
		argv := []string{"sh", "-c", "ls -l /proc/self/fd | grep -c ' -> /$'"}
		args := append([]string{"__confine"}, confine.Spec{Accept: all}.Args(argv...)...)
		if r := u.run(t, files, args...); r.out != "0\n" {
			t.Errorf("the command has the root folder open %s times", r.out)
		}
		// A kernel that cannot do it in one call.
		args = append([]string{"__without", strconv.Itoa(unix.SYS_CLOSE_RANGE), MustProgram(t)}, args...)
		if r := u.run(t, files, args...); r.out != "0\n" {
			t.Errorf("without close_range the command has the root folder open %s times", r.out)
		}
	})
}

func TestLimits(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		base := u.folder(t)
		spec := confine.Spec{ReadWrite: []string{base}, Accept: all}
		spec.Limits = confine.Limits{FileSize: 1 << 20, OpenFiles: 77, CPU: 1234, Processes: 4321, Data: 3 << 30}
		r := u.confined(t, spec, "bash", "-c", "ulimit -f; ulimit -n; ulimit -t; ulimit -u; ulimit -d; ulimit -c; ulimit -Hc")
		if want := "1024\n77\n1234\n4321\n3145728\n0\n0\n"; r.out != want {
			t.Errorf("limits are %q, want %q", r.out, want)
		}
		// A limit that is lower already stays, also where it could not be raised.
		nested := append([]string{MustProgram(t), "__confine"}, spec.Args("bash", "-c", "ulimit -n")...)
		if r := u.confined(t, confine.Spec{Limits: confine.Limits{OpenFiles: 55}, Accept: all}, nested...); r.out != "55\n" {
			t.Errorf("77 open files within 55: %+v", r)
		}
		u.confined(t, spec, "sh", "-c", "head -c 3000000 /dev/zero > "+base+"/big")
		if info, err := os.Stat(base + "/big"); err != nil || info.Size() != 1<<20 {
			t.Errorf("the file is %v, %v; want it cut at 1 MiB", info, err)
		}
		spec.Limits = confine.Limits{Data: 1 << 30}
		if got := u.try(t, spec, "map", strconv.Itoa(1<<30)); got != "ENOMEM" {
			t.Errorf("map 1 GiB: %s, want ENOMEM", got)
		}
		if got := u.try(t, spec, "map", strconv.Itoa(1<<28)); got != "ok" {
			t.Errorf("map 256 MiB: %s", got)
		}
		if testing.Short() && u.root {
			return // it takes a second
		}
		spec.Limits = confine.Limits{CPU: 1}
		if r := u.confined(t, spec, "sh", "-c", "while :; do :; done"); r.signal != unix.SIGXCPU && r.signal != unix.SIGKILL {
			t.Errorf("a loop without end: %+v, want the CPU limit's signal", r)
		}
	})
}

func TestProcessLimit(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the limit counts all processes of a user; only root can run as one that has no others")
	}
	eachUser(t, func(t *testing.T, u user) {
		if u.root {
			return // it does not bind root
		}
		spec := confine.Spec{Accept: all, Limits: confine.Limits{Processes: 10}}
		r := u.confined(t, spec, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 3600 & done")
		if !strings.Contains(strings.ToLower(r.out), "fork") || r.code == 0 {
			t.Errorf("12 processes with a limit of 10: %+v", r)
		}
	})
}

// A kernel without a feature gets no command unless the caller accepts that by name.
func TestMissingFeature(t *testing.T) {
	MustHave(t, all...)
	eachUser(t, func(t *testing.T, u user) {
		base := u.folder(t)
		landlock := []confine.Feature{confine.Landlock, confine.LandlockTruncate, confine.LandlockDevices, confine.LandlockScope}
		for _, test := range []struct {
			feature string
			call    int
			accept  []confine.Feature
		}{
			{"landlock", unix.SYS_LANDLOCK_CREATE_RULESET, landlock},
			{"seccomp", unix.SYS_SECCOMP, []confine.Feature{confine.Seccomp}},
		} {
			t.Run(test.feature, func(t *testing.T) {
				run := func(accept []confine.Feature, shell string) result {
					args := []string{"__without", strconv.Itoa(test.call), MustProgram(t), "__confine"}
					return u.run(t, nil, append(args, confine.Spec{Accept: accept}.Args("sh", "-c", shell)...)...)
				}
				for i := range test.accept {
					accept := slices.Delete(slices.Clone(test.accept), i, i+1)
					r := run(accept, "echo started")
					if want := "confine: this kernel does not have " + string(test.accept[i]) + "\n"; r.code != confine.ExitRefused || r.out != want {
						t.Errorf("accepting %s: %+v, want %q", accept, r, want)
					}
				}
				// What is there holds all the same.
				r := run(test.accept, "(echo > "+base+"/file) && echo written; grep -w Seccomp_filters /proc/self/status")
				want := map[string]string{"landlock": "written\nSeccomp_filters:\t2\n", "seccomp": "ermission denied\nSeccomp_filters:\t1\n"}[test.feature]
				if !strings.HasSuffix(r.out, want) {
					t.Errorf("accepted: %+v, want %q", r, want)
				}
			})
		}
	})
}

func TestExecute(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		base := u.folder(t)
		script := filepath.Join(base, "script")
		if err := os.WriteFile(script, []byte("echo $# $1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		u.write(t, filepath.Join(base, "file"))
		spec := confine.Spec{Accept: all}
		for _, test := range []struct {
			argv []string
			code int
			out  string
		}{
			{[]string{"sh", "-c", "exit 3"}, 3, ""},
			{[]string{"/bin/echo", "a b", "--"}, 0, "a b --\n"},
			{[]string{script, "x"}, 0, "1 x\n"},
			{[]string{"no-such-program"}, 127, "confine: execute no-such-program: no such file or directory\n"},
			{[]string{base + "/nothing"}, 127, "confine: execute " + base + "/nothing: no such file or directory\n"},
			{[]string{base + "/file"}, 126, "confine: execute " + base + "/file: permission denied\n"},
		} {
			if r := u.confined(t, spec, test.argv...); r.code != test.code || r.out != test.out {
				t.Errorf("%q: %+v, want code %d and %q", test.argv, r, test.code, test.out)
			}
		}
		if r := u.run(t, nil, "__confine", "x"); r.code != confine.ExitRefused || !strings.Contains(r.out, `unknown argument "x"`) {
			t.Errorf("wrong arguments: %+v", r)
		}
	})
}

// The caller can tell a command that was not started from one that says the same and ends alike.
func TestReport(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		report := func(argv ...string) (result, string) {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			args := append([]string{"__confine"}, confine.Spec{Report: 3, Accept: all}.Args(argv...)...)
			r := u.run(t, []*os.File{writer}, args...)
			writer.Close()
			text, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			return r, string(text)
		}
		if r, text := report("sh", "-c", "{ echo x >&3; } 2>/dev/null; exit 127"); r.code != 127 || text != "" {
			t.Errorf("started: %+v with report %q", r, text)
		}
		if r, text := report("/no/such"); r.code != 127 || r.out != "" || text != "confine: execute /no/such: no such file or directory\n" {
			t.Errorf("not started: %+v with report %q", r, text)
		}
	})
}

// tryLoopback serves and asks over the loopback interface, as tests of servers do.
func tryLoopback([]string) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer server.Close()
	response, err := http.Get(strings.Replace(server.URL, "127.0.0.1", "localhost", 1))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && string(text) != "hello" {
		err = fmt.Errorf("the server said %q", text)
	}
	return err
}

// What development needs works: servers on the loopback interface, threads,
// pipes, processes, terminals, and git.
func TestToolsWork(t *testing.T) {
	MustHave(t, all...)
	eachUser(t, func(t *testing.T, u user) {
		spec := confine.Spec{Limits: confine.Limits{FileSize: 1 << 30, OpenFiles: 1024}}
		t.Run("Go", func(t *testing.T) {
			if got := u.try(t, spec, "loopback"); got != "ok" {
				t.Errorf("a server in Go: %s", got)
			}
		})
		t.Run("Git", func(t *testing.T) {
			base := u.folder(t)
			spec := spec
			spec.ReadWrite = []string{base}
			r := u.confined(t, spec, MustFind(t, "git"), "-C", base, "-c", "user.name=x", "-c", "user.email=x", "init", "-q", ".")
			if r.code == 0 {
				r = u.confined(t, spec, "sh", "-c", "cd "+base+" && echo x > f && git add f && git -c user.name=x -c user.email=x commit -qm x && git gc -q && git log --oneline | wc -l")
			}
			if r.code != 0 || strings.TrimSpace(r.out) != "1" {
				t.Errorf("git: %+v", r)
			}
		})
		t.Run("Python", func(t *testing.T) {
			r := u.confined(t, spec, systemPython(t), "-c", `
import http.server, threading, urllib.request, subprocess, os, pty
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"hello")
    def log_message(self, *a): pass
s = http.server.HTTPServer(("localhost", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d" % s.server_port).read().decode())
print(subprocess.run(["echo", "child"], stdout=subprocess.PIPE).stdout.decode().strip())
pty.openpty()`)
			if r.code != 0 || r.out != "hello\nchild\n" {
				t.Errorf("python: %+v", r)
			}
		})
		t.Run("Node", func(t *testing.T) {
			r := u.confined(t, spec, MustFind(t, "node"), "-e", `
const http = require("http"), {Worker} = require("worker_threads"), {execSync} = require("child_process");
const s = http.createServer((q, r) => r.end("hello")).listen(0, "localhost", () =>
  http.get({port: s.address().port, host: "localhost"}, r => r.on("data", d => {
    console.log(d.toString()); console.log(execSync("echo child").toString().trim());
    new Worker("require('worker_threads').parentPort.postMessage(1)", {eval: true}).on("message", () => { console.log("worker"); s.close(); process.exit() });
  })));`)
			if r.code != 0 || r.out != "hello\nchild\nworker\n" {
				t.Errorf("node: %+v", r)
			}
		})
	})
}

// MustFind finds a program, or skips.
func MustFind(tb testing.TB, name string) string {
	tb.Helper()
	for _, folder := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if path := filepath.Join(folder, name); unix.Access(path, unix.X_OK) == nil {
			return path
		}
	}
	tb.Skipf("%s is not installed", name)
	return ""
}

func systemPython(tb testing.TB) string { return MustFind(tb, "python3") }

func (u user) mkdir(tb testing.TB, path string) {
	tb.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		tb.Fatal(err)
	}
	u.own(tb, path)
}

func (u user) write(tb testing.TB, path string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		tb.Fatal(err)
	}
	u.own(tb, path)
}

func (u user) own(tb testing.TB, path string) {
	tb.Helper()
	if u.attr.Credential == nil {
		return
	}
	if err := os.Chown(path, int(strangerID), int(strangerID)); err != nil {
		tb.Fatal(err)
	}
}

func BenchmarkMain(b *testing.B) {
	u := user{attr: &syscall.SysProcAttr{Setsid: true}}
	for b.Loop() {
		if r := u.confined(b, confine.Spec{ReadWrite: []string{"/tmp"}, Accept: all}, "/bin/true"); r.code != 0 {
			b.Fatalf("%+v", r)
		}
	}
}
