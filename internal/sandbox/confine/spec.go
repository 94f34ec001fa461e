package confine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Spec says what a command is confined to. The zero value confines it to reading
// and executing what it can see.
type Spec struct {
	// ReadWrite are the folders and files that may be changed; each must exist.
	// Everything else can only be read and executed, apart from the usual devices
	// (/dev/null and the like, terminals). /dev/shm and /dev/mqueue are not among these:
	// programs that use POSIX semaphores, shared memory or message queues need them here.
	ReadWrite []string
	// NoNetwork leaves sockets between processes of this machine (AF_UNIX) and no
	// others. Without it IPv4 and IPv6 streams and datagrams are there too, and what
	// they reach is for the network namespace to decide. In an empty one that is the
	// loopback interface, which many test suites need.
	NoNetwork bool
	Profile   Profile
	Limits    Limits
	// Accept names features that may be missing; see [Missing].
	Accept []Feature
	// Report, if it is not 0, is a descriptor on which Main writes why it could not
	// start the command. It is closed, with nothing written, when the command starts.
	Report int
}

// Profile is a choice of system calls.
type Profile string

const (
	// Default is what builds and tests need.
	Default Profile = ""
	// Wide also allows System V shared memory, of which PostgreSQL makes a small
	// segment, and ptrace with what goes with it (process_vm_readv, process_vm_writev),
	// which debuggers and strace are made of. The namespaces confine both to the
	// command's own processes. It allows nothing else.
	Wide Profile = "wide"
)

// Limits are resource limits of each process; 0 sets none. Core dumps are always off.
type Limits struct {
	FileSize  uint64 // the largest file that can be written, in bytes
	OpenFiles uint64
	CPU       uint64 // CPU time in seconds
	// Processes counts the processes and threads of the user in the user namespace
	// that the limit is set in: within bubblewrap's those of the command (since Linux
	// 5.14), outside all there are on the machine. It does not bind root. It is for
	// machines without a cgroup.
	Processes uint64
	// Data is the private writable memory of one process, in bytes. It is for
	// machines without a cgroup.
	Data uint64
}

// Feature is something a Spec asks for that a kernel may lack.
type Feature string

const (
	Landlock         Feature = "landlock"          // read-only folders; ABI 2, Linux 5.19
	LandlockTruncate Feature = "landlock-truncate" // read-only files cannot be truncated; ABI 3, Linux 6.2
	LandlockTCP      Feature = "landlock-tcp"      // no TCP, asked for by NoNetwork; ABI 4, Linux 6.7
	LandlockDevices  Feature = "landlock-devices"  // no ioctl on other devices; ABI 5, Linux 6.10
	LandlockScope    Feature = "landlock-scope"    // no signals and abstract sockets of processes outside; ABI 6, Linux 6.12
	Seccomp          Feature = "seccomp"           // the filter of system calls, on amd64 and arm64
)

var features = []Feature{Landlock, LandlockTruncate, LandlockTCP, LandlockDevices, LandlockScope, Seccomp}

// Args encodes the Spec and a command as arguments of [Main].
func (s Spec) Args(argv ...string) []string {
	var args []string
	for _, path := range s.ReadWrite {
		args = append(args, "rw="+path)
	}
	for _, feature := range s.Accept {
		args = append(args, "accept="+string(feature))
	}
	if s.NoNetwork {
		args = append(args, "no-network")
	}
	if s.Profile != Default {
		args = append(args, "profile="+string(s.Profile))
	}
	for _, n := range s.numbers() {
		if *n.value != 0 {
			args = append(args, n.name+"="+strconv.FormatUint(*n.value, 10))
		}
	}
	if s.Report != 0 {
		args = append(args, "report="+strconv.Itoa(s.Report))
	}
	return append(append(args, "--"), argv...)
}

type number struct {
	name  string
	value *uint64
}

func (s *Spec) numbers() []number {
	return []number{
		{"file-size", &s.Limits.FileSize},
		{"open-files", &s.Limits.OpenFiles},
		{"cpu", &s.Limits.CPU},
		{"processes", &s.Limits.Processes},
		{"data", &s.Limits.Data},
	}
}

// Parse reads what [Spec.Args] wrote. It refuses what it does not know: an older
// program must not run a command less confined than it was told to.
func Parse(args []string) (spec Spec, argv []string, err error) {
	for i, arg := range args {
		if arg == "--" {
			if i+1 == len(args) {
				return spec, nil, fmt.Errorf("no command after --")
			}
			return spec, args[i+1:], nil
		}
		if err := spec.set(arg); err != nil {
			return spec, nil, err
		}
	}
	return spec, nil, fmt.Errorf("no -- before the command")
}

func (s *Spec) set(arg string) (err error) {
	name, value, _ := strings.Cut(arg, "=")
	switch name {
	case "rw":
		s.ReadWrite = append(s.ReadWrite, value)
	case "accept":
		if !slices.Contains(features, Feature(value)) {
			return fmt.Errorf("unknown feature %q", value)
		}
		s.Accept = append(s.Accept, Feature(value))
	case "no-network":
		s.NoNetwork = true
	case "profile":
		if Profile(value) != Wide {
			return fmt.Errorf("unknown profile %q", value)
		}
		s.Profile = Wide
	case "report":
		if s.Report, err = strconv.Atoi(value); err != nil || s.Report < 3 {
			return fmt.Errorf("%q is not a descriptor to report on", value)
		}
	default:
		for _, n := range s.numbers() {
			if n.name == name {
				if *n.value, err = strconv.ParseUint(value, 10, 64); err != nil {
					return fmt.Errorf("%s: %w", arg, err)
				}
				return nil
			}
		}
		return fmt.Errorf("unknown argument %q", arg)
	}
	return nil
}

// ExitRefused is the exit code of [Main] if it could not confine the command.
const ExitRefused = 125

// Exit codes of shells for a command that is not there and one that is no program.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)
